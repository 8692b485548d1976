"""Sizes that depend on values: of what a mask selects, of a slice up to an index that was computed.

Most texts are right for any such size. Others, ``mean`` and its derivative among them, have the size that was recorded written
into them: they are evaluated where it is that one, and refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .._op import rows
from ._expressions import Expression
from ._formula_text import COMPARISONS, PythonWriter
from ._loose import sized_by_values

_OF_ANY_SIZE = frozenset(
    ["sum", "max", "min", "amax", "amin", "vector_norm", "logsumexp", "softmax", "log_softmax", "cumsum", "flip"]
)
"""Functions, besides those of each element, whose derivatives do not have the size in them."""


class Size(NamedTuple):
    """A part whose shape depends on values: its text, and the shape that it had where it was recorded."""

    text: str
    shape: tuple[int, ...]


def sizes_of(order: Iterable[Expression], python: PythonWriter) -> list[Size]:
    """The parts whose shapes must be as they were recorded, of all parts of a formula."""
    order = list(order)
    if all([fits_any_size(e) for e in order]):
        return []
    own = [e for e in order if e.loose and e.shape is not None and (sized_by_values(e) or e.kind == "item")]
    return [Size(python.done[e.serial].text, e.shape) for e in own]


def fits_any_size(e: Expression) -> bool:
    """Whether the text of an operation is right at any size of what it gets whose shape depends on values."""
    if e.head in ("slice_backward", "slice_scatter"):
        part = e.args[e.head == "slice_scatter"]
        return part.loose or len(e.args) == 1 + (e.head == "slice_scatter")
    if not any([a.loose for a in e.args]) or e.kind == "item" or e.head in ("getitem", "put_at", "detach", "to"):
        return True
    if e.head == "matmul":
        return True
    known = e.kind in ("sum", "product") or e.head in _OF_ANY_SIZE or is_elementwise(e.head)
    plain = e.head == "where" or e.head in COMPARISONS  # in which numbers are written without their shape
    return known and all([a.loose or a.shape == () or (plain and a.kind == "number") for a in e.args])


def is_elementwise(head: Any) -> bool:
    return head in rows and rows[head].elementwise


def must_fit(sizes: list[Size], scope: Mapping[str, Any]) -> None:
    """Raise where a part has another shape than it had."""
    for size in sizes:
        try:
            found = tuple(eval(size.text, {"__builtins__": {}}, scope).shape)
        except (NameError, RuntimeError, IndexError, ValueError, TypeError):  # of what was not computed
            continue
        if found != size.shape:
            raise ValueError(
                f"evaluate(): at these values {size.text} has shape {found}, but it had {size.shape} where the function was "
                "recorded, and the formula is for that; record the function at these values"
            )
