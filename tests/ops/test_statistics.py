"""Variances, medians and modes: forms, special points, errors."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch as torch

nan, inf = math.nan, math.inf
MATRIX = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=4)
arrays = hnp.arrays(np.float64, shapes, elements=st.integers(-3, 3))


def gradient(function: Any, values: Any) -> Any:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


class TestVariance:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (lambda x: x.var(), 3.5),
            (lambda x: x.var(0), [4.5, 4.5, 4.5]),
            (lambda x: x.var((0, 1), correction=0), 17.5 / 6),
            (lambda x: x.var(()), 3.5),
            (lambda x: x.var(False), 17.5 / 6),
            (lambda x: x.var(0, False), [2.25, 2.25, 2.25]),
            (lambda x: x.var(unbiased=False), 17.5 / 6),
            (lambda x: x.var(1, True, True), [[1.0], [1.0]]),
            (lambda x: x.var(correction=0.5), 17.5 / 5.5),
            (lambda x: x.var(dim=None, keepdim=True), [[3.5]]),
            (lambda x: torch.std(x, dim=1), [1.0, 1.0]),
            (lambda x: x.std(axis=1, keepdims=True), [[1.0], [1.0]]),
        ],
    )
    def test_forms(self, call: Any, expected: Any) -> None:
        np.testing.assert_allclose(call(torch.tensor(MATRIX)).numpy(), expected, rtol=1e-6)

    def test_with_the_mean(self) -> None:
        var, mean = torch.var_mean(torch.tensor(MATRIX), 0, correction=0)
        assert (var.tolist(), mean.tolist()) == ([2.25, 2.25, 2.25], [1.5, 2.5, 3.5])
        std, mean = torch.std_mean(torch.tensor(MATRIX), (0, 1), unbiased=False, keepdim=True)
        assert mean.tolist() == [[2.5]]
        assert std.item() == pytest.approx(math.sqrt(17.5 / 6))

    @given(arrays, st.data())
    def test_against_numpy(self, x: np.ndarray, data: Any) -> None:
        dim, ddof = data.draw(st.integers(0, x.ndim - 1)), data.draw(st.sampled_from((0, 1, 0.5)))
        found = torch.var(torch.tensor(x), dim, correction=ddof)
        np.testing.assert_allclose(found.numpy(), x.var(dim, ddof=ddof), atol=1e-12)

    def test_far_from_zero(self) -> None:
        x = torch.tensor([10000.0, 10001.0, 10002.0])
        assert x.var().item() == 1.0

    def test_equal_elements_have_gradient_zero(self) -> None:
        assert gradient(lambda x: x.std(), [2.0, 2.0, 2.0]) == [0.0, 0.0, 0.0]
        rows = gradient(lambda x: x.std(1), [[2.0, 2.0], [0.0, 2.0]])
        np.testing.assert_allclose(rows, [[0.0, 0.0], [-math.sqrt(0.5), math.sqrt(0.5)]])
        assert gradient(lambda x: torch.std_mean(x)[0], [2.0, 2.0]) == [0.0, 0.0]

    @pytest.mark.parametrize(("count", "correction", "expected"), [(1, 1, nan), (2, 2, inf), (2, 3, inf), (0, 1, nan)])
    def test_no_freedom_left_warns(self, count: int, correction: int, expected: float) -> None:
        x = torch.arange(float(count))
        for call in (torch.var, torch.std):
            with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
                result = call(x, correction=correction)
            np.testing.assert_equal(result.item(), expected)

    def test_gradient_of_one_sample_is_nan(self) -> None:
        with pytest.warns(UserWarning, match="degrees of freedom"):
            assert np.isnan(gradient(lambda x: x.var(), [1.0])).all()
        with pytest.warns(UserWarning, match="degrees of freedom"):
            assert np.isnan(gradient(lambda x: x.std(), [1.0])).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert gradient(lambda x: x.std(correction=0), [5.0]) == [0.0]


class TestMedian:
    def test_the_lower_of_two_middles(self) -> None:
        x = torch.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, 1.0, 5.0, 1.0]])
        assert x.median().item() == 1.0
        assert (x.median(1).values.tolist(), x.median(1).indices.tolist()) == ([2.0, 1.0], [3, 1])
        assert torch.median(x, 0, keepdim=True).values.tolist() == [[1.0, 1.0, 3.0, 1.0]]
        assert torch.tensor([3, 1, 2]).median().item() == 2

    def test_nan(self) -> None:
        x = torch.tensor([nan, 1.0, 3.0, 2.0, nan])
        assert math.isnan(x.median().item())
        assert (math.isnan(x.median(0).values.item()), x.median(0).indices.item()) == (True, 0)
        assert x.nanmedian().item() == 2.0
        assert (x.nanmedian(0).values.item(), x.nanmedian(0).indices.item()) == (2.0, 3)
        assert math.isnan(torch.tensor([nan, nan]).nanmedian().item())
        assert torch.tensor([nan, nan]).nanmedian(0).indices.item() == 0

    def test_equal_elements_share_the_full_medians_gradient(self) -> None:
        assert gradient(lambda x: x.median(), [1.0, 3.0, 3.0, 1.0]) == [0.5, 0.0, 0.0, 0.5]
        assert gradient(lambda x: x.nanmedian(), [nan, 1.0, 1.0]) == [0.0, 0.5, 0.5]
        assert sum(gradient(lambda x: x.median(0).values, [2.0, 2.0, 2.0])) == 1.0

    def test_of_nothing(self) -> None:
        assert math.isnan(torch.zeros(0).median().item())
        assert tuple(torch.zeros(0, 3).median(1).values.shape) == (0,)
        with pytest.raises(IndexError, match=r"median\(\): Expected reduction dim 0 to have non-zero size"):
            torch.zeros(0, 3).median(0)

    @given(arrays, st.data())
    def test_half_the_elements_are_no_larger(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        found = torch.tensor(x).median(dim, keepdim=True)
        np.testing.assert_array_equal(np.take_along_axis(x, found.indices.numpy(), dim), found.values.numpy())
        np.testing.assert_array_equal(found.values.numpy(), np.quantile(x, 0.5, dim, method="lower", keepdims=True))


class TestMode:
    def test_the_smallest_of_the_most_frequent_and_its_last_place(self) -> None:
        found = torch.tensor([[3, 1, 2, 2], [2, 1, 1, 2], [4, 3, 2, 1]]).mode()
        assert (found.values.tolist(), found.indices.tolist()) == ([2, 1, 1], [3, 2, 3])
        assert torch.tensor([[1.0, 2.0], [1.0, 3.0]]).mode(0, keepdim=True).values.tolist() == [[1.0, 2.0]]

    def test_gradient_goes_to_that_place(self) -> None:
        assert gradient(lambda x: x.mode().values, [2.0, 1.0, 2.0]) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.long().var(), RuntimeError, "std and var only support floating point"),
        (lambda x: x.std(5), IndexError, "Dimension out of range"),
        (lambda x: x.std((0, 0)), RuntimeError, "appears multiple times"),
        (lambda x: x.var(0, True, correction=1), TypeError, "'unbiased' or 'correction'"),
        (lambda x: x.bool().median(), NotImplementedError, "Bool"),
        (lambda x: x.median(5), IndexError, "Dimension out of range"),
        (lambda x: torch.zeros(0).mode(), IndexError, r"mode\(\): Expected reduction dim 0 to have non-zero size"),
        (lambda x: torch.std(3.0), TypeError, r"std\(\): argument 'input' .* must be Tensor"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 3))


CALLS = [
    "a.var()", "a.var(0)", "a.std((0, 1), keepdim=True)", "a.var(False)", "a.std(1, correction=0.5)",
    "T.var_mean(a, 0)",
    "T.std_mean(a, unbiased=False)", "h.var()", "h.std(0)", "a.median()", "a.median(1, True)", "n.median(0)",
    "n.nanmedian()",
    "n.nanmedian(0)", "i.mode()", "a.mode(0)", "e.var(1)", "e.median(1)", "r.std()", "T.var_mean(r)",
    "r.median()", "r.median(0)", "r.nanmedian()", "r.mode()", "i.var()", "e.mode(0)", "s.std(correction=0)", "s.mode()",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_against_pytorch(call: str) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        names = {
            "T": T,
            "a": T.tensor([[0.5, -1.0, 2.0], [3.0, 4.0, 5.0]]),
            "r": T.tensor([2.0, 4.0, 3.0], requires_grad=True),
            "i": T.tensor([[1, 2, 2], [3, 3, 0]]),
            "e": T.zeros(0, 3),
            "h": T.tensor([1.0, 2.0, 4.0], dtype=T.float16),
            "n": T.tensor([1.0, nan, 3.0]),
            "s": T.tensor(2.0),
        }
        try:
            results.append(repr(eval(call, names)))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]


@pytest.mark.parametrize("shape", [(1, 3), (1,), ()])
@pytest.mark.parametrize("function", [torch.var_mean, torch.std_mean])
def test_mean_of_one_element_whose_variance_nobody_uses(function: Any, shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = lambda x: function(x, 0)[1]
        assert torch.func.grad(lambda x: mean(x).sum())(x).equal(torch.ones(shape))
        assert torch.func.grad(lambda x: function(x, 0, keepdim=True)[1].sum())(x).equal(torch.ones(shape))
        assert torch.func.jvp(mean, (x,), (x,))[1].sum() == x.sum()
        assert torch.func.hessian(lambda x: (mean(x) ** 2).sum())(x).sum() == 2 * x.numel()
        assert torch.func.grad(lambda x: function(x)[1])(torch.ones(1)).equal(torch.ones(1))
        assert torch.func.grad(lambda x: function(x, 0)[0].sum() * 0)(x).isnan().all()  # that is used
