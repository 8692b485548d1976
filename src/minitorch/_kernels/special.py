"""Special functions: the error function and its kin, and the logarithm of the gamma function and its derivative.

The approximations are polynomials that interpolate the function, made smooth by a change of variable, at Chebyshev
points; they were computed with 50 digits (mpmath), one set for float32 and one for float64. What they approximate:

- erf beyond 1/2, and erfc: ``(1 + 2a) exp(a^2) erfc(a)`` as a function of ``1 / (a + k)``, after M. M. Shepherd and
  J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < oo", Mathematics of Computation 36
  (1981), with ``a^2`` in two parts as in W. J. Cody, "Rational Chebyshev approximations for the error function",
  Mathematics of Computation 23 (1969);
- erfinv: ``erfinv(x) / x`` as a function of ``w = -log(1 - x^2)``, after M. Giles, "Approximating the erfinv function",
  GPU Computing Gems Jade (2011), followed in float64 by a step of Halley's method;
- lgamma and digamma: the function over its zero's distance near that zero, Stirling's series from 8 on, the recurrence
  between them and the reflection formula below zero (DLMF 5.5 and 5.11, https://dlmf.nist.gov/5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray
Coefficients: TypeAlias = tuple[Array, ...]

# Elements of one block: in float32, a block and two temporaries stay in the L2 cache.
BLOCK = 1 << 15
# Up to this many elements, a Python function called for each costs less than the NumPy calls it takes the place of.
FEW = 24

# fmt: off
# Coefficients, highest power first. erf(x) / x in u = 8 x^2 - 1, for |x| <= 1/2:
_ERF_CENTRE = (
    8.777299809787717e-14, -6.37686858732805e-12, 4.1270252134730293e-10, -2.3472289797042594e-08,
    1.151603779519474e-06, -4.762336934519552e-05, 0.0016130716680617082, -0.043642058886697886,
    1.0830752376761712,
)
# (1 + 2a) exp(a^2) erfc(a) in A - B / (a + k), for 0 <= a <= top, where erfc vanishes; k, A, B, top:
_ERFC_MAP_32 = (2.0, 1.392156862745098, 4.784313725490196, 10.2)
_ERFC_MAP_64 = (3.75, 1.2678571428571428, 8.504464285714286, 28.0)
_ERFC_32 = (
    -8.433458e-05, -0.00015213642, 0.00073480123, 0.0021670517, -0.006356233, -0.02168258, 0.11496408,
    -0.17825347, -0.020216666, 1.2869627,
)
_ERFC_64 = (
    -1.518027713422142e-10, 3.8457133825764e-10, 2.207073801389621e-09, -5.330232685156014e-09,
    -2.1127213235833358e-08, 5.498328348856388e-08, 1.754819262607251e-07, -6.124427735674025e-07,
    -1.1836541676561806e-06, 7.472180407765756e-06, 9.065154162552272e-07, -8.34528447217876e-05,
    0.00020076186900364957, 0.0003778200459223865, -0.004150791167725775, 0.01592052777456706,
    -0.040539542093216765, 0.07635790529947271, -0.10728411861800045, 0.10198698200415461, -0.02829480446657397,
    -0.12066783607454443, 1.2539674711853876,
)
# lgamma(2 + d) / d in u = 2 d, for |d| <= 1/2:
_LGAMMA_32 = (
    -9.78758e-07, 4.455088e-06, -1.855445e-05, 8.996465e-05, -0.00046162005, 0.0025727032, -0.016838074,
    0.16123351, 0.42278433,
)
_LGAMMA_64 = (
    2.0962059060600024e-12, -8.867306165956492e-12, 2.8206946487921987e-11, -1.2050236137952312e-10,
    5.350164231426595e-10, -2.3086641882572558e-09, 1.0012704932493954e-08, -4.38708276994606e-08,
    1.94253158049944e-07, -8.716991307145595e-07, 3.981793122286463e-06, -1.8636779703098573e-05,
    9.03284478395594e-05, -0.00046159693930847154, 0.0025726010534729226, -0.016838075263298908,
    0.1612335167120566, 0.42278433509846713,
)
# digamma(x) / (x - root) in u = 2 x - 3, for 1 <= x <= 2, and the root in two parts:
_ROOT_32 = (1.4616321325302124, 1.2438149938918909e-08)
_ROOT_64 = (1.4616321449683622, 9.549995429965697e-17)
_DIGAMMA_32 = (
    -3.1067026e-05, 9.339481e-05, -0.00020350689, 0.0006151472, -0.0019377209, 0.005944764, -0.01855028,
    0.060134612, -0.21181372, 0.9510559,
)
_DIGAMMA_64 = (
    -8.25512972008104e-11, 2.4765474440031764e-10, -2.889363639216111e-10, 8.668257373761658e-10,
    -3.6788868183645545e-09, 1.10370884388543e-08, -3.166618072027162e-08, 9.500926192924096e-08,
    -2.8628755280038686e-07, 8.591324222417666e-07, -2.578107848270217e-06, 7.741156881253708e-06,
    -2.325823828431376e-05, 6.995020484160625e-05, -0.00021074841215733007, 0.000636888028319074,
    -0.0019350666647832667, 0.005936795278433826, -0.018550615381738605, 0.06013562106019355,
    -0.21181371064073026, 0.951055876031833,
)
# erfinv(x) / x in w / 2.5 - 1, for w <= 5, and in C sqrt(w) - D, for 5 <= w <= 37; C, D:
_ERFINV_MAP = (0.5176074497050475, 2.1574054432007896)
_ERFINV_CENTRE = (
    -3.407259357545556e-05, 3.560786010087296e-05, 0.00028572469974080887, -0.0008456995282308036,
    -0.00048558786029831555, 0.008529272899990876, -0.019573849871456703, -0.02610870547001968,
    0.6166006976365915, 1.501409360450329,
)
_ERFINV_TAIL = (
    0.003385285089266012, -0.005649464556055868, 0.0007850153084681632, 0.0007973691646574844,
    0.0034845523763524797, -0.005666088514988546, 0.0032442282522800446, 1.9510479280224042, 4.009444665977673,
)
# atanh(erf(z)) / z in z^2: a weighted least-squares fit, iterated towards the least greatest error of erf (1.5e-7).
_ERF_TANH = (
    1.5146160503216378e-07, -5.8456505011515856e-06, 8.878479254815671e-05, -0.0006230110803173331,
    -0.00018789738304447924, 0.10276726577817005, 1.1283794655156028,
)
# The logarithm of P / (1 - P), over x, for P the normal distribution function at x, in u = x^2, as the continued fraction
# A + B u + C / (u + D + E / (u + F)): a least-squares fit, iterated towards the least greatest error of P (5.4e-8).
_A, _B, _C, _D, _E, _F = (
    2.366631307542743, 0.036275988721852045, -5.333831012714995, -23.591889691286028, 1382.4708075772392,
    45.31026235609389,
)
# fmt: on
# Stirling's series in 1/x^2: of lgamma, times 1/x, and of digamma, times 1/x^2 (DLMF 5.11.1 and 5.11.2).
_LGAMMA_SERIES = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA_SERIES = (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


def constants(values: tuple[float, ...], dtype: type) -> Coefficients:
    """Return numbers as 0-d arrays, which NumPy reads faster than its scalars and Python's numbers."""
    return tuple([np.asarray(value, dtype) for value in values])


def polynomial(coefficients: Coefficients, x: Array, out: Array | None = None) -> Array:
    """Evaluate a polynomial, its coefficients from the highest power's down, by Horner's rule."""
    out = np.multiply(x, coefficients[0], out=... if out is None else out)
    for coefficient in coefficients[1:-1]:
        np.add(out, coefficient, out)
        np.multiply(out, x, out)
    return np.add(out, coefficients[-1], out)


def logits(scale: float) -> Coefficients:
    """Return what `logit` is called with so that it is `scale` times the normal distribution's."""
    return constants((_F, _E, _D - _F, scale * _C, scale * _B, scale * (_A - _B * _F)), np.float32)


def logit(coefficients: Coefficients, square: Array, out: Array) -> None:
    """Fill `out` with the continued fraction of the normal distribution, from `square`, which is overwritten.

    It takes two thirds of the calls of a polynomial, and leaves P, in float32, within 2.1e-7 of what it is instead of 1.3e-7.
    """
    outer, inner, level, share, slope, start = coefficients
    np.add(square, outer, square)
    np.divide(inner, square, out)
    np.add(out, square, out)
    np.add(out, level, out)
    np.divide(share, out, out)
    np.multiply(square, slope, square)
    np.add(out, square, out)
    np.add(out, start, out)


def blockwise(kernel: Callable[..., Any], *arrays: Array, out: Array | None = None) -> Array:
    """Return an array that ``kernel(*blocks, out)`` fills, block by block; float16 is computed in float32.

    Parameters
    ----------
    kernel : callable
        An elementwise function of flat arrays, which writes to its last argument.
    *arrays : ndarray
        Arrays of one shape and floating-point dtype.
    out : ndarray, optional
        A contiguous array of float32 or float64, where to write; a fresh one by default.
    """
    first = arrays[0]
    if first.itemsize == 2:
        return blockwise(kernel, *[array.astype(np.float32) for array in arrays]).astype(first.dtype)
    if out is None:
        out = np.empty(first.shape, first.dtype)
    flat = [array.reshape(-1) for array in arrays]
    result = out.reshape(-1)
    if first.size <= BLOCK:
        kernel(*flat, result)
        return out
    for start in range(0, result.size, BLOCK):
        stop = start + BLOCK
        kernel(*[array[start:stop] for array in flat], result[start:stop])
    return out


def elementwise(function: Callable[[float], float], x: Array) -> Array:
    """Return a fresh array of a Python function's values, for arrays of few elements."""
    out = np.empty(x.shape, x.dtype)
    out.reshape(-1)[:] = [function(value) for value in x.ravel().tolist()]
    return out


def erf(x: Array) -> Array:
    """Return the error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to `x`.

    Parameters
    ----------
    x : ndarray
        Floating-point values of any shape.

    Returns
    -------
    ndarray
        A fresh array of `x`'s shape and dtype: in float64 within 2 ulp, in float32 within 1.5e-7.
    """
    if x.size <= FEW:
        return elementwise(math.erf, x)
    return blockwise(_erf_64 if x.itemsize == 8 else _erf_32, x)


def erfc(x: Array) -> Array:
    """Return ``1 - erf(x)``, with its relative accuracy kept where it is small."""
    if x.size <= FEW:
        return elementwise(math.erfc, x)
    return blockwise(_erfc, x)


def erfinv(x: Array) -> Array:
    """Return the inverse of `erf`: infinite at -1 and 1, NaN beyond."""
    return blockwise(_erfinv_64 if x.itemsize == 8 else _erfinv_32, x)


def lgamma(x: Array) -> Array:
    """Return the logarithm of the gamma function's absolute value: +inf at its poles.

    Relative accuracy is kept near the zeros 1 and 2; near those below zero, the error is of rounding size next to 1.
    """
    if x.size <= FEW and x.itemsize < 8:
        return elementwise(_lgamma_value, x)
    return blockwise(_lgamma, x)


def digamma(x: Array) -> Array:
    """Return the derivative of `lgamma`: NaN at the negative integers, infinite at 0 and -0, with the opposite sign.

    Relative accuracy is kept near the zero at 1.46; near those below zero, the error is of rounding size next to 1.
    """
    return blockwise(_digamma, x)


class _Fits:
    """The coefficients for one dtype."""

    def __init__(
        self,
        dtype: type,
        split: Array,
        *,
        erfc: tuple[float, ...],
        erfc_map: tuple[float, ...],
        lgamma: tuple[float, ...],
        digamma: tuple[float, ...],
        root: tuple[float, ...],
        terms: int,
    ) -> None:
        self.split = split  # keeps the leading half of a significand, so that its square is exact
        self.erfc = constants(erfc, dtype)
        self.erfc_map = constants(erfc_map, dtype)
        self.lgamma = constants(lgamma, dtype)
        self.digamma = constants(digamma, dtype)
        self.root = constants(root, dtype)
        self.lgamma_series = constants(_LGAMMA_SERIES[-terms:], dtype)
        self.digamma_series = constants(_DIGAMMA_SERIES[-terms:], dtype)


_FITS = {
    4: _Fits(
        np.float32,
        np.asarray(-1 << 12, np.int32),
        erfc=_ERFC_32,
        erfc_map=_ERFC_MAP_32,
        lgamma=_LGAMMA_32,
        digamma=_DIGAMMA_32,
        root=_ROOT_32,
        terms=4,
    ),
    8: _Fits(
        np.float64,
        np.asarray(-1 << 27, np.int64),
        erfc=_ERFC_64,
        erfc_map=_ERFC_MAP_64,
        lgamma=_LGAMMA_64,
        digamma=_DIGAMMA_64,
        root=_ROOT_64,
        terms=8,
    ),
}
_ERF_TANH_32 = constants(_ERF_TANH, np.float32)
_ERF_CENTRE_64 = constants(_ERF_CENTRE, np.float64)
_ERFINV_CENTRES = {4: constants(_ERFINV_CENTRE, np.float32), 8: constants(_ERFINV_CENTRE, np.float64)}
_ERFINV_TAIL_64 = constants(_ERFINV_TAIL, np.float64)


def _erf_32(x: Array, out: Array) -> None:
    """Fill `out` with float32's ``erf(x) = tanh(x p(x^2))``: tanh levels off as erf does, and there hides errors."""
    polynomial(_ERF_TANH_32, np.multiply(x, x), out)
    np.multiply(out, x, out)
    np.tanh(out, out)


def _erf_64(x: Array, out: Array) -> None:
    a = np.abs(x)
    np.copysign(1 - _erfc_positive(a), x, out)
    centre = np.flatnonzero(a < 0.5)
    out[centre] = _erf_centre(x[centre])


def _erfc(x: Array, out: Array) -> None:
    # 2 - erfc(-x) below zero: both terms are exact, and no branch is taken.
    sign = np.copysign(x.dtype.type(1), x)
    np.multiply(_erfc_positive(np.abs(x)), sign, out)
    np.add(out, 1 - sign, out)
    if x.itemsize == 8:
        centre = np.flatnonzero(np.abs(x) < 0.5)
        out[centre] = 1 - _erf_centre(x[centre])


def _erf_centre(x: Array) -> Array:
    """The error function for ``abs(x) <= 1/2``, in float64."""
    return x * polynomial(_ERF_CENTRE_64, 8 * (x * x) - 1)


def _erfc_positive(a: Array) -> Array:
    """The complementary error function for ``a >= 0``."""
    fits = _FITS[a.itemsize]
    shift, offset, scale, top = fits.erfc_map
    a = np.minimum(a, top)
    leading = np.bitwise_and(a.view(fits.split.dtype), fits.split).view(a.dtype)
    rest = (leading - a) * (leading + a)  # a^2 = leading^2 - rest
    rest *= 1 + rest * (0.5 + rest * (1 / 6 + rest * (1 / 24)))  # exp(rest) - 1
    result = np.exp(-leading * leading)
    result += result * rest
    result *= polynomial(fits.erfc, offset - scale / (a + shift))
    return result / (1 + 2 * a)


def _erfinv_32(x: Array, out: Array) -> None:
    w = -np.log((1 - x) * (1 + x))
    polynomial(_ERFINV_CENTRES[4], w * 0.4 - 1, out)
    np.multiply(out, x, out)
    tail = np.flatnonzero(~(w <= 5))
    if tail.size:
        far = x[tail].astype(np.float64)
        near = np.empty_like(far)
        _erfinv_64(far, near)
        out[tail] = near


def _erfinv_64(x: Array, out: Array) -> None:
    a = np.abs(x)
    w = -np.log((1 - a) * (1 + a))
    polynomial(_ERFINV_CENTRES[8], w * 0.4 - 1, out)
    tail = np.flatnonzero(w > 5)
    scale, offset = _ERFINV_MAP
    out[tail] = polynomial(_ERFINV_TAIL_64, scale * np.sqrt(w[tail]) - offset)
    np.multiply(out, a, out)
    # The residual erf(y) - a, from whichever of erf and erfc is the smaller.
    residual = np.where(a > 0.5, (1 - a) - _erfc_positive(out), _erf_centre(out) - a)
    residual *= math.sqrt(math.pi) / 2 * np.exp(out * out)
    out -= residual / (1 + out * residual)
    out[np.flatnonzero(a == 1)] = np.inf
    np.copysign(out, x, out)


def _lgamma_value(x: float) -> float:
    """Python's lgamma, whose absolute accuracy near its zeros at 1 and 2 is relative accuracy in float32."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _lgamma(x: Array, out: Array) -> None:
    negative = np.flatnonzero(x < 0)
    if not negative.size:
        return _lgamma_positive(x, out)
    below = x[negative]
    mirrored = x.copy()
    mirrored[negative] = 1 - below
    _lgamma_positive(mirrored, out)
    sine = np.sin(math.pi * np.abs(below - np.rint(below)))
    reflected = np.log(math.pi / sine) - out[negative]
    out[negative] = np.where(sine > 0, reflected, np.inf)


def _lgamma_positive(x: Array, out: Array) -> None:
    fits = _FITS[x.itemsize]
    below = x < 8
    small, large = np.flatnonzero(below), np.flatnonzero(~below)
    high = x[large]
    inverse = 1 / high
    series = polynomial(fits.lgamma_series, inverse * inverse) * inverse
    out[large] = (high - 0.5) * (np.log(high) - 1) + ((0.5 * math.log(2 * math.pi) - 0.5) + series)
    low = x[small]
    nearest = np.rint(low)
    # lgamma(low) = lgamma(2 + distance) + log of the factors between them, of which low itself divides
    distance = low - nearest
    factors = np.ones_like(low)
    for step in range(1, 7):
        factors *= (low - (step + 1)) * (nearest >= step + 2) + low.dtype.type(1)  # low - step, exactly, or 1
    divides = nearest < 2
    factors = factors * ~divides + low * divides
    factors *= low * (nearest < 1) + low.dtype.type(1)
    logarithm = np.log(factors)
    logarithm *= 1 - 2 * divides.astype(low.dtype)
    out[small] = distance * polynomial(fits.lgamma, 2 * distance) + logarithm


def _digamma(x: Array, out: Array) -> None:
    negative = np.flatnonzero(x < 0)
    if not negative.size:
        return _digamma_positive(x, out)
    below = x[negative]
    mirrored = x.copy()
    mirrored[negative] = 1 - below
    _digamma_positive(mirrored, out)
    distance = below - np.rint(below)
    distance[np.flatnonzero(distance == 0)] = np.nan
    out[negative] -= math.pi / np.tan(math.pi * distance)


def _digamma_positive(x: Array, out: Array) -> None:
    fits = _FITS[x.itemsize]
    beyond = x > 2
    near, middle = np.flatnonzero(~beyond), np.flatnonzero(beyond)
    low = x[near]
    first = low < 1
    moved = low + first
    value = ((moved - fits.root[0]) - fits.root[1]) * polynomial(fits.digamma, 2 * moved - 3)
    value -= first / low
    out[near] = value
    high = x[middle]
    shifted = np.flatnonzero(high < 8)
    steps = high[shifted]
    recurrence = np.zeros_like(steps)
    for step in range(6):
        recurrence += 1 / (steps + step)
    high[shifted] += 6
    inverse = 1 / high
    square = inverse * inverse
    high = np.log(high) - (0.5 * inverse + square * polynomial(fits.digamma_series, square))
    high[shifted] -= recurrence
    out[middle] = high
