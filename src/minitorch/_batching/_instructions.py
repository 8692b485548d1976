"""Instructions: what a mapped function did to its first example, to be done to whole batches.  See ``_examples``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import _runtime
from .._errors import reading
from .._inplace import SETTLED, write
from .._modes import grad_on, no_grad
from .._op import Row, rows
from .._records import tell_parts
from .._trace_instructions import Slot, with_asides
from .._views import current_node
from . import by_rule, may_loop, of_an_example, rule_of
from ._batch import Batch, Batched, expanded, padded
from ._shapes import elementwise

_PACKAGE = __package__.rpartition(".")[0]
_BETWEEN = tuple(
    [f"{_PACKAGE}.{name}" for name in ("_batching._instructions", "_batching._examples", "_records", "_choices")]
)
"""The modules whose frames lie between a choice that is made and this."""


class Fixed:
    """A tensor that does not depend on the batch, as an instruction reads it: where it is written later, a copy from before."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class Called:
    """A row was called.

    Attributes
    ----------
    row : Row
        The row.
    inputs : list
        A ``Slot`` or a ``Fixed`` each, or what is no tensor.
    cut : list of bool
        Which of them had no history.
    params : tuple
        The row's parameters; slots among them are ``Batched``, of a slot.
    outputs, asides : list of Slot
        What it returned, and what its kernel set aside for formulas.
    records : bool
        Whether grad mode was on.
    """

    def __init__(
        self, row: Any, inputs: Any, cut: Any, params: Any, slots: list[Slot], outputs: Any, asides: Any
    ) -> None:
        self.row, self.inputs, self.cut, self.params = row, inputs, cut, params
        self.outputs, self.asides, self.records = outputs, asides, grad_on()
        self.batched = [i.__class__ is Slot for i in inputs]
        self.reads = [i for i in inputs if i.__class__ is Slot] + slots
        self.fixed = not slots
        self.caller = "" if row.__class__ is Row or not may_loop(row) else reading(_BETWEEN)
        self.plain = self.fixed and len(inputs) == 1 and not row.outputs and rule_of(row) is elementwise

    def run(self, values: dict[int, Any], size: int) -> None:
        """Run the row, by its rule, on the values that the slots have now."""
        if self.plain and not self.asides:  # a batch is no other input
            values[self.outputs[0]] = self.row.call(value_of(self.inputs[0], self.cut[0], values), *self.params)
            return
        tensors = [value_of(i, cut, values) for i, cut in zip(self.inputs, self.cut)]
        params = self.params if self.fixed else [filled(p, values) for p in self.params]
        batch = Batch(self.row, tensors, self.batched, dict(zip(self.row.params, params)), size)
        batch.caller = self.caller
        try:
            found = by_rule(batch)
        except Exception as error:
            raise of_an_example(batch, error) from None
        if found.__class__ is tuple:
            values.update(zip(self.outputs, found))
        else:
            values[self.outputs[0]] = found
        if self.asides:
            batch.row = with_asides(self.row)
            with no_grad():
                values.update(zip(self.asides, by_rule(batch)[len(self.outputs) :]))


def value_of(item: Any, cut: bool, values: dict[int, Any]) -> Any:
    """What an instruction reads."""
    if item.__class__ is Slot:
        tensor = values[item]
        return tensor.detach() if cut and current_node(tensor) is not None else tensor
    return item.tensor if item.__class__ is Fixed else item


def filled(value: Any, values: dict[int, Any]) -> Any:
    """A parameter with the values that slots in it have now."""
    if value.__class__ is Batched:
        return Batched(values[value.tensor], value.bare, value.number)
    if isinstance(value, tuple) and slots_in([value]):
        return tuple([filled(v, values) for v in value])
    return value


def slots_in(items: Iterable[Any]) -> list[Slot]:
    """The slots in parameters."""
    found: list[Slot] = []
    for item in items:
        if item.__class__ is Batched:
            found.append(item.tensor)
        elif isinstance(item, tuple):
            found += slots_in(item)
    return found


class Applied:
    """A custom Function was applied."""

    asides = ()

    def __init__(self, function: Any, inputs: Any, cut: Any, outputs: Any, randomness: str) -> None:
        self.randomness = randomness
        self.function, self.inputs, self.cut, self.outputs, self.records = function, inputs, cut, outputs, grad_on()
        self.reads = [i for i in inputs if isinstance(i, Slot)]

    def run(self, values: dict[int, Any], size: int) -> None:
        """Apply its rule."""
        from ._functions import applied

        tensors = [value_of(i, cut, values) for i, cut in zip(self.inputs, self.cut)]
        places = [isinstance(i, Slot) for i in self.inputs]
        values.update(zip(self.outputs, applied(self.function, tensors, places, size, self.randomness)))


class Made:
    """A tensor is to be one for each example from here on."""

    records, reads, asides = False, (), ()

    def __init__(self, target: Slot, array: np.ndarray) -> None:
        self.outputs, self.array = [target], array.copy("K")

    def run(self, values: dict[int, Any], size: int) -> None:
        """Make them."""
        values[self.outputs[0]] = _runtime.made(np.broadcast_to(self.array, (size, *self.array.shape)).copy())


class Spread:
    """A tensor that did not depend on the batch, as it was when it was made, is to be one for each example."""

    reads, asides = (), ()

    def __init__(self, target: Slot, tensor: Any) -> None:
        self.outputs, self.tensor, self.records = [target], tensor, grad_on()

    def run(self, values: dict[int, Any], size: int) -> None:
        """Make them, with its history."""
        values[self.outputs[0]] = rows["clone"].call(expanded(self.tensor, size))


def copy_of(tensor: Any) -> Any:
    """A copy with the same history, which stands for the tensor's values also for what looks at this from outside."""
    array = tensor._array.copy()
    tell_parts("copied", tensor, array)
    return _runtime.wrap(array, current_node(tensor))


class Copied:
    """The values that *source* has were copied into *target*."""

    asides = ()

    def __init__(self, source: Slot, target: Slot) -> None:
        self.reads, self.outputs, self.records = [source], [target], grad_on()

    def run(self, values: dict[int, Any], size: int) -> None:
        """Copy."""
        values[self.outputs[0]] = copy_of(values[self.reads[0]])


class Writing:
    """An in-place operation on *target* begins: until it is ``Written``, a copy with the same history is in its place."""

    asides = ()

    def __init__(self, target: Slot, held: Slot) -> None:
        self.reads, self.outputs, self.records = [target], [held], grad_on()

    def run(self, values: dict[int, Any], size: int) -> None:
        """Put the copy, or a twin where nothing is recorded, in the tensor's place."""
        (target,), (held,) = self.reads, self.outputs
        values[held] = tensor = values[target]
        values[target] = copy_of(tensor) if self.records else _runtime.twin(tensor, current_node(tensor))


class Written:
    """The values of *source* were written into *target*; *held* is the tensor itself, where the operation had parts."""

    outputs, asides = (), ()

    def __init__(self, target: Slot, held: Slot | None, source: Any) -> None:
        self.target, self.held, self.source, self.records = target, held, source, grad_on()
        self.reads = [s for s in (target, held, source) if isinstance(s, Slot)]

    def run(self, values: dict[int, Any], size: int) -> None:
        """Write."""
        if self.held is not None:
            values[self.target] = values[self.held]
        tensor = values[self.target]
        source = self.source.tensor if isinstance(self.source, Fixed) else values[self.source]
        if isinstance(self.source, Slot):
            source = padded(source, tensor._array.ndim - source._array.ndim)
        write(tensor, copy, (source,), extent=SETTLED)


def copy(tensor: Any, source: Any) -> Any:
    if source._node is None and source._array.shape == tensor._array.shape:
        return source  # otherwise a node of its own: that of *source* is older than the write
    return rows["copy"].call(tensor, source, tensor._array.dtype)


def lived(instructions: list[Any], needed: set[Slot]) -> list[tuple[Any, list[Slot]]]:
    """The instructions that results or writes need, each with the slots that nothing reads after it."""
    found = []
    for instruction in reversed(instructions):
        if instruction.asides and isinstance(instruction, Called) and needed.isdisjoint(instruction.asides):
            instruction.asides = []
        if needed.isdisjoint(instruction.outputs) and needed.isdisjoint(instruction.asides) and not acts(instruction):
            continue
        dead = [slot for slot in {*instruction.reads, *instruction.outputs} if slot not in needed]
        needed.update(instruction.reads)
        found.append((instruction, dead))
    return found[::-1]


def acts(instruction: Any) -> bool:
    """Whether an instruction is followed though nobody reads what it gives: it writes, draws, or may raise."""
    row = getattr(instruction, "row", None)
    draws = getattr(row, "draws", False) or "generator" in getattr(row, "params", ())
    return isinstance(instruction, (Written, Writing)) or draws or getattr(row, "checks", False)
