"""Norms: orders, forms, special points, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch as torch
from minitorch.ops.vector_norm import vector_norm

inf = math.inf
MATRIX = [[0.0, 3.0], [-4.0, 0.0]]


def gradient(function: Any, values: Any) -> Any:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.norm(), 5.0),
        (lambda x: torch.norm(x, "fro"), 5.0),
        (lambda x: x.norm(p=None), 5.0),
        (lambda x: x.norm(1), 7.0),
        (lambda x: x.norm(0), 2.0),
        (lambda x: x.norm(inf), 4.0),
        (lambda x: x.norm(-inf), 0.0),
        (lambda x: x.norm(3), 91 ** (1 / 3)),
        (lambda x: x.norm(dim=0), [4.0, 3.0]),
        (lambda x: x.norm(2, (0, 1), True), [[5.0]]),
        (lambda x: x.norm(p=1, dim=-1, keepdim=True), [[3.0], [4.0]]),
        (lambda x: torch.norm(x, keepdim=True), [[5.0]]),
    ],
)
def test_forms(call: Any, expected: Any) -> None:
    np.testing.assert_allclose(call(torch.tensor(MATRIX)).numpy(), expected, rtol=1e-6)


def test_dtypes() -> None:
    x = torch.tensor([3.0, 4.0])
    assert x.norm(dtype=torch.float64).dtype is torch.float64
    half = torch.tensor([300.0, 400.0], dtype=torch.float16).norm()
    assert (half.dtype, half.item()) == (torch.float16, 500.0)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, inf, -inf])
def test_gradient_is_zero_where_the_norm_is(p: float) -> None:
    assert gradient(lambda x: x.norm(p), [0.0, 0.0]) == [0.0, 0.0]


def test_gradients_at_special_points() -> None:
    assert gradient(lambda x: x.norm(dim=1), [[0.0, 0.0], [3.0, 4.0]]) == [[0.0, 0.0], [0.6, 0.8]]
    assert gradient(lambda x: x.norm(1), [0.0, -2.0]) == [0.0, -1.0]
    assert gradient(lambda x: x.norm(inf), [1.0, -1.0, 0.0]) == [0.5, -0.5, 0.0]
    assert gradient(lambda x: x.norm(0.5), [0.0, 4.0]) == [0.0, 1.0]


def test_of_nothing() -> None:
    assert torch.zeros(0).norm().item() == 0.0
    assert torch.zeros(0, 3).norm(dim=0).tolist() == [0.0, 0.0, 0.0]
    assert torch.zeros(0, 3).norm(inf, dim=1).tolist() == []


@given(
    hnp.arrays(np.float64, st.integers(1, 6), elements=st.floats(-8, 8)),
    st.sampled_from((1.0, 1.5, 2.0, 3.0, inf)),
    st.floats(-4, 4),
)
def test_norms_are_homogeneous_and_shrink_with_the_order(x: np.ndarray, p: float, scale: float) -> None:
    t = torch.tensor(x)
    norm = vector_norm(t, p).item()
    assert vector_norm(t * scale, p).item() == pytest.approx(abs(scale) * norm, abs=1e-9)
    assert vector_norm(t, p + 1).item() <= norm + 1e-9


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.long().norm(), RuntimeError, "Expected a floating point .* Got Long"),
        (lambda x: torch.zeros(0).norm(inf), RuntimeError, "cannot compute the inf norm on an empty tensor"),
        (lambda x: torch.zeros(0, 3).norm(inf, 0), RuntimeError, "cannot compute the inf norm on the dimension 0"),
        (lambda x: torch.zeros(0).norm(-1), RuntimeError, "does not have an identity"),
        (lambda x: x.norm("x"), RuntimeError, "Order x not supported"),
        (lambda x: x.norm(dim=5), IndexError, "Dimension out of range"),
        (lambda x: x.norm(dim=(0, 0)), RuntimeError, "appears multiple times"),
        (lambda x: torch.norm(3.0), TypeError, "must be Tensor, not float"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 2))


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 2.5, 3, inf, -inf, -1, "fro"])
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_against_pytorch(p: Any, dim: Any) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        x = T.tensor([[0.5, -1.0, 2.0], [3.0, -4.0, 5.0]], requires_grad=True)
        y = T.norm(x, p, dim)
        g = T.zeros(1) if p == 0 else T.autograd.grad(y.sum(), x)[0]
        results.append((y.grad_fn.name(), y.detach().numpy(), g.numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5)
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-5)
