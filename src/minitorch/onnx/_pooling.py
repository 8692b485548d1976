"""Forms of pooling: windows of one size, windows that cover an image evenly, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._builder import INT64, Builder, CannotExport, Value
from ._networks import batched, unbatched
from ._table import form


def _max_pool(g: Builder, self: Value, windows: Any, outputs: int) -> Any:
    kernel, stride, padding, dilation, ceil_mode = windows
    return g("MaxPool", batched(g, self, len(kernel)), outputs=outputs, kernel_shape=kernel, strides=stride or kernel,
             pads=[*padding, *padding], dilations=dilation, ceil_mode=int(ceil_mode))  # fmt: skip


@form("max_pool2d", "max_pool3d")
def max_pool(g: Builder, self: Value, windows: Any) -> Value:
    return unbatched(g, _max_pool(g, self, windows, 1), self, len(windows[0]))


@form("the indices of max_pool")
def max_pool_indices(g: Builder, self: Value, windows: Any) -> Value:
    """ONNX counts through batches and channels, too."""
    _, indices = _max_pool(g, self, windows, 2)
    indices.dtype = INT64
    plane = g("ReduceProd", g.ints(self.sizes[-len(windows[0]) :]), keepdims=0)
    return unbatched(g, g("Mod", indices, plane), self, len(windows[0]))


@form("indices of cells")
def indices_of_cells(g: Builder, self: Value, squeezed: bool) -> Value:
    return g.squeeze(self, self.ndim - 2) if squeezed else self


@form("max_unpool2d", "max_unpool3d")
def max_unpool(g: Builder, self: Value, indices: Value, size: Any) -> Value:
    ((shape, dtype),) = g.results
    lead = list(shape[: len(shape) - len(size)])
    zeros = g.reshape(g.expand(g.constant(0, dtype), shape), [*lead, -1])
    places, values = [g.reshape(v, [*lead, -1]) for v in (indices, self)]
    return g.reshape(g("ScatterElements", zeros, places, values, axis=len(lead)), shape)


@form("avg_pool2d", "avg_pool3d")
def avg_pool(
    g: Builder, self: Value, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> Value:  # fmt: skip
    """Where a window is at the end of the padding, its cells beyond do not count; ONNX counts others, so zeros are put there
    before.  A divisor that is given is that of all cells, so there have to be as many."""
    ndim, pads, zeros = len(kernel_size), [*padding, *padding], ceil_mode and (divisor_override or count_include_pad)
    given = batched(g, self, ndim)
    if zeros and (divisor_override or any(padding)):
        more = [s - 1 if divisor_override else 0 for s in stride]
        amounts = [0, 0, *padding, 0, 0, *[p + m for p, m in zip(padding, more)]]
        given, pads = g("Pad", given, g.ints(amounts)), [0] * 2 * ndim
    out = g("AveragePool", given, kernel_shape=kernel_size, strides=stride, pads=pads,
            ceil_mode=int(ceil_mode and not divisor_override),
            count_include_pad=int(bool(count_include_pad or divisor_override)))  # fmt: skip
    if divisor_override:
        out = g.binary("Mul", out, float(np.prod(kernel_size)) / divisor_override)
    out = unbatched(g, out, self, ndim)
    for dim, step, pad in (
        zip(range(self.ndim - ndim, self.ndim), stride, padding) if given is not self and zeros else ()
    ):
        size = g("Shape", self, start=dim, end=dim + 1)  # no window begins in the padding at the end
        last = g.binary("Add", g("Div", g.binary("Add", size, pad - 1), g.ints([step])), 1)
        out = g("Slice", out, g.ints([0]), last, g.ints([dim]))
    return out


# -- windows that cover a dimension evenly -----------------------------------------------------------------------------
def _windows(g: Builder, self: Value, dim: int) -> list[tuple[Value, Value]]:
    """Where each begins and ends: from ``i * n // size`` to ``((i + 1) * n + size - 1) // size``; n is asked of the input when
    the graph is run, so that they are right at every size."""
    size = g.results[0][0][dim]
    if not isinstance(size, int):
        raise CannotExport("an adaptive pooling whose output size varies")
    n, by = g("Shape", self, start=dim, end=dim + 1), g.ints([size])
    starts = [g("Div", g("Mul", n, g.ints([i])), by) for i in range(size)]
    ends = [g("Div", g("Add", g("Mul", n, g.ints([i + 1])), g.ints([size - 1])), by) for i in range(size)]
    return list(zip(starts, ends))


def _adaptive(g: Builder, self: Value, reduce: str, ndim: int) -> Value:
    """One dimension after the other; where the result has as many places, windows are of one."""
    out = self
    for dim in range(self.ndim - ndim, self.ndim):
        size, dims = g.results[0][0][dim], g.ints([dim])
        if size == self.sizes[dim]:
            continue
        if reduce == "ReduceMean" and not isinstance(size, int):
            out = _mixed(g, out, self, dim)
            continue
        parts = [g(reduce, g("Slice", out, *ends, dims), dims, keepdims=1) for ends in _windows(g, self, dim)]
        out = g("Concat", *parts, axis=dim)
    return out


def _mixed(g: Builder, out: Value, self: Value, dim: int) -> Value:
    """Means along a dimension as a product with a matrix, in which the places of a window have equal shares."""
    n, by = g.scalar(self.sizes[dim]), g.scalar(g.results[0][0][dim])
    i, places = [g("Range", g.scalar(0), count, g.scalar(1)) for count in (by, n)]
    start = g("Div", g("Mul", i, n), by)
    end = g("Div", g("Add", g("Mul", g.binary("Add", i, 1), n), g.binary("Sub", by, 1)), by)
    inside = g("And", *[g(op, places, g.unsqueeze(v, 1)) for op, v in (("GreaterOrEqual", start), ("Less", end))])
    inside = g.cast(inside, self.dtype)
    shares = g("Transpose", g("Div", inside, g("ReduceSum", inside, g.ints([1]))), perm=[1, 0])
    order = list(range(self.ndim))
    order[dim], order[-1] = order[-1], order[dim]
    return g("Transpose", g("MatMul", g("Transpose", out, perm=order), shares), perm=order)


@form("adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(g: Builder, self: Value, size: Any) -> Value:
    return _adaptive(g, self, "ReduceMean", len(size))


@form("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(g: Builder, self: Value, ndim: int) -> Value:
    return _adaptive(g, self, "ReduceMax", ndim)


@form("the indices of adaptive_max_pool")
def adaptive_indices(g: Builder, self: Value, size: Any) -> Value:
    """From the last dimension to the first, so that of equal maxima the first in the order of rows is named."""
    out, found, step = self, None, g.ints([1])
    for dim in reversed(range(self.ndim - len(size), self.ndim)):
        parts = [(g("Slice", out, start, end, g.ints([dim])), start) for start, end in _windows(g, self, dim)]
        places = [g("Add", g("ArgMax", part, axis=dim, keepdims=1), start) for part, start in parts]
        out = g("Concat", *[g("ReduceMax", part, g.ints([dim]), keepdims=1) for part, _ in parts], axis=dim)
        place = g("Concat", *places, axis=dim)
        here = g("Mul", place, step)
        found = here if found is None else g("Add", here, g("GatherElements", found, place, axis=dim))
        step = g("Mul", step, g("Shape", self, start=dim, end=dim + 1))
    assert found is not None
    return found
