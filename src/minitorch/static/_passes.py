"""Passes: each takes the instructions of a trace and gives instructions that do the same, bit for bit.

What they ask of a trace, and what they find out that is no instruction (which value stands for another, whose memory may be
written into), is in `Facts`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._op import Row
from .._trace import Applied, Called, Graded, Left, Made, Packed, Ran, Slot, Trace, Written, slots_in
from ._forms import form_of

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
    if isinstance(instruction, Called):
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


def pure(instruction: Any) -> bool:
    """Whether all that it does is to give values, the same ones for the same."""
    return isinstance(instruction, (Called, Made)) and not draws(instruction)


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
class Facts:
    """What is known of a trace's values.

    Attributes
    ----------
    arrays : list of ndarray
        By slot: shapes, dtypes, strides.
    results : list of Slot
        What the program returns.
    outside : set of Slot
        What comes from outside: arguments, and what was captured.
    escaped : set of Slot
        What others than the program get hold of on the way: gradients of leaves, arguments of functions that are called.
    alias : dict of Slot to Slot
        Values that are left out, and those that stand for them.
    into : dict of Slot to Slot
        Results, and the values of which nothing is read any more in whose memory they are written.
    """

    def __init__(self, trace: Trace, instructions: Instructions, results: Sequence[Slot]) -> None:
        self.arrays, self.results = trace.arrays, list(results)
        self.outside = {*trace.arguments, *trace.captured}
        leaving = [i for i in instructions if isinstance(i, (Graded, Ran))]
        self.escaped = {s for i in leaving for s in (*reads_of(i), *writes_of(i))}
        self.alias: dict[Slot, Slot] = {}
        self.into: dict[Slot, Slot] = {}
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


# -- the passes --------------------------------------------------------------------------------------------------------
def dead_code(instructions: Instructions, facts: Facts) -> Instructions:
    """Leave out calls whose results nothing reads, except draws of random numbers, and writes into what nothing reads."""
    needed = {*facts.results, *facts.escaped}
    owners = {facts.owners[s] for s in needed | facts.outside}
    kept: Instructions = []
    for instruction in reversed(instructions):
        checks = getattr(getattr(instruction, "row", None), "checks", False)
        if pure(instruction) and not checks and not needed.intersection(writes_of(instruction)):
            continue
        if isinstance(instruction, Written) and facts.owners[instruction.target] not in owners:
            continue
        needed.update(reads_of(instruction))
        owners.update([facts.owners[s] for s in reads_of(instruction)])
        kept.append(instruction)
    return _without_clears(kept[::-1])


def _without_clears(instructions: Instructions) -> Instructions:
    """Leave out a gradient that is set again before anything outside could see it."""
    kept: Instructions = []
    later: set[int] = set()
    for instruction in reversed(instructions):
        if isinstance(instruction, (Ran, Left)):
            later.clear()
        elif isinstance(instruction, Graded):
            if instruction.slot is None and id(instruction.tensor) in later:
                continue
            later.add(id(instruction.tensor))
        kept.append(instruction)
    return kept[::-1]


def constants(instructions: Instructions, facts: Facts) -> Instructions:
    """Compute once what depends on constants alone: on no argument, nothing captured, and no random number."""
    writes, kept = Writes(instructions, facts), []
    known: set[Slot] = set()
    for instruction in instructions:
        slots = writes_of(instruction)
        if pure(instruction) and known.issuperset(reads_of(instruction)) and not any(map(writes.ever, slots)):
            if isinstance(instruction, Made):
                known.update(slots)
            elif slots and not any(map(facts.exposed, slots)):
                made = [Made(s, facts.arrays[s].copy("K")) for s in slots]
                if all([m.array.strides == facts.arrays[s].strides for m, s in zip(made, slots)]):
                    known.update(slots)
                    kept += made
                    continue
        kept.append(instruction)
    return kept


def common(instructions: Instructions, facts: Facts) -> Instructions:
    """Compute once what is computed twice: by the same row, of the same values, with the same parameters."""
    writes, kept = Writes(instructions, facts), []
    names: dict[Slot, Slot] = {}
    first: dict[Any, Any] = {}
    for number, instruction in enumerate(instructions):
        instruction = renamed(instruction, names)
        if isinstance(instruction, Called) and instruction.outputs and pure(instruction):
            versions = tuple([writes.version(s, number) for s in instruction.reads])
            made, same = first.setdefault((_key(instruction), versions), (number, instruction))
            pairs = list(zip(writes_of(instruction), writes_of(same)))
            if same is not instruction and all([writes.replaceable(d, k, made) for d, k in pairs]):
                for dropped, survivor in pairs:
                    names[dropped] = survivor
                    facts.replace(dropped, survivor)
                continue
        kept.append(instruction)
    return kept


def _key(called: Called) -> Any:
    return id(called.row), _fixed(called.inputs), _fixed(called.params), len(called.asides)


def _fixed(value: Any) -> Any:
    """What two constants have in common only where they are the same, bit for bit."""
    if isinstance(value, Slot):
        return "slot", value.__class__, int(value)
    if isinstance(value, (tuple, list)):
        return value.__class__, *map(_fixed, value)
    if value.__class__ is Packed:
        return value.kind, *map(_fixed, value.items)
    if getattr(value, "is_number", False):
        return value._array.dtype, value._array.tobytes()
    if isinstance(value, float):
        return value.__class__, value.hex()
    if isinstance(value, (bool, int, str, np.dtype)) or value is None:
        return value.__class__, value
    return "object", id(value)


_UNITS = {"mul": 1.0, "div": 1.0, "sub": 0.0, "add": -0.0}
"""The second operands that change no bit: x + 0 would make 0 of -0."""
_COPIES = frozenset(["clone", "contiguous", "to"])


def no_ops(instructions: Instructions, facts: Facts) -> Instructions:
    """Leave out what gives its operand, bit for bit: times one, a copy, the minus of a minus, a view of the same elements."""
    writes, kept = Writes(instructions, facts), []
    names: dict[Slot, Slot] = {}
    makers: dict[Slot, Any] = {}
    places = {_place(s, facts): s for s in sorted(facts.outside)}
    for number, instruction in enumerate(instructions):
        instruction = renamed(instruction, names)
        if isinstance(instruction, Called) and len(writes_of(instruction)) == 1:
            (slot,) = instruction.outputs or instruction.asides
            same, since = _operand_given(instruction, number, makers, places, facts)
            if same.__class__ is Slot and facts.alike(slot, same) and writes.replaceable(slot, same, since):
                names[slot] = same
                facts.replace(slot, same)
                places.setdefault(_place(slot, facts), same)
                continue
        for slot in writes_of(instruction):
            makers[slot] = number, instruction
            places.setdefault(_place(slot, facts), slot)
        kept.append(instruction)
    return kept


def _place(slot: Slot, facts: Facts) -> Any:
    """Which elements a value shows; all arrays of a trace are there, so that none has the address of another."""
    array = facts.arrays[slot]
    return array.ctypes.data, array.shape, array.strides, array.dtype


def _operand_given(
    called: Called, number: int, makers: Mapping[Slot, tuple[int, Any]], places: Mapping[Any, Slot], facts: Facts
) -> tuple[Any, int]:
    """The slot that has an instruction's result already, if there is one, and since which instruction."""
    first, name = called.inputs[0] if called.inputs else None, called.row.name
    if not isinstance(called.row, Row) or first.__class__ is not Slot:
        return None, number
    (slot,) = called.outputs
    if facts.owners[slot] == facts.owners[first]:
        return places.get(_place(slot, facts)), number
    if name == "neg" and first in makers:
        since, made = makers[first]
        return (made.inputs[0], since) if isinstance(made, Called) and made.row.name == "neg" else (None, number)
    same = (
        name in _COPIES
        or (name == "pow_number" and called.params == (1,) and facts.arrays[first].dtype.kind == "f")
        or (
            name in _UNITS
            and getattr(called.inputs[1], "is_number", False)
            and _changes_nothing(name, called.inputs[1])
        )
    )
    return first if same else None, number


def _changes_nothing(name: str, operand: Any) -> bool:
    wanted, number = _UNITS[name], operand._array
    return bool(number == wanted) and (number.dtype.kind != "f" or np.signbit(number) == np.signbit(wanted))


def no_copies(instructions: Instructions, facts: Facts) -> Instructions:
    """Let a copy be the value itself where nothing reads or writes that afterwards, and its memory is the block's own."""
    last, kept = last_uses(instructions, facts.results), []
    names: dict[Slot, Slot] = {}
    makers: dict[Slot, Any] = {}
    for number, instruction in enumerate(instructions):
        instruction = renamed(instruction, names)
        if isinstance(instruction, Called) and instruction.row.name == "clone" and instruction.inputs[0] in last:
            source, slot = instruction.inputs[0], instruction.outputs[0]
            if _writable(makers.get(source), source, facts) and last[source] == number and facts.alike(source, slot):
                names[slot] = source
                last[source] = last[slot]
                facts.replace(slot, source)
                continue
        makers.update(dict.fromkeys(writes_of(instruction), instruction))
        kept.append(instruction)
    return kept


def _writable(maker: Any, slot: Slot, facts: Facts) -> bool:
    """Whether a value lies in memory that its maker made for it alone."""
    array = facts.arrays[slot]
    return (
        isinstance(maker, Called)
        and not maker.row.view
        and maker.row.name not in ("expand", "detach")
        and facts.fresh(slot)
        and array.flags.writeable
        and array.base is None
    )


def reuse(instructions: Instructions, facts: Facts) -> Instructions:
    """Write results into the memory of values that are read for the last time, or were, where the kernels can do that."""
    makers = {s: i for i in instructions for s in writes_of(i)}
    last, usage = last_uses(instructions, facts.results), _usage(instructions, facts)
    free: dict[Any, list[tuple[int, Slot]]] = {}
    for number, instruction in enumerate(instructions):
        over = _may_write_over(instruction, facts)
        out = instruction.outputs[0] if over is not None else None
        if over is not None and out is not None and facts.arrays[out].ndim:
            dying = [s for s in over if last[s] == number and _same_memory(s, out, facts)]
            taken = next((s for s in dying if _writable(makers.get(s), s, facts)), None)
            pool = free.get(_memory(out, facts), [])
            if taken is None and pool:
                since, slot = pool[-1]
                size = facts.arrays[slot].nbytes
                if max(usage[since + 1 : number], default=0) + size <= max(usage):
                    usage[since + 1 : number] = [n + size for n in usage[since + 1 : number]]
                    taken = slot
                    pool.pop()
            if taken is not None:
                facts.into[out] = taken
        for slot in dict.fromkeys((*reads_of(instruction), *writes_of(instruction))):
            if last[slot] == number and slot != facts.into.get(out) and _writable(makers.get(slot), slot, facts):  # type: ignore[arg-type]
                free.setdefault(_memory(slot, facts), []).append((number, slot))
    return instructions


def _usage(instructions: Instructions, facts: Facts) -> list[int]:
    """How many bytes of computed values there are during each instruction."""
    last = last_uses(instructions, facts.results)
    ends: dict[int, int] = {}
    for slot, number in last.items():
        ends[facts.owners[slot]] = max(number, ends.get(facts.owners[slot], 0))
    changes = [0] * (len(instructions) + 2)
    begun = {facts.owners[s] for s in facts.outside}
    for number, instruction in enumerate(instructions):
        for slot in writes_of(instruction):
            memory = facts.owners[slot]
            if memory not in begun:
                begun.add(memory)
                changes[number] += facts.arrays[slot].nbytes
                changes[ends[memory] + 1] -= facts.arrays[slot].nbytes
    return list(itertools.accumulate(changes))


def _memory(slot: Slot, facts: Facts) -> Any:
    """What two values have in common that can lie in the same memory."""
    array = facts.arrays[slot]
    return array.dtype, array.shape, array.strides


def _same_memory(slot: Slot, other: Slot, facts: Facts) -> bool:
    return _memory(slot, facts) == _memory(other, facts)


def _may_write_over(instruction: Any, facts: Facts) -> list[Slot] | None:
    """The operands in whose memory an instruction may write its result; None where it cannot be told where to write."""
    if not isinstance(instruction, Called) or len(writes_of(instruction)) != 1:
        return None
    if is_elementwise_ufunc(instruction.row):
        return [i for i in dict.fromkeys(instruction.inputs) if i.__class__ is Slot]
    arrays = [facts.arrays[i] if i.__class__ is Slot else None for i in instruction.inputs]
    form = form_of(instruction.row, arrays, instruction.params)
    if form is None or "{out}" not in form.lines[0]:
        return None
    others = [i for n, i in enumerate(instruction.inputs) if n not in form.over]
    return [instruction.inputs[n] for n in form.over if instruction.inputs[n] not in others]


Pass: TypeAlias = Callable[[Instructions, Facts], Instructions]
ALL: dict[str, Pass] = {
    "dead code": dead_code,
    "constants": constants,
    "no-ops": no_ops,
    "common": common,
    "no copies": no_copies,
    "reuse": reuse,
}
"""The passes by name, in the order in which they are made; what others leave without a use, is dropped before "reuse"."""
