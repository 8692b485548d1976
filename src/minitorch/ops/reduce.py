"""Reductions and scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import op


def _sum(self: np.ndarray) -> np.ndarray:
    return np.add.reduce(self, axis=None, out=...)


def _sum_dims(self: np.ndarray, *, dim: Any, keepdim: bool = False) -> np.ndarray:
    return np.add.reduce(self, axis=dim, keepdims=keepdim, out=...)


def _sum_dims_self(F: Any, g: Any, self_shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    return F.expand(g if keepdim else F.unsqueeze_dims(g, dim=dim), size=self_shape)


sum_all = op("sum_all", "SumBackward0", _sum, ("self",), tangent="linear",
             self=lambda F, g, self_shape: F.expand(g, size=self_shape))  # fmt: skip
sum_dims = op("sum", "SumBackward1", _sum_dims, ("self",), tangent="linear", self=_sum_dims_self)


def _sum_to(self: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    lead = self.ndim - len(shape)
    axes = tuple([i for i in range(lead, self.ndim) if shape[i - lead] == 1 and self.shape[i] != 1])
    out = np.add.reduce(self, axis=tuple(range(lead)), out=...) if lead else self
    axes = tuple([i - lead for i in axes])
    return np.add.reduce(out, axis=axes, keepdims=True, out=...) if axes else out


sum_to = op("sum_to", "SumToBackward0", _sum_to, ("self",), tangent="linear",
            self=lambda F, g, self_shape: F.expand(g, size=self_shape))  # fmt: skip


def sum(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum."""
    return sum_all(input) if dim is None else sum_dims(input, dim, keepdim)
