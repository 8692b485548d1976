"""Tensors that have escaped from a map: they are of its first example only, so nothing may be computed with them.

Their shape and dtype are those of an example, and may be looked at; their text says what they are.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable
from typing import Any
from weakref import ref

import numpy as np

from .. import _runtime
from .._dtypes import of_numpy
from .._layouts import layout_of
from .._size import Size
from ._refusals import ESCAPED


def forbid(references: Iterable[ref[np.ndarray]]) -> None:
    """Make every use of the Tensors around these arrays raise, of those that are still alive.

    Few are, if any: so the search for them, through all objects there are, is rare.
    """
    arrays = [array for reference in references if (array := reference()) is not None]
    if not arrays:
        return
    keys = {id(array) for array in arrays}
    for tensor in gc.get_referrers(*arrays):
        if isinstance(tensor, _runtime.Tensor) and id(tensor._array) in keys:
            tensor._layout = layout_of(tensor)
            tensor._array = tensor._node = tensor._alias = None
            tensor.__class__ = _escaped(type(tensor))


def _refuse(tensor: Any, *value: Any) -> Any:
    raise RuntimeError(ESCAPED)


def _escaped(kind: type) -> type:
    """What becomes of a class of Tensors."""
    if kind not in _classes:
        body = {"__slots__": (), "__module__": kind.__module__, "_array": property(_refuse, _refuse)}
        _classes[kind] = type(kind)(kind.__name__, (kind,), body | _LOOKS)
    return _classes[kind]


# -- what may be looked at ---------------------------------------------------------------------------------------------
def _shape(tensor: Any) -> Size:
    return Size(tensor._layout[0])


def _dtype(tensor: Any) -> Any:
    return of_numpy(tensor._layout[1])


def _size(tensor: Any, dim: int | None = None) -> Any:
    return _shape(tensor) if dim is None else _shape(tensor)[dim]


def _dim(tensor: Any) -> int:
    return len(tensor._layout[0])


def _numel(tensor: Any) -> int:
    return math.prod(tensor._layout[0])


def _len(tensor: Any) -> int:
    if not tensor._layout[0]:
        raise TypeError("len() of a 0-d tensor")
    return int(tensor._layout[0][0])


def _text(tensor: Any, spec: str = "") -> str:
    shape, dtype = tuple(tensor._layout[0]), _dtype(tensor)
    return f"tensor(..., shape={shape}, dtype={dtype}, of an example of a vmap that has ended: return it, to have all)"


_LOOKS: dict[str, Any] = {
    "shape": property(_shape),
    "dtype": property(_dtype),
    "ndim": property(_dim),
    "size": _size,
    "dim": _dim,
    "ndimension": _dim,
    "numel": _numel,
    "nelement": _numel,
    "is_floating_point": lambda tensor: tensor._layout[1].kind == "f",
    "__len__": _len,
    "__repr__": _text,
    "__str__": _text,
    "__format__": _text,
}


_classes: dict[type, type] = {}
