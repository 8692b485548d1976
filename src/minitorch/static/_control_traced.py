"""Graphs with branches and loops in a trace: both branches are written down, and one round of each loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._runtime import Tensor, wrap
from .._trace import Trace
from .._trace_instructions import Left, Sized, Slot
from ..ops.creation import zeros_like
from ._absent import ABSENT
from ._compile import Choose, Compiled
from ._control import LoopBack, LoopRun
from ._control_instructions import (
    BackBegins,
    BackEnds,
    BranchBegins,
    BranchEnds,
    Chosen,
    LoopBegins,
    LoopEnds,
    LoopTest,
)
from ._instructions import on_tensors, step, truth


class Kept(list[Any]):
    """The variables' values in each round of a loop, and where the loop begins."""

    loop: LoopBegins


class ControlTrace:
    """Runs a graph's program on Tensors in a trace, with branches and loops as instructions.

    Where a branch that is not taken fails, or gives another shape or dtype than the other one, only the one that is taken is
    written down, and a check of the condition; so are the rounds of a loop whose variables have other shapes in each, or in
    which values become Python's.

    Parameters
    ----------
    trace : Trace
        The trace that is active.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._branches: list[BranchBegins] = []
        self._one_way: set[Slot] = set()  # conditions of branches of which one is written down

    def results(self, compiled: Compiled, values: Sequence[Any]) -> list[Any]:
        """The results of a program for what comes from outside."""
        registers = compiled.template.copy()
        for slot, value in zip(compiled.given, values):
            registers[slot] = value
        self.run(compiled, registers)
        return [registers[slot] for slot in compiled.results]

    def run(self, compiled: Compiled, registers: list[Any]) -> None:
        """Run a program on registers in which what comes from outside are Tensors."""
        compiled.fill_with_tensors(registers)
        guard: tuple[Any, ...] = ()
        for ins in compiled.program.instructions:
            self._turn(guard, ins.guard, registers)
            guard = ins.guard
            if not any([self._left_out(registers[condition], wanted) for condition, wanted in guard]):
                try:
                    step(ins._replace(guard=()), registers, self._call)
                except Exception:
                    if all([truth(registers[c]._array, c.source) is wanted for c, wanted in guard]):
                        raise
                    condition = next(c for c, wanted in guard if truth(registers[c]._array) is not wanted)
                    self._take_one(registers[condition], condition.source)
        self._turn(guard, (), registers)

    def _turn(self, old: Any, new: Any, registers: list[Any]) -> None:
        """Leave the conditions that no longer hold and enter those that do from here on."""
        common = 0
        while common < min(len(old), len(new)) and old[common] == new[common]:
            common += 1
        add = self.trace.instructions.append
        for _ in old[common:]:
            add(BranchEnds(self._branches.pop()))
        for condition, wanted in new[common:]:
            self._branches.append(BranchBegins(self.trace.slot_of(registers[condition]), wanted))
            add(self._branches[-1])

    def _left_out(self, condition: Any, wanted: bool) -> bool:
        return self.trace.slot_of(condition) in self._one_way and truth(condition._array) is not wanted

    def _take_one(self, condition: Any, source: Any) -> None:
        """Write down only the branch that is taken."""
        slot = self.trace.slot_of(condition)
        if slot not in self._one_way:
            self._one_way.add(slot)
            truth(condition, source)  # which the trace notes

    # -- calls ---------------------------------------------------------------------------------------------------------
    def _call(self, ins: Any, values: Sequence[Any], params: dict[str, Any]) -> Any:
        if isinstance(ins.op, Choose):
            return self._choose(ins.op.condition, *values)
        if (
            ins.op is ABSENT and values[0] is not None
        ):  # both branches are written down, so that something must be there
            return zeros_like(values[0])
        if isinstance(ins.op, LoopRun):
            return self._loop(ins.op, values, **ins.wanted())
        if isinstance(ins.op, LoopBack) and isinstance(values[0], Kept):
            return self._back(ins.op, *values) or on_tensors(ins, values, params)
        return on_tensors(ins, values, params)

    def _choose(self, source: Any, condition: Any, then: Any, otherwise: Any) -> Any:
        taken = then if truth(condition._array, source) else otherwise
        if self.trace.slot_of(condition) in self._one_way or _layout(then) != _layout(otherwise):
            self._take_one(condition, source)
            return taken
        (output,) = outputs = self._new([taken._array])
        self.trace.instructions.append(
            Chosen([self.trace.slot_of(v) for v in (condition, then, otherwise)], self._slots(outputs))
        )
        return output

    def _loop(self, op: LoopRun, values: Sequence[Any], keep: bool) -> tuple[Any, ...]:
        loop = op.loop
        first, around = values[: loop.count], values[loop.count :]
        with self._unseen():
            *end, states = loop.run(False, tuple(map(_array, values)), True)
            last = states[-1] if states else list(map(_array, first))
            steady = _is_steady(loop, [list(map(_array, first)), *states], end, tuple(map(_array, around)))
        if not steady:
            return loop.run(True, tuple(values), keep)
        labels = [variable.label for variable in loop.variables]
        known = len(self.trace.arrays)
        variables = self._new(last)
        begins = LoopBegins(self._slots(first), self._slots(variables), labels, keep)
        start = len(self.trace.instructions)
        self.trace.instructions.append(begins)
        (test,) = self.results(loop.test, [*variables, *around])
        self.trace.instructions.append(LoopTest(self.trace.slot_of(test), begins))
        following = self.results(loop.body, [*variables, *around])
        if self._asks(start):
            return loop.run(True, tuple(values), keep)
        ends = self._new(end)
        self.trace.instructions.append(
            LoopEnds(self._slots(following), self._slots(ends), begins, self._from_before(start, known))
        )
        kept = Kept(states)
        kept.loop = begins
        return (*ends, kept)

    def _back(self, op: LoopBack, kept: Kept, *values: Any) -> tuple[Any, ...]:
        """The rounds backwards, and what they give: see ``LoopBack.arrays``."""
        loop, count = op.loop, op.loop.count
        with self._unseen():
            found = op.arrays(kept, *map(_array, values))
        inputs = values[len(op.came) :]
        came = dict(zip(op.came, values))
        around = inputs[count:]
        state = self._new(kept[-1] if kept else list(map(_array, inputs[:count])))
        zeros = [zeros_like(v) for v in state]
        first = [zeros[n] if came.get(n) is None else came[n] for n in range(count)]
        asked = iter(range(count, op.wanted))
        places = {next(asked): n for n, w in enumerate(op.needed[count:]) if w}
        summed = [place for place in op.places if place >= count]
        none = [zeros_like(around[places[place]]) for place in summed]
        known = len(self.trace.arrays)
        weights = self._new([v._array for v in first])
        sums = [f"{loop.around[places[place]].label or 'value'}_gradient" for place in summed]
        begins = BackBegins(self._slots(first), self._slots([*state, *weights]), kept.loop, sums)
        start = len(self.trace.instructions)
        self.trace.instructions.append(begins)
        came_back = zip(op.places, self.results(op.way_back, [*state, *around, *weights]))
        gradients = {place: value for place, value in came_back if value is not None}
        if self._asks(start):
            return ()
        following = [
            gradients[n] if n in gradients and v._array.dtype.kind == "f" else zeros_like(v)
            for n, v in enumerate(state)
        ]
        outputs = {n: value for n, value in enumerate(found) if value is not None}
        ends = self._new([outputs[n] if n in outputs else _array(zeros[n]) for n in range(count)])
        sums_found = [found[count + places[place]] for place in summed]
        added = self._new([_array(n) if value is None else value for value, n in zip(sums_found, none)])
        given = [*following, *[gradients.get(place, n) for place, n in zip(summed, none)], *none]
        self.trace.instructions.append(
            BackEnds(self._slots(given), self._slots([*ends, *added]), begins, self._from_before(start, known))
        )
        others: dict[int, Any] = {places[place]: value for place, value in zip(summed, added)}
        for n, wanted in enumerate(op.needed[count:]):
            if wanted and n not in others:
                others[n] = zeros_like(around[n])
        given_back = [value if wanted else None for value, wanted in zip(ends, op.needed)]
        return (*given_back, *[others.get(n) for n in range(len(around))])

    def _asks(self, start: int) -> bool:
        """Whether a value becomes Python's in a round, which begins at an instruction: then that is as if it was not traced."""
        if not any([isinstance(ins, Left) and not isinstance(ins, Sized) for ins in self.trace.instructions[start:]]):
            return False
        del self.trace.instructions[start:]
        return True

    # -- slots ---------------------------------------------------------------------------------------------------------
    def _new(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """Values of their own."""
        tensors = [wrap(array.copy("K")) for array in arrays]
        for tensor in tensors:
            self.trace.add_result(tensor)
        return tensors

    def _slots(self, tensors: Sequence[Any]) -> list[Slot]:
        return [self.trace.slot_of(tensor) for tensor in tensors]

    def _from_before(self, start: int, known: int) -> list[Slot]:
        """What the instructions from one on read of what was there before: it is read in each round."""
        reads = [s for ins in self.trace.instructions[start:] for s in getattr(ins, "reads", ())]
        return [s for s in dict.fromkeys(reads) if s < known]

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        """What is computed here is not written down."""
        with self.trace.paused(), np.errstate(all="ignore"):
            yield


def _array(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _layout(tensor: Any) -> tuple[Any, ...]:
    array = _array(tensor)
    return array.dtype, array.shape


def _is_steady(loop: Any, states: Sequence[Sequence[Any]], end: Sequence[Any], around: tuple[Any, ...]) -> bool:
    """Whether variables have one dtype in all rounds, and one shape from the last round on."""
    try:
        following = end if len(states) > 1 else loop.body.call((*states[0], *around))
    except Exception:
        return False
    dtypes = [[array.dtype for array in state] for state in (*states, following)]
    last = [*map(_layout, states[-1])] == [*map(_layout, following)]
    return last and all([found == dtypes[0] for found in dtypes[1:]])
