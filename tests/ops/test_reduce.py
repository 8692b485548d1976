"""Sums, means, products, logsumexp, all and any: argument forms, dtypes, special points, errors."""

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
from minitorch._op import rows

nan, inf = math.nan, math.inf
MATRIX = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def gradient(function: Any, values: Any, order: int = 1) -> Any:
    """The gradient of ``function(x).sum()``, or that of the gradient's weighted sum."""
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=order > 1)
    if order > 1:
        weights = torch.arange(1.0, g.numel() + 1, dtype=torch.float64).reshape(g.shape)
        (g,) = torch.autograd.grad((g * weights).sum(), x)
    return g.tolist()


class TestSum:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (lambda x: x.sum(), 15.0),
            (lambda x: x.sum(0), [3.0, 5.0, 7.0]),
            (lambda x: x.sum(dim=-1), [3.0, 12.0]),
            (lambda x: x.sum((0, 1)), 15.0),
            (lambda x: torch.sum(x, [0], True), [[3.0, 5.0, 7.0]]),
            (lambda x: x.sum(()), 15.0),
            (lambda x: x.sum((), keepdim=True), [[15.0]]),
            (lambda x: x.sum(None, True), [[15.0]]),
            (lambda x: x.sum(axis=1, keepdims=True), [[3.0], [12.0]]),
        ],
    )
    def test_forms(self, call: Any, expected: Any) -> None:
        assert call(torch.tensor(MATRIX)).tolist() == expected

    @pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
    def test_integers_are_added_as_int64(self, dtype: Any) -> None:
        x = torch.tensor([[1, 0], [1, 1]], dtype=dtype)
        for result in (x.sum(), x.sum(0).sum(), x.nansum()):
            assert result.dtype is torch.int64
            assert result.item() == 3

    def test_dtype(self) -> None:
        x = torch.tensor([1.5, 2.5])
        assert x.sum(dtype=torch.int32).dtype is torch.int32
        assert x.sum(dtype=torch.int32).item() == 3
        assert x.sum(0, dtype=torch.float64).dtype is torch.float64
        x.requires_grad_().sum(dtype=torch.float64).backward()
        assert x.grad.dtype is torch.float32

    def test_many_float32_terms_keep_their_digits(self) -> None:
        x = torch.full((1000, 1000), 0.1)
        for total in (x.sum(), x.T.sum(), x.sum(0).sum(), x.sum(1).sum()):
            assert abs(total.item() - 1e5) < 1

    def test_out(self) -> None:
        out = torch.zeros(3)
        assert torch.sum(torch.tensor(MATRIX), 0, out=out) is out
        assert out.tolist() == [3.0, 5.0, 7.0]

    @pytest.mark.parametrize(
        ("call", "kind", "text"),
        [
            (lambda x: x.sum(2), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
            (lambda x: x.sum((0, 0)), RuntimeError, "dim 0 appears multiple times"),
            (lambda x: x.sum((0, -2)), RuntimeError, "dim 0 appears multiple times"),
            (lambda x: x.sum(0.5), TypeError, "must be int, not float"),
            (lambda x: torch.sum(3.0, 0), TypeError, r"sum\(\): argument 'input' .* must be Tensor, not float"),
            (lambda x: x.prod((0, 1)), TypeError, "must be int, not tuple"),
            (lambda x: x.prod(keepdim=True), TypeError, "keepdim needs dim"),
            (lambda x: x.logsumexp(None), TypeError, 'missing 1 required positional arguments: "dim"'),
            (lambda x: x.long().mean(), RuntimeError, r"mean\(\): could not infer output dtype. Input .* Got: Long"),
            (lambda x: x.mean(dtype=torch.int64), RuntimeError, "Optional dtype must be .* Got: Long"),
            (lambda x: x.long().nanmean(), RuntimeError, "nanmean.* but got Long"),
            (lambda x: x.all((0, 0)), RuntimeError, "dim 0 appears multiple times"),
        ],
    )
    def test_errors(self, call: Any, kind: type[Exception], text: str) -> None:
        with pytest.raises(kind, match=text):
            call(torch.tensor(MATRIX))

    @given(hnp.arrays(np.float64, shapes, elements=st.floats(-8, 8)), st.data())
    def test_sum_to_is_adjoint_to_expand(self, x: np.ndarray, data: Any) -> None:
        shape = tuple(data.draw(st.sampled_from((1, size))) for size in x.shape)[data.draw(st.integers(0, x.ndim)) :]
        y = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
        summed = rows["sum_to"].kernel(x, shape=shape)
        assert summed.shape == shape
        np.testing.assert_allclose((summed * y).sum(), (x * np.broadcast_to(y, x.shape)).sum(), atol=1e-9)

    @given(hnp.arrays(np.float64, shapes, elements=st.floats(-8, 8)), st.data())
    def test_summing_over_dims_in_turn_is_summing_over_all(self, x: np.ndarray, data: Any) -> None:
        dims = data.draw(st.lists(st.integers(0, max(x.ndim - 1, 0)), unique=True, max_size=x.ndim))
        t = torch.tensor(x)
        together = t.sum(tuple(dims), keepdim=True) if dims else t
        for dim in dims:
            t = t.sum(dim, keepdim=True)
        np.testing.assert_allclose(t.numpy(), together.numpy(), atol=1e-9)


class TestEmptyAndScalar:
    def test_reductions_of_nothing(self) -> None:
        e = torch.zeros(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (e.sum().item(), e.prod().item(), e.logsumexp(0).item()) == (0.0, 1.0, -inf)
            assert math.isnan(e.mean().item())
            assert math.isnan(e.nanmean().item())
            assert (e.all().item(), e.any().item(), e.count_nonzero().item()) == (True, False, 0)
            wide = torch.zeros(0, 3)
            assert wide.sum(0).tolist() == [0.0, 0.0, 0.0]
            assert wide.prod(0).tolist() == [1.0, 1.0, 1.0]
            assert np.isnan(wide.mean(0).numpy()).all()
            assert tuple(wide.mean(1).shape) == (0,)

    def test_gradient_of_an_empty_mean(self) -> None:
        e = torch.zeros(0, requires_grad=True)
        e.mean().backward()
        assert e.grad.tolist() == []

    @pytest.mark.parametrize("dim", [0, -1, (), None])
    def test_a_scalar_has_one_dimension_to_reduce(self, dim: Any) -> None:
        s = torch.tensor(2.0, requires_grad=True)
        for result in (s.sum(dim), s.mean(dim), s.nansum(dim), s.sum(dim, keepdim=True)):
            assert tuple(result.shape) == ()
            assert result.item() == 2.0
            (g,) = torch.autograd.grad(result, s)
            assert g.item() == 1.0
        with pytest.raises(IndexError):
            s.sum(1)


class TestMeanProdLogsumexp:
    def test_mean_forms(self) -> None:
        x = torch.tensor(MATRIX)
        assert x.mean().item() == 2.5
        assert x.mean(0).tolist() == [1.5, 2.5, 3.5]
        assert x.mean((0, 1), keepdim=True).tolist() == [[2.5]]
        assert x.mean(axis=1).tolist() == [1.0, 4.0]
        assert x.long().mean(dtype=torch.float32).item() == 2.5

    def test_half_precision_means_do_not_overflow(self) -> None:
        assert torch.full((3,), 60000.0, dtype=torch.float16).mean().item() == 60000.0

    def test_nan_is_left_out(self) -> None:
        x = torch.tensor([[1.0, nan], [3.0, 5.0]], requires_grad=True)
        assert x.nansum().item() == 9.0
        assert x.nansum(1, keepdim=True).tolist() == [[1.0], [8.0]]
        assert x.nanmean(0).tolist() == [2.0, 5.0]
        assert gradient(torch.nansum, [nan, 1.0]) == [0.0, 1.0]
        assert gradient(torch.nanmean, [nan, 1.0, 2.0]) == [0.0, 0.5, 0.5]

    def test_prod_of_integers_is_int64(self) -> None:
        assert torch.tensor([2, 3], dtype=torch.uint8).prod().dtype is torch.int64
        assert torch.tensor([True, True]).prod(0).item() == 1
        assert torch.tensor([2.5, 3.0]).prod(dtype=torch.int32).item() == 6

    @pytest.mark.parametrize(
        ("values", "first", "second"),
        [
            ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0], [17.0, 10.0, 7.0]),
            ([0.0, 3.0, 4.0], [12.0, 0.0, 0.0], [17.0, 4.0, 3.0]),
            ([0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [9.0, 0.0, 3.0]),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ],
    )
    def test_derivatives_of_prod_are_exact_with_zeros(self, values: Any, first: Any, second: Any) -> None:
        for call in (lambda x: x.prod(), lambda x: x.prod(0)):
            assert gradient(call, values) == first
            assert gradient(call, values, 2) == second

    def test_third_derivative_of_prod(self) -> None:
        x = torch.tensor([0.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
        (h,) = torch.autograd.grad(g[0], x, create_graph=True)
        (t,) = torch.autograd.grad(h[1], x)
        assert t.tolist() == [0.0, 0.0, 1.0]

    def test_logsumexp_at_infinities(self) -> None:
        assert torch.tensor([-inf, -inf]).logsumexp(0).item() == -inf
        assert torch.tensor([inf, 0.0]).logsumexp(0).item() == inf
        assert torch.tensor([1000.0, 1000.0]).logsumexp(0).item() == pytest.approx(1000.6931, abs=1e-3)
        assert gradient(lambda x: x.logsumexp(0), [-inf, 0.0]) == [0.0, 1.0]
        assert torch.tensor([0, 0]).logsumexp(0).dtype is torch.float32


class TestLogical:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (lambda x: x.all(), False),
            (lambda x: x.all(0), [False, True, True]),
            (lambda x: x.all((0, 1)), False),
            (lambda x: x.all(()), [[False, True, True], [True, True, True]]),
            (lambda x: torch.any(x, 1, keepdim=True), [[True], [True]]),
            (lambda x: x.any(axis=0, keepdims=True), [[True, True, True]]),
            (lambda x: x.count_nonzero(0), [1, 2, 2]),
            (lambda x: torch.count_nonzero(x, dim=(0, 1)), 5),
        ],
    )
    def test_forms(self, call: Any, expected: Any) -> None:
        assert call(torch.tensor(MATRIX)).tolist() == expected

    def test_bytes_answer_in_bytes(self) -> None:
        assert torch.tensor([1, 2], dtype=torch.uint8).all().dtype is torch.uint8
        assert torch.tensor([1, 2], dtype=torch.int8).all().dtype is torch.bool


CALLS = [
    "a.sum()", "a.sum(0, True)", "a.sum(dim=(1, 0))", "a.sum(dtype=T.float64)", "i.sum(1, dtype=T.float32)", "b.sum(0)",
    "a.mean(1)", "a.mean((), True)", "h.mean()", "a.prod()", "a.prod(1, True)", "i.prod(0)", "b.prod()", "n.nansum()",
    "n.nanmean(0)", "a.nansum((0, 1), keepdim=True)", "a.logsumexp((0, 1))", "i.logsumexp(0)", "a.all(())", "u.any(0)",
    "a.count_nonzero(())", "i.sum(dtype=T.int32)", "a.sum(5)", "a.mean((0, 0))", "i.mean()", "a.prod(5)", "a.all(5)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_against_pytorch(call: str) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        names = {
            "T": T,
            "a": T.tensor([[0.5, -1.0, 2.0], [3.0, 4.0, 5.0]]),
            "i": T.tensor([[1, 2], [3, 4]]),
            "b": T.tensor([[True, False], [True, True]]),
            "u": T.tensor([1, 0], dtype=T.uint8),
            "h": T.tensor([1.0, 2.0], dtype=T.float16),
            "n": T.tensor([1.0, nan, 3.0]),
        }
        try:
            results.append(repr(eval(call, names)))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]
