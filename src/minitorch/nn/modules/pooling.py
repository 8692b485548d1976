"""Pooling: each window's largest element, or its mean."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .conv import Sizes, per_dim
from .module import Module
from .unpooling import FractionalMaxPool2d as FractionalMaxPool2d
from .unpooling import FractionalMaxPool3d as FractionalMaxPool3d
from .unpooling import LPPool1d as LPPool1d
from .unpooling import LPPool2d as LPPool2d
from .unpooling import LPPool3d as LPPool3d
from .unpooling import MaxUnpool1d as MaxUnpool1d
from .unpooling import MaxUnpool2d as MaxUnpool2d
from .unpooling import MaxUnpool3d as MaxUnpool3d


class _MaxPool(Module):
    """What pooling by the largest element has."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _options(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window along the last dimension: input (N, C, L).

    Parameters
    ----------
    kernel_size : int or tuple
        The size of the window.
    stride : int or tuple, optional
        How far it moves; its size by default.
    padding : int or tuple, default 0
        How much is added at both ends; it is never chosen.
    dilation : int or tuple, default 1
        How far apart the window's elements are.
    return_indices : bool, default False
        Whether the positions of the elements are returned too.
    ceil_mode : bool, default False
        Whether a last window may stick out.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(input, *self._options())


class MaxPool2d(_MaxPool):
    """The largest element of each window of an image: input (N, C, H, W); parameters as for MaxPool1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MaxPool2d(2)(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(input, *self._options())


class MaxPool3d(_MaxPool):
    """The largest element of each window of a volume: input (N, C, D, H, W); parameters as for MaxPool1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MaxPool3d(2)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    tensor([[[[[7.]]]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(input, *self._options())


class _AvgPool(Module):
    """What pooling by the mean has."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window along the last dimension: input (N, C, L).

    Parameters
    ----------
    kernel_size : int or tuple
        The size of the window.
    stride : int or tuple, optional
        How far it moves; its size by default.
    padding : int or tuple, default 0
        How many zeros are added at both ends.
    ceil_mode : bool, default False
        Whether a last window may stick out.
    count_include_pad : bool, default True
        Whether the zeros count.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[2., 1.]]])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_dim(kernel_size, 1)
        self.stride = per_dim(kernel_size if stride is None else stride, 1)
        self.padding = per_dim(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _DividingAvgPool(_AvgPool):
    """What pooling of images and volumes by the mean has."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def _options(self) -> tuple[Any, ...]:
        return (
            self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_DividingAvgPool):
    """The mean of each window of an image: input (N, C, H, W); parameters as for AvgPool1d.

    Parameters
    ----------
    divisor_override : int, optional
        What sums are divided by, in place of the size of the window.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AvgPool2d(2)(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._options())


class AvgPool3d(_DividingAvgPool):
    """The mean of each window of a volume: input (N, C, D, H, W); parameters as for AvgPool2d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AvgPool3d(2)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    tensor([[[[[3.5000]]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._options())


class _AdaptivePool(Module):
    """What pooling to a given size has."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_AdaptivePool):
    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many windows as the output is to have elements.

    Parameters
    ----------
    output_size : int
        The size of the output's last dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.arange(4.0).view(1, 1, 4))
    tensor([[[0.5000, 2.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over as many windows of an image as the output is to have elements.

    Parameters
    ----------
    output_size : int or (int or None, int or None)
        The output's height and width; None keeps the input's.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveAvgPool2d(1)(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[7.5000]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over as many windows of a volume as the output is to have elements; see AdaptiveAvgPool2d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveAvgPool3d((1, 2, None))(torch.randn(1, 3, 4, 4, 5)).shape
    torch.Size([1, 3, 1, 2, 5])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptivePool):
    """The largest element of as many windows as the output is to have elements.

    Parameters
    ----------
    output_size : int
        The size of the output's last dimension.
    return_indices : bool, default False
        Whether the positions of the elements are returned too.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.arange(4.0).view(1, 1, 4))
    tensor([[[1., 3.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptivePool):
    """The largest element of as many windows of an image as the output is to have elements; see AdaptiveMaxPool1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveMaxPool2d((1, 2))(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[13., 15.]]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptivePool):
    """The largest element of as many windows of a volume as the output is to have elements; see AdaptiveMaxPool1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AdaptiveMaxPool3d(1)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    tensor([[[[[7.]]]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
