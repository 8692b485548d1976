"""Helpers for tests."""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING

from ._comparison import assert_close
from ._creation import make_tensor

if TYPE_CHECKING:
    from ._check import check_gradients
    from ._report import GradientError, GradientReport

__all__ = ["GradientError", "GradientReport", "assert_close", "check_gradients", "make_tensor"]

_LATER = {"GradientError": "_report", "GradientReport": "_report", "check_gradients": "_check"}
"""Names whose modules are imported when they are first asked for."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(f".{_LATER[name]}", __name__), name)
