"""What belongs to libraries, whose code does not change while a program runs, and what is known of their objects of C."""

from __future__ import annotations

import _thread
import array
import builtins
import collections
import ctypes
import datetime
import decimal
import functools
import operator
import os
import pathlib
import re
import struct
import sys
import types
import weakref
from typing import Any

import numpy as np

_ENGINES = tuple(
    [folder + os.sep for folder in (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), np.__path__[0])]
)
"""The folders of this package and NumPy."""
_FOLDERS = (os.path.dirname(os.__file__) + os.sep, *_ENGINES)
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders, some beside the standard library's files, of what people install."""

HEAP = 1 << 9
"""The flag of classes that are no part of the interpreter, of which attributes may be set."""


def of_kind(value: Any, kinds: Any) -> bool:
    """Whether a value is an instance, as ``isinstance`` says; of one that raises where it is asked for its class, as that
    does."""
    try:
        return isinstance(value, kinds)
    except Exception:
        return issubclass(type(value), kinds)


def answers(value: Any) -> bool:
    """Whether an object says of which class it is, and what attributes it has."""
    try:
        return bool(value.__class__) and (not type(value).__dictoffset__ or value.__dict__ is not None)
    except Exception:
        return False


def of_library(holder: Any) -> bool:
    """Whether a class, or a function's globals, belong to a library, which does not change while a program runs."""
    if of_kind(holder, dict):
        if holder.get("__name__", "") is None:
            return True  # a row's recorder, see ``_op``
        module = sys.modules.get(getattr(holder.get("__spec__"), "name", ""))
        copied = module is not None and vars(module) is not holder  # as for a doctest
        return not copied and _among_them(holder)
    module = sys.modules.get(str(holder.__module__))
    if not holder.__flags__ & HEAP:
        return True
    if module in (None, builtins) or (module is types and vars(types).get(holder.__name__) is not holder):
        return False  # those that are made by functions, such as ``make_dataclass``, are said to be there
    return _among_them(vars(module))


def _among_them(names: dict[str, Any]) -> bool:
    """Whether a module is of the standard library, NumPy, or this package: by its file, as people's have such names, too."""
    name, file = names.get("__name__"), names.get("__file__")
    if name == "__main__":
        return False
    if not of_kind(file, str):
        return getattr(names.get("__spec__"), "origin", "") in ("built-in", "frozen")
    return in_library(file)


@functools.cache
def in_library(file: str) -> bool:
    """Whether a file is of the standard library, NumPy, or this package."""
    rest = [file[len(folder) :] for folder in _FOLDERS if file.startswith(folder)]
    return bool(rest) and _INSTALLED.isdisjoint(min(rest, key=len).split(os.sep))


@functools.cache
def is_installed(file: str) -> bool:
    """Whether a file is of a library at all: one of these, or one that people have installed."""
    return in_library(file) or not _INSTALLED.isdisjoint(file.split(os.sep))


def of_engine(kind: type) -> bool:
    """Whether a class is NumPy's or this package's."""
    return _file_of(kind).startswith(_ENGINES)


def is_not_peoples(kind: type) -> bool:
    """Whether a class is of a library at all."""
    return of_library(kind) or is_installed(_file_of(kind))


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(str(kind.__module__)), "__file__", ""))


# -- objects of C ------------------------------------------------------------------------------------------------------
_FIELD: Any = type(vars(type("", (ctypes.Structure,), {"_fields_": [("x", ctypes.c_int)]}))["x"])
_ITEM: Any = type(vars(collections.namedtuple("_Named", "x"))["x"])
FIXED = (
    pathlib.PurePath, re.Pattern, re.Match, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    decimal.Decimal, decimal.Context, slice, struct.Struct, np.ufunc, operator.itemgetter,
    types.CodeType, types.GenericAlias, types.UnionType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    type(NotImplemented), _FIELD, _ITEM,
)  # fmt: skip
"""Objects that do not change, but for attributes of people's subclasses."""
_WALKED = frozenset([
    object, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray, array.array, type, BaseException,
    collections.deque, collections.defaultdict, collections.OrderedDict, types.SimpleNamespace, types.ModuleType,
    functools.partial, functools._lru_cache_wrapper, weakref.ref, np.ndarray,
    types.FunctionType, types.MethodType, property, staticmethod, classmethod, super, types.CellType,
])  # fmt: skip
"""Classes of C whose objects are looked into otherwise."""
_LOCKS = (type(_thread.allocate_lock()), _thread.RLock)
_POINTERS = (ctypes._Pointer, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes.py_object)
_MOST = 1_000_000
"""The bytes beyond which memory is not compared at each call."""


def decimal_places(context: Any = None) -> tuple[Any, ...]:
    """How decimal numbers are computed: in this thread, if no context is given."""
    found: tuple[Any, ...] = (context or decimal.getcontext()).__reduce__()[1][:6]  # what follows is set by computing
    return found


def question(value: Any) -> Any:
    """A function that tells the state of an object of C, as a plain value; None where it has none, or it is looked into
    otherwise; a text, where it cannot be told."""
    if of_kind(value, _LOCKS):
        return functools.partial(repr, value)
    if of_kind(value, decimal.Decimal):
        return decimal_places
    if of_kind(value, decimal.Context):
        return functools.partial(decimal_places, value)
    if type(value).__name__ == "SemLock":  # of multiprocessing, which is not everywhere
        return value._is_zero
    kind: Any = type(value)
    if not _is_hidden(kind):
        return None
    try:
        size = memoryview(value).nbytes
    except (TypeError, ValueError, BufferError):
        return "whose state is not seen"
    if of_kind(value, _POINTERS) or size > _MOST:
        return "whose memory is not compared"
    return functools.partial(bytes, value)


@functools.cache
def _is_hidden(kind: Any) -> bool:
    """Whether objects of a class have a state that C keeps for itself."""
    known = (*_WALKED, *FIXED)
    hidden = [base for base in kind.__mro__ if _of_c(base) and base not in known and not issubclass(base, FIXED)]
    return bool(hidden) and not issubclass(kind, BaseException)


def _of_c(kind: type) -> bool:
    """Whether a class is not one of Python: those have functions, slots, or places for attributes, or a base that has."""
    if kind is object or not kind.__flags__ & HEAP:
        return True
    own = vars(kind)
    if not own.keys().isdisjoint(("__slots__", "__dict__", "__weakref__", "__annotations__")):
        return False
    if any([hasattr(getattr(value, "__func__", value), "__code__") for value in own.values()]):
        return False
    return kind.__base__ is not None and _of_c(kind.__base__)
