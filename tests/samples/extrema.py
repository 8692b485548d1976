"""Samples of maxima and minima, and of values chosen by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch import _op

from .sample import Sample, distinct, normal, sample

_INDEX = np.array([[2, 0], [1, 2]])
_REPEATED = np.array([[1, 1, 0], [2, 2, 2]])


def _row(name: str, *params: Any) -> Callable[..., Any]:
    """A call of a row that has no public function."""
    return lambda torch, *inputs: _op.rows[name].call(*inputs, *params)


SAMPLES: dict[str, list[Sample]] = {
    "equal_share": [sample(_row("equal_share"), [[1.0, 3.0], [3.0, 2.0]], 3.0, order=0, in_torch=False)],
    "max_all": [sample(lambda torch, x: x.max(), distinct(2, 3)), sample(lambda torch, x: torch.max(x), distinct())],
    "min_all": [sample(lambda torch, x: x.min(), distinct(2, 3))],
    "max_dim": [
        sample(lambda torch, x: x.max(0), distinct(2, 3)),
        sample(lambda torch, x: torch.max(x, -1, keepdim=True)[0], distinct(2, 3, 2)),
        sample(lambda torch, x: x.max(0), distinct()),
    ],
    "min_dim": [
        sample(lambda torch, x: x.min(1), distinct(2, 3)),
        sample(lambda torch, x: torch.min(x, dim=0, keepdim=True)[0], distinct(4)),
    ],
    "amax": [
        sample(lambda torch, x: x.amax(), distinct(2, 3)),
        sample(lambda torch, x: x.amax((0, 2)), distinct(2, 3, 2)),
        sample(lambda torch, x: torch.amax(x, 1, keepdim=True), distinct(2, 3)),
    ],
    "amin": [
        sample(lambda torch, x: x.amin(0), distinct(2, 3)),
        sample(lambda torch, x: torch.amin(x, (0, 1), keepdim=True), distinct(2, 3)),
    ],
    "aminmax": [
        sample(lambda torch, x: torch.aminmax(x), distinct(2, 3)),
        sample(lambda torch, x: x.aminmax(dim=1, keepdim=True), distinct(2, 3)),
    ],
    "take_along": [
        sample(_row("take_along", 1, _INDEX), normal(2, 3), in_torch=False),
    ],
    "put_along": [
        sample(_row("put_along", (2, 3), 1, _INDEX), normal(2, 2), in_torch=False),
        sample(_row("put_along", (2, 3), 1, _INDEX[:, :1], False), normal(2), in_torch=False),
    ],
    "take_repeatedly": [
        sample(_row("take_repeatedly", 1, _REPEATED), normal(2, 3), in_torch=False),
        sample(_row("take_repeatedly", 0, np.zeros((), int)), normal(), in_torch=False),
    ],
    "add_along": [
        sample(_row("add_along", (2, 3), 1, _REPEATED), normal(2, 3), in_torch=False),
    ],
}
