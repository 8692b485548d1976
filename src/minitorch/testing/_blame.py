"""What is at fault when a gradient is wrong: every node's own gradient against finite differences of its own forward."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._engine import fitted
from .._modes import enable_grad, no_grad
from .._op import Row
from .._records import Cut
from .._runtime import raw, wrap
from .._tape import Outputs
from ..autograd._differences import Array
from ..autograd._subject import Subject, moved_by, tuple_of, vjp
from ..autograd.function import FunctionNode
from ..autograd.tape import Entry
from ._compare import Comparison, compare
from ._patterns import pattern_of
from ._recording import Recording, described
from ._report import Blame
from ._time import Timed

_LARGE = 64
"""Of a node with more output elements, random sums are looked at; with more input elements, random directions."""


class Step(NamedTuple):
    """One recorded operation that can be run again.

    Attributes
    ----------
    entry : Entry
        Its line on the tape.
    call : function
        Runs it again: tensors in, a tuple of tensors out.
    inputs : tuple
        What it was given, arrays in place of tensors.
    edges : dict of int to int
        For each input that gradients go to, the number of its edge.
    """

    entry: Entry
    call: Callable[..., tuple[Any, ...]]
    inputs: tuple[Any, ...]
    edges: dict[int, int]

    def subject(self) -> Subject:
        """The operation by itself, at the values it had."""
        arguments = [wrap(a) if isinstance(a, np.ndarray) else a for a in self.inputs]
        return Subject(Timed(self.call), arguments, sorted(self.edges))


def blame_first_order(subject: Subject, found: Comparison) -> Blame:
    """What makes first derivatives wrong: the first node whose gradient is wrong, else a hook, else a call that cuts."""
    with Recording() as recording:
        outputs, wanted = subject.call()
    cuts = recording.cuts(outputs)
    lost = not found.analytic[:, found.wrong.any(axis=0)].any()
    blame = (_cut(cuts) if lost else None) or blame_node(recording)
    blame = blame or _hook(subject, recording, outputs, wanted) or _cut(cuts)
    return blame or misbehaving(recording) or _cast(recording) or Blame("none", NOTHING, "")


NOTHING = (
    "every recorded operation's gradient is that of its own forward, and no call was seen that cuts the path: look for "
    "values that reach the function otherwise (globals, NumPy arrays that share memory, parameters)"
)


def blame_raising(subject: Subject) -> Blame | None:
    """The first node whose own backward raises."""
    with Recording() as recording:
        subject.call()
    for step in steps(recording):
        own = own_jacobian(step)
        if isinstance(own, Blame):
            return own
    return None


def blame_for_reference(subject: Subject, same_values: bool = False) -> Blame:
    """The same where a function is not equal to its reference, or only its gradients are not."""
    with Recording() as recording:
        subject.call()
    text = (
        "every operation's gradient is that of its own forward: the function computes something else than the reference"
    )
    return blame_node(recording) or (only_custom(recording) if same_values else None) or Blame("none", text, "")


def blame_node(recording: Recording, custom: bool = False) -> Blame | None:
    """The first node (of a custom Function, if *custom*) whose gradient is not that of its own forward."""
    chosen = [step for step in steps(recording) if _is_custom(step) or not custom]
    taken = [(step, own_jacobian(step)) for step in chosen]  # before anything is run again
    for step, own in taken:
        wrong = own if isinstance(own, Blame) else wrong_gradient(step, own)
        if wrong is not None:
            return wrong
    return None


def _hook(subject: Subject, recording: Recording, outputs: Sequence[Any], wanted: Sequence[Any]) -> Blame | None:
    """The first hook of the backward pass without which the gradient of this call is another."""
    vectors = subject.split(np.random.default_rng(6).normal(size=subject.base.size))
    chosen = [outputs[o] for o in subject.which]

    def without(*hooks: dict[Any, Any]) -> bool:
        before = subject.joined(vjp(chosen, wanted, vectors))
        for kept in hooks:
            kept.clear()
        return not np.array_equal(before, subject.joined(vjp(chosen, wanted, vectors)), equal_nan=True)

    for entry in reversed(list(recording)):
        if entry.hooks:
            extras: Any = entry.node.extras  # type: ignore[union-attr]
            if without(*[o.hooks for o in extras.outputs.values()], extras.prehooks, extras.posthooks):
                return Blame("hook", f"a hook on {entry.name} changes the gradient", str(entry.site or ""))
    for place, tensor in enumerate(wanted):
        hooks = getattr(tensor._node, "hooks", None)
        if hooks and place < len(subject.variables) and without(hooks):
            return Blame("hook", f"a hook on input {subject.variables[place]} changes the gradient", "")
    return None


def _cast(recording: Recording) -> Blame | None:
    """Where values are rounded to a narrower dtype than they came in."""
    for entry in recording:
        if entry.op in ("to", "copy") and entry.inputs and isinstance(entry.inputs[0], _runtime.Tensor):
            before, after = entry.inputs[0].dtype, entry.dtypes[0]
            if before.is_floating_point and after.is_floating_point and after.itemsize < before.itemsize:
                text = f"a cast from {str(before)[6:]} to {str(after)[6:]}"
                how = entry.site.expression if entry.site else ""
                return Blame("cast", text, str(entry.site or ""), f"values are rounded there: {how}" if how else "")
    return None


def _cut(cuts: Sequence[Cut]) -> Blame | None:
    if not cuts:
        return None
    first, *others = list(dict.fromkeys([(described(c), str(c.site or "")) for c in cuts]))
    details = []
    if cuts[0].kind.endswith(".apply"):
        details.append("it marks what it returns with ctx.mark_non_differentiable, and that has a derivative")
    if others:
        details.append(f"also: {'; '.join([f'{n} at {s}' for n, s in others[:3]])}")
    return Blame("cut", *first, "\n    ".join(details))


def steps(recording: Recording) -> Iterator[Step]:
    """The recorded operations that can be run again by themselves, in order."""
    for entry, values in zip(recording, recording.values):
        node, row = entry.node, entry.row
        if node is None or any(
            [v is None and isinstance(t, _runtime.Tensor) for v, t in zip(values, entry.inputs or ())]
        ):
            continue
        if isinstance(node, FunctionNode):
            edges = {place: edge for edge, place in enumerate(node.tensor_arguments) if node.edges[edge] is not None}
            yield Step(entry, _called(node.function), values, edges)
        elif isinstance(row, Row) and isinstance(node, row.node_type or ()):
            yield Step(entry, _row_call(row, entry), values, _edges(row, node))


def _called(function: Any) -> Callable[..., tuple[Any, ...]]:
    return lambda *args: tuple_of(function.apply(*args))


def _row_call(row: Row, entry: Entry) -> Callable[..., tuple[Any, ...]]:
    params = tuple((entry.params or {}).values())
    if row.variadic:
        return lambda *tensors: tuple_of(row.call(list(tensors), *params))
    return lambda *tensors: tuple_of(row.call(*tensors, *params))


def _edges(row: Row, node: Any) -> dict[int, int]:
    if row.variadic:
        return {i: i for i, edge in enumerate(node.edges) if edge is not None}
    places = [row.inputs.index(name) for name in row.formulas]
    return {place: i for i, place in enumerate(places) if node.edges[i] is not None}


# -- one node ----------------------------------------------------------------------------------------------------------
def own_gradients(step: Step, vectors: Sequence[Array]) -> list[Array | None]:
    """The node's vjp, with the values that it saved: an array for each of the step's inputs with an edge."""
    node: Any = step.entry.node
    gradient: Any = vectors[0]
    if node.several:
        layouts = node.layout
        gradient = Outputs(
            {i: v for i, v in enumerate(vectors) if layouts[i] is not None and layouts[i][1].kind == "f"}
        )
    with no_grad(), np.errstate(all="ignore"):
        results: Any = node.backward(gradient, raw, node.edges, True)
        if node.expects is not None:
            results = fitted(results, node.expects, raw)
    return [results[step.edges[place]] for place in sorted(step.edges)]


def own_jacobian(step: Step) -> tuple[Array, Array] | Blame | None:
    """The node's Jacobian, of weighted sums of its outputs; and the weights. None where that is not known."""
    layouts = [(tuple(s), d._numpy) for s, d in zip(step.entry.shapes, step.entry.dtypes)]
    floats = [i for i, (_, dtype) in enumerate(layouts) if dtype is not None and dtype.kind == "f"]
    sizes = [math.prod(layouts[i][0]) for i in floats]
    starts = np.cumsum([0, *[step.inputs[place].size for place in sorted(step.edges)]])
    weights = _weights(np.repeat([_in_graph(step, i) for i in floats], sizes))
    jacobian = np.zeros((len(weights), int(starts[-1])))
    try:
        for row, weight in enumerate(weights):
            vectors: list[Any] = [np.zeros(shape, dtype) for shape, dtype in layouts]
            for i, part in zip(floats, np.split(-2 * weight, np.cumsum(sizes)[:-1])):
                vectors[i] = part.reshape(layouts[i][0]).astype(layouts[i][1])
            for start, array in zip(starts, own_gradients(step, vectors)):
                if array is not None:
                    jacobian[row, start : start + array.size] = np.asarray(array, np.float64).ravel() / -2
    except Exception as error:
        return _blame(step, "node", f"it raised {type(error).__name__}: {error}") if _is_custom(step) else None
    return jacobian, weights


def compared(step: Step, own: tuple[Array, Array]) -> Comparison | None:
    """A node's own gradient beside finite differences of its own forward; None where that cannot be run again."""
    (analytic, weights), subject = own, step.subject()
    outputs, _ = subject.point()
    if not _reproduced(step, outputs) or subject.base.size != weights.shape[1]:
        return None
    return _compared(subject, weights, analytic)


def wrong_gradient(step: Step, own: tuple[Array, Array] | None) -> Blame | None:
    """What is wrong with a node's gradient as that of its own forward; None if nothing is."""
    if own is None:
        return None
    try:
        found = compared(step, own)
    except Exception as error:
        return _blame(step, "node", f"it raised {type(error).__name__}: {error}") if _is_custom(step) else None
    if found is None or found.agrees:
        return None
    detail = _seen(found)
    seen = dict(misbehaviour(step.entry.node)) if _is_custom(step) else {}
    for kind in ("mutation", "determinism", "linearity"):  # then there is no one gradient to speak of
        if kind in seen:
            return _blame(step, "function", seen[kind])
    if _stale(step.subject(), own[1], found):
        detail = (
            "a value that it kept was changed since, unseen (through .data, detach() or NumPy, or by another call): from "
            "the values it was given its gradient would be right. Clone before writing, keep with ctx.save_for_backward. Now "
            + detail
        )
    return _blame(step, "node", detail)


def _stale(subject: Subject, weights: Array, found: Comparison) -> bool:
    """Whether the operation, run again on what it was given, has another gradient, and a right one."""
    if found.numeric.shape != (len(weights), sum(subject.sizes)):
        return False
    subject.point()
    fresh = np.array([subject.joined(subject.vjp(subject.split(-2 * w))) / -2 for w in weights])
    equal = subject.precision.equal
    near = 2 * found.error + equal * np.maximum(np.abs(fresh), np.abs(found.numeric))
    right = (np.abs(fresh - found.numeric) <= near)[found.wrong].all()
    return bool(right and not np.array_equal(fresh[found.wrong], found.analytic[found.wrong], equal_nan=True))


def _compared(subject: Subject, weights: Array, analytic: Array) -> Comparison:
    """A comparison of sums of the outputs, along random directions where there are many inputs."""
    if len(weights) == subject.base.size and analytic.shape[1] <= 8 * _LARGE:
        return compare(subject, analytic)
    directions = None
    if analytic.shape[1] > 8 * _LARGE:
        directions = np.random.default_rng(2).normal(size=(analytic.shape[1], 6))
    return compare(_Summed(subject, weights, directions), analytic if directions is None else analytic @ directions)


class _Summed(Subject):
    """Weighted sums of a subject's outputs, as a function of its variables or of steps along directions."""

    def __init__(self, subject: Subject, weights: Array, directions: Array | None) -> None:
        arrays = subject.arrays if directions is None else [np.zeros(directions.shape[1], subject.arrays[0].dtype)]

        def fn(*tensors: Any) -> Any:
            given = [t._array for t in tensors]
            if directions is not None:
                moves = np.split(directions @ given[0].astype(np.float64), np.cumsum(subject.sizes)[:-1])
                given = [moved_by(a, m.reshape(a.shape)) for a, m in zip(subject.arrays, moves)]
            return wrap(weights @ subject.values(given))

        super().__init__(fn, [wrap(a) for a in arrays], range(len(arrays)))
        subject.point()
        self.point()
        self.precision = subject.precision


def _weights(counted: Array) -> Array:
    """Each of few outputs by itself, random sums of many; 0 for those that do not count."""
    places = np.flatnonzero(counted)
    if places.size > _LARGE:
        return np.random.default_rng(3).normal(size=(4, counted.size)) * counted
    rows = np.zeros((places.size, counted.size))
    rows[np.arange(places.size), places] = 1
    return rows


def _in_graph(step: Step, number: int) -> bool:
    """Whether an output has a gradient: a custom Function may mark some that have none."""
    outputs = step.entry.outputs
    return not _is_custom(step) or outputs is None or outputs[number]._node is not None


def _reproduced(step: Step, outputs: Sequence[Any]) -> bool:
    """Whether running the operation again gives the recorded shapes (values may have been written since)."""
    layouts = step.entry.shapes
    return len(layouts) <= len(outputs) and all([tuple(s) == o._array.shape for s, o in zip(layouts, outputs)])


def site_of(step: Step) -> str:
    """The line that called it."""
    return str(step.entry.site or "")


def _is_custom(step: Step) -> bool:
    return isinstance(step.entry.node, FunctionNode)


def _seen(found: Comparison) -> str:
    output, variable = found.blocks()[0]
    rows, columns = found.block(output, variable)
    subject = found.subject
    point = max([p for p in found.mistakes if p.input == variable], key=lambda p: abs(p.analytic - p.numeric))
    pattern = pattern_of(
        found.analytic[rows, columns],
        found.numeric[rows, columns],
        2 * found.error[rows, columns],
        subject.shapes[subject.which.index(output)],
        subject.arrays[variable].shape,
    )
    text = (
        f"with respect to its input {variable} it gives {point.analytic:.6g} where its forward has {point.numeric:.6g}"
    )
    return f"{text} ({pattern})" if pattern else text


def _blame(step: Step, kind: str, detail: str) -> Blame:
    entry = step.entry
    if isinstance(entry.node, FunctionNode):
        backward = inspect.unwrap(entry.node.function._backward()).__code__
        detail += f"; its backward is at {backward.co_filename}, line {backward.co_firstlineno}"
    return Blame(kind, entry.name, str(entry.site or ""), detail)


# -- second order ------------------------------------------------------------------------------------------------------
def blame_second_order(subject: Subject, gradients: Callable[..., Any]) -> Blame:
    """What makes second derivatives wrong.

    The first custom Function, of those that the backward pass calls, whose own gradient is wrong; else the first node of the
    forward pass whose gradient's gradient is; else a call that cuts.
    """
    with Recording() as backward:
        outputs, _ = Subject(gradients, subject.arguments, subject.variables, subject.parameters).call()
    cuts = backward.cuts(outputs)
    blame = blame_node(backward, custom=True)
    if blame is not None:
        return blame
    with Recording() as recording:
        subject.call()
    for step in steps(recording):
        wrong = wrong_second_order(step)
        if wrong is not None:
            return wrong
    text = "the second derivative of every recorded operation is right"
    return _cut(cuts) or misbehaving(recording) or Blame("none", text, "")


def wrong_second_order(step: Step) -> Blame | None:
    """What is wrong with the gradient of a node's gradient, as a function of its inputs and the incoming gradients."""
    first = step.subject()
    try:
        outputs, _ = first.point()
        rng = np.random.default_rng(4)
        vectors = [
            wrap(np.asarray(rng.normal(size=s).astype(outputs[o]._array.dtype)))
            for o, s in zip(first.which, first.shapes)
        ]
        places = sorted(step.edges)

        def gradient(*args: Any) -> tuple[Any, ...]:
            given, starts = args[: len(first.arguments)], args[len(first.arguments) :]
            out = step.call(*given)
            wanted = [given[i] for i in places]
            found = _traced_vjp([out[o] for o in first.which], wanted, starts)
            return tuple([wrap(np.zeros_like(w._array)) if g is None else g for g, w in zip(found, wanted)])

        total = len(first.arguments)
        second = Subject(Timed(gradient), [*first.arguments, *vectors], [*places, *range(total, total + len(vectors))])
        second.point()
        weights = _weights(np.ones(second.base.size))
        with Recording() as recording:
            outputs, _ = second.call()
        cuts = recording.cuts(outputs)
        analytic = np.array([second.joined(second.vjp(second.split(w))) for w in weights])
        found = _compared(second, weights, analytic.reshape(len(weights), -1))
    except Exception as error:
        return _blame(step, "second order", f"it raised {type(error).__name__}: {error}") if _is_custom(step) else None
    if found.agrees:
        return None
    blame = _blame(step, "second order", _seen(found))
    if cuts:
        blame.detail += (
            f"; {described(cuts[0])} at {cuts[0].site} cuts the path: first derivatives do not need it, second do"
        )
    elif _is_custom(step) and (kept := _computed_in_forward(step.entry)):
        blame.detail += (
            f"; it keeps what its forward computed ({', '.join(kept)}), and that is a constant in second derivatives: keep "
            "inputs or outputs and compute the rest from them in backward, or return it as one more output"
        )
    if _is_custom(step) and hasattr(step.entry.node.function._backward(), "once_differentiable"):  # type: ignore[union-attr]
        blame.detail = (
            "its backward is marked with @once_differentiable, and has no derivative: check with order=1, or compute it with "
            "operations that can be differentiated, and take the mark off"
        )
    elif _is_custom(step):
        blame.detail += ". If nobody needs second derivatives, mark backward with @once_differentiable: they raise then"
    return blame


def _computed_in_forward(entry: Entry) -> list[str]:
    """What a custom Function's call keeps that is neither an input nor an output."""
    node: Any = entry.node
    held = {f"saved tensor {i}": t for i, t in enumerate(node.saved_tensors)}
    held |= {f"ctx.{name}": value for name, value in vars(node).items()}
    given = [t._array for t in (*(entry.inputs or ()), *(entry.outputs or ())) if isinstance(t, _runtime.Tensor)]
    return [
        name
        for name, t in held.items()
        if isinstance(t, _runtime.Tensor)
        and t._array.dtype.kind == "f"
        and not t.requires_grad
        and not any([np.may_share_memory(t._array, array) for array in given])
    ]


def _traced_vjp(outputs: Sequence[Any], wanted: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
    chosen = [(o, s) for o, s in zip(outputs, starts) if o.requires_grad]
    if not chosen:
        return [None] * len(wanted)
    return list(grad([o for o, _ in chosen], wanted, [s for _, s in chosen], create_graph=True, allow_unused=True))


# -- properties --------------------------------------------------------------------------------------------------------
def blame_writing(subject: Subject) -> Blame | None:
    """A call that writes into an argument, though it does not show at the point: what is written there is what was there."""
    moved = Subject(subject.fn, subject.arguments, subject.variables, subject.parameters)
    moved.arrays = [moved_by(a, subject.scales(v)) for v, a in enumerate(subject.arrays)]
    try:
        found = blame_property(moved, "mutation")
    except Exception:
        return None
    return found if found is not None and found.kind == "write" else None


def blame_property(subject: Subject, name: str) -> Blame | None:
    """What breaks a property: a call that writes into an argument, or a custom Function's backward."""
    arguments = [wrap(a) for a in subject.arrays[: len(subject.variables)]]
    given = {i: t.requires_grad_() for i, t in zip(subject.variables, [wrap(t._array.copy()) for t in arguments])}
    every = [given.get(i, a) for i, a in enumerate(subject.arguments)]
    with Recording([t._array for t in given.values()]) as recording:
        subject.evaluations += 1
        outputs = tuple_of(subject.fn(*every))
    entry = recording.writer() if name == "mutation" else None
    if entry is not None:
        name = entry.name if entry.node is not None else f"{entry.op}()"
        return Blame("write", name, str(entry.site or ""), entry.site.source if entry.site else "")
    del outputs
    return misbehaving(recording, (name,)) or _hooked(subject, name) or only_custom(recording)


def _hooked(subject: Subject, name: str) -> Blame | None:
    """A hook that changes gradients, where they are not linear or not always the same."""
    if name not in ("linearity", "determinism"):
        return None
    with Recording() as recording:
        outputs, wanted = subject.call()
    return _hook(subject, recording, outputs, wanted)


# -- custom functions --------------------------------------------------------------------------------------------------
def misbehaving(recording: Recording, only: Sequence[str] = ()) -> Blame | None:
    """The first custom Function whose backward does what none may do, of these kinds (default: all)."""
    for entry in recording:
        if isinstance(entry.node, FunctionNode):
            for kind, text in misbehaviour(entry.node):
                if not only or kind in only:
                    backward = inspect.unwrap(entry.node.function._backward()).__code__
                    text += f"; its backward is at {backward.co_filename}, line {backward.co_firstlineno}"
                    return Blame("function", entry.name, str(entry.site or ""), text)
    return None


ALONE = "nothing wrong was seen in it alone, but it is the only custom Function here"


def only_custom(recording: Recording) -> Blame | None:
    """The one custom Function that a function calls, where nothing else is found."""
    entries = [entry for entry in recording if isinstance(entry.node, FunctionNode)]
    if len({entry.name for entry in entries}) != 1:
        return None
    return Blame("function", entries[0].name, str(entries[0].site or ""), ALONE)


def misbehaviour(node: Any) -> Iterator[tuple[str, str]]:
    """What a custom Function's backward does wrong besides its values: the property, and in words."""
    rng = np.random.default_rng(9)
    layouts = [None if i is None else i for i in (node.layout if node.several else [node.layout])]

    def draw() -> list[Any]:
        return [None if i is None else np.asarray(rng.normal(size=i[0]), i[1]) for i in layouts]

    def run(vectors: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        given = [None if v is None else wrap(v.copy()) for v in vectors]
        results = tuple_of(node.function._backward()(node, *given))
        return given, [r._array.copy() if isinstance(r, _runtime.Tensor) else r for r in results]

    v, w = draw(), draw()
    held = [t for t in (*node.saved_tensors, *vars(node).values()) if isinstance(t, _runtime.Tensor)]
    before = [t._array.copy() for t in held]
    with no_grad():
        given, first = run(v)
    if any([not np.array_equal(t._array, b, equal_nan=True) for t, b in zip(held, before)]):
        yield (
            "mutation",
            "its backward changes a value that was saved: a second backward gives something else; clone it",
        )
    if any([g is not None and not np.array_equal(g._array, x, equal_nan=True) for g, x in zip(given, v)]):
        yield "mutation", "its backward writes into the gradient it is given, which others hold: g * x, not g.mul_(x)"
    with no_grad():
        _, again = run(v)
        _, other = run(w)
        both = run([None if a is None else 2 * a - 3 * b for a, b in zip(v, w)])[1]
    if far_apart(again, first, 0.0):
        yield "determinism", "its backward, run again, gives another gradient"
    with enable_grad():
        _, recorded = run(v)
    if far_apart(recorded, first, 1e-6):
        yield "create_graph", "its backward gives another gradient while recording (create_graph=True)"
    expected = [None if a is None or b is None else 2 * a - 3 * b for a, b in zip(first, other)]
    terms = [np.abs(a).max(initial=0) for a in (*first, *other) if isinstance(a, np.ndarray)]
    precise = min([np.finfo(i[1]).eps for i in layouts if i is not None and i[1].kind == "f"], default=1e-16)
    if far_apart(both, expected, 2.0**12 * precise, max(terms, default=0)):
        yield "linearity", "its backward is not linear in the gradient it is given"
    for index, layout in zip(node.tensor_arguments, node.input_layouts):
        result = first[index] if index < len(first) else None
        if layout is not None and isinstance(result, np.ndarray) and result.dtype.itemsize < layout[1].itemsize:
            yield "dtype", f"its backward gives {result.dtype} for its argument {index} of {layout[1]}: digits are lost"


def far_apart(found: Sequence[Any], expected: Sequence[Any], tolerance: float, scale: float = 0.0) -> bool:
    """Whether arrays differ by more than a part of their size, or of *scale*."""
    for a, b in zip(found, expected):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            continue
        if a.shape != b.shape:
            return True
        if (
            np.isfinite(a).all()
            and np.isfinite(b).all()
            and np.abs(a - b).max(initial=0) > tolerance * np.abs(b).max(initial=scale)
        ):
            return True
    return False
