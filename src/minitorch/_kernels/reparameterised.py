"""How samples move with their parameters: derivatives of gamma and Dirichlet samples at a fixed value of the cdf.

Where ``F(x; a)`` is the cumulative distribution function and ``f`` the density, ``dx/da = -(dF/da) / f``, after M. Jankowiak
and F. Obermeyer, "Pathwise derivatives beyond the reparameterization trick", ICML 2018 (the coefficients too): a series near
the ends, a saddle-point expansion for large concentrations, and a rational approximation between.  All in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .special import digamma

Array = np.ndarray
Case = tuple[Any, Callable[..., Array]]


def _piecewise(cases: list[Case], dtype: Any, *arrays: Array) -> Array:
    """Each element by the first case whose condition holds."""
    given = [np.asarray(a, np.float64) for a in np.broadcast_arrays(*arrays)]
    out, free = np.zeros(given[0].shape), np.ones(given[0].shape, bool)
    for condition, formula in cases:
        chosen = free & condition(*given)
        free &= ~chosen
        if chosen.any():
            out[chosen] = formula(*[a[chosen] for a in given])
    return out.astype(dtype, copy=False)


def _finite(values: Array) -> Array:
    return np.where(np.isnan(values), 0, values)


# -- gamma -------------------------------------------------------------------------------------------------------------
def standard_gamma_grad(self: Array, output: Array) -> Array:
    """``d output / d self`` for a gamma sample *output* of rate 1 and concentration *self*."""
    cases: list[Case] = [
        (lambda a, x: x < 0.8, _gamma_by_series),
        (lambda a, x: (a > 8) & (0.9 * a <= x) & (x <= 1.1 * a), _gamma_near_mean),
        (lambda a, x: a > 8, _gamma_by_saddle_point),
        (lambda a, x: a == a, _gamma_by_ratio),
    ]
    return _piecewise(cases, output.dtype, self, output)


def _gamma_by_series(a: Array, x: Array) -> Array:
    """From ``F = x^a sum (-x)^i / (i! (a + i))``, over Gamma(a)."""
    term, by_one, by_two = np.ones_like(x), 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        by_one = by_one + term / (a + i)
        by_two = by_two + term / (a + i) ** 2
    return _finite(x * np.exp(x) * ((digamma(a) - np.log(x)) * by_one + by_two))


def _gamma_near_mean(a: Array, x: Array) -> Array:
    first = 1 + 24 * a * (1 + 12 * a)
    second = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    return first * second / (1244160 * a**4)


def _gamma_by_saddle_point(a: Array, x: Array) -> Array:
    ratio, root = np.log(x / a), np.sqrt(8 * a)
    bent = (x - a - a * ratio) ** -1.5
    slope = root / (a - x) + np.where(x < a, -bent, bent)
    inner = ratio * slope - np.sqrt(2 / a) * (a + x) / (a - x) ** 2
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return -stirling * x * inner / root


_GAMMA_RATIO = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07],
    ]
)  # fmt: skip
"""Coefficients by powers of log(x / a), then of log a: four of the numerator, four of the denominator."""


def _gamma_by_ratio(a: Array, x: Array) -> Array:
    u, v = np.log(x / a), np.log(a)
    row = [_GAMMA_RATIO[0, i] + u * (_GAMMA_RATIO[1, i] + u * _GAMMA_RATIO[2, i]) for i in range(8)]
    numerator = row[0] + v * (row[1] + v * (row[2] + v * row[3]))
    return np.exp(numerator / (row[4] + v * (row[5] + v * (row[6] + v * row[7]))))


# -- Dirichlet ---------------------------------------------------------------------------------------------------------
def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """``d x / d alpha`` for a coordinate *x* of a sample: beta distributed, of concentrations *alpha* and ``total - alpha``."""
    cases: list[Case] = [
        (lambda x, a, t: (x <= 0.5) & (t * x * (1 - x) < 2.5), lambda x, a, t: _beta_near_zero(x, a, t - a)),
        (lambda x, a, t: (x >= 0.5) & (t * x * (1 - x) < 0.75), lambda x, a, t: -_beta_of_other(1 - x, t - a, a)),
        (lambda x, a, t: (a > 6) & (t - a > 6), lambda x, a, t: _beta_by_saddle_point(x, a, t - a)),
        (lambda x, a, t: a == a, _beta_by_ratio),
    ]
    return _piecewise(cases, x.dtype, x, alpha, total)


def _beta_near_zero(x: Array, a: Array, b: Array) -> Array:
    factor = digamma(a) - digamma(a + b) - np.log(x)
    term, series = np.ones_like(x), (factor + 1 / a) / a
    for i in range(1, 11):
        term = term * ((i - b) * x / i)
        series = series + term / (a + i) * (factor + 1 / (a + i))
    return _finite(x * (1 - x) ** -b * series)


def _beta_of_other(x: Array, a: Array, b: Array) -> Array:
    """``dx / db``, near zero."""
    factor = digamma(a + b) - digamma(b)
    term, product, slope, series = np.ones_like(x), np.ones_like(x), np.zeros_like(x), factor / a
    for i in range(1, 9):
        term = term * (-x / i)
        slope = slope * (b - i) + product
        product = product * (b - i)
        series = series + term / (a + i) * (slope + factor * product)
    return _finite(-((1 - x) ** (1 - b)) * series)


def _beta_by_saddle_point(x: Array, a: Array, b: Array) -> Array:
    total = a + b
    mean, spread = a / total, np.sqrt(a * b / (total + 1)) / total
    near = np.abs(x - mean) <= 0.1 * spread
    return np.where(near, _beta_near_mean(x, a, b, total), _beta_off_mean(x, a, b, total, mean))


def _beta_near_mean(x: Array, a: Array, b: Array, total: Array) -> Array:
    polynomial = 47 * x * b**4 + a * (
        (43 + 20 * (16 + 27 * b) * x) * b**3
        + a * (
            3 * (59 + 180 * b - 90 * x) * b**2
            + a * ((453 + 1620 * b * (1 - x) - 455 * x) * b + a * (8 * (1 - x) * (135 * b - 11)))
        )
    )  # fmt: skip
    above = (1 + 12 * a) * (1 + 12 * b) / (total * total)
    return above / (1 - x) * polynomial / (12960 * a**3 * b**2 * (1 + 12 * total))


def _beta_off_mean(x: Array, a: Array, b: Array, total: Array, mean: Array) -> Array:
    def stirling(z: Array) -> Array:
        return 1 + 1 / (12 * z) + 1 / (288 * z * z)

    away = b * x + a * (x - 1)
    first = 2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b
    first = first / (np.sqrt(2 * a / b) * total**1.5 * away * away)
    bent = (b * np.log(b / (total * (1 - x))) + a * np.log(a / (total * x))) ** -1.5
    slope = np.sqrt(8 * a * b / total) / away + np.where(x < mean, bent, -bent)
    inner = first + 0.5 * np.log(a / (total * x)) * slope
    return stirling(a) * stirling(b) / stirling(total) * -x / np.sqrt(2 * a * b / total) * inner


_BETA_RATIO = np.array(
    [
        [
            [[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
             [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
             [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
            [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
             [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
             [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
            [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
             [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
             [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]],
        ],
        [
            [[1, -0.02924021934, -0.04438342661, 0.007285809825],
             [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
             [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
            [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
             [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
             [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
            [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
             [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
             [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]],
        ],
    ]
)  # fmt: skip
"""Coefficients of numerator and denominator by powers of log x, then of log(alpha / x), then of log(total x / alpha)."""


def _beta_by_ratio(x: Array, alpha: Array, total: Array) -> Array:
    u = np.log(x)
    a = np.log(alpha) - u
    b = np.log(total) - a
    powers = [np.stack([v**0, v, v * v, v**3]) for v in (u, a, b)]
    above, below = np.einsum("nijk,i...,j...,k...->n...", _BETA_RATIO, powers[0][:3], powers[1][:3], powers[2])
    return above / below * x * (digamma(total) - digamma(alpha)) / (total - alpha)
