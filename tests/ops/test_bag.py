"""Bags of embeddings, bilinear maps, activations with random parts, channels in another order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

F = torch.nn.functional
TABLE = np.arange(12.0).reshape(4, 3)


def test_bags() -> None:
    table, indices, starts = torch.tensor(TABLE), torch.tensor([0, 3, 1, 2]), torch.tensor([0, 2, 2])
    total = F.embedding_bag(indices, table, starts, mode="sum")
    assert total.tolist() == [[9.0, 11.0, 13.0], [0.0] * 3, [9.0, 11.0, 13.0]]
    assert F.embedding_bag(indices, table, starts, mode="max").tolist() == [[9, 10, 11], [0, 0, 0], [6, 7, 8]]
    pairs = F.embedding_bag(indices.view(2, 2), table, padding_idx=3)
    assert pairs.tolist() == [[0.0, 1.0, 2.0], [4.5, 5.5, 6.5]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"offsets": None}, ValueError, "offsets has to be a 1D Tensor but got None"),
        ({"offsets": torch.zeros(1, 1)}, ValueError, "offsets has to be a 1D Tensor"),
        ({"mode": "min"}, ValueError, "mode has to be one of"),
        ({"mode": "max", "scale_grad_by_freq": True}, ValueError, "does not support scaling"),
        ({"mode": "max", "sparse": True}, ValueError, "does not support sparse"),
        ({"per_sample_weights": torch.ones(3)}, NotImplementedError, "only supported for mode='sum'"),
        ({"per_sample_weights": torch.ones(2), "mode": "sum"}, ValueError, "same shape as the input"),
        ({"per_sample_weights": torch.ones(3), "mode": "sum"}, RuntimeError, "per_sample_weights of type"),
        ({"offsets": torch.tensor([1])}, RuntimeError, r"offsets\[0\] has to be 0"),
        ({"offsets": torch.tensor([0, 9])}, RuntimeError, "can not be greater than input's length"),
        ({"offsets": torch.tensor([0, 2, 1])}, RuntimeError, "must not decrease"),
        ({"input": torch.tensor([0, 4, 1])}, RuntimeError, "Index 1 of input takes value 4"),
        ({"input": torch.ones(3)}, RuntimeError, "indices of type Long or Int"),
        ({"input": torch.ones(1, 1, 1).long()}, ValueError, "1D or 2D Tensor"),
        ({"input": torch.ones(2, 2).long()}, ValueError, "offsets has to be None"),
        ({"padding_idx": 4}, RuntimeError, "padding_idx must be within"),
    ],
)
def test_errors_of_bags(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"input": torch.tensor([0, 3, 1]), "offsets": torch.tensor([0, 2])}
    with pytest.raises(error, match=message):
        F.embedding_bag(weight=torch.tensor(TABLE), **{**given, **arguments})


def test_gradients_may_be_scaled_by_how_often_rows_occur() -> None:
    table = torch.tensor(TABLE, requires_grad=True)
    indices, starts = torch.tensor([1, 1, 2]), torch.tensor([0, 1])
    F.embedding_bag(indices, table, starts, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert table.grad[:, 0].tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_as_in_pytorch(mode: str) -> None:
    generator = np.random.default_rng(0)
    table, indices = generator.normal(size=(6, 3)), np.array([1, 4, 4, 0, 5, 1, 2])
    offsets = ((False, [0, 3, 3, 7]), (False, [0, 2]), (True, [0, 3, 3, 7]))
    for padding, (last, starts) in itertools.product((None, 4, -2), offsets):
        options = {"mode": mode, "padding_idx": padding, "include_last_offset": last}
        same_as_pytorch(
            lambda t, w: t.nn.functional.embedding_bag(t.tensor(indices), w, t.tensor(starts), **options),
            table,
            second=False,
        )
    same_as_pytorch(
        lambda t, w: t.nn.functional.embedding_bag(t.tensor(indices[:6].reshape(2, 3)), w, mode=mode),
        table,
        second=False,
    )
    if mode == "sum":
        same_as_pytorch(
            lambda t, w, s: t.nn.functional.embedding_bag(
                t.tensor(indices), w, t.tensor([0, 3]), mode=mode, per_sample_weights=s, padding_idx=4
            ),
            table,
            generator.normal(size=7),
            second=False,
        )


def test_bilinear_maps() -> None:
    generator = np.random.default_rng(0)
    x, y, weight, bias = [generator.normal(size=s) for s in ((2, 4, 3), (2, 4, 5), (2, 3, 5), (2,))]
    for lead in (x, x[0], x[0, 0]):
        other = y[tuple([0] * (3 - lead.ndim))] if lead.ndim < 3 else y
        same_as_pytorch(lambda t, *given: t.nn.functional.bilinear(*given), lead, other, weight, bias)
        same_as_pytorch(lambda t, *given: t.nn.functional.bilinear(*given), lead, other, weight)
    for wrong in ((x, y[0], weight), (x, y, weight[:, :2]), (x, y, weight, bias[:1]), (x, y, weight.astype("f"))):
        same_as_pytorch(lambda t, *given: t.nn.functional.bilinear(*given), *wrong)


def test_random_parts_are_those_of_the_seed() -> None:
    torch.manual_seed(0)
    noisy = F.rrelu(torch.tensor([-1.0, 2.0, -1.0, -1.0]), training=True)
    torch.testing.assert_close(noisy, torch.tensor([-0.3270943, 2.0, -0.2724625, -0.2207047]))
    torch.manual_seed(0)
    sample = F.gumbel_softmax(torch.zeros(3))
    torch.testing.assert_close(sample, torch.tensor([0.1046507, 0.2984018, 0.5969474]))
    x = torch.tensor([-1.0, 2.0])
    assert F.rrelu_(x, 0.5, 0.5) is x
    assert x.tolist() == [-0.5, 2.0]
    with pytest.raises(RuntimeError, match="lower bound should be less"):
        F.rrelu(x, 1.0, 0.5)


def test_as_in_pytorch() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    for options in ({"training": True}, {"lower": 0.2, "upper": 0.4}):
        same_as_pytorch(lambda t, x: t.nn.functional.rrelu(x, **options), x)
        same_as_pytorch(lambda t, x: t.nn.functional.rrelu(x * 1, inplace=True, **options), x)
    for hard, dim in itertools.product((False, True), (-1, 0)):
        same_as_pytorch(lambda t, x: t.nn.functional.gumbel_softmax(x, 0.7, hard, dim=dim), x)
    for groups in (1, 2, 4, 3, 0):
        same_as_pytorch(lambda t, x: t.nn.functional.channel_shuffle(x, groups), x)
    same_as_pytorch(lambda t, x: t.nn.functional.channel_shuffle(x[0], 2), x)
