"""The parameters of written functions: those of the traced function, with its kinds and defaults."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .._pytree import kind_of
from .._trace_instructions import Slot

_PLAIN = (bool, int, str, bytes, type(None))
_POSITIONAL_ONLY, _EITHER = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


class Parameter(NamedTuple):
    """A parameter: what it was when the function was traced, with slots in the place of tensors, and its default's text."""

    name: str
    value: Any
    kind: Any
    default: str | None

    @property
    def by_name(self) -> bool:
        """Whether it is given by name only."""
        return self.kind is _KEYWORD_ONLY

    @property
    def is_default(self) -> bool:
        """Whether it was what it is where it is not given."""
        return self.default is not None and literal(self.value) == self.default


def parameters_of(function: Any, given: Any) -> list[Parameter]:
    """The parameters that hold tensors, or what can be written as text; a model, or a dtype, is not among them."""
    return [p for p in _bound(function, given) if [*places("", "", p.value)] or literal(p.value) is not None]


def _bound(function: Any, given: Any) -> Iterator[Parameter]:
    args, kwargs = given
    try:
        bound = inspect.signature(getattr(function, "forward", function)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        yield from [Parameter(f"x{n}", value, _EITHER, None) for n, value in enumerate(args)]
        yield from [Parameter(name, value, _KEYWORD_ONLY, None) for name, value in kwargs.items()]
        return
    bound.apply_defaults()
    for name, p in bound.signature.parameters.items():
        value = bound.arguments[name]
        if p.kind is p.VAR_POSITIONAL:
            yield from [Parameter(f"{name}_{n}", item, _EITHER, None) for n, item in enumerate(value)]
        elif p.kind is p.VAR_KEYWORD:
            yield from [Parameter(key, item, _KEYWORD_ONLY, None) for key, item in value.items()]
        else:
            yield Parameter(name, value, p.kind, None if p.default is p.empty else literal(p.default))


def literal(value: Any) -> str | None:
    """A number, a text, None, or a list, tuple or dict of them as an expression; None for what is something else."""
    kind = value.__class__
    if kind in _PLAIN:
        return repr(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if kind is dict:
        pairs = [(literal(key), literal(item)) for key, item in value.items()]
        return None if any([None in pair for pair in pairs]) else f"{{{', '.join([f'{k}: {v}' for k, v in pairs])}}}"
    if kind not in (tuple, list):
        return None
    items = [literal(item) for item in value]
    said = ", ".join([item for item in items if item is not None])
    if None in items:
        return None
    return f"[{said}]" if kind is list else f"({said}{',' * (len(items) == 1)})"


def head(parameters: Sequence[Parameter]) -> list[str]:
    """The parameters as a definition lists them."""
    said: list[str] = []
    needed = False  # no parameter without a default comes after one with a default
    for p in reversed([p for p in parameters if not p.by_name]):
        needed = needed or p.default is None
        said.insert(0, p.name if needed else f"{p.name}={p.default}")
    only = sum([p.kind is _POSITIONAL_ONLY for p in parameters])
    if only:
        said.insert(only, "/")
    named = [p.name if p.default is None else f"{p.name}={p.default}" for p in parameters if p.by_name]
    return [*said, *["*"] * bool(named), *named]


def passed(parameters: Sequence[Parameter], whole: bool = True) -> str:
    """The parameters as a call gives them on; if not *whole*, without those that were their defaults."""
    said: list[str] = []
    skipped = False
    for number, p in enumerate(parameters):
        later = [q for q in parameters[number:] if q.kind is _POSITIONAL_ONLY and not q.is_default]
        if whole or not p.is_default or later:
            said.append(f"{p.name}={p.name}" if skipped or p.by_name else p.name)
        else:
            skipped = True
    return ", ".join(said)


def places(name: str, path: str, value: Any) -> Iterator[tuple[str, str, Slot]]:
    """Where slots are in a value."""
    if isinstance(value, Slot):
        yield name, path, value
    elif kind_of(value) is not None:
        for key, item in _items(value):
            yield from places(f"{name}_{key}", f"{path}[{key!r}]", item)


def constants(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Where a value has no slots: the place, and the text of what is there."""
    said = literal(value)
    if said is not None:
        yield path, said
    elif kind_of(value) is not None:
        for key, item in _items(value):
            yield from constants(f"{path}[{key!r}]", item)


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else enumerate(value)
