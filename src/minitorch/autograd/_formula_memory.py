"""Which memory arrays show, and how one is taken of another: by the views that were recorded, else by their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._identity import owner
from .._op import rows
from .._views import path_to
from ..ops.memory import strides_of

Step = tuple[Any, tuple[Any, ...], int | None]
NEVER = -1


class Region:
    """Memory, of which all arrays that show it are taken.

    Attributes
    ----------
    home : ndarray
        An array that shows all of it.
    value : Expression
        How that reads; None where that is not known.
    written : int
        When it was last written.
    """

    __slots__ = ("home", "value", "written")

    def __init__(self, home: np.ndarray, value: Any) -> None:
        self.home, self.value, self.written = home, value, NEVER


class Regions:
    """The regions of all memory that a computation uses, and the views that it took."""

    def __init__(self) -> None:
        self._of: dict[int, list[Region]] = {}
        self._views: dict[int, tuple[np.ndarray, Step]] = {}

    def find(self, array: np.ndarray) -> Region | None:
        """The region that an array shows a part of."""
        found = self._of.get(id(owner(array))) if array.size else None
        return next((r for r in found if covers(r.home, array)), None) if found else None

    def add(self, array: np.ndarray, value: Any) -> Region:
        """A region that an array shows, with those that it covers."""
        region, known = Region(array, value), self._of.setdefault(id(owner(array)), [])
        known[:] = [*[r for r in known if r.written != NEVER or not covers(array, r.home)], region]
        return region

    def beside(self, array: np.ndarray, region: Region) -> list[Region]:
        """Other regions that have some of an array's memory."""
        found = self._of[id(owner(array))]
        return [r for r in found if r is not region and np.may_share_memory(r.home, array)]

    def viewed(self, array: np.ndarray, parent: np.ndarray, *step: Any) -> None:
        """An array was taken of another one by a row, with its parameters and the number of its output."""
        if array is not parent and owner(array) is owner(parent):
            self._views.setdefault(id(array), (parent, step))

    def steps(self, region: Region, array: np.ndarray, tensor: Any) -> list[Step] | None:
        """The views by which an array is taken of a region's home; None where there are none."""
        steps: list[Step] = []
        end = place_of(region.home)
        shown = array
        while place_of(shown) != end and (known := self._views.get(id(shown))) is not None:
            shown, step = known
            steps.append(step)
        if place_of(shown) == end:
            return steps[::-1]
        if tensor is not None and tensor._array is array:
            root, others = path_to(tensor)
            if place_of(root._array) == end and place_of(by_steps(root._array, others)) == place_of(array):
                return others
        return strided(region.home, array)


def by_steps(array: np.ndarray, steps: Sequence[Step]) -> np.ndarray:
    for row, params, index in steps:
        made = row.apply(array, *params)
        array = made if index is None else made[index]
    return array


def strided(home: np.ndarray, array: np.ndarray) -> list[Step] | None:
    """The steps that go by places in memory; None where elements of one have no place, or two, in the other."""
    if array.dtype != home.dtype or not home.size or any([step < 0 for step in array.strides]):
        return None
    order = slowest_first(home)
    shape = tuple([home.shape[d] for d in order])
    if not home.transpose(order).flags.c_contiguous:
        return None
    away = begin(array) - begin(home)
    if away % home.itemsize:
        return None
    origin = shape, tuple([math.prod(shape[d + 1 :]) for d in range(len(shape))]), 0
    step: Step = rows["as_strided"], (array.shape, strides_of(array), away // home.itemsize, origin), None
    return [step] if order == list(range(len(order))) else [(rows["permute"], (tuple(order),), None), step]


def slowest_first(array: np.ndarray) -> list[int]:
    """The dimensions, from that with the largest stride."""
    return sorted(range(array.ndim), key=lambda d: (-array.strides[d], d))


def covers(home: np.ndarray, array: np.ndarray) -> bool:
    """Whether an array lies between the first and the last byte of another one."""
    (low, high), (first, last) = np.lib.array_utils.byte_bounds(home), np.lib.array_utils.byte_bounds(array)
    return low <= first and last <= high


def begin(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def place_of(array: np.ndarray) -> Any:
    """Where an array's elements lie: two arrays with one place are one value."""
    return begin(array) if array.size else id(array), array.shape, array.strides, array.dtype
