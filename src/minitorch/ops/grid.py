"""Images sampled at the places that a grid gives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._choices import choice
from .._dtypes import BOOL
from .._errors import scalar_name
from .._kernels.spaced import spaced
from .._op import op
from .._runtime import wrap
from . import join, linalg

if TYPE_CHECKING:
    from .._tensor import Tensor

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")

# A piecewise linear function, found outside: its values, and its slopes there.
_placed = op("placed", "GridPlacesBackward0", lambda self, *, value, slope: value, ("self",), tangent="formulas",
             self=lambda F, g, slope: g * slope)  # fmt: skip


# -- places ------------------------------------------------------------------------------------------------------------
def _reflected(x: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates reflected at both bounds until they lie between them, and the slope of that, 1 or -1."""
    if low == high:
        return np.zeros_like(x), np.zeros_like(x)
    span = high - low
    shifted = x - low
    sign = np.where(shifted < 0, -1, 1).astype(x.dtype)
    shifted = np.abs(shifted)
    rest = np.fmod(shifted, span)
    odd = np.floor(shifted / span) % 2 == 1
    return np.where(odd, high - rest, rest + low).astype(x.dtype), np.where(odd, -sign, sign)


def _inside(x: np.ndarray, size: int, padding: str, corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates as the padding mode moves them, and the slope of that."""
    slope = np.ones_like(x)
    if padding == "zeros":
        return x, slope
    if padding == "reflection":
        x, slope = _reflected(x, 0.0 if corners else -0.5, size - 1.0 if corners else size - 0.5)
    limit = x.dtype.type(size - 1)
    moved = np.where(x > 0, np.minimum(x, limit), x.dtype.type(0))  # not a number goes to 0
    return moved, np.where((x > 0) & (x < limit), slope, slope.dtype.type(0))


def _pixels(x: np.ndarray, size: int, corners: bool) -> tuple[np.ndarray, float]:
    """Coordinates between -1 and 1 as numbers of pixels, and the slope of that."""
    if corners:
        return (x + 1) / 2 * (size - 1), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


@choice("places in a grid", warns=True)
def _coordinate(self: np.ndarray, *, size: int, padding: str, corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """The pixel coordinates of a grid's, moved as the padding mode says, and the slope of that."""
    pixels, scale = _pixels(self, size, corners)
    value, slope = _inside(pixels, size, padding, corners)
    return value, slope * slope.dtype.type(scale)


# -- samples -----------------------------------------------------------------------------------------------------------
@choice("cells of an image", ("*coordinates",))
def _cells(
    *coordinates: np.ndarray, sides: tuple[int, ...], image: tuple[int, ...], moves: tuple[str, bool] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where whole coordinates, plus *sides*, are in an image of this shape, and which of them are outside."""
    batch, channels, *sizes = image
    cell = [coordinate + side for coordinate, side in zip(coordinates, sides)]
    if moves is not None:
        cell = [np.floor(_inside(coordinate, size, *moves)[0]) for coordinate, size in zip(cell, sizes)]
    inside: Any = np.ones(cell[0].shape, BOOL)
    place: Any = np.zeros(cell[0].shape, np.int64)
    for coordinate, size in zip(cell, sizes):
        inside &= (coordinate >= 0) & (coordinate < size)
        place = place * size + np.where(inside, coordinate, 0).astype(np.int64)
    index = np.broadcast_to(np.where(inside, place, 0)[:, None], (batch, channels, place.shape[-1]))
    return index, ~inside


def _picked(image: Any, lows: list[Any], sides: tuple[int, ...], moves: Any = None) -> tuple[Any, Any]:
    """An image's values at whole coordinates, (N, C, places), and which are outside; those are of its edge."""
    index, outside = _cells(*lows, sides=sides, image=image._array.shape, moves=moves)
    return image.flatten(2).gather(2, wrap(index)), wrap(outside)


def _weighed(image: Any, lows: list[Any], sides: tuple[int, ...], weight: Any, moves: Any = None) -> Any:
    """The values at whole coordinates times a weight, which is 0 outside."""
    values, outside = _picked(image, lows, sides, moves)
    return values * weight.masked_fill(outside, 0.0).unsqueeze(1)


@choice("the floor of places", warns=True)
def _floor(self: np.ndarray) -> np.ndarray:
    """Whole numbers; what is no finite number is far outside, within the range of float16."""
    return np.asarray(np.nan_to_num(np.floor(self), nan=-3e4, posinf=-3e4, neginf=-3e4), self.dtype)


@choice("the nearest of places", warns=True)
def _rounded(self: np.ndarray) -> np.ndarray:
    return np.asarray(np.nan_to_num(np.rint(self), nan=-1, posinf=-1, neginf=-1), self.dtype)


@choice("what is not finite")
def _not_finite(self: np.ndarray) -> np.ndarray:
    return ~np.isfinite(self)


def _linear(image: Any, places: list[Any]) -> Any:
    floors = [wrap(_floor(x)) for x in places]
    above = [x - low for x, low in zip(places, floors)]
    total = None
    for corner in product((0, 1), repeat=len(places)):
        weight = None
        for share, side in zip(above, corner):
            part = share if side else 1 - share
            weight = part if weight is None else weight * part
        term = _weighed(image, floors, corner, weight)
        total = term if total is None else total + term
    return total


def _nearest(image: Any, places: list[Any]) -> Any:
    values, outside = _picked(image, [wrap(_rounded(x)) for x in places], (0,) * len(places))
    values = values.masked_fill(outside.unsqueeze(1), 0.0)
    for x in places:  # a result of the grid too, though its gradient is zero
        if x.requires_grad:
            values = values + (x * 0.0).masked_fill(wrap(_not_finite(x)), 0.0).unsqueeze(1)
    return values


def _cubic_weights(t: Any) -> list[Any]:
    """The weights of four neighbours by cubic convolution with a = -3/4; see R. G. Keys, 1981."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(image: Any, places: list[Any], padding: str, corners: bool) -> Any:
    floors = [wrap(_floor(x)) for x in places]
    weights = [_cubic_weights(x - low) for x, low in zip(places, floors)]
    total = None
    for corner in product(range(4), repeat=len(places)):
        sides = tuple([side - 1 for side in corner])
        term = _weighed(image, floors, sides, weights[0][corner[0]] * weights[1][corner[1]], (padding, corners))
        total = term if total is None else total + term
    return total


def _check_grid(input: Any, grid: Any, mode: str, padding: str) -> int:
    """The number of spatial dimensions; an error where arguments do not fit together."""
    name = "nn.functional.grid_sample()"
    if mode not in MODES:
        raise ValueError(f"{name}: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding not in PADDINGS:
        raise ValueError(
            f"{name}: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding}'"
        )
    image, places = array_of("grid_sampler", input), array_of("grid_sampler", grid, "grid", 2)
    ndim, sizes = image.ndim - 2, f"input has sizes {list(image.shape)} and grid has sizes {list(places.shape)}"
    if ndim not in (2, 3) or places.ndim != image.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but {sizes}"
        )
    if len(image) != len(places):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {sizes}")
    if places.shape[-1] != ndim:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {ndim} in last dimension, but {sizes}")
    if not prod(image.shape[2:]):
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but {sizes}")
    if mode == "bicubic" and ndim == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if image.dtype != places.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected scalar type {scalar_name(image.dtype)} but found {scalar_name(places.dtype)}"
        )
    if image.dtype.kind != "f":
        raise NotImplementedError(f'"grid_sampler_{ndim}d" not implemented for {scalar_name(image.dtype)!r}')
    return ndim


def _warn_corners(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"Default {name} and behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired.",
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of images at places, between their pixels too.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
    grid : Tensor
        ``(N, *places, 2 or 3)``: x, y (and z) of each place, from -1, the image's left or upper edge, to 1.
    mode : {"bilinear", "nearest", "bicubic"}
        What a value is made of.
    padding_mode : {"zeros", "border", "reflection"}
        What is outside of the image.
    align_corners : bool, optional
        Whether -1 and 1 are the centres, not the edges, of the outermost pixels.

    Returns
    -------
    Tensor
        ``(N, C, *places)``.

    Raises
    ------
    ValueError, RuntimeError
        For a mode that there is not; if shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> image, grid = torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[[[0.0, 0.0], [1.0, 0.0]]]])
    >>> torch.nn.functional.grid_sample(image, grid, align_corners=True)
    tensor([[[[1.5000, 2.0000]]]])
    """
    ndim = _check_grid(input, grid, mode, padding_mode)
    return sampled(input, grid, ndim, mode, padding_mode, _warn_corners("grid_sample", align_corners))


def sampled(input: Any, grid: Any, ndim: int, mode: str, padding: str, corners: bool) -> Any:
    """`grid_sample` of what was checked."""
    batch, *places, _ = grid._array.shape
    sizes = input._array.shape[2:]
    axes = grid.reshape(batch, prod(places), ndim).unbind(-1)[::-1]
    moved = "zeros" if mode == "bicubic" else padding
    found = [_placed(x, *_coordinate(x, size=size, padding=moved, corners=corners)) for x, size in zip(axes, sizes)]
    if mode == "bilinear":
        values = _linear(input, found)
    else:
        values = _nearest(input, found) if mode == "nearest" else _cubic(input, found, padding, corners)
    return values.view(batch, -1, *places) if values._array.size else values.reshape(batch, input.shape[1], *places)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid, for `grid_sample`, of places that affine maps take the pixels of images to.

    Parameters
    ----------
    theta : Tensor
        ``(N, 2, 3)``, or ``(N, 3, 4)`` for volumes.
    size : sequence of int
        ``(N, C, H, W)`` or ``(N, C, D, H, W)``: of the images to be sampled.
    align_corners : bool, optional
        Whether -1 and 1 are the centres, not the edges, of the outermost pixels.

    Returns
    -------
    Tensor
        ``(N, H, W, 2)`` or ``(N, D, H, W, 3)``.

    Raises
    ------
    ValueError, NotImplementedError
        If shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    array = array_of("affine_grid", theta, "theta")
    if array.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    ndim = len(size) - 2
    if array.ndim != 3 or array.shape[1:] != (ndim, ndim + 1):
        raise ValueError(
            f"Expected a batch of {ndim}D affine matrices of shape Nx{ndim}x{ndim + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    corners = _warn_corners("affine_grid", align_corners)
    if corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
            "not an intended use case of affine_grid.",
            stacklevel=2,
        )
    axes = []
    for place, n in enumerate(size[2:]):
        steps = wrap(spaced(-1.0, 1.0, n, np.float64) if n > 1 else np.zeros(1))
        along: Any = steps if corners else steps * (n - 1) / n
        axes.append(along.view([n if k == place else 1 for k in range(ndim)]).expand(size[2:]))
    places = join.stack([*axes[::-1], wrap(np.ones(1)).expand(size[2:])], -1).to(theta.dtype)
    base = places.view(1, -1, ndim + 1).expand(size[0], -1, -1)
    return linalg.bmm(base, theta.transpose(1, 2)).view(size[0], *size[2:], ndim)
