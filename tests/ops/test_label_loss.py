"""Losses with margins between classes, of several labels, of triplets under any distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

F = torch.nn.functional


def test_values() -> None:
    scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    assert F.multi_margin_loss(scores, torch.tensor([3])).item() == pytest.approx(0.325)
    assert F.multilabel_margin_loss(scores, torch.tensor([[3, 0, -1, 1]])).item() == pytest.approx(0.85)
    assert F.soft_margin_loss(torch.zeros(3), torch.ones(3)).item() == pytest.approx(np.log(2))
    near, far = torch.zeros(1, 2), torch.full((1, 2), 3.0)
    taxi = F.triplet_margin_with_distance_loss(near, far, near, distance_function=lambda a, b: (a - b).abs().sum(1))
    assert taxi.item() == 7


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, t: F.multi_margin_loss(x, t, p=3), ValueError, "only p == 1 and p == 2"),
        (lambda x, t: F.multi_margin_loss(x, t + 9), RuntimeError, "out of range"),
        (lambda x, t: F.multi_margin_loss(x, t[:1]), RuntimeError, "Expected target size"),
        (lambda x, t: F.multi_margin_loss(x, t.float()), RuntimeError, "expected scalar type Long"),
        (lambda x, t: F.multi_margin_loss(x, t, weight=x), ValueError, "one-dimensional"),
        (lambda x, t: F.multi_margin_loss(x, t, weight=x[0, :2]), RuntimeError, "inconsistent weight size"),
        (lambda x, t: F.multi_margin_loss(x, t, reduction="all"), ValueError, "not a valid value for reduction"),
        (lambda x, t: F.multilabel_margin_loss(x, t), RuntimeError, "inconsistent target size"),
        (lambda x, t: F.multilabel_margin_loss(x, x.long() + 9), RuntimeError, "out of range"),
        (lambda x, t: F.multilabel_margin_loss(x, x), RuntimeError, "expected scalar type Long"),
        (lambda x, t: F.triplet_margin_with_distance_loss(x, x, x[0]), RuntimeError, "same number of dimensions"),
        (lambda x, t: F.triplet_margin_with_distance_loss(x, x, x, margin=0), ValueError, "greater than 0"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(torch.ones(2, 3), torch.tensor([0, 2]))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_as_in_pytorch(reduction: str) -> None:
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(4, 5)), generator.normal(size=(4, 5))
    classes, labels = np.array([0, 4, 2, 2]), np.array([[1, 0, -1, 2, 3], [-1] * 5, [0, 1, 2, 3, 4], [2, 2, -1, 0, 0]])

    def check(name: str, *arrays: Any, **options: Any) -> None:
        same_as_pytorch(
            lambda t, *tensors: getattr(t.nn.functional, name)(*tensors, reduction=reduction, **options),
            *arrays,
            second=name not in ("multi_margin_loss", "multilabel_margin_loss"),  # PyTorch has none
        )

    for options in ({}, {"p": 2}, {"margin": 0.3}):
        check("multi_margin_loss", x, classes, **options)
        check("multi_margin_loss", x[0], np.array(2), **options)
    same_as_pytorch(
        lambda t, x, c: t.nn.functional.multi_margin_loss(
            x, c, weight=t.tensor([1.0, 2.0, 0.5, 0.0, 1.0], dtype=x.dtype), reduction=reduction
        ),
        x,
        classes,
        second=False,
    )
    check("multilabel_margin_loss", x, labels)
    check("multilabel_margin_loss", x[0], labels[0])
    same_as_pytorch(lambda t, x, y: t.nn.functional.soft_margin_loss(x, y.detach().sign(), reduction=reduction), x, y)
    check("soft_margin_loss", x, y)  # an error: no gradient flows to targets
    check("multilabel_soft_margin_loss", x, generator.uniform(size=(4, 5)))
    for options in ({}, {"swap": True, "margin": 0.5}):
        check("triplet_margin_with_distance_loss", x, y, x[::-1].copy(), **options)


@pytest.mark.parametrize("shape", [(4, 5), (4,), (4, 1), (1, 5), (1, 1), (5,)])
def test_shapes_of_variances_as_in_pytorch(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    x, y, var = generator.normal(size=(4, 5)), generator.normal(size=(4, 5)), generator.uniform(0.5, 2, size=shape)
    same_as_pytorch(lambda t, x, y, v: t.nn.functional.gaussian_nll_loss(x, y, v, full=True), x, y, var)
