"""Properties of a right gradient beyond its values: each a function that says what is wrong, or nothing."""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import no_grad
from .._runtime import wrap
from .._views import current_node
from ..autograd._differences import Array
from ..autograd._subject import Subject, tuple_of, vjp
from ..autograd.function import FunctionNode
from ..autograd.tape import Tape
from . import _rounding


class Setting:
    """What the properties look at: the function at a point, vectors for its outputs, and the gradients they give.

    Attributes
    ----------
    vectors : list of ndarray
        One for each output of floats.
    gradients : list of (ndarray or None)
        One for each variable.
    fast : bool
        Whether few evaluations may be made.
    regular : bool
        Whether the function is smooth at the point: no infinite slope, no edge of its domain.
    """

    def __init__(self, subject: Subject, seed: int, fast: bool) -> None:
        self.subject, self.fast, self.regular = subject, fast, True
        self.rng = np.random.default_rng(seed)
        self.unit = subject.precision.unit
        self.vectors = self.draw()
        self.gradients = [None if g is None else g._array.copy() for g in subject.vjp(self.vectors)]
        subject.backwards += 1

    def draw(self) -> list[Array]:
        """A random vector for each output."""
        outputs = self.subject.point()[0]
        return [
            self.rng.normal(size=s).astype(outputs[o]._array.dtype)
            for o, s in zip(self.subject.which, self.subject.shapes)
        ]

    def differ(
        self,
        found: Sequence[Any],
        expected: Sequence[Any],
        rounding: Callable[[], Sequence[float]] | None = None,
        factor: float = _rounding.UNITS,
    ) -> str | None:
        """In words, where gradients are not equal but for rounding.

        *rounding*, asked where they are not close as they are, says how far it moves each of them.
        """
        floors: Sequence[float] | None = None
        for place, (a, b) in enumerate(zip(found, expected)):
            a, b = _array(a), _array(b)
            if a is None and b is None:
                continue
            a = np.zeros_like(b) if a is None else a
            b = np.zeros_like(a) if b is None else b
            if a.shape != b.shape:
                return f"input {place}: shape {a.shape}, expected {b.shape}"
            far = distance(a, b, factor * self.unit)
            if far is not None and rounding is not None:
                floors = rounding() if floors is None else floors
                far = distance(a, b, factor * self.unit, floors[place])
            if far is not None:
                return f"input {place}: {far}"
        return None

    def rounding_of_call(
        self,
        call: Callable[[Sequence[Array]], tuple[Sequence[Any], Sequence[Any]]],
        arrays: Sequence[Array],
        vectors: Sequence[Array],
    ) -> list[float]:
        """The same where values are computed anew: *call* gives outputs and variables of these arrays."""

        def gradients(at: Sequence[Array]) -> list[Array]:
            outputs, wanted = call(at)
            self.subject.backwards += 1
            found = vjp(outputs, wanted, vectors)
            return [np.zeros(t._array.shape) if g is None else g._array.astype(float) for t, g in zip(wanted, found)]

        outputs, wanted = call(arrays)
        own = _rounding.of_gradients(outputs, wanted, vectors, self.unit)
        return [a + b for a, b in zip(own, _rounding.of_points(gradients, arrays, self.unit))]


def _array(value: Any) -> Any:
    return getattr(value, "_array", value)


def distance(a: Array, b: Array, tolerance: float, rounding: float = 0.0) -> str | None:
    """In words, how far two arrays are apart, if by more than the tolerance, a part of their largest values, and *rounding*."""
    dims, a, b = a.shape, a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if not a.size:
        return None
    limit = (
        tolerance * max(np.abs(b[np.isfinite(b)]).max(initial=0), np.abs(a[np.isfinite(a)]).max(initial=0)) + rounding
    )
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    apart[np.isnan(apart)] = np.inf
    worst = int(apart.argmax())
    if apart[worst] <= limit:
        return None
    return (
        f"at {[int(i) for i in np.unravel_index(worst, dims)]}: {float(a[worst]):.6g}, expected {float(b[worst]):.6g}"
    )


# -- the properties ----------------------------------------------------------------------------------------------------
def linearity(setting: Setting) -> str | None:
    """vjp(2 v - 3 w) = 2 vjp(v) - 3 vjp(w)."""
    subject, v = setting.subject, setting.vectors
    w = setting.draw()
    combined = [2 * a - 3 * b for a, b in zip(v, w)]
    both = subject.vjp(combined)
    alone = [_array(g) for g in subject.vjp(w)]
    subject.backwards += 2
    for place, (total, a, b) in enumerate(zip(both, setting.gradients, alone)):
        if total is None or a is None or b is None:
            continue
        scale = 2 * np.abs(a).max(initial=0) + 3 * np.abs(b).max(initial=0)
        with np.errstate(all="ignore"):
            apart = np.abs(total._array.astype(float) - (2 * a.astype(float) - 3 * b.astype(float)))
        limit = 2.0**12 * setting.unit * scale
        if np.isfinite(scale) and not (apart <= limit).all():
            floors = [_rounding.at_point(subject, x, sums=True)[place] for x in (combined, v, w)]
            limit += floors[0] + 2 * floors[1] + 3 * floors[2]
        if np.isfinite(scale) and not (apart <= limit).all():
            return (
                f"the gradient of input {place} is not linear in the gradient of the output: for vectors v and w, that of "
                f"2v - 3w differs from 2 of v - 3 of w by {apart.max():.3g}. Nothing but products with g and sums of them "
                "may depend on g: no constants are added, no g is squared or clipped"
            )
    return None


def determinism(setting: Setting) -> str | None:
    """Backward twice gives the same twice."""
    again = setting.subject.vjp(setting.vectors)
    setting.subject.backwards += 1
    found = setting.differ(again, setting.gradients, factor=0.0)
    if found:
        return (
            f"backward is not reentrant: run again from the same vectors it gives another gradient ({found}). Look for random "
            "numbers, counters, and values that backward itself changes, such as what ctx holds"
        )
    return None


def mutation(setting: Setting) -> str | None:
    """Inputs, saved values and incoming gradients are as they were."""
    subject = setting.subject
    for i, (given, original) in enumerate(zip(subject.point_given, subject.arguments)):
        if isinstance(given, _runtime.Tensor) and not _same(given._array, _point_value(subject, i, original)):
            return f"the function wrote into its argument {i}: clone it first, or write out of place"
    for node in nodes(subject):
        if isinstance(node, FunctionNode):
            found = _function_mutates(node, setting)
            if found:
                return found
    return None


def _point_value(subject: Subject, index: int, original: Any) -> Array:
    if index in subject.variables:
        return subject.arrays[subject.variables.index(index)]
    return np.asarray(original._array)


def _function_mutates(node: Any, setting: Setting) -> str | None:
    held = [t for t in (*node.saved_tensors, *vars(node).values()) if isinstance(t, _runtime.Tensor)]
    before = [t._array.copy() for t in held]
    given, _ = run_backward(node, setting.rng)
    starts = [None if g is None else g._array.copy() for g in given]
    run_backward(node, setting.rng, given)
    for t, value in zip(held, before):
        if not _same(t._array, value):
            return (
                f"{node.name()} changes a value that was saved for backward: a second backward would differ; clone it"
            )
    for g, value in zip(given, starts):
        if g is not None and value is not None and not _same(g._array, value):
            return (
                f"{node.name()} writes into the gradient it is given, which other nodes may hold: use g * x, not g.mul_(x), "
                "or clone g first"
            )
    return None


def run_backward(node: Any, rng: np.random.Generator, given: Any = None) -> tuple[list[Any], tuple[Any, ...]]:
    """What a custom Function's backward returns, before the engine fits it; and what it was given."""
    layouts = node.layout if node.several else [node.layout]
    if given is None:
        given = [None if i is None else wrap(np.asarray(rng.normal(size=i[0]), i[1])) for i in layouts]
    with no_grad():
        return given, tuple_of(node.function._backward()(node, *given))


def dtype(setting: Setting) -> str | None:
    """Each gradient has its input's dtype, and no Function computes it in a narrower one."""
    subject = setting.subject
    for place, (g, array) in enumerate(zip(setting.gradients, subject.arrays)):
        if g is not None and g.dtype != array.dtype:
            return f"the gradient of input {place} has dtype {g.dtype}, the input {array.dtype}"
    for node, index, result, layout in results_of_functions(setting):
        if result._array.dtype.kind != "f" or result._array.dtype.itemsize < layout[1].itemsize:
            return (
                f"{node.name()} returns a gradient of dtype {result._array.dtype} for its argument {index} of dtype "
                f"{layout[1]}: digits are lost; compute it in the argument's dtype"
            )
    return None


def shape(setting: Setting) -> str | None:
    """Each gradient has its input's shape."""
    for place, (g, array) in enumerate(zip(setting.gradients, setting.subject.arrays)):
        if g is not None and g.shape != array.shape:
            return f"the gradient of input {place} has shape {g.shape}, the input {array.shape}"
    for node, index, result, layout in results_of_functions(setting):
        if result._array.shape != layout[0] and result._array.size < int(np.prod(layout[0])):
            return (
                f"{node.name()} returns a gradient of shape {result._array.shape} for its argument {index} of shape "
                f"{layout[0]}"
            )
    return None


def results_of_functions(setting: Setting) -> Iterator[tuple[Any, int, Any, Any]]:
    """Of every custom Function's call: the node, and for each gradient it returns the argument's number and layout."""
    for node in nodes(setting.subject):
        if isinstance(node, FunctionNode):
            _, results = run_backward(node, setting.rng)
            for index, layout in zip(node.tensor_arguments, node.input_layouts):
                if layout is not None and index < len(results) and isinstance(results[index], _runtime.Tensor):
                    yield node, index, results[index], layout


def non_contiguous(setting: Setting) -> str | None:
    """Inputs with other strides give the same; a function that refuses them is left alone."""
    subject = setting.subject
    inputs = [wrap(spread(a)).requires_grad_() for a in subject.arrays[: len(subject.variables)]]
    if not inputs:  # nothing but parameters is varied
        return None
    how = "with non-contiguous inputs (the same values, other strides)"
    remedy = "look for views of flat memory and numpy()"
    try:
        with Tape() as tape:
            outputs = call_with(subject, inputs)
    except Exception:
        return None
    far = distance(subject.flat(outputs), subject.base, 2.0**10 * setting.unit)
    if far:
        (floor,) = _rounding.of_points(
            lambda at: [subject.flat(call_with(subject, [wrap(spread(a)) for a in at]))],
            subject.arrays[: len(inputs)],
            setting.unit,
        )
        far = distance(subject.flat(outputs), subject.base, 2.0**10 * setting.unit, floor)
    if far:  # as they may, of as_strided and of random numbers
        custom = any([isinstance(entry.node, FunctionNode) for entry in tape])
        return f"{how} the outputs differ ({far}): {remedy}" if custom else None
    gradients = vjp([outputs[o] for o in subject.which], inputs, setting.vectors)
    subject.backwards += 1

    def again(at: Sequence[Array]) -> tuple[list[Any], list[Any]]:
        others = [wrap(spread(a)).requires_grad_() for a in at]
        results = call_with(subject, others)
        return [results[o] for o in subject.which], others

    far = setting.differ(
        gradients,
        setting.gradients[: len(inputs)],
        lambda: setting.rounding_of_call(again, subject.arrays[: len(inputs)], setting.vectors),
    )
    return f"{how} the gradient differs ({far}): {remedy}" if far else None


def spread(array: Array) -> Array:
    """The same values with other strides."""
    wide = np.zeros((*array.shape[::-1], 2), array.dtype)
    wide[..., 0] = array.T
    return wide[..., 0].T


def call_with(subject: Subject, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs for these tensors as the variables that are arguments."""
    arguments = [wrap(a._array.copy()) if isinstance(a, _runtime.Tensor) else a for a in subject.arguments]
    for i, tensor in zip(subject.variables, inputs):
        arguments[i] = tensor
    subject.evaluations += 1
    return tuple_of(subject.fn(*arguments))


def _pair(setting: Setting, small: list[Any], large: list[Any], grow: Callable[[int, Any], Any]) -> str | None:
    """Where two calls give the same values, whether their gradients agree; calls that are refused are not compared."""
    subject = setting.subject

    def outputs_of(inputs: Sequence[Any]) -> list[Any]:
        return [t for t in call_with(subject, inputs) if _is_float(t)]

    def grown(inputs: Sequence[Any]) -> list[Any]:
        return outputs_of([grow(i, t) for i, t in enumerate(inputs)])

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = grown(small), outputs_of(large)
    except Exception:
        return None
    if len(first) != len(second) or any([a._array.shape != b._array.shape for a, b in zip(first, second)]):
        return None
    if any([distance(a._array, b._array, 2.0**10 * setting.unit) for a, b in zip(first, second)]):
        return None
    vectors = [setting.rng.normal(size=t._array.shape) for t in first]
    subject.backwards += 2
    try:
        found, expected = vjp(first, small, vectors), vjp(second, large, vectors)
    except Exception as error:
        if "invalid gradient" in str(error):  # of a custom Function: of the shape before broadcasting
            raise
        return None  # made for other shapes
    sums = [None if g is None else _sum_to(g._array, s._array.shape) for g, s in zip(expected, small)]
    if any([g is not None and g._array.shape != s._array.shape for g, s in zip(found, small)]):
        return None  # a row by itself, made for other shapes
    far = setting.differ(found, sums, lambda: _rounding_of_pair(setting, small, large, grown, outputs_of, vectors))
    return far if far and _same_beside(setting, small, large, grown, outputs_of) else None


def _same_beside(
    setting: Setting,
    small: Sequence[Any],
    large: Sequence[Any],
    first: Callable[..., list[Any]],
    second: Callable[..., list[Any]],
) -> bool:
    """Whether two calls give the same values at other points, too.

    At zeros different functions may; and at large numbers those whose values have a limit: one nearby, and one of moderate
    numbers.
    """
    sizes = [setting.rng.uniform(0.5, 1, t._array.shape).astype(t._array.dtype) for t in small]
    for moved in (
        [t._array + s for t, s in zip(small, sizes)],
        [np.copysign(s, t._array) for t, s in zip(small, sizes)],
    ):
        others = [np.broadcast_to(m, t._array.shape).copy() for m, t in zip(moved, large)]
        pairs = zip(first([wrap(m.copy()) for m in moved]), second([wrap(o) for o in others]))
        if any([distance(a._array.ravel(), b._array.ravel(), min(2.0**20 * setting.unit, 1e-3)) for a, b in pairs]):
            return False
    return True


def _rounding_of_pair(
    setting: Setting,
    small: Sequence[Any],
    large: Sequence[Any],
    grown: Callable[..., list[Any]],
    outputs_of: Callable[..., list[Any]],
    vectors: Sequence[Array],
) -> list[float]:
    """How far rounding moves the gradients of either call; those of the second one are summed."""

    def of(call: Callable[..., list[Any]], inputs: Sequence[Any]) -> list[float]:
        def made(arrays: Sequence[Array]) -> tuple[list[Any], list[Any]]:
            leaves = [wrap(a.copy()).requires_grad_() for a in arrays]
            return call(leaves), leaves

        arrays = [t._array for t in inputs]
        shaped = [
            v.reshape(t._array.shape) for v, t in zip(vectors, made(arrays)[0])
        ]  # of one element: of any dimensions
        return setting.rounding_of_call(made, arrays, shaped)

    return [
        a + b * t._array.size / max(s._array.size, 1)
        for a, b, s, t in zip(of(grown, small), of(outputs_of, large), small, large)
    ]


def _is_float(value: Any) -> bool:
    return isinstance(value, _runtime.Tensor) and value._array.dtype.kind == "f"


def _sum_to(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    lead = array.ndim - len(shape)
    with np.errstate(all="ignore"):
        array = array.sum(tuple(range(lead))) if lead else array
        axes = tuple([i for i, (a, s) in enumerate(zip(array.shape, shape)) if a != s])
        return np.asarray(array.sum(axes, keepdims=True) if axes else array)


def expanded(setting: Setting) -> str | None:
    """Expanded inputs, whose elements share memory, give the same as copies of them."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    wide = [a.ndim > 0 and a.shape[0] > 1 for a in arrays]
    if not any(wide):
        return None
    small = [wrap(a[:1].copy() if w else a.copy()).requires_grad_() for a, w in zip(arrays, wide)]
    large = [wrap(np.repeat(a[:1], len(a), 0) if w else a.copy()).requires_grad_() for a, w in zip(arrays, wide)]
    found = _pair(setting, small, large, lambda i, t: t.expand(*arrays[i].shape) if wide[i] else t)
    if found:
        return f"with expanded inputs the gradient differs from that of copies ({found}): look for in-place writes and strides"
    return None


def scalars(setting: Setting) -> str | None:
    """Inputs without dimensions give what inputs of one element give."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    if any([not a.size for a in arrays]) or all([not a.ndim for a in arrays]):
        return None
    small = [wrap(np.array(a.flat[0])).requires_grad_() for a in arrays]
    large = [wrap(np.array([a.flat[0]])).requires_grad_() for a in arrays]

    def called(inputs: Sequence[Any]) -> list[Any]:
        return list(call_with(setting.subject, inputs))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = called(small), called(large)
    except Exception:
        return None
    if not all([_is_float(t) and t._array.size == 1 for t in (*first, *second)]) or len(first) != len(second):
        return None
    if any([distance(a._array.ravel(), b._array.ravel(), 2.0**10 * setting.unit) for a, b in zip(first, second)]):
        return None
    try:
        found = vjp(first, small, [np.ones(t._array.shape) for t in first])
        expected = vjp(second, large, [np.ones(t._array.shape) for t in second])
    except Exception:  # a Function made for other shapes
        return None
    setting.subject.backwards += 2
    if any([g is not None and g._array.size != 1 for g in expected]):
        return None
    far = setting.differ(
        found,
        [None if g is None else g._array.reshape(()) for g in expected],
        lambda: _rounding_of_pair(setting, small, large, called, called, [np.ones(t._array.shape) for t in first]),
    )
    far = far if far and _same_beside(setting, small, large, called, called) else None
    return f"for inputs without dimensions the gradient differs from that for one element ({far})" if far else None


def broadcasting(setting: Setting) -> str | None:
    """An input that is broadcast has the gradient of its copy, summed."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    if len(arrays) < 2:
        return None
    for which, array in enumerate(arrays):
        if not array.ndim or array.shape[0] < 2:
            continue
        small = [wrap(a[:1].copy() if i == which else a.copy()).requires_grad_() for i, a in enumerate(arrays)]
        large = [
            wrap(np.repeat(a[:1], len(a), 0) if i == which else a.copy()).requires_grad_() for i, a in enumerate(arrays)
        ]
        found = _pair(setting, small, large, lambda i, t: t)
        if found:
            return (
                f"where input {which} is broadcast, the gradient is not that of its copy, summed ({found}): sum it over the "
                "dimensions that were broadcast"
            )
        if setting.fast:
            return None
    return None


def subsets(setting: Setting) -> str | None:
    """The gradient of an input does not depend on which others require grad."""
    subject = setting.subject
    count = len(subject.variables)
    if count < 2:
        return None
    chosen = list(itertools.chain.from_iterable([itertools.combinations(range(count), k) for k in range(1, count)]))
    limit = 2 if setting.fast else 14
    if len(chosen) > limit:
        picked = setting.rng.choice(len(chosen), limit, replace=False)
        chosen = [chosen[i] for i in sorted(picked)]

    def rounding() -> list[float]:
        return [_rounding.at_point(subject, setting.vectors)[i] for i in subset]

    for subset in chosen:
        outputs, wanted = subject.call(requiring=subset)
        found = vjp([outputs[o] for o in subject.which], [wanted[i] for i in subset], setting.vectors)
        subject.backwards += 1
        far = setting.differ(
            found,
            [setting.gradients[i] for i in subset],
            rounding,
        )
        if far:
            return (
                f"where only the inputs {list(subset)} require grad, the gradient differs ({far}; numbered within these): look "
                "at ctx.needs_input_grad and at what is saved for each"
            )
    return None


def create_graph(setting: Setting) -> str | None:
    """``create_graph=True`` gives the same gradient."""
    found = setting.subject.vjp(setting.vectors, create_graph=True)
    setting.subject.backwards += 1

    def rounding() -> list[float]:
        both = [_rounding.at_point(setting.subject, setting.vectors, recorded) for recorded in (False, True)]
        return [sum(floors) for floors in zip(*both)]

    far = setting.differ(found, setting.gradients, rounding)
    return f"with create_graph=True the gradient differs ({far}): backward depends on grad mode" if far else None


def finite(setting: Setting) -> str | None:
    """No NaN where inputs and outputs are finite and the function is smooth."""
    subject = setting.subject
    known = all([np.isfinite(a).all() for a in subject.arrays]) and np.isfinite(subject.base).all()
    if not known or not setting.regular:
        return None
    for place, g in enumerate(setting.gradients):
        if g is not None and not np.isfinite(g).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(g))[0]]
            return (
                f"the gradient of input {place} is {float(g[tuple(where)])} at {where}, of finite inputs and outputs: look for "
                "0 / 0, 0 * inf, and torch.where around a branch that is not finite"
            )
    return None


def cycles(setting: Setting) -> str | None:
    """Outputs that are dropped are freed at once."""
    subject = setting.subject
    outputs, wanted = subject.call()
    nodes = [current_node(t) for t in outputs if isinstance(t, _runtime.Tensor)]
    held = [weakref.ref(n) for n in nodes if n is not None]
    vjp([outputs[o] for o in subject.which], wanted, setting.vectors, several=False)
    subject.backwards += 1
    subject.given = ()
    del outputs, wanted, nodes
    alive = [r for r in held if r() is not None]
    if not alive:
        return None
    gc.collect()
    if any([r() is None for r in alive]):
        return (
            "the graph is in a reference cycle: it stays in memory until Python's cycle collector runs. Keep tensors with "
            "ctx.save_for_backward, not as attributes of ctx, and no outputs in closures that they hold"
        )
    return None


PROPERTIES: dict[str, Callable[[Setting], str | None]] = {
    "determinism": determinism,
    "mutation": mutation,
    "linearity": linearity,
    "dtype": dtype,
    "shape": shape,
    "finite": finite,
    "non_contiguous": non_contiguous,
    "expanded": expanded,
    "scalars": scalars,
    "broadcasting": broadcasting,
    "subsets": subsets,
    "create_graph": create_graph,
    "cycles": cycles,
}


COMPARED = ("linearity", "non_contiguous", "expanded", "scalars", "broadcasting", "subsets", "create_graph")
"""Those that compare gradients with one another, which must be the same each time."""


def nodes(subject: Subject) -> list[Any]:
    """The nodes of the point's outputs, oldest first."""
    roots = [t for t in subject.point()[0] if isinstance(t, _runtime.Tensor) and current_node(t) is not None]
    return [entry.node for entry in Tape(roots)] if roots else []


def _same(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
