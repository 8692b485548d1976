"""Memory that a call writes is as it was before: buffers of modules, and whatever else tensors are seen to be written in."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._identity import owner
from .._modes import Observer, observers
from ._python import modules_of

_keeping: ContextVar[bool] = ContextVar("keeping", default=False)


class Kept(Observer):
    """What the memory of tensors was before it was written."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self._before: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}

    def active(self) -> bool:
        return _keeping.get()

    def overwriting(self, tensor: Any) -> None:
        array = owner(tensor._array)
        if (key := id(array)) not in self._before:
            there = weakref.ref(array, lambda _: self._before.pop(key, None))  # what the call made is gone after it
            self._before[key] = there, array.copy()

    def restore(self) -> None:
        """Give each its values again."""
        for there, before in list(self._before.values()):
            array = there()
            if array is not None and array.tobytes() != before.tobytes():
                array[...] = before


@contextmanager
def memory_kept(function: Any, whole: bool = False) -> Iterator[None]:
    """Have the buffers of a function's modules, and what the block writes in tensors, as it was in the end.

    *whole* lets compiled functions run as a whole in it, of which it sees no writes but those into buffers.
    """
    kept = Kept(whole)
    for module in {id(m): m for _, root in modules_of(function) for m in root.modules()}.values():
        for buffer in [b for b in module._buffers.values() if b is not None]:
            kept.overwriting(buffer)  # also what NumPy may write
    token = _keeping.set(True)
    observers.append(kept)
    try:
        yield
    finally:
        observers.remove(kept)
        _keeping.reset(token)
        kept.restore()
