"""``Tape.formula()``: a function and its derivatives as expressions in its leaves."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._dtypes import get_default_dtype, of_numpy
from .._op import rows
from .._records import name_of, op_name
from .._stories import is_freed
from .._tape import NEVER, AccumulateGrad
from .._views import current_node
from ._expressions import Expression
from ._formula_check import must_agree
from ._formula_names import Names, derivative, second_derivative
from ._formula_reading import Reading, Watch, leaves_of, uses
from ._formula_scope import Own, Scope, values_of
from ._formula_sizes import Size, must_fit, sizes_of
from ._formula_text import LatexWriter, PythonWriter, latex_name

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
    over the leaves' names with the functions of ``minitorch``, ``nn.functional``, ``linalg`` and ``special``, and those that
    the notes explain; ``functions`` has all that it calls, ``evaluate`` runs it.

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
        self._outputs = {output.name: output.expression.dtype for output in outputs}
        self._own = Own(reading.functions, reading.arrays, reading.tuples)
        self._symbols, self._opaque = names.symbols, names.opaque
        self._dtype, self._default = of_numpy(kind), get_default_dtype()
        self.names = {name: s.tensor for name, s in names.symbols.items() if s.tensor is not None}
        self.lines, self._sizes = lines_of(outputs, names)
        self.notes, self._unknown = names.notes, names.unknown
        self._code: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without the code, and without the graphs that constants may have."""
        symbols = {name: symbol.apart() for name, symbol in self._symbols.items()}
        names = {name: symbols[name].tensor for name in self.names}
        return {**self.__dict__, "_code": [], "_symbols": symbols, "names": names}

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
    @property
    def functions(self) -> dict[str, Any]:
        """What the texts call, by name.

        All but what the notes explain are functions of ``minitorch``, ``nn.functional``, ``linalg`` and ``special``.
        """
        scope, of_values = self._scope(), {line.name for line in self.lines} | set(self._symbols)
        names = {n.id for line in self.lines for n in ast.walk(ast.parse(line.text)) if isinstance(n, ast.Name)}
        return {name: scope[name] for name in sorted(names - of_values)}

    def evaluate(self, **values: Any) -> dict[str, Any]:
        """The values of the function and its derivatives.

        Parameters
        ----------
        **values : Tensor, ndarray, number or list of numbers
            Leaves and constants by name; those not given have the values that they have now. Each has the shape that it had
            where the function was recorded; a number stands for all elements. Where a Tensor or an ndarray is wider than what
            was recorded (float64, of a function that was recorded in float32), all is computed in its dtype.

        Returns
        -------
        dict of str to Tensor
            By the lines' names, without the shared parts.

        Raises
        ------
        TypeError
            For a name that is not in the formula, for what is no tensor or number, for floats where there were integers, or
            where a constant is not known and not given.
        ValueError
            For a value of another shape; where something in the formula has another shape at these values, as what a mask
            selects may, and the formula is for that which it had.

        Examples
        --------
        It does what one would do with the texts by hand:

        >>> import minitorch as torch
        >>> x = torch.tensor([0.5, 2.0], requires_grad=True)
        >>> formula = torch.autograd.Tape((x[1] * x.exp()).sum()).formula()
        >>> values = dict(formula.names)
        >>> for line in formula.lines:
        ...     values[line.name] = eval(line.text, formula.functions, values)
        >>> torch.equal(values["dy/dx"], formula.evaluate()["dy/dx"])
        True
        """
        tensors, widest = values_of(self._symbols, values, self._dtype)
        missing = [name for name, value in tensors.items() if value is None]
        if missing or self._unknown:
            what = f"{', '.join(missing)} must be given" if missing else f"{', '.join(self._unknown)} is not known"
            raise TypeError(
                f"evaluate(): {what}: a graph keeps only what gradients need. Record the function in a block (`with Tape() as "
                "tape:`) to have it all"
            )
        hidden = [name for name, s in self._symbols.items() if s.kind == "hidden"]
        if values and not {*hidden} <= values.keys():
            raise TypeError(
                f"evaluate(): the derivatives take {', '.join(hidden)}, values inside of an in-place call that the block does "
                "not show, as they were recorded: call it out of place, without `_`, or give no other values"
            )
        if not self._code:
            self._code = [compile(line.text, f"<{line.name}>", "eval") for line in self.lines]
        scope = self._scope(widest)
        scope.update(tensors)
        try:
            for line, code in zip(self.lines, self._code):
                scope[line.name] = eval(code, {"__builtins__": {}}, scope)
        except (RuntimeError, ValueError, IndexError):
            must_fit(self._sizes, scope)
            raise
        must_fit(self._sizes, scope)
        return {name: self._finished(scope[name], kind, widest) for name, kind in self._outputs.items()}

    def _scope(self, widest: Any = None) -> Scope:
        return Scope(self._own, self._opaque, self._default, widest)

    def _finished(self, value: Any, kind: Any, widest: Any) -> Any:
        """A line's value as a tensor of the dtype that it had."""
        if widest is not None and kind.kind == "f":
            kind = widest
        if not isinstance(value, _runtime.Tensor):
            value = _runtime.wrap(np.asarray(value, kind))
        return value if value._array.dtype == kind else rows["to"].call(value, kind)


_SHORT, _LONG = 12, 72
"""A part that is used more than once gets a line if its text is longer than the first; any part, than the second."""


def lines_of(outputs: list[Output], names: Names) -> tuple[list[Line], list[Size]]:
    """The lines, those of shared parts before what uses them; and the shapes that parts must have."""
    values = {o.expression.serial: o for o in reversed(outputs) if o.value}
    times = Counter([a.serial for e in names.order for a in e.args] + [o.expression.serial for o in outputs])
    within = {a.serial for e in names.order for a in e.args}
    python, latex, lines = PythonWriter(names.of, get_default_dtype().numpy), LatexWriter(names.of), []
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
    return lines, sizes_of(names.order, python)


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
    """A value or derivative: the name of its line, that name as LaTeX, what it is, and the Tensor that was recorded."""

    name: str
    latex: str
    expression: Expression
    value: bool
    recorded: Any


def formula(tape: Tape, of: Any, order: int, gradient: Any) -> Formula:
    """See ``Tape.formula``."""
    if order not in (0, 1, 2):
        raise ValueError(f"formula(): order must be 0, 1 or 2, not {order!r}")
    roots = roots_of(tape, of)
    gradient = gradients_of(roots, gradient)
    must_be_whole(tape)
    forward = events_of(tape)
    leaves = leaves_of(forward)
    found = Reading(tape._names, leaves)
    found.run(forward)
    for index, root in enumerate(roots):
        must_be_recorded(tape, found, root, index)
        found.expression_of(root)
    variables = [s.tensor for s in found.symbols if s.kind == "variable"]
    nodes = {id(t._node) for t in variables}
    variables += [leaf for leaf, _ in leaves if id(leaf._node) not in nodes]  # whose values were written over
    passes = Passes(roots, variables, gradient)
    if order and passes.leaves and any([current_node(r) is not None for r in roots]):
        passes.run(order)
    reading = Reading(tape._names, leaves)
    reading.uses = uses([*forward, *passes.events])
    reading.run(forward)
    values = [reading.expression_of(root) for root in roots]
    for kind, seed in passes.seeds:
        reading.symbol(kind, seed, None)
    shown = len(reading.symbols)
    reading.run(passes.events)
    for symbol in reading.symbols[shown:]:
        if symbol.kind == "variable" and symbol.tensor._node.__class__ is not AccumulateGrad:
            symbol.kind = "hidden"
    first = {i: reading.expression_of(g) for i, g in enumerate(passes.first) if g is not None}
    known = {mark_of(s.tensor) for s in reading.symbols if s.tensor is not None}
    for leaf in [passes.leaves[i] for i in first if mark_of(passes.leaves[i]) not in known]:
        reading.symbol("variable", leaf, tape._names.get(leaf._node) or name_of(leaf))
    second = {ij: reading.expression_of(g) for ij, g in passes.second.items() if g is not None}
    outputs, names = outputs_of(reading, roots, values, passes, first, second)
    names.notes += notes_of_numbers(tape, roots) + notes_of_sizes(tape, reading, roots)
    names.notes += notes_of_others(tape, roots) if of is None else []
    made = Formula(outputs, names, reading, values[0].dtype)
    if not reading.own:
        must_agree(tape, made, {o.name: o.recorded for o in outputs}, [*forward, *passes.events])
    return made


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
        self.starts: list[Any] = []
        moves = any([isinstance(g, _runtime.Tensor) and g.requires_grad for g in gradient or ()])
        self.own = len(roots) == 1 and not roots[0]._array.ndim and not moves and gradient in (None, [1])

    def run(self, order: int) -> None:
        self.starts = [self._start(root, index) for index, root in enumerate(self.roots)]
        with Watch() as watch:
            self.first = self._grad(self.roots, self.starts, self.leaves)
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
            start = self.given[index]
            if isinstance(start, _runtime.Tensor):
                return start
            return _runtime.wrap(np.full(root._array.shape, start, root._array.dtype))
        start = _runtime.wrap(np.ones(root._array.shape, root._array.dtype))
        if not self.own:
            self.seeds.append(("gradient", start))
        return start

    def _grad(self, outputs: Any, starts: list[Any], inputs: list[Any]) -> list[Any]:
        try:
            found = list(grad(list(outputs), inputs, starts, create_graph=True, allow_unused=True))
            must_have_sizes(found, inputs)
            return found
        except (IndexError, ValueError) as error:
            raise RuntimeError(f"formula(): {RESHAPED}") from error
        except RuntimeError as error:
            if not is_freed(error):
                raise
            raise RuntimeError(
                "formula(): the derivatives take what a backward pass has freed: make the formula before backward(), call "
                "backward(retain_graph=True), or take the function alone, formula(order=0)"
            ) from error


RESHAPED = (
    "the derivatives cannot be computed: a tensor has got another shape, by `.data = ...` or in place, since something was "
    "computed of it. Take a view instead"
)


def must_have_sizes(gradients: list[Any], leaves: list[Any]) -> None:
    """Raise where a gradient has not the size of its leaf."""
    for g, leaf in zip(gradients, leaves):
        if g is not None and g._array.size != leaf._array.size:
            raise RuntimeError(f"formula(): {RESHAPED}")


def outputs_of(
    reading: Reading, roots: Any, values: list[Expression], passes: Passes, first: Any, second: Any
) -> tuple[list[Output], Names]:
    """The values and derivatives, with names, in their order."""
    by_leaf = {mark_of(s.tensor): head for head, s in enumerate(reading.symbols) if s.tensor is not None}
    given = [None if mark_of(root) in by_leaf else root.__dict__.get("name") for root in roots]
    heads = [by_leaf.get(mark_of(leaf), -1) for leaf in passes.leaves]
    along = {i: by_leaf[mark_of(direction)] for i, direction in passes.directions.items()}
    met = [heads[i] for i in first] + [along[i] for i, _ in second if i in along]
    met += [by_leaf[mark_of(seed)] for kind, seed in passes.seeds if kind == "gradient"]
    starts = [] if passes.own or passes.given is None else [reading.expression_of(start) for start in passes.starts]
    used = [*values, *starts, *first.values(), *second.values()]
    names = Names(reading, used, given, [head for head in met if head >= 0])
    total = names.roots[0] if passes.own and len(roots) == 1 else names.free("L")
    outputs = [Output(name, latex_name(name), e, True, root) for name, e, root in zip(names.roots, values, roots)]
    for root, start, given_start in zip(names.roots, starts, passes.starts):
        outputs.append(Output(*derivative(total, root, len(roots) == 1), start, False, given_start))
    shown = [i for i, head in enumerate(heads) if head in names.of]
    for i in shown if passes.first else []:
        zero = reading.algebra.constant(0, passes.leaves[i]._array.shape, passes.leaves[i]._array.dtype)
        name, latex = derivative(total, names.of[heads[i]], len(shown) == 1)
        outputs.append(Output(name, latex, first.get(i, zero), False, passes.first[i]))
    for (i, j), e in second.items():
        if i in shown and j in shown:
            direction = names.of[along[i]] if i in along else None
            name, latex = second_derivative(total, names.of[heads[i]], names.of[heads[j]], direction, len(shown) == 1)
            outputs.append(Output(name, latex, e, False, passes.second[i, j]))
    if not passes.own and passes.first and not starts:
        seeds = [names.of.get(by_leaf.get(mark_of(seed), -1)) for kind, seed in passes.seeds if kind == "gradient"]
        names.notes[:0] = [f"{seed} = d{total}/d{root}" for seed, root in zip(seeds, names.roots) if seed]
    return outputs, names


def mark_of(tensor: Any) -> Any:
    """What tells a tensor from others: its node, or itself where it has none."""
    return id(tensor) if tensor._node is None else tensor._node


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
    if not roots:
        raise ValueError("formula(): there must be a result at least, but `of` is empty")
    for index, root in enumerate(roots):
        if not isinstance(root, _runtime.Tensor):
            raise TypeError(
                f"formula(): element {index} of the results must be a Tensor, not {type(root).__name__} (the result of an "
                "entry of a block is tape[i].output)"
            )
    return tuple(roots)


def gradients_of(roots: tuple[Any, ...], gradient: Any) -> list[Any] | None:
    """What is given as the results' gradients, one for each; None where nothing is."""
    if gradient is None:
        return None
    given = list(gradient) if isinstance(gradient, (list, tuple)) else [gradient] * len(roots)
    if len(given) != len(roots):
        raise ValueError(f"formula(): there are {len(roots)} results, but {len(given)} gradients; give one for each")
    for index, (g, root) in enumerate(zip(given, roots)):
        if not isinstance(g, (_runtime.Tensor, int, float)):
            raise TypeError(
                f"formula(): the gradient of result {index} must be a Tensor or a number, not {type(g).__name__}"
            )
        if isinstance(g, _runtime.Tensor) and g.shape != root.shape:
            raise ValueError(
                f"formula(): the gradient of result {index} has shape {tuple(g.shape)}, but the result has {tuple(root.shape)}"
            )
    return given


def must_be_whole(tape: Tape) -> None:
    """Raise where what a tape recorded was written while it did not record."""
    for number, call in enumerate(tape._calls if tape._pauses else ()):
        for tensor in call.outputs:
            edited = NEVER if tensor._alias is None else tensor._alias.edits.position
            if any([start < edited < end for end, start in tape._pauses]):
                raise RuntimeError(
                    f"formula(): the result of entry {number}, {op_name(call.row)}, was written in place between two parts of "
                    "the recording; record that, too"
                )


def must_be_recorded(tape: Tape, reading: Reading, root: Any, index: int) -> None:
    """Raise where a tensor is no result that a tape recorded, or is no more what it was then."""
    what = f"element {index} of the results, a tensor of shape {tuple(root.shape)},"
    if tape._end is not None and (alias := root._alias) is not None and alias.edits.position < tape._end:
        raise RuntimeError(
            f"formula(): {what} was written in place after the tape had ended; make the formula before that, or record the "
            "write, too"
        )
    if current_node(root).__class__ is not AccumulateGrad and not reading.recorded(root):
        raise RuntimeError(
            f"formula(): {what} is no result that was recorded on this tape; compute it within `with tape:`, or read a tape "
            "from it, `Tape(result)`"
        )


def last_made(results: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The results of the last call that have a history; without one, those of floats: what follows are helpers, such as
    indices."""
    followed = [tuple([t for t in outputs if t._node is not None]) for outputs in results]
    floats = [tuple([t for t in outputs if t._array.dtype.kind == "f"]) for outputs in results]
    return next((made[-1] for made in ([o for o in found if o] for found in (followed, floats, results)) if made), ())


def notes_of_others(tape: Tape, roots: Any) -> list[str]:
    """A note on other results that have a history, of which nothing is made in the block: a function may return several."""
    read = [t for call in tape._calls for t in call.inputs if isinstance(t, _runtime.Tensor)]
    used = {id(t._array) for t in (*read, *[t for _, _, t, _ in tape._numbers_read], *roots)}
    made = {id(call.outputs[0]._array): call for call in tape._calls if call.outputs}
    ends = [call for call in made.values() if not any([id(o._array) in used for o in call.outputs])]
    others = [
        name_of(c.outputs[0]) or f"the result of {op_name(c.row)}" for c in ends if c.outputs[0]._node is not None
    ]
    if not others:
        return []
    named = " and ".join([", ".join(others[:-1]), others[-1]][len(others) == 1 :])
    return [f"{named}: not shown; formula(of=...) takes what is wanted, one result or several"]


def notes_of_numbers(tape: Tape, roots: Any) -> list[str]:
    """Notes on the numbers that Python read from tensors before the results were made: they do not follow other values."""
    end = end_of(tape, roots)
    calls = reversed([*enumerate(tape._calls)])
    first = {id(out._array): (number, call) for number, call in calls for out in call.outputs}
    found: dict[str, None] = {}
    for number, kind, tensor, value in tape._numbers_read:
        if number > end:
            break
        made, maker = first.get(id(tensor._array), (number, None))
        called = name_of(tensor) or (f"the result of {op_name(maker.row)}" if made < number else None)
        found[f"{value}: read from {called or 'a tensor'} by {kind}(), as recorded"] = None
    return list(found)


def end_of(tape: Tape, roots: Any) -> int:
    """The number of the last call that made, or wrote, one of the results."""
    makers = {id(out._array): number for number, call in enumerate(tape._calls) for out in call.outputs}
    return max([makers[id(root._array)] for root in roots if id(root._array) in makers], default=-1)


def notes_of_sizes(tape: Tape, reading: Reading, roots: Any) -> list[str]:
    """Notes on the sizes that Python read and that depend on values."""
    end = end_of(tape, roots)
    found = [reading.known(_runtime.wrap(array)) for number, array in tape._sized if number <= end]
    sizes = dict.fromkeys([e.shape for e in found if e is not None and e.loose] + reading.fixed)
    return [f"{shape}: a size that depends on values, read by Python, as recorded" for shape in sizes]


def events_of(tape: Tape) -> list[tuple[Any, ...]]:
    """What a tape recorded, as a Reading takes it."""
    calls = [(n, 1, ("read_call", call, seen)) for n, (call, seen) in enumerate(zip(tape._calls, tape._memory.seen))]
    others = [(n, 0, tuple(event)) for n, *event in tape._memory.events]
    ordered = sorted([*calls, *others], key=lambda at: at[:2])
    return [*[("read_node", node) for node in tape._nodes], *[event for _, _, event in ordered]]
