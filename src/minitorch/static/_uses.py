"""Which items of what a name stands for a function's code reads: ``options["scale"]`` reads one, whatever else is in there."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import _runtime
from .._pytree import tree_flatten
from ..nn.modules._hooks import has_hooks
from ..nn.modules.module import Module
from ._libraries import of_kind
from ._names_in_code import ENDS, executed, instructions_of

Use = dict[Any, Any] | None
"""Of a container: by constant key, the use of the item, `LENGTH` among the keys; None where it is read as a whole."""

LENGTH: Any = object()
"""Stands for the number of items, or whether there are any."""
ITSELF: Any = object()
"""Stands for whether there is something at all, and not None."""
EACH: Any = object()
"""Stands for all items of a list, which are gone through."""
PLACES: Any = object()
"""Stands for items in order, which are a dict's keys."""
KEYS: Any = object()
"""Stands for keys that are asked for, which are items where it is no dict."""
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF")
_KEEPS = "LOAD_FAST_AND_CLEAR"
"""Keeps a variable, without reading it, while a comprehension that is written in line has one of the same name."""
_BEGINS = ("SWAP", "BUILD_LIST", "BUILD_SET", "BUILD_MAP")
"""What follows there, before the loop."""
_SIMPLE = ("LOAD_CONST", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
_NO_NAME = ("LOAD_CONST", "LOAD_FAST", "LOAD_CLOSURE")
_SUBSCRIPTS = ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR")
_ASK = {"getattr", "hasattr", "setattr"}
_COUNTS = {"len", "isinstance"}
"""Functions of Python that look at how many items there are, or of which class something is."""
_SEES_VARIABLES = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}


def both(one: Use, other: Use) -> Use:
    """What is read by two uses together."""
    if one is None or other is None:
        return None
    return {key: both(one.get(key, {}), other.get(key, {})) for key in {**one, **other}}


def uses_run(ran: Mapping[int, Any]) -> dict[str, Use]:
    """By name, with a dot before those of attributes, the uses in all code that has run."""
    found: dict[str, Use] = {}
    for part in ran.values():
        code = _Code(part.code, _COUNTS.isdisjoint(part.names))
        places = {instruction.offset for instruction in executed(instructions_of(part.code), part.places)}
        for name, use in code.uses(places):
            found[name] = both(found.get(name, {}), use)
        if not _ASK.isdisjoint(part.code.co_names):  # by names that are constants
            found.update({f".{c}": None for c in part.code.co_consts if isinstance(c, str)})
    if "vars" in found or ".__dict__" in found:
        return {name: use for name, use in found.items() if name[0] != "."}
    return found


@functools.cache
def variables_read(code: types.CodeType) -> dict[str, Use]:
    """The uses of a function's parameters; empty for one that is not read at all."""
    known = _Code(code, True)
    count = code.co_argcount + code.co_kwonlyargcount
    return {name: known.variable(name, frozenset()) for name in code.co_varnames[:count]}


def _called(function: Any) -> tuple[Any, bool]:
    """The function of Python that a call of something runs, and whether that is a method; None where it is not known."""
    if isinstance(function, Module):
        plain = not has_hooks(function) and type(function).__call__ is Module.__call__
        function = function.forward if plain else None
    elif not isinstance(function, (types.FunctionType, types.MethodType)):
        function = types.MethodType(found, function) if (found := vars(type(function)).get("__call__")) else None
    bound = isinstance(function, types.MethodType)
    function = function.__func__ if bound else function
    return (function if isinstance(function, types.FunctionType) else None), bound


def by_position(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments in the order of a function's parameters, by position where they can be: the same call, written in one way."""
    called, bound = _called(function)
    if called is None:
        return args, kwargs
    code, placed, rest = called.__code__, [*args], dict(kwargs)
    for number, name in enumerate(code.co_varnames[bound : code.co_argcount], bound):
        if number - bound >= len(args):
            if name not in rest or number < code.co_posonlyargcount:
                break
            placed.append(rest.pop(name))
    count = code.co_argcount + code.co_kwonlyargcount
    named = [name for name in code.co_varnames[code.co_posonlyargcount : count] if name in rest]
    return placed, {name: rest.pop(name) for name in named} | rest


def what_is_read(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments with None in the place of what the function does not read and that holds no tensors: a name, say."""
    function, bound = _called(function)
    if function is None or not _COUNTS.isdisjoint(function.__globals__):
        return args, kwargs
    uses = variables_read(function.__code__)
    by_place = [uses[name] for name in function.__code__.co_varnames[bound : function.__code__.co_argcount]]
    by_place += [None] * len(args)  # those of *args
    return [*map(_read, args, by_place)], {name: _read(value, uses.get(name)) for name, value in kwargs.items()}


def _read(value: Any, use: Use) -> Any:
    if use is None:
        return value
    if not use:
        return value if any([of_kind(leaf, _runtime.Tensor) for leaf in tree_flatten(value)[0]]) else None
    if is_whole(value, use):
        return value
    if type(value) is dict:
        return {key: _read(part, use.get(key, {})) for key, part in value.items()}
    if type(value) in (list, tuple):
        places = range(len(value))
        each = use.get(EACH, {})
        return type(value)(
            [
                _read(part, both(each, both(use.get(n, {}), use.get(n - len(value), {}))))
                for n, part in zip(places, value)
            ]
        )
    return value


def is_whole(value: Any, use: Mapping[Any, Any]) -> bool:
    """Whether a use of items is one of the whole of such a container."""
    return PLACES in use or EACH in use if of_kind(value, dict) else KEYS in use


class _Code:
    """The instructions of a code, and whether ``len`` is Python's own there."""

    def __init__(self, code: types.CodeType, counts: bool) -> None:
        self.all = [i for i in instructions_of(code) if i.opname not in ("EXTENDED_ARG", "PRECALL", "CACHE", "TO_BOOL")]
        self._code, self._counts = code, counts
        self._hidden = {*code.co_cellvars, *(code.co_varnames if _SEES_VARIABLES & set(code.co_names) else ())}

    def uses(self, places: set[int]) -> Iterable[tuple[str, Use]]:
        """Of the names that instructions at some places load."""
        for number, instruction in enumerate(self.all):
            name, kind = instruction.argval, instruction.opname
            if instruction.offset not in places:
                continue
            if kind in _LOADS:
                yield f"{'.' * (kind == 'LOAD_ATTR')}{name}", self._after(number, frozenset())
            elif kind == "STORE_DEREF":
                yield name, {ITSELF: None}
            elif kind == "MATCH_CLASS":
                given = self.all[number - 1].argval
                yield from [(f".{attribute}", None) for attribute in (given if isinstance(given, tuple) else ())]
            elif isinstance(name, str) and kind.startswith(("LOAD", "IMPORT")) and not kind.startswith(_NO_NAME):
                yield from ((name, None), (f".{name}", None))

    def variable(self, name: str, known: frozenset[str]) -> Use:
        """Of what a variable stands for."""
        if name in self._hidden or name in known:
            return None if name in self._hidden else {}
        found: Use = {}
        for number, instruction in enumerate(self.all):
            kind, names = instruction.opname, instruction.argval
            names = names if isinstance(names, tuple) else (names,)
            loads = kind.startswith("LOAD_FAST") and kind != _KEEPS and name in names
            if loads and not self._raises(number):
                alone = kind in ("LOAD_FAST", "LOAD_FAST_CHECK")
                found = both(found, self._after(number, known | {name}) if alone else None)
        return found

    def _after(self, number: int, known: frozenset[str]) -> Use:
        """What is done with the value that an instruction has loaded."""
        first, second = self._said(number + 1), self._said(number + 2)
        key = self._constant(number + 1)
        if key and second == "BINARY_SUBSCR":
            return {key[0]: self._after(number + 2, known)}
        if key and second in _SUBSCRIPTS:
            return {key[0]: None}
        if first.startswith("POP_JUMP") or first == "UNARY_NOT":
            return {ITSELF if first.endswith("NONE") else LENGTH: None}
        if key and second == "IS_OP":
            return {ITSELF: None}
        if first == "CONTAINS_OP" and (key := self._constant(self._begin(number) - 1)):
            return {key[0]: None, KEYS: None}
        if first in ("LOAD_METHOD", "LOAD_ATTR") and self.all[number + 1].argval == "get":
            key, last = self._constant(number + 2), 4 if self._said(number + 3) in _SIMPLE else 3
            if key and self._said(number + last) == "CALL" and self.all[number + last].arg == last - 2:
                return {key[0]: None}
        if self._counts and self._asked(self._begin(number) - 1, "len", number + 1, 1):
            return {LENGTH: None}
        if first == "GET_ITER":
            return self._each(number, known)
        if first == "FOR_ITER":  # of what is gone through already
            return {EACH: self._after(number + 1, known)} if second == "STORE_FAST" else None
        if self._counts and self._asked(self._begin(number) - 1, "isinstance", self._call_after(number + 1), 2):
            return {ITSELF: None}
        if first == "STORE_FAST":
            return self.variable(self.all[number + 1].argval, known)
        return self._unpacked(number + 1, known) if first == "UNPACK_SEQUENCE" else None

    def _each(self, number: int, known: frozenset[str]) -> Use:
        """What is done with the items of a value: in a loop, or in a comprehension, which is a function."""
        loop = number + 2
        while self._said(loop) == _KEEPS or (loop > number + 2 and self._said(loop) in _BEGINS):
            loop += 1
        if self._said(loop) == "FOR_ITER":
            return self._after(loop - 1, known)
        begin = self._begin(number)
        inner = self.all[begin - 2].argval if begin > 1 and self._said(begin - 1) == "MAKE_FUNCTION" else None
        if not isinstance(inner, types.CodeType) or self._said(number + 2) != "CALL":
            return None
        return _Code(inner, self._counts).variable(".0", frozenset())

    def _unpacked(self, number: int, known: frozenset[str]) -> Use:
        """What is done with items that become variables."""
        found: dict[Any, Use] = {LENGTH: None, PLACES: None}
        count = self.all[number].arg
        while count and (number := number + 1) < len(self.all):
            if self._said(number) != "STORE_FAST":
                return None
            found[len(found) - 2] = self.variable(self.all[number].argval, known)
            count -= 1
        return found

    def _said(self, number: int) -> str:
        return self.all[number].opname if number < len(self.all) else ""

    def _constant(self, number: int) -> Sequence[Any]:
        """The key that an instruction loads, alone in a tuple."""
        if 0 <= number < len(self.all) and self.all[number].opname == "LOAD_CONST":
            value = self.all[number].argval
            return (value,) if isinstance(value, (str, int)) or value is None else ()
        return ()

    def _begin(self, number: int) -> int:
        """Where the expression begins whose last attribute an instruction loads."""
        while number > 0 and self.all[number].opname == "LOAD_ATTR":
            number -= 1
        return number

    def _asked(self, function: int, name: str, call: int, count: int) -> bool:
        """Whether an instruction loads a function of Python that another one calls with so many arguments."""
        called = self.all[function] if function >= 0 else None
        loads = called is not None and called.opname == "LOAD_GLOBAL" and called.argval == name
        return loads and self._said(call) == "CALL" and self.all[call].arg == count

    def _call_after(self, number: int) -> int:
        """Where a call comes whose last argument an instruction begins: a name, attributes of one, or a tuple of names."""
        while self._said(number).startswith(("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_DEREF", "BUILD_TUPLE")):
            number += 1
        return number

    def _raises(self, number: int) -> bool:
        """Whether an error follows on an instruction in any case, an assertion's, say, and nothing here catches it."""
        while number < len(self.all) and self.all[number].opcode not in ENDS:
            number += 1
        return self._said(number) == "RAISE_VARARGS" and not self._code.co_exceptiontable
