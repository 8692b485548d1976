"""Convolution and its two gradients against their definition, against one another, and against PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from minitorch._kernels.conv import conv, conv_input_grad, conv_output_size, conv_weight_grad

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """Shapes and parameters of one convolution, with a seed for its numbers."""

    batch: int
    channels: int
    outputs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    seed: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}

    @property
    def out(self) -> tuple[int, ...]:
        return conv_output_size(
            self.size, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation
        )

    def arrays(self, dtype: Any = np.float64) -> tuple[Array, Array, Array]:
        """An input, a weight and a gradient of small whole numbers, whose sums of products are exact."""
        rng = np.random.default_rng(self.seed)
        shapes = (
            (self.batch, self.channels, *self.size),
            (self.outputs, self.channels // self.groups, *self.kernel),
            (self.batch, self.outputs, *self.out),
        )
        x, w, g = (rng.integers(-4, 5, shape).astype(dtype) for shape in shapes)
        return x, w, g


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small convolutions of one to three dimensions, on both sides of the choice of algorithm."""
    dims = draw(st.integers(1, 3))

    def each(values: st.SearchStrategy[int]) -> tuple[int, ...]:
        return draw(st.tuples(*[values] * dims))

    kernel, dilation, padding = each(st.integers(1, 3)), each(st.integers(1, 3)), each(st.integers(0, 5))
    stride = draw(st.just((1,) * dims) | st.tuples(*[st.integers(1, 3)] * dims))
    least = (max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, kernel, padding, strict=True))
    size = tuple(n + extra for n, extra in zip(least, each(st.integers(0, 4)), strict=True))
    groups = draw(st.integers(1, 3))
    return Case(
        batch=draw(st.integers(0, 3)),
        channels=groups * draw(st.sampled_from([1, 2, 12])),
        outputs=groups * draw(st.sampled_from([1, 2, 12])),
        size=size,
        kernel=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        seed=draw(st.integers(0, 99)),
    )


def reference_conv(x: Array, w: Array, case: Case) -> Array:
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in case.padding)])
    result = np.empty((len(x), len(w), *case.out), x.dtype)
    inputs, outputs = w.shape[1], len(w) // case.groups
    axes = list(zip(case.kernel, case.stride, case.dilation, strict=True))
    for group in range(case.groups):
        source = padded[:, group * inputs : (group + 1) * inputs]
        bank = w[group * outputs : (group + 1) * outputs].reshape(outputs, prod(w.shape[1:]))
        for place in np.ndindex(*case.out):
            window = [slice(o * s, o * s + d * (k - 1) + 1, d) for o, (k, s, d) in zip(place, axes, strict=True)]
            cells = source[:, :, *window].reshape(len(x), bank.shape[1])
            result[:, group * outputs : (group + 1) * outputs, *place] = cells @ bank.T
    return result


@settings(deadline=None, max_examples=100)
@given(cases())
def test_conv_is_its_definition(case: Case) -> None:
    x, w, _ = case.arrays()
    np.testing.assert_array_equal(conv(x, w, **case.parameters), reference_conv(x, w, case))


@settings(deadline=None, max_examples=100)
@given(cases())
def test_the_three_maps_are_adjoint(case: Case) -> None:
    x, w, g = case.arrays()
    form = np.vdot(conv(x, w, **case.parameters), g)
    input_grad = conv_input_grad(g, w, input_shape=x.shape, **case.parameters)
    weight_grad = conv_weight_grad(g, x, weight_shape=w.shape, **case.parameters)
    assert input_grad.shape == x.shape
    assert weight_grad.shape == w.shape
    assert np.vdot(x, input_grad) == form
    assert np.vdot(w, weight_grad) == form


BLOCKS = [
    Case(60, 16, 8, (20, 20), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    Case(60, 16, 8, (20, 20), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    Case(60, 16, 8, (20, 20), (3, 3), (1, 1), (3, 3), (2, 1), 2),
    Case(60, 16, 8, (40, 40), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    Case(200, 1, 4, (12, 14), (3, 5), (1, 1), (1, 2), (1, 1), 1),
]


@pytest.mark.parametrize("case", BLOCKS)
def test_many_blocks_of_columns(case: Case) -> None:
    """Enough images for several blocks: the product with the matrix of all windows, and its transposes."""
    x, w, g = case.arrays(np.float32)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in case.padding)])
    reach = [d * (k - 1) + 1 for d, k in zip(case.dilation, case.kernel, strict=True)]
    (s, t), (d, e) = case.stride, case.dilation
    windows = sliding_window_view(padded, reach, (2, 3))[:, :, ::s, ::t, ::d, ::e]
    rows, positions = x.shape[1] // case.groups * prod(case.kernel), prod(case.out)
    columns = windows.transpose(1, 4, 5, 0, 2, 3).reshape(case.groups, rows, len(x) * positions)
    matrix = w.reshape(case.groups, -1, rows)

    result = conv(x, w, **case.parameters)
    expected = (matrix @ columns).reshape(len(w), len(x), *case.out).swapaxes(0, 1)
    np.testing.assert_array_equal(result, expected)

    flat_g = g.swapaxes(0, 1).reshape(case.groups, -1, len(x) * positions)
    weight_grad = conv_weight_grad(g, x, weight_shape=w.shape, **case.parameters)
    np.testing.assert_array_equal(weight_grad, (flat_g @ columns.swapaxes(1, 2)).reshape(w.shape))

    input_grad = conv_input_grad(g, w, input_shape=x.shape, **case.parameters)
    assert np.vdot(x.astype(np.float64), input_grad) == np.vdot(result.astype(np.float64), g)


def test_known_values() -> None:
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    w = np.array([[[[1.0, 0.0], [0.0, -1.0]]]])
    parameters: dict[str, Any] = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    result = conv(x, w, **parameters)
    np.testing.assert_array_equal(result, [[[[0, -2, 0], [-8, -5, 7], [0, 13, 15]]]])
    g = np.ones_like(result)
    input_grad = conv_input_grad(g, w, input_shape=x.shape, **parameters)
    np.testing.assert_array_equal(input_grad, [[[[-1, 0, -1, 0], [0, 1, 0, 1], [-1, 0, -1, 0], [0, 1, 0, 1]]]])
    weight_grad = conv_weight_grad(g, x, weight_shape=w.shape, **parameters)
    np.testing.assert_array_equal(weight_grad, [[[[40, 36], [24, 20]]]])


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [2, 8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_results_are_fresh_contiguous_and_of_the_input_dtype(dtype: Any, channels: int, stride: int) -> None:
    case = Case(2, channels, channels, (5, 6), (3, 3), (stride, stride), (1, 1), (1, 1), 1)
    arrays = case.arrays(dtype)
    kept = [array.copy() for array in arrays]
    x, w, g = arrays
    results = (
        conv(x, w, **case.parameters),
        conv_input_grad(g, w, input_shape=x.shape, **case.parameters),
        conv_weight_grad(g, x, weight_shape=w.shape, **case.parameters),
    )
    for result in results:
        assert result.dtype == dtype
        assert result.flags.c_contiguous
        assert result.flags.writeable
        assert not any(np.shares_memory(result, array) for array in arrays)
    for array, copy in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3])
def test_any_memory_layout(kernel: int, stride: int) -> None:
    case = Case(2, 6, 6, (5, 7), (kernel, kernel), (stride, stride), (0, 0), (1, 1), 1)
    x, w, g = case.arrays()
    turned = [np.asfortranarray(array) for array in (x, w, g)]
    np.testing.assert_array_equal(conv(turned[0], turned[1], **case.parameters), conv(x, w, **case.parameters))
    np.testing.assert_array_equal(
        conv_input_grad(turned[2], turned[1], input_shape=x.shape, **case.parameters),
        conv_input_grad(g, w, input_shape=x.shape, **case.parameters),
    )
    np.testing.assert_array_equal(
        conv_weight_grad(turned[2], turned[0], weight_shape=w.shape, **case.parameters),
        conv_weight_grad(g, x, weight_shape=w.shape, **case.parameters),
    )


def test_half_precision_sums_in_single_precision() -> None:
    x = np.full((1, 1, 4096), 1.0, np.float16)
    w = np.full((1, 1, 4096), 1.0, np.float16)
    result = conv(x, w, stride=(1,), padding=(0,), dilation=(1,), groups=1)
    assert result.item() == 4096


def test_input_grad_of_a_larger_input() -> None:
    """A transposed convolution with output padding: cells beyond the last window's reach get nothing."""
    g, w = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    parameters: dict[str, Any] = {"padding": (0,), "dilation": (2,), "groups": 1}
    wide = conv_input_grad(g, w, input_shape=(1, 1, 6), stride=(1,), **parameters)
    np.testing.assert_array_equal(wide, [[[1, 1, 2, 1, 1, 0]]])
    strided = conv_input_grad(g, w, input_shape=(1, 1, 8), stride=(2,), **parameters)
    np.testing.assert_array_equal(strided, [[[1, 0, 2, 0, 2, 0, 1, 0]]])


@settings(deadline=None, max_examples=60)
@given(cases())
def test_matches_pytorch(case: Case) -> None:
    torch = pytest.importorskip("torch")
    x, w, g = case.arrays(np.float32)
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[len(case.size) - 1]
    x_torch, w_torch = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    result = function(x_torch, w_torch, None, *case.parameters.values())
    result.backward(torch.tensor(g))
    np.testing.assert_allclose(conv(x, w, **case.parameters), result.detach().numpy(), atol=1e-3)
    np.testing.assert_allclose(
        conv_input_grad(g, w, input_shape=x.shape, **case.parameters), x_torch.grad.numpy(), atol=1e-3
    )
    np.testing.assert_allclose(
        conv_weight_grad(g, x, weight_shape=w.shape, **case.parameters), w_torch.grad.numpy(), atol=1e-3
    )
