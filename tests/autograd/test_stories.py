"""Errors tell what happened, as far as it was recorded, and how to record the rest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.autograd import record_sites


def error_of(function: Callable[[], Any], recorded: bool = True) -> str:
    with record_sites() if recorded else nullcontext(), pytest.raises(RuntimeError) as caught:
        function()
    return str(caught.value)


# -- values that were written ------------------------------------------------------------------------------------------
def written() -> None:
    hidden = torch.ones(3, requires_grad=True) * 2
    hidden.name = "hidden"
    loss = (hidden.exp() * hidden).sum()
    hidden.add_(1)
    hidden.mul_(2)
    loss.backward()


def test_a_written_value() -> None:
    said = error_of(written)
    assert "[torch.FloatTensor [3]] 'hidden', the 'other' that MulBackward0 saved, which was recorded at" in said
    assert "is at version 2; expected version 0 instead" in said
    assert said.count("It was written at File") == 2
    assert said.rstrip(".").endswith("by mul_")
    plain = error_of(written, False)
    assert "is at version 2 and was written after" in plain
    assert "set_detect_anomaly(True)" in plain
    assert "record_sites() tells the line" in plain


def test_writes_before_it_was_saved_do_not_count() -> None:
    def function() -> None:
        x = torch.ones(3, requires_grad=True) * 2
        x.add_(1)
        y = x * x
        x.add_(1)
        y.sum().backward()

    said = error_of(function)
    assert "is at version 2; expected version 1 instead" in said
    assert said.count("It was written") == 1


def test_more_writes_than_are_remembered() -> None:
    def function() -> None:
        x = torch.ones(3, requires_grad=True) * 2
        y = x * x
        for _ in range(20):
            x.add_(1)
        y.sum().backward()

    assert "is at version 20 and was written after it was saved" in error_of(function)


class Descent(torch.optim.Optimizer):
    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            p -= 0.1 * p.grad


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, Descent])
def test_a_step_of_an_optimizer_writes(kind: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    optimizer = kind([weight])

    def function() -> None:
        loss = (weight * weight).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        loss.backward()

    said = error_of(function)
    line = function.__code__.co_firstlineno + 3
    by = f"line {line}, in function, by {kind.__name__}.step()." if kind is not Descent else "in step, by sub_."
    assert by in said
    assert "is at version 1; expected version 0 instead" in said


# -- second passes -----------------------------------------------------------------------------------------------------
def shared() -> None:
    encoder, first, second = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    hidden = nn.Sequential(encoder, nn.Tanh())(torch.ones(2, 3))
    one, other = first(hidden).exp().sum(), second(hidden).exp().sum()
    one.backward()
    other.backward()


def test_the_shared_part_of_two_losses_is_named() -> None:
    said = error_of(shared)
    line = shared.__code__.co_firstlineno
    assert f'has freed what it saved by the backward pass at File "{__file__}", line {line + 4}' in said
    assert f'Both passes go through TanhBackward0 (module 1) at File "{__file__}", line {line + 2}' in said
    assert "record_sites() tells which pass freed it" in error_of(shared, False)


def test_the_same_loss_twice() -> None:
    def function() -> None:
        loss = torch.ones(2, requires_grad=True).exp().sum()
        loss.backward()
        loss.backward()

    said = error_of(function)
    assert "has freed what it saved by the backward pass at" in said
    assert "Both passes" not in said


# -- operands ----------------------------------------------------------------------------------------------------------
def test_operands_have_names_and_lines() -> None:
    def function() -> None:
        scores = torch.ones(2, 3)
        scores.name = "scores"
        weights = torch.ones(4) * 2
        scores + weights

    said = error_of(function)
    line = function.__code__.co_firstlineno
    assert f"input is 'scores' and was made at test_stories.py:{line + 1}: scores = torch.ones(2, 3)" in said
    assert f"other was made at test_stories.py:{line + 3}: weights = torch.ones(4) * 2" in said
    plain = error_of(function, False)
    assert "input is 'scores'; torch.autograd.record_sites() tells where operands were made" in plain


def test_parameters_have_their_names_in_the_model() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    assert "other is 'scale'" in error_of(lambda: Net()(torch.ones(2, 4)))


def test_matrix_products() -> None:
    said = error_of(lambda: torch.ones(4, 5) @ (torch.ones(3, 2) * 2))
    assert said.startswith("matmul(): mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)")
    assert "mat2 was made at test_stories.py" in said
