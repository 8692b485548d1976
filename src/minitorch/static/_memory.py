"""The memory that programs and eager code take, and letting go of a trace's values."""

from __future__ import annotations

import mmap
import tracemalloc
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import array_utils

from .. import _runtime
from .._identity import owner
from .._op import Row
from .._trace import Trace
from .._trace_instructions import Called, Made, Sized, Slot, Writing, Written
from .._views import overlapping
from ._facts import Facts, draws, flattened, last_uses, reads_of, writes_of
from ._loops import Loop
from ._passes import constant_slots


# -- a trace without values --------------------------------------------------------------------------------------------
def let_go(trace: Trace) -> None:
    """Let go of a trace's values: in the place of each is an array of zeros that looks like it and takes no memory.

    What was captured stays, and what depends on constants alone.
    """
    kept = {*trace.captured, *constant_slots(trace.instructions)}
    gone = {s: a for s, a in enumerate(trace.arrays) if a is not None and s not in kept}
    bounds = {s: array_utils.byte_bounds(owner(a)) for s, a in gone.items()}
    zeros = mmap.mmap(
        -1, max([end - start for start, end in bounds.values()], default=0) + 1
    )  # no page of it is touched
    for slot, array in gone.items():
        offset = array.ctypes.data - bounds[slot][0]
        like: np.ndarray = np.ndarray(array.shape, array.dtype, zeros, offset, array.strides)
        like.flags.writeable = array.flags.writeable
        trace.arrays[slot] = like
    for sized in [i for i in flattened(trace.instructions) if isinstance(i, Sized)]:
        sized.value = trace.arrays[sized.slot]
    for held in (trace._kept, trace._slots, trace.frozen_grads, trace.places):
        held.clear()


class Example:
    """The values that an argument had, for what is to be traced at other sizes: a copy of few; many are not kept alive.

    Calling it gives the array, or None where that is gone.
    """

    _MOST = 1 << 18

    def __init__(self, array: np.ndarray) -> None:
        small = array.nbytes <= self._MOST
        self._array: Callable[[], np.ndarray | None] = _itself(array.copy("K")) if small else weakref.ref(array)

    def __call__(self) -> np.ndarray | None:
        return self._array()


def _itself(array: np.ndarray) -> Callable[[], np.ndarray]:
    return lambda: array


# -- how much ----------------------------------------------------------------------------------------------------------
class MemoryPlan(NamedTuple):
    """The most bytes that computed values take at a time, what kernels need besides included.

    Attributes
    ----------
    history : int
        In eager code that records, of a function that does not go back itself: what the way back reads is kept to the end.
    eager : int
        In eager code as it was traced: each value is there until its last use.
    freed : int
        In the program without "fuse" and "reuse".
    reused : int
        In the program.
    """

    history: int
    eager: int
    freed: int
    reused: int


class Costs:
    """What kernels allocate besides their results, and what they set aside for the way back: measured on arrays of zeros."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._known: dict[Any, tuple[int, int]] = {}

    def __call__(self, called: Any) -> tuple[int, int]:
        """The bytes of both."""
        if not isinstance(called, Called) or not called.fixed or draws(called):
            return 0, 0
        arrays = [self.facts.arrays[i] if i.__class__ is Slot else getattr(i, "_array", None) for i in called.inputs]
        key = called.row, called.params, tuple([a if a is None else (a.shape, a.dtype, a.strides) for a in arrays])
        name = repr(key)
        if name not in self._known:
            self._known[name] = self._measured(called, arrays)
        return self._known[name]

    def _measured(self, called: Called, arrays: Sequence[Any]) -> tuple[int, int]:
        row = called.row
        given = [arrays] if row.variadic else arrays
        out = {"out": ...} if isinstance(row, Row) and row.is_ufunc and row.elementwise else {}
        params = dict(zip(row.params, called.params)) | out
        tracing = tracemalloc.is_tracing()
        if not tracing:
            tracemalloc.start()
        try:
            _runtime.silent(row.kernel, *given, **params)  # which may keep something for later calls
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            found = _runtime.silent(row.kernel, *given, **params)
            peak = tracemalloc.get_traced_memory()[1] - before
        except Exception:  # zeros are no values for it
            return 0, 0
        finally:
            if not tracing:
                tracemalloc.stop()
        several = found if isinstance(found, (tuple, list)) else (found,)
        known = {id(owner(a)) for a in arrays if isinstance(a, np.ndarray)}
        sizes = []
        for memory in [owner(a) if isinstance(a, np.ndarray) else None for a in several]:
            sizes.append(0 if memory is None or id(memory) in known else memory.nbytes)
            known.add(id(memory))
        aside = sizes[len(called.outputs) :] if not called.asides else []
        return max(peak - sum(sizes), 0), sum(aside)


def peak(
    instructions: Sequence[Any],
    facts: Facts,
    results: Sequence[Slot],
    costs: Costs,
    *,
    held: Mapping[Slot, int] | None = None,
    into: Mapping[Slot, Slot] | None = None,
    ready: bool = False,
    loops: Mapping[Slot, Loop] | None = None,
) -> int:
    """The most bytes at a time.

    Parameters
    ----------
    instructions, facts, results, costs
        The program.
    held : mapping of Slot to int
        In eager code, values that are kept to the end, with what is set aside beside each.
    into : mapping of Slot to Slot
        Results that are written into the memory of other values.
    ready : bool
        Whether constants lie ready, as in a program.
    loops : mapping of Slot to Loop
        What "fuse" found.
    """
    held, reused, loops = held or {}, into or {}, loops or {}
    starts = {n: loops[s] for n, i in enumerate(instructions) for s in writes_of(i)[:1] if s in loops}
    end_of = {
        n: start + len(loop.members) - 1
        for start, loop in starts.items()
        for n in range(start, start + len(loop.members))
    }
    inner = {s for loop in starts.values() for s in loop.inner}

    def memory(slot: Slot) -> int:
        while slot in reused:
            slot = reused[slot]
        return facts.owners[slot]

    ends: dict[int, int] = {}
    for slot, number in last_uses(list(instructions), results).items():
        stays = slot in held or slot in facts.escaped
        ends[memory(slot)] = max(len(instructions) if stays else end_of.get(number, number), ends.get(memory(slot), 0))
    there = {facts.owners[s] for s in facts.outside}
    now = most = 0
    freed: dict[int, int] = {}
    for number, instruction in enumerate(instructions):
        together = starts[number].members if number in starts else (instruction,)
        for slot in [s for i in together for s in writes_of(i)]:
            if memory(slot) not in there and slot not in inner and not (ready and isinstance(instruction, Made)):
                there.add(memory(slot))
                size = facts.layouts[slot].size + held.get(slot, 0)
                now += size
                freed[ends[memory(slot)]] = freed.get(ends[memory(slot)], 0) + size
        if number in starts:
            most = max(most, now + facts.scratch.get(writes_of(instruction)[0], 0))
        elif number not in end_of:
            besides, aside = costs(instruction)
            most = max(most, now + besides + (0 if any(map(held.get, writes_of(instruction))) else aside))
        now -= freed.pop(number, 0)
    return most


def saved(instructions: Sequence[Any], required: set[Slot], costs: Costs) -> dict[Slot, int]:
    """What nodes would keep for the way back: values, and beside a result what its kernel set aside.

    *required* are the values that require grad, of those that come from outside; those of the others that do are added.
    """
    kept: dict[Slot, int] = {}
    for instruction in instructions:
        if isinstance(instruction, Written) and instruction.source in required:
            required.add(instruction.target)
        row = getattr(instruction, "row", None)
        if not required.intersection(reads_of(instruction)) or not isinstance(row, Row) or not row.formulas:
            continue
        required.update(writes_of(instruction))
        inputs = dict(zip(row.inputs, instruction.inputs))
        values = inputs | {f"result{n}": slot for n, slot in enumerate(instruction.outputs)}
        values["result"] = instruction.outputs[0]
        for name in row.kept:
            if row.variadic or any([inputs.get(reader) in required for reader in row.readers(name)]):
                if name == "aside":
                    kept[instruction.outputs[0]] = costs(instruction)[1]
                elif values.get(name).__class__ is Slot:
                    kept.setdefault(values[name], 0)
    return kept


def written_at_once(trace: Trace, facts: Facts) -> dict[Slot, Slot]:
    """Results of in-place calls that eager code computes in their place, and those places: see ``_inplace._two_operands``.

    That is so for ufuncs of two operands of one dtype in different memory, where nothing is recorded.
    """
    found: dict[Slot, Slot] = {}
    instructions = list(flattened(trace.instructions))
    for begun, called, write in zip(instructions, instructions[1:], instructions[2:]):
        if not isinstance(begun, Writing) or not isinstance(called, Called) or not isinstance(write, Written):
            continue
        row, target = called.row, write.target
        if (
            write.source.__class__ is not Slot
            or begun.held != write.held
            or called.outputs != (write.source,)
            or called.inputs[0] != target
        ):
            continue
        if not isinstance(row, Row) or not row.is_ufunc or not row.formulas or len(row.inputs) != 2:
            continue
        other = called.inputs[1]
        array = facts.arrays[other] if other.__class__ is Slot else other._array
        apart = other.__class__ is not Slot or facts.owners[other] != facts.owners[target]
        if apart and array.dtype is facts.arrays[target].dtype and not overlapping(facts.arrays[target]):
            found[write.source] = target
    return found


def memory_plan(plan: Any, results: Sequence[Slot], required: set[Slot]) -> MemoryPlan:
    """The figures of a plan; *required* are the values from outside that require grad."""
    traced = plan.stages[0][1]
    before = next(i for name, i in reversed(plan.stages) if name not in ("fuse", "reuse"))
    eager = Facts(plan.trace, traced, results)
    costs, direct = Costs(eager), written_at_once(plan.trace, eager)
    required = set(required)
    held = saved(traced, required, costs)
    recorded = {s for s, t in direct.items() if s in required or not eager.layouts[t].whole}
    return MemoryPlan(
        peak(traced, eager, results, costs, held=held, into={s: t for s, t in direct.items() if s not in recorded}),
        peak(traced, eager, results, costs, into=direct),
        peak(before, plan.facts, plan.results, costs, ready=True),
        peak(
            plan.instructions,
            plan.facts,
            plan.results,
            costs,
            into=plan.facts.into,
            ready=True,
            loops=plan.facts.loops,
        ),
    )
