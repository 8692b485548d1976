"""What is asked before each run of a program, written out as one Python function, as the program is.

Each question takes a few bytecodes where a loop over lists of them takes calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from keyword import iskeyword
from operator import attrgetter, is_
from types import FunctionType
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._identity import owner
from .._modes import grad_on, inference_mode_on
from .._tape import AccumulateGrad
from ._histories import has_history
from ._stands import (
    MISSING,
    addresses,
    alike,
    array_state,
    cached_by,
    held,
    items_of,
    keeps,
    same_memory,
    shown,
    standing,
    stored,
)
from ._surroundings import Surroundings

_BASES = attrgetter("__mro__")
_MANY = 64
"""Containers of more items are looked at as a whole, not written out."""


class Guards:
    """Questions, with the objects that they are about; ``written`` makes a function of them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._scope: dict[str, Any] = {
            "__name__": None, "__builtins__": __builtins__, "MISSING": MISSING,
            "alike": alike, "same_layout": same_layout, "alike_items": alike_items, "addresses": addresses, "held": held,
            "stored": stored, "array_state": array_state, "keeps": keeps, "owner": owner, "same_memory": same_memory,
            "is_": is_, "still_cached": still_cached, "has_history": has_history,
        }  # fmt: skip

    def name(self, value: Any) -> str:
        """A name for an object."""
        name = f"o{len(self._scope)}"
        self._scope[name] = value
        return name

    def unless(self, *conditions: str) -> None:
        """A program cannot run where none of these is so."""
        self.lines.append(f"if {' and '.join([f'not ({c})' for c in conditions])}: return None")

    def surroundings(self, around: Surroundings) -> None:
        """Whether what a function reads by name is what it was."""
        for cell, value in around.cells:
            self._is(f"held({self.name(cell)})" if value is MISSING else f"{self.name(cell)}.cell_contents", value)
        for names, name, value in around.named:
            self._is(f"{self.name(names)}.get({name!r}, MISSING)", value)
        for holder, name, value in around.slots:
            if isinstance(holder, FunctionType) and name in vars(FunctionType):
                self._is(f"{self.name(holder)}.{name}", value)
            else:
                read = "getattr" if isinstance(holder, FunctionType) else "stored"  # others may have a __getattr__
                found = self.name(holder) + "()" * (type(holder) is weakref.ref)
                self._is(f"{read}({found}, {name!r}, MISSING)", value)
        for function, value in around.asked:
            self._is(f"{self.name(function)}()", value)
        for function, count, results in around.caches:
            self.unless(f"keeps({self.name(function)}, {count})")
            if results:
                self.unless(f"still_cached({self.name(function)}, {self.name(results)})")
        spaces = {id(space): (value, space) for value, space in around.spaces}
        for container, values, keys in around.contents:
            value = spaces.pop(id(container), None)
            self._items(f"{self.name(value[0])}.__dict__" if value else self.name(container), container, values)
            if keys is not None:
                now, before = self.name(container), self.name(keys)
                self.unless(self._same(now, keys, before), f"all(map(alike, {now}, {before}))")
        for array, seen in around.arrays:
            self.unless(f"array_state({self.name(array)}) == {self.name(seen)}")
        for space, absent in around.absent.values():
            self.unless(f"{self.name(space)}.keys().isdisjoint({self.name(frozenset(absent))})")
        if around.stand:
            same = [f"{self._read(holder, name)} is {self.name(value)}" for holder, name, value, _ in around.stand]
            self.unless(" and ".join(same))
        if around.empty:
            self.unless(f"not any({self.name(tuple(around.empty))})")
        if kinds := [
            (value, kind) for value, kind in around.kinds if value.__class__ is kind
        ]:  # others say another one
            self.unless(" and ".join([f"{self.name(value)}.__class__ is {self.name(kind)}" for value, kind in kinds]))
        readers: Sequence[tuple[Any, Any]] = ((vars, list(spaces.values())), (_BASES, around.bases))
        for reader, known in [(reader, known) for reader, known in readers if known]:
            objects, before = [self.name(part) for part in zip(*known)]
            self.unless(f"all(map(is_, map({self.name(reader)}, {objects}), {before}))")

    def _read(self, holder: Any, name: str) -> str:
        """What stands under a name, in a module or a class."""
        now = self.name(holder)
        if isinstance(holder, dict):
            return f"{now}[{name!r}]"
        plain = name.isidentifier() and not iskeyword(name)
        if plain and getattr(holder, name, MISSING) is standing(holder, name):
            return f"{now}.{name}"
        return f"{now}.__dict__[{name!r}]" if name in vars(holder) else f"{self.name(standing)}({now}, {name!r})"

    def _is(self, found: str, value: Any) -> None:
        wanted = self.name(value)
        self.unless(f"{found} is {wanted}", f"alike({found}, {wanted})")

    def _items(self, now: str, container: Any, values: Sequence[Any]) -> None:
        before = self.name(values)
        found = f"{now}{'.values()' * isinstance(container, dict)}"
        if len(values) > _MANY:
            self.unless(self._same(found, values, before), f"alike_items({now}, {before})")
            return
        items = [f"x{n}" for n in range(len(values))]
        self.lines.append(f"[{', '.join(items)}] = {found}")
        if values:
            same = " and ".join([f"{item} is {self.name(value)}" for item, value in zip(items, values)])
            self.unless(same, f"all(map(alike, [{', '.join(items)}], {before}))")

    def _same(self, now: str, values: Sequence[Any], before: str) -> str:
        """Whether items are the same objects."""
        if len(values) > _MANY:
            return f"addresses({now}) == {self.name(addresses(values))}"
        return f"all(map(is_, {now}, {before}))"

    def captured(
        self, tensors: list[Any], grads: Sequence[tuple[Any, Any, int]], around: Surroundings, recorded: bool
    ) -> None:
        """Whether tensors are as they were; lets a leaf's gradient be the one that it has now, where a program reads it.

        What gets a history by what is *recorded* may have one already.
        """
        holder = self.name(tensors)
        found = {place: f"{holder}[{place}]" for _, _, place in grads if place >= 0}
        for node, before, place in grads:
            grad = f"{self.name(node)}.grad"
            if place < 0:
                self.unless(f"{grad} is {self.name(before)}")
            else:  # an optimizer's zero_grad() may have let another tensor come to be the gradient
                self.lines.append(f"{found[place]} = {grad}")
                self.unless(f"{found[place]} is not None")
        for n, tensor in enumerate(tensors):
            name, array = found.get(n) or self.name(tensor), self.name(tensor._array)
            self.lines.append(f"a{n} = {name}._array")
            self.unless(f"a{n} is {array}", f"same_layout(a{n}, {array})")
            if not (recorded and around.histories.gained(tensor)):
                self._history(name, around.histories.had(tensor))
            if tensor._node.__class__ is AccumulateGrad:
                self._hooks(tensor._node)

    def _history(self, name: str, had: bool) -> None:
        """Whether a tensor requires grad as it did; a view may have come to do so by a write into what it is a view of."""
        if had:
            self.unless(f"{name}._node is not None", f"has_history({name})")
        else:
            self.unless(f"{name}._node is None and ({name}._alias is None or not has_history({name}))")

    def uncaptured(self, tensors: Sequence[Any], captured: Sequence[Any]) -> None:
        """Whether tensors that are reached, but that no operation reads, are as they were: in layout, and whether they require
        grad.  Of two tensors that are one value, an operation reads one."""
        known = set(map(id, captured))
        places = {shown(tensor._array): n for n, tensor in enumerate(captured)}
        for tensor in [t for t in tensors if id(t) not in known]:
            name, array = self.name(tensor), tensor._array
            if (place := places.get(shown(array))) is not None:
                self.unless(f"{name}._array is a{place}", f"same_memory({name}._array, a{place})")
            else:
                wanted = self.name(array)
                self.unless(f"{name}._array is {wanted}", f"same_layout({name}._array, {wanted})")
            self._history(name, has_history(tensor))

    def _hooks(self, leaf: AccumulateGrad) -> None:
        name, hooks, post_hooks = self.name(leaf), self.name(leaf.hooks), self.name(leaf.post_hooks)
        self.unless(f"{name}.hooks is {hooks} and {name}.post_hooks is {post_hooks}")

    def arguments(self, tensors: Sequence[Any]) -> None:
        """Whether ``args`` are tensors like these, without history and each given once, in the modes that are on now."""
        arrays = [t._array for t in tensors]
        self.lines.append(f"[{', '.join([f't{n}' for n in range(len(arrays))])}] = args")
        for n, array in enumerate(arrays):
            self.unless(f"t{n}.__class__ is {self.name(_runtime.Tensor)}")
            self._history(f"t{n}", False)
            self.lines.append(f"a{n} = t{n}._array")
            alike = f"a{n}.shape == {array.shape} and a{n}.strides == {array.strides}"
            self.unless(f"a{n}.dtype is {self.name(array.dtype)} and {alike}")
        whose = [f"(a{n} if a{n}.base is None else owner(a{n}))" for n in range(len(arrays))]
        if len(arrays) == 2:
            self.unless(" is not ".join(whose))
        elif len(arrays) > 2:
            self.unless(f"len({{{', '.join([f'id{one}' for one in whose])}}}) == {len(arrays)}")
        for mode in (grad_on, inference_mode_on.get, _dtypes.default):
            self.unless(f"{self.name(mode)}() is {self.name(mode())}")

    def written(self, parameters: str, result: str) -> Callable[..., Any]:
        """The questions as a function that gives None where something is not as it was."""
        lines = [f"def guards({parameters}):", "    try:", *["        " + line for line in self.lines]]
        lines += [f"        return {result}"]
        lines += ["    # It is not there any more, or has more or fewer items:"]
        lines += ["    except (AttributeError, KeyError, TypeError, ValueError):"]
        lines += ["        return None"]
        exec(compile("\n".join(lines), "<guards>", "exec"), self._scope)
        guards: Callable[..., Any] = self._scope.pop("guards")  # which has the scope
        return guards


def arrays_if_unchanged(
    around: Surroundings, tensors: list[Any], grads: Sequence[tuple[Any, Any, int]], recorded: bool = False
) -> Callable[[], list[np.ndarray] | None]:
    """A function that gives the arrays of what was captured; None where something is not as it was."""
    guards = Guards()
    guards.surroundings(around)
    guards.captured(tensors, grads, around, recorded)
    guards.uncaptured(around.tensors, tensors)
    return guards.written("", _arrays(len(tensors)))


def arrays_if_alike(tensors: Sequence[Any]) -> Callable[[Sequence[Any]], list[np.ndarray] | None]:
    """A function that gives the arrays of arguments; None where they are not like these.  A key of them takes longer."""
    if len({id(owner(t._array)) for t in tensors}) < len(tensors) or any(map(has_history, tensors)):
        return lambda args: None  # a key says what these are
    guards = Guards()
    guards.arguments(tensors)
    return guards.written("args", _arrays(len(tensors)))


def _arrays(count: int) -> str:
    return f"[{', '.join([f'a{n}' for n in range(count)])}]"


def same_layout(array: np.ndarray, known: np.ndarray) -> bool:
    """Whether an array has another's shape, dtype and strides."""
    return array.shape == known.shape and array.dtype is known.dtype and array.strides == known.strides


def alike_items(container: Any, values: Sequence[Any]) -> bool:
    """Whether a container has items like these."""
    return len(container) == len(values) and all(map(alike, items_of(container), values))


def still_cached(function: Any, results: Sequence[Any]) -> bool:
    """Whether a function's cache holds what it held: it may hold more."""
    return set(map(id, results)) <= set(map(id, cached_by(function)))
