"""Forms of rows that arrange, index and reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._builder import INT64, Builder, CannotExport, Value
from ._table import form


# -- arrangement -------------------------------------------------------------------------------------------------------
@form("view", "unsafe_view", "unsqueeze", "unsqueeze_", "unsqueeze_dims")
def view(g: Builder, self: Value) -> Value:
    """The shape of the result is known, also where the call said -1."""
    ((shape, _),) = g.results
    return g.reshape(self, shape)


@form("squeeze", "squeeze_", "squeeze_dim", "squeeze_dim_", "squeeze_dims", "squeeze_dims_")
def squeeze(g: Builder, self: Value) -> Value:
    ((shape, _),) = g.results
    return g.reshape(self, shape)


@form("expand")
def expand(g: Builder, self: Value) -> Value:
    ((shape, _),) = g.results
    return g.expand(self, shape)


@form("T")
def reversed_dims(g: Builder, self: Value) -> Value:
    return g.transpose(self, range(self.ndim)[::-1])


@form("t", "t_")
def t(g: Builder, self: Value) -> Value:
    return g.swap(self, 0, 1) if self.ndim == 2 else self


@form("mT")
def matrices_transposed(g: Builder, self: Value) -> Value:
    return g.swap(self, self.ndim - 2, self.ndim - 1) if self.ndim else self


@form("transpose", "transpose_")
def transpose(g: Builder, self: Value, dim0: int, dim1: int) -> Value:
    return g.swap(self, dim0, dim1) if self.ndim else self


@form("permute")
def permute(g: Builder, self: Value, dims: Sequence[int]) -> Value:
    return g.transpose(self, [d % self.ndim for d in dims])


@form("cat")
def cat(g: Builder, tensors: list[Value], dim: int) -> Value:
    ((shape, _),) = g.results
    return g("Concat", *[t for t in tensors if t.sizes != (0,) or len(shape) == 1], axis=dim)


@form("stack")
def stack(g: Builder, tensors: list[Value], dim: int) -> Value:
    ((shape, _),) = g.results
    return g("Concat", *[g.unsqueeze(t, dim % len(shape)) for t in tensors], axis=dim)


@form("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes")
def split(g: Builder, self: Value, dim: int) -> Any:
    sizes = [shape[dim] for shape, _ in g.results]
    count = len(sizes)
    if not all(map(g.known, sizes)) and all([_in_equal_parts(call, dim, count) for call in g.seen()]):
        return g("Split", self, outputs=count, axis=dim, num_outputs=count)
    found = g("Split", self, g.ints(sizes), outputs=len(sizes), axis=dim)
    return found if len(sizes) > 1 else (found,)


def _in_equal_parts(call: Any, dim: int, count: int) -> bool:
    """Whether a call splits into so many parts of one size, of which the last may be smaller."""
    return bool(call.params.get("split_size") == -(-call.given[dim] // count))


@form("unbind")
def unbind(g: Builder, self: Value, dim: int) -> tuple[Value, ...]:
    return tuple([g("Gather", self, g.scalar(number), axis=dim) for number in range(len(g.results))])


@form("select")
def select(g: Builder, self: Value, dim: int, index: Any) -> Value:
    return g("Gather", self, g.scalar(index), axis=dim)


@form("slice")
def slice_(g: Builder, self: Value, dim: int, start: Any, end: Any, step: Any) -> Value:
    return g.slice(self, dim, start, end, step)


@form("narrow_copy")
def narrow_copy(g: Builder, self: Value, dim: int, start: Any, end: Any) -> Value:
    return g.slice(self, dim, start, end)


@form("diagonal", "diagonal_copy")
def diagonal(g: Builder, self: Value, offset: Any, dim1: Any, dim2: Any) -> Value:
    """Its elements, found by their places in both dimensions, which are brought to the front."""
    ((shape, _),) = g.results
    one, other = [(k if d is None else d) % self.ndim for d, k in ((dim1, 0), (dim2, 1))]
    rest = [d for d in range(self.ndim) if d not in (one, other)]
    steps = g("Range", g.scalar(0), g.scalar(shape[-1]), g.scalar(1))
    rows, columns = [g("Add", steps, g.scalar(max(0, by))) for by in (-offset, offset)]
    places = g("Concat", g.unsqueeze(rows, 1), g.unsqueeze(columns, 1), axis=1)
    found = g("GatherND", g.transpose(self, [one, other, *rest]), places)
    return g("Transpose", found, perm=[*range(1, len(shape)), 0])


@form("half")
def half(g: Builder, self: Value, dim: int, second: bool) -> Value:
    return g("Split", self, outputs=2, axis=dim, num_outputs=2)[second]


@form("flip")
def flip(g: Builder, self: Value, dims: Sequence[int]) -> Value:
    for dim in dims if self.ndim else ():
        self = g.slice(self, dim, -1, -(2**63) + 1, -1)
    return self


@form("repeat")
def repeat(g: Builder, self: Value, repeats: Sequence[Any]) -> Value:
    lead = len(repeats) - self.ndim
    return g("Tile", g.reshape(self, (1,) * lead + self.sizes) if lead else self, g.ints(repeats))


@form("tril")
def tril(g: Builder, self: Value, diagonal: Any) -> Value:
    return g("Trilu", self, g.scalar(diagonal), upper=0)


@form("triu")
def triu(g: Builder, self: Value, diagonal: Any) -> Value:
    return g("Trilu", self, g.scalar(diagonal), upper=1)


# -- indexing ----------------------------------------------------------------------------------------------------------
@form("embedding")
def embedding(g: Builder, weight: Value, indices: Value) -> Value:
    return g("Gather", weight, indices, axis=0)


@form("index_select")
def index_select(g: Builder, self: Value, index: Value, dim: int) -> Value:
    return g("Gather", self, index, axis=dim) if self.ndim else self


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


@form("take_along", "take_repeatedly", "sort", "sort_stable", "topk", "kthvalue", "median_dim", "cummax", "cummin")
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
    """Indices with the places of its elements for each mask that is known now."""
    found: list[Any] = []
    for given in indices:
        mask = None if given is None or given.dtype != bool else g.initializers.get(given.name)
        found += [given] if mask is None or not mask.ndim else [g.constant(places) for places in np.nonzero(mask)]
    return found


@form("index")
def index(g: Builder, self: Value, indices: Sequence[Any]) -> Value:
    indices = _without_masks(g, indices)
    places = [i for i, given in enumerate(indices) if given is not None]
    given = [indices[i] for i in places]
    if any([v.dtype == bool for v in given]):
        raise CannotExport("the shape of what a mask picks depends on values: use where() or masked_fill()")
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
    if not include_self:
        floats = self.dtype.kind == "f"
        least, most = (-np.inf, np.inf) if floats else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        start = g.expand(g.constant({"add": 0, "mul": 1, "max": least, "min": most}[kind], self.dtype), index.sizes)
        self = g.like(g("ScatterElements", self, index, start, axis=dim), self)
    return g("ScatterElements", self, index, _leading(g, src, index), axis=dim, reduction=kind)


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
    places = [i for i, given in enumerate(indices) if given is not None]
    given = [indices[i] for i in places]
    if any([v.dtype == bool for v in given]):
        if len(indices) == 1 and not accumulate and not values.ndim:
            mask = g.reshape(given[0], given[0].sizes + (1,) * (self.ndim - given[0].ndim))
            return g("Where", mask, g.cast(values, self.dtype), self)
        raise CannotExport("values written where a mask is, other than one number: use where()")
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


@form("argsort")
def argsort(g: Builder, self: Value, dim: int, descending: bool) -> Value:
    if not self.ndim:
        return g.scalar(0)
    return _top(g, self, self.sizes[dim], dim, descending)


def _top(g: Builder, self: Value, count: Any, dim: int, largest: bool) -> Value:
    return g("TopK", g.ordered(self), g.ints([count]), outputs=2, axis=dim, largest=int(largest), sorted=1)[1]


@form("the indices of topk")
def top_indices(g: Builder, self: Value, k: Any, dim: int, largest: bool) -> Value:
    return _int64(_top(g, self, k, dim, largest))


@form("the indices of kthvalue")
def kth_index(g: Builder, self: Value, k: Any, dim: int) -> Value:
    if not isinstance(k, int):
        raise CannotExport("kthvalue() of a k that depends on sizes")
    return _int64(g.slice(_int64(_top(g, self, k, dim, False)), dim, k - 1, k))


@form("the indices of median")
def median_index(g: Builder, self: Value, dim: int, skip_nan: bool) -> Value:
    if skip_nan:
        raise CannotExport("nanmedian(), whose place depends on how many elements are NaN")
    one, two = g.ints([1]), g.ints([2])
    k = g("Div", g("Add", g.ints([self.sizes[dim]]), one), two)
    smallest = _int64(g("TopK", g.ordered(self), k, outputs=2, axis=dim, largest=0, sorted=1)[1])
    return g("Slice", smallest, g("Sub", k, one), k, g.ints([dim]))


def _int64(value: Value) -> Value:
    value.dtype = INT64
    return value


@form("argmax")
def argmax(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    return _arg(g, "ArgMax", self, dim, keepdim)


@form("argmin")
def argmin(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    return _arg(g, "ArgMin", self, dim, keepdim)


def _arg(g: Builder, op: str, self: Value, dim: Any, keepdim: bool) -> Value:
    if not self.ndim:
        return g.scalar(0)
    self = g.like(g.ordered(self), self)
    if dim is not None:
        return g(op, self, axis=dim, keepdims=int(keepdim))
    ((shape, _),) = g.results
    return g.reshape(g(op, g.reshape(self, (-1,)), axis=0, keepdims=0), shape)


# -- reductions --------------------------------------------------------------------------------------------------------
def reduced(g: Builder, op: str, self: Value, dims: Any, keepdim: bool) -> Value:
    """A reduction over dimensions, all if they are None."""
    if self.ndim == 0:
        return g(op, self, None, keepdims=0)
    dims = range(self.ndim) if dims is None else (dims,) if isinstance(dims, int) else dims
    return g(op, self, g.ints([d % self.ndim for d in dims]), keepdims=int(keepdim))


def _reduction(names: str, op: str) -> None:
    whole, along = names.split()

    @form(along)
    def of_dims(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
        return reduced(g, op, g.cast(self, g.results[0][1]), dim, keepdim)

    @form(whole)
    def of_all(g: Builder, self: Value) -> Value:
        return reduced(g, op, g.cast(self, g.results[0][1]), None, False)


_reduction("sum_all sum", "ReduceSum")
_reduction("mean_all mean", "ReduceMean")
_reduction("max_all amax", "ReduceMax")
_reduction("min_all amin", "ReduceMin")
_reduction("prod_all prod", "ReduceProd")


@form("max_dim")
def max_dim(g: Builder, self: Value, dim: int, keepdim: bool) -> Value:
    return reduced(g, "ReduceMax", g.like(g.ordered(self), self), dim, keepdim)


@form("min_dim")
def min_dim(g: Builder, self: Value, dim: int, keepdim: bool) -> Value:
    return reduced(g, "ReduceMin", g.like(g.ordered(self), self), dim, keepdim)


@form("aminmax")
def aminmax(g: Builder, self: Value, dim: Any, keepdim: bool) -> tuple[Value, Value]:
    return reduced(g, "ReduceMin", self, dim, keepdim), reduced(g, "ReduceMax", self, dim, keepdim)


@form("logsumexp")
def logsumexp(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    """A sum of zeros, and of what is no number, keeps that so beside infinity."""
    nans = g("Where", g("IsNaN", self), self, g.constant(0, self.dtype))
    sums = [reduced(g, op, g.like(x, self), dim, keepdim) for op, x in (("ReduceLogSumExp", self), ("ReduceSum", nans))]
    return g("Add", *sums)


@form("sum_to")
def sum_to(g: Builder, self: Value, shape: Sequence[Any]) -> Value:
    lead = self.ndim - len(shape)
    dims = [d for d in range(self.ndim) if d < lead or (shape[d - lead] == 1 and self.sizes[d] != 1)]
    return g.reshape(reduced(g, "ReduceSum", self, dims, True), shape) if dims else self


@form("all or any")
def all_or_any(g: Builder, self: Value, ufunc: Any, dims: Any, keepdim: bool) -> Value:
    op = "ReduceMin" if ufunc is np.logical_and else "ReduceMax"
    true = g.like(g.cast(g.cast(self, bool), np.int32), self)
    return g.cast(reduced(g, op, true, dims, keepdim), bool)


@form("count_nonzero")
def count_nonzero(g: Builder, self: Value, dims: Any) -> Value:
    return reduced(g, "ReduceSum", g.cast(g.cast(self, bool), INT64), dims, False)


@form("how many are not nan")
def count_numbers(g: Builder, self: Value, dims: Any, keepdim: bool) -> Value:
    number = g.cast(g("Not", g("IsNaN", self)), INT64)
    return reduced(g, "ReduceSum", g.like(number, self), dims, keepdim)


@form("vector_norm")
def vector_norm(g: Builder, self: Value, ord: float, dim: Any, keepdim: bool) -> Value:
    if ord in (1, 2):
        return reduced(g, f"ReduceL{int(ord)}", self, dim, keepdim)
    size = g.like(g("Abs", self), self)
    if abs(ord) == float("inf"):
        return reduced(g, "ReduceMax" if ord > 0 else "ReduceMin", size, dim, keepdim)
    if ord == 0:
        return reduced(g, "ReduceSum", g.like(g("Sign", size), self), dim, keepdim)
    total = reduced(g, "ReduceSum", g.like(g.binary("Pow", size, ord), self), dim, keepdim)
    return g.binary("Pow", total, 1 / ord)


def moments(g: Builder, self: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Value, Value]:
    """The variance, with a correction of the count, and the mean."""
    mean = reduced(g, "ReduceMean", self, dim, True)
    rest = g("Sub", self, mean)
    var = reduced(g, "ReduceMean", g.like(g("Mul", rest, rest), self), dim, keepdim)
    if correction:
        dims = range(self.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        count: Value = g.constant(1, INT64)
        for d in dims:
            count = g("Mul", count, g.scalar(self.sizes[d]))
        count = g.cast(count, self.dtype)
        var = g("Mul", var, g("Div", count, g.binary("Sub", count, correction)))
    return var, mean if keepdim else reduced(g, "ReduceMean", self, dim, False)


@form("var")
def var(g: Builder, self: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return moments(g, self, dim, correction, keepdim)[0]


@form("std")
def std(g: Builder, self: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return g("Sqrt", moments(g, self, dim, correction, keepdim)[0])


@form("var_mean")
def var_mean(g: Builder, self: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Value, Value]:
    return moments(g, self, dim, correction, keepdim)


@form("std_mean")
def std_mean(g: Builder, self: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Value, Value]:
    variance, mean = moments(g, self, dim, correction, keepdim)
    return g("Sqrt", variance), mean


@form("cumsum")
def cumsum(g: Builder, self: Value, dim: int, reverse: bool) -> Value:
    self = g.cast(self, g.results[0][1])
    return g("CumSum", self, g.scalar(dim), reverse=int(reverse)) if g.results[0][0] else self


@form("bags")
def bags(
    g: Builder, indices: Value, offsets: Value | None, include_last: bool, padding: Any, dtype: Any
) -> tuple[Value, ...]:
    """Bags of one length each, the rows of a matrix of indices; or of several, by where they begin."""
    if padding is not None or include_last:
        given = "include_last_offset=True" if include_last else f"padding_idx={padding}"
        raise CannotExport(f"{given} leaves out indices by their values: give bags without these")
    if offsets is not None:
        return _bags_from(g, indices, g.cast(offsets, INT64), dtype)
    count, length = indices.sizes
    numbers = g("Range", g.scalar(0), g.scalar(count), g.scalar(1))
    bag = g.reshape(g.expand(g("Unsqueeze", numbers, g.ints([1])), (count, length)), (-1,))
    counts = g.expand(g.scalar(length), (count,))
    divisors = g.cast(g.unsqueeze(counts, 1), dtype)
    flat = g.reshape(g.cast(indices, INT64), (-1,))
    kept = g("Range", g.scalar(0), g("Size", indices), g.scalar(1))
    return flat, bag, counts, numbers, kept, divisors


def _bags_from(g: Builder, indices: Value, offsets: Value, dtype: Any) -> tuple[Value, ...]:
    """The bag of an index is how many have begun by then, less one."""
    positions = g("Range", g.scalar(0), g("Size", indices), g.scalar(1))
    begun = g.cast(g("GreaterOrEqual", positions, g("Unsqueeze", offsets, g.ints([1]))), INT64)
    bag = g("Sub", g("ReduceSum", begun, g.ints([0]), keepdims=0), g.scalar(1))
    ends = g("Concat", g.slice(offsets, 0, 1, 2**63 - 1), g("Shape", indices), axis=0)
    counts = g("Sub", ends, offsets)
    divisors = g.cast(g.unsqueeze(g("Max", counts, g.ints([1])), 1), dtype)
    full = g("Reshape", g("NonZero", counts), g.ints([-1]))
    return g.cast(indices, INT64), bag, counts, full, positions, divisors


# -- running results ---------------------------------------------------------------------------------------------------
def _running(g: Builder, op: str, self: Value, dim: int, fill: Any) -> Value:
    """Of the elements up to each one along a dimension: a row of a matrix for each, with *fill* for those after it."""
    places = g("Range", g.scalar(0), g.scalar(self.sizes[dim]), g.scalar(1))
    until = g("GreaterOrEqual", g.unsqueeze(places, 1), places)
    if rest := range(2, self.ndim - dim + 1):
        until = g.unsqueeze(until, *rest)
    row = g("Where", until, g.unsqueeze(self, dim), g.constant(fill, self.dtype))
    return g.like(g(op, row, g.ints([dim + 1]), keepdims=0), self)


@form("cumprod")
def cumprod(g: Builder, self: Value, dim: int) -> Value:
    self = g.like(g.cast(self, g.results[0][1]), self)
    return _running(g, "ReduceProd", self, dim, 1) if self.ndim else self


@form("the indices of records")
def record_indices(g: Builder, self: Value, ufunc: Any, dim: int) -> Value:
    """Where each element's running extreme stands: the latest of equal ones, or of those that are no numbers."""
    if not self.ndim:
        return g.scalar(0)
    self, highest = g.like(g.ordered(self), self), ufunc is np.maximum
    if self.dtype.kind == "f":
        fill = -np.inf if highest else np.inf
    else:
        fill = np.iinfo(self.dtype).min if highest else np.iinfo(self.dtype).max
    floats = self.dtype.kind == "f"
    nan = g.like(g("IsNaN", self), self) if floats else None
    known = self if nan is None else g.like(g("Where", nan, g.constant(fill, self.dtype), self), self)
    extremes = _running(g, "ReduceMax" if highest else "ReduceMin", known, dim, fill)
    new = g("Equal", self, extremes)
    if nan is not None:
        met = g.cast(_running(g, "ReduceMax", g.cast(nan, np.int32), dim, 0), bool)
        new = g("Or", nan, g("And", new, g("Not", met)))
    places = g("Range", g.scalar(0), g.scalar(self.sizes[dim]), g.scalar(1))
    if rest := range(1, self.ndim - dim):
        places = g.unsqueeze(places, *rest)
    records = g("Where", new, places, g.scalar(0))
    return _running(g, "ReduceMax", g.like(records, self), dim, 0)
