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
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
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
from ._effects import effect_of
from ._names_in_code import codes_in, names_in, names_run
from ._stands import MISSING, an_object, held, is_plain, item, items_of, kept_by, slots_of, state_of, stored
from ._steps import methods_of
from ._uses import ITSELF, LENGTH, PLACES, Use, uses_run

_MOST = 10_000
"""The items of a container, or bytes of an array, beyond which it is not compared at each call."""
_MOST_ONCE = 1_000_000
"""The items beyond which it is not asked whether the first call changes them, either."""

_LIBRARIES = sys.stdlib_module_names | {"minitorch", "numpy"}
_REGISTRIES = {"_parameter_names", "_buffer_names", "_module_names", "_non_persistent_buffers_set"}
"""What modules keep of their members' names: of library modules, whose attributes are compared, they change with those."""
_MEMBERS = {"_parameter_names", "_buffer_names", "_module_names"}

_UNGUARDED = {
    "_version": "the number of writes into a tensor", "storage_offset": "where in its memory a tensor begins",
    "get_num_threads": "the number of threads",
}  # fmt: skip
"""Attributes that no program asks for again."""
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, property, staticmethod, classmethod)
"""What classes and modules hold that is code: it counts where it is named."""

_VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
_INDIRECT = (functools._lru_cache_wrapper, ContextVar, weakref.ref, operator.attrgetter, *_VIEWS)

_ASKED = {"getattr", "hasattr", "setattr"}
_ANY_ATTRIBUTE = _ASKED | {"vars", "__dict__"}


def of_library(holder: Any) -> bool:
    """Whether a class, or a function's globals, belong to a library, which does not change while a program runs."""
    name = str(holder.get("__name__") if isinstance(holder, dict) else holder.__module__)
    if isinstance(holder, dict) and holder.get("__name__", "") is None:
        return True  # a row's recorder, see ``_op``
    if isinstance(holder, dict) and vars(sys.modules.get(name, types)) is not holder:
        return False
    return name.partition(".")[0] in _LIBRARIES


class Reached:
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
    cells, named, slots : list of tuple
        Variables of closures, values by name in a namespace, and attributes of objects: where each stands, and what it was.
    contents : list of (container, tuple, list or None)
        Containers, the items that they had, and the keys of dicts that are no object's attributes.
    tensors : list of Tensor
        Those that are reached by name, but for what optimizers keep.
    arrays : list of (ndarray, bytes)
        NumPy arrays, and the bytes that they had.
    asked : list of (callable, object)
        Functions without arguments, and what they told.
    caches : list of (function, int)
        Functions with a cache, and how often they had computed something.
    memory : dict of int to ndarray
        By ``id``, the arrays that own the memory of the tensors that are reached.
    refused : str
        Why no program can stand for such a function; empty where one can.
    """

    def __init__(
        self, roots: Sequence[Any], arguments: Sequence[Any] = (), met: Iterable[Any] = (), ran: Any = None
    ) -> None:
        self.roots = roots  # which are known by their ids
        self._ran = ran
        self._uses: dict[str, Use] = {} if ran is None else uses_run(ran.parts)
        self.memory: dict[int, np.ndarray] = {}
        self.refused = ""
        self._lazy = ""  # a parameter that has no shape yet
        self.cells: list[tuple[types.CellType, Any]] = []
        self.named: list[tuple[Any, str, Any]] = []
        self.slots: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Any, tuple[Any, ...], list[Any] | None]] = []
        self.arrays: list[tuple[np.ndarray, bytes]] = []
        self.asked: list[tuple[Callable[[], Any], Any]] = []
        self.caches: list[tuple[Any, int]] = []
        self._objects: list[Any] = []
        self._generators: list[Any] = []
        self._paths: dict[Any, str] = {}
        self._random: list[tuple[str, Any, bytes]] = [
            (path, source, state_of(source)) for path, source in (("random", random), ("np.random", np.random))
        ]
        self._seen: dict[int, Any] = {}
        self._names: set[str] = set() if ran is None else {*ran.asked}
        self._stored: set[str] = {*self._names}
        self._whole = frozenset(self._names)
        self.getters: set[str] = set()
        self._called: set[str] = set()
        self._handed: set[str] = set()
        self._effects: list[tuple[str, str]] = []
        self._holders: list[tuple[Any, Any, str]] = []
        self._codes: set[types.CodeType] = set()
        self._grads: dict[int, Any] = {}
        self._hooked: list[tuple[Any, int, str]] = []
        self._tensors: list[tuple[Any, Any, Any, str]] = []
        self.tensors: list[Any] = []
        self._todo: list[tuple[Any, str]] = [(root, name_of(root)) for root in roots[:1]]
        self._todo += [(root, "an argument") for root in roots[1:]]
        self._todo += [(function, function.__qualname__) for function in met]
        for tensor in arguments:
            self._tensor(tensor, "an argument")
        self._walk()
        for path, effect in self._effects:  # what is called by name is seen when it is called
            name = path[max(path.rfind("."), 0) :]
            if name in self._handed or name not in self._called:
                self._refuse(effect)
        for name in _UNGUARDED.keys() & self._names:
            self._refuse(f"it reads {_UNGUARDED[name]} ({name}): read it outside")
        self.asks = not self._names.isdisjoint(_ASKED)
        for kept in (self._seen, self._holders, self._names, self._stored):
            kept.clear()

    def _refuse(self, reason: str) -> None:
        self.refused = self.refused or reason

    # -- the walk ------------------------------------------------------------------------------------------------------
    def _walk(self) -> None:
        known = -1
        while self._todo or known != len(self._names) + len(self._holders):
            while self._todo:
                value, path = self._todo.pop()
                if not is_plain(value) and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    self._visit(value, path)
            known = len(self._names) + len(self._holders)
            for holder, names, path in tuple(self._holders):
                self._attributes(holder, names, path)

    def _visit(self, value: Any, path: str) -> None:
        if isinstance(value, _runtime.Tensor):
            self.tensors += [] if is_lazy(value) else [value]
            self._tensor(value, path)
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, types.MethodType):
            self._todo += [(value.__self__, path.rpartition(".")[0] or "self"), (value.__func__, path)]
        elif isinstance(value, functools.partial):
            self._todo += [(value.func, f"{path}.func"), (value.args, path), (value.keywords, path)]
        elif isinstance(value, _INDIRECT):
            self._indirect(value, path)
        elif (wrapped := stored(value, "__wrapped__")) is not MISSING:  # what is traced; a decorator that is an object
            self._todo.append((wrapped, path))
            if not of_library(type(value)):
                self._object(value, path)
        elif isinstance(value, (list, tuple, dict, set, frozenset, deque, bytearray, packed)):
            self._container(value, path, isinstance(value, dict))
            if not of_library(type(value)):
                self._object(value, path)
        elif isinstance(value, np.ndarray):
            if path == "an argument":
                self._refuse("an argument is a NumPy array, whose values may differ: pass a tensor")
            self._array(value, path)
        elif isinstance(value, (random.Random, np.random.Generator, np.random.RandomState)):
            self._random.append((path, value, state_of(value)))
        elif isinstance(value, (Optimizer, LRScheduler)):
            self._live(value, path)
        elif isinstance(value, types.ModuleType):
            if value is os:
                self._todo.append((os.environ, f"{path}.environ"))
            elif value is time or not of_library(vars(value)):
                self._holders.append((value, vars(value), path))
        elif isinstance(value, type):
            if not of_library(value):
                self._holders.append((value, vars(value), path))
        elif isinstance(value, types.BuiltinFunctionType):
            effect = effect_of(value)
            if effect is not None and not effect.passing:
                self._effects.append((path, effect.said))
                self._seen.pop(id(value))  # each way to it counts
            self._todo.append((value.__self__, path))  # a method's object
        elif isinstance(value, Generator):  # programs draw from it
            self._generators.append(value)
        elif isinstance(value, (Row, Choice)):
            pass  # they do not change
        elif _is_a("logging.Logger", value):
            self._ask(functools.partial(_levels, value), path)
        elif hasattr(type(value), "__next__"):
            self._refuse(
                f"{path or 'an argument'} is {an_object(value)}, which changes where it is read: pass what comes from it as an "
                "argument"
            )
        else:
            self._object(value, path)

    def _indirect(self, value: Any, path: str) -> None:
        """What leads to something else."""
        if isinstance(value, functools._lru_cache_wrapper):
            self._paths[id(value)] = path
            self.caches.append((value, value.cache_info().misses))
            self._todo += [(value.__wrapped__, path), *[(kept, path) for kept in kept_by(value)]]
        elif isinstance(value, ContextVar):
            self._ask(functools.partial(value.get, MISSING), path)
        elif isinstance(value, weakref.ref):
            self._ask(value, path)
        elif isinstance(value, operator.attrgetter):
            self.getters |= {part for name in value.__reduce__()[1] for part in name.split(".")}
            self._names |= self.getters
        else:
            self._todo += [(mapping, path) for mapping in gc.get_referents(value)]

    def _ask(self, function: Callable[[], Any], path: str, use: Use = None) -> None:
        """What a function without arguments tells."""
        self._paths[id(function)] = path
        self.asked.append((function, value := function()))
        self._used(value, path, use)

    def _ask_once(self, holder: Any, key: Any, function: Callable[[], Any], path: str, use: Use) -> None:
        """What a function tells of something; its items may be read by several uses."""
        if (id(holder), key) not in self._paths:
            self._paths[id(holder), key] = path
            self._ask(function, path, use)
        else:
            self._used(function(), path, use)

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
            self._todo += [(hooks, f"the hooks of {path}") for hooks in (node.hooks, node.post_hooks) if hooks]

    def _function(self, function: types.FunctionType, path: str) -> None:
        code, ran = function.__code__, self._ran
        if code in _as_one.codes:  # it is called again as it is
            return
        libraries = of_library(function.__globals__)
        if ran is not None and not libraries and id(code) not in ran.parts:
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            if ran is not None and not libraries and name not in self._uses:
                continue
            if id(cell) not in self._paths:
                self._paths[id(cell)] = name
                self.cells.append((cell, held(cell)))
            self._used(held(cell), name, None if libraries else self._uses.get(name))
        if libraries:
            return
        names = names_in(code) if ran is None else names_run(code, ran.parts)
        self._codes |= codes_in(function.__code__)
        self._names |= names.attributes
        self._stored |= names.stored | names.maybe
        self._called |= names.called
        self._handed |= names.handed
        for name in names.globals:
            if name in function.__globals__:
                self._place(function.__globals__, name, name, self._uses.get(name))
            else:
                self._names |= {name} & (_ANY_ATTRIBUTE if ran is None else _ANY_ATTRIBUTE - _ASKED)
                self._todo.append((getattr(builtins, name, None), name))
        self._todo += [(sys.modules[name], name) for name in names.imports if name in sys.modules]
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._slot(function, name, path)
        self._holders.append((function, function.__dict__, path))

    def _stays(self, names: Mapping[str, Any] | None, name: str, path: str) -> None:
        """A value by its name in a namespace, whatever it reads."""
        if names is not None and (id(names), name) not in self._paths:
            self._paths[id(names), name] = path
            self.named.append((names, name, names[name]))

    def _place(self, names: Mapping[str, Any], name: str, path: str, use: Use = None) -> None:
        """A value by its name in a namespace."""
        self._stays(names, name, path)
        self._used(names[name], path, use)

    def _used(self, value: Any, path: str, use: Use) -> None:
        """A value of which a function reads some items, or all."""
        if use is None or type(value) not in (dict, list, tuple) or (PLACES in use and isinstance(value, dict)):
            self._todo += [] if is_plain(value) else [(value, path)]
            return
        for key, inner in use.items():
            if key is LENGTH:
                self._ask_once(value, LENGTH, value.__len__, f"the number of items of {path}", {})
            elif key is not ITSELF and key is not PLACES:
                self._item(value, key, f"{path}[{key!r}]", inner)

    def _item(self, container: Any, key: Any, path: str, use: Use) -> None:
        if isinstance(container, dict) and key in container:
            self._place(container, key, path, use)
        elif isinstance(container, dict):
            self._absent(container, key, path)
        elif isinstance(container, tuple):
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
            self._refuse(f"it reads {path}, {what}: pass it as a tensor, or as an argument")
            if self._ran is not None or len(container) > _MOST_ONCE:
                return
        values = tuple(items_of(container))
        self._paths[id(container)] = path
        self.contents.append((container, values, [*container] if keyed else None))
        keys = container if isinstance(container, dict) else range(len(values))
        for key, value in zip(keys, values):
            if not is_plain(value) and key not in _REGISTRIES and not (isinstance(value, dict) and of_library(value)):
                self._todo.append((value, f"{path}[{key!r}]" if is_plain(key) else f"an item of {path}"))

    def _array(self, array: np.ndarray, path: str) -> None:
        if array.nbytes > 100 * _MOST or array.dtype.hasobject:
            self._refuse(f"it reads {path}, a large NumPy array, which may change: pass it as a tensor")
            return
        self._paths[id(array)] = path
        self.arrays.append((array, array.tobytes()))
        memory = owner(array)
        self.memory[id(memory)] = memory

    def _live(self, value: Any, path: str) -> None:
        """An optimizer or a scheduler: its ``step`` is called again, whatever it reads; what others read of it counts, such as
        its options."""
        self._objects.append(value)
        self._holders.append((value, vars(value), path))
        self._todo += [(kind, path) for kind in type(value).__mro__]
        if isinstance(value, LRScheduler):
            self._todo.append((stored(value, "optimizer"), f"{path}.optimizer"))
            return
        groups, states = stored(value, "param_groups", []), stored(value, "state", {})
        for group in (groups, *[group["params"] for group in groups]):
            self._paths[id(group)] = f"{path}.param_groups"
            self.contents.append((group, tuple(group), None))
        for tensor in [t for group in groups for t in group["params"]]:
            self._todo.append((tensor, path))
        for state in states.values():
            for tensor in [t for t in state.values() if isinstance(t, _runtime.Tensor)]:
                self._tensor(tensor, path)

    def _object(self, value: Any, path: str) -> None:
        attributes = stored(value, "__dict__")
        attributes = None if attributes is MISSING else attributes
        hooks = value._hooks if isinstance(value, Module) else None
        self._todo += [(getattr(hooks, kind), f"the hooks of {path}") for kind in getattr(hooks, "__slots__", ())]
        if isinstance(value, Module):
            self._objects.append(value)
        if not of_library(type(value)):
            self._holders.append((value, attributes, path))
            self._todo += [(kind, path) for kind in type(value).__mro__]
            if isinstance(value, Module):
                self._slot(value, "_hooks", path)
                for name in _MEMBERS & set(attributes or ()):
                    self._container(attributes[name], path, True)  # type: ignore[index]
        elif _is_a("argparse.Namespace", value) or isinstance(value, types.SimpleNamespace):
            self._holders.append((value, attributes, path))
        elif attributes is not None:
            self._container(attributes, path)

    def _attributes(self, holder: Any, names: Mapping[str, Any] | None, path: str) -> None:
        """Those attributes of an object that some code names."""
        asks = not self._names.isdisjoint(_ANY_ATTRIBUTE)
        spaces = isinstance(holder, (types.ModuleType, type))
        steps = isinstance(holder, (Optimizer, LRScheduler))
        private = isinstance(holder, Module) and _reads_private(type(holder))  # type: ignore[arg-type]
        inherited: set[str] = set()
        if not (spaces or steps or of_library(type(holder))):
            inherited |= _set_by_libraries(type(holder))  # type: ignore[arg-type]
        if isinstance(holder, Module):
            inherited.update(*[names[registry] for registry in _MEMBERS & set(names or ())])  # type: ignore[index]
        for name in set(names or ()) - _REGISTRIES:
            method = isinstance(holder, type) and (name == "forward" or name[:2] == "__")
            known = isinstance(holder, Module) and (
                name == "training" or (name[0] == "_" and private) or isinstance(names[name], (Module, _runtime.Tensor))  # type: ignore[index]
            )
            every = asks and not (spaces and name[:2] == "__") and not (steps and name in _set_by(type(holder)))  # type: ignore[arg-type]
            if every and spaces and isinstance(names[name], _CODE) and name not in self._names:  # type: ignore[index]
                self._stays(names, name, f"{path}.{name}")  # what it reads is looked at where it runs
                continue
            named = name in self._names and not (
                f".{name}" in self._called
                and f".{name}" not in self._handed
                and is_plain(names[name])  # type: ignore[index]
                and not callable(names[name])  # type: ignore[index]
            )  # what is called is another object's
            if every or known or named or name in inherited or (method and name not in _UNCALLED):
                if path == "an argument" and isinstance(holder, _runtime.Tensor):
                    self._refuse(
                        f"it reads the attribute {name!r} of a tensor that is an argument: pass that by itself"
                    )
                self._member(names, name, f"{path}.{name}", None if known or name in inherited else self._use(name))
                if name == "__match_args__" and name in self._names and isinstance(holder, type):
                    self._names |= set(names[name])  # type: ignore[index]
        for kind in () if isinstance(holder, (type, types.ModuleType)) else type(holder).__mro__:
            if not of_library(kind):
                for name in slots_of(kind):
                    if asks or name in self._names:
                        self._slot(holder, name, path, self._use(name))
            if names is not None and kind is not object and (steps or not of_library(kind)):
                self._lacks(names, (self._names | {"forward"}) & set(vars(kind)), path)
        for kind in holder.__mro__[1:] if isinstance(holder, type) else ():  # what would hide an inherited one
            self._lacks(names, (self._names | {"forward"}) & set(vars(kind)), path)
        if names is not None:
            if asks and not spaces:
                self._ask_once(names, LENGTH, names.__len__, f"an attribute of {path}", {})
            own = dir(_runtime.Tensor) if isinstance(holder, _runtime.Tensor) else []
            self._lacks(names, self._stored.difference(own), path)

    def _use(self, attribute: str) -> Use:
        """Of what attributes of this name stand for."""
        return None if attribute in self._whole else self._uses.get(f".{attribute}")

    def _lacks(self, attributes: Any, names: Iterable[str], path: str) -> None:
        """Attributes that an object may come to have."""
        for name in names:
            if name not in attributes:
                self._absent(attributes, name, f"{path}.{name}")

    def _absent(self, names: Any, name: Any, path: str) -> None:
        """A name, or a key, that there is not."""
        if (id(names), name) not in self._paths:
            self._paths[id(names), name] = path
            self.named.append((names, name, MISSING))

    def _member(self, names: Any, name: str, path: str, use: Use) -> None:
        if (id(names), name) in self._paths:
            return
        value = names[name]
        self._place(names, name, path.lstrip("."), use)
        if isinstance(value, (staticmethod, classmethod)):
            self._todo.append((value.__func__, path))
        elif isinstance(value, property):
            self._todo += [(f, path) for f in (value.fget, value.fset) if f is not None]


_UNCALLED = frozenset(
    f"__{name}__" for name in ("init", "new", "repr", "str", "del", "module", "dict", "weakref", "doc", "annotations")
)


def hooks_of(leaf: AccumulateGrad) -> int:
    """How many hooks a leaf has."""
    return len(leaf.hooks or ()) + len(leaf.post_hooks or ())


@functools.cache
def _set_by(kind: type) -> frozenset[str]:
    """The attributes that an optimizer's or a scheduler's methods set, those of the library."""
    library = [base for base in kind.__mro__ if of_library(base)]
    return frozenset().union(*[names_in(m.__code__).stored for _, m in methods_of(*library)])


@functools.cache
def _reads_private(kind: type) -> bool:
    """Whether a class of modules is derived from one of the library's, besides ``Module``."""
    return any([of_library(base) and base not in Module.__mro__ for base in kind.__mro__])


@functools.cache
def _set_by_libraries(kind: type) -> frozenset[str]:
    """The attributes that the library's modules from which a user's class is derived set, and read."""
    makers = [vars(base).get("__init__") for base in kind.__mro__ if base is not Module and of_library(base)]
    return frozenset().union(*[names_in(m.__code__).stored for m in makers if isinstance(m, types.FunctionType)])


def _is_a(kind: str, value: Any) -> bool:
    """Whether a value is of a class, whose library may not be imported."""
    return any([f"{base.__module__}.{base.__qualname__}" == kind for base in type(value).__mro__])


def _levels(logger: Any) -> tuple[Any, ...]:
    """What decides whether a log is written."""
    return logger.getEffectiveLevel(), logger.disabled, logger.manager.disable


def name_of(root: Any) -> str:
    return stored(root, "__name__", "self")
