"""Rules of rows that read or write places: by subscripts, along a dimension, or in flat order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _runtime
from .._inplace import write
from ..ops import copies, scan
from ..ops.subscript import Indices
from ._batch import Batch, Batched, call, expanded, on_array, padded, reshaped
from ._shapes import flattened, unfolded

DYNAMIC = (
    "vmap: {name}() gives a result whose shape depends on the values, so that it may differ from example to example, which "
    "vmap does not support; use torch.where, or a mask that multiplies, in its place"
)

MASKED = (
    "vmap: an index that is a mask takes or writes as many elements as it has True, a number that may differ from example to "
    "example: what shape depends on the values is data-dependent control flow, which vmap does not support; use "
    "torch.where(mask, value, x) in place of x[mask] = value, and torch.where, or a mask that multiplies, in place of x[mask]"
)


def dynamic(batch: Batch) -> Any:
    """Refuse a row whose result's shape depends on the values."""
    raise RuntimeError(DYNAMIC.format(name=batch.row.name))


# -- subscripts --------------------------------------------------------------------------------------------------------
class Subscript:
    """The indices of one example as those of a batch.

    Attributes
    ----------
    indices : Indices
        For the tensor with its batch in front.
    first, count : int
        Where in one example's result the indexed dimensions are, and how many.
    behind : bool
        Whether the batch's result has the indexed dimensions right behind, or before, the batch: not where one example's has.
    """

    def __init__(self, batch: Batch) -> None:
        given = [i.tensor if isinstance(i, Batched) else i for i in batch.params["indices"]]
        batched = [isinstance(i, Batched) for i in batch.params["indices"]]
        if any([b and t._array.dtype.kind == "b" for t, b in zip(given, batched)]):
            raise RuntimeError(MASKED)
        placed = [d for d, t in enumerate(given) if t is not None]
        adjacent = placed == list(range(placed[0], placed[-1] + 1))
        ranks = [
            1 if t._array.dtype.kind == "b" else t._array.ndim - b for t, b in zip(given, batched) if t is not None
        ]
        self.first, self.count = (placed[0] if adjacent else 0), max(ranks)
        if not any(batched):
            self.indices = Indices([None, *given])
            self.source, self.target = (0, 0) if adjacent else (self.count, 0)  # where the batch is, and shall be
            self.several = 1
            return
        rank = self.count
        wide = [t if t is None or not b else padded(t, rank - (t._array.ndim - 1)) for t, b in zip(given, batched)]
        numbers = np.arange(batch.size).reshape(-1, *[1] * rank)
        self.indices = Indices([_runtime.wrap(numbers), *wide])
        self.source, self.target = 1, 1 + self.first  # where the indexed dimensions are, and shall be
        self.several = rank

    def order(self, rank: int) -> tuple[int, ...]:
        """What brings the result, of so many dimensions, into the order of one example's behind the batch."""
        moved = list(range(self.source, self.source + self.several))
        others = [d for d in range(rank) if d not in moved]
        return (*others[: self.target], *moved, *others[self.target :])

    def ordered(self, result: Any) -> Any:
        order = self.order(result._array.ndim)
        return result if order == tuple(range(len(order))) else call("permute", [result], {"dims": order})

    def unordered(self, values: Any) -> Any:
        order = self.order(values._array.ndim)
        back = tuple(np.argsort(order).tolist())
        return values if order == back == tuple(range(len(order))) else call("permute", [values], {"dims": back})


def index(batch: Batch) -> Any:
    """A subscript: the batch is a further dimension, which is numbered where the indices are batched."""
    subscript = Subscript(batch)
    return subscript.ordered(call("index", [batch.whole(0)], {"indices": subscript.indices}))


def index_backward(batch: Batch) -> Any:
    subscript = Subscript(batch)
    shape = (batch.size, *batch.params["shape"])
    return batch.again([subscript.unordered(batch.whole(0))], indices=subscript.indices, shape=shape)


def index_put(batch: Batch) -> Any:
    subscript = Subscript(batch)
    values = batch.whole(1)
    plain = Indices([i.tensor if isinstance(i, Batched) else i for i in batch.params["indices"]])
    rank = plain.result_ndim(batch.ranks[0])
    if any([isinstance(i, Batched) for i in batch.params["indices"]]):
        rank = batch.ranks[0] - sum([i is not None for i in plain]) + subscript.count
    values = subscript.unordered(padded(values, rank - batch.ranks[1]))
    return batch.again([batch.whole(0), values], indices=subscript.indices)


# -- along a dimension -------------------------------------------------------------------------------------------------
def lifted(batch: Batch, *places: int) -> list[Any]:
    """Inputs that have a batch in any case, scalars as vectors."""
    tensors = [batch.whole(p) for p in places]
    return [padded(t, 1) if t._array.ndim == 1 else t for t in tensors]


_LIKE = {"gather": "index", "scatter_lone_zeros": "src", "scatter_prod_once": "src", "scatter_prod_twice": "src"}
"""Rows of this kind whose result has another input's shape than that of the first."""


def result_shape(batch: Batch) -> tuple[int, ...]:
    """The shape of one example's result of such a row."""
    if "shape" in batch.params:
        shape: tuple[int, ...] = batch.params["shape"]
        return shape
    like = _LIKE.get(batch.row.name) or batch.params.get("of", "self")
    return batch.shape(batch.row.inputs.index(like))


def gather(batch: Batch) -> Any:
    """A row of which the inputs have one rank, but for scalars, which count as vectors."""
    params, shape = batch.filled(), result_shape(batch)
    for name, value in params.items():
        if isinstance(value, np.ndarray) and value.ndim == 1:
            params[name] = on_array(padded, value, 1)
    if "shape" in params:
        params["shape"] = (batch.size, *(shape or (1,)))
    rank = max(*batch.ranks, len(shape), 1)
    params["dim"] = params["dim"] % rank + 1
    out = call(batch.row, lifted(batch, *range(len(batch.tensors))), params)
    return reshaped(out, batch.size, *shape)


def along(batch: Batch, place: int, like: tuple[int, ...], dim: int) -> Any:
    """A batched vector of indices as places along a dimension of a batch whose examples have the shape *like*."""
    vector = batch.whole(place)
    count = math.prod(vector._array.shape[1:])
    wide = reshaped(vector, batch.size, *[1] * dim, count, *[1] * (len(like) - dim - 1))
    return call("expand", [wide], {"size": (batch.size, *like[:dim], count, *like[dim + 1 :])})


def by_vector(name: str, **fixed: Any) -> Any:
    """The rule of a row that takes a vector of indices; where that is batched, by the row *name*, which takes places."""

    def rule(batch: Batch) -> Any:
        if not batch.batched[1]:
            return shifted_but_index(batch)
        dim = batch.params["dim"]
        shape = batch.params.get("shape", batch.shape(0)) or (1,)
        params: dict[str, Any] = {"dim": dim + 1, **fixed}
        first = lifted(batch, 0)[0]
        rest = []
        if "value" in batch.params:
            params["value"] = batch.params["value"]
        if "shape" in batch.params:
            params["shape"] = (batch.size, *shape)
        places = along(batch, 1, shape, dim)
        if len(batch.tensors) > 2:
            source = batch.whole(2)
            source = padded(source, 1) if source._array.ndim == 1 else source
            if batch.params.get("alpha", 1) != 1:
                source = source * batch.params["alpha"]
            rest = [call("expand", [padded(source, places._array.ndim - source._array.ndim)],
                         {"size": places._array.shape})]  # fmt: skip
        out = call(name, [first, places, *rest], params)
        scalar = not batch.params.get("shape", batch.shape(0)) and name != "gather"
        flat = name == "gather" and not batch.shape(0)
        return reshaped(out, batch.size) if scalar or flat else out

    return rule


def shifted_but_index(batch: Batch) -> Any:
    """The row along a further dimension by the same indices."""
    index = batch.tensors[1]
    shape = batch.params.get("shape", batch.shape(0))
    tensors = [t if p == 1 else lifted(batch, p)[0] for p, t in enumerate(batch.tensors)]
    params = dict(batch.params) | {"dim": batch.params["dim"] % max(len(shape), 1) + 1}
    if "shape" in params:
        params["shape"] = (batch.size, *(shape or (1,)))
    out = call(batch.row, tensors, params)
    count = index._array.size
    scalar = not shape and (batch.row.name != "index_select" or count == 1)
    return reshaped(out, batch.size) if scalar else out


def index_fill_tensor(batch: Batch) -> Any:
    """A value where the index is: a place that it names twice takes it once."""
    value = padded(batch.whole(2), batch.ranks[0])
    return call("where", [value, batch.whole(0), slices_named(batch)])


def slices_named(batch: Batch) -> Any:
    """Whether a vector of indices names the slices that elements are in."""
    shape = batch.shape(0) or (1,)
    nowhere = _runtime.wrap(np.zeros((batch.size, *shape), bool))
    places = along(batch, 1, shape, batch.params["dim"])
    mask = call("scatter_value", [nowhere, places], {"dim": batch.params["dim"] + 1, "value": True})
    return reshaped(mask, batch.size, *batch.shape(0))


# -- in flat order -----------------------------------------------------------------------------------------------------
def flat(batch: Batch, place: int) -> Any:
    return reshaped(batch.whole(place), batch.size, -1)


def counted(batch: Batch, place: int, shape: tuple[int, ...]) -> Any:
    """Flat indices into one example of a shape, negative ones from the end, as places along the second dimension."""
    count = _runtime.wrap(np.asarray(max(math.prod(shape), 1)))
    return call("remainder", [flat(batch, place), count])


def take(batch: Batch) -> Any:
    out = call("gather", [flat(batch, 0), counted(batch, 1, batch.shape(0))], {"dim": 1})
    return reshaped(out, batch.size, *batch.shape(1))


def put_sum(batch: Batch) -> Any:
    shape = batch.params["shape"]
    params = {"dim": 1, "shape": (batch.size, math.prod(shape))}
    return reshaped(call("scatter_sum", [flat(batch, 0), counted(batch, 1, shape)], params), batch.size, *shape)


def put(batch: Batch) -> Any:
    tensors = [flat(batch, 0), counted(batch, 1, batch.shape(0)), flat(batch, 2)]
    if batch.params["accumulate"]:
        out = call("scatter_add", tensors, {"dim": 1, "include_self": True})
    else:
        out = call("scatter", tensors, {"dim": 1})
    return reshaped(out, batch.size, *batch.shape(0))


# -- masks -------------------------------------------------------------------------------------------------------------
def masked_scatter(batch: Batch) -> Any:
    """The element of the source that each place takes is told by how many places of the mask come before."""
    mask, shape = flat_masks(batch, batch.shape(0))
    source, base = flat(batch, 2), broadcast_to(batch, 0, shape)
    count, wanted = source._array.shape[1], mask._array.sum(1)
    if (wanted > count).any():
        raise RuntimeError(
            f"masked_scatter: Number of elements of source < number of ones in mask: got {count} and {wanted.tolist()} for the "
            "examples of vmap"
        )
    if not count:
        return call("clone", [base])
    values = call("gather", [source, ranks(mask)], {"dim": 1})
    return call("where", [reshaped(t, *base._array.shape) for t in (values, base, mask)])


def masked_select(batch: Batch) -> Any:
    """What a mask that all examples share selects."""
    if batch.batched[1]:
        return dynamic(batch)
    shape = np.broadcast_shapes(batch.shape(0), batch.shape(1)) or (1,)
    mask = call("expand", [batch.tensors[1]], {"size": shape})
    return call("index", [broadcast_to(batch, 0, shape)], {"indices": Indices([None, mask])})


def masked_pack(batch: Batch) -> Any:
    """What the mask selects, in front: each element is added to the place that is its rank."""
    mask, _ = flat_masks(batch, batch.shape(0))
    shape, tensor = batch.params["shape"], flat(batch, 0)
    count = math.prod(shape)
    kept = call("keep", [tensor, mask])
    if not count:
        return reshaped(call("slice", [kept], {"dim": 1, "start": 0, "end": 0, "step": 1}), batch.size, *shape)
    params = {"dim": 1, "shape": (batch.size, count)}
    return reshaped(call("scatter_sum", [kept, ranks(mask)], params), batch.size, *shape)


def masked_place(batch: Batch) -> Any:
    """The elements of all examples, one after the other, where the mask of the whole batch is true."""
    shape = batch.params["shape"]
    mask, whole = flat_masks(batch, shape)
    wide = (batch.size, *[1] * (len(whole) - len(shape)), *shape)
    tensors = [reshaped(flat(batch, 0), -1), reshaped(mask, batch.size, *whole)]
    return reshaped(call("masked_place", tensors, {"shape": wide}), batch.size, *shape)


def flat_masks(batch: Batch, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Each example's mask as a row, and what it and *shape* broadcast to."""
    whole = np.broadcast_shapes(batch.shape(1), shape)
    return reshaped(broadcast_to(batch, 1, whole), batch.size, -1), whole


def broadcast_to(batch: Batch, place: int, shape: tuple[int, ...]) -> Any:
    """The input at a place, of all examples, each broadcast to a shape."""
    tensor = padded(batch.whole(place), len(shape) - batch.ranks[place])
    return call("expand", [tensor], {"size": (batch.size, *shape)})


def ranks(mask: Any) -> Any:
    """How many places that are true come before each one that is, in rows."""
    return (scan.cumsum(mask, 1) - 1).clamp_min(0)


# -- embeddings --------------------------------------------------------------------------------------------------------
def numbered(batch: Batch, place: int, count: int) -> Any:
    """Indices into one example's rows as indices into those of all examples, one after the other."""
    indices = batch.whole(place)
    starts = np.arange(batch.size).reshape(-1, *[1] * (indices._array.ndim - 1)) * count
    return call("add", [indices, _runtime.wrap(starts)])


def is_padding(batch: Batch, place: int, beside: int) -> Any:
    """Where indices are those of the padding, shaped to broadcast with rows."""
    number = _runtime.wrap(np.asarray(batch.params["padding_idx"]))
    mask = call("eq", [batch.tensors[place], number])
    return padded(mask if batch.batched[place] else expanded(mask, batch.size), 1, beside)


def embedding(batch: Batch) -> Any:
    """Lookups; in tables of their own the examples' rows stand one after the other."""
    if not batch.batched[0] and not batch.params["scale_grad_by_freq"]:
        return batch.again(batch.tensors)
    out = by_table(batch)
    if batch.params["padding_idx"] < 0:
        return out
    return call("where", [_runtime.wrap(out._array), out, is_padding(batch, 1, out._array.ndim - 1)])


def embedding_masked(batch: Batch) -> Any:
    """The same for derivatives of a table, in which the padding's row is zeros."""
    out = by_table(batch)
    mask = is_padding(batch, 1, out._array.ndim - 1)
    return call("masked_fill", [out, mask], {"value": 0}) if batch.params["padding_idx"] >= 0 else out


def by_table(batch: Batch) -> Any:
    count = batch.shape(0)[0]
    return batch.again([flattened(batch.whole(0)), numbered(batch, 1, count)], padding_idx=-1)


def embedding_backward(batch: Batch) -> Any:
    grad = batch.whole(0)
    count, width = batch.params["shape"]
    if batch.params["padding_idx"] >= 0:
        grad = call("masked_fill", [grad, is_padding(batch, 1, grad._array.ndim - 1)], {"value": 0})
    shape = (batch.size * count, width)
    out = batch.again([grad, numbered(batch, 1, count)], shape=shape, padding_idx=-1)
    return unfolded(out, batch.size, count)


# -- through views -----------------------------------------------------------------------------------------------------
def copy_slices(batch: Batch) -> Any:
    """A copy of which the part that a chain of views shows is overwritten: by the same views of the batch."""
    from . import batched, rule_of

    take = batch.params["take"]
    if take.order is not None or any([rule_of(row) is None for row, _, _ in take.steps]):
        return None
    part = out = call("contiguous", [batch.whole(0)])
    for row, params, number in take.steps:
        found, _ = batched(row, [part], [0], params, batch.size)
        part = found[number or 0]
    value = (
        padded(batch.tensors[1], part._array.ndim - batch.tensors[1]._array.ndim)
        if batch.batched[1]
        else batch.tensors[1]
    )
    write(part, copies.copy, (value,))
    return out


def ordered(batch: Batch) -> Any:
    order = getattr(batch.params["take"], "order", None)
    return call("contiguous", batch.tensors) if order is None else None
