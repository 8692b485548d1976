"""Normalisation by mean and variance: statistics, values and gradients.

NumPy's cost is per row where a column or a row is broadcast: where both would be, products of narrow matrices, which BLAS
makes at the speed of memory, take their place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from .reduce import number, ones, sum, sum_rows

Array: TypeAlias = np.ndarray
Sizes: TypeAlias = tuple[int, ...]

# Elements of a block of rows, and rows of it, which a product adds up; and the length of rows that one adds up.
_BLOCK, _ROWS, _LONG = 1 << 16, 1024, 4096

# Means of more deviations than this lose digits in products, and are subtracted first.
_FAR = 8.0


class Plan:
    """What is normalised.

    Attributes
    ----------
    channels : (N, C) or (N, C, L)
        How elements are seen: each channel has a weight and a bias.
    groups : int
        Into how many groups C is divided, each of which is normalised for each of N; 0 where channels are normalised.
    eps : float
        Added to the variance.
    shape : tuple of int
        The elements as statistics see them: *channels*, or (N * groups, length).
    axes : tuple of int
        Those of *shape* that a mean is taken over.  Statistics are flat: one for each mean.
    count : int
        How many elements have one mean.
    weighted : bool
        Whether weights were given; else they are ones.
    """

    __slots__ = ("axes", "channels", "count", "eps", "groups", "shape", "weighted")

    shape: Sizes
    axes: Sizes

    def __init__(self, channels: Sizes, groups: int, eps: float, weighted: bool = True) -> None:
        self.channels, self.groups, self.eps, self.weighted = channels, groups, eps, weighted
        if groups:
            self.count = math.prod(channels[1:]) // groups
            self.shape, self.axes = (channels[0] * groups, self.count), (1,)
        else:
            self.count = channels[0] * math.prod(channels[2:])
            self.shape, self.axes = channels, (0, 2)[: len(channels) - 1]

    @property
    def rows(self) -> bool:
        """Whether each row of a matrix is normalised."""
        return self.groups == 1 and len(self.channels) == 2

    @property
    def kept(self) -> Sizes:
        """The shape of statistics beside elements seen as *shape*."""
        return tuple([1 if axis in self.axes else size for axis, size in enumerate(self.shape)])

    def __repr__(self) -> str:
        return f"Plan(channels={self.channels}, groups={self.groups}, eps={self.eps})"


def moments(x: Array, plan: Plan) -> list[Array]:
    """Return the mean and the (biased) variance; of float16 values, as float32."""
    x = _single(x).reshape(plan.shape)
    count = plan.count or 1
    mean = _sums(x, plan.axes)
    mean /= count
    square = _dots(x, x, plan.axes)
    square /= count
    var = square - mean * mean
    if not (var > 0.5 * square).all():  # that may have lost digits
        x = x - mean.reshape(plan.kept)
        var = _dots(x, x, plan.axes)
        var /= count
        drift = _sums(x, plan.axes)
        drift /= count
        var = np.maximum(var - drift * drift, 0)
        mean += drift
    return [mean, var]


def standardized(x: Array, mean: Array, var: Array, plan: Plan) -> Array:
    """Return ``(x - mean) / sqrt(var + eps)``, of `x`'s shape."""
    result = np.subtract(_single(x).reshape(plan.shape), mean.reshape(plan.kept))
    result *= _inverse_deviation(var, plan.eps).reshape(plan.kept)
    return _given_back(result, x)


def normalized_by_own(x: Array, weight: Array, bias: Array, *, plan: Plan) -> list[Array]:
    """Return `normalized` with the elements' own statistics, and those: mean, variance and one over the deviation."""
    if plan.rows and x.size and x.itemsize > 2:
        matrix, out = x.reshape(plan.channels), np.empty(x.shape, x.dtype)
        mean, var, rstd = [np.empty(len(matrix), x.dtype) for _statistic in range(3)]
        scale, shift = weight.reshape(1, -1), bias.reshape(-1)
        for given, part, center, spread, inverse in _blocks(matrix, out.reshape(plan.channels), mean, var, rstd):
            np.subtract(given, _means(given, center)[:, None], part)
            squares = np.multiply(part, part)
            _inverse_deviation(_means(squares, spread), plan.eps, inverse)
            if not _near(center * inverse):
                break
            part *= inverse[:, None].dot(scale, squares)
            part += shift
        else:
            return [out, mean, var, rstd]
    mean, var = moments(x, plan)
    return [normalized(x, weight, bias, mean, var, plan), mean, var, _inverse_deviation(var, plan.eps)]


def normalized(x: Array, weight: Array, bias: Array, mean: Array, var: Array, plan: Plan) -> Array:
    """Return the standardised values times `weight` plus `bias`, which have an element for each channel."""
    given = _single(x).reshape(plan.channels)
    rstd, weight, bias = _inverse_deviation(var, plan.eps), weight.reshape(-1), bias.reshape(-1)
    if _near(mean * rstd):
        scale, shift = _affine(mean, rstd, weight, bias, plan.groups)
        result = given * _along(scale, plan)
        result += _along(shift, plan)
    else:
        result = _centred(given, mean, plan)
        result *= _along(_scale(rstd, weight, plan.groups), plan)
        result += _along(bias, plan)
    return _given_back(result, x)


def normalized_backward(grad: Array, x: Array, weight: Array, mean: Array, var: Array, plan: Plan) -> Array:
    """Return the gradient of `x` in `normalized`, whose statistics are its own.

    With u the gradient times weight and y the standardised values, it is ``(u - mean(u) - y * mean(u * y)) /
    sqrt(var + eps)``: Ioffe and Szegedy, "Batch normalization", 2015.
    """
    given, values = _single(grad).reshape(plan.channels), _single(x).reshape(plan.channels)
    rstd = _inverse_deviation(var, plan.eps)
    if plan.groups and not _near(mean * rstd):
        values, mean = _centred(values, mean, plan), np.zeros_like(mean)
    backward = _backward_of_groups if plan.groups else _backward_of_channels
    return _given_back(backward(given, values, weight.reshape(-1), mean, rstd, plan), x)


def standardized_bend(grad: Array, other: Array, x: Array, mean: Array, var: Array, plan: Plan) -> Array:
    """Return the derivative by `x` of the inner product of `grad` and `normalized_backward` of `other`, with ones for weights.

    With y the standardised values, r one over the deviation, and u, v the two without their means, it is
    ``-r**2 * (y * (mean(u * v) - 3 * mean(u * y) * mean(v * y)) + u * mean(v * y) + v * mean(u * y))``.
    """
    rstd = _inverse_deviation(var, plan.eps)
    y = standardized(_single(x), mean, var, plan).reshape(plan.shape)
    u, v = [
        _centred(t, _sums(t, plan.axes) / (plan.count or 1), plan)
        for t in map(_single, (grad.reshape(plan.shape), other.reshape(plan.shape)))
    ]
    by_u, by_v, both = [_dots(a, b, plan.axes) / (plan.count or 1) for a, b in ((u, y), (v, y), (u, v))]
    square = -np.square(rstd)
    y *= ((both - 3 * by_u * by_v) * square).reshape(plan.kept)
    u *= (by_v * square).reshape(plan.kept)
    v *= (by_u * square).reshape(plan.kept)
    y += u
    y += v
    return _given_back(y, x)


def weight_grad(grad: Array, x: Array, mean: Array, var: Array, plan: Plan) -> Array:
    """Return the gradient of the weight in `normalized`, flat."""
    rstd = _inverse_deviation(var, plan.eps)
    given, values = _single(grad).reshape(plan.channels), _single(x).reshape(plan.channels)
    if not plan.groups:
        result = _dots(given, values - _along(mean, plan), plan.axes)
        result *= rstd
        return result.astype(grad.dtype, copy=False)
    if not _near(mean * rstd):
        values, mean = _centred(values, mean, plan), np.zeros_like(mean)
    if len(plan.channels) == 3:
        sums, products = _sums(given, (2,)), np.vecdot(given, values)
    else:
        sums, products = given, given * values
    if plan.groups == 1:
        result = rstd.dot(products) - (rstd * mean).dot(sums)
    else:
        count = plan.channels[1]
        result = sum(
            products * _repeated(rstd, count, plan.groups) - sums * _repeated(rstd * mean, count, plan.groups), (0,)
        )
    return result.astype(grad.dtype, copy=False)


def gradients(
    grad: Array,
    needed: list[bool],
    x: Array,
    weight: Array,
    mean: Array,
    var: Array,
    rstd: Array,
    plan: Plan,
    size: Sizes,
) -> list[Array | None]:
    """Return the gradients of what is normalised, of the weight and of the bias in `normalized_by_own`, where needed."""
    if plan.rows and x.size and x.itemsize > 2:
        away = mean * rstd
        if _near(away):
            return _gradients_of_rows(grad, needed, x, weight, away, rstd, plan, size)
    by_x, by_weight, by_bias = needed
    axes = (0, 2)[: len(plan.channels) - 1]
    return [
        normalized_backward(grad, x, weight, mean, var, plan) if by_x else None,
        weight_grad(grad, x, mean, var, plan).reshape(size) if by_weight else None,
        sum(grad.reshape(plan.channels), axes).reshape(size) if by_bias else None,
    ]


# -- gradients ---------------------------------------------------------------------------------------------------------
def _gradients_of_rows(
    grad: Array, needed: list[bool], x: Array, weight: Array, away: Array, rstd: Array, plan: Plan, size: Sizes
) -> list[Array | None]:
    """The formulas of `normalized_backward` and `weight_grad`, which have the product of gradient and values in common.

    `away` is the mean over the deviation.
    """
    by_x = np.empty(x.shape, x.dtype) if needed[0] else None
    by_weight: Array | None = None
    by_bias: Array | None = None
    weight = weight.reshape(1, -1)
    arrays = [grad.reshape(plan.channels), x.reshape(plan.channels), rstd, away]
    if by_x is not None:
        arrays.append(by_x.reshape(plan.channels))
        share = weight[0] * number(x.dtype.char, 1 / plan.count)
    for given, values, inverse, moved, *result in _blocks(*arrays):
        products = np.multiply(given, values)
        if needed[1]:
            total = inverse.dot(products)
            total -= moved.dot(given)
            by_weight = total if by_weight is None else by_weight + total
        if needed[2]:
            total = ones(x.dtype.char, len(given)).dot(given)
            by_bias = total if by_bias is None else by_bias + total
        for part in result:
            if plan.count <= _LONG:
                sums, factor = given.dot(share), products.dot(share)
            else:
                sums, factor = _means(given * weight), _means(products * weight)
            factor *= inverse
            np.subtract(moved * sums, factor, factor)
            factor *= inverse
            sums *= inverse
            sums += moved * factor
            factor *= inverse
            inverse[:, None].dot(weight, part)
            part *= given
            part += np.multiply(values, factor[:, None], products)
            part -= sums[:, None]
    return [by_x, *[None if total is None else _shaped(total, size) for total in (by_weight, by_bias)]]


def _backward_of_groups(grad: Array, x: Array, weight: Array, mean: Array, rstd: Array, plan: Plan) -> Array:
    result = grad * _along(_scale(rstd, weight, plan.groups), plan)
    result, x = result.reshape(plan.shape), x.reshape(plan.shape)
    sums = _sums(result, (1,))
    factor = (mean * sums - np.vecdot(result, x)) * np.square(rstd)
    factor /= plan.count or 1
    sums /= plan.count or 1
    sums += mean * factor
    result += x * factor[:, None]
    result -= sums[:, None]
    return result


def _backward_of_channels(grad: Array, x: Array, weight: Array, mean: Array, rstd: Array, plan: Plan) -> Array:
    result = x - _along(mean, plan)
    scale = rstd * weight
    factor = _dots(grad, result, plan.axes)
    factor *= scale * np.square(rstd)
    factor /= -plan.count
    rest = _sums(grad, plan.axes)
    rest *= scale
    rest /= plan.count
    result *= _along(factor, plan)
    result += grad * _along(scale, plan)
    result -= _along(rest, plan)
    return result


# -- parts -------------------------------------------------------------------------------------------------------------
def _blocks(*arrays: Array) -> Sequence[Sequence[Array]]:
    """The rows of arrays, the first of which is a matrix, so many at a time that they stay in the cache."""
    count, length = arrays[0].shape
    step = min(_BLOCK // length, _ROWS) or 1
    if count <= step:
        return (arrays,)
    return [[array[start : start + step] for array in arrays] for start in range(0, count, step)]


def _single(x: Array) -> Array:
    return x.astype(np.float32) if x.itemsize == 2 else x


def _given_back(result: Array, like: Array) -> Array:
    return result.reshape(like.shape).astype(like.dtype, copy=False)


def _shaped(total: Array, size: Sizes) -> Array:
    """A flat array in a shape; itself, and no view, where that is its own."""
    return total if total.shape == size else total.reshape(size)


def _inverse_deviation(var: Array, eps: float, out: Array | None = None) -> Array:
    out = np.add(var, number(var.dtype.char, eps), out)
    np.sqrt(out, out)
    return np.divide(number(var.dtype.char, 1.0), out, out)


def _sums(x: Array, axes: Sizes) -> Array:
    """The sum over *axes*."""
    length = x.shape[-1]
    if axes == (x.ndim - 1,) and length and x.flags.c_contiguous:
        return sum_rows(x.reshape(-1, length)).reshape(x.shape[:-1])
    return sum(x, axes)


def _dots(a: Array, b: Array, axes: Sizes) -> Array:
    """The sum of ``a * b`` over *axes*."""
    if axes[-1] != a.ndim - 1 or a.shape[-1] < 8:
        return sum(a * b, axes)
    lines = np.vecdot(a, b)
    return lines if axes == (1,) else np.add.reduce(lines, 0)


def _means(x: Array, out: Array | None = None) -> Array:
    """The mean of each row of a matrix."""
    count = x.shape[1]
    if count <= _LONG:
        return x.dot(_averaging(x.dtype.char, count), out)
    return np.divide(_sums(x, (1,)), count, out)


@lru_cache(maxsize=64)
def _averaging(char: str, count: int) -> Array:
    """What a product of rows is their means with."""
    return np.full(count, 1 / count, char)


def _near(away: Array) -> bool:
    """Whether it costs no digits not to subtract the means first, which are so many deviations."""
    return bool(away.dot(away) < _FAR * _FAR) or bool(np.abs(away).max() < _FAR)


def _centred(x: Array, mean: Array, plan: Plan) -> Array:
    return np.subtract(x.reshape(plan.shape), mean.reshape(plan.kept)).reshape(x.shape)


def _along(values: Array, plan: Plan) -> Array:
    """Values for channels, or for each of N too, beside elements seen as channels."""
    return values[..., None] if len(plan.channels) == 3 else values


def _repeated(values: Array, count: int, groups: int) -> Array:
    """Values of groups for each of their channels: (N, C)."""
    return np.repeat(values, count // groups).reshape(len(values) // groups, count)


def _scale(rstd: Array, weight: Array, groups: int) -> Array:
    """The weight over the deviation: (N, C), or (C,) where channels are normalised."""
    if groups == 0:
        return rstd * weight
    return rstd[:, None].dot(weight[None]) if groups == 1 else _repeated(rstd, len(weight), groups) * weight


def _affine(mean: Array, rstd: Array, weight: Array, bias: Array, groups: int) -> tuple[Array, Array]:
    """The factor and the summand that `normalized` is made of."""
    scale = _scale(rstd, weight, groups)
    if groups == 0:
        return scale, bias - mean * scale
    if groups > 1:
        return scale, bias - _repeated(mean, len(weight), groups) * scale
    left, right = np.empty((len(mean), 2), mean.dtype), np.empty((2, len(weight)), mean.dtype)
    left[:, 0], right[0], right[1] = 1, bias, weight
    np.multiply(mean, -rstd, left[:, 1])
    return scale, left.dot(right)
