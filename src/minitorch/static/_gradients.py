"""Gradients of a graph, as further nodes of it: the rows' own formulas, run on symbols."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from .._op import Row
from ._absent import ABSENT, added, or_zeros
from ._functions import (
    ITEM,
    ONES_LIKE,
    REST,
    SPREAD,
    Several,
    as_node,
    defaults,
    fit,
    later,
    symbolic,
)
from ._instructions import Number
from ._nodes import Node, operand
from ._order import COND, Guard, ends_at, guards, topological_order
from ._vertices import SHAPE, NeedsValues, Symbol, Vertex


def gradients(ys: Any, xs: Any, grad_ys: Any = None, allow_unused: bool = False) -> list[Any]:
    """The gradients of *ys*, added up, with respect to each of *xs*: nodes of the same graph.

    They are made by the formulas of the op table, which also the engine runs.  A formula whose course depends on shapes or
    values that are not known yet becomes one node that runs it when the graph runs.

    Parameters
    ----------
    ys : Node or sequence of Node
        What is differentiated, of any shapes.
    xs : Node or sequence of Node
        With respect to what: placeholders, parameters or any other nodes.
    grad_ys : Node, array, number or sequence of them, optional
        What each of *ys* is weighted with; default: ones, so that elements are added up.
    allow_unused : bool
        Whether the gradient with respect to what *ys* do not depend on is None, instead of an error.

    Returns
    -------
    list of Node
        One for each of *xs*; they can be differentiated again.

    Raises
    ------
    RuntimeError
        If *ys* do not depend on one of *xs*, or only by what has no derivative.

    Examples
    --------
    >>> from minitorch import static
    >>> x1, x2, x3 = [static.placeholder(name) for name in ("x1", "x2", "x3")]
    >>> y = x1 + x2 * x3 * x1
    >>> y
    <Node (x1+((x2*x3)*x1))>
    >>> g1, g2 = static.gradients(y, [x1, x2])
    >>> static.Executor([y, g1, g2]).run({x1: 1.0, x2: 2.0, x3: 3.0})
    [array(7., dtype=float32), array(7., dtype=float32), array(3., dtype=float32)]
    """
    roots, targets = _nodes(ys, "ys"), _nodes(xs, "xs")
    for target in targets:
        dtype = target.layout.dtype
        if dtype is not None and dtype.kind != "f":
            raise RuntimeError(
                f"gradients(): only floats have gradients, and {target} is of {dtype}: declare it, or convert it, as floats"
            )
    weights = list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys] * len(roots)
    if len(weights) != len(roots):
        raise RuntimeError(f"gradients(): got {len(roots)} ys and {len(weights)} grad_ys; give one for each, or None")
    backward = Backward(roots, targets)
    seeds: dict[Any, Node] = {}
    for root, weight in zip(roots, weights):
        start = Node(ONES_LIKE, (root,), layout=root.layout) if weight is None else _weight(weight, root)
        backward.add(seeds, root, start)
    found = backward.run(seeds, ())
    for target in targets:
        if target not in found and not allow_unused:
            raise RuntimeError(
                f"gradients(): nothing that is differentiable leads from {target} to {', '.join(map(str, roots))}; "
                "pass allow_unused=True to get None"
            )
    results = [or_zeros(found[target], target) if target in found else None for target in targets]
    for target, result in zip(targets, results):
        if result is not None and result.of is None and isinstance(target, Node):
            result.of = target
    return results


def _nodes(given: Any, what: str) -> list[Any]:
    nodes = [given] if isinstance(given, Vertex) or not isinstance(given, Iterable) else list(given)
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"gradients(): {what} must be nodes, not {type(node).__name__}")
    if not nodes:
        raise TypeError(f"gradients(): {what} is empty")
    return nodes


def _weight(weight: Any, root: Node) -> Node:
    given = operand(weight, root, "gradients")
    return fit_up(as_node(given, root), root)


def fit_up(weight: Node, root: Node) -> Node:
    """A weight, broadcast to what it weighs."""
    return weight if weight.layout is root.layout else Node(SPREAD, (weight, root), layout=root.layout)


class Backward:
    """One way back through a graph.

    Attributes
    ----------
    order : list of Vertex
    active : set of Vertex
        What depends on the targets in a way that has derivatives.
    guard : dict of Vertex to Guard
        Under which conditions a vertex is needed.
    """

    def __init__(self, roots: list[Any], targets: Iterable[Any], inside: Collection[Any] = ()) -> None:
        self.order = topological_order(roots, ends_at(inside))
        self.targets = set(targets)
        self.active: set[Any] = set(self.targets)
        for vertex in self.order:
            if vertex not in self.active and vertex not in inside and any(self.needed(vertex)):
                self.active.add(vertex)
        self.guard = guards(self.order, roots, inside)
        self.inside = inside
        self.regions: dict[Guard, list[Any]] = {}
        for vertex in reversed(self.order):
            path = self.guard[vertex]
            if vertex in self.active:
                self.regions.setdefault(path, []).append(vertex)

    def needed(self, vertex: Any) -> list[bool]:
        """Which inputs of a vertex lead on to a target."""
        return [good and v in self.active for good, v in zip(differentiable(vertex), vertex.inputs)]

    def add(self, found: dict[Any, Any], vertex: Any, gradient: Any) -> None:
        """Add up what comes to a vertex."""
        found[vertex] = added(found[vertex], gradient, vertex) if vertex in found else gradient

    def run(self, seeds: dict[Any, Any], path: Guard) -> dict[Any, Any]:
        """The gradients of what lies outside the branch *path* (of everything, where that is empty)."""
        found: dict[Any, Any] = dict(seeds)
        parts: dict[Any, dict[int, Any]] = {}
        for vertex in self.regions.get(path, ()):
            g = parts.pop(vertex, None) if isinstance(vertex, Several) else found.get(vertex)
            if g is None or vertex.op is None or vertex in self.inside:
                continue
            if path and vertex not in self.targets:
                found.pop(vertex, None)
            if vertex.op is ITEM and isinstance(vertex.inputs[0], Several):
                parts.setdefault(vertex.inputs[0], {})[vertex.params["index"]] = g
                continue
            for used, gradient in self.contributions(vertex, g, path):
                self.add(found, used, gradient)
        return found

    def contributions(self, vertex: Any, g: Any, path: Guard) -> list[tuple[Any, Any]]:
        """What goes on to the inputs of a vertex."""
        if vertex.op is COND:
            return self.through_branches(vertex, g, path)
        needed = self.needed(vertex)
        if not any(needed):
            return []
        if isinstance(vertex.op, Row):
            own = g
            if g.__class__ is dict:
                own = {n: or_zeros(v, vertex[n], *[w for w in g.values() if w is not v]) for n, v in g.items()}
                own = own if vertex.op.outputs else own[0]
            gradients = row_gradients(vertex, own, needed)
        else:
            gradients = vertex.op.gradient(vertex, g, needed)
        return [(v, gradient) for v, gradient in zip(vertex.inputs, gradients) if gradient is not None]

    def through_branches(self, vertex: Any, g: Any, path: Guard) -> list[tuple[Any, Any]]:
        """A branch's gradients are branches too: only the way back through the one that was taken is computed."""
        condition, *branches = vertex.inputs
        sides = [
            self.run({branch: g}, (*path, (condition, wanted))) if branch in self.active else {}
            for branch, wanted in zip(branches, (True, False))
        ]
        found = []
        for used in dict.fromkeys([*sides[0], *sides[1]]):
            then, otherwise = [
                side[used] if used in side else Node(ABSENT, (used,), layout=used.layout) for side in sides
            ]
            found.append((used, Node(COND, (condition, then, otherwise), layout=used.layout)))
        return found


def differentiable(vertex: Any) -> list[bool]:
    """Which inputs of a vertex gradients go to."""
    op, inputs = vertex.op, vertex.inputs
    if isinstance(op, Row):
        kind = vertex.params.get("dtype")
        if isinstance(kind, np.dtype) and kind.kind != "f":
            return [False] * len(inputs)
        names = op.inputs * len(inputs) if op.variadic else op.inputs
        return [name in op.formulas and isinstance(v, Vertex) for name, v in zip(names, inputs)]
    if op is COND:
        return [False, True, True]
    if op is ITEM:
        number = vertex.params.get("index")
        return [isinstance(v, Several) and number != getattr(v.op, "optional", None) for v in inputs]
    known = op is not None and op is not REST and op.gradient is not None
    return [known and isinstance(v, (Node, Several)) for v in inputs]


def row_gradients(vertex: Any, g: Any, needed: Sequence[bool]) -> list[Any]:
    """The gradients of a row's inputs: by its formulas on symbols, or, where they ask for values, when the graph runs."""
    row: Row = vertex.op
    try:
        found = symbolic_gradients(vertex, g, needed)
    except NeedsValues:
        return later(vertex, g, needed)
    if row.broadcasts:
        found = [None if f is None else fit(f, v) for f, v in zip(found, vertex.inputs)]
    elif row.elementwise:
        for gradient, used in zip(found, vertex.inputs):
            if gradient is not None and gradient is not g and gradient.op is not None and not gradient.layout.dtype:
                gradient.layout = used.layout
    return found


def symbolic_gradients(vertex: Any, g: Any, needed: Sequence[bool]) -> list[Any]:
    """What a row's formulas make of symbols."""
    row: Row = vertex.op
    if row.together:
        raise NeedsValues(f"{row.name} has one formula for all inputs")
    params = defaults(row, vertex.params, row.params)
    like = next((v for v in vertex.inputs if isinstance(v, Node)), None)

    def value(v: Any) -> Any:
        if not isinstance(v, Number):
            return v
        return v.value if row.name in ("add", "sub", "mul", "div") else as_node(v, like)  # type: ignore[arg-type]

    def shape(v: Any) -> Any:
        return () if isinstance(v, Number) else Symbol(SHAPE, v, ndim=v.layout.ndim)

    def read(name: str) -> Any:
        if name in params:
            return params[name]
        if name == "result":
            return (tuple(vertex) if row.outputs else vertex[0]) if isinstance(vertex, Several) else vertex
        if name == "aside":
            return vertex.rest
        if name.startswith("result") and name not in row.inputs:
            return vertex[int(name[6:])]
        if row.variadic:
            return [shape(v) for v in vertex.inputs]
        if name in row.inputs:
            return value(vertex.inputs[row.inputs.index(name)])
        return shape(vertex.inputs[row.inputs.index(name.removesuffix("_shape"))])

    if row.outputs:
        g = [g[n] if n in g else symbolic.zeros_like(vertex[n]) for n in range(len(vertex))]
    if row.variadic:
        name = row.inputs[0]
        found = row.formulas[name](symbolic, g, *[read(r) for r in row.reads[name]])
        return [found[n] if wanted else None for n, wanted in enumerate(needed)]
    return [
        row.formulas[name](symbolic, g, *[read(r) for r in row.reads[name]]) if wanted else None
        for name, wanted in zip(row.inputs, needed)
    ]
