"""Samples of indexing, gather and scatter, masks and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sample import Sample, distinct, normal, positive, sample

MASK = [[True, False, True], [False, True, False]]
ROWS = [[0, 1, 1], [1, 0, 1]]  # for gather and scatter along dim 0 of a matrix of 2 rows
COLUMNS = [[2, 0, 0, 1], [1, 1, 2, 2]]  # along dim 1, longer than a matrix of 3 columns


def row(name: str) -> Any:
    """minitorch's recording function of a row that has no public name."""
    from minitorch._op import rows

    return rows[name].call


def index_of(values: Any) -> Any:
    from minitorch._runtime import wrap

    return wrap(np.asarray(values))


def indices_of(*tensors: Any) -> Any:
    from minitorch.ops.subscript import Indices

    return Indices([None if t is None else index_of(t) for t in tensors])


def internal(call: Any, *inputs: Any) -> Sample:
    """A sample of a row that PyTorch has no function for."""
    return sample(lambda torch, *tensors: call(*tensors), *inputs, in_torch=False)


def reduced(reduce: str, include_self: bool, *inputs: Any, **about: Any) -> Sample:
    def call(torch: Any, x: Any, src: Any) -> Any:
        return torch.scatter_reduce(x, 0, torch.tensor(ROWS), src, reduce, include_self=include_self)

    return sample(call, *inputs, **about)


FACTORS = [[1.5, -0.5, 2.0], [0.7, 1.2, -1.1]]
TIED = ([[3.0, 1.0, 2.0], [0.0, 4.0, 5.0]], [[3.0, 1.0, 2.5], [0.5, 1.0, 2.5]], [[3.0, 1.0, 2.0], [0.5, 4.0, 5.0]])

SAMPLES: dict[str, list[Sample]] = {
    "select": [
        sample(lambda torch, x: x[1], normal(2, 3)),
        sample(lambda torch, x: x.select(1, -1), normal(2, 3)),
        sample(lambda torch, x: x[0], normal(3)),
    ],
    "select_backward": [internal(lambda g: row("select_backward")(g, (2, 3), 1, 2), normal(2))],
    "slice": [
        sample(lambda torch, x: x[1:], normal(3, 2)),
        sample(lambda torch, x: x[:, ::2], normal(2, 5)),
        sample(lambda torch, x: x[-2:9], normal(3, 2)),
    ],
    "slice_backward": [internal(lambda g: row("slice_backward")(g, (2, 5), 1, 0, 5, 2), normal(2, 3))],
    "alias": [sample(lambda torch, x: x[...], normal(2, 3))],
    "index": [
        sample(lambda torch, x: x[[1, 0, 1]], normal(2, 3)),
        sample(lambda torch, x: x[torch.tensor(MASK)], normal(2, 3)),
        sample(lambda torch, x: x[[0, 1, 1], None, [2, 2, 0]], normal(2, 3, 2)),
        sample(lambda torch, x: x[:, [[0, 1], [2, 0]], 1:], normal(2, 3, 2)),
    ],
    "index_backward": [
        internal(lambda g: row("index_backward")(g, indices_of([1, 0, 1]), (2, 3)), normal(3, 3)),
        internal(lambda g: row("index_backward")(g, indices_of(None, [2, 2], [0, 0]), (2, 3, 2)), normal(2, 2)),
        internal(lambda g: row("index_backward")(g, indices_of([-1, 1], None, [0, 0]), (2, 3, 2)), normal(2, 3)),
        internal(lambda g: row("index_backward")(g, indices_of(MASK), (2, 3, 2)), normal(3, 2)),
    ],
    "index_put": [
        sample(lambda torch, x, v: x.index_put((torch.tensor([1, 0]),), v), normal(3, 2), normal(2, 2)),
        sample(lambda torch, x, v: x.index_put((torch.tensor([1, 1]),), v, accumulate=True), normal(3, 2), normal(2)),
        sample(lambda torch, x, v: x.index_put((torch.tensor(MASK),), v), normal(2, 3), normal()),
        sample(lambda torch, x, v: x.index_put((torch.tensor(MASK),), v, accumulate=True), normal(2, 3), normal(3)),
    ],
    "index_select": [
        sample(lambda torch, x: torch.index_select(x, 1, torch.tensor([2, 0, 2])), normal(2, 3)),
        sample(lambda torch, x: torch.index_select(x, 0, torch.tensor([0])), normal()),
    ],
    "index_sum": [internal(lambda g: row("index_sum")(g, index_of([2, 0, 2]), 1, (2, 3, 2)), normal(2, 3, 2))],
    "index_add": [
        sample(lambda torch, x, s: torch.index_add(x, 0, torch.tensor([1, 1]), s), normal(3, 2), normal(2, 2)),
        sample(
            lambda torch, x, s: torch.index_add(x, 1, torch.tensor([1, 1]), s, alpha=2.5), normal(2, 3), normal(2, 2)
        ),
    ],
    "index_copy": [
        sample(lambda torch, x, s: torch.index_copy(x, 1, torch.tensor([2, 0]), s), normal(2, 3), normal(2, 2)),
        sample(lambda torch, x, s: torch.index_copy(x, 0, torch.tensor(1), s), normal(3), normal(1)),
    ],
    "index_fill": [sample(lambda torch, x: torch.index_fill(x, 0, torch.tensor([-1, 0]), 2.5), normal(3, 2))],
    "index_fill_tensor": [
        sample(lambda torch, x, v: torch.index_fill(x, 1, torch.tensor([0, 2]), v), normal(2, 3), normal()),
    ],
    "embedding": [
        sample(lambda torch, w: torch.nn.functional.embedding(torch.tensor([[1, 0], [1, 1]]), w), normal(3, 4)),
        sample(lambda torch, w: torch.nn.functional.embedding(torch.tensor(2), w), normal(3, 2)),
    ],
    "embedding_backward": [
        internal(lambda g: row("embedding_backward")(g, index_of([1, 0, 1]), (3, 2), 0, True), normal(3, 2)),
    ],
    "embedding_masked": [internal(lambda w: row("embedding_masked")(w, index_of([1, 0, 1]), 0, True), normal(3, 2))],
    "gather": [
        sample(lambda torch, x: torch.gather(x, 1, torch.tensor(COLUMNS)), normal(2, 3)),
        sample(lambda torch, x: torch.gather(x, 0, torch.tensor([[1, 0]])), normal(2, 3)),
        sample(lambda torch, x: torch.gather(x, 0, torch.tensor([0, 0])), normal()),
        sample(lambda torch, x: torch.gather(x, 1, torch.tensor([[[1], [0]]])), normal(2, 3, 2)),
    ],
    "scatter_sum": [internal(lambda s: row("scatter_sum")(s, index_of(ROWS), 0, (2, 3)), normal(2, 3))],
    "scatter": [
        sample(lambda torch, x, s: torch.scatter(x, 1, torch.tensor([[2, 0], [1, 0]]), s), normal(2, 3), normal(2, 2)),
        sample(
            lambda torch, x, s: torch.scatter(x, 0, torch.tensor([[1, 0]]), s),
            normal(2, 3),
            normal(2, 3),
            in_torch=False,
        ),
    ],
    "scatter_value": [sample(lambda torch, x: torch.scatter(x, 0, torch.tensor(ROWS), 2.5), normal(2, 3))],
    "scatter_add": [
        sample(lambda torch, x, s: torch.scatter_add(x, 0, torch.tensor(ROWS), s), normal(2, 3), normal(2, 3)),
        sample(lambda torch, x, s: torch.scatter_add(x, 1, torch.tensor(COLUMNS), s), normal(2, 3), normal(2, 4)),
    ],
    "scatter_reduce_sum": [
        reduced("sum", True, normal(2, 3), normal(2, 3)),
        reduced("sum", False, normal(2, 3), normal(2, 3)),
    ],
    "scatter_reduce_mean": [
        reduced("mean", True, normal(2, 3), normal(2, 3)),
        reduced("mean", False, normal(2, 3), normal(2, 3)),
    ],
    "scatter_reduce_extreme": [
        reduced("amax", True, distinct(2, 3), distinct(2, 3) + 0.01),
        reduced("amin", False, distinct(2, 3), distinct(2, 3) + 0.01),
    ],
    "scatter_reduce_prod": [  # PyTorch divides by each factor, and multiplies again: its graph has edges with zeros
        reduced("prod", True, FACTORS, positive(2, 3), same_graph=False),
        reduced("prod", False, FACTORS, positive(2, 3), same_graph=False),
    ],
    "take": [sample(lambda torch, x: torch.take(x, torch.tensor([[0, -1], [2, 0]])), normal(2, 3))],
    "put_sum": [internal(lambda s: row("put_sum")(s, index_of([0, -1, 0]), (2, 3)), normal(3))],
    "put": [
        sample(lambda torch, x, s: torch.put(x, torch.tensor([0, -1]), s), normal(2, 3), normal(2)),
        sample(lambda torch, x, s: torch.put(x, torch.tensor([0, -6, 1]), s, accumulate=True), normal(2, 3), normal(3)),
    ],
    "masked_select": [
        sample(lambda torch, x: torch.masked_select(x, torch.tensor(MASK)), normal(2, 3)),
        sample(lambda torch, x: torch.masked_select(x, torch.tensor(MASK)), normal(3)),
        sample(lambda torch, x: torch.masked_select(x, torch.tensor(MASK)), normal(2, 1)),
        sample(lambda torch, x: torch.masked_select(x, torch.tensor([True, False, True])), normal(2, 3)),
    ],
    "masked_place": [internal(lambda g: row("masked_place")(g, index_of(MASK), (2, 1)), normal(3))],
    "masked_scatter": [
        sample(lambda torch, x, s: torch.masked_scatter(x, torch.tensor(MASK), s), normal(2, 3), normal(2, 2)),
        sample(lambda torch, x, s: torch.masked_scatter(x, torch.tensor(MASK), s), normal(3), normal(3)),
    ],
    "masked_pack": [internal(lambda g: row("masked_pack")(g, index_of(MASK), (2, 2)), normal(2, 3))],
    "narrow_copy": [sample(lambda torch, x: torch.narrow_copy(x, 1, 1, 2), normal(2, 4))],
    "scatter_extreme_shares": [
        internal(
            lambda x, src, top: row("scatter_extreme_shares")(x, index_of(ROWS), src, top, 0, True, "self"), *TIED
        ),
        internal(lambda x, src, top: row("scatter_extreme_shares")(x, index_of(ROWS), src, top, 0, True, "src"), *TIED),
    ],
    "scatter_prod_once": [
        internal(lambda x, s: row("scatter_prod_once")(x, index_of(ROWS), s, 0), normal(3, 3), normal(2, 3))
    ],
    "scatter_prod_twice": [
        internal(
            lambda g, x, s: row("scatter_prod_twice")(g, x, index_of(ROWS), s, 0), normal(2, 3), normal(3, 3), FACTORS
        )
    ],
    "slices_named": [
        sample(
            lambda torch, x: row("slices_named")(x, index_of([1, 1]), 0).to(x.dtype),
            normal(2, 3),
            in_torch=False,
            order=0,
        )
    ],
    "zeros_of": [internal(lambda x: row("zeros_of")(x), [[0.0, 2.0]])],
    "scatter_lone_zeros": [
        internal(
            lambda x, s: row("scatter_lone_zeros")(x, index_of(ROWS), s, 0),
            FACTORS,
            [[0.0, 0.0, 1.0], [1.0, 2.0, 0.0]],
        ),
        internal(
            lambda x, s: row("scatter_lone_zeros")(x, index_of(ROWS), s, 0),
            normal(3, 3),
            [[0.0, 0.0, 1.0], [1.0, 2.0, 0.0]],
        ),
    ],
}
