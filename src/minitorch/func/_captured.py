"""What a function has from outside its arguments: writing into it inside a transform is refused.

Such a write would put values of the transform, with their history, where they outlive it.  The tensors watched are those that
the function's closure and the globals that it names hold: directly, in modules and small containers, or by a function there.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from .. import _runtime
from .._modes import in_transform, transform_mode
from .._pytree import tree_leaves
from .._views import edits_of
from ..nn import Module

_SMALL = 64
"""The most entries of a container that is looked into."""

_MESSAGE = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation{} that "
    "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept "
    "the mutated Tensor(s) as inputs (of a module: pass its buffers to functional_call too, or call eval() first)."
)


class _Guard:
    """Told of writes into what it watches; refuses them."""

    def about_to_be_written(self, by: Any) -> None:
        raise RuntimeError(_MESSAGE.format(f" ({by.__name__}_)" if hasattr(by, "__name__") else ""))


@contextlib.contextmanager
def transforming(function: Callable[..., Any], arguments: Any, mode: str = "reverse") -> Iterator[None]:
    """Context in which a transform calls a function: what it has captured may not be written, its arguments may."""
    passed = {id(edits_of(a)) for a in tree_leaves(arguments) if isinstance(a, _runtime.Tensor)}
    watched = [e for e in {id(e): e for e in map(edits_of, captured(function))}.values() if id(e) not in passed]
    guard = _Guard()
    for edits in watched:
        if edits.watchers is None:
            edits.watchers = weakref.WeakSet()
        edits.watchers.add(guard)
    token = transform_mode.set(joined(in_transform(), mode))
    try:
        yield
    finally:
        transform_mode.reset(token)
        for edits in watched:
            if edits.watchers is not None:
                edits.watchers.discard(guard)
                edits.watchers = edits.watchers or None


def joined(outer: str, inner: str) -> str:
    """The mode within a transform of mode *inner* that is within one of mode *outer*."""
    if inner == "linearize":
        return "reverse" if outer else inner
    return "reverse" if "reverse" in (outer, inner) or outer == "linearize" else inner


def captured(function: Callable[..., Any]) -> list[Any]:
    """The tensors that a function has from elsewhere."""
    found: list[Any] = []
    for value in _held(function):
        if isinstance(value, (FunctionType, functools.partial, MethodType)):
            for inner in _held(value):
                found += _tensors(inner)
        else:
            found += _tensors(value)
    return found


def _held(function: Any) -> Iterator[Any]:
    """What a callable refers to: closure, defaults, named globals, the object of a method, bound arguments."""
    while isinstance(function, (functools.partial, MethodType)):
        if isinstance(function, functools.partial):
            yield from (*function.args, *function.keywords.values())
            function = function.func
        else:
            yield from _parts(function.__self__)
            function = function.__func__
    if not isinstance(function, FunctionType):
        yield from _parts(function)
        return
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    scope = function.__globals__
    for name in _names(function.__code__):
        if name in scope:
            yield scope[name]


def _parts(thing: Any) -> Iterator[Any]:
    yield thing
    if not isinstance(thing, (Module, type, _runtime.Tensor)):
        yield from getattr(thing, "__dict__", {}).values()


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The names, globals among them, that code and the code within it use."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(_names(constant)))
    return tuple(names)


def _tensors(value: Any) -> list[Any]:
    """The tensors of a value."""
    if isinstance(value, _runtime.Tensor):
        return [value]
    if isinstance(value, Module):
        return [*value.parameters(), *value.buffers()]
    if isinstance(value, (list, tuple, dict)) and len(value) <= _SMALL:
        parts = value.values() if isinstance(value, dict) else value
        return [t for part in parts for t in (_tensors(part) if isinstance(part, (_runtime.Tensor, Module)) else ())]
    return []
