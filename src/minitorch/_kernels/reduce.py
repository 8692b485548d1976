"""Sums, scans, variance and products, and the maps their derivatives need.

NumPy adds float32 values along the last axis pairwise, but along any other one after another, which over a million
terms loses half the digits. A product with a vector of ones is as fast as memory allows, and, a few hundred terms at a
time, as accurate as a pairwise sum.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray

# Up to this many elements, NumPy's own reduction is both accurate and fast.
_SMALL = 1024
# Terms that one product with ones adds up with a pairwise sum's accuracy: along rows, where it keeps many partial sums;
# down the columns of one matrix, where it keeps a few; and of several, where it keeps one.
_ROW = 256
_COLUMN = 256
_CHUNK = 64
# Logarithms closer than this have exponentials of which none vanishes next to the largest.
_SPREAD = 600.0
# From here on, a single row is worth folding.
_WIDE = 4096


@lru_cache(maxsize=1024)
def ones(char: str, *shape: int) -> Array:
    """Return a shared, read-only array of ones of the dtype with this character code, to sum by matrix products."""
    result = np.ones(shape, char)
    result.flags.writeable = False
    return result


@lru_cache(maxsize=1024)
def number(char: str, value: float) -> Array:
    """Return a shared, read-only number as a 0-d array of the dtype with this code, which NumPy reads faster than a scalar."""
    result = np.full((), value, char)
    result.flags.writeable = False
    return result


def sum(x: Array, dims: tuple[int, ...] | None, keepdim: bool = False) -> Array:
    """Return the sum of `x` over some axes, as accurate as a pairwise sum whatever their order and length.

    Parameters
    ----------
    x : ndarray
        Values of any shape; integers and booleans are added as int64.
    dims : tuple of int or None
        The axes summed over; None for all.
    keepdim : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    ndarray
        A fresh array, of `x`'s dtype if that is a floating-point one.
    """
    if x.dtype.kind != "f":
        return np.add.reduce(x, dims, np.int64, out=..., keepdims=keepdim)
    if x.size <= _SMALL and x.itemsize > 2:
        return np.add.reduce(x, dims, out=..., keepdims=keepdim)
    if dims is None and not keepdim and x.itemsize > 2 and x.flags.c_contiguous:
        flat, whole = x.reshape(-1), x.size - x.size % _ROW
        total = np.add.reduce(flat[:whole].reshape(-1, _ROW).dot(ones(x.dtype.char, _ROW)), out=...)
        return total if whole == x.size else np.add(total, np.add.reduce(flat[whole:]), total)
    axes = _axes(x.ndim, dims)
    if keepdim:
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    else:
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return _sum_into(x, axes, np.empty(shape, x.dtype))


def sum_of_squares(x: Array, dims: tuple[int, ...] | None, keepdim: bool = False) -> Array:
    """Return the sum of the squares over some axes: in one pass where that is the last or, `dims` being None, all."""
    if dims is None:
        x, dims = x.ravel("K"), (0,)
        if x.size <= _ROW:
            return np.asarray(x.dot(x))
    if dims != (x.ndim - 1,) or not x.flags.c_contiguous:
        return sum(x * x, dims, keepdim)
    length = x.shape[-1]
    part = length if length <= _ROW else _part(length)
    if part:
        folded = x.reshape(*x.shape[:-1], length // part, part)
        return sum(np.vecdot(folded, folded), dims, keepdim)
    if x.ndim > 1 or not length:
        return sum(x * x, dims, keepdim)
    whole = length - length % _ROW
    return sum_of_squares(x[:whole], dims, keepdim) + sum_of_squares(x[whole:], dims, keepdim)


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: return `x` summed over the axes that were added to `shape`, or stretched, to get `x`'s.

    Returns
    -------
    ndarray
        A fresh array of that shape, or `x` itself when it has it already.
    """
    own = x.shape
    if own == shape:
        return x
    if is_one_product(x, shape):
        rows = x.reshape(-1, own[-1])
        return ones(x.dtype.char, len(rows)).dot(rows)
    lead = len(own) - len(shape)
    axes = (*range(lead), *[axis for axis, size in enumerate(shape, lead) if size == 1 and own[axis] != 1])
    if x.size <= _SMALL and x.itemsize > 2 and (lead == 0 or lead == len(axes)):
        return np.add.reduce(x, axes, out=..., keepdims=lead == 0)
    return _sum_into(x, axes, np.empty(shape, x.dtype))


def is_one_product(x: Array, shape: tuple[int, ...]) -> bool:
    """Return whether `sum_to` is one product with ones: a sum of a few rows."""
    own = x.shape
    return len(shape) == 1 and own[-1:] == shape and 0 < x.size <= _COLUMN * own[-1] and x.dtype.char in "fd"


def _axes(ndim: int, dims: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the axes in order, as numbers from 0; None for all."""
    return tuple(range(ndim)) if dims is None or not ndim else tuple(sorted([dim % ndim for dim in dims]))


def _sum_into(x: Array, axes: tuple[int, ...], out: Array) -> Array:
    """Fill `out`, of the kept axes and any of size 1, with the sum of `x` over `axes`, and return it."""
    if x.dtype.kind != "f" or not axes or (x.size <= _SMALL and x.itemsize > 2):
        kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
        np.add.reduce(x, axes, out=out.reshape(kept))
        return out
    if x.size == 0:
        out.fill(0)
        return out
    if x.itemsize == 2:
        x = x.astype(np.float32)
    value = np.ascontiguousarray(x)
    count = len(axes)
    if axes[0] == x.ndim - count:
        value = sum_rows(value.reshape(out.size, -1))
    elif axes[-1] == count - 1:
        value = sum_middle(value.reshape(1, -1, out.size))
    else:
        value = _sum_runs(value, axes)
    np.copyto(out, value.reshape(out.shape), casting="same_kind")
    return out


def _sum_runs(x: Array, axes: tuple[int, ...]) -> Array:
    """Sum a contiguous array over any axes, the last first; neighbours that are all summed, or all kept, act as one."""
    inner, outer = 1, x.size
    shape = x.shape
    for reduced, run in groupby(range(x.ndim - 1, -1, -1), lambda axis: axis in axes):
        size = math.prod([shape[axis] for axis in run])
        outer //= size
        if reduced:
            x = sum_middle(x.reshape(outer, size, inner))
        else:
            inner *= size
    return x


def sum_middle(x: Array) -> Array:
    """Sum a contiguous array over the middle one of its three axes."""
    outer, size, inner = x.shape
    if inner == 1:
        return sum_rows(x.reshape(outer, size))
    if outer == 1 and size <= _COLUMN:
        return ones(x.dtype.char, size).dot(x[0])
    if size < 2 * _CHUNK:
        return np.matmul(ones(x.dtype.char, 1, size), x) if inner >= _CHUNK else np.add.reduce(x, 1)
    whole = size - size % _CHUNK
    chunks = x[:, :whole].reshape(outer, whole // _CHUNK, _CHUNK, inner)
    partial = np.matmul(ones(x.dtype.char, 1, _CHUNK), chunks)
    result = sum_middle(partial.reshape(outer, whole // _CHUNK, inner)).reshape(outer, inner)
    if whole < size:
        result += np.add.reduce(x[:, whole:], 1)
    return result


def sum_rows(x: Array) -> Array:
    """Sum each row of a contiguous matrix."""
    count, length = x.shape
    if length <= _ROW:
        return x.dot(ones(x.dtype.char, length))
    part = _part(length)
    if not part:
        if count > 1 or length < _WIDE:
            return np.add.reduce(x, 1)
        whole = length - length % _ROW
        return sum_rows(x[:, :whole]) + np.add.reduce(x[:, whole:], 1)
    partial = x.reshape(-1, part).dot(ones(x.dtype.char, part)).reshape(count, length // part)
    return sum_rows(partial) if count > 1 else np.add.reduce(partial, 1)


@lru_cache(maxsize=256)
def _part(length: int) -> int:
    """Return the largest divisor of `length` that a product with ones adds up accurately and fast; 0 if there is none."""
    return next((part for part in range(_ROW, _CHUNK - 1, -1) if length % part == 0), 0)


def prod(x: Array, dim: int | None, keepdim: bool = False) -> Array:
    """Return the product over an axis, or of all elements; of integers as int64.

    NumPy multiplies along a last axis one by one, but row by row as fast as memory allows: a long axis is folded into
    rows, and what is left again, which also takes fewer roundings.
    """
    if x.itemsize == 2 and x.dtype.kind == "f":
        return prod(x.astype(np.float32), dim, keepdim).astype(x.dtype)
    kind = x.dtype if x.dtype.kind == "f" else np.int64
    last = x.ndim - 1 if x.ndim == 1 or dim is not None else None
    if kind != np.int64 and x.size > _SMALL and dim == last and x.flags.c_contiguous:
        while (length := x.shape[-1]) > 2 * _CHUNK:
            width = _WIDE if length > 2 * _WIDE else max(_CHUNK, math.isqrt(length))
            whole = length - length % width
            folded = np.multiply.reduce(x[..., :whole].reshape(*x.shape[:-1], -1, width), -2)
            x = np.concatenate([folded, x[..., whole:]], -1)
    return np.multiply.reduce(x, dim, kind, out=..., keepdims=keepdim)


def cumsum(x: Array, dim: int) -> Array:
    """Return the running sum along an axis, accumulated in float64 and rounded once."""
    return _scan(np.add, x, dim)


def cumprod(x: Array, dim: int) -> Array:
    """Return the running product along an axis, accumulated in float64 and rounded once."""
    return _scan(np.multiply, x, dim)


def logcumsumexp(x: Array, dim: int) -> Array:
    """Return the logarithm of the running sum of exponentials along an axis, without overflow.

    Narrower than float64, it is the logarithm of a running sum in float64 where no exponential can vanish next to the
    largest, or NumPy's `logaddexp` accumulated in float64, which takes twice as long.
    """
    if x.ndim == 0 or x.size == 0:
        return x.copy()
    if x.itemsize == 8:
        return np.logaddexp.accumulate(x, dim)
    top = x.max()
    if top - x.min() < _SPREAD:
        result = np.subtract(x, top, dtype=np.float64)
        np.exp(result, result)
        np.log(np.add.accumulate(result, dim, out=result), result)
        result += top
    else:  # also where something is infinite or NaN
        result = np.logaddexp.accumulate(x, dim, np.float64)
    return result.astype(x.dtype)


def _scan(ufunc: np.ufunc, x: Array, dim: int) -> Array:
    integral = x.dtype.kind != "f"
    wide = np.int64 if integral else np.float64
    if x.ndim == 0:
        return x.astype(wide if integral else x.dtype)
    size = x.shape[dim]
    inner = math.prod(x.shape[dim % x.ndim + 1 :])
    if x.size <= _SMALL or inner == 1 or x.size < _CHUNK * size:
        result = ufunc.accumulate(x, dim, wide)
    else:  # rows to add to one another are long
        result = x.astype(wide, order="C")
        lines = result.reshape(-1, size, inner)
        for index in range(1, size):
            ufunc(lines[:, index - 1], lines[:, index], lines[:, index])
    return result.astype(np.int64 if integral else x.dtype, order="C", copy=False)


def var(x: Array, dims: tuple[int, ...] | None, correction: float = 1, keepdim: bool = False) -> Array:
    """Return the variance over some axes: the squared distances' sum over their number less `correction`.

    Two passes, in float64 if that costs little, else the second corrected for the rounding of the mean (T. F. Chan,
    G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983,
    equation 1.7). Without degrees of freedom left, it is NaN or infinite.

    Parameters
    ----------
    x : ndarray
        Floating-point values of any shape.
    dims : tuple of int or None
        The axes summed over; None for all.
    correction : float
        What to subtract from the number of values: 1 for the unbiased estimate from a sample.
    keepdim : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    ndarray
        A fresh array of `x`'s dtype.
    """
    if x.itemsize == 2:
        return var(x.astype(np.float32), dims, correction, keepdim).astype(x.dtype)
    count = x.size if dims is None else math.prod([x.shape[axis] for axis in _axes(x.ndim, dims)])
    freedom = max(count - correction, 0)
    if x.size <= _SMALL and x.itemsize == 4:
        mean = np.add.reduce(x, dims, np.float64, out=..., keepdims=True)
        np.divide(mean, count, mean)
        distance = np.subtract(x, mean, out=...)
        np.multiply(distance, distance, distance)
        result = np.add.reduce(distance, dims, out=..., keepdims=keepdim)
        return np.divide(result, freedom, result).astype(np.float32)
    size = np.asarray(count, x.dtype)
    mean = sum(x, dims, True)
    np.divide(mean, size, mean)
    distance = np.subtract(x, mean, out=...)
    drift = sum(distance, dims, keepdim)
    np.multiply(drift, drift, drift)
    np.divide(drift, size, drift)
    np.multiply(distance, distance, distance)
    result = sum(distance, dims, keepdim)
    np.subtract(result, drift, result)
    return np.divide(result, np.asarray(freedom, x.dtype), result)


def exclusive_cumprod(x: Array, dim: int, reverse: bool = False) -> Array:
    """Return for each element the product of those before it along an axis, or in reverse of those after it."""
    result = np.ones_like(x, order="C")
    if x.ndim and x.shape[dim] > 1:
        source = np.moveaxis(x, dim, 0)
        target = np.moveaxis(result, dim, 0)
        if reverse:
            source, target = source[::-1], target[::-1]
        target[1:] = np.multiply.accumulate(source[:-1], 0, np.float64)
    return result


def prod_backward(grad: Array, x: Array, dim: int | None) -> Array:
    """Return the gradient of a product over an axis, or over all: `grad` times the product of the other elements.

    That product is the whole one over the element where no zero is involved, else that of the elements before times
    that of the elements after, which divides nothing and so is exact.

    Parameters
    ----------
    grad : ndarray
        The gradient of the product, its axis `dim` kept with size 1; of any shape of one element where `dim` is None.
    x : ndarray
        The factors.
    dim : int or None
        The axis, or None for the product of all elements.
    """
    if dim is None or x.ndim == 0:
        result = np.empty(x.shape, x.dtype)
        result.reshape(-1)[:] = prod_backward(grad.reshape(1), x.reshape(-1), 0)
        return result
    product = np.multiply.reduce(x, dim, np.float64, keepdims=True)
    if np.isfinite(product).all() and product.all():
        return (grad * product / x).astype(x.dtype, copy=False)
    others = exclusive_cumprod(x, dim)
    np.multiply(others, exclusive_cumprod(x, dim, reverse=True), others)
    return np.multiply(others, grad, others)


def linear_recurrence(factor: Array, x: Array, dim: int, reverse: bool = False) -> Array:
    """Solve ``y[i] = x[i] + factor[i] * y[i - 1]`` along an axis, or ``y[i] = x[i] + factor[i] * y[i + 1]`` in reverse.

    The first factor (in reverse, the last) has no effect. Many rows go on one element at a time; of few, each of a
    logarithmic number of steps composes the maps over twice as many elements (W. D. Hillis and G. L. Steele, "Data
    parallel algorithms", Comm. ACM 29, 1986).

    Parameters
    ----------
    factor, x : ndarray
        Floating-point arrays of one shape.
    dim : int
        The axis.
    reverse : bool
        Whether to go from the last element to the first.

    Returns
    -------
    ndarray
        A fresh array of `x`'s shape and dtype.
    """
    if x.size == 0 or x.ndim == 0:
        return np.array(x, order="C")
    result, scale = np.array(np.moveaxis(x, dim, 0), order="C"), np.array(np.moveaxis(factor, dim, 0), order="C")
    total = result
    if reverse:
        scale, total = scale[::-1], total[::-1]
    if total[0].size >= _CHUNK:
        for index in range(1, len(total)):
            total[index] += scale[index] * total[index - 1]
    else:
        step = 1
        while step < len(total):
            total[step:] += scale[step:] * total[:-step]
            scale[step:] *= scale[:-step]
            step *= 2
    return np.ascontiguousarray(np.moveaxis(result, 0, dim))
