"""Rules of choices: what functions compute of values beside rows, such as indices, masks and noise.

They are functions of arrays, without gradients; see ``minitorch._choices``.
"""

from __future__ import annotations

from typing import Any

from .._choices import choices
from . import _shapes
from ._batch import Batch, Rule, call, expanded, mapped, reshaped
from ._places import along, gather
from ._shapes import flattened, unfolded


def by_dim(batch: Batch) -> Any:
    """Along one dimension; where none is named, nothing is moved."""
    return batch.again(batch.tensors) if batch.params["dim"] is None else _shapes.shifted(batch)


def extreme(batch: Batch) -> Any:
    """The place of an extreme along a dimension, or among all elements."""
    if batch.params["dim"] is not None:
        return _shapes.shifted(batch)
    flat = reshaped(batch.tensors[0], batch.size, -1)
    out = batch.again([flat], dim=1, keepdim=False)
    return reshaped(out, batch.size, *[1] * batch.ranks[0]) if batch.params["keepdim"] else out


def noise(batch: Batch) -> Any:
    """Noise for elements, or for channels, which are in the second dimension."""
    return _shapes.folded(batch) if batch.params["feature"] else _shapes.together(batch)


def draw(batch: Batch) -> Any:
    """What a factory draws, for all examples at once, or for each."""
    if batch.params["batch"] is not None:
        return batch.again([], batch=(batch.size, *batch.params["batch"]))
    return call("stack", [batch.again([]) for _ in range(batch.size)], {"dim": 0})


def multinomial(batch: Batch) -> Any:
    """Draws from rows of weights: examples are further rows."""
    (weights,) = batch.wholes()
    if batch.ranks[0] == 1:
        return batch.again([weights])
    return unfolded(batch.again([flattened(weights)]), *weights._array.shape[:2])


def among(batch: Batch) -> Any:
    """Whether elements are among others, which all examples share."""
    return None if batch.batched[1] else batch.again(batch.tensors)


def ranks_of_quantiles(batch: Batch) -> Any:
    """Ranks along a dimension, for levels that all examples share."""
    if batch.batched[1]:
        return None
    dim = batch.params["dim"] % batch.ranks[0] + 1
    low, high, weight, level, span = batch.again([batch.whole(0), batch.tensors[1]], dim=dim)
    return low, high, weight, expanded(level, batch.size), span


def cells(batch: Batch) -> Any:
    """Cells of images: examples are further images."""
    images = batch.params["image"]
    out = batch.again([flattened(t) for t in batch.wholes()], image=(batch.size * images[0], *images[1:]))
    return mapped(lambda t: unfolded(t, batch.size, images[0]), out)


def classes(batch: Batch) -> Any:
    """Targets, whether they are kept, their weights, and for each example the sum of these."""
    if any(batch.batched[1:]):
        return None
    target = reshaped(batch.tensors[0], batch.size) if batch.params["single"] else batch.tensors[0]
    found, kept, weights, _ = batch.again([target, *batch.tensors[1:]], single=False)
    counted = call("keep", [weights, kept])
    dims = tuple(range(1, counted._array.ndim))
    return found, kept, weights, call("sum", [counted], {"dim": dims, "keepdim": False}) if dims else counted


def ignored(batch: Batch) -> Any:
    """Which targets are ignored, and for each example the sum of the weights of the others."""
    found = classes(Batch(choices["classes"], batch.tensors, batch.batched, batch.params, batch.size))
    if found is None:
        return None
    _, kept, _, sums = found
    return call("logical_not", [kept]), call("to", [sums], {"dtype": batch.params["dtype"], "copy": False})


def insertion(batch: Batch) -> Any:
    """Places in sorted sequences: a shared one, or one for each of as many as there are."""
    if not batch.batched[0] and batch.ranks[0] == 1 and len(batch.tensors) == 2:
        return batch.again(batch.tensors)
    return batch.again(batch.wholes()) if batch.ranks[0] == batch.ranks[1] else None


def spread_index(batch: Batch) -> Any:
    """A vector of indices, for each slice."""
    dim, sizes = batch.params["dim"], batch.params["sizes"]
    return along(batch, 0, sizes, dim) if sizes else reshaped(batch.tensors[0], batch.size)


def coordinates(batch: Batch) -> Any:
    """Coordinates, elementwise, and their slope, which may be one number."""
    value, slope = batch.again(batch.tensors)
    if slope._array.ndim < value._array.ndim:
        slope = expanded(slope, batch.size)
    return value, slope


def rank(batch: Batch) -> Any:
    """The rank of matrices, by limits that all examples share."""
    return None if any(batch.batched[1:]) else batch.again(batch.tensors)


CHOICES: dict[str, Rule] = {
    "isclose": _shapes.together,
    "moved statistics": _shapes.together,
    "slopes of rrelu": _shapes.together,
    "gumbel noise": _shapes.together,
    "bernoulli of one probability": _shapes.together,
    "to": _shapes.leading,
    "the floor of places": _shapes.leading,
    "the nearest of places": _shapes.leading,
    "what is not finite": _shapes.leading,
    "exponents": _shapes.leading,
    "mask to be added": _shapes.leading,
    "what is lacking of eps": _shapes.leading,
    "indices counted from the end": _shapes.leading,
    "view as another dtype": _shapes.leading,
    "one_hot": _shapes.leading,
    "unravel_index": _shapes.leading,
    "geqrf": _shapes.leading,
    "matrices that failed": _shapes.leading,
    "values that are valid": _shapes.leading,
    "indices in range": _shapes.leading,
    "zeros on diagonals": _shapes.leading,
    "indices of cells": _shapes.leading,
    "the indices of max_pool": _shapes.leading,
    "the indices of adaptive_max_pool": _shapes.leading,
    "how many are not nan": _shapes.shifted,
    "all or any": _shapes.shifted,
    "count_nonzero": _shapes.shifted,
    "argsort": _shapes.shifted,
    "the indices of topk": _shapes.shifted,
    "the indices of kthvalue": _shapes.shifted,
    "the indices of median": _shapes.shifted,
    "the indices of mode": _shapes.shifted,
    "the indices of records": _shapes.shifted,
    "the largest as one": _shapes.shifted,
    "repeats": _shapes.leading,
    "indices": by_dim,
    "argmax": extreme,
    "argmin": extreme,
    "dropout noise": noise,
    "alpha dropout noise": noise,
    "draw": draw,
    "multinomial": multinomial,
    "isin": among,
    "the ranks of quantiles": ranks_of_quantiles,
    "cells of an image": cells,
    "places in a grid": coordinates,
    "classes": classes,
    "classes that are ignored": ignored,
    "searchsorted": insertion,
    "indices of slices": spread_index,
    "counts of places": gather,
    "matrix_rank": rank,
}
"""Rules by the choices' names."""

PARTIAL = (among, ranks_of_quantiles, classes, ignored, insertion, rank)
"""Those of them that do not cover what some examples share, and others do not."""
