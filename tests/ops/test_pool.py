"""Pooling: windows, ties, padding, indices, adaptive sizes and errors."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pytest

from backend import torch

F = torch.nn.functional


def image(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape)


def test_max_pooling_takes_each_maximum_and_its_place() -> None:
    values, indices = F.max_pool2d(image(1, 4, 4), 2, return_indices=True)
    assert values.tolist() == [[[5.0, 7.0], [13.0, 15.0]]]
    assert indices.tolist() == [[[5, 7], [13, 15]]]
    assert indices.dtype is torch.int64


def test_the_first_of_equals_gets_the_gradient_and_overlaps_add_up() -> None:
    x = torch.zeros(1, 1, 3, requires_grad=True)
    F.max_pool1d(x, 2, stride=1).sum().backward()
    assert x.grad.tolist() == [[[1.0, 1.0, 0.0]]]
    y = torch.tensor([[[0.0, 5.0, 0.0]]], requires_grad=True)
    F.max_pool1d(y, 2, stride=1).sum().backward()
    assert y.grad.tolist() == [[[0.0, 2.0, 0.0]]]


def test_padding_never_wins() -> None:
    x = torch.tensor([[[[-1.0, -2.0], [-3.0, -4.0]]]], requires_grad=True)
    out = F.max_pool2d(x, 2, stride=2, padding=1)
    assert out.tolist() == [[[[-1.0, -2.0], [-3.0, -4.0]]]]
    out.sum().backward()
    assert x.grad.tolist() == [[[[1.0, 1.0], [1.0, 1.0]]]]


def test_nan_wins() -> None:
    assert isnan(F.max_pool1d(torch.tensor([[1.0, nan]]), 2).item())


def test_integers_are_pooled() -> None:
    assert F.max_pool2d(image(1, 2, 2).long(), 2).tolist() == [[[3]]]


def test_windows_may_be_partial_or_dilated() -> None:
    x = image(1, 5)
    assert F.max_pool1d(x, 2).tolist() == [[1.0, 3.0]]
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[1.0, 3.0, 4.0]]
    assert F.max_pool1d(x, 2, stride=1, dilation=3).tolist() == [[3.0, 4.0]]
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[0.5, 2.5, 4.0]]


def test_what_an_average_divides_by() -> None:
    x = torch.ones(1, 2, 2)
    assert F.avg_pool2d(x, 2, padding=1).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]
    assert F.avg_pool2d(x, 2, padding=1, count_include_pad=False).tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    assert F.avg_pool2d(x, 2, divisor_override=8).tolist() == [[[0.5]]]


def test_an_average_shares_its_gradient() -> None:
    x = torch.zeros(1, 1, 3, requires_grad=True)
    F.avg_pool1d(x, 2, stride=1).sum().backward()
    assert x.grad.tolist() == [[[0.5, 1.0, 0.5]]]


@pytest.mark.parametrize("name", ["max_pool1d", "avg_pool1d", "max_pool2d", "avg_pool2d", "max_pool3d", "avg_pool3d"])
def test_a_single_image_needs_no_batch(name: str) -> None:
    x = image(2, *[4] * int(name[-2]))
    function = getattr(F, name)
    assert function(x, 2).tolist() == function(x[None], 2)[0].tolist()


def test_an_empty_batch() -> None:
    assert F.max_pool2d(torch.zeros(0, 2, 4, 4), 2).shape == (0, 2, 2, 2)
    assert F.avg_pool2d(torch.zeros(0, 2, 4, 4), 2).shape == (0, 2, 2, 2)


def test_adaptive_pooling_covers_the_input_evenly() -> None:
    x = torch.tensor([[1.0, 2.0, 6.0, 3.0, 5.0]])
    assert F.adaptive_avg_pool1d(x, 2).tolist() == pytest.approx(np.array([[3.0, 14 / 3]]))
    assert F.adaptive_max_pool1d(x, 3, return_indices=True)[1].tolist() == [[1, 2, 4]]
    assert F.adaptive_avg_pool2d(image(1, 4, 3), (None, 1)).tolist() == [[[1.0], [4.0], [7.0], [10.0]]]
    assert F.adaptive_avg_pool2d(image(1, 4, 3), 1).tolist() == [[[5.5]]]
    assert F.adaptive_max_pool2d(image(1, 4, 3), (2, None)).tolist() == [[[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.max_pool2d(image(1, 2, 4, 4), 2, padding=2), "at most half of effective kernel size"),
        (lambda: F.max_pool1d(image(1, 2, 4), 2, padding=2), "at most half of"),
        (lambda: F.avg_pool2d(image(1, 2, 4, 4), 2, padding=2), "at most half of"),
        (lambda: F.max_pool2d(image(1, 2, 4, 4), 2, 0), "stride should not be zero"),
        (lambda: F.max_pool2d(image(1, 2, 4, 4), 2, dilation=0), "dilation should be greater than zero"),
        (lambda: F.max_pool2d(image(1, 2, 4, 4), 2, padding=-1), "non-negative"),
        (lambda: F.max_pool2d(image(1, 2, 2, 2), 3), "Output size is too small"),
        (lambda: F.avg_pool2d(image(1, 2, 2, 2), 3), "Output size is too small"),
        (lambda: F.max_pool2d(image(4, 4), 2), "3D or 4D"),
        (lambda: F.max_pool2d(image(2, 4, 4), (2, 2, 2)), "kernel_size to be a single integer value or a list of 2"),
        (lambda: F.avg_pool2d(image(2, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
        (lambda: F.adaptive_avg_pool2d(image(4, 4), 2), "3D or 4D"),
        (lambda: F.adaptive_avg_pool2d(image(1, 4, 4), -1), "greater than or equal to 0"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_values_gradients_and_indices_equal_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    numbers = [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "stride": 1},
    ]
    for ndim in (1, 2, 3):
        values = rng.normal(size=(2, 3, *(8, 7, 6)[:ndim]))
        calls = [(f"{kind}_pool{ndim}d", n) for kind in ("max", "avg") for n in numbers]
        calls += [(f"adaptive_{kind}_pool{ndim}d", {"output_size": n}) for kind in ("max", "avg") for n in (1, 3)]
        for name, options in calls:
            if "max" in name:
                options = {**options, "return_indices": True}
            results = []
            for engine in (torch, pytorch):
                x = engine.tensor(values, requires_grad=True)
                out = getattr(engine.nn.functional, name)(x, **options)
                out, *indices = out if isinstance(out, tuple) else (out,)
                out.cos().sum().backward()
                results.append([out.detach().numpy(), x.grad.numpy(), *[i.numpy() for i in indices]])
            for ours, theirs in zip(*results):
                np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_integers_are_averaged_towards_zero() -> None:
    assert torch.nn.functional.avg_pool1d(torch.tensor([[-1, -2, 5, 6]]), 2).tolist() == [[-1, 5]]


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool2d"])
def test_too_few_dimensions_for_a_size_in_each(name: str) -> None:
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        getattr(torch.nn.functional, name)(torch.ones(2, 2), (2, 2))
