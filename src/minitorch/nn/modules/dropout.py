"""Dropout: random elements or channels set to zero while training."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class _DropoutNd(Module):
    """What all kinds of dropout have."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """While training, each element is set to zero with probability *p*, and the others are divided by ``1 - p``.

    Parameters
    ----------
    p : float, default 0.5
        The probability.
    inplace : bool, default False
        Whether the input itself is written.

    Notes
    -----
    Source: Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012.

    Examples
    --------
    >>> import minitorch as torch
    >>> dropout = torch.nn.Dropout()
    >>> _ = torch.manual_seed(0)
    >>> dropout(torch.ones(8))
    tensor([0., 0., 2., 0., 0., 0., 2., 2.])
    >>> dropout.eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of sequences: input (N, C, L); parameters as for Dropout.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Dropout1d(p=0.0)(torch.ones(1, 2, 3)).sum()
    tensor(6.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of images: input (N, C, H, W); parameters as for Dropout.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Dropout2d(p=1.0)(torch.ones(1, 2, 3, 3)).sum()
    tensor(0.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of volumes: input (N, C, D, H, W); parameters as for Dropout.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Dropout3d(p=1.0)(torch.ones(1, 2, 3, 3, 3)).sum()
    tensor(0.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for networks of SELUs; parameters as for Dropout.

    Notes
    -----
    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.AlphaDropout().eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels; parameters as for Dropout.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.FeatureAlphaDropout().eval()(torch.ones(1, 2, 1))
    tensor([[[1.],
             [1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
