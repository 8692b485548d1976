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
    return g("Gather", self, g.number(index, INT64), axis=dim)


@form("slice")
def slice_(g: Builder, self: Value, dim: int, start: Any, end: Any, step: Any) -> Value:
    return g.slice(self, dim, start, end, step)


@form("narrow_copy")
def narrow_copy(g: Builder, self: Value, dim: int, start: Any, end: Any) -> Value:
    return g.slice(self, dim, start, end)


@form("diagonal", "diagonal_copy")
def diagonal(g: Builder, self: Value, offset: Any, dim1: Any, dim2: Any) -> Value:
    ((shape, _),) = g.results
    return _diagonal(g, self, shape[-1], offset, dim1, dim2)


def _diagonal(g: Builder, self: Value, size: Any, offset: Any, dim1: Any, dim2: Any) -> Value:
    """Elements found by their places in both dimensions, which are brought to the front; so many, if that is known."""
    one, other = [(k if d is None else d) % self.ndim for d, k in ((dim1, 0), (dim2, 1))]
    rest = [d for d in range(self.ndim) if d not in (one, other)]
    first = [max(0, -offset), max(0, offset)]
    if g.known(size):
        count = g.scalar(size)
    else:
        count = g("Min", *[g.binary("Sub", g.scalar(self.sizes[d]), by) for d, by in zip((one, other), first)])
    steps = g("Range", g.scalar(0), count, g.scalar(1))
    places = g("Concat", *[g.unsqueeze(g.binary("Add", steps, by), 1) for by in first], axis=1)
    found = g("GatherND", g.transpose(self, [one, other, *rest]), places)
    return g("Transpose", found, perm=[*range(1, self.ndim - 1), 0])


@form("diagonal_scatter")
def diagonal_scatter(g: Builder, self: Value, src: Value, offset: Any, dim1: Any, dim2: Any) -> Value:
    return g.put(self, _diagonal(g, g.places(self), src.sizes[-1], offset, dim1, dim2), src)


@form("slice_scatter")
def slice_scatter(g: Builder, self: Value, src: Value, dim: int, start: Any, end: Any, step: Any) -> Value:
    return g.put(self, g.slice(g.places(self), dim, start, end, step), src)


@form("roll")
def roll(g: Builder, self: Value, shifts: Sequence[Any], dims: Sequence[int]) -> Value:
    """What is moved beyond the end comes first: the shift is taken modulo the size, which may vary."""
    whole = self if dims else g.reshape(self, (-1,))
    for shift, dim in zip(shifts, dims or (0,)):
        size = g("Shape", whole, start=dim, end=dim + 1)
        first = g("Sub", size, g("Mod", g.ints([shift]), g("Max", size, g.ints([1]))))
        parts = [g("Slice", whole, *ends, g.ints([dim])) for ends in ((first, size), (g.ints([0]), first))]
        whole = g("Concat", *parts, axis=dim)
    return whole if dims else g.reshape(whole, self.sizes)


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


# -- sorting -----------------------------------------------------------------------------------------------------------
@form("argsort")
def argsort(g: Builder, self: Value, dim: int, descending: bool) -> Value:
    if not self.ndim:
        return g.scalar(0)
    return _top(g, self, self.sizes[dim], dim, descending)


def _top(g: Builder, self: Value, count: Any, dim: int, largest: bool) -> Value:
    keys = g.ranked(self)
    return _int64(g("TopK", keys, g.ints([count]), outputs=2, axis=dim, largest=int(largest), sorted=1)[1])


@form("the indices of topk")
def top_indices(g: Builder, self: Value, k: Any, dim: int, largest: bool) -> Value:
    return _top(g, self, k, dim, largest) if self.ndim else g.scalar(0)


@form("the indices of kthvalue")
def kth_index(g: Builder, self: Value, k: Any, dim: int) -> Value:
    if not self.ndim:
        return g.scalar(0)
    if not isinstance(k, int):
        raise CannotExport("kthvalue() of a k that depends on sizes")
    return g.slice(_top(g, self, k, dim, False), dim, k - 1, k)


@form("the indices of median")
def median_index(g: Builder, self: Value, dim: int, skip_nan: bool) -> Value:
    """What is no number is sorted last: the first of it, or the middle of the others, has a place that depends on values."""
    if not self.ndim:
        return g.scalar(0)
    one, two, size = g.ints([1]), g.ints([2]), g.ints([self.sizes[dim]])
    if self.dtype.kind != "f":
        k = g("Div", g("Add", size, one), two)
        smallest = _int64(g("TopK", g.ordered(self), k, outputs=2, axis=dim, largest=0, sorted=1)[1])
        return g("Slice", smallest, g("Sub", k, one), k, g.ints([dim]))
    known = _count(g, g("Not", g("IsNaN", self)), self, dim, True)
    place = g("Div", g("Max", g("Sub", known if skip_nan else size, one), g.ints([0])), two)
    if not skip_nan:
        place = g("Where", g("Less", known, size), known, place)
    return g("GatherElements", _top(g, self, self.sizes[dim], dim, False), place, axis=dim)


def _count(g: Builder, true: Value, self: Value, dims: Any, keepdim: bool) -> Value:
    """How many are true along dimensions of a value."""
    return reduced(g, "ReduceSum", g.like(g.cast(true, INT64), self), dims, keepdim)


@form("the ranks of quantiles")
def ranks(
    g: Builder, ranked: Value, levels: Value, place: int, dim: int, keepdim: bool, interpolation: str, skips: bool
) -> tuple[Value, ...]:
    """As the kernel has them: of the elements that are numbers, or of all, which are the last one then, where one is none."""
    wide, zero = np.dtype(np.float64), g.ints([0])
    missing = _count(g, g("IsNaN", ranked), ranked, dim, True)
    last = g("Sub", g.ints([ranked.sizes[dim]]), g.ints([1]))
    some = g("Greater", missing, zero)
    span = g("Max", g("Sub", last, missing), zero) if skips else g("Where", some, zero, last)
    level = g("Gather", g.reshape(levels, (-1,)), g.scalar(place), axis=0)
    rank = g("Mul", g.cast(level, wide), g.cast(span, wide))
    if not skips:
        rank = g("Add", rank, g.cast(g("Where", some, last, zero), wide))
    rank = g.cast(rank, ranked.dtype)
    if interpolation == "nearest":
        rank = g("Round", rank)
    low = g("Floor", rank)
    half = g.binary("Mul", g.cast(g("Not", g("Equal", rank, low)), rank.dtype), 0.5)
    weight = g("Sub", rank, low) if interpolation == "linear" else half
    if not keepdim:
        weight, span = g.squeeze(weight, dim), g.squeeze(span, dim)
    return g.cast(low, INT64), g.cast(g("Ceil", rank), INT64), weight, level, g.cast(span, ranked.dtype)


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
    self = g.ranked(self, np.inf if op == "ArgMax" else -np.inf)
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
_reduction("prod_all prod", "ReduceProd")


def _keeping_nan(g: Builder, op: str, self: Value, dim: Any, keepdim: bool) -> Value:
    """A reduction and a sum of zeros, and of what is no number, which keeps that so beside others."""
    found = reduced(g, op, g.like(g.ordered(self), self), dim, keepdim)
    if self.dtype.kind != "f" or not self.ndim:
        return found
    nans = g("Where", g("IsNaN", self), self, g.constant(0, self.dtype))
    return g("Add", found, reduced(g, "ReduceSum", g.like(nans, self), dim, keepdim))


@form("amax", "max_dim")
def amax(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    return _keeping_nan(g, "ReduceMax", self, dim, keepdim)


@form("amin", "min_dim")
def amin(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    return _keeping_nan(g, "ReduceMin", self, dim, keepdim)


@form("max_all")
def max_all(g: Builder, self: Value) -> Value:
    return amax(g, self, None, False)


@form("min_all")
def min_all(g: Builder, self: Value) -> Value:
    return amin(g, self, None, False)


@form("aminmax")
def aminmax(g: Builder, self: Value, dim: Any, keepdim: bool) -> tuple[Value, Value]:
    return amin(g, self, dim, keepdim), amax(g, self, dim, keepdim)


@form("logsumexp")
def logsumexp(g: Builder, self: Value, dim: Any, keepdim: bool) -> Value:
    return _keeping_nan(g, "ReduceLogSumExp", self, dim, keepdim)


@form("sum_to")
def sum_to(g: Builder, self: Value, shape: Sequence[Any]) -> Value:
    lead = self.ndim - len(shape)
    dims = [d for d in range(self.ndim) if d < lead or (shape[d - lead] == 1 and self.sizes[d] != 1)]
    return g.reshape(reduced(g, "ReduceSum", self, dims, True), shape) if dims else self


@form("all or any")
def all_or_any(g: Builder, self: Value, ufunc: Any, dims: Any, keepdim: bool) -> Value:
    """Of no elements, all are true, and none is: the extremes of none are the highest and lowest integers."""
    op = "ReduceMin" if ufunc is np.logical_and else "ReduceMax"
    true = g.like(g.cast(g.cast(self, bool), np.int32), self)
    return g("Greater", reduced(g, op, true, dims, keepdim), g.constant(0, np.int32))


@form("count_nonzero")
def count_nonzero(g: Builder, self: Value, dims: Any) -> Value:
    return _count(g, g.cast(self, bool), self, dims, False)


@form("how many are not nan")
def count_numbers(g: Builder, self: Value, dims: Any, keepdim: bool) -> Value:
    return _count(g, g("Not", g("IsNaN", self)), self, dims, keepdim)


@form("vector_norm")
def vector_norm(g: Builder, self: Value, ord: float, dim: Any, keepdim: bool) -> Value:
    if ord in (1, 2):
        return reduced(g, f"ReduceL{int(ord)}", self, dim, keepdim)
    size = g.like(g("Abs", self), self)
    if abs(ord) == float("inf"):
        return amax(g, size, dim, keepdim) if ord > 0 else amin(g, size, dim, keepdim)
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


@form("logcumsumexp")
def logcumsumexp(g: Builder, self: Value, dim: int) -> Value:
    return _running(g, "ReduceLogSumExp", self, dim, -np.inf) if self.ndim else self


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
