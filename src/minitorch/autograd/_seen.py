"""What a block of a tape does to memory: what calls' tensors were when they were recorded, and what is written."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._identity import owner
from .._views import edits_of, root_of


class Seen(NamedTuple):
    """The tensors of a call as they were: they may get other arrays and nodes later.

    Attributes
    ----------
    arrays : dict of int to ndarray
        Their arrays, by the tensors' ids.
    root, root_node : Tensor, Node
        Of a tensor that was written, the one whose memory it shows, and its node.
    drawn : ndarray or None
        A copy of what was written, where that was drawn at random.
    """

    arrays: dict[int, np.ndarray]
    root: Any = None
    root_node: Any = None
    drawn: Any = None


def seen_in(call: Any) -> Seen:
    """The tensors of a call that was just made."""
    arrays = {id(t): t._array for t in (*call.inputs, *call.outputs) if hasattr(t, "_array")}
    if not call.in_place:
        return Seen(arrays)
    (tensor,) = call.outputs
    root = root_of(tensor)
    return Seen(arrays, root, root._node, tensor._array.copy() if draws(call.row) else None)


def draws(row: Any) -> bool:
    """Whether the results are drawn at random."""
    return "generator" in getattr(row, "params", ()) or bool(getattr(row, "draws", False))


class Memory:
    """Who wrote the memory that a block uses.

    Every write is told before it is done, by ``edited``. Most are calls that are recorded next; others (by NumPy, into a
    storage, gradients that are added up) are found by what they have left.

    Attributes
    ----------
    events : list of tuple
        What is to be read besides calls: ``(number of the call before which, method of a reading, *arguments)``.
    seen : list of Seen
        Of each call.
    """

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.seen: list[Seen] = []
        self._known: dict[int, np.ndarray] = {}  # by owners: made by a call, or kept as it was
        self._nodes: set[Any] = set()
        self._begun: list[tuple[Any, np.ndarray, int]] = []

    def recorded(self, call: Any) -> None:
        """A call was made, which may be that whose write was told."""
        changes = call.in_place or getattr(call.row, "replaces", False) or not hasattr(call.row, "name")
        written = [owner(t._array) for t in (*call.inputs, *call.outputs) if hasattr(t, "_array")] if changes else []
        self._begun = [begun for begun in self._begun if not any([begun[1] is memory for memory in written])]
        self.settle()
        self.seen.append(seen_in(call))
        self._nodes.update([t._node for t in call.outputs if t._node is not None])
        if not call.in_place and not draws(call.row):
            given = [owner(t._array) for t in call.inputs if hasattr(t, "_array")]
            for out in call.outputs:
                memory = owner(out._array)
                if not any([memory is g for g in given]):
                    self._known[id(memory)] = memory

    def editing(self, tensor: Any) -> None:
        """A tensor is about to be written."""
        self.settle()
        root, memory = root_of(tensor), owner(tensor._array)
        if id(memory) not in self._known and memory.size:
            self._known[id(memory)] = memory
            whole, before = memory, _runtime.wrap(memory.copy())
            if root._array.nbytes == memory.nbytes and owner(root._array) is memory:
                own = root._node in self._nodes  # it has got this memory by ``.data = ...``
                whole, before = root._array, _runtime.wrap(root._array.copy(), None if own else root._node)
                before.name = root.__dict__.get("name")
            self.events.append((0, "was", whole, before))
        self._begun.append((edits_of(tensor), memory, edits_of(tensor).count))

    def derived(self, gradient: Any) -> None:
        """A gradient was computed by what is not shown."""
        array = gradient._array
        if id(owner(array)) not in self._known:
            self._known[id(owner(array))] = owner(array)
            self.events.append((len(self.seen), "derived", array, array.copy()))

    def settle(self) -> None:
        """Keep what was written by what is no call."""
        for edits, memory, count in self._begun:
            if edits.count > count:  # otherwise it failed
                self.events.append((len(self.seen), "changed", memory, memory.copy()))
        self._begun = []
