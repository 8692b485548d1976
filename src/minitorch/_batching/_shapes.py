"""Rules of rows that work elementwise, along dimensions, on trailing dimensions, or on all elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _runtime
from .._dtypes import result_dtype
from ._batch import Batch, call, expanded, mapped, on_array, padded, rank_of, reshaped

DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")
"""Constants that are dimensions, one or several."""
SIZES = ("shape", "size")
"""Constants that are shapes, where they are tuples."""
MORE = {"unsqueeze": 1, "unsqueeze_": 1, "stack": 1, "diag_embed": 1}
"""Rows whose dimensions are counted in a result that has more of them."""


# -- elementwise -------------------------------------------------------------------------------------------------------
def elementwise(batch: Batch) -> Any:
    """The row on inputs that broadcast as those of one example do."""
    if len(batch.tensors) == 1:
        return batch.again(batch.tensors)
    if not batch.row.broadcasts:
        return together(batch)
    return batch.again(settled(batch))


def written(batch: Batch) -> Any:
    """The same for a row whose result is like its first input."""
    tensors = settled(batch)
    if not batch.batched[0]:
        shape = batch.tensors[0]._array.shape
        tensors[0] = call("expand", [tensors[0]], {"size": (batch.size, *shape)})
    return batch.again(tensors)


def together(batch: Batch) -> Any:
    """The row on inputs that all have a batch, and that broadcast behind it."""
    rank = max(batch.ranks)
    tensors = [padded(batch.whole(place), rank - own) for place, own in enumerate(batch.ranks)]
    return call(batch.row, tensors, batch.filled())


def settled(batch: Batch) -> list[Any]:
    """The inputs, aligned, of the dtypes that promotion needs: a 0-d tensor counts less there, its batch does not."""
    tensors, row = batch.aligned(), batch.row
    names = row.inputs * len(tensors) if row.variadic else row.inputs
    places = [i for i, n in enumerate(names) if (row.elementwise or n in row.formulas) and rank_or_none(tensors[i])]
    dtypes = {tensors[i]._array.dtype for i in places}
    if len(dtypes) > 1 and row.broadcasts:
        ranks = batch.ranks
        wanted = result_dtype([np.empty((0,) * ranks[i], tensors[i]._array.dtype) for i in places])
        if result_dtype([tensors[i]._array for i in places]) != wanted:
            for i in places:
                tensors[i] = call("to", [tensors[i]], {"dtype": wanted, "copy": False})
    return tensors


def rank_or_none(value: Any) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value, _runtime.Tensor)


# -- along dimensions --------------------------------------------------------------------------------------------------
def shifted(batch: Batch) -> Any:
    """The row with its dimensions one further, and its shapes with the batch in front."""
    params, ranks = batch.filled(), batch.ranks
    shape = params.get("shape")
    rank = (len(shape) if isinstance(shape, tuple) else max(ranks)) + MORE.get(batch.row.name, 0)
    scalar = rank == 0  # counts as a vector of one element
    moved = moved_params(params, max(rank, 1), batch.size, scalar)
    tensors = batch.wholes()
    if scalar:
        tensors = [padded(t, 1) for t in tensors]
        moved = {n: on_array(padded, v, 1) if isinstance(v, np.ndarray) else v for n, v in moved.items()}
    out = call(batch.row, tensors, moved)
    return mapped(lambda t: call("squeeze_dim", [t], {"dim": 1}) if t._array.ndim > 1 else t, out) if scalar else out


def moved_params(params: dict[str, Any], rank: int, size: int, scalar: bool = False) -> dict[str, Any]:
    """Constants of a row that knows nothing of the batch, for one with the batch in front."""
    moved = {}
    for name, value in params.items():
        if name in DIMS:
            value = moved_dim(None if scalar and value == () else value, rank)
        elif name in SIZES and isinstance(value, tuple):
            value = (size, 1) if scalar else (size, *value)
        elif name == "keepdim" and scalar:
            value = True
        moved[name] = value
    return moved


def moved_dim(dim: Any, rank: int) -> Any:
    """A dimension, or several, one further; None is all of them."""
    if isinstance(dim, int):
        return dim % rank + 1
    return tuple([d % rank + 1 for d in (range(rank) if dim is None else dim)])


def padded_and_shifted(batch: Batch) -> Any:
    """The same for inputs of several ranks."""
    batch.tensors = batch.aligned()
    rank = max(batch.ranks)
    for i, tensor in enumerate(batch.tensors):
        if not batch.batched[i]:
            batch.tensors[i] = padded(tensor, rank - rank_of(tensor), 0)
    return shifted(batch)


def expand(batch: Batch) -> Any:
    size = batch.params["size"]
    (tensor,) = batch.tensors
    return call("expand", [padded(tensor, len(size) - batch.ranks[0])], {"size": (batch.size, *size)})


def view(batch: Batch) -> Any:
    """Also where the batch stands in the way of a view: the elements are copied then."""
    size = batch.params["size"]
    known = int(np.prod([s for s in size if s != -1]))
    size = tuple([int(np.prod(batch.shape(0))) // max(known, 1) if s == -1 else s for s in size])
    array = batch.tensors[0]._array
    try:
        np.reshape(array.view(), (batch.size, *size), copy=False)
    except ValueError:
        return reshaped(batch.tensors[0], batch.size, *size)
    return batch.again(batch.tensors, size=(batch.size, *size))


def permute(batch: Batch) -> Any:
    rank = batch.ranks[0]
    return batch.again(batch.tensors, dims=(0, *[d % rank + 1 for d in batch.params["dims"]]))


def turned(batch: Batch) -> Any:
    """Dimensions the other way round."""
    return call("permute", batch.tensors, {"dims": (0, *range(batch.ranks[0], 0, -1))})


def mT(batch: Batch) -> Any:
    """Matrices transposed; numbers as they are."""
    return call("mT" if batch.ranks[0] else "alias", batch.tensors)


def squeeze(batch: Batch) -> Any:
    dims = tuple([d + 1 for d, size in enumerate(batch.shape(0)) if size == 1])
    return call("squeeze_dims" + "_" * batch.row.name.endswith("_"), batch.tensors, {"dim": dims})


def unsqueeze_dims(batch: Batch) -> Any:
    dims = batch.params["dim"]
    dims = (dims,) if isinstance(dims, int) else dims
    return batch.again(batch.tensors, dim=moved_dim(tuple(dims), batch.ranks[0] + len(dims)))


def repeat(batch: Batch) -> Any:
    repeats = batch.params["repeats"]
    return batch.again([padded(batch.tensors[0], len(repeats) - batch.ranks[0])], repeats=(1, *repeats))


def roll(batch: Batch) -> Any:
    if batch.params["dims"]:
        return shifted(batch)
    flat = reshaped(batch.tensors[0], batch.size, -1)
    return reshaped(batch.again([flat], dims=(1,)), *batch.tensors[0]._array.shape)


def diagonal_copy(batch: Batch) -> Any:
    found = call("diagonal", batch.tensors, {"offset": batch.params["offset"], "dim1": 1, "dim2": 2})
    return call("contiguous", [found])


def trace(batch: Batch) -> Any:
    found = call("diagonal", batch.tensors, {"offset": 0, "dim1": 1, "dim2": 2})
    return call("sum", [found], {"dim": (1,), "keepdim": False})


# -- on trailing dimensions --------------------------------------------------------------------------------------------
def leading(batch: Batch) -> Any:
    """The row, which takes any number of leading dimensions, on inputs that all have the batch in front."""
    size = batch.size
    params = {n: (size, *v) if n == "shape" else v for n, v in batch.filled().items()}
    return call(batch.row, batch.wholes(), params)


def leading_alone(batch: Batch) -> Any:
    """The same for a row of one input, whose constants are as they are for any number of examples."""
    return batch.again(batch.tensors)


def solve_ex(batch: Batch) -> Any:
    solution, info = together(batch)
    return solution, reshaped(info, batch.size, *batch.shape(0)[:-2])


def lstsq(batch: Batch) -> Any:
    """None where some examples have residuals and some, of lower rank, have none: there is no batch of those."""
    solution, residuals, rank, values = together(batch)
    if residuals._array.shape == (0,) and batch.params["driver"] in ("gelsd", "gelss"):
        rows, columns = batch.shape(0)[-2:]
        full = rank._array.reshape(batch.size, -1) == columns
        if rows > columns and full.all(1).any():
            return None
    rest = [expanded(t, batch.size) if t._array.shape == (0,) else t for t in (residuals, rank, values)]
    return solution, *rest


def folded(batch: Batch) -> Any:
    """The row, which treats every element of its first dimension alike, with the batch folded into that."""
    count = batch.shape(0)[0]
    tensors = [flattened(t) for t in batch.wholes()]
    params = batch.filled()
    for name, value in params.items():
        if isinstance(value, np.ndarray):
            params[name] = on_array(flattened, value)
        elif name == "shape":
            params[name] = (batch.size * value[0], *value[1:])
    return mapped(lambda t: unfolded(t, batch.size, count), call(batch.row, tensors, params))


def flattened(tensor: Any) -> Any:
    """The first two dimensions as one."""
    shape = tensor._array.shape
    return reshaped(tensor, shape[0] * shape[1], *shape[2:])


def unfolded(tensor: Any, *sizes: int) -> Any:
    """The first dimension as several."""
    return reshaped(tensor, *sizes, *tensor._array.shape[1:])


# -- on all elements ---------------------------------------------------------------------------------------------------
def all_by_dim(name: str) -> Any:
    """The rule of a row that reduces all elements, by the row that does it along dimensions."""

    def rule(batch: Batch) -> Any:
        (tensor,), rank = batch.tensors, batch.ranks[0]
        if not rank:  # one element, whose dtype may change all the same
            tensor, rank = padded(tensor, 1), 1
        return call(name, [tensor], {"dim": tuple(range(1, rank + 1)), "keepdim": False})

    return rule


def prod_all(batch: Batch) -> Any:
    flat = reshaped(batch.tensors[0], batch.size, -1)
    return call("prod", [flat], {"dim": 1, "keepdim": False})


def dropped(name: str) -> Any:
    """The rule of a row that chooses one of all elements, by the function that does it along a dimension."""

    def rule(batch: Batch) -> Any:
        from ..ops import statistics

        return getattr(statistics, name)(reshaped(batch.tensors[0], batch.size, -1), 1)[0]

    return rule


def sum_to(batch: Batch) -> Any:
    """The inverse of broadcasting."""
    shape, (tensor,) = batch.params["shape"], batch.tensors
    extra = batch.ranks[0] - len(shape)
    kept = (batch.size, *[1] * extra, *shape)
    out = tensor if tensor._array.shape == kept else call("sum_to", [tensor], {"shape": kept})
    return reshaped(out, batch.size, *shape)
