"""What the walk over names asks of classes and objects."""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Iterator, Set
from contextvars import Context, ContextVar
from threading import local
from typing import Any

from .._tape import AccumulateGrad, Output
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ._libraries import HEAP, of_library
from ._names_in_code import Names, names_in
from ._stands import held, stored
from ._steps import methods_of

_VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
INDIRECT = (
    functools.partial, functools._lru_cache_wrapper, ContextVar, Context, weakref.ref, operator.attrgetter,
    operator.methodcaller, local, type(functools.cmp_to_key(max)), *_VIEWS,
)  # fmt: skip
"""What leads to something else."""


def mro(kind: Any) -> tuple[type, ...]:
    """What a class is derived from, metaclasses too."""
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def hooks_of(leaf: AccumulateGrad) -> int:
    """How many hooks a leaf has."""
    return len(leaf.hooks or ()) + len(leaf.post_hooks or ())


def has_hooks(tensor: Any) -> bool:
    """Whether a tensor that requires grad has hooks of its own."""
    node = tensor._node
    if node.__class__ is AccumulateGrad:
        return hooks_of(node) > 0
    node, index = (node.edges[0], node.index) if isinstance(node, Output) else (node, 0)
    return node.extras is not None and index in node.extras.outputs and bool(node.extras.outputs[index].hooks)


@functools.cache
def set_by(kind: type) -> frozenset[str]:
    """The attributes that an optimizer's or a scheduler's methods set, those of the library."""
    library = [base for base in kind.__mro__ if of_library(base)]
    return frozenset().union(*[names_in(m.__code__).stored for _, m in methods_of(*library)])


@functools.cache
def reads_private(kind: type) -> bool:
    """Whether a class of modules is derived from one of the library's, besides ``Module``."""
    return any([of_library(base) and base not in Module.__mro__ for base in kind.__mro__])


@functools.cache
def methods_for_libraries(kind: type) -> frozenset[str]:
    """The names under which libraries look for methods of people's own: those of the classes that a class is derived from, of
    Python; not of optimizers and schedulers, which are called as they are."""
    if issubclass(kind, (Optimizer, LRScheduler)):
        return frozenset()
    bases = [base for base in kind.__mro__ if base.__flags__ & HEAP and of_library(base)]
    return frozenset([name for base in bases for name in vars(base) if name[0] != "_"])


def members(kind: Any) -> dict[str, Any]:
    """What objects of a class find there by its name, or in a module: not what the interpreter has put there."""
    spaces = (
        [vars(base) for base in reversed(mro(kind)) if base.__flags__ & HEAP]
        if isinstance(kind, type)
        else [vars(kind)]
    )
    return {name: value for space in spaces for name, value in space.items()}


def led_to(kind: Any, names: Set[str]) -> set[str]:
    """Those of a class's members that code has names of, and of modules those that these look for in turn."""
    made = members(kind)
    known, todo = set[str](), names & made.keys()
    if not (isinstance(kind, type) and issubclass(kind, Module)):
        return todo
    while todo:
        known |= todo
        codes = [code for name in todo if (code := getattr(made[name], "__code__", None)) is not None]
        todo = {name for code in codes for name in names_in(code).attributes & made.keys() if name[:2] != "__"} - known
    return known


@functools.cache
def read_by_libraries(kind: type) -> frozenset[str]:
    """The attributes that libraries' classes from which a user's class is derived read: of modules, those that they set."""
    bases = [base for base in kind.__mro__ if base is not Module and of_library(base)]
    makers = [vars(base).get("__init__") for base in bases if issubclass(base, Module)]
    found = [names_in(m.__code__).stored for m in makers if isinstance(m, types.FunctionType)]
    members = [m for base in bases if not issubclass(base, Module) for m in vars(base).values()]
    functions = [getattr(m, "fget", getattr(m, "__func__", m)) for m in members]
    found += [names_in(f.__code__).attributes for f in functions if isinstance(f, types.FunctionType)]
    return frozenset().union(*found, methods_for_libraries(kind))


def is_a(kind: str, value: Any) -> bool:
    """Whether a value is of a class, whose library may not be imported."""
    return any([f"{base.__module__}.{base.__qualname__}" == kind for base in type(value).__mro__])


def is_traced(attributes: Any) -> bool:
    """Whether an object of this package with these attributes is ``Traced``."""
    return "_own" in (attributes or ())


def levels(logger: Any) -> tuple[Any, ...]:
    """What decides whether a log is written."""
    return logger.getEffectiveLevel(), logger.disabled, logger.manager.disable


def name_of(root: Any) -> str:
    """What a function that is traced is called."""
    return stored(root, "__name__", "self")


def chained(function: types.FunctionType, names: Names) -> Iterator[tuple[types.ModuleType, str, str]]:
    """What a function reads from modules of libraries: ``torch.relu``, and ``torch.nn`` and its ``functional``."""
    free = dict(zip(function.__code__.co_freevars, map(held, function.__closure__ or ())))
    for first, *rest in names.chains:
        value, path = free.get(first, function.__globals__.get(first)), first
        for name in rest:
            if not isinstance(value, types.ModuleType) or name not in vars(value) or not of_library(vars(value)):
                break
            path = f"{path}.{name}"
            yield value, name, path
            value = vars(value)[name]
