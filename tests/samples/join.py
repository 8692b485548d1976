"""Samples of joining and splitting."""

from __future__ import annotations

from .sample import Sample, normal, sample

SAMPLES: dict[str, list[Sample]] = {
    "cat": [
        sample(lambda torch, x, y: torch.cat([x, y]), normal(2, 3), normal(1, 3)),
        sample(lambda torch, x, y: torch.cat((x, y, x), -1), normal(2, 1), normal(2, 2)),
        sample(lambda torch, x, y: torch.hstack([x, y]), normal(), normal(2)),
        sample(lambda torch, x, y: torch.column_stack([x, y]), normal(2), normal(2, 2)),
    ],
    "stack": [
        sample(lambda torch, x, y: torch.stack([x, y]), normal(2, 3), normal(2, 3)),
        sample(lambda torch, x, y: torch.stack([x, y, x], -1), normal(), normal()),
        sample(lambda torch, x, y: torch.cartesian_prod(x, y), normal(2), normal(3)),
    ],
    "split": [
        sample(lambda torch, x: x.split(2), normal(5, 2)),
        sample(lambda torch, x: torch.chunk(x, 2, -1)[1], normal(2, 3)),
    ],
    "split_with_sizes": [
        sample(lambda torch, x: x.split([1, 3], 1), normal(2, 4)),
        sample(lambda torch, x: torch.split_with_sizes(x, (1, 2), -1)[1], normal(2, 3)),
    ],
    "unsafe_split": [sample(lambda torch, x: x.unsafe_chunk(2, 1), normal(2, 3))],
    "unsafe_split_with_sizes": [sample(lambda torch, x: torch.unsafe_split_with_sizes(x, [1, 2], 1), normal(2, 3))],
    "unbind": [
        sample(lambda torch, x: x.unbind(-1), normal(2, 3)),
        sample(lambda torch, x: torch.unbind(x)[1], normal(2)),
    ],
}
