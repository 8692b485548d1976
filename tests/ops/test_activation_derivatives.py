"""Derivatives of activation functions, of any order."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _op
from minitorch.autograd import numerical_jacobian
from minitorch.ops._polynomials import Derivatives, Polynomial, variables

F64 = torch.float64
ROWS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "silu": ("silu_derivative", ()),
    "gelu": ("gelu_derivative", ("none",)),
    "gelu tanh": ("gelu_derivative", ("tanh",)),
    "mish": ("mish_derivative", ()),
    "softplus": ("softplus_derivative", (1.0, 20.0)),
    "softplus scaled": ("softplus_derivative", (3.0, 100.0)),
    "logsigmoid": ("softplus_derivative", (-1.0, math.inf)),
    "softsign": ("softsign_derivative", ()),
}


def function(t: Any, name: str) -> Callable[[Any], Any]:
    F = t.nn.functional
    return {
        "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
        "softplus scaled": lambda x: F.softplus(x, 3.0, 100.0),
        "elu": lambda x: F.elu(x, 1.5),
        "sigmoid": t.sigmoid,
        "tanh": t.tanh,
        "softmax": lambda x: F.softmax(x.reshape(-1, 5), 1),
        "log_softmax": lambda x: F.log_softmax(x.reshape(-1, 5), 1),
    }.get(name, getattr(F, name, None))


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ROWS)
def test_each_order_is_the_derivative_of_the_one_before(name: str, order: int) -> None:
    row, params = ROWS[name]
    x = torch.tensor([-3.1, -0.8, 0.3, 1.7, 4.0], dtype=F64)
    call, ones = _op.rows[row].call, torch.ones(5, dtype=F64)
    least = 1 if name == "softsign" else 2
    if order > least:
        slopes = numerical_jacobian(lambda x: call(ones, x, order - 1, *params), x).diagonal()
    else:
        slopes = numerical_jacobian(torch.func.grad(lambda x: function(torch, name)(x).sum()), x).diagonal()
    assert torch.allclose(call(ones, x, order, *params), slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ROWS)
def test_tails_are_as_exact_as_the_middle(name: str) -> None:
    row, params = ROWS[name]
    x = torch.tensor([-700.0, -60.0, -30.0, 18.0, 60.0, 700.0], dtype=F64)
    for order in (2, 3, 4):
        found = _op.rows[row].call(torch.ones(6, dtype=F64), x, order, *params)
        assert torch.isfinite(found).all()
        if name == "silu":  # at both ends |f''| is |x| exp(-|x|), but for terms that are small next to it
            sign = torch.tensor([1.0, 1, 1, -1, -1, -1], dtype=F64)
            size = (x.abs() - order) * (-x.abs()).exp()
            assert torch.allclose(found, -size * sign**order, rtol=1e-6, atol=0)


@pytest.mark.pytorch
@pytest.mark.parametrize("name", [*ROWS, "elu", "selu", "sigmoid", "tanh", "softmax", "log_softmax"])
def test_three_orders_are_those_of_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    points = np.concatenate([[0.0, -0.0, 1e-9, -20.0, 19.9], 4 * rng.normal(size=200)])
    weights = rng.normal(size=(4, points.size))
    found: list[list[np.ndarray]] = []
    for library in ("torch", "minitorch"):
        t = importlib.import_module(library)
        x = t.tensor(points, dtype=t.float64, requires_grad=True)
        out = function(t, name)(x).reshape(-1)
        found.append([])
        for weight in weights[:3]:
            (out,) = t.autograd.grad((out * t.tensor(weight)).sum(), x, create_graph=True)
            found[-1].append(out.detach().numpy())
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_dtypes_and_layouts_stay() -> None:
    for name, (row, params) in ROWS.items():
        for dtype in (torch.float16, torch.float32, F64):
            x = torch.linspace(-3, 3, 12).reshape(3, 4).to(dtype)
            found = _op.rows[row].call(torch.ones_like(x).t(), x.t(), 2, *params)
            assert found.dtype == dtype
            wide = _op.rows[row].call(torch.ones(4, 3, dtype=F64), x.t().double(), 2, *params)
            assert torch.allclose(found.double(), wide, atol={2: 2e-3, 4: 1e-6, 8: 0}[x.element_size()]), name
        assert _op.rows[row].call(torch.ones(()), torch.ones(()), 3, *params).shape == ()
        assert _op.rows[row].call(torch.ones(0), torch.ones(0), 2, *params).shape == (0,)


def test_polynomials() -> None:
    x, y = variables(2)
    p = (x + 2.0 * y) * (x + -1.0 * y) + 3.0
    assert p.terms == {(0, 0): 1.0, (0, 1): 1.0, (1, 1): -2.0, (): 3.0}
    assert p.at((2.0, 5.0)) == 4.0 + 10.0 - 50.0 + 3.0
    one = Polynomial({(): 1.0})
    assert p.derivative((one, 0.0 * one)).terms == {(0,): 2.0, (1,): 1.0}
    assert (x * x * y + x * y).at((3.0, 2.0)) == 24.0


def test_a_function_of_ones_own() -> None:
    """The tangent, whose derivative is 1 + t^2."""
    (t,) = variables(1)
    tangent = Derivatives(lambda F, x: (F.tan(x),), (1.0 + t * t,), t, order=0)
    x = torch.tensor(0.4, dtype=F64, requires_grad=True)
    out = x.tan()
    for order in range(1, 6):
        (out,) = torch.autograd.grad(out, x, create_graph=True)
        assert math.isclose(tangent.at(torch, x, order).item(), out.item(), rel_tol=1e-13)
