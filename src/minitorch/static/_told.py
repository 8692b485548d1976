"""What functions of libraries tell people's code: they may tell another thing at a later call, so they are called again."""

from __future__ import annotations

import dis
import gc
import sys
import types
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .. import _as_one, _runtime
from ._libraries import of_kind, of_library
from ._names_in_code import instructions_of
from ._stands import MISSING, alike, is_plain, mark, stored, weakly

_FOLLOWS = {
    "_collections_abc", "abc", "ast", "base64", "bisect", "codecs", "collections", "contextlib", "copy", "copyreg",
    "dataclasses", "enum", "fractions", "functools", "hashlib", "heapq", "inspect", "json", "keyword", "numbers", "numpy",
    "operator", "pickle", "pprint", "random", "re", "reprlib", "statistics", "string", "textwrap", "types", "typing",
}  # fmt: skip
"""Libraries of Python whose functions tell what follows from what they are given, or what is looked at otherwise."""
_SET = ("arrayprint", "_ufunc_config")
"""Modules of NumPy that are about settings."""
_KEYED = ("is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype")
"""Functions of this package that tell what each program is made for."""
_FOLLOWS_IN_C = {
    "_abc", "_bisect", "_blake2", "_codecs", "_collections", "_csv", "_datetime", "_decimal", "_functools", "_hashlib",
    "_heapq", "_io", "_json", "_md5", "_operator", "_random", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_sre",
    "_statistics", "_string", "_struct", "_typing", "_warnings", "_weakref", "binascii", "builtins", "cmath", "datetime",
    "itertools", "math", "nt", "numpy", "posix", "time", "unicodedata", "zlib",
}  # fmt: skip
"""Modules of C that are as those, or of which it is known which functions matter."""
_IDENTIFY = (id, hash)
_SAYS_NOTHING = {"PRECALL", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "NOP"}
_GENERATES = 0x20 | 0x80 | 0x200
_ARGS, _KEYWORDS = 0x04, 0x08


def asked_in_c(called: Any) -> str:
    """The name of a function of C, of a module, that tells what is not asked for again; empty for others."""
    module: str = called.__self__.__name__
    if called in _IDENTIFY:
        return called.__name__
    if called is sys.intern or module.partition(".")[0] in _FOLLOWS_IN_C:
        return ""
    return (
        called.__name__ if module[0] == "_" else f"{module}.{called.__name__}"
    )  # who has it of "_thread" is not known


class Again:
    """A call of a library's function that can be made again.

    Attributes
    ----------
    path : str
        How people would write it.
    found : object
        What it gave: an object that is kept somewhere, a plain value, or a text for a container of such.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], found: Any) -> None:
        self._call = function, args, kwargs
        self.path = f"{getattr(function, '__qualname__', function.__name__)}()"
        found = _comparable(found)
        self._found = weakly(found) or (lambda: found)  # another one than the library may keep it, or not

    @property
    def found(self) -> Any:
        return self._found()

    def __call__(self) -> Any:
        function, args, kwargs = self._call
        try:
            return _comparable(function(*args, **kwargs))
        except Exception:
            return MISSING

    def same_call(self, other: Any) -> bool:
        """Whether another one is the same call."""
        (code, args, kwargs), (its, others, named) = [(c[0].__code__, *c[1:]) for c in (self._call, other._call)]
        given, its_given = [*args, *kwargs.values()], [*others, *named.values()]
        return code is its and len(given) == len(its_given) and all(map(alike, given, its_given))


class Told:
    """Notices which functions of libraries people's own functions call that may tell of more than what they are given.

    Attributes
    ----------
    identified : list
        The objects that ``id`` or ``hash`` was asked of.
    """

    def __init__(self) -> None:
        self.identified: list[Any] = []
        self._kinds: dict[int, tuple[str, CodeType]] = {}  # by id: the hash of a code is slow
        self._given: dict[int, list[Any]] = {}
        self._calls: list[tuple[Any, list[Any], Any]] = []  # no frames, which would keep all of the call alive

    def see(self, frame: FrameType, event: str, told: Any) -> None:
        """A function of Python begins or ends."""
        if event == "return":
            if (given := self._given.pop(id(frame), None)) is None or frame.f_back is None:
                return
            asks = self._kind_of(frame) == "library" or (is_plain(told) and told is not None)
            if asks and not _is_dropped(frame.f_back):
                self._calls.append((_function_of(frame), given, told))
        elif frame.f_back is None or self._kind_of(frame.f_back) != "theirs":
            return
        elif self._kind_of(frame) in ("library", "ours"):
            values = frame.f_locals
            self._given[id(frame)] = [values.get(name, MISSING) for name in _parameters(frame.f_code)]

    def _kind_of(self, frame: FrameType) -> str:
        """Whose a function is; empty for libraries that tell nothing."""
        code = frame.f_code
        if (known := self._kinds.get(id(code))) is None:
            known = self._kinds[id(code)] = _kind_of(code, frame.f_globals), code
        return known[0]

    def asks(self, frame: FrameType, called: Any) -> bool:
        """Whether people's code wants to know what a function of C tells; not of ``id`` and ``hash`` where it is known of what
        they are asked, which is noted."""
        if self._kind_of(frame) != "theirs":
            return False
        if called not in _IDENTIFY:
            return True
        if (value := _argument(frame)) is not MISSING:
            self.identified.append(value)
        return value is MISSING

    def again(self) -> list[Again]:
        """The calls that tell the same where they are made again; others make something, or tell what the call did."""
        found: list[Again] = []
        young: set[int] | None = None
        for function, given, told in self._calls:
            if of_kind(told, (_runtime.Tensor, np.ndarray)) or hasattr(type(told), "__next__"):
                continue
            args, kwargs = _as_given(function.__code__, given)
            values = [*args, *kwargs.values()]
            if any([of_kind(value, _runtime.Tensor) or value is MISSING for value in values]):
                continue
            if young is None:
                young = set(map(id, gc.get_objects(0)))
            if self._kinds[id(function.__code__)][0] == "ours":
                if not all(map(is_plain, values)):
                    continue
            elif any([id(value) in young and not of_kind(_comparable(value), str) for value in values]):
                continue
            call = Again(function, args, kwargs, told)
            if not any(map(call.same_call, found)):
                found.append(call)
        return found


def _kind_of(code: CodeType, names: dict[str, Any]) -> str:
    if not of_library(names):
        return "theirs"
    package, _, rest = str(names.get("__name__")).partition(".")
    if code.co_flags & _GENERATES or code in _as_one.codes:
        return ""
    if package == __name__.partition(".")[0]:
        return "" if code.co_name in _KEYED else "ours"
    return "library" if package not in _FOLLOWS or rest.endswith(_SET) else ""


def _comparable(value: Any) -> Any:
    """A value as it can be compared: a container of plain values as a text."""
    if is_plain(value) or type(value) not in (list, tuple, dict):
        return value
    others: list[Any] = []
    text = repr(mark(value, others))
    return value if others else text


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[: count + bool(code.co_flags & _ARGS) + bool(code.co_flags & _KEYWORDS)]


def _as_given(code: CodeType, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, from what its parameters were."""
    by_place, count = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    args, rest = [*values[:by_place]], [*values[count:]]
    if code.co_flags & _ARGS:
        args += rest.pop(0)
    kwargs = dict(zip(code.co_varnames[by_place:count], values[by_place:count]))
    return args, kwargs | (rest.pop() if rest else {})


def _function_of(frame: FrameType) -> Any:
    """The function that a frame is of, or one that does the same."""
    code, values = frame.f_code, frame.f_locals
    closure = tuple([types.CellType(values[name]) if name in values else types.CellType() for name in code.co_freevars])
    return types.FunctionType(code, frame.f_globals, code.co_name, None, closure)


def _instruction(frame: FrameType) -> int:
    """The number of the instruction that a frame is at."""
    known = instructions_of(frame.f_code)
    return max([number for number, instruction in enumerate(known) if instruction.offset <= frame.f_lasti], default=0)


def _is_dropped(frame: FrameType) -> bool:
    """Whether nothing becomes of the result of the call that a frame makes."""
    after = instructions_of(frame.f_code)[_instruction(frame) + 1 :]
    return next((i.opname for i in after if i.opname not in _SAYS_NOTHING), "") == "POP_TOP"


def _argument(frame: FrameType) -> Any:
    """What stands in the only argument of the call that a frame makes; MISSING where that is no variable or attribute."""
    known = instructions_of(frame.f_code)[: _instruction(frame) + 1]
    before = [i for i in known[:-1] if i.opname not in _SAYS_NOTHING]
    names: list[str] = []
    while before and before[-1].opname == "LOAD_ATTR":
        names.append(before.pop().argval)
    last: dis.Instruction | None = before[-1] if before else None
    if last is None or not last.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL")):
        return MISSING
    if any([i.is_jump_target and i.offset > last.offset for i in known]):  # as after "a if c else b"
        return MISSING
    value = {**frame.f_globals, **frame.f_locals}.get(last.argval, MISSING)
    for name in reversed(names):
        value = stored(value, name)
    return value
