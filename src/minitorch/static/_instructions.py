"""Programs: flat lists of instructions on numbered registers, and how they are run.

An `Instruction` calls a row of the op table, or a `Function`, on registers and stores what it gives.  A `Program` is a
list of them, written out as Python once and run many times on ndarrays, or one by one on Tensors, so that the engine records
them.  Operands of several dtypes and numbers are brought together as the recording functions do.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .. import _runtime
from .._dtypes import default, floating, promote
from .._op import Row
from .._runtime import quiet, wrap
from .._value_notes import tell_left

_LONGEST = 4000
"""Longer programs are interpreted: writing them out would take longer than running them a few times."""
_VARIANTS = 32
"""How many variants of a program there are for different dtypes."""

Fact: TypeAlias = tuple["np.dtype[Any] | None", bool]
"""What is known of an array: its dtype, and whether it certainly has dimensions."""


class Unchanging:
    """What does not change once it is made: a copy of it is itself, and it belongs to one process."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"cannot pickle {type(self).__name__!r} object: make it anew from the code that makes its graph, or write it as a "
            "module with static.Executor(outputs).to_python(path, feed_dict)"
        )


class Slot(int):
    """As the value of a parameter: the register where the value is."""


class Condition(int):
    """The register of a condition; ``source`` is what it was made from, for messages."""

    source: Any = "of a branch"


class Number(Unchanging):
    """An operand that is a Python number: it has a category (bool, integer, float), and takes the dtype of its neighbour.

    Attributes
    ----------
    value : bool, int or float
    """

    __slots__ = ("_tables", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._tables: Any = None

    @property
    def tables(self) -> Any:
        """The number as a 0-d array, by the dtype of the array beside it: for rows of any dtype, and for those of floats."""
        if self._tables is None or self._tables[2] is not default():
            beside = _Beside(self.value, _runtime.operand), _Beside(self.value, _runtime.float_operand)
            self._tables = *beside, default()
        return self._tables[:2]


class _Beside(dict[Any, np.ndarray]):
    """A number as a 0-d array, by the dtype of the array beside it."""

    def __init__(self, value: Any, operand: Callable[..., Any]) -> None:
        self.value, self.operand = value, operand

    def __missing__(self, dtype: np.dtype[Any]) -> np.ndarray:
        self[dtype] = array = self.operand(self.value, wrap(np.empty((), dtype)))._array
        return array


class Function(Unchanging):
    """What an instruction may call besides rows: shapes, fitting, control flow, functions of Tensors.

    Attributes
    ----------
    name : str
    raw, traced : callable
        ndarrays in, ndarrays out; the same on Tensors.
    several : bool
        Whether they return a tuple.
    optional : int or None
        Of several results, the one that is made only where it is used: the functions are told by ``keep=``.
    gradient : callable or None
        ``gradient(node, g, needed)``: symbolic gradients of the inputs.
    count : int or None
        How many results there are, if that is known.
    lacks : callable or None
        Of a function that takes gradients that are absent (see ``_absent.py``): whether what it gives may be absent, by which
        of its operands may be.  Others are called only where all operands are there.
    """

    def __init__(
        self,
        name: str,
        raw: Callable[..., Any],
        traced: Callable[..., Any] | None = None,
        *,
        several: bool = False,
        optional: int | None = None,
        gradient: Callable[..., Any] | None = None,
        count: int | None = None,
        lacks: Callable[[Sequence[bool]], bool] | None = None,
    ) -> None:
        self.name, self.raw, self.traced = name, raw, raw if traced is None else traced
        self.several, self.optional, self.gradient, self.count = several, optional, gradient, count
        self.lacks = lacks

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class Instruction(NamedTuple):
    """One call.

    Attributes
    ----------
    op : Row or Function
    inputs : tuple of int or Number
        Registers of the operands, which are arrays or Tensors; a `Number` is an operand itself.
    params : dict of str to object
        Constants by name; a `Slot` stands for the value of a register.
    outputs : tuple of int
        Registers of the results, one each; -1 where a result is not used.
    rest : int
        The register of what a row's kernel returns beside the outputs that it declares (what it sets aside for its formulas;
        all, where their number is not declared); -1: not used.
    guard : tuple of (Condition, bool)
        It runs only where the values of these registers are true, or not, as said.
    alike : bool
        Whether the operands are known to have one dtype.
    source : object
        What it was made from, for messages.
    absent : tuple of int
        Registers that may be empty, of gradients that are absent: then it does not run, and its results are absent too.
    """

    op: Any
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outputs: tuple[int, ...]
    rest: int = -1
    guard: tuple[tuple[Condition, bool], ...] = ()
    alike: bool = False
    source: Any = None
    absent: tuple[int, ...] = ()

    @property
    def several(self) -> bool:
        """Whether the call gives a tuple."""
        return bool(self.op.several if isinstance(self.op, Function) else self.op.outputs)

    @property
    def declared(self) -> int:
        """How many outputs a row declares; 0 where that depends on its operands."""
        return 0 if self.op.outputs is True else int(self.op.outputs) or 1

    def operands(self, registers: list[Any]) -> list[Any]:
        """The values of its inputs."""
        return [i if i.__class__ is Number else registers[i] for i in self.inputs]

    def wanted(self) -> dict[str, Any]:
        """What a function is told of the result that it makes only where it is used."""
        number = getattr(self.op, "optional", None)
        return {} if number is None else {"keep": len(self.outputs) > number and self.outputs[number] >= 0}


# -- one by one --------------------------------------------------------------------------------------------------------
def places_of(row: Row, count: int) -> list[int]:
    """Which of a row's operands are brought to one dtype."""
    if row.elementwise or (row.variadic and row.broadcasts):
        return list(range(count))
    if not row.broadcasts:
        return []
    return [i for i, name in enumerate(row.inputs) if name in row.formulas]  # a mask, say, stays as it is


def settled(row: Row, values: Sequence[Any]) -> list[np.ndarray]:
    """A row's operands as its kernel takes them: numbers as arrays, one dtype, floats where the row is of floats."""
    first = next((v for v in values if v.__class__ is not Number), None)
    dtype = np.dtype("int64") if first is None else first.dtype
    arrays = [v.tables[row.floats][dtype] if v.__class__ is Number else v for v in values]
    if row.floats and not any([a.dtype.kind == "f" for a in arrays]):
        arrays = [floating(a) for a in arrays]
    places = places_of(row, len(arrays))
    if len({arrays[i].dtype for i in places}) > 1:
        if (settle := row.instead.get("settle")) is not None:  # which refuses some dtypes
            settle(*map(wrap, arrays))
        for i, array in zip(places, promote(*[arrays[i] for i in places])):
            arrays[i] = array
    return arrays


def on_arrays(ins: Instruction, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an instruction gives on ndarrays."""
    row = ins.op
    if isinstance(row, Function):
        return row.raw(*values, **params, **ins.wanted())
    arrays = settled(row, values)
    out = {"out": ...} if row.is_ufunc and row.elementwise else {}
    if row.variadic:
        return row.kernel(arrays, **params)
    return row.kernel(*arrays, **params, **out)


def on_tensors(ins: Instruction, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an instruction gives on Tensors, recorded where they require grad."""
    row = ins.op
    if isinstance(row, Function):
        return row.traced(*values, **params, **ins.wanted())
    given = [v.value if v.__class__ is Number else v for v in values]
    if given and values[0].__class__ is Number and row.numbers != "either":
        given[0] = wrap(values[0].tables[row.floats][given[1]._array.dtype])
    out = row.call(given, **params) if row.variadic else row.call(*given, **params)
    if ins.rest < 0 or row.outputs is True:
        return out
    arrays = settled(row, [v._array if isinstance(v, _runtime.Tensor) else v for v in values])
    aside = row.kernel(*arrays, **params)[int(row.outputs) or 1 :]
    return (*out, *map(wrap, aside)) if row.outputs else (out, *map(wrap, aside))


class NotOneTruth(RuntimeError):
    """A condition has not one value."""


def truth(value: Any, source: Any = "of a branch") -> bool:
    """What a condition's value says; RuntimeError where it is not one value."""
    array = getattr(value, "_array", value)
    if array is not value:  # a Tensor's, which a trace is to know of
        tell_left("bool", value)
    size = getattr(array, "size", 1)
    if size != 1:
        raise NotOneTruth(
            f"the condition {source} has shape {array.shape}, but a branch takes one truth value: reduce it with "
            ".all() or .any(), or choose elementwise with static.apply(torch.where, ...)"
        )
    return bool(array)


def step(ins: Instruction, registers: list[Any], run: Callable[..., Any]) -> None:
    """Run one instruction unless its guard says no."""
    for condition, wanted in ins.guard:
        if truth(registers[condition], condition.source) is not wanted:
            return
    if any([registers[slot] is None for slot in ins.absent]):
        return
    params = {n: registers[v] if v.__class__ is Slot else v for n, v in ins.params.items()}
    out = run(ins, ins.operands(registers), params)
    if ins.rest >= 0:
        registers[ins.rest] = list(out[ins.declared :])
    elif not ins.several:
        registers[ins.outputs[0]] = _outer(out, ins)
        return
    for number, slot in enumerate(ins.outputs):
        if slot >= 0:
            registers[slot] = out[number]


def _outer(out: Any, ins: Instruction) -> Any:
    """The one output of a kernel that also sets arrays aside."""
    return out[0] if out.__class__ is tuple and isinstance(ins.op, Row) and "aside" in ins.op.kept else out


def last_uses(instructions: Sequence[Instruction], results: Iterable[int]) -> list[tuple[int, ...]]:
    """For each instruction, the registers that nothing reads after it."""
    seen = set(results)
    frees: list[tuple[int, ...]] = []
    for ins in reversed(instructions):
        slots = [
            *(i for i in ins.inputs if i.__class__ is not Number),
            *(v for v in ins.params.values() if v.__class__ is Slot),
            *(s for s, _ in ins.guard),
        ]
        dying = [int(s) for s in dict.fromkeys([*slots, *ins.outputs, ins.rest]) if s >= 0 and s not in seen]
        seen.update(dying)
        frees.append(tuple(dying))
    return frees[::-1]


# -- written out -------------------------------------------------------------------------------------------------------
class Program(Unchanging):
    """Instructions, ready to be run on ndarrays many times.

    Parameters
    ----------
    instructions : sequence of Instruction
    results : sequence of int
        The registers that are read at the end: the others are emptied after their last use.
    constants : sequence of int
        Registers that are filled before and stay.
    known : dict of int to (dtype, bool)
        What is known of constants, see ``Fact``.

    Attributes
    ----------
    source : str
        The program in Python: ``r`` are the registers.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        results: Iterable[int],
        constants: Iterable[int] = (),
        known: dict[int, Fact] | None = None,
    ) -> None:
        self.instructions = tuple(instructions)
        self.frees = last_uses(self.instructions, {*results, *constants})
        self._known = known or {}
        self.facts: dict[Any, Any] = {}
        self._short = len(self.instructions) <= _LONGEST
        self.source = ""
        if self._short:
            self.source, self._code = self.written({})

    def __repr__(self) -> str:
        return f"<Program of {len(self.instructions)} instructions>"

    def __str__(self) -> str:
        return self.source or "\n".join(map(str, self.instructions))

    def written(self, known: dict[int, Fact]) -> tuple[str, Any]:
        """The program as Python, where something is *known* of registers: the source, and the function."""
        writer = Writer(self.instructions, self.frees, {**self._known, **known})
        source = "\n".join(["def program(r):", *writer.lines]) + "\n"
        name = f"<program {id(self):#x}.{len(self.facts)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exec(compile(source, name, "exec"), writer.scope)
        weakref.finalize(self, linecache.cache.pop, name, None).atexit = False
        return source, writer.scope.pop("program")  # which has the scope

    def code_for(self, slots: Sequence[int], facts: tuple[Fact, ...]) -> Any:
        """The function for arrays of known dtypes, of which some are known not to be 0-d; None where it is interpreted."""
        code = self.facts.get(facts)
        if code is None and self._short:
            code = self._code
            if facts and len(self.facts) < _VARIANTS:
                _, code = self.written(dict(zip(slots, facts)))
            self.facts[facts] = code
        return code

    def run(self, registers: list[Any], code: Any = None) -> None:
        """Run it on filled registers; *code*: what ``code_for`` gave for them.

        Raises
        ------
        Exception
            What an instruction raises; ``error.instruction`` is that instruction.
        """
        start = 0
        if self._short:
            failed = (code or self._code)(registers)
            if failed is None:
                return
            start = failed  # also where another thread is in ``quiet``, or where NumPy is set to raise
        with np.errstate(all="ignore"):
            self._interpret(registers, start, on_arrays)

    def run_on_tensors(self, registers: list[Any]) -> None:
        """The same where registers hold Tensors: what requires grad is recorded."""
        self._interpret(registers, 0, on_tensors)

    def _interpret(self, registers: list[Any], start: int, run: Callable[..., Any]) -> None:
        for number in range(start, len(self.instructions)):
            ins = self.instructions[number]
            try:
                step(ins, registers, run)
            except Exception as error:
                if not hasattr(error, "instruction"):
                    error.instruction = ins  # type: ignore[attr-defined]
                    error.values = ins.operands(registers)  # type: ignore[attr-defined]
                raise
            for slot in self.frees[number]:
                registers[slot] = None


class Writer:
    """The lines of a program, and the names that they use.

    Frames whose globals have ``__name__`` None issue no warnings (see ``_op.recorder``), so ufuncs are called as they are;
    kernels in Python run in ``quiet``.
    """

    def __init__(
        self, instructions: Sequence[Instruction], frees: Sequence[tuple[int, ...]], known: dict[int, Fact]
    ) -> None:
        self.known = known
        self.scope: dict[str, Any] = {
            "__name__": None, "__builtins__": __builtins__, "quiet": quiet, "settled": settled, "truth": truth,
            "rest_of": list,
        }  # fmt: skip
        self._names: dict[int, str] = {}
        self.lines = ["    i = 0", "    try:"]
        guard: tuple[tuple[Condition, bool], ...] = ()
        pending: list[tuple[int, int]] = []
        defined: dict[int, int] = {}
        for number, ins in enumerate(instructions):
            if ins.guard != guard:
                self._turn(number, guard, ins.guard, pending)
                guard = ins.guard
            margin = "        " + "    " * len(guard)
            if ins.absent:
                self.lines.append(f"{margin}if {' and '.join([f'r[{s}] is not None' for s in ins.absent])}:")
            inner = margin + "    " if ins.absent else margin
            self.lines += [inner + line for line in self.call(number, ins)]
            self.learn(ins)
            for slot in (*ins.outputs, ins.rest):
                defined[slot] = len(guard)
            now = [s for s in frees[number] if defined.get(s, 0) >= len(guard)]
            pending += [(defined.get(s, 0), s) for s in frees[number] if defined.get(s, 0) < len(guard)]
            if now:
                self.lines.append(margin + " = ".join([f"r[{s}]" for s in now]) + " = None")
        self.lines += ["        return None", "    except Exception:", "        return i"]

    def _turn(self, number: int, old: Any, new: Any, pending: list[tuple[int, int]]) -> None:
        """Leave the conditions that no longer hold and enter those that do from here on."""
        common = 0
        while common < min(len(old), len(new)) and old[common] == new[common]:
            common += 1
        free = [slot for depth, slot in pending if depth >= common]
        pending[:] = [entry for entry in pending if entry[0] < common]
        if free:
            self.lines.append("        " + "    " * common + " = ".join([f"r[{s}]" for s in free]) + " = None")
        if len(new) > common:
            self.lines.append("        " + "    " * common + f"i = {number}")
        for depth in range(common, len(new)):
            slot, wanted = new[depth]
            self.lines.append("        " + "    " * depth + f"if {'' if wanted else 'not '}truth(r[{slot}]):")

    def name(self, value: Any, stem: str) -> str:
        """A name in the program for an object."""
        if id(value) not in self._names:
            self._names[id(value)] = name = f"{stem}{len(self._names)}"
            self.scope[name] = value
        return self._names[id(value)]

    def value(self, value: Any) -> str:
        """A parameter's value as an expression."""
        if value.__class__ is Slot:
            return f"r[{int(value)}]"
        if value is None or value.__class__ in (bool, int, str) or (value.__class__ is tuple and not value):
            return repr(value)
        return self.name(value, "c")

    def call(self, number: int, ins: Instruction) -> Iterator[str]:
        """The lines of one instruction."""
        row = ins.op
        yield f"i = {number}"
        params = [f"{name}={self.value(v)}" for name, v in ins.params.items()]
        if isinstance(row, Function):
            params += [f"{name}={v}" for name, v in ins.wanted().items()]
            operands = [f"r[{i}]" for i in ins.inputs]
            call = f"{self.name(row.raw, 'f')}({', '.join([*operands, *params])})"
        else:
            call = self.row_call(row, ins, params)
        yield from self.store(ins, call)

    def row_call(self, row: Row, ins: Instruction, params: list[str]) -> str:
        """The call of a kernel; where operands may have to be brought to one dtype first, that depends."""
        kernel = self.name(row.kernel, row.name if row.name.isidentifier() else "k")
        before, after, close = f"{kernel}(", [*params], ")"
        if row.is_ufunc and row.elementwise:
            if not any([fact[1] for fact in self.facts_of(ins)]):
                after.append("out=...")  # else it would be a scalar
        elif not row.view:
            before = f"quiet({kernel}, "
        operands, alike = self.operands(row, ins)
        if row.variadic:
            operands = [f"[{', '.join(operands)}]"]
        call = before + ", ".join([*operands, *after]) + close
        if not alike:
            return call
        settled = f"settled({self.name(row, 'row')}, ({', '.join(operands)},))"
        settled = f"settled({self.name(row, 'row')}, {operands[0]})" if row.variadic else f"*{settled}"
        return f"{call} if {alike} else {before}{', '.join([settled, *after])}{close}"

    def operands(self, row: Row, ins: Instruction) -> tuple[list[str], str]:
        """The operands as expressions, and on what condition they may be passed as they are (empty: always)."""
        facts = self.facts_of(ins)
        common = self.dtype_of(facts)
        first = next((f"r[{i}].dtype" for i in ins.inputs if i.__class__ is not Number), "")

        def expression(i: Any) -> str:
            if i.__class__ is not Number:
                return f"r[{i}]"
            table = i.tables[row.floats]
            return f"{self.name(table, 'n')}[{first}]" if common is None else self.name(table[common], "n")

        given = [expression(i) for i in ins.inputs]
        places = places_of(row, len(ins.inputs))
        alike = common is not None or (ins.alike and len(facts) == len(ins.inputs))
        tests = [] if alike else [f"{given[places[0]]}.dtype is {given[i]}.dtype" for i in places[1:]]
        if row.floats and given and common is None:
            tests.append(f"{given[0]}.dtype.kind == 'f'")
        return given, " and ".join(tests)

    def facts_of(self, ins: Instruction) -> list[Fact]:
        """What is known of the operands that are arrays."""
        return [self.known.get(i, (None, False)) for i in ins.inputs if i.__class__ is not Number]

    def dtype_of(self, facts: list[Fact]) -> Any:
        """The one float dtype that all operands are known to have, or None."""
        dtypes = {fact[0] for fact in facts}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        return dtype if dtype is not None and dtype.kind == "f" else None

    def learn(self, ins: Instruction) -> None:
        """Note what is known of a result: an elementwise one of operands alike is alike."""
        if isinstance(ins.op, Row) and ins.op.elementwise and not ins.several and ins.op.formulas:
            facts = self.facts_of(ins)
            self.known[ins.outputs[0]] = self.dtype_of(facts), any([fact[1] for fact in facts])

    def store(self, ins: Instruction, call: str) -> Iterator[str]:
        """Store what a call gives."""
        aside = isinstance(ins.op, Row) and "aside" in ins.op.kept
        if not ins.several and not aside:
            yield f"r[{ins.outputs[0]}] = {call}"
            return
        yield f"x = {call}"
        for number, slot in enumerate(ins.outputs):
            if slot >= 0:
                yield f"r[{slot}] = x[{number}]"
        if ins.rest >= 0:
            yield f"r[{ins.rest}] = rest_of(x[{ins.declared}:])"
        yield "x = None"
