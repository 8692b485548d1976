"""Functions of which observers see one call, not what they call: those that change more than tensors."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from ._modes import observers
from ._records import _observing, shown_parts, tell_parts

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Thread(threading.local):
    inside = False


_thread = _Thread()  # no ContextVar, for kernels run in a context of their own

codes: set[CodeType] = set()
"""The codes of such functions: what they read and change is not looked at, as they are called again as they are."""


def inside() -> bool:
    """Whether what runs here is inside of such a call, which observers that see parts are told of at its end."""
    return _thread.inside


def marked(function: Any) -> Any:
    """Note a function as one of these, and those that are made in its place at other calls."""
    codes.add(function.__code__)
    return function


def as_one(function: _Function) -> _Function:
    """The decorator of a function that changes more than tensors: observers that see parts are shown one call of it."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not observers or not shown_parts():
            return function(*args, **kwargs)
        observing, within = _observing.set(True), _thread.inside
        _thread.inside = True
        try:
            out = function(*args, **kwargs)
        finally:
            _observing.reset(observing)
            _thread.inside = within
        tell_parts("ran", run, args, kwargs, out)
        return out

    return marked(run)
