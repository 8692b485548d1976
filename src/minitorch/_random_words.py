"""Words of random bits, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_MASK21: Final = 2**21 - 1
_MASK24: Final = np.uint32(2**24 - 1)
MASK53: Final = np.uint64(2**53 - 1)


def untempered(words: Array) -> Array:
    """The twister's key from the words that it gives: their tempering (uint32) undone."""
    partly = words ^ words >> 18
    partly ^= partly << 15 & 0xEFC60000
    more = partly
    for _ in range(4):  # seven bits at a time
        more = partly ^ more << 7 & 0x9D2C5680
    key = more
    for _ in range(2):  # eleven bits at a time
        key = more ^ key >> 11
    return key


def unit32(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Float32 numbers from [0, 1), of the low 24 bits of each word."""
    result = (words & _MASK24).astype(np.float32)
    result *= np.float32(2**-24)
    return result


def joined(words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """64-bit words of two 32-bit ones each, the high half first."""
    result = words[0::2].astype(np.uint64)
    result <<= np.uint64(32)
    result |= words[1::2]
    return result


def unit64(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Float64 numbers from [0, 1), of the low 53 bits of every two words."""
    whole = joined(words)
    whole &= MASK53
    result = whole.astype(np.float64)
    result *= 2**-53
    return result


def few_units(words: list[int]) -> list[float]:
    """`unit64` without the overhead of arrays."""
    return [((high & _MASK21) << 32 | low) * 2**-53 for high, low in zip(words[0::2], words[1::2], strict=True)]
