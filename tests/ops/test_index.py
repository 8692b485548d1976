"""Slices along a dimension, gather and scatter, positions and masks, embeddings; all of indexing beside PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch
from indexing import MASK, Tensor, arange, chain, gradient, tensor, values
from minitorch._kernels import scatter as kernels
from minitorch.ops.index import embedding, one_hot


class TestAlongOneDimension:
    def test_values(self) -> None:
        x = arange(2, 3)
        assert values(minitorch.index_select(x, 1, tensor([2, 0]))) == [[2, 0], [5, 3]]
        source = tensor([[10.0, 20.0]] * 2)
        assert values(minitorch.index_add(x, 1, tensor([0, 0]), source)) == [[30, 1, 2], [33, 4, 5]]
        assert values(minitorch.index_add(x, 1, tensor([0, 0]), source, alpha=2)) == [[60, 1, 2], [63, 4, 5]]
        assert values(minitorch.index_copy(x, 1, tensor([2, 0]), source)) == [[20, 1, 10], [20, 4, 10]]
        assert values(minitorch.index_fill(x, 1, tensor([-1]), 7)) == [[0, 1, 7], [3, 4, 7]]
        assert values(minitorch.index_select(tensor(3.0), 0, tensor([0]))) == 3.0

    def test_in_place_and_out(self) -> None:
        y = arange(3, requires_grad=False)
        assert y.index_add_(0, tensor([0, 0]), tensor([1.0, 2.0])) is y
        assert y.index_copy_(0, tensor([1]), tensor([9.0])) is y
        assert y.index_fill_(0, tensor([2]), 5.0) is y
        assert (values(y), y._version) == ([3, 9, 5], 3)
        out = tensor([0.0])
        assert minitorch.index_select(y, 0, tensor([1]), out=out) is out
        assert values(out) == [9.0]

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda x: x.index_select(0, tensor([2])), IndexError, "index out of range in self"),
            (lambda x: x.index_select(0, tensor([-1])), IndexError, "index out of range in self"),
            (lambda x: x.index_select(0, tensor([1.0])), RuntimeError, "Expected dtype int32/int64 for index"),
            (lambda x: x.index_select(0, tensor([[1]])), IndexError, "Index is supposed to be a vector"),
            (lambda x: x.index_select(2, tensor([1])), IndexError, "Dimension out of range"),
            (
                lambda x: x.index_add(0, tensor([-1]), x[:1]),
                RuntimeError,
                "index -1 is out of bounds for dimension 0 with size 2",
            ),
            (lambda x: x.index_add(0, tensor([0, 1]), x[:1]), RuntimeError, r"Number of indices \(2\) should be equal"),
            (
                lambda x: x.index_add(0, tensor([0]), x[:1, :2]),
                RuntimeError,
                "source tensor shape must match self tensor shape",
            ),
            (
                lambda x: x.index_add(0, tensor([0]), tensor([[1, 2, 3]])),
                RuntimeError,
                "must have the same scalar type",
            ),
            (
                lambda x: x.index_copy(0, tensor([5]), x[:1]),
                IndexError,
                "index 5 is out of bounds for dimension 0 with size 2",
            ),
            (lambda x: x.index_copy(0, tensor([0], np.int32), x[:1]), RuntimeError, "Expected a long tensor for index"),
            (lambda x: x.index_copy(0, tensor([0]), x[0]), IndexError, "as many dimensions"),
            (lambda x: x.index_select(0, tensor([[0.5]])), IndexError, "supposed to be a vector"),
            (lambda x: x.index_fill(0, tensor([[0]]), 1.0), RuntimeError, "a vector or a scalar"),
            (lambda x: x.gather(0, tensor([[0]]), sparse_grad=1), TypeError, "'sparse_grad' must be bool"),
            (lambda x: x.take_along_dim(tensor([0]), "x"), TypeError, "'dim' must be int"),
            (lambda x: x.bool().index_put((tensor([True] * 3),), x[0]), IndexError, "mask"),
            (
                lambda x: x.index_fill(0, tensor([5]), 1.0),
                IndexError,
                "index 5 is out of bounds for dimension 0 with size 2",
            ),
            (
                lambda x: x.index_fill(0, tensor([0]), tensor([1.0])),
                RuntimeError,
                "only supports a 0-dimensional value tensor",
            ),
        ],
    )
    def test_errors(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(2, 3))

    def test_a_value_filled_in_counts_each_place_once(self) -> None:
        value = tensor(5.0, requires_grad=True)
        arange(3, 2).index_fill(0, tensor([1, 1, 0]), value).sum().backward()
        assert value.grad.item() == 4


class TestGatherAndScatter:
    def test_gather(self) -> None:
        x = arange(2, 3)
        assert values(minitorch.gather(x, 1, tensor([[2, 2], [0, 1]]))) == [[2, 2], [3, 4]]
        assert values(minitorch.gather(x, 0, tensor([[1, 0]], np.int32))) == [[3, 1]]
        assert gradient(lambda x: x.gather(1, tensor([[2, 2], [0, 1]])), x) == [[0, 0, 3], [3, 4, 0]]
        assert values(minitorch.take_along_dim(x, tensor([[-1], [0]]), 1)) == [[2], [3]]
        assert values(minitorch.take_along_dim(x, tensor([[1]]), 0)) == [[3, 4, 5]]
        assert values(minitorch.take_along_dim(x, tensor([4, 0]))) == [4, 0]

    def test_scatter(self) -> None:
        x, index = arange(2, 3), tensor([[0, 1, 1]])
        src = tensor([[10.0, 20.0, 30.0]] * 2, requires_grad=True)
        assert values(x.scatter(0, index, src)) == [[10, 1, 2], [3, 20, 30]]
        assert values(x.scatter(0, index, 7)) == values(x.scatter(0, index, value=7)) == [[7, 1, 2], [3, 7, 7]]
        assert values(x.scatter(0, index, src, reduce="add")) == [[10, 1, 2], [3, 24, 35]]
        assert values(x.scatter(0, index, 2, reduce="multiply")) == [[0, 1, 2], [3, 8, 10]]
        x.scatter(0, index, src).sum().backward()
        assert values(src.grad) == [[1, 1, 1], [0, 0, 0]]

    @pytest.mark.parametrize(
        ("reduce", "with_self", "without"),
        [
            ("sum", [6.0, 2.0, 8.0], [5.0, 2.0, 5.0]),
            ("mean", [2.0, 2.0, 4.0], [2.5, 2.0, 5.0]),
            ("prod", [4.0, 2.0, 15.0], [4.0, 2.0, 5.0]),
            ("amax", [4.0, 2.0, 5.0], [4.0, 2.0, 5.0]),
            ("amin", [1.0, 2.0, 3.0], [1.0, 2.0, 5.0]),
        ],
    )
    def test_scatter_reduce(self, reduce: str, with_self: list[float], without: list[float]) -> None:
        x, index, src = tensor([1.0, 2.0, 3.0]), tensor([0, 0, 2]), tensor([4.0, 1.0, 5.0])
        assert values(minitorch.scatter_reduce(x, 0, index, src, reduce)) == with_self
        assert values(x.scatter_reduce(0, index, src, reduce, include_self=False)) == without
        whole = tensor([1, 2, 3])
        assert whole.scatter_reduce(0, index, tensor([4, 1, 5]), reduce)._array.dtype == np.int64

    def test_gradients_of_a_product_with_a_zero_to_the_second_order(self) -> None:
        x, src = tensor([0.0, 3.0], requires_grad=True), tensor([0.0, 2.0, 5.0], requires_grad=True)
        y = x.scatter_reduce(0, tensor([1, 1, 0]), src, "prod")
        first = minitorch.autograd.grad(y.sum(), (x, src), create_graph=True)
        assert [values(g) for g in first] == [[5, 0], [6, 0, 0]]
        second = minitorch.autograd.grad(sum(g.sum() for g in first), (x, src))
        assert [values(g) for g in second] == [[1, 2], [5, 3, 1]]

    def test_a_second_derivative_through_several_zeros_of_a_product_is_refused(self) -> None:
        src = tensor([0.0, 0.0], requires_grad=True)
        y = tensor([1.0]).scatter_reduce(0, tensor([0, 0]), src, "prod")
        (first,) = minitorch.autograd.grad(y.sum(), src, create_graph=True)
        assert values(first) == [0, 0]
        with pytest.raises(RuntimeError, match="Double backward is unsupported for src when >1 zeros"):
            first.sum().backward()

    def test_a_product_of_0_d_tensors(self) -> None:
        x, src = tensor(2.0, requires_grad=True), tensor(3.0, requires_grad=True)
        x.scatter_reduce(0, tensor(0), src, "prod").backward()
        assert (x.grad.item(), src.grad.item()) == (3, 2)

    def test_gradients_of_scatter_reduce_at_ties_and_zeros(self) -> None:
        index = tensor([0, 0, 0])
        x, src = tensor([2.0], requires_grad=True), tensor([2.0, 1.0, 2.0], requires_grad=True)
        x.scatter_reduce(0, index, src, "amax").sum().backward()
        assert values(x.grad) == pytest.approx([1 / 3])
        assert values(src.grad) == pytest.approx([1 / 3, 0, 1 / 3])
        for factors, gradients in (([0.0, 3.0, 4.0], [24.0, 0, 0]), ([0.0, 3.0, 0.0], [0, 0, 0])):
            x, src = tensor([2.0], requires_grad=True), tensor(factors, requires_grad=True)
            x.scatter_reduce(0, index, src, "prod").sum().backward()
            assert values(src.grad) == gradients
            assert values(x.grad) == [math.prod(factors)]

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda x: x.gather(0, tensor([[-1]])),
                RuntimeError,
                "index -1 is out of bounds for dimension 0 with size 2",
            ),
            (
                lambda x: x.gather(0, tensor([[2]])),
                RuntimeError,
                "index 2 is out of bounds for dimension 0 with size 2",
            ),
            (
                lambda x: x.gather(0, tensor([0])),
                RuntimeError,
                "Index tensor must have the same number of dimensions as input",
            ),
            (lambda x: x.gather(0, tensor([[0] * 4])), RuntimeError, "no larger than self"),
            (lambda x: x.gather(0, tensor([[1.0]])), RuntimeError, "Expected dtype int32/int64 for index"),
            (lambda x: x.gather(2, tensor([[0]])), IndexError, "Dimension out of range"),
            (
                lambda x: x.scatter(0, tensor([[5]]), x),
                RuntimeError,
                "index 5 is out of bounds for dimension 0 with size 2",
            ),
            (lambda x: x.scatter(0, tensor([[0, 0]]), x[:, :1]), RuntimeError, "to be no larger size than src"),
            (
                lambda x: x.scatter(0, tensor([[0]]), tensor([[1]])),
                RuntimeError,
                "Expected self.dtype to be equal to src.dtype",
            ),
            (lambda x: x.scatter(0, tensor([[0]]), x, reduce="mean"), RuntimeError, "must be either add or multiply"),
            (
                lambda x: x.scatter_add(0, tensor([[0]]), 1.0),
                TypeError,
                r"argument 'src' \(position 3\) must be Tensor, not float",
            ),
            (
                lambda x: x.scatter_reduce(0, tensor([[0]]), x, "max"),
                RuntimeError,
                "sum, prod, mean, amax or amin, got max",
            ),
        ],
    )
    def test_errors(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(2, 3))


class TestPositionsAndMasks:
    def test_values(self) -> None:
        x, mask = arange(2, 3), tensor(MASK)
        assert values(minitorch.take(x, tensor([[0, -1]]))) == [[0, 5]]
        assert values(minitorch.put(x, tensor([0, -1]), tensor([7.0, 8.0]))) == [[7, 1, 2], [3, 4, 8]]
        assert values(x.put(tensor([1, 1]), tensor([7.0, 8.0]), accumulate=True)) == [[0, 16, 2], [3, 4, 5]]
        assert values(minitorch.masked_select(x, mask)) == [0, 2, 4]
        assert values(x.masked_select(tensor([True, False, False]))) == [0, 3]
        assert values(minitorch.masked_scatter(x, mask, x * 10.0)) == [[0, 1, 10], [3, 20, 5]]
        assert values(minitorch.nonzero(mask)) == values(mask.argwhere()) == [[0, 0], [0, 2], [1, 1]]
        assert [values(i) for i in mask.nonzero(as_tuple=True)] == [[0, 0, 1], [0, 2, 1]]
        assert minitorch.nonzero(tensor(3.0))._array.shape == (1, 0)
        assert values(minitorch.narrow_copy(x, 1, -2, 2)) == [[1, 2], [4, 5]]

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda x: x.take(tensor([6])), IndexError, "tried to access index 6 on a tensor of 6 elements"),
            (lambda x: x.take(tensor([0], np.int32)), RuntimeError, "Expected a long tensor for index, but got Int"),
            (lambda x: x.put(tensor([0]), tensor([1.0, 2.0])), IndexError, "same number of elements"),
            (lambda x: x.masked_select(tensor([1, 0, 0])), RuntimeError, "expected BoolTensor for mask"),
            (lambda x: x.masked_select(tensor([True, False])), RuntimeError, r"The size of tensor a \(2\) must match"),
            (lambda x: x.masked_scatter(tensor(MASK), tensor([1.0])), RuntimeError, "source < number of ones in mask"),
            (
                lambda x: x.narrow_copy(1, 2, 2),
                RuntimeError,
                r"start \(2\) \+ length \(2\) exceeds dimension size \(3\)",
            ),
        ],
    )
    def test_errors(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(2, 3))


class TestEmbedding:
    def test_rows_and_gradient(self) -> None:
        weight, index = arange(3, 2), tensor([[1, 0], [1, 1]])
        assert values(embedding(index, weight)) == [[[2, 3], [0, 1]], [[2, 3], [2, 3]]]
        assert gradient(lambda w: embedding(index, w), weight) == [[3, 4], [13, 16], [0, 0]]
        assert gradient(lambda w: embedding(index, w, padding_idx=-2), weight) == [[3, 4], [0, 0], [0, 0]]
        scaled = gradient(lambda w: embedding(index, w, scale_grad_by_freq=True), weight)
        assert np.allclose(scaled, [[3, 4], [13 / 3, 16 / 3], [0, 0]])

    def test_rows_that_are_too_long_are_scaled_in_place(self) -> None:
        weight = tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
        rows = embedding(tensor([0, 1]), weight, max_norm=1.0)
        assert np.allclose(rows._array, [[0.6, 0.8], [0.3, 0.4]])
        assert np.allclose(weight._array, [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda w: embedding(tensor([3]), w), IndexError, "index out of range in self"),
            (lambda w: embedding(tensor([-1]), w), IndexError, "index out of range in self"),
            (
                lambda w: embedding(tensor([1.0]), w),
                RuntimeError,
                "one of the following scalar types: Long, Int; but got Float",
            ),
            (lambda w: embedding(tensor([0]), w[0]), RuntimeError, "'weight' must be 2-D"),
            (lambda w: embedding(tensor([0]), w, padding_idx=3), AssertionError, "must be within num_embeddings"),
            (lambda w: embedding(tensor([0]), w, sparse=True), NotImplementedError, "sparse=False"),
        ],
    )
    def test_errors(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(3, 2))

    def test_one_hot(self) -> None:
        assert values(one_hot(tensor([2, 0]))) == [[0, 0, 1], [1, 0, 0]]
        assert values(one_hot(tensor(1), 4)) == [0, 1, 0, 0]
        for classes, number, message in (
            ([-1], -1, "non-negative"),
            ([3], 3, "smaller than num_classes"),
            ([], -1, "empty"),
        ):
            with pytest.raises(RuntimeError, match=message):
                one_hot(tensor(classes, np.int64), number)


class TestKernels:
    @given(st.data())
    def test_add_along_is_add_at(self, data: st.DataObject) -> None:
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
        dim = data.draw(st.integers(0, len(shape) - 1))
        index = data.draw(hnp.arrays(np.int64, st.integers(0, 6), elements=st.integers(0, shape[dim] - 1)))
        dtype = data.draw(st.sampled_from(["f4", "f8", "i8", "f2"]))
        source = np.arange(math.prod(shape[:dim]) * index.size * math.prod(shape[dim + 1 :]), dtype=dtype)
        source = source.reshape(*shape[:dim], index.size, *shape[dim + 1 :])
        expected = np.ones(shape, dtype)
        np.add.at(expected, (slice(None),) * dim + (index,), source)
        assert np.array_equal(kernels.add_along(np.ones(shape, dtype), index, source, dim), expected)

    @given(st.data())
    def test_gather_and_scatter_sum_are_adjoint(self, data: st.DataObject) -> None:
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
        dim = data.draw(st.integers(0, len(shape) - 1))
        sizes = [data.draw(st.integers(1, n + 2 * (d == dim))) for d, n in enumerate(shape)]
        index = data.draw(hnp.arrays(np.int64, tuple(sizes), elements=st.integers(0, shape[dim] - 1)))
        x, g = np.random.default_rng(0).normal(size=shape), np.random.default_rng(1).normal(size=sizes)
        rows = minitorch._op.rows
        forward = rows["gather"].kernel(x, index, dim=dim)
        backward = rows["scatter_sum"].kernel(g, index, dim=dim, shape=shape)
        assert (forward * g).sum() == pytest.approx((x * backward).sum())


FORMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda T, x, v: x[1, ..., 0],
    lambda T, x, v: x[[0, 1], :, [1, 3]],
    lambda T, x, v: x[:, [[0, 1], [2, 0]], 1:3],
    lambda T, x, v: x[None, T(MASK), ::2],
    lambda T, x, v: x[..., T([True, False, True, True])],
    lambda T, x, v: x.index_put((T([0, 0]), T([1, 1])), v, accumulate=True),
    lambda T, x, v: x.index_select(2, T([3, 3, 0])),
    lambda T, x, v: x.index_add(1, T([2, 2]), x[:, :2], alpha=3),
    lambda T, x, v: x.index_copy(0, T([1]), x[:1] * 2.0),
    lambda T, x, v: x.index_fill(-1, T([0, 3]), v[0]),
    lambda T, x, v: x[0].gather(1, T([[0, 3, 3], [1, 1, 2]])),
    lambda T, x, v: x[0].scatter(1, T([[0], [1]]), x[1, :2, :1]),
    lambda T, x, v: x[0].scatter_reduce(0, T([[0, 1, 1, 2]] * 2), x[1, :2], "mean"),
    lambda T, x, v: x[0].scatter_reduce(0, T([[0, 1, 1, 2]] * 2), x[1, :2], "prod", include_self=False),
    lambda T, x, v: x.take(T([0, 5, -1])),
    lambda T, x, v: x.masked_select(T(MASK[:, :, None])),
    lambda T, x, v: x.masked_scatter(T(MASK[:, :, None]), x * 3.0),
]


@pytest.mark.parametrize("form", FORMS)
def test_values_gradients_and_nodes_equal_pytorchs(form: Callable[[Any, Any, Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(0).normal(size=(2, 3, 4))
    results = []
    for make in (lambda a: tensor(a, "f8", requires_grad=True), lambda a: torch.tensor(a, requires_grad=True)):
        x, v = make(array), make(np.array([0.5, -1.5, 2.0, 1.0]))
        constant = (lambda a: tensor(a)) if isinstance(x, Tensor) else torch.tensor
        y = form(constant, x, v)
        (y * y * y).sum().backward()
        plain = [t.detach().numpy() if not isinstance(t, Tensor) else t._array for t in (y, x.grad)]
        results.append((plain, chain(y), None if v.grad is None else np.asarray(v.grad.numpy())))
    ours, theirs = results
    for one, other in zip(ours[0], theirs[0], strict=True):
        assert np.allclose(one, other)
    assert ours[1][0] == theirs[1][0]
    assert (ours[2] is None) == (theirs[2] is None)
    assert ours[2] is None or np.allclose(ours[2], theirs[2])


def test_one_value_is_scattered_to_one_place() -> None:
    x = minitorch.tensor([0.3, 1.2, 0.7], dtype=minitorch.float64, requires_grad=True)
    value = minitorch.tensor(2.0, dtype=minitorch.float64, requires_grad=True)
    one, two, none = minitorch.tensor([1]), minitorch.tensor([0, 1]), minitorch.tensor([], dtype=minitorch.int64)
    (x.scatter(0, minitorch.tensor([0]), x[1]) ** 2).sum().backward()
    minitorch.testing.assert_close(x.grad, minitorch.tensor([0.0, 4.8, 1.4], dtype=minitorch.float64))
    for scattered, slope in (
        (x.scatter(0, one, value), 1.0),
        (x.detach().clone().scatter_(0, one, value), 1.0),
        (x.scatter_add(0, one, value), 1.0),
        (x.scatter_reduce(0, one, value, "prod"), 1.2),
        (x.scatter(0, none, value), 0.0),
        (x.scatter(0, minitorch.tensor(1), value.reshape(1)), 1.0),
    ):
        (slopes,) = minitorch.autograd.grad(scattered.sum(), value)
        minitorch.testing.assert_close(slopes, minitorch.tensor(slope, dtype=minitorch.float64))
    for scatter in (x.scatter, x.scatter_add):
        with pytest.raises(RuntimeError, match="no larger size than src"):
            scatter(0, two, value)
    assert x.scatter(0, two, value=value.detach()).tolist() == [2.0, 2.0, 0.7]
    with pytest.raises(TypeError, match="scatter"):
        x.scatter(0, one, value=value)
