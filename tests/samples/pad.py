"""Samples of padding."""

from __future__ import annotations

from .sample import Sample, normal, sample


def padded(*shape: int, pad: tuple[int, ...], mode: str = "constant", **options: float) -> Sample:
    return sample(lambda t, x: t.nn.functional.pad(x, pad, mode=mode, **options), normal(*shape))


def curved(*shape: int, pad: tuple[int, ...], mode: str) -> Sample:
    return sample(lambda t, x: t.nn.functional.pad(x * x, pad, mode=mode).tanh(), normal(*shape))


reflections = [
    [padded(2, 4, pad=(3, 1), mode="reflect"), padded(2, 1, 4, pad=(-3, 2), mode="reflect")],
    [padded(1, 2, 3, 3, pad=(1, 2, -1, 1), mode="reflect")],
    [padded(1, 2, 2, 3, pad=(1, 0, 1, 1, 0, 1), mode="reflect")],
]
replications = [
    [padded(2, 3, pad=(4, 1), mode="replicate"), padded(2, 1, 4, pad=(-5, 2), mode="replicate")],
    [padded(2, 2, 3, pad=(1, 2, -1, 1), mode="replicate")],
    [padded(1, 2, 1, 3, pad=(1, 0, 2, 1, 0, 1), mode="replicate")],
]
wraps = [
    padded(1, 2, 4, pad=(3, 4), mode="circular"),
    padded(1, 3, 4, pad=(-1, 2, 1, -2), mode="circular"),
    padded(1, 2, 2, 2, pad=(1, 1, 1, 0, 2, 1), mode="circular"),
]

SAMPLES: dict[str, list[Sample]] = {
    "constant_pad_nd": [
        padded(2, 3, pad=(1, 2)),
        padded(2, 3, 2, pad=(-1, 1, 2, -2), value=1.5),
        curved(2, 3, pad=(0, 0, 1, -1), mode="constant"),
    ],
    **{f"reflection_pad{i + 1}d": cases for i, cases in enumerate(reflections)},
    **{f"replication_pad{i + 1}d": cases for i, cases in enumerate(replications)},
    "circular_pad": wraps,
    **{f"reflection_pad{i + 1}d_backward": cases for i, cases in enumerate(reflections)},
    **{f"replication_pad{i + 1}d_backward": cases for i, cases in enumerate(replications)},
    "circular_pad_backward": [*wraps, curved(2, 3, pad=(1, 2), mode="circular")],
}
