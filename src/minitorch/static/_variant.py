"""One way through a traced function: a program, and when it is what the function does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from .._identity import owner
from .._modes import grad_on, inference_marks, inference_mode_on, no_grad
from .._random import default_generator
from .._runtime import is_busy, quiet, silent, wrap
from .._sites import site_of
from .._trace import Trace
from .._trace_instructions import Called, Graded, Ran, Slot, Written
from .._views import edits_of
from ._facts import flattened, writes_of
from ._guards import arrays_if_unchanged
from ._histories import belongs, has_history, is_view, leads_back
from ._memory import Example, MemoryPlan, let_go, memory_plan
from ._spent import give, spent
from ._stands import same_memory
from ._surroundings import Surroundings
from ._traced_code import Plan, Refused, Writer, count_edits


class Variant:
    """One way through a function: its instructions, and when they are what the function does."""

    def __init__(
        self,
        trace: Trace,
        results: Sequence[Any],
        make: Callable[[list[Any], dict[Any, Any]], Any],
        passes: Sequence[str],
        around: Surroundings,
    ) -> None:
        self.around = around
        slots = [trace.slot_of(t) for t in results]
        self._shows = _shows_outside(trace, results)
        self.plan = Plan(trace, slots, passes)
        self._writer = Writer(self.plan)
        self.source, self._program = self._writer.source, self._writer.program
        self._generators = [default_generator, *dict.fromkeys(trace.generators)] if self._writer.begins_again else []
        self.trace, self._slots, self._make = trace, slots, make
        self.required = {s for s, t in zip(trace.arguments, around.arguments) if around.histories.had(t)}
        """The arguments that required grad."""
        self.given: Any = None
        self.returned: Any = None
        self.recording = grad_on()
        self.named = around.named_arguments()
        """For each argument, a reference to the tensor where the function reads it by name, too."""
        self.one_for_several = _one_for_several(trace, self.named)
        """For each argument, the first one that is the same tensor; empty where each is a tensor of its own."""
        instructions = list(flattened(trace.instructions))
        self.captured = list(trace.captured.values())
        grads: list[tuple[Any, Any, int]] = []
        own = {id(t): i for i, t in enumerate(self.captured) if not around.names(t)}
        seen: set[int] = set()
        for graded in [i for i in instructions if isinstance(i, Graded)]:
            matters = not graded.cleared or id(graded.before) in own  # written before
            if id(graded.tensor) not in seen and matters:
                grads.append((graded.tensor._node, graded.before, own.get(id(graded.before), -1)))
            seen.add(id(graded.tensor))
        self._grads = grads
        places = {slot: ("argument", i) for i, slot in enumerate(trace.arguments)}
        places |= {slot: ("captured", i) for i, slot in enumerate(trace.captured)}
        outside = dict(zip(places, [*around.arguments, *self.captured]))
        self._edited = [place for slot, place in places.items() if slot in self._writer.edited]
        self._times = self._counts(outside)
        self._lie([t._array for t in self.captured])
        self._together = self._first_of_each
        self._count = len(slots)
        self._recorded(results, [(places[s], t) for s, t in outside.items() if around.histories.gained(t)])
        self.arrays = arrays_if_unchanged(around, self.captured, grads, self.recorded)
        gradients = {id(t.grad): ("gradient", t) for t in [i.tensor for i in instructions if isinstance(i, Graded)]}
        self._places = [places.get(slot) or gradients.get(id(t)) for slot, t in zip(slots, results)]
        histories = [None if place or self.recorded else spent(t) for t, place in zip(results, self._places)]
        self._histories = [(n, history) for n, history in enumerate(histories) if history is not None]
        self.runs = 0
        self._marks = inference_mode_on.get()
        self._fresh = len({*slots}) == len(slots) and not any(self._places)  # results are new tensors, each another one
        self._parted = False  # whether an argument was another tensor at the last call than one that is read by name
        self._went: Any = None  # the branch that went another way at the last call
        self.examples = [Example(trace.arrays[slot]) for slot in trace.arguments]
        let_go(trace)
        around.let_go()

    def _lie(self, captured: Sequence[np.ndarray]) -> None:
        """Note in which memory what was captured lies now."""
        self._known, memory = captured, [id(owner(a)) for a in captured]
        self._memory = {memory[i] for kind, i in self._edited if kind == "captured"}
        first: dict[int, int] = {}
        self._first_of_each = [first.setdefault(m, n) for n, m in enumerate(memory)]

    def _recorded(self, results: Sequence[Any], gained: Sequence[tuple[Any, Any]]) -> None:
        """Note whether gradients may go back through results, or through what was there before and has *gained* a history."""
        self._into = bool(gained)  # whether they may through what was there
        self.recorded = self._into or any([t._node is not None for t in results])
        self._leads_back = not grad_on() or self.recorded
        if self.recorded and any(map(self._trains, flattened(self.trace.instructions))):
            self._into = any([is_view(t) or leads_back(t) for _, t in gained])
            self.recorded = self._into or any(map(leads_back, results))
        self._gained = [] if self.recorded else [(*place, spent(t)) for place, t in gained]

    def _counts(self, outside: dict[Slot, Any]) -> list[int]:
        """How many edits each tensor's version counts; what ``.data = ...`` gives a tensor is one here: its memory is kept."""
        writes = [i for i in self.plan.stages[0][1] if isinstance(i, Written)]
        found = []
        for slot in [slot for slot in outside if slot in self._writer.edited]:
            into = [i for i in writes if slot in self.plan.family(i.target)]
            moves = sum([i.moves for i in into])
            found.append(moves + self.around.histories.edits(outside[slot], len(into) - moves))
        return found

    def _trains(self, instruction: Any) -> bool:
        """Whether an instruction belongs to a training step, whose own backward pass has been through most results."""
        if isinstance(instruction, Written):
            written = [self.trace.captured.get(slot) for slot in self.plan.family(instruction.target)]
            return any([t is not None and has_history(t) for t in written])
        return isinstance(instruction, (Graded, Ran))

    def difference(self) -> str:
        """Why the last call was not of this variant, in words."""
        if said := self.around.difference():
            return said
        if self._parted:
            return "an argument is, or was, a tensor that the function reads by name, too"
        if self._went is None or self.arrays() is None:
            return self.around.tensors_differ(self._grads)
        kind, site = self._went.kind, site_of(self._went.mark)
        what, does = "a branch over a tensor's value", "goes another way"
        if kind == "size":
            what, does = "a size that depends on values", "is another one"
        elif kind != "bool":
            what, does = f"a tensor's value that becomes Python's by {kind}()", "is another one"
        if site is None:
            return f"{what} {does}"
        known = site.expression and site.file.startswith("<")  # such as a cell's, whose name says nothing
        return f"{what}, {site.expression}{'' if known else f' at {site.short}'}, {does}"

    def instead(self) -> str:
        """Why the function itself is called in place of this; empty where it is not."""
        if self._into:
            return (
                "where what it writes into an argument, or into a tensor from outside, leads back to what requires grad, it "
                "runs as it is written: compile the whole step, backward() in it, or write detach()ed values"
            )
        if self.recorded:
            return (
                "where its results lead back to what requires grad, it runs as it is written: compile the whole step, "
                "backward() in it, or call it under no_grad()"
            )
        if self._shows:
            return (
                "a result shares memory with an argument, or with a tensor from outside, so it runs as it is written: "
                "return a clone() of it"
            )
        return ""

    def run(self, tensors: Sequence[Any], arrays: list[Any], captured: list[np.ndarray]) -> tuple[Any, ...] | None:
        """The results for these tensors and their arrays, in a tuple; None where a branch goes another way; () where the
        function itself is to be called: for the history of its results, for views of what is outside, or for an error, which
        it explains."""
        if self._shows or self.recorded:
            return ()
        written: list[Any] = []
        if self._edited:
            written = [tensors[i] if kind == "argument" else self.captured[i] for kind, i in self._edited]
            if any([(e := edits_of(t)).watchers is not None or e.inference or belongs(t) for t in written]):
                return ()
            if self._gained and any(map(is_view, written)):
                return ()
        around = self.around
        if around.shared or not around.by_name.isdisjoint(map(id, tensors)):
            self._parted = around.those_named(tensors) != around.given or any(
                [not same_memory(arrays[place], t._array) for place, t in around.shared]
            )
            if self._parted:
                return None
        if self.plan.facts.apart:
            if not all(map(is_, captured, self._known)):
                self._lie(captured)
            if self._first_of_each != self._together:
                return ()
        if self._memory and any([id(a if a.base is None else owner(a)) in self._memory for a in arrays]):
            return ()
        try:
            found = self._begun(arrays, captured) if self._generators else self._found(arrays, captured)
        except Exception as error:
            if self._can_begin_again(error):
                return ()
            count_edits(written, self._times)
            said = self._explained(error)
            said.add_note("It failed within a compiled program: what that had written before stays written.")
            raise said from None
        if found.__class__ is int:
            self._went = self.plan.instructions[found]
            return None
        if written:
            count_edits(written, self._times)
        for kind, i, history in self._gained:
            (tensors if kind == "argument" else self.captured)[i]._node = history
        self.runs += 1
        numbers: dict[Any, Any] = {}
        if len(found) > self._count:
            numbers, found = dict(zip(self._writer.numbers, found[self._count :])), found[: self._count]
        if self._fresh:
            made = [wrap(found[0])] if len(found) == 1 else [*map(wrap, found)]
        else:
            made = self._tensors(found, tensors)
        for number, history in self._histories:
            give(made[number], history)
        if self._marks:
            for tensor in [t for t, place in zip(made, self._places) if place is None]:
                inference_marks.mark(tensor)
        return (self._make(made, numbers),)

    def _tensors(self, found: Sequence[np.ndarray], tensors: Sequence[Any]) -> list[Any]:
        """The results, where some are the same, or what the function was given or has captured."""
        made: dict[int, Any] = {}
        for array, place in zip(found, self._places):
            if id(array) not in made:
                made[id(array)] = self._wrapped(array, place, tensors)
        return [made[id(array)] for array in found]

    def _failed_at(self, error: Exception) -> Any:
        """Where in the program an error was raised; None where it was elsewhere."""
        at = error.__traceback__
        while at is not None and at.tb_frame.f_code is not self._program.__code__:
            at = at.tb_next
        return at

    def _can_begin_again(self, error: Exception) -> bool:
        """Whether the program failed before it changed anything."""
        at, first = self._failed_at(error), self._writer.first_effect
        return at is not None and (first is None or at.tb_lineno <= first)

    def _explained(self, error: Exception) -> Exception:
        """What the operation that failed says of its operands, rather than its kernel."""
        at = self._failed_at(error)
        called = None if at is None else self._writer.instruction_at(at.tb_lineno)
        if not isinstance(called, Called):
            return error
        names = at.tb_frame.f_locals
        values: Any = {slot: wrap(names[self._writer.slot(slot)]) for slot in called.reads}
        try:
            with no_grad():
                called.run(values)
        except Exception as said:
            return said
        return error

    def _begun(self, arrays: list[Any], captured: list[Any]) -> Any:
        """The same of one that draws before it may fail: the same numbers are to come again then."""
        places = [generator.place() for generator in self._generators]
        try:
            found: Any = self._found(arrays, captured)
        except Exception as error:
            if self._can_begin_again(error):
                self._again(places)
            raise
        if found.__class__ is int:
            self._again(places)
        return found

    def _again(self, places: Sequence[Any]) -> None:
        """Let the generators go on from these places."""
        for generator, place in zip(self._generators, places):
            generator.again(place)

    def _found(self, arrays: list[Any], captured: list[Any]) -> Any:
        """What the program gives; what it calls is called outside of the quiet context, which that may enter itself."""
        program: Any = (self._program, arrays, captured)
        if self._writer.goes_on:
            program = (next, self._program(arrays, captured))
        try:  # as ``silent`` does, in half the time
            found = quiet(*program)
        except RuntimeError as error:
            if not is_busy(error):
                raise
            found = silent(*program)
        while found.__class__ is tuple:
            function, given, results = found
            returned = function(*given)
            found = silent(program[1].send, returned) if results is None else results
        return found

    def _wrapped(self, array: np.ndarray, place: Any, tensors: Sequence[Any]) -> Any:
        if place is None:
            return wrap(array)
        if place[0] == "gradient":
            return place[1].grad
        return tensors[place[1]] if place[0] == "argument" else self.captured[place[1]]

    def memory(self) -> MemoryPlan:
        """See ``Traced.memory_plan``."""
        required = {s for s, t in self.trace.captured.items() if t._node is not None} | self.required
        return memory_plan(self.plan, self._slots, required if self._leads_back else set())


def _one_for_several(trace: Trace, named: Sequence[Any]) -> list[int]:
    first: dict[int, int] = {}
    places = [first.setdefault(id(trace.arrays[slot]), n) for n, slot in enumerate(trace.arguments)]
    return places if len(first) < len(places) or any([t is not None for t in named]) else []


def _shows_outside(trace: Trace, results: Sequence[Any]) -> bool:
    """Whether a result shares memory with what was there before, and is not that itself."""
    outside = {*trace.arguments, *trace.captured}
    memory = {trace._owners[slot] for slot in outside}
    slots = [trace.slot_of(t) for t in results if t._array.size]
    return any([slot not in outside and trace._owners[slot] in memory for slot in slots])


def drop_own_gradients(trace: Trace, results: Sequence[Any], reached: Sequence[Any]) -> None:
    """Leave out gradients of leaves that the block made; refuse those that the caller sees, on other tensors each time.

    Tensors that are *reached* by name are none of these, even where ``.data = ...`` has given one what the block made.
    """
    outside = {id(t) for t in (*trace.captured.values(), *reached)}
    seen = {*trace.arguments, *[trace.slot_of(t) for t in results]} - {*trace.captured}
    kept: list[Any] = []
    for instruction in trace.instructions:
        slot = trace._slots.get(id(instruction.tensor._array)) if isinstance(instruction, Graded) else None
        if slot in seen:
            raise Refused(
                "an argument, or a result, gets a gradient: detach() it, and return what torch.autograd.grad gives"
            )
        if slot is None or slot in trace.captured or id(instruction.tensor) in outside:
            kept.append(instruction)
    trace.instructions = kept


def text_of(variant: Variant) -> str:
    """A program's instructions, with shapes and dtypes of what each gives."""
    lines = []
    for slot, tensor in variant.trace.captured.items():
        lines.append(f"{slot!r} captured, of shape {list(tensor.shape)}")
    for instruction in variant.plan.instructions:
        made = [variant.trace.arrays[s] for s in writes_of(instruction)] if isinstance(instruction, Called) else []
        said = ", ".join([f"{a.dtype.name}{list(a.shape)}" for a in made])
        lines.append(f"{instruction!r}" + f"  # {said}" * bool(said))
    lines.append(f"return {', '.join([repr(s) for s in variant.plan.results])}")
    return "\n".join(lines)
