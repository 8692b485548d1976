"""Distances of vectors."""

from __future__ import annotations

from ..._tensor import Tensor
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
