"""Samples of softmax and its logarithm."""

from __future__ import annotations

from .sample import Sample, normal, sample

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
    "log_softmax": log_softmax,
    "log_softmax_backward": log_softmax[:2],
}
