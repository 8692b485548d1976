"""Passes: each takes the instructions of a trace and gives instructions that do the same, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._op import Row
from .._trace_instructions import Called, Graded, Left, Made, Packed, Ran, Slot, Written
from .._views import overlapping
from ._early_guards import guards_first
from ._facts import (
    Facts,
    Instructions,
    Writes,
    flattened,
    is_elementwise_ufunc,
    last_uses,
    pure,
    reads_of,
    renamed,
    writes_of,
)
from ._forms import form_of
from ._loops import fuse, usage_of


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


def constant_slots(instructions: Sequence[Any]) -> set[Slot]:
    """The values that depend on constants alone, or did if nothing were written."""
    known: set[Slot] = set()
    for instruction in flattened(instructions):
        if pure(instruction) and known.issuperset(reads_of(instruction)):
            known.update(writes_of(instruction))
    return known


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
    roots: dict[Slot, Slot] = {}  # of views: others that show the same may show something else at another call
    places = {(s, facts.layouts[s].place): s for s in sorted(facts.outside)}
    for number, instruction in enumerate(instructions):
        instruction = renamed(instruction, names)
        if isinstance(instruction, Called) and len(writes_of(instruction)) == 1:
            (slot,) = instruction.outputs or instruction.asides
            first = instruction.inputs[0] if instruction.inputs else None
            if first.__class__ is Slot and facts.owners[slot] == facts.owners[first]:
                moves = not instruction.fixed  # it shows other elements where an index is another one
                roots[slot] = slot if moves else roots.get(first, first)
            place = roots.get(slot, slot), facts.layouts[slot].place
            same, since = _operand_given(instruction, number, makers, places.get(place), facts)
            if same.__class__ is Slot and facts.alike(slot, same) and writes.replaceable(slot, same, since):
                names[slot] = same
                facts.replace(slot, same)
                places.setdefault((roots.get(same, same), place[1]), same)
                continue
        for slot in writes_of(instruction):
            makers[slot] = number, instruction
            places.setdefault((roots.get(slot, slot), facts.layouts[slot].place), slot)
        kept.append(instruction)
    return kept


def _operand_given(
    called: Called, number: int, makers: Mapping[Slot, tuple[int, Any]], shown: Slot | None, facts: Facts
) -> tuple[Any, int]:
    """The slot that has an instruction's result already, if there is one, and since which instruction; of a view, *shown*."""
    first, name = called.inputs[0] if called.inputs else None, called.row.name
    if not isinstance(called.row, Row) or first.__class__ is not Slot:
        return None, number
    (slot,) = called.outputs
    if facts.owners[slot] == facts.owners[first]:
        return shown, number
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
        and slot not in facts.inner
        and not maker.row.view
        and maker.row.name not in ("expand", "detach")
        and facts.fresh(slot)
        and array.flags.writeable
        and facts.layouts[slot].whole
    )


def reuse(instructions: Instructions, facts: Facts) -> Instructions:
    """Write results into the memory of values that are read for the last time, or were, where the kernels can do that."""
    makers = {s: i for i in instructions for s in writes_of(i)}
    last, usage = last_uses(instructions, facts.results), usage_of(instructions, facts)
    placed = in_place(instructions, facts)
    facts.into.update(placed)
    free: dict[Any, list[tuple[int, Slot]]] = {}
    for number, instruction in enumerate(instructions):
        over = _may_write_over(instruction, facts)
        out = instruction.outputs[0] if over is not None else None
        if out in facts.inner:
            continue
        if over is not None and out is not None and out not in placed and facts.arrays[out].ndim:
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
            stays = slot in placed or (out is not None and slot == facts.into.get(out))
            if last[slot] == number and not stays and _writable(makers.get(slot), slot, facts):
                free.setdefault(_memory(slot, facts), []).append((number, slot))
    return instructions


def in_place(instructions: Instructions, facts: Facts) -> dict[Slot, Slot]:
    """Results that are computed only to be written into other values right away, and those: there the calls may write at once.

    A ufunc reads what overlaps its result before it writes that.  In a loop over pieces, others of the values that are read
    must not lie in the memory that is written.
    """
    last, found = last_uses(instructions, facts.results), {}
    loops = {id(loop.members[-1]): loop for loop in facts.loops.values()}
    for number, (called, write) in enumerate(itertools.pairwise(instructions)):
        if not isinstance(write, Written) or not isinstance(called, Called) or write.source.__class__ is not Slot:
            continue
        source, target = write.source, write.target
        if write.moves or writes_of(called) != (source,):
            continue
        fits = is_elementwise_ufunc(called.row) and facts.arrays[source].ndim and _same_memory(source, target, facts)
        if not fits or last[source] != number + 1 or not facts.fresh(source) or source in facts.inner:
            continue
        if any([not facts.arrays[s].flags.writeable or overlapping(facts.arrays[s]) for s in facts.family(target)]):
            continue
        loop = loops.get(id(called))
        if loop is None or not any([_beside(s, target, facts) for c in loop.members for s in (*c.reads, *c.outputs)]):
            found[source] = target
    return found


def _beside(slot: Slot, target: Slot, facts: Facts) -> bool:
    """Whether a value may lie in the memory of another, and not in the same places."""
    if facts.owners[slot] == facts.owners[target]:
        return facts.layouts[slot].place != facts.layouts[target].place
    outside = facts.outside | facts.escaped
    return bool(facts.family(slot) & outside and facts.family(target) & outside)


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
    if form is None or not form.takes_place:
        return None
    if not facts.arrays[instruction.outputs[0]].flags.c_contiguous:  # NumPy's products write into no other
        return None
    others = [i for n, i in enumerate(instruction.inputs) if n not in form.over]
    return [instruction.inputs[n] for n in form.over if instruction.inputs[n] not in others]


Pass: TypeAlias = Callable[[Instructions, Facts], Instructions]
ALL: dict[str, Pass] = {
    "guards first": guards_first,
    "dead code": dead_code,
    "constants": constants,
    "no-ops": no_ops,
    "common": common,
    "no copies": no_copies,
    "fuse": fuse,
    "reuse": reuse,
}
"""The passes by name."""
ORDER = ("guards first", "dead code", "constants", "no-ops", "common", "no copies", "dead code", "fuse", "reuse")
"""In which order they are made."""
