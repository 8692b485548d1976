"""Elementary functions that NumPy has not vectorised in float32: from those that it has, and from polynomials.

Few values, and float64, go to NumPy's own.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from .special import blockwise, constants, polynomial

Array: TypeAlias = np.ndarray

# Up to this many elements, NumPy's functions cost less.
_FEW = 128
_ONE, _HALF, _LOG2E = constants((1.0, 0.5, math.log2(math.e)), np.float32)
# log(2) in two parts: a multiple of the first by a number below 2**9 is exact.
_LN2 = constants((0.693359375, math.log(2) - 0.693359375), np.float32)
# (exp(r) - 1) / r for |r| <= log(2) / 2: interpolated at Chebyshev points, to 1.3e-8.
_EXPM1 = constants(
    (0.0013941149227321148, 0.00836917757987976, 0.04166635125875473, 0.16666504740715027, 0.5, 1.0), np.float32
)
# Between these, exp(x) - 1 is neither -1 nor infinite.
_EXPM1_RANGE = constants((-20.0, 89.0), np.float32)
_EXPONENT_BIAS, _SIGNIFICAND_BITS = np.asarray(126, np.int32), np.asarray(23, np.int32)


def log1p(x: Array) -> Array:
    """Return ``log(1 + x)``, accurate near 0."""
    return np.log1p(x, out=...) if x.size <= _FEW or x.itemsize == 8 else blockwise(_log1p, x)


def _log1p(x: Array, out: Array) -> None:
    """The logarithm of the rounded sum, corrected to first order by what rounding took."""
    total = np.add(x, _ONE)
    np.subtract(total, _ONE, out)
    np.subtract(x, out, out)
    np.divide(out, total, out)
    np.fmin(out, _ONE, out=out)  # NaN where the logarithm is infinite; else tiny
    np.add(out, np.log(total, total), out)
    np.copysign(out, x, out)


def expm1(x: Array) -> Array:
    """Return ``exp(x) - 1``, accurate near 0."""
    return np.expm1(x, out=...) if x.size <= _FEW or x.itemsize == 8 else blockwise(_expm1, x)


def _expm1(x: Array, out: Array) -> None:
    """With ``x = n log(2) + r``, ``2**n (exp(r) - 1) + (2**n - 1)``."""
    rest = np.clip(x, *_EXPM1_RANGE)
    number = np.multiply(rest, _LOG2E)
    np.rint(number, number)
    for part in _LN2:
        np.subtract(rest, np.multiply(number, part, out), rest)
    polynomial(_EXPM1, rest, out)
    np.multiply(out, rest, out)
    power: Any = number.astype(np.int32)
    np.add(power, _EXPONENT_BIAS, power)
    power = np.left_shift(power, _SIGNIFICAND_BITS, power).view(np.float32)  # 2**(n - 1), as 2**128 is infinite
    np.multiply(out, power, out)
    np.add(out, np.subtract(power, _HALF, power), out)
    np.add(out, out, out)
    np.copysign(out, x, out)


def tan(x: Array) -> Array:
    """Return the tangent."""
    return np.tan(x, out=...) if x.size <= _FEW or x.itemsize == 8 else blockwise(_tan, x)


def _tan(x: Array, out: Array) -> None:
    np.divide(np.sin(x), np.cos(x), out)
