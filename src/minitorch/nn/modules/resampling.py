"""Images of another size or arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .conv import Sizes
from .module import Module


class Upsample(Module):
    """Images of another size; see ``nn.functional.interpolate``.

    Parameters
    ----------
    size : int or tuple, optional
        The spatial sizes of the output.
    scale_factor : float or tuple, optional
        Instead: how many times as large it is.
    mode : str, default "nearest"
        What new values are made of.
    align_corners : bool, optional
        Whether images reach from centre to centre of their corner values.
    recompute_scale_factor : bool, optional
        Whether rounded sizes say where new values lie.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, tuple):
            scale_factor = tuple([float(factor) for factor in scale_factor])
        elif isinstance(scale_factor, (int, float)):
            scale_factor = float(scale_factor) or None
        self.scale_factor, self.recompute_scale_factor = scale_factor, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest values.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 1, 1)).shape
    torch.Size([1, 1, 2, 2])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample by bilinear values, corners aligned.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1., 2., 3.]]]])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Larger images of fewer channels: (*, C r^2, H, W) to (*, C, H r, W r), with r the factor.

    Parameters
    ----------
    upscale_factor : int
        The factor.

    Notes
    -----
    Source: Shi et al., "Real-time single image and video super-resolution using an efficient sub-pixel convolutional
    neural network", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.PixelShuffle(3)(torch.randn(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """What undoes PixelShuffle.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.PixelUnshuffle(3)(torch.randn(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels in another order: the first of each group, then the second of each, and so on.

    Parameters
    ----------
    groups : int
        How many groups there are.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unfold(Module):
    """The sliding blocks of images, as columns.

    Parameters
    ----------
    kernel_size, dilation, padding, stride : int or tuple
        As of a convolution.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Unfold((2, 3))(torch.randn(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def _numbers(self) -> tuple[Any, ...]:
        return self.kernel_size, self.dilation, self.padding, self.stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, *self._numbers())

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Images from their sliding blocks, which are added where they overlap.

    Parameters
    ----------
    output_size : int or tuple
        The images' height and width.
    kernel_size, dilation, padding, stride : int or tuple
        As of a convolution.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Fold((4, 5), (2, 2))(torch.randn(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, *self._numbers())

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
