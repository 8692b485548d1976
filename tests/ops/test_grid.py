"""Sampling images at the places of a grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

F = torch.nn.functional


def test_the_identity_grid_gives_the_image() -> None:
    image = torch.arange(12.0).view(1, 1, 3, 4)
    identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    for corners, mode in itertools.product([False, True], ["bilinear", "nearest", "bicubic"]):
        grid = F.affine_grid(identity, (1, 1, 3, 4), align_corners=corners)
        torch.testing.assert_close(F.grid_sample(image, grid, mode, align_corners=corners), image)


def test_what_is_outside() -> None:
    image = torch.tensor([[[[1.0, 2.0, 4.0]]]])
    grid = torch.tensor([[[[3.0, 0.0], [float("nan"), 0.0], [float("inf"), 0.0]]]])
    found = {p: F.grid_sample(image, grid, padding_mode=p, align_corners=True).flatten().tolist()
             for p in ("zeros", "border", "reflection")}  # fmt: skip
    assert found["zeros"] == [0.0, 0.0, 0.0]
    assert found["border"][0] == 4.0
    assert found["reflection"][0] == 1.0


def test_leaving_corners_open_warns() -> None:
    with pytest.warns(UserWarning, match="Default affine_grid and behavior"):
        F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="Default grid_sample and behavior"):
        F.grid_sample(torch.zeros(1, 1, 2, 2), torch.zeros(1, 2, 2, 2))


def image(*shape: int) -> Any:
    return torch.ones(shape)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.grid_sample(image(1, 1, 2, 2), image(1, 2, 2, 2), "cubic"), ValueError, "expected mode to be"),
        (lambda: F.grid_sample(image(1, 1, 2, 2), image(1, 2, 2, 2), padding_mode="x"), ValueError, "padding_mode"),
        (lambda: F.grid_sample(image(1, 2, 2), image(1, 2, 2)), RuntimeError, "4D or 5D"),
        (lambda: F.grid_sample(image(1, 1, 2, 2), image(2, 2, 2, 2)), RuntimeError, "same batch size"),
        (lambda: F.grid_sample(image(1, 1, 2, 2), image(1, 2, 2, 3)), RuntimeError, "size 2 in last dimension"),
        (lambda: F.grid_sample(image(1, 1, 0, 2), image(1, 2, 2, 2)), RuntimeError, "non-empty spatial"),
        (lambda: F.grid_sample(image(1, 1, 2, 2), image(1, 2, 2, 2).double()), RuntimeError, "expected scalar type"),
        (lambda: F.affine_grid(image(1, 2, 3).long(), (1, 1, 2, 2)), ValueError, "floating point type"),
        (lambda: F.affine_grid(image(1, 2, 3), (1, 1, 2)), NotImplementedError, "only supports 4D and 5D"),
        (lambda: F.affine_grid(image(1, 3, 3), (1, 1, 2, 2)), ValueError, "Nx2x3"),
        (lambda: F.affine_grid(image(1, 2, 3), (1, 1, 0, 2)), ValueError, "non-zero, positive"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_every_mode_as_in_pytorch(mode: str, padding: str, corners: bool) -> None:
    generator = np.random.default_rng(0)
    for sizes in ((4, 5), (1, 3), (3, 2, 4)):
        if mode == "bicubic" and len(sizes) == 3:
            continue
        ndim = len(sizes)
        picture = generator.normal(size=(2, 3, *sizes))
        grid = generator.uniform(-2.5, 2.5, size=(2, *(2, 4, 3)[:ndim], ndim))
        for dtype in (np.float64, np.float32):
            same_as_pytorch(
                lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, corners).double(),
                picture.astype(dtype).astype(np.float64),
                grid.astype(dtype).astype(np.float64),
                second=False,
            )


def test_affine_grids_as_in_pytorch() -> None:
    generator = np.random.default_rng(1)
    for size, corners in itertools.product([(2, 1, 3, 4), (2, 1, 1, 2), (2, 1, 2, 3, 4)], [False, True]):
        theta = generator.normal(size=(2, len(size) - 2, len(size) - 1))
        same_as_pytorch(lambda t, x: t.nn.functional.affine_grid(x, size, corners), theta)
