"""Values chosen along a dimension by index: what ``max(dim)``, ``sort``, ``topk`` and their like have in common.

The choice is made first and is a constant; taking the values is linear, and its adjoint puts gradients back in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .._choices import choice
from .._modes import observers
from .._op import op
from .._runtime import deliver, severed, wrap


@lru_cache(maxsize=256)
def _grid(shape: tuple[int, ...], dim: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The numbers along each dimension before *dim* and after it, shaped to broadcast with an index of this shape."""
    grid = np.ogrid[tuple([slice(size) for size in shape])]
    return tuple(grid[:dim]), tuple(grid[dim + 1 :])


def places(index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """What indexes an array by *index* along a dimension: ``array[places(index, dim)]``, as ``np.take_along_axis``."""
    before, after = _grid(index.shape, dim)
    return (*before, index, *after)


def _take(self: np.ndarray, *, dim: int, index: np.ndarray, keepdim: bool = True) -> np.ndarray:
    if self.ndim == 0:
        return self.copy()
    out = self[places(index, dim)]
    return out if keepdim else out.squeeze(dim)


def _put(self: np.ndarray, *, shape: tuple[int, ...], dim: int, index: np.ndarray, keepdim: bool = True) -> np.ndarray:
    if not shape:
        return self.copy()
    out = np.zeros(shape, self.dtype)
    out[places(index, dim)] = self if keepdim else np.expand_dims(self, dim)
    return out


def _add(self: np.ndarray, *, shape: tuple[int, ...], dim: int, index: np.ndarray) -> np.ndarray:
    if not self.size:
        return np.zeros(shape, self.dtype)
    if not shape:
        return self.copy()
    lines = np.moveaxis(index, dim, -1)
    size = shape[dim]
    first = np.arange(0, math.prod(shape), size).reshape((*lines.shape[:-1], 1))
    added = np.bincount((lines + first).ravel(), np.moveaxis(self, dim, -1).ravel(), math.prod(shape))
    return np.ascontiguousarray(np.moveaxis(added.reshape((*lines.shape[:-1], size)), -1, dim), self.dtype)


def _put_formula(F: Any, g: Any, self_shape: tuple[int, ...], dim: int, index: np.ndarray, keepdim: bool) -> Any:
    return F.put_along(g, shape=self_shape, dim=dim, index=index, keepdim=keepdim)


def _add_formula(F: Any, g: Any, self_shape: tuple[int, ...], dim: int, index: np.ndarray) -> Any:
    return F.add_along(g, shape=self_shape, dim=dim, index=index)


def choosing(name: str, node_name: str, repeats: bool = False, keeps_flag: bool = True) -> Any:
    """A row that takes values by index: each element at most once, unless it may take one *repeatedly*.

    *keeps_flag* says whether PyTorch's node shows a *keepdim*.
    """
    formula = _add_formula if repeats else _put_formula
    hidden = ("index",) if keeps_flag else ("index", "keepdim")
    return op(
        name, node_name, _take, ("self",), tangent="linear", shows={"indices": _indices}, hides=hidden, self=formula
    )


def _indices(node: Any) -> Any:
    """A node's index in the shape of the indices that were returned."""
    index, keepdim = node.saved_index, getattr(node, "saved_keepdim", True)
    return wrap((index if keepdim or not node.saved_self_shape else index.squeeze(node.saved_dim)).copy())


choosing("take_along", "TakeAlongBackward0")
choosing("take_repeatedly", "TakeRepeatedlyBackward0", repeats=True)

op("put_along", "PutAlongBackward0", _put, ("self",), tangent="linear",
   self=lambda F, g, dim, index, keepdim: F.take_along(g, dim=dim, index=index, keepdim=keepdim))  # fmt: skip

op("add_along", "AddAlongBackward0", _add, ("self",), tangent="linear",
   self=lambda F, g, dim, index: F.take_repeatedly(g, dim=dim, index=index))  # fmt: skip


def chosen(row: Any, kind: Callable[..., Any], input: Any, dim: int, index: np.ndarray, keepdim: bool = True) -> Any:
    """The named tuple of the values at *index*, which keeps the dimension, and the indices."""
    values = row(input, dim, index, keepdim)
    squeezed, copied = not keepdim and bool(input._array.ndim), values._node is not None
    if observers and (squeezed or copied):
        index = _returned(wrap(index), dim=dim if squeezed else None, copied=copied)
    else:
        if squeezed:
            index = index.squeeze(dim)
        if copied:  # the node's own index is not for the user to write into
            index = index.copy()
    return kind((values, severed(f"the indices of {kind.__name__}", index, input)))


@choice("indices")
def _returned(self: np.ndarray, *, dim: int | None, copied: bool) -> np.ndarray:
    index = self if dim is None else self.squeeze(dim)
    return index.copy() if copied else index


def deliver_pair(name: str, compute: Callable[[], Any], inputs: tuple[Any, ...], out: Any) -> Any:
    """``out=(values, indices)`` of a function that returns a named tuple."""
    results = compute()
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        came = f"{len(out)} of them" if isinstance(out, (tuple, list)) else type(out).__name__
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(results)} Tensors, not {came}")
    return type(results)([deliver(name, partial(_itself, r), inputs, o) for r, o in zip(results, out)])


def _itself(value: Any) -> Any:
    return value
