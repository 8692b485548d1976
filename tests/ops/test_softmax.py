"""Softmax and its logarithm: extremes, dimensions, dtypes and errors."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend import torch

F = torch.nn.functional


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20))
def test_probabilities_sum_to_one(values: list[float]) -> None:
    x = torch.tensor(values, dtype=torch.float64)
    assert torch.softmax(x, 0).sum().item() == pytest.approx(1)
    assert torch.softmax(x, 0).tolist() == pytest.approx(torch.log_softmax(x, 0).exp().tolist(), abs=1e-12)


def test_extreme_logits() -> None:
    x = torch.tensor([1000.0, 0.0, -inf])
    assert torch.softmax(x, 0).tolist() == [1.0, 0.0, 0.0]
    assert torch.log_softmax(x, 0).tolist() == [0.0, -1000.0, -inf]


def test_every_dimension() -> None:
    x = torch.zeros(2, 3, 4)
    for dim, size in ((0, 2), (1, 3), (2, 4), (-1, 4)):
        assert torch.softmax(x, dim).flatten()[0].item() == pytest.approx(1 / size)
    assert torch.softmax(torch.tensor(3.0), 0).item() == 1.0
    assert x.softmax(-1).shape == x.log_softmax(0).shape == (2, 3, 4)


def test_a_dtype_converts_the_input_first() -> None:
    whole = torch.tensor([0, 0])
    assert torch.softmax(whole, 0, dtype=torch.float64).dtype is torch.float64
    x = torch.zeros(2, requires_grad=True)
    out = F.log_softmax(x, 0, dtype=torch.float64)
    out[0].backward()
    assert (x.grad.dtype, x.grad.tolist()) == (torch.float32, [0.5, -0.5])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_an_implicit_dimension_warns(name: str) -> None:
    with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name}"):
        out = getattr(F, name)(torch.zeros(2, 3, 4))
    np.testing.assert_allclose(out.numpy(), getattr(F, name)(torch.zeros(2, 3, 4), dim=0).numpy())


def test_errors() -> None:
    with pytest.raises(IndexError, match="out of range"):
        torch.softmax(torch.zeros(2, 3), 2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.softmax(torch.tensor([1]), 0)
