"""At which sizes a block may do another thing than at those near the example's: where its code names numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from .._runtime import Tensor
from .._sites import is_theirs
from ._calls_seen import CallsSeen

_BETWEEN = (16, 17, 33, 65, 100, 129, 257, 513, 1025)
"""What is tried whatever the code names."""
_MOST = 48
"""How many sizes are tried; what stands in the code itself comes first."""
_LARGEST = 1 << 20
_PERIODS = 64
"""Up to this, a number may be a divisor, of which two periods are looked at."""
SMALL = 8
"""Sizes up to this are tried in any case."""
_CONTAINERS = (tuple, list, set, frozenset, dict)
_ITEMS = 64
_DEPTH = 4
"""How many items of a container, and how many attributes after each other, are looked at."""


class NamedNumbers(CallsSeen):
    """Collects, in its ``with`` block, the numbers that people's own functions name which run in it: constants of their code,
    and what the variables and attributes hold that they read.

    Attributes
    ----------
    found : dict of int to int
        By number, where it was found: 0 for a constant of the code, 1 for what a variable or an attribute holds, 2 for how
        many items a table has, a container or a tensor, 3 for what is in a container.

    Examples
    --------
    >>> def longest(n, most=50):
    ...     return min(n, most) % 12
    >>> with NamedNumbers() as numbers:
    ...     _ = longest(7)
    >>> sorted(numbers.found)
    [7, 12, 50]
    """

    def __init__(self) -> None:
        self.found: dict[int, int] = {}
        self._known: set[Any] = set()

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        code = frame.f_code
        if event != "call" or not is_theirs(code.co_filename):
            return
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in sys.stdlib_module_names or library == "numpy" or library.startswith("namedtuple_"):
            return
        names = frozenset(code.co_names)
        self._note(code.co_consts, 0)
        self._read(
            [*frame.f_locals.values(), *[frame.f_globals[n] for n in names if n in frame.f_globals]], names, _DEPTH
        )

    def _note(self, values: Iterable[Any], rank: int) -> None:
        """Note numbers, and those in containers."""
        for value in values:
            if isinstance(value, (int, float, np.integer, np.floating)) and value.__class__ is not bool:
                size = abs(float(value))
                for number in (math.floor(size), math.ceil(size)) if 2 <= size <= _LARGEST else ():
                    self.found[number] = min(rank, self.found.get(number, rank))
            elif value.__class__ in _CONTAINERS and rank < 2:
                items = [*value, *value.values()] if value.__class__ is dict else [*value]
                self._note(items[:_ITEMS], 3 * (rank > 0))
                self._note_sizes([len(value)])

    def _note_sizes(self, sizes: Iterable[int]) -> None:
        """Note how many items something has."""
        for size in sizes:
            if 2 <= size <= _LARGEST:
                self.found[size] = min(2, self.found.get(size, 2))

    def _read(self, values: Sequence[Any], names: frozenset[str], depth: int) -> None:
        """Note what variables hold, and attributes of these names."""
        self._note(values, 1)
        for value in values:
            if isinstance(value, (Tensor, np.ndarray)):
                self._note_sizes(value.shape)
        for value in [v for v in values if hasattr(v, "__dict__") and (id(v), names) not in self._known]:
            self._known.add((id(value), names))
            if depth:
                self._read(_attributes(value, names), names, depth - 1)


def _attributes(value: Any, names: frozenset[str]) -> list[Any]:
    """What an object or its class has under these names, and its tensors, which methods of libraries may read."""
    places = [vars(value), *[vars(kind) for kind in type(value).__mro__]]
    found = [next((place[name] for place in places if name in place), None) for name in names]
    tensors = [item for item in vars(value).values() if isinstance(item, Tensor)]
    return [*[item for item in found if item is not None], *tensors]


def worth_trying(numbers: Mapping[int, int]) -> list[int]:
    """Sizes at which something may change that is compared with, divided by, or limited to one of these numbers."""
    found = dict.fromkeys(_BETWEEN)
    for number in sorted(numbers, key=lambda n: (numbers[n], n)):
        periods = (2 * number + 1, 3 * number) if number <= _PERIODS and numbers[number] != 2 else ()
        found |= dict.fromkeys([size for size in (number, number + 1, *periods) if size > SMALL])
    return sorted([*found][:_MOST])


class Cost:
    """What a block costs at sizes that were not tried, as bytes of all values; by those at sizes that were.

    Parameters
    ----------
    known : dict of int to int
        The bytes by size.
    """

    _ONE, _ALL = 1 << 25, 1 << 27

    def __init__(self, known: Mapping[int, int]) -> None:
        self._known: dict[int, float] = dict(known)
        self._spent = 0.0

    def affords(self, size: int) -> bool:
        """Whether it is cheap enough to be tried there, besides what was tried."""
        expected = self.expected(size)
        return expected <= self._ONE and self._spent + expected <= self._ALL

    def add(self, size: int, spent: float) -> None:
        """It was tried."""
        self._known[size] = spent
        self._spent += spent

    def expected(self, size: int) -> float:
        """The bytes at a size."""
        first, last = sorted(self._known)[-2:]
        grown = self._known[last] / max(self._known[first], 1)
        power = min(max(math.log(max(grown, 1)) / math.log(last / first), 1), 4)
        return float(self._known[last] * (size / last) ** power)
