"""What a function does to the first example of a batch, written down to be done to all of them.

The function runs once, on tensors of one example.  What does not depend on the batch is done then, once, as anywhere; what does
is written down as instructions and, afterwards, run on whole batches by the rules of the rows.  A value is an ndarray object:
whatever Tensors wrap the same one are one value, which has a *slot* where it depends on the batch.  See
docs/design/11-transforms.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from .. import _random, _runtime
from .._identity import owner
from .._inplace import write
from .._modes import Observer, active_levels, grad_on, levels, no_grad, observers, set_grad_enabled
from .._op import rows
from .._records import tell_parts
from .._trace import _current
from .._trace_instructions import Slot, with_asides
from .._views import current_node
from . import _refusals, by_rule, rule_of
from ._batch import Batch, Batched, expanded, padded
from ._shapes import elementwise
from ._table import DRAWN_BY_VALUE


class Fixed:
    """A tensor that does not depend on the batch, as an instruction reads it: where it is written later, a copy from before."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


# -- instructions ------------------------------------------------------------------------------------------------------
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
        self.plain = self.fixed and len(inputs) == 1 and not row.outputs and rule_of(row) is elementwise

    def run(self, values: dict[int, Any], size: int) -> None:
        """Run the row, by its rule, on the values that the slots have now."""
        if self.plain and not self.asides:  # a batch is no other input
            values[self.outputs[0]] = self.row.call(value_of(self.inputs[0], self.cut[0], values), *self.params)
            return
        tensors = [value_of(i, cut, values) for i, cut in zip(self.inputs, self.cut)]
        params = self.params if self.fixed else [filled(p, values) for p in self.params]
        batch = Batch(self.row, tensors, self.batched, dict(zip(self.row.params, params)), size)
        found = by_rule(batch)
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


class Again(BaseException):
    """Raised where a map's function must run again: something of the batch is written into the *number*-th tensor that it made.

    That tensor is one for each example then.  (A BaseException, so that the function itself does not catch it.)
    """

    def __init__(self, examples: Examples, number: int) -> None:
        super().__init__(number)
        self.examples, self.number = examples, number


class Made:
    """A factory made a tensor, which is to be one for each example."""

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
        write(tensor, copy, (source,))


def copy(tensor: Any, source: Any) -> Any:
    if source._node is None and source._array.shape == tensor._array.shape:
        return source  # otherwise a node of its own: that of *source* is older than the write
    return rows["copy"].call(tensor, source, tensor._array.dtype)


# -- the observer ------------------------------------------------------------------------------------------------------
class Examples(Observer):
    """Writes down what depends on the batch in its ``with`` block, and runs it on the whole batch.

    Parameters
    ----------
    size : int
        How many examples there are.
    randomness : {"error", "same", "different"}
        What random operations do.
    apart : set of int
        Of the tensors that the function makes, in order, the numbers of those that are one for each example.
    within : sequence of (set of int)
        The same of the maps within it, in order, as they were when the function ran before.
    """

    lifts = parts = batches = True

    def __init__(
        self, size: int, randomness: str, apart: frozenset[int] = frozenset(), within: Sequence[frozenset[int]] = ()
    ) -> None:
        self.size, self.randomness, self.apart = size, randomness, apart
        self._before, self.within = list(within), list[frozenset[int]]()
        self._made: list[Any] = []  # for each tensor of new memory that does not depend on the batch who owns that
        self._states: dict[Any, Any] = {}  # of the generators that drew, before they did
        self._wrote = False  # into what is not of this function: running it again would write again
        self.instructions: list[Any] = []
        self._slots: dict[int, Slot] = {}
        self._pushed: set[int] = set()  # the slots of batches that have tangents at levels outside
        self._arrays: list[Any] = []  # one for each slot; held, so that no other array gets the same identity
        self._fixed: dict[tuple[int, int], Fixed] = {}
        self._writes: list[Writing] = []
        self._blocks: list[tuple[Any, int]] = []

    def __enter__(self) -> Examples:
        self._outer, self._levels = _current.get(), active_levels()
        if self.randomness != "error":
            self.drawing(_random.default_generator)
        self._token = _current.set(self)
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        _current.reset(self._token)

    def expected(self) -> frozenset[int]:
        """What the next map within is to make one for each example, as it had to when the function ran before."""
        number = len(self.within)
        self.within.append(self._before[number] if number < len(self._before) else frozenset())
        return self.within[number]

    def active(self) -> bool:
        """Whether the function of this vmap runs here, and none within it."""
        return _current.get() is self

    # -- slots ---------------------------------------------------------------------------------------------------------
    def add(self, array: Any, pushed: bool = False) -> Slot:
        """A new slot, of this array; of a batch that has a tangent, if *pushed*."""
        slot = Slot(len(self._arrays))
        self._arrays.append(array)
        if array is not None:
            self._slots[id(array)] = slot
        if pushed:
            self._pushed.add(slot)
        return slot

    def slot_of(self, tensor: Any) -> Slot | None:
        """The slot of a tensor that depends on the batch; None for others."""
        return self._slots.get(id(tensor._array))

    def _input(self, value: Any) -> Any:
        """What stands for an input in an instruction."""
        if not isinstance(value, _runtime.Tensor):
            return value
        array = value._array
        slot = self._slots.get(id(array))
        if slot is not None:
            return slot
        key = id(array), id(current_node(value))
        fixed = self._fixed.get(key)
        if fixed is None or fixed.tensor._array is not array:
            self._fixed[key] = fixed = Fixed(value)
        return fixed

    def _param(self, value: Any) -> Any:
        """What stands for a parameter."""
        if value.__class__ is np.ndarray and id(value) in self._slots:
            return Batched(self._slots[id(value)], bare=True)
        if isinstance(value, _runtime.Tensor) and (slot := self.slot_of(value)) is not None:
            return Batched(slot)
        if isinstance(value, float) and id(getattr(value, "array", None)) in self._slots:
            return Batched(self._slots[id(value.array)], bare=True, number=True)  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            found = tuple([self._param(v) for v in value])
            return found if slots_in(found) else value
        return value

    # -- what it is told -----------------------------------------------------------------------------------------------
    def recorded(self, call: Any) -> None:
        """A row was called, or a custom Function has been applied."""
        row, slots = call.row, self._slots
        depends = any([id(i._array) in slots for i in call.inputs if isinstance(i, _runtime.Tensor)])
        if isinstance(row, type):
            self._applied(call, depends)
            return
        params, within = call.params, []
        if not depends or row.params or getattr(row, "draws", False):
            params = tuple([self._param(p) for p in params])
            within = slots_in(params)
            depends = depends or bool(within)
            if "generator" in row.params or getattr(row, "draws", False):
                depends = self._drawn(row.name, depends)
        if not depends:
            if self._outer is not None:
                self._outer.recorded(call)
            self._computed(call)
            return
        self._made += [None] * len(call.outputs)
        inputs, cut = self._read(call.inputs)
        outputs = [self.add(o._array) for o in call.outputs]  # one may be an input's array
        if self._levels:
            self._push(row, call.inputs, call.outputs)
        asides: list[Slot] = []
        if "aside" in row.kept and call.node is not None:
            asides = [self.add(array) for array in call.node.saved_aside]
        self.instructions.append(Called(row, inputs, cut, params, within, outputs, asides))

    def _push(self, row: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Note which results have tangents: those of floats, where an input that the row has a derivative for has one."""
        names = row.inputs * len(inputs) if getattr(row, "variadic", False) else getattr(row, "inputs", None)
        moved = [i for n, i in zip(names or inputs, inputs) if names is None or n in row.formulas]
        if any([isinstance(i, _runtime.Tensor) and _runtime.has_tangent(i) for i in moved]):
            self._pushed.update([self._slots[id(o._array)] for o in outputs if o._array.dtype.kind == "f"])

    def pushed(self, tensor: Any) -> bool:
        """Whether a tensor stands for a batch that has a tangent."""
        slot = self.slot_of(tensor)
        if slot is not None:
            return slot in self._pushed
        return self._outer is not None and self._outer.pushed(tensor)

    def _computed(self, call: Any) -> None:
        """What does not depend on the batch was computed: new memory is this function's, which may write into it."""
        memories = [owner(i._array) for i in call.inputs if isinstance(i, _runtime.Tensor)]
        for tensor in call.outputs:
            memory = owner(tensor._array)
            own = not any([memory is m for m in memories])
            self._made.append(ref(memory) if own else None)
            if own and len(self._made) - 1 in self.apart:
                with self._outside():
                    for observer in [o for o in observers if o.pushes and o.active()]:
                        observer.recorded(call)  # its turn comes later, and the twin is to have all that it gives
                    twin = rows["clone"].call(tensor)
                self.instructions.append(Spread(self.add(tensor._array), twin))

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """Context in which operations are done as they are outside of this map."""
        there = active_levels()
        current, followed = _current.set(self._outer), levels.set(tuple([at for at in self._levels if at in there]))
        try:
            yield
        finally:
            levels.reset(followed)
            _current.reset(current)

    def _read(self, inputs: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        slots, read, cut = self._slots, [], []
        for value in inputs:
            slot = slots.get(id(value._array)) if isinstance(value, _runtime.Tensor) else None
            read.append(self._input(value) if slot is None else slot)
            cut.append(slot is not None and (value._node is None or current_node(value) is None))
        return read, cut

    def _drawn(self, name: str, depends: bool) -> bool:
        """Whether what was drawn is to differ from example to example."""
        if self.randomness == "error":
            raise RuntimeError(_refusals.RANDOM)
        if self.randomness == "same" and depends and name in DRAWN_BY_VALUE:
            raise RuntimeError(_refusals.SAME_OF_BATCHED)
        return self.randomness == "different"

    def drawing(self, generator: Any) -> None:
        """A generator is about to draw for the first example: it is put back before it draws for the batch."""
        if generator not in self._states:
            self._states[generator] = generator.get_state()
        if self._outer is not None:
            self._outer.drawing(generator)

    def put_back(self) -> None:
        """Have generators go on from where they were before the first example."""
        for generator, state in self._states.items():
            generator.set_state(state)

    def applying(self, function: Any, args: tuple[Any, ...]) -> None:
        """A custom Function's forward begins."""
        self._blocks.append((function, len(self.instructions)))
        if self._outer is not None and not any(
            [isinstance(a, _runtime.Tensor) and self.slot_of(a) is not None for a in args]
        ):
            self._outer.applying(function, args)

    def _applied(self, call: Any, depends: bool) -> None:
        while self._blocks and self._blocks.pop()[0] is not call.row:
            pass
        _refusals.check_function(call.row)
        if not depends:
            if self._outer is not None:
                self._outer.recorded(call)
            return
        inputs, cut = self._read(call.inputs)
        outputs = [self._slots.get(id(o._array), None) for o in call.outputs]
        outputs = [self.add(o._array) if s is None else s for o, s in zip(call.outputs, outputs)]
        if self._levels:
            self._push(call.row, call.inputs, call.outputs)
        self.instructions.append(Applied(call.row, inputs, cut, outputs, self.randomness))

    def made(self, tensor: Any) -> None:
        """A factory made a tensor."""
        self._made.append(ref(owner(tensor._array)))
        if len(self._made) - 1 in self.apart:
            self.instructions.append(Made(self.add(tensor._array), tensor._array))
        elif self._outer is not None:
            self._outer.made(tensor)

    def writing(self, tensor: Any) -> None:
        """An in-place operation begins."""
        slot = self.slot_of(tensor)
        if slot is not None:
            begun = Writing(slot, self.add(None))
            self._writes.append(begun)
            self.instructions.append(begun)
            return
        self._keep_old(tensor)
        if self._outer is not None:
            self._outer.writing(tensor)

    def _keep_old(self, tensor: Any) -> None:
        """Give instructions that read a memory which is about to be written a copy of what is there."""
        memory = owner(tensor._array)
        for key, fixed in tuple(self._fixed.items()):
            if owner(fixed.tensor._array) is memory:
                fixed.tensor = copy_of(fixed.tensor)
                del self._fixed[key]

    def written(self, tensor: Any, out: Any) -> None:
        """An in-place operation writes its result; one without parts, such as an assignment, begins here."""
        slot = self.slot_of(tensor)
        if slot is None:
            memory = owner(tensor._array)
            number = next((n for n, made in enumerate(self._made) if made is not None and made() is memory), None)
            if self.slot_of(out) is not None:
                if number is None or self._wrote:
                    raise RuntimeError(_refusals.WRITE)
                raise Again(self, number)
            self._wrote = self._wrote or number is None
            self._keep_old(tensor)
            if self._outer is not None:
                self._outer.written(tensor, out)
            return
        held = None
        while self._writes:
            begun = self._writes.pop()
            if begun.reads[0] == slot:
                held = begun.outputs[0]
                break
            self.instructions.remove(begun)
        if self._levels and _runtime.has_tangent(out):
            self._pushed.add(slot)
        self.instructions.append(Written(slot, held, self._input(out)))

    def copied(self, tensor: Any, array: Any) -> None:
        """A tensor's values were copied into an array that stands for them from now on."""
        slot = self.slot_of(tensor)
        if slot is not None:
            self.instructions.append(Copied(slot, self.add(array)))
        elif self._outer is not None:
            self._outer.copied(tensor, array)

    def accumulating(self) -> None:
        """Refuse ``backward()``: a leaf's gradient is one tensor."""
        raise RuntimeError(_refusals.BACKWARD)

    def differs(self, tensor: Any) -> bool:
        """Whether a tensor depends on the batch, or on that of a map around this one."""
        return self.holds(tensor) or (self._outer is not None and self._outer.differs(tensor))

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor depends on the batch of this map."""
        return self.slot_of(tensor) is not None

    def said(self, tensor: Any) -> str:
        """That a tensor's text shows one of many examples."""
        if self.slot_of(tensor) is not None:
            return f"vmap=<first of {self.size} examples>"
        return "" if self._outer is None else self._outer.said(tensor)

    def hides(self, level: Any, tensor: Any) -> bool:
        """Whether a tensor depends on the batch of a map within the level, whose tangents are those of whole batches."""
        own = level in self._levels and self.holds(tensor)
        return own or (self._outer is not None and self._outer.hides(level, tensor))

    def left(self, kind: str, tensor: Any) -> None:
        """A value becomes Python's or NumPy's: refused where it depends on the batch."""
        if self.slot_of(tensor) is not None:
            _refusals.check_leaving(kind)
        elif self._outer is not None:
            self._outer.left(kind, tensor)

    def let_go(self) -> list[ref[np.ndarray]]:
        """Forget everything; what is returned knows which arrays that depend on the batch something else still holds."""
        shared = {id(fixed.tensor._array) for fixed in self._fixed.values()}
        arrays = [ref(a) for a in self._arrays if isinstance(a, np.ndarray) and id(a) not in shared]
        for held in (self.instructions, self._arrays, self._slots, self._fixed, self._made, self._writes, self._blocks):
            held.clear()
        return arrays

    # -- the whole batch -----------------------------------------------------------------------------------------------
    def run(self, batches: Sequence[Any], results: Sequence[Slot]) -> dict[int, Any]:
        """The values, for the whole batch, of the results; *batches* are those of the first slots."""
        values: dict[int, Any] = dict(enumerate(batches))
        for instruction, dead in lived(self.instructions, set(results)):
            if instruction.records is not grad_on():
                with set_grad_enabled(instruction.records):
                    instruction.run(values, self.size)
            else:
                instruction.run(values, self.size)
            for slot in dead:
                values.pop(slot, None)
        return values


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
