"""Normalisation layers: of batches, of instances, of rows and of groups of channels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..._dtypes import int64
from ..._tensor import Tensor
from ...ops.creation import empty, ones, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
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


class LayerNorm(Module):
    """Each row less its mean, over its standard deviation, times a weight plus a bias.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The trailing dimensions that are a row.
    eps : float, default 1e-5
        Added to the variance.
    elementwise_affine : bool, default True
        Whether a weight and a bias are learnt.
    bias : bool, default True
        Whether, if *elementwise_affine*, a bias is learnt.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight, bias : Parameter or None, shape normalized_shape
        Start as ones and zeros.

    Notes
    -----
    Source: Ba, Kiros and Hinton, "Layer normalization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LayerNorm(2, bias=False)(torch.tensor([[1.0, 3.0], [5.0, 5.0]]))
    tensor([[-1.0000,  1.0000],
            [ 0.0000,  0.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _register(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Each row over its root mean square, times a weight.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The trailing dimensions that are a row.
    eps : float, optional
        Added to the mean square; by default the dtype's epsilon.
    elementwise_affine : bool, default True
        Whether a weight is learnt.
    device, dtype
        Of the weight.

    Notes
    -----
    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Each group of channels of each sample less its mean, over its standard deviation, times a weight plus a bias.

    Parameters
    ----------
    num_groups : int
        Into how many groups of neighbours the channels are divided.
    num_channels : int
        The channels C of the input, (N, C, *).
    eps : float, default 1e-5
        Added to the variance.
    affine : bool, default True
        Whether a weight and a bias, of an element for each channel, are learnt.
    device, dtype
        Of the parameters.
    bias : bool, default True
        Whether, if *affine*, a bias is learnt.

    Notes
    -----
    Source: Wu and He, "Group normalization", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.GroupNorm(2, 4, affine=False)(torch.tensor([[1.0, 3.0, 10.0, 30.0]]))
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        _register(self, (num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
