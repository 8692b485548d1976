"""Accelerators: none is available.

Examples
--------
>>> import minitorch as torch
>>> accelerator = torch.accelerator
>>> accelerator.current_accelerator().type if accelerator.is_available() else "cpu"
'cpu'
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator: never."""
    return False


def current_accelerator(check_available: bool = False) -> None:
    """The device that is an accelerator: None."""
    return None


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


class device_index:
    """Context in which the accelerator of a number is current: refused, but for None."""

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            refused()

    def __exit__(self, *exc: object) -> None: ...


def refused(*args: Any, **options: Any) -> NoReturn:
    """Refused: there is no accelerator.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_idx = current_device_index = current_stream = refused
set_device_idx = set_device_index = set_stream = synchronize = refused
empty_cache = memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = refused
memory_stats = reset_accumulated_memory_stats = reset_peak_memory_stats = refused
