"""Cholesky and LU factorisations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag
from .._errors import scalar_name
from .._kernels import linalg as kernels
from .._op import op
from .._runtime import deliver, traced, wrap
from . import _returns
from ._matrices import (
    LinAlgError,
    check_batches,
    check_floating,
    check_floats,
    check_matrices,
    check_same_dtype,
    check_system,
    checked,
    columns,
    delivered,
    matrix_rows,
    refuse_failed,
    symmetric_of_lower,
)

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- Cholesky ----------------------------------------------------------------------------------------------------------
def _cholesky_ex(self: np.ndarray, *, upper: bool = False) -> list[np.ndarray]:
    if upper:
        factor, info = kernels.cholesky(self.swapaxes(-1, -2))
        return [factor.swapaxes(-1, -2), info]
    return list(kernels.cholesky(self))


def cholesky_self(F: Any, g: Any, result: Any, upper: bool) -> Any:
    """``L^-T S L^-1 / 2`` with the symmetric S whose lower triangle is that of ``L^T g``.

    I. Murray, "Differentiation of the Cholesky decomposition" (2016), 3.2; S. F. Walter and L. Lehmann, "Algorithmic
    differentiation of linear algebra functions with application in optimum experimental design" (2010).
    """
    factor, slope = (F.mT(result), F.mT(g)) if upper else (result, g)
    middle = symmetric_of_lower(F, F.bmm_tn(factor, slope)) * 0.5
    right = F.solve_triangular(factor, middle, upper=False, left=False)
    return F.solve_triangular(F.mT(factor), right, upper=True)


def _cholesky_tangent(F: Any, t: Any, result: Any, upper: bool) -> tuple[Any, None]:
    """``L P(L^-1 t L^-T)``: P takes the lower triangle, with half the diagonal.  Murray (2016), 2."""
    factor = F.mT(result[0]) if upper else result[0]
    middle = F.solve_triangular(factor, (t + F.mT(t)) * 0.5, upper=False)
    middle = F.solve_triangular(F.mT(factor), middle, upper=True, left=False)
    moved = F.matmul(factor, (F.tril(middle) + F.tril(middle, diagonal=-1)) * 0.5)
    return F.mT(moved) if upper else moved, None


_cholesky_row = op("cholesky_ex", "LinalgCholeskyExBackward0", _cholesky_ex, ("self",), outputs=2,
                   tangent=_cholesky_tangent,
                   self=lambda F, g, result, upper: cholesky_self(F, g[0], result[0], upper))  # fmt: skip


def _factor(name: str, A: Tensor, upper: bool, check_errors: bool) -> Any:
    results = _cholesky_row(A, upper)
    if check_errors:
        said = (
            f"{name}: {{where}}The factorization could not be completed because the input is not positive-definite (the "
            "leading minor of order {info} is not positive-definite)."
        )
        refuse_failed(results[1], said=said, error=LinAlgError)
    return results


def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The Cholesky factors of symmetric positive-definite matrices: ``input = L @ L.mT`` with lower triangular L.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, n, n)``; only the lower triangle is read, or the upper one.
    upper : bool
        Whether the upper factor is wanted instead: ``input = U.mT @ U``.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    linalg.LinAlgError
        If a matrix is not positive-definite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    if out is not None:
        return deliver("linalg.cholesky", lambda: cholesky(input, upper=upper), (input,), out)
    _check_cholesky(input)
    return _factor("linalg.cholesky", input, upper, True)[0]


def _check_cholesky(input: Tensor) -> None:
    half = getattr(input, "_array", np.empty(0)).dtype == np.float16
    checked("linalg.cholesky", input, kernel="cholesky_cpu" if half else "")


def cholesky_ex(
    input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> _returns.linalg_cholesky_ex:
    """The factors of `cholesky`, and which of them there are not.

    Returns
    -------
    named tuple
        ``L``, and ``info``: 0, or the order of the first leading minor that is not positive.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.cholesky_ex(torch.tensor([[-1.0]])).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        compute = partial(cholesky_ex, input, upper=upper, check_errors=check_errors)
        return delivered("linalg.cholesky_ex", compute, (input,), out)
    _check_cholesky(input)
    return _returns.linalg_cholesky_ex(_factor("linalg.cholesky_ex", input, upper, check_errors))


def input_cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factors of symmetric positive-definite matrices: `linalg.cholesky`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cholesky(torch.tensor([[9.0]]))
    tensor([[3.]])
    """
    if out is not None:
        return deliver("cholesky", lambda: input_cholesky(input, upper), (input,), out)
    array = array_of("cholesky", input)
    check_matrices("cholesky", array)
    check_floats("cholesky", array, "cholesky_cpu")
    return _factor("cholesky", input, upper, True)[0]


# -- LU ----------------------------------------------------------------------------------------------------------------
def _lu_factor_ex(self: np.ndarray) -> list[np.ndarray]:
    return list(kernels.lu(self))


def _parts(packed: np.ndarray) -> list[np.ndarray]:
    """L and U of packed factors."""
    m, n = packed.shape[-2:]
    size = min(m, n)
    lower = np.tril(packed[..., :size], -1)
    lower[..., range(size), range(size)] = 1
    return [lower, np.triu(packed[..., :size, :])]


def _permutation(self: np.ndarray, *, rows: int, dtype: np.dtype[Any], inverse: bool = False) -> np.ndarray:
    """The permutation matrices P of pivots, ``A = P @ L @ U``; or their transposes."""
    order = kernels.permutation(self, rows)
    wanted = order[..., :, None] == np.arange(rows) if inverse else order[..., None, :] == np.arange(rows)[:, None]
    return wanted.astype(dtype)


def _lu(self: np.ndarray) -> list[np.ndarray]:
    packed, pivots, _ = kernels.lu(self)
    return [_permutation(pivots, rows=self.shape[-2], dtype=self.dtype), *_parts(packed)]


def lu_gradient(F: Any, g_lower: Any, g_upper: Any, turn: Any, lower: Any, upper: Any) -> Any:
    """The gradient of ``A = P @ L @ U``, for square, tall and wide matrices.

    For square ones ``P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T``, see Walter & Lehmann (2010); where there are more
    rows or columns, those are the solutions of triangular systems with the square part.
    """
    m, n, size = lower.shape[-2], upper.shape[-1], lower.shape[-1]
    square_lower, square_upper = matrix_rows(F, lower, 0, size), columns(F, upper, 0, size)
    from_lower = F.bmm_tn(square_lower, matrix_rows(F, g_lower, 0, size))
    from_upper = F.bmm_nt(columns(F, g_upper, 0, size), square_upper)
    if n > size:
        more = F.solve_triangular(F.mT(square_lower), columns(F, g_upper, size, n), upper=True, unitriangular=True)
        from_lower = from_lower - F.bmm_nt(columns(F, g_upper, size, n), columns(F, upper, size, n))
    elif m > size:
        more = F.solve_triangular(F.mT(square_upper), matrix_rows(F, g_lower, size, m), upper=False, left=False)
        from_upper = from_upper - F.bmm_tn(matrix_rows(F, lower, size, m), matrix_rows(F, g_lower, size, m))
    inner = F.tril(from_lower, diagonal=-1) + F.triu(from_upper)
    inner = F.solve_triangular(F.mT(square_lower), inner, upper=True, unitriangular=True)
    inner = F.solve_triangular(F.mT(square_upper), inner, upper=False, left=False)
    if m != n:
        inner = F.cat([inner, more], dim=len(inner.shape) - (1 if n > size else 2))
    return F.matmul(turn, inner)


def _packed_self(F: Any, g: Any, result: Any, self_shape: tuple[int, ...]) -> Any:
    m, n = self_shape[-2:]
    size = min(m, n)
    lower, upper = F.lu_parts(result[0])
    g_lower, g_upper = columns(F, g[0], 0, size), matrix_rows(F, g[0], 0, size)
    turn = F.permutation(result[1], rows=m, dtype=_numpy_dtype(result[0]))
    return lu_gradient(F, F.tril(g_lower, diagonal=-1), F.triu(g_upper), turn, lower, upper)


def _numpy_dtype(value: Any) -> Any:
    """The NumPy dtype of an array or a Tensor."""
    return getattr(value, "_array", value).dtype


def _parts_self(F: Any, g: Any, self_shape: tuple[int, ...]) -> Any:
    m, n = self_shape[-2:]
    lower, upper = F.tril(g[0], diagonal=-1), F.triu(g[1])
    size, last = min(m, n), len(self_shape) - 1
    if n > size:
        lower = F.slice_backward(lower, shape=self_shape, dim=last, start=0, end=size, step=1)
    elif m > size:
        upper = F.slice_backward(upper, shape=self_shape, dim=last - 1, start=0, end=size, step=1)
    return lower + upper


op("permutation", "PermutationBackward0", _permutation, ("self",))

_lu_factor_row = op("lu_factor_ex", "LinalgLuFactorExBackward0", _lu_factor_ex, ("self",), outputs=3, tangent="transpose",
                    self=_packed_self)  # fmt: skip

_lu_row = op("lu", "LinalgLuBackward0", _lu, ("self",), outputs=3, tangent="transpose",
             self=lambda F, g, result: lu_gradient(
                 F, F.tril(g[1], diagonal=-1), F.triu(g[2]), result[0], result[1], result[2]))  # fmt: skip

_parts_row = op("lu_parts", "LuUnpackBackward0", _parts, ("self",), outputs=2, tangent="transpose", self=_parts_self)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> _returns.linalg_lu_factor:
    """The LU factorisation with partial pivoting, packed.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, m, n)``.
    pivot : bool
        Whether rows are swapped; there is no factorisation without.
    out : tuple of two Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``LU``, ``(*, m, n)``: U in the upper triangle, L without its unit diagonal below; and the ``pivots``: with which
        row, counted from 1, each row was swapped.  `lu_solve` and `lu_unpack` take them.

    Raises
    ------
    RuntimeError
        If a square matrix is singular.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [4.0, 4.0]])).LU
    tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]])
    """
    if out is not None:
        return delivered("linalg.lu_factor", lambda: lu_factor(A, pivot=pivot), (A,), out)
    return _returns.linalg_lu_factor(_packed("torch.linalg.lu_factor", A, pivot, True)[:2])


def _packed(name: str, A: Tensor, pivot: bool, check_errors: bool) -> Any:
    _check_lu("linalg.lu_factor", A, pivot)
    results = _lu_factor_row(A)
    if check_errors:
        said = (
            f"{name}: {{where}}U[{{info}},{{info}}] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
        refuse_failed(results[2], said=said, error=RuntimeError)
    return results


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    half = getattr(A, "_array", np.empty(0)).dtype == np.float16
    checked(name, A, square=False, kernel="lu_cpu" if half else "")
    if not flag(pivot, "pivot"):
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> _returns.linalg_lu_factor_ex:
    """The factorisation of `lu_factor`, also of singular matrices, and ``info``: 0, or which pivot is zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.lu_factor_ex(torch.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        compute = partial(lu_factor_ex, A, pivot=pivot, check_errors=check_errors)
        return delivered("linalg.lu_factor_ex", compute, (A,), out)
    return _returns.linalg_lu_factor_ex(_packed("torch.linalg.lu_factor_ex", A, pivot, check_errors))


def input_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The packed factors and the pivots of `linalg.lu_factor`; with *get_infos* also which pivots are zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> LU, pivots = torch.lu(torch.tensor([[2.0]]))
    >>> LU
    tensor([[2.]])
    """
    if out is not None:
        return tuple(delivered("lu", lambda: list(input_lu(A, pivot, get_infos)), (A,), tuple(out)))
    results = _packed("torch.lu", A, pivot, not get_infos)
    return results if get_infos else results[:2]


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> _returns.linalg_lu:
    """The LU factorisation with partial pivoting: ``A = P @ L @ U``.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, m, n)``.
    pivot : bool
        Whether rows are swapped; there is no factorisation without.
    out : tuple of three Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``P``, a permutation; ``L``, unit lower triangular; ``U``, upper triangular.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [4.0, 4.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    if out is not None:
        return delivered("linalg.lu", lambda: lu(A, pivot=pivot), (A,), out)
    _check_lu("linalg.lu", A, pivot)
    turn, lower, upper = _lu_row(A)
    return _returns.linalg_lu((turn.detach(), lower, upper))


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> _returns.lu_unpack:
    """P, L and U of what `lu_factor` gives; what is not asked for is empty.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [4.0, 4.0]]))).U
    tensor([[4., 4.],
            [0., 1.]])
    """
    if out is not None:
        given = (LU_data, LU_pivots, unpack_data, unpack_pivots)
        return delivered("lu_unpack", lambda: lu_unpack(*given), (LU_data,), out)
    data = array_of("lu_unpack", LU_data, "LU_data")
    pivots = array_of("lu_unpack", LU_pivots, "LU_pivots", 2)
    if data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(data.shape)} instead"
        )
    if unpack_pivots and pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, but is of "
            f"{scalar_name(pivots.dtype)}. Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    nothing = wrap(np.empty(0, data.dtype))
    lower, upper = _parts_row(LU_data) if unpack_data else (nothing, nothing)
    turn = traced.permutation(LU_pivots, data.shape[-2], data.dtype) if unpack_pivots else nothing
    return _returns.lu_unpack((turn, lower, upper))


# -- systems with a known LU -------------------------------------------------------------------------------------------
def _lu_solve(self: np.ndarray, other: np.ndarray, turn: np.ndarray, *, adjoint: bool = False) -> np.ndarray:
    if adjoint:
        packed = self.swapaxes(-1, -2)
        middle = kernels.solve_triangular(packed, other, False, False)
        return turn @ kernels.solve_triangular(packed, middle, True, True)
    middle = kernels.solve_triangular(self, turn.swapaxes(-1, -2) @ other, False, True)
    return kernels.solve_triangular(self, middle, True, False)


def _lu_solve_self(F: Any, g: Any, self: Any, turn: Any, result: Any, adjoint: bool) -> Any:
    """The gradients of the two triangular systems, whose triangles lie packed in one matrix."""
    lower, upper = F.lu_parts(self)
    if adjoint:
        solution, slope = F.bmm_tn(turn, result), F.bmm_tn(turn, g)
        middle = F.bmm_tn(lower, solution)
        slope = F.solve_triangular(lower, slope, upper=False, unitriangular=True)
        outer_slope = F.solve_triangular(upper, slope, upper=True)
        return -F.tril(F.bmm_nt(solution, slope), diagonal=-1) - F.triu(F.bmm_nt(middle, outer_slope))
    middle = F.matmul(upper, result)
    slope = F.solve_triangular(F.mT(upper), g, upper=False)
    outer_slope = F.solve_triangular(F.mT(lower), slope, upper=True, unitriangular=True)
    return -F.triu(F.bmm_nt(slope, result)) - F.tril(F.bmm_nt(outer_slope, middle), diagonal=-1)


def _lu_solve_tangent(F: Any, t: Any, self: Any, turn: Any, result: Any, adjoint: bool) -> Any:
    """The matrix moves by ``turn (dL U + L dU)``, and the solution by minus the solution for that times itself."""
    lower, upper = F.lu_parts(self)
    moved = F.matmul(turn, F.matmul(F.tril(t, diagonal=-1), upper) + F.matmul(lower, F.triu(t)))
    return -F.lu_solve(self, F.bmm_tn(moved, result) if adjoint else F.matmul(moved, result), turn, adjoint=adjoint)


_lu_solve_row = op("lu_solve", "LinalgLuSolveBackward0", _lu_solve, ("self", "other", "turn"),
                   broadcasts=True, numbers=False,
                   tangent={"self": _lu_solve_tangent,
                            "other": lambda F, t, self, turn, adjoint: F.lu_solve(self, t, turn, adjoint=adjoint)},
                   self=_lu_solve_self,
                   other=lambda F, g, self, turn, adjoint:
                       F.lu_solve(self, g, turn, adjoint=not adjoint))  # fmt: skip


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution X of ``A @ X = B``, or of ``X @ A = B``, given what `lu_factor` makes of A.

    Parameters
    ----------
    LU, pivots : Tensor
        ``(*, n, n)`` and ``(*, n)`` of int32.
    B : Tensor
        ``(*, n, k)``, or ``(*, k, n)`` where *left* is false; the batch broadcasts.
    left : bool
        Whether A stands on the left of the unknown.
    adjoint : bool
        Whether the transpose of A is meant.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[1.0]]))
    tensor([[0.5000]])
    """
    name = "linalg.lu_solve"
    if out is not None:
        return deliver(name, lambda: lu_solve(LU, pivots, B, left=left, adjoint=adjoint), (LU, B), out)
    packed, swaps, b = [
        array_of(name, t, which, i + 1) for i, (t, which) in enumerate(((LU, "LU"), (pivots, "pivots"), (B, "B")))
    ]
    check_floating(f"torch.{name}", packed)
    check_same_dtype(name, packed, b, "LU", "B")
    if swaps.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_matrices(f"torch.{name}", packed)
    check_matrices(name, b, square=False)
    check_system(name, packed, b, flag(left, "left"))
    if packed.shape[-1] != swaps.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if packed.shape[:-1] != swaps.shape:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(swaps.shape)} instead"
        )
    check_batches(name, packed.shape[:-2], b.shape[:-2])
    check_floats(name, packed, "linalg.lu_solve_cpu")
    turn = traced.permutation(pivots, packed.shape[-1], packed.dtype)
    if left:
        return _lu_solve_row(LU, B, turn, adjoint)
    return traced.mT(_lu_solve_row(LU, traced.mT(B), turn, not flag(adjoint, "adjoint")))


def input_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A @ X = input``, given what `linalg.lu_factor` makes of A: `linalg.lu_solve`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lu_solve(torch.tensor([[1.0]]), *torch.linalg.lu_factor(torch.tensor([[2.0]])))
    tensor([[0.5000]])
    """
    array_of("lu_solve", input)
    return lu_solve(LU_data, LU_pivots, input, out=out)
