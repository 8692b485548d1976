"""Reductions and scans, and the maps their derivatives need: sums, variance, products with zeros, undone broadcasting."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# A float32 total of at most this many terms, taken one after another, is as accurate as anyone needs.
_SHORT = 256
# Elements of one block of a blocked kernel: two or three float32 buffers of this size stay in the L2 cache.
_BLOCK = 1 << 15


@lru_cache(maxsize=256)
def ones(rows: int, columns: int, char: str) -> Array:
    """Return a shared, read-only matrix of ones of a dtype's character code, to sum by matrix products."""
    result = np.ones((rows, columns), char)
    result.flags.writeable = False
    return result
