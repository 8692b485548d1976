"""Where what a function reads stands, and what it was."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np


class Found:
    """What is compared before each run of a program.

    Attributes
    ----------
    cells, named, slots : list of tuple
        Variables of closures, values by name in a namespace, and attributes of objects: where each stands, and what it was.
    contents : list of (container, tuple, list or None)
        Containers, the items that they had, and the keys of dicts that are no object's attributes.
    tensors : list of Tensor
        Those that are reached by name, but for what optimizers keep.
    arrays : list of (ndarray, tuple)
        NumPy arrays, and what they were: see ``array_state``.
    asked : list of (callable, object)
        Functions without arguments, and what they told.
    absent : dict of int to (namespace, set of str)
        By ``id``, namespaces with names that are not in them.
    stand : list of tuple
        Modules and classes of libraries with a name, what stands under it, and how that was reached.
    empty : list of dict
        Attributes of functions that have none.
    kinds, bases, spaces : list of tuple
        Objects with their classes, classes with what they are derived from, objects with the dicts of their attributes.
    caches : list of (function, int, list)
        Functions with a cache, how often they had computed something, and what it held.
    memory : dict of int to ndarray
        By ``id``, the arrays that own the memory of the tensors that are reached.
    refused : str
        Why no program can stand for such a function; empty where one can.
    refused_once : str
        Why what it does cannot even be told from one call; empty where only later calls may find something else.
    """

    def __init__(self) -> None:
        self.memory: dict[int, np.ndarray] = {}
        self.refused = self.refused_once = ""
        self.cells: list[tuple[types.CellType, Any]] = []
        self.named: list[tuple[Any, str, Any]] = []
        self.slots: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Any, tuple[Any, ...], list[Any] | None]] = []
        self.arrays: list[tuple[np.ndarray, tuple[Any, ...]]] = []
        self.asked: list[tuple[Callable[[], Any], Any]] = []
        self.absent: dict[int, tuple[Any, set[Any]]] = {}
        self.stand: list[tuple[Any, str, Any, str]] = []
        self.empty: list[dict[str, Any]] = []
        self.kinds: list[tuple[Any, type]] = []
        self.bases: list[tuple[type, tuple[type, ...]]] = []
        self.spaces: list[tuple[Any, dict[str, Any]]] = []
        self.caches: list[tuple[Any, int, Sequence[Any]]] = []
        self.tensors: list[Any] = []
        self._paths: dict[Any, str] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}  # by id, the keys of dicts
        self._attributes_in: set[int] = set()  # the ids of those whose keys are names of attributes

    def _refuse(self, reason: str, later: bool = False) -> None:
        self.refused = self.refused or reason
        self.refused_once = self.refused_once or reason * (not later)

    def _stays(self, names: Mapping[str, Any] | None, name: str, path: str) -> None:
        """A value by its name in a namespace, whatever it reads."""
        if names is not None and (id(names), name) not in self._paths:
            self._paths[id(names), name] = path
            self.named.append((names, name, names[name]))

    def _lacks(self, attributes: Any, names: Iterable[str], path: str) -> None:
        """Attributes that an object may come to have."""
        for name in names:
            if name not in attributes:
                self._absent(attributes, name, f"{path}.{name}".lstrip("."))

    def _absent(self, names: Any, name: Any, path: str) -> None:
        """A name, or a key, that there is not."""
        if (id(names), name) not in self._paths:
            self._paths[id(names), name] = path
            self.absent.setdefault(id(names), (names, set()))[1].add(name)
