"""Which array is which: whose memory it shows, and a map from ndarrays, as objects, to values.

A value of the engine is an array object: whatever Tensors wrap the same one are the same value (see
docs/design/11-transforms.md).  So what is known about values, such as their tangents or their place in a trace, is kept by
the identity of the array, which is not held by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory a view shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Entry(ref):  # type: ignore[type-arg]
    """What is known of one array: a weak reference to it, with the value, and the map that it is in with its key."""

    __slots__ = ("home", "key", "value")
    home: dict[int, Entry]
    key: int
    value: Any


def forget(entry: Entry) -> None:
    """Take an entry out of its map: called when its array dies."""
    entry.home.pop(entry.key, None)


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

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        """By the ``id`` of an array; what knows this class may read it, and put in an ``Entry(array, forget)``."""

    def __del__(self) -> None:
        self.entries.clear()  # which the entries refer to

    def get(self, array: np.ndarray, default: Any = None) -> Any:
        """The array's value, or *default*."""
        entry = self.entries.get(id(array))
        return default if entry is None else entry.value

    def __getitem__(self, array: np.ndarray) -> Any:
        return self.entries[id(array)].value

    def __setitem__(self, array: np.ndarray, value: Any) -> None:
        key = id(array)  # the entry is forgotten when the array dies, before another one may get its address
        entry = self.entries.get(key)
        if entry is None:
            self.entries[key] = entry = Entry(array, forget)
            entry.home, entry.key = self.entries, key
        entry.value = value

    def pop(self, array: np.ndarray, default: Any = None) -> Any:
        """Take the array's value out."""
        entry = self.entries.pop(id(array), None)
        return default if entry is None else entry.value

    def clear(self) -> None:
        """Forget all."""
        self.entries.clear()

    def __contains__(self, array: np.ndarray) -> bool:
        return id(array) in self.entries

    def __len__(self) -> int:
        return len(self.entries)

    def items(self) -> Iterator[tuple[np.ndarray, Any]]:
        """The arrays that are there, each with its value."""
        for entry in tuple(self.entries.values()):
            array = entry()
            if array is not None:
                yield array, entry.value
