"""What a function reads besides its arguments: variables around it, globals, attributes, containers.

A program is made for what these were; see ``Surroundings``.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import Any

import numpy as np

from .. import _printing, _runtime
from .._identity import owner
from .._random import Generator, default_generator
from .._tape import AccumulateGrad
from .._trace import Trace
from .._trace_instructions import Graded, Left, Ran, Written
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ._classes import has_hooks, hooks_of, name_of
from ._effects import Effects
from ._executed import Executed
from ._facts import flattened, reads_of
from ._histories import Histories, has_history
from ._holdings import Holdings
from ._libraries import of_kind, of_library
from ._reached import Reached
from ._stands import (
    MISSING,
    alike,
    an_object,
    array_state,
    as_item,
    cached_by,
    held,
    is_plain,
    items_of,
    keeps,
    kept_by,
    same_memory,
    shown,
    standing,
    state_of,
    stored,
    there,
    weakly,
)
from ._steps import containers_of, set_by_step
from ._told import Again, Told

_MADE = ("<string>", "<frozen ")
"""Where functions are said to be from that are made of text, such as a dataclass's, or come with the interpreter."""
_SHOWN = "it shows a value's memory in a way that is no operation"


class Surroundings(Reached):
    """What a call may read, as it was before the call; see `Reached`.

    Attributes
    ----------
    shared : list of (int, Tensor)
        Arguments, by their number, that are the values of tensors which are reached by name, too.
    by_name : frozenset of int
        The ids of the tensors that are reached by name.
    given : list of int
        For each argument its id where it is one of these, otherwise 0.
    histories : Histories
        Whether arguments, and what is reached by name, required grad before the call.
    """

    def __init__(
        self, roots: Sequence[Any], arguments: Sequence[Any] = (), met: Iterable[Any] = (), ran: Any = None
    ) -> None:
        super().__init__(roots, arguments, met, ran)
        self._given = arguments, met
        self._again: list[Again] = []
        self._prints = False  # whether tensors are shown as texts
        self._named: list[tuple[Any, Any, Any, str, int, bool]] = []
        self._frozen: list[Any] = []  # tensors that require no grad, of which the call reads or sets the gradient
        self.slots = [(self._loosely(holder, name), name, value) for holder, name, value in self.slots]
        places = {shown(tensor._array): place for place, tensor in enumerate(arguments)}
        self.shared = [(places[shown(t._array)], t) for t in self.tensors if places and shown(t._array) in places]
        self.by_name = frozenset(map(id, self.tensors))
        self.given = self.those_named(arguments)
        self.arguments = arguments
        self.histories = Histories([tensor for tensor, *_ in self._tensors])

    def those_named(self, arguments: Sequence[Any]) -> list[int]:
        """See ``given``."""
        return [id(t) if id(t) in self.by_name else 0 for t in arguments]

    def named_arguments(self) -> list[Any]:
        """For each argument, a weak reference to the tensor where it is one that is reached; else None."""
        by_id = {id(t): weakref.ref(t) for t in self.tensors}
        return [by_id.get(number) for number in self.given]

    def names(self, tensor: Any) -> bool:
        """Whether a tensor itself was reached, and not as a gradient alone."""
        return any([tensor is other for other, *_ in self._tensors])

    def _loosely(self, holder: Any, name: str) -> Any:
        """An object with an attribute; of one that is not to be kept alive, a reference."""
        if not any([holder is loose for loose in self._loose]) or (reference := weakly(holder)) is None:
            return holder
        self._paths[id(reference), name] = self._paths[id(holder), name]
        return reference

    def let_go(self) -> None:
        """Keep nothing of the arguments, and only what is asked before each run, and what tells what is another one."""
        named = [(t, _layout(array), node, path) for t, array, node, path in self._tensors if path != "an argument"]
        self._named = [
            (*known, hooks_of(known[2]) if known[2].__class__ is AccumulateGrad else 0, self.histories.had(known[0]))
            for known in named
        ]
        self.roots, self.tensors, self._given = (), [], ((), ())
        self.arguments, self.histories = (), Histories(())
        for lists in (self._loose, self._tensors, self._hooked, self._objects, self._generators, self._frozen):
            lists.clear()
        for table in (self._grads, self.memory, self._codes, self._closures, self._makers):
            table.clear()

    def unseen(self, effects: Effects) -> list[Any]:
        """Within the block: of what has run, people's own functions that were not reached by a name, and what their methods'
        objects and classes are."""
        found: list[Any] = []
        young = set(map(id, gc.get_objects(0)))
        for code, names, first in effects.codes.values():
            if names is None or of_library(names) or code in self._codes or code.co_filename.startswith(_MADE):
                continue
            functions = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
            found += functions or ([] if code.co_freevars else [types.FunctionType(code, names)])
            if id(first) not in young and not of_library(first if isinstance(first, type) else type(first)):
                found.append(first)
        others = [
            (c, values) for c, values in effects.closures.values() if c in self._codes and not self._knows(c, values)
        ]
        functions = gc.get_referrers(*[code for code, _ in others]) if others else []
        for f in [f for f in functions if isinstance(f, types.FunctionType) and id(f) not in young]:
            if any([f.__code__ is code and _closes_over(f.__closure__, values) for code, values in others]):
                found.append(f)
        known = [call for call in self._given[1] if isinstance(call, Again)]
        objects = [call for call in self._again if not is_plain(call.found)]
        return found + [call for call in objects if not any(map(call.same_call, known))]

    def _knows(self, code: types.CodeType, values: Sequence[Any]) -> bool:
        """Whether a function of this code was reached whose variables are these."""
        return any([_closes_over(cells, values) for cells in self._closures.get(code, ())])

    def narrowed(self, ran: Executed) -> Surroundings:
        """After a call that changed nothing: what of all this the call has read."""
        arguments, met = self._given
        told = [call for call in self._again if is_plain(call.found)]
        if not ran.complete or self.caches:  # a later call may run what a cache spared this one
            for call in told:
                self._ask(call, call.path)
            return self
        ran.asked.update(self.getters)
        read = Surroundings(self.roots, arguments, [*met, *told], ran)
        read.shared, read.histories = self.shared, self.histories
        if self._prints:
            read._stays(vars(_printing), "_options", "an option of printing")
        for tensor in self._frozen:
            read.keep_gradient(tensor, self._grads.get(id(tensor), MISSING))
        return read

    def keep_gradient(self, tensor: Any, gradient: Any) -> None:
        """Let the gradient of a tensor that requires none count."""
        self._frozen.append(tensor)
        self.slots.append((tensor, "_grad", gradient))
        self._paths[id(tensor), "_grad"] = "the gradient of a tensor that requires none"

    # -- later ---------------------------------------------------------------------------------------------------------
    def others(self) -> list[str]:
        """How code would write what is not as it was; `difference` has words for one of them."""
        found = [path for path, _, _ in self._rebound()]
        for function, value in self.asked:
            if not alike(function(), value):
                found.append(self._paths[id(function)])
        for container, values, keys in self.contents:
            same = len(container) == len(values) and all(map(alike, items_of(container), values))
            if not same or not (keys is None or all(map(alike, container, keys))):
                names = self._keys.get(id(container), ())
                place = _place(container, values, names, id(container) in self._attributes_in)
                found.append(self._paths[id(container)] + place)
        for space, absent in self.absent.values():
            found += [self._paths[id(space), name] for name in absent if name in space]
        found += [path for holder, name, value, path in self.stand if standing(holder, name) is not value]
        found += [self._paths[id(attributes)] for attributes in self.empty if attributes]
        found += [f"the class of {an_object(value)}" for value, kind in self.kinds if type(value) is not kind]
        found += [f"the bases of {kind.__name__}" for kind, bases in self.bases if kind.__mro__ is not bases]
        found += [f"the __dict__ of {an_object(value)}" for value, space in self.spaces if vars(value) is not space]
        return found + [self._paths[id(array)] for array, seen in self.arrays if array_state(array) != seen]

    def _rebound(self) -> Iterator[tuple[str, Any, Any]]:
        """The names and attributes that are another object than they were, with both."""
        for cell, value in self.cells:
            if not alike(now := held(cell), value):
                yield self._paths[id(cell)], value, now
        for names, name, value in self.named:
            if not alike(now := names.get(name, MISSING), value):
                yield self._paths[id(names), name], value, now
        for holder, name, value in self.slots:
            if not alike(now := stored(there(holder), name), value):
                yield self._paths[id(holder), name], value, now

    def difference(self) -> str:
        """What is not as it was, in words; empty where all is."""
        path = next(iter(self.others()), "")
        module, hooks, _ = path.partition("._hooks")
        if hooks:
            return f"{module} has other hooks than before"
        if path.endswith("()"):
            return f"{path} gives another thing than before"
        return path and f"{path} is another one"

    def tensors_differ(self, grads: Iterable[tuple[Any, Any, int]]) -> str:
        """Which tensor's gradient, hooks or layout is not as it was, in words."""
        paths = {id(node): path for _, _, node, path, *_ in self._named if node is not None}
        for node, before, place in grads:
            path = paths.get(id(node), "a tensor")
            if node.grad is not before and (place < 0 or node.grad is None):
                is_now = "None" if node.grad is None else "there" if before is None else "another one"
                return f"the gradient of {path} is {is_now}{'' if is_now == 'another one' else ', and was not'}"
        for tensor, layout, node, path, hooks, had in self._named:
            if has_history(tensor) != had:
                return f"{path} requires {'no grad, and did' if had else 'grad, and did not'}"
            if (now := _layout(tensor._array)) != layout:
                return f"{path} is {now[1]}{list(now[0])}, and was {layout[1]}{list(layout[0])}"
            if node.__class__ is AccumulateGrad and hooks_of(node) != hooks:
                return f"{path} has other hooks than before"
        changed = [self._paths[id(function)] for function, count, _ in self.caches if not keeps(function, count)]
        return f"the cache of {changed[0]} is another one" if changed else "what the block uses is not as it was"

    def __enter__(self) -> Surroundings:
        """The call begins: the youngest generation will be what it makes."""
        self._threshold = gc.get_threshold()
        self._holdings = Holdings([(root, name_of(root)) for root in self.roots])
        gc.set_threshold(0)  # people's code may ask whether it is enabled
        gc.collect(0)
        return self

    def __exit__(self, *exc: object) -> None:
        del self._holdings
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*self._threshold)

    def why_not(self, trace: Trace, told: Told | None) -> str:
        """Within the block: why the call that was traced is not what a later one would do; empty where it is."""
        for name in self._imports:
            if name not in sys.modules:
                self._lacks(sys.modules, [name], "")
            elif not of_library(vars(sys.modules[name])):
                return f"it imports {name} for the first time: import it outside"
        if any([t._node is not None and has_hooks(t) for t in self._given[0]]):
            return "an argument has hooks: register them on what is made of it"
        if self._lazy:
            return f"{self._lazy} has no shape yet: call the module with a batch first"
        new = self._made(trace)
        if found := self._changes() or self._moved(trace) or self._stepped(trace) or new:
            return found
        for function, count, _ in self.caches:
            if function.cache_info().misses != count and (
                any([id(t._array) in trace._slots for t in kept_by(function)])
                or not all([is_plain(x) or isinstance(x, _runtime.Tensor) for x in cached_by(function)])
            ):
                return f"a call fills the cache of {self._paths[id(function)]}: call that before"
        if any([i.kind == "print" for i in flattened(trace.instructions) if isinstance(i, Left)]):
            self._prints = True
            self._stays(vars(_printing), "_options", "an option of printing")
        if trace.strange:
            return _SHOWN
        graded = {i.slot for i in flattened(trace.instructions) if isinstance(i, Graded)}
        outside = {*trace.arguments, *trace.captured}
        first: dict[int, int] = {}  # by memory, the first value that showed it
        for slot, memory in enumerate(trace._owners):
            first.setdefault(memory, slot)
        if any([first[m] not in outside and m not in self.memory for m in [trace._owners[s] for s in trace.captured]]):
            return _SHOWN
        hidden = [
            tensor
            for slot, tensor in trace.captured.items()
            if id(owner(trace.arrays[slot])) not in self.memory and slot not in graded
        ]
        young = set(map(id, gc.get_objects(0))) if hidden else ()
        for tensor in hidden:
            if id(tensor) not in young:  # what functions make of shapes, say, is a constant
                return (
                    f"it uses a tensor of shape {tuple(tensor.shape)} that comes from neither its arguments nor the names in "
                    "its code (an iterator, a cache): pass it as an argument"
                )
        return "" if told is None else self._asked(told)

    def _asked(self, told: Told) -> str:
        """What was asked of libraries that is not asked for again; the calls that are to be made again are kept."""
        young = set(map(id, gc.get_objects(0))) if told.identified else ()
        for value in [v for v in told.identified if not is_plain(v)]:
            if id(value) in young or (id(value) not in self.by_name and any([value is t for t in self._given[0]])):
                return f"it asks for the id() or hash() of {an_object(value)} that is another one in each call: do it outside"
        for call in told.again():
            now = call()
            if alike(now, call.found):
                self._again.append(call)
            elif is_plain(now) and is_plain(call.found):
                return f"it calls {call.path}, which tells another thing after the call: call it outside"
        return ""

    def _changes(self) -> str:
        """What the call has changed that is no tensor: of what it reads, or of all that can be reached."""
        path = next(iter(self.others()), "")
        drawn = [source for source, generator, state in self._random if state_of(generator) != state]
        if drawn and not path:
            return f"it draws from {drawn[0]}: draw with torch.rand, or pass the numbers as an argument"
        path = path or self._holdings.changed()
        if any([isinstance(v, _runtime.Tensor) for place, *both in self._rebound() if place == path for v in both]):
            return f"a call sets {path} to another tensor: write into the one that is there, with copy_() or the like"
        if path.startswith("the hooks of "):
            return f"a call changes {path}: do it outside"
        remedy = "return what it becomes"
        remedy = remedy if path.startswith("an argument") else f"pass it as an argument, and {remedy}"
        return f"a call changes {path}, which is no write into a tensor: {remedy}" if path else ""

    def _made(self, trace: Trace) -> str:
        """Which object with a state of its own the call has made, or which gradient of a tensor that requires none it sets."""
        calls = [i for i in flattened(trace.instructions) if isinstance(i, Ran) and i.args]
        for ran in calls:
            for given in [a for a in ran.args if isinstance(a, (Optimizer, LRScheduler, Module))]:
                if not any([given is known for known in self._objects]):
                    return f"{ran.name}() is called of {an_object(given)} that is made in the call, or hidden: make it outside"
        known = [default_generator, *self._generators, *[i.args[0] for i in calls if isinstance(i.args[0], Generator)]]
        if [g for g in trace.generators if not any([g is other for other in known])]:
            return "it draws from a Generator that is made in the call, or hidden: make it outside"
        for tensor in trace.frozen_grads:
            slot = trace._slots.get(id(tensor._array))
            if slot in trace.arguments:
                return (
                    "it reads or sets the gradient of an argument: pass that as an argument, and return what it becomes"
                )
            if self.names(tensor) or slot in trace.captured:
                before = self._grads.get(id(tensor), MISSING)
                if getattr(tensor, "_grad", MISSING) is not before:
                    return "a call sets or clears the gradient of a tensor that requires none: do it outside"
                self.keep_gradient(tensor, before)
        return ""

    def _stepped(self, trace: Trace) -> str:
        """What the function reads of an optimizer or a scheduler whose step may change it, at another call than this."""
        places = {id(container): container for container, *_ in self.contents}
        for ran in [i for i in flattened(trace.instructions) if isinstance(i, Ran)]:
            for stepper in [a for a in ran.args[:1] if isinstance(a, (Optimizer, LRScheduler))]:
                kind: Any = type(stepper)
                names, items = set_by_step(kind)
                space = vars(stepper)
                read: list[Any] = [(id(n), name) for n, name, _ in self.named if n is space and name in names]
                read += [(id(space), name) for name in self.absent.get(id(space), (space, set()))[1] & names]
                read += [id(c) for c in containers_of(stepper, items) if c is places.get(id(c), self)]
                if read:
                    return f"it reads {self._paths[read[0]]}, which {ran.name}() may change: read it outside"
        return ""

    def _moved(self, trace: Trace) -> str:
        """Which tensor has come to require grad or not, or has other memory than it had."""
        writes = [i for i in flattened(trace.instructions) if isinstance(i, Written)]
        outside = {trace._owners[slot] for slot in (*trace.arguments, *trace.captured)}
        for tensor, array, node, path in self._tensors:
            if (tensor._node is None or tensor._node.__class__ is AccumulateGrad) and tensor._node is not node:
                return f"a call changes whether {path} requires grad: do it outside"
            if not same_memory(array, tensor._array) and not _assigned(trace, writes, array, tensor._array, outside):
                return f"a call gives {path} other memory: write into it with copy_()"
        for node, count, path in self._hooked:
            if hooks_of(node) != count:
                return f"a call changes the hooks of {path}: do it outside"
        for graded in [i for i in flattened(trace.instructions) if isinstance(i, Graded)]:
            if graded.tensor._node.__class__ is not AccumulateGrad:
                return "a call changes whether a tensor requires grad: do it outside"
        written = {trace._owners[i.target] for i in writes}
        for left in [i for i in flattened(trace.instructions) if isinstance(i, Left) and i.kind == "numpy"]:
            if trace._owners[left.slot] not in written and trace.arrays[left.slot].tobytes() != left.value.tobytes():
                return "a tensor's memory is written through NumPy: write the tensor"
        return ""


def tells_memory_apart(trace: Trace, results: Sequence[Any]) -> bool:
    """Whether it matters that ``.data = ...`` gives a tensor other memory, where a program copies: what it had is used later
    on, or what it has got is, after a step that may have changed the tensor."""
    had: set[int] = set()
    got: set[int] = set()
    stepped: set[int] = set()
    for instruction in flattened(trace.instructions):
        if not {trace._owners[slot] for slot in reads_of(instruction)}.isdisjoint(had | stepped):
            return True
        if isinstance(instruction, Ran):
            stepped |= got
        elif isinstance(instruction, Written) and instruction.moves:
            target, source = trace._owners[instruction.target], trace._owners[instruction.source]
            had |= {target} - {source}
            got |= {source} - {target}
    return bool(had) and any([trace._owners[trace.slot_of(result)] in had | stepped for result in results])


def _closes_over(cells: Any, values: Sequence[Any]) -> bool:
    """Whether a closure's variables have these values."""
    return all(map(is_, map(held, cells or ()), values))


def _layout(array: np.ndarray) -> tuple[Any, ...]:
    return array.shape, array.dtype, array.strides


def _place(container: Any, values: tuple[Any, ...], names: Sequence[Any], attributes: bool) -> str:
    """Which item of a container, which had these values and *names*, is another one; empty where that has no name."""
    if of_kind(container, dict):
        now = dict(zip(map(id, container), container))  # a key that is a tensor compares element by element
        before = dict(zip(map(id, names), names))
        others = [now[key] for key in now if key not in before] + [before[key] for key in before if key not in now]
        others += [name for name, a, b in zip(names, container.values(), values) if not alike(a, b)]
        return "" if not others else f".{others[0]}" if attributes else as_item(others[0])
    if len(container) != len(values) or not of_kind(container, (list, tuple)):
        return ""
    return next((as_item(n) for n, (a, b) in enumerate(zip(container, values)) if not alike(a, b)), "")


def _assigned(trace: Trace, writes: list[Written], old: np.ndarray, new: np.ndarray, outside: set[int]) -> bool:
    """Whether the memory that ``.data = ...`` gave a tensor may as well be copied into what it had."""
    target, source = trace._slots.get(id(old)), trace._slots.get(id(new))
    if target is None or source is None or trace._owners[source] in outside:
        return False
    places = [n for n, i in enumerate(writes) if i.target == target and i.source == source]
    later = writes[places[-1] + 1 :] if places else ()
    return bool(places) and not any([trace._owners[i.target] == trace._owners[source] for i in later])
