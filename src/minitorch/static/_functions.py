"""What graphs call besides rows: parts of several outputs, fitting, formulas that need shapes, functions of Tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._engine import fitted
from .._modes import enable_grad, grad_on, no_grad
from .._op import Row, rows
from .._pytree import tree_flatten, tree_unflatten
from .._random import Generator, default_generator, positions
from .._runtime import raw, traced, wrap
from .._sites import is_theirs
from .._views import edits_of
from ..ops import linalg, shape
from ..ops.reduce import mean, sum
from ._instructions import Function, Number
from ._nodes import Node, made, node_of, operand
from ._text import nearest
from ._vertices import BESIDE, Layout, NeedsValues, Symbol, Value, Vertex, gathered

ITEM = Function("item", lambda several, *, index: several[index])
"""One of several outputs."""
REST = Function("rest", lambda several: several)
"""What a kernel sets aside for its formulas."""


class Aside(Node):
    """The arrays that a kernel sets aside for its formulas."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Node:
        return Node(ITEM, (self,), {"index": index})


class Several(Vertex):
    """A call that gives several tensors: its items are nodes."""

    __slots__ = ("made",)

    def __init__(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        super().__init__(op, inputs, params)
        self.made: dict[Any, Node] = {}

    def __getitem__(self, index: Any) -> Any:
        count = self.count
        if isinstance(index, slice):
            return tuple([self[i] for i in range(*index.indices(len(self)))])
        if count is not None and not -count <= index < count:
            raise IndexError(f"{self} has {count} outputs, not one numbered {index}")
        if count is None and index < 0:
            raise self.needs("how many outputs it has", "count from the first")
        return self.item(index % count if count else index)

    def item(self, index: int) -> Node:
        """The output of this number, the same node each time."""
        if index not in self.made:
            self.made[index] = Node(ITEM, (self,), {"index": index})
        return self.made[index]

    @property
    def rest(self) -> Vertex:
        """What the kernel sets aside."""
        if "rest" not in self.made:
            self.made["rest"] = Aside(REST, (self,))
        return self.made["rest"]

    @property
    def count(self) -> int | None:
        """How many outputs there are, if that is known."""
        if isinstance(self.op, Row):
            return None if self.op.outputs is True else int(self.op.outputs) or 1
        return self.op.count

    def __len__(self) -> int:
        return super().__len__() if self.count is None else self.count

    def __iter__(self) -> Any:
        return super().__iter__() if self.count is None else iter([self[i] for i in range(self.count)])


def outputs_of(row: Row, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The outputs of a row that has several, or one beside what its kernel sets aside."""
    call = Several(row, inputs, params)
    if row.outputs is True:
        return call
    return tuple(call) if row.outputs else call[0]


# -- fitting -----------------------------------------------------------------------------------------------------------
def _fit(F: Any) -> Callable[..., Any]:
    def fit(gradient: Any, like: Any) -> Any:
        array = like if F is raw else like._array
        (found,) = fitted((gradient,), ((array.shape, array.dtype),), F)
        return found

    return fit


def _spread(F: Any) -> Callable[..., Any]:
    def spread(gradient: Any, like: Any) -> Any:
        own, array = (gradient, like) if F is raw else (gradient._array, like._array)
        if own.shape != array.shape:
            gradient = F.expand(gradient, size=array.shape)
        return gradient if own.dtype == array.dtype else F.to(gradient, dtype=array.dtype)

    return spread


FIT: Function = Function(
    "fit", _fit(raw), _fit(traced), gradient=lambda node, g, needed: [Node(SPREAD, (g, node.inputs[0])), None]
)
"""A gradient in the shape and dtype of what it belongs to: broadcasting and promotion undone."""
SPREAD: Function = Function(
    "spread", _spread(raw), _spread(traced), gradient=lambda node, g, needed: [fit(g, node.inputs[0]), None]
)
"""The way back of fitting."""


def fit(gradient: Node, like: Any) -> Node:
    """The gradient, fitted to what it belongs to unless that is known to be alike."""
    if isinstance(like, Node) and gradient.layout is like.layout:
        return gradient
    return Node(FIT, (gradient, like), layout=like.layout if isinstance(like, Node) else None)


ZEROS_LIKE = Function("zeros_like", raw.zeros_like, traced.zeros_like)
ONES_LIKE = Function("ones_like", lambda like: _ones(like), lambda like: wrap(_ones(like._array)))
ZEROS = Function(
    "zeros", lambda like, *, shape: raw.zeros(shape, like), lambda like, *, shape: traced.zeros(shape, like)
)


COUNT = Function("count", raw.count)


def _ones(like: np.ndarray) -> np.ndarray:
    if like.dtype.kind != "f":
        raise RuntimeError(f"only floats have gradients, and this is of {like.dtype}: convert it, or feed floats")
    return np.ones(like.shape, like.dtype)


# -- the carrier -------------------------------------------------------------------------------------------------------
class Symbolic:
    """The third carrier of the rows' formulas: what they call makes nodes.

    A formula that asks for a value, or for a shape that is not known, raises NeedsValues: see `later`.
    """

    def __getattr__(self, name: str) -> Any:
        row = rows.get(name)
        if row is None:
            if name.startswith("_"):
                raise AttributeError(name)
            if hasattr(raw, name):
                raise NeedsValues(f"{name} chooses by values")
            raise AttributeError(
                f"static.rows has no row {name!r}{nearest(name, rows)}; other functions of Tensors go through "
                "static.apply(function, ...)",
                name=name,
            )
        return lambda *args, **params: node_of(row, args, params)

    def zeros_like(self, like: Any) -> Node:
        """Zeros in a node's shape and dtype."""
        return Node(ZEROS_LIKE, (like,), layout=like.layout)

    def count(self, shape: Any, dim: Any = None) -> Any:
        """How many elements there are in these dimensions, a symbol."""
        return Symbol(COUNT, gathered(shape), dim=dim) if isinstance(gathered(shape), Symbol) else raw.count(shape, dim)

    def zeros(self, shape: Any, like: Any) -> Node:
        """Zeros in a shape, in a node's dtype."""
        return Node(ZEROS, (like,), {"shape": gathered(shape)})


symbolic = Symbolic()


# -- formulas that need shapes or values -------------------------------------------------------------------------------
class Later(Function):
    """The gradients of a row's inputs by its formulas, which run when the graph does: they ask for shapes or values.

    Attributes
    ----------
    row : Row
    needed : tuple of bool
        Of which inputs.
    came : tuple of int
        Of several outputs, those that gradients came for.
    plan : tuple of (str, int or None)
        What the operands after the gradients are: ``("input", number)``, ``("result", number)`` or ``("rest", None)``.
    """

    def __init__(self, row: Row, needed: Sequence[bool], came: Sequence[int], plan: Sequence[Any]) -> None:
        self.row, self.needed, self.came, self.plan = row, tuple(needed), tuple(came), tuple(plan)
        super().__init__(
            f"{row.name}_gradients",
            self.on(raw),
            self.on(traced),
            several=True,
            gradient=eager_gradient,
            count=len(self.needed),
        )

    def on(self, F: Any) -> Callable[..., Any]:
        """The function on one carrier."""
        return lambda *operands, **params: self.run(F, operands, params)

    def run(self, F: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """The gradients, None where they are not needed."""
        row, own = self.row, self.row.inputs
        g: Any = dict(zip(self.came, operands))
        known: dict[Any, Any] = dict(zip(self.plan, operands[len(self.came) :]))

        def array(value: Any) -> Any:
            return value if F is raw else value._array

        if not row.outputs:
            g = g[0]
        elif row.outputs is True:
            g = [g[n] if n in g else F.zeros_like(result) for n, result in enumerate(known["rest", None])]
        elif not row.together:
            g = [g[n] if n in g else F.zeros_like(known["result", n]) for n in range(row.outputs)]
        results = tuple([known["result", n] for kind, n in self.plan if kind == "result"])

        def read(name: str) -> Any:
            if name in params:
                return params[name]
            if name == "result":
                return results if row.outputs else results[0]
            if name == "aside":
                return known["rest", None]
            if name.startswith("result") and name not in own:
                return known["result", int(name[6:])]
            if row.variadic:
                return [array(known["input", n]).shape for n in range(len(self.needed))]
            number = own.index(name.removesuffix("_shape") if name not in own else name)
            value = known["input", number]
            return value if name in own else array(value).shape

        if row.together or row.variadic:
            name = own[0]
            reads = [read(n) for n in row.reads[name]]
            formula = row.formulas[name]
            found = formula(F, g, list(self.needed), *reads) if row.together else formula(F, g, *reads)
        else:
            found = [
                row.formulas[i](F, g, *[read(n) for n in row.reads[i]]) if wanted else None
                for i, wanted in zip(own, self.needed)
            ]
        if row.broadcasts:
            expects = [known.get(("input", n)) for n in range(len(self.needed))]
            layouts = [((), None) if v is None else (array(v).shape, array(v).dtype) for v in expects]
            found = fitted([f if w else None for f, w in zip(found, self.needed)], tuple(layouts), F)
        return tuple(found)


def later(node: Any, g: Any, needed: Sequence[bool]) -> list[Any]:
    """The gradients of a node's inputs, as nodes that run the row's formulas when the graph runs."""
    row: Row = node.op
    wanted = [n for n, w in enumerate(needed) if w]
    names = [row.inputs[0 if row.variadic else n] for n in wanted]
    reads = {r for i in names for r in row.reads[i]}
    plan: list[Any] = []
    for n in range(len(node.inputs)):
        name = row.inputs[0 if row.variadic else n]
        if {name, f"{name}_shape"} & reads or (row.broadcasts and needed[n]):
            plan.append(("input", n))
    given = [(0, g)] if not row.outputs else sorted(g.items())
    if row.outputs is True and any([r.startswith("result") for r in reads]):
        raise NotImplementedError(
            f"{row.name}: its formulas read its results, so op() must be told how many: outputs=2"
        )
    if row.outputs is not True:
        whole = "result" in reads or (row.outputs and not row.together)
        chosen = range(row.outputs or 1) if whole else [int(r[6:]) for r in reads if r[:6] == "result" and r[6:]]
        plan += [("result", n) for n in chosen]
    if "aside" in reads or row.outputs is True:
        plan.append(("rest", None))
    like = next(v for v in node.inputs if isinstance(v, Node))
    operands = {
        "input": lambda n: as_node(node.inputs[n], like),
        "result": lambda n: result_of(node, n),
        "rest": lambda n: node.rest,
    }
    inputs = tuple([v for _, v in given] + [operands[kind](n) for kind, n in plan])
    params = {name: value for name, value in node.params.items() if name in reads}
    call = Several(Later(row, needed, [n for n, _ in given], plan), inputs, defaults(row, params, reads))
    return [call[n] if w else None for n, w in enumerate(needed)]


def as_node(value: Any, like: Node) -> Any:
    """An operand, a number as the 0-d array that it is beside *like*."""
    return Node(BESIDE, (Value(value.value), like)) if isinstance(value, Number) else value


def result_of(node: Any, number: int) -> Any:
    """One output of a call."""
    return node.item(number) if isinstance(node, Several) else node


def defaults(row: Row, params: dict[str, Any], reads: Any) -> dict[str, Any]:
    """The parameters that a formula reads, those that were left out with their defaults."""
    given = row.kernel.__kwdefaults__ or {} if not row.is_ufunc else {}
    return {n: given[n] for n in row.params if n in reads and n in given} | params


# -- functions of Tensors ----------------------------------------------------------------------------------------------
class Eager(Function):
    """Any function of Tensors as one operation: it runs eagerly when the graph does, and the engine differentiates it."""

    def __init__(self, name: str, function: Callable[..., Any], count: int | None = None, lacks: Any = None) -> None:
        self.keeps = True  # whether what it gives may be kept elsewhere, as a function of people's own may do
        self.shown: Any = None  # what it was given: leaves, how they are put together, and which of them are operands
        self.writes: bool | None = (
            None  # whether it writes into what it is given, which is then a copy; None: not known yet
        )
        super().__init__(
            name,
            self.arrays,
            function,
            several=count is not None,
            gradient=eager_gradient,
            count=count or 1,
            lacks=lacks,
        )

    def arrays(self, *arrays: Any, **params: Any) -> Any:
        """The function on ndarrays."""
        if self.writes is not False:
            arrays = tuple([a.copy("K") if isinstance(a, np.ndarray) else a for a in arrays])
        given = [_wrapped(a) for a in arrays]
        with no_grad():
            out = self.traced(*given, **params)
        written = any(
            [isinstance(t, _runtime.Tensor) and t._alias is not None and edits_of(t).count > 0 for t in given]
        )
        if written and self.writes is False:
            raise RuntimeError(
                f"{self.name} writes into an argument in some runs only, which changes the graph's value: clone it"
            )
        self.writes = bool(self.writes) or written
        if not self.several:
            return self._array(out)
        if not isinstance(out, (tuple, list)) or len(out) != self.count:
            raise TypeError(f"{self.name} gave {_described(out)}, but was put into the graph with outputs={self.count}")
        return tuple([None if o is None else self._array(o) for o in out])

    def _array(self, out: Any) -> np.ndarray:
        if not isinstance(out, _runtime.Tensor):
            raise TypeError(
                f"{self.name} must give a Tensor, not {_described(out)}; of several, say how many: outputs=2"
            )
        array: np.ndarray = out._array
        return array


def _described(out: Any) -> str:
    return f"{len(out)} values" if isinstance(out, (tuple, list)) else type(out).__name__


def _wrapped(value: Any) -> Any:
    return (
        wrap(value) if isinstance(value, np.ndarray) else [*map(_wrapped, value)] if value.__class__ is list else value
    )


def eager_gradient(node: Any, g: Any, needed: Sequence[bool]) -> list[Any]:
    """The gradients of a function of Tensors, by the engine: the function runs again, recorded."""
    op = node.op
    came = sorted(g) if op.several else [0]
    given = [g[n] for n in came] if op.several else [g]
    way_back = _way_back(op.traced, tuple(needed), came, op.several)
    again = Eager(f"{op.name}_gradients", way_back, len(needed), lacks=lambda absent: True)
    again.keeps = getattr(op, "keeps", not isinstance(op, Later))
    call = Several(again, (*given, *node.inputs), node.params)
    return [call[n] if w else None for n, w in enumerate(needed)]


def _way_back(
    function: Callable[..., Any], needed: tuple[bool, ...], came: list[int], several: bool
) -> Callable[..., Any]:
    """A function of Tensors: the gradients of *function*'s outputs, and its inputs, to the gradients of those inputs."""

    def way_back(*operands: Any, **params: Any) -> list[Any]:
        gradients, inputs = operands[: len(came)], operands[len(came) :]
        recording = grad_on()
        own: list[Any] = []
        with enable_grad():
            for value, wanted in zip(inputs, needed):
                if not isinstance(value, _runtime.Tensor) or value._array.dtype.kind != "f":
                    own.append(value)
                elif value.requires_grad and recording:
                    own.append(shape.view(value, tuple(value.shape)))
                else:
                    own.append(value.detach().requires_grad_(wanted))
            out = _once_more(function, own, params)
            outputs = [out[n] for n in came] if several else [out]
            targets = [t for t, wanted in zip(own, needed) if wanted and getattr(t, "requires_grad", False)]
            pairs = [(o, g) for o, g in zip(outputs, gradients) if o is not None and g is not None and o.requires_grad]
            found: Any = [None] * len(targets)
            if pairs and targets:
                found = grad(
                    [o for o, _ in pairs], targets, [g for _, g in pairs], create_graph=recording, allow_unused=True
                )
        by_id = {id(t): f for t, f in zip(targets, found)}
        return [by_id.get(id(t)) if wanted else None for t, wanted in zip(own, needed)]

    return way_back


def _once_more(function: Callable[..., Any], values: list[Any], params: dict[str, Any]) -> Any:
    """What a function that runs again gives; an error where it draws random numbers, which are others than before, or changes
    what it would change twice."""
    known = getattr(function, "known", None)
    if known is None:
        out = _without_draws(function, values, params)
    else:
        out = known.unchanged(lambda: _without_draws(function, values, params))
    return out


class _Held:
    """What a function of people's own holds: at its first run all of it, later its tensors."""

    def __init__(self, function: Any, name: str) -> None:
        self.function, self.name = function, name
        self.tensors: list[tuple[Any, str]] | None = None

    def unchanged(self, run: Callable[[], Any]) -> Any:
        """What a run gives that must change none of it."""
        from ._holdings import Holdings

        held = Holdings([(self.function, self.name)]) if self.tensors is None else None
        if held is not None:
            self.tensors = held.tensors()
        tensors = self.tensors or []
        before = [edits_of(tensor).count for tensor, _ in tensors]
        statistics = [(tensor, tensor._array.copy()) for tensor, _ in tensors if not tensor.requires_grad]
        out = run()
        changed = [path for (t, path), count in zip(tensors, before) if edits_of(t).count != count]
        if found := (held.changed(more=False) if held is not None else "") or next(iter(changed), ""):
            self.tensors = None
            for tensor, array in statistics:  # as the first run left them
                if tensor._array.tobytes() != array.tobytes():
                    tensor._array[...] = array
            raise RuntimeError(
                f"gradients of {self.name}: it changes {found}, and runs again for its gradients, which changes that twice: "
                "put a model in eval mode, model.eval(), or let static.compile make a step of functions that change things"
            )
        return out


def _without_draws(function: Callable[..., Any], values: list[Any], params: dict[str, Any]) -> Any:
    """What a function gives; an error where it draws random numbers."""
    generators = [default_generator, *[g for g in getattr(function, "given", ()) if isinstance(g, Generator)]]
    before = positions(generators)
    out = function(*values, **params)
    if not all([words is old and n == m for (words, n), (old, m) in zip(positions(generators), before)]):
        name = getattr(function, "__name__", "a function")
        raise RuntimeError(
            f"gradients of {name}: it draws random numbers, and runs again for its gradients, which would be those of "
            "other numbers: draw outside of it, feed what was drawn through a placeholder, and multiply by that"
        )
    return out


def apply(function: Callable[..., Any], *args: Any, outputs: int | None = None, **kwargs: Any) -> Any:
    """Put a call of any function of Tensors into the graph, as one node.

    The function runs when the graph runs, on Tensors, so that it may do what eager code may: read shapes and values, branch,
    loop, print.  Its gradients are those that the engine finds; for them the function runs once more, so that those of one
    that draws random numbers, or changes what it reads (running statistics, a counter), are refused.  A function that is a row
    itself (``torch.exp``) becomes the row's node.

    Parameters
    ----------
    function : callable
        Gives a Tensor, or *outputs* of them.
    *args, **kwargs
        Its arguments: nodes (also within lists, tuples, dicts), and constants.
    outputs : int, optional
        How many Tensors it returns, where it returns a tuple.

    Returns
    -------
    Node, or tuple of Node

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import static
    >>> x = static.placeholder("x")
    >>> y = static.apply(torch.softmax, x, dim=-1)
    >>> y
    <Node softmax(x, dim=-1)>
    >>> values, places = static.apply(torch.max, x, 0, outputs=2)
    >>> static.Executor([y, values, places]).run({x: [1.0, 1.0]})
    [array([0.5, 0.5], dtype=float32), array(1., dtype=float32), array(0)]
    """
    if not callable(function):
        raise TypeError(f"apply(): argument 'function' must be a function of Tensors, not {type(function).__name__}")
    leaves, tree = tree_flatten((args, kwargs))
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, (Vertex, _runtime.Tensor))]
    like = next((leaf for leaf in leaves if isinstance(leaf, Node)), None)
    name = getattr(function, "__name__", None) or type(function).__name__
    if like is None:
        raise TypeError(
            f"apply({name}): no argument is a node; call {name} itself, and use what it gives as a constant"
        )
    row = getattr(function, "row", None)
    if isinstance(row, Row) and outputs is None and not row.rarely.keys() & kwargs.keys() and "out" not in kwargs:
        return node_of(row, args, kwargs)
    inputs = tuple([leaves[n] if isinstance(leaves[n], Symbol) else operand(leaves[n], like, name) for n in places])

    def call(*values: Any) -> Any:
        filled = list(leaves)
        for n, value in zip(places, values):
            filled[n] = value
        own, named = tree_unflatten(filled, tree)
        return function(*own, **named)

    call.__name__, call.given, call.known = name, leaves, _Held(function, name)  # type: ignore[attr-defined]
    op = Eager(name, call, outputs)
    op.shown = leaves, tree, places
    code = None if getattr(function, "__closure__", None) else getattr(function, "__code__", None)
    op.keeps = code is None or is_theirs(code.co_filename) or any(map(callable, leaves))
    if outputs is None:
        return Node(op, inputs)
    return tuple(Several(op, inputs, {}))


# -- operations that choose a row by the number of dimensions ----------------------------------------------------------
def product(left: Any, right: Any) -> Any:
    """``left @ right``: a product of matrices where both are known to be, else what the ranks say when the graph runs."""
    like = left if isinstance(left, Node) else right
    left, right = operand(left, like, "matmul"), operand(right, like, "matmul")
    if isinstance(left, Number) or isinstance(right, Number):
        return NotImplemented
    if left.layout.ndim == right.layout.ndim == 2:
        return made("mm", left, right)
    return apply(linalg.matmul, left, right)


def reduced(name: str, node: Node, dim: Any, keepdim: bool, more: dict[str, Any]) -> Any:
    """A sum or a mean: a row, where it is over all elements or given dimensions."""
    layout: Layout = node.layout
    if dim is None and not keepdim and not more:
        out = made(f"{name}_all", node)
        out.layout = Layout(0, layout.dtype)
        return out
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if more or dim is None or not dims:
        return apply({"sum": sum, "mean": mean}[name], node, dim, keepdim, **more)
    out = made(name, node, dim=dims, keepdim=keepdim)
    dims = out.params["dim"]
    ndim = layout.ndim if layout.ndim is None or keepdim else layout.ndim - len(dims)
    out.layout = Layout(ndim, layout.dtype)
    return out
