"""Normalisation of each channel of each sample."""

from __future__ import annotations

import warnings
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """Normalisation of each channel of each sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self.dims[0]
        dim = 0 if unbatched else 1
        channels = input.shape[dim]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if unbatched else out

    def _misfit(self, input: Tensor, axis: int = 1) -> str:
        return super()._misfit(input, 0 if input.dim() == self.dims[0] else 1)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each sample less its mean, over its standard deviation: input (N, C, L) or (C, L).

    Parameters
    ----------
    num_features : int
        The channels C.
    eps, momentum, affine, track_running_stats, device, dtype, bias
        As for BatchNorm1d; but by default there are neither parameters nor running statistics.

    Notes
    -----
    Source: Ulyanov, Vedaldi and Lempitsky, "Instance normalization: the missing ingredient for fast stylization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.InstanceNorm1d(2)(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of each channel of each image, (N, C, H, W) or (C, H, W); parameters as for InstanceNorm1d."""

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of each channel of each volume, (N, C, D, H, W) or (C, D, H, W); parameters as for InstanceNorm1d."""

    dims = (4, 5)
