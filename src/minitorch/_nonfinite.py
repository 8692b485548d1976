"""Where infinities and NaNs come from: the first operation, forward or backward, that makes one of finite values.

In anomaly mode an observer looks at each call.  What is not finite has an *origin*: the call that made it of finite inputs,
or the call that first took it from outside.  Results hand theirs on, as a note on the node or, without a node, on the tensor.
In a backward pass gradients do the same along the edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _runtime
from ._modes import Observer
from ._nonfinite_causes import usual_cause
from ._records import name_of, notes_of, op_name
from ._runtime import raw, unsaved
from ._sites import site_of
from ._tape import AccumulateGrad, Node, Output, extras_of


class NonfiniteError(RuntimeError):
    """An infinity or a NaN was made of finite values.

    Attributes
    ----------
    origin : Origin or None
        Where and of what.
    """

    origin: Origin | None = None


class Operand:
    """What an operation read, in figures: the values themselves may be gone by the time that somebody asks."""

    __slots__ = ("dtype", "finite", "high", "low", "name", "shape", "value", "zeros")

    def __init__(self, name: str, array: np.ndarray, at: tuple[int, ...] | None, joint: tuple[int, ...]) -> None:
        self.name, self.shape, self.dtype = name, array.shape, array.dtype
        known = array[np.isfinite(array)] if array.dtype.kind == "f" else array.reshape(-1)
        self.finite = bool(known.size == array.size)
        self.low: Any = known.min() if known.size else None
        self.high: Any = known.max() if known.size else None
        self.zeros = int((array == 0).sum())
        self.value = None
        if at is not None and len(at) == len(joint) and array.size:
            try:
                self.value = np.broadcast_to(array, joint)[at]
            except ValueError:  # it does not go element by element
                self.value = None

    def __str__(self) -> str:
        text = f"{self.name}: {self.shape} {self.dtype}"
        if self.low is not None:
            text += f", {'' if self.finite else 'finite '}values from {self.low:.6g} to {self.high:.6g}"
            if self.zeros:
                text += f", {self.zeros} zero{'s' * (self.zeros != 1)}"
        if self.value is not None:
            text += f"; {self.value:.6g} at that place"
        return text


class Origin:
    """The call that made an infinity or a NaN, or first took one.

    Attributes
    ----------
    op : str
        The operation, or the node whose backward it was.
    mark : tuple or None
        Where the forward call was made.
    made : bool
        Whether the inputs were finite (or, for a NaN, had no NaN).
    nan : bool
        Whether there are NaNs, not only infinities.
    where : list of tuple of int
        The first few places.
    count, size : int
        How many elements are not finite, of how many.
    operands : list of Operand
        What the operation read.
    cause : str or None
        Why, where that is known.
    since : Origin or None
        Where the infinities came from that it read.
    """

    def __init__(self, op: str, mark: Any, out: np.ndarray, inputs: list[tuple[str, np.ndarray]], what: str) -> None:
        bad = ~np.isfinite(out)
        self.op, self.mark, self.made = op, mark, True
        self.nan = bool(np.isnan(out).any())
        self.where = [tuple(int(i) for i in index) for index in np.argwhere(bad)[:3]]
        self.count, self.size = int(bad.sum()), out.size
        self.what = what
        at = self.where[0] if self.where else None
        self.operands = [Operand(name, array, at, out.shape) for name, array in inputs]
        self.cause = usual_cause(op, self, dict(inputs), out)
        self.since: Origin | None = None

    @property
    def first(self) -> Origin:
        """The first of the calls that led here of which one can be sure that it was not meant."""
        return self.since.first if self.since is not None and self.since.made else self

    @property
    def site(self) -> Any:
        """The user's line."""
        return site_of(self.mark)

    def story(self) -> str:
        """All of it, as text of several lines."""
        first = self.first
        kind = "nan" if first.nan else "infinite values"
        count = f"{first.count} of {first.size} elements" if first.size > 1 else "its only element"
        place = f", first at {first.where[0]}" if first.size > 1 and first.where else ""
        finite = all([operand.finite for operand in first.operands])
        made = ("of finite inputs" if finite else "of inputs without nan") if first.made else "which it was given"
        lines = [f"{first.what} {first.op} gave {kind} in {count}{place}, {made}"]
        if first.site is not None:
            lines.append(f"  at {first.site}" + (f": {first.site.source}" if first.site.source else ""))
            if first.site.module:
                lines[-1] += f" (module {first.site.module})"
        lines += [f"  {operand}" for operand in first.operands]
        if first.cause:
            lines.append(f"  usual cause: {first.cause}")
        if first is not self:
            site = self.site
            lines.append(
                f"  it became {'nan' if self.nan else 'infinite'} in {self.op}" + (f", {site}" if site else "")
            )
        return "\n".join(lines)

    def error(self) -> NonfiniteError:
        """As an exception."""
        error = NonfiniteError(self.story())
        error.origin = self.first
        return error


# -- forward -----------------------------------------------------------------------------------------------------------
def origin_of(tensor: Any) -> Origin | None:
    """Where the infinities and NaNs of a tensor came from, as far as that was recorded."""
    node = tensor._node
    if node is None:
        notes = notes_of(tensor)
        return notes[2] if len(notes) > 2 else None
    if node.__class__ is Output:
        node = node.edges[0]
    return None if node.extras is None else node.extras.origin


class Births(Observer):
    """The observer: notes the origin of every result that is not finite."""

    def recorded(self, call: Any) -> None:
        note_origin(call)


def note_origin(call: Any) -> Origin | None:
    """Note where what is not finite in a call's outputs came from; that, if it is this call."""
    origin, new = examined(call)
    if origin is None:
        return None
    if call.node is not None:
        extras_of(call.node).origin = origin
    else:
        for tensor in call.outputs:
            tensor._notes = (*notes_of(tensor)[:2], origin)
    return origin if new else None


def examined(call: Any) -> tuple[Origin | None, bool]:
    """The origin of what is not finite in a call's outputs (None where all is), and whether it is this call."""
    out = next((t._array for t in call.outputs if has_nonfinite(t._array)), None)
    if out is None:
        return None, False
    tensors = [t for t in call.inputs if isinstance(t, _runtime.Tensor)]
    if call.in_place:  # what it wrote over is gone
        tensors = tensors[1:]
    bad = [t for t in tensors if has_nonfinite(t._array)]
    known = [origin for t in bad if (origin := origin_of(t)) is not None]
    nans = np.isnan(out).any()
    if nans and any([np.isnan(t._array).any() for t in bad]):
        inherited = next((origin for origin in known if origin.nan), None)
    else:
        inherited = known[0] if known and not nans else None
    if inherited is not None:
        return inherited, False
    names = _input_names(call.row, len(call.inputs))
    inputs = [
        (name_of(t) or name, t._array)
        for name, t in zip(names, call.inputs)
        if isinstance(t, _runtime.Tensor) and t._array is not None and not (call.in_place and t is call.outputs[0])
    ]
    node = call.node
    mark = node.extras.mark if node is not None and node.extras is not None else notes_of(call.outputs[0])[0]
    origin = Origin(op_name(call.row), mark, out, inputs, "forward:")
    origin.made = not _asked_for(call) and not (any([np.isnan(t._array).any() for t in bad]) if nans else bool(bad))
    origin.since = next((o for o in known if not o.nan), None)
    return origin, True


def _asked_for(call: Any) -> bool:
    """Whether the call was given an infinity or a NaN as a number: to fill in, say."""
    return any([isinstance(p, float) and not np.isfinite(p) for p in (*call.params, *call.inputs)])


def _input_names(row: Any, count: int) -> list[str]:
    names = getattr(row, "inputs", None)
    if names is None or getattr(row, "variadic", False) or len(names) < count:
        return [f"input {i}" for i in range(count)]
    return ["input" if name == "self" else name for name in names]


def has_nonfinite(array: Any) -> bool:
    """Whether an array that is known has an infinity or a NaN."""
    return array is not None and array.dtype.kind == "f" and not np.isfinite(array).all()


# -- backward ----------------------------------------------------------------------------------------------------------
class GradientBirths:
    """Of one backward pass: where the infinities and NaNs in gradients came from."""

    def __init__(self) -> None:
        self.coming: dict[Node, Origin] = {}

    def look(self, node: Node, gradient: Any, saved: list[tuple[str, Any]], results: Any, F: Any) -> Origin | None:
        """Note where a node's results go on to that are not finite; the origin of NaNs among them, if there are any."""
        found = None
        edges = node.edges
        incoming = self.coming.pop(node, None)
        for edge, result in zip(edges, results):
            array = result if F is raw or result is None else result._array
            if edge is None or not isinstance(array, (np.ndarray, np.generic)) or not has_nonfinite(np.asarray(array)):
                continue
            array = np.asarray(array)
            origin = self._origin(node, gradient, saved, array, incoming)
            target = edge.edges[0] if edge.__class__ is Output else edge
            if target.__class__ is not AccumulateGrad:
                kept = self.coming.get(target)
                self.coming[target] = origin if kept is None or (origin.nan and not kept.nan) else kept
            if origin.nan or np.isnan(array).any():
                found = found or origin
        return found

    def _origin(
        self, node: Node, gradient: Any, saved: list[tuple[str, Any]], array: np.ndarray, incoming: Any
    ) -> Origin:
        nan = bool(np.isnan(array).any())
        if incoming is not None and (incoming.nan or not nan):
            return incoming
        if node.extras is not None and node.extras.origin is not None:  # its own result was not finite
            return node.extras.origin
        arrays = [(name, value) for name, value in saved if has_nonfinite(value)]
        forward = None
        for edge in node.edges:
            below = edge.edges[0] if edge.__class__ is Output else edge
            if forward is None and below is not None and below.extras is not None:
                forward = below.extras.origin
        if arrays and forward is not None:
            return forward
        inputs = [("gradient", gradient), *saved] if isinstance(gradient, np.ndarray) else saved
        mark = None if node.extras is None else node.extras.mark
        origin = Origin(node.name(), mark, array, [(n, a) for n, a in inputs if isinstance(a, np.ndarray)], "backward:")
        origin.made = not arrays
        origin.since = incoming
        return origin


def saved_arrays(node: Any) -> list[tuple[str, Any]]:
    """The arrays that a row's node saved, before it lets go of them."""
    row = getattr(node, "row", None)
    if row is None:
        return []
    found = []
    for name in row.kept:
        value = getattr(node, f"saved_{name}")
        if value is not None and value is not unsaved and not isinstance(value, (tuple, list)):
            array = value if isinstance(value, np.ndarray) else value._array
            label = None if isinstance(value, np.ndarray) else name_of(value)
            found.append((label or ("input" if name == "self" else name), array))
    return found
