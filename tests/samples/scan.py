"""Samples of running sums, products, maxima and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch import _op

from .sample import Sample, distinct, normal, sample


def _row(name: str, *params: Any) -> Callable[..., Any]:
    """A call of a row that has no public function."""
    return lambda torch, *inputs: _op.rows[name].call(*inputs, *params)


SAMPLES: dict[str, list[Sample]] = {
    "shift": [
        sample(_row("shift", 0, 1), normal(3, 2), in_torch=False),
        sample(_row("shift", 1, -1), normal(3, 2), in_torch=False),
    ],
    "linear_recurrence": [
        sample(_row("linear_recurrence", 1), normal(2, 4), normal(2, 4), in_torch=False),
        sample(_row("linear_recurrence", 0, True), normal(4, 2), normal(4, 2), in_torch=False),
    ],
    "exclusive_cumprod": [
        sample(_row("exclusive_cumprod", 1), normal(2, 4), in_torch=False),
        sample(_row("exclusive_cumprod", 0, True), [0.0, 2.0, 0.0, 3.0], in_torch=False),
    ],
    "exp_difference": [sample(_row("exp_difference"), [0.5, -1.0, 2.0], [1.0, 0.5, 2.5], in_torch=False)],
    "cumsum": [
        sample(lambda torch, x: x.cumsum(0), normal(3, 2)),
        sample(lambda torch, x: torch.cumsum(x, -1), normal(3, 2)),
        sample(lambda torch, x: x.cumsum(0), normal()),
    ],
    "cumprod": [
        sample(lambda torch, x: x.cumprod(1), normal(2, 4)),
        sample(lambda torch, x: torch.cumprod(x, 0), [[0.0, 2.0], [3.0, 0.0], [0.0, 1.5], [2.0, 4.0]]),
        sample(lambda torch, x: x.cumprod(0), normal()),
    ],
    "logcumsumexp": [
        sample(lambda torch, x: x.logcumsumexp(1), normal(2, 4)),
        sample(lambda torch, x: torch.logcumsumexp(x, 0), normal(3)),
    ],
    "cummax": [
        sample(lambda torch, x: x.cummax(1), distinct(3, 4)),
        sample(lambda torch, x: torch.cummax(x, 0)[0], distinct(5)),
    ],
    "cummin": [
        sample(lambda torch, x: x.cummin(0), distinct(3, 4)),
        sample(lambda torch, x: torch.cummin(x, 0)[0], distinct()),
    ],
}
