"""Helpers for tests."""

from ._comparison import assert_close

__all__ = ["assert_close"]
