"""A profiler that measures nothing: scripts that profile themselves run, and their tables say that nothing was measured.

Examples
--------
>>> import minitorch as torch
>>> from minitorch.profiler import ProfilerActivity, profile, record_function
>>> with profile(activities=[ProfilerActivity.CPU]) as prof, record_function("product"):
...     y = torch.ones(2, 2) @ torch.ones(2, 2)
>>> prof.events()
[]
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .autograd.profiler import profile as _profile
from .autograd.profiler import record_function

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """Where operations run."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class profile(_profile):
    """Context in which PyTorch measures operations; here, only steps are counted."""

    def __init__(self, *, on_trace_ready: Callable[..., Any] | None = None, **options: Any) -> None:
        super().__init__()
        self.step_num = 0

    def __enter__(self) -> profile:
        return self

    def start(self) -> None:
        """Begin; nothing is measured."""

    def stop(self) -> None:
        """End; nothing was measured."""

    def step(self) -> None:
        """Count a step."""
        self.step_num += 1

    def export_chrome_trace(self, path: str) -> None:
        """Refused: there is nothing to write.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("export_chrome_trace: minitorch measures no operations; use cProfile")


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in which step: nothing."""
    return lambda step: ProfilerAction.NONE


def tensorboard_trace_handler(*args: Any, **options: Any) -> Callable[[Any], None]:
    """A function that takes a profiler and writes nothing, as nothing was measured."""
    return lambda profiler: None


def supported_activities() -> set[ProfilerActivity]:
    """What can be measured: nothing."""
    return set()


def kineto_available() -> bool:
    """Whether PyTorch's profiler is there: never."""
    return False
