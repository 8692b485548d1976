"""What a function does to the first example of a batch, written down to be done to all of them.

The function runs once, on tensors of one example.  What does not depend on the batch is done then, once, as anywhere; what does
is written down as instructions and, afterwards, run on whole batches by the rules of the rows.  A value is an ndarray object:
whatever Tensors wrap the same one are one value, which has a *slot* where it depends on the batch.  See
docs/design/11-transforms.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from .. import _random, _runtime
from .._identity import owner
from .._modes import Observer, active_levels, grad_on, in_transform, levels, observers, set_grad_enabled
from .._op import rows
from .._trace import _current
from .._trace_instructions import Slot
from .._views import current_node, root_of
from . import _refusals
from ._batch import Batched
from ._instructions import (
    Applied,
    Called,
    Copied,
    Fixed,
    Made,
    Spread,
    Writing,
    Written,
    copy_of,
    lived,
    slots_in,
)
from ._table import DRAWN_BY_VALUE


class Again(BaseException):
    """Raised where a map's function must run again: something of the batch is written into the *number*-th tensor that it made.

    That tensor is one for each example then.  (A BaseException, so that the function itself does not catch it.)
    """

    def __init__(self, examples: Examples, number: int) -> None:
        super().__init__(number)
        self.examples, self.number = examples, number


class Own:
    """Memory of the function's own: an *array* that it made, and whose memory that is."""

    __slots__ = ("array", "memory")

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.memory = ref(array), ref(owner(array))


class Shown:
    """A view was taken of what does not depend on the batch: it is taken again where that comes to depend on it."""

    __slots__ = ("outputs", "params", "records", "row", "source")

    def __init__(self, call: Any) -> None:
        self.row, self.params, self.records = call.row, call.params, grad_on()
        self.source, self.outputs = ref(call.inputs[0]._array), [ref(o._array) for o in call.outputs]


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
        self._made: list[Own | None] = []  # for each tensor that the function made or computed, if that is new memory
        self._shown: list[Shown] = []
        self._left: list[Any] = []  # memories that NumPy, or a tensor of its own, shows as well
        self._states: dict[Any, Any] = {}  # of the generators that drew, before they did
        self._wrote = False  # into what is not of this function: running it again would write again
        self.instructions: list[Any] = []
        self._slots: dict[int, Slot] = {}
        self._pushed: set[int] = set()  # the slots of batches that have tangents at levels outside
        self._arrays: list[Any] = []  # one for each slot; held, so that no other array gets the same identity
        self._fixed: dict[tuple[int, int], Fixed] = {}
        self._writes: list[Writing] = []
        self._ruled: list[Applied] = []  # custom Functions by their own rules, which are being applied
        self._ruling = False  # one of these rules runs, on the first example

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
            if value._alias is not None and value._alias.inference and in_transform() not in ("", "forward"):
                value = _runtime.twin(value)  # a constant like others
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
        if memories and owner(call.outputs[0]._array) is memories[0]:
            self._shown.append(Shown(call))
        for tensor in call.outputs:
            memory = owner(tensor._array)
            own = not any([memory is m for m in memories])
            self._made.append(Own(tensor._array) if own else None)
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
        if self._outer is not None and not self._any_of(args):
            self._outer.applying(function, args)

    def _any_of(self, args: Sequence[Any]) -> bool:
        """Whether an argument depends on the batch."""
        return any([isinstance(a, _runtime.Tensor) and self.slot_of(a) is not None for a in args])

    def forward(self, function: Any, args: tuple[Any, ...], recording: bool) -> Any:
        """What a Function gives that has its own rule, in place of its forward: the rule's results for a batch of one.

        Their values may be looked at by the rule; what it gives for the whole batch, the Function's setup_context may read.
        """
        from ._functions import of_first

        if not self._any_of(args):
            around: Any = super() if self._outer is None else self._outer
            return around.forward(function, args, recording)
        token, state = _current.set(None), _random.default_generator.get_state()
        try:
            batched = [isinstance(a, _runtime.Tensor) and self.slot_of(a) is not None for a in args]
            self._ruling = True
            result = of_first(function, args, batched, self.randomness)
        finally:
            self._ruling = False
            _current.reset(token)
            _random.default_generator.set_state(state)  # the rule draws
        arrays = [o._array for o in (result if isinstance(result, tuple) else (result,)) if hasattr(o, "_array")]
        inputs, cut = self._read(args)
        outputs = [self.add(None if id(a) in self._slots else a) for a in arrays]  # one that is an input comes later
        self.instructions.append(Applied(function, inputs, cut, outputs, self.randomness))
        self.instructions[-1].records = recording
        self._ruled.append(self.instructions[-1])
        return result

    def _applied(self, call: Any, depends: bool) -> None:
        _refusals.check_function(call.row)
        if not depends:
            if self._outer is not None:
                self._outer.recorded(call)
            return
        own = [self._slots.get(id(o._array)) for o in call.outputs]
        outputs = [self.add(o._array) if s is None else s for o, s in zip(call.outputs, own)]
        if self._levels:
            self._push(call.row, call.inputs, call.outputs)
        if call.row.generate_vmap_rule:
            self.instructions.append(Applied(call.row, *self._read(call.inputs), outputs, self.randomness))
            return
        while (applied := self._ruled.pop()).function is not call.row:  # those that failed
            pass
        for given, slot in zip(applied.outputs, outputs):
            if given != slot:
                self.instructions.append(Called(rows["alias"], [given], [False], (), [], [slot], []))

    def made(self, tensor: Any) -> None:
        """A factory made a tensor."""
        self._made.append(Own(tensor._array))
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
        slot, held = self.slot_of(tensor), None
        if slot is None:
            memory = owner(tensor._array)
            numbers = [n for n, own in enumerate(self._made) if own is not None and own.memory() is memory]
            number = numbers[0] if len(numbers) == 1 else None  # of several, none made it: it is an ndarray's
            self._keep_old(tensor)
            if self.slot_of(out) is None:
                self._wrote = self._wrote or number is None
                if self._outer is not None:
                    self._outer.written(tensor, out)
                return
            slot = None if number is None else self._each_its_own(tensor, self._made[number])
            if slot is None:
                if number is None or self._wrote:
                    raise RuntimeError(_refusals.WRITE)
                raise Again(self, number)
            self._took(slot, None, out)
            return
        while self._writes:
            begun = self._writes.pop()
            if begun.reads[0] == slot:
                held = begun.outputs[0]
                break
            self.instructions.remove(begun)
        self._took(slot, held, out)

    def _took(self, slot: Slot, held: Slot | None, out: Any) -> None:
        if self._levels and _runtime.has_tangent(out):
            self._pushed.add(slot)
        self.instructions.append(Written(slot, held, self._input(out)))

    def _each_its_own(self, tensor: Any, own: Any) -> Slot | None:
        """The slot of a tensor, in memory of this function's own, that is one for each example from here on, with its views.

        None where it has a history or tangents from outside, or where something unknown may show the same memory.
        """
        root, array, memory = root_of(tensor), own.array(), own.memory()
        if array is None or root._array is not array or current_node(root) is not None or self._shared(root):
            return None
        self.instructions.append(Made(self.add(array), array))
        for shown in self._shown:
            source, outputs = shown.source(), [output() for output in shown.outputs]
            if not any([o is not None and id(o) not in self._slots and owner(o) is memory for o in outputs]):
                continue
            if source is None or id(source) not in self._slots:
                return None
            made = [self.add(o) for o in outputs]
            taken = Called(shown.row, [self._slots[id(source)]], [False], shown.params, [], made, [])
            taken.records = shown.records
            self.instructions.append(taken)
        return self.slot_of(tensor)

    def _shared(self, root: Any) -> bool:
        """Whether something besides tensors of this function knows a tensor's memory, or its tangent."""
        return (
            any([memory() is owner(root._array) for memory in self._left])
            or any([level.of(root) is not None for level in self._levels])
            or (self._outer is not None and self._outer.differs(root))
        )

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
        return self._ruling or self.slot_of(tensor) is not None

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
            return
        if kind not in (
            "item",
            "index",
            "bool",
            "tolist",
            "print",
            "format",
            "detach",
        ):  # which copy, or are operations too
            self._left.append(ref(owner(tensor._array)))
        if self._outer is not None:
            self._outer.left(kind, tensor)

    def let_go(self) -> list[ref[np.ndarray]]:
        """Forget everything; what is returned knows which arrays that depend on the batch something else still holds."""
        shared = {id(fixed.tensor._array) for fixed in self._fixed.values()}
        arrays = [ref(a) for a in self._arrays if isinstance(a, np.ndarray) and id(a) not in shared]
        known = (self._arrays, self._slots, self._pushed, self._fixed, self._made, self._shown, self._left)
        for held in (*known, self.instructions, self._writes, self._ruled):
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
