"""Rearranged and resampled images: values, shapes, inverses and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from against import same_as_pytorch
from backend import torch

F = torch.nn.functional


def image(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape)


def test_pixels_from_channels() -> None:
    assert F.pixel_shuffle(image(4, 1, 2), 2).tolist() == [[[0, 2, 1, 3], [4, 6, 5, 7]]]
    assert F.pixel_unshuffle(image(1, 2, 2), 2).tolist() == [[[0]], [[1]], [[2]], [[3]]]
    assert F.pixel_shuffle(image(0, 4, 1, 2), 2).shape == (0, 1, 2, 4)


@given(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2))
def test_pixel_unshuffle_undoes_pixel_shuffle(factor: int, batch: int, channels: int, height: int, width: int) -> None:
    x = image(batch, channels * factor**2, height, width)
    assert torch.equal(F.pixel_unshuffle(F.pixel_shuffle(x, factor), factor), x)


def test_blocks_as_columns() -> None:
    assert F.unfold(image(1, 2, 3), (2, 1)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert F.unfold(image(1, 1, 3), (1, 2), padding=(0, 1), stride=(1, 3)).tolist() == [[0, 2], [0, 0]]
    assert F.unfold(image(1, 1, 2, 3), (1, 2), dilation=(1, 2)).tolist() == [[[0, 3], [2, 5]]]
    assert F.unfold(image(0, 1, 2, 3), 2).shape == (0, 4, 2)


def test_columns_added_up() -> None:
    assert F.fold(image(1, 4, 1), (2, 2), 2).tolist() == [[[[0, 1], [2, 3]]]]
    assert F.fold(torch.ones(2, 3), (1, 4), (1, 2)).tolist() == [[[1, 2, 2, 1]]]
    assert F.fold(torch.ones(1, 4, 4), 2, 2, padding=1, stride=2).tolist() == [[[[1, 1], [1, 1]]]]


def test_nearest() -> None:
    assert F.interpolate(image(1, 1, 3), scale_factor=2).tolist() == [[[0, 0, 1, 1, 2, 2]]]
    assert F.interpolate(image(1, 1, 5), scale_factor=1.7).tolist() == [[[0, 0, 1, 1, 2, 2, 3, 4]]]
    assert F.interpolate(image(1, 1, 2, 2), size=(1, 3)).tolist() == [[[[0, 0, 1]]]]
    assert F.interpolate(image(1, 1, 4), size=2, mode="nearest-exact").tolist() == [[[1, 3]]]
    assert F.interpolate(image(1, 1, 4), size=2, mode="area").tolist() == [[[0.5, 2.5]]]


def test_linear() -> None:
    def linear(**options: Any) -> Any:
        return F.interpolate(image(1, 1, 3), mode="linear", **options)[0, 0].tolist()

    assert linear(scale_factor=2) == [0, 0.25, 0.75, 1.25, 1.75, 2]
    assert linear(size=5, align_corners=True) == [0, 0.5, 1, 1.5, 2]
    assert linear(size=1, align_corners=True) == [0]
    square = F.interpolate(image(1, 1, 2, 2), size=3, mode="bilinear", align_corners=True)
    assert square.tolist() == [[[[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]]]


def test_what_is_not_finite_stays_where_it_is() -> None:
    x = torch.tensor([[[1.0, float("inf"), 2.0]]])
    assert F.interpolate(x, size=6).tolist() == [[[1, 1, float("inf"), float("inf"), 2, 2]]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.pixel_shuffle(image(8, 4, 6), 3), RuntimeError, "8 is not divisible by 9"),
        (lambda: F.pixel_shuffle(image(4, 6), 2), RuntimeError, "at least 3 dimensions"),
        (lambda: F.pixel_shuffle(image(8, 4, 6), 0), RuntimeError, "positive upscale_factor, but got 0"),
        (lambda: F.pixel_unshuffle(image(8, 4, 6), 3), RuntimeError, "height to be divisible"),
        (lambda: F.unfold(image(1, 4, 6), 9), RuntimeError, "at least one"),
        (lambda: F.unfold(image(1, 4, 6), 2, stride=0), RuntimeError, "stride should be greater than zero"),
        (lambda: F.unfold(image(1, 4, 6), 2, padding=-1), RuntimeError, "padding should be non-negative"),
        (lambda: F.unfold(image(1, 4, 6), (2, 2, 2)), RuntimeError, "kernel_size equals to 2, but got size 3"),
        (lambda: F.unfold(image(4, 6), 2), IndexError, "Expected 3D or 4D|out of range"),
        (lambda: F.fold(image(2, 32, 15), (4, 7), 2), RuntimeError, r"3 \* 6 = 18, but got input.size\(2\)=15"),
        (lambda: F.fold(image(2, 32, 15), (4, 6), 3), RuntimeError, "divisible by the product of kernel_size"),
        (lambda: F.fold(image(15), (4, 6), 2), RuntimeError, "Expected 2D or 3D"),
        (lambda: F.interpolate(image(1, 1, 2)), ValueError, "either size or scale_factor should be defined"),
        (lambda: F.interpolate(image(1, 1, 2), 3, 2), ValueError, "only one of size or scale_factor"),
        (lambda: F.interpolate(image(1, 1, 2), (3, 3)), ValueError, "same number of spatial dimensions"),
        (lambda: F.interpolate(image(1, 1, 2), 3, align_corners=True), ValueError, "align_corners option"),
        (lambda: F.interpolate(image(1, 1, 2), 3, mode="sharp"), NotImplementedError, r"got sharp"),
        (lambda: F.interpolate(image(1, 2), 3), NotImplementedError, "got 2D"),
        (lambda: F.interpolate(image(1, 1, 2), 3, mode="bilinear"), NotImplementedError, "needs 4D input"),
        (lambda: F.interpolate(image(1, 1, 2), 0), RuntimeError, "should be greater than 0"),
        (lambda: F.interpolate(image(1, 1, 2).long(), 3), NotImplementedError, "not implemented for 'Long'"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "corners", "area"])
def test_every_size_as_in_pytorch(mode: str) -> None:
    pytorch = pytest.importorskip("torch")
    options = {"mode": "linear", "align_corners": True} if mode == "corners" else {"mode": mode}
    for size, out in itertools.product(range(1, 9), range(1, 12)):
        values = np.sin(np.arange(2.0 * size)).reshape(1, 2, size).astype(np.float32)
        expected = pytorch.nn.functional.interpolate(pytorch.tensor(values), out, **options)
        found = minitorch.nn.functional.interpolate(minitorch.tensor(values), out, **options)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-6)
    for factor in (0.3, 0.6, 1.3, 1.7, 2.5, 3):
        for again in (None, True):
            values = np.cos(np.arange(14.0)).reshape(1, 2, 7)
            expected = pytorch.nn.functional.interpolate(
                pytorch.tensor(values), scale_factor=factor, recompute_scale_factor=again, **options
            )
            found = minitorch.nn.functional.interpolate(
                minitorch.tensor(values), scale_factor=factor, recompute_scale_factor=again, **options
            )
            np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-7)


def test_shuffles_of_nothing() -> None:
    assert torch.nn.functional.pixel_shuffle(torch.ones(2, 0, 1, 1), 2).shape == (2, 0, 2, 2)
    assert torch.nn.functional.pixel_unshuffle(torch.ones(0, 1, 2, 2), 2).shape == (0, 1, 2, 2)


def test_cubic_convolution_keeps_constants_and_smoothing_keeps_means() -> None:
    line = torch.arange(8.0).expand(1, 1, 4, 8)
    wide = torch.nn.functional.interpolate(torch.ones(1, 1, 3, 2), scale_factor=2, mode="bicubic")
    torch.testing.assert_close(wide, torch.ones(1, 1, 6, 4))
    small = torch.nn.functional.interpolate(line, size=(1, 2), mode="bilinear", antialias=True)
    torch.testing.assert_close(small.mean(), line.mean())
    with pytest.raises(ValueError, match="restricted to bilinear and bicubic"):
        torch.nn.functional.interpolate(line, size=(1, 2), antialias=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_planes_as_in_pytorch(mode: str, antialias: bool) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 6))
    sizes: list[dict[str, Any]] = [{"size": (3, 4)}, {"size": (9, 12)}, {"size": (1, 7)}, {"scale_factor": 0.6},
                                   {"scale_factor": 2.0, "recompute_scale_factor": True}]  # fmt: skip
    for size, corners in itertools.product(sizes, (False, True)):
        options = {"mode": mode, "antialias": antialias, "align_corners": corners, **size}
        same_as_pytorch(lambda t, x: t.nn.functional.interpolate(x, **options), x, second=False)
