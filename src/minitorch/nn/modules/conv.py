"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..._tensor import Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from . import _misfit
from .linear import reset_bias
from .module import Module

Sizes: TypeAlias = int | Sequence[int]
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def per_dim(value: Any, ndim: int) -> Any:
    """An int as a tuple with one entry for each spatial dimension; a tuple, or a word, as it is."""
    return (value,) * ndim if isinstance(value, int) else value if isinstance(value, str) else tuple(value)


class _ConvNd(Module):
    """What all convolutions have."""

    ndim: int
    transposed = False
    weight: Parameter
    bias: Parameter | None
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str

    def _configure(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Any,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride = per_dim(kernel_size, self.ndim), per_dim(stride, self.ndim)
        self.padding, self.dilation = per_dim(padding, self.ndim), per_dim(dilation, self.ndim)
        self.output_padding = per_dim(output_padding, self.ndim)
        self._check_padding()
        ends = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*ends, *self.kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of 'same', 'valid'")
            if self.padding == "same" and any([s != 1 for s in self.stride]):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{self.padding_mode}'")

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.weight, self.bias)

    def _misfit(self, input: Tensor, *args: Any, **kwargs: Any) -> str:
        shape, sizes = tuple(input.shape), ", ".join("DHW"[-self.ndim :] if self.ndim > 1 else "L")
        name = f"{type(self).__name__}({self.in_channels}, {self.out_channels}, {self.kernel_size})"
        if len(shape) not in (self.ndim + 1, self.ndim + 2):
            expected = f"(N, {self.in_channels}, {sizes}) or ({self.in_channels}, {sizes})"
            return f"{name} expects an input of shape {expected} and got {shape}: reshape or unsqueeze it"
        axis = len(shape) - self.ndim - 1
        if wrong := _misfit.channels(name, shape, axis, self.in_channels, "in_channels"):
            return wrong
        if self.transposed or isinstance(self.padding, str):
            return ""
        padded = tuple([n + 2 * p for n, p in zip(shape[axis + 1 :], self.padding)])
        covered = tuple([d * (k - 1) + 1 for k, d in zip(self.kernel_size, self.dilation)])
        if all([n >= k for n, k in zip(padded, covered)]):
            return ""
        return (
            f"{name} covers {covered} elements and got {shape}, which is {padded} with its padding: use a larger input, "
            "more padding or a smaller kernel"
        )

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self.ndim:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.ndim:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.ndim:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """A convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._configure(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input as the convolution takes it, and the zeros that are left to be added."""
        if self.padding_mode == "zeros":
            return input, self.padding
        amounts: list[int] = []  # pairs of before and after, the last dimension first
        for dim in reversed(range(self.ndim)):
            if self.padding == "same":
                total = self.dilation[dim] * (self.kernel_size[dim] - 1)
                amounts += [total // 2, total - total // 2]
            else:
                amounts += [0, 0] if isinstance(self.padding, str) else [self.padding[dim]] * 2
        return F.pad(input, amounts, mode=self.padding_mode), 0


class Conv1d(_Conv):
    """Convolution along one dimension: input (N, in_channels, L), output (N, out_channels, L').

    Parameters
    ----------
    in_channels, out_channels : int
        The channels of the input and of the output.
    kernel_size : int or tuple
        The size of the kernel.
    stride : int or tuple, default 1
        How far the kernel moves.
    padding : int, tuple, "same" or "valid", default 0
        How much is added at both ends.
    dilation : int or tuple, default 1
        How far apart the kernel's elements are.
    groups : int, default 1
        Into how many groups the channels are divided.
    bias : bool, default True
        Whether a bias is learnt.
    padding_mode : "zeros", "reflect", "replicate" or "circular"
        What is added.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    ndim = 1

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Convolution of images: input (N, in_channels, H, W), output (N, out_channels, H', W'); parameters as for Conv1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Conv2d(3, 8, (3, 5), padding="same")(torch.randn(2, 3, 10, 12)).shape
    torch.Size([2, 8, 10, 12])
    """

    ndim = 2

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Convolution of volumes: input (N, in_channels, D, H, W); parameters as for Conv1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Conv3d(1, 2, 3)(torch.randn(1, 1, 5, 6, 7)).shape
    torch.Size([1, 2, 3, 4, 5])
    """

    ndim = 3

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_ConvNd):
    """A transposed convolution."""

    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._configure(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What is added to one end of the output so that it gets the size asked for."""
        if output_size is None:
            return self.output_padding
        leading = 2 if input.dim() == self.ndim + 2 else 1
        wanted = list(output_size)[leading:] if len(output_size) == leading + self.ndim else list(output_size)
        if len(wanted) != self.ndim:
            raise ValueError(
                f"ConvTranspose{self.ndim}D: for {input.dim()}D input, output_size must have {self.ndim} or "
                f"{leading + self.ndim} elements (got {len(output_size)})"
            )
        sizes = input.shape[leading:]
        smallest = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                sizes, self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        largest = [size + stride - 1 for size, stride in zip(smallest, self.stride)]
        if any([not low <= size <= high for low, size, high in zip(smallest, wanted, largest)]):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.shape[2:]})"
            )
        return tuple([size - low for size, low in zip(wanted, smallest)])


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution along one dimension: what Conv1d does to gradients.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, groups, bias, dilation, device, dtype
        As for Conv1d, of the convolution whose transpose it is.
    output_padding : int or tuple, default 0
        What is added to one end of the output.
    padding_mode : "zeros"
        Must be that.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ConvTranspose1d(4, 2, 3, stride=2)(torch.randn(1, 4, 5)).shape
    torch.Size([1, 2, 11])
    """

    ndim = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images; parameters as for ConvTranspose1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> layer(torch.randn(1, 4, 6, 6), output_size=(12, 12)).shape
    torch.Size([1, 2, 12, 12])
    """

    ndim = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes; parameters as for ConvTranspose1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ConvTranspose3d(1, 2, 2)(torch.randn(1, 1, 2, 3, 4)).shape
    torch.Size([1, 2, 3, 4, 5])
    """

    ndim = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
