"""Notes of tensors that are made of values only, and of values that become numbers or arrays; see ``_records``."""

from __future__ import annotations

import itertools
from typing import Any

from ._as_one import inside
from ._modes import observers
from ._records import Cut, cuts_of, distinct, mode_now, notes_of, observing, recordings, tensors_in
from ._sites import getframe, is_theirs, mark_at
from ._tape import AccumulateGrad, extras_of


def tell_left(kind: str, tensor: Any) -> None:
    """Tell the observers that a tensor's values become Python's or NumPy's, or are cut off."""
    within = inside()
    for observer in tuple(observers):
        if observer.active() and not (within and observer.parts):
            observer.left(kind, tensor)


def tell_derived(gradients: Any) -> None:
    """Tell the observers of gradients whose operations they are not shown."""
    for observer in tuple(observers):
        if observer.active():
            for gradient in gradients:
                observer.derived(gradient)


def tell_sized(tensor: Any, depth: int = 0) -> None:
    """Tell the observers that the sizes of a tensor are looked at; by the user, unless there are more calls between."""
    if is_theirs(getframe(2 + depth).f_code.co_filename):
        for observer in tuple(observers):
            if observer.active():
                observer.sized(tensor)


def tell_read(values: Any) -> None:
    """The same of those among *values* that are tensors, where a function goes by what is in them."""
    if observers:
        for value in values:
            if hasattr(value, "_array"):
                tell_left("numpy", value)


def note_cut(kind: str, tensor: Any, twin: Any = None) -> None:
    """Note that values leave the graph: into *twin*, which autograd does not follow, or for Python or NumPy."""
    tell_left(kind, tensor)
    if not recordings or (tensor._node is None and not notes_of(tensor)[1]):
        return
    mark = mark_at(getframe(1))
    if tensor._node is None:
        cuts = notes_of(tensor)[1]
    else:
        cuts = (Cut(kind, mark, [tensor]),)
    if twin is not None:
        _give(twin, mark, cuts)
    else:
        left = Cut(kind, mark, [tensor])
        for recording in recordings:
            recording.left.append(left)


def note_made(tensor: Any) -> None:
    """Mark a tensor that a factory makes, and tell the observers."""
    if not observing():
        for observer in tuple(observers):
            if observer.active():
                observer.made(tensor)
    if recordings:
        tensor._notes = mark_at(getframe(1)), ()


def note_severed(name: str, tensor: Any, inputs: tuple[Any, ...]) -> None:
    """Note that *tensor* was made from the values of *inputs* only, by a function that is no row."""
    if recordings:
        mark = mark_at(getframe(1))
        cuts, lost = cuts_of(inputs), [t for t in inputs if t._node is not None]
        if lost:
            cuts = (*cuts, Cut(mode_now() or name, mark, lost, loses=bool(mode_now())))
        tensor._notes = mark, distinct(cuts)


def note_from_data(name: str, tensor: Any, data: Any) -> None:
    """Note what a tensor was made from: of tensors, a cut; of numbers or an array, perhaps of those that left the graph."""
    if not recordings:
        return
    mark = mark_at(getframe(1))
    sources = tensors_in(data)
    if sources:
        lost = [t for t in sources if t._node is not None or notes_of(t)[1]]
        return _give(tensor, mark, (Cut(name, mark, lost),) if lost else ())
    left = dict.fromkeys([cut for recording in recordings for cut in itertools.islice(reversed(recording.left), 8)])
    passes = [p for recording in recordings for p in recording.passes]
    last = max([p.moment for p in passes], default=0)
    back = tuple([cut for cut in left if cut.moment > last and not _was_done(cut, passes)])
    _give(tensor, mark, (Cut(name, mark, [], back[::-1], certain=False),) if back else ())


def _give(tensor: Any, mark: Any, cuts: tuple[Cut, ...]) -> None:
    """Note on a tensor where it was made and what its values were cut from; on its node, where it is a leaf already."""
    tensor._notes = mark, cuts
    if tensor._node.__class__ is AccumulateGrad and cuts:
        extras_of(tensor._node).cuts = cuts


def _was_done(cut: Cut, passes: list[Any]) -> bool:
    """Whether a backward pass had been through what was cut off, as when a loss is logged."""
    roots = [position for c in (cut, *cut.before) for position in c.roots]
    return any([position in noted.reached for position in roots for noted in passes])
