"""A trace written out as Python that runs on ndarrays: the kernels alone, of known shapes and dtypes.

What is done to the list of instructions before is in ``Plan``: each step is small and changes no bit of a result.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from .. import _runtime
from .._choices import Choice
from .._op import Row
from .._random import Generator
from .._sites import site_of
from .._trace import Trace
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
    as_tuple,
    filled_in,
    slots_in,
)
from .._views import edited, edits_of
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from . import _loops
from ._facts import (
    Facts,
    draws,
    failing,
    flattened,
    guards,
    is_elementwise_ufunc,
    last_uses,
    reads_of,
    writes_of,
)
from ._forms import NAMES, Form, form_of, piece_form_of
from ._instructions import settled
from ._passes import ALL, ORDER
from ._stands import an_object, is_plain

PASSES = tuple(ALL)
"""What is done to a program, in order: see ``_passes``."""


class Refused(Exception):
    """A block cannot be written out; the message says why."""


class Plan:
    """The instructions of a trace after the passes, and what those found.

    Attributes
    ----------
    instructions : list
        What is to be done.
    results : list of Slot
        What is returned.
    alias : dict of Slot to Slot
        Values that were left out, and those that stand for them: the instructions and results name the latter.
    into : dict of int to Slot
        By the number of an instruction, the value of which nothing is read any more in whose memory it may write its result.
    last : dict of Slot to int
        The number of the last instruction that reads a slot.
    loops : dict of int to Loop
        By the number of the first of them, calls that are made piece by piece: they may as well be made one by one.
    stages : list of (str, list)
        The instructions after each pass.
    """

    def __init__(
        self, trace: Trace, results: Sequence[Slot], passes: Sequence[str] = PASSES, follows: Collection[str] = ()
    ) -> None:
        self.trace = trace
        instructions = [i for i in flattened(trace.instructions) if not _is_begin(i)]
        instructions = trace.following(instructions, follows) if follows else instructions
        self.facts = facts = Facts(trace, instructions, results)
        self.stages = [("as traced", instructions)]
        for name in ORDER:
            if name in passes:
                instructions = ALL[name](instructions, facts)
                self.stages.append((name, instructions))
        self.instructions, self.results, self.alias = instructions, facts.results, facts.alias
        self.into = {n: facts.into[s] for n, i in enumerate(instructions) for s in writes_of(i) if s in facts.into}
        self.loops = {n: facts.loops[i.outputs[0]] for n, i in enumerate(instructions) if _begins(i, facts)}
        self.last = last_uses(instructions, self.results)
        for number, slot in self.into.items():
            self.last[slot] = max(number, self.last[slot])
        self.family = facts.family

    def explained(self) -> str:
        """The instructions as they were traced, and after each pass that changed them."""
        lines: list[str] = []
        shown: list[str] = []
        count = 0
        for name, instructions in self.stages:
            texts = self._shown(instructions, name in ("fuse", "reuse"), name == "reuse")
            if texts != shown:
                lines += [f"{name}: {f'{count} -> ' * bool(shown)}{len(instructions)} instructions", *texts]
                shown, count = texts, len(instructions)
        return "\n".join(lines)

    def _shown(self, instructions: Sequence[Any], looped: bool, reused: bool) -> list[str]:
        """Lines for instructions, those of a loop under a heading."""
        texts, left = [], 0
        into = self.facts.into if reused else {}
        for instruction in instructions:
            if looped and _begins(instruction, self.facts):
                loop = self.facts.loops[instruction.outputs[0]]
                left = len(loop.members)
                texts.append(f"    in {len(loop.starts)} pieces of {loop.shape}:")
            memory = "".join([f"  # into {into[s]!r}" for s in writes_of(instruction) if s in into])
            texts.append("    " * (1 + (left > 0)) + f"{instruction!r}{memory}")
            left -= 1
        return texts


def _begins(instruction: Any, facts: Facts) -> bool:
    return isinstance(instruction, Called) and bool(instruction.outputs) and instruction.outputs[0] in facts.loops


def _is_begin(instruction: Any) -> bool:
    return instruction.__class__.__name__ == "Writing"


def has_effects(instruction: Any, plan: Plan) -> bool:
    """Whether running it once more than the function does would be noticed; draws can be made again."""
    if isinstance(instruction, (Graded, Ran)):
        return True
    if isinstance(instruction, Written):
        return bool(plan.family(instruction.target) & plan.facts.outside)
    loop = next((plan.facts.loops[s] for s in writes_of(instruction) if s in plan.facts.loops), None)
    made = writes_of(instruction) if loop is None else [s for called in loop.members for s in called.outputs]
    return any([plan.family(plan.facts.into[s]) & plan.facts.outside for s in made if s in plan.facts.into])


def _too_late(left: Left) -> str:
    """Why a value or a size cannot be looked at where it is."""
    what, remedy = (
        f"a tensor's value becomes Python's by {left.kind}()",
        "return the number as it is, or take it outside of the block",
    )
    if isinstance(left, Sized):
        what, remedy = "a size depends on values", "choose with torch.where, or before"
    site = None if left.mark is None else site_of(left.mark)
    place = "" if site is None else f" ({f'{site.expression} ' * bool(site.expression)}at {site.short})"
    return (
        f"{what} after something was written or stepped{place}, so that the block could not begin again where it is another "
        f"one next time: {remedy}"
    )


class Writer:
    """The lines of a program and the names that they use; ``program(A, C)`` takes the arrays of arguments and of what was
    captured, and returns those of the results, or the number of a guard that fails.  What changes more than tensors is not
    called here: what is called last is returned with its arguments and the results.  Where the program ``goes_on`` after such a
    call, it is a generator, which yields that with its arguments, is sent what it returned, and yields what others return."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.trace = plan, plan.trace
        self.scope: dict[str, Any] = {
            "__name__": None, "__builtins__": __builtins__, "copyto": np.copyto, "own": own, "same": same,
            "aligned": _loops.aligned, "new_tensor": _runtime.new_tensor, **NAMES,
        }  # fmt: skip
        self._names: dict[int, str] = {}
        self.pieces: dict[Slot, str] = {}
        self.lines = ["def program(A, C):"]
        self.edited: set[Slot] = set()
        self.numbers: list[Any] = []  # that are returned, by their paths
        self._begins: list[tuple[int, Any]] = []
        written = [i.target for i in plan.instructions if isinstance(i, Written)]
        self._changing = {plan.facts.owners[s] for s in (*written, *plan.results, *plan.facts.escaped)}
        for arguments, names in (("A", self.trace.arguments), ("C", tuple(self.trace.captured))):
            if names:
                self.lines.append(f"    {', '.join([self.slot(s) for s in names])}, = {arguments}")
        calls = [number for number, i in enumerate(plan.instructions) if isinstance(i, Ran)]
        self.goes_on = any([not self.ends(number) for number in calls])
        effects, looped = False, range(0)
        self.begins_again = False  # whether it may fail after numbers were drawn, which are to be drawn again then
        self.first_effect: int | None = None  # the number of a line; draws are none where they are made again
        first_draw: int | None = None
        may_fail = failing(plan.instructions, plan.facts.arrays)
        dead: list[Slot] = []
        for number, instruction in enumerate(plan.instructions):
            if guards(instruction) and effects:
                raise Refused(_too_late(instruction))
            if first_draw is None and not effects and draws(instruction):
                first_draw = len(self.lines)
            if first_draw is not None and not effects and (guards(instruction) or number in may_fail):
                self.begins_again = True
            effects = effects or has_effects(instruction, plan)
            if self.first_effect is None and effects:
                self.first_effect = len(self.lines)
            self._begins.append((len(self.lines) + 1, instruction))
            if number in plan.loops:
                looped = range(number, number + len(plan.loops[number].members))
                self.lines += ["    " + line for line in _loops.written(self, plan.loops[number], plan.facts.into)]
            elif number not in looped:
                self.lines += ["    " + line for line in self.call(number, instruction)]
            touched = [*self.touched(instruction), *[s for s in (plan.into.get(number),) if s is not None]]
            dead += [s for s in touched if plan.last.get(s) == number and s not in plan.facts.inner]
            if dead and number + 1 not in looped:
                self.lines.append("    " + " = ".join([self.slot(s) for s in dict.fromkeys(dead)]) + " = None")
                dead = []
        if first_draw is not None and not self.begins_again:
            self.first_effect = first_draw
        if not self.ends(len(plan.instructions) - 1):
            self.lines.append(f"    {self.leaves()} {self.results()}")
        self.source = "\n".join(self.lines) + "\n"
        name = f"<traced program {id(self):#x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        exec(compile(self.source, name, "exec"), self.scope)
        self.program: Callable[..., Any] = self.scope.pop("program")  # which has the scope
        weakref.finalize(self, linecache.cache.pop, name, None).atexit = False

    def instruction_at(self, line: int) -> Any:
        """The instruction that a line is of; None where that is one of several in a loop."""
        number, found = max([n for n, (begin, _) in enumerate(self._begins) if begin <= line], default=-1), None
        if number >= 0 and not any(
            [start <= number < start + len(loop.members) for start, loop in self.plan.loops.items()]
        ):
            found = self._begins[number][1]
        return found

    def results(self) -> str:
        """The list of results as an expression."""
        numbers = [f"n{number}" for number in range(len(self.numbers))]
        return f"[{', '.join([*[self.slot(s) for s in self.plan.results], *numbers])}]"

    def ends(self, number: int) -> bool:
        """Whether an instruction is a call after which nothing is to be done but to return the results."""
        last = self.plan.instructions[number] if self.plan.instructions else None
        return number == len(self.plan.instructions) - 1 and isinstance(last, Ran) and not last.outputs

    def leaves(self) -> str:
        """How the program is left."""
        return "yield" if self.goes_on else "return"

    def touched(self, instruction: Any) -> list[Slot]:
        """The slots that it reads or writes."""
        return [*reads_of(instruction), *writes_of(instruction)]

    def slot(self, slot: Slot) -> str:
        """A value's variable; in a loop, that of its piece."""
        return self.pieces.get(slot) or f"v{int(slot)}"

    @contextmanager
    def naming(self, pieces: dict[Slot, str]) -> Iterator[None]:
        """Lines in which values are pieces of these names."""
        self.pieces = pieces
        yield
        self.pieces = {}

    # -- pieces, see _loops --------------------------------------------------------------------------------------------
    def takes_out(self, ins: Called) -> bool:
        """Whether a call on pieces can be told where to write."""
        return is_elementwise_ufunc(ins.row) or piece_form_of(ins.row, self.arrays(ins), ins.params) is not None

    def may_write_over(self, ins: Called, slot: Slot) -> bool:
        """Whether that may be an operand."""
        form = piece_form_of(ins.row, self.arrays(ins), ins.params)
        return form is None or all([n in form.over for n, i in enumerate(ins.inputs) if i == slot])

    def into_piece(self, ins: Called, piece: str, out: str) -> Iterator[str]:
        """The lines of a call on pieces."""
        operands, form = self.operands(ins), piece_form_of(ins.row, self.arrays(ins), ins.params)
        if form is not None:
            yield from self.formed(form, ins, operands, piece, out)
            return
        kernel = self.name(ins.row.kernel, ins.row.name)
        params = [f"{name}={self.param(p)}" for name, p in zip(ins.row.params, ins.params)]
        if is_elementwise_ufunc(ins.row):
            out = "out=" * bool(params or kernel_of_two(ins.row)) + out
            yield f"{piece} = {kernel}({', '.join([*operands, out, *params])})"
        else:
            call = f"{kernel}({', '.join([*operands, *params])})"
            yield f"copyto({out}, {call})" if out else f"{piece} = {call}"

    def name(self, value: Any, stem: str = "c") -> str:
        """A name for an object."""
        if id(value) not in self._names:
            stem = stem if stem.isidentifier() else "f"
            self._names[id(value)] = name = f"{stem}_{len(self._names)}"
            self.scope[name] = value
        return self._names[id(value)]

    def param(self, value: Any) -> str:
        """A parameter as an expression."""
        if value.__class__ is ArraySlot:
            return self.slot(Slot(value))
        if value.__class__ is NumberSlot:
            return f"float({self.slot(Slot(value))})"
        if value.__class__ is PlaceSlot:
            return f"int({self.slot(Slot(value))})"
        if slots := slots_in([value]):
            return f"{self.name(Packer(value, slots), 'pack')}({', '.join([self.slot(Slot(s)) for s in slots])})"
        if value is None or value.__class__ in (bool, int, str):
            return repr(value)
        return self.name(value)

    # -- instructions --------------------------------------------------------------------------------------------------
    def call(self, number: int, instruction: Any) -> Iterator[str]:
        """The lines of an instruction."""
        if isinstance(instruction, Called):
            yield from self.called(number, instruction)
        elif isinstance(instruction, Made):
            (slot,) = instruction.outputs
            copied = ".copy('K')" * (self.plan.facts.owners[slot] in self._changing)
            yield f"{self.slot(slot)} = {self.name(instruction.array, 'made')}{copied}"
        elif isinstance(instruction, Written):
            yield from self.written(instruction)
        elif isinstance(instruction, Graded):
            value = "None" if instruction.slot is None else self.slot(instruction.slot)
            if instruction.slot is None or instruction.before is not self.trace.captured.get(instruction.slot, self):
                if value != "None":  # as ``wrap`` does, in two thirds of the time
                    yield f"g = new_tensor(); g._array = {value}; g._node = g._alias = g._layout = None"
                    value = "g"
                yield f"{self.name(instruction.tensor._node, 'leaf')}.grad = {value}"
        elif isinstance(instruction, Ran):
            yield from self.ran(number, instruction)
        elif isinstance(instruction, Sized):
            yield f"if {self.slot(instruction.slot)}.shape != {instruction.value.shape}:"
            yield f"    {self.leaves()} {number}"
        elif isinstance(instruction, Left) and instruction.returns is not None:
            yield f"n{len(self.numbers)} = {instruction.returns.__name__}({self.slot(instruction.slot)}.item())"
            self.numbers.append(instruction.path)
        elif isinstance(instruction, Left):
            yield f"if not same({self.slot(instruction.slot)}, {self.name(instruction.value, 'seen')}):"
            yield f"    {self.leaves()} {number}"

    def written(self, instruction: Written) -> Iterator[str]:
        """A write; of memory from outside its version is counted, once in a run."""
        target = instruction.target
        if _expanded(self.trace.arrays[target]):
            raise Refused("a tensor is written of which several elements share memory (an expanded one)")
        self.edited.update(self.plan.family(target) & self.plan.facts.outside)
        source = instruction.source
        if isinstance(source, Slot) and self.plan.facts.into.get(source) == target:  # it was computed there
            return
        value = self.slot(source) if isinstance(source, Slot) else self.name(source._array)
        if any(
            [
                _expanded(a) or not a.flags.writeable
                for a in map(self.trace.arrays.__getitem__, self.plan.family(target))
            ]
        ):
            yield f"{self.slot(target)}.flags.writeable = True"  # NumPy makes what comes of an expanded array read-only
        yield f"copyto({self.slot(target)}, {value}, casting='unsafe')"

    def ran(self, number: int, instruction: Ran) -> Iterator[str]:
        """A call of what changes more than tensors."""
        given = [
            a for a in instruction.args if not isinstance(a, (Slot, Packed, Module, Optimizer, LRScheduler, Generator))
        ]
        if any(map(callable, given)):
            raise Refused(
                f"{instruction.name}() was given a function to call (a closure): run the model and backward() before it"
            )
        if found := [a for a in given if not is_plain(a)]:
            raise Refused(f"{instruction.name}() was given {an_object(found[0])}: pass tensors, or numbers")
        told = [o for o in as_tuple(instruction.out) if not isinstance(o, _runtime.Tensor) and o is not None]
        if any([not any([o is a for a in instruction.args]) for o in told]):
            raise Refused(f"{instruction.name}() returns {an_object(told[0])}: return tensors, or nothing")
        slots = slots_in(instruction.args)
        results = ", ".join([self.slot(s) for s in instruction.outputs])
        run: Any = Runner(instruction, slots)
        if not slots and not results:
            args, kwargs = instruction.given(())
            run = partial(instruction.function, *args, **kwargs)
        tensors = "".join([f"{self.slot(s)}, " for s in slots])
        call = f"{self.leaves()} {self.name(run, 'run')}, ({tensors}), {self.results() if self.ends(number) else None}"
        yield f"{results}, = {call}" if results else call

    def called(self, number: int, ins: Called) -> Iterator[str]:
        """A call of a row's kernel, or of a choice's."""
        row = ins.row
        operands = self.operands(ins)
        params = [f"{name}={self.param(p)}" for name, p in zip(row.params, ins.params)]
        kernel = self.name(row.kernel, row.name)
        first = [f"[{', '.join(operands)}]"] if row.variadic else operands
        into = self.plan.into.get(number)
        form = form_of(row, self.arrays(ins), ins.params) if len(writes_of(ins)) == 1 else None
        if form is not None:
            out = "" if into is None else self.slot(into)
            yield from self.formed(form, ins, operands, self.slot(writes_of(ins)[0]), out)
            return
        if is_elementwise_ufunc(row) and ins.outputs:
            if into is not None:
                outs = ["out=" * bool(params or kernel_of_two(row)) + self.slot(into)]
            else:
                outs = ["out=..."] * (not self.trace.arrays[ins.outputs[0]].ndim)
            yield f"{self.slot(ins.outputs[0])} = {kernel}({', '.join([*operands, *outs, *params])})"
            return
        call = f"{kernel}({', '.join([*first, *params])})"
        slots = [self.slot(s) for s in writes_of(ins)]
        if isinstance(row, Choice):
            several = len(slots) > 1 or "tuple" in str(getattr(row.kernel, "__annotations__", {}).get("return", ""))
            given = f"({', '.join([*operands, ''])})" if operands else "()"
            call = call if row.view else f"own({call}, {given})"
            yield f"{', '.join(slots)}, = {call}" if several else f"{slots[0]} = {call}"
        elif row.outputs or "aside" in row.kept:
            yield f"x = {call}"
            yield from [f"{slot} = x[{i}]" for i, slot in enumerate(slots)]
            yield "x = None"
        else:
            yield f"{slots[0]} = {call}"

    def formed(self, form: Form, ins: Called, operands: list[str], result: str, out: str) -> Iterator[str]:
        """A row that is written out."""
        params = dict(zip(ins.row.params, ins.params))
        given = {name: self.param(value) for name, value in form.constants(self.arrays(ins), params).items()}
        given["place"] = out or f"empty({given.get('shape')}, {given.get('dtype')})"
        for line in form.lines:
            yield line.format(*operands, r=result, out=f", {out}" * bool(out), **given)

    def arrays(self, ins: Called) -> list[Any]:
        """The operands as they were in the trace."""
        return [self.trace.arrays[i] if i.__class__ is Slot else getattr(i, "_array", None) for i in ins.inputs]

    def operands(self, ins: Called) -> list[str]:
        """The operands in the dtypes that the kernel takes them in."""
        arrays, names = self.arrays(ins), []
        for item, array in zip(ins.inputs, arrays):
            names.append(
                self.slot(item) if item.__class__ is Slot else "None" if item is None else self.name(array, "n")
            )
        if isinstance(ins.row, Choice) or not isinstance(ins.row, Row) or any([a is None for a in arrays]):
            return names
        fitted = settled(ins.row, arrays)
        return [
            name if a.dtype is b.dtype else f"{name}.astype({self.name(b.dtype, 'dtype')})"
            for name, a, b in zip(names, arrays, fitted)
        ]


def kernel_of_two(row: Any) -> bool:
    """Whether NumPy warns where the kernel is told by position where to write."""
    return row.kernel is np.maximum or row.kernel is np.minimum


def _expanded(array: np.ndarray) -> bool:
    """Whether several elements share memory."""
    return any([stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape)])


class Packer:
    """Makes a parameter that holds tensors of their arrays."""

    def __init__(self, param: Any, slots: Sequence[Slot]) -> None:
        self.param, self.slots = param, slots

    def __call__(self, *arrays: np.ndarray) -> Any:
        values: Any = dict(zip(map(int, self.slots), map(_runtime.wrap, arrays)))
        return filled_in(self.param, values)


class Runner:
    """Calls a function again, on the values that its tensors have now."""

    def __init__(self, instruction: Ran, slots: Sequence[Slot]) -> None:
        self.instruction, self.slots = instruction, slots

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        values: Any = dict(zip(map(int, self.slots), map(_runtime.wrap, arrays)))
        return [tensor._array for tensor in self.instruction.call(values)]


def own(found: Any, given: tuple[np.ndarray, ...]) -> Any:
    """What a choice's kernel gave, as arrays that are none of its inputs."""
    if found.__class__ is tuple:
        return tuple([f.copy() if any([f is g for g in given]) else f for f in found])
    return found.copy() if any([found is g for g in given]) else found


def same(array: np.ndarray, seen: np.ndarray) -> bool:
    """Whether a value is, bit for bit, what it was when the block was traced."""
    return array.tobytes() == seen.tobytes()


def count_edits(tensors: Iterable[Any], times: Iterable[int]) -> None:
    """Count so many writes into each of these tensors; those into one memory once."""
    most: dict[int, tuple[int, Any]] = {}
    for tensor, count in zip(tensors, times):
        known = most.setdefault(id(edits_of(tensor)), (count, tensor))
        if count > known[0]:
            most[id(edits_of(tensor))] = count, tensor
    for count, tensor in most.values():
        for _ in range(count):
            edited(tensor)
