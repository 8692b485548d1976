"""Samples of rearranged and resampled images."""

from __future__ import annotations

from typing import Any

from .sample import Sample, normal, sample


def call(name: str, shape: tuple[int, ...], *args: Any, **options: Any) -> Sample:
    return sample(lambda t, x: getattr(t.nn.functional, name)(x, *args, **options), normal(*shape))


def curved(name: str, shape: tuple[int, ...], *args: Any, **options: Any) -> Sample:
    return sample(lambda t, x: getattr(t.nn.functional, name)(x * x, *args, **options).tanh(), normal(*shape))


RESAMPLED: dict[str, list[Sample]] = {
    "upsample_nearest1d": [call("interpolate", (1, 2, 3), scale_factor=1.7)],
    "upsample_nearest2d": [
        call("interpolate", (1, 2, 2, 3), scale_factor=2),
        curved("interpolate", (1, 1, 3, 2), size=(2, 5)),
    ],
    "upsample_nearest3d": [call("interpolate", (1, 1, 2, 2, 2), scale_factor=(2, 1, 1.5))],
    "upsample_nearest_exact1d": [call("interpolate", (1, 2, 5), size=3, mode="nearest-exact")],
    "upsample_nearest_exact2d": [call("interpolate", (1, 1, 3, 2), size=(4, 3), mode="nearest-exact")],
    "upsample_nearest_exact3d": [call("interpolate", (1, 1, 2, 1, 2), scale_factor=1.5, mode="nearest-exact")],
    "upsample_linear1d": [
        call("interpolate", (1, 2, 3), scale_factor=1.7, mode="linear"),
        call("interpolate", (1, 2, 4), size=6, mode="linear", align_corners=True),
        call("interpolate", (1, 2, 5), scale_factor=0.7, mode="linear", recompute_scale_factor=True),
    ],
    "upsample_bilinear2d": [
        call("interpolate", (1, 2, 2, 3), scale_factor=2, mode="bilinear"),
        curved("interpolate", (1, 1, 3, 2), size=(1, 5), mode="bilinear", align_corners=True),
    ],
    "upsample_bicubic2d": [
        call("interpolate", (1, 2, 2, 3), scale_factor=2, mode="bicubic"),
        call("interpolate", (1, 1, 5, 4), size=(3, 2), mode="bicubic", antialias=True),
        curved("interpolate", (1, 1, 3, 2), size=(1, 5), mode="bicubic", align_corners=True),
    ],
    "upsample_trilinear3d": [call("interpolate", (1, 1, 2, 2, 1), scale_factor=2, mode="trilinear")],
}

SAMPLES: dict[str, list[Sample]] = {
    **RESAMPLED,
    **{f"{name}_backward": cases for name, cases in RESAMPLED.items()},
    "pixel_shuffle": [call("pixel_shuffle", (2, 4, 2, 1), 2), curved("pixel_unshuffle", (1, 4, 2), 2)],
    "pixel_unshuffle": [call("pixel_unshuffle", (1, 1, 2, 4), 2), call("pixel_shuffle", (9, 1, 2), 3)],
    "im2col": [
        call("unfold", (2, 2, 3, 4), 2),
        curved("unfold", (2, 3, 4), (2, 3), dilation=(2, 1), padding=1, stride=(1, 2)),
    ],
    "col2im": [
        call("fold", (2, 8, 6), (3, 4), 2),
        curved("fold", (8, 2), (3, 4), (2, 2), dilation=(1, 2), padding=(0, 1), stride=2),
        call("unfold", (1, 1, 3, 3), 2),
    ],
}
