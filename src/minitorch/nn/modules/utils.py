"""Numbers for each spatial dimension: what users' own layers import from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes *n* of a number, and a tuple of a sequence."""

    def parse(given: Any) -> tuple[Any, ...]:
        return tuple(given) if isinstance(given, Iterable) else (given,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)
)
