"""A program for many sizes as an ONNX graph: each instruction by its form, memory as values.

ONNX knows neither views nor writes.  Slots whose arrays share memory are a family; a write gives the first of a family a new
value, and a view that is read afterwards is made again from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .._errors import called_as
from .._op import Row
from .._trace_instructions import Called, Graded, Left, Made, Packed, Ran, Sized, Slot, Written, slots_in
from ..static._facts import called_function, draws
from ..static._instructions import settled
from ..static._number_expressions import Expression
from ..static._size_expressions import Axis, Size, Varying
from ..static._sizes import General
from . import _elementwise, _grid, _indexing, _networks, _pooling, _shapes  # noqa: F401  (fill the table)
from ._builder import Builder, CannotExport, Seen, Value
from ._table import by_position, forms, reads_of, takes_many


class Problem:
    """An instruction that has no form here.

    Attributes
    ----------
    name : str
        The row's name.
    path : str
        The module that it is of.
    reason : str
        Why; empty where there is simply no form.
    """

    def __init__(self, name: str, path: str, reason: str = "") -> None:
        self.name, self.path, self.reason = name, path, reason

    def __str__(self) -> str:
        called = called_as(self.name)
        said = called + "()" * (" " not in called) + f" in {self.path}" * bool(self.path)
        return said + f": {self.reason}" * bool(self.reason)


class Translation:
    """The nodes of a program.

    Parameters
    ----------
    general : General
    onnx : module
    names : dict of int to str
        The names of parameters and buffers, by the id of their arrays.
    inputs : list of str
        The names of the arguments.

    Attributes
    ----------
    builder : Builder
    results : list of Value
    problems : list of Problem
        What the results need and has no form.
    """

    def __init__(self, general: General, onnx: ModuleType, names: dict[int, str], inputs: Sequence[str]) -> None:
        self.general, self._names = general, names
        self.trace = general.trace
        self.builder = Builder(onnx, self._axis_value, self._has, self._seen)
        self._values: dict[Slot, Value] = {}
        self._writes: dict[int, int] = {}  # how often the memory of a family was written
        self._made_at: dict[Slot, int] = {}  # how often it had been when a value was made
        self._makers: dict[Slot, tuple[Called, str]] = {}
        self._missing: dict[Slot, tuple[Problem | None, list[Slot]]] = {}
        self._refused: list[Problem] = []
        self._stood_in: list[Slot] = []  # what is missing and is needed for what is being made
        self._current: tuple[int, Called] | None = None
        self._last: Called | None = None  # the call whose result may be written
        for slot, name in zip(self.trace.arguments, inputs):
            self._keep(slot, Value(name, self.trace.arrays[slot].dtype))
        for number, instruction in enumerate(general.instructions):
            self.builder.path = general.paths[number]
            self._translate(number, instruction)
        self.builder.path = ""
        for slot in general.results:
            self._attempt("a result", "", [slot], [], lambda slot=slot: self._value(slot))
        self.problems = self._problems()
        if not self.problems:
            self.results = [self._value(slot) for slot in general.results]

    # -- values --------------------------------------------------------------------------------------------------------
    def _keep(self, slot: Slot, value: Value) -> None:
        dtype = self.trace.arrays[slot].dtype
        value = self.builder.cast(value, dtype)
        value.shape = self.general.shapes[slot]
        self._values[slot] = value
        self._made_at[slot] = self._writes.get(self.trace._owners[slot], 0)

    def _value(self, slot: Slot) -> Value:
        """A slot's value as it is now."""
        slot = Slot(slot)
        if slot in self._missing:
            return self._stand_in(slot)
        if slot not in self._values:
            self._keep(slot, self._constant(slot))
        elif self._made_at[slot] != self._writes.get(self.trace._owners[slot], 0):
            self._view_again(slot)
        return self._values[slot]

    def _constant(self, slot: Slot) -> Value:
        constant = self.general.constants[slot]
        array = getattr(constant, "_array", None)
        if array is None:
            return self.builder.expression(constant)
        name = self._names.get(id(array))
        return self.builder.constant(array) if name is None else self.builder.parameter(name, array)

    def _axis_value(self, axis: Axis) -> tuple[Value, int]:
        """A value of which a dimension has a size, and which one."""
        if axis.slot in self._missing:
            own = Size(((1, (axis,)),))
            for slot, value in self._values.items():
                if own in self.general.shapes[slot]:
                    return value, self.general.shapes[slot].index(own)
            return self._stand_in(axis.slot), axis.axis
        if not self._has(axis):
            raise CannotExport("its shape is no expression of known sizes")
        return self._values[axis.slot] if axis.slot in self._values else self._value(axis.slot), axis.axis

    def _has(self, axis: Axis) -> bool:
        return axis.slot in self._values or axis.slot in self.general.constants or axis.slot in self._missing

    def _stand_in(self, slot: Slot) -> Value:
        """What stands for a missing value, so that what else is missing is found, too."""
        self._stood_in.append(slot)
        return Value("missing", self.trace.arrays[slot].dtype, self.general.shapes[slot])

    def _view_again(self, slot: Slot) -> None:
        if slot not in self._makers:
            raise CannotExport("a tensor is read of which a part was written through another one")
        called, path = self._makers[slot]
        before, self.builder.path = self.builder.path, path
        for output, value in zip(called.outputs, self._written_out(called)):
            self._keep(output, value)
        self.builder.path = before

    # -- instructions --------------------------------------------------------------------------------------------------
    def _translate(self, number: int, instruction: Any) -> None:
        path = self.general.paths[number]
        if isinstance(instruction, Called):
            self._current, self._last = (number, instruction), instruction
            self._called(instruction, path)
        elif isinstance(instruction, Made):
            self._attempt("a constant", path, instruction.outputs, [], lambda: self._keep_constant(instruction))
        elif isinstance(instruction, Written):
            if (outside := self._from_outside(instruction.target)) is not None:
                return self._refuse_write(outside, path)
            source = [instruction.source] if isinstance(instruction.source, Slot) else []
            slots = [*source, instruction.target]
            outputs = [s for s in self._family(instruction.target) if s in self._values or s in self._missing]
            self._attempt("a write", path, outputs, slots, lambda: self._write(instruction))
        elif isinstance(instruction, Sized):
            return  # a file has no other way to go
        elif isinstance(instruction, Left) and self.trace.depends(instruction.slot):
            said = f"a value is taken out of the graph by {instruction.kind}(), so that Python decides what happens"
            if instruction.kind == "print":
                said = "a tensor is made a text (print, str, an f-string): do that outside, or of its shape alone"
            self._refuse(instruction.kind, path, said)
        elif isinstance(instruction, (Graded, Ran)):
            name = instruction.name if isinstance(instruction, Ran) else "backward"
            self._refuse(name, path, "a model to export computes only: call it outside")

    def _refuse(self, name: str, path: str, reason: str) -> None:
        """What cannot be exported whether results need it or not."""
        self._refused.append(Problem(name, path, reason))

    def _from_outside(self, target: Slot) -> Any:
        """The tensor from outside in whose memory a write is, if there is one."""
        return next((self.trace.captured[s] for s in self._family(target) if s in self.trace.captured), None)

    def _refuse_write(self, tensor: Any, path: str) -> None:
        """A write that a later call would see."""
        name = self._names.get(id(tensor._array))
        shown = repr(name) if name else f"a tensor of shape {list(tensor.shape)} from outside"
        if self._last is not None and self._last.row.name == "rows of at most a norm":
            norm = dict(zip(self._last.row.params, self._last.params))["norm_type"]
            reason = (
                f"max_norm= scales rows of {shown} in place: scale them all before, with "
                f"weight.data.renorm_({norm:g}, 0, max_norm), and give no max_norm"
            )
            return self._refuse("embedding", path, reason)
        reason = f"{shown}, such as a buffer, is written: an exported model has no state; return the new value"
        return self._refuse("a write", path, reason)

    def _keep_constant(self, instruction: Made) -> None:
        (slot,) = instruction.outputs
        self._keep(slot, self.builder.expression(self.general.constants[slot]))

    def _attempt(self, name: str, path: str, outputs: Any, reads: list[Slot], make: Any) -> None:
        """Make values, or note why there are none."""
        self._stood_in = []
        problem = None
        try:
            make()
        except CannotExport as error:
            problem = Problem(name, path, str(error))
        if problem is not None or self._stood_in:
            known = self._missing if problem is None else ()  # what was missing, and is handed on in its own slot
            self._missing |= {Slot(s): (problem, [*reads, *self._stood_in]) for s in outputs if s not in known}

    def _called(self, called: Called, path: str) -> None:
        name = called.row.name
        outputs = (*called.outputs, *called.asides)
        if name not in forms:
            said = "random numbers: draw them outside, and pass them as an input" if draws(called) else ""
            shown = called_function(called) if draws(called) else name
            self._missing |= {Slot(s): (Problem(shown, path, said), called.reads) for s in outputs}
            return
        if called.row.view:
            self._makers |= {Slot(s): (called, path) for s in called.outputs}

        def make() -> None:
            values = self._written_out(called)
            for slot, value in zip(called.outputs, values):
                self._keep(slot, value)
            aside = (*called.asides, *called.outputs[len(values) :])
            self._missing |= {
                Slot(s): (Problem(f"the derivative of {called_as(name)}", path), called.reads) for s in aside
            }

        self._attempt(name, path, outputs, self._needed(called), make)

    def _needed(self, called: Called) -> list[Slot]:
        """The slots that a form reads."""
        wanted = reads_of(called.row)
        if takes_many(called.row):
            return slots_in(called.inputs)
        inputs = [i for name, i in zip(called.row.inputs, called.inputs) if name in wanted]
        params = [p for name, p in zip(called.row.params, called.params) if name in wanted]
        return slots_in((*inputs, *params))

    def _written_out(self, called: Called) -> tuple[Value, ...]:
        """The values that a form gives for a call."""
        g = self.builder
        wanted = reads_of(called.row)
        inputs = self._inputs(called, wanted)
        given: dict[str, Any] = {}
        for name, value in zip(called.row.inputs, [inputs] if takes_many(called.row) else inputs):
            if name.lstrip("*") in wanted:
                given[name.lstrip("*")] = value
        for name, param in zip(called.row.params, called.params):
            if name in wanted:
                given[name] = self._parameter(name, param)
        g.results = [(self.general.shapes[s], self.trace.arrays[s].dtype) for s in called.outputs]
        if by_position(called.row):
            return (forms[called.row.name](g, *inputs),)
        found = forms[called.row.name](g, **{name: given.get(name) for name in wanted})
        return found if isinstance(found, tuple) else (found,)

    def _inputs(self, called: Called, wanted: Sequence[str]) -> list[Value | None]:
        """The operands in the dtypes that the row takes them in; None for those that its form does not read."""
        row = called.row
        many = takes_many(row)
        read = [True] * len(called.inputs) if many else [name in wanted for name in row.inputs]
        values = [self._operand(called, k) if r else None for k, (_, r) in enumerate(zip(called.inputs, read))]
        arrays = [self._array(called, k) for k in range(len(called.inputs))]
        if not isinstance(row, Row) or row.view or any([a is None for a in arrays]):
            return values  # a view may be of places, which are no elements
        dtypes = [array.dtype for array in settled(row, arrays)]
        return [None if v is None else self.builder.cast(v, d) for v, d in zip(values, dtypes)]

    def _array(self, called: Called, number: int) -> Any:
        item = called.inputs[number]
        if isinstance(item, Slot):
            return self.trace.arrays[item]
        if isinstance(item, (Expression, Size)):
            return self._first(called).inputs[number]._array
        return getattr(item, "_array", None)

    def _operand(self, called: Called, number: int) -> Value | None:
        item = called.inputs[number]
        if isinstance(item, Slot):
            return self._value(item)
        if item is None:
            return None
        if isinstance(item, (Expression, Size)):
            return self.builder.number(item, self._array(called, number).dtype)
        if isinstance(item, Varying):
            raise CannotExport("a number is another one at each size, and no expression for it was found")
        return self.builder.constant(item._array)

    def _first(self, called: Called) -> Any:
        """The call in the first pass."""
        assert self._current is not None
        return self.general.passes[0].instructions[self._current[0]]

    def _seen(self) -> list[Seen]:
        """The call in each pass."""
        assert self._current is not None
        calls = [(one, one.instructions[self._current[0]]) for one in self.general.passes]
        return [
            Seen(c.row.name, p.shape(c.inputs[0]), p.shape(c.outputs[0]), dict(zip(c.row.params, c.params)))
            for p, c in calls
        ]

    def _parameter(self, name: str, param: Any) -> Any:
        """A parameter with values for the slots in it."""
        if isinstance(param, Slot):
            return self._value(param)
        if isinstance(param, Packed):
            return [self._parameter(name, item) for item in param.items]
        if isinstance(param, Varying):
            shown = ", ".join(map(repr, param.values[:3]))
            raise CannotExport(f"{name} is another one at each size ({shown}, ...), and no expression for it was found")
        if isinstance(param, np.ndarray):
            return self.builder.constant(param)
        return param

    # -- writes --------------------------------------------------------------------------------------------------------
    def _family(self, slot: Slot) -> list[Slot]:
        owner = self.trace._owners[slot]
        return [Slot(s) for s, other in enumerate(self.trace._owners) if other == owner]

    def _write(self, instruction: Written) -> None:
        """Give the first of a family its new value, and forget the views of it."""
        g, target = self.builder, Slot(instruction.target)
        source = instruction.source
        new = self._value(source) if isinstance(source, Slot) else g.constant(source._array)
        new = g.cast(new, self.trace.arrays[target].dtype)
        if new.shape != self.general.shapes[target]:
            new = g.expand(new, self.general.shapes[target])
        chain, base = [], target
        while base in self._makers:
            called, _ = self._makers[base]
            chain.append((called, base))
            base = Slot(called.inputs[0])
        whole = self._inside(base, chain[::-1], new) if chain else new
        owner = self.trace._owners[target]
        self._writes[owner] = self._writes.get(owner, 0) + 1
        self._keep(base, whole)
        self._keep(target, new)

    def _inside(self, base: Slot, chain: Sequence[tuple[Called, Slot]], new: Value) -> Value:
        """The value of *base* with *new* written where a chain of views of it leads."""
        g, whole = self.builder, self._value(base)
        kept = dict(self._values), dict(self._made_at)
        self._values[base] = g.places(whole)
        for called, slot in chain:  # the same views of the places
            for output, value in zip(called.outputs, self._written_out(called)):
                value.shape = self.general.shapes[output]
                self._values[output] = value
                self._made_at[output] = self._writes.get(self.trace._owners[output], 0)
            index = self._values[slot]
        self._values, self._made_at = kept
        return g.put(whole, index, new)

    # -- what is missing -----------------------------------------------------------------------------------------------
    def _problems(self) -> list[Problem]:
        found: dict[int, Problem] = {}
        todo = list(self.general.results)
        seen: set[int] = set()
        while todo:
            slot = Slot(todo.pop())
            if slot in seen or slot not in self._missing:
                continue
            seen.add(slot)
            problem, reads = self._missing[slot]
            if problem is not None:
                found[id(problem)] = problem
            todo += reads
        order = {id(p): n for n, (p, _) in enumerate(self._missing.values())}
        return [*sorted(found.values(), key=lambda p: order[id(p)]), *self._refused]
