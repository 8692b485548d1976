"""Quantiles and histograms: forms, interpolation, NaN, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch as torch

nan = math.nan
METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]
arrays = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.integers(-9, 9))


class TestQuantile:
    def test_forms(self) -> None:
        x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], dtype=torch.float64)
        levels = torch.tensor([0.5, 1.0], dtype=torch.float64)
        assert x.quantile(0.5).item() == 2.5
        assert x.quantile(0.25, dim=1).tolist() == [0.5, 3.5]
        assert x.quantile(0.25, 1, keepdim=True).tolist() == [[0.5], [3.5]]
        assert torch.quantile(x, levels, dim=0).tolist() == [[1.5, 2.5, 3.5], [3.0, 4.0, 5.0]]
        assert x.quantile(levels, keepdim=True).tolist() == [[[2.5]], [[5.0]]]
        assert torch.tensor(2.0).quantile(0.3).item() == 2.0

    @pytest.mark.parametrize(
        ("method", "expected"), [("linear", 1.5), ("lower", 1.0), ("higher", 2.0), ("midpoint", 1.5), ("nearest", 2.0)]
    )
    def test_interpolation(self, method: str, expected: float) -> None:
        x = torch.tensor([0.0, 2.0, 3.0, 1.0])
        assert x.quantile(0.5, interpolation=method).item() == expected

    @given(arrays, st.sampled_from(METHODS[:4]), st.sampled_from((0.0, 0.25, 0.5, 0.75, 1.0)), st.data())
    def test_against_numpy(self, x: np.ndarray, method: str, q: float, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        found = torch.quantile(torch.tensor(x), q, dim, interpolation=method)
        np.testing.assert_allclose(found.numpy(), np.quantile(x, q, dim, method=method), atol=1e-12)

    def test_nan(self) -> None:
        x = torch.tensor([[1.0, nan, 3.0], [4.0, 5.0, 6.0]])
        np.testing.assert_array_equal(x.quantile(0.5, 1).numpy(), np.float32([nan, 5.0]))
        assert x.nanquantile(0.5, 1).tolist() == [2.0, 5.0]
        assert math.isnan(torch.tensor([nan]).nanquantile(0.5).item())

    def test_gradient_goes_to_the_neighbours(self) -> None:
        x = torch.tensor([3.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
        x.quantile(0.75).backward()
        assert x.grad.tolist() == [0.5, 0.0, 0.5]


class TestHistograms:
    def test_histc(self) -> None:
        x = torch.tensor([3.0, 1.0, 2.0, 2.0])
        assert x.histc(4).tolist() == [1.0, 0.0, 2.0, 1.0]
        assert torch.histc(x, bins=2, min=1, max=2).tolist() == [1.0, 2.0]
        assert torch.ones(3).histc(3).tolist() == [0.0, 3.0, 0.0]
        assert torch.zeros(0).histc(2).tolist() == [0.0, 0.0]
        assert torch.tensor([1.0, nan]).histc(2, 0, 2).tolist() == [0.0, 1.0]

    def test_bincount(self) -> None:
        x = torch.tensor([0, 1, 1, 3])
        assert x.bincount().tolist() == [1, 2, 0, 1]
        assert torch.bincount(x, minlength=6).tolist() == [1, 2, 0, 1, 0, 0]
        weighted = x.bincount(torch.tensor([0.5, 1.0, 2.0, 3.0]))
        assert (weighted.dtype, weighted.tolist()) == (torch.float32, [0.5, 3.0, 0.0, 3.0])
        assert x.bincount(torch.tensor([1, 1, 1, 1])).dtype is torch.float64


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.quantile(1.5), RuntimeError, r"q must be in the range \[0, 1\] but got 1.5"),
        (lambda x: x.quantile(torch.tensor([2.0])), RuntimeError, r"q values must be in the range"),
        (lambda x: x.quantile(0.5, interpolation="x"), RuntimeError, "interpolation must be one of .* but got x"),
        (lambda x: x.quantile([0.5]), TypeError, "'q' must be float or Tensor, not list"),
        (lambda x: x.quantile(torch.ones(1, 1)), RuntimeError, "q must be a scalar or 1D tensor"),
        (lambda x: x.quantile(torch.tensor(0.5, dtype=torch.float64)), RuntimeError, "q tensor must be same dtype"),
        (lambda x: x.long().quantile(0.5), RuntimeError, "must be either float or double dtype"),
        (lambda x: torch.zeros(0).quantile(0.5), RuntimeError, "must be non-empty"),
        (lambda x: x.quantile(0.5, 5), IndexError, "Dimension out of range"),
        (lambda x: x.histc(0), RuntimeError, "bins must be > 0, but got 0"),
        (lambda x: x.histc(2, 3, 1), RuntimeError, "max must be larger than min"),
        (lambda x: torch.tensor([nan]).histc(2), RuntimeError, "is not finite"),
        (lambda x: x.long().histc(2), NotImplementedError, "Long"),
        (lambda x: x.bincount(), NotImplementedError, "Float"),
        (lambda x: torch.tensor([-1]).bincount(), RuntimeError, "non-negative integral"),
        (lambda x: torch.tensor([1]).bincount(minlength=-1), RuntimeError, "minlength should be >= 0"),
        (lambda x: torch.tensor([1]).bincount(torch.ones(2)), RuntimeError, "same length as input"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_against_pytorch(name: str, method: str) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        x = T.tensor([[1.0, 5.0, 2.0, 4.0], [7.0, 0.0, 3.0, nan]])
        levels = T.tensor([0.0, 0.3, 0.5, 0.9])
        found = getattr(T, name)(x, levels, dim=1, interpolation=method)
        results.append(found.numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_the_gradient_of_the_level_is_the_distance_of_its_neighbours() -> None:
    q = torch.tensor([0.3, 0.5], requires_grad=True)
    values = torch.quantile(torch.tensor([1.0, 2.0, 4.0, 7.0]), q)
    assert values.tolist() == torch.quantile(torch.tensor([1.0, 2.0, 4.0, 7.0]), q.detach()).tolist()
    values.sum().backward()
    assert q.grad.tolist() == [3.0, 6.0]
    level = torch.tensor(0.3, requires_grad=True)
    torch.nanquantile(torch.tensor([[1.0, 2.0, 4.0, float("nan")]]), level, 1, keepdim=True).sum().backward()
    assert level.grad.item() == 2.0
    assert not torch.quantile(torch.tensor([1.0, 2.0]), q, interpolation="lower").requires_grad
