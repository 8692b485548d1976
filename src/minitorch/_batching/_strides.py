"""Rules of rows that take tensors by their places in memory: examples stand one after the other there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.memory import Geometry, extent, places, strides_of
from ._batch import Batch


def as_strided(batch: Batch) -> Any:
    """A view of the batch's memory, where its examples lie there as one alone does and apart; of a copy otherwise."""
    (tensor,), part = batch.tensors, part_of(batch)
    array, origin = tensor._array, batch.params["origin"]
    steps = strides_of(array)
    step = steps[0] if steps[1:] == tuple(origin[1]) and apart(array) else extent(origin, part)
    return of_geometries(batch, step, part)


def as_strided_scatter(batch: Batch) -> Any:
    part = part_of(batch)
    batch.tensors = batch.wholes()
    return of_geometries(batch, extent(batch.params["origin"], part), part)


def restride(batch: Batch) -> Any:
    geometries = batch.params
    step = extent(*geometries.values())
    return batch.again(batch.tensors, **{name: further(g, batch.size, step) for name, g in geometries.items()})


def of_geometries(batch: Batch, step: int, part: Geometry) -> Any:
    size, stride, offset = further(part, batch.size, step)
    origin = further(batch.params["origin"], batch.size, step)
    return batch.again(batch.tensors, size=size, stride=stride, offset=offset, origin=origin)


def part_of(batch: Batch) -> Geometry:
    """What is shown of one example's memory."""
    return batch.params["size"], batch.params["stride"], batch.params["offset"]


def further(geometry: Geometry, count: int, step: int) -> Geometry:
    """The same places for each of many examples, so far apart."""
    size, stride, offset = geometry
    return (count, *size), (step, *stride), offset


def apart(array: np.ndarray) -> bool:
    """Whether no two elements have one place."""
    if array.flags.c_contiguous or not array.size:
        return True
    found = places((array.shape, strides_of(array), 0)).ravel()
    return np.unique(found).size == math.prod(array.shape)
