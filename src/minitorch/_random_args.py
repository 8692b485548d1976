"""Arguments of random draws: what they may be, and the errors that say so."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Shape: TypeAlias = int | tuple[int, ...]

FLOAT_DIGITS: Final[dict[np.dtype[Any], int]] = {
    np.dtype(np.float16): 11,
    np.dtype(np.float32): 24,
    np.dtype(np.float64): 53,
}
"""Bits of a float dtype's significand."""


def shape_of(shape: Shape) -> tuple[int, ...]:
    """A size, or several, as a tuple."""
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
    return sizes


def float_dtype(dtype: DTypeLike, kernel: str) -> np.dtype[Any]:
    """A float dtype; others are not implemented in `kernel`."""
    dtype = np.dtype(dtype)
    if dtype not in FLOAT_DIGITS:
        raise NotImplementedError(f'"{kernel}" not implemented for {dtype.name}')
    return dtype


def continuous_dtype(dtype: DTypeLike, distribution: str) -> np.dtype[Any]:
    """A float dtype; others don't suit a continuous distribution."""
    dtype = np.dtype(dtype)
    if dtype not in FLOAT_DIGITS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {dtype.name}"
        )
    return dtype


def check_uniform_bounds(low: float, high: float, dtype: np.dtype[Any]) -> None:
    """Refuse bounds that are out of order, or that `dtype` cannot hold with their difference."""
    largest = float(np.finfo(dtype).max)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {bound}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= {largest}, the largest {dtype.name}, but found to={high} and from={low} "
            "which result in to-from to exceed the limit"
        )


def integer_limit(dtype: np.dtype[Any]) -> int:
    """The largest integer that random integers of the dtype reach."""
    if dtype in FLOAT_DIGITS:
        return 2 ** FLOAT_DIGITS[dtype]
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def check_integer_bounds(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """`low` and `high`, moved inward for a float dtype that would round them outward."""
    for bound in (low, high):
        if not -(2**63) <= bound < 2**63:
            raise ValueError(f"Overflow when unpacking long long: {bound}")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    limit = float(np.finfo(dtype).max) if dtype.kind == "f" else integer_limit(dtype)
    smallest = -limit if dtype.kind == "f" else 0 if dtype.kind == "b" else int(np.iinfo(dtype).min)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not smallest <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {bound}")
    if dtype.kind != "f":
        return low, high
    digits = FLOAT_DIGITS[dtype]
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if abs(bound) > 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtype.name} can "
                "support discrete uniform distribution only within this range.",
                UserWarning,
                stacklevel=3,
            )
    if (rounded := int(dtype.type(low + 1))) < low:
        low = rounded + (1 << (abs(low + 1).bit_length() - digits))
    if (rounded := int(dtype.type(high - 1))) >= high:
        high = rounded - (1 << (abs(high - 1).bit_length() - digits))
    if low >= high:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={low} >= to={high} in {dtype.name}"
        )
    return low, high


def check_multinomial(weights: NDArray[Any], n: int, replacement: bool) -> None:
    """Refuse weights of which `n` outcomes cannot be drawn."""
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, but its shape is {weights.shape}")
    if weights.dtype not in FLOAT_DIGITS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}")
    if n <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, but got n_sample={n}")
    if n > weights.shape[-1] and not replacement:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement, but got n_sample={n} and "
            f"prob_dist of shape {weights.shape}"
        )
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
