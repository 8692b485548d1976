"""Max and average pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, per_dim
from .._choices import choice
from .._errors import check_kind
from .._kernels import pool as kernels
from .._op import op
from .._runtime import wrap
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
