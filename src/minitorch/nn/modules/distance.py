"""Distances of vectors, and normalisation over neighbouring channels."""

from __future__ import annotations

from ..._tensor import Tensor
from ...ops.linalg import matmul
from ...ops.ranges import arange
from .. import functional as F
from .module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between two vectors.

    Parameters
    ----------
    dim : int, default 1
        The dimension of the vectors.
    eps : float
        The smallest norm.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]))
    tensor(1.)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of two vectors.

    Parameters
    ----------
    p : float, default 2
        Which norm.
    eps : float
        Added to differences.
    keepdim : bool, default False
        Whether the dimension of the vectors stays, with size 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.PairwiseDistance(eps=0.0)(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class LocalResponseNorm(Module):
    """The input divided by ``(k + alpha * mean of squares) ** beta``, the mean being over neighbouring channels.

    Parameters
    ----------
    size : int
        How many channels are neighbours.
    alpha, beta, k : float
        See above.

    Notes
    -----
    Source: Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LocalResponseNorm(1, alpha=1.0, beta=1.0)(torch.ones(1, 1, 2))
    tensor([[[0.5000, 0.5000]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """The input over ``(k + alpha * sum of squares / size) ** beta``, the sum being over channels before and after.

    It is an old form of ``LocalResponseNorm``, and computes what PyTorch's does: there the first channel stays in the
    sums of all that come after it.  The gradient is that of this result; PyTorch's is that of sums without it.

    Parameters
    ----------
    size : int
        How many channels are neighbours.
    alpha, beta, k : float
        See above.

    Raises
    ------
    ValueError
        If the input is not (N, C, H, W).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0)(torch.ones(1, 2, 1, 1)).flatten()
    tensor([0.3333, 0.3333])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach, channels = (self.size - 1) // 2 + 1, arange(input.size(1))
        distance = channels - channels.unsqueeze(
            1
        )  # of the summed channel (columns) from the one whose sum it is (rows)
        summed = ((channels == 0) | (distance > -reach)) & (distance < reach)
        sums = matmul(summed.to(input.dtype), (input * input).flatten(2)).view_as(input)
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
