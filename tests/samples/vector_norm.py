"""Samples of vector norms."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, distinct, normal, positive, sample


def _divide_or_zero(torch: Any, x: Any, y: Any) -> Any:
    return _op.rows["divide_or_zero"].call(x, y)


SAMPLES: dict[str, list[Sample]] = {
    "divide_or_zero": [sample(_divide_or_zero, normal(2, 3), positive(2, 3), in_torch=False)],
    "vector_norm": [
        sample(lambda torch, x: x.norm(), normal(2, 3)),
        sample(lambda torch, x: torch.norm(x, 1, dim=1), distinct(2, 3), order=1),
        sample(lambda torch, x: x.norm(float("inf"), dim=(0, 2), keepdim=True), distinct(2, 3, 2), order=1),
        sample(lambda torch, x: torch.norm(x, p=-float("inf")), distinct(2, 3), order=1),
        sample(lambda torch, x: x.norm(3, 0), normal(3, 2)),
        sample(lambda torch, x: x.norm(1.5), normal(3)),
        sample(lambda torch, x: x.norm(0.5, dim=1), distinct(2, 3)),
        sample(lambda torch, x: x.norm(p=2, dim=-1, keepdim=True), normal(2, 3)),
    ],
}
