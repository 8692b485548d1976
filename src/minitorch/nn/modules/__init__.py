"""Layers, losses and containers, a family a file; all of them are names of this package too."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    nn = importlib.import_module("..", __name__)
    if name in nn.__all__ and hasattr(nn, name):
        return getattr(nn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
