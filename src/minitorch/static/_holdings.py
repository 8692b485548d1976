"""What people's objects hold, whether a name leads to it or not: a call that changes any of it keeps a state of its own."""

from __future__ import annotations

import functools
import types
from array import array as packed
from collections import deque
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import _runtime
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ._libraries import is_installed, is_not_peoples, of_engine, of_kind, of_library
from ._stands import MISSING, alike, held, is_plain, slots_of, stored

_MOST = 20_000
"""How many objects are looked at, the nearest first."""

_LARGE = 1_000
"""The items of a container beyond which only their number counts."""

_PLACES = [f"[{n}]" for n in range(_LARGE)]
_PLAIN = {type(None), bool, int, float, complex, str, bytes, types.CodeType, np.ndarray, np.dtype}
_LIVE = (Optimizer, LRScheduler)
"""What programs bring up to date."""
_LISTS = (list, tuple, set, frozenset, deque)
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__self__", "__func__"),
    types.BuiltinFunctionType: ("__self__",),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    functools.cached_property: ("func",),
}
"""The attributes by which objects of C lead on."""
_UNKEPT = {
    f"__{name}__" for name in ("builtins", "dict", "weakref", "doc", "annotations", "warningregistry", "spec", "loader")
}
_UNKEPT.add("_abc_impl")
_STILL = {types.FunctionType, types.ModuleType, type, types.BuiltinFunctionType, tuple}
"""Those of which one that holds nothing, or a library's, will hold nothing."""


class Holdings:
    """What can be reached from some objects, as it is when this is made: their attributes, items, variables.

    Libraries are left out, and so are tensors, optimizers and schedulers, which programs bring up to date.

    Parameters
    ----------
    roots : iterable of (object, str)
        Functions, modules, containers, and what they are called.
    """

    def __init__(self, roots: Iterable[tuple[Any, str]]) -> None:
        # An object, its parts by how these are written, and where it was found: in which of them, as what.
        self._held: list[tuple[Any, dict[str, Any], int, str]] = []
        todo = deque([(root, -1, path) for root, path in roots])
        seen: set[int] = set()
        while todo and len(self._held) < _MOST:
            value, holder, key = todo.popleft()
            if id(value) not in seen:
                seen.add(id(value))
                parts, still = _parts_of(value), type(value) in _STILL
                if type(value) is types.FunctionType and not of_library(value.__globals__):
                    todo.append((value.__globals__, -1, ""))
                    still = False  # it may get attributes
                if parts or not still:
                    number = len(self._held)
                    self._held.append((value, parts, holder, key))
                    todo.extend([(part, number, k) for k, part in parts.items() if type(part) not in _PLAIN])

    def changed(self, more: bool = True) -> str:
        """How code would write the first of them that is another one now; empty where none is.

        Unless *more*, what has got more items, and kept those that it had, is left out: a list of what was called, or a cache.
        """
        for number, (value, before, _, _) in enumerate(self._held):
            now = _parts_of(value)
            if len(now) == len(before) and all(map(alike, now.values(), before.values())) and [*now] == [*before]:
                continue
            if not more and all([alike(now.get(k, MISSING), part) for k, part in before.items()]):
                continue
            if of_kind(value, _LISTS):
                return self._written(number)
            keys = [
                *[k for k, part in before.items() if not alike(now.get(k, MISSING), part)],
                *[k for k in now if k not in before],
            ]
            return self._written(number, *keys[:1])
        return ""

    def tensors(self) -> list[tuple[Any, str]]:
        """The tensors among them, with how code would write them."""
        found = [
            (part, number, key)
            for number, (value, parts, _, _) in enumerate(self._held)
            for key, part in parts.items()
            if of_kind(part, _runtime.Tensor) and not of_kind(value, _runtime.Tensor)
        ]
        return [(tensor, self._written(number, key)) for tensor, number, key in found]

    def _written(self, number: int, key: str = "") -> str:
        """How code would write an object, or a part of it."""
        if number < 0 or (key and key[0] not in ".["):  # a variable
            return key
        _, _, holder, own = self._held[number]
        return self._written(holder, own) + key


def _parts_of(value: Any) -> dict[str, Any]:
    """What an object of people's own holds, by how that is written after the object itself."""
    kind = type(value)
    if kind is dict:
        return _namespace(value, "") if "__builtins__" in value else _items(value, dict)
    if kind in _LISTS:
        return _items(value, kind)
    if kind is types.FunctionType:
        return _of_function(value)
    if of_kind(value, type):
        return {} if is_not_peoples(value) else _namespace(vars(value), ".")
    if kind is types.ModuleType:
        return {} if of_library(vars(value)) else _namespace(vars(value), ".")
    if kind in _PARTS:
        return {f".{name}": getattr(value, name) for name in _PARTS[kind]}
    if of_kind(value, (ContextVar, functools._lru_cache_wrapper)):
        return {"": value.get(MISSING) if of_kind(value, ContextVar) else value.__wrapped__}
    return _of_object(value, kind)


def _of_function(function: types.FunctionType) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if function.__closure__ is not None:
        parts |= {name: held(cell) for name, cell in zip(function.__code__.co_freevars, function.__closure__)}
    if (function.__defaults__ or function.__kwdefaults__) and not of_library(function.__globals__):
        parts |= {".__defaults__": function.__defaults__, ".__kwdefaults__": function.__kwdefaults__}
    return parts | _namespace(function.__dict__, ".")


def _of_object(value: Any, kind: type) -> dict[str, Any]:
    if of_kind(value, _LIVE) or (of_engine(kind) and not of_kind(value, (Module, _runtime.Tensor))):
        return {}
    attributes = stored(value, "__dict__")
    parts = {} if attributes is MISSING else _namespace(attributes, ".")
    for container in (dict, *_LISTS):
        if of_kind(value, container):
            parts |= _items(value, container)
    if not of_library(kind):
        parts |= {f".{name}": stored(value, name) for base in kind.__mro__[:-1] for name in slots_of(base)}
        parts[".__class__"] = kind
    if of_kind(value, (bytearray, packed)):
        parts[""] = bytes(value)
    return parts


def _namespace(names: Any, mark: str) -> dict[str, Any]:
    """Variables or attributes by their names; empty for those of an installed module, or a copy of a library's."""
    if "__builtins__" in names and is_installed(str(names.get("__file__"))):
        return {}
    return {f"{mark}{name}": part for name, part in [*names.items()] if name not in _UNKEPT}


def _items(value: Any, kind: Any) -> dict[str, Any]:
    """The items of a container, which may have an ``__iter__`` of its own."""
    if kind.__len__(value) > _LARGE:
        return {"": kind.__len__(value)}
    if kind is not dict:
        return dict(zip(_PLACES, kind.__iter__(value)))
    parts: dict[str, Any] = {}
    for place, (key, part) in zip(_PLACES, [*dict.items(value)]):
        if is_plain(key):
            parts[f"[{key!r}]"] = part
        else:
            parts[f"{place}.key"], parts[place] = key, part
    return parts
