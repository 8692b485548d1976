"""Checkpoints: ``save`` and ``load`` in PyTorch's own file format."""

from ._names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._reader import load
from ._writer import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
