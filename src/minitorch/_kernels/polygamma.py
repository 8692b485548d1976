"""The polygamma functions: derivatives of the digamma function.

``psi^(n)(x) = (-1)^(n+1) n! zeta(n + 1, x)`` for n >= 1 (DLMF 5.15.1, 25.11.12), with Hurwitz's zeta summed term by
term until the argument is large, and by the Euler-Maclaurin formula from there (DLMF 25.11.5).
"""

from __future__ import annotations

import math

import numpy as np

from .special import Array, digamma

_LARGE = 12.0
# Bernoulli numbers B_2k over (2k)!.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
)  # fmt: skip


def polygamma(x: Array, *, n: int) -> Array:
    """Return the n-th derivative of digamma, in `x`'s dtype; poles give infinities."""
    if n == 0:
        return digamma(x)
    factor = math.factorial(n) * (1 if n % 2 else -1)
    return np.asarray(factor * hurwitz_zeta(n + 1, np.asarray(x, np.float64))).astype(x.dtype)


def hurwitz_zeta(s: int, x: Array) -> Array:
    """Return the sum of ``(x + k)^-s`` over k = 0, 1, ...: infinite at the poles 0, -1, ...

    Below zero it is that of the part after the point, plus the terms between: the sum over all integers k depends on
    that part only.
    """
    below = x < 0
    if not below.any():
        return _zeta(s, x)
    part = np.where(below, x - np.floor(x), x)
    between = _zeta(s, np.where(below, 1 - part, 1.0)) - _zeta(s, np.where(below, 1 - x, 1.0))
    return np.where(below & (part != 0), _zeta(s, part) + (-between if s % 2 else between), _zeta(s, part))


def _zeta(s: int, x: Array) -> Array:
    """Hurwitz's zeta function from 0 on."""
    total = np.zeros(x.shape)
    shifted = np.array(x)
    while np.any(small := shifted < _LARGE):
        np.add(total, np.where(small, shifted, 1.0) ** -float(s), out=total, where=small)
        np.add(shifted, 1, out=shifted, where=small)
    total += shifted ** (1.0 - s) / (s - 1) + shifted ** -float(s) / 2
    rising = s * shifted ** (-1.0 - s)
    for k, coefficient in enumerate(_BERNOULLI):
        total += coefficient * rising
        rising = rising * ((s + 2 * k + 1) * (s + 2 * k + 2)) / (shifted * shifted)
    return total
