"""How rows that read or write places are written: indices, slices, masks, what is chosen by order."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._args import Position
from ._expressions import Expression
from ._formula_images import changed
from ._formula_rows import RESHAPES, permuted, stretched
from ._formula_text import Ref

Params = Mapping[str, Any]
Layouts = list[tuple[tuple[int, ...], Any]]


def at(reading: Any, indices: Any) -> tuple[list[Expression], tuple[str, Any]]:
    """The tensors of an index, and which dimensions they are for."""
    places = tuple([n for n, index in enumerate(indices) if index is not None])
    return [reading.index_of(indices[n]) for n in places], ("at", places)


def indexed(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    tensors, places = at(reading, params["indices"])
    made: Expression = reading.algebra.call("getitem", (*args, *tensors), (places,), *layouts[0])
    return made


def index_put(back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    tensors, places = at(reading, params["indices"])
    if places[1] != tuple(range(len(tensors))):
        return None
    if back:
        args = (reading.algebra.constant(0, *layouts[0]), *args)
    if args[1].kind == "number":  # for as many places as there are
        args = (args[0], reading.algebra.constant(args[1].number, (), args[1].dtype))
    added = (("accumulate", True),) if back or params["accumulate"] is True else ()
    made: Expression = reading.algebra.call("put_at", (*args, *tensors), (places, *added), *layouts[0])
    return made


def chosen(reading: Any, args: Any, params: Params, layouts: Layouts, name: str, **options: Any) -> Expression | None:
    """The values beside indices: by the function whose second result those are, else by ``gather``."""
    (x,), (shape, dtype) = args, layouts[0]
    index = reading.place_of(params["index"])
    if index.kind == "item" and index.head == 1 and index.args[0].head == name and index.args[0].args[0] is x:
        return reading.algebra.reshaped(reading.algebra.item(index.args[0], 0, index.shape, dtype), shape)
    if not x.ndim:
        return x
    made = reading.algebra.call("gather", (x, index), (("dim", params["dim"]), ("index", Ref(1))), index.shape, dtype)
    return reading.algebra.reshaped(made, shape)


def put_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The gradient of values beside indices: put where those were, among zeros."""
    (grad,), (shape, dtype) = args, layouts[0]
    if not shape:
        return grad
    index = reading.place_of(params["index"])
    source = grad if params["keepdim"] else stretched(grad, params["dim"])
    inputs = reading.algebra.constant(0, shape, dtype), index, source
    options = ("dim", params["dim"]), ("index", Ref(1)), ("src", Ref(2))
    made: Expression = reading.algebra.call("scatter", inputs, options, shape, dtype)
    return made


def embedded(back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """Rows of a table; the gradient is added up in those."""
    table, index = args
    if params["scale_grad_by_freq"] or params["padding_idx"] >= 0:
        return None
    if back:
        inputs = reading.algebra.constant(0, *layouts[0]), table, index
        made: Expression = reading.algebra.call("put_at", inputs, (("at", (0,)), ("accumulate", True)), *layouts[0])
        return made
    made = reading.algebra.call("embedding", (index, table), (), *layouts[0])
    return made


def strided(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``as_strided`` of a tensor that lay in row-major order at the beginning of its memory."""
    (x,), (size, stride, offset) = args, params["origin"]
    rows = tuple([math.prod(size[d + 1 :]) for d in range(len(size))])
    if offset or any([n > 1 and a != b for n, a, b in zip(size, stride, rows)]):
        return None
    if x.kind != "symbol":  # which has the memory that it has
        x = reading.algebra.call("contiguous", args, (), x.shape, x.dtype)
    options: Any = ("_size", params["size"]), ("_stride", params["stride"])
    options += (("_offset", params["offset"]),) if params["offset"] else ()
    made: Expression = reading.algebra.call("as_strided", (x,), options, *layouts[0])
    return made


def windows(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """``x.unfold(dim, size, step)``."""
    options = ("_dimension", params["dimension"]), ("_size", params["size"]), ("_step", params["step"])
    made: Expression = reading.algebra.call("windows", args, options, *layouts[0])
    return made


def follows(reading: Any, params: Params) -> bool:
    """Whether integers among parameters were read from values of the computation."""
    return any([v.__class__ is Position and reading.known(v) is not None for v in params.values()])


def replaced(reading: Any, e: Expression, value: Expression, take: Any) -> Expression | None:
    """An expression of which a view was overwritten; None where a step to that view is no plain one."""
    parts, array, algebra = [e], np.empty(e.shape, e.dtype), reading.algebra
    for row, given, number in take.steps:
        if number is not None or row.name not in _UNDONE:
            return None
        array = row.apply(array, *given)
        (part,) = reading.of_row(row, (parts[-1],), dict(zip(row.params, given)), [(array.shape, array.dtype)])
        parts.append(part)
    made = algebra.fitted(value, parts[-1].shape, e.dtype)
    for (row, given, _), whole in zip(reversed(take.steps), reversed(parts[:-1])):
        params = dict(zip(row.params, given))
        if follows(reading, params):
            shown, refs = reading._shown(row, params, 2)
            made = algebra.call(f"{row.name}_scatter", (whole, made, *refs), shown, whole.shape, whole.dtype)
        else:
            made = _UNDONE[row.name](whole, made, params)
    return made


def _selected(whole: Expression, part: Expression, params: dict[str, Any]) -> Expression:
    return whole.algebra.call("select_scatter", (whole, part), tuple(params.items()), whole.shape, whole.dtype)


def _sliced(whole: Expression, part: Expression, params: dict[str, Any]) -> Expression:
    shown = sliced(params, whole.shape)
    return whole.algebra.call("slice_scatter", (whole, part), shown, whole.shape, whole.dtype) if shown[1:] else part


def sliced(params: Params, shape: tuple[int, ...]) -> tuple[tuple[str, Any], ...]:
    """The dimension of a slice, and what is not left out."""
    dim, end = params["dim"], params["end"]
    usual = changed({**params, "end": min(end, shape[dim])}, start=0, end=shape[dim], step=1)
    return (("dim", dim), *usual)


def _on_diagonal(whole: Expression, part: Expression, params: dict[str, Any]) -> Expression:
    shown = changed(params, offset=0, dim1=0, dim2=1)
    return whole.algebra.call("diagonal_scatter", (whole, part), shown, whole.shape, whole.dtype)


def _permuted_back(whole: Expression, part: Expression, params: dict[str, Any]) -> Expression:
    rank = whole.ndim
    if not rank:
        return part
    if "dims" in params:
        dims = [d % rank for d in params["dims"]]
    else:
        dims = list(range(rank))
        first, second = (params["dim0"], params["dim1"]) if params else (-2, -1)
        dims[first], dims[second] = dims[second], dims[first]
    return permuted(part, tuple(int(d) for d in np.argsort(dims)))


_UNDONE: dict[str, Callable[..., Expression]] = {
    "select": _selected, "slice": _sliced, "diagonal": _on_diagonal, "alias": lambda whole, part, params: part,
    **dict.fromkeys(("transpose", "permute", "mT"), _permuted_back),
    **dict.fromkeys(RESHAPES, lambda whole, part, params: part.algebra.reshaped(part, whole.shape)),
}  # fmt: skip
"""By the row of a view: the whole of which a part is written over."""


def overwritten(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    base, value = args
    return replaced(reading, base, value, params["take"])


def scattered(row: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """A part put into a whole, or a gradient into zeros, by what is not left out."""
    whole, part = args if len(args) == 2 else (reading.algebra.constant(0, *layouts[0]), *args)
    given = {name: value for name, value in params.items() if name != "shape"}
    if row == "slice":
        if len(shown := sliced(given, whole.shape)) == 1:
            return part
    else:
        shown = changed(given, offset=0, dim1=0, dim2=1)
        if whole.kind == part.kind == "number" and not whole.number and whole.ndim == 2 and not shown:
            return part.number * reading.algebra.call("eye", (), (("_sizes", whole.shape),), *layouts[0])
    made: Expression = reading.algebra.call(f"{row}_scatter", (whole, part), shown, *layouts[0])
    return made


def part(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """A slice; all of it is the tensor itself."""
    return args[0] if layouts[0][0] == args[0].shape and params["step"] == 1 else None


def in_slice(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    made: Expression = reading.algebra.call("slice", args, sliced({**params, "step": 1}, args[0].shape), *layouts[0])
    return made


def placed_by_mask(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """Elements one after the other where a mask is true, among zeros."""
    (values, mask), (shape, dtype) = args, layouts[0]
    if np.broadcast_shapes(shape, mask.shape) != shape:
        return None
    inputs = reading.algebra.constant(0, shape, dtype), mask, values
    made: Expression = reading.algebra.call("masked_scatter", inputs, (), shape, dtype)
    return made


INDEXED = frozenset(["index_put", "index_backward"])
"""Rows that are called as they are where some dimensions are not indexed."""
_CHOSEN = {"topk": "topk", "cummax": "cummax", "cummin": "cummin", "sort": "sort", "sort_stable": "sort",
           "kthvalue": "kthvalue", "mode": "mode", "median_dim": "median", "nanmedian_dim": "nanmedian", "take_along": "",
           "take_repeatedly": ""}  # fmt: skip
"""Rows that take values by index, and the functions that choose those."""

PLACES: dict[str, Callable[..., Any]] = {
    "index": indexed,
    "index_put": functools.partial(index_put, False),
    "index_backward": functools.partial(index_put, True),
    "copy_slices": overwritten,
    **{name: functools.partial(chosen, name=function) for name, function in _CHOSEN.items()},
    "put_along": put_back,
    "embedding": functools.partial(embedded, False),
    "embedding_backward": functools.partial(embedded, True),
    "as_strided": strided,
    "unfold": windows,
    "slice": part,
    "narrow_copy": in_slice,
    "masked_place": placed_by_mask,
    **{
        f"{row}_{end}": functools.partial(scattered, row)
        for row in ("slice", "diagonal")
        for end in ("scatter", "backward")
    },
}
"""By the name of a row: see ``CALLS``."""
