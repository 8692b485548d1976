"""A trace: what a block of code calls, written down as instructions that can be run again on other values.

A value is an ndarray object; each that the block meets has a slot.  Instructions (see ``_trace_instructions``) are calls of
rows, so that whatever runs them (`run`, on Tensors; others by rules of their own) gets gradients, tangents and further traces
by itself.  Views are calls whose results share memory, and writes are writes: memory behaves as it did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from . import _op, _runtime
from ._args import Position
from ._choices import Choice, Number
from ._identity import owner
from ._modes import Observer, observers
from ._sites import getframe, mark_at
from ._trace_instructions import (
    Applied,
    ArraySlot,
    Called,
    Graded,
    Left,
    Made,
    NumberSlot,
    Packed,
    PlaceSlot,
    Ran,
    Read,
    Sized,
    Slot,
    Writing,
    Written,
    as_tuple,
    run,
    slots_in,
)

_current: ContextVar[Any] = ContextVar("trace", default=None)
LEAKS = frozenset(["item", "bool", "numpy", "tolist"])
"""How values become Python's or NumPy's."""
SIZED = ("unique", "unique_dim", "unique_consecutive", "masked_select")
"""Rows of which the shapes of the results depend on values; ``index`` is one where it is given a mask."""


def current_trace() -> Any:
    """The innermost trace that this thread is in, or None."""
    return _current.get()


class Trace(Observer):
    """Writes down what is called in its ``with`` block; of several blocks within each other, the innermost does.

    Parameters
    ----------
    arguments : sequence of Tensor
        What the instructions will be run on other values of.
    lifts : True or "kernels"
        How backward passes in the block are written down: as elementary operations, or with their kernels as one call each
        (the same bits as without a trace).
    on_leak : callable, optional
        Called as ``on_leak(kind, tensor)`` where a value that depends on an argument becomes Python's or NumPy's.

    Attributes
    ----------
    instructions : list
        `Called`, `Applied`, `Made`, `Writing`, `Written`, `Graded`, `Ran` and `Left`, in order.
    arguments : list of Slot
        The slots of the arguments.
    captured : dict of Slot to Tensor
        What the block used of what was there before: the tensors themselves, so that a parameter stays live.
    arrays : list of ndarray
        For each slot the array that it was in this trace: for shapes and dtypes.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> with Trace([x]) as trace:
    ...     y = (x * 2).exp()
    >>> trace.instructions
    [%1 = mul(%0, 2.0), %2 = exp(%1)]
    >>> trace.again([torch.tensor([0.0, 0.5])], [y])
    [tensor([1.0000, 2.7183])]
    """

    parts = True
    layouts: Any = None
    """What passes note of the memory of the arrays: see ``static._facts``."""
    all_leaks = False
    """Whether what becomes Python's is written down of captured values too."""
    follows: Collection[str] = ()
    """The rows of which integers that were read from tensors are parameters as these tensors, not as Python's numbers."""

    def __init__(
        self,
        arguments: Sequence[Any],
        on_leak: Callable[[str, Any], None] | None = None,
        *,
        lifts: bool | str = True,
    ) -> None:
        self.lifts = lifts
        self.instructions: list[Any] = []
        self.arrays: list[Any] = []
        self.captured: dict[Slot, Any] = {}
        self.on_leak = on_leak
        self._slots: dict[int, Slot] = {}  # by id; the arrays are kept, so that no other gets the same
        self._kept: list[Any] = []
        self.places: dict[int, tuple[Position, Read]] = {}  # integers that were read, by id
        self._met: set[int] = set()  # those of which it is not written down any more that they were
        self._owners: list[int] = []  # for each slot, whose memory it is
        self._tainted: set[int] = set()
        self._tainted_memory: set[int] = set()
        self._blocks: list[tuple[Any, int]] = []  # functions that are being applied, and where their bodies begin
        self._graded: set[int] = set()  # tensors whose gradient was changed or looked at, by id
        self._writes: list[Writing] = []  # that have begun
        self.frozen_grads: list[Any] = []  # tensors that require none, whose gradients were read or set
        self.generators: list[Any] = []  # that have drawn, besides the default one
        self.strange = False  # whether a factory gave memory of another value
        self.arguments = [self._new(t._array) for t in arguments]
        self._tainted.update(self.arguments)

    def __enter__(self) -> Trace:
        self._token = _current.set(self)
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        _current.reset(self._token)
        self._drop_writes(0)

    def active(self) -> bool:
        """Whether this thread is in the block, and in no trace within it."""
        return _current.get() is self

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is written down in this ``with`` block."""
        token = _current.set(None)
        try:
            yield
        finally:
            _current.reset(token)

    # -- slots ---------------------------------------------------------------------------------------------------------
    def add_result(self, tensor: Any) -> Slot:
        """The slot of a value that something in the block gives which is written down elsewhere."""
        slot = self._new(tensor._array)
        self._tainted.add(slot)
        return slot

    def _new(self, array: Any) -> Slot:
        slot = Slot(len(self.arrays))
        self.arrays.append(array)
        if array is not None:
            self._slots[id(array)] = slot
        memory = None if array is None else owner(array)
        self._kept.append(memory)
        self._owners.append(id(memory))
        return slot

    def slot_of(self, tensor: Any) -> Slot:
        """A tensor's slot; one that was not met before is captured."""
        slot = self._slots.get(id(tensor._array))
        if slot is None:
            slot = self._twin_of(tensor._array)
        if slot is None:
            slot = self._new(tensor._array)
            self.captured[slot] = tensor
        return slot

    def _twin_of(self, array: np.ndarray) -> Slot | None:
        """The slot of a value that *array*, which no call gave, shows as well: hooks for saved tensors make such."""
        memory = id(owner(array))
        for slot, other in enumerate(self.arrays):
            if self._owners[slot] == memory and other.__array_interface__ == array.__array_interface__:
                self._kept.append(array)
                self._slots[id(array)] = found = Slot(slot)
                return found
        return None

    def _output(self, array: Any) -> Slot:
        slot = self._slots.get(id(array))
        return self._new(array) if slot is None else slot

    def _input(self, value: Any) -> Any:
        if not isinstance(value, _runtime.Tensor) or getattr(value, "is_number", False):
            return value
        return self.slot_of(value)

    def _param(self, value: Any) -> Any:
        if isinstance(value, _runtime.Tensor):
            return self._input(value)
        if value.__class__ is np.ndarray:
            slot = self._slots.get(id(value))
            return value if slot is None else ArraySlot(slot)
        if value.__class__ is Number:
            return NumberSlot(self._slots[id(value.array)])
        if value.__class__ is Position:
            return self._read(value)
        if isinstance(value, (tuple, list)):
            items = [self._param(item) for item in value]
            if slots_in(items):
                kind: Any = type(value)
                return Packed(getattr(kind, "_make", kind), items)
        return value

    def _read(self, place: Position) -> Read:
        """An integer that was read from a tensor, with the slot of that."""
        if id(place) not in self.places:
            read = Read(place)
            read.slot = self._slots[id(place.array)]  # it was met when it was read
            self.places[id(place)] = place, read
        return self.places[id(place)][1]

    def following(self, instructions: Sequence[Any], rows: Collection[str]) -> list[Any]:
        """Instructions in which integers that were read from tensors are parameters of *rows* as these tensors."""
        found: list[Any] = []
        met: set[int] = set()
        for ins in instructions:
            if ins.__class__ is Called and ins.row.name in rows:
                params = self._followed(ins.params, found, met)
                ins = Called(ins.row, ins.inputs, params, ins.outputs, ins.asides)
            found.append(ins)
        return found

    def _followed(self, params: Sequence[Any], before: list[Any], met: set[int]) -> tuple[Any, ...]:
        """Parameters with the slots that places were read from: what was read is no number of Python's then, and that it
        was is taken out of the instructions *before*, where a place is met first."""
        for read in [p for p in params if p.__class__ is Read and id(p) not in met]:
            met.add(id(read))
            for number in reversed(range(len(before))):
                if before[number].__class__ is Left and before[number].slot == read.slot:
                    del before[number]
                    break
        return tuple([PlaceSlot(p.slot) if p.__class__ is Read else p for p in params])

    def depends(self, slot: Any) -> bool:
        """Whether a slot's values depend on an argument's."""
        return isinstance(slot, Slot) and (slot in self._tainted or self._owners[slot] in self._tainted_memory)

    def depends_on(self, tensor: Any) -> bool:
        """The same of a tensor."""
        slot = self._slots.get(id(tensor._array))
        return slot is not None and self.depends(slot)

    def _taint(self, inputs: Iterable[Any], outputs: Iterable[Slot]) -> None:
        if any([self.depends(i) for i in inputs]):
            self._tainted.update(outputs)

    # -- what the observer is told -------------------------------------------------------------------------------------
    def recorded(self, call: Any) -> None:
        """A row was called, or a custom Function has been applied."""
        if call.row.__class__ is Choice and call.row.draws and self.instructions and call.outputs:
            made = self.instructions[-1]
            if made.__class__ is Made and made.outputs[0] == self._slots.get(id(call.outputs[0]._array)):
                self.instructions.pop()  # it is drawn instead
        inputs = tuple([self._input(i) for i in call.inputs])
        outputs = tuple([self._output(o._array) for o in call.outputs])
        if isinstance(call.row, type):
            return self._applied(call.row, inputs, outputs)
        asides: tuple[Slot, ...] = ()
        if "aside" in call.row.kept and call.node is not None:
            asides = tuple([self._output(array) for array in call.node.saved_aside])
        params = tuple([self._param(p) for p in call.params])
        if call.row.name in self.follows:
            params = self._followed(params, self.instructions, self._met)
        self.instructions.append(called := Called(call.row, inputs, params, outputs, asides))
        self._taint(called.reads, (*outputs, *asides))
        if self.all_leaks and self._sized(called):
            mark = mark_at(getframe(1))
            self.instructions += [Sized("size", slot, self.arrays[slot], mark) for slot in outputs]

    def _sized(self, called: Called) -> bool:
        """Whether the shapes of what a call gives depend on values: on how many are true in a mask, for one."""
        if called.row.__class__ is Choice:
            return not called.row.fits
        masks = called.row.name == "index" and [s for s in slots_in(called.params) if self.arrays[s].dtype.kind == "b"]
        return bool(masks) or called.row.name in SIZED

    def applying(self, function: Any, args: tuple[Any, ...]) -> None:
        """A custom Function's forward begins."""
        for argument in args:
            self._input(argument)
        self._blocks.append((function, len(self.instructions)))

    def _applied(self, function: Any, inputs: tuple[Any, ...], outputs: tuple[Slot, ...]) -> None:
        while self._blocks:
            begun, start = self._blocks.pop()
            if begun is function:
                break
        body = self.instructions[start:]
        del self.instructions[start:]
        self.instructions.append(Applied(function, inputs, outputs, body))
        self._taint(inputs, outputs)

    def made(self, tensor: Any) -> None:
        """A factory made a tensor; of what a choice gave, that is the value already."""
        if id(tensor._array) in self._slots or self._twin_of(tensor._array) is not None:
            return
        self.strange = self.strange or id(owner(tensor._array)) in self._owners
        self.instructions.append(Made(self._new(tensor._array), tensor._array.copy("K")))

    def writing(self, tensor: Any) -> None:
        """An in-place operation on a tensor begins."""
        slot = self.slot_of(tensor)
        instruction = Writing(slot, self._new(None))
        self._writes.append(instruction)
        self.instructions.append(instruction)

    def _drop_writes(self, count: int) -> None:
        while len(self._writes) > count:
            self.instructions.remove(self._writes.pop())

    def written(self, tensor: Any, out: Any) -> None:
        """The in-place operation writes its result; one without parts, such as an assignment, begins here."""
        slot, source = self.slot_of(tensor), self._input(out)
        places = [i for i, begun in enumerate(self._writes) if begun.target == slot]
        if not places:
            self.writing(tensor)
        self._drop_writes(max(places, default=0) + 1)
        begun = self._writes.pop()
        self.instructions.append(Written(slot, begun.held, source))
        if self.depends(source):
            self._tainted.add(slot)
            self._tainted_memory.add(self._owners[slot])

    def rebound(self, tensor: Any) -> None:
        """What was written last gave the tensor its memory."""
        self.instructions[-1].moves = True

    def copied(self, tensor: Any, array: Any) -> None:
        """A tensor's present values were copied into an array that stands for them from now on."""
        source, copy = self.slot_of(tensor), self._new(array)
        self.instructions.append(Called(_op.rows["clone"], (source,), (), (copy,)))
        self._taint((source,), (copy,))

    def graded(self, tensor: Any, before: Any, after: Any) -> None:
        """A tensor's gradient was changed."""
        if tensor._node is None:  # it is frozen, or of no node's
            if after is not before:
                self.frozen_grads.append(tensor)
            return
        slot = None if after is None else self.slot_of(after)
        self._graded.add(id(tensor))
        self.instructions.append(Graded(tensor, before, slot, after is None))

    def grad_read(self, tensor: Any, value: Any) -> None:
        """A gradient from before the block was looked at."""
        if tensor._node is None:  # it requires none
            self.frozen_grads.append(tensor)
        elif id(tensor) not in self._graded:
            self._graded.add(id(tensor))
            self.instructions.append(Graded(tensor, value, None if value is None else self.slot_of(value), False))

    def drawing(self, generator: Any) -> None:
        """A generator is about to draw."""
        self.generators.append(generator)

    def ran(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """A function was called that is to be called again."""
        given = [self._param(a) for a in (*args, *kwargs.values())]
        outputs = tuple([self._output(o._array) for o in as_tuple(out) if isinstance(o, _runtime.Tensor)])
        self.instructions.append(Ran(function, given, tuple(kwargs), outputs, out))
        self._taint(slots_in(given), outputs)

    def left(self, kind: str, tensor: Any) -> None:
        """A value becomes Python's or NumPy's."""
        slot = self.slot_of(tensor)
        if (kind in LEAKS or kind == "print") if self.all_leaks else (kind in LEAKS and self.depends(slot)):
            if self.on_leak is not None:
                self.on_leak(kind, tensor)
            mark = mark_at(getframe(1)) if self.all_leaks else None
            self.instructions.append(Left(kind, slot, tensor._array.copy(), mark))

    # -- running again -------------------------------------------------------------------------------------------------
    def again(self, arguments: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """The instructions run on other arguments: the values then of tensors that were *results* in the block."""
        slots = [self.slot_of(t) for t in results]
        values = self.values(arguments)
        run(self.instructions, values)
        return [values[slot] for slot in slots]

    def values(self, arguments: Sequence[Any]) -> list[Any]:
        """What a run begins with: the arguments and what was captured in their slots, None in the others."""
        values: list[Any] = [None] * len(self.arrays)
        for slots in (self.captured.items(), zip(self.arguments, arguments)):
            for slot, tensor in slots:
                values[slot] = tensor
        return values
