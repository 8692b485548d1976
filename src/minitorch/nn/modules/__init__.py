"""Layers, losses and containers, a family a file; all of them are names of this package too."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "utils":  # not those of nn
        return importlib.import_module(".utils", __name__)
    nn = importlib.import_module("..", __name__)
    layer = getattr(nn, name, None) if name in nn.__all__ else None
    if isinstance(layer, type):
        return layer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
