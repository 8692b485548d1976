"""Copies and conversions, and writing through a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import op
from .._runtime import raw, traced, wrap

to = op("to", "ToCopyBackward0", lambda self, *, dtype: self if self.dtype is dtype else self.astype(dtype), ("self",),
        broadcasts=True, tangent="linear",
        self=lambda F, g: g)  # the engine casts it back  # fmt: skip

clone = op("clone", "CloneBackward0", lambda self: self.copy(), ("self",), tangent="linear", self=lambda F, g: g)


def _copy(self: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = np.empty_like(self)
    out[...] = src
    return out


copy = op("copy", "CopyBackwards", _copy, ("self", "src"),
          tangent=lambda F, out, self, src, tangents: F.copy(self, tangents[1]),
          self=lambda F, g: F.zeros_like(g),
          src=lambda F, g, src_shape: F.sum_to(g, shape=src_shape))  # fmt: skip


def _copy_slices(self: np.ndarray, value: np.ndarray, *, take: Callable[[Any], Any]) -> np.ndarray:
    out = self.copy(order="K")
    take(out)[...] = value
    return out


copy_slices = op("copy_slices", "CopySlices", _copy_slices, ("self", "value"), broadcasts=True, tangent="linear",
                 self=lambda F, g, value_shape, take: F.copy_slices(g, F.zeros(value_shape, g), take=take),
                 value=lambda F, g, take: take(g))  # fmt: skip

raw.zeros = lambda shape, like: np.zeros(shape, like.dtype)
traced.zeros = lambda shape, like: wrap(np.zeros(shape, like._array.dtype))
raw.zeros_like = lambda like: np.zeros(like.shape, like.dtype)
traced.zeros_like = lambda like: wrap(np.zeros(like._array.shape, like._array.dtype))
