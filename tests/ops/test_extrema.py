"""Maxima and minima: forms, ties, NaN, empty tensors, errors."""

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
MATRIX = [[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]
arrays = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-2, 2) | st.just(nan)
)


def gradient(function: Any, values: Any) -> Any:
    x = torch.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


class TestForms:
    def test_over_all(self) -> None:
        x = torch.tensor(MATRIX)
        assert (x.max().item(), torch.min(x).item(), x.amax().item(), x.amin(()).item()) == (7.0, 0.0, 7.0, 0.0)
        assert (x.argmax().item(), x.argmin().item()) == (3, 4)
        assert x.argmax(keepdim=True).tolist() == [[3]]

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: x.max(1),
            lambda x: torch.max(x, dim=-1),
            lambda x: x.max(axis=1),
            lambda x: torch.max(input=x, dim=1, keepdim=False),
        ],
    )
    def test_over_a_dimension(self, call: Any) -> None:
        values, indices = found = call(torch.tensor(MATRIX))
        assert found.values is values
        assert found.indices is indices
        assert (values.tolist(), indices.tolist(), indices.dtype) == ([5.0, 7.0], [1, 0], torch.int64)

    def test_keepdim(self) -> None:
        x = torch.tensor(MATRIX)
        assert x.min(0, True).values.tolist() == [[1.0, 0.0, 2.0]]
        assert x.min(0, keepdims=True).indices.tolist() == [[0, 1, 0]]
        assert x.amax((0, 1), keepdim=True).tolist() == [[7.0]]
        assert x.argmin(1, keepdim=True).tolist() == [[0], [1]]

    def test_of_two_tensors(self) -> None:
        x, y = torch.tensor([1.0, 4.0]), torch.tensor([3.0, 2.0])
        assert torch.max(x, y).tolist() == x.max(y).tolist() == torch.max(x, other=y).tolist() == [3.0, 4.0]
        assert torch.min(x, y).tolist() == [1.0, 2.0]

    def test_aminmax(self) -> None:
        found = torch.aminmax(torch.tensor(MATRIX), dim=0)
        assert (found.min.tolist(), found.max.tolist()) == ([1.0, 0.0, 2.0], [7.0, 5.0, 7.0])
        assert torch.tensor(MATRIX).aminmax().max.item() == 7.0

    def test_out(self) -> None:
        out = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
        torch.max(torch.tensor(MATRIX), 1, out=out)
        assert (out[0].tolist(), out[1].tolist()) == ([5.0, 7.0], [1, 0])

    def test_of_integers_and_bools(self) -> None:
        assert torch.tensor([3, 1]).max(0).values.dtype is torch.int64
        assert torch.tensor([False, True]).max().item() is True
        assert torch.tensor([[False, True]]).amax(0).tolist() == [False, True]

    def test_of_a_scalar(self) -> None:
        s = torch.tensor(2.0, requires_grad=True)
        for call in (lambda x: x.max(), lambda x: x.max(0)[0], lambda x: x.amin(-1), lambda x: x.min(0, True).values):
            assert call(s).item() == 2.0
            assert gradient(call, 2.0) == 1.0
        assert s.argmax(0).item() == s.max(0).indices.item() == 0


class TestTiesAndNan:
    def test_full_and_amax_share_evenly_but_a_dimension_picks_the_first(self) -> None:
        values = [[1.0, 3.0, 3.0], [3.0, 0.0, 2.0]]
        thirds = np.float32([[0, 1 / 3, 1 / 3], [1 / 3, 0, 0]]).tolist()
        assert gradient(lambda x: x.max(), values) == thirds
        assert gradient(lambda x: x.amax(1), values) == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
        assert gradient(lambda x: x.max(1).values, values) == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
        assert gradient(lambda x: x.aminmax().max, values) == thirds

    def test_nan_propagates(self) -> None:
        x = torch.tensor([nan, 1.0, nan])
        assert all(math.isnan(r.item()) for r in (x.max(), x.min(), x.amax(), x.amin(0), x.max(0).values))
        assert (x.max(0).indices.item(), x.argmax().item(), x.argmin(0).item()) == (0, 0, 0)
        assert gradient(lambda x: x.max(), [nan, 1.0, nan]) == [0.5, 0.0, 0.5]
        assert gradient(lambda x: x.max(0)[0], [nan, 1.0, nan]) == [1.0, 0.0, 0.0]
        assert np.isnan(gradient(lambda x: x.amax(), [nan, 1.0, nan])).all()

    @given(arrays, st.data())
    def test_indices_lead_to_the_values(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
        for found, extreme in ((torch.max(torch.tensor(x), dim), np.max), (torch.min(torch.tensor(x), dim), np.min)):
            taken = np.take_along_axis(x, np.expand_dims(found.indices.numpy(), dim), dim).squeeze(dim)
            np.testing.assert_array_equal(found.values.numpy(), taken)
            np.testing.assert_array_equal(found.values.numpy(), extreme(x, dim))

    @given(arrays.filter(lambda x: not np.isnan(x).any()), st.data())
    def test_gradients_of_extremes_add_up_to_one_a_result(self, x: np.ndarray, data: Any) -> None:
        dim = data.draw(st.integers(0, x.ndim - 1))
        for call in (lambda t: t.amax(dim), lambda t: t.amin(dim), lambda t: t.max(dim).values):
            assert np.sum(gradient(call, x)) == pytest.approx(x.size / x.shape[dim])

    def test_writing_into_the_indices_leaves_the_gradient(self) -> None:
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        values, indices = x.max(0, keepdim=True)
        indices.zero_()
        values.sum().backward()
        assert x.grad.tolist() == [0.0, 1.0]


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "kind", "text"),
        [
            (lambda e: e.max(), RuntimeError, r"max\(\): Expected reduction dim to be specified for input.numel"),
            (lambda e: e.amin(), RuntimeError, r"amin\(\): Expected reduction dim to be specified"),
            (lambda e: e.aminmax(), RuntimeError, r"aminmax\(\)"),
            (lambda e: e.argmax(), IndexError, r"argmax\(\): Expected reduction dim to be specified"),
            (lambda e: e.max(0), IndexError, r"max\(\): Expected reduction dim 0 to have non-zero size"),
            (lambda e: e.amax(0), IndexError, r"amax\(\): Expected reduction dim 0 to have non-zero size"),
            (lambda e: e.aminmax(dim=0), IndexError, "non-zero size"),
            (lambda e: e.argmin(0), IndexError, r"argmin\(\): Expected reduction dim 0"),
            (lambda e: e.max(2), IndexError, r"\[-2, 1\], but got 2"),
            (lambda e: e.max((0, 1)), TypeError, "must be int, not tuple"),
            (lambda e: e.max(keepdim=True), TypeError, "keepdim needs dim"),
            (lambda e: e.amax((1, 1)), RuntimeError, "appears multiple times"),
            (lambda e: torch.max(e, 1.0), TypeError, "must be int, not float"),
            (lambda e: torch.max(3.0), TypeError, r"max\(\): argument 'input' .* must be Tensor, not float"),
            (lambda e: e.bool().argmax(), RuntimeError, "does not support bool input"),
        ],
    )
    def test_errors(self, call: Any, kind: type[Exception], text: str) -> None:
        with pytest.raises(kind, match=text):
            call(torch.zeros(0, 3))

    def test_an_empty_dimension_that_is_not_reduced(self) -> None:
        e = torch.zeros(0, 3)
        assert tuple(e.max(1).values.shape) == tuple(e.amax(1).shape) == tuple(e.argmax(1).shape) == (0,)


CALLS = [
    "a.max()", "a.max(0)", "T.min(a, 1, True)", "a.amax((0, 1))", "a.amin(dim=1, keepdim=True)", "a.aminmax()",
    "a.aminmax(dim=0)", "a.argmax(1)", "a.argmin(keepdim=True)", "n.max(0)", "n.amin()", "b.max(0)", "i.min(0)",
    "i.aminmax()", "e.max(1)", "e.max()", "e.argmax(0)", "e.amax(())", "r.max(0)", "r.amin()", "r.min()", "r.aminmax()",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_against_pytorch(call: str) -> None:
    results = []
    for T in (torch, pytest.importorskip("torch")):
        names = {
            "T": T,
            "a": T.tensor(MATRIX),
            "r": T.tensor([2.0, 3.0], requires_grad=True),
            "i": T.tensor([[1, 2], [3, 0]]),
            "b": T.tensor([[True, False], [True, True]]),
            "e": T.zeros(0, 3),
            "n": T.tensor([1.0, nan, 3.0]),
        }
        try:
            results.append(repr(eval(call, names)))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]
