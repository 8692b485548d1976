"""Which of the values between the slopes of a kink PyTorch documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._compare import Comparison, Point


def documented(check: Any, found: Comparison) -> Iterator[tuple[str, list[Point]]]:
    """What is wrong at kinks, in words, with the entries: nothing where each value is the documented one."""
    wrong = [p for p in found.accepted if p.kind == "kink" and not _least(p)]
    if wrong:
        yield (
            f"{len(wrong)} entries at kinks have another value than PyTorch documents (the smallest between the slopes)",
            wrong[:5],
        )


def _least(point: Point) -> bool:
    low, high = sorted([point.left, point.right])
    expected = min(max(0.0, low), high)
    return abs(point.analytic - expected) <= 2 * point.error + 1e-2 * max(abs(low), abs(high))
