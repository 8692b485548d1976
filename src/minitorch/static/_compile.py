"""A graph as a program: its vertices in topological order, each with a register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._op import Row
from .._runtime import wrap
from ._functions import ITEM, REST, Several
from ._instructions import Condition, Function, Instruction, Number, Program, Slot, truth
from ._nodes import Constant, Node, Parameter, Placeholder
from ._order import COND, guarded_order
from ._vertices import Symbol, Value


class Compiled:
    """A program, and what its registers are filled with.

    Parameters
    ----------
    outputs : list of Vertex
    given : sequence of Vertex
        What comes from outside, besides leaves: the variables of a loop and what its body takes from around it.

    Attributes
    ----------
    outputs : list of Vertex
    order : list of Vertex
    program : Program
    template : list
        The registers, with the constants in them.
    placeholders, parameters : list of (Node, int)
        With their registers.
    given : list of int
    results : list of int
    """

    def __init__(self, outputs: list[Any], given: Sequence[Any] = ()) -> None:
        self.outputs, inside = outputs, frozenset(given)
        self.order, self.guard = guarded_order(outputs, inside)
        self.slots: dict[Any, int] = {vertex: n for n, vertex in enumerate(given)}
        self.template: list[Any] = [None] * len(self.slots)
        self.placeholders: list[tuple[Any, int]] = []
        self.parameters: list[tuple[Any, int]] = []
        fixed: list[int] = []
        calls: list[Any] = []
        for vertex in self.order:
            if vertex in inside:
                continue
            self._register(vertex)
            if isinstance(vertex, Constant):
                self.template[self.slots[vertex]] = vertex.array
                fixed.append(self.slots[vertex])
            elif isinstance(vertex, Parameter):
                self.parameters.append((vertex, self.slots[vertex]))
            elif isinstance(vertex, Placeholder):
                self.placeholders.append((vertex, self.slots[vertex]))
            elif not (vertex.op in (ITEM, REST) and isinstance(vertex.inputs[0], Several)):
                calls.append(vertex)
        instructions = [self._instruction(vertex, fixed) for vertex in calls]
        self.given = [self.slots[vertex] for vertex in given]
        self.results = [self.slots[vertex] for vertex in outputs]
        known = {slot: self.template[slot] for slot in fixed if isinstance(self.template[slot], np.ndarray)}
        facts = {slot: (array.dtype, array.ndim > 0) for slot, array in known.items()}
        self.program = Program(instructions, self.results, fixed, facts)

    def _register(self, vertex: Any, value: Any = None) -> int:
        self.slots[vertex] = len(self.template)
        self.template.append(value)
        return self.slots[vertex]

    def _operand(self, value: Any, fixed: list[int]) -> Any:
        if isinstance(value, Value):
            if value not in self.slots:
                fixed.append(self._register(value, value.value))
            return self.slots[value]
        return value if isinstance(value, Number) else self.slots[value]

    def _condition(self, vertex: Any) -> Condition:
        condition = Condition(self.slots[vertex])
        condition.source = vertex
        return condition

    def _instruction(self, vertex: Any, fixed: list[int]) -> Instruction:
        op = vertex.op
        inputs = tuple([self._operand(v, fixed) for v in vertex.inputs])
        params = {n: Slot(self.slots[v]) if isinstance(v, Symbol) else v for n, v in vertex.params.items()}
        guard = tuple([(self._condition(condition), wanted) for condition, wanted in self.guard[vertex]])
        outputs: tuple[int, ...] = (self.slots[vertex],)
        rest = -1
        if isinstance(vertex, Several):
            numbers = {
                n: self.slots[node] for n, node in vertex.made.items() if node in self.slots and n.__class__ is int
            }
            outputs = tuple([numbers.get(n, -1) for n in range(1 + max(numbers, default=-1))])
            if (aside := vertex.made.get("rest")) is not None and aside in self.slots:
                rest = self.slots[aside]
        nodes = [v for v in vertex.inputs if isinstance(v, Node)]
        alike = isinstance(op, Row) and len(nodes) == len(inputs) and len({id(n.layout) for n in nodes}) == 1
        absent: tuple[int, ...] = ()
        if getattr(op, "lacks", None) is None:
            absent = tuple(dict.fromkeys([self.slots[v] for v in vertex.uses() if v.absent]))
        op = Choose(vertex.inputs[0]) if op is COND else op
        return Instruction(op, inputs, params, outputs, rest, guard, alike, vertex, absent)

    def registers(self) -> list[Any]:
        """Registers with constants and parameters' values in them."""
        registers = self.template.copy()
        for node, slot in self.parameters:
            registers[slot] = node.tensor._array
        return registers

    def call(self, values: Any, tensors: bool = False) -> list[Any]:
        """The results for what comes from outside."""
        registers = self.template.copy()
        for slot, value in zip(self.given, values):
            registers[slot] = value
        if tensors:
            self.on_tensors(registers)
        else:
            for node, slot in self.parameters:
                registers[slot] = node.tensor._array
            self.program.run(registers)
        return [registers[slot] for slot in self.results]

    def fill_with_tensors(self, registers: list[Any]) -> None:
        """Put the constants and the parameters into registers, as Tensors."""
        for slot, value in enumerate(self.template):
            if hasattr(value, "dtype"):
                registers[slot] = wrap(value)
        for node, slot in self.parameters:
            registers[slot] = node.tensor

    def on_tensors(self, registers: list[Any]) -> None:
        """Run it on registers in which what comes from outside are Tensors."""
        self.fill_with_tensors(registers)
        self.program.run_on_tensors(registers)


class Choose(Function):
    """One of two values, as *condition* says, which is what the first input comes from."""

    def __init__(self, condition: Any) -> None:
        super().__init__("cond", self.chosen)
        self.condition = condition

    def chosen(self, said: Any, then: Any, otherwise: Any) -> Any:
        """The one that the condition says."""
        return then if truth(said, self.condition) else otherwise
