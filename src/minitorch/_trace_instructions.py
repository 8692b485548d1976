"""The instructions of a trace, which can be run again on other values.

Each has ``run``, which does on Tensors what was done in the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from . import _op, _runtime
from ._choices import number
from ._inplace import SETTLED, copied, write
from ._modes import grad_on, no_grad, observers
from ._records import tell_parts
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


class PlaceSlot(NumberSlot):
    """The same of a parameter that is the integer in it, such as an index."""

    __slots__ = ()


class Read(int):
    """An integer parameter that was read from the value of a *slot*."""

    slot: Slot


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
    if kind is PlaceSlot:
        return int(values[item]._array)
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
        params = dict(zip(self.row.params, self.params))
        if self.row.name == "draw":  # what a factory draws, which is the function that people called
            return f"{results} = {params['name']}()"
        shown = [*map(_shown, self.inputs), *[f"{name}={_shown(value)}" for name, value in params.items()]]
        return f"{results} = {self.row.name}({', '.join(shown)})"


def _shown(value: Any) -> str:
    """A value as it reads in each run: without the address of an object."""
    if isinstance(value, FunctionType):
        return value.__qualname__.rpartition(".")[2]
    return repr(value._array.item()) if getattr(value, "is_number", False) else _ADDRESS.sub("", repr(value))


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


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
            for slot, value in zip(self.outputs, [o for o in as_tuple(out) if isinstance(o, _runtime.Tensor)]):
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
        values[self.target] = _runtime.twin(tensor, current_node(tensor))

    def __repr__(self) -> str:
        return f"{self.held!r} = {self.target!r}, to be written"


class Written:
    """The values of *source* were written into *target*, or with ``moves`` gave it their memory."""

    __slots__ = ("held", "moves", "source", "target")

    def __init__(self, target: Slot, held: Slot, source: Any) -> None:
        self.target, self.held, self.source, self.moves = target, held, source, False

    def run(self, values: list[Any]) -> None:
        """Write; where something was recorded, the twin keeps the old values."""
        tensor, twin, out = values[self.held], values[self.target], values[self.source]
        if grad_on() and (out._node is not None or twin._node is not None):
            twin._array = copied(twin._array)
            if observers:
                tell_parts("copied", tensor, twin._array)
        write(tensor, _fitted, (out,), extent=SETTLED)
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
    """A function was called that changes more than tensors, such as an optimizer's ``step``.

    Attributes
    ----------
    args : list
        The arguments, those by name after the others: a ``Slot`` for each tensor.
    names : tuple of str
        The names of the last ones.
    out : object
        What it returned.
    """

    __slots__ = ("args", "function", "names", "out", "outputs")

    def __init__(
        self, function: Any, args: list[Any], names: tuple[str, ...], outputs: tuple[Slot, ...], out: Any
    ) -> None:
        self.function, self.args, self.names, self.outputs, self.out = function, args, names, outputs, out

    def given(self, values: Any) -> tuple[list[Any], dict[str, Any]]:
        """Its arguments, by position and by name, with the values that slots among them have."""
        given = [filled_in(a, values) for a in self.args]
        first = len(given) - len(self.names)
        return given[:first], dict(zip(self.names, given[first:]))

    def call(self, values: Any) -> list[Any]:
        """Call it on these values: the tensors that it returns."""
        args, kwargs = self.given(values)
        return [o for o in as_tuple(self.function(*args, **kwargs)) if isinstance(o, _runtime.Tensor)]

    def run(self, values: list[Any]) -> None:
        """Call it again."""
        for slot, value in zip(self.outputs, self.call(values)):
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
    Nothing is to be done when run again.

    Attributes
    ----------
    path : tuple or None
        Where it is in what the block returned, if nothing else became of it.
    returns : type or None
        As what it was returned there: then nothing depends on it.
    """

    __slots__ = ("kind", "mark", "path", "returns", "slot", "value")

    def __init__(self, kind: str, slot: Slot, value: Any, mark: Any = None) -> None:
        self.kind, self.slot, self.value, self.mark = kind, slot, value, mark
        self.path: Any = None
        self.returns: Any = None

    def run(self, values: list[Any]) -> None:
        """Nothing."""

    def __repr__(self) -> str:
        return f"{self.slot!r} {'left' if self.returns is None else 'returned'} by {self.kind}"


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


def as_tuple(out: Any) -> tuple[Any, ...]:
    """What a function returned, one or several, as a tuple."""
    return out if isinstance(out, tuple) else (out,)
