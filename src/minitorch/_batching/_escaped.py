"""Tensors that have escaped from a map: they are of its first example only, so nothing may be computed with them."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any
from weakref import ref

import numpy as np

from .. import _runtime
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
            tensor._array = tensor._node = tensor._alias = None
            tensor.__class__ = _escaped(type(tensor))


def _refuse(tensor: Any, *value: Any) -> Any:
    raise RuntimeError(ESCAPED)


def _escaped(kind: type) -> type:
    """What becomes of a class of Tensors."""
    if kind not in _classes:
        refused = property(_refuse, _refuse)
        _classes[kind] = type(kind)(
            kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, "_array": refused}
        )
    return _classes[kind]


_classes: dict[type, type] = {}
