"""What stands in libraries, where people may put something in place of it; and what is asked."""

from __future__ import annotations

import decimal
import functools
import types
from abc import ABCMeta, get_cache_token
from collections.abc import Callable, Iterable
from typing import Any

from .. import _runtime
from ..nn.modules.module import Module
from ._classes import chained, led_to
from ._found import Found
from ._libraries import HEAP, decimal_places, of_kind, of_library
from ._names_in_code import names_in
from ._stands import is_plain, standing, weakly
from ._uses import Use

CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, property, staticmethod, classmethod)
"""What classes and modules hold that is code: it counts where it is named."""


def _gives(function: Callable[[], Any], reference: Any) -> bool:
    """Whether a function gives what a reference is to."""
    wanted = reference()
    return wanted is not None and function() is wanted


class Standing(Found):
    """The part of the walk that is about libraries; see `Reached`."""

    def __init__(self) -> None:
        super().__init__()
        self._ran: Any = None
        self._loose: list[Any] = []  # objects that are not kept alive
        self._todo: list[tuple[Any, str]] = []
        self._names: set[str] = set()
        self._layers: set[type] = set()
        self._makers: set[Any] = {_runtime.Tensor}

    def _walk(self) -> None:
        raise NotImplementedError

    def _used(self, value: Any, path: str, use: Use) -> None:
        raise NotImplementedError

    def _register(self, value: Any, path: str) -> None:
        """The number of classes that were registered anywhere, for what belongs to an abstract one."""
        if of_kind(value, ABCMeta):
            self._ask_once(ABCMeta, "register", get_cache_token, f"what is registered at {path}", {})

    def _ask(self, function: Callable[[], Any], path: str, use: Use = None) -> None:
        """What a function without arguments tells."""
        self._paths[id(function)] = path
        self.asked.append((function, value := function()))
        self._used(value, path, use)

    def _ask_loosely(self, function: Callable[[], Any], path: str) -> None:
        """What a function gives that is not kept alive, where it can be referred to weakly."""
        reference = weakly(found := function())
        if reference is None:
            self._ask(function, path)
            return
        self._loose.append(found)
        asks = functools.partial(_gives, function, reference)
        self._paths[id(asks)] = path
        self.asked.append((asks, True))
        self._used(found, path, None)

    def _ask_once(self, holder: Any, key: Any, function: Callable[[], Any], path: str, use: Use) -> None:
        """What a function tells of something; its items may be read by several uses."""
        if (id(holder), key) not in self._paths:
            self._paths[id(holder), key] = path
            self._ask(function, path, use)
        else:
            self._used(function(), path, use)

    def _derived(self, kind: Any) -> None:
        """A class of which there is an object: its methods may be of the libraries' classes that it is derived from."""
        bases = [base for base in kind.__mro__ if base.__flags__ & HEAP and of_library(base)]
        known: list[type] = []
        for base in bases:
            known += [] if any([base in other.__mro__ for other in known]) else [base]
        self._makers.update(known)

    def _stand_where_made(self) -> None:
        """What the methods of libraries are whose names code has."""
        for maker in tuple(self._makers):
            for name in self._led_to(maker):
                self._stands(maker, name, f"{maker.__name__}.{name}")

    def _led_to(self, maker: Any) -> set[str]:
        """The methods that code has names of, and those that they look for; of modules, which have many, those that ran."""
        found = led_to(maker, self._names)
        if self._ran is None or not (isinstance(maker, type) and issubclass(maker, Module)):
            return found
        values = {name: standing(maker, name) for name in found}
        codes = {name: getattr(getattr(value, "fget", value), "__code__", None) for name, value in values.items()}
        return {name for name, code in codes.items() if code is None or self._ran.began(code)}

    def layers(self, kinds: Iterable[type]) -> None:
        """Classes of modules that ran, some of which may have been made in the call."""
        for kind in kinds:
            self._layer(kind)
        self._walk()

    def _layer(self, kind: type) -> None:
        """A class of modules, and what its ``forward`` reads, if it is a library's: another one would be walked."""
        if of_library(kind) and kind not in self._layers:
            self._layers.add(kind)
            for name in ("__call__", "forward"):
                self._stands(kind, name, f"{kind.__name__}.{name}")
            if of_kind(forward := standing(kind, "forward"), types.FunctionType):
                for chain in chained(forward, names_in(forward.__code__)):
                    self._stands(*chain)

    def _stands(self, holder: Any, name: str, path: str) -> None:
        """What stands under a name in a library: people may put something in place of it, for what it reads does not change."""
        if (id(holder), name) not in self._paths:
            self._paths[id(holder), name] = path
            value = standing(holder, name)
            self.stand.append((holder, name, value, path))
            self._register(value, path)
            if value is decimal.Decimal:
                self._ask(decimal_places, "the context of decimal numbers")
            stays = callable(value) or is_plain(value) or of_kind(value, (types.ModuleType, *CODE))
            if not (stays or hasattr(value, "write")):  # it is noticed where a stream is written
                self._todo.append((value, path))
