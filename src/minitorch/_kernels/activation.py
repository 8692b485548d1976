"""Activation functions and their derivative maps.

Small inputs take few NumPy calls, and feel each look into NumPy's module; large ones go through them in blocks that stay in
the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy import add, divide, exp, maximum, multiply, negative, subtract, where

from .elementary import expm1
from .special import BLOCK, FEW, blockwise, constants, erfc, logit, logits, polynomial

Array: TypeAlias = np.ndarray

_SIZES = (2, 4, 8)
_ZERO = {size: np.zeros((), f"f{size}") for size in _SIZES}
_HALF = {size: np.full((), 0.5, f"f{size}") for size in _SIZES}
_ONE = {size: np.ones((), f"f{size}") for size in _SIZES}
# NumPy takes the maximum of two arrays thrice as fast as that of an array and a number.
_ZEROS = {size: np.zeros(BLOCK, f"f{size}") for size in _SIZES}
_INTEGER = {size: np.dtype(f"i{size}") for size in _SIZES}
_SIGN_SHIFT = {size: np.full((), 8 * size - 1, f"i{size}") for size in _SIZES}
# Beyond this number, exp(-x) is nothing next to 1 and x.
_LEVEL = {4: 17.0, 8: 37.0}

# Up to this many elements, NumPy's `where` costs less than the calls of a branchless formula, and its `logaddexp`.
_WHERE = 1024
_LOGADDEXP = 256

# float32's normal distribution function is 1 / (1 + exp(-x L(x^2))).
_NORMAL_32 = logits(-1.0)
_SQRT_HALF = math.sqrt(0.5)
_DENSITY = {size: np.full((), 1 / math.sqrt(2 * math.pi), f"f{size}") for size in _SIZES}
_MINUS_HALF = {size: np.full((), -0.5, f"f{size}") for size in _SIZES}
# The approximation by tanh, x (1 + tanh(k (x + c x^3))) / 2 = x / (1 + exp(x (-2 k - 2 k c x^2))), with c and k from
# D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
_CUBIC = 0.044715
_SLOPE = 2 * math.sqrt(2 / math.pi)
_LINE = {size: constants((-_SLOPE * _CUBIC, -_SLOPE), np.dtype(f"f{size}").type) for size in (4, 8)}
_LINE_SLOPE = {size: constants((3 * _SLOPE * _CUBIC, _SLOPE), np.dtype(f"f{size}").type) for size in (4, 8)}


def _apply(kernel: Callable[..., Array], *arrays: Array) -> Array:
    """Return ``kernel(*arrays)``, taken block by block, with `out`, for large arrays; in float32 for float16."""
    if arrays[0].size <= BLOCK and arrays[0].itemsize > 2:
        return kernel(*arrays)
    return blockwise(kernel, *arrays)


def relu(x: Array) -> Array:
    """Return ``max(x, 0)``, with NaN where `x` is NaN."""
    if x.size <= BLOCK or x.itemsize == 2:  # blocks would be in float32, whose maximum has another sign of zero
        return maximum(x, _ZERO[x.itemsize], out=...)
    return blockwise(_relu, x)


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, _ZEROS[x.itemsize][: x.size], out=out)


def relu_backward(grad: Array, output: Array) -> Array:
    """Return `grad`, to the last bit, where relu's output is not zero (also where it is NaN), and zero elsewhere."""
    if output.size <= _WHERE:
        return where(output, grad, _ZERO[grad.itemsize])
    return blockwise(_relu_backward, grad, output)


def _relu_backward(grad: Array, output: Array, out: Array) -> None:
    integer = _INTEGER[out.itemsize]
    mask = out.view(integer)
    # Read as integers, numbers above zero, and NaN without its sign, have negatives whose sign bit, spread by a shift,
    # is a mask of ones: exact for every gradient, and several times faster than `where`.
    np.abs(output, out=out)
    np.negative(mask, out=mask)
    np.right_shift(mask, _SIGN_SHIFT[out.itemsize], out=mask)
    np.bitwise_and(mask, grad.view(integer), out=mask)


def leaky_relu_backward(grad: Array, x: Array, slope: float) -> Array:
    """Return `grad` where `x` is positive, and `slope` times `grad` elsewhere."""
    if x.size <= _WHERE:
        return np.where(x > 0, grad, grad * slope)
    return blockwise(partial(_leaky_relu_backward, slope=slope), grad, x)


def _leaky_relu_backward(grad: Array, x: Array, out: Array, slope: float) -> None:
    positive = x > 0
    np.multiply(~positive, out.dtype.type(slope), out)
    np.add(out, positive, out)
    np.multiply(out, grad, out)


def elu(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """Return ``scale * x`` where `x` is positive, and ``scale * alpha * (exp(input_scale * x) - 1)`` elsewhere."""
    if x.size <= _WHERE:
        return np.where(x <= 0, np.expm1(x * input_scale) * (alpha * scale), x * scale)
    return blockwise(partial(_elu, below=alpha * scale, above=scale, input_scale=input_scale), x)


def _elu(x: Array, out: Array, below: float, above: float, input_scale: float) -> None:
    kind = out.dtype.type
    zeros = _ZEROS[x.itemsize][: x.size]
    np.minimum(x, zeros, out=out)
    np.multiply(out, kind(input_scale), out)
    negative = expm1(out)
    np.multiply(negative, kind(below), negative)
    np.maximum(x, zeros, out=out)
    np.multiply(out, kind(above), out)
    np.add(out, negative, out)


def elu_derivative(x: Array, below: float, above: float, input_scale: float) -> Array:
    """Return `above` where `x` is positive or NaN, and ``below * exp(input_scale * x)`` elsewhere."""
    if x.size <= _WHERE:
        return np.where(x <= 0, np.exp(x * input_scale) * below, x.dtype.type(above))
    return blockwise(partial(_elu_derivative, below=below, above=above, input_scale=input_scale), x)


def _elu_derivative(x: Array, out: Array, below: float, above: float, input_scale: float) -> None:
    kind = out.dtype.type
    negative = x <= 0
    np.fmin(x, _ZEROS[x.itemsize][: x.size], out=out)
    np.multiply(out, kind(input_scale), out)
    np.exp(out, out)
    np.multiply(out, kind(below), out)
    np.multiply(out, negative, out)
    np.add(out, np.multiply(~negative, kind(above)), out)


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``: 0 and 1 at the extremes."""
    return _sigmoid(x) if x.size <= BLOCK and x.itemsize > 2 else blockwise(_sigmoid, x)


def _sigmoid(x: Array, out: Any = ...) -> Array:
    one = _ONE[x.itemsize]
    out = negative(x, out=out)
    exp(out, out)
    add(out, one, out)
    return divide(one, out, out)  # twice as fast as np.reciprocal, which is not vectorised


def sigmoid_backward(grad: Array, output: Array) -> Array:
    """Return the gradient of sigmoid's input: ``grad * output * (1 - output)``."""
    if output.size <= BLOCK and output.itemsize > 2:
        return _sigmoid_backward(grad, output)
    return blockwise(_sigmoid_backward, grad, output)


def _sigmoid_backward(grad: Array, output: Array, out: Any = ...) -> Array:
    out = subtract(_ONE[output.itemsize], output, out=out)
    multiply(out, output, out)
    return multiply(out, grad, out)


def tanh_backward(grad: Array, output: Array) -> Array:
    """Return the gradient of tanh's input: ``grad * (1 - output ** 2)``."""
    if output.size <= BLOCK and output.itemsize > 2:
        return _tanh_backward(grad, output)
    return blockwise(_tanh_backward, grad, output)


def _tanh_backward(grad: Array, output: Array, out: Any = ...) -> Array:
    out = multiply(output, output, out=out)
    subtract(_ONE[output.itemsize], out, out)
    return multiply(out, grad, out)


def silu(x: Array) -> Array:
    """Return ``x * sigmoid(x)``."""
    return _apply(_silu, x)


def _silu(x: Array, out: Any = ...) -> Array:
    out = np.negative(x, out=out)
    np.exp(out, out)
    np.add(out, _ONE[out.itemsize], out)
    return np.divide(x, out, out)


def silu_backward(grad: Array, x: Array) -> Array:
    """Return the gradient of silu's input: with s the sigmoid of `x`, ``grad * s * (1 + x * (1 - s))``."""
    return _apply(_silu_backward, grad, x)


def _silu_backward(grad: Array, x: Array, out: Any = ...) -> Array:
    share = _sigmoid(x)
    out = np.subtract(_ONE[x.itemsize], share, out=out)
    np.multiply(out, x, out)
    np.add(out, _ONE[x.itemsize], out)
    np.multiply(out, share, out)
    return np.multiply(out, grad, out)


def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return ``log(1 + exp(beta * x)) / beta``, and `x` itself where ``beta * x`` exceeds `threshold`."""
    if x.itemsize == 2:
        return softplus(x.astype(np.float32), beta, threshold).astype(x.dtype)
    scaled = x if beta == 1 else np.multiply(x, beta, out=...)
    if x.size <= _LOGADDEXP:
        result = np.logaddexp(scaled, _ZERO[x.itemsize], out=...)
    else:
        result = blockwise(_softplus, scaled)
    if beta != 1:
        np.divide(result, beta, result)
    if threshold < _LEVEL[x.itemsize]:
        np.copyto(result, x, where=scaled > threshold)
    return result


def _softplus(x: Array, out: Array) -> None:
    np.maximum(x, _ZEROS[x.itemsize][: x.size], out=out)
    np.add(out, _log1p_exp(np.negative(np.abs(x))), out)


def _log1p_exp(x: Array) -> Array:
    """Return ``log(1 + exp(x))`` for `x` at most 0, in the place of `x`.

    The logarithm of the rounded sum is corrected by what rounding took, to first order: as accurate as NumPy's `log1p`,
    which takes several times as long in float32.
    """
    power = np.exp(x, x)
    total = power + _ONE[x.itemsize]
    power -= total - _ONE[x.itemsize]
    power /= total
    return np.add(power, np.log(total, total), power)


def softplus_backward(grad: Array, x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return the gradient of softplus's input: ``grad * sigmoid(beta * x)``, and `grad` beyond the threshold."""
    if x.itemsize == 2:
        return softplus_backward(grad.astype(np.float32), x.astype(np.float32), beta, threshold).astype(x.dtype)
    scaled = x if beta == 1 else np.multiply(x, beta, out=...)
    result = _apply(_sigmoid, scaled)
    np.multiply(result, grad, result)
    if threshold < _LEVEL[x.itemsize]:
        np.copyto(result, grad, where=scaled > threshold)
    return result


def mish_backward(grad: Array, x: Array) -> Array:
    """Return the gradient of mish's input: with t = tanh(softplus(x)), ``grad * (t + x * (1 - t * t) * sigmoid(x))``."""
    share = softplus(x)
    return _apply(_mish_backward, grad, x, np.tanh(share, share))


def _mish_backward(grad: Array, x: Array, share: Array, out: Any = ...) -> Array:
    out = np.multiply(share, share, out=out)
    np.subtract(_ONE[x.itemsize], out, out)
    np.multiply(x, out, out)
    np.multiply(out, _sigmoid(x), out)
    np.add(share, out, out)
    return np.multiply(grad, out, out)


def softsign(x: Array) -> Array:
    """Return ``x / (1 + abs(x))``."""
    out = np.abs(x, out=...)
    np.add(out, _ONE[x.itemsize], out)
    return np.divide(x, out, out)


def softsign_backward(grad: Array, x: Array) -> Array:
    """Return the gradient of softsign's input: ``grad / (1 + abs(x)) ** 2``; NaN at infinity, as PyTorch's."""
    return _apply(_softsign_backward, grad, x)


def _softsign_backward(grad: Array, x: Array, out: Any = ...) -> Array:
    out = np.abs(x, out=out)
    np.add(out, _ONE[x.itemsize], out)
    np.multiply(out, out, out)
    np.divide(grad, out, out)
    return np.add(out, np.multiply(x, _ZERO[x.itemsize]), out)


def log_sigmoid(x: Array) -> Array:
    """Return ``log(sigmoid(x))``, exact also where the sigmoid is 0 or 1."""
    if x.size <= _LOGADDEXP:
        result = np.negative(x, out=...)
        np.logaddexp(result, _ZERO[x.itemsize], result)
        return np.subtract(_ZERO[x.itemsize], result, result)
    return blockwise(_log_sigmoid, x)


def _log_sigmoid(x: Array, out: Array) -> None:
    np.minimum(x, _ZEROS[x.itemsize][: x.size], out=out)
    np.subtract(out, _log1p_exp(np.negative(np.abs(x))), out)


def log_sigmoid_backward(grad: Array, x: Array) -> Array:
    """Return the gradient of log-sigmoid's input: ``grad * sigmoid(-x)``."""
    return _apply(_log_sigmoid_backward, grad, x)


def _log_sigmoid_backward(grad: Array, x: Array, out: Any = ...) -> Array:
    out = np.exp(x, out=out)
    np.add(out, _ONE[x.itemsize], out)
    return np.divide(grad, out, out)


def gelu(x: Array, approximate: str = "none") -> list[Array]:
    """Return `x` times the probability that a standard normal variate is below `x`, and that probability.

    Parameters
    ----------
    x : ndarray
        Floating-point values of any shape.
    approximate : {"none", "tanh"}
        Whether that probability is exact, or Hendrycks and Gimpel's approximation by tanh.

    Returns
    -------
    list of ndarray
        Two fresh arrays of `x`'s shape and dtype; the second is what `gelu_backward` reads.
    """
    if x.itemsize == 2:
        return [array.astype(x.dtype) for array in gelu(x.astype(np.float32), approximate)]
    out, share = np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
    if x.size <= FEW and approximate == "none":
        share.reshape(-1)[:] = [0.5 * math.erfc(-_SQRT_HALF * value) for value in x.ravel().tolist()]
        return [np.multiply(x, share, out), share]
    fill = _tanh_share if approximate == "tanh" else _normal_share_64 if x.itemsize == 8 else _normal_share_32
    flat, shares, results = x.reshape(-1), share.reshape(-1), out.reshape(-1)
    for start in range(0, x.size, BLOCK):
        part = slice(start, start + BLOCK)
        values, found, result = flat[part], shares[part], results[part]
        fill(values, found, result)
        np.multiply(values, found, result)
    return [out, share]


def _normal_share_32(x: Array, out: Array, spare: Array) -> None:
    logit(_NORMAL_32, np.multiply(x, x, spare), out)
    _logistic(x, out)


def _normal_share_64(x: Array, out: Array, spare: Array) -> None:
    np.multiply(erfc(np.multiply(x, -_SQRT_HALF, spare)), _HALF[8], out)


def _tanh_share(x: Array, out: Array, spare: Array) -> None:
    polynomial(_LINE[x.itemsize], np.multiply(x, x, spare), out)
    _logistic(x, out)


def _logistic(x: Array, out: Array) -> None:
    """Replace `out` by ``1 / (1 + exp(x * out))``."""
    np.multiply(out, x, out)
    np.exp(out, out)
    np.add(out, _ONE[x.itemsize], out)
    np.divide(_ONE[out.itemsize], out, out)


def gelu_backward(grad: Array, x: Array, share: Array, approximate: str = "none") -> Array:
    """Return the gradient of gelu's input: `grad` times the sum of the probability and `x` times the density at `x`."""
    return _apply(_gelu_tanh_backward if approximate == "tanh" else _gelu_backward, grad, x, share)


def _gelu_backward(grad: Array, x: Array, share: Array, out: Any = ...) -> Array:
    out = np.multiply(x, x, out=out)
    np.multiply(out, _MINUS_HALF[x.itemsize], out)
    np.exp(out, out)
    np.multiply(out, x, out)
    np.multiply(out, _DENSITY[x.itemsize], out)
    np.add(out, share, out)
    return np.multiply(out, grad, out)


def _gelu_tanh_backward(grad: Array, x: Array, share: Array, out: Any = ...) -> Array:
    out = np.subtract(_ONE[x.itemsize], share, out=out)
    np.multiply(out, x, out)
    np.multiply(out, polynomial(_LINE_SLOPE[x.itemsize], np.multiply(x, x, out=...)), out)
    np.add(out, _ONE[x.itemsize], out)
    np.multiply(out, share, out)
    return np.multiply(out, grad, out)


BLOCKS: dict[str, Callable[..., Any]] = {
    "relu": _relu,
    "relu_backward": _relu_backward,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "silu_backward": _silu_backward,
    "leaky_relu_backward": _leaky_relu_backward,
    "gelu_backward": _gelu_backward,
}
"""By what they compute, kernels of one block of float32 or float64, with `out`."""
