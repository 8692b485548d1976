"""Normalisation of rows, of groups of channels and over neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...ops.creation import empty
from ...ops.linalg import matmul
from ...ops.ranges import arange
from .. import functional as F
from .. import init
from ..parameter import Parameter
from . import _misfit
from .batchnorm import _register, _reset
from .module import Module


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

    def _misfit(self, input: Tensor) -> str:
        return _misfit.rows(f"LayerNorm({self.normalized_shape})", tuple(input.shape), self.normalized_shape)

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

    def _misfit(self, input: Tensor) -> str:
        return _misfit.rows(f"RMSNorm({self.normalized_shape})", tuple(input.shape), self.normalized_shape)

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

    def _misfit(self, input: Tensor) -> str:
        name, shape = f"GroupNorm({self.num_groups}, {self.num_channels})", tuple(input.shape)
        if len(shape) < 2:
            return f"{name} expects an input of shape (N, {self.num_channels}, *) and got {shape}: unsqueeze it"
        return _misfit.channels(name, shape, 1, self.num_channels, "num_channels")

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


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
        if not input.dtype.is_floating_point:
            raise RuntimeError(
                f"CrossMapLRN2d: expected an input of floats, got {input.dtype}: convert it with .float()"
            )
        reach, channels = (self.size - 1) // 2 + 1, arange(input.size(1))
        distance = channels - channels.unsqueeze(
            1
        )  # of the summed channel (columns) from the one whose sum it is (rows)
        summed = ((channels == 0) | (distance > -reach)) & (distance < reach)
        sums = matmul(summed.to(input.dtype), (input * input).flatten(2)).view_as(input)
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
