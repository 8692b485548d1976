"""The order of a graph's vertices, and under which conditions each is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from ._functions import ITEM, REST
from ._instructions import Function
from ._text import in_cycle
from ._vertices import Vertex

Guard: TypeAlias = tuple[tuple[Any, bool], ...]
"""The conditions, outermost first, under which a vertex is needed: each must be true, or false, as said."""

COND = Function(
    "cond", lambda condition, then, otherwise: then if condition else otherwise, lacks=lambda absent: any(absent[1:])
)
"""The value of one of two branches; only that one is computed."""


def topological_order(
    outputs: Vertex | Iterable[Vertex], uses: Callable[[Any], Iterable[Any]] = Vertex.uses
) -> list[Any]:
    """The vertices that *outputs* need, each after what it takes.

    Parameters
    ----------
    outputs : Node or sequence of Node
    uses : callable, optional
        What must come before a vertex; default: what it takes.

    Returns
    -------
    list

    Raises
    ------
    TypeError
        For what is no node.
    RuntimeError
        If the graph has a cycle, which only assigning to a node's inputs can make.

    Examples
    --------
    >>> from minitorch import static
    >>> x = static.placeholder("x")
    >>> y = x + 1
    >>> static.topological_order(y * x)
    [<Placeholder x>, <Node (x+1)>, <Node ((x+1)*x)>]
    """
    done: dict[Vertex, bool] = {}  # False while what it takes is being listed
    order: list[Any] = []
    for output in vertices(outputs, "topological_order"):
        if output in done:
            continue
        done[output] = False
        stack = [(output, iter(uses(output)))]
        while stack:
            vertex, rest = stack[-1]
            for used in rest:
                if used not in done:
                    done[used] = False
                    stack.append((used, iter(uses(used))))
                    break
                if not done[used]:
                    raise RuntimeError(
                        f"the graph has a cycle: {in_cycle(used)} depends on itself; a node's inputs were assigned to. "
                        "Make new nodes instead (a loop is static.while_loop)"
                    )
            else:
                stack.pop()
                done[vertex] = True
                order.append(vertex)
    return order


def vertices(given: Any, where: str) -> list[Any]:
    """A node or several as a list, checked."""
    several = isinstance(given, Iterable) and not isinstance(given, (Vertex, str, Mapping))
    found = list(given) if several else [given]
    for node in found:
        if not isinstance(node, Vertex):
            remedy = "; gradients(..., allow_unused=True) gives None where nothing leads to: leave it out" * (
                node is None
            )
            raise TypeError(
                f"{where}(): outputs must be a node or a list of nodes, not {type(node).__name__}"
                + f" in a {type(given).__name__}" * (several and not hasattr(given, "_array"))
                + remedy
            )
    return found


def guards(order: list[Any], outputs: Iterable[Any], inside: Collection[Any] = ()) -> Mapping[Any, Guard]:
    """Under which conditions each vertex is needed: what both branches or something else needs, is needed always."""
    known: dict[Any, Guard] = dict.fromkeys(outputs, ())
    if not any([vertex.op is COND for vertex in order]):
        return dict.fromkeys(order, ())

    def need(vertex: Any, path: Guard) -> None:
        if vertex not in known:
            known[vertex] = path
            return
        before = known[vertex]
        common = 0
        for (one, wanted), (other, also) in zip(before, path):
            if one is not other or wanted is not also:
                break
            common += 1
        known[vertex] = path[:common]

    for vertex in reversed(order):
        path = known[vertex]
        if vertex in inside:
            continue
        if vertex.op is COND:
            condition, then, otherwise = vertex.inputs
            need(condition, path)
            need(then, (*path, (condition, True)))
            need(otherwise, (*path, (condition, False)))
        else:
            for used in vertex.uses():
                need(used, path)
    for vertex in order:
        if vertex.op in (ITEM, REST) and vertex not in inside:
            known[vertex] = known[vertex.inputs[0]]
    return known


def ends_at(inside: Collection[Any]) -> Callable[[Any], Iterable[Any]]:
    """What a vertex takes, in a graph that ends at some vertices, which are given from outside."""
    return (lambda vertex: () if vertex in inside else vertex.uses()) if inside else Vertex.uses


def guarded_order(outputs: list[Any], inside: Collection[Any] = ()) -> tuple[list[Any], Mapping[Any, Guard]]:
    """The order in which vertices are computed, conditions before what is needed under them, and the guards."""
    uses = ends_at(inside)
    order = topological_order(outputs, uses)
    known = guards(order, outputs, inside)
    if any(known.values()):
        order = topological_order(outputs, lambda v: [*(condition for condition, _ in known[v]), *uses(v)])
    return order, known
