"""Samples of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch import _op

from .sample import Sample, normal, sample, within

CLASSES = [0, 1, 2, 1]
PLANES = [[0, 1], [2, 1]]


def reduced(name: str, *inputs: np.ndarray, **options: Any) -> list[Sample]:
    """The loss of inputs and targets, in each reduction."""
    return [
        sample(lambda t, *x, r=r: getattr(t.nn.functional, name)(*x, reduction=r, **options), *inputs)
        for r in ("mean", "sum", "none")
    ]


def weighted(torch: Any, like: Any, *weights: float) -> Any:
    return torch.tensor(weights, dtype=like.dtype)


def nll(target: Any, *shape: int, **options: Any) -> Sample:
    return sample(lambda t, x: t.nn.functional.nll_loss(x, t.tensor(target), **options), normal(*shape))


def cross_entropy(t: Any, x: Any, **options: Any) -> Any:
    return t.nn.functional.cross_entropy(x, t.tensor(CLASSES), weight=weighted(t, x, 1.0, 2.0, 0.5), **options)


def bce(t: Any, x: Any, y: Any, **options: Any) -> Any:
    return t.nn.functional.binary_cross_entropy(x, y, weight=weighted(t, x, 1.0, 2.0, 0.5), **options)


def bce_logits(t: Any, x: Any, y: Any, **options: Any) -> Any:
    weight, pos_weight = weighted(t, x, 1.0, 2.0, 0.5), weighted(t, x, 0.5, 3.0, 1.0)
    return t.nn.functional.binary_cross_entropy_with_logits(x, y, weight, pos_weight=pos_weight, **options)


probabilities = within(0.1, 0.9, 4, 3), within(0.1, 0.9, 4, 3)
binary = [*reduced("binary_cross_entropy", *probabilities), sample(bce, *probabilities)]
classes = [
    nll(CLASSES, 4, 3),
    nll(CLASSES, 4, 3, reduction="none"),
    nll(CLASSES, 4, 3, ignore_index=1),
    nll(2, 3),
    sample(cross_entropy, normal(4, 3)),
    sample(lambda t, x: cross_entropy(t, x, ignore_index=1, label_smoothing=0.1), normal(4, 3)),
    sample(lambda t, x, y: t.nn.functional.cross_entropy(x, y, label_smoothing=0.1), normal(4, 3), probabilities[0]),
]
distances = np.array([0.2, -0.4, 1.5, -2.5]), np.array([0.1, 0.2, -0.3, 0.4])

SAMPLES: dict[str, list[Sample]] = {
    "mse_loss": [*reduced("mse_loss", normal(3, 2), normal(3, 2))],
    "smooth_l1_loss": reduced("smooth_l1_loss", *distances, beta=0.7),
    "huber_loss": reduced("huber_loss", *distances, delta=0.7),
    "binary_cross_entropy": binary,
    "bce_slope": [sample(lambda t, x, y: _op.rows["bce_slope"].call(x, y), *probabilities, in_torch=False)],
    "binary_cross_entropy_with_logits": [
        *reduced("binary_cross_entropy_with_logits", normal(4, 3), probabilities[1]),
        sample(bce_logits, normal(4, 3), probabilities[1]),
    ],
    "nll_loss": classes[:6],
    "nll_loss_backward": classes[:6],
    "nll_loss2d": [
        nll(PLANES, 2, 3, 2),
        nll([PLANES], 1, 3, 2, 2, reduction="none"),
        nll([PLANES], 1, 3, 2, 2, ignore_index=1, reduction="sum"),
    ],
    "log_softmax": classes[4:],
}
