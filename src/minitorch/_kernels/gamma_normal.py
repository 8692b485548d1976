"""The incomplete gamma functions, Hurwitz's zeta function, and functions of the normal distribution, in float64.

- gammainc, gammaincc: the power series for x below a (DLMF 8.7.1, 8.5.1), otherwise the continued fraction (DLMF 8.9.2)
  by the modified method of Lentz, as in W. H. Press et al., "Numerical Recipes", section 6.2; the factor
  ``x^a exp(-x) / Gamma(a)`` from ``log(1 + u) - u`` where x is near a large a, so that nothing cancels;
- zeta: terms until the argument is large, then the Euler-Maclaurin formula (DLMF 25.11.5);
- ndtri: M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988);
- erfcx: as erfc (see ``special.py``) without its exponential; beyond 25, the asymptotic series (DLMF 7.12.1).
"""

from __future__ import annotations

import math

import numpy as np

from .special import _FITS, Array, constants, erfc, lgamma, polynomial

# fmt: off
# Wichura's rational functions, highest power first.
_CENTRE = constants((
    2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
    1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080,
), np.float64), constants((
    5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
    5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
), np.float64)
_TAIL = constants((
    7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
    3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734,
), np.float64), constants((
    1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
    6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0,
), np.float64)
_FAR = constants((
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
    2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720,
), np.float64), constants((
    2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
    1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0,
), np.float64)
# Bernoulli numbers B_2k over (2k)!.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 510 / math.factorial(16), 43867 / 798 / math.factorial(18), -174611 / 330 / math.factorial(20),
    854513 / 138 / math.factorial(22), -236364091 / 2730 / math.factorial(24),
)
# fmt: on
_STIRLING = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_MOST_STEPS = 5000


# -- the normal distribution -------------------------------------------------------------------------------------------
def erfcx(x: Array) -> Array:
    """``exp(x^2) erfc(x)``."""
    wide = np.asarray(x, np.float64)
    a = np.abs(wide)
    shift, offset, scale, _ = _FITS[8].erfc_map
    near = polynomial(_FITS[8].erfc, offset - scale / (np.minimum(a, 28) + shift)) / (1 + 2 * a)
    inverse = 0.5 / np.maximum(a, 25) ** 2
    series = np.ones_like(a)
    for k in range(15, 0, -2):
        series = 1 - k * inverse * series
    value = np.where(a > 25, series / (np.maximum(a, 25) * math.sqrt(math.pi)), near)
    b = np.minimum(a, 30)  # whose square's exponential is infinite
    leading = b.astype(np.float32).astype(np.float64)  # whose square is exact
    square = np.exp(leading * leading) * np.exp((b - leading) * (b + leading))
    value = np.where(wide < 0, 2 * square - value, value)
    return np.asarray(value).astype(x.dtype)


def ndtr(x: Array) -> Array:
    """The standard normal distribution function."""
    return np.asarray(0.5 * erfc(np.asarray(x, np.float64) * -math.sqrt(0.5))).astype(x.dtype)


def log_ndtr(x: Array) -> Array:
    """The logarithm of ``ndtr``, accurate in both tails."""
    t = np.asarray(x, np.float64) * math.sqrt(0.5)
    below = np.log(erfcx(-t) / 2) - t * t
    return np.asarray(np.where(t < -1, below, np.log1p(-erfc(t) / 2))).astype(x.dtype)


def ndtri(p: Array) -> Array:
    """The inverse of ``ndtr``: infinite at 0 and 1, NaN beyond."""
    wide = np.asarray(p, np.float64)
    q = wide - 0.5
    r = 0.180625 - q * q
    centre = q * polynomial(_CENTRE[0], r) / polynomial(_CENTRE[1], r)
    root = np.sqrt(-np.log(np.where(q < 0, wide, 1 - wide)))
    near, far = root - 1.6, np.minimum(root, 40) - 5
    tail = np.where(
        root <= 5,
        polynomial(_TAIL[0], near) / polynomial(_TAIL[1], near),
        polynomial(_FAR[0], far) / polynomial(_FAR[1], far),
    )
    value = np.where(np.abs(q) <= 0.425, centre, np.copysign(tail, q))
    value = np.where(np.isinf(root), np.copysign(np.inf, q), value)
    return np.asarray(value).astype(p.dtype)


# -- incomplete gamma functions ----------------------------------------------------------------------------------------
def _log1p_minus(u: Array) -> Array:
    """``log(1 + u) - u``, accurate near 0."""
    small = np.where(np.abs(u) < 0.3, u, 0.0)
    r = small / (2 + small)
    square = r * r
    series = np.zeros_like(u)
    for k in range(33, 1, -2):  # log(1 + u) = 2 atanh(r), and 2 r - u = -r u
        series = 1 / k + square * series
    return np.where(np.abs(u) < 0.3, 2 * r * square * series - r * small, np.log1p(u) - u)


def _factor(a: Array, x: Array) -> Array:
    """``x^a exp(-x) / Gamma(a + 1)``."""
    large = a > 10
    b = np.where(large, a, 11.0)
    stirling = polynomial(constants(_STIRLING, np.float64), 1 / (b * b)) / b
    near = np.exp(b * _log1p_minus((x - b) / b) - stirling) / np.sqrt(2 * math.pi * b)
    return np.where(large, near, np.exp(a * np.log(x) - x - lgamma(a + 1)))


def _series(a: Array, x: Array) -> Array:
    """The lower function by its power series."""
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, _MOST_STEPS):
        term = term * (x / (a + k))
        total += term
        if not np.any(term > total * 1e-17):
            break
    return total * _factor(a, x)


def _fraction(a: Array, x: Array) -> Array:
    """The upper function by its continued fraction."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(x, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    h = d.copy()
    for k in range(1, _MOST_STEPS):
        part = -k * (k - a)
        b = b + 2
        d = part * d + b
        c = b + part / c
        d, c = 1 / np.where(d == 0, tiny, d), np.where(c == 0, tiny, c)
        change = d * c
        h *= change
        if not np.any(np.abs(change - 1) > 1e-16):
            break
    return h * _factor(a, x) * a


def _incomplete(a: Array, x: Array, upper: bool) -> Array:
    dtype = np.result_type(a, x)
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    regular = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    out = np.full(a.shape, np.nan)
    low = np.where((x == 0) & (a > 0) | np.isinf(a) & (a > 0) & np.isfinite(x) & (x >= 0), 0.0, np.nan)
    low = np.where((a == 0) & (x > 0) | np.isinf(x) & (x > 0) & np.isfinite(a) & (a >= 0), 1.0, low)
    out[...] = 1 - low if upper else low
    series = regular & (x < a + 1)
    fraction = regular & ~series
    below, above = _series(a[series], x[series]), _fraction(a[fraction], x[fraction])
    out[series], out[fraction] = (1 - below, above) if upper else (below, 1 - above)
    small = series & (x < 1) & (a < 1) if upper else np.zeros(a.shape, bool)
    out[small] = _upper_of_small(a[small], x[small])
    return out.astype(dtype)


def _upper_of_small(a: Array, x: Array) -> Array:
    """The upper function for a and x below 1: ``1 - x^a / Gamma(a + 1) (1 + sum)``, the leading difference by expm1."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 60):
        term = term * (-x / k)
        total += term / (a + k)
    leading = -np.expm1(a * np.log(x) - lgamma(a + 1))
    return leading - np.exp(a * np.log(x) - lgamma(a + 1)) * a * total


def gammainc(a: Array, x: Array) -> Array:
    """The regularised lower incomplete gamma function."""
    return _incomplete(a, x, False)


def gammaincc(a: Array, x: Array) -> Array:
    """The regularised upper incomplete gamma function."""
    return _incomplete(a, x, True)


# -- zeta --------------------------------------------------------------------------------------------------------------
def zeta(s: Array, q: Array) -> Array:
    """Hurwitz's zeta function: infinite for s = 1 and at the poles 0, -1, ... of q, NaN where it is not defined."""
    dtype = np.result_type(s, q)
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    whole = q == np.floor(q)
    defined = (s > 1) & np.isfinite(s) & ((q > 0) | (~whole & (s == np.floor(s)) & (q > -1e4)))
    x, shifted = np.where(defined, s, 2.0), np.where(defined & np.isfinite(q), q, 1.0)
    edge = 12 + np.minimum(x, 500)
    total = np.zeros(x.shape)
    while np.any(small := shifted < edge):
        total += np.where(small, np.where(small, shifted, 1.0) ** -x, 0.0)
        shifted = np.where(small, shifted + 1, shifted)
    power = shifted**-x
    total += power * shifted / (x - 1) + power / 2
    rising = x * power / shifted
    for k, coefficient in enumerate(_BERNOULLI):
        total += coefficient * rising
        rising = rising * ((x + 2 * k + 1) * (x + 2 * k + 2)) / (shifted * shifted)
    total = np.where(defined & np.isinf(q), 0.0, np.where(defined, total, np.nan))
    poles = ((s == 1) & ~np.isnan(q)) | ((s > 1) & (q <= 0) & whole)
    return np.where(poles, np.inf, total).astype(dtype)
