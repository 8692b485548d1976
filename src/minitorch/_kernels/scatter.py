"""Reading and adding at indices, on ndarrays.

Sums at repeated indices are ``np.add.at`` on a flat array with flat positions, the one form of it that NumPy runs as a
tight loop; pairs of floats are added as one complex number, which halves the positions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

ALL = slice(None)
_PAIRS = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def steps(shape: Sequence[int]) -> list[int]:
    """How far apart, in a flattened array of *shape*, the neighbours along each dimension are."""
    return [prod(shape[dim + 1 :]) for dim in range(len(shape))]


def positions(index: np.ndarray, dim: int, shape: tuple[int, ...]) -> np.ndarray:
    """Where ``gather`` reads in a flattened array of *shape*: ``index`` along *dim*, its own place along the others."""
    if len(shape) < 2:
        return index.astype(np.intp, copy=False)
    step = prod(shape[dim + 1 :])
    scaled = index * step if step != 1 else index
    places = _small_places if index.size <= 4096 else _places
    return scaled + places(index.shape[:dim] + (1,) + index.shape[dim + 1 :], shape)


def _places(sizes: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """The positions, in a flattened array of *shape*, of its corner of these sizes."""
    where = np.zeros(sizes, np.intp)
    for other, (size, step) in enumerate(zip(sizes, steps(shape))):
        if size > 1:
            where += (np.arange(size) * step).reshape((size,) + (1,) * (len(sizes) - other - 1))
    return where


_small_places = functools.lru_cache(64)(_places)


def add_along(out: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    """Add the source's slices along *dim* to those of the contiguous *out* that a vector of indices names."""
    if not source.size:
        return out
    shape = out.shape or (1,)
    before, size, after = prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
    flat: Any = out.reshape(-1)
    values: Any = source.astype(out.dtype, copy=False).ravel()
    pair = _PAIRS.get(out.dtype)
    if pair is not None and after and after % 2 == 0:
        flat, values, after = flat.view(pair), values.view(pair), after // 2
    where = index.astype(np.intp, copy=False)
    if after != 1:
        where = (where * after)[:, None] + np.arange(after)
    if before != 1:
        where = np.arange(0, before * size * after, size * after).reshape((before,) + (1,) * where.ndim) + where
    np.add.at(flat, where.reshape(-1), values)
    return out


def joined(indices: Sequence[np.ndarray | None], shape: tuple[int, ...]) -> tuple[list[int], list[np.ndarray]]:
    """Integer indices for NumPy's rule: the dimensions they index and, broadcast together, one array for each.

    A mask stands for the positions where it is true; negative indices are counted from the end.
    """
    dims: list[int] = []
    arrays: list[np.ndarray] = []
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
            continue
        for array in index.nonzero() if index.dtype == bool else (index,):
            dims.append(dim)
            arrays.append(np.where(array < 0, array + shape[dim], array))
            dim += 1
    return dims, list(np.broadcast_arrays(*arrays))


def add_at(out: np.ndarray, indices: Sequence[np.ndarray | None], values: np.ndarray) -> np.ndarray:
    """``out[indices] += values`` where repeated indices add up; *out* is contiguous, *values* has the indexed shape."""
    shape = out.shape
    if not values.size:
        return out
    dims, arrays = joined(indices, shape)
    sizes = [shape[dim] for dim in dims]
    index = np.zeros(arrays[0].shape, np.intp)
    for array, step in zip(arrays, steps(sizes)):
        index += array * step
    first, last = dims[0], dims[-1] + 1
    if last - first == len(dims):  # NumPy leaves what adjacent indices give where they are
        add_along(out.reshape((*shape[:first], prod(sizes), *shape[last:])), index.reshape(-1), values, first)
        return out
    order = dims + [dim for dim in range(out.ndim) if dim not in dims]
    moved = np.ascontiguousarray(out.transpose(order))
    rest = moved.shape[len(dims) :]
    add_along(moved.reshape((prod(sizes), *rest)), index.reshape(-1), values, 0)
    np.copyto(out.transpose(order), moved)
    return out


_IDENTITY = {"sum": 0, "mean": 0, "prod": 1}
_UFUNC: dict[str, Any] = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What leaves every value of *dtype* as it is under a reduction."""
    if reduce in _IDENTITY:
        return _IDENTITY[reduce]
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def scatter_reduce(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int, reduce: str, include_self: bool
) -> np.ndarray:
    """Combine ``src`` into a copy of ``self`` at the places that ``index`` names along *dim*; "mean" gives the sum."""
    out = np.array(self, order="C")
    where = positions(index, dim, self.shape).reshape(-1)
    flat = out.reshape(-1)
    if not include_self:
        flat[where] = identity(reduce, out.dtype)
    _UFUNC[reduce].at(flat, where, src.astype(out.dtype, copy=False).ravel())
    return out
