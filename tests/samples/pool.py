"""Samples of pooling."""

from __future__ import annotations

from typing import Any

from .sample import Sample, distinct, normal, sample


def pool(name: str, *inputs: Any, **options: Any) -> Sample:
    return sample(lambda t, *x: getattr(t.nn.functional, name)(*x, **options), *inputs)


max_pools = [
    pool("max_pool2d", distinct(1, 2, 4, 5), kernel_size=2),
    pool("max_pool2d", distinct(2, 5, 4), kernel_size=3, stride=1, padding=1, dilation=1, ceil_mode=True),
    pool("max_pool1d", distinct(2, 6), kernel_size=3, stride=2),
]
avg_pools = [
    pool("avg_pool2d", normal(1, 2, 4, 5), kernel_size=2),
    pool("avg_pool2d", normal(2, 5, 4), kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    pool("avg_pool2d", normal(2, 4, 4), kernel_size=2, divisor_override=3),
    pool("avg_pool1d", normal(2, 6), kernel_size=3, stride=2, padding=1),
]
adaptive = [
    pool("adaptive_avg_pool2d", normal(1, 2, 5, 4), output_size=(2, 3)),
    pool("adaptive_avg_pool1d", normal(2, 5), output_size=3),
]

SAMPLES: dict[str, list[Sample]] = {
    "max_pool2d": max_pools,
    "max_pool3d": [pool("max_pool3d", distinct(1, 1, 4, 2, 4), kernel_size=2)],
    "max_pool_grad": max_pools,
    "adaptive_max_pool2d": [pool("adaptive_max_pool2d", distinct(1, 2, 5, 4), output_size=(2, None))],
    "adaptive_max_pool3d": [pool("adaptive_max_pool3d", distinct(1, 3, 2, 4), output_size=2)],
    "avg_pool2d": avg_pools,
    "avg_pool3d": [pool("avg_pool3d", normal(1, 1, 4, 2, 4), kernel_size=2)],
    "avg_pool_grad": avg_pools,
    "adaptive_avg_pool2d": adaptive,
    "adaptive_avg_pool3d": [pool("adaptive_avg_pool3d", normal(1, 3, 2, 4), output_size=2)],
    "adaptive_avg_pool_grad": adaptive,
}
