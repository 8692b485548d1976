"""Sorting, choosing by rank, unique values, searching: forms, ties, NaN, errors."""

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
arrays = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=9), elements=st.integers(-3, 3) | st.just(nan)
)


def gradient(function: Any, values: Any) -> Any:
    """The gradient of the weighted sum of ``function(x)``."""
    x = torch.tensor(values, requires_grad=True)
    y = function(x)
    (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
    return x.grad.tolist()


class TestSort:
    @pytest.mark.parametrize(
        ("values", "ascending", "descending"),
        [
            ([3.0, 1.0, 2.0, 2.0], [1, 2, 3, 0], [0, 2, 3, 1]),
            ([1.0, nan, 3.0], [0, 2, 1], [1, 2, 0]),
            ([nan, 1.0, nan, 2.0], [1, 3, 0, 2], [0, 2, 3, 1]),
            ([True, False, True], [1, 0, 2], [0, 2, 1]),
        ],
    )
    def test_equal_ones_keep_their_order_and_nan_is_largest(self, values: Any, ascending: Any, descending: Any) -> None:
        x = torch.tensor(values)
        assert x.sort().indices.tolist() == x.argsort(stable=True).tolist() == ascending
        assert torch.sort(x, descending=True, stable=True).indices.tolist() == descending
        assert x.argsort(-1, True).tolist() == descending

    def test_forms(self) -> None:
        x = torch.tensor([[3.0, 1.0], [0.0, 2.0]])
        assert x.sort().values.tolist() == [[1.0, 3.0], [0.0, 2.0]]
        assert x.sort(0, descending=True).values.tolist() == [[3.0, 2.0], [0.0, 1.0]]
        assert torch.msort(x).tolist() == [[0.0, 1.0], [3.0, 2.0]]
        assert torch.tensor(2.0).sort().indices.item() == 0
        assert torch.zeros(0).sort().values.tolist() == []
        out = torch.zeros(2, 2), torch.zeros(2, 2, dtype=torch.int64)
        torch.sort(x, out=out)
        assert out[1].tolist() == [[1, 0], [0, 1]]

    @given(arrays, st.booleans(), st.data())
    def test_sorted_values_are_those_at_the_indices(self, x: np.ndarray, descending: bool, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        values, indices = torch.sort(torch.tensor(x), dim, descending)
        np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), dim), values.numpy())
        np.testing.assert_array_equal(np.flip(values.numpy(), dim) if descending else values.numpy(), np.sort(x, dim))

    def test_gradients_go_back_to_their_places(self) -> None:
        assert gradient(lambda x: x.sort().values, [3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
        assert gradient(lambda x: x.topk(2).values, [3.0, 1.0, 2.0]) == [1.0, 0.0, 2.0]
        assert gradient(lambda x: x.kthvalue(2).values, [3.0, 1.0, 2.0]) == [0.0, 0.0, 1.0]


class TestRanks:
    def test_topk_forms(self) -> None:
        x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
        assert x.topk(2).values.tolist() == [[3.0, 2.0], [5.0, 4.0]]
        assert torch.topk(x, 1, 0, largest=False, sorted=False).indices.tolist() == [[1, 0, 0]]
        assert x.topk(0).values.tolist() == [[], []]
        assert torch.tensor(2.0).topk(1).values.item() == 2.0
        assert torch.tensor([1.0, nan, 3.0]).topk(2).indices.tolist() == [1, 2]

    @given(arrays, st.booleans(), st.data())
    def test_topk_begins_the_sorted_values(self, x: np.ndarray, largest: bool, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        k = data.draw(st.integers(0, x.shape[dim]))
        t = torch.tensor(x)
        found = t.topk(k, dim, largest)
        np.testing.assert_array_equal(found.values.numpy(), t.sort(dim, largest).values.narrow(dim, 0, k).numpy())
        np.testing.assert_array_equal(np.take_along_axis(x, found.indices.numpy(), dim), found.values.numpy())

    @given(arrays, st.data())
    def test_kthvalue_is_that_of_the_sorted_values(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        k = data.draw(st.integers(1, x.shape[dim]))
        found = torch.tensor(x).kthvalue(k, dim, keepdim=True)
        np.testing.assert_array_equal(found.values.numpy(), np.sort(x, dim).take([k - 1], dim))
        np.testing.assert_array_equal(np.take_along_axis(x, found.indices.numpy(), dim), found.values.numpy())


class TestUnique:
    def test_forms(self) -> None:
        x = torch.tensor([[2.0, 1.0], [2.0, 3.0]])
        assert torch.unique(x).tolist() == [1.0, 2.0, 3.0]
        values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
        assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1.0, 2.0, 3.0], [[1, 0], [1, 2]], [1, 2, 1])
        rows, counts = torch.unique(torch.tensor([[1, 2], [0, 1], [1, 2]]), dim=0, return_counts=True)
        assert (rows.tolist(), counts.tolist()) == ([[0, 1], [1, 2]], [1, 2])
        assert torch.tensor([nan, nan, 1.0]).unique().numel() == 3
        assert torch.tensor(2.0).unique().tolist() == [2.0]

    def test_consecutive(self) -> None:
        x = torch.tensor([1, 1, 2, 2, 3, 1])
        values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
        assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 3, 1], [0, 0, 1, 1, 2, 3], [2, 2, 1, 1])
        assert torch.tensor([[1, 2], [1, 2], [0, 1]]).unique_consecutive(dim=0).tolist() == [[1, 2], [0, 1]]
        assert torch.zeros(0).unique_consecutive().tolist() == []

    @given(arrays)
    def test_the_inverse_restores_the_input(self, x: np.ndarray) -> None:
        values, inverse, counts = torch.tensor(x).unique(return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(values.numpy()[inverse.numpy()], x)
        assert counts.sum().item() == x.size


class TestSearch:
    def test_forms(self) -> None:
        edges, values = torch.tensor([1.0, 3.0, 5.0]), torch.tensor([[3.0, 6.0], [0.0, nan]])
        assert torch.searchsorted(edges, values).tolist() == [[1, 3], [0, 3]]
        assert torch.searchsorted(edges, values, right=True).tolist() == [[2, 3], [0, 3]]
        assert torch.searchsorted(edges, values, side="right").tolist() == [[2, 3], [0, 3]]
        assert torch.searchsorted(edges, 3).item() == 1
        assert torch.searchsorted(edges, values, out_int32=True).dtype is torch.int32
        assert torch.bucketize(values, edges).tolist() == [[1, 3], [0, 3]]
        assert torch.bucketize(4, edges).item() == 2
        shuffled, order = torch.tensor([5.0, 1.0, 3.0]), torch.tensor([1, 2, 0])
        assert torch.searchsorted(shuffled, values, sorter=order).tolist() == [[1, 3], [0, 3]]

    def test_a_sequence_for_each_row(self) -> None:
        edges = torch.tensor([[1, 3, 5], [2, 4, 6]])
        assert torch.searchsorted(edges, torch.tensor([[3, 6], [3, 6]])).tolist() == [[1, 3], [1, 2]]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.sort(5), IndexError, "Dimension out of range"),
        (lambda x: x.topk(9), RuntimeError, "selected index k out of range"),
        (lambda x: x.topk(-1), RuntimeError, "selected index k out of range"),
        (lambda x: x.kthvalue(0), RuntimeError, "selected number k out of range for dimension 1"),
        (lambda x: torch.zeros(0).kthvalue(1), IndexError, "non-zero size"),
        (lambda x: x.unique(dim=3), IndexError, "Dimension out of range"),
        (lambda x: torch.searchsorted(x, torch.zeros(3)), RuntimeError, "boundaries tensor should be 1 dimension"),
        (lambda x: torch.searchsorted(x[0], x, side="left", right=True), RuntimeError, "can't be opposites"),
        (lambda x: torch.searchsorted(x[0], x, side="top"), RuntimeError, "'left' or 'right'"),
        (lambda x: torch.bucketize(x, x), RuntimeError, r"must be 1 dimension, but got dim\(2\)"),
        (lambda x: torch.sort(3.0), TypeError, r"sort\(\): argument 'input' .* must be Tensor"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 3))


CALLS = [
    "a.sort()", "a.sort(0, True)", "T.sort(n, descending=True)", "b.sort()", "a.argsort(0)", "a.msort()", "a.topk(2)",
    "a.topk(1, 0, False)", "n.topk(2)", "a.kthvalue(2)", "a.kthvalue(1, 0, True)", "r.sort()", "r.sort(stable=True)",
    "r.topk(1)", "r.kthvalue(2)", "a.unique()", "n.unique()", "a.unique(dim=1, return_inverse=True)",
    "i.unique(True, True, True)", "i.unique_consecutive(dim=0)", "T.searchsorted(r, a)",
    "T.bucketize(a, r, right=True)", "e.sort(0)", "e.topk(1)", "e.kthvalue(1, 0)", "s.topk(1)", "s.sort()",
    "s.kthvalue(1)", "a.topk(7)", "a.sort('x')",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_against_pytorch(call: str) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        names = {
            "T": T,
            "a": T.tensor([[0.5, -1.0, 2.0], [3.0, 4.0, 5.0]]),
            "r": T.tensor([1.0, 3.0, 4.0], requires_grad=True),
            "i": T.tensor([[1, 2, 2], [1, 2, 2]]),
            "b": T.tensor([[True, False], [True, True]]),
            "e": T.zeros(0, 3),
            "n": T.tensor([1.0, nan, 3.0]),
            "s": T.tensor(2.0),
        }
        try:
            results.append(repr(eval(call, names)))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]


def test_a_search_that_meets_nan_goes_on_after_it() -> None:
    sequence = torch.tensor([1.0, math.nan])
    assert torch.searchsorted(sequence, torch.tensor([math.nan, 2.0, 0.5])).tolist() == [2, 2, 2]
    assert torch.bucketize(torch.tensor([1.0]), sequence, right=True).tolist() == [2]


@pytest.mark.parametrize("right", [False, True])
def test_searches_in_rows_against_pytorch(right: bool) -> None:
    theirs = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    rows, values = np.sort(rng.integers(0, 9, (4, 7)) * 1.0, -1), rng.integers(-1, 10, (4, 5)) * 1.0
    rows[1, 4:], rows[2], values[3, 0] = math.nan, math.nan, math.nan
    ours = torch.searchsorted(torch.from_numpy(rows), torch.from_numpy(values), right=right)
    assert (
        ours.tolist() == theirs.searchsorted(theirs.from_numpy(rows), theirs.from_numpy(values), right=right).tolist()
    )
