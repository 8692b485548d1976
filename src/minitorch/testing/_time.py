"""The calls of a function that is checked: none after the time is up, and those that raise are made twice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
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


class Unsteady(BaseException):
    """The function raised where, called again, it does not; not an Exception, as those mean that it has no value."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


_DOUBTS = 4
"""So many of the calls that raise are repeated."""


class Timed:
    """A function that is called only as long as there is time for it.

    Attributes
    ----------
    seconds : float
        How long its shortest call took; 0 before the first one.
    repeated : int
        How many calls that raised were made again.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn, self.seconds, self.repeated = fn, 0.0, 0

    def __call__(self, *args: Any) -> Any:
        in_time(self.seconds)
        try:
            return self._timed(args)
        except Exception as error:
            if self.repeated < _DOUBTS and left() > self.seconds:
                self.repeated += 1
                with contextlib.suppress(Exception):
                    self._timed(args)
                    raise Unsteady(error) from None
            raise

    def _timed(self, args: Sequence[Any]) -> Any:
        start = time.monotonic()
        try:
            return self.fn(*args)
        finally:
            took = time.monotonic() - start
            self.seconds = min(self.seconds or took, took)
