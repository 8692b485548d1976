"""What is noted while recording is on: where nodes were made, where values left the graph, what became of gradients.

``autograd.record_sites`` switches it on; nothing is noted otherwise.  A note belongs to what it is about (a node, a tensor, a
leaf) and is freed with it; what has no such place is kept by the ``record_sites`` object itself.
"""

from __future__ import annotations

import itertools
import linecache
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ._errors import public_name
from ._extras import Extras
from ._modes import Observer, grad_on, inference_mode_on, mode_place, observers
from ._sites import PACKAGE, Site, calls_at, getframe, is_theirs, mark_at, module_path, site_of, stacks, theirs
from ._tape import AccumulateGrad, Node, Output, extras_of, next_position
from ._views import root_of

_MOST = 16
"""How many cuts are remembered for one value."""
_MOST_OF_PASS = 1000
"""How many for one backward pass."""

next_moment = itertools.count(1).__next__
"""The time of what is noted: what came later has a larger number."""


# -- what left the graph -----------------------------------------------------------------------------------------------
class Positions:
    """A set of positions, as the runs of numbers that follow each other: of a graph's nodes, these are few."""

    __slots__ = ("_first", "_last")

    def __init__(self, positions: list[int]) -> None:
        found = np.unique(np.array(positions, np.int64))
        gaps = np.flatnonzero(np.diff(found) > 1)
        self._first = found[np.concatenate([[0], gaps + 1])] if found.size else found
        self._last = found[np.concatenate([gaps, [-1]])] if found.size else found

    def __contains__(self, position: int) -> bool:
        run = int(np.searchsorted(self._first, position, "right")) - 1
        return run >= 0 and bool(position <= self._last[run])

    def __len__(self) -> int:
        return int((self._last - self._first + 1).sum())


class Cut:
    """Where a value left the graph: no gradient goes back beyond it.

    Attributes
    ----------
    kind : str
        ``detach``, ``data``, ``item``, ``tolist``, ``numpy``, ``no_grad``, ``inference_mode``; or the name of an operation that
        has no derivative, such as ``argmax``, or that takes values only, such as ``tensor``; of a custom Function that marks a
        result as non-differentiable, ``Name.apply``.
    mark : tuple or None
        Where: see ``site``.
    name : str or None
        What the user called the tensor that was cut off.
    shape : tuple of int or None
        The tensor's shape.
    reached : Positions
        Of the nodes that led to the tensor.
    before : tuple of Cut
        The cuts that its values had come through.
    certain : bool
        False where numbers or an array came back as a tensor: the values may be those that left before, or may not.
    loses : bool
        Whether a derivative is lost: False of an operation that has none.
    moment : int
        When.
    """

    __slots__ = (
        "_bare",
        "before",
        "certain",
        "kind",
        "loses",
        "mark",
        "mode_mark",
        "moment",
        "name",
        "reached",
        "roots",
        "shape",
    )

    def __init__(
        self, kind: str, mark: Any, tensors: Any, before: Any = (), certain: bool = True, loses: bool = True
    ) -> None:
        self.kind, self.mark, self.certain, self.loses, self.moment = kind, mark, certain, loses, next_moment()
        self.mode_mark = mode_place.get()
        self.name = next((name for t in tensors if (name := name_of(t))), None)
        self.shape = tuple(tensors[0]._array.shape) if tensors else None
        nodes = [t._node for t in tensors if t._node is not None]
        self.roots = tuple([node.position for node in nodes])
        earlier = (*before, *[cut for t in tensors for cut in notes_of(t)[1]])
        self.reached, found = history(nodes)
        self._bare: Cut | None = None
        chain = dict.fromkeys([c for cut in (*earlier, *found) for c in (*cut.before, cut.bare)])
        self.before: tuple[Cut, ...] = tuple(chain)[-_MOST:]
        if not _cut:
            _cut.append(None)

    @property
    def bare(self) -> Cut:
        """The same without the cuts before it: so that a long row of cuts is not kept by its last one."""
        if not self.before:
            return self
        if self._bare is None:
            self._bare = bare = object.__new__(Cut)
            for slot in Cut.__slots__:
                setattr(bare, slot, getattr(self, slot))
            bare.before, bare._bare = (), None
        return self._bare

    @property
    def site(self) -> Site | None:
        """The user's line."""
        return site_of(self.mark)

    @property
    def mode_site(self) -> Site | None:
        """Where recording was switched off: the line of the ``with`` statement, the call, or the decorator."""
        if self.kind not in _MODES or self.mode_mark is None or self.mode_mark[0].co_filename.startswith(PACKAGE):
            return None
        site = site_of((*self.mode_mark, ""))
        if site is not None and self.mode_mark[1] is None:  # the decorators of a function: which of them
            line = site.line
            while (text := linecache.getline(site.file, line).strip()).startswith("@"):
                if self.kind in text or "set_grad_enabled" in text:
                    return site._replace(line=line)
                line += 1
        return site

    def hides(self, node: Node) -> bool:
        """Whether this cut is why gradients do not go back to *node*: it led there."""
        return self.own(node) or any([node.position in cut.reached for cut in self.before])

    def own(self, node: Node) -> bool:
        """Whether the tensor that was cut off was computed from *node*."""
        return node.position in self.reached

    def __repr__(self) -> str:
        return f"<Cut by {self.kind}, {self.site}>"


_MODES = frozenset(["no_grad", "inference_mode"])

_known: dict[tuple[int, ...], tuple[Positions, tuple[Cut, ...]]] = {}
"""The latest histories by the roots' positions: calls that follow each other often cut off the same value."""


def history(roots: list[Any]) -> tuple[Positions, tuple[Cut, ...]]:
    """Of what these nodes lead to: all positions, and the cuts that were met on the way."""
    key = tuple([root.position for root in roots])
    if key in _known:
        return _known[key]
    seen: set[Any] = {None}
    stack, cuts = list(roots), {}
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.edges)
            if node.extras is not None:
                cuts.update(dict.fromkeys(node.extras.cuts))
    seen.discard(None)
    found = Positions([node.position for node in seen]), tuple(cuts)[-_MOST_OF_PASS:]
    while len(_known) >= 8:
        del _known[next(iter(_known))]
    _known[key] = found
    return found


_NOTHING: tuple[Any, tuple[Cut, ...]] = (None, ())


def notes_of(tensor: Any) -> tuple[Any, tuple[Cut, ...]]:
    """Of a tensor without history: the mark of where it was made, and the cuts that its values came through."""
    notes: tuple[Any, tuple[Cut, ...]] = getattr(tensor, "_notes", _NOTHING)
    return notes


def name_of(tensor: Any) -> str | None:
    """What the user called a tensor, if anything; a parameter of a model that ran, its name there."""
    name = tensor.__dict__.get("name")
    if name is None and tensor._node.__class__ is AccumulateGrad:
        name = name_of_leaf(tensor._node)
    return name


def name_of_leaf(node: AccumulateGrad) -> str | None:
    """The same by a leaf's node."""
    name: str | None = node.attributes.get("name")
    return name if name is not None or node.extras is None else node.extras.names.get(0)


# -- recording ---------------------------------------------------------------------------------------------------------
class Call:
    """One call of a row, as observers see it: the row, its inputs and constants, its outputs, the node it made."""

    __slots__ = ("in_place", "inputs", "made", "outputs", "params", "row")

    def __init__(self, row: Any, inputs: Any, params: Any, outputs: Any, made: Any, in_place: bool) -> None:
        self.row = row
        self.inputs = inputs
        self.params = params
        self.outputs = outputs
        self.made = made
        self.in_place = in_place

    @property
    def node(self) -> Any:
        """The node that the call made, if it made one."""
        made = self.made
        if made.__class__ is Output:
            return made.edges[0]
        return None if made.__class__ is AccumulateGrad else made


class Marker(Observer):
    """Stands among the observers while recording is on, so that ``observe`` is called: marks must cost little, so that no Call
    is made for them."""

    def active(self) -> bool:
        return False


marker = Marker()


recordings: list[Any] = []
"""The recordings that are on."""
_cut: list[None] = []
"""Not empty once a value has left the graph while recording was on."""


class Recording:
    """What a recording keeps beside the notes that belong to nodes, tensors and leaves.

    Attributes
    ----------
    left : deque of Cut
        Where values became Python's or NumPy's.
    passes : deque of Pass
        The backward passes: see ``_passes``.
    steps : deque of Step
        The optimizers' steps.
    stopped : deque of (Fade, Positions)
        Operations that gave an input no gradient at all, and what that input leads to: see ``_fades``.
    """

    def __init__(self, stacks: bool = False) -> None:
        self.left: deque[Cut] = deque(maxlen=1000)
        self.passes: deque[Any] = deque(maxlen=100)
        self.steps: deque[Any] = deque(maxlen=100)
        self.stopped: deque[Any] = deque(maxlen=100)
        self.until: int | None = None  # the position at which it ended
        self._wants_stacks = stacks

    def start(self) -> None:
        """Switch it on."""
        if not recordings:
            observers.insert(0, marker)
        recordings.append(self)
        _ended.clear()
        if self._wants_stacks:
            stacks.append(self)

    def stop(self) -> None:
        """Switch it off; again, or of one that is off: nothing happens."""
        if self in recordings:
            recordings.remove(self)
            self.until = next_position()
            if self in stacks:
                stacks.remove(self)
            if not recordings:
                observers.remove(marker)
                _known.clear()
            _ended[:] = [self]


_ended: list[Recording] = []


def known_recordings() -> list[Recording]:
    """The recordings that are on, or else the one that ended last: what ``explain`` reads."""
    return list(recordings) or list(_ended)


def observe(row: Any, out: Any, inputs: tuple[Any, ...], params: tuple[Any, ...]) -> None:
    """Mark a call where recording is on; show it to the observers that are active, whose own operations are not shown.

    A mark goes to the call's node or, where there is none, to its results, with what they were cut from.
    """
    if recordings:
        frame: Any = getframe(2)  # who called the recording function
        while (code := frame.f_code).co_filename not in theirs:  # as mark_at, without a call
            if is_theirs(code.co_filename) or frame.f_back is None:
                break
            frame = frame.f_back
        mark = (code, frame.f_lasti, module_path(), calls_at(frame)) if stacks else (code, frame.f_lasti, module_path())
        cuts = cuts_of(inputs) if _cut else ()
        node = out[0]._node if out.__class__ is tuple else out._node
        if node is None or out.__class__ is tuple:  # of several, some may be no part of the graph
            outputs = out if out.__class__ is tuple else (out,)
            _note_results([t for t in outputs if t._node is None], inputs, row, mark, cuts)
            node = next((t._node for t in outputs if t._node is not None), None)
        if node is not None:
            if node.__class__ is Output:
                node = node.edges[0]
            extras = node.extras
            if extras is None:
                node.extras = extras = Extras()
            extras.mark = mark
            if cuts:
                extras.cuts = distinct((*extras.cuts, *cuts))
        if len(observers) == 1:
            return
    elif len(observers) == 1 and (direct := observers[0].direct) is not None:
        direct(row, out, inputs, params)
        return
    show(row, out if out.__class__ is tuple else (out,), inputs, params)


def show(row: Any, outputs: tuple[Any, ...], inputs: tuple[Any, ...], params: tuple[Any, ...]) -> None:
    """Show a call to the observers that are active, whose own operations are not shown."""
    if (within := observing()) is not True:
        call = Call(row, inputs, params, outputs, next((t._node for t in outputs if t._node is not None), None), False)
        for observer in tuple(observers):
            if observer.active() and (observer.parts or not within):
                observer.recorded(call)


def cuts_of(inputs: tuple[Any, ...]) -> tuple[Cut, ...]:
    """What the values of those inputs that have no history were cut from."""
    return distinct(tuple([cut for t in inputs if getattr(t, "_node", 0) is None for cut in notes_of(t)[1]]))


def observe_write(row: Any, tensor: Any, inputs: tuple[Any, ...], params: tuple[Any, ...], node: Any) -> None:
    """The same for an in-place call, which made *node*; the tensor's own node may be another by then."""
    if recordings:
        note_write(row, tensor, inputs, node)
    if not observing():
        call = Call(row, inputs, params, (tensor,), node, True)
        for observer in tuple(observers):
            if observer.active() and not observer.parts:
                observer.recorded(call)


def tell_before(tensor: Any) -> None:
    """Tell the observers that a tensor is about to be written."""
    if not observing():
        for observer in tuple(observers):
            if observer.active():
                observer.overwriting(tensor)


def tell_parts(event: str, *what: Any) -> None:
    """Tell the observers that see the parts of in-place calls: ``writing``, ``written``, ``copied`` or ``applying``."""
    if observing() is not True:
        for observer in tuple(observers):
            if observer.parts and observer.active():
                getattr(observer, event)(*what)


def tell_assignment(part: Any, value: Any) -> None:
    """Tell the observers that a value is about to be copied into a view."""
    tell_before(part)
    tell_parts("written", part, value)


def shown_parts() -> bool:
    """Whether an observer here is shown the parts of calls."""
    return observing() is not True and any([o.parts and o.active() for o in observers])


_observing: ContextVar[bool | str] = ContextVar("observing", default=False)
observing = _observing.get
"""True where what is called here is not to be shown: an observer's own operations; ``"parts"`` inside of an in-place call,
whose operations some observers want to see."""


@contextmanager
def unobserved() -> Iterator[None]:
    """Have no operation of a block shown to observers: those that call operations themselves use it."""
    token = _observing.set(True)
    try:
        yield
    finally:
        _observing.reset(token)


def _note_results(outputs: Any, inputs: Any, row: Any, mark: Any, cuts: tuple[Cut, ...]) -> None:
    """Mark results that no gradient goes through."""
    tensors = [t for t in inputs if hasattr(t, "_node")] if outputs else []
    lost = [t for t in tensors if t._node is not None]
    custom, given = isinstance(row, type), [root_of(t) for t in tensors if t._node is None]
    for tensor in outputs:
        found = cuts
        if lost and not (custom and any([root_of(tensor) is root for root in given])):  # it is not handed on as it is
            marked = custom and tensor._array.dtype.kind == "f"
            kind = mode_now() or op_name(row) + ".apply" * marked
            found = (*cuts, Cut(kind, mark, lost, loses=marked or kind in _MODES))
        tensor._notes = mark, distinct(found)


def distinct(cuts: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """The newest of them, each once."""
    return tuple(dict.fromkeys(cuts))[-_MOST:] if len(cuts) > 1 else cuts


def mode_now() -> str:
    """The mode in which nothing is recorded, if one is on."""
    return "inference_mode" if inference_mode_on.get() else "" if grad_on() else "no_grad"


def op_name(row: Any) -> str:
    """What a call's row, custom Function or in-place function is called."""
    return public_name(row) if hasattr(row, "name") else row.__name__


def note_writer(edits: Any, op: str, mark: Any) -> None:
    """Note what wrote a memory last."""
    edits.writer = (*(edits.writer or ())[-7:], (edits.position, op, mark))


def note_write(row: Any, tensor: Any, inputs: tuple[Any, ...], node: Any) -> None:
    """Mark an in-place call: the node it made, the memory it wrote, what the written values were cut from."""
    mark = mark_at(getframe(2))
    note_writer(tensor._alias.edits, f"{op_name(row)}_", mark)
    cuts = tuple([cut for t in inputs[1:] for cut in notes_of(t)[1]])
    if node is not None:
        add_mark(node, mark, cuts)
        if (root := root_of(tensor)) is not tensor and root._node is not None:  # the node that its base got
            add_mark(root._node, mark, cuts)
        return
    lost = [t for t in inputs[1:] if getattr(t, "_node", None) is not None]
    if lost and not grad_on():
        cuts = (*cuts, Cut(mode_now(), mark, lost))
    add_cuts(tensor, cuts)


def add_mark(node: Any, mark: Any, cuts: tuple[Cut, ...]) -> None:
    """Note on a node where it was made, and what the values that it read were cut from."""
    if node.__class__ is Output:
        node = node.edges[0]
    if node.__class__ is not AccumulateGrad:
        extras = extras_of(node)
        extras.mark, extras.cuts = mark, distinct((*extras.cuts, *cuts))


def add_cuts(tensor: Any, cuts: tuple[Cut, ...]) -> None:
    """Note what values that a tensor without history now has, and the memory that it shows, were cut from."""
    for part in (tensor, root_of(tensor)) if cuts else ():
        made, before = notes_of(part)
        part._notes = made, distinct((*before, *cuts))


def note_read(tensor: Any, read: Any) -> None:
    """Note that a result, or what was written into a tensor, depends on tensors that are no inputs, such as indices."""
    cuts = cuts_of(tuple(tensors_in(read))) if recordings else ()
    node = tensor._node
    if node is None or node.__class__ is AccumulateGrad:
        add_cuts(tensor, cuts)
    elif cuts:
        extras = extras_of(node.edges[0] if node.__class__ is Output else node)
        extras.cuts = distinct((*extras.cuts, *cuts))


def tensors_in(data: Any) -> list[Any]:
    """The tensors in nested sequences."""
    if isinstance(data, (list, tuple)):
        return [t for item in data for t in tensors_in(item)]
    return [data] if hasattr(data, "_array") else []
