"""What a function has from outside its arguments: writing into it inside a transform is refused.

Such a write would put values of the transform, with their history, where they outlive it.  The tensors watched are all that the
function leads to as it begins: by its closure, the globals that it names, and whatever objects those hold, to any depth.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .. import _runtime
from .._errors import reading
from .._inplace import in_place_names
from .._modes import in_transform, transform_mode
from .._pytree import tree_leaves
from .._views import edits_of

_LARGE = 1000
"""The most entries of a container that is looked into."""
_MOST = 20_000
"""The most objects that are looked into, those nearest to the function first."""
_PACKAGE = __name__.partition(".")[0]
_ENDS = frozenset([str, bytes, int, float, complex, bool, type(None), np.ndarray, CodeType, FrameType, ModuleType])
"""What holds no tensor that a function could write: not looked into."""
_LIBRARIES = frozenset([_PACKAGE, "numpy", *sys.stdlib_module_names]) - {"__main__"}

_MESSAGE = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation{} that "
    "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept "
    "the mutated Tensor(s) as inputs (of a module: pass its buffers to functional_call too, or call eval() first)."
)


class _Guard:
    """Told of writes into what it watches; refuses them."""

    def about_to_be_written(self, by: Any) -> None:
        name = reading(_BETWEEN) or in_place_names.get(by, "")
        raise RuntimeError(_MESSAGE.format(f" ({'__setitem__' if name == 'setitem' else name})" if name else ""))


_BETWEEN = (__name__, f"{_PACKAGE}._views")


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
    seen: dict[int, Any] = {}
    queue: deque[Any] = deque([function])
    while queue and len(seen) < _MOST:
        thing = queue.popleft()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, _runtime.Tensor):
            found.append(thing)
        else:
            queue.extend([held for held in _held(thing) if held.__class__ not in _ENDS])
    return found


def _held(thing: Any) -> Iterable[Any]:
    """What an object refers to: a function, to its closure, its defaults and the globals that it names."""
    if isinstance(thing, FunctionType):
        return _held_by_function(thing)
    if isinstance(thing, type):
        return () if _of_library(thing.__module__) else [*vars(thing).values(), *thing.__bases__]
    if isinstance(thing, (dict, list, tuple, set, frozenset, deque)) and len(thing) > _LARGE:
        return ()
    return thing.values() if thing.__class__ is dict else gc.get_referents(thing)


def _held_by_function(function: FunctionType) -> Iterator[Any]:
    scope = function.__globals__
    if "__name__" in scope and scope["__name__"] is None:  # what records an operation
        return
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    if not _of_library(scope.get("__name__")):
        names = _names(function.__code__)
        for value in [scope[name] for name in names if name in scope]:
            if not isinstance(value, ModuleType):
                yield value
            elif not _of_library(value.__name__):  # what may be read of it by these names
                yield from [vars(value)[name] for name in names if name in vars(value)]


def _of_library(module: Any) -> bool:
    """Whether a module holds no tensors of people's own."""
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The names, globals among them, that code and the code within it use."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(_names(constant)))
    return tuple(names)
