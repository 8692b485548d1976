"""Powers, exponentials and pseudo-inverses of matrices, ranks, and least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, integer, real, text, wrong_type
from .._choices import checks, choice
from .._errors import scalar_name
from .._kernels import linalg as kernels
from .._op import op
from .._runtime import deliver, refuse_derivative, traced, wrap
from .._types import Number
from . import _returns, linalg
from . import shape as shapes
from ._matrices import LinAlgError, check_batches, check_floating, check_matrices, delivered, matrix_rows
from .solves import inv

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- powers ------------------------------------------------------------------------------------------------------------
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th powers of square matrices, by repeated squaring.

    Parameters
    ----------
    input : Tensor
        ``(*, m, m)``; of floats where *n* is negative.
    n : int
        The exponent; a negative one is that of the inverse.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    linalg.LinAlgError
        If *n* is negative and a matrix is singular.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    name = "linalg.matrix_power"
    if out is not None:
        return deliver(name, lambda: matrix_power(input, n), (input,), out)
    array = array_of(name, input)
    exponent = integer(n, "n")
    check_matrices(name, array)
    if exponent == 0:
        zero = traced.masked_fill(input, wrap(np.ones((), bool)), value=0)
        return zero + wrap(np.eye(array.shape[-1], dtype=array.dtype))
    square = inv(input) if exponent < 0 else input
    exponent = abs(exponent)
    if exponent == 1:
        return traced.clone(square) if square is input else square
    result: Any = None
    while exponent:
        if exponent & 1:
            result = square if result is None else linalg.matmul(result, square)
        exponent >>= 1
        if exponent:
            square = linalg.matmul(square, square)
    return result


# -- exponential -------------------------------------------------------------------------------------------------------
def _matrix_exp(self: np.ndarray) -> np.ndarray:
    return kernels.matrix_exp(self)


def _matrix_exp_tangent(F: Any, t: Any, self: Any) -> Any:
    """The upper right block of ``exp([[A, t], [0, A]])``.

    R. Mathias, "A chain rule for matrix functions and applications" (1996).
    """
    ndim, size = len(self.shape), self.shape[-1]
    upper = F.cat([self, t], dim=ndim - 1)
    lower = F.cat([F.zeros_like(self), self], dim=ndim - 1)
    whole = F.matrix_exp(F.cat([upper, lower], dim=ndim - 2))
    return F.slice(matrix_rows(F, whole, 0, size), dim=ndim - 1, start=size, end=2 * size)


def _matrix_exp_self(F: Any, g: Any, self: Any) -> Any:
    """The same of the transpose."""
    return _matrix_exp_tangent(F, g, F.mT(self))


_matrix_exp_row = op(
    "matrix_exp", "LinalgMatrixExpBackward0", _matrix_exp, ("self",), tangent=_matrix_exp_tangent, self=_matrix_exp_self
)


def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices.

    Parameters
    ----------
    input : Tensor
        Floats, ``(*, n, n)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    tensor([[1., 2.],
            [0., 1.]])
    """
    name = "linalg.matrix_exp"
    array = array_of(name, input)
    check_floating(name, array)
    check_matrices(name, array)
    return _matrix_exp_row(input)


# -- pseudo-inverse and rank -------------------------------------------------------------------------------------------
def _cutoff(values: np.ndarray, rtol: Any, atol: Any) -> np.ndarray:
    """What singular values must exceed to count, for each matrix."""
    return np.maximum(atol, rtol * values.max(-1, initial=0))[..., None]


@checks
def _pinv(self: np.ndarray, *, rtol: np.ndarray, atol: np.ndarray, hermitian: bool = False) -> np.ndarray:
    try:
        if hermitian:
            signed, v = np.linalg.eigh(self)
            u, values = v, np.abs(signed)
        else:
            u, values, vh = kernels.svd(self)
            signed, v = values, vh.swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        raise LinAlgError("linalg.pinv: The algorithm failed to converge: the input has non-finite values.") from None
    counts = values > _cutoff(values, rtol, atol)
    inverses = np.where(counts, np.divide(1, signed, where=counts, out=np.zeros_like(signed)), 0)
    return np.asarray((v * inverses[..., None, :]) @ u.swapaxes(-1, -2), self.dtype)


def pinv_gradient(F: Any, g: Any, matrix: Any, inverse: Any) -> Any:
    """The derivative of a pseudo-inverse where the rank does not change.

    G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate" (1973), transposed.
    """
    turned = F.mT(g)
    main = F.bmm_nt(F.bmm_tn(inverse, g), inverse)
    left = F.bmm_nt(F.matmul(turned, inverse), inverse)
    right = F.matmul(F.bmm_tn(inverse, inverse), turned)
    left = left - F.matmul(matrix, F.matmul(inverse, left))
    right = right - F.matmul(F.matmul(right, inverse), matrix)
    return left + right - main


def _pinv_tangent(F: Any, t: Any, self: Any, result: Any) -> Any:
    """The derivative itself: what leaves the range and the row space goes by the inverse's own products."""
    turned = F.mT(t)
    left = F.matmul(F.bmm_nt(result, result), turned)
    right = F.matmul(turned, F.bmm_tn(result, result))
    left = left - F.matmul(F.matmul(left, self), result)
    right = right - F.matmul(result, F.matmul(self, right))
    return left + right - F.matmul(result, F.matmul(t, result))


_pinv_row = op("pinv", "LinalgPinvBackward0", _pinv, ("self",), hides=("rtol", "atol", "hermitian"), tangent=_pinv_tangent,
               self=lambda F, g, self, result: pinv_gradient(F, g, self, result))  # fmt: skip


def _tolerances(name: str, array: np.ndarray, atol: Any, rtol: Any) -> tuple[np.ndarray, np.ndarray]:
    """Relative and absolute tolerance; without either, the relative one is the precision times the larger size."""
    default = np.finfo(array.dtype).eps * max(array.shape[-2:])
    tolerances = []
    for given, which, otherwise in ((rtol, "rtol", 0.0 if atol is not None else default), (atol, "atol", 0.0)):
        value = otherwise if given is None else getattr(given, "_array", given)
        if given is not None and not hasattr(given, "_array") and not isinstance(given, (int, float)):
            raise wrong_type(given, which, "float or Tensor")
        tolerances.append(np.asarray(value, array.dtype))
        check_batches(name, array.shape[:-2], tolerances[-1].shape)
    if rtol is None and atol is not None and hasattr(atol, "_array"):  # as PyTorch: where there is no absolute one
        tolerances[0] = np.where(tolerances[1] > 0, 0, default).astype(array.dtype)
    return tolerances[0], tolerances[1]


def _refuse_both(name: str, argument: str, older: Any, atol: Any, rtol: Any) -> None:
    """Raise TypeError where a tolerance comes under its older name and a newer one too."""
    if older is not None and (atol is not None or rtol is not None):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: got {argument} together with "
            f"{'rtol' if atol is None else 'atol'}; leave {argument} out"
        )


def pinv(
    input: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Number | Tensor | None = None,
    rtol: Number | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudo-inverses of matrices (Moore and Penrose).

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``.
    rcond : float or Tensor, optional
        An older name of *rtol*.
    hermitian : bool
        Whether the matrices are symmetric.
    atol, rtol : float or Tensor, optional
        Singular values that do not exceed ``max(atol, rtol * largest)`` count as zero.  *rtol* is, where neither is given,
        the precision of the dtype times ``max(m, n)``, and where only *atol* is given, zero.
    out : Tensor, optional
        Where the result, ``(*, n, m)``, is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    name = "linalg.pinv"
    if out is not None:
        return deliver(name, lambda: pinv(input, rcond, hermitian, atol=atol, rtol=rtol), (input,), out)
    array = array_of(name, input)
    if array.ndim < 2 or array.dtype.kind != "f" or array.dtype.itemsize < 4:
        raise RuntimeError(
            f"{name}({scalar_name(array.dtype)}{{{list(array.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    if flag(hermitian, "hermitian"):
        check_matrices("linalg.eigh", array)
    _refuse_both(name, "rcond", rcond, atol, rtol)
    rtol = rcond if rtol is None else rtol
    for which, tolerance in (("atol", atol), ("rtol", rtol)):
        if hasattr(tolerance, "_array"):
            refuse_derivative("linalg_pinv", which, tolerance)
    relative, absolute = _tolerances(name, array, atol, rtol)
    return _pinv_row(input, relative, absolute, hermitian)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverses of matrices: `linalg.pinv`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.pinverse(torch.tensor([[4.0]]))
    tensor([[0.2500]])
    """
    return pinv(input, real(rcond, "rcond", "pinverse"))


def matrix_rank(
    input: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Number | Tensor | None = None,
    rtol: Number | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ranks of matrices: how many singular values exceed ``max(atol, rtol * largest)``; without gradient.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``.
    tol : float or Tensor, optional
        An older name of *atol*.
    hermitian : bool
        Whether the matrices are symmetric.
    atol, rtol : float or Tensor, optional
        The tolerances, with the defaults of `linalg.pinv`.
    out : Tensor, optional
        Where the result, int64, is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.matrix_rank(torch.ones(3, 2))
    tensor(1)
    """
    name = "linalg.matrix_rank"
    if out is not None:
        return deliver(name, lambda: matrix_rank(input, tol, hermitian, atol=atol, rtol=rtol), (), out)
    array = array_of(name, input)
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: This function doesn't handle types other than float and double")
    check_matrices(f"torch.{name}", array, square=flag(hermitian, "hermitian"))
    _refuse_both(name, "tol", tol, atol, rtol)
    if tol is not None:
        rtol, atol = 0.0, tol
    relative, absolute = _tolerances(name, array, atol, rtol)
    return wrap(_rank(input, wrap(relative), wrap(absolute), hermitian=hermitian))


@choice("matrix_rank", ("self", "rtol", "atol"), warns=True)
def _rank(self: np.ndarray, rtol: np.ndarray, atol: np.ndarray, *, hermitian: bool) -> np.ndarray:
    values = _magnitudes(self, hermitian)
    return np.asarray((values > _cutoff(values, rtol, atol)).sum(-1))


def _magnitudes(array: np.ndarray, hermitian: bool) -> np.ndarray:
    try:
        return np.abs(np.linalg.eigvalsh(array)) if hermitian else np.linalg.svd(array, compute_uv=False)
    except np.linalg.LinAlgError:
        raise LinAlgError("linalg.matrix_rank: The algorithm failed to converge: non-finite values.") from None


# -- least squares -----------------------------------------------------------------------------------------------------
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@checks
def _lstsq(self: np.ndarray, other: np.ndarray, *, rcond: float, driver: str) -> list[np.ndarray]:
    """Solutions, residuals, ranks and singular values, each as the LAPACK driver gives it."""
    batch, (m, n), k = self.shape[:-2], self.shape[-2:], other.shape[-1]
    shape = np.broadcast_shapes(batch, other.shape[:-2])
    rows = np.broadcast_to(other, shape + other.shape[-2:])
    try:
        u, values, vh = kernels.svd(self)
    except np.linalg.LinAlgError:
        raise LinAlgError("torch.linalg.lstsq: The algorithm failed to converge: non-finite values.") from None
    counts = values > rcond * values.max(-1, initial=0)[..., None]
    rank = np.asarray(counts.sum(-1))
    if driver == "gels" and (rank < min(m, n)).any():
        raise LinAlgError(
            "torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not have "
            "full rank."
        )
    inverses = np.divide(1, values, where=counts, out=np.zeros_like(values))
    solution = vh.swapaxes(-1, -2) @ (inverses[..., None] * (u.swapaxes(-1, -2) @ rows))
    residuals = np.empty(0, self.dtype)
    if driver != "gelsy" and m > n and (rank == n).all():
        residuals = np.square(rows - self @ solution).sum(-2).reshape(*shape, k)
    solution = np.asarray(solution, self.dtype)
    none = driver in ("gels", "gelsy")
    return [
        solution,
        residuals,
        np.empty(0, np.int64) if driver == "gels" else rank,
        np.empty(0, self.dtype) if none else values,
    ]


def _lstsq_self(F: Any, g: Any, self: Any, other: Any, result: Any, rcond: float) -> Any:
    """Of ``X = A^+ B`` by that of the pseudo-inverse; of the squares of ``R = B - A X`` it is ``-2 R X^T``."""
    inverse = F.pinv(self, rtol=rcond, atol=0.0)
    slope = pinv_gradient(F, F.bmm_nt(g[0], other), self, inverse)
    if len(g[1].shape) > 1 or g[1].shape != (0,):
        rest = (other - F.matmul(self, result[0])) * F.unsqueeze(g[1], dim=-2)
        slope = slope - 2 * F.bmm_nt(rest, result[0])
    return slope


def _lstsq_other(F: Any, g: Any, self: Any, other: Any, result: Any, rcond: float) -> Any:
    slope = F.bmm_tn(F.pinv(self, rtol=rcond, atol=0.0), g[0])
    if len(g[1].shape) > 1 or g[1].shape != (0,):
        slope = slope + 2 * (other - F.matmul(self, result[0])) * F.unsqueeze(g[1], dim=-2)
    return slope


_lstsq_row = op("lstsq", "LinalgLstsqBackward0", _lstsq, ("self", "other"), outputs=4, broadcasts=True,
                numbers=False, tangent="transpose",
                self=_lstsq_self, other=_lstsq_other)  # fmt: skip


def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Any = None
) -> _returns.linalg_lstsq:
    """The X of least norm that minimises ``norm(input @ X - b)``.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``.
    b : Tensor
        ``(*, m, k)``, whose batch broadcasts; or vectors: ``(*, m)`` with just the batch of *input*.
    rcond : float, optional
        Singular values that do not exceed it times the largest count as zero (default: the dtype's precision times
        ``max(m, n)``).
    driver : str, optional
        "gelsy" (the default), "gels" (for full rank only), "gelsd" or "gelss": which of the results are computed.  The
        method is always the singular value decomposition.
    out : tuple of four Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``solution``; ``residuals``, sums of squares, where m > n and the rank is full; ``rank``; ``singular_values``.
        Those that the driver does not give are empty.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    name = "linalg.lstsq"
    if out is not None:
        return delivered(name, lambda: lstsq(input, b, rcond, driver=driver), (input, b), out)
    a, rows = array_of(name, input), array_of(name, b, "b", 2)
    if a.ndim < 2:
        raise RuntimeError(f"torch.{name}: input must have at least 2 dimensions.")
    if rows.ndim < 1:
        raise RuntimeError(f"torch.{name}: other must have at least 1 dimension.")
    if a.dtype.kind != "f" or a.dtype.itemsize < 4:
        raise RuntimeError(f"torch.{name}: This function doesn't handle types other than float and double")
    if a.dtype != rows.dtype:
        raise RuntimeError(
            f"torch.{name}: Expected input and other to have the same dtype, but got {a.dtype}, {rows.dtype}"
        )
    if driver is not None and text(driver, "driver") not in _DRIVERS:
        raise RuntimeError(f"torch.{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vectors = rows.ndim == 1 or (rows.ndim == a.ndim - 1 and rows.shape == a.shape[:-1])
    column = shapes.unsqueeze(b, -1) if vectors else b
    if a.shape[-2] != column._array.shape[-2]:
        raise RuntimeError(f"torch.{name}: input.size(-2) should match other.size({'-1' if vectors else '-2'})")
    check_batches(name, a.shape[:-2], column._array.shape[:-2])
    tolerance = float(np.finfo(a.dtype).eps * max(a.shape[-2:])) if rcond is None else real(rcond, "rcond")
    solution, residuals, rank, values = _lstsq_row(input, column, tolerance, driver or "gelsy")
    if vectors:
        solution = shapes.squeeze(solution, -1)
    return _returns.linalg_lstsq((solution, residuals, rank, values.detach()))
