"""What passes ask of instructions and of a trace, and what they find out that is no instruction."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._errors import public_name
from .._identity import owner
from .._op import Row
from .._trace import Trace
from .._trace_instructions import Applied, Called, Graded, Left, Made, Packed, Ran, Slot, Written, slots_in
from ._control_instructions import Control

Instructions: TypeAlias = list[Any]


# -- instructions ------------------------------------------------------------------------------------------------------
def flattened(instructions: Sequence[Any]) -> Iterator[Any]:
    """Instructions with the bodies of custom Functions in their place."""
    for instruction in instructions:
        if isinstance(instruction, Applied):
            yield from flattened(instruction.body)
        else:
            yield instruction


def reads_of(instruction: Any) -> list[Slot]:
    """The slots that an instruction reads."""
    if isinstance(instruction, (Called, Control)):
        return instruction.reads
    if isinstance(instruction, Written):
        return [*slots_in([instruction.source]), instruction.target]
    if isinstance(instruction, Graded):
        return slots_in([instruction.slot])
    if isinstance(instruction, Ran):
        return slots_in(instruction.args)
    return [instruction.slot] if isinstance(instruction, Left) else []


def writes_of(instruction: Any) -> tuple[Slot, ...]:
    """The slots that it gives values."""
    return (*getattr(instruction, "outputs", ()), *getattr(instruction, "asides", ()))


def draws(instruction: Any) -> bool:
    """Whether an instruction draws random numbers."""
    row = getattr(instruction, "row", None)
    return getattr(row, "draws", False) or "generator" in getattr(row, "params", ())


def called_function(instruction: Any) -> str:
    """What people called, of which an instruction is: a factory that draws says which it is."""
    if isinstance(instruction, Applied):
        return str(instruction.row.__name__)
    given = dict(zip(instruction.row.params, instruction.params)) if instruction.row.name == "draw" else {}
    return str(given.get("name", "")) or public_name(instruction.row)


def guards(instruction: Any) -> bool:
    """Whether what follows is made for the value that becomes Python's, or the size, at an instruction."""
    return isinstance(instruction, Left) and instruction.returns is None


def pure(instruction: Any) -> bool:
    """Whether all that it does is to give values, the same ones for the same."""
    return isinstance(instruction, (Called, Made)) and not draws(instruction)


def failing(instructions: Sequence[Any], arrays: Sequence[Any]) -> set[int]:
    """The numbers of the instructions that may raise errors for other values of the same layouts: those that check values,
    and that read indices, where they are read first, or divide by integers."""
    found: set[int] = set()
    read: set[Slot] = set()
    for number, instruction in enumerate(instructions):
        row = getattr(instruction, "row", None)
        if row is None or is_elementwise_ufunc(row) or getattr(row, "view", False):
            continue
        indices = {slot for slot in reads_of(instruction) if arrays[slot].dtype.kind in "iu"}
        if getattr(row, "checks", False) or (draws(instruction) and instruction.reads) or not indices <= read:
            found.add(number)
        read |= indices
    return found


def is_elementwise_ufunc(row: Any) -> bool:
    """Whether a row's kernel is a ufunc of elements."""
    return isinstance(row, Row) and row.is_ufunc and row.elementwise


def renamed(instruction: Any, names: Mapping[Slot, Slot]) -> Any:
    """An instruction that reads other slots."""
    if not any([slot in names for slot in reads_of(instruction)]):
        return instruction
    if isinstance(instruction, Called):
        inputs, params = _renamed(instruction.inputs, names), _renamed(instruction.params, names)
        return Called(instruction.row, inputs, params, instruction.outputs, instruction.asides)
    changed = copy.copy(instruction)
    for name in ("slot", "source", "target", "args"):
        if hasattr(instruction, name):
            setattr(changed, name, _renamed(getattr(instruction, name), names))
    return changed


def _renamed(value: Any, names: Mapping[Slot, Slot]) -> Any:
    if isinstance(value, Slot):
        return value.__class__(names.get(value, value))
    if value.__class__ is Packed:
        return Packed(value.kind, _renamed(value.items, names))
    if value.__class__ in (tuple, list):
        return value.__class__([_renamed(item, names) for item in value])
    return value


def last_uses(instructions: Instructions, results: Sequence[Slot]) -> dict[Slot, int]:
    """By slot, the number of the last instruction that reads or gives it; of a result, their count."""
    last = {s: number for number, i in enumerate(instructions) for s in (*reads_of(i), *writes_of(i))}
    return last | dict.fromkeys(results, len(instructions))


# -- facts -------------------------------------------------------------------------------------------------------------
class Layout(NamedTuple):
    """How a value lies in memory.

    Attributes
    ----------
    place : tuple
        Whose memory it is, the address in it, shape, strides and dtype: what shows the same elements has the same.
    whole : bool
        Whether it is that memory, and no view.
    size : int
        The bytes of that memory.
    """

    place: tuple[Any, ...]
    whole: bool
    size: int


def _layout(array: np.ndarray | None, memory: int) -> Layout:
    if array is None:
        return Layout((memory,), False, 0)
    place = memory, array.ctypes.data, array.shape, array.strides, array.dtype
    return Layout(place, array.base is None, owner(array).nbytes)


class Facts:
    """What is known of a trace's values.

    Attributes
    ----------
    arrays : list of ndarray
        By slot: shapes, dtypes, strides.
    results : list of Slot
        What the program returns.
    arguments : set of Slot
        What is given at each call.
    outside : set of Slot
        What comes from outside: arguments, and what was captured.
    apart : bool
        Whether instructions changed places, as they may where what was captured lies in no memory that it did not share before.
    escaped : set of Slot
        What others than the program get hold of on the way: gradients of leaves, arguments of functions that are called.
    alias : dict of Slot to Slot
        Values that are left out, and those that stand for them.
    into : dict of Slot to Slot
        Results, and the values of which nothing is read any more in whose memory they are written.
    loops : dict of Slot to Loop
        By the first result, calls that are made piece by piece.
    scratch : dict of Slot to int
        By the same, the bytes of arrays of a piece's size that they need besides.
    layouts : list of Layout
        By slot.
    inner : set of Slot
        Results that there are only in pieces.
    """

    def __init__(self, trace: Trace, instructions: Instructions, results: Sequence[Slot]) -> None:
        self.arrays, self.results = trace.arrays, list(results)
        self.arguments = set(trace.arguments)
        self.outside = {*trace.arguments, *trace.captured}
        self.apart = False
        leaving = [i for i in instructions if isinstance(i, (Graded, Ran))]
        self.escaped = {s for i in leaving for s in (*reads_of(i), *writes_of(i))}
        self.alias: dict[Slot, Slot] = {}
        self.into: dict[Slot, Slot] = {}
        self.loops: dict[Slot, Any] = {}
        self.inner: set[Slot] = set()
        self.scratch: dict[Slot, int] = {}
        if trace.layouts is None:  # the values are still there, none at the address of another
            trace.layouts = [_layout(a, memory) for a, memory in zip(trace.arrays, trace._owners)]
        self.layouts: list[Layout] = trace.layouts
        self.owners = list(trace._owners)
        self._families: dict[int, set[Slot]] = {}
        for number, memory in enumerate(self.owners):
            self._families.setdefault(memory, set()).add(Slot(number))

    def family(self, slot: Slot) -> set[Slot]:
        """The slots whose values lie in the same memory."""
        return self._families[self.owners[slot]]

    def seen(self, slot: Slot) -> bool:
        """Whether a value itself is seen from outside."""
        return slot in self.outside or slot in self.escaped or slot in self.results

    def exposed(self, slot: Slot) -> bool:
        """Whether its memory is."""
        return any([self.seen(other) for other in self.family(slot)])

    def fresh(self, slot: Slot) -> bool:
        """Whether its memory belongs to it alone, and was made in the block."""
        return len(self.family(slot)) == 1 and not self.seen(slot)

    def alike(self, one: Slot, other: Slot) -> bool:
        """Whether two values lie in their memory in the same way."""
        a, b = self.arrays[one], self.arrays[other]
        return a.dtype is b.dtype and a.shape == b.shape and a.strides == b.strides

    def replace(self, dropped: Slot, kept: Slot) -> None:
        """A value is left out, and another stands for it."""
        self.alias = {s: kept if t == dropped else t for s, t in self.alias.items()} | {dropped: kept}
        self.results = [kept if s == dropped else s for s in self.results]
        if dropped in self.escaped:
            self.escaped = self.escaped - {dropped} | {kept}
        old, new = self.family(dropped), self.family(kept)
        old.discard(dropped)
        if old is not new:
            for slot in old:
                self.owners[slot] = self.owners[kept]
            new |= old


class Writes:
    """When memory is written.  What is seen from outside counts as one memory: its parts may overlap in other calls."""

    def __init__(self, instructions: Instructions, facts: Facts) -> None:
        self.facts = facts
        self.times: dict[int | None, list[int]] = {}
        for number, instruction in enumerate(instructions):
            if isinstance(instruction, (Ran, Written)):
                memory = self.memory(instruction.target) if isinstance(instruction, Written) else None
                self.times.setdefault(memory, []).append(number)

    def memory(self, slot: Slot) -> int | None:
        """Which memory a value lies in."""
        return None if self.facts.exposed(slot) else self.facts.owners[slot]

    def version(self, slot: Slot, number: int) -> tuple[int | None, int]:
        """How often it was written before an instruction."""
        memory = self.memory(slot)
        return memory, len([time for time in self.times.get(memory, ()) if time < number])

    def after(self, slot: Slot, number: int) -> bool:
        """Whether it is written by an instruction or after it."""
        return any([time >= number for time in self.times.get(self.memory(slot), ())])

    def ever(self, slot: Slot) -> bool:
        """Whether it is written at all."""
        return self.after(slot, 0)

    def replaceable(self, dropped: Slot, kept: Slot, number: int) -> bool:
        """Whether one value may stand for another: they were equal at an instruction; the latter is given there or later."""
        facts = self.facts
        if facts.owners[dropped] == facts.owners[kept]:
            return not (facts.seen(dropped) and facts.seen(kept))
        if facts.exposed(dropped) and facts.exposed(kept):
            return False
        return not self.after(dropped, number) and not self.after(kept, number)
