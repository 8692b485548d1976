"""What the ``step`` of an optimizer or a scheduler may change, as its code tells."""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

from .._sites import is_theirs
from ..optim.optimizer import Optimizer
from ._names_in_code import codes_in, names_in
from ._stands import stored

_ITEMS = ("STORE_SUBSCR", "DELETE_SUBSCR")


def methods_of(*kinds: type) -> Iterator[tuple[str, types.FunctionType]]:
    """The methods of classes, each with its name."""
    for kind in kinds:
        for name, value in vars(kind).items():
            if callable(value) and isinstance(method := inspect.unwrap(value), types.FunctionType):
                yield name, method


@functools.cache
def set_by_step(kind: type) -> tuple[frozenset[str], bool]:
    """The attributes that ``step`` sets, or a method that it names; and whether one that is people's own sets items."""
    methods = list(methods_of(*kind.__mro__))
    known: set[str] = set()
    stores: set[str] = set()
    todo, items = {"step"}, False
    while todo:
        known |= todo
        codes = [method.__code__ for name, method in methods if name in todo]
        todo = set()
        for code in codes:
            names = names_in(code)
            stores |= names.stored
            todo |= (names.attributes & {name for name, _ in methods}) - known
            own = [inner for inner in codes_in(code) if is_theirs(code.co_filename)]
            items |= any([i.opname in _ITEMS for inner in own for i in dis.get_instructions(inner)])
    return frozenset(stores), items


def containers_of(stepper: Any, items: bool) -> list[Any]:
    """The containers whose items the step may set: the options of groups, and others if it sets *items* of any."""
    own = isinstance(stepper, Optimizer)
    groups = stored(stepper if own else stored(stepper, "optimizer"), "param_groups", [])
    others = [value for name, value in vars(stepper).items() if name != "param_groups"] if items else []
    states = stored(stepper, "state", {}).values() if own and items else []
    return [*([] if own and not items else groups), *others, *states]
