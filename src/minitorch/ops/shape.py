"""Views and other changes of shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import op

expand = op("expand", "ExpandBackward0", lambda self, *, size: np.broadcast_to(self, size), ("self",), view=True,
            tangent="linear",
            self=lambda F, g, self_shape: F.sum_to(g, shape=self_shape))  # fmt: skip

view = op("view", "ViewBackward0", lambda self, *, size: self.reshape(size), ("self",), view="maybe", tangent="linear",
          self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip

unsqueeze_dims = op("unsqueeze_dims", "UnsqueezeBackward0", lambda self, *, dim: np.expand_dims(self, dim), ("self",), view=True,
                    tangent="linear",
                    self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip

mT = op("mT", "TransposeBackward0", lambda self: self.swapaxes(-1, -2), ("self",), view=True, tangent="linear",
        self=lambda F, g: F.mT(g))  # fmt: skip

select = op("select", "SelectBackward0", lambda self, *, index: self[index, ...], ("self",), view=True, tangent="linear",
            self=lambda F, g, index, self_shape: F.select_backward(g, index=index, shape=self_shape))  # fmt: skip

slice_ = op("slice", "SliceBackward0", lambda self, *, index: self[index], ("self",), view=True, tangent="linear",
            self=lambda F, g, index, self_shape: F.select_backward(g, index=index, shape=self_shape))  # fmt: skip


def _place(self: np.ndarray, *, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, self.dtype)
    out[index] = self
    return out


select_backward = op("select_backward", "SelectBackwardBackward0", _place, ("self",), tangent="linear",
                     self=lambda F, g, index: F.slice(g, index=index))  # fmt: skip


def _unbind(self: np.ndarray, *, dim: int = 0) -> list[np.ndarray]:
    return [self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim])]


unbind = op("unbind", "UnbindBackward0", _unbind, ("self",), view=True, outputs=True, tangent="linear",
            self=lambda F, g, dim: F.stack(g, dim=dim))  # fmt: skip

stack = op("stack", "StackBackward0", lambda tensors, *, dim=0: np.stack(tensors, dim), ("*tensors",), tangent="linear",
           broadcasts=True, tensors=lambda F, g, dim: F.unbind(g, dim=dim))  # fmt: skip


def getitem(input: Any, index: Any) -> Any:
    if index.__class__ is slice:
        return slice_(input, index)
    return select(input, index)
