"""Which parts of a formula have shapes that depend on values."""

from __future__ import annotations

from typing import Any

_OF_A_SIZE = frozenset(["slice_backward", "select_backward", "reshape", "expand"])
_OF_THE_FIRST = frozenset(["put_at", "slice_scatter", "select_scatter", "masked_scatter", "scatter", "index_copy"])
"""Functions whose results have a shape that is written, or that of their first argument."""
VARYING = frozenset(["masked_select", "nonzero", "where", "unique_parts", "consecutive_parts", "repeats", "bincount"])
"""Functions whose results' shapes depend on values; ``where`` of a condition alone."""


def sized_by_values(e: Any) -> bool:
    """Whether a shape depends on values that a call gets: on a mask, on the ends of a slice, on how many there are."""
    if e.kind != "call":
        return False
    if e.head == "getitem":
        return any([a.dtype.kind == "b" for a in e.args[1:]])
    return len(e.args) > 1 if e.head == "slice" else e.head in VARYING and (e.head != "where" or len(e.args) == 1)


def is_loose(e: Any) -> bool:
    """Whether a shape depends on values: those that a call gets, or those that a part's shape depends on."""
    parts = e.args[:1] if e.head in _OF_THE_FIRST else () if e.head in _OF_A_SIZE else e.args
    return e.shape != () and (sized_by_values(e) or any([a.loose for a in parts]))
