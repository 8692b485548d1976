"""The walk from functions and objects to what they read and hold: by names, as their code tells."""

from __future__ import annotations

import builtins
import functools
import gc
import operator
import os
import random
import sys
import time
import types
import weakref
from array import array as packed
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextvars import Context, ContextVar
from threading import local
from typing import Any

import numpy as np

from .. import _as_one, _runtime
from .._choices import Choice
from .._identity import owner
from .._op import Row
from .._random import Generator
from .._tape import AccumulateGrad
from ..nn.modules.module import Module
from ..nn.parameter import is_lazy
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ._asking import ANY_ATTRIBUTE, ASKED, MEMBERS, REGISTRIES, UNCALLED, UNGUARDED, asks_for_all, read_of_functions
from ._classes import (
    INDIRECT,
    chained,
    hooks_of,
    is_a,
    is_traced,
    levels,
    methods_for_libraries,
    mro,
    name_of,
    read_by_libraries,
    reads_private,
    set_by,
)
from ._effects import effect_of
from ._libraries import FIXED, answers, of_kind, of_library, question
from ._names_in_code import Names, codes_in, names_in, names_run
from ._standing import CODE, Standing
from ._stands import (
    MISSING,
    an_object,
    array_state,
    as_item,
    cached_by,
    held,
    is_plain,
    is_there,
    item,
    items_of,
    kept_by,
    slots_of,
    state_of,
    stored,
)  # fmt: skip
from ._told import Again
from ._uses import EACH, ITSELF, KEYS, LENGTH, PLACES, Use, is_whole, uses_run

_MOST = 10_000
"""The items of a container, or bytes of an array, beyond which it is not compared at each call."""
_MOST_ONCE = 1_000_000
"""The items beyond which it is not asked whether the first call changes them, either."""

_FEW = 64
"""The results in a cache up to which they are compared at each call."""


_LOOK_UP = (getattr, hasattr, setattr, delattr, vars, dir)


class Reached(Standing):
    """What functions and objects read and hold, as it is when this is made.

    Parameters
    ----------
    roots, arguments, met
        Where the walk begins: the function and what is given to it, its tensors, and functions that no name leads to.
    ran : Executed, optional
        What has run: then only that counts, and of containers the items that it reads.

    Attributes
    ----------
    asks : bool
        Whether attributes are asked for by computed names.
    getters : set of str
        The names of attributes that objects ask for which are called.
    """

    def __init__(
        self, roots: Sequence[Any], arguments: Sequence[Any] = (), met: Iterable[Any] = (), ran: Any = None
    ) -> None:
        super().__init__()
        self.roots = roots  # which are known by their ids
        self._ran = ran
        self._uses: dict[str, Use] = {} if ran is None else uses_run(ran.parts)
        self._lazy = ""  # a parameter that has no shape yet
        self._objects: list[Any] = []
        self._loose = [*roots[1:]]
        self._generators: list[Any] = []
        self._random: list[tuple[str, Any, bytes]] = [
            (path, source, state_of(source)) for path, source in (("random", random), ("np.random", np.random))
        ]
        self._seen: dict[int, Any] = {}
        self._names = set() if ran is None else {*ran.asked}
        self._stored: set[str] = {*self._names}
        self._whole = frozenset(self._names)
        for part in () if ran is None else ran.parts.values():  # people's functions, however they were found
            self._names |= names_run(part.code, ran.parts).attributes
        self.getters: set[str] = set()
        self._called: set[str] = set()
        self._handed: set[str] = set()
        self._effects: list[tuple[str, str]] = []
        self._imports: list[str] = []
        self._closures: dict[types.CodeType, list[tuple[types.CellType, ...]]] = {}
        self._holders: list[tuple[Any, Any, str]] = []
        self._codes: set[types.CodeType] = set()
        self._grads: dict[int, Any] = {}
        self._hooked: list[tuple[Any, int, str]] = []
        self._tensors: list[tuple[Any, Any, Any, str]] = []
        self._late: list[tuple[Any, str]] = []  # what may have a better name elsewhere
        self._todo = [(root, name_of(root)) for root in roots[:1]]
        self._todo += [(root, "an argument") for root in roots[1:]]
        self._todo += [(found, stored(found, "__qualname__", type(found).__name__)) for found in met]
        for tensor in arguments:
            self._tensor(tensor, "an argument")
        self._walk()
        for path, effect in self._effects:  # what is called by name is seen when it is called
            name = path[max(path.rfind("."), 0) :]
            if name in self._handed or name not in self._called:
                self._refuse(effect)
        for name in UNGUARDED.keys() & self._names:
            self._refuse(f"it reads {UNGUARDED[name]} ({name}): read it outside", later=True)
        self.asks = not self._names.isdisjoint(ASKED)
        for kept in (self._seen, self._holders, self._names, self._stored):
            kept.clear()

    # -- the walk ------------------------------------------------------------------------------------------------------
    def _walk(self) -> None:
        known = -1
        while self._todo or self._late or known != len(self._names) + len(self._holders) + len(self._makers):
            if not self._todo and known == len(self._names) + len(self._holders) + len(self._makers):
                self._todo, self._late = self._late, []
            while self._todo:
                value, path = self._todo.pop()
                if not is_plain(value) and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    self._visit(value, path)
            known = len(self._names) + len(self._holders) + len(self._makers)
            for holder, names, path in tuple(self._holders):
                self._attributes(holder, names, path)
            self._stand_where_made()

    def _visit(self, value: Any, path: str) -> None:
        if of_kind(value, _runtime.Tensor):
            self.tensors += [] if is_lazy(value) else [value]
            self._tensor(value, path)
        elif of_kind(value, types.FunctionType):
            self._function(value, path)
        elif of_kind(value, types.MethodType):
            self._todo += [(value.__self__, path.rpartition(".")[0] or "self"), (value.__func__, path)]
        elif of_kind(value, Again):
            self._ask_loosely(value, value.path)
        elif of_kind(value, INDIRECT):
            self._indirect(value, path)
        elif (wrapped := stored(value, "__wrapped__")) is not MISSING:  # what is traced; a decorator that is an object
            self._todo.append((wrapped, path))
            if is_traced(attributes := stored(value, "__dict__", {})):
                self._holders.append((value, attributes, path))
            else:
                self._object(value, path)
        elif of_kind(value, (list, tuple, dict, set, frozenset, deque, bytearray, packed)):
            self._container(value, path, of_kind(value, dict))
            if of_kind(value, defaultdict):
                self._ask(functools.partial(getattr, value, "default_factory"), f"{path}.default_factory")
            if not of_library(type(value)):
                self._object(value, path)
        elif of_kind(value, np.ndarray):
            self._array(value, path)
        elif of_kind(value, (random.Random, np.random.Generator, np.random.RandomState)):
            self._random.append((path, value, state_of(value)))
        elif of_kind(value, (Optimizer, LRScheduler)):
            self._live(value, path)
        elif of_kind(value, (types.ModuleType, type)):
            self._space(value, path)
        elif of_kind(value, types.BuiltinFunctionType):
            if value in _LOOK_UP:  # by another name
                self._names.add("__dict__")
            effect = effect_of(value)
            if effect is not None and not effect.passing:
                self._effects.append((path, effect.said))
                self._seen.pop(id(value))  # each way to it counts
            self._todo.append((value.__self__, path))  # a method's object
        elif of_kind(value, Generator):  # programs draw from it
            self._generators.append(value)
        elif of_kind(value, (Row, Choice)):
            pass  # they do not change
        elif is_a("logging.Logger", value):
            self._ask(functools.partial(levels, value), path)
            self._holders.append((value, vars(value), path))
        elif hasattr(type(value), "__next__"):
            self._refuse(
                f"{path or 'an argument'} is {an_object(value)}, which changes where it is read: pass what comes from it as an "
                "argument"
            )
        else:
            self._object(value, path)

    def _space(self, value: Any, path: str) -> None:
        """A module or a class."""
        self._register(value, path)
        if value is os:
            self._todo.append((os.environ, f"{path}.environ"))
        elif value is time or not of_library(vars(value) if of_kind(value, types.ModuleType) else value):
            self._holders.append((value, vars(value), path))
            if of_kind(value, type):
                self.bases.append((value, value.__mro__))
                self._ask(vars(value).__len__, f"an attribute of {path}")
                self._todo += [(kind, path) for kind in (*value.__mro__, *mro(type(value)))]
        elif of_kind(value, types.ModuleType):
            self._makers.add(value)

    def _indirect(self, value: Any, path: str) -> None:
        """What leads to something else."""
        if of_kind(value, functools.partial):
            self._ask(functools.partial(getattr, value, "func"), f"{path}.func")
            for name in ("args", "keywords"):
                self._ask(functools.partial(getattr, value, name), path)
            self._holders.append((value, vars(value), path))
        elif of_kind(value, functools._lru_cache_wrapper):
            self._paths[id(value)] = path
            results = cached_by(value)
            self.caches.append((value, value.cache_info().misses, results if len(results) <= _FEW else ()))
            self._todo += [(part, path) for part in (value.__wrapped__, *kept_by(value), *results)]
            self._holders.append((value, vars(value), path))
        elif of_kind(value, ContextVar):
            self._ask(functools.partial(value.get, MISSING), path)
        elif of_kind(value, weakref.ref):
            self._ask(functools.partial(is_there, value), path)
            target = value()
            self._loose += [target.__self__ if isinstance(target, types.MethodType) else target]  # of a WeakMethod
            self._todo += [(target, path)]
            if isinstance(target, _runtime.Tensor):
                self._refuse(
                    f"{path} refers weakly to a tensor, which a program would keep alive: pass the tensor as an argument",
                    later=True,
                )
        elif of_kind(value, operator.attrgetter):
            self.getters |= {part for name in value.__reduce__()[1] for part in name.split(".")}
            self._names |= self.getters
        elif of_kind(value, operator.methodcaller):
            maker, given = tuple(value.__reduce__())
            found = given or maker.args  # those by name are the maker's, then
            self.getters.add(found[0])
            self._names |= self.getters
            self._todo += [(given, path) for given in (found[1:], getattr(maker, "keywords", {}))]
        elif of_kind(value, Context):
            for variable in value:
                self._ask(functools.partial(value.get, variable), f"{path}[{variable.name}]")
        elif of_kind(value, local):
            self._object(value, path)
        else:
            self._todo += [(mapping, path) for mapping in gc.get_referents(value)]

    def _tensor(self, tensor: Any, path: str) -> None:
        if is_lazy(tensor):
            self._lazy = path
            return
        node = tensor._node
        self._tensors.append((tensor, tensor._array, node, path))
        self._holders.append((tensor, vars(tensor), path))
        self._grads[id(tensor)] = getattr(tensor, "_grad", MISSING)
        if node.__class__ is AccumulateGrad:
            self._hooked.append((node, hooks_of(node), path))
        for t in (tensor, getattr(node, "grad", None), getattr(tensor, "_grad", None)):
            if isinstance(t, _runtime.Tensor) and t._array is not None:
                memory = owner(t._array)
                self.memory[id(memory)] = memory
        if node.__class__ is AccumulateGrad:
            self._todo += [
                (hooks, f"the hooks of {path}") for hooks in (node.hooks, node.post_hooks) if hooks is not None
            ]

    def _function(self, function: types.FunctionType, path: str) -> None:
        code, ran = function.__code__, self._ran
        if code in _as_one.codes:  # it is called again as it is
            return
        libraries = of_library(function.__globals__)
        if not libraries:
            self._holders.append((function, function.__dict__, path))
        if ran is not None and not libraries and id(code) not in ran.parts:
            return
        names = names_in(code) if ran is None or libraries else names_run(code, ran.parts)
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            if ran is not None and not libraries and name not in self._uses:
                continue
            if id(cell) not in self._paths:
                self._paths[id(cell)] = name
                self.cells.append((cell, held(cell)))
            if libraries or not self._is_known(held(cell), name, names):
                self._used(held(cell), name, None if libraries else self._uses.get(name))
        if libraries:
            return
        if function.__closure__:
            self._closures.setdefault(code, []).append(function.__closure__)
        self._codes |= codes_in(function.__code__)
        self._names |= names.attributes
        self._stored |= names.stored | names.maybe
        self._called |= names.called
        self._handed |= names.handed
        self._names |= names.globals & (ANY_ATTRIBUTE if ran is None else ANY_ATTRIBUTE - ASKED)
        for name in names.globals:
            if name in function.__globals__:
                self._stays(function.__globals__, name, name)
                if not self._is_known(function.__globals__[name], name, names):
                    self._used(function.__globals__[name], name, self._uses.get(name))
                continue
            self._lacks(function.__globals__, [name], "")
            if name in (provided := getattr(function, "__builtins__", {})):
                self._stands(builtins if provided is vars(builtins) else provided, name, name)
                self._todo += [] if name in ANY_ATTRIBUTE else [(provided[name], name)]
        for name in names.imports:
            if name in sys.modules:
                self._place(sys.modules, name, name)
            else:
                self._imports.append(name)
                if ran is not None:
                    self._lacks(sys.modules, [name], "")
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._slot(function, name, path)
        for chain in chained(function, names):
            self._stands(*chain)

    def _is_known(self, value: Any, name: str, names: Names) -> bool:
        """Whether a variable is a library's module, of which chains of names say all that is read."""
        chained = of_kind(value, types.ModuleType) and value not in (os, time) and (name,) not in names.chains
        return chained and of_library(vars(value))

    def _place(self, names: Mapping[str, Any], name: str, path: str, use: Use = None) -> None:
        """A value by its name in a namespace."""
        self._stays(names, name, path)
        self._used(names[name], path, use)

    def _used(self, value: Any, path: str, use: Use) -> None:
        """A value of which a function reads some items, or all."""
        if use is None or type(value) not in (dict, list, tuple) or is_whole(value, use):
            self._todo += [] if is_plain(value) else [(value, path)]
            return
        for key, inner in use.items():
            if key is LENGTH:
                self._ask_once(value, LENGTH, value.__len__, f"the number of items of {path}", {})
            elif key is EACH:
                self._each(value, path, inner)
            elif key not in (ITSELF, PLACES, KEYS):
                self._item(value, key, f"{path}{as_item(key)}", inner)

    def _each(self, container: Any, path: str, use: Use) -> None:
        """The items of a list or a tuple, of each of which a function reads some items, or all."""
        if len(container) > _MOST:
            self._todo.append((container, path))
            return
        if id(container) not in self._paths:
            self._paths[id(container)] = path
            self.contents.append((container, tuple(container), None))
        for number, value in enumerate(container):
            self._used(value, f"{path}[{number}]", use)

    def _item(self, container: Any, key: Any, path: str, use: Use) -> None:
        if of_kind(container, dict) and key in container:
            self._place(container, key, path, use)
        elif of_kind(container, dict):
            self._absent(container, key, path)
        elif of_kind(container, tuple):
            self._used(item(container, key), path, use)
        else:
            self._ask_once(container, key, functools.partial(item, container, key), path, use)

    def _slot(self, holder: Any, name: str, path: str, use: Use = None) -> None:
        value = stored(holder, name)
        if (id(holder), name) not in self._paths:
            self._paths[id(holder), name] = f"{path}.{name}"
            self.slots.append((holder, name, value))
            self._used(value, f"{path}.{name}", use)

    def _container(self, container: Any, path: str, keyed: bool = False) -> None:
        if len(container) > _MOST:
            what = f"{an_object(container)} of {len(container)} items"
            self._refuse(f"it reads {path}, {what}: pass it as a tensor, or as an argument", later=True)
            if self._ran is not None or len(container) > _MOST_ONCE:
                return
        values = tuple(items_of(container))
        self._paths[id(container)] = path
        self.contents.append((container, values, [*container] if keyed else None))
        if of_kind(container, dict):
            self._keys[id(container)] = (*container,)
            self._attributes_in |= set() if keyed else {id(container)}
        if keyed:
            self._todo += [(key, f"a key of {path}") for key in container if of_kind(key, _runtime.Tensor)]
        keys = container if of_kind(container, dict) else range(len(values))
        for key, value in zip(keys, values):
            if not is_plain(value) and key not in REGISTRIES and not (of_kind(value, dict) and of_library(value)):
                place = as_item(key) if keyed or not of_kind(container, dict) else f".{key}"
                self._todo.append((value, f"{path}{place}" if is_plain(key) else f"an item of {path}"))

    def _array(self, array: np.ndarray, path: str) -> None:
        if path == "an argument":
            self._refuse("an argument is a NumPy array, whose values may differ: pass a tensor")
        if not of_library(type(array)):
            self._object(array, path)
        if array.nbytes > 100 * _MOST or array.dtype.hasobject:
            self._refuse(f"it reads {path}, a large NumPy array, which may change: pass it as a tensor", later=True)
            return
        self._paths[id(array)] = path
        self.arrays.append((array, array_state(array)))
        memory = owner(array)
        self.memory[id(memory)] = memory

    def _live(self, value: Any, path: str) -> None:
        """An optimizer or a scheduler: its ``step`` is called again, whatever it reads; what others read of it counts, such as
        its options."""
        self._objects.append(value)
        self._derived(type(value))
        self._holders.append((value, vars(value), path))
        self._todo += [(kind, path) for kind in type(value).__mro__]
        if of_kind(value, LRScheduler):
            self._todo.append((stored(value, "optimizer"), f"{path}.optimizer"))
            return
        groups, states = stored(value, "param_groups", []), stored(value, "state", {})
        for group in (groups, *[group["params"] for group in groups]):
            self._paths[id(group)] = f"{path}.param_groups"
            self.contents.append((group, tuple(group), None))
        for number, group in enumerate(groups):
            given = f"{path}.param_groups[{number}]['params']"
            self._late += [(tensor, f"{given}[{place}]") for place, tensor in enumerate(group["params"])]
        for state in states.values():
            for tensor in [t for t in state.values() if of_kind(t, _runtime.Tensor)]:
                self._tensor(tensor, path)

    def _object(self, value: Any, path: str) -> None:
        asked = (
            None if of_kind(value, local) else question(value) if answers(value) else "whose attributes raise errors"
        )
        if isinstance(asked, str):
            self._refuse(f"it reads {path}, {an_object(value)}, {asked}: read it outside, and pass that as an argument")
            return
        if asked is not None:
            self._ask(asked, path)
        if of_kind(value, BaseException):
            self._ask(functools.partial(getattr, value, "args"), f"{path}.args")
        attributes = getattr(value, "__dict__", None) if of_kind(value, local) else stored(value, "__dict__", None)
        self._kind(value, attributes, path)
        hooks = value._hooks if of_kind(value, Module) else None
        self._todo += [(getattr(hooks, kind), f"the hooks of {path}") for kind in getattr(hooks, "__slots__", ())]
        if of_kind(value, Module):
            self._objects.append(value)
            self._layer(next(kind for kind in type(value).__mro__ if of_library(kind) or "forward" in vars(kind)))
        self._derived(type(value))
        if not of_library(type(value)):
            self._holders.append((value, attributes, path))
            self._todo += [(kind, path) for kind in type(value).__mro__]
            if of_kind(value, Module):
                self._slot(value, "_hooks", path)
                kept: Mapping[str, Any] = attributes or {}
                for name in MEMBERS & set(kept):
                    self._attributes_in.add(id(kept[name]))
                    self._container(kept[name], path, True)
        elif of_kind(value, types.SimpleNamespace) or is_a("argparse.Namespace", value):
            self._holders.append((value, attributes, path))
        elif attributes is not None:
            self._container(attributes, path)
        elif not of_kind(value, FIXED):
            for name in {name for kind in type(value).__mro__ for name in slots_of(kind)}:
                self._slot(value, name, path)

    def _kind(self, value: Any, attributes: Any, path: str) -> None:
        """An object's class, and the dict that has its attributes."""
        if any([value is loose for loose in self._loose]):
            for name, known in (("__class__", type(value)), ("__dict__", attributes)):
                self.slots += [] if known is None else [(value, name, known)]
                self._paths[id(value), name] = f"{path}.{name}"
            return
        if of_kind(value, Module) or not of_library(type(value)):
            self.kinds.append((value, type(value)))
        if attributes is not None:
            self.spaces.append((value, attributes))

    def _attributes(self, holder: Any, names: Mapping[str, Any] | None, path: str) -> None:
        """Those attributes of an object that some code names."""
        kind: Any = type(holder)
        members: Mapping[str, Any] = {} if names is None else names
        asks = asks_for_all(holder, self._names)
        spaces = of_kind(holder, (types.ModuleType, type))
        steps = of_kind(holder, (Optimizer, LRScheduler))
        private = of_kind(holder, Module) and reads_private(kind)
        inherited: set[str] = set()
        if of_kind(holder, type) or not (spaces or steps or of_library(kind)):
            inherited |= read_by_libraries(kind) if not spaces else methods_for_libraries(holder)
        if of_kind(holder, Module):
            inherited.update(*[members[registry] for registry in MEMBERS & set(members)])
        for name in read_of_functions(self._names) if of_kind(holder, (types.FunctionType, type)) else ():
            self._slot(holder, name, path)
        traced = not spaces and is_traced(names) and of_library(kind)
        internal: frozenset[str] = members["_own"] if traced else frozenset()
        for name in set(members) - REGISTRIES - internal:
            method = of_kind(holder, type) and name[:2] == "__"
            known = of_kind(holder, Module) and (
                name == "training" or (name[0] == "_" and private) or of_kind(members[name], (Module, _runtime.Tensor))
            )
            every = asks and not (spaces and name[:2] == "__") and not (steps and name in set_by(kind))
            if every and spaces and of_kind(members[name], CODE) and name not in self._names:
                self._stays(names, name, f"{path}.{name}")  # what it reads is looked at where it runs
                continue
            named = name in self._names and not (
                f".{name}" in self._called
                and f".{name}" not in self._handed
                and is_plain(members[name])
                and not callable(members[name])
            )  # what is called is another object's
            if every or known or named or name in inherited or (method and self._is_called(name, members[name])):
                if path == "an argument" and of_kind(holder, _runtime.Tensor):
                    self._refuse(
                        f"it reads the attribute {name!r} of a tensor that is an argument: pass that by itself"
                    )
                self._member(names, name, f"{path}.{name}", None if known or name in inherited else self._use(name))
                if name == "__match_args__" and name in self._names and of_kind(holder, type):
                    self._names |= set(members[name])
        for base in () if of_kind(holder, (type, types.ModuleType)) else kind.__mro__:
            if not of_library(base):
                for name in slots_of(base):
                    if asks or name in self._names:
                        self._slot(holder, name, path, self._use(name))
            if names is not None and base is not object and (steps or not of_library(base)):
                found = self._names if "__getattr__" in vars(base) else self._names & set(vars(base))
                self._lacks(names, found, path)
        if of_kind(holder, Module) and not of_library(kind):
            self._lacks(names, {"forward"} | self._led_to(Module), path)
        if names is not None:
            if of_kind(holder, type):
                return  # it is asked how many attributes a class has
            if asks and not spaces:
                self._ask_once(names, LENGTH, names.__len__, f"an attribute of {path}", {})
            own = dir(_runtime.Tensor) if of_kind(holder, _runtime.Tensor) else []
            if not names and of_kind(holder, types.FunctionType):
                self._paths[id(names)] = f"an attribute of {path}"
                self.empty.append(names)  # type: ignore[arg-type]
            else:
                self._lacks(names, self._stored.difference(own), path)
            if of_kind(holder, types.ModuleType) and "__getattr__" in names:
                self._member(names, "__getattr__", f"{path}.__getattr__", None)
                self._lacks(names, self._names, path)

    def _is_called(self, name: str, method: Any) -> bool:
        """Whether Python may call a method whose name has two underscores: those that make objects or texts, where run."""
        code = getattr(getattr(method, "__func__", method), "__code__", None)
        return name not in UNCALLED or (self._ran is not None and id(code) in self._ran.parts)

    def _use(self, attribute: str) -> Use:
        """Of what attributes of this name stand for."""
        return None if attribute in self._whole else self._uses.get(f".{attribute}")

    def _member(self, names: Any, name: str, path: str, use: Use) -> None:
        if (id(names), name) in self._paths:
            return
        value = names[name]
        self._place(names, name, path.lstrip("."), use)
        if of_kind(value, (staticmethod, classmethod)):
            self._todo.append((value.__func__, path))
        elif of_kind(value, property):
            self._todo += [(f, path) for f in (value.fget, value.fset) if f is not None]
