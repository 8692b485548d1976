"""Running sums, products, maxima and differences: values, dtypes, special points, errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch as torch

nan, inf = math.nan, math.inf
arrays = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-3, 3))


def gradient(function: Any, values: Any, order: int = 1) -> Any:
    """The gradient of the weighted sum of ``function(x)``, or that of the gradient's weighted sum."""
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    g = function(x)
    for step in range(order):
        weights = torch.arange(1.0, g.numel() + 1, dtype=torch.float64).reshape(g.shape)
        (g,) = torch.autograd.grad((g * weights).sum(), x, create_graph=step + 1 < order)
    return g.tolist()


class TestSums:
    def test_forms(self) -> None:
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert x.cumsum(0).tolist() == [[1.0, 2.0], [4.0, 6.0]]
        assert torch.cumsum(x, dim=-1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
        assert x.cumprod(1).tolist() == [[1.0, 2.0], [3.0, 12.0]]
        assert x.cumsum(1, dtype=torch.float64).dtype is torch.float64
        assert x.cumsum(1, dtype=torch.int32).dtype is torch.int32
        assert torch.tensor(2.0).cumsum(0).tolist() == 2.0
        out = torch.zeros(2, 2)
        assert torch.cumsum(x, 0, out=out) is out

    @pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32])
    def test_integers_are_added_as_int64(self, dtype: Any) -> None:
        x = torch.tensor([1, 1, 0], dtype=dtype)
        assert (x.cumsum(0).dtype, x.cumsum(0).tolist()) == (torch.int64, [1, 2, 2])
        assert (x.cumprod(0).dtype, x.cumprod(0).tolist()) == (torch.int64, [1, 1, 0])

    def test_in_place(self) -> None:
        x = torch.tensor([1.0, 2.0, 3.0])
        assert x.cumsum_(0) is x
        assert x.tolist() == [1.0, 3.0, 6.0]

    @given(arrays, st.data())
    def test_cumsum_ends_in_the_sum_and_diff_undoes_it(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
        t = torch.tensor(x)
        running = t.cumsum(dim)
        np.testing.assert_array_equal(running.select(dim, -1).numpy(), t.sum(dim).numpy())
        np.testing.assert_array_equal(running.diff(dim=dim).numpy(), t.narrow(dim, 1, x.shape[dim] - 1).numpy())

    def test_cumprod_is_exact_with_zeros_at_every_place(self) -> None:
        for values in itertools.product((0.0, 2.0, -3.0), repeat=3):
            weights = (1.0, 2.0, 3.0)
            expected = [
                sum(weights[k] * math.prod(values[:i] + values[i + 1 : k + 1]) for k in range(i, 3)) for i in range(3)
            ]
            assert gradient(lambda x: x.cumprod(0), values) == expected

    def test_second_derivative_of_cumprod_with_zeros(self) -> None:
        assert gradient(lambda x: x.cumprod(0), [0.0, 3.0, 0.0], 2) == [31.0, 2.0, 9.0]

    def test_logcumsumexp_at_infinities(self) -> None:
        assert torch.tensor([-inf, -inf, 0.0]).logcumsumexp(0).tolist() == [-inf, -inf, 0.0]
        assert torch.tensor([inf, 0.0]).logcumsumexp(0).tolist() == [inf, inf]
        x = torch.tensor([1000.0, 1000.0], requires_grad=True)
        x.logcumsumexp(0).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), [1.5, 0.5], rtol=1e-4)
        assert gradient(lambda x: x.logcumsumexp(0), [0.0, -800.0, 800.0]) == [3.0, 0.0, 3.0]


class TestExtremes:
    @pytest.mark.parametrize(
        ("values", "largest", "indices"),
        [
            ([3.0, 1.0, 2.0], [3.0, 3.0, 3.0], [0, 0, 0]),
            ([1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 1.0, 2.0], [0, 1, 1, 3]),
            ([1.0, nan, 3.0, nan], [1.0, nan, nan, nan], [0, 1, 1, 3]),
        ],
    )
    def test_the_latest_of_equal_records_and_nan(self, values: Any, largest: Any, indices: Any) -> None:
        found = torch.tensor(values).cummax(0)
        np.testing.assert_array_equal(found.values.numpy(), np.float32(largest))
        assert found.indices.tolist() == indices
        mirrored = (-torch.tensor(values)).cummin(0)
        np.testing.assert_array_equal((-mirrored.values).numpy(), np.float32(largest))
        assert mirrored.indices.tolist() == indices

    def test_gradients_gather_at_the_records(self) -> None:
        assert gradient(lambda x: x.cummax(0).values, [1.0, 1.0, 0.0, 2.0]) == [1.0, 5.0, 0.0, 4.0]

    def test_of_other_dtypes_and_nothing(self) -> None:
        assert torch.tensor([[True, False], [True, True]]).cummax(0).indices.tolist() == [[0, 0], [1, 1]]
        assert torch.zeros(0).cummax(0).values.tolist() == []
        assert torch.tensor(2.0).cummin(0).indices.item() == 0

    @given(arrays, st.data())
    def test_indices_lead_to_the_values(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        found = torch.cummax(torch.tensor(x), dim)
        np.testing.assert_array_equal(found.values.numpy(), np.maximum.accumulate(x, dim))
        np.testing.assert_array_equal(np.take_along_axis(x, found.indices.numpy(), dim), found.values.numpy())


class TestDiff:
    def test_forms(self) -> None:
        x = torch.tensor([[1.0, 4.0, 9.0], [2.0, 2.0, 5.0]])
        assert x.diff().tolist() == [[3.0, 5.0], [0.0, 3.0]]
        assert x.diff(2).tolist() == [[2.0], [3.0]]
        assert x.diff(dim=0).tolist() == [[1.0, -2.0, -4.0]]
        assert x.diff(n=0).tolist() == x.tolist()
        assert tuple(x.diff(7).shape) == (2, 0)
        assert torch.diff(x, prepend=torch.zeros(2, 1)).tolist() == [[1.0, 3.0, 5.0], [2.0, 0.0, 3.0]]
        assert torch.diff(x, append=torch.zeros(2, 1)).tolist() == [[3.0, 5.0, -9.0], [0.0, 3.0, -5.0]]
        assert torch.tensor([True, True, False]).diff().tolist() == [False, True]

    def test_gradient(self) -> None:
        assert gradient(lambda x: x.diff(), [1.0, 4.0, 9.0]) == [-1.0, -1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.cumsum(2), IndexError, "Dimension out of range"),
        (lambda x: x.cummax(-3), IndexError, "Dimension out of range"),
        (lambda x: x.cumsum(0.5), TypeError, "must be int, not float"),
        (lambda x: x.cumsum(), TypeError, "dim"),
        (lambda x: x.long().logcumsumexp(0), NotImplementedError, "'Long'"),
        (lambda x: torch.tensor(1.0).diff(), RuntimeError, "at least one-dimensional"),
        (lambda x: torch.cumsum(3.0, 0), TypeError, r"cumsum\(\): argument 'input' .* must be Tensor"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 2))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("values", [[[0.5, -1.0], [2.0, 0.0], [1.0, 3.0]], [nan, 1.0, 2.0], [-inf, 0.0, inf], 2.0])
def test_against_pytorch(name: str, values: Any) -> None:
    results, gradients = [], []
    for T in (torch, pytest.importorskip("torch")):
        x = T.tensor(values, requires_grad=True)
        found = getattr(x, name)(0)
        first = found if isinstance(found, T.Tensor) else found[0]
        results.append([repr(found), first.grad_fn.name()])
        if "inf" not in repr(values) and "nan" not in repr(values):
            (g,) = T.autograd.grad(first.sum(), x)
            gradients.append(g.numpy())
    assert results[0] == results[1]
    if gradients:
        np.testing.assert_allclose(*gradients, rtol=1e-6)


@pytest.mark.parametrize("zeros", [[], [0], [2], [6], [1, 4], [0, 3, 6]])
def test_cumprods_gradient_is_exact_with_zeros(zeros: list[int]) -> None:
    rng = np.random.default_rng(7)
    x, grad = rng.uniform(0.5, 1.5, (2, 3, 7, 2))
    x[:, zeros] = 0
    expected = np.zeros_like(x)
    for index in range(7):
        for last in range(index, 7):
            expected[:, index] += grad[:, last] * np.delete(x[:, : last + 1], index, 1).prod(1)
    for dim in (1, -2):
        leaf = torch.tensor(x, requires_grad=True)
        leaf.cumprod(dim).backward(torch.tensor(grad))
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-12)


def test_a_product_in_place_keeps_what_its_gradient_reads_where_a_dtype_is_given() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    x.clone().cumprod_(0, dtype=torch.float32).sum().backward()
    assert x.grad.tolist() == [4.0, 2.0]


def test_no_difference_is_a_copy_and_fewer_are_refused() -> None:
    x = torch.tensor([1.0, 4.0])
    assert torch.diff(x, 0, prepend=x).tolist() == [1.0, 4.0]
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        torch.diff(x, -1)
