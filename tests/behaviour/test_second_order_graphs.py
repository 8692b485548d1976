"""What second derivatives reach: gradients that are zero, but there, where a function is piecewise linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

F = torch.nn.functional
nn = torch.nn
grad = torch.autograd.grad


def numbers(*shape: int) -> Any:
    """Distinct numbers of both signs, none of them zero."""
    count = 1
    for size in shape:
        count *= size
    return (((torch.arange(count) * 7) % 23 - 11) / 8 + 0.05).reshape(shape)


PIECEWISE: dict[str, Callable[[Any], Any]] = {
    "abs": torch.abs,
    "relu": torch.relu,
    "leaky_relu": F.leaky_relu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "prelu": lambda x: F.prelu(x, torch.tensor([0.2])),
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool3d": lambda x: F.max_pool3d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "avg_pool1d": lambda x: F.avg_pool1d(x[0], 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool3d": lambda x: F.avg_pool3d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "reflection": lambda x: F.pad(x[0], (1, 1), mode="reflect"),
    "replication": lambda x: F.pad(x[0], (1, 1), mode="replicate"),
    "nll_loss": lambda x: F.nll_loss(x[0, 0], torch.tensor([0, 3, 1, 2])),
}


@pytest.mark.parametrize("name", PIECEWISE)
def test_the_gradient_of_a_piecewise_linear_function_requires_grad(name: str) -> None:
    x = numbers(1, 2, 4, 4).requires_grad_()
    (first,) = grad(PIECEWISE[name](x).sum(), x, create_graph=True)
    assert first.requires_grad
    (second,) = grad(first.sum(), x)
    assert second.shape == x.shape
    assert not second.any()


@pytest.mark.parametrize("name", ["clamp", "amax", "sort", "sign", "circular padding"])
def test_gradients_that_are_constants(name: str) -> None:
    functions: dict[str, Callable[[Any], Any]] = {
        "clamp": lambda x: x.clamp(-1, 1),
        "amax": lambda x: x.max(1).values,
        "sort": lambda x: x.sort(1).values,
        "sign": torch.sign,
        "circular padding": lambda x: F.pad(x, (1, 1), mode="circular"),
    }
    x = numbers(1, 3, 4).requires_grad_()
    (first,) = grad(functions[name](x).sum(), x, create_graph=True)
    assert not first.requires_grad


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_by_a_constant_weight(transposed: bool) -> None:
    """Its gradient requires grad, but the second derivative is nothing, not zeros."""
    x, weight = numbers(1, 2, 4, 4).requires_grad_(), numbers(2, 2, 2, 2)
    (first,) = grad((F.conv_transpose2d if transposed else F.conv2d)(x, weight).sum(), x, create_graph=True)
    assert first.requires_grad
    assert grad(first.sum(), x, retain_graph=True, allow_unused=True) == (None,)
    first.sum().backward()
    assert x.grad is None


CRITICS: dict[str, Callable[[], Any]] = {
    "leaky": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(32, 6), nn.LeakyReLU(0.2), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1)
    ),
    "convolutional": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 2, 2), nn.LeakyReLU(), nn.Flatten(),
        nn.Linear(2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CRITICS)
def test_gradient_penalty(kind: str) -> None:
    torch.manual_seed(0)
    critic, x = CRITICS[kind](), numbers(3, 2, 4, 4).requires_grad_()
    optimizer = torch.optim.Adam(critic.parameters())
    (gradient,) = grad(critic(x).sum(), x, create_graph=True)
    ((gradient.flatten(1).norm(2, dim=1) - 1) ** 2).mean().backward()
    assert x.grad is not None
    assert not x.grad.any()
    *hidden, last = [module for module in critic if hasattr(module, "bias")]
    assert last.bias.grad is None  # no kink follows it
    for module in hidden:
        assert not module.bias.grad.any()
        assert module.weight.grad.any()
    optimizer.step()
    with_state = {id(p) for p in optimizer.state}
    assert with_state == {id(p) for p in critic.parameters() if p is not last.bias}


def test_hessian_rows_of_a_relu_network() -> None:
    w = numbers(3, 4)
    x = numbers(4).requires_grad_()
    (first,) = grad(torch.relu(w @ x).sum(), x, create_graph=True)
    for i in range(4):
        (row,) = grad(first[i], x, retain_graph=True)
        assert row.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("exponent", "derivatives"),
    [
        (0, [0.0]),
        (1, [1.0, 0.0]),
        (2, [4.0, 2.0, 0.0]),
        (3, [12.0, 12.0, 6.0, 0.0]),
        (4, [32.0, 48.0, 48.0, 24.0, 0.0]),
        (-1, [-0.25, 0.25, -0.375, 0.75]),
    ],
)
def test_powers_are_recorded_down_to_the_zeroth(exponent: int, derivatives: list[float]) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x**exponent
    for order, derivative in enumerate(derivatives, 1):
        assert y.requires_grad
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == derivative
        assert y.requires_grad == (exponent < 0 or order <= exponent)


@pytest.mark.parametrize("function", [torch.square, lambda x: torch.float_power(x, 2)])
def test_third_derivative_of_a_square(function: Callable[[Any], Any]) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    (first,) = grad(function(x), x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    assert [first.item(), second.item(), third.item()] == [6.0, 2.0, 0.0]
