"""Which instructions of people's own functions run, and which attributes they ask for by computed names."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .._as_one import inside
from ._libraries import of_library
from ._names_in_code import instructions_of

_ELSEWHERE = {"threading", "concurrent", "queue", "asyncio", "multiprocessing"}
"""Libraries that run functions in other threads, which are not looked at."""
_ASKING: dict[str, Any] = {name: getattr(builtins, name) for name in ("getattr", "hasattr", "setattr")}
_asked: dict[int, set[str]] = {}
"""By thread, the names that it has asked for."""
_lock = threading.Lock()


class Part(NamedTuple):
    """Of a function that has run: its code, its globals, and the places of the instructions that did."""

    code: CodeType
    names: dict[str, Any]
    places: set[int]


class Executed:
    """Notices which instructions run in its ``with`` block, as a debugger does; not where one is at work already.

    Parameters
    ----------
    asks : bool
        Whether names are computed for ``getattr``, ``hasattr`` or ``setattr``, which are noted then.

    Attributes
    ----------
    parts : dict of int to Part
        By the ``id`` of their code.
    asked : set of str
    complete : bool
        Whether what ran was seen.
    """

    def __init__(self, asks: bool) -> None:
        self.parts: dict[int, Part] = {}
        self.asked: set[str] = set()
        self.complete = False
        self._asks = asks
        self._tracers: dict[int, tuple[CodeType, Any]] = {}

    def __enter__(self) -> Executed:
        self._sees = sys.gettrace() is None
        if self._asks:
            _note_asked(self.asked)
        if self._sees:
            self.complete = True
            sys._getframe().f_trace_opcodes = (
                True  # without which Python 3.12 tells of none in the function that runs first
            )
            sys.settrace(self._call)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._sees and sys.gettrace() == self._call:
            sys.settrace(None)
            self.complete = self.complete and all([_from_the_start(part) for part in self.parts.values()])
        else:
            self.complete = False
        if self._asks:
            _note_asked(None)

    def began(self, code: CodeType) -> bool:
        """Whether a function has run, a library's among them."""
        return id(code) in self._tracers

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function begins, or goes on."""
        if inside():  # that is called again, whatever it does
            return None
        code = frame.f_code
        if id(code) not in self._tracers:
            self._tracers[id(code)] = code, self._tracer(code, frame.f_globals)
        _, tracer = self._tracers[id(code)]
        if tracer is not None:
            frame.f_trace = tracer  # which has to be there for the next line to count, from Python 3.13 on
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return tracer

    def _tracer(self, code: CodeType, names: dict[str, Any]) -> Callable[[FrameType, str, Any], Any] | None:
        if of_library(names):
            if str(names.get("__name__")).partition(".")[0] in _ELSEWHERE:
                self.complete = False
            return None
        places: set[int] = set()
        self.parts[id(code)] = Part(code, names, places)
        add = places.add

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            add(frame.f_lasti)
            return trace

        return trace


def _from_the_start(part: Part) -> bool:
    """Whether the interpreter has told of a function's first instruction."""
    known = instructions_of(part.code)
    begins = [following.offset for i, following in pairwise(known) if i.opname == "RESUME"]
    return bool(part.places and begins) and min(part.places) <= begins[0]


def _note_asked(names: set[str] | None) -> None:
    """Let this thread's computed names be noted, or no more."""
    thread = threading.get_ident()
    with _lock:
        if names is not None:
            _asked[thread] = names
        else:
            _asked.pop(thread, None)
        vars(builtins).update({n: _noting(function) if _asked else function for n, function in _ASKING.items()})


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(*given: Any) -> Any:
        names = _asked.get(threading.get_ident())
        if names is not None and len(given) > 1 and isinstance(given[1], str):
            names.add(given[1])
        return function(*given)

    look_up.__name__ = look_up.__qualname__ = function.__name__
    look_up.__module__ = builtins.__name__  # so that a method is pickled, which names getattr, in other threads, too
    return look_up
