"""What a call does that a program would not: it prints, writes a log, warns, asks for the time, reads or writes files."""

from __future__ import annotations

import dis
import inspect
import io
import os
import sys
import warnings
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple, Self

from .._as_one import inside
from .._random import Generator
from .._sites import is_theirs, users_frame
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ._calls_seen import CallsSeen
from ._stands import MISSING
from ._told import Told, asked_in_c


class Effect(NamedTuple):
    """What a call does, in words; whether a first call alone may do it, as when it reads a file into a cache; whether it
    counts where this package does it, for whoever called that; whether it only speaks, so that no number depends on it; and
    whether it only asks, which counts where people's own code does."""

    said: str
    passing: bool = False
    through: bool = False
    speaks: bool = False
    asks: bool = False


_PRINTS = Effect("it prints, which a program does not: print outside what it returns", speaks=True)
_WARNS = Effect("it warns, which a program does not: warn outside", speaks=True)
_LOGS = Effect("it writes a log, which a program does not: log outside what it returns", speaks=True)
_STREAMS = Effect("it reads or writes a stream: do that outside, and pass what was read as an argument", True, True)
_SEEDS = Effect("it asks a generator for its seed: ask outside, and pass the seed as an argument", through=True)
_CATCHES = Effect(
    "an operation raises an error, which is caught; whether it does may depend on values: ask for them before",
    True,
    True,
)
_FUNCTIONS: dict[Any, Effect] = {
    print: _PRINTS,
    input: Effect("it calls input(): read before, and pass what was read as an argument"),
    open: Effect("it calls open(): read before, and pass what was read as an argument", True, True),
    eval: Effect("it calls eval(), which may read anything: write the expression itself"),
    exec: Effect("it calls exec(), which may read anything: write the statements themselves"),
    globals: Effect("it calls globals(), whose items are not seen: use the variable's name"),
    warnings.warn: _WARNS,
    warnings.warn_explicit: _WARNS,
}
_ASKS = Effect(
    "it asks an optimizer or a scheduler for its state or rate: do that outside, after the call", through=True
)
_IN_PYTHON = {"_log", "write", "seed", "initial_seed"}
_IN_PYTHON |= {"state_dict", "load_state_dict", "add_param_group", "get_last_lr", "get_lr", "print_lr", "__repr__"}
"""What methods of Python that do such things are called."""
_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}
_GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_LOOKS_UP = {"__getattr__", "__next__", "look_up"}
"""What fails where there is nothing of that name, or nothing more."""
_HARMLESS = {"fspath", "getpid", "_path_normpath", "_path_splitroot", "_path_splitroot_ex"}
"""What ``os`` tells that stays as it is."""
_LOADING = {"importlib", "_frozen_importlib", "runpy", "linecache", "inspect"}
"""Libraries that read files once: modules and their source."""
_CALLS_FORWARD = Module.__call__.__code__
_SPEAKING = {"logging", "warnings"}
"""Libraries that ask for the time, and write into streams, for what they say."""


class Effects(CallsSeen):
    """Notices such calls in its ``with`` block, wherever they are made: in the function, its helpers, or a library; and errors
    of this package that are caught.

    What C calls, such as ``map(print, …)``, is not seen; `Surroundings` asks `effect_of` where code hands such a function on.

    Attributes
    ----------
    said : str
        The first of them, in words, with the user's line; empty where there was none.
    spoken : str
        The same of those that only speak: it prints, writes a log, or warns.
    surely : bool
        Whether later calls are to be expected to do the same.
    codes : dict of int to (code, dict or None, object)
        By ``id``, the code of functions that ran, their globals: none where modules are imported, or logs written, and
        of people's the first argument of their first call.
    closures : dict of tuple to (code, list)
        The code of people's functions that ran and are closures, with the values of their variables.
    layers : set of type
        The classes of the modules that were called.
    told : Told
        What libraries told people's functions.
    """

    def __init__(self) -> None:
        self.said, self.spoken, self.surely = "", "", False
        self.codes: dict[int, tuple[CodeType, Any, Any]] = {}
        self.closures: dict[tuple[int, ...], tuple[CodeType, list[Any]]] = {}
        self.layers: set[type] = set()
        self.told = Told()

    def __enter__(self) -> Self:
        self._block = sys._getframe(1)
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        del self._block

    def _notice(self, frame: FrameType) -> None:
        """A function runs for the first time."""
        caller = frame if frame.f_back is None else frame.f_back
        imports = str(caller.f_globals.get("__name__")).partition(".")[0] in _LOADING | _SPEAKING
        within = self.codes.get(id(caller.f_code), (None, {}))[1] is None
        code = frame.f_code
        asked = code.co_argcount and is_theirs(code.co_filename)
        first = frame.f_locals.get(code.co_varnames[0]) if asked else None
        self.codes[id(code)] = code, None if imports or within else frame.f_globals, first

    def _notice_closure(self, frame: FrameType) -> None:
        """A closure runs, of which there may be several with one code."""
        code, values = frame.f_code, frame.f_locals
        if code.co_name[0] != "<" or code.co_name == "<lambda>":  # comprehensions are made where they run
            found = [values.get(name, MISSING) for name in code.co_freevars]
            self.closures[id(code), *map(id, found)] = code, found

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        if inside():  # that is called again, with whatever it does
            return
        if event in ("call", "return"):
            self.told.see(frame, event, called)
        if event == "call":
            if frame.f_code is _CALLS_FORWARD:
                self.layers.add(type(frame.f_locals["self"]))
            if id(frame.f_code) not in self.codes:
                self._notice(frame)
            if frame.f_code.co_freevars and is_theirs(frame.f_code.co_filename):
                self._notice_closure(frame)
        if event == "c_call":
            effect = effect_of(called)
            if effect is not None and effect.asks and not self.told.asks(frame, called):
                return
        elif event == "call" and frame.f_code.co_name in _IN_PYTHON:
            effect = _written_in_python(frame)
        elif event == "return" and called is None and _failed(frame):
            effect = _CATCHES
        else:
            return
        if effect is None or (self.spoken if effect.speaks else self.surely or (effect.passing and self.said)):
            return
        if not (place := _place(frame, self._block, effect)):
            return
        said = f"{effect.said} ({place})"
        if effect.speaks:
            self.spoken = said
        else:
            self.said, self.surely = said, not effect.passing


def effect_of(called: Any) -> Effect | None:
    """What a call of a function of C does."""
    holder, name = getattr(called, "__self__", None), called.__name__
    if holder.__class__ is ModuleType:
        module: str = holder.__name__
        if module == "time":
            return Effect(f"it calls time.{name}(): call it outside")
        if module in ("posix", "nt") and name not in _HARMLESS:
            return Effect(f"it calls os.{name}(): call it outside", True)
        if called not in _FUNCTIONS and (path := asked_in_c(called)):
            return Effect(f"it calls {path}(), which may tell another thing each time: call it outside", asks=True)
        return _FUNCTIONS.get(called)
    if isinstance(holder, io.IOBase):
        if holder is sys.stdout or holder is sys.stderr:
            return _PRINTS
        return None if isinstance(holder, (io.StringIO, io.BytesIO)) else _STREAMS
    if isinstance(holder, type) and holder.__module__ == "datetime" and name in ("now", "utcnow", "today"):
        return Effect(f"it calls {holder.__name__}.{name}(): call it outside")
    return None


def _written_in_python(frame: FrameType) -> Effect | None:
    """What a function of Python does that is called as those are that matter."""
    holder, name = next(iter(frame.f_locals.values()), None), frame.f_code.co_name
    if name == "write":
        return _PRINTS if holder is not None and (holder is sys.stdout or holder is sys.stderr) else None
    if name == "_log":
        return _LOGS if frame.f_globals.get("__name__") == "logging" else None
    if isinstance(holder, (Optimizer, LRScheduler)):
        caller = frame.f_back
        return _ASKS if caller is not None and is_theirs(caller.f_code.co_filename) else None
    return _SEEDS if isinstance(holder, Generator) else None


def _failed(frame: FrameType) -> bool:
    """Whether a function of this package, which people called, is left by an error."""
    code, caller = frame.f_code, frame.f_back
    if code.co_code[frame.f_lasti] in _RETURNS or code.co_flags & _GENERATES or code.co_name in _LOOKS_UP:
        return False
    ours = frame.f_globals.get("__name__", "") is None or not is_theirs(code.co_filename)
    return ours and caller is not None and is_theirs(caller.f_code.co_filename)


def _place(frame: FrameType | None, block: FrameType, effect: Effect) -> str:
    """The user's line that a call in a block comes from; empty where this package makes it for itself, or code is loaded."""
    caller: FrameType | None = None
    while frame is not None and frame is not block:
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in _LOADING or (library in _SPEAKING and not effect.speaks):
            return ""
        if caller is None and library not in sys.stdlib_module_names:
            caller = frame
        frame = frame.f_back
    if caller is None or not (effect.through or is_theirs(caller.f_code.co_filename)):
        return ""
    users = users_frame(caller)
    return "" if users is None else f"{os.path.basename(users.f_code.co_filename)}:{users.f_lineno}"
