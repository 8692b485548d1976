"""Samples of sums, means, products and other reductions."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, distinct, normal, positive, sample


def _prod_backward(torch: Any, grad: Any, x: Any) -> Any:
    return _op.rows["prod_backward"].call(grad, x, 1)


SAMPLES: dict[str, list[Sample]] = {
    "sum_all": [
        sample(lambda torch, x: x.sum(), normal(2, 3)),
        sample(lambda torch, x: torch.sum(x), normal()),
    ],
    "sum": [
        sample(lambda torch, x: x.sum(0), normal(2, 3)),
        sample(lambda torch, x: x.sum((0, -1), keepdim=True), normal(2, 3, 2)),
        sample(lambda torch, x: x.sum(dim=()), normal(2, 3)),
        sample(lambda torch, x: x.sum(-1), normal()),
    ],
    "sum_to": [
        sample(lambda torch, x: _op.rows["sum_to"].call(x, (2, 1)), normal(3, 2, 4), in_torch=False),
        sample(lambda torch, x: _op.rows["sum_to"].call(x, (4,)), normal(3, 2, 4), in_torch=False),
    ],
    "nansum": [
        sample(lambda torch, x: x.nansum(), normal(2, 3)),
        sample(lambda torch, x: x.nansum(1, keepdim=True), normal(2, 3)),
        sample(lambda torch, x: torch.nanmean(x, 0), normal(2, 3)),
    ],
    "mean_all": [sample(lambda torch, x: x.mean(), normal(2, 3)), sample(lambda torch, x: x.mean(), normal())],
    "mean": [
        sample(lambda torch, x: x.mean(1), normal(2, 3)),
        sample(lambda torch, x: x.mean((0, 2), keepdim=True), normal(2, 3, 2)),
    ],
    "prod_all": [
        sample(lambda torch, x: x.prod(), positive(2, 3)),
        sample(lambda torch, x: x.prod(), [[0.0, 2.0], [0.0, 3.0]]),
        sample(lambda torch, x: x.prod(), positive()),
    ],
    "prod": [
        sample(lambda torch, x: x.prod(1), normal(2, 3)),
        sample(lambda torch, x: x.prod(0, keepdim=True), [[0.0, 2.0, 1.5], [3.0, 0.0, 4.0], [0.5, 0.0, -1.0]]),
        sample(lambda torch, x: x.prod(0), positive()),
    ],
    "prod_backward": [
        sample(_prod_backward, normal(2, 1), normal(2, 3), in_torch=False),
        sample(_prod_backward, normal(2, 1), [[0.0, 2.0, 1.5], [3.0, 0.0, 0.0]], in_torch=False),
    ],
    "logsumexp": [
        sample(lambda torch, x: x.logsumexp(1), normal(2, 3)),
        sample(lambda torch, x: torch.logsumexp(x, (0, 2), keepdim=True), normal(2, 3, 2)),
        sample(lambda torch, x: x.logsumexp(0), distinct()),
    ],
}
