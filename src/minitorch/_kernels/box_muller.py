"""Normal numbers from uniform ones by the Box-Muller transform, in the arithmetic of PyTorch's x86-64 builds with AVX2.

There, products and sums are fused (rounded once), and float32 normal numbers come from the single-precision logarithm,
sine and cosine of the Cephes library. A fused float32 operation is computed in float64 and rounded, which differs from
true fusion about once in 2**29. Float64 values go through NumPy's log, log1p, sin and cos: where NumPy uses vectorised
versions of them (AVX-512), the last bit may differ.

G. E. P. Box and M. E. Muller, A note on the generation of random normal deviates, Ann. Math. Statist. 29 (1958).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Float32s: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Float64s: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

# Elements of a block: its temporaries stay in the L2 cache.
_BLOCK: Final = 2**15


def _float32s(*coefficients: float) -> tuple[float, ...]:
    return tuple(float(np.float32(coefficient)) for coefficient in coefficients)


# The polynomials of logf, cosf and sinf in S. L. Moshier's Cephes library (single), http://www.netlib.org/cephes.
_LOG: Final = tuple(  # as arrays, which NumPy needs not convert
    np.array(coefficient)
    for coefficient in _float32s(
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
_COS_SIN: Final = tuple(
    np.array(column).reshape(2, 1)
    for column in zip(
        _float32s(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
        _float32s(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
        strict=True,
    )
)
# π/2 in two parts: a small multiple of the first is exact, and so is its difference from the angle, even in float32.
_HALF_PI: Final = (2 * (0.78515625 + 2.4187564849853515625e-4), 2 * float(np.float32(3.77489497744594108e-8)))
_SQRT_HALF_BITS: Final = np.float32(math.sqrt(0.5)).view(np.int32)


# ---- runs of 16: eight radii, then eight angles ----


class RunTable:
    """What float32 uniforms, one after another, give as radii and as angles: a run of 16 from any place costs little.

    A transform of few numbers takes as long as one of a thousand, so small draws share one.

    Parameters
    ----------
    uniforms : ndarray of float32, shape (n,)
        From [0, 1).
    """

    __slots__ = ("_cos", "_radius", "_sin")

    def __init__(self, uniforms: Float32s) -> None:
        self._radius = _radius32(uniforms)
        self._cos, self._sin = _cos_sin32(uniforms)

    def __len__(self) -> int:
        return len(self._radius)

    def fill(self, out: Float32s, start: int) -> None:
        """Write to `out`, whose length is a multiple of 16, the normal numbers of the runs from uniform `start` on."""
        middle, stop = start + 8, start + len(out)
        if len(out) == 16:
            radius = self._radius[start:middle]
            np.multiply(radius, self._cos[middle:stop], out=out[:8])
            np.multiply(radius, self._sin[middle:stop], out=out[8:])
            return
        runs = out.reshape(-1, 2, 8)
        radius = self._radius[start:stop].reshape(-1, 2, 8)[:, 0]
        np.multiply(radius, self._cos[start:stop].reshape(-1, 2, 8)[:, 1], out=runs[:, 0])
        np.multiply(radius, self._sin[start:stop].reshape(-1, 2, 8)[:, 1], out=runs[:, 1])


def normal_runs32(uniforms: Float32s) -> Float32s:
    """Normal numbers from as many uniform ones, a multiple of 16; `RunTable` gives the same."""
    runs = uniforms.reshape(-1, 2, 8)
    result = np.empty_like(runs)
    for start in range(0, len(runs), _BLOCK // 8):
        block = slice(start, start + _BLOCK // 8)
        radius = _radius32(runs[block, 0].reshape(-1))
        cos, sin = _cos_sin32(runs[block, 1].reshape(-1))
        cos *= radius
        sin *= radius
        result[block, 0] = cos.reshape(-1, 8)
        result[block, 1] = sin.reshape(-1, 8)
    return result.reshape(-1)


def normal_runs64(uniforms: Float64s) -> Float64s:
    """`normal_runs32` in double precision."""
    runs = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - runs[:, 0]))
    angle = 2 * np.pi * runs[:, 1]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


# ---- pairs: an angle, then a radius ----


def normal_pairs(uniforms: Float64s) -> Float64s:
    """Normal numbers from as many uniform ones, an even number."""
    radius = np.sqrt(-2 * np.log1p(-uniforms[1::2]))
    angle = 2 * np.pi * uniforms[0::2]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


def few_normal_pairs(uniforms: list[float]) -> list[float]:
    """`normal_pairs` without the overhead of arrays."""
    normals: list[float] = []
    for unit_angle, unit_radius in zip(uniforms[0::2], uniforms[1::2], strict=True):
        radius = math.sqrt(-2 * math.log1p(-unit_radius))
        angle = 2 * math.pi * unit_angle
        normals += (radius * math.cos(angle), radius * math.sin(angle))
    return normals


# ---- fused product and sum ----


def fused_scale(values: NDArray[Any], scale: float, shift: float) -> NDArray[Any]:
    """``values * scale + shift``, rounded once, for float32 or float64 values in one dimension; may overwrite them."""
    if scale != 1 and shift == 0:
        values *= values.dtype.type(scale)
    elif scale == 1 and shift != 0:
        values += values.dtype.type(shift)
    elif scale != 1 and values.dtype == np.float32:
        for start in range(0, len(values), _BLOCK):
            block = values[start : start + _BLOCK]
            product = block.astype(np.float64)
            product *= float(np.float32(scale))
            product += float(np.float32(shift))
            block[:] = product
    elif scale != 1:
        return _fused_scale64(values, np.float64(scale), shift)
    return values


def _fused_scale64(values: Float64s, scale: np.float64, shift: float) -> Float64s:
    """The same for float64, by Dekker's exact product and Knuth's exact sum.

    T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        product = values * scale
        high, low = _halves(values)
        scale_high, scale_low = _halves(scale)
        product_error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
        total = product + shift
        shift_part = total - product
        sum_error = (product - (total - shift_part)) + (shift - shift_part)
        result = total + (sum_error + product_error)
        return np.where(np.isfinite(result), result, total)


def _halves(values: Any) -> tuple[Any, Any]:
    scaled = values * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - values)
    return high, values - high


# ---- single-precision logarithm, cosine and sine ----


def _radius32(uniforms: Float32s) -> Float32s:
    radius = _log32(np.float32(1) - uniforms)
    radius *= np.float32(-2)
    return np.sqrt(radius, out=radius)


def _log32(values: Float32s) -> Float32s:
    """Cephes' logarithm of normal positive numbers: ``e ln 2 + ln(1 + x)`` with ``1 + x`` from sqrt(1/2) to sqrt(2)."""
    bits = values.view(np.int32)
    exponent = bits - _SQRT_HALF_BITS
    exponent >>= 23
    e = exponent.astype(np.float32)
    exponent <<= 23
    x = (bits - exponent).view(np.float32)
    x -= np.float32(1)
    square = x * x
    wide = x.astype(np.float64)
    y, single = _horner32(wide, _LOG)
    y *= wide
    np.copyto(single, y, casting="same_kind")
    np.multiply(single, square, out=y, dtype=np.float64)
    y += e * np.float32(-2.12194440e-4)
    np.copyto(single, y, casting="same_kind")
    square *= np.float32(0.5)
    single -= square
    single += x
    e *= np.float32(0.693359375)
    single += e
    return single


def _cos_sin32(uniforms: Float32s) -> tuple[Float32s, Float32s]:
    """Cephes' cosine and sine of ``2π u``, u from [0, 1)."""
    angles = uniforms * np.float32(2 * np.pi)
    quarter = (angles * np.float32(4 / np.pi)).astype(np.int32)
    quarter += 1
    quarter >>= 1
    multiple = quarter.astype(np.float64)
    wide = angles.astype(np.float64)
    wide -= multiple * _HALF_PI[0]
    wide -= multiple * _HALF_PI[1]
    x = wide.astype(np.float32)
    np.copyto(wide, x)
    z = (x * x).astype(np.float64)

    result, single = _horner32(z, _COS_SIN)
    result *= z
    np.copyto(single, result, casting="same_kind")
    np.copyto(result, single)
    cos, sin = result
    cos *= z
    z *= 0.5
    cos -= z
    sin *= wide
    sin += wide
    np.copyto(single, result, casting="same_kind")
    single[0] += np.float32(1)
    bits = single.view(np.int32)
    return _turn(bits[0], bits[1], quarter)


def _turn(cos: NDArray[np.int32], sin: NDArray[np.int32], quarter: NDArray[np.int32]) -> tuple[Float32s, Float32s]:
    """The bits of cos(x), sin(x) become cos and sin of ``x + quarter * π/2``."""
    difference = cos ^ sin
    difference &= -(quarter & 1)  # all bits where cosine and sine change places
    cos ^= difference
    sin ^= difference
    sin ^= (quarter & 2) << 30
    quarter += 1
    cos ^= (quarter & 2) << 30
    return cos.view(np.float32), sin.view(np.float32)


def _horner32(x: Float64s, coefficients: tuple[Any, ...]) -> tuple[Float64s, Float32s]:
    """A polynomial by fused float32 steps, of float32 numbers held in float64; the result, and scratch memory like it.

    Coefficients that are columns make several polynomials, one in each row of the result.
    """
    result = x * coefficients[0]
    single = np.empty(result.shape, np.float32)
    for coefficient in coefficients[1:-1]:
        result += coefficient
        np.copyto(single, result, casting="same_kind")
        np.copyto(result, single)
        result *= x
    result += coefficients[-1]
    np.copyto(single, result, casting="same_kind")
    np.copyto(result, single)
    return result, single
