"""A map from ndarrays, as objects, to values.

A value of the engine is an array object: whatever Tensors wrap the same one are the same value (see
docs/design/11-transforms.md).  So what is known about values, such as their tangents or their place in a trace, is kept by
the identity of the array, which is not held by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np


class _Entry(ref):  # type: ignore[type-arg]
    """A weak reference to a key, with the value and the key's identity."""

    __slots__ = ("key", "value")
    key: int
    value: Any


class ByArray:
    """A mapping whose keys are ndarrays, compared by identity; an entry goes when its array does.

    Examples
    --------
    >>> import numpy as np
    >>> from minitorch._identity import ByArray
    >>> a, names = np.ones(2), ByArray()
    >>> names[a] = "a"
    >>> names.get(a), names.get(a.view()), len(names)
    ('a', None, 1)
    >>> del a
    >>> len(names)
    0
    """

    __slots__ = ("_entries", "_forget")

    def __init__(self) -> None:
        entries: dict[int, _Entry] = {}

        def forget(entry: Any) -> None:
            key: int = entry.key
            if entries.get(key) is entry:
                del entries[key]

        self._entries, self._forget = entries, forget

    def get(self, array: np.ndarray, default: Any = None) -> Any:
        """The array's value, or *default*."""
        entry = self._entries.get(id(array))  # never another array's: an entry goes before its array's address is free
        return default if entry is None else entry.value

    def __getitem__(self, array: np.ndarray) -> Any:
        return self._entries[id(array)].value

    def __setitem__(self, array: np.ndarray, value: Any) -> None:
        key = id(array)
        entry: Any = _Entry(array, self._forget)
        entry.key, entry.value = key, value
        self._entries[key] = entry

    def pop(self, array: np.ndarray, default: Any = None) -> Any:
        """Take the array's value out."""
        entry = self._entries.pop(id(array), None)
        return default if entry is None else entry.value

    def __contains__(self, array: np.ndarray) -> bool:
        return id(array) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[np.ndarray, Any]]:
        """The arrays that are there, each with its value."""
        for entry in tuple(self._entries.values()):
            array = entry()
            if array is not None:
                yield array, entry.value
