"""Properties of a right gradient beyond its values: each a function that says what is wrong, or nothing."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
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
from ._layouts import broadcasting, expanded, non_contiguous, scalars
from ._setting import Setting, array_of


def linearity(setting: Setting) -> str | None:
    """vjp(2 v - 3 w) = 2 vjp(v) - 3 vjp(w)."""
    subject, v = setting.subject, setting.vectors
    w = setting.draw()
    combined = [2 * a - 3 * b for a, b in zip(v, w)]
    both = subject.vjp(combined)
    alone = [array_of(g) for g in subject.vjp(w)]
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
    "dtype": dtype,
    "shape": shape,
    "linearity": linearity,
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
