"""Joining and splitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch


def arange(*shape: int) -> Any:
    return torch.arange(int(np.prod(shape))).reshape(shape)


class TestJoining:
    def test_cat_and_its_names(self) -> None:
        x, y = arange(1, 2), arange(2, 2)
        for join in (torch.cat, torch.concat, torch.concatenate):
            assert join([x, y]).tolist() == [[0, 1], [0, 1], [2, 3]]
            assert join((y, y), axis=-1).tolist() == [[0, 1, 0, 1], [2, 3, 2, 3]]
        assert torch.cat([x, torch.zeros(0)]).tolist() == [[0, 1]]
        out = torch.zeros(3, 2)
        assert torch.cat([x, y], out=out) is out
        assert out.tolist() == [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0]]

    def test_stacks(self) -> None:
        x, y = torch.tensor([1, 2]), torch.tensor([3, 4])
        assert torch.stack([x, y]).tolist() == [[1, 2], [3, 4]]
        assert torch.stack([x, y], -1).tolist() == [[1, 3], [2, 4]]
        assert torch.hstack([x, y]).tolist() == [1, 2, 3, 4]
        assert torch.vstack([x, y]).tolist() == torch.row_stack([x, y]).tolist() == [[1, 2], [3, 4]]
        assert torch.dstack([x, y]).tolist() == [[[1, 3], [2, 4]]]
        assert torch.column_stack([x, y]).tolist() == [[1, 3], [2, 4]]
        assert torch.stack([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]

    def test_dtypes_are_promoted_and_gradients_come_back_in_each_ones_own(self) -> None:
        x = torch.ones(2, dtype=torch.float32, requires_grad=True)
        y = torch.ones(2, dtype=torch.float64, requires_grad=True)
        for join in (torch.cat, torch.stack):
            out = join([x, y, torch.tensor([1, 2])])
            assert out.dtype == torch.float64
            assert [g.dtype for g in torch.autograd.grad(out.sum(), (x, y))] == [torch.float32, torch.float64]
        assert torch.cat([torch.ones(1, dtype=torch.bool), torch.ones(1)]).dtype == torch.float32

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda x: torch.cat([]), ValueError, "non-empty list of Tensors"),
            (lambda x: torch.cat(x), TypeError, "must be tuple of Tensors, not Tensor"),
            (lambda x: torch.cat([x, 1]), TypeError, "not int"),
            (lambda x: torch.cat([x, x[0]]), RuntimeError, "same number of dimensions: got 2 and 1"),
            (
                lambda x: torch.cat([x, x.t()]),
                RuntimeError,
                "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2",
            ),
            (lambda x: torch.cat([x[0, 0], x[0, 0]]), RuntimeError, "zero-dimensional"),
            (lambda x: torch.cat([x, x], 2), IndexError, "Dimension out of range"),
            (lambda x: torch.stack([]), RuntimeError, "non-empty TensorList"),
            (
                lambda x: torch.stack([x, x[0]]),
                RuntimeError,
                r"equal size, but got \[2, 3\] at entry 0 and \[3\] at entry 1",
            ),
            (lambda x: torch.stack([x, x], 3), IndexError, "Dimension out of range"),
            (lambda x: x.split(0), RuntimeError, "split_size can only be 0"),
            (lambda x: x.split(-1), RuntimeError, "non-negative"),
            (lambda x: x.split([1, 2]), RuntimeError, "sum exactly to 2"),
            (lambda x: x[0, 0].split(1), RuntimeError, "at least a 1-dimensional"),
            (lambda x: x.chunk(0), RuntimeError, "greater than 0"),
            (lambda x: x[0, 0].unbind(), IndexError, "no dimensions"),
            (lambda x: x.tensor_split(0), RuntimeError, "larger than 0"),
            (lambda x: x.hsplit(2), RuntimeError, "not divisible"),
            (lambda x: x[0].vsplit(1), RuntimeError, "at least 2 dimension"),
            (lambda x: x.narrow(1, 2, 2), RuntimeError, r"start \(2\) \+ length \(2\) exceeds"),
            (lambda x: x.narrow(1, 4, 0), IndexError, "start out of range"),
            (lambda x: torch.meshgrid(x, indexing="ij"), RuntimeError, "0D or 1D"),
            (lambda x: torch.meshgrid(x[0], indexing="ji"), RuntimeError, "indexing must be one of"),
        ],
    )
    def test_what_does_not_fit(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(2, 3))


class TestSplitting:
    def test_sizes(self) -> None:
        x = arange(5)
        assert [p.tolist() for p in x.split(2)] == [[0, 1], [2, 3], [4]]
        assert [p.tolist() for p in torch.split(x, (1, 0, 4))] == [[0], [], [1, 2, 3, 4]]
        assert [p.tolist() for p in x.chunk(3)] == [[0, 1], [2, 3], [4]]
        assert [p.tolist() for p in x.tensor_split(3)] == [[0, 1], [2, 3], [4]]
        assert [p.tolist() for p in x.tensor_split([1, 3])] == [[0], [1, 2], [3, 4]]
        assert [p.shape for p in torch.zeros(2, 0).chunk(2, -1)] == [(2, 0)] * 2
        assert [p.shape for p in torch.zeros(0, 3).split(4)] == [(0, 3)]
        assert [p.shape for p in torch.zeros(4, 2, 2).dsplit(2)] == [(4, 2, 1)] * 2
        assert [p.tolist() for p in arange(2, 2).unbind(-1)] == [[0, 2], [1, 3]]
        assert torch.zeros(0, 2).unbind() == ()
        assert arange(2, 3).narrow(-1, -2, 1).tolist() == [[1], [4]]
        assert isinstance(x.split(2), tuple)

    def test_parts_share_memory_and_unsafe_ones_hide_it(self) -> None:
        x = torch.zeros(4)
        part = x.split(2)[1]
        part += 1
        assert (x.tolist(), part._base is x, x._version) == ([0, 0, 1, 1], True, 1)
        unsafe = x.unsafe_split(2)[0]
        unsafe += 5
        assert (x.tolist(), unsafe._base, x._version) == ([5, 5, 1, 1], None, 1)

    @given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(-2, 1))
    def test_split_undoes_cat(self, sizes: list[int], dim: int) -> None:
        shapes = [(n, 2) if dim % 2 == 0 else (2, n) for n in sizes]
        given = [torch.full(shape, i) for i, shape in enumerate(shapes)]
        parts = torch.cat(given, dim).split(sizes, dim)
        assert [p.tolist() for p in parts] == [t.tolist() for t in given]

    def test_gradient_where_only_some_parts_are_used(self) -> None:
        x = torch.ones(5, requires_grad=True)
        first, _, last = (x * 1).split(2)
        (first.sum() * 2 + last.sum() * 3).backward()
        assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0, 3.0]


class TestGrids:
    def test_meshgrid(self) -> None:
        x, y = torch.tensor([1, 2]), torch.tensor([3, 4, 5])
        assert [g.tolist() for g in torch.meshgrid(x, y, indexing="ij")] == [[[1] * 3, [2] * 3], [[3, 4, 5]] * 2]
        assert [g.tolist() for g in torch.meshgrid([x, y], indexing="xy")] == [[[1, 2]] * 3, [[3, 3], [4, 4], [5, 5]]]
        with pytest.warns(UserWarning, match="indexing"):
            torch.meshgrid(x, y)

    def test_cartesian_prod(self) -> None:
        x = torch.tensor([1, 2])
        assert torch.cartesian_prod(x, x).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
        assert torch.cartesian_prod(x) is x


def test_joins_and_splits_against_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    array = np.arange(24.0).reshape(4, 6)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda torch, x: torch.cat([x, x[:, 1:]], 1),
        lambda torch, x: torch.stack([x, x + 1, x * 2], 1),
        lambda torch, x: torch.cat([a * b for a, b in zip(x.split(2, 1), x.split(2, 1)[::-1])]),
        lambda torch, x: torch.cat(list(x.chunk(3, 0))[::-1]) * x,
        lambda torch, x: torch.stack(x.unbind(1)[::2]) ** 2,
        lambda torch, x: torch.cat([p.sum(0) for p in x.tensor_split(3)]),
        lambda torch, x: torch.cartesian_prod(x[0], x[1]) * 3,
    ]
    for call in calls:
        a, b = torch.from_numpy(array.copy()).requires_grad_(), theirs.from_numpy(array.copy()).requires_grad_()
        ours, other = call(torch, a), call(theirs, b)
        assert ours.tolist() == other.tolist()
        (ours * ours).sum().backward()
        (other * other).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy())


def test_an_empty_vector_that_cat_leaves_out_has_a_gradient() -> None:
    empty, x = torch.ones(0, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    torch.cat([empty, x], 1).sum().backward()
    assert empty.grad.shape == (0,)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacks_of_nothing(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name} expects a non-empty TensorList"):
        getattr(torch, name)([])
