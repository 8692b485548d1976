"""Evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def spaced(start: Any, end: Any, steps: int, dtype: Any) -> np.ndarray:
    """The numbers of ``linspace`` in a dtype of floats, counted from the nearer end."""
    dtype = np.dtype(dtype)
    first, last = dtype.type(start), dtype.type(end)
    step = (last - first) / dtype.type(max(steps - 1, 1))
    wide = {2: dtype, 4: np.dtype(np.float64)}.get(
        dtype.itemsize, np.dtype(np.longdouble)
    )  # products and sums rounded once
    index = np.arange(steps, dtype=wide)
    with np.errstate(all="ignore"):
        up, down = first + step * index, last - step * index[::-1]
        return np.where(index < max(steps // 2, steps == 1), up, down).astype(dtype)
