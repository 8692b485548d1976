"""Forms of rows that index: by places, by masks, which stand for the places where they are true, and of what finds places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._builder import INT64, Builder, CannotExport, Value
from ._elementwise import div_floor
from ._table import form


@form("embedding")
def embedding(g: Builder, weight: Value, indices: Value) -> Value:
    return g("Gather", weight, indices, axis=0)


@form("index_select")
def index_select(g: Builder, self: Value, index: Value, dim: int) -> Value:
    return g("Gather", self, index if index.ndim else g.reshape(index, (1,)), axis=dim) if self.ndim else self


@form("gather")
def gather(g: Builder, self: Value, index: Value, dim: int) -> Value:
    if self.ndim and index.ndim:
        return g("GatherElements", self, index, axis=dim)
    ((shape, _),) = g.results
    return (
        g.expand(g.reshape(self, (1,)), shape)
        if shape
        else g.reshape(g("Gather", self, index, axis=0), shape)
        if self.ndim
        else self
    )


@form(
    "take_along",
    "take_repeatedly",
    "sort",
    "sort_stable",
    "topk",
    "kthvalue",
    "median_dim",
    "nanmedian_dim",
    "cummax",
    "cummin",
)
def take_along(g: Builder, self: Value, dim: int, index: Value, keepdim: bool) -> Value:
    if not self.ndim:
        return self
    out = g("GatherElements", self, index, axis=dim)
    return out if keepdim else g.squeeze(out, dim)


@form("indices")
def indices(g: Builder, self: Value) -> Value:
    ((shape, _),) = g.results
    return g.reshape(self, shape)


@form("take")
def take(g: Builder, self: Value, index: Value) -> Value:
    return g("Gather", g.reshape(self, (-1,)), index, axis=0)


def _without_masks(g: Builder, indices: Sequence[Any]) -> list[Any]:
    """Indices with the places of its elements for each mask."""
    found: list[Any] = []
    for given in indices:
        if given is None or given.dtype != bool:
            found.append(given)
        elif not given.ndim:
            raise CannotExport("an index that is a bool without dimensions: use where()")
        elif given.name in g.initializers:
            found += [g.constant(places) for places in np.nonzero(g.initializers[given.name])]
        else:
            found += _coordinates(g, given)
    return found


def _coordinates(g: Builder, self: Value) -> list[Value]:
    """Where a value is not zero: a vector for each dimension, of a length that depends on values."""
    places = g("NonZero", g.cast(self, bool))
    found = [g("Gather", places, g.scalar(dim), axis=0) for dim in range(self.ndim)]
    for vector in found:
        vector.shape = (None,)
    return found


@form("index")
def index(g: Builder, self: Value, indices: Sequence[Any]) -> Value:
    indices = _without_masks(g, indices)
    places = [i for i, given in enumerate(indices) if given is not None]
    given = [indices[i] for i in places]
    if len(places) == 1:
        return g("Gather", self, given[0], axis=places[0])
    rest = [d for d in range(self.ndim) if d not in places]
    if rest and min(rest) < max(places):
        self = g.transpose(self, [*places, *rest])
    whole = _joined(g, given)
    found = g("GatherND", self, whole)
    before = [d for d in rest if d < places[0]]
    if before and places == list(range(places[0], places[-1] + 1)):  # the indexed dimensions stay where they were
        size = max([v.ndim for v in given])
        count = size + len(rest)
        order = [*range(size, size + len(before)), *range(size), *range(size + len(before), count)]
        return g("Transpose", found, perm=order)
    return found


def _joined(g: Builder, indices: Sequence[Value]) -> Value:
    """Indices broadcast together, as the elements of a last dimension."""
    total = indices[0]
    for other in indices[1:]:
        total = g("Add", total, other)
    zero = g("Mul", total, g.constant(0, INT64))
    return g("Concat", *[g("Unsqueeze", g("Add", zero, g.cast(i, INT64)), g.ints([-1])) for i in indices], axis=-1)


@form("scatter")
def scatter(g: Builder, self: Value, index: Value, src: Value, dim: int) -> Value:
    return g("ScatterElements", self, index, _leading(g, src, index), axis=dim)


@form("scatter_value")
def scatter_value(g: Builder, self: Value, index: Value, dim: int, value: Any) -> Value:
    return g("ScatterElements", self, index, g.expand(g.number(value, self), index.sizes), axis=dim)


@form("scatter_add")
def scatter_add(g: Builder, self: Value, index: Value, src: Value, dim: int, include_self: Any) -> Value:
    if include_self is not True:
        raise CannotExport("scatter without the values that were there")
    return g("ScatterElements", self, index, _leading(g, src, index), axis=dim, reduction="add")


@form("scatter_reduce_sum", "scatter_reduce_prod", "scatter_reduce_extreme")
def scatter_reduce(
    g: Builder, self: Value, index: Value, src: Value, dim: int, reduce: Any, include_self: Any
) -> Value:
    """Without the values that were there, those that begin are such as change nothing."""
    name = g.seen()[0].name
    kind = {"scatter_reduce_sum": "add", "scatter_reduce_prod": "mul"}.get(name) or reduce.removeprefix("a")
    return _combined(g, self, index, src, dim, kind, include_self)


def _combined(g: Builder, self: Value, index: Value, src: Value, dim: int, kind: str, include_self: Any) -> Value:
    if not include_self:
        floats = self.dtype.kind == "f"
        least, most = (-np.inf, np.inf) if floats else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        start = g.expand(g.constant({"add": 0, "mul": 1, "max": least, "min": most}[kind], self.dtype), index.sizes)
        self = g.like(g("ScatterElements", self, index, start, axis=dim), self)
    return g("ScatterElements", self, index, _leading(g, src, index), axis=dim, reduction=kind)


@form("counts of places")
def counts_of_places(g: Builder, self: Value, index: Value, dim: int, include_self: bool) -> Value:
    """How many values a mean at each place is taken of; 1 where there are none."""
    base, ones = [g.expand(g.constant(1, self.dtype), v.sizes) for v in (self, index)]
    return _combined(g, base, index, ones, dim, "add", include_self)


@form("scatter_reduce_mean")
def scatter_mean(
    g: Builder, self: Value, index: Value, src: Value, dim: int, counts: Value, include_self: Any
) -> Value:
    total = _combined(g, self, index, src, dim, "add", include_self)
    return g("Div", total, counts) if self.dtype.kind == "f" else div_floor(g, total, counts)


@form("indices of slices")
def indices_of_slices(g: Builder, self: Value, dim: int, sizes: Sequence[Any]) -> Value:
    return g.expand(g.reshape(self, [-1 if d == dim else 1 for d in range(len(sizes))]), sizes)


def _leading(g: Builder, src: Value, index: Value) -> Value:
    """The part of a source that has the shape of the index."""
    for dim, (have, want) in enumerate(zip(src.sizes, index.sizes)):
        if have != want:
            src = g.slice(src, dim, 0, want)
    return src


@form("index_sum")
def index_sum(g: Builder, source: Value, index: Value, dim: int, shape: Sequence[Any]) -> Value:
    zeros = g.expand(g.constant(0, source.dtype), shape)
    return _scattered(g, zeros, index, source, dim, "add")


@form("index_add")
def index_add(g: Builder, self: Value, index: Value, source: Value, dim: int, alpha: Any) -> Value:
    if alpha != 1:
        source = g("Mul", source, g.number(alpha, source))
    return _scattered(g, self, index, source, dim, "add")


@form("index_copy")
def index_copy(g: Builder, self: Value, index: Value, source: Value, dim: int) -> Value:
    return _scattered(g, self, index, source, dim, "none")


def _scattered(g: Builder, self: Value, index: Value, source: Value, dim: int, reduction: str) -> Value:
    """Slices of a source written where an index says."""
    if not index.ndim:
        index = g.reshape(index, (1,))
        source = g.reshape(source, [*self.sizes[:dim], 1, *self.sizes[dim + 1 :]])
    if dim:
        order = [dim, *[d for d in range(self.ndim) if d != dim]]
        source = g("Transpose", source, perm=order)
        self = g.transpose(self, order)
    out = g("ScatterND", self, g("Unsqueeze", index, g.ints([-1])), source, reduction=reduction)
    return out if not dim else g("Transpose", out, perm=[*range(1, dim + 1), 0, *range(dim + 1, self.ndim)])


@form("index_fill")
def index_fill(g: Builder, self: Value, index: Value, dim: int, value: Any) -> Value:
    count = index.sizes[0] if index.ndim else 1
    shape = [count, *[size for d, size in enumerate(self.sizes) if d != dim]]
    shape = [*shape[1 : dim + 1], count, *shape[dim + 1 :]]
    return _scattered(g, self, g.reshape(index, (count,)), g.expand(g.number(value, self), shape), dim, "none")


@form("index_put")
def index_put(g: Builder, self: Value, values: Value, indices: Sequence[Any], accumulate: bool) -> Value:
    mask = indices[0]
    if len(indices) == 1 and mask.dtype == bool and not accumulate and not values.ndim:
        mask = g.reshape(mask, mask.sizes + (1,) * (self.ndim - mask.ndim))
        return g("Where", mask, g.cast(values, self.dtype), self)
    indices = _without_masks(g, indices)
    places = [i for i, given in enumerate(indices) if given is not None]
    given = [indices[i] for i in places]
    rest = [d for d in range(self.ndim) if d not in places]
    size = max([v.ndim for v in given])
    before = [d for d in rest if d < places[0]]
    if before and places != list(range(places[0], places[-1] + 1)):
        before = []  # the dimensions of the indices come first then
    whole = _joined(g, given)
    lead = g("Slice", g("Shape", whole), g.ints([0]), g.ints([-1]))
    after = [self.sizes[d] for d in rest if d not in before]
    parts = [g.ints([self.sizes[d] for d in before])] * bool(before) + [lead] + [g.ints(after)] * bool(after)
    values = g("Expand", values, g("Concat", *parts, axis=0))
    if before:  # the dimensions of the indices to the front
        count = size + len(rest)
        order = [*range(len(before), len(before) + size), *range(len(before)), *range(len(before) + size, count)]
        values = g("Transpose", values, perm=order)
    order = [*places, *rest]
    out = g("ScatterND", g.transpose(self, order), whole, values, reduction="add" if accumulate else "none")
    return g("Transpose", out, perm=[order.index(d) for d in range(self.ndim)])


# -- masks -------------------------------------------------------------------------------------------------------------
@form("nonzero")
def nonzero(g: Builder, self: Value) -> Value:
    if not self.ndim:
        raise CannotExport("nonzero() of a tensor without dimensions")
    return g("Transpose", g("NonZero", g.cast(self, bool)), perm=[1, 0])


@form("the coordinates of what is not zero")
def coordinates(g: Builder, self: Value) -> tuple[Value, ...]:
    return tuple(_coordinates(g, self if self.ndim else g.reshape(self, (1,))))


@form("masked_select")
def masked_select(g: Builder, self: Value, mask: Value) -> Value:
    mask = g("Expand", mask, g("Shape", self))
    self = g("Expand", self, g("Shape", mask))
    return g("Compress", self, g("Reshape", mask, g.ints([-1])))


@form("masked_scatter")
def masked_scatter(g: Builder, self: Value, mask: Value, source: Value) -> Value:
    mask = g("Expand", mask, g("Shape", self))
    places = g("Transpose", g("NonZero", mask), perm=[1, 0])
    first = g("Slice", g.reshape(source, (-1,)), g.ints([0]), g("Shape", places, start=0, end=1), g.ints([0]))
    return g("ScatterND", g("Expand", self, g("Shape", mask)), places, first)


# -- order -------------------------------------------------------------------------------------------------------------
@form("searchsorted")
def searchsorted(g: Builder, sorted_sequence: Value, self: Value, sorter: Value | None, after: bool) -> Value:
    """How many of a sequence come before each value; NaN is above all else."""
    kind = np.result_type(sorted_sequence.dtype, self.dtype)
    known, values = g.cast(sorted_sequence, kind), g.cast(self, kind)
    if sorter is not None:
        known = g.like(g("GatherElements", known, sorter, axis=-1), sorted_sequence)
    if known.ndim > 1:
        known = g.unsqueeze(known, known.ndim - 1)
    values = g.unsqueeze(values, self.ndim)
    before = g("Not", g("Greater" if after else "GreaterOrEqual", known, values))
    if kind.kind == "f":
        before = g("And", before, g("Not", g("IsNaN", known)))
        before = g("Or", before, g("IsNaN", values)) if after else before
    return g("ReduceSum", g.cast(before, INT64), g.ints([-1]), keepdims=0)


@form("isin")
def isin(g: Builder, elements: Value, test_elements: Value, common: Any, invert: bool) -> Value:
    """One row for each element: whether it is one of the others."""
    rows = g("Unsqueeze", g.cast(elements, common), g.ints([-1]))
    same = g("Equal", rows, g.reshape(g.cast(test_elements, common), (-1,)))
    found = g("ReduceSum", g.cast(same, INT64), g.ints([-1]), keepdims=0)
    return g("Equal" if invert else "Greater", found, g.scalar(0))


@form("unique", "unique_dim")
def unique(g: Builder, self: Value, values: Value | None, axis: Any) -> Value | tuple[Value, ...]:
    """The rows hand on what choices of the first's name have found."""
    if values is not None:
        return values
    which = {} if axis is None else {"axis": axis}
    found, _, inverse, counts = g("Unique", g.ordered(self), outputs=4, sorted=1, **which)
    inverse.dtype = counts.dtype = INT64
    shape = self.sizes if axis is None else (-1,)
    return g.cast(found, self.dtype), g.reshape(inverse, shape), counts


@form("unique_consecutive")
def unique_consecutive(g: Builder, self: Value, values: Value | None, axis: Any) -> Value | tuple[Value, ...]:
    """Where an element differs from the one before, a run begins."""
    if values is not None:
        return values
    if axis is not None and self.ndim != 1:
        raise CannotExport("unique_consecutive() of slices")
    flat, end, dims = g.reshape(self, (-1,)), g.ints([2**63 - 1]), g.ints([0])
    after, before = g("Slice", flat, g.ints([1]), end, dims), g("Slice", flat, g.ints([0]), g.ints([-1]), dims)
    first = g("Slice", g("Equal", flat, flat), g.ints([0]), g.ints([1]), dims)  # none where there is no element
    starts = g("Concat", g("Or", first, g("Not", first)), g("Not", g("Equal", after, before)), axis=0)
    places = g.reshape(g("NonZero", starts), (-1,))
    ends = g("Concat", g("Slice", places, g.ints([1]), end, dims), g("Shape", flat), axis=0)
    inverse = g("Sub", g("CumSum", g.cast(starts, INT64), g.scalar(0)), g.scalar(1))
    counts = g("Sub", g("Slice", ends, g.ints([0]), g("Shape", places), dims), places)
    return g("Gather", flat, places, axis=0), g.reshape(inverse, self.sizes), counts


# -- counting ----------------------------------------------------------------------------------------------------------
@form("repeats")
def repeats(g: Builder, self: Value) -> Value:
    """0, 1, 2, ..., each as often as is said: how many of them have ended at a place."""
    if self.ndim != 1:
        raise CannotExport("repeat_interleave() of several rows of counts")
    counts = g.cast(self, INT64)
    places = g("Range", g.scalar(0), g("ReduceSum", counts, keepdims=0), g.scalar(1))
    ended = g("LessOrEqual", g("CumSum", counts, g.scalar(0)), g.unsqueeze(places, 1))
    return g("ReduceSum", g.cast(ended, INT64), g.ints([1]), keepdims=0)


def _counted(g: Builder, places: Value, weights: Value | None, length: Value) -> Value:
    """For each place, how often it occurs, or the sum of the weights there."""
    dtype = g.results[0][1]
    ones = g.cast(weights, dtype) if weights is not None else g("Expand", g.constant(1, dtype), g("Shape", places))
    return g("ScatterElements", g("Expand", g.constant(0, dtype), length), places, ones, axis=0, reduction="add")


@form("bincount")
def bincount(g: Builder, self: Value, weights: Value | None, minlength: int) -> Value:
    places = g.cast(self, INT64)
    most = g("ReduceMax", g("Concat", places, g.ints([minlength - 1]), axis=0), keepdims=1)
    return _counted(g, places, weights, g.binary("Add", most, 1))


@form("histc")
def histc(g: Builder, self: Value, bins: int, low: float, high: float) -> Value:
    if low == high:
        raise CannotExport("histc() of a range that depends on values: give min and max")
    values = g("Reshape", self, g.ints([-1]))
    inside = g(
        "And",
        *[g(op, values, g.constant(end, values.dtype)) for op, end in (("GreaterOrEqual", low), ("LessOrEqual", high))],
    )
    values = g("Where", inside, values, g.constant(low, values.dtype))
    scaled = g.binary("Div", g.binary("Mul", g.binary("Sub", values, low), bins), high - low)
    places = g("Min", g.cast(scaled, INT64), g.scalar(bins - 1))
    return _counted(g, places, inside, g.ints([bins]))


# -- bags --------------------------------------------------------------------------------------------------------------
@form("bags")
def bags(
    g: Builder, indices: Value, offsets: Value | None, include_last: bool, padding: Any, dtype: Any
) -> tuple[Value, ...]:
    """Bags of one length each, the rows of a matrix of indices; or of several, by where they begin."""
    if offsets is None:
        count, length = indices.sizes
        flat = g.reshape(g.cast(indices, INT64), (-1,))
        positions, counts = _positions(g, g("Size", indices)), g.expand(g.scalar(length), (count,))
        numbers = g("Unsqueeze", _positions(g, g.scalar(count)), g.ints([1]))
        bag = g.reshape(g.expand(numbers, (count, length)), (-1,))
    else:
        flat, bag, counts, positions = _bags_from(g, g.cast(indices, INT64), g.cast(offsets, INT64), include_last)
    if padding is not None:
        positions = g("Compress", positions, g("Not", g("Equal", flat, g.scalar(padding))))
        flat, bag = [g("Gather", v, positions, axis=0) for v in (flat, bag)]
        none, ones = g("Mul", counts, g.scalar(0)), g("Expand", g.scalar(1), g("Shape", bag))
        counts = g("ScatterElements", none, bag, ones, axis=0, reduction="add")
    return flat, bag, counts, positions, g.cast(g.unsqueeze(g("Max", counts, g.ints([1])), 1), dtype)


def _positions(g: Builder, count: Value) -> Value:
    return g("Range", g.scalar(0), count, g.scalar(1))


def _bags_from(g: Builder, indices: Value, offsets: Value, include_last: bool) -> tuple[Value, ...]:
    """The bag of an index is how many have begun by then, less one; an offset more may say where the last one ends."""
    later = g.slice(offsets, 0, 1, 2**63 - 1)
    if include_last:
        end = g.slice(offsets, 0, -1, 2**63 - 1)
        indices = g("Slice", indices, g.ints([0]), end, g.ints([0]))
        starts, ends = g.slice(offsets, 0, 0, -1), later
    else:
        starts, ends = offsets, g("Concat", later, g("Shape", indices), axis=0)
    positions = _positions(g, g("Size", indices))
    begun = g.cast(g("GreaterOrEqual", positions, g("Unsqueeze", starts, g.ints([1]))), INT64)
    bag = g("Sub", g("ReduceSum", begun, g.ints([0]), keepdims=0), g.scalar(1))
    return indices, bag, g("Sub", ends, starts), positions


@form("the maxima of bags")
def first_maxima(g: Builder, values: Value, bag: Value, counts: Value) -> Value:
    """The first of a bag's rows that are as high as its highest; where a bag is empty, one more than all."""
    keys = g.ranked(values)
    count = g("Reshape", g("Shape", keys, start=0, end=1), g.ints([]))
    places = g("Expand", g("Unsqueeze", bag, g.ints([1])), g("Shape", keys))
    shape = g("Concat", g("Shape", counts), g("Shape", keys, start=1, end=2), axis=0)
    lowest = g("Expand", g.constant(-np.inf, keys.dtype), shape)
    highest = g("ScatterElements", lowest, places, keys, axis=0, reduction="max")
    first = g("Equal", keys, g("GatherElements", highest, places, axis=0))
    number = g("Where", first, g("Unsqueeze", _positions(g, count), g.ints([1])), count)
    return g("ScatterElements", g("Expand", count, shape), places, number, axis=0, reduction="min")
