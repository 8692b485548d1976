"""Normalisation of channels over batches, and what normalisations of channels have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._dtypes import int64
from ..._tensor import Tensor
from ...ops.creation import empty, ones, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
from . import _misfit
from .module import Module


def _register(module: Module, shape: Sequence[int], weight: bool, bias: bool, device: Any, dtype: Any) -> None:
    """Give the module a weight and a bias of this shape, or None for either."""
    for name, wanted in (("weight", weight), ("bias", bias)):
        made = Parameter(empty(tuple(shape), device=device, dtype=dtype)) if wanted else None
        module.register_parameter(name, made)


def _reset(module: Any) -> None:
    """Set the weight to ones and the bias to zeros."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _NormBase(Module):
    """What normalisations of channels have: a weight, a bias, running statistics."""

    _version = 2
    dims: tuple[int, ...]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _register(self, (num_features,), affine, affine and bias, device, dtype)
        running: dict[str, Any] = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if track_running_stats:
            running["running_mean"] = zeros(num_features, device=device, dtype=dtype)
            running["running_var"] = ones(num_features, device=device, dtype=dtype)
            running["num_batches_tracked"] = zeros((), dtype=int64, device=device)
        for name, buffer in running.items():
            self.register_buffer(name, buffer)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches seen: means of 0 and variances of 1."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros, and forget the batches seen."""
        self.reset_running_stats()
        _reset(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            expected = " or ".join([f"{dim}D" for dim in self.dims])
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def _misfit(self, input: Tensor, axis: int = 1) -> str:
        name, shape = f"{type(self).__name__}({self.num_features})", tuple(input.shape)
        if len(shape) not in self.dims:
            expected = " or ".join(map(str, self.dims))
            return f"{name} expects {expected} dimensions and got {shape}: reshape it, or use the layer for such inputs"
        if wrong := _misfit.channels(name, shape, axis, self.num_features, "num_features"):
            return wrong
        if self.training and math.prod(shape) == math.prod(shape[: axis + 1]) and math.prod(shape[:axis]) == 1:
            return (
                f"{name} needs more than one value for each channel in training and got {shape}: use larger batches, or "
                "eval()"
            )
        return ""

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """As for any module; what was saved before batches were counted (version 1) keeps the count as it is."""
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = zeros((), dtype=int64) if self.num_batches_tracked is None else self.num_batches_tracked
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Normalisation of each channel over the batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        own = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            own,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Each channel of a batch less its mean, over its standard deviation, times a weight plus a bias.

    While training, the statistics are the batch's, and running ones move towards them; in evaluation, the running ones
    are used.

    Parameters
    ----------
    num_features : int
        The channels C of the input, (N, C) or (N, C, L).
    eps : float, default 1e-5
        Added to the variance.
    momentum : float or None, default 0.1
        How far the running statistics move; None makes them the average of all batches seen.
    affine : bool, default True
        Whether a weight and a bias are learnt.
    track_running_stats : bool, default True
        Whether there are running statistics; without them, the batch's are always used.
    device, dtype
        Of the parameters and the statistics.
    bias : bool, default True
        Whether, if *affine*, a bias is learnt.

    Attributes
    ----------
    weight, bias : Parameter or None, shape (num_features,)
        Start as ones and zeros.
    running_mean, running_var : Tensor or None, shape (num_features,)
        Start as zeros and ones.
    num_batches_tracked : Tensor or None
        How many batches the running statistics have seen.

    Notes
    -----
    Source: Ioffe and Szegedy, "Batch normalization: accelerating deep network training by reducing internal covariate
    shift", 2015.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.BatchNorm1d(1)
    >>> layer(torch.tensor([[1.0], [3.0]])).tolist()
    [[-0.9999949932098389], [0.9999949932098389]]
    >>> layer.running_mean, layer.running_var, layer.num_batches_tracked
    (tensor([0.2000]), tensor([1.1000]), tensor(1))
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalisation of the channels of images, (N, C, H, W), over the batch; parameters as for BatchNorm1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 5)).shape
    torch.Size([2, 3, 4, 5])
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalisation of the channels of volumes, (N, C, D, H, W), over the batch; parameters as for BatchNorm1d."""

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalisation of channels, (N, C, *), over the batches of all processes, of which there is one here.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As for BatchNorm1d.
    process_group : object, optional
        Kept.

    Examples
    --------
    >>> import minitorch as torch
    >>> net = torch.nn.Sequential(torch.nn.Conv1d(1, 3, 2), torch.nn.BatchNorm1d(3))
    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every BatchNorm in it replaced by a SyncBatchNorm of the same parameters and statistics.

        Parameters
        ----------
        module : Module
            Changed, unless it is a BatchNorm itself.
        process_group : object, optional
            Kept in the new layers.
        """
        converted: Any = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(converted, name, getattr(module, name))
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
