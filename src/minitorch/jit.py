"""TorchScript: there is none; ``script`` and ``trace`` return what they are given, and it runs as Python.

Examples
--------
>>> import minitorch as torch
>>> @torch.jit.script
... def double(x):
...     return 2 * x
>>> double(torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import builtins
from typing import Any, NoReturn

from .nn import Module

__all__ = [
    "ScriptModule", "annotate", "export", "freeze", "ignore", "is_scripting", "is_tracing", "isinstance", "load",
    "optimize_for_inference", "save", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused",
]  # fmt: skip


class ScriptModule(Module):
    """A module, for programs that ask whether one is scripted: none is, unless its class says so."""


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """The function, class or module itself: it runs as Python. It has no ``save``, ``code`` or ``graph``."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """The function or module itself.

    What a trace would freeze, such as the branch of an ``if`` that the example took, is decided anew at each call.
    """
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """The module itself: see ``trace``."""
    return mod


def script_if_tracing(fn: Any) -> Any:
    """The function itself."""
    return fn


export = unused = script_method = freeze = optimize_for_inference = script


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself; or, given a flag, a decorator that returns it."""
    return drop if callable(drop) else script


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's ``isinstance``."""
    return builtins.isinstance(obj, target_type)


def is_scripting() -> bool:
    """Whether TorchScript is compiling or running this: never."""
    return False


def is_tracing() -> bool:
    """Whether a call is being traced: never."""
    return False


def save(m: Any, f: Any, *args: Any, **options: Any) -> NoReturn:
    """Refused: there is no TorchScript to save.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        "jit.save: there is no TorchScript; save the state dict, torch.save(model.state_dict(), f)"
    )


def load(f: Any, *args: Any, **options: Any) -> NoReturn:
    """Refused: there is no TorchScript to run.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("jit.load: there is no TorchScript; define the module, and load a state dict into it")
