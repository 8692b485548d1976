"""Pooling against its definition, each gradient against its adjoint, and all against PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitorch._kernels.pool import (
    avg_pool,
    avg_pool_grad,
    max_pool,
    max_pool_grad,
    max_pool_take,
    pool_output_size,
)

Array = np.ndarray[Any, Any]
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Case:
    """The shape and parameters of one pooling, with a seed for its numbers."""

    batch: int
    channels: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool
    count_include_pad: bool
    divisor: int | None
    seed: int

    @property
    def out(self) -> tuple[int, ...]:
        return pool_output_size(
            self.size,
            self.kernel,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.batch, self.channels, *self.size)

    @property
    def max_parameters(self) -> dict[str, Any]:
        return {
            "kernel_size": self.kernel,
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "ceil_mode": self.ceil_mode,
        }

    @property
    def avg_parameters(self) -> dict[str, Any]:
        return {
            "kernel_size": self.kernel,
            "stride": self.stride,
            "padding": self.padding,
            "ceil_mode": self.ceil_mode,
            "count_include_pad": self.count_include_pad,
            "divisor_override": self.divisor,
        }

    def numbers(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        return np.random.default_rng(self.seed).integers(-3, 4, shape).astype(dtype)

    def windows(self) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
        """Every window's place, with the places of its cells in row-major order; some may lie outside the input."""
        axes = list(zip(self.kernel, self.stride, self.padding, self.dilation, strict=True))
        return [
            (
                place,
                list(
                    product(
                        *([o * s - p + d * i for i in range(k)] for o, (k, s, p, d) in zip(place, axes, strict=True))
                    )
                ),
            )
            for place in np.ndindex(*self.out)
        ]

    def inside(self, cell: tuple[int, ...]) -> bool:
        return all(0 <= i < n for i, n in zip(cell, self.size, strict=True))


@st.composite
def cases(draw: st.DrawFn, dilated: bool = True) -> Case:
    """Small poolings of one to three dimensions with parameters that PyTorch takes."""
    dims = draw(st.integers(1, 3))

    def each(least: int, most: int) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(least, most)] * dims))

    kernel, stride = each(1, 4), each(1, 4)
    dilation = each(1, 2) if dilated else (1,) * dims
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    least = (max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, kernel, padding, strict=True))
    # At least as long as the step between a window's cells, so that no window misses the input.
    size = tuple(max(d, n) + extra for d, n, extra in zip(dilation, least, each(0, 4), strict=True))
    return Case(
        batch=draw(st.integers(0, 2)),
        channels=draw(st.integers(1, 2)),
        size=size,
        kernel=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        ceil_mode=draw(st.booleans()),
        count_include_pad=draw(st.booleans()),
        divisor=draw(st.none() | st.integers(1, 5)),
        seed=draw(st.integers(0, 99)),
    )


def sliding(kernel: int, stride: int, padding: int = 0, dims: int = 2) -> dict[str, Any]:
    """Parameters of a max pooling that is alike along every axis."""
    return {
        "kernel_size": (kernel,) * dims,
        "stride": (stride,) * dims,
        "padding": (padding,) * dims,
        "dilation": (1,) * dims,
        "ceil_mode": False,
    }


def with_special_values(x: Array, seed: int) -> Array:
    """Some numbers replaced by NaN and infinities: ties, windows of -inf alone, windows with several NaN."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(x.shape) < 0.5, rng.choice([NAN, -INF, -INF, -INF, INF], x.shape), x).astype(x.dtype)


def reference_max_pool(x: Array, case: Case) -> tuple[Array, Array]:
    values = np.empty((*x.shape[:2], *case.out), x.dtype)
    indices = np.empty(values.shape, np.int64)
    for place, cells in case.windows():
        chosen = [cell for cell in cells if case.inside(cell)]
        for plane in np.ndindex(*x.shape[:2]):
            best = chosen[0]
            for cell in chosen:
                number = x[*plane, *cell]
                if number > x[*plane, *best] or np.isnan(number):
                    best = cell
            values[*plane, *place] = x[*plane, *best]
            indices[*plane, *place] = np.ravel_multi_index(best, case.size)
    return values, indices


def reference_avg_pool(x: Array, case: Case) -> Array:
    result = np.empty((*case.out, *x.shape[:2]), x.dtype)
    by_cell = np.moveaxis(x, (0, 1), (-2, -1))
    ends = [n + p for n, p in zip(case.size, case.padding, strict=True)]
    for place, cells in case.windows():
        inside = [cell for cell in cells if case.inside(cell)]
        counted = [cell for cell in cells if all(i < end for i, end in zip(cell, ends, strict=True))]
        divisor = case.divisor or len(counted if case.count_include_pad else inside)
        total = sum((by_cell[cell] for cell in inside), np.zeros(x.shape[:2], x.dtype))
        result[place] = total / divisor
    return np.moveaxis(result, (-2, -1), (0, 1))


@settings(deadline=None, max_examples=100)
@given(cases(), st.booleans())
def test_max_pool_is_its_definition(case: Case, special: bool) -> None:
    x = case.numbers(case.shape)
    if special:
        x = with_special_values(x, case.seed)
    values, indices = max_pool(x, **case.max_parameters)
    expected_values, expected_indices = reference_max_pool(x, case)
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_array_equal(indices, expected_indices)


@settings(deadline=None, max_examples=100)
@given(cases())
def test_max_pool_takes_its_values_and_the_gradient_is_the_adjoint(case: Case) -> None:
    x = case.numbers(case.shape)
    values, indices = max_pool(x, **case.max_parameters)
    np.testing.assert_array_equal(max_pool_take(x, indices), values)
    g = case.numbers(values.shape)
    input_grad = max_pool_grad(g, indices, input_shape=x.shape)
    assert input_grad.shape == x.shape
    assert np.vdot(input_grad, x) == np.vdot(g, values)


@settings(deadline=None, max_examples=100)
@given(cases(dilated=False))
def test_avg_pool_is_its_definition_and_the_gradient_is_the_adjoint(case: Case) -> None:
    x = case.numbers(case.shape)
    result = avg_pool(x, **case.avg_parameters)
    np.testing.assert_allclose(result, reference_avg_pool(x, case), rtol=1e-14)
    g = case.numbers(result.shape)
    input_grad = avg_pool_grad(g, input_shape=x.shape, **case.avg_parameters)
    assert input_grad.shape == x.shape
    np.testing.assert_allclose(np.vdot(input_grad, x), np.vdot(g, result), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "floor", "ceil"),
    [
        (5, 2, 2, 0, 1, 2, 3),
        (6, 3, 2, 1, 1, 3, 4),
        (3, 2, 2, 1, 1, 2, 2),  # a third window would start in the right padding
        (7, 3, 3, 0, 2, 1, 2),
        (1, 1, 1, 0, 1, 1, 1),
    ],
)
def test_output_size(size: int, kernel: int, stride: int, padding: int, dilation: int, floor: int, ceil: int) -> None:
    parameters = {"stride": (stride,), "padding": (padding,), "dilation": (dilation,)}
    assert pool_output_size((size,), (kernel,), ceil_mode=False, **parameters) == (floor,)
    assert pool_output_size((size,), (kernel,), ceil_mode=True, **parameters) == (ceil,)


def test_first_of_equal_cells_and_last_nan() -> None:
    x = np.array([[[[1, 2, 5, NAN], [2, 0, NAN, 9]]]])
    parameters = sliding(2, 2)
    values, indices = max_pool(x, **parameters)
    np.testing.assert_array_equal(values, [[[[2, NAN]]]])
    np.testing.assert_array_equal(indices, [[[[1, 6]]]])


@pytest.mark.parametrize("lowest", [np.float32(-INF), np.int64(np.iinfo(np.int64).min), np.int8(-128)])
def test_padding_never_wins(lowest: Any) -> None:
    x = np.full((1, 1, 4, 4), lowest)
    parameters = sliding(3, 2, 1)
    values, indices = max_pool(x, **parameters)
    np.testing.assert_array_equal(values, np.full((1, 1, 2, 2), lowest))
    np.testing.assert_array_equal(indices, [[[[0, 1], [4, 5]]]])


def test_window_of_more_cells_than_a_byte_counts() -> None:
    x = np.arange(400.0).reshape(1, 1, 20, 20)
    parameters = sliding(20, 1)
    values, indices = max_pool(x, **parameters)
    assert values.item() == 399
    assert indices.item() == 399


def test_overlapping_windows_sum_their_gradients() -> None:
    x = np.array([[[0.0, 7.0, 1.0, 2.0]]])
    parameters = sliding(2, 1, dims=1)
    _, indices = max_pool(x, **parameters)
    np.testing.assert_array_equal(indices, [[[1, 1, 3]]])
    g = np.array([[[1.0, 10.0, 100.0]]])
    np.testing.assert_array_equal(max_pool_grad(g, indices, input_shape=x.shape), [[[0, 11, 0, 100]]])


def test_known_averages() -> None:
    case = Case(1, 1, (3, 3), (2, 2), (2, 2), (1, 1), (1, 1), True, True, None, 0)
    x = np.ones(case.shape)
    np.testing.assert_array_equal(avg_pool(x, **case.avg_parameters), [[[[0.25, 0.5], [0.5, 1]]]])
    without_padding = replace(case, count_include_pad=False)
    np.testing.assert_array_equal(avg_pool(x, **without_padding.avg_parameters), np.ones((1, 1, 2, 2)))
    overridden = replace(case, divisor=2)
    np.testing.assert_array_equal(avg_pool(x, **overridden.avg_parameters), [[[[0.5, 1], [1, 2]]]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kernel", [1, 2])
def test_results_are_fresh_contiguous_and_of_the_input_dtype(dtype: Any, kernel: int) -> None:
    case = Case(2, 3, (4, 6), (kernel,) * 2, (kernel,) * 2, (0, 0), (1, 1), False, True, None, 0)
    x = case.numbers(case.shape, dtype)
    kept = x.copy()
    values, indices = max_pool(x, **case.max_parameters)
    assert indices.dtype == np.int64
    results = (
        values,
        max_pool_grad(values, indices, input_shape=x.shape),
        max_pool_take(x, indices),
        avg_pool(x, **case.avg_parameters),
        avg_pool_grad(values, input_shape=x.shape, **case.avg_parameters),
    )
    for result in results:
        assert result.dtype == dtype
        assert result.flags.c_contiguous
        assert not np.shares_memory(result, x)
    assert not np.shares_memory(results[1], values)
    assert not np.shares_memory(results[4], values)
    np.testing.assert_array_equal(x, kept)


def test_indices_of_one_call_do_not_depend_on_changes_to_another() -> None:
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    parameters = sliding(2, 2)
    _, indices = max_pool(x, **parameters)
    kept = indices.copy()
    indices[...] = 0
    np.testing.assert_array_equal(max_pool(x, **parameters)[1], kept)


def test_half_precision_averages_in_single_precision() -> None:
    x = np.full((1, 1, 4096), 16.0, np.float16)
    case = Case(1, 1, (4096,), (4096,), (1,), (0,), (1,), False, True, None, 0)
    result = avg_pool(x, **case.avg_parameters)
    assert result.item() == 16


@settings(deadline=None, max_examples=60)
@given(cases(), st.booleans())
def test_max_pool_matches_pytorch(case: Case, special: bool) -> None:
    torch = pytest.importorskip("torch")
    function = getattr(torch.nn.functional, f"max_pool{len(case.size)}d")
    case = replace(case, batch=max(1, case.batch))
    x = case.numbers(case.shape, np.float32)
    if special:
        x = with_special_values(x, case.seed)
    x_torch = torch.tensor(x, requires_grad=True)
    values, indices = function(x_torch, return_indices=True, **case.max_parameters)
    result_values, result_indices = max_pool(x, **case.max_parameters)
    np.testing.assert_array_equal(result_values, values.detach().numpy())
    np.testing.assert_array_equal(result_indices, indices.numpy())
    g = case.numbers(values.shape, np.float32)
    values.backward(torch.tensor(g))
    np.testing.assert_array_equal(max_pool_grad(g, result_indices, input_shape=x.shape), x_torch.grad.numpy())


@settings(deadline=None, max_examples=60)
@given(cases(dilated=False))
def test_avg_pool_matches_pytorch(case: Case) -> None:
    torch = pytest.importorskip("torch")
    function = getattr(torch.nn.functional, f"avg_pool{len(case.size)}d")
    case = replace(case, batch=max(1, case.batch))
    if len(case.size) == 3:  # avg_pool3d takes no input smaller than the kernel, however padded
        case = replace(case, size=tuple(map(max, case.size, case.kernel)))
    parameters = case.avg_parameters
    if len(case.size) == 1:  # avg_pool1d has no divisor_override
        case = replace(case, divisor=None)
        parameters = {name: value for name, value in case.avg_parameters.items() if name != "divisor_override"}
    x = case.numbers(case.shape, np.float32)
    x_torch = torch.tensor(x, requires_grad=True)
    expected = function(x_torch, **parameters)
    np.testing.assert_allclose(avg_pool(x, **case.avg_parameters), expected.detach().numpy(), rtol=1e-6, atol=1e-6)
    g = case.numbers(tuple(expected.shape), np.float32)
    expected.backward(torch.tensor(g))
    result = avg_pool_grad(g, input_shape=x.shape, **case.avg_parameters)
    np.testing.assert_allclose(result, x_torch.grad.numpy(), rtol=1e-5, atol=1e-6)
