"""Sums, scans, variance, undone broadcasting, and gradients of products."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minitorch._kernels import reduce
from minitorch._kernels.reduce import (
    cumprod,
    cumsum,
    exclusive_cumprod,
    linear_recurrence,
    prod_backward,
    sum_to,
    var,
)

SHAPES = [
    (),
    (3,),
    (0,),
    (4, 0, 3),
    (2, 3, 4),
    (37, 41, 3),
    (1000, 7),
    (3, 5000, 2),
    (1, 5001),
    (9000, 1),
    (2, 9000),
    (1, 24_581),
    (16, 8, 26, 26),
]
TOLERANCE = {np.float16: 1e-3, np.float32: 7e-7, np.float64: 1e-14}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def _axes(ndim: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(ndim), count) for count in range(1, ndim + 1)))


def _is_fresh(result: Any, dtype: Any) -> None:
    assert type(result) is np.ndarray
    assert result.dtype == dtype
    assert result.base is None


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sum_over_any_axes(shape: tuple[int, ...], dtype: type) -> None:
    x = np.random.default_rng(0).random(shape).astype(dtype)
    for dims in [None, *_axes(len(shape))]:
        for keepdim in (False, True):
            result = reduce.sum(x, dims, keepdim)
            expected = x.sum(dims, np.float64, keepdims=keepdim)
            _is_fresh(result, dtype)
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, rtol=TOLERANCE[dtype])
    if len(shape) > 1:
        moved = x.transpose()[::-1]
        np.testing.assert_allclose(reduce.sum(moved, (-1,)), moved.sum(-1, np.float64), rtol=TOLERANCE[dtype])


def test_sum_of_integers_is_int64() -> None:
    for dtype in (np.int8, np.uint8, np.int32, np.int64, np.bool_):
        result = reduce.sum(np.ones((300, 2), dtype), (0,))
        _is_fresh(result, np.int64)
        np.testing.assert_array_equal(result, [300, 300])


def test_sum_of_no_axes_is_a_copy() -> None:
    for shape in ((2, 3), (60, 50)):
        x = np.random.default_rng(1).random(shape).astype(np.float32)
        result = reduce.sum(x, ())
        assert not np.shares_memory(result, x)
        np.testing.assert_array_equal(result, x)


@pytest.mark.parametrize("shape", [(1_000_000, 4), (100_003, 10), (2, 300_000, 2), (3000, 600)], ids=str)
def test_long_sums_keep_their_digits(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).random(shape, np.float32)
    for axis in range(len(shape)):
        np.testing.assert_allclose(reduce.sum(x, (axis,)), x.sum(axis, np.float64), rtol=1e-6)
    np.testing.assert_allclose(sum_to(x, shape[-1:]), x.sum(tuple(range(len(shape) - 1)), np.float64), rtol=1e-6)


@pytest.mark.parametrize("shape", [(40, 40), (2000, 5), (5, 2000), (5, 9000), (4, 300, 3)], ids=str)
def test_what_is_not_finite_stays_in_its_sum(shape: tuple[int, ...]) -> None:
    for value in (np.inf, -np.inf, np.nan):
        x = np.ones(shape, np.float32)
        x[(1,) * len(shape)] = value
        for axis in range(len(shape)):
            np.testing.assert_array_equal(reduce.sum(x, (axis,)), x.sum(axis))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("own", "shape"),
    [
        ((4, 4), (4,)),
        ((4, 4), (4, 1)),
        ((4, 4), (1, 1)),
        ((4, 4), (1,)),
        ((4, 4), ()),
        ((1, 4), (4,)),
        ((3, 1, 4), (1, 1)),
        ((600, 70), (70,)),
        ((2000, 70), (1, 70)),
        ((600, 70), (600, 1)),
        ((8, 32, 64), (64,)),
        ((64, 8, 26, 26), (1, 8, 1, 1)),
        ((64, 8, 26, 26), (8, 1, 1)),
        ((0, 3), (3,)),
        ((3, 0), (3, 1)),
        ((5, 0), (0,)),
    ],
    ids=str,
)
def test_sum_to(own: tuple[int, ...], shape: tuple[int, ...], dtype: type) -> None:
    x = np.random.default_rng(3).random(own).astype(dtype)
    result = sum_to(x, shape)
    _is_fresh(result, dtype)
    assert result.shape == shape
    lead = len(own) - len(shape)
    stretched = tuple(lead + axis for axis, size in enumerate(shape) if size == 1)
    expected = x.sum((*range(lead), *stretched), np.float64, keepdims=True).reshape(shape)
    np.testing.assert_allclose(result, expected, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(sum_to(np.asfortranarray(x), shape), expected, rtol=TOLERANCE[dtype])


def test_sum_to_its_own_shape_is_itself() -> None:
    x = np.ones((2, 3))
    assert sum_to(x, (2, 3)) is x


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=5), st.integers(0, 2**32 - 1))
def test_sum_to_is_adjoint_to_broadcasting(shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shapes.input_shapes[0])
    y = rng.normal(size=shapes.result_shape)
    np.testing.assert_allclose((np.broadcast_to(x, y.shape) * y).sum(), (x * sum_to(y, x.shape)).sum(), atol=1e-10)


@pytest.mark.parametrize("kernel", [cumsum, cumprod])
@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (0, 3), (3, 4, 5), (3000,), (40, 50, 3), (50, 60), (2, 30, 70)], ids=str
)
def test_scans(shape: tuple[int, ...], kernel: Any) -> None:
    x = np.random.default_rng(4).uniform(0.9, 1.1, shape)
    accumulate = {cumsum: np.cumsum, cumprod: np.cumprod}[kernel]
    for dim in range(-len(shape), len(shape)) if shape else [0]:
        expected = accumulate(x, dim) if shape else x
        for dtype in (np.float64, np.float32):
            result = kernel(x.astype(dtype), dim)
            _is_fresh(result, dtype)
            assert result.shape == shape
            np.testing.assert_allclose(result, expected, rtol=1e-12 if dtype == np.float64 else 1e-4)
    integers = np.arange(1, 7, dtype=np.int32).reshape(2, 3)
    _is_fresh(kernel(integers, 1), np.int64)
    np.testing.assert_array_equal(kernel(integers, -1), accumulate(integers, 1))


def test_long_cumsum_keeps_its_digits() -> None:
    x = np.random.default_rng(5).random(1_000_000, np.float32)
    np.testing.assert_allclose(cumsum(x, 0), np.cumsum(x, dtype=np.float64), rtol=6e-8)


@pytest.mark.parametrize("correction", [0, 1, 0.5, 3])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_var(dtype: type, correction: float) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(6).normal(size=shape).astype(dtype)
        for dims in [None, *_axes(len(shape))]:
            for keepdim in (False, True):
                result = var(x, dims, correction, keepdim)
                wide = x.astype(np.float64)
                count = wide.size // max(1, wide.sum(dims).size) if wide.size else None
                _is_fresh(result, dtype)
                assert result.shape == wide.sum(dims, keepdims=keepdim).shape
                if count is None:
                    continue
                squares = ((wide - wide.mean(dims, keepdims=True)) ** 2).sum(dims, keepdims=keepdim)
                expected = (squares / np.float64(max(count - correction, 0))).astype(dtype)
                np.testing.assert_allclose(result, expected, rtol=5 * TOLERANCE[dtype])


@pytest.mark.parametrize("size", [100, 3000])
def test_var_of_values_far_from_zero(size: int) -> None:
    x = (1e7 + np.arange(size) % 4).astype(np.float32)
    np.testing.assert_allclose(var(x, None, 0), 1.25, rtol=1e-6)


def test_var_without_degrees_of_freedom() -> None:
    assert np.isnan(var(np.ones(1, np.float32), None))
    assert np.isnan(var(np.zeros((0, 2), np.float32), (0,))).all()
    assert var(np.arange(4.0, dtype=np.float32), None, 5) == np.inf


def _others(x: np.ndarray) -> np.ndarray:
    return np.array([np.prod(np.delete(x, index)) for index in range(x.size)])


@pytest.mark.parametrize("zeros", [[], [1], [1, 3], [0, 4]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_prod_backward(zeros: list[int], dtype: type) -> None:
    x = np.array([2.0, -3.0, 0.5, 4.0, -1.5], dtype)
    x[zeros] = 0
    result = prod_backward(np.array([2.0], dtype), x, 0)
    _is_fresh(result, dtype)
    np.testing.assert_allclose(result, 2 * _others(x), rtol=1e-6)
    matrix = np.stack([x, x + 1], 1)
    grad = np.array([[2.0, 3.0]], dtype)
    expected = np.stack([2 * _others(x), 3 * _others(x + 1)], 1)
    for dim in (0, -2):
        np.testing.assert_allclose(prod_backward(grad, matrix, dim), expected, rtol=1e-6)
    np.testing.assert_allclose(
        prod_backward(np.ones((), dtype), matrix, None).ravel(), _others(matrix.ravel()), rtol=1e-6
    )


def test_prod_backward_where_the_product_leaves_the_range() -> None:
    x = np.array([1e-200, 1e-200, 1e300])
    np.testing.assert_allclose(prod_backward(np.ones(1), x, 0), [1e100, 1e100, 0.0], rtol=1e-12)
    x = np.array([np.inf, 2.0, 3.0])
    np.testing.assert_array_equal(prod_backward(np.ones(1), x, 0), [6.0, np.inf, np.inf])


def test_prod_backward_of_one_or_no_element() -> None:
    assert prod_backward(np.array(3.0), np.array(5.0), None) == 3.0
    assert prod_backward(np.array(3.0), np.array(5.0), 0).shape == ()
    assert prod_backward(np.ones((2, 1)), np.ones((2, 0)), 1).shape == (2, 0)


def test_exclusive_cumprod() -> None:
    x = np.array([[2.0, 3.0, 4.0]], np.float32)
    np.testing.assert_array_equal(exclusive_cumprod(x, 1), [[1, 2, 6]])
    np.testing.assert_array_equal(exclusive_cumprod(x, -1, reverse=True), [[12, 4, 1]])
    assert exclusive_cumprod(x, 0).dtype == np.float32


@given(hnp.arrays(np.float64, (2, 3, 13, 2), elements=st.floats(-2, 2)))
def test_linear_recurrence_and_its_adjoint(arrays: np.ndarray) -> None:
    factor, x = arrays
    result = linear_recurrence(factor, x, 1)
    expected = x.copy()
    for index in range(1, 13):
        expected[:, index] += factor[:, index] * expected[:, index - 1]
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    flipped = linear_recurrence(factor[:, ::-1], x[:, ::-1], 1, reverse=True)
    np.testing.assert_array_equal(flipped, result[:, ::-1])
    # The adjoint in x goes the other way, with each factor one place earlier.
    grad = np.cos(np.arange(x.size)).reshape(x.shape)
    earlier = np.roll(factor, -1, 1)
    adjoint = linear_recurrence(earlier, grad, 1, reverse=True)
    scale = max(1, np.abs(result).max())
    np.testing.assert_allclose((grad * result).sum(), (adjoint * x).sum(), atol=1e-9 * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_agrees_with_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(8)
    tolerance = {"float32": 3e-6, "float64": 1e-12}[dtype]
    for shape in ((4, 4), (64, 10), (3, 700, 2)):
        x, grad = rng.uniform(0.5, 1.5, (2, *shape)).astype(dtype)
        leaf = torch.tensor(x, requires_grad=True)
        for dim in range(len(shape)):
            np.testing.assert_allclose(reduce.sum(x, (dim,)), leaf.detach().sum(dim).numpy(), rtol=tolerance)
            np.testing.assert_allclose(var(x, (dim,)), leaf.detach().var(dim).numpy(), rtol=tolerance)
            np.testing.assert_array_equal(cumsum(x, dim), leaf.detach().cumsum(dim).numpy())
            np.testing.assert_array_equal(cumprod(x, dim), leaf.detach().cumprod(dim).numpy())
    for zeros in ([], [1], [1, 5]):
        x, grad = rng.uniform(0.5, 1.5, (2, 4, 8)).astype(dtype)
        x[:, zeros] = 0
        leaf = torch.tensor(x, requires_grad=True)
        (expected,) = torch.autograd.grad(leaf.prod(1, keepdim=True), leaf, torch.tensor(grad[:, :1]))
        np.testing.assert_allclose(prod_backward(grad[:, :1], x, 1), expected.numpy(), rtol=tolerance)
