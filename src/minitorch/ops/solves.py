"""Inverses and systems of equations.

The derivatives of inverse and solution are those of M. B. Giles, "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation" (2008), 2.2.3 and 2.3.1; those of a triangular system keep the triangle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag
from .._choices import choice
from .._kernels import linalg as kernels
from .._op import op
from .._runtime import deliver, traced, wrap
from . import _returns
from . import shape as shapes
from ._matrices import (
    LinAlgError,
    check_batches,
    check_floats,
    check_matrices,
    check_same_dtype,
    check_system,
    checked,
    delivered,
    refuse_failed,
)

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _mT(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-1, -2)


def _inv_ex(self: np.ndarray) -> list[np.ndarray]:
    try:
        return [np.linalg.inv(self), np.zeros(self.shape[:-2], np.int32)]
    except np.linalg.LinAlgError:
        one = np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape)
        return list(kernels.solve(self, one))


def _solve_ex(self: np.ndarray, other: np.ndarray, *, left: bool = True) -> list[np.ndarray]:
    if left:
        return list(kernels.solve(self, other))
    solution, info = kernels.solve(_mT(self), _mT(other))
    return [_mT(solution), info]


def _solve_triangular(
    self: np.ndarray, other: np.ndarray, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> np.ndarray:
    dtype = np.promote_types(self.dtype, other.dtype)
    if left:
        solution = kernels.solve_triangular(self, other, upper, unitriangular)
    else:
        solution = _mT(kernels.solve_triangular(_mT(self), _mT(other), not upper, unitriangular))
    return solution.astype(dtype, copy=False)


def _solve_self(F: Any, g: Any, self: Any, result: Any, left: bool) -> Any:
    slope = F.solve_ex(F.mT(self), g, left=left)[0]
    return -F.bmm_nt(slope, result[0]) if left else -F.bmm_tn(result[0], slope)


def _triangle_self(F: Any, g: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    slope = F.solve_triangular(F.mT(self), g, upper=not upper, left=left, unitriangular=unitriangular)
    full = -F.bmm_nt(slope, result) if left else -F.bmm_tn(result, slope)
    return F.triu(full, diagonal=int(unitriangular)) if upper else F.tril(full, diagonal=-int(unitriangular))


def _solve_tangent(F: Any, t: Any, self: Any, result: Any, left: bool) -> tuple[Any, None]:
    moved = F.matmul(t, result[0]) if left else F.matmul(result[0], t)
    return -F.solve_ex(self, moved, left=left)[0], None


def _triangle_tangent(F: Any, t: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    t = F.triu(t, diagonal=int(unitriangular)) if upper else F.tril(t, diagonal=-int(unitriangular))
    moved = F.matmul(t, result) if left else F.matmul(result, t)
    return -F.solve_triangular(self, moved, upper=upper, left=left, unitriangular=unitriangular)


def _triangle_other_tangent(F: Any, t: Any, self: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return F.solve_triangular(self, t, upper=upper, left=left, unitriangular=unitriangular)


_inv_row = op("inv_ex", "LinalgInvExBackward0", _inv_ex, ("self",), outputs=2,
              tangent=lambda F, t, result: (-F.matmul(result[0], F.matmul(t, result[0])), None),
              self=lambda F, g, result: -F.bmm_nt(F.bmm_tn(result[0], g[0]), result[0]))  # fmt: skip

_solve_row = op("solve_ex", "LinalgSolveExBackward0", _solve_ex, ("self", "other"),
                outputs=2, broadcasts=True, numbers=False,
                tangent={"self": _solve_tangent, "other": lambda F, t, self, left: F.solve_ex(self, t, left=left)},
                self=lambda F, g, self, result, left: _solve_self(F, g[0], self, result, left),
                other=lambda F, g, self, left: F.solve_ex(F.mT(self), g[0], left=left)[0])  # fmt: skip


def _cholesky_solve(self: np.ndarray, input2: np.ndarray, *, upper: bool = False) -> np.ndarray:
    first, second = (_mT(input2), input2) if upper else (input2, _mT(input2))
    middle = kernels.solve_triangular(first, self, False, False)
    return kernels.solve_triangular(second, middle, True, False)


def _cholesky_inverse(self: np.ndarray, *, upper: bool = False) -> np.ndarray:
    return _cholesky_solve(np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape), self, upper=upper)


def _to_factor(F: Any, slope: Any, factor: Any, upper: bool) -> Any:
    """From the gradient to A that to its Cholesky factor, of which one triangle is read."""
    both = slope + F.mT(slope)
    return F.triu(F.matmul(factor, both)) if upper else F.tril(F.matmul(both, factor))


def _cholesky_solve_factor(F: Any, g: Any, input2: Any, result: Any, upper: bool) -> Any:
    slope = F.cholesky_solve(g, input2, upper=upper)
    return _to_factor(F, -F.bmm_nt(slope, result), F.triu(input2) if upper else F.tril(input2), upper)


def _cholesky_inverse_self(F: Any, g: Any, self: Any, result: Any, upper: bool) -> Any:
    slope = -F.matmul(result, F.matmul(g, result))
    return _to_factor(F, slope, F.triu(self) if upper else F.tril(self), upper)


def _moved(F: Any, t: Any, factor: Any, upper: bool) -> Any:
    """How A moves when its Cholesky factor does: the adjoint of ``_to_factor``."""
    half = F.matmul(F.mT(F.triu(t)), F.triu(factor)) if upper else F.matmul(F.tril(t), F.mT(F.tril(factor)))
    return half + F.mT(half)


def _cholesky_solve_tangent(F: Any, t: Any, input2: Any, result: Any, upper: bool) -> Any:
    return -F.cholesky_solve(F.matmul(_moved(F, t, input2, upper), result), input2, upper=upper)


def _cholesky_inverse_tangent(F: Any, t: Any, self: Any, result: Any, upper: bool) -> Any:
    return -F.matmul(result, F.matmul(_moved(F, t, self, upper), result))


_cholesky_solve_row = op("cholesky_solve", "CholeskySolveBackward0", _cholesky_solve, ("self", "input2"),
                         broadcasts=True, numbers=False,
                         tangent={"self": lambda F, t, input2, upper: F.cholesky_solve(t, input2, upper=upper),
                                  "input2": _cholesky_solve_tangent},
                         self=lambda F, g, input2, upper: F.cholesky_solve(g, input2, upper=upper),
                         input2=_cholesky_solve_factor)  # fmt: skip

_cholesky_inverse_row = op("cholesky_inverse", "CholeskyInverseBackward0", _cholesky_inverse, ("self",),
                           tangent=_cholesky_inverse_tangent, self=_cholesky_inverse_self)  # fmt: skip

_triangle_row = op("solve_triangular", "LinalgSolveTriangularBackward0", _solve_triangular, ("self", "other"),
                   broadcasts=True, numbers=False,
                   tangent={"self": _triangle_tangent, "other": _triangle_other_tangent},
                   self=_triangle_self,
                   other=lambda F, g, self, upper, left, unitriangular: F.solve_triangular(
                       F.mT(self), g, upper=not upper, left=left, unitriangular=unitriangular))  # fmt: skip


# -- inverse -----------------------------------------------------------------------------------------------------------
_NOT_INVERTIBLE = (
    "{where}The diagonal element {info} is zero, the inversion could not be completed because the input matrix is "
    "singular."
)


@choice("zeros on diagonals")
def _zero_pivots(self: np.ndarray) -> np.ndarray:
    """For each matrix, 0, or which element of its diagonal is the first that is zero."""
    zero = self.diagonal(0, -2, -1) == 0
    return np.asarray((zero.argmax(-1) + 1) * zero.any(-1))


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, n, n)``.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    linalg.LinAlgError
        If a matrix is singular.
    RuntimeError
        If *A* is not of floats or not square.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        return deliver("linalg.inv", lambda: inv(A), (A,), out)
    return _inverse("linalg.inv", A, True)[0]


def _inverse(name: str, A: Tensor, check_errors: bool) -> Any:
    checked("linalg.inv", A)
    result = _inv_row(A)
    if check_errors:
        refuse_failed(result[1], said=f"{name}: {_NOT_INVERTIBLE}", error=LinAlgError)
    return result


def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices: `linalg.inv`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.inverse(torch.tensor([[4.0]]))
    tensor([[0.2500]])
    """
    return inv(input, out=out)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> _returns.linalg_inv_ex:
    """The inverses of square matrices, and which of them there are not.

    Returns
    -------
    named tuple
        ``inverse``, with infinities and NaN where there is none, and ``info``: 0, or which pivot is zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.inv_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=torch.int32)
    """
    if out is not None:
        return delivered("linalg.inv_ex", lambda: inv_ex(A, check_errors=check_errors), (A,), out)
    return _returns.linalg_inv_ex(_inverse("linalg.inv_ex", A, check_errors))


# -- systems of equations ----------------------------------------------------------------------------------------------
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A @ X = B``, or of ``X @ A = B``.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, n, n)``.
    B : Tensor
        ``(*, n, k)``, whose batch broadcasts with that of *A*; or vectors: ``(n,)``, or ``(*, n)`` with just the batch of
        *A*.
    left : bool
        Whether *A* stands on the left of the unknown.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    linalg.LinAlgError
        If a matrix is singular.
    RuntimeError
        If the shapes or the dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([1.0, 2.0]))
    tensor([0.5000, 0.5000])
    """
    if out is not None:
        return deliver("linalg.solve", lambda: solve(A, B, left=left), (A, B), out)
    return _solution("linalg.solve", A, B, left, True)[0]


def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> _returns.linalg_solve_ex:
    """The solution of `solve`, and for which matrices there is none.

    Returns
    -------
    named tuple
        ``result``, and ``info``: 0, or which pivot is zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.solve_ex(torch.zeros(1, 1), torch.ones(1)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        return delivered("linalg.solve_ex", lambda: solve_ex(A, B, left=left, check_errors=check_errors), (A, B), out)
    return _returns.linalg_solve_ex(_solution("linalg.solve_ex", A, B, left, check_errors))


def _solution(name: str, A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    a, b = array_of(name, A, "A"), array_of(name, B, "B", 2)
    check_floats("linalg.solve", a, "lu_cpu" if a.dtype == np.float16 else "")
    check_same_dtype("linalg.solve", a, b)
    check_matrices("linalg.solve", a)
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    column = shapes.unsqueeze(B, -1) if vectors else B
    check_system("linalg.solve", a, column._array, flag(left, "left"))
    solution, info = _solve_row(A, column, left)
    if check_errors:
        said = f"torch.{name}: {{where}}The solver failed because the input matrix is singular."
        refuse_failed(info, said=said, error=LinAlgError)
    return shapes.squeeze(solution, -1) if vectors else solution, info


def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution X of ``input @ X = B``, or of ``X @ input = B``, with a triangular matrix.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, n, n)``; the other triangle is not read.
    B : Tensor
        ``(*, n, k)``, or ``(*, k, n)`` where *left* is false; its batch broadcasts with that of *input*.
    upper : bool
        Which triangle.
    left : bool
        Whether *input* stands on the left of the unknown.
    unitriangular : bool
        Whether the diagonal is taken to be ones, and not read.
    out : Tensor, optional
        Where the result is written.

    Notes
    -----
    A zero on the diagonal is divided by: the result has infinities and NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> A = torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[4.0], [8.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    if out is not None:
        return deliver(
            name,
            lambda: solve_triangular(input, B, upper=upper, left=left, unitriangular=unitriangular),
            (input, B),
            out,
        )
    a, b = array_of(name, input), array_of(name, B, "B", 2)
    check_matrices(name, a)
    check_matrices(name, b, square=False)
    check_system(name, a, b, flag(left, "left"))
    for array in (a, b):
        check_floats(name, array, "triangular_solve_cpu")
    return _triangle_row(input, B, upper, left, unitriangular)


def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Any = None,
) -> _returns.triangular_solve:
    """The solution X of ``A @ X = input``, or of ``A.mT @ X = input``, with triangular A; see `linalg.solve_triangular`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.triangular_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    if out is not None:
        given = (input, A, upper, transpose, unitriangular)
        return delivered("triangular_solve", lambda: triangular_solve(*given), (input, A), out)
    name = "triangular_solve"
    b, a = array_of(name, input), array_of(name, A, "A", 2)
    for array, which in ((b, "b"), (a, "A")):
        if array.ndim < 2:
            raise RuntimeError(f"torch.{name}: Expected {which} to have at least 2 dimensions, but it has {array.ndim}")
    _check_pair(name, b, a)
    for array in (b, a):
        check_floats(name, array, "triangular_solve_cpu")
    triangle = traced.mT(A) if transpose else A
    solution = _triangle_row(triangle, input, upper != transpose, True, unitriangular)
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return _returns.triangular_solve((solution, traced.clone(traced.expand(A, size=shape + a.shape[-2:]))))


def _check_pair(name: str, b: np.ndarray, a: np.ndarray) -> None:
    """Refuse a system in the order of the older functions whose shapes or dtypes do not fit."""
    check_same_dtype(name, b, a, "b", "A")
    if a.shape[-1] != a.shape[-2]:
        rows, columns = a.shape[-2:]
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if a.shape[-2] != b.shape[-2]:
        n, (rows, columns) = a.shape[-1], b.shape[-2:]
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {rows} by {columns}"
        )
    check_batches(name, a.shape[:-2], b.shape[:-2])


# -- with a factorisation ----------------------------------------------------------------------------------------------
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A @ X = input``, given the Cholesky factor of A.

    Parameters
    ----------
    input : Tensor
        The right-hand side, ``(*, n, k)``.
    input2 : Tensor
        The factor, ``(*, n, n)``; of the other triangle nothing is read.
    upper : bool
        Whether it is upper: ``A = input2.mT @ input2``.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]]))
    tensor([[1.]])
    """
    name = "cholesky_solve"
    if out is not None:
        return deliver(name, lambda: cholesky_solve(input, input2, upper), (input, input2), out)
    b, a = array_of(name, input), array_of(name, input2, "input2", 2)
    for array, which in ((b, "b"), (a, "u")):
        if array.ndim < 2:
            raise RuntimeError(f"{which} should have at least 2 dimensions, but has {array.ndim} dimensions instead")
    _check_pair(name, b, a)
    check_floats(name, b, "cholesky_solve_cpu")
    return _cholesky_solve_row(input, input2, upper)


def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given its Cholesky factor, ``(*, n, n)``; arguments as for `cholesky_solve`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    name = "cholesky_inverse"
    if out is not None:
        return deliver(name, lambda: cholesky_inverse(input, upper), (input,), out)
    array = array_of(name, input)
    check_matrices(name, array)
    check_floats(name, array, "cholesky_inverse_out_cpu")
    info = wrap(_zero_pivots(input))
    refuse_failed(info, said=f"{name}: {_NOT_INVERTIBLE}", error=LinAlgError)
    return _cholesky_inverse_row(input, upper)


# -- tensors as matrices -----------------------------------------------------------------------------------------------
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a linear map from its last dimensions to its first *ind* ones.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    if out is not None:
        return deliver("linalg.tensorinv", lambda: tensorinv(input, ind), (input,), out)
    shape = array_of("linalg.tensorinv", input).shape
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return shapes.reshape(inv(shapes.reshape(input, (rows, rows))), (*shape[ind:], *shape[:ind]))


def tensorsolve(
    input: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The solution X of ``tensordot(input, X, X.ndim) = other``.

    Parameters
    ----------
    input : Tensor
        Its first dimensions are as many as *other* has, and have as many elements as the others together.
    other : Tensor
        The right-hand side.
    dims : sequence of int, optional
        Dimensions of *input* that are moved to its end first.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.tensorsolve(2 * torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3))
    tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
    """
    if out is not None:
        return deliver("linalg.tensorsolve", lambda: tensorsolve(input, other, dims), (input, other), out)
    a, b = array_of("linalg.tensorsolve", input), array_of("linalg.tensorsolve", other, "other", 2)
    if dims is not None:
        input = shapes.movedim(input, tuple(dims), tuple(range(a.ndim - len(dims), a.ndim)))
        a = input._array
    rest = a.shape[b.ndim :]
    rows, columns = math.prod(a.shape[: b.ndim]), math.prod(rest)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {columns} != {rows}"
        )
    return shapes.reshape(solve(shapes.reshape(input, (rows, rows)), shapes.flatten(other)), rest)
