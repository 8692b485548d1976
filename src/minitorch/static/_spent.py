"""Results through whose history a step's own backward pass has gone: they require grad, as in eager code."""

from __future__ import annotations

import functools
from typing import Any

from .._layouts import intern_layout
from .._reach import reachable
from .._stories import raise_freed
from .._tape import AccumulateGrad, Node, Output, next_position


class Spent(Node):
    """In the place of a node that has freed what it saved, by the same name; its edges lead to the leaves of its graph."""

    __slots__ = ()

    def backward(self, gradient: Any, F: Any, edges: tuple[Any, ...], retain: bool) -> Any:
        raise_freed(self)


@functools.cache
def _named(name: str) -> type[Spent]:
    return type(name, (Spent,), {"__slots__": ()})


def spent(tensor: Any) -> Any:
    """What stands for the history of a result in later calls; None where it has none, and where it is a leaf that the call
    made, ``AccumulateGrad``, of which each gets its own."""
    node = tensor._node
    if node is None or node.__class__ is AccumulateGrad:
        return None if node is None else AccumulateGrad
    public = node.edges[0] if node.__class__ is Output else node
    made = _named(type(public).__name__)()
    made.position, made.expects, made.extras, made.layout = next_position(), None, None, intern_layout(tensor._array)
    made.edges = tuple([leaf for leaf in reachable([node]) if leaf.__class__ is AccumulateGrad])
    return made


def give(tensor: Any, history: Any) -> None:
    """Let a result that was made require grad."""
    tensor._node = AccumulateGrad(tensor) if history is AccumulateGrad else history
