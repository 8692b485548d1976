"""A trace: what a block of code calls, written down as instructions that can be run again on other values.

A value is an ndarray object; each that the block meets has a slot.  Instructions are calls of rows, so that whatever runs them
(`run`, on Tensors; others by rules of their own) gets gradients, tangents and further traces by itself.  Views are calls
whose results share memory, and writes are writes: memory behaves as it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from . import _op, _runtime
from ._choices import Choice, Number, number
from ._identity import owner
from ._inplace import copied, write
from ._modes import Observer, grad_on, no_grad, observers
from ._records import getframe, mark_at, tell_parts
from ._views import current_node


class Slot(int):
    """The number of a value in a trace."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"%{int(self)}"


class ArraySlot(Slot):
    """The same of a parameter that is the value's ndarray itself."""

    __slots__ = ()


class NumberSlot(Slot):
    """The same of a parameter that is the number in it."""

    __slots__ = ()


class Packed:
    """A sequence among a row's parameters that holds slots, such as the tensors of an index."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: Callable[..., Any], items: list[Any]) -> None:
        self.kind, self.items = kind, items

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


def slots_in(items: Iterable[Any]) -> list[Slot]:
    """The slots among inputs or parameters."""
    found: list[Slot] = []
    for item in items:
        if isinstance(item, Slot):
            found.append(item)
        elif item.__class__ is Packed:
            found += slots_in(item.items)
    return found


def filled_in(item: Any, values: Sequence[Any]) -> Any:
    """An input or a parameter with the values that its slots have."""
    kind = item.__class__
    if kind is Slot:
        return values[item]
    if kind is ArraySlot:
        return values[item]._array
    if kind is NumberSlot:
        return number(values[item]._array)
    if kind is Packed:
        return item.kind([filled_in(i, values) for i in item.items])
    return item


# -- instructions ------------------------------------------------------------------------------------------------------
class Called:
    """A row was called.

    Attributes
    ----------
    row : Row
        The row.
    inputs : tuple
        A ``Slot`` each, or a constant: a number as the 0-d Tensor that it was beside a tensor (``is_number``), or None.
    params : tuple
        The row's parameters, by position; one that is a tensor or a known value's array is a slot too.
    reads : list of Slot
        All slots among them.
    outputs : tuple of Slot
        What it returned.
    asides : tuple of Slot
        What its kernel set aside for formulas; empty where no formula ran in the block.
    """

    __slots__ = ("asides", "fixed", "inputs", "outputs", "params", "reads", "row")

    def __init__(self, row: Any, inputs: Any, params: Any, outputs: Any, asides: Any = ()) -> None:
        self.row, self.inputs, self.params, self.outputs, self.asides = row, inputs, params, outputs, asides
        self.reads = slots_in((*inputs, *params))
        self.fixed = not slots_in(params)

    def params_on(self, values: Sequence[Any]) -> Any:
        """The parameters, with the values that slots among them have."""
        return self.params if self.fixed else tuple([filled_in(p, values) for p in self.params])

    def run(self, values: list[Any]) -> None:
        """Call the row on the values that the slots have now."""
        inputs = [values[i] if i.__class__ is Slot else i for i in self.inputs]
        params = self.params_on(values)
        if self.asides:
            outputs = _with_asides(self.row, inputs, params)
            for slot, value in zip((*self.outputs, *self.asides), outputs):
                values[slot] = value
            return
        out = self.row.call(inputs, *params) if self.row.variadic else self.row.call(*inputs, *params)
        if out.__class__ is tuple:
            for slot, value in zip(self.outputs, out):
                values[slot] = value
        else:
            values[self.outputs[0]] = out

    def __repr__(self) -> str:
        results = ", ".join(map(repr, (*self.outputs, *self.asides)))
        params = [f"{name}={value!r}" for name, value in zip(self.row.params, self.params)]
        return f"{results} = {self.row.name}({', '.join([*map(_shown, self.inputs), *params])})"


def _shown(value: Any) -> str:
    return repr(value._array.item()) if getattr(value, "is_number", False) else repr(value)


def _with_asides(row: Any, inputs: list[Any], params: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row's outputs and what its kernel set aside: kept by the node where one is made, otherwise outputs of a twin row."""
    if grad_on() and any([i is not None and current_node(i) is not None for i in inputs]):
        out = row.call(*inputs, *params)
        outputs = out if out.__class__ is tuple else (out,)
        node = outputs[0]._node
        node = node if hasattr(node, "saved_aside") else node.edges[0]
        return (*outputs, *[_runtime.wrap(array) for array in node.saved_aside])
    outputs = with_asides(row).call(*inputs, *params)
    return outputs


def with_asides(row: Any) -> Any:
    """A row whose outputs are a row's and what its kernel sets aside."""
    if row.name not in _twins:
        twin = _op.Row(f"{row.name}, with asides", "", row.kernel, row.inputs)
        twin.outputs, twin.floats, twin.broadcasts, twin.numbers = True, row.floats, row.broadcasts, False
        twin.call = twin.recorder = _op.recorder(twin, "recorder")
        _twins[row.name] = twin
    return _twins[row.name]


_twins: dict[str, Any] = {}


class Applied:
    """A custom Function was applied; the operations of its forward are the *body*."""

    __slots__ = ("body", "inputs", "outputs", "reads", "row")
    params = asides = ()

    def __init__(self, function: Any, inputs: Any, outputs: Any, body: list[Any]) -> None:
        self.row, self.inputs, self.outputs, self.body = function, inputs, outputs, body
        self.reads = slots_in(inputs)

    def run(self, values: list[Any]) -> None:
        """Run the body, for what backward may read of it; with history, the Function gives the results."""
        inputs = [values[i] if i.__class__ is Slot else i for i in self.inputs]
        recorded = grad_on() and any([isinstance(i, _runtime.Tensor) and current_node(i) is not None for i in inputs])
        if recorded:
            out = self.row.apply(*inputs)
        with no_grad():
            run(self.body, values)
        if recorded:
            for slot, value in zip(self.outputs, [o for o in _as_tuple(out) if isinstance(o, _runtime.Tensor)]):
                values[slot] = value

    def __repr__(self) -> str:
        body = "".join([f"\n    {line}" for instruction in self.body for line in repr(instruction).split("\n")])
        return f"{', '.join(map(repr, self.outputs))} = {self.row.__name__}({', '.join(map(repr, self.inputs))}):{body}"


class Writing:
    """An in-place operation on *target* begins: until it is ``Written``, *target* is a twin; *held* is the tensor itself."""

    __slots__ = ("held", "target")

    def __init__(self, target: Slot, held: Slot) -> None:
        self.target, self.held = target, held

    def run(self, values: list[Any]) -> None:
        """Put a twin with the tensor's present history in its place."""
        values[self.held] = tensor = values[self.target]
        values[self.target] = _runtime.wrap(tensor._array, current_node(tensor))

    def __repr__(self) -> str:
        return f"{self.held!r} = {self.target!r}, to be written"


class Written:
    """The values of *source* were written into *target*."""

    __slots__ = ("held", "source", "target")

    def __init__(self, target: Slot, held: Slot, source: Any) -> None:
        self.target, self.held, self.source = target, held, source

    def run(self, values: list[Any]) -> None:
        """Write; where something was recorded, the twin keeps the old values."""
        tensor, twin, out = values[self.held], values[self.target], values[self.source]
        if grad_on() and (out._node is not None or twin._node is not None):
            twin._array = copied(twin._array)
            if observers:
                tell_parts("copied", tensor, twin._array)
        write(tensor, _fitted, (out,))
        values[self.target] = tensor

    def __repr__(self) -> str:
        return f"{self.target!r} := {self.source!r}"


def _fitted(twin: Any, out: Any) -> Any:
    if out._array.shape == twin._array.shape:
        return out
    return _op.rows["copy"].call(twin, out, out._array.dtype)


class Graded:
    """A tensor's ``.grad`` was changed: to the value of a slot, or to None; or it was added to in place.

    Attributes
    ----------
    tensor : Tensor
        Whose gradient.
    before : Tensor or None
        What it was.
    slot : Slot or None
        What it is.
    cleared : bool
        Whether what it was does not matter.
    """

    __slots__ = ("before", "cleared", "slot", "tensor")

    def __init__(self, tensor: Any, before: Any, slot: Slot | None, cleared: bool) -> None:
        self.tensor, self.before, self.slot, self.cleared = tensor, before, slot, cleared

    def run(self, values: list[Any]) -> None:
        """Give the tensor its gradient."""
        self.tensor.grad = None if self.slot is None else values[self.slot]

    def __repr__(self) -> str:
        return f"the gradient of a tensor of shape {list(self.tensor.shape)} := {self.slot!r}"


class Ran:
    """A function was called that changes more than tensors, such as an optimizer's ``step``."""

    __slots__ = ("args", "function", "kwargs", "outputs")

    def __init__(self, function: Any, args: list[Any], kwargs: dict[str, Any], outputs: tuple[Slot, ...]) -> None:
        self.function, self.args, self.kwargs, self.outputs = function, args, kwargs, outputs

    def run(self, values: list[Any]) -> None:
        """Call it again."""
        out = self.function(*[filled_in(a, values) for a in self.args], **self.kwargs)
        for slot, value in zip(self.outputs, [o for o in _as_tuple(out) if isinstance(o, _runtime.Tensor)]):
            values[slot] = value

    def __repr__(self) -> str:
        return f"{self.name}()"

    @property
    def name(self) -> str:
        """What was called, a method by the class of its object: ``SGD.step``, wherever it is inherited from."""
        inherited, _, name = self.function.__qualname__.rpartition(".")
        kind = type(self.args[0]) if self.args else object
        own = inherited in [base.__qualname__ for base in kind.__mro__]
        return f"{kind.__name__}.{name}" if own else str(self.function.__qualname__)


class Left:
    """A value became Python's or NumPy's, by ``item``, ``bool`` and the like, at a line of the user's, if *mark* is its.
    Nothing is to be done when run again."""

    __slots__ = ("kind", "mark", "slot", "value")

    def __init__(self, kind: str, slot: Slot, value: Any, mark: Any = None) -> None:
        self.kind, self.slot, self.value, self.mark = kind, slot, value, mark

    def run(self, values: list[Any]) -> None:
        """Nothing."""

    def __repr__(self) -> str:
        return f"{self.slot!r} left by {self.kind}"


class Sized(Left):
    """A value of which the shape depends on other values, as that of ``nonzero``: what follows is made for its shape."""

    __slots__ = ()


class Made:
    """A factory made a tensor: each run begins with a copy of what it was."""

    __slots__ = ("array", "outputs")
    inputs = params = asides = ()

    def __init__(self, output: Slot, array: np.ndarray) -> None:
        self.outputs, self.array = (output,), array

    def run(self, values: list[Any]) -> None:
        """Make it again."""
        values[self.outputs[0]] = _runtime.made(self.array.copy("K"))

    def __repr__(self) -> str:
        return f"{self.outputs[0]!r} = constant of shape {list(self.array.shape)}, {self.array.dtype.name}"


def run(instructions: Iterable[Any], values: list[Any]) -> None:
    """Run instructions on Tensors: *values* has one for each slot that is read, and gets the others."""
    for instruction in instructions:
        instruction.run(values)


# -- the trace ---------------------------------------------------------------------------------------------------------
_current: ContextVar[Any] = ContextVar("trace", default=None)
LEAKS = frozenset(["item", "bool", "numpy", "tolist"])
"""How values become Python's or NumPy's."""
SIZED = ("unique", "unique_dim", "unique_consecutive", "masked_select")
"""Rows of which the shapes of the results depend on values; ``index`` is one where it is given a mask."""


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
        self._owners: list[int] = []  # for each slot, whose memory it is
        self._tainted: set[int] = set()
        self._tainted_memory: set[int] = set()
        self._blocks: list[tuple[Any, int]] = []  # functions that are being applied, and where their bodies begin
        self._graded: set[int] = set()  # tensors whose gradient was changed or looked at, by id
        self._writes: list[Writing] = []  # that have begun
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

    # -- slots ---------------------------------------------------------------------------------------------------------
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
        if isinstance(value, (tuple, list)):
            items = [self._param(item) for item in value]
            if slots_in(items):
                kind: Any = type(value)
                return Packed(getattr(kind, "_make", kind), items)
        return value

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
        if id(tensor._array) not in self._slots:
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

    def copied(self, tensor: Any, array: Any) -> None:
        """A tensor's present values were copied into an array that stands for them from now on."""
        source, copy = self.slot_of(tensor), self._new(array)
        self.instructions.append(Called(_op.rows["clone"], (source,), (), (copy,)))
        self._taint((source,), (copy,))

    def graded(self, tensor: Any, before: Any, after: Any) -> None:
        """A tensor's gradient was changed."""
        if tensor._node is None:
            return  # it is frozen
        slot = None if after is None else self.slot_of(after)
        self._graded.add(id(tensor))
        self.instructions.append(Graded(tensor, before, slot, after is None))

    def grad_read(self, tensor: Any, value: Any) -> None:
        """A gradient from before the block was looked at."""
        if id(tensor) not in self._graded:
            self._graded.add(id(tensor))
            self.instructions.append(Graded(tensor, value, None if value is None else self.slot_of(value), False))

    def ran(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """A function was called that is to be called again."""
        given = [self._input(a) for a in args]
        outputs = tuple([self._output(o._array) for o in _as_tuple(out) if isinstance(o, _runtime.Tensor)])
        self.instructions.append(Ran(function, given, kwargs, outputs))
        self._taint(given, outputs)

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


def _as_tuple(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)
