"""Samples of sorting and of choosing by rank."""

from __future__ import annotations

from .sample import Sample, distinct, sample

SAMPLES: dict[str, list[Sample]] = {
    "sort": [
        sample(lambda torch, x: x.sort(), distinct(2, 4)),
        sample(lambda torch, x: torch.sort(x, 0, descending=True), distinct(4, 2)),
        sample(lambda torch, x: torch.msort(x), distinct(5)),
        sample(lambda torch, x: x.sort(), distinct()),
    ],
    "sort_stable": [sample(lambda torch, x: torch.sort(x, stable=True, dim=0, descending=True), distinct(4, 2))],
    "unique": [
        sample(lambda torch, x: torch.unique(x), distinct(2, 4), order=0),
        sample(lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True), distinct(4), order=0),
    ],
    "unique_dim": [sample(lambda torch, x: torch.unique(x, dim=1), distinct(2, 4), order=0)],
    "unique_consecutive": [sample(lambda torch, x: torch.unique_consecutive(x), distinct(4), order=0)],
    "topk": [
        sample(lambda torch, x: x.topk(2), distinct(2, 4)),
        sample(lambda torch, x: torch.topk(x, 1, 0, largest=False), distinct(4, 2)),
        sample(lambda torch, x: x.topk(2), distinct(20)),
    ],
    "kthvalue": [
        sample(lambda torch, x: x.kthvalue(2), distinct(2, 4)),
        sample(lambda torch, x: torch.kthvalue(x, 3, 0, keepdim=True), distinct(4, 2)),
    ],
}
