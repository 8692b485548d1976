"""Branches and loops in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from ._compile import Compiled
from ._functions import Several, _way_back, as_node, eager_gradient, fit
from ._gradients import Backward
from ._instructions import Function, truth
from ._nodes import Constant, Node, constant, operand
from ._order import COND
from ._vertices import Scope, Vertex, building


def cond(condition: Any, then: Any, otherwise: Any) -> Any:
    """The value of one of two branches, as *condition* says when the graph runs; only that branch is computed.

    What only one branch needs is computed only where that is taken, in the way back too.

    Parameters
    ----------
    condition : Node
        Of one element.
    then, otherwise : Node, array, number, or callable
        The branches; callables without arguments, which make them, may be given instead.  Tuples of the same length give a
        tuple.

    Returns
    -------
    Node, or tuple of Node

    Raises
    ------
    RuntimeError
        When the graph runs, if *condition* has not one element.

    Examples
    --------
    >>> from minitorch import static
    >>> x, x3, x4 = [static.placeholder(name) for name in ("x", "x3", "x4")]
    >>> y = static.cond(x > 2, x * x3, x4 - x)
    >>> run = static.Executor([y, *static.gradients(y, [x, x3])]).run
    >>> run({x: 3.0, x3: 5.0, x4: 1.0})
    [array(15., dtype=float32), array(5., dtype=float32), array(3., dtype=float32)]
    >>> run({x: 1.0, x3: 5.0, x4: 1.0})
    [array(0., dtype=float32), array(-1., dtype=float32), array(0., dtype=float32)]
    """
    if not isinstance(condition, Node):
        raise TypeError(
            f"cond(): argument 'condition' must be a node, not {type(condition).__name__}; where it is known now, use if"
        )
    sides = [side() if callable(side) and not isinstance(side, Vertex) else side for side in (then, otherwise)]
    several = [isinstance(side, (tuple, list)) for side in sides]
    pairs = list(zip(*sides)) if all(several) else [tuple(sides)]
    if any(several) and (not all(several) or len(sides[0]) != len(sides[1])):
        counts = [len(s) if isinstance(s, (tuple, list)) else 1 for s in sides]
        raise RuntimeError(f"cond(): the branches give {counts[0]} and {counts[1]} values; both must give as many")
    nodes = []
    for pair in pairs:
        like = next((side for side in pair if isinstance(side, Node)), condition)
        one, other = [as_node(operand(side, like, "cond"), like) for side in pair]
        nodes.append(Node(COND, (condition, one, other), layout=one.layout if one.layout is other.layout else None))
    return tuple(nodes) if all(several) else nodes[0]


class Loop:
    """The body and the condition of a loop, as programs of its variables and of what they take from around it.

    Attributes
    ----------
    variables : list of Node
    around : list of Node
        What the body and the condition take from outside.
    condition : Node
    outputs : list of Node
    """

    def __init__(self, scope: Scope, variables: list[Any], condition: Any, outputs: list[Any]) -> None:
        self.scope, self.variables, self.condition, self.outputs = scope, variables, condition, outputs
        self.around = taken_from_outside([condition, *outputs], scope)
        given = [*variables, *self.around]
        self.test, self.body = Compiled([condition], given), Compiled(outputs, given)
        self.count = len(variables)

    def run(self, tensors: bool, values: tuple[Any, ...], keep: bool = False) -> tuple[Any, ...]:
        """The variables at the end, and, where they are to be kept, those of each round."""
        state, around = list(values[: self.count]), values[self.count :]
        kept: list[Any] = []
        while truth(self.test.call((*state, *around), tensors)[0], self.condition):
            if keep:
                kept.append(state)
            state = self.body.call((*state, *around), tensors)
        return (*state, kept)

    def function(self) -> LoopRun:
        """The loop as an operation; its last output are the variables of each round."""
        return LoopRun(self)

    def gradient(self, node: Any, g: dict[int, Any], needed: Sequence[bool]) -> list[Any]:
        """The gradients of the first values and of what is taken from outside: the rounds backwards."""
        given = [*self.variables, *self.around]
        token = building.set(self.scope)
        try:
            weights = [Node(None, label=f"gradient of {v}", layout=v.layout) for v in self.variables]
            for weight in weights:
                weight.scope, weight.absent = self.scope, True
            wanted = [*self.variables, *[v for v, w in zip(self.around, needed[self.count :]) if w]]
            backward = Backward(self.outputs, wanted, set(given))
            seeds: dict[Any, Any] = {}
            for output, weight in zip(self.outputs, weights):
                backward.add(seeds, output, fit(weight, output))
            found = backward.run(seeds, ())
            zeros = [found.get(v) for v in wanted]
        finally:
            building.reset(token)
        places = [n for n, gradient in enumerate(zeros) if gradient is not None]
        way_back = Compiled([zeros[n] for n in places], [*given, *weights])
        came = sorted(g)
        back = LoopBack(self, way_back, places, len(wanted), came, needed)
        call = Several(back, (node.item(self.count), *[g[n] for n in came], *node.inputs), {})
        return [call[n] if w else None for n, w in enumerate(needed)]


class LoopRun(Function):
    """A loop as an operation."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        super().__init__(
            "while_loop",
            lambda *values, keep: loop.run(False, values, keep),
            lambda *values, keep: loop.run(True, values, keep),
            several=True,
            optional=loop.count,
            gradient=loop.gradient,
            count=loop.count + 1,
        )


class LoopBack(Function):
    """The way back through a loop, on the variables that were kept of each round."""

    def __init__(
        self, loop: Loop, way_back: Compiled, places: list[int], wanted: int, came: list[int], needed: Sequence[bool]
    ) -> None:
        self.loop, self.way_back, self.places, self.wanted = loop, way_back, places, wanted
        self.came, self.needed = came, needed
        again = _way_back(lambda *v: loop.run(True, v)[: loop.count], tuple(needed), came, True)
        super().__init__(
            "while_loop_gradients",
            self.arrays,
            lambda kept, *values: tuple(again(*values)),
            several=True,
            gradient=lambda node, g, needed: eager_gradient(node, g, [False, *needed[1:]]),
            count=len(needed),
            lacks=lambda absent: True,
        )

    def arrays(self, kept: list[Any], *values: Any) -> tuple[Any, ...]:
        """The gradients of the first values and of what is taken from outside, None where they are not needed or absent."""
        count, around = self.loop.count, values[len(self.came) + self.loop.count :]
        weights: list[Any] = [None] * count
        for n, value in zip(self.came, values):
            weights[n] = value
        outer: dict[int, Any] = {}
        for state in reversed(kept):
            found = self.way_back.call((*state, *around, *weights))
            weights = [None] * count
            for place, gradient in zip(self.places, found):
                if gradient is None:
                    continue
                if place < count:
                    if state[place].dtype.kind == "f":
                        weights[place] = gradient
                else:
                    outer[place] = np.add(outer[place], gradient, out=...) if place in outer else gradient
        rest = iter(range(count, self.wanted))
        asked = [next(rest) if w else None for w in self.needed[count:]]
        others = [None if n is None else outer.get(n) for n in asked]
        return (*[w if wanted else None for w, wanted in zip(weights, self.needed)], *others)


def taken_from_outside(outputs: list[Any], scope: Scope) -> list[Any]:
    """The nodes from around a body that it takes."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    stack = list(outputs)
    while stack:
        vertex = stack.pop()
        if vertex in seen or isinstance(vertex, Constant):
            continue
        seen.add(vertex)
        if vertex.scope is not None and vertex.scope.inside(scope):
            stack += vertex.uses()
        else:
            found[vertex] = None
    return list(found)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], init: Any) -> Any:
    """Run *body* on its own results while *condition* holds.

    Both functions are called once, with nodes that stand for the loop's variables, and may use nodes from around them.  For
    gradients, the variables of each round are kept.

    Parameters
    ----------
    condition : callable
        ``condition(*variables)`` gives a node of one element.
    body : callable
        ``body(*variables)`` gives the variables' next values, as many as there are.
    init : sequence of (Node, array, number), or one of them
        The first values.

    Returns
    -------
    tuple of Node, or Node
        The values for which *condition* does not hold; one where *init* is one.

    Raises
    ------
    RuntimeError
        If *body* gives another number of values, or a node made in it is used outside.

    Examples
    --------
    >>> from minitorch import static
    >>> x = static.placeholder("x")
    >>> power = static.while_loop(lambda p: p < 100, lambda p: p * x, x)
    >>> run = static.Executor([power, *static.gradients(power, [x])]).run
    >>> run({x: 3.0})
    [array(243., dtype=float32), array(405., dtype=float32)]
    """
    single = not isinstance(init, (tuple, list))
    firsts = [init] if single else list(init)
    like = next((v for v in firsts if isinstance(v, Node)), None)
    if not firsts:
        raise TypeError("while_loop(): argument 'init' is empty; give each variable a first value")
    start = [v if isinstance(v, Node) else _first(v, like) for v in firsts]
    scope = Scope(f"while_loop({getattr(body, '__name__', 'body')})", building.get())
    token = building.set(scope)
    try:
        variables = [Node(None, label=name) for name in _names(body, len(start))]
        for variable in variables:
            variable.scope = scope
        test = condition(*variables)
        if not isinstance(test, Node):
            raise TypeError(
                f"while_loop(): condition must give a node, not {type(test).__name__}: it would hold for ever"
            )
        given = body(*variables)
        outputs = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(outputs) != len(variables):
            raise RuntimeError(
                f"while_loop(): body gives {len(outputs)} values for {len(variables)} variables "
                f"({', '.join(v.name for v in variables)}); give each its next value"
            )
        outputs = [as_node(operand(o, v, "while_loop"), v) for o, v in zip(outputs, variables)]
    finally:
        building.reset(token)
    loop = Loop(scope, variables, test, outputs)
    call = Several(loop.function(), (*start, *loop.around), {})
    return call[0] if single else tuple([call[n] for n in range(loop.count)])


def _first(value: Any, like: Any) -> Any:
    """A first value that is no node."""
    if isinstance(value, _runtime.Tensor) and value.requires_grad:
        return operand(value, like, "while_loop")
    return constant(value)


def _names(body: Callable[..., Any], count: int) -> list[str]:
    """What a body calls its variables."""
    code = getattr(body, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return [names[n] if n < len(names) else f"variable{n}" for n in range(count)]
