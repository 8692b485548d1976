"""Kinds of arguments: what a program is made for, and in which way arguments are others than before, in words."""

from __future__ import annotations

import enum
import inspect
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import _dtypes, _runtime
from .._identity import owner
from .._modes import grad_on, inference_mode_on
from .._tape import AccumulateGrad
from ..nn.modules.module import Module
from ._classes import has_hooks
from ._histories import has_history
from ._libraries import of_kind
from ._stands import is_plain, mark, same_memory

_MODES = 4
"""Where a key goes on after the modes."""
_Facts = dict[str, dict[str, Any]]
"""By the name of an argument, or of a part of one, what counts of it."""


def key_of(leaves: Sequence[Any], spec: Any, others: list[Any]) -> Any:
    """What a program is made for; arguments that are neither tensors nor plain values are added to *others*."""
    parts: list[Any] = [spec, grad_on(), inference_mode_on.get(), _dtypes.default()]  # the rest begins at _MODES
    seen: list[Any] = []
    for leaf in leaves:
        if of_kind(leaf, _runtime.Tensor):
            array, node = leaf._array, leaf._node
            had = node is not None or (leaf._alias is not None and has_history(leaf))
            parts += (array.shape, array.dtype, array.strides, had, node.__class__ is AccumulateGrad)
            memory = owner(array)
            parts += [
                (number, leaf is other, same_memory(array, other._array))
                for number, (other, its) in enumerate(seen)
                if its is memory
            ]
            seen.append((leaf, memory))
            if node is not None and has_hooks(leaf):
                parts.append("hooks")
        else:
            parts.append(mark(leaf, others))
    return tuple(parts)


def facts_of(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Facts:
    """What counts of arguments, for later words."""
    try:
        called = function.forward if isinstance(function, Module) else function
        given: Mapping[str, Any] = inspect.signature(called).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {f"argument {n}": value for n, value in enumerate(args, 1)} | dict(kwargs)
    return {name: _facts(leaf) for path, value in given.items() for name, leaf in _leaves(path, value)}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if of_kind(value, dict) or (of_kind(value, (list, tuple)) and not is_plain(value)):
        keys = value if of_kind(value, dict) else range(len(value))
        for key, part in zip(keys, value.values() if of_kind(value, dict) else value):
            yield from _leaves(f"{path}[{key!r}]", part)
    else:
        yield path, value


def _facts(value: Any) -> dict[str, Any]:
    if of_kind(value, _runtime.Tensor):
        node, leaf = value._node, value._node.__class__ is AccumulateGrad
        return {
            "shape": tuple(value.shape),
            "dtype": value.dtype,
            "grad": has_history(value),
            "leaf": leaf,
            "strides": value.stride(),
            "hooks": node is not None and has_hooks(value),
        }
    if is_plain(value) or of_kind(value, (type, enum.Enum)):
        return {"kind": type(value).__name__, "value": reprlib.repr(value)}
    return {"kind": type(value).__name__, "object": id(value), "called": callable(value)}


def difference(key: Any, facts: _Facts, known: Mapping[Any, _Facts], keys: Collection[Any]) -> tuple[str, Any]:
    """In which way a call is none of those before, in words, if it is none; and what such words are about."""
    if any([key[:1] == other[:1] and key[_MODES:] == other[_MODES:] for other in keys]):
        return "another mode of gradients, or another default dtype, than before: traced anew", "modes"
    like = [other for other in known.values() if other.keys() == facts.keys()]
    if not like:
        return "arguments of another number or structure than before: traced anew", "structure"
    nearest = max(like, key=lambda other: sum([len(other[name].items() & facts[name].items()) for name in facts]))
    for name, now in facts.items():
        if others := [fact for fact in now if fact not in nearest[name] or now[fact] != nearest[name][fact]]:
            return _words(name, now, nearest[name]), (name, now.keys() == nearest[name].keys(), others[0])
    if [*facts] != [*nearest]:
        name = next(one for one, other in zip(facts, nearest) if one != other).partition("[")[0]
        return f"the items of {name} come in another order than before: traced anew", (name, "order")
    for name, now in facts.items():
        if "object" in now:  # another one in the place of one that is gone
            return _words(name, now, nearest[name]), (name, True, "object")
    if key in known:
        return "", None  # of which there is no program yet: the call before this one failed
    return "arguments share memory otherwise than before: traced anew", "memory"


def _words(name: str, now: dict[str, Any], before: dict[str, Any]) -> str:
    """In which way an argument is another one."""
    if "object" in now:
        remedy = "the same one each time" if now["called"] else "its tensors, or a dict of them"
        return f"{name} is another {now['kind']}: traced anew for each: to have one program, pass {remedy}"
    if now.keys() != before.keys():
        is_now, was = [facts.get("value") or facts.get("kind", "a tensor") for facts in (now, before)]
        return f"{name} is {is_now}, and was {was}: traced anew"
    if "value" in now:
        kinds = ("", "") if now["value"] != before["value"] else (f", {now['kind']}", f", {before['kind']}")
        return f"{name} is {now['value']}{kinds[0]}, and was {before['value']}{kinds[1]}: traced anew"
    for fact, said in (("shape", "has shape"), ("dtype", "has dtype")):
        if now[fact] != before[fact]:
            return f"{name} {said} {now[fact]}, and had {before[fact]}: traced anew"
    if now["grad"] != before["grad"]:
        return f"{name} requires {'grad, and did not' if now['grad'] else 'no grad, and did'}: traced anew"
    if now["leaf"] != before["leaf"]:
        return f"{name} is {'a leaf, and was computed' if now['leaf'] else 'computed, and was a leaf'}: traced anew"
    if now["hooks"] != before["hooks"]:
        return f"{name} has {'hooks, and had none' if now['hooks'] else 'no hooks, and had some'}: traced anew"
    return f"{name} has strides {now['strides']}, and had {before['strides']}: traced anew"
