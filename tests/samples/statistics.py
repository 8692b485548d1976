"""Samples of variances, medians and modes."""

from __future__ import annotations

from .sample import Sample, distinct, normal, sample

_TIES = [[1.0, 2.0, 2.0], [3.0, 3.0, 0.5]]

SAMPLES: dict[str, list[Sample]] = {
    "var": [
        sample(lambda torch, x: x.var(), normal(2, 3)),
        sample(lambda torch, x: x.var((0, 2), correction=0, keepdim=True), normal(2, 3, 2)),
        sample(lambda torch, x: torch.var(x, 1, False), normal(2, 3)),
    ],
    "std": [
        sample(lambda torch, x: x.std(), normal(2, 3)),
        sample(lambda torch, x: torch.std(x, 0, correction=0.5, keepdim=True), normal(4, 2)),
    ],
    "var_mean": [
        sample(lambda torch, x: torch.var_mean(x), normal(2, 3)),
        sample(lambda torch, x: torch.var_mean(x, 1, keepdim=True), normal(2, 3)),
        sample(lambda torch, x: torch.var_mean(x, 0)[1], normal(4, 2), order=1),
    ],
    "std_mean": [
        sample(lambda torch, x: torch.std_mean(x, correction=0), normal(2, 3)),
        sample(lambda torch, x: torch.std_mean(x, 0), normal(3, 2)),
    ],
    "median": [sample(lambda torch, x: x.median(), distinct(2, 3))],
    "nanmedian": [sample(lambda torch, x: torch.nanmedian(x), distinct(2, 4))],
    "median_dim": [
        sample(lambda torch, x: x.median(1), distinct(2, 4)),
        sample(lambda torch, x: torch.median(x, 0, keepdim=True)[0], distinct(3, 2)),
    ],
    "nanmedian_dim": [sample(lambda torch, x: x.nanmedian(-1), distinct(2, 4))],
    "mode": [
        sample(lambda torch, x: torch.mode(x, 1), _TIES, order=0),
        sample(lambda torch, x: x.mode(), distinct(2, 3)),
    ],
}
