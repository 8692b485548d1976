"""What observers are told, beside calls of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._modes import Observer, observers


class Listener(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def recorded(self, call: Any) -> None:
        self.heard.append(f"{call.row.name}{'_' * call.in_place}")

    def written(self, tensor: Any, out: Any) -> None:
        self.heard.append("written")

    def copied(self, tensor: Any, array: Any) -> None:
        self.heard.append("copied")

    def left(self, kind: str, tensor: Any) -> None:
        self.heard.append(f"left by {kind}")


class Lifting(Listener):
    lifts = True


class InParts(Listener):
    parts = True


@pytest.fixture
def listening() -> Iterator[Any]:
    before = list(observers)

    def start(kind: type[Listener]) -> Listener:
        observers.append(listener := kind())
        return listener

    yield start
    observers[:] = before


def test_the_operations_of_an_ordinary_backward_pass_are_not_shown(listening: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    heard = listening(Listener).heard
    x.tanh().sum().backward()
    assert heard == ["tanh", "sum_all"]


def test_a_lifted_pass_shows_its_operations_and_gives_the_same_without_graph(listening: Any) -> None:
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    x.tanh().sum().backward()
    x.tanh().sum().backward()
    plain, x.grad = x.grad, None
    heard = listening(Lifting).heard
    x.tanh().sum().backward()
    assert heard == ["tanh", "sum_all", "expand", "tanh_backward", "clone"]
    first = x.grad
    x.tanh().sum().backward()
    assert x.grad is first
    assert not first.requires_grad
    np.testing.assert_array_equal(first.numpy(), plain.numpy())
    (g,) = torch.autograd.grad(x.tanh().sum(), x)
    assert not g.requires_grad
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_custom_function_and_a_hook_see_tensors_in_a_lifted_pass(listening: Any) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert not torch.is_grad_enabled()
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Double.apply(x)
    y.register_hook(lambda g: g * 3)
    heard = listening(Lifting).heard
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert heard[:4] == ["sum_all", "expand", "mul", "mul"]


def test_in_place_calls_are_shown_whole_or_in_parts(listening: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    whole, parts = listening(Listener).heard, listening(InParts).heard
    y = x * 2
    y.mul_(x)
    assert whole == ["mul", "mul_"]
    assert parts == ["mul", "mul", "copied", "written"]


def test_values_that_leave_are_told(listening: Any) -> None:
    x = torch.ones(1)
    heard = listening(Listener).heard
    assert bool(x)
    assert x.item() == 1
    assert x.tolist() == [1]
    x.numpy()
    x.detach()
    assert heard == ["left by bool", "left by item", "left by tolist", "left by numpy", "left by detach", "detach"]
