"""Poolings made of others, by random windows, and what undoes max pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _random
from .._args import array_of, per_dim
from .._choices import choice
from .._errors import check_kind, scalar_name
from .._op import op
from .._runtime import refuse_derivative
from . import adaptive_pool, pool, rounding
from . import pad as padding_
from .activation import relu
from .index import outside

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]
Given = int | Sequence[int]


# -- unpooling ---------------------------------------------------------------------------------------------------------
def _unpool(self: np.ndarray, *, indices: np.ndarray, size: Sizes) -> np.ndarray:
    planes = math.prod(self.shape[: -len(size)])
    out = np.zeros((planes, math.prod(size)), self.dtype)
    rows = (planes, math.prod(self.shape[-len(size) :]))
    np.put_along_axis(out, indices.reshape(rows), self.reshape(rows), 1)
    return out.reshape(*self.shape[: -len(size)], *size)


def _unpool_self(F: Any, g: Any, indices: np.ndarray, size: Sizes) -> Any:
    return F.max_pool2d(g, indices=indices, ndim=len(size))


_unpools = {
    2: op("max_unpool2d", "MaxUnpool2DBackward0", _unpool, ("self",), tangent="linear", hides=("size",),
          self=_unpool_self),
    3: op("max_unpool3d", "MaxUnpool3DBackward0", _unpool, ("self",), tangent="linear", hides=("size",),
          self=_unpool_self),
}  # fmt: skip


def _unpooled_size(size: Sizes, kernel: Sizes, stride: Sizes, pads: Sizes, given: Any) -> Sizes:
    """The output's size; ValueError where the one given cannot have been pooled to the input's."""
    default = tuple([(n - 1) * s - 2 * p + k for n, s, p, k in zip(size, stride, pads, kernel)])
    if given is None:
        return default
    wanted = tuple(given)[2:] if len(given) == len(kernel) + 2 else tuple(given)
    if len(wanted) != len(kernel):
        raise ValueError(f"output_size should be a sequence containing {len(kernel)} or more elements, but got {given}")
    for n, expected, s in zip(wanted, default, stride):
        if not expected - s < n < expected + s:
            raise ValueError(f"invalid output_size {tuple(wanted)}: each must be within a stride of {default}")
    return wanted


def _unpooled(ndim: int, input: Any, indices: Any, numbers: tuple[Any, ...], output_size: Any) -> Any:
    name = f"max_unpool{ndim}d"
    array, places = array_of(name, input), array_of(name, indices, "indices", 2)
    check_kind(name, array)
    kernel, stride, padding = numbers
    kernels = per_dim(kernel, ndim, "kernel_size")
    strides = kernels if stride is None else per_dim(stride, ndim, "stride")
    if array.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"{name}: input must have {ndim + 1} or {ndim + 2} dimensions, but got {list(array.shape)}")
    pads = per_dim(padding, ndim, "padding")
    size = _unpooled_size(array.shape[-ndim:], kernels, strides, pads, output_size)
    if places.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {scalar_name(places.dtype)}")
    if places.shape != array.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(array.shape)}) but got indices "
            f"tensor with shape: {list(places.shape)}"
        )
    limit = math.prod(size)
    if (wrong := outside(indices, limit, name, error=RuntimeError)) is not None:
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, size))})"
        )
    if ndim > 1:
        return _unpools[ndim](input, places, size)
    return _unpools[2](input.unsqueeze(-2), indices.unsqueeze(-2)._array, (1, *size)).squeeze(-2)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Given,
    stride: Given | None = None,
    padding: Given = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What undoes max pooling over one dimension; see `max_unpool2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.max_unpool1d(torch.tensor([[3.0, 2.0]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpooled(1, input, indices, (kernel_size, stride, padding), output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Given,
    stride: Given | None = None,
    padding: Given = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What undoes max pooling: each maximum where it was, zeros elsewhere.

    Parameters
    ----------
    input, indices : Tensor
        What ``max_pool2d(..., return_indices=True)`` gives.
    kernel_size, stride, padding
        Those of the pooling.
    output_size : sequence of int, optional
        Which of the sizes that are pooled to the input's is meant.

    Raises
    ------
    RuntimeError, ValueError
        If shapes, indices or sizes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> F = torch.nn.functional
    >>> x = torch.tensor([[[1.0, 2.0], [4.0, 3.0]]])
    >>> F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
    tensor([[[0., 0.],
             [4., 0.]]])
    """
    return _unpooled(2, input, indices, (kernel_size, stride, padding), output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Given,
    stride: Given | None = None,
    padding: Given = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What undoes max pooling over three dimensions; see `max_unpool2d`."""
    return _unpooled(3, input, indices, (kernel_size, stride, padding), output_size)


# -- powers ------------------------------------------------------------------------------------------------------------
def _power_average(ndim: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    average = (pool.avg_pool1d, pool.avg_pool2d, pool.avg_pool3d)[ndim - 1]
    array_of(f"lp_pool{ndim}d", input)
    out = average(input**norm_type, kernel_size, stride, 0, ceil_mode)
    count = math.prod(per_dim(kernel_size, ndim, "kernel_size"))
    return (rounding.sign(out) * relu(rounding.abs(out)) * count) ** (1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Given | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window of ``(N, C, L)`` or ``(C, L)``, p being *norm_type*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _power_average(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Given, stride: Given | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window of ``(N, C, H, W)`` or ``(C, H, W)``, p being *norm_type*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _power_average(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Given, stride: Given | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window of ``(N, C, D, H, W)`` or ``(C, D, H, W)``, p being *norm_type*."""
    return _power_average(3, input, norm_type, kernel_size, stride, ceil_mode)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """The input divided by ``(k + alpha * mean of squares) ** beta``, the mean being over *size* neighbouring channels.

    See A. Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", 2012.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)`` of three or more dimensions.
    size : int
        How many channels are neighbours.
    alpha, beta, k : float
        See above.

    Raises
    ------
    ValueError
        If *input* has fewer dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
    tensor([[[0.5000],
             [0.3333]]])
    """
    array = array_of("local_response_norm", input)
    if array.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {array.ndim} dimensions)")
    if not array.size:
        return input
    squares = (input * input).reshape(len(array), 1, array.shape[1], -1)
    wide = padding_.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = pool.avg_pool2d(wide, (size, 1), stride=1).reshape(array.shape)
    return input / (means * alpha + k) ** beta


# -- random windows ----------------------------------------------------------------------------------------------------
def _starts(sample: np.ndarray, size: int, out: int, window: int) -> np.ndarray:
    """Where windows start, for each plane; see B. Graham, "Fractional Max-Pooling", 2014."""
    if out == 1:
        return np.full((len(sample), 1), size - window)
    step = sample.dtype.type(size - window) / sample.dtype.type(out - 1)
    steps = np.arange(out - 1, dtype=sample.dtype)
    starts = ((steps + sample[:, None]) * step).astype(np.int64) - (sample[:, None] * step).astype(np.int64)
    return np.concatenate([starts, np.full((len(sample), 1), size - window)], 1)


@choice("the indices of fractional_max_pool", ("self", "samples"), draws=True)
def _fractional_indices(self: np.ndarray, *given: np.ndarray, windows: Sizes, out: Sizes) -> np.ndarray:
    """Where in its plane each window's maximum lies: the first, and NaN before all others; samples not given are drawn."""
    ndim = len(windows)
    size = self.shape[-ndim:]
    lead = self.shape[:-ndim] if self.ndim == ndim + 2 else (1, self.shape[0])
    drawn = given[0] if given else _random.default_generator.uniform((*lead, ndim), self.dtype)
    samples = drawn.reshape(-1, lead[1], ndim)[: lead[0]].reshape(-1, ndim)
    planes = self.reshape(math.prod(lead), *size)
    order = range(len(size)) if len(size) == 3 else (1, 0)  # as in PyTorch: columns' sample is the first of two
    starts = [_starts(samples[:, which], n, o, k) for which, n, o, k in zip(order, size, out, windows)]
    flat, rows = planes.reshape(len(planes), math.prod(size)), np.arange(len(planes)).reshape(-1, *(1,) * len(size))
    best: Any = None
    where: Any = None
    for cell in product(*map(range, windows)):
        place: Any = 0
        for axis, (start, offset) in enumerate(zip(starts, cell)):
            shape = [len(planes)] + [1] * len(size)
            shape[axis + 1] = out[axis]
            place = place * size[axis] + (start + offset).reshape(shape)
        values = flat[rows, place]
        if best is None:
            best, where = values, place
            continue
        better = (values > best) | np.isnan(values)
        best, where = np.where(better, values, best), np.where(better, place, where)
    indices: np.ndarray = where.reshape(*self.shape[:-ndim], *out)
    return indices


def _fractional_row(ndim: int) -> Any:
    return pool._max_row(f"fractional_max_pool{ndim}d", f"FractionalMaxPool{ndim}DBackward0")


_fractional = {2: _fractional_row(2), 3: _fractional_row(3)}


def _fractional_pool(
    ndim: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    name = f"fractional_max_pool{ndim}d"
    array = array_of(name, input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    kernel = per_dim(kernel_size, ndim, "kernel_size")
    if array.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"{name}: Expected {ndim + 1}D or {ndim + 2}D input, but got: {list(array.shape)}")
    size = array.shape[-ndim:]
    if output_size is None:
        ratios = (output_ratio,) * ndim if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
        output_size = tuple([int(n * ratio) for n, ratio in zip(size, ratios)])
    out = per_dim(output_size, ndim, "output_size")
    for n, k, o in zip(size, kernel, out):
        if o + k - 1 > n - (ndim == 3) or o < 1:
            raise RuntimeError(f"{name}: kernel size {kernel} and output size {out} do not fit input size {list(size)}")
    if samples is not None:
        array_of(name, samples, "_random_samples")
        refuse_derivative(name, "random_samples", samples)
    indices = _fractional_indices(input, *([] if samples is None else [samples]), windows=kernel, out=out)
    return pool._chosen(_fractional, ndim, input, indices, return_indices)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Given,
    output_size: Given | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of windows that start at random steps, for an output of any smaller size.

    See B. Graham, "Fractional Max-Pooling", 2014.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size : int or sequence of int
        The window.
    output_size : int or sequence of int
        The size of the output; or
    output_ratio : float or sequence of float
        the share of the input's.
    return_indices : bool
        Whether the places of the maxima, counted in each plane, are returned too.

    Raises
    ------
    ValueError, RuntimeError
        If neither of the two sizes is given; if sizes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.arange(16.0).view(1, 4, 4), 2, output_size=1)
    tensor([[[15.]]])
    """
    return _fractional_pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Given,
    output_size: Given | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of windows that start at random steps, over three dimensions; see `fractional_max_pool2d`."""
    return _fractional_pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# -- with indices ------------------------------------------------------------------------------------------------------
def _windowed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A max pooling that always returns the places of the maxima too."""

    def with_indices(
        input: Tensor,
        kernel_size: Given,
        stride: Given | None = None,
        padding: Given = 0,
        dilation: Given = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return function(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    with_indices.__name__ = with_indices.__qualname__ = name
    with_indices.__doc__ = f"`{function.__name__}` and the places of the maxima, counted in each plane."
    return with_indices


def _adaptive(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return function(input, output_size, True)

    with_indices.__name__ = with_indices.__qualname__ = name
    with_indices.__doc__ = f"`{function.__name__}` and the places of the maxima, counted in each plane."
    return with_indices


def _random_windows(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def with_indices(
        input: Tensor,
        kernel_size: Given,
        output_size: Given | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return function(input, kernel_size, output_size, output_ratio, True, _random_samples)

    with_indices.__name__ = with_indices.__qualname__ = name
    with_indices.__doc__ = f"`{function.__name__}` and the places of the maxima, counted in each plane."
    return with_indices


max_pool1d_with_indices = _windowed(pool.max_pool1d, "max_pool1d_with_indices")
max_pool2d_with_indices = _windowed(pool.max_pool2d, "max_pool2d_with_indices")
max_pool3d_with_indices = _windowed(pool.max_pool3d, "max_pool3d_with_indices")
adaptive_max_pool1d_with_indices = _adaptive(adaptive_pool.adaptive_max_pool1d, "adaptive_max_pool1d_with_indices")
adaptive_max_pool2d_with_indices = _adaptive(adaptive_pool.adaptive_max_pool2d, "adaptive_max_pool2d_with_indices")
adaptive_max_pool3d_with_indices = _adaptive(adaptive_pool.adaptive_max_pool3d, "adaptive_max_pool3d_with_indices")
fractional_max_pool2d_with_indices = _random_windows(fractional_max_pool2d, "fractional_max_pool2d_with_indices")
fractional_max_pool3d_with_indices = _random_windows(fractional_max_pool3d, "fractional_max_pool3d_with_indices")
