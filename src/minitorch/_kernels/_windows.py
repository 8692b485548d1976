"""What convolution and pooling share: padding, and where the cells of sliding windows lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray
Sizes: TypeAlias = tuple[int, ...]
Pads: TypeAlias = Sequence[tuple[int, int]]
Index: TypeAlias = tuple[EllipsisType | slice, ...]


def pad(array: Array, pads: Pads, fill: float = 0) -> Array:
    """Surround the trailing axes with `fill`; a negative amount crops. With nothing to do, the array itself.

    Parameters
    ----------
    array : ndarray
        Its leading axes, beyond the last ``len(pads)``, stay as they are.
    pads : sequence of (before, after)
        One pair for each trailing axis.
    fill : number
        The value of the new cells.
    """
    if not any(before or after for before, after in pads):
        return array
    lead = array.ndim - len(pads)
    shape = list(array.shape)
    source: list[slice] = []
    target: list[slice] = []
    for axis, (before, after) in enumerate(pads, lead):
        start, stop = max(0, -before), array.shape[axis] + min(0, after)
        kept = max(0, stop - start)
        source.append(slice(start, start + kept))
        target.append(slice(max(0, before), max(0, before) + kept))
        shape[axis] = max(0, shape[axis] + before + after)
    result = np.zeros(shape, array.dtype)
    if fill:
        result.fill(fill)
    result[trailing(target)] = array[trailing(source)]
    return result


def cell_slice(cell: int, stride: int, dilation: int, out: int) -> slice:
    """Where, along one axis, the cell number `cell` of each of `out` windows lies."""
    start = cell * dilation
    return slice(start, start + (out - 1) * stride + 1, stride)


def trailing(places: Iterable[slice]) -> Index:
    """The index that applies `places` to an array's last axes."""
    return (..., *places)
