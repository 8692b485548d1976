"""Images with channels in place of pixels, and the other way round."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


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
