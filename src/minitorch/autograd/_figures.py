"""Tensors in a few figures, and in a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._table import dtype_text, shape_text

_LINES = 12
"""How many lines of values are shown unless all are asked for."""


def figures(tensor: Any) -> str:
    """``(2, 3) float32  -0.5 to 0.25, norm 0.7, 50% zeros``; of one element its value; of several tensors each one's."""
    if isinstance(tensor, (tuple, list)):
        return "; ".join([figures(one) for one in tensor])
    array, head = tensor._array, f"{shape_text(tensor.shape)} {dtype_text(tensor.dtype)}"
    if array.size == 1:
        return f"{head}  {array.item():.6g}"
    if array.size == 0:
        return f"{head}  no elements"
    parts = []
    if array.dtype.kind == "f":
        for name, which in (("NaN", np.isnan(array)), ("inf", np.isposinf(array)), ("-inf", np.isneginf(array))):
            if which.any():
                parts.append(f"{int(which.sum())} {name}")
        array = array[np.isfinite(array)]
    if array.size:
        low, high = array.min().item(), array.max().item()
        parts.append(f"{low:.4g} to {high:.4g}" if low != high else f"all {low:.4g}")
        parts.append(f"norm {np.sqrt((array.astype(np.float64) ** 2).sum()):.4g}")
        zeros = np.count_nonzero(array == 0) / tensor._array.size
        if 0 < zeros < 1:
            parts.append(f"{zeros:.0%} zeros" if 0.01 <= zeros <= 0.99 else f"{zeros:.2%} zeros")
    return f"{head}  {', '.join(parts)}"


def values(tensor: Any, full: bool = False) -> str:
    """A tensor printed; a long one's first lines."""
    if isinstance(tensor, (tuple, list)):
        return "\n".join([values(one, full) for one in tensor])
    lines = repr(tensor).splitlines()
    if full or len(lines) <= _LINES:
        return "\n".join(lines)
    return "\n".join([*lines[: _LINES - 1], f"… {len(lines) - _LINES + 1} more lines"])


def clipped(text: str, width: int) -> str:
    """The first line of a text, cut where it is too wide."""
    line = text.partition("\n")[0]
    return line if len(line) <= width else line[: width - 1] + "…"
