"""Samples of convolutions."""

from __future__ import annotations

from typing import Any

from .sample import Sample, normal, sample


def conv(name: str, *inputs: Any, about: dict[str, Any] | None = None, **options: Any) -> Sample:
    return sample(lambda t, *x: getattr(t.nn.functional, name)(*x, **options), *inputs, **(about or {}))


plain = conv("conv1d", normal(2, 2, 4), normal(3, 2, 2))
strided = conv("conv2d", normal(2, 4, 4, 3), normal(2, 2, 2, 2), stride=2, padding=1, dilation=2, groups=2)
biased = conv("conv2d", normal(1, 2, 3, 3), normal(2, 2, 2, 2), normal(2), padding=1)
transposed = conv("conv_transpose1d", normal(1, 2, 3), normal(2, 2, 2))
biased_transposed = conv(
    "conv_transpose2d",
    normal(1, 2, 3, 2),
    normal(2, 1, 2, 2),
    normal(2),
    stride=2,
    padding=1,
    output_padding=1,
    groups=2,
)
curved = sample(lambda t, *x: t.nn.functional.conv1d(*x).tanh(), normal(1, 2, 3), normal(2, 2, 2), normal(2))
same = conv("conv1d", normal(1, 2, 4), normal(2, 2, 2), padding="same", about={"in_torch": False})  # it warns there

SAMPLES: dict[str, list[Sample]] = {
    "conv": [plain, strided, conv("conv3d", normal(1, 1, 2, 3, 2), normal(2, 1, 2, 2, 1))],
    "conv_bias": [biased, conv("conv1d", normal(2, 4), normal(3, 2, 2), normal(3))],
    "conv_input_grad": [plain, strided, transposed],
    "conv_input_grad_bias": [biased_transposed],
    "conv_weight_grad": [plain, strided],
    "conv_recorded": [plain, strided, transposed],
    "channel_sum": [biased],
    "channel_spread": [
        sample(lambda t, *x: t.nn.functional.conv1d(*x).tanh(), normal(1, 2, 3), normal(2, 2, 2), normal(2))
    ],
    "pad_end": [same, conv("conv_transpose1d", normal(1, 2, 2), normal(2, 1, 2), dilation=2, output_padding=1)],
    "crop_end": [same],
}
