"""Profilers that measure nothing: contexts that scripts can enter. To see what was recorded, use ``autograd.Tape``."""

from __future__ import annotations

from typing import Any

from .._modes import ModeDecorator

__all__ = ["emit_itt", "emit_nvtx", "profile", "record_function"]


class record_function(ModeDecorator):
    """Context manager or decorator that names a part of a program; nothing is measured.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.autograd.profiler.record_function("forward"):
    ...     y = torch.ones(2) * 2
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def clone(self) -> record_function:
        return record_function(self.name, self.args)

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: object) -> None: ...


class EventList(list[Any]):
    """What a profiler measured: nothing."""

    def table(self, *args: Any, **options: Any) -> str:
        """What there is to show, as text."""
        return (
            "minitorch measures no operations: use cProfile, or autograd.Tape to see what was recorded, and where "
            "(autograd.record_sites)"
        )

    def total_average(self) -> EventList:
        """The same: nothing."""
        return self

    __str__ = table


class profile:
    """Context in which PyTorch measures operations; here, nothing is measured."""

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def __enter__(self) -> profile:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """What was measured: nothing; ``table()`` says so."""
        return EventList()

    def events(self) -> EventList:
        """What was measured: nothing."""
        return EventList()

    def table(self, *args: Any, **options: Any) -> str:
        """What was measured, as text that says that nothing was."""
        return EventList().table()


emit_itt = emit_nvtx = profile
