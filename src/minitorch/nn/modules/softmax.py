"""Softmax and its kin: scores that become probabilities along a dimension."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class _AlongDim(Module):
    """What the functions have that normalise along a dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Exponentials divided by their sum along a dimension.

    Parameters
    ----------
    dim : int
        The dimension; leaving it out is deprecated.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softmax(dim=0)(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """Softmax of the negated input; parameters as for Softmax.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of softmax, exact where that is tiny; parameters as for Softmax.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of images: input (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
