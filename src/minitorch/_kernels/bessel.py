"""Bessel functions of orders 0 and 1, and Airy's Ai, by Chebyshev sums of functions that are smooth.

- J and Y up to 8: J over its zeros' distances, and ``Y - 2/pi log(x) J`` (DLMF 10.8.2), in the square of x; beyond, the
  amplitudes P and Q of Hankel's expansion, ``J = sqrt(2 / (pi x)) (P cos(chi) - Q sin(chi))`` (DLMF 10.17.3), in 1 / x^2;
- I: ``exp(-x) I(x)`` up to 8, and ``sqrt(x) exp(-x) I(x)`` in 1 / x beyond (DLMF 10.40.1);
- K: ``K0 + log(x/2) I0`` and its like up to 2 (DLMF 10.31.2), and ``sqrt(x) exp(x) K(x)`` in 1 / x beyond;
- Ai: itself from -2 to 2, ``exp(zeta) x^(1/4) Ai(x)`` in 1 / zeta above, amplitudes of sine and cosine below (DLMF 9.7).

W. J. Cody and the Cephes library (S. L. Moshier) divide the line in the same way.  All is computed in float64: relative
errors are some 1e-15, but near zeros of Y0, Y1, of J beyond 8 and of Ai, absolute ones are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from . import bessel_fits as fits
from .special import Array

_AIRY_EDGE = 2 / 3 * 2.0**1.5  # zeta at 2


def chebyshev_sum(coefficients: Sequence[float], t: Array) -> Array:
    """The sum of ``c_k T_k(t)``, by Clenshaw's recurrence."""
    twice = t + t
    last, value = np.zeros_like(t), np.zeros_like(t)
    for coefficient in coefficients[:0:-1]:
        last, value = value, coefficient + twice * value - last
    return coefficients[0] + t * value - last


def _float64(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel that computes in float64 and returns its argument's dtype."""

    @functools.wraps(function)
    def kernel(x: Array) -> Array:
        return np.asarray(function(np.asarray(x, np.float64))).astype(x.dtype)

    return kernel


def _by_size(x: Array, bound: float, small: Callable[[Array], Array], large: Callable[[Array], Array]) -> Array:
    """``small(x)`` up to a bound, ``large(x)`` beyond."""
    out = np.empty_like(x)
    where = x <= bound
    out[where], out[~where] = small(x[where]), large(x[~where])
    return out


# -- I and K -----------------------------------------------------------------------------------------------------------
def _scaled_i(order: int, a: Array) -> Array:
    """``exp(-a) I(a)`` for a >= 0."""
    low, high = (fits.I0_SMALL, fits.I0_LARGE) if order == 0 else (fits.I1_SMALL, fits.I1_LARGE)
    factor = (lambda x: 1.0) if order == 0 else (lambda x: x)
    return _by_size(
        a,
        8,
        lambda x: chebyshev_sum(low, x / 4 - 1) * factor(x),
        lambda x: chebyshev_sum(high, 16 / x - 1) / np.sqrt(x),
    )


@_float64
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, of order 0."""
    a = np.abs(x)
    return np.exp(a) * _scaled_i(0, a)


@_float64
def i0e(x: Array) -> Array:
    """``exp(-|x|) i0(x)``."""
    return _scaled_i(0, np.abs(x))


@_float64
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, of order 1."""
    a = np.abs(x)
    return np.copysign(np.exp(a) * _scaled_i(1, a), x)


@_float64
def i1e(x: Array) -> Array:
    """``exp(-|x|) i1(x)``."""
    return np.copysign(_scaled_i(1, np.abs(x)), x)


def _scaled_k(order: int, x: Array) -> Array:
    """``exp(x) K(x)``: infinite at 0, NaN below."""
    low, high = (fits.K0_SMALL, fits.K0_LARGE) if order == 0 else (fits.K1_SMALL, fits.K1_LARGE)

    def small(x: Array) -> Array:
        smooth, first = chebyshev_sum(low, x * x / 2 - 1), np.exp(x) * _scaled_i(order, x)
        found = smooth - np.log(x / 2) * first if order == 0 else smooth / x + np.log(x / 2) * first
        return np.where(x > 0, np.exp(x) * found, np.where(x == 0, np.inf, np.nan))

    return _by_size(x, 2, small, lambda x: chebyshev_sum(high, 4 / x - 1) / np.sqrt(x))


@_float64
def k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order 0."""
    return np.exp(-x) * _scaled_k(0, x)


@_float64
def k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order 1."""
    return np.exp(-x) * _scaled_k(1, x)


@_float64
def k0e(x: Array) -> Array:
    """``exp(x) k0(x)``."""
    return _scaled_k(0, x)


@_float64
def k1e(x: Array) -> Array:
    """``exp(x) k1(x)``."""
    return _scaled_k(1, x)


# -- J and Y -----------------------------------------------------------------------------------------------------------
def _zeros_apart(x: Array, roots: Sequence[tuple[float, float]]) -> Array:
    """The product of x's distances to roots, given in two parts, and to their negatives."""
    product = np.ones_like(x)
    for high, low in roots:
        product *= ((x - high) - low) * ((x + high) + low)
    return product


def _small_j(order: int, x: Array) -> Array:
    if order == 0:
        return chebyshev_sum(fits.J0_SMALL, x * x / 32 - 1) * _zeros_apart(x, fits.J0_ROOTS)
    return chebyshev_sum(fits.J1_SMALL, x * x / 32 - 1) * _zeros_apart(x, fits.J1_ROOTS) * x


def _large(order: int, x: Array) -> tuple[Array, Array]:
    """J and Y beyond 8; the sine and cosine of the phase are sums of those of x.  NaN at infinity, as PyTorch's."""
    u = (8 / x) ** 2
    p = chebyshev_sum(fits.P0 if order == 0 else fits.P1, 2 * u - 1)
    q = chebyshev_sum(fits.Q0 if order == 0 else fits.Q1, 2 * u - 1) * (8 / x)
    s, c = np.sin(x), np.cos(x)
    cosine, sine = (c + s, s - c) if order == 0 else (s - c, -s - c)
    size = 1 / np.sqrt(math.pi * x)
    return size * (p * cosine - q * sine), size * (p * sine + q * cosine)


@_float64
def j0(x: Array) -> Array:
    """The Bessel function of the first kind, of order 0."""
    return _by_size(np.abs(x), 8, lambda x: _small_j(0, x), lambda x: _large(0, x)[0])


@_float64
def j1(x: Array) -> Array:
    """The Bessel function of the first kind, of order 1."""
    value = _by_size(np.abs(x), 8, lambda x: _small_j(1, x), lambda x: _large(1, x)[0])
    return np.where(x < 0, -value, value)


def _small_y(order: int, x: Array) -> Array:
    smooth = chebyshev_sum(fits.Y0_SMALL if order == 0 else fits.Y1_SMALL, x * x / 32 - 1)
    singular = np.log(x) * _small_j(order, x)
    found = smooth + 2 / math.pi * singular if order == 0 else smooth * x + 2 / math.pi * (singular - 1 / x)
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


@_float64
def y0(x: Array) -> Array:
    """The Bessel function of the second kind, of order 0: -inf at 0, NaN below."""
    return _by_size(x, 8, lambda x: _small_y(0, x), lambda x: _large(0, x)[1])


@_float64
def y1(x: Array) -> Array:
    """The Bessel function of the second kind, of order 1: -inf at 0, NaN below."""
    return _by_size(x, 8, lambda x: _small_y(1, x), lambda x: _large(1, x)[1])


@_float64
def spherical_j0(x: Array) -> Array:
    """``sin(x) / x``: 1 at 0, 0 at infinity."""
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, np.sin(x) / x))


# -- Airy --------------------------------------------------------------------------------------------------------------
def _ai_above(x: Array) -> Array:
    zeta = 2 / 3 * x * np.sqrt(x)
    size = np.exp(-zeta) / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(x)))
    return np.where(np.isinf(x), np.nan, size * chebyshev_sum(fits.AI_LARGE, 2 * _AIRY_EDGE / zeta - 1))


def _ai_below(x: Array) -> Array:
    a = -x
    zeta = 2 / 3 * a * np.sqrt(a)
    ratio = _AIRY_EDGE / zeta
    p, q = (chebyshev_sum(c, 2 * ratio * ratio - 1) for c in (fits.AI_P, fits.AI_Q))
    s, c = np.sin(zeta), np.cos(zeta)
    return (p * (s + c) - q * ratio * (c - s)) / (math.sqrt(2 * math.pi) * np.sqrt(np.sqrt(a)))


def _ai_between(x: Array) -> Array:
    return chebyshev_sum(fits.AI_MID, x / 2)


@_float64
def airy_ai(x: Array) -> Array:
    """Airy's function Ai; NaN at infinities."""
    return _by_size(x, -2, _ai_below, lambda x: _by_size(x, 2, _ai_between, _ai_above))
