"""Max and average pooling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, integer, per_dim
from .._choices import choice
from .._errors import check_kind
from .._kernels import pool as kernels
from .._kernels._windows import trailing
from .._op import op
from .._runtime import wrap
from . import reduce as reductions
from . import shape as shapes
from .copies import flat

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]


def _planes(array: np.ndarray, ndim: int) -> np.ndarray:
    """The array as ``(1, planes, *size)``: batches and channels are alike to a pooling."""
    return array.reshape(1, prod(array.shape[:-ndim]), *array.shape[-ndim:])


# -- rows --------------------------------------------------------------------------------------------------------------
# *windows*, which kernels do not read, is what people see of a node: (kernel_size, stride, padding, dilation, ceil_mode).
def _take(self: np.ndarray, *, indices: np.ndarray, ndim: int, windows: Any = None) -> np.ndarray:
    return kernels.max_pool_take(_planes(self, ndim), _planes(indices, ndim)).reshape(indices.shape)


# The adjoints read nothing but the shape of the pooled input; still, as in PyTorch, their derivative by it is zeros.
def _put(grad: np.ndarray, self: np.ndarray, *, indices: np.ndarray, ndim: int, windows: Any = None) -> np.ndarray:
    shape = self.shape
    planes = (1, prod(shape[:-ndim]), *shape[-ndim:])
    return kernels.max_pool_grad(_planes(grad, ndim), _planes(indices, ndim), input_shape=planes).reshape(shape)


def _put_formula(F: Any, g: Any, self: Any, indices: np.ndarray, ndim: int, windows: Any) -> Any:
    return F.max_pool_grad(g, self, indices=indices, ndim=ndim, windows=windows)


op("max_pool_grad", "MaxPoolBackwardBackward0", _put, ("grad", "self"), tangent="linear",
   grad=lambda F, g, indices, ndim, windows: F.max_pool2d(g, indices=indices, ndim=ndim, windows=windows),
   self=flat)  # fmt: skip


def _max_row(name: str, node_name: str, **shows: Any) -> Any:
    return op(name, node_name, _take, ("self",), tangent="linear", shows={"result1": "indices", **shows},
              hides=("ndim", "windows"), self=_put_formula)  # fmt: skip


_windows: dict[str, Any] = {
    "kernel_size": lambda node: node.saved_windows[0],
    "stride": lambda node: node.saved_windows[1],
    "padding": lambda node: node.saved_windows[2],
    "dilation": lambda node: node.saved_windows[3],
    "ceil_mode": lambda node: node.saved_windows[4],
}
_max_pools = {
    2: _max_row("max_pool2d", "MaxPool2DWithIndicesBackward0", **_windows),
    3: _max_row("max_pool3d", "MaxPool3DWithIndicesBackward0", **_windows),
}
_adaptive_max_pools = {
    2: _max_row("adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0"),
    3: _max_row("adaptive_max_pool3d", "AdaptiveMaxPool3DBackward0"),
}


def _avg_pool(
    self: np.ndarray,
    *,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray:
    ndim = len(kernel_size)
    result = kernels.avg_pool(
        _planes(self, ndim),
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )
    return result.reshape(*self.shape[:-ndim], *result.shape[2:])


def _avg_pool_grad(
    grad: np.ndarray,
    self: np.ndarray,
    *,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray:
    ndim, shape = len(kernel_size), self.shape
    return kernels.avg_pool_grad(
        _planes(grad, ndim),
        input_shape=(1, prod(shape[:-ndim]), *shape[-ndim:]),
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    ).reshape(shape)


def _avg_pool_self(
    F: Any,
    g: Any,
    self: Any,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    return F.avg_pool_grad(
        g,
        self,
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


def _avg_pool_grad_grad(
    F: Any,
    g: Any,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    return F.avg_pool2d(
        g,
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


_avg_pools = {
    2: op("avg_pool2d", "AvgPool2DBackward0", _avg_pool, ("self",), tangent="linear", self=_avg_pool_self),
    3: op("avg_pool3d", "AvgPool3DBackward0", _avg_pool, ("self",), tangent="linear", self=_avg_pool_self),
}
op("avg_pool_grad", "AvgPoolBackwardBackward0", _avg_pool_grad, ("grad", "self"), tangent="linear",
   grad=_avg_pool_grad_grad, self=flat)  # fmt: skip


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Where each of *out* windows that cover *size* cells starts and stops."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


@lru_cache(maxsize=64)
def _averages(size: int, out: int, dtype: Any) -> np.ndarray:
    """The matrix, ``(out, size)``, that takes the mean of each window."""
    matrix = np.zeros((out, size), dtype)
    for row, (start, stop) in zip(matrix, _bounds(size, out)):
        row[start:stop] = 1 / (stop - start)
    return matrix


def _along_axes(array: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    """Apply a matrix along each of the last axes."""
    for axis, matrix in enumerate(matrices, array.ndim - len(matrices)):
        array = np.moveaxis(np.tensordot(array, matrix, ([axis], [1])), -1, axis)
    return np.ascontiguousarray(array)


def _adaptive_avg_pool(self: np.ndarray, *, size: Sizes) -> np.ndarray:
    spatial = self.shape[self.ndim - len(size) :]
    return _along_axes(self, [_averages(n, out, self.dtype) for n, out in zip(spatial, size)])


def _adaptive_avg_pool_grad(grad: np.ndarray, self: np.ndarray, *, ndim: int) -> np.ndarray:
    sizes = zip(self.shape[-ndim:], grad.shape[-ndim:])
    return _along_axes(grad, [_averages(n, out, grad.dtype).T for n, out in sizes])


def _adaptive_self(F: Any, g: Any, self: Any, size: Sizes) -> Any:
    return F.adaptive_avg_pool_grad(g, self, ndim=len(size))


def _adaptive_grad_grad(F: Any, g: Any, grad_shape: Sizes, ndim: int) -> Any:
    return F.adaptive_avg_pool2d(g, size=grad_shape[-ndim:])


_adaptive_avg_pools = {
    2: op("adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0", _adaptive_avg_pool, ("self",), tangent="linear",
          hides=("size",), self=_adaptive_self),
    3: op("adaptive_avg_pool3d", "AdaptiveAvgPool3DBackward0", _adaptive_avg_pool, ("self",), tangent="linear",
          hides=("size",), self=_adaptive_self),
}  # fmt: skip
op("adaptive_avg_pool_grad", "AdaptiveAvgPoolBackwardBackward0", _adaptive_avg_pool_grad, ("grad", "self"),
   tangent="linear", grad=_adaptive_grad_grad, self=flat)  # fmt: skip


# -- arguments ---------------------------------------------------------------------------------------------------------
def _check_input(name: str, array: np.ndarray, ndim: int) -> None:
    if array.ndim not in (ndim + 1, ndim + 2) or 0 in array.shape[1 - array.ndim :]:
        raise RuntimeError(
            f"{name}: Expected {ndim + 1}D or {ndim + 2}D (batch mode) tensor with optional 0 dim batch size for "
            "input, "
            f"but got: {list(array.shape)}"
        )


def _check_numbers(kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if min(stride) <= 0:
        raise RuntimeError(
            f"stride should not be zero, but got {stride}"
            if 0 in stride
            else f"stride must be positive, but got {stride}"
        )
    if min(kernel_size) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {kernel_size}")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {dilation}")
    for k, p, d in zip(kernel_size, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )


def _check_output(
    shape: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> None:
    size = shape[-len(kernel_size) :]
    out = kernels.pool_output_size(
        size, kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )
    if min(out) < 1:
        planes = shape[-len(kernel_size) - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (planes, *size)))}). Calculated output size: "
            f"({'x'.join(map(str, (planes, *out)))}). Output size is too small"
        )


def _windows_of(
    name: str, array: np.ndarray, ndim: int, numbers: tuple[Any, ...], ceil_mode: bool
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Kernel sizes, strides, paddings and dilations, checked."""
    kernel_size, stride, padding, dilation = numbers
    _check_input(name, array, ndim)
    kernel = per_dim(kernel_size, ndim, "kernel_size")
    strides = kernel if stride is None or stride == () or stride == [] else per_dim(stride, ndim, "stride")
    pads, dilations = per_dim(padding, ndim, "padding"), per_dim(dilation, ndim, "dilation")
    _check_numbers(kernel, strides, pads, dilations)
    _check_output(array.shape, kernel, strides, pads, dilations, flag(ceil_mode, "ceil_mode"))
    return kernel, strides, pads, dilations


# -- max pooling -------------------------------------------------------------------------------------------------------
def _max_pool(name: str, ndim: int, input: Any, numbers: tuple[Any, ...], ceil_mode: bool, return_indices: bool) -> Any:
    array = array_of(name, input)
    kernel, strides, pads, dilations = _windows_of(name, array, ndim, numbers, ceil_mode)
    if ndim == 1 and not return_indices:  # PyTorch has a function of its own for it
        check_kind("max_pool1d_impl", array)
    check_kind(name, array, "fiu")
    if ndim == 1:  # as pooling over a plane of one row
        input = shapes.unsqueeze(input, -2)
        kernel, strides, pads, dilations = (1, *kernel), (1, *strides), (0, *pads), (1, *dilations)
    indices = _max_indices(input, windows=(kernel, strides, pads, dilations, bool(ceil_mode)))
    given = () if ndim > 1 and numbers[1] in (None, (), []) else strides
    windows = kernel, given, pads, dilations, bool(ceil_mode)
    return _chosen(_max_pools, ndim, input, indices, return_indices, windows)


@choice("the indices of max_pool", warns=True)
def _max_indices(self: np.ndarray, *, windows: tuple[Any, ...]) -> np.ndarray:
    kernel, strides, pads, dilations, ceil_mode = windows
    _, indices = kernels.max_pool(
        _planes(self, len(kernel)),
        kernel_size=kernel,
        stride=strides,
        padding=pads,
        dilation=dilations,
        ceil_mode=ceil_mode,
    )
    return indices.reshape(*self.shape[: -len(kernel)], *indices.shape[2:])


@choice("indices of cells")
def _returned(self: np.ndarray, *, squeezed: bool) -> np.ndarray:
    return (self.squeeze(-2) if squeezed else self).copy()


def _chosen(
    pools: dict[int, Any], ndim: int, input: Any, indices: np.ndarray, return_indices: bool, windows: Any = None
) -> Any:
    """The cells at *indices*, and these too if they are wanted."""
    values = pools[max(2, ndim)](input, indices, max(2, ndim), windows)
    if ndim == 1:
        values = shapes.squeeze(values, -2)
    return (values, wrap(_returned(wrap(indices), squeezed=ndim == 1))) if return_indices else values


def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of ``(N, C, L)`` or ``(C, L)``; see `max_pool2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    numbers = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool1d", 1, input, numbers, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size : int or sequence of int
        The window.
    stride : int or sequence of int, optional
        The step between windows: by default the window.
    padding : int or sequence of int
        Cells added on each side, which are never chosen: at most half the window.
    dilation : int or sequence of int
        The step between a window's cells.
    ceil_mode : bool
        Whether a last window that does not fit counts.
    return_indices : bool
        Whether the places of the maxima, counted in each plane, are returned too.

    Raises
    ------
    RuntimeError
        If the numbers do not fit the input.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    numbers = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool2d", 2, input, numbers, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see `max_pool2d`."""
    numbers = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool3d", 3, input, numbers, ceil_mode, return_indices)


# -- average pooling ---------------------------------------------------------------------------------------------------
def _average(name: str, ndim: int, input: Any, numbers: tuple[Any, ...], ceil_mode: bool, *options: Any) -> Any:
    if ndim == 2 and array_of(name, input).ndim < 3:
        raise IndexError(f"{name}: Expected 3D or 4D input, but got: {list(input._array.shape)}")
    kernel, strides, pads, _ = _windows_of(name, array_of(name, input), ndim, (*numbers, 1), ceil_mode)
    check_kind(name, input._array, "fi")
    if ndim == 1:
        wide = shapes.unsqueeze(input, -2)
        pooled = _avg_pools[2](wide, (1, *kernel), (1, *strides), (0, *pads), ceil_mode, *options)
        return shapes.squeeze(pooled, -2)
    return _avg_pools[ndim](input, kernel, strides, pads, ceil_mode, *options)


def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of ``(N, C, L)`` or ``(C, L)``; see `avg_pool2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    numbers = (kernel_size, stride, padding)
    return _average("avg_pool1d", 1, input, numbers, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size, stride, padding, ceil_mode
        As for `max_pool2d`; added cells are zero.
    count_include_pad : bool
        Whether added cells count.
    divisor_override : int, optional
        Divides every window's sum.

    Raises
    ------
    RuntimeError
        If the numbers do not fit the input.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    numbers = (kernel_size, stride, padding)
    return _average("avg_pool2d", 2, input, numbers, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see `avg_pool2d`."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    numbers = (kernel_size, stride, padding)
    return _average("avg_pool3d", 3, input, numbers, ceil_mode, count_include_pad, divisor_override)


# -- adaptive pooling --------------------------------------------------------------------------------------------------
def _adaptive_size(name: str, input: Any, output_size: Any, ndim: int) -> Sizes:
    """The output's size, None taken from the input, checked."""
    array = array_of(name, input)
    several = isinstance(output_size, (tuple, list))
    given = output_size if several else (output_size,) * ndim
    if ndim > 1 and several and array.ndim <= len(given):
        raise ValueError(f"{name}(): Input dimension should be at least {len(given) + 1}, but it is {array.ndim}")
    given = [None if n is None and ndim > 1 else integer(n, "output_size") for n in given]
    if len(given) != ndim:
        raise RuntimeError(f"{name}(): output_size must be {ndim} int(s), but got {list(given)}")
    if array.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got {list(array.shape)}")
    size = tuple([n if out is None else out for n, out in zip(array.shape[-ndim:], given)])
    if min(size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {list(size)}"
        )
    return size


def _adaptive_average(name: str, ndim: int, input: Any, output_size: Any) -> Any:
    size = _adaptive_size(name, input, output_size, ndim)
    if ndim == 1:
        return shapes.squeeze(_adaptive_average(name, 2, shapes.unsqueeze(input, -2), (1, *size)), -2)
    if all([n == 1 for n in size]):
        return reductions.mean(input, tuple(range(-ndim, 0)), True)
    check_kind(name, input._array)
    return _adaptive_avg_pools[ndim](input, size)


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The means of *output_size* windows that cover ``(N, C, L)`` or ``(C, L)`` evenly.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[1.5000, 4.0000]])
    """
    return _adaptive_average("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover ``(N, C, H, W)`` or ``(C, H, W)`` evenly, for an output of a given size.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    output_size : int, None or pair of these
        None keeps the input's size.
    """
    return _adaptive_average("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover three dimensions evenly; see `adaptive_avg_pool2d`."""
    return _adaptive_average("adaptive_avg_pool3d", 3, input, output_size)


@choice("the indices of adaptive_max_pool")
def _adaptive_indices(self: np.ndarray, *, size: Sizes) -> np.ndarray:
    """Where in its plane each window's maximum lies; NaN is greater than any number."""
    planes = _planes(self, len(size))
    spatial = planes.shape[2:]
    places = np.arange(prod(spatial)).reshape(spatial)
    indices = np.empty((planes.shape[1], *size), np.int64)
    bounds = [_bounds(n, out) for n, out in zip(spatial, size)]
    for cell in product(*map(range, size)):
        window = tuple([slice(*bound[i]) for bound, i in zip(bounds, cell)])
        block = planes[0][trailing(window)].reshape(planes.shape[1], -1)
        np.moveaxis(indices, 0, -1)[cell] = places[window].ravel()[block.argmax(1)]
    return indices.reshape(*self.shape[: -len(size)], *size)


def _adaptive_maximum(name: str, ndim: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    size = _adaptive_size(name, input, output_size, ndim)
    _check_input(name, input._array, ndim)
    check_kind(name, input._array)
    if ndim == 1:
        input, size = shapes.unsqueeze(input, -2), (1, *size)
    indices = _adaptive_indices(input, size=size)
    return _chosen(_adaptive_max_pools, ndim, input, indices, return_indices)


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """The maxima of *output_size* windows that cover ``(N, C, L)`` or ``(C, L)`` evenly.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[2., 6.]])
    """
    return _adaptive_maximum("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima of windows that cover ``(N, C, H, W)`` or ``(C, H, W)`` evenly; see `adaptive_avg_pool2d`."""
    return _adaptive_maximum("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima of windows that cover three dimensions evenly; see `adaptive_avg_pool2d`."""
    return _adaptive_maximum("adaptive_max_pool3d", 3, input, output_size, return_indices)
