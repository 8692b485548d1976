"""The time that a check may take: what would be called after it, is not called."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

_end: ContextVar[float] = ContextVar("end", default=float("inf"))


class OutOfTime(BaseException):
    """The time is up; not an Exception, as those of the function mean that it has no value."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Give what is done meanwhile so many seconds."""
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def left() -> float:
    """How many seconds are left."""
    return _end.get() - time.monotonic()


def said(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def in_time(needed: float = 0.0) -> None:
    """Go on only where so many seconds are left.

    Raises
    ------
    OutOfTime
    """
    if left() < needed:
        raise OutOfTime


class Timed:
    """A function that is called only as long as there is time for it.

    Attributes
    ----------
    seconds : float
        How long its shortest call took; 0 before the first one.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn, self.seconds = fn, 0.0

    def __call__(self, *args: Any) -> Any:
        in_time(self.seconds)
        start = time.monotonic()
        try:
            return self.fn(*args)
        finally:
            took = time.monotonic() - start
            self.seconds = min(self.seconds or took, took)
