"""``Tape.formula()``: a function and its derivatives as expressions in its leaves."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._dtypes import dtype, of_numpy
from .._op import rows
from .._views import current_node
from ..ops import choices, creation, einsum, reduce
from ..ops.subscript import Indices
from ._expressions import Expression
from ._formula_calls import DEFAULTS, either, one_hot, public
from ._formula_names import Names, derivative, second_derivative
from ._formula_places import INDEXED
from ._formula_reading import Reading, Watch, leaves_of, uses
from ._formula_text import LatexWriter, Opaque, PythonWriter, identifier, latex_name

if TYPE_CHECKING:
    from .tape import Tape


class Line(NamedTuple):
    """One line of a formula: ``name = text``.

    Attributes
    ----------
    name : str
        ``y``, ``dy/dx``, or ``t1``, ``t2``, … for a part that others share.
    text : str
        What it is, as Python.
    latex : str
        The whole line as LaTeX, with ``&=`` between its sides.
    """

    name: str
    text: str
    latex: str


class Formula:
    """The expressions of a function's value and of its derivatives.

    Printed, it is text; in a notebook it is set as mathematics. ``formula["dy/dx"]`` is one line's text. Each text is Python
    over the leaves' names with minitorch's functions; ``evaluate`` runs it.

    Attributes
    ----------
    lines : list of Line
        In an order in which each uses earlier ones only.
    names : dict of str to Tensor
        The leaves and constants, by the names that they have here.
    notes : list of str
        What other names mean.
    operations : int
        How many operations the lines have.
    expanded : int
        How many they would have if no part were shared.
    """

    def __init__(self, outputs: list[Output], names: Names, reading: Reading, kind: Any) -> None:
        self._outputs = {output.name: output.expression for output in outputs}
        self._reading, self._symbols, self._opaque, self._dtype = reading, names.symbols, names.opaque, kind
        self.names = {name: s.tensor for name, s in names.symbols.items() if s.tensor is not None}
        self.lines = lines_of(outputs, names)
        self.notes, self._unknown = names.notes, names.unknown
        self._code: list[Any] = []

    # -- reading
    def __getitem__(self, name: str) -> str:
        for line in self.lines:
            if line.name == name:
                return line.text
        raise KeyError(f"{name!r}: the lines are {', '.join([line.name for line in self.lines])}")

    def __str__(self) -> str:
        return "\n".join([f"# {note}" for note in self.notes] + [f"{line.name} = {line.text}" for line in self.lines])

    __repr__ = __str__

    @property
    def latex(self) -> str:
        """The lines as LaTeX, aligned."""
        return "\\begin{aligned}\n" + " \\\\\n".join([line.latex for line in self.lines]) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"

    @property
    def operations(self) -> int:
        return sum([count(line.text) for line in self.lines])

    @property
    def expanded(self) -> int:
        totals: dict[str, int] = {}
        for line in self.lines:
            within = [n.id for n in ast.walk(ast.parse(line.text)) if isinstance(n, ast.Name)]
            totals[line.name] = count(line.text) + sum([totals.get(name, 0) for name in within])
        return sum([totals[name] for name in self._outputs])

    # -- evaluating
    def evaluate(self, **values: Any) -> dict[str, Any]:
        """The values of the function and its derivatives.

        Parameters
        ----------
        **values : Tensor, ndarray or number
            Leaves and constants by name; those not given have the values that they have now.

        Returns
        -------
        dict of str to Tensor
            By the lines' names, without the shared parts.

        Raises
        ------
        TypeError
            For a name that is not in the formula, for None, or where a constant is not known and not given.
        """
        tensors = {n: None if s.tensor is None else _runtime.wrap(s.tensor._array) for n, s in self._symbols.items()}
        for name, value in values.items():
            if (known := identifier(name)) not in tensors:
                raise TypeError(
                    f"evaluate(): {name!r} is no name of this formula; it has {', '.join(tensors) or 'none'}"
                )
            if value is None:
                raise TypeError(f"evaluate(): {name!r} must be a Tensor, an ndarray or a number, not None")
            tensors[known] = self._as_tensor(value, tensors[known])
        missing = [name for name, value in tensors.items() if value is None]
        if missing or self._unknown:
            what = f"{', '.join(missing)} must be given" if missing else f"{', '.join(self._unknown)} is not known"
            raise TypeError(
                f"evaluate(): {what}: a graph keeps only what gradients need. Record the function in a block (`with Tape() as "
                "tape:`) to have it all"
            )
        if not self._code:
            self._code = [compile(line.text, f"<{line.name}>", "eval") for line in self.lines]
        scope = Namespace(self._reading, self._opaque, self._dtype)
        scope.update(tensors)
        for line, code in zip(self.lines, self._code):
            scope[line.name] = eval(code, {"__builtins__": {}}, scope)
        return {name: self._finished(scope[name], e) for name, e in self._outputs.items()}

    def _as_tensor(self, value: Any, known: Any) -> Any:
        if isinstance(value, _runtime.Tensor):
            return value
        return _runtime.wrap(np.asarray(value, self._dtype if known is None else known._array.dtype))

    def _finished(self, value: Any, e: Expression) -> Any:
        if not isinstance(value, _runtime.Tensor):
            value = _runtime.wrap(np.asarray(value, e.dtype))
        return value if value._array.dtype == e.dtype else rows["to"].call(value, e.dtype)


class Namespace(dict[str, Any]):
    """What the text of a formula may name: minitorch's functions, rows, and what cannot be written out."""

    def __init__(self, reading: Reading, opaque: Mapping[str, Opaque], kind: Any) -> None:
        super().__init__(reading.functions)
        self._arrays = reading.arrays
        self.update({name: o.content for name, o in opaque.items()})
        self._dtype = kind

    def __missing__(self, name: str) -> Any:
        kind = of_numpy(self._dtype)
        if name == "tensor":
            return lambda value: _runtime.wrap(np.asarray(value, self._dtype))
        if name in ("zeros", "ones", "full"):
            make = getattr(creation, name)
            return lambda *args, **kwargs: make(*args, **{"dtype": kind, **kwargs})
        if name in _PUBLIC:
            return _PUBLIC[name]
        if name == "one_hot":
            return one_hot(self._dtype)
        if (function := public(name)) is not None:
            return either(function, called(rows[name], self._arrays)) if name in rows else function
        if name in _DTYPES:
            return of_numpy(np.dtype(name))
        if name in rows:
            return called(rows[name], self._arrays)
        raise NameError(f"name {name!r} is not defined")


def called(row: Any, arrays: set[tuple[str, str]]) -> Any:
    """A row as texts call it: parameters that are None are left out, and those of *arrays* are ndarrays to it."""
    absent = dict.fromkeys([p for p, default in row.params.items() if not default])

    def call(*args: Any, **params: Any) -> Any:
        given = {name: value.numpy if isinstance(value, dtype) else value for name, value in params.items()}
        given |= {name: array_in(value) for name, value in params.items() if (row.name, name) in arrays}
        if row.name in INDEXED:
            given["indices"] = Indices(params["indices"])
        return row.call(*args, **{**absent, **DEFAULTS.get(row.name, {}), **given})

    return call


def array_in(value: Any) -> Any:
    """A parameter with ndarrays in place of Tensors."""
    if isinstance(value, tuple):
        return tuple([array_in(v) for v in value])
    return value._array if isinstance(value, _runtime.Tensor) else value


_PUBLIC: dict[str, Any] = {
    "inf": math.inf, "nan": math.nan, "sum": reduce.sum, "mean": reduce.mean, "where": choices.where,
    "einsum": einsum.einsum,
}  # fmt: skip
_DTYPES = frozenset(["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])


_SHORT, _LONG = 12, 72
"""A part that is used more than once gets a line if its text is longer than the first; any part, than the second."""


def lines_of(outputs: list[Output], names: Names) -> list[Line]:
    """The lines, those of shared parts before what uses them."""
    values = {o.expression.serial: o for o in reversed(outputs) if o.value}
    times = Counter([a.serial for e in names.order for a in e.args] + [o.expression.serial for o in outputs])
    within = {a.serial for e in names.order for a in e.args}
    python, latex, lines = PythonWriter(names.of), LatexWriter(names.of), []
    for e in names.order:
        texts = python.done[e.serial], latex.done[e.serial] = python.write(e), latex.write(e)
        size, value = len(texts[0].text), values.get(e.serial)
        worth = size > _SHORT or count(texts[0].text) > 1
        repeated = worth and times[e.serial] > 1
        if e.args and (value is not None or repeated or (size > _LONG and e.serial in within)):
            name = names.part() if value is None else value.name
            lines.append(Line(name, texts[0].text, f"{latex_name(name)} &= {texts[1].text}"))
            if value is None or worth:
                python.name(e, name)
                latex.name(e, latex_name(name))
    written = {line.name for line in lines}
    for o in outputs:
        if o.name not in written:
            e = o.expression
            if e.kind == "number":
                texts = python.whole(e), latex.whole(e)
            else:
                texts = python.done[e.serial], latex.done[e.serial]
            lines.append(Line(o.name, texts[0].text, f"{o.latex} &= {texts[1].text}"))
    return lines


def count(text: str) -> int:
    """The operations in a text."""
    kinds = (ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp)
    constant = (ast.Constant, ast.Slice, ast.Tuple)
    return len([
        n for n in ast.walk(ast.parse(text))
        if isinstance(n, kinds) and not (isinstance(n, ast.UnaryOp) and isinstance(n.operand, constant))
    ])  # fmt: skip


# -- making one --------------------------------------------------------------------------------------------------------
class Output(NamedTuple):
    """A value or derivative: the name of its line, that name as LaTeX, and what it is."""

    name: str
    latex: str
    expression: Expression
    value: bool


def formula(tape: Tape, of: Any, order: int, gradient: Any) -> Formula:
    """See ``Tape.formula``."""
    if order not in (0, 1, 2):
        raise ValueError(f"formula(): order must be 0, 1 or 2, not {order!r}")
    roots = roots_of(tape, of)
    forward = events_of(tape)
    leaves = leaves_of(forward)
    found = Reading(tape._names, leaves)
    found.run(forward)
    for root in roots:
        found.expression_of(root)
    passes = Passes(roots, [s.tensor for s in found.symbols if s.kind == "variable"], gradient)
    if order and passes.leaves and any([current_node(r) is not None for r in roots]):
        passes.run(order)
    reading = Reading(tape._names, leaves)
    reading.uses = uses([*forward, *passes.events])
    reading.run(forward)
    values = [reading.expression_of(root) for root in roots]
    for kind, seed in passes.seeds:
        reading.symbol(kind, seed, None)
    reading.run(passes.events)
    first = {i: reading.expression_of(g) for i, g in enumerate(passes.first) if g is not None}
    second = {ij: reading.expression_of(g) for ij, g in passes.second.items() if g is not None}
    return Formula(*outputs_of(reading, roots, values, passes, first, second), reading, values[0].dtype)


class Passes:
    """The backward passes whose operations are the derivatives.

    Attributes
    ----------
    first : list of (Tensor or None)
        The gradient of each leaf.
    second : dict
        By the numbers of two leaves, the derivative of the first one's gradient by the second.
    seeds : list of (str, Tensor)
        What the passes began with, where that is no number.
    """

    def __init__(self, roots: tuple[Any, ...], leaves: list[Any], gradient: Any) -> None:
        self.roots, self.leaves, self.given = roots, leaves, gradient
        self.events: list[Any] = []
        self.seeds: list[tuple[str, Any]] = []
        self.first: list[Any] = []
        self.second: dict[tuple[int, int], Any] = {}
        self.directions: dict[int, Any] = {}
        self.own = gradient is not None or (len(roots) == 1 and not roots[0]._array.ndim)

    def run(self, order: int) -> None:
        starts = [self._start(root, index) for index, root in enumerate(self.roots)]
        with Watch() as watch:
            self.first = self._grad(self.roots, starts, self.leaves)
            for i, g in enumerate(self.first if order == 2 else []):
                if g is None or not g.requires_grad:
                    continue
                start = _runtime.wrap(np.ones(g._array.shape, g._array.dtype))
                if g._array.ndim:
                    self.directions[i] = start
                    self.seeds.append(("direction", start))
                others = [j for j, leaf in enumerate(self.leaves) if j >= i or g._array.ndim or leaf._array.ndim]
                found = self._grad([g], [start], [self.leaves[j] for j in others])
                self.second |= {(i, j): h for j, h in zip(others, found)}
        self.events = watch.events

    def _start(self, root: Any, index: int) -> Any:
        """What a pass begins with at a root: what was given, 1, or a symbol."""
        if self.given is not None:
            start = self.given[index] if isinstance(self.given, (list, tuple)) else self.given
            if isinstance(start, _runtime.Tensor):
                return start
            return _runtime.wrap(np.full(root._array.shape, start, root._array.dtype))
        start = _runtime.wrap(np.ones(root._array.shape, root._array.dtype))
        if not self.own:
            self.seeds.append(("gradient", start))
        return start

    def _grad(self, outputs: Any, starts: list[Any], inputs: list[Any]) -> list[Any]:
        return list(grad(list(outputs), inputs, starts, create_graph=True, allow_unused=True))


def outputs_of(
    reading: Reading, roots: Any, values: list[Expression], passes: Passes, first: Any, second: Any
) -> tuple[list[Output], Names]:
    """The values and derivatives, with names, in their order."""
    given = [root.__dict__.get("name") for root in roots]
    by_leaf = {id(s.tensor): head for head, s in enumerate(reading.symbols)}
    heads = [by_leaf.get(id(leaf), -1) for leaf in passes.leaves]
    met = [heads[i] for i in first] + [by_leaf[id(seed)] for kind, seed in passes.seeds if kind == "gradient"]
    names = Names(reading, [*values, *first.values(), *second.values()], given, [head for head in met if head >= 0])
    total = names.roots[0] if passes.own and len(roots) == 1 else names.free("L")
    outputs = [Output(name, latex_name(name), e, True) for name, e in zip(names.roots, values)]
    shown = [i for i, head in enumerate(heads) if head in names.of]
    for i in shown if passes.first else []:
        zero = reading.algebra.constant(0, passes.leaves[i]._array.shape, passes.leaves[i]._array.dtype)
        name, latex = derivative(total, names.of[heads[i]], len(shown) == 1)
        outputs.append(Output(name, latex, first.get(i, zero), False))
    for (i, j), e in second.items():
        if i in shown and j in shown:
            along = names.of.get(by_leaf.get(id(passes.directions.get(i)), -1), "v" if i in passes.directions else None)
            name, latex = second_derivative(total, names.of[heads[i]], names.of[heads[j]], along, len(shown) == 1)
            outputs.append(Output(name, latex, e, False))
    if not passes.own and passes.first:
        seeds = [names.of.get(by_leaf.get(id(seed), -1)) for kind, seed in passes.seeds if kind == "gradient"]
        names.notes[:0] = [f"{seed} = d{total}/d{root}" for seed, root in zip(seeds, names.roots) if seed]
    return outputs, names


def roots_of(tape: Tape, of: Any) -> tuple[Any, ...]:
    """The results whose formula is wanted: those that are given, those the tape was read from, or what was made last."""
    if of is not None:
        roots = (of,) if isinstance(of, _runtime.Tensor) or not isinstance(of, (list, tuple)) else tuple(of)
    elif tape._roots:
        roots = tape._roots
    elif tape._calls:
        roots = last_made([call.outputs for call in tape._calls])
    else:
        raise RuntimeError("formula(): nothing was recorded in this block; run the function within `with tape:`")
    for index, root in enumerate(roots):
        if not isinstance(root, _runtime.Tensor):
            raise TypeError(f"formula(): element {index} of the results must be a Tensor, not {type(root).__name__}")
    return tuple(roots)


def last_made(results: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The last result that has a history; without one, the last of floats: what follows it are helpers, such as indices."""
    firsts = [outputs[0] for outputs in results if outputs]
    followed = [t for t in firsts if t._node is not None]
    floats = [t for t in firsts if t._array.dtype.kind == "f"]
    return tuple((followed or floats or firsts)[-1:])


def events_of(tape: Tape) -> list[tuple[Any, ...]]:
    """What a tape recorded, as a Reading takes it."""
    events: list[tuple[Any, ...]] = [("was", tensor, before) for tensor, before in tape._written_first]
    events += [("read_node", node) for node in tape._nodes]
    return events + [("read_call", call) for call in tape._calls]
