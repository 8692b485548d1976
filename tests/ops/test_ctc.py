"""The loss of connectionist temporal classification."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

F = torch.nn.functional


def paths(labels: list[int], length: int, classes: int) -> int:
    """How many sequences of classes become the labels when repeats are merged and blanks, 0, dropped."""
    merged = [[c for c, _ in itertools.groupby(p) if c] for p in itertools.product(range(classes), repeat=length)]
    return merged.count(labels)


@pytest.mark.parametrize("labels", [[], [1], [1, 2], [1, 1], [2, 1, 2]])
def test_the_probability_is_that_of_all_paths(labels: list[int]) -> None:
    log_probs = torch.full((4, 3), -math.log(3))
    loss = F.ctc_loss(log_probs, torch.tensor(labels, dtype=torch.int64), (4,), (len(labels),), reduction="sum")
    assert loss.item() == pytest.approx(-math.log(paths(labels, 4, 3) / 3**4))


def test_targets_that_are_too_long() -> None:
    log_probs = torch.full((2, 1, 3), -math.log(3), requires_grad=True)
    arguments: Any = (log_probs, torch.tensor([[1, 1, 1]]), (2,), (3,))
    assert F.ctc_loss(*arguments).item() == math.inf
    loss = F.ctc_loss(*arguments, zero_infinity=True)
    loss.backward()
    assert loss.item() == 0
    assert (log_probs.grad == 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], (5,), (2,)), "input_lengths"),
        (([[1, 2]], (4,), (3,)), "target_lengths"),
        (([[1, 2]], (4, 4), (2,)), "must be of size batch_size"),
        (([[1, 2]], (4,), (2,), 3), "blank must be in label range"),
        (([[1, 5]], (4,), (2,)), "targets must be classes"),
        (([[1.0, 2.0]], (4,), (2,)), "targets must be integral"),
    ],
)
def test_errors(arguments: Any, message: str) -> None:
    targets, *others = arguments
    with pytest.raises(RuntimeError, match=message):
        F.ctc_loss(torch.zeros(4, 1, 3), torch.tensor(targets), *others)


def test_it_is_differentiated_once() -> None:
    scores = torch.zeros(3, 1, 3, requires_grad=True)
    loss = F.ctc_loss(scores, torch.tensor([[1]]), (3,), (1,))
    (slope,) = torch.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="ctc_loss can be differentiated once"):
        slope.sum().backward()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_as_in_pytorch(reduction: str, zero_infinity: bool) -> None:
    scores = np.random.default_rng(0).normal(size=(7, 3, 5))
    padded, joined = np.array([[1, 1, 2], [3, 0, 0], [4, 2, 0]]), np.array([1, 1, 2, 3, 4, 2])
    for targets, lengths, raw in itertools.product((padded, joined), ((7, 7, 7), (7, 3, 5)), (False, True)):

        def loss(t: Any, x: Any, targets: Any = targets, lengths: Any = lengths, raw: bool = raw) -> Any:
            log_probs = x if raw else t.nn.functional.log_softmax(x, -1)
            options = {"reduction": reduction, "zero_infinity": zero_infinity}
            return t.nn.functional.ctc_loss(log_probs, t.tensor(targets), lengths, (3, 1, 2), **options)

        same_as_pytorch(loss, np.log(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)), second=False)
    if zero_infinity or reduction == "none":
        same_as_pytorch(
            lambda t, x: t.nn.functional.ctc_loss(
                x.log_softmax(-1), t.tensor([[1, 1], [2, 1]]), (2, 2), (2, 2), 4, reduction, zero_infinity=True
            ),
            scores[:2, :2],
            second=False,
        )
