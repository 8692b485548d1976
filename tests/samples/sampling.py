"""Samples of grids, unpooling, random windows and the loss of unaligned sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sample import Sample, distinct, normal, sample, within


def grid(mode: str, padding: str, corners: bool, *shape: int) -> Sample:
    """Places between pixels: no kinks within a finite difference."""
    ndim = len(shape) - 2
    lead = (2, 3, *(1,) * (ndim - 1), ndim)
    places = (np.floor(within(-1, 4, *lead)) + within(0.2, 0.8, *lead)) / 2
    return sample(
        lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, corners),
        normal(*shape),
        places - 1,
        same_graph=False,
    )


def ctc(t: Any, x: Any) -> Any:
    log_probs = t.nn.functional.log_softmax(x, -1)
    targets = t.tensor([[1, 2, 2], [3, 1, 0]])
    return t.nn.functional.ctc_loss(log_probs, targets, (6, 5), (3, 2), reduction="none")


def fractional(ndim: int, *shape: int) -> Sample:
    def call(t: Any, x: Any) -> Any:
        samples = t.full((1, 2, ndim), 0.4, dtype=x.dtype)
        function = getattr(t.nn.functional, f"fractional_max_pool{ndim}d")
        return function(x, 2, output_size=2, _random_samples=samples)

    return sample(call, distinct(*shape), order=1)


SAMPLES = {
    "placed": [
        grid("bilinear", "zeros", False, 2, 2, 3, 4),
        grid("bilinear", "border", True, 2, 2, 3, 4),
        grid("bilinear", "reflection", False, 2, 1, 3, 4),
        grid("bicubic", "zeros", False, 2, 1, 3, 4),
        grid("bicubic", "reflection", True, 2, 1, 3, 4),
        grid("bilinear", "zeros", True, 2, 1, 3, 2, 3),
    ],
    "ctc_loss": [sample(ctc, normal(6, 2, 4), order=1)],
    "ctc_loss_backward": [sample(ctc, normal(6, 2, 4), order=1)],
    "max_unpool2d": [
        sample(lambda t, x: t.nn.functional.max_unpool2d(x, t.tensor([[[0, 2, 5], [8, 10, 12]]]), 2), normal(1, 2, 3)),
        sample(lambda t, x: t.nn.functional.max_unpool1d(x, t.tensor([[0, 2, 5]]), 2), normal(1, 3)),
    ],
    "max_unpool3d": [
        sample(lambda t, x: t.nn.functional.max_unpool3d(x, t.tensor([[[[3, 6]]]]), 2), normal(1, 1, 1, 2)),
    ],
    "fractional_max_pool2d": [fractional(2, 1, 2, 5, 4)],
    "fractional_max_pool3d": [fractional(3, 1, 2, 4, 4, 5)],
}  # fmt: skip
