"""Branches and loops among the instructions of a trace: where they begin and end, and what they give.

They stand in the list as brackets do: what is between the beginning of a branch or a loop and its end is what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._trace_instructions import Slot


class Control:
    """An instruction that says which others run, and how often.

    Attributes
    ----------
    inputs, outputs, reads : tuple of Slot
        As those of other instructions.
    """

    def __init__(self, inputs: Sequence[Slot] = (), outputs: Sequence[Slot] = (), reads: Sequence[Slot] = ()) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.reads = [*dict.fromkeys([*inputs, *reads])]

    def __repr__(self) -> str:
        return f"{list(self.outputs)} = {type(self).__name__}({list(self.inputs)})"


class BranchBegins(Control):
    """What follows runs only where a condition is true, or is not, as *wanted* says."""

    def __init__(self, condition: Slot, wanted: bool) -> None:
        super().__init__([condition])
        self.wanted = wanted

    def same(self, other: BranchBegins) -> bool:
        """Whether another one runs where this does."""
        return self.inputs == other.inputs and self.wanted is other.wanted


class BranchEnds(Control):
    """A branch ends."""

    def __init__(self, branch: BranchBegins) -> None:
        super().__init__()
        self.branch = branch


class Chosen(Control):
    """The second input or the third, as the first says."""


class LoopBegins(Control):
    """A loop begins; of its inputs, the outputs are the variables, that have other values in each round.

    Attributes
    ----------
    labels : list of str
        What the variables are called.
    keeps : bool
        Whether their values in each round are kept.
    """

    def __init__(self, inputs: Sequence[Slot], outputs: Sequence[Slot], labels: list[str], keeps: bool) -> None:
        super().__init__(inputs, outputs)
        self.labels, self.keeps = labels, keeps


class LoopTest(Control):
    """The innermost loop ends where its input is not true."""

    def __init__(self, test: Slot, loop: LoopBegins) -> None:
        super().__init__([test], (), loop.outputs)
        self.loop = loop


class LoopEnds(Control):
    """A round ends, of which the inputs are the variables' next values; the outputs are those at the end of the loop."""

    def __init__(
        self, inputs: Sequence[Slot], outputs: Sequence[Slot], loop: LoopBegins, around: Sequence[Slot]
    ) -> None:
        super().__init__(inputs, outputs, [*loop.outputs, *around])
        self.loop = loop


class BackBegins(Control):
    """The rounds of a loop, backwards: the outputs are the variables' values in a round, and their gradients, of which the
    inputs are the first.

    Attributes
    ----------
    loop : LoopBegins
        Of which loop.
    sums : list of str
        What the gradients are called that are added up over the rounds.
    """

    def __init__(self, inputs: Sequence[Slot], outputs: Sequence[Slot], loop: LoopBegins, sums: list[str]) -> None:
        super().__init__(inputs, outputs)
        self.loop, self.sums = loop, sums


class BackEnds(Control):
    """A round ends: the inputs are the next gradients, what is added up, and the zeros that the sums are where there was no
    round; the outputs are the gradients at the end and the sums."""

    def __init__(
        self, inputs: Sequence[Slot], outputs: Sequence[Slot], back: BackBegins, around: Sequence[Slot]
    ) -> None:
        super().__init__(inputs, outputs, [*back.outputs, *around])
        self.back = back


def joined(instructions: list[Any]) -> list[Any]:
    """Instructions without branches in which nothing is done, and with one in the place of two alike after each other."""
    kept: list[Any] = []
    open_branches: list[BranchBegins] = []
    for instruction in instructions:
        last = kept[-1] if kept else None
        if isinstance(instruction, BranchBegins):
            if isinstance(last, BranchEnds) and last.branch.same(instruction):
                open_branches.append(kept.pop().branch)
                continue
            open_branches.append(instruction)
        elif isinstance(instruction, BranchEnds):
            branch = open_branches.pop()
            if last is branch:
                kept.pop()
                continue
            instruction = BranchEnds(branch)
        kept.append(instruction)
    return kept
