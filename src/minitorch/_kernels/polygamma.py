"""The polygamma functions: derivatives of the digamma function.

``psi^(n)(x) = (-1)^(n+1) n! zeta(n + 1, x)`` for n >= 1 (DLMF 5.15.1, 25.11.12), with Hurwitz's zeta summed term by
term until the argument is large, and by the Euler-Maclaurin formula from there (DLMF 25.11.5).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from .special import Array, blockwise, digamma

# Terms summed one by one, after which the formula is exact to rounding, and the formula's Bernoulli numbers B_2k / (2k)!.
_STEPS = {4: 6, 8: 12}
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
)  # fmt: skip
_TERMS = {4: 3, 8: 7}
# Beyond this order, the factorial leaves float32's range, and few values' powers stay within it.
_WIDE = 12


def polygamma(x: Array, *, n: int) -> Array:
    """Return the n-th derivative of digamma, in `x`'s dtype; poles give infinities."""
    if n == 0:
        return digamma(x)
    if n > _WIDE and x.itemsize == 4:
        return polygamma(x.astype(np.float64), n=n).astype(np.float32)
    return blockwise(partial(_polygamma, n=n), x)


def _polygamma(x: Array, out: Array, n: int) -> None:
    np.multiply(hurwitz_zeta(n + 1, x), x.dtype.type(math.factorial(n) * (1 if n % 2 else -1)), out)


def hurwitz_zeta(s: int, x: Array) -> Array:
    """Return the sum of ``(x + k)^-s`` over k = 0, 1, ...: infinite at the poles 0, -1, ...

    Below zero it is that of the part after the point, plus the terms between: the sum over all integers k depends on
    that part only.
    """
    below = np.flatnonzero(x < 0)
    if not below.size:
        return _zeta(s, x)
    result = _zeta(s, np.abs(x))
    low = x[below]
    distance = low - np.rint(low)
    between = _zeta(s, np.where(distance < 0, -distance, 1 - distance)) - _zeta(s, 1 - low)
    rest = _zeta(s, np.where(distance < 0, 1 + distance, distance))
    result[below] = rest + np.where(distance == 0, 0, between if s % 2 == 0 else -between)
    return result


def _zeta(s: int, x: Array) -> Array:
    """Hurwitz's zeta function from 0 on."""
    total = np.zeros_like(x)
    for step in range(_STEPS[x.itemsize]):
        total += _power(1 / (x + step), s)
    inverse = 1 / (x + _STEPS[x.itemsize])
    rising = _power(inverse, s - 1)
    total += rising / (s - 1)
    rising = rising * inverse
    total += rising / 2
    rising *= inverse
    rising *= s
    inverse *= inverse
    for k in range(_TERMS[x.itemsize]):
        total += rising * x.dtype.type(_BERNOULLI[k])
        rising *= inverse
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2)
    return total


def _power(x: Array, n: int) -> Array:
    """A positive integer power, by repeated squaring."""
    if n == 1:
        return x
    root = _power(x, n // 2)
    square = root * root
    return square * x if n % 2 else square
