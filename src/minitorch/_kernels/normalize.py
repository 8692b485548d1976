"""Normalisation by mean and variance: the statistics, the values and the derivative map of the values.

Every function sees its input through a view of shape *shape*, whose *axes* are those a mean is taken over: (rows, length)
and (1,) where rows are normalised, (batch, channels, length) and (0, 2) where channels are (or (batch, channels) and
(0,)).  Statistics are flat: one for each mean.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .reduce import ones, sum

Array: TypeAlias = NDArray[Any]
Sizes: TypeAlias = tuple[int, ...]

# Rows up to this long are summed by a product with ones.
_GEMV = 4096


def moments(x: Array, shape: Sizes, axes: Sizes) -> list[Array]:
    """Return the mean and the (biased) variance; of float16 values, as float32."""
    x = _single(x).reshape(shape)
    mean = _mean(x, axes)
    x = x - mean
    return [mean.reshape(-1), _mean_product(x, x, axes).reshape(-1)]


def standardized(x: Array, mean: Array, var: Array, shape: Sizes, axes: Sizes, eps: float) -> Array:
    """Return ``(x - mean) / sqrt(var + eps)``, of `x`'s shape."""
    result, rstd = _centered(x, mean, var, shape, axes, eps)
    result *= rstd
    return result.reshape(x.shape).astype(x.dtype, copy=False)


def normalized(
    x: Array, weight: Array, bias: Array, mean: Array, var: Array, shape: Sizes, axes: Sizes, channels: Sizes, eps: float
) -> Array:
    """Return the standardised values times `weight` plus `bias`, which have an element for each channel.

    Parameters
    ----------
    channels : (before, count) or (before, count, after)
        Where the channels are among the elements in their order.
    """
    result, rstd = _centered(x, mean, var, shape, axes, eps)
    place = channel_place(channels)
    if axes[0] == 0:  # the statistics are the channels' too
        rstd = rstd.reshape(place) * weight.reshape(place)
        view = result.reshape(channels)
        view *= rstd
    else:
        result *= rstd
        view = result.reshape(channels)
        view *= weight.reshape(place)
    view += bias.reshape(place)
    return view.reshape(x.shape).astype(x.dtype, copy=False)


def standardized_backward(
    grad: Array, x: Array, mean: Array, var: Array, shape: Sizes, axes: Sizes, eps: float
) -> Array:
    """Return the gradient of the input of `standardized`, where the statistics are its own.

    Of ``y = standardized(x)``, it is ``(grad - mean(grad) - y * mean(grad * y)) / sqrt(var + eps)``: Ioffe and Szegedy,
    "Batch normalization", 2015.
    """
    result, rstd = _centered(x, mean, var, shape, axes, eps)
    given = _single(grad).reshape(shape)
    result *= -_mean_product(given, result, axes) * rstd * rstd
    result += given
    result -= _mean(given, axes)
    result *= rstd
    return result.reshape(x.shape).astype(x.dtype, copy=False)


def channel_place(channels: Sizes) -> Sizes:
    """The shape that one value for each channel has beside elements seen as *channels*."""
    return (channels[1], 1)[: len(channels) - 1]


def _single(x: Array) -> Array:
    return x.astype(np.float32) if x.itemsize == 2 else x


def _centered(x: Array, mean: Array, var: Array, shape: Sizes, axes: Sizes, eps: float) -> tuple[Array, Array]:
    """The input minus its mean, a fresh contiguous array, and one over the deviation, both for the view."""
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    result = np.subtract(_single(x).reshape(shape), mean.reshape(kept), order="C")
    rstd = var.reshape(kept) + eps
    np.sqrt(rstd, rstd)
    return result, np.reciprocal(rstd, rstd)


def _mean(x: Array, axes: Sizes) -> Array:
    """The mean over *axes*, which stay with size 1."""
    if axes == (1,) and 0 < x.shape[1] <= _GEMV and x.flags.c_contiguous:
        result = x.dot(ones(x.dtype.char, x.shape[1], 1))
    else:
        result = sum(x, axes, True)
    result /= math.prod([x.shape[axis] for axis in axes]) or 1
    return result


def _mean_product(a: Array, b: Array, axes: Sizes) -> Array:
    """The mean of ``a * b`` over *axes*, which stay with size 1."""
    if _has_long_rows(a, axes):
        dots = np.vecdot(a, b)
        result = dots[:, None] if axes == (1,) else np.add.reduce(dots, 0)[None, :, None]
    else:
        result = sum(a * b, axes, True)
    result /= math.prod([a.shape[axis] for axis in axes]) or 1
    return result


def _has_long_rows(a: Array, axes: Sizes) -> bool:
    """Whether the last axis is summed, and long enough for a scalar product for each of its rows."""
    return axes[-1] == a.ndim - 1 and a.shape[-1] >= 32
