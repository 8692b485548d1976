"""Helpers for tests."""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING

from ._comparison import assert_close
from ._creation import make_tensor

if TYPE_CHECKING:
    from . import strategies as strategies
    from ._check import check_gradients
    from ._property_test import PropertyError as PropertyError
    from ._property_test import PropertyReport as PropertyReport
    from ._property_test import property_test as property_test
    from ._report import GradientError, GradientReport

# property_test and strategies are left out: a star import would need Hypothesis
__all__ = ["GradientError", "GradientReport", "assert_close", "check_gradients", "make_tensor"]

_LATER = {
    "GradientError": "_report",
    "GradientReport": "_report",
    "PropertyError": "_property_test",
    "PropertyReport": "_property_test",
    "check_gradients": "_check",
    "property_test": "_property_test",
    "strategies": "strategies",
}
"""Names whose modules are imported when they are first asked for."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _LATER[name] == "_property_test":
        _importlib.import_module(".strategies", __name__)  # which says what to install where Hypothesis is missing
    module = _importlib.import_module(f".{_LATER[name]}", __name__)
    return module if name == _LATER[name] else getattr(module, name)
