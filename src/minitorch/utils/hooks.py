"""The handles of hooks."""

from .._extras import RemovableHandle

__all__ = ["RemovableHandle"]
