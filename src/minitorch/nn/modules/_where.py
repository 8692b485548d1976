"""Where in a model an error was raised."""

from __future__ import annotations

import contextlib
import sys
import traceback
from types import CodeType
from typing import Any


def note_place(error: Exception, call: CodeType) -> None:
    """Note on an error by which module it was raised, its path in the model that was called, and which shape does not fit.

    Parameters
    ----------
    error : Exception
        What a module's ``forward`` raised.
    call : code
        That of ``Module.__call__``, whose frames say which modules were being called.
    """
    frame = sys._getframe(1).f_back
    while frame is not None:
        if frame.f_code is call:
            return  # the outermost module notes it
        frame = frame.f_back
    with contextlib.suppress(Exception):  # of modules that are only half made
        called = [f.f_locals["self"] for f, _ in traceback.walk_tb(error.__traceback__) if f.f_code is call]
        error.add_note(place(called))
        innermost = [f for f, _ in traceback.walk_tb(error.__traceback__) if f.f_code is call][-1].f_locals
        if misfit := innermost["self"]._misfit(*innermost["args"], **innermost["kwargs"]):
            error.add_note(misfit)


def place(called: list[Any]) -> str:
    """A line about the last of the modules that call each other, the first of which is the model."""
    model, module = called[0], called[-1]
    path = next((name for name, below in model.named_modules() if below is module), "")
    kind = f"{module._get_name()}({'' if module._module_names else module.extra_repr()})"
    if module is model:
        return f"(raised by the module {kind})"
    return f"(raised by the module {f'at {path!r} of' if path else 'called by'} {model._get_name()}: {kind})"
