"""Rearranged and resampled images: sliding blocks as columns, pixels as channels, other sizes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._args import array_of, flag, integer, integers, per_dim, real
from .._errors import check_kind, scalar_name
from .._kernels._windows import cell_slice, pad
from .._op import op
from . import adaptive_pool
from . import shape as shapes
from .copies import clone

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]


# -- pixels and channels -----------------------------------------------------------------------------------------------
def _shuffled(self: np.ndarray, *, factor: int) -> np.ndarray:
    *lead, channels, height, width = self.shape
    blocks = self.reshape(prod(lead), channels // factor**2, factor, factor, height, width)
    return blocks.transpose(0, 1, 4, 2, 5, 3).reshape(*lead, channels // factor**2, height * factor, width * factor)


def _unshuffled(self: np.ndarray, *, factor: int) -> np.ndarray:
    *lead, channels, height, width = self.shape
    blocks = self.reshape(prod(lead), channels, height // factor, factor, width // factor, factor)
    return blocks.transpose(0, 1, 3, 5, 2, 4).reshape(*lead, channels * factor**2, height // factor, width // factor)


_shuffle = op("pixel_shuffle", "PixelShuffleBackward0", lambda self, *, factor: _shuffled(self, factor=factor).copy(),
              ("self",), tangent="linear", self=lambda F, g, factor: F.pixel_unshuffle(g, factor=factor))  # fmt: skip
_unshuffle = op("pixel_unshuffle", "PixelUnshuffleBackward0",
                lambda self, *, factor: _unshuffled(self, factor=factor).copy(),
                ("self",), tangent="linear", self=lambda F, g, factor: F.pixel_shuffle(g, factor=factor))  # fmt: skip


def _check_factor(name: str, argument: str, input: Any, factor: int) -> np.ndarray:
    array = array_of(name, input)
    if array.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {array.ndim} dimension(s)"
        )
    if integer(factor, argument) <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")
    return array


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Larger images of fewer channels: ``(*, C r^2, H, W)`` to ``(*, C, H r, W r)``, with r the factor.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    array = _check_factor("pixel_shuffle", "upscale_factor", input, upscale_factor)
    if array.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={array.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return _shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Smaller images of more channels: what undoes `pixel_shuffle`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.pixel_unshuffle(torch.ones(1, 3, 4, 6), 2).shape
    torch.Size([1, 12, 2, 3])
    """
    array = _check_factor("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for name, dim in (("height", -2), ("width", -1)):
        if array.shape[dim] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={array.shape[dim]} is not divisible by {downscale_factor}"
            )
    return _unshuffle(input, downscale_factor) if array.size else clone(input)  # as PyTorch: nothing keeps its shape


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of ``(N, C, *)`` in another order: the first of each of *groups* groups, then the second of each, …

    See X. Zhang et al., "ShuffleNet", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.channel_shuffle(torch.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    array = array_of("channel_shuffle", input)
    if array.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(array.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = array.shape[1]
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    if not array.size:
        return input
    return input.reshape(len(array), groups, channels // groups, -1).transpose(1, 2).reshape(array.shape)


# -- sliding blocks ----------------------------------------------------------------------------------------------------
def _counts(size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    """How many blocks there are along each dimension."""
    axes = zip(size, kernel_size, dilation, padding, stride)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in axes])


def _cells(kernel_size: Sizes, dilation: Sizes, stride: Sizes, counts: Sizes) -> Any:
    """Each cell of a kernel, and where in the padded image it lies for all blocks."""
    for cell in product(*map(range, kernel_size)):
        yield cell, (..., *[cell_slice(c, s, d, n) for c, s, d, n in zip(cell, stride, dilation, counts)])


def _im2col(self: np.ndarray, *, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> np.ndarray:
    counts = _counts(self.shape[2:], kernel_size, dilation, padding, stride)
    padded = pad(self, [(p, p) for p in padding])
    columns = np.empty((*self.shape[:2], *kernel_size, *counts), self.dtype)
    for cell, place in _cells(kernel_size, dilation, stride, counts):
        columns[(slice(None), slice(None), *cell)] = padded[place]
    return columns.reshape(len(self), self.shape[1] * math.prod(kernel_size), math.prod(counts))


def _col2im(
    self: np.ndarray, *, size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> np.ndarray:
    counts = _counts(size, kernel_size, dilation, padding, stride)
    channels = self.shape[1] // math.prod(kernel_size)
    columns = self.reshape(len(self), channels, *kernel_size, *counts)
    padded = np.zeros((len(self), channels, *[n + 2 * p for n, p in zip(size, padding)]), self.dtype)
    for cell, place in _cells(kernel_size, dilation, stride, counts):
        padded[place] += columns[(slice(None), slice(None), *cell)]
    return pad(padded, [(-p, -p) for p in padding])


_im2col_row = op("im2col", "Im2ColBackward0", _im2col, ("self",), tangent="linear",
                 self=lambda F, g, self_shape, kernel_size, dilation, padding, stride: F.col2im(
                     g, size=self_shape[2:], kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
                 ))  # fmt: skip
_col2im_row = op("col2im", "Col2ImBackward0", _col2im, ("self",), tangent="linear",
                 self=lambda F, g, kernel_size, dilation, padding, stride: F.im2col(
                     g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
                 ))  # fmt: skip


def _pair(name: str, given: Any) -> Sizes:
    if isinstance(given, (tuple, list)) and len(integers(given, name)) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
    return per_dim(given, 2, name)


def _numbers(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """The four numbers for both dimensions; RuntimeError where one cannot be."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    pairs = {name: _pair(name, value) for name, value in given.items()}
    for name, (height, width) in pairs.items():
        if min(height, width) < (0 if name == "padding" else 1):
            bound = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(f"{name} should be {bound}, but got {name}_height: {height} {name}_width: {width}")
    return pairs["kernel_size"], pairs["dilation"], pairs["padding"], pairs["stride"]


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The sliding blocks of images, as columns.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size, dilation, padding, stride : int or sequence of int
        As of a convolution.

    Returns
    -------
    Tensor
        ``(N, C * kernel height * kernel width, number of blocks)``.

    Raises
    ------
    RuntimeError
        If the shape or a number does not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.unfold(torch.arange(6.0).reshape(1, 2, 3), 2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    array = array_of("unfold", input)
    numbers = _numbers(kernel_size, dilation, padding, stride)
    if array.ndim < 3 and 0 not in array.shape[1:]:
        raise IndexError(f"unfold(): Expected 3D or 4D input, but got: {list(array.shape)}")
    if array.ndim not in (3, 4) or 0 in array.shape[array.ndim - 3 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {list(array.shape)}"
        )
    counts = _counts(array.shape[-2:], *numbers)
    if min(counts) < 1:
        kernel, dilations, paddings, _ = numbers
        raise RuntimeError(
            f"Given input with spatial size {array.shape[-2:]}, kernel_size={kernel}, dilation={dilations}, "
            f"padding={paddings}, calculated shape of the array of sliding blocks as {counts}, but its components must be "
            "at least one."
        )
    check_kind("im2col", array, "fb")
    if array.ndim == 3:
        return shapes.squeeze(_im2col_row(shapes.unsqueeze(input, 0), *numbers), 0)
    return _im2col_row(input, *numbers)


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Images of which `unfold` made columns, with the values of overlapping blocks added up.

    Parameters
    ----------
    input : Tensor
        ``(N, C * kernel height * kernel width, number of blocks)``, or without N.
    output_size : int or sequence of int
        The images' height and width.
    kernel_size, dilation, padding, stride : int or sequence of int
        Those that `unfold` was given.

    Raises
    ------
    RuntimeError
        If the shape or a number does not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.fold(torch.ones(4, 2), (2, 3), 2)
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    array = array_of("fold", input)
    numbers = _numbers(kernel_size, dilation, padding, stride)
    size = _pair("output_size", output_size)
    if array.ndim not in (2, 3) or 0 in array.shape[array.ndim - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, "
            f"but got: {list(array.shape)}"
        )
    cells, blocks = array.shape[-2:]
    if cells % math.prod(numbers[0]):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={cells} and kernel_size={numbers[0]}."
        )
    counts = _counts(size, *numbers)
    if min(counts) < 1 or math.prod(counts) != blocks:
        kernel, dilations, paddings, strides = numbers
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilations}, padding={paddings}, stride={strides}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, counts))} = {math.prod(counts)}, but got input.size(2)={blocks}."
        )
    check_kind("col2im_out_cpu", array, "fb")
    if array.ndim == 2:
        return shapes.squeeze(_col2im_row(shapes.unsqueeze(input, 0), size, *numbers), 0)
    return _col2im_row(input, size, *numbers)


# -- other sizes -------------------------------------------------------------------------------------------------------
class _Axis:
    """How one dimension is resampled: result i is ``(1 - share[i]) * input[low[i]] + share[i] * input[high[i]]``.

    Without shares, it is ``input[low[i]]``.  What it was made of is *given*, the arguments of `axis_of`.
    """

    __slots__ = ("factor", "given", "high", "low", "share", "size")
    factor: float | None
    given: tuple[Any, ...]
    make: ClassVar[Any] = None  # `axis_of`

    def __init__(self, size: int, low: np.ndarray, high: np.ndarray, share: np.ndarray | None) -> None:
        self.size, self.low, self.high, self.share = size, low, high, share

    def matrix(self, dtype: np.dtype[Any]) -> np.ndarray:
        """The map, as a matrix with a row for each result."""
        result = np.zeros((len(self.low), self.size), dtype)
        places = np.arange(len(self.low))
        if self.share is None:
            result[places, self.low] = 1
            return result
        result[places, self.low] = 1 - self.share
        result[places, self.high] += self.share
        return result


class _Weighted(_Axis):
    """How one dimension is resampled where a result is made of more than two elements: by a matrix."""

    __slots__ = ("weights",)

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def matrix(self, dtype: np.dtype[Any]) -> np.ndarray:
        return self.weights.astype(dtype, copy=False)


def _upsampled(self: np.ndarray, *, axes: tuple[_Axis, ...]) -> np.ndarray:
    for number, axis in enumerate(axes, self.ndim - len(axes)):
        if isinstance(axis, _Weighted):
            self = np.ascontiguousarray(
                np.matmul(self.swapaxes(number, -1), axis.matrix(self.dtype).T).swapaxes(number, -1)
            )
            continue
        result = self.take(axis.low, number)
        if axis.share is not None:
            share = axis.share.astype(self.dtype).reshape(-1, *[1] * (self.ndim - number - 1))
            result += share * (self.take(axis.high, number) - result)
        self = result
    return self


def _upsampled_backward(grad: np.ndarray, *, axes: tuple[_Axis, ...]) -> np.ndarray:
    for number, axis in enumerate(axes, grad.ndim - len(axes)):
        grad = np.matmul(grad.swapaxes(number, -1), axis.matrix(grad.dtype)).swapaxes(number, -1)
    return np.ascontiguousarray(grad)


def _upsampling(name: str, node_name: str) -> Any:
    """Declare a resampling and its adjoint."""
    op(f"{name}_backward", node_name.replace("Backward0", "BackwardBackward0"), _upsampled_backward, ("grad",),
       tangent="linear", grad=lambda F, g, axes: getattr(F, name)(g, axes=axes))  # fmt: skip
    return op(name, node_name, _upsampled, ("self",), tangent="linear",
              self=lambda F, g, axes: getattr(F, f"{name}_backward")(g, axes=axes))  # fmt: skip


_NEAREST = {
    1: _upsampling("upsample_nearest1d", "UpsampleNearest1DBackward0"),
    2: _upsampling("upsample_nearest2d", "UpsampleNearest2DBackward0"),
    3: _upsampling("upsample_nearest3d", "UpsampleNearest3DBackward0"),
}
_NEAREST_EXACT = {
    1: _upsampling("upsample_nearest_exact1d", "UpsampleNearestExact1DBackward0"),
    2: _upsampling("upsample_nearest_exact2d", "UpsampleNearestExact2DBackward0"),
    3: _upsampling("upsample_nearest_exact3d", "UpsampleNearestExact3DBackward0"),
}
_UPSAMPLINGS = {
    "nearest": _NEAREST,
    "nearest-exact": _NEAREST_EXACT,
    "linear": {1: _upsampling("upsample_linear1d", "UpsampleLinear1DBackward0")},
    "bilinear": {2: _upsampling("upsample_bilinear2d", "UpsampleBilinear2DBackward0")},
    "bicubic": {2: _upsampling("upsample_bicubic2d", "UpsampleBicubic2DBackward0")},
    "trilinear": {3: _upsampling("upsample_trilinear3d", "UpsampleTrilinear3DBackward0")},
}
_AVERAGES = {
    1: adaptive_pool.adaptive_avg_pool1d,
    2: adaptive_pool.adaptive_avg_pool2d,
    3: adaptive_pool.adaptive_avg_pool3d,
}


def _axis(mode: str, size: int, out: int, factor: float | None, align_corners: bool, dtype: Any) -> _Axis:
    """How a dimension of *size* becomes one of *out*; places are computed in *dtype*, as in PyTorch."""
    places = np.arange(out, dtype=dtype)
    scale = dtype(size / out if factor is None else 1 / factor)
    if mode.startswith("nearest"):
        low = np.minimum(np.floor((places + dtype(0.5 * (mode == "nearest-exact"))) * scale).astype(np.intp), size - 1)
        return _Axis(size, low, low, None)
    if align_corners:
        source = places * dtype((size - 1) / (out - 1) if out > 1 else 0)
    else:
        source = np.maximum(scale * (places + dtype(0.5)) - dtype(0.5), 0)
    low = np.minimum(source.astype(np.intp), size - 1)
    share = np.clip(source - low.astype(dtype), 0, 1)
    return _Axis(size, low, np.minimum(low + 1, size - 1), share)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """The weight of an element at a distance of less than two; see R. G. Keys, "Cubic Convolution Interpolation", 1981."""
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


def _cubic_axis(size: int, out: int, factor: float | None, align_corners: bool, dtype: Any) -> _Axis:
    """The axis of cubic convolution: four neighbours, those outside being the last inside."""
    places = np.arange(out, dtype=dtype)
    if align_corners:
        source = places * dtype((size - 1) / (out - 1) if out > 1 else 0)
    else:
        source = dtype(size / out if factor is None else 1 / factor) * (places + dtype(0.5)) - dtype(0.5)
    floor = np.floor(source)
    weights = np.zeros((out, size), dtype)
    for tap in range(-1, 3):
        column = np.clip(floor.astype(np.intp) + tap, 0, size - 1)
        np.add.at(weights, (np.arange(out), column), _cubic(source - floor - dtype(tap), -0.75))
    return _Weighted(weights)


def _smooth_axis(mode: str, size: int, out: int, factor: float | None, align_corners: bool, dtype: Any) -> _Axis:
    """The axis without aliasing: the filter is as wide as a result's part of the input."""
    scale = size / out if factor is None else 1 / factor
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    widening, reach = max(scale, 1.0), 1 if mode == "bilinear" else 2
    centres = (scale * (np.arange(out) + 0.5))[:, None]
    cells, support = np.arange(size), reach * widening
    inside = (cells >= np.trunc(centres - support + 0.5)) & (cells < np.trunc(centres + support + 0.5))
    away = (cells + 0.5 - centres) / widening
    weights = np.where(inside, np.maximum(1 - np.abs(away), 0) if mode == "bilinear" else _cubic(away, -0.5), 0)
    total = weights.sum(1, keepdims=True)
    return _Weighted(np.divide(weights, total, out=np.zeros_like(weights), where=total != 0).astype(dtype))


def axis_of(kind: str, mode: str, size: int, out: int, factor: float | None, corners: bool, dtype: Any) -> _Axis:
    """How a dimension is resampled: *kind* is "smooth", "cubic", or empty for other modes."""
    if kind == "smooth":
        axis = _smooth_axis(mode, size, out, factor, corners, dtype)
    elif kind == "cubic":
        axis = _cubic_axis(size, out, factor, corners, dtype)
    else:
        axis = _axis(mode, size, out, factor, corners, dtype)
    axis.factor, axis.given = factor, (kind, mode, size, out, factor, corners, dtype)
    return axis


_Axis.make = staticmethod(axis_of)


def _sizes(array: np.ndarray, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[Sizes, list[float | None]]:
    """The new sizes, and the factors where they say where the values lie."""
    spatial = array.shape[2:]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    for name, given in (("output size", size), ("scale_factor", scale_factor)):
        if isinstance(given, (tuple, list)) and len(given) != len(spatial):
            raise ValueError(
                f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions "
                f"of {list(spatial)} and {name} of {tuple(given)}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format"
            )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return per_dim(size, len(spatial), "size"), [None] * len(spatial)
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * len(spatial)
    factors = [real(factor, "scale_factor") for factor in factors]
    sizes = tuple([math.floor(n * factor) for n, factor in zip(spatial, factors)])
    return sizes, [None] * len(spatial) if recompute else [float(factor) for factor in factors]


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images of another size.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)`` with one, two or three spatial dimensions, of floats.
    size : int or sequence of int, optional
        The spatial sizes of the result.
    scale_factor : float or sequence of float, optional
        Instead of *size*: how many times as large the result is, rounded down.
    mode : {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"}
        What a new value is made of: the nearest old one; those beside it, in proportion or by cubic convolution; the mean
        of those it covers.
    align_corners : bool, optional
        Whether the linear modes take an image to reach from the centre, not the edge, of its corner values.
    recompute_scale_factor : bool, optional
        Whether the rounded sizes, not *scale_factor*, say where the new values lie.
    antialias : bool
        Whether the bilinear and bicubic modes, for smaller images, take all old values that a new one covers.

    Raises
    ------
    ValueError, NotImplementedError, RuntimeError
        If arguments contradict each other; for a mode that there is not; if a size is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([[[0.0, 2.0]]])
    >>> torch.nn.functional.interpolate(x, scale_factor=2)
    tensor([[[0., 0., 2., 2.]]])
    >>> torch.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True)
    tensor([[[0., 1., 2.]]])
    """
    array = array_of("interpolate", input)
    ndim = array.ndim - 2
    linear = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if align_corners is not None and not linear:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    elif align_corners is not None:
        flag(align_corners, "align_corners")
    if antialias and (ndim != 2 or mode not in ("bilinear", "bicubic")):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    sizes, factors = _sizes(array, size, scale_factor, recompute_scale_factor)
    if ndim not in (1, 2, 3) or mode not in (*_UPSAMPLINGS, "area"):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {array.ndim}D) for the modes: nearest | linear | "
            f"bilinear | trilinear | area | nearest-exact (got {mode})"
        )
    if mode == "area":
        return _AVERAGES[ndim](input, sizes)
    if ndim not in _UPSAMPLINGS[mode]:
        needed = next(iter(_UPSAMPLINGS[mode])) + 2
        raise NotImplementedError(f"Got {array.ndim}D input, but {mode} mode needs {needed}D input")
    if array.dtype.kind != "f":
        raise NotImplementedError(f'"compute_indices_weights_{mode}" not implemented for {scalar_name(array.dtype)!r}')
    if min(*array.shape[2:], *sizes) < 1:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(array.shape[2:])} output {list(sizes)}"
        )
    dtype = np.float64 if linear and array.itemsize == 8 else np.float32
    corners = bool(align_corners)
    kind = "smooth" if antialias else "cubic" if mode == "bicubic" else ""
    axes = tuple([axis_of(kind, mode, *axis, corners, dtype) for axis in zip(array.shape[2:], sizes, factors)])
    return _UPSAMPLINGS[mode][ndim](input, axes)


def _deprecated(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its old name."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` with the nearest values, by its old name."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` with bilinear values and corners aligned, by its old name."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
