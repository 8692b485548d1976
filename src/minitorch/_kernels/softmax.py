"""Softmax, log-softmax, logsumexp and their derivative maps.

Exponentials may be summed without subtracting a maximum first as long as the sums are neither huge nor tiny, and the
sums themselves tell. So a block of rows is first tried as it is, and done again with each row's maximum subtracted if a
sum is out of bounds or not finite. For few values, a small norm makes looking at the sums unnecessary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .reduce import ones, sum, sum_middle, sum_rows

Array: TypeAlias = np.ndarray

# Elements of a block of rows: in float32, it and its result stay in the L2 cache.
_BLOCK = 1 << 16
# Rows up to _SQUARE long are summed by a square matrix of ones, which leaves each sum all along its row, so that what
# follows needs no broadcasting; up to _GEMV long by a vector of ones, longer ones in parts.
_SQUARE = 12
_SQUARES = {size: [np.ones((length, length), f"f{size}") for length in range(_SQUARE + 1)] for size in (4, 8)}
_GEMV = 256
# Up to this many values, logarithms of repeated sums cost less than broadcasting does.
_FEW = 256

# So many rows side by side, of so many elements, make transposed views worth while.
_BESIDE, _FEW_BESIDE = 64, 4096
# Rows up to this long are transposed to find their maxima.
_TRANSPOSED = 32
# Rows up to this long are tried without a maximum; longer ones, as exponentials taken twice cost much, where the first
# row's maximum is between these.
_SHORT = 128
_MODEST = (-8.0, 40.0)
# Where the squared norm of all logits is below this, or every row's sum of exponentials between these, probabilities
# down to 1e-32 keep all their digits.
_SOFTMAX_NORM = 80.0**2
_SOFTMAX_BOUNDS = (1e-6, 1e30)
# Where the squared norm of so few values is below this, or every row's sum between these, the logarithm of the sum is
# as exact as with a maximum subtracted: to 5e-7 in float32.
_LOG_SOFTMAX_SIZE = 64
_LOG_SOFTMAX_NORM = 8.0**2
_LOG_SOFTMAX_LENGTH = 1024
_LOG_SOFTMAX_MODEST = 6.0
_LOG_SOFTMAX_BOUNDS = (math.exp(-8.0), math.exp(8.0))


def softmax(x: Array, dim: int) -> Array:
    """Return ``exp(x) / exp(x).sum(dim)``, without overflow.

    Parameters
    ----------
    x : ndarray
        Floating-point logits of any shape.
    dim : int
        The axis along which the results sum to one.

    Returns
    -------
    ndarray
        A fresh array of `x`'s shape and dtype. A row that holds NaN or +inf, or nothing but -inf, is NaN throughout.
    """
    return _softmax(x) if _is_block(x, dim) else _along_rows(_softmax, dim, x)


def log_softmax(x: Array, dim: int) -> Array:
    """Return the logarithm of `softmax`, exact also where that is too small to represent."""
    return _log_softmax(x) if _is_block(x, dim) else _along_rows(_log_softmax, dim, x)


def softmax_backward(grad: Array, output: Array, dim: int) -> Array:
    """Return the gradient of softmax's input: ``output * (grad - (grad * output).sum(dim))``."""
    if _is_block(output, dim) and grad.flags.c_contiguous:
        return _softmax_backward(grad, output)
    return _along_rows(_softmax_backward, dim, grad, output)


def log_softmax_backward(grad: Array, output: Array, dim: int) -> Array:
    """Return the gradient of log-softmax's input: ``grad - exp(output) * grad.sum(dim)``."""
    if _is_block(output, dim) and grad.flags.c_contiguous:
        return _log_softmax_backward(grad, output)
    return _along_rows(_log_softmax_backward, dim, grad, output)


def softmax_bend(first: Array, second: Array, output: Array, dim: int) -> Array:
    """Return the second derivative of softmax along two gradients, by its output: symmetric in them.

    ``first * second - first * (second * output).sum(dim) - second * (first * output).sum(dim)``
    """
    return _along_rows(_softmax_bend, dim, first, second, output)


def softmax_turn(first: Array, second: Array, output: Array, dim: int) -> Array:
    """Return ``first * second - first * (second * output).sum(dim) - output * (first * second).sum(dim)``."""
    return _along_rows(_softmax_turn, dim, first, second, output)


def log_softmax_tangent(tangent: Array, output: Array, dim: int) -> Array:
    """Return the tangent of log-softmax's output: ``tangent - (tangent * exp(output)).sum(dim)``."""
    return _along_rows(_log_softmax_tangent, dim, tangent, output)


def log_softmax_bend(first: Array, second: Array, output: Array, dim: int) -> Array:
    """Return ``-first * exp(output) * second.sum(dim)``."""
    return _along_rows(_log_softmax_bend, dim, first, second, output)


def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """Return ``log(exp(x).sum(dims))``, without overflow; nothing, or nothing but -inf, gives -inf.

    Parameters
    ----------
    x : ndarray
        Floating-point values of any shape.
    dims : tuple of int
        The axes summed over.
    keepdim : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    ndarray
        A fresh array of `x`'s dtype.
    """
    if x.itemsize == 2:
        return logsumexp(x.astype(np.float32), dims, keepdim).astype(x.dtype)
    if x.ndim == 0:
        return x.copy()
    top = np.maximum.reduce(x, dims, out=..., keepdims=True, initial=-np.inf)
    shift = np.where(np.isinf(top), x.dtype.type(0), top)
    powers = np.subtract(x, shift)
    np.exp(powers, powers)
    result = sum(powers, dims, keepdim)
    np.log(result, result)
    return np.add(result, shift if keepdim else shift.squeeze(dims), result)


def _is_block(x: Array, dim: int) -> bool:
    """Whether `x` is, as it is, a block of rows along `dim`."""
    return x.ndim == 2 and (dim == 1 or dim == -1) and 0 < x.size <= _BLOCK and x.itemsize > 2 and x.flags.c_contiguous


def _along_rows(kernel: Callable[..., Array], dim: int, *arrays: Array) -> Array:
    """Apply ``kernel(*blocks, out)`` to the rows of `arrays` along `dim`, block by block.

    Rows along another axis than the last are copied next to one another, or, where many long ones lie side by side, seen
    transposed: NumPy goes through memory in its order.
    """
    first = arrays[0]
    if first.size == 0:
        return np.empty(first.shape, first.dtype)
    if first.itemsize == 2:
        return _along_rows(kernel, dim, *[array.astype(np.float32) for array in arrays]).astype(first.dtype)
    last = first.ndim - 1
    moved = last > 0 and dim % first.ndim != last
    if moved and last == 1 and first.size <= _BLOCK:
        return kernel(*[array.T.copy() for array in arrays]).T.copy()
    length = first.shape[dim] if first.ndim else 1
    inner = math.prod(first.shape[dim % first.ndim + 1 :]) if moved else 1
    if moved and length > _TRANSPOSED and inner >= _BESIDE and length * inner > _FEW_BESIDE:
        return _along_columns(kernel, length, inner, *arrays)
    if moved:
        arrays = tuple([array.swapaxes(dim, last) for array in arrays])
    result = np.empty(arrays[0].shape, first.dtype)
    out = result.reshape(-1, length)
    rows = [np.ascontiguousarray(array).reshape(-1, length) for array in arrays]
    step = max(1, _BLOCK // length)
    for start in range(0, len(out), step):
        stop = start + step
        kernel(*[matrix[start:stop] for matrix in rows], out[start:stop])
    return np.ascontiguousarray(result.swapaxes(dim, last)) if moved else result


def _along_columns(kernel: Callable[..., Array], length: int, inner: int, *arrays: Array) -> Array:
    """Apply ``kernel(*blocks, out)`` to the columns of contiguous matrices of this shape, transposed."""
    result = np.empty(arrays[0].shape, arrays[0].dtype)
    for matrices in zip(*[np.ascontiguousarray(array).reshape(-1, length, inner) for array in (*arrays, result)]):
        kernel(*[matrix.T for matrix in matrices])
    return result


def _softmax(x: Array, out: Array | None = None) -> Array:
    if x.shape[1] <= _SHORT or _MODEST[0] < x[0].max() < _MODEST[1]:
        out = np.exp(x, out)
        sums = _sums(out)
        flat = x.ravel("K")
        if flat.dot(flat) < _SOFTMAX_NORM or _within(_SOFTMAX_BOUNDS, sums):
            return np.divide(out, sums, out)
    out = np.subtract(x, _maxima(x), out)
    np.exp(out, out)
    return np.divide(out, _sums(out), out)


def _log_softmax(x: Array, out: Array | None = None) -> Array:
    summed = _sums if x.size <= _FEW else _column
    if x.shape[1] <= _SHORT or (x.shape[1] <= _LOG_SOFTMAX_LENGTH and abs(x[0].max()) < _LOG_SOFTMAX_MODEST):
        out = np.exp(x, out)
        sums = summed(out)
        flat = x.ravel("K")
        if (x.size <= _LOG_SOFTMAX_SIZE and flat.dot(flat) < _LOG_SOFTMAX_NORM) or _within(_LOG_SOFTMAX_BOUNDS, sums):
            return np.subtract(x, np.log(sums, sums), out)
    out = np.subtract(x, _maxima(x), out)
    sums = summed(np.exp(out))
    return np.subtract(out, np.log(sums, sums), out)


def _softmax_backward(grad: Array, output: Array, out: Array | None = None) -> Array:
    out = np.multiply(grad, output, out)
    np.subtract(grad, _sums(out), out)
    return np.multiply(out, output, out)


def _log_softmax_backward(grad: Array, output: Array, out: Array | None = None) -> Array:
    out = np.exp(output, out)
    np.multiply(out, _sums(grad), out)
    return np.subtract(grad, out, out)


def _softmax_bend(first: Array, second: Array, output: Array, out: Array | None = None) -> Array:
    out = np.subtract(second, _sums(second * output), out)
    np.multiply(out, first, out)
    return np.subtract(out, second * _sums(first * output), out)


def _softmax_turn(first: Array, second: Array, output: Array, out: Array | None = None) -> Array:
    out = np.subtract(second, _sums(second * output), out)
    np.multiply(out, first, out)
    return np.subtract(out, output * _sums(first * second), out)


def _log_softmax_tangent(tangent: Array, output: Array, out: Array | None = None) -> Array:
    out = np.exp(output, out)
    np.multiply(out, tangent, out)
    return np.subtract(tangent, _sums(out), out)


def _log_softmax_bend(first: Array, second: Array, output: Array, out: Array | None = None) -> Array:
    out = np.exp(output, out)
    np.multiply(out, first, out)
    return np.multiply(out, -_sums(second), out)


def _sums(rows: Array) -> Array:
    """Sum each row: a column, or the sums repeated along short rows."""
    length = rows.shape[1]
    if length <= _SQUARE:
        return rows.dot(_SQUARES[rows.itemsize][length])
    return _column(rows)


def _column(rows: Array) -> Array:
    """Sum each row, into a column."""
    length = rows.shape[1]
    if length <= _GEMV:
        return rows.dot(ones(rows.dtype.char, length, 1))
    if rows.flags.c_contiguous:
        return sum_rows(rows)[:, None]
    return sum_middle(rows.T[None]).T


def _maxima(rows: Array) -> Array:
    """Each row's maximum, as a column; of many short rows by way of the transpose, as NumPy's cost is per row."""
    count, length = rows.shape
    if length <= _TRANSPOSED and count > 8:
        return np.maximum.reduce(np.ascontiguousarray(rows.T), 0).reshape(count, 1)
    return np.maximum.reduce(rows, 1, keepdims=True)


def _within(bounds: tuple[float, float], sums: Array) -> bool:
    """Whether all sums are within bounds, and so finite: NaN compares as out of them."""
    return bounds[0] < sums.item(sums.argmin()) and sums.item(sums.argmax()) < bounds[1]
