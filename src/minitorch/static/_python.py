"""Traced functions as NumPy modules: readable source text that imports NumPy alone, and a file of weights beside it."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import io
import itertools
import json
import keyword
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._op import Row
from .._pytree import kind_of, tree_unflatten
from .._trace_instructions import (
    ArraySlot,
    Called,
    Graded,
    Left,
    Made,
    NumberSlot,
    Packed,
    PlaceSlot,
    Ran,
    Sized,
    Slot,
    Written,
)
from ._control_instructions import BranchEnds, Chosen, Control, joined
from ._copied import Copies
from ._facts import called_function, draws, last_uses, reads_of, writes_of
from ._free_names import Unwritable
from ._instructions import settled
from ._passes import dead_code
from ._plain import NUMBERS, plain_form, ufunc_form
from ._stands import flat, there
from ._traced_code import Plan
from ._written_control import Indent, control_lines
from ._written_signature import Parameter, constants, literal, parameters_of, places

LARGE = 1 << 16
"""Values of at least so many bytes are let go of after their last use."""
PASSES = ("dead code", "constants", "no-ops", "common", "no copies")
"""What is done to a program before."""
FOLLOWED = frozenset(["select", "select_backward", "select_scatter"])
"""Rows of which an index may be another one in each call, since the shapes of the results stay as they are."""


# -- weights -----------------------------------------------------------------------------------------------------------
class Weights:
    """The arrays that lie beside the text, by name.

    Attributes
    ----------
    arrays : dict of str to ndarray
    names : dict of int to str
        What parameters and buffers of the modules are called, by the ids of the tensors.
    """

    def __init__(self, function: Any) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}
        self._kept: dict[int, tuple[np.ndarray, str]] = {}
        for prefix, module in modules_of(function):
            for name, tensor in (*module.named_parameters(), *module.named_buffers()):
                self.names.setdefault(id(tensor), f"{prefix}.{name}" if prefix else name)

    def captured(self, tensor: Any) -> str:
        """An expression for a tensor that the function uses."""
        return self.kept(tensor._array, self.names.get(id(tensor)))

    def kept(self, array: np.ndarray, name: str | None = None) -> str:
        """An expression for an array."""
        if id(array) not in self._kept:
            if name is None:
                numbered = (f"constant_{number}" for number in itertools.count(1))
                name = next(n for n in numbered if n not in self.arrays and n not in self.names.values())
            order = axes_in_memory(array)
            self.arrays[name] = array if order is None else array.transpose(order)
            turned = "" if order is None else f".transpose({inverse(order)})"
            self._kept[id(array)] = array, f'W["{name}"]{turned}'
        return self._kept[id(array)][1]

    def clear(self) -> None:
        """Keep none of what was kept."""
        self.arrays.clear()
        self._kept.clear()

    def written(self, file: Any) -> None:
        """Write them into an ``.npz`` file."""
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in self.arrays.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getbuffer())


def axes_in_memory(array: np.ndarray) -> tuple[int, ...] | None:
    """The order of axes in which an array's elements lie in memory, where that is neither C's nor with gaps; else None."""
    if array.flags.c_contiguous:
        return None
    order = tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    return order if array.transpose(order).flags.c_contiguous else None


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def modules_of(function: Any) -> Iterator[tuple[str, Any]]:
    """The modules whose parameters a function may use, each with the name that it has there."""
    while isinstance(function, functools.partial):
        function = function.func
    if hasattr(function, "named_parameters"):
        yield "", function
        return
    owner = getattr(function, "__self__", None)
    if owner is not None and hasattr(owner, "named_parameters"):
        yield "", owner
    if not inspect.isfunction(inspect.unwrap(function)):
        return
    found = inspect.getclosurevars(inspect.unwrap(function))
    modules = {n: v for n, v in {**found.globals, **found.nonlocals}.items() if hasattr(v, "named_parameters")}
    modules = {n: v for n, v in modules.items() if not isinstance(v, type)}
    for name, module in modules.items():
        yield "" if len(modules) == 1 else name, module


class Block(NamedTuple):
    """What is written: instructions of a plan, what it is given, and what it returns, with slots in the place of tensors; and
    the arguments' values in an example, None where those are gone; which of them require grad, and whether that is recorded."""

    plan: Plan
    instructions: list[Any]
    given: Any
    returned: Any
    examples: list[Any]
    required: Collection[int] = ()
    recording: bool = False


def block_of(variant: Any) -> Block:
    """What a variant of a traced function does."""
    plan = Plan(variant.trace, variant._slots, PASSES, FOLLOWED)
    leaves, spec = flat(variant.given)
    given = tree_unflatten([there(leaf) for leaf in leaves], spec)
    examples = [example() for example in variant.examples]
    return Block(plan, plan.instructions, given, variant.returned, examples, variant.required, variant.recording)


# -- one way through the function --------------------------------------------------------------------------------------
class Body:
    """The lines of a function for one kind of inputs.

    Parameters
    ----------
    function : callable
        What was traced.
    block : Block
        What is written.
    copies : Copies
    weights : Weights
    problems : dict of str to None
        What cannot be written; more are added.
    """

    def __init__(
        self, function: Any, block: Block, copies: Copies, weights: Weights, problems: dict[str, None]
    ) -> None:
        self.plan, self.copies, self.weights, self.problems = block.plan, copies, weights, problems
        self.trace = block.plan.trace
        kept = [i for i in block.instructions if not isinstance(i, Left) or self.trace.depends(i.slot)]
        self.instructions = self._used(kept)
        self.last = last_uses(self.instructions, self.plan.results)
        outside = {*self.plan.results, *(i.target for i in self.instructions if isinstance(i, Written))}
        self._shared = {self.owner(s) for s in outside}  # memory that is written, or that people get
        self._names: dict[Slot, str] = {}
        self.shows_memory = any([isinstance(i, Called) and i.row.name == "as_strided" for i in self.instructions])
        self._taken: set[str] = set()
        self._reserved: set[str] = set()  # the names of parameters, which nothing else has before these are read
        self._numbers: dict[str, int] = {}  # by name, the last number that was put behind it
        self._written: dict[str, None] = {}  # what comes from outside and is written
        self._inlined: dict[int, bool] = {}  # by the ids of instructions: it is decided once
        self.returned = block.returned
        self._parameters = parameters_of(function, block.given)
        self._hidden: set[str] = set()
        self.indent = Indent()
        self.loops: dict[int, Any] = {}  # by the ids of loops, the names of what is kept of their rounds

    def _used(self, instructions: list[Any]) -> list[Any]:
        """Instructions without those whose results nothing reads, draws of random numbers too."""
        while True:
            last = last_uses(instructions, self.plan.results)
            unread = [i for n, i in enumerate(instructions) if draws(i) and {last[s] for s in writes_of(i)} <= {n}]
            kept = dead_code([i for i in instructions if i not in unread], self.plan.facts)
            if len(kept) == len(instructions):
                return joined(kept)
            instructions = kept

    def owner(self, slot: Slot) -> int:
        """Whose memory a value lies in."""
        return self.plan.facts.owners[slot]

    # -- names ---------------------------------------------------------------------------------------------------------
    def begin(self, taken: set[str]) -> None:
        """Start writing; *taken*: names that are not to be hidden."""
        self._taken = {*taken, *vars(builtins), *keyword.kwlist, "W"}
        self._names, self._hidden, self._numbers = {}, {*taken}, {}
        self._reserved = {p.name for p in self.parameters}
        self.indent = Indent()

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, under names that hide nothing."""
        return [p._replace(name=p.name + "_" * (p.name in self._hidden)) for p in self._parameters]

    def own(self, wish: str, parameter: bool = False) -> str:
        """A variable's name that nothing else has; for a parameter its own, where that hides nothing that may be called."""
        if parameter and (wish not in self._taken or wish == "input"):
            self._taken.add(wish)
            return wish
        wish = re.sub(r"\W+", "_", wish).strip("_") or "value"
        wish = f"_{wish}" if wish[0].isdigit() else wish
        name = wish
        while name in self._taken or name in self._reserved:
            self._numbers[wish] = number = self._numbers.get(wish, 0) + 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name

    def slot(self, slot: Slot) -> str:
        """An expression for a value."""
        if slot in self._names:
            return self._names[slot]
        if slot in self.trace.captured:
            tensor = self.trace.captured[slot]
            if id(tensor) in self.weights.names:
                return self.weights.captured(tensor)
            return self.copies.array(tensor._array)
        return "_"

    def name_as(self, slot: Slot, name: str) -> None:
        """Let a value have a name."""
        self._names[slot] = name
        self.indent.note(slot)

    def name_for_good(self, slot: Slot, name: str) -> None:
        """Let a value have a name that stays."""
        self._names[slot] = name

    def named(self, slot: Slot, ins: Any) -> str:
        """Name what an instruction gives; ``_`` where nothing reads it."""
        if slot not in self._names and slot in self.last:
            self.name_as(slot, self.own(self._wish(ins)))
        return self._names.get(slot, "_")

    def _wish(self, ins: Any) -> str:
        """A name that says what a value is: after the module whose parameters were used, or the operation."""
        row = getattr(ins, "row", None)
        operation = "cond" if isinstance(ins, Chosen) else "constant" if row is None else operation_of(row)
        for slot in reads_of(ins):
            name = self.weights.names.get(id(self.trace.captured.get(slot)), "")
            if "." in name:
                path = name.rpartition(".")[0].replace(".", "_")
                return f"{operation}_{path}" if path[0].isdigit() else path
        return operation

    # -- lines ---------------------------------------------------------------------------------------------------------
    def lines(self, function: str) -> Iterator[str]:
        """The lines of the function, without its head."""
        self._taken |= {p.name for p in self.parameters if literal(p.value) is not None}
        for name, path, slot in self.inputs():
            array = self.trace.arrays[slot]
            self.name_as(slot, self.own(name, name == path))
            call = f'{function}({path}, {json.dumps(path)}, {self.shape_wanted(slot)}, "{array.dtype.name}")'
            order = axes_in_memory(array)
            if self.shows_memory:
                if order is None and not array.flags.c_contiguous:
                    self.problems[
                        f"as_strided() shows the memory of {path}, which has gaps: give {path}.contiguous()"
                    ] = None
                yield f"_lies_in_order({path}, {json.dumps(path)}, {order or tuple(range(array.ndim))})"
            if order is not None:
                call = (
                    f'{self.copies.numpy()}.asarray({call}.transpose({order}), order="C").transpose({inverse(order)})'
                )
            yield f"{self._names[slot]} = {call}"
            yield from self.sizes_of(slot, path)
        for parameter in self.parameters:
            for path, said in constants(parameter.name, parameter.value):
                yield f"_same_argument({path}, {json.dumps(path)}, {said})"
        for number, ins in enumerate(self.instructions):
            try:
                for line in self.instruction(ins):
                    yield self.indent.margin + line
            except Unwritable as error:
                self.problems[f"{self.origin(ins)} {'needs' if hasattr(ins, 'row') else 'makes'} {error}"] = None
            yield from self.freed(number, ins)
            self.indent.last = ins
        if self._written:
            self.problems[
                f"it writes into {', '.join(self._written)}: put the model in eval mode (model.eval()) where these are a "
                "layer's running statistics, else give them as arguments and return the new values"
            ] = None
        try:
            yield f"return {self.result(self.returned)}"
        except Unwritable as error:
            self.problems[f"it returns {error}: return tensors, numbers, and tuples, lists and dicts of them"] = None

    def origin(self, ins: Any) -> str:
        """What people called, of which an instruction is."""
        return f"{called_function(ins)}()" if hasattr(ins, "row") else "it"

    def inputs(self) -> Iterator[tuple[str, str, Slot]]:
        """The tensors that it is given: a name, where it is found in the parameters, and its slot."""
        for parameter in self.parameters:
            yield from places(parameter.name, parameter.name, parameter.value)

    def shape_wanted(self, slot: Slot) -> str:
        """The shape that an input must have, as an expression."""
        return str(self.trace.arrays[slot].shape)

    def sizes_of(self, slot: Slot, path: str) -> Iterator[str]:
        """Lines that name sizes of an input, and check them."""
        return iter(())

    def freed(self, number: int, ins: Any) -> Iterator[str]:
        """Let go of what is large and no longer read."""
        if isinstance(ins, BranchEnds):  # an ``else`` may follow
            return
        touched = dict.fromkeys((*reads_of(ins), *writes_of(ins)))
        dead = [s for s in touched if self.last.get(s) == number and s in self._names]
        large = [s for s in dead if self.trace.arrays[s] is not None and self.trace.arrays[s].nbytes >= LARGE]
        large = self.indent.ended(large)
        if large:
            yield f"{self.indent.margin}del {', '.join([self._names[s] for s in large])}"

    def result(self, value: Any) -> str:
        """What is returned, as an expression."""
        if isinstance(value, Slot):
            value = self.plan.results[value]
            memories = self.indent.memories(self.owner(value))
            outside = [slot for slot in self.trace.captured if self.owner(slot) in memories]
            return self.slot(value) + ".copy()" * bool(outside)
        kind = kind_of(value)
        if kind is None:
            return self.copies.expression(value)
        if isinstance(value, dict):
            items = [f"{self.copies.expression(key)}: {self.result(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        items = [self.result(item) for item in value]
        return f"[{', '.join(items)}]" if kind is list else f"({', '.join(items)}{',' * (len(items) == 1)})"

    def said(self, slots: Sequence[Slot]) -> str:
        """The comment of a line."""
        return "  # " + ", ".join([self.layout(s) for s in slots if self.trace.arrays[s] is not None])

    def layout(self, slot: Slot) -> str:
        """A value's dtype and shape, for people."""
        return f"{self.trace.arrays[slot].dtype.name}[{', '.join(map(str, self.shape(slot)))}]"

    def tried(self) -> str:
        """At which other sizes what is written was compared with what was traced, in a sentence."""
        return ""

    def shape(self, slot: Slot) -> tuple[Any, ...]:
        """A value's shape."""
        return tuple(self.trace.arrays[slot].shape)

    def instruction(self, ins: Any) -> Iterator[str]:
        """The lines of an instruction."""
        if isinstance(ins, Called):
            if draws(ins):
                self.problems[
                    f"{called_function(ins)}() draws random numbers: put the model in eval mode (model.eval()), or draw "
                    "outside of the function and pass the numbers as an argument"
                ] = None
                return
            yield from self.called(ins)
        elif isinstance(ins, Made):
            (slot,) = ins.outputs
            value = self.made(slot, ins.array)
            copied = ".copy()" * (self.owner(slot) in self._shared and value.startswith("W"))
            yield f"{self.named(slot, ins)} = {value}{copied}{self.said((slot,))}"
        elif isinstance(ins, Written):
            yield from self.written(ins)
        elif isinstance(ins, Sized):
            shape = f"{self.copies.numpy()}.array({self.slot(ins.slot)}.shape)"
            yield f'_same_way({shape}, {self.copies.array(np.array(ins.value.shape))}, "{ins.kind}")'
        elif isinstance(ins, Left):
            yield f'_same_way({self.slot(ins.slot)}, {self.copies.array(ins.value)}, "{ins.kind}")'
        elif isinstance(ins, Control):
            yield from control_lines(self, ins)
        elif isinstance(ins, Graded):
            self.problems[
                "it gives tensors their .grad (backward()): export the forward pass, or return the gradients of "
                "torch.autograd.grad(...)"
            ] = None
        elif isinstance(ins, Ran):
            self.problems[
                f"it calls {ins.name}(), which changes more than the tensors that it returns: export the "
                "function without it"
            ] = None

    def made(self, slot: Slot, array: np.ndarray) -> str:
        """What a factory made, as an expression."""
        np_, dtype = self.copies.numpy(), array.dtype
        if array.size > 8 and array.flags.c_contiguous:
            kind = f"{np_}.{'bool' if dtype.kind == 'b' else dtype.name}"
            first = array.reshape(-1)[:1]
            if first.tobytes() * array.size == array.tobytes():
                if not first.any() and not np.signbit(first).any():
                    return f"{np_}.zeros({array.shape}, {kind})"
                return f"{np_}.full({array.shape}, {self.copies.array(first.reshape(()))})"
            if array.ndim == 1 and array.tobytes() == np.arange(array.size, dtype=dtype).tobytes():
                return f"{np_}.arange({array.size}, dtype={kind})"
        return self.copies.array(array)

    def written(self, ins: Written) -> Iterator[str]:
        """A write into memory of the function's own."""
        family = self.plan.family(ins.target)
        if family & {*self.trace.arguments}:
            self.problems[
                "it writes into an argument: write into a clone of it (x = x.clone()), or use the operation that is not "
                "in place"
            ] = None
        for slot in family & self.trace.captured.keys():
            self._written[self.weights.names.get(id(self.trace.captured[slot]), "a tensor from outside")] = None
        source = self.slot(ins.source) if isinstance(ins.source, Slot) else self.copies.array(ins.source._array)
        yield f'{self.copies.numpy()}.copyto({self.slot(ins.target)}, {source}, casting="unsafe")'

    # -- calls ---------------------------------------------------------------------------------------------------------
    def called(self, ins: Called) -> Iterator[str]:
        """A call of a row's kernel, or of a choice's."""
        row, slots = ins.row, writes_of(ins)
        operands, arrays = self.operands(ins)
        params = {name: self.param(p) for name, p in zip(row.params, ins.params)}
        call = self.plain(ins, operands, arrays) or self.call(ins, operands, params)
        several = bool(row.outputs) or _gives_tuple(row, slots)
        if not isinstance(row, Row) and not row.view and {self.owner(s) for s in slots} & self._shared:
            call = (
                f"[{self.copies.numpy()}.array(a) for a in {call}]"
                if several
                else f"{self.copies.numpy()}.array({call})"
            )
        names = [self.named(slot, ins) for slot in slots]
        if len(names) == 1 and ("aside" in row.kept or several):
            yield f"{names[0]} = {call}[0]{self.said(slots)}"
        elif "aside" in row.kept:
            yield f"{', '.join([*names, '*_'])} = {call}{self.said(slots)}"
        elif several:
            yield f"{', '.join(names)} = {call}{self.said(slots)}"
        else:
            yield f"{names[0]} = {call}{self.said(slots)}"

    def plain(self, ins: Called, operands: list[str], arrays: list[Any]) -> str | None:
        """How people write the operation."""
        if not isinstance(ins.row, Row):
            return None
        params = dict(zip(ins.row.params, map(self.known, ins.params)))
        shapes = [self.shape(i) if i.__class__ is Slot else () for i in ins.inputs]
        return plain_form(ins.row.name, self.copies.numpy(), operands, arrays, shapes, params)

    def known(self, value: Any) -> Any:
        """A parameter for a plain form."""
        return self.place(value) if value.__class__ is PlaceSlot else value

    def place(self, value: PlaceSlot) -> Any:
        """An integer that is read from a value: what it is where that stays as it is, or an expression."""
        slot = Slot(value)
        if slot in self.trace.captured and slot not in self._names:
            return int(self.trace.arrays[slot])
        return f"int({self.slot(slot)})"

    def call(self, ins: Called, operands: list[str], params: dict[str, str]) -> str:
        """An expression for operands."""
        row: Any = ins.row
        if isinstance(row, Row) and row.is_ufunc and row.elementwise:
            plain = bool(self.trace.arrays[ins.outputs[0]].ndim)
            return ufunc_form(row.kernel, operands, params, self.copies.numpy(), plain)
        if row.variadic:
            operands = [f"[{', '.join(operands)}]"]
        if inspect.isfunction(row.kernel) and self._inlined.get(id(ins), True):
            positional = [
                p.name for p in inspect.signature(row.kernel).parameters.values() if p.kind is not p.KEYWORD_ONLY
            ]
            inlined = self.copies.inlined(row.kernel, dict(zip(positional, operands)) | params)
            self._inlined.setdefault(id(ins), inlined is not None and len(inlined) <= 100)
            if inlined is not None and self._inlined[id(ins)]:
                return inlined
        kernel = self.copies.function(row.kernel, operation_of(row))
        return f"{kernel}({', '.join([*operands, *[f'{n}={p}' for n, p in params.items()]])})"

    def operands(self, ins: Called) -> tuple[list[str], list[Any]]:
        """The operands as the kernel takes them: expressions, and the arrays that they were."""
        arrays = self.inputs_of(ins)
        fitted: list[Any] = arrays
        if isinstance(ins.row, Row) and not any([a is None for a in arrays]):
            fitted = settled(ins.row, arrays)
        said = []
        for item, array, fit in zip(ins.inputs, arrays, fitted):
            if item is None:
                said.append("None")
            elif item.__class__ is Slot:
                cast = f".astype({self.copies.expression(fit.dtype)})"
                said.append(self.slot(item) + cast * (array.dtype is not fit.dtype))
            else:
                said.append(self.number(fit, ins.row.name in NUMBERS or getattr(ins.row, "is_ufunc", False)))
        return said, fitted

    def inputs_of(self, ins: Called) -> list[Any]:
        """The arrays that a call's inputs were."""
        return [self.trace.arrays[i] if i.__class__ is Slot else getattr(i, "_array", None) for i in ins.inputs]

    def number(self, array: np.ndarray, literal: bool) -> str:
        """A number beside tensors: as it is where NumPy gives it their dtype."""
        if literal and array.ndim == 0 and array.dtype.kind in "if" and np.isfinite(array):
            said = str(array[()])
            if np.asarray(ast.literal_eval(said), array.dtype) == array:
                return said
        return self.copies.array(array)

    def param(self, value: Any) -> str:
        """A parameter as an expression."""
        if value.__class__ is ArraySlot:
            return self.slot(Slot(value))
        if value.__class__ is NumberSlot:
            return f"float({self.slot(Slot(value))})"
        if value.__class__ is PlaceSlot:
            return str(self.place(value))
        if value.__class__ is Packed:
            items = [f"_Held({self.slot(i)})" if i.__class__ is Slot else self.param(i) for i in value.items]
            return f"{self.copies.expression(value.kind)}([{', '.join(items)}])"
        if isinstance(value, _runtime.Tensor):
            raise Unwritable("a tensor as a parameter")
        return self.copies.expression(value)


def operation_of(row: Any) -> str:
    """What a row's operation is called."""
    name = row.name.removeprefix("folded_").removeprefix("unsafe_").removeprefix("the ")
    return re.sub(r"\W+", "_", name)


def _gives_tuple(row: Any, slots: Sequence[Slot]) -> bool:
    """Whether a choice gives a tuple."""
    returned = str(getattr(row.kernel, "__annotations__", {}).get("return", ""))
    return not isinstance(row, Row) and (len(slots) > 1 or "tuple" in returned)
