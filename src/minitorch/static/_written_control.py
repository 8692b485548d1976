"""Branches and loops of graphs as Python's ``if`` and ``while``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._trace_instructions import Slot
from ._control_instructions import (
    BackBegins,
    BackEnds,
    BranchBegins,
    BranchEnds,
    Chosen,
    Control,
    LoopBegins,
    LoopEnds,
    LoopTest,
)


class Indent:
    """Where in branches and loops the line stands that is written next.

    Attributes
    ----------
    last : object
        The instruction that was written before.
    """

    def __init__(self) -> None:
        self.last: Any = None
        self._open: tuple[Control, ...] = ()
        self._closed: Any = None
        self._places: dict[Slot, tuple[Control, ...]] = {}
        self._waiting: list[Slot] = []
        self._from: dict[int, set[int]] = {}

    @property
    def margin(self) -> str:
        """The blanks before a line."""
        return "    " * len(self._open)

    @property
    def ended_branch(self) -> BranchBegins | None:
        """The branch that ended just before."""
        return self._closed if isinstance(self.last, BranchEnds) else None

    def begin(self, begins: Control) -> None:
        """A branch or a loop begins."""
        self._open = (*self._open, begins)

    def end(self) -> None:
        """The innermost one ends."""
        *rest, self._closed = self._open
        self._open = tuple(rest)

    def note(self, slot: Slot) -> None:
        """A value gets its name here."""
        self._places[slot] = self._open

    def ended(self, slots: Sequence[Slot]) -> list[Slot]:
        """Of values that are not read any more, these and some of before, those whose names can be deleted here: in a branch
        or a loop, those of values from around it cannot."""
        waiting = [*self._waiting, *slots]
        self._waiting = [slot for slot in waiting if self._places.get(slot) != self._open]
        return [slot for slot in waiting if self._places.get(slot) == self._open]

    def lies_in(self, memory: int, others: Sequence[int]) -> None:
        """A value may lie in the memory of others."""
        self._from.setdefault(memory, set()).update(others)

    def memories(self, memory: int) -> set[int]:
        """The memories that a value may lie in."""
        found, stack = {memory}, [memory]
        while stack:
            new = self._from.get(stack.pop(), set()) - found
            found |= new
            stack += new
        return found


def control_lines(body: Any, ins: Control) -> Iterator[str]:
    """The lines of an instruction."""
    indent: Indent = body.indent
    for output in ins.outputs:
        indent.lies_in(body.owner(output), [body.owner(slot) for slot in ins.inputs])
    if isinstance(ins, BranchBegins):
        yield from _branch(body, ins)
    elif isinstance(ins, BranchEnds):
        indent.end()
    elif isinstance(ins, Chosen):
        condition, then, otherwise = map(body.slot, ins.inputs)
        yield f"{body.named(ins.outputs[0], ins)} = {then} if {condition} else {otherwise}{body.said(ins.outputs)}"
    elif isinstance(ins, LoopBegins):
        yield from _loop(body, ins)
    elif isinstance(ins, LoopTest):
        yield f"if not {body.slot(ins.inputs[0])}:"
        yield "    break"
        if ins.loop.keeps:
            state = ", ".join(map(body.slot, ins.loop.outputs))
            yield f"{body.loops[id(ins.loop)]}.append(({state}{',' * (len(ins.loop.outputs) == 1)}))"
    elif isinstance(ins, LoopEnds):
        yield from _assigned(body, ins.loop.outputs, ins.inputs)
        indent.end()
        for output, variable in zip(ins.outputs, ins.loop.outputs):
            body.name_for_good(output, body.slot(variable))
    elif isinstance(ins, BackBegins):
        yield from _back(body, ins)
    elif isinstance(ins, BackEnds):
        yield from _back_ends(body, ins)


def _branch(body: Any, ins: BranchBegins) -> Iterator[str]:
    last = body.indent.ended_branch
    condition = body.slot(ins.inputs[0])
    other = last is not None and last.inputs == ins.inputs and last.wanted is not ins.wanted
    yield "else:" if other else f"if {'' if ins.wanted else 'not '}{condition}:"
    body.indent.begin(ins)


def _loop(body: Any, ins: LoopBegins) -> Iterator[str]:
    first = [body.slot(slot) for slot in ins.inputs]
    names = [body.own(label) for label in ins.labels]
    for slot, name in zip(ins.outputs, names):
        body.name_for_good(slot, name)
    yield f"{', '.join(names)} = {', '.join(first)}{body.said(ins.outputs)}"
    if ins.keeps:
        body.loops[id(ins)] = body.own("kept")
        yield f"{body.loops[id(ins)]} = []"
    yield "while True:"
    body.indent.begin(ins)


def _assigned(body: Any, targets: Sequence[Slot], values: Sequence[Slot]) -> Iterator[str]:
    """Give names new values, all at once."""
    pairs = [(body.slot(target), body.slot(value)) for target, value in zip(targets, values)]
    pairs = [(target, value) for target, value in pairs if target != value]
    if pairs:
        yield f"{', '.join([t for t, _ in pairs])} = {', '.join([v for _, v in pairs])}"


def _back(body: Any, ins: BackBegins) -> Iterator[str]:
    count = len(ins.inputs)
    first = [body.slot(slot) for slot in ins.inputs]
    state = [body.own(label) for label in ins.loop.labels]
    gradients = [body.own(f"{label}_gradient") for label in ins.loop.labels]
    sums = [body.own(name) for name in ins.sums]
    for slot, name in zip(ins.outputs, [*state, *gradients]):
        body.name_for_good(slot, name)
    body.loops[id(ins)] = sums
    yield f"{', '.join(gradients)} = {', '.join(first)}{body.said(ins.outputs[count:])}"
    if sums:
        yield f"{' = '.join(sums)} = None"
    yield f"for {', '.join(state)}{',' * (count == 1)} in reversed({body.loops[id(ins.loop)]}):"
    body.indent.begin(ins)


def _back_ends(body: Any, ins: BackEnds) -> Iterator[str]:
    back, count = ins.back, len(ins.back.inputs)
    sums = body.loops[id(back)]
    weights = back.outputs[count:]
    added = ins.inputs[count : count + len(sums)]
    zeros = ins.inputs[count + len(sums) :]
    for name, slot in zip(sums, added):
        value = body.slot(slot)
        total = f"{name} + {value}" if body.shape(slot) else f"{body.copies.numpy()}.add({name}, {value}, out=...)"
        yield f"{name} = {value} if {name} is None else {total}"
    yield from _assigned(body, weights, ins.inputs[:count])
    body.indent.end()
    for name, slot in zip(sums, zeros):
        yield f"{name} = {body.slot(slot)} if {name} is None else {name}"
    names = [*[body.slot(slot) for slot in weights], *sums]
    for output, name in zip(ins.outputs, names):
        body.name_for_good(output, name)
