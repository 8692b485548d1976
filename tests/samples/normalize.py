"""Samples of normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch._kernels.normalize import Plan
from minitorch._op import rows

from .sample import Sample, normal, positive, sample


def norm(name: str, *inputs: Any, args: tuple[Any, ...], **options: Any) -> Sample:
    """A call with arguments between the input and its weight and bias."""
    return sample(lambda t, x, *p: getattr(t.nn.functional, name)(x, *args, *p, **options), *inputs)


def evaluated(*inputs: Any) -> Sample:
    mean, var = np.array([0.5, -1.0]), np.array([2.0, 0.7])
    return sample(
        lambda t, x, *p: t.nn.functional.batch_norm(x, t.tensor(mean, dtype=x.dtype), t.tensor(var, dtype=x.dtype), *p),
        *inputs,
    )


def bent(channels: tuple[int, ...], how_many: int, *inputs: Any) -> Sample:
    """The row of second derivatives on its own."""

    def function(t: Any, grad: Any, other: Any, x: Any) -> Any:
        plan = Plan(channels, how_many, 0.1)
        mean, var = rows["norm_moments"].call(x, plan)[:2]
        return rows["standardized_bend"].call(grad, other, x, mean.detach(), var.detach(), plan)

    return sample(function, *inputs, in_torch=False)


layers = [
    norm("layer_norm", normal(3, 4), positive(4), normal(4), args=((4,),)),
    norm("layer_norm", normal(2, 2, 3), positive(2, 3), args=((2, 3),), eps=0.1),
    norm("layer_norm", normal(2, 40), args=((40,),)),
]
batches = [
    norm("batch_norm", normal(3, 2, 2), positive(2), normal(2), args=(None, None), training=True),
    norm("batch_norm", normal(5, 2), positive(2), normal(2), args=(None, None), training=True),
    norm("batch_norm", normal(1, 2, 2, 17), args=(None, None), training=True, eps=0.1),
]
groups = [
    norm("group_norm", normal(2, 4, 3), positive(4), normal(4), args=(2,)),
    norm("group_norm", normal(2, 4), args=(2,)),
]
evaluations = [evaluated(normal(2, 2, 3), positive(2), normal(2)), evaluated(normal(3, 2))]
curved = sample(
    lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, training=True).tanh(),
    normal(3, 2),
    positive(2),
    normal(2),
)
curves = [
    sample(lambda t, x, w: t.nn.functional.layer_norm(x, (4,), w).tanh(), normal(3, 4), positive(4)),
    sample(lambda t, x, w: t.nn.functional.group_norm(x, 2, w).tanh(), normal(2, 4, 3), positive(4)),
]

SAMPLES: dict[str, list[Sample]] = {
    "norm_moments": batches,
    "layer_norm": layers,
    "batch_norm": [*batches, norm("instance_norm", normal(2, 2, 3), args=(None, None))],
    "batch_norm_evaluated": evaluations,
    "group_norm": groups,
    "normalized_backward": [*layers, *batches, *groups],
    "norm_weight_grad": [*layers[:2], *batches[:2], groups[0]],
    "standardized": [curved, *curves],
    "standardized_backward": [layers[0], batches[0], groups[0]],
    "standardized_bend": [
        layers[0],
        batches[0],
        groups[0],
        bent((3, 2), 0, *[normal(3, 2) for _ in range(3)]),
        bent((2, 2, 3), 2, *[normal(2, 2, 3) for _ in range(3)]),
    ],
    "over_deviation": evaluations,
    "channel_scaled": [layers[0], batches[0], evaluations[0]],
    "channel_total": [layers[0], batches[1], evaluations[0]],
    "channel_fill": [evaluations[0], curved],
}
