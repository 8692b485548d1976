"""Forward mode: levels, and the observer that computes the tangents of results from those of inputs.

A level maps values (array objects, see ``_identity``) to their tangents, which are Tensors.  Levels nest: for each call, and
from the outermost level in, the tangents at a level are computed with only the levels outside it active, so that they carry
those levels' tangents.  The tangent of a view is the same view of the tangent, so that a write into either goes to both.
See docs/design/11-transforms.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _runtime
from ._identity import ByArray, Entry, forget
from ._inplace import SETTLED, write
from ._modes import Observer, active_levels, grad_on, levels, observers, set_grad_enabled
from ._op import Row, rows
from ._records import show
from ._runtime import has_tangent, made, raw, silent, traced, wrap
from ._tangent_quick import alone, followed, write_quick_way
from ._tangent_rules import Rule, fit, rule_of
from ._views import Edits, UnrecordedView, View, edits_of, path_to, take_step
from .ops import copies, subscript  # noqa: F401  (its rows)


class Level(ByArray):
    """One level: from arrays to their tangents, each laid out in memory as its array is.

    These are Tensors, or None for constants; until somebody asks, ``_tangent_quick`` keeps ndarrays.  Views are there only
    once they were asked for: ``_runtime.twin``, which wraps a view's array in another Tensor, asks.

    Attributes
    ----------
    outer : tuple of Level
        The levels that it stands in.
    find : function
        From the ``id`` of an array to its entry, or None.
    histories : bool
        Whether tangents have the histories that PyTorch's have by terms that are zero, so that ``autograd.grad`` gives zeros
        of them: where people ask it of what ``unpack_dual`` gives.  The transforms give zeros themselves.
    """

    __slots__ = ("find", "histories", "outer")

    def __init__(self, outer: tuple[Level, ...] = (), histories: bool = False) -> None:
        self.entries: dict[int, Entry] = {}
        self.outer, self.find, self.histories = outer, self.entries.get, histories

    def of(self, tensor: Any) -> Any:
        """A tensor's tangent, a Tensor; None for a constant."""
        entry = self.find(id(tensor._array))
        if entry is None:
            view = tensor._alias
            return None if view is None or view.parent is None else self._of_view(tensor, view)
        found = entry.value
        if found.__class__ is np.ndarray:
            entry.value = found = wrap(found)
        return found

    def _of_view(self, tensor: Any, view: View) -> Any:
        """The tangent of a view: the same view of that of what it was taken of; recorded where the view was."""
        base, steps = view.parent, [(view.row, view.params, view.index)]
        source = getattr(view, "source", None)
        if source is self:
            return None
        if source is not None and source is not base._array and source in self:
            base = wrap(source)
        elif source is not base._array and view.edits.reshaped:
            base, steps = path_to(tensor)
        above = self.of(base)
        if above is None or view.row is None:
            return None
        with computing(self.outer), set_grad_enabled(view.__class__ is not UnrecordedView):
            for step in steps:
                above = take_step(above, *step)
        self[tensor._array] = above
        return above

    def copy_of(self, tensor: Any) -> Any:
        """A copy of a tensor's tangent, which writes into the tensor do not reach; None for a constant."""
        tangent = self.of(tensor)
        if tangent is None:
            return None
        with computing(self.outer):
            return traced.clone(tangent)

    def constant_of(self, tensor: Any) -> Any:
        """Of a tensor that has no tangent, what it is a view of: as far as that has none either, such as a dual's primal."""
        while self.find(id(tensor._array)) is None and (view := tensor._alias) is not None and view.parent is not None:
            if getattr(view, "source", None) is self:
                break
            tensor = view.parent
        return tensor

    def put(self, tensor: Any, tangent: Any) -> None:
        """Give a tensor a tangent: the given one where it is laid out as the tensor is, else a copy that is."""
        if tangent._array.dtype is not tensor._array.dtype:
            with computing(self.outer):
                tangent = traced.to(tangent, dtype=tensor._array.dtype)
        if tangent._array.strides != tensor._array.strides and tangent._array.size > 1:
            with computing(self.outer):
                tangent = traced.ordered(tangent, take=Like(tensor._array))
        self[tensor._array] = tangent

    def result(self, out: Any, tangent: Any, used: list[Any]) -> None:
        """Give a result its tangent, a Tensor that a rule gave for it, as a value of its own."""
        array, given = out._array, tangent._array
        if given.dtype is not array.dtype:
            tangent = traced.to(tangent, dtype=array.dtype)
        if given.shape != array.shape:
            tangent = traced.expand(tangent, size=array.shape)
        given = tangent._array
        if given.strides != array.strides and given.size > 1:
            tangent = traced.ordered(tangent, take=Like(array))
        elif given.base is not None or any([tangent is t for t in used]):
            tangent = traced.clone(tangent)
        self[array] = tangent

    def raw_result(self, out: Any, given: Any, used: list[Any]) -> None:
        """The same, of an ndarray."""
        array = out._array
        if array.dtype.kind != "f":
            return
        if given.__class__ is not np.ndarray:
            given = np.asarray(given)
        if given.shape != array.shape:
            given = np.broadcast_to(given, array.shape)
        if given.dtype is not array.dtype or given.strides != array.strides:
            given = Like(array).ordered(given)
        elif given.base is not None or any([given is t for t in used]):
            given = given.copy("K")
        self[array] = given


class Like:
    """What lays arrays out as a given one."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def ordered(self, array: np.ndarray) -> np.ndarray:
        """A copy with the strides of the given array, in its dtype."""
        out = np.empty_like(self.array)
        out[...] = array
        return out


@contextmanager
def computing(at: tuple[Level, ...]) -> Iterator[None]:
    """Have operations compute tangents at these levels only."""
    token = levels.set(at)
    try:
        yield
    finally:
        levels.reset(token)


class Tangents(Observer):
    """The observer of forward mode: it stands among the observers while there is a level."""

    lifts = parts = pushes = True

    def direct(self, row: Any, out: Any, inputs: tuple[Any, ...], params: tuple[Any, ...]) -> None:
        if active_levels() and row.__class__ is Row:  # a custom Function sees to it itself
            if not row.quick:
                row.quick = True
                write_quick_way(row)
            show(row, out if out.__class__ is tuple else (out,), inputs, params)

    def active(self) -> bool:
        return bool(active_levels())

    def keeps(self) -> bool:
        """Where tangents are computed with operations that are recorded, or seen, themselves."""
        there = active_levels()
        return bool(there) and (grad_on() or len(there) > 1 or len(observers) > 1)

    def recorded(self, call: Any) -> None:
        row = call.row
        if row.__class__ is not Row:  # a choice, which is a constant; or a custom Function, which sees to it itself
            return
        rule = row.rule
        if rule is None and (rule := rule_of(row)) is None:
            return
        inputs = call.inputs
        for level in active_levels():
            if row.variadic:
                tangents = [level.of(t) for t in inputs]
            else:
                tangents = [level.of(inputs[place]) for place in rule.places]
            if any([t is not None for t in tangents]):
                _apply(level, rule, call, tangents)

    def writing(self, tensor: Any) -> None:
        has_tangent(tensor)  # the parts see the array in another Tensor

    def written(self, tensor: Any, out: Any) -> None:
        for level in active_levels():
            given, there = level.of(out), level.of(tensor)
            if given is None and there is None:
                continue
            with computing(level.outer):
                if there is None:
                    base = level.constant_of(tensor)
                    level.put(base, made(np.zeros_like(base._array)))  # which a trace may write batches into
                    there = level.of(tensor)
                if given is None:
                    there.zero_()
                else:
                    write(there, copies.copy, (given,), extent=SETTLED)

    def copied(self, tensor: Any, array: np.ndarray) -> None:
        for level in active_levels():
            there = level.copy_of(tensor)
            if there is not None:
                level[array] = there


_ALIAS = rows["alias"]
_forward = Tangents()
alone.append(_forward)
_lock = threading.Lock()
_count = 0


def _apply(level: Level, rule: Rule, call: Any, tangents: list[Any]) -> None:
    """Compute the tangents of a call's results at one level: on ndarrays where nobody looks and nothing is recorded."""
    outputs = call.outputs
    if rule.fits:
        with computing(level.outer):
            tangents = [
                None if t is None else fit(traced, t, outputs[0]._array, call.row.elementwise) for t in tangents
            ]
    if (
        not rule.recorded
        and not level.outer
        and (call.made is None or not grad_on())
        and len(observers) == 1
        and not any([t is not None and followed(t) for t in tangents])
    ):
        given = [None if t is None else t._array for t in tangents]
        result = [out._array for out in outputs]
        found = silent(
            rule.function,
            raw,
            given,
            [t._array for t in call.inputs],
            call.params,
            result if call.row.outputs else result[0],
        )
        for out, tangent in zip(outputs, found if call.row.outputs else (found,)):
            if tangent is not None and out._array.dtype.kind == "f":
                level.raw_result(out, tangent, given)
        return
    with computing(level.outer):
        found = _by_rule(rule, call, tangents)
        if level.histories and call.made is not None and grad_on() and any([t is None for t in tangents]):
            found = _with_histories(found, rule, call, tangents)
        for out, tangent in zip(outputs, found):
            if tangent is not None and out._array.dtype.kind == "f":
                if rule.kind == "view" and out._alias is not None and out._alias.parent is not None:
                    level[out._array] = tangent
                else:
                    level.result(out, tangent, tangents)


def _by_rule(rule: Rule, call: Any, tangents: list[Any]) -> tuple[Any, ...]:
    """What the rule gives for tangents that are Tensors: one of each output."""
    if call.row.outputs:
        outputs: tuple[Any, ...] = rule.function(traced, tangents, call.inputs, call.params, call.outputs)
        return outputs
    return (rule.function(traced, tangents, call.inputs, call.params, call.outputs[0]),)


def _with_histories(found: tuple[Any, ...], rule: Rule, call: Any, tangents: list[Any]) -> tuple[Any, ...]:
    """The same tangents, with the histories that they would have if the inputs without tangents had zeros, as in PyTorch.

    So what is multiplied with them gets zeros for a gradient.
    """
    if all([t is None or t.requires_grad for t in found]) or rule.kind in ("linear", "view"):
        return found
    zeros = [
        made(np.zeros_like(call.inputs[place]._array)) if t is None else None for place, t in zip(rule.places, tangents)
    ]
    nowhere = wrap(np.empty(0, np.int64))
    return tuple(
        [
            t if t is None or term is None or not term.requires_grad else t + traced.sum_all(traced.take(term, nowhere))
            for t, term in zip(found, _by_rule(rule, call, zeros))
        ]
    )


# -- levels ------------------------------------------------------------------------------------------------------------
def enter(histories: bool = False) -> Level:
    """Enter a level inside those that are active; tangents are computed from now on, until ``leave``."""
    global _count
    _lock.acquire()  # in half the time that a block takes
    if not _count:
        observers.insert(sum([not observer.last for observer in observers]), _forward)
    _count += 1
    _lock.release()
    outer = active_levels()
    level = Level(outer, histories)
    levels.set((*outer, level))
    return level


def leave(level: Level) -> None:
    """Leave a level: its tangents are gone."""
    global _count
    levels.set(level.outer)
    level.entries.clear()
    _lock.acquire()
    _count -= 1
    if not _count:
        observers.remove(_forward)
    _lock.release()


def dual(level: Level, primal: Any, tangent: Any) -> Any:
    """A view of a tensor that has this tangent; a constant at this level where that is None."""
    alias: Any = primal._alias
    edits: Edits | None
    if alias is None:
        edits = edits_of(primal)
    elif alias.parent is None:
        edits = alias if alias.__class__ is Edits else None
    else:
        edits = alias.edits if alias.__class__ is View and alias.seen == alias.edits.count else None
    if primal._node is None and edits is not None and not level.outer and len(observers) == 1:
        # as the row does, where nobody looks and nothing is recorded
        out = _runtime.new_tensor()
        out._array = array = primal._array.view()
        out._node, out._layout = None, primal._layout
        out._alias = view = View() if grad_on() else UnrecordedView()
        view.edits = edits
        view.parent = primal
        view.row = _ALIAS
        view.params = ()
        view.index = None
        view.seen = edits.count
        if tangent is None:
            view.source = level
            return out
    else:
        with computing(level.outer):
            out = _ALIAS.call(primal)
        array = out._array
    if tangent is not None:
        given = tangent._array
        if given.dtype is not array.dtype or (given.strides != array.strides and given.size > 1):
            level.put(out, tangent)
            return out
    key = id(array)
    entries = level.entries
    entries[key] = entry = Entry(array, forget)
    entry.home, entry.key, entry.value = entries, key, tangent
    return out


def tangent_text(tensor: Any) -> list[str]:
    """What a tensor's text says of its tangent at the innermost level, if it has one."""
    there = active_levels()
    tangent = there[-1].of(tensor) if there else None
    return [] if tangent is None else [f"tangent={tangent}"]
