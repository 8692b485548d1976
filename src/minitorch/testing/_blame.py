"""What is at fault when a gradient is wrong: every node's own gradient against finite differences of its own forward."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._engine import fitted
from .._modes import no_grad
from .._op import Row
from .._records import Cut
from .._runtime import raw, wrap
from .._tape import Outputs
from ..autograd._differences import Array
from ..autograd._subject import Subject, tuple_of
from ..autograd.function import FunctionNode
from ..autograd.tape import Entry
from ._compare import Comparison, compare
from ._patterns import pattern_of
from ._recording import Recording, described
from ._report import Blame

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
        return Subject(self.call, arguments, sorted(self.edges))


def blame_first_order(fn: Callable[..., Any], subject: Subject, found: Comparison | None) -> Blame | None:
    """What makes first derivatives wrong: the first node whose gradient is wrong, else a hook, else a call that cuts."""
    with Recording() as recording:
        outputs, _ = subject.call()
    cuts, left = recording.cuts(outputs)
    lost = found is not None and not found.analytic[:, found.wrong.any(axis=0)].any()
    if lost and cuts:
        return _cut(cuts)
    for step in steps(recording):
        wrong = wrong_gradient(step)
        if wrong is not None:
            return wrong
    for entry in recording:
        if entry.hooks:
            return Blame("hook", f"a hook on {entry.name} changes the gradient", str(entry.site or ""))
    if cuts or left:
        return _cut([*cuts, *left])
    if found is None:
        return Blame(
            "none",
            "every operation's gradient is that of its own forward: the function computes something else than the reference",
            "",
        )
    return Blame(
        "none",
        "every recorded operation's gradient is that of its own forward, and no call was seen that cuts the path: look for "
        "values that reach the function otherwise (globals, NumPy arrays that share memory, parameters)",
        "",
    )


def _cut(cuts: Sequence[Cut]) -> Blame:
    first, *others = list(dict.fromkeys([(described(c), str(c.site or "")) for c in cuts]))
    return Blame("cut", *first, f"also: {'; '.join([f'{n} at {s}' for n, s in others[:3]])}" if others else "")


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


def wrong_gradient(step: Step) -> Blame | None:
    """What is wrong with a node's gradient as that of its own forward; None if nothing is."""
    subject = step.subject()
    try:
        outputs, _ = subject.point()
        if not _reproduced(step, outputs):
            return None
        rng = np.random.default_rng(2)
        weights = _weights(rng, subject)
        analytic = np.zeros((len(weights), sum(subject.sizes)))
        places = [o for o in range(len(outputs)) if o in subject.which]
        for row, weight in enumerate(weights):
            vectors: list[Any] = [np.zeros(t._array.shape, t._array.dtype) for t in outputs]
            for place, part in zip(places, subject.split(weight)):
                vectors[place] = part.astype(outputs[place]._array.dtype)
            for start, array in zip(_starts(subject), own_gradients(step, vectors)):
                if array is not None:
                    analytic[row, start : start + array.size] = np.asarray(array, np.float64).ravel()
        found = _compared(subject, weights, analytic, rng)
    except Exception as error:
        return _blame(step, "node", f"it raised {type(error).__name__}: {error}") if _is_custom(step) else None
    if found.agrees:
        return None
    detail = _seen(found)
    if _stale(subject, weights, found):
        detail = (
            "a value that it saved was written since, unseen (through .data, detach() or NumPy): from the values it was given "
            f"its gradient would be right. Clone before writing. Now {detail}"
        )
    return _blame(step, "node", detail)


def _stale(subject: Subject, weights: Array, found: Comparison) -> bool:
    """Whether the operation, run again on what it was given, has a right gradient."""
    if found.numeric.shape != (len(weights), sum(subject.sizes)):
        return False
    fresh = np.array([subject.joined(subject.vjp(subject.split(w))) for w in weights])
    near = 2 * found.error + 1e-2 * np.maximum(np.abs(fresh), np.abs(found.numeric))
    return bool((np.abs(fresh - found.numeric) <= near)[found.wrong].all())


def _compared(subject: Subject, weights: Array, analytic: Array, rng: np.random.Generator) -> Comparison:
    """A comparison of sums of the outputs, along random directions where there are many inputs."""
    if len(weights) == subject.base.size and analytic.shape[1] <= 8 * _LARGE:
        return compare(subject, analytic)
    directions = None
    if analytic.shape[1] > 8 * _LARGE:
        directions = rng.normal(size=(analytic.shape[1], 6))
    return compare(_Summed(subject, weights, directions), analytic if directions is None else analytic @ directions)


class _Summed(Subject):
    """Weighted sums of a subject's outputs, as a function of its variables or of steps along directions."""

    def __init__(self, subject: Subject, weights: Array, directions: Array | None) -> None:
        arrays = subject.arrays if directions is None else [np.zeros(directions.shape[1], subject.arrays[0].dtype)]

        def fn(*tensors: Any) -> Any:
            given = [t._array for t in tensors]
            if directions is not None:
                moves = np.split(directions @ given[0].astype(np.float64), np.cumsum(subject.sizes)[:-1])
                given = [(a + m.reshape(a.shape)).astype(a.dtype) for a, m in zip(subject.arrays, moves)]
            return wrap(weights @ subject.values(given))

        super().__init__(fn, [wrap(a) for a in arrays], range(len(arrays)))
        subject.point()
        self.point()
        self.precision = subject.precision


def _weights(rng: np.random.Generator, subject: Subject) -> Array:
    size = subject.base.size
    return np.eye(size) if size <= _LARGE else rng.normal(size=(4, size))


def _starts(subject: Subject) -> list[int]:
    return [0, *[int(n) for n in np.cumsum(subject.sizes)[:-1]]]


def _reproduced(step: Step, outputs: Sequence[Any]) -> bool:
    """Whether running the operation again gives the recorded shapes (values may have been written since)."""
    layouts = step.entry.shapes
    return len(layouts) <= len(outputs) and all([tuple(s) == o._array.shape for s, o in zip(layouts, outputs)])


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
def blame_second_order(fn: Callable[..., Any], subject: Subject, gradients: Callable[..., Any]) -> Blame | None:
    """What makes second derivatives wrong: the first node whose gradient's gradient is wrong, else a call that cuts."""
    with Recording() as recording:
        subject.call()
    for step in steps(recording):
        wrong = wrong_second_order(step)
        if wrong is not None:
            return wrong
    with Recording() as recording:
        outputs, _ = Subject(gradients, subject.arguments, subject.variables, subject.parameters).call()
    cuts, left = recording.cuts(outputs)
    if cuts or left:
        return _cut([*cuts, *left])
    return Blame("none", "the second derivative of every recorded operation is right", "")


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
        second = Subject(gradient, [*first.arguments, *vectors], [*places, *range(total, total + len(vectors))])
        second.point()
        weights = _weights(rng, second)
        with Recording() as recording:
            outputs, _ = second.call()
        cuts = [cut for found in recording.cuts(outputs) for cut in found]
        analytic = np.array([second.joined(second.vjp(second.split(w))) for w in weights])
        found = _compared(second, weights, analytic.reshape(len(weights), -1), rng)
    except Exception as error:
        return _blame(step, "second order", f"it raised {type(error).__name__}: {error}") if _is_custom(step) else None
    if found.agrees:
        return None
    blame = _blame(step, "second order", _seen(found))
    if cuts:
        blame.detail += f"; {described(cuts[0])} at {cuts[0].site} cuts the path"
    return blame


def _traced_vjp(outputs: Sequence[Any], wanted: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
    from .._differentiate import grad

    chosen = [(o, s) for o, s in zip(outputs, starts) if o.requires_grad]
    if not chosen:
        return [None] * len(wanted)
    return list(grad([o for o, _ in chosen], wanted, [s for _, s in chosen], create_graph=True, allow_unused=True))
