"""Samples of softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, normal, sample


def called(name: str, dim: int, *inputs: Any) -> Sample:
    """A call of a row, of the gradient and the output among others."""
    return sample(lambda torch, *tensors: _op.rows[name].call(*tensors, dim), *inputs, in_torch=False)


softmax = [
    sample(lambda t, x: t.softmax(x, -1), normal(3, 4)),
    sample(lambda t, x: t.softmax(x, 1), normal(2, 3, 2)),
    sample(lambda t, x: t.nn.functional.softmin(x, 0), normal(4)),
    sample(lambda t, x: t.softmax(x, 0), normal()),
]
log_softmax = [
    sample(lambda t, x: t.log_softmax(x, -1), normal(3, 4)),
    sample(lambda t, x: t.log_softmax(x, 0), normal(3, 2, 2)),
    sample(lambda t, x: t.log_softmax(x, 0), normal()),
]

SAMPLES: dict[str, list[Sample]] = {
    "softmax": softmax,
    "softmax_backward": softmax[:3],
    "softmax_bend": [*softmax[:3], called("softmax_bend", 1, *[normal(2, 3, 2)] * 3)],
    "softmax_turn": [called("softmax_turn", -1, *[normal(2, 3)] * 3), called("softmax_turn", 0, *[normal()] * 3)],
    "log_softmax": log_softmax,
    "log_softmax_backward": log_softmax[:2],
    "log_softmax_bend": [*log_softmax[:2], called("log_softmax_bend", 0, *[normal(3, 2)] * 3)],
    "log_softmax_tangent": [called("log_softmax_tangent", dim, *[normal(2, 3)] * 2) for dim in (0, 1)],
}
