"""What a recorded pass keeps in memory, and which passes are still alive and held by whom."""

from __future__ import annotations

import gc
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _runtime
from .._identity import owner
from .._reach import reachable
from .._records import name_of
from .._sites import Site, site_of
from .._tape import AccumulateGrad, Output
from ._table import bytes_text

if TYPE_CHECKING:
    from .tape import Entry, Tape


# -- one tape ----------------------------------------------------------------------------------------------------------
class Kept(NamedTuple):
    """An array that a tape keeps for backward.

    Attributes
    ----------
    entry : Entry
        The first operation that keeps it.
    name : str
        As what: an input of the operation, by its name, or its ``result``.
    bytes : int
        The memory that is kept alive: where a view is saved, that of the whole array it shows.
    held : bool
        Whether a leaf has it anyway, so that letting the tape go frees nothing.
    others : tuple of Entry
        Further operations that keep it too.
    """

    entry: Entry
    name: str
    bytes: int
    held: bool
    others: tuple[Entry, ...]


class MemoryAccount:
    """What a tape keeps for backward.  See ``Tape.memory``.

    Attributes
    ----------
    kept : list of Kept
        Each array once, in recorded order.
    peak : int
        The most that saved arrays and gradients take at one time during backward, in bytes, estimated from their shapes: saved
        arrays of operations that ran are gone, gradients that are not needed any more too.
    """

    def __init__(self, tape: Tape) -> None:
        self.kept = list(_kept(tape))
        self.peak = _peak(tape, self.kept)

    @property
    def total(self) -> int:
        """The bytes that the tape alone keeps: parameters and other leaves are not counted."""
        return sum([kept.bytes for kept in self.kept if not kept.held])

    def by(self, what: str) -> dict[str, int]:
        """The total, divided by ``"op"``, ``"module"``, ``"line"`` or ``"name"`` (as what an array is kept); largest first."""
        keys: dict[str, Callable[[Kept], str]] = {
            "op": lambda kept: kept.entry.op,
            "module": lambda kept: kept.entry.module or "(no module)",
            "line": lambda kept: kept.entry.site.short if kept.entry.site else "(no line: see record_sites)",
            "name": lambda kept: kept.name,
        }
        if what not in keys:
            raise ValueError(f"by() expects 'op', 'module', 'line' or 'name', not {what!r}")
        sums: Counter[str] = Counter()
        for kept in self.kept:
            if not kept.held:
                sums[keys[what](kept)] += kept.bytes
        return dict(sums.most_common())

    def __str__(self) -> str:
        held = sum([kept.bytes for kept in self.kept if kept.held])
        lines = [
            f"{size_text(self.total)} kept for backward, beside {size_text(held)} of leaves; "
            f"at most {size_text(self.peak)} in it"
        ]
        for what in ("op", "module", "line", "name"):
            sums = self.by(what)
            if len(sums) > 1 or not next(iter(sums), "(").startswith("("):
                shown = [f"{name} {size_text(size)}" for name, size in list(sums.items())[:5]]
                rest = len(sums) - len(shown)
                lines.append(f"by {what}: {', '.join(shown)}{f', {rest} more' if rest else ''}")
        return "\n".join(lines)

    __repr__ = __str__


def size_text(size: int) -> str:
    """A number of bytes for people, nought too."""
    return bytes_text(size) or "0 B"


def _kept(tape: Tape) -> Iterator[Kept]:
    leaves = {id(owner(p.leaf._array)) for entry in tape for p in entry.parents if p.leaf is not None}
    found: dict[int, list[Any]] = {}
    for entry in tape:
        for saved in entry.saved:
            values = saved.value if isinstance(saved.value, tuple) else [saved.value]
            for tensor in values:
                if tensor is not None:
                    memory = owner(tensor._array)
                    known = found.setdefault(id(memory), [entry, saved.name, memory, []])
                    if entry not in (known[0], *known[3]):
                        known[3].append(entry)
    for key, (entry, name, memory, others) in found.items():
        yield Kept(entry, name, memory.nbytes, key in leaves, tuple(others))


def _peak(tape: Tape, kept: list[Kept]) -> int:
    """The walk, played through with sizes: a saved array is gone once the oldest operation that keeps it has run."""
    ends: Counter[int] = Counter()
    for array in kept:
        if not array.held:
            ends[min(entry.number for entry in (array.entry, *array.others))] += array.bytes
    saved = sum(ends.values())
    gradients: dict[Any, int] = {}
    for number in tape.roots:
        gradients[number] = _gradient_bytes(tape[number])
    most = saved + sum(gradients.values())
    live = sum(gradients.values())
    for entry in reversed(tape):
        incoming = gradients.pop(entry.number, 0)
        for parent in entry.parents:
            key = parent.entry if parent.entry is not None else id(parent.leaf)
            if (parent.entry is not None or parent.leaf is not None) and key not in gradients:
                size = parent.leaf._array.nbytes if parent.entry is None else _gradient_bytes(tape[parent.entry])
                gradients[key] = size
                live += size
        most = max(most, saved + live)
        live -= incoming
        saved -= ends[entry.number]
    return most


def _gradient_bytes(entry: Entry) -> int:
    return sum([int(np.prod(shape)) * kind.itemsize for shape, kind in zip(entry.shapes, entry.dtypes)])


# -- all that is alive -------------------------------------------------------------------------------------------------
class Alive(NamedTuple):
    """A recorded graph that something still holds.

    Attributes
    ----------
    tensor : str
        The result that holds it: its name, if it has one, shape and node.
    operations : int
        How many operations it leads to.
    bytes : int
        What these keep for backward, in bytes.
    holders : list of str
        What holds the result: variables, attributes, elements of containers.
    site : Site or None
        Where the result was made, if ``record_sites`` was on.
    repeated : int
        How many of the operations were recorded by that same call: more than one where a loop adds to its result.
    """

    tensor: str
    operations: int
    bytes: int
    holders: list[str]
    site: Site | None
    repeated: int

    def __str__(self) -> str:
        lines = [f"{self.tensor}: {self.operations} operations, {size_text(self.bytes)} kept for backward"]
        lines += [f"  held by {holder}" for holder in self.holders or ["nothing that was found"]]
        if self.site:
            lines.append(f"  made at {self.site}" + (f": {self.site.source}" if self.site.source else ""))
        if self.repeated > 1:
            lines.append(
                f"  that line recorded {self.repeated} of its operations: it adds to a result pass after pass, which keeps the "
                "graphs of all of them; add loss.item() or loss.detach() instead"
            )
        return "\n".join(lines)


class AliveReport(list[Alive]):
    """What ``alive`` found, largest first."""

    def __str__(self) -> str:
        return "\n".join([str(alive) for alive in self]) or "no recorded graph is alive"

    __repr__ = __str__


def alive() -> AliveReport:
    """The recorded graphs that are alive, each with what holds it: for finding what makes memory grow.

    A graph is alive as long as a result of it is. The classic leak is ``total += loss``: the sum holds every pass's graph.

    Returns
    -------
    list of Alive
        One for each result that no other living result was made from, largest first; printed, a text.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.ones(1000, requires_grad=True)
    >>> total = 0
    >>> with torch.autograd.record_sites():
    ...     for _ in range(3):
    ...         total = total + (w * w).sum()
    >>> print(torch.autograd.alive())  # doctest: +ELLIPSIS
    Tensor of shape (), AddBackward0: 9 operations, 3.9 KiB kept for backward
      held by the variable 'total' of ...
      made at File "...", line 3, in <module>: total = total + (w * w).sum()
      that line recorded 3 of its operations: it adds to a result pass after pass, which keeps the graphs of all of them; ...
    """
    # by type(): isinstance asks an object for its __class__, which proxies of other libraries answer with a warning
    tensors = [t for t in gc.get_objects() if issubclass(type(t), _runtime.Tensor) and _top(t) is not None]
    below: set[Any] = set()
    for tensor in tensors:
        below |= reachable([edge for edge in _top(tensor).edges if edge is not None])
    tops: dict[Any, list[Any]] = {}
    for tensor in tensors:
        if _top(tensor) not in below:
            tops.setdefault(_top(tensor), []).append(tensor)
    ignored = {id(tensors), id(tops), *map(id, tops.values())}
    found = AliveReport([_described(node, held, ignored) for node, held in tops.items()])
    found.sort(key=lambda a: (a.bytes, a.operations), reverse=True)
    return found


def _top(tensor: Any) -> Any:
    """The node of a result; None for leaves, and for tensors that are half made."""
    node = getattr(tensor, "_node", None)
    if node is None or node.__class__ is AccumulateGrad:
        return None
    return node.edges[0] if node.__class__ is Output else node


def _described(node: Any, tensors: list[Any], ignored: set[int]) -> Alive:
    from .tape import saved_by

    nodes = [n for n in reachable([node]) if n is not None and n.__class__ not in (AccumulateGrad, Output)]
    memories = {}
    for each in nodes:
        for saved in saved_by(each):
            for tensor in saved.value if isinstance(saved.value, tuple) else [saved.value]:
                if tensor is not None:
                    memory = owner(tensor._array)
                    memories[id(memory)] = memory.nbytes
    mark = None if node.extras is None else node.extras.mark
    repeated = len([n for n in nodes if type(n) is type(node) and mark is not None and _mark(n)[:2] == mark[:2]])
    tensor = tensors[0]
    text = f"{name_of(tensor) or 'Tensor'} of shape {tuple(tensor._array.shape)}, {node.name()}"
    holders = [text for t in tensors for text in holders_of(t, {*ignored, id(tensors)})]
    return Alive(text, len(nodes), sum(memories.values()), holders, site_of(mark), repeated)


def _mark(node: Any) -> tuple[Any, ...]:
    return () if node.extras is None else node.extras.mark or ()


def holders_of(thing: Any, ignored: set[int], depth: int = 3) -> list[str]:
    """What holds an object, as text: variables of running functions and of modules, attributes, elements of containers."""
    frames = _frames()
    found = list(_variables(thing, frames))
    ignored = {*ignored, id(frames)}
    for referrer in gc.get_referrers(thing):
        if id(referrer) in ignored or isinstance(referrer, (FrameType, ModuleType)) or _is_ours(referrer):
            continue
        if isinstance(referrer, dict):
            found += _by_dict(referrer, thing)
        elif isinstance(referrer, (list, tuple, set, frozenset)) or hasattr(referrer, "__iter__"):
            inner = holders_of(referrer, {*ignored, id(found)}, depth - 1) if depth else []
            at = (
                next((f"[{i}]" for i, v in enumerate(referrer) if v is thing), "")
                if isinstance(referrer, (list, tuple))
                else ""
            )
            found += [f"{text}{at}" for text in inner] or ([f"a {type(referrer).__name__}{at}"] if depth == 3 else [])
        else:
            names = [n for n, v in getattr(referrer, "__dict__", {}).items() if v is thing]
            found += [f"the attribute {n!r} of a {type(referrer).__name__}" for n in names]
    return list(dict.fromkeys(found))


def _variables(thing: Any, frames: list[FrameType]) -> Iterator[str]:
    """The variables of running functions that hold an object."""
    for frame in frames:
        variables = frame.f_locals
        for name in [name for name, value in variables.items() if value is thing]:
            yield f"the variable {name!r} of {frame.f_code.co_name}(), {frame.f_code.co_filename}:{frame.f_lineno}"
        if isinstance(variables, dict):  # before Python 3.13 a copy, which the frame would keep
            variables.clear()


def _frames() -> list[FrameType]:
    """The frames of running functions that are not the package's."""
    found = []
    step: FrameType | None
    for step in sys._current_frames().values():
        while step is not None:
            if step.f_code.co_flags & inspect.CO_OPTIMIZED and not _is_of_package(step.f_globals):
                found.append(step)
            step = step.f_back
    return found


def _by_dict(holder: dict[Any, Any], thing: Any) -> Iterable[str]:
    names = [name for name, value in holder.items() if value is thing]
    if "__name__" in holder and "__builtins__" in holder:  # a module's variables
        return [f"the variable {name!r} of {holder['__name__']}" for name in names]
    for referrer in gc.get_referrers(holder):
        if getattr(referrer, "__dict__", None) is holder:
            return [f"the attribute {name!r} of a {type(referrer).__name__}" for name in names]
    return [f"a dictionary's entry {name!r}" for name in names]


_PACKAGE = __name__.partition(".")[0]


def _is_of_package(scope: Any) -> bool:
    name = scope.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == _PACKAGE


def _is_ours(referrer: Any) -> bool:
    """Whether it is a part of the engine: what nodes and views hold is told by what holds the result."""
    return type(referrer).__module__.partition(".")[0] == _PACKAGE and not isinstance(referrer, dict)
