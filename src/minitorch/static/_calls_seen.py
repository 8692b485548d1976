"""What is told of every call in a ``with`` block."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Self


class CallsSeen:
    """A ``with`` block in which Python's profiler tells ``_see`` of calls; another one that runs is set aside."""

    def __enter__(self) -> Self:
        before: Any = sys.getprofile()
        self._before = before
        if hasattr(before, "disable"):  # cProfile's, which cannot be set again as a function is
            before.disable()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *exc: object) -> None:
        before = self._before
        sys.setprofile(None if hasattr(before, "enable") else before)
        if hasattr(before, "enable"):
            before.enable()

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        """A function, of Python or of C, is called or left: see ``sys.setprofile``."""
        raise NotImplementedError
