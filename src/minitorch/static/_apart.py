"""Which memory the results of a graph may share, as its vertices say, so that only what may be shared is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._identity import owner
from .._op import Row
from ._control import LoopBack, LoopRun
from ._functions import Eager, Several
from ._nodes import Leaf, Node

UNRECORDED = frozenset({"detach", "unsafe_view", "unsafe_split", "unsafe_split_with_sizes"})
"""Rows that show their operand's memory and are no views for the engine."""


class Memory(NamedTuple):
    """What a node's memory may be.

    Attributes
    ----------
    leaves : set of Node
        That of these, which come from outside.
    made : set of Vertex
        What these made.
    unknown : bool
        Something else, which others may keep: what a function of people's own gives, a constant in a loop.
    """

    leaves: set[Any]
    made: set[Any]
    unknown: bool


def memory_of(node: Any) -> Memory:
    """What a node's memory may be: a row that is no view makes its own, all else may pass on that of its operands.

    Examples
    --------
    >>> from minitorch import static
    >>> x = static.placeholder("x")
    >>> memory_of(x.T).leaves, memory_of(x + 1).leaves
    ({<Placeholder x>}, set())
    """
    found = Memory(set(), set(), False)
    todo, seen = [node], set()
    while todo:
        vertex = todo.pop()
        if vertex in seen:
            continue
        seen.add(vertex)
        op = vertex.op
        if op is None:
            (found.leaves if isinstance(vertex, Leaf) else found.made).add(vertex)
            continue
        found.made.add(vertex)
        if isinstance(op, Row) and not op.view and op.name not in UNRECORDED:
            continue
        used = [v for v in vertex.inputs if isinstance(v, (Node, Several))]
        numbers = isinstance(op, Row) and not used  # a view of a number, which is kept
        if (
            numbers
            or (isinstance(op, Eager) and op.keeps)
            or any([memory_of(v).unknown or memory_of(v).leaves for v in _inner(op)])
        ):
            found = found._replace(unknown=True)
        todo += used
    return found


def _inner(op: Any) -> list[Any]:
    """What the rounds of a loop give."""
    if isinstance(op, LoopRun):
        return op.loop.body.outputs
    return op.way_back.outputs if isinstance(op, LoopBack) else []


class Apart:
    """Gives each result of a graph memory of its own.

    Parameters
    ----------
    outputs : list of Vertex
    slots : mapping of Vertex to int

    Attributes
    ----------
    asked : list of (int, bool)
        The results that may share memory with something, and whether they are copied in any case.
    leaves : list of int
        The registers of what they may share it with, besides each other.
    """

    def __init__(self, outputs: list[Any], slots: Mapping[Any, int]) -> None:
        memories = [
            memory_of(output) if isinstance(output, Node) else Memory(set(), set(), False) for output in outputs
        ]
        self.asked: list[tuple[int, bool]] = []
        times: dict[Any, int] = {}
        for vertex in [vertex for memory in memories for vertex in memory.made]:
            times[vertex] = times.get(vertex, 0) + 1
        for number, memory in enumerate(memories):
            if memory.leaves or memory.unknown or any([times[vertex] > 1 for vertex in memory.made]):
                self.asked.append((number, memory.unknown))
        leaves = dict.fromkeys([leaf for memory in memories for leaf in memory.leaves])
        self.leaves = [slots[leaf] for leaf in leaves if leaf in slots]

    def __call__(self, results: list[Any], outside: list[np.ndarray]) -> None:
        """Put copies in the places of results that share memory with what came from *outside*, or with another one."""
        known = {id(owner(array)) for array in outside}
        for number, copied in self.asked:
            result = results[number]
            if isinstance(result, np.ndarray):
                memory = id(owner(result))
                if copied or memory in known:
                    results[number] = result.copy()
                else:
                    known.add(memory)
