"""Nodes at indices that are nodes."""

from __future__ import annotations

from typing import Any

from .._runtime import Tensor
from ..ops.choices import where
from ._vertices import Vertex

_ENDS = ("start", "stop", "step")


def parts_of(index: Any) -> Any:
    """The parts of an index that has nodes among them or as ends of slices, with slices as dicts, in which they are found;
    a node alone as it is; None for another index."""
    if isinstance(index, Vertex):
        return index
    parts = [
        _ends(part) if isinstance(part, slice) else part for part in (index if isinstance(index, tuple) else (index,))
    ]
    items = [item for part in parts for item in (part.values() if isinstance(part, dict) else [part])]
    return parts if any([isinstance(item, Vertex) for item in items]) else None


def _ends(part: slice) -> dict[str, Any]:
    return dict(zip(_ENDS, (part.start, part.stop, part.step)))


def getitem(tensor: Tensor, parts: Any) -> Tensor:
    """A tensor at an index of these parts.

    An integer that is a tensor stays one: what is selected by it depends on no value that becomes Python's.
    """
    parts = parts if isinstance(parts, list) else [parts]
    index = [slice(*part.values()) if isinstance(part, dict) else part for part in parts]
    if not all([part is None or isinstance(part, (int, slice)) or _is_integer(part) for part in index]):
        return tensor[tuple(index)]
    whole: list[Any] = []
    chosen: list[tuple[int, Any]] = []
    dim = 0
    for part in index:
        if _is_integer(part):
            chosen.append((dim, part))
        whole.append(slice(None) if _is_integer(part) else part)
        dim += not isinstance(part, int)
    out = tensor[tuple(whole)] if len(chosen) < len(index) else tensor
    for dim, place in reversed(chosen):
        from_start = where(place < 0, place + out.shape[dim], place)
        out = out.index_select(dim, from_start.reshape(1)).squeeze(dim)
    return out


def _is_integer(part: Any) -> bool:
    if not isinstance(part, Tensor):
        return False
    array = part._array
    return array.ndim == 0 and array.dtype.kind == "i" and array.dtype.itemsize >= 4
