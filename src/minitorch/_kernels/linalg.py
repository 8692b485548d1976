"""What NumPy's linear algebra has not: LU, triangular systems, partial Cholesky factors, cofactors, the exponential.

All work on batches, ``(*, m, n)``.  As NumPy's own, they compute in float64 and round once where the input is float32.
"""

from __future__ import annotations

import contextlib
from math import prod

import numpy as np

_BLOCK = 32


def _transposed(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-1, -2)


# -- LU ----------------------------------------------------------------------------------------------------------------
def lu(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LU with partial pivoting, as LAPACK's getrf: packed factors, pivots counted from 1, the first zero pivot (or 0).

    Recursive in halves of the columns, so that most of the work is matrix products: S. Toledo, "Locality of reference in
    LU decomposition with partial pivoting" (1997).
    """
    *batch, m, n = matrices.shape
    size = min(m, n)
    work = matrices.reshape(prod(batch), m, n).astype(np.float64)
    pivots = np.empty((len(work), size), np.int32)
    _factor(work, pivots, 0, size)
    if n > size:
        work[:, :, size:] = solve_triangular(work[:, :, :size], work[:, :, size:], upper=False, unit=True)
    zero = work.diagonal(0, 1, 2) == 0
    info = np.where(zero.any(-1), zero.argmax(-1) + 1, 0) if size else np.zeros(len(work))
    return (
        work.reshape(matrices.shape).astype(matrices.dtype, copy=False),
        pivots.reshape(*batch, size),
        info.astype(np.int32).reshape(batch),
    )


def _factor(work: np.ndarray, pivots: np.ndarray, first: int, last: int) -> None:
    """Factorise columns *first* to *last* in place, given that those before them are; rows are swapped whole."""
    if last - first > 8:
        middle = (first + last) // 2
        _factor(work, pivots, first, middle)
        corner, right = work[:, first:middle, first:middle], work[:, first:middle, middle:last]
        right[...] = solve_triangular(corner, right, upper=False, unit=True)
        work[:, middle:, middle:last] -= work[:, middle:, first:middle] @ right
        _factor(work, pivots, middle, last)
        return
    each = np.arange(len(work))
    for j in range(first, last):
        pivot = np.abs(work[:, j:, j]).argmax(-1) + j
        pivots[:, j] = pivot + 1
        row = work[each, pivot]
        work[each, pivot], work[:, j] = work[:, j].copy(), row
        below = work[:, j + 1 :, j]
        divisor = row[:, j, None]
        np.divide(below, divisor, out=below, where=divisor != 0)
        work[:, j + 1 :, j + 1 : last] -= below[:, :, None] * row[:, None, j + 1 : last]


def permutation(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Which row of the matrix stands in each row of ``L @ U``, for pivots as LAPACK gives them."""
    flat = pivots.reshape(prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    each = np.arange(len(flat))
    for j in range(flat.shape[1]):
        other = flat[:, j] - 1
        order[each, other], order[:, j] = order[:, j].copy(), order[each, other]
    return order.reshape(*pivots.shape[:-1], rows)


# -- triangular systems ------------------------------------------------------------------------------------------------
def solve_triangular(triangle: np.ndarray, right: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """X of ``triangle @ X = right``; the other triangle is not read, nor the diagonal where it is *unit*.

    Blocks are eliminated by matrix products; a diagonal block, its order reversed where it is lower, is its own LU
    factorisation, so that NumPy's solver does nothing but substitute.
    """
    size = triangle.shape[-1]
    if size <= _BLOCK:
        return _substitute(triangle, right, upper, unit)
    middle = size // 2
    first, last = triangle[..., :middle, :middle], triangle[..., middle:, middle:]
    if upper:
        low = solve_triangular(last, right[..., middle:, :], upper, unit)
        rest = right[..., :middle, :] - triangle[..., :middle, middle:] @ low
        return np.concatenate([solve_triangular(first, rest, upper, unit), low], -2)
    high = solve_triangular(first, right[..., :middle, :], upper, unit)
    rest = right[..., middle:, :] - triangle[..., middle:, :middle] @ high
    return np.concatenate([high, solve_triangular(last, rest, upper, unit)], -2)


def _substitute(triangle: np.ndarray, right: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    if not upper:
        flipped = _substitute(triangle[..., ::-1, ::-1], right[..., ::-1, :], True, unit)
        return np.ascontiguousarray(flipped[..., ::-1, :])  # tensors have no negative strides
    if unit:
        block = np.triu(triangle, 1)
        block += np.eye(block.shape[-1], dtype=block.dtype)
    else:
        block = np.triu(triangle)
    diagonal = block.diagonal(0, -2, -1)
    if diagonal.all():
        return np.linalg.solve(block, right)
    out = np.empty(np.broadcast_shapes(block.shape[:-2], right.shape[:-2]) + right.shape[-2:], right.dtype)
    for i in reversed(range(block.shape[-1])):  # dividing by zero as LAPACK does
        known = (block[..., i : i + 1, i + 1 :] @ out[..., i + 1 :, :])[..., 0, :]
        out[..., i, :] = (right[..., i, :] - known) / diagonal[..., i, None]
    return out


def solve(matrices: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X of ``matrices @ X = right``, and for each matrix its first zero pivot (or 0)."""
    batch = matrices.shape[:-2]
    try:
        return np.linalg.solve(matrices, right), np.zeros(batch, np.int32)
    except np.linalg.LinAlgError:
        factors, pivots, info = lu(matrices)
    order = permutation(pivots, matrices.shape[-1])
    shape = np.broadcast_shapes(batch, right.shape[:-2])
    right = np.broadcast_to(right, shape + right.shape[-2:])
    swapped = np.take_along_axis(right, np.broadcast_to(order[..., None], (*shape, order.shape[-1], 1)), -2)
    lower = solve_triangular(factors, swapped, upper=False, unit=True)
    return solve_triangular(factors, lower, upper=True, unit=False), info


# -- Cholesky ----------------------------------------------------------------------------------------------------------
def cholesky(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower factors, and for each the order of the first leading minor that is not positive (or 0).

    A factor that does not exist is the part that LAPACK's potf2 computes before it stops.
    """
    batch = matrices.shape[:-2]
    with contextlib.suppress(np.linalg.LinAlgError):
        factors = np.linalg.cholesky(matrices)
        if np.isfinite(factors).all():
            return factors, np.zeros(batch, np.int32)
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    out, info = np.empty_like(flat), np.zeros(len(flat), np.int32)
    for i, matrix in enumerate(flat):
        try:
            out[i] = np.linalg.cholesky(matrix)
            whole = np.isfinite(out[i]).all()
        except np.linalg.LinAlgError:
            whole = False
        if not whole:
            out[i], info[i] = _partial_cholesky(matrix)
    return out.reshape(matrices.shape), info.reshape(batch)


def _partial_cholesky(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    out = np.tril(matrix).astype(np.float64)
    for j in range(len(out)):
        pivot = out[j, j] - out[j, :j] @ out[j, :j]
        if not pivot > 0 or (j and np.isinf(out[j - 1, j - 1])):
            out[j, j] = pivot
            return out, j + 1
        out[j, j] = np.sqrt(pivot)
        out[j + 1 :, j] = (out[j + 1 :, j] - out[j + 1 :, :j] @ out[j, :j]) / out[j, j]
    return out, 0


# -- singular values ---------------------------------------------------------------------------------------------------
def svd(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, the singular values, and V^T; LinAlgError for values that are not finite: LAPACK may not come back from those."""
    if not np.isfinite(matrices).all():
        raise np.linalg.LinAlgError("values that are not finite")
    u, s, vt = np.linalg.svd(matrices, full_matrices=False)
    return u, s, vt


# -- cofactors ---------------------------------------------------------------------------------------------------------
def _singular(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """U, the singular values, V^T, and the determinant of ``U V^T``; NaN where there are none."""
    try:
        u, s, vt = svd(matrices)
    except np.linalg.LinAlgError:
        nan = np.full(matrices.shape, np.nan, matrices.dtype)
        return nan, nan[..., 0], nan, nan[..., 0, 0]
    return u, s, vt, np.rint(np.linalg.det(u) * np.linalg.det(vt)).astype(matrices.dtype)


def _others(values: np.ndarray) -> np.ndarray:
    """For each value the product of the others on the last axis, without dividing."""
    before, after = np.ones_like(values), np.ones_like(values)
    np.cumprod(values[..., :-1], -1, out=before[..., 1:])
    after[..., :-1] = np.cumprod(values[..., :0:-1], -1)[..., ::-1]
    return before * after


def cofactor(matrices: np.ndarray) -> np.ndarray:
    """The gradients of the determinants, for matrices of any rank: by the products of all singular values but one."""
    if not matrices.size:
        return np.zeros_like(matrices)
    u, s, vt, sign = _singular(matrices)
    return (u * (_others(s) * sign[..., None])[..., None, :]) @ vt


def cofactor_slope(matrices: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How the cofactors change in a direction: the Hessians of the determinants, by products of all values but two."""
    if not matrices.size:
        return np.zeros_like(matrices)
    u, s, vt, sign = _singular(matrices)
    one = np.eye(s.shape[-1], dtype=bool)
    pairs = np.where(one, 0, _others(np.where(one, 1, s[..., None, :]).astype(s.dtype)))
    turned = _transposed(u) @ direction @ _transposed(vt)
    inner = -_transposed(turned) * pairs
    diagonal = (pairs @ turned.diagonal(0, -2, -1)[..., None])[..., 0]
    inner = np.where(one, diagonal[..., None, :], inner) * sign[..., None, None]
    return u @ inner @ vt


# -- exponential -------------------------------------------------------------------------------------------------------
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_REACH = 5.371920351148152


def matrix_exp(matrices: np.ndarray) -> np.ndarray:
    """The exponentials, by scaling, the Padé approximant of degree 13, and squaring.

    N. J. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005), algorithm 2.3.
    """
    if not matrices.size:
        return matrices.copy()
    a = matrices.astype(np.float64)
    norm = np.abs(a).sum(-2).max(-1)
    finite = np.isfinite(norm)
    halvings = np.ceil(np.log2(np.where(finite & (norm > _PADE_REACH), norm / _PADE_REACH, 1))).astype(int)
    a = np.where(finite[..., None, None], np.ldexp(a, -halvings[..., None, None]), 0)
    one = np.eye(a.shape[-1])
    b = _PADE
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one
    odd = a @ odd
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    out = np.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max())):
        out = np.where((step < halvings)[..., None, None], out @ out, out)
    return np.where(finite[..., None, None], out, np.nan).astype(matrices.dtype, copy=False)
