"""Images as the columns of their windows, and back."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .conv import Sizes
from .module import Module


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
