"""The pass that moves effects behind the last guard, so that a program whose guard fails has changed nothing yet.

The same of calls that may raise errors: the function is then run from its beginning, and explains them itself.
"""

from __future__ import annotations

from typing import Any

from .._trace_instructions import Called, Graded, Left, Ran, Slot, Written
from ._facts import Facts, Instructions, draws, failing, guards, reads_of, renamed, writes_of


def guards_first(instructions: Instructions, facts: Facts) -> Instructions:
    """Ask first what becomes Python's: writes, gradients that are set and steps that are made come after the last guard, and
    after the last call that may raise an error.

    Where a guard depends on one of those, nothing is moved.  Draws stay where they are: see ``Variant.run``.
    """
    failing_ones = failing(instructions, facts.arrays)
    asked = [number for number, i in enumerate(instructions) if guards(i) or number in failing_ones]
    effects = Effects(facts)
    early: Instructions = []
    for instruction in instructions[: asked[-1] + 1 if asked else 0]:
        forwarded = effects.forwarded(instruction)
        if not effects.wait(forwarded):
            early.append(forwarded)
        elif guards(instruction):
            return instructions
        else:
            effects.add(instruction)
        if effects.late and guards(instruction) and _differs(instruction, facts):
            return instructions
    if not effects.late:
        return instructions
    facts.apart = True
    return [*early, *effects.late, *instructions[asked[-1] + 1 :]]


def _differs(left: Left, facts: Facts) -> bool:
    """Whether the next call can be expected to find another value there: no program is made for each."""
    return left.__class__ is Left and facts.arrays[left.slot].dtype.kind in "fc"


class Effects:
    """Effects that are to come later, with what cannot come before them.

    Attributes
    ----------
    late : list
        These instructions, in order.
    values : dict of Slot to Slot
        What was written as a whole, and what is in it from then on: that may be read already.
    """

    def __init__(self, facts: Facts) -> None:
        self.late: Instructions = []
        self.values: dict[Slot, Slot] = {}
        self._facts, self._given = facts, set[Slot]()
        self._written, self._read = set[int](), set[int]()
        self._outside = self._memory(facts.outside)
        self._given_memory = self._memory(facts.arguments)
        self._shared = self._memory(facts.outside | facts.escaped)
        self._all = self._draws = False

    def _memory(self, slots: Any) -> set[int]:
        return {self._facts.owners[s] for s in slots}

    def forwarded(self, instruction: Any) -> Any:
        """An instruction that reads what is to be written, instead of what it was written into."""
        if not isinstance(instruction, (Called, Left)):
            return instruction
        made = self._memory(writes_of(instruction))  # a view of what is written is to be one
        return renamed(instruction, {t: s for t, s in self.values.items() if self._facts.owners[t] not in made})

    def wait(self, instruction: Any) -> bool:
        """Whether an instruction is an effect, or cannot come before one."""
        reads = reads_of(instruction)
        memory = self._memory(reads)
        if isinstance(instruction, (Graded, Ran)) or not self._given.isdisjoint(reads):
            return True
        if isinstance(instruction, Written):
            target = self._facts.owners[instruction.target]
            if target in self._outside or target in self._read:
                return True
        if draws(instruction) and (self._all or self._draws):
            return True
        return not memory.isdisjoint(self._written) or (self._all and not memory.isdisjoint(self._shared))

    def add(self, instruction: Any) -> None:
        """One that comes later."""
        self.late.append(instruction)
        self._given.update(writes_of(instruction))
        self._draws = self._draws or draws(instruction)
        if not isinstance(instruction, Graded):
            self._read |= self._memory(reads_of(instruction))
        if isinstance(instruction, Ran):
            self._all, self.values = True, {}
        if isinstance(instruction, Written):
            self._write(instruction)

    def _write(self, instruction: Written) -> None:
        target, source = instruction.target, instruction.source
        memory = self._facts.owners[target]
        self._all = self._all or memory in self._given_memory  # an argument may overlap with anything
        self._written.add(memory)
        self.values = {t: s for t, s in self.values.items() if memory not in self._memory((t, s))}
        if isinstance(source, Slot) and not self._all and self._facts.alike(target, source):
            self.values[target] = self.values.get(source, source)
