"""Layers that learn the sizes of their inputs from the first batch, and then are the ordinary ones."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._dtypes import int64
from ..._modes import no_grad
from ..._tensor import Tensor
from ...ops.creation import zeros
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from .batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
)
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Sizes
from .instancenorm import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .linear import Linear
from .module import Module


class LazyModuleMixin:
    """What lazy layers have: when one is first called it initialises its parameters, and becomes *cls_to_become*.

    A subclass, which derives from this and from the layer's class, defines ``initialize_parameters``, which takes what
    ``forward`` takes and gives parameters their shapes.
    """

    cls_to_become: ClassVar[Any] = None

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give parameters and buffers their shapes, from what ``forward`` is called with."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any([is_lazy(t) for names in (self._parameters, self._buffers) for t in names.values()])

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.cls_to_become is not None or self.has_uninitialized_params():
            self._infer_parameters(self, args, kwargs)
        return Module.__call__(self, *args, **kwargs)


def _later(module: Any, names: tuple[str, str], bias: bool, device: Any, dtype: Any) -> None:
    """Give the module a weight without a shape, and a bias or None."""
    weight, other = names
    setattr(module, weight, UninitializedParameter(device=device, dtype=dtype))
    module.register_parameter(other, UninitializedParameter(device=device, dtype=dtype) if bias else None)


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose *in_features* is the size of the first input's last dimension.

    Parameters
    ----------
    out_features, bias, device, dtype
        As for Linear.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> layer(torch.ones(2, 5)).shape
    torch.Size([2, 3])
    >>> layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        _later(self, ("weight", "bias"), bias, device, dtype)
        self.out_features = out_features

    def reset_parameters(self) -> None:
        """Draw new values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the weight and the bias their shapes, and draw values."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                _shaped(self.weight, self.out_features, self.in_features)
                _shaped(self.bias, self.out_features)
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]


def _shaped(tensor: Any, *shape: int) -> None:
    """Give a tensor its shape, where it has none."""
    if is_lazy(tensor):
        tensor.materialize(shape)


class _LazyConv(LazyModuleMixin):
    """What lazy convolutions have."""

    def reset_parameters(self: Any) -> None:
        """Draw new values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_channels:
            self.cls_to_become.reset_parameters(self)

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the weight and the bias their shapes, and draw values."""
        if self.has_uninitialized_params():
            rank = self.ndim + 1
            if input.dim() not in (rank, rank + 1):
                raise RuntimeError(
                    f"Expected {rank}D (unbatched) or {rank + 1}D (batched) input to {type(self).__name__}, but got "
                    f"input of size: {input.shape}"
                )
            self.in_channels = input.shape[input.dim() - rank]
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            ends = [self.out_channels, self.in_channels]
            if self.transposed:
                ends.reverse()
            ends[1] //= self.groups
            with no_grad():
                _shaped(self.weight, *ends, *self.kernel_size)
                _shaped(self.bias, self.out_channels)
                self.reset_parameters()
        elif self.in_channels == 0:
            self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups


class _LazyForward(_LazyConv):
    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        made: Any = super().__init__
        made(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        _later(self, ("weight", "bias"), bias, device, dtype)
        self.out_channels = out_channels


class _LazyTransposed(_LazyConv):
    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        made: Any = super().__init__
        made(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        _later(self, ("weight", "bias"), bias, device, dtype)
        self.out_channels = out_channels


class LazyConv1d(_LazyForward, Conv1d):
    """A Conv1d whose *in_channels* is that of the first input; the other parameters are those of Conv1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.LazyConv1d(4, 3)
    >>> layer(torch.ones(2, 5, 8)).shape
    torch.Size([2, 4, 6])
    >>> layer
    Conv1d(5, 4, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A Conv2d whose *in_channels* is that of the first input; see LazyConv1d."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A Conv3d whose *in_channels* is that of the first input; see LazyConv1d."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose *in_channels* is that of the first input; see LazyConv1d."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose *in_channels* is that of the first input; see LazyConv1d."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose *in_channels* is that of the first input; see LazyConv1d."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """What lazy normalisations of channels have."""

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        made: Any = super().__init__
        made(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            _later(self, ("weight", "bias"), bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = zeros((), dtype=int64, device=device)

    def reset_parameters(self: Any) -> None:
        """Set the weight to ones and the bias to zeros, and forget the batches seen, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features:
            self.cls_to_become.reset_parameters(self)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Give parameters and statistics their shapes, and set their values."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                _shaped(tensor, self.num_features)
            self.reset_parameters()
        elif self.num_features == 0:
            self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose *num_features* is that of the first input; the other parameters are those of BatchNorm1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.LazyBatchNorm1d()
    >>> _ = layer(torch.randn(4, 3))
    >>> layer.num_features, type(layer).__name__
    (3, 'BatchNorm1d')
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose *num_features* is that of the first input; see LazyBatchNorm1d."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose *num_features* is that of the first input; see LazyBatchNorm1d."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d whose *num_features* is that of the first input; see LazyBatchNorm1d."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d whose *num_features* is that of the first input; see LazyBatchNorm1d."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d whose *num_features* is that of the first input; see LazyBatchNorm1d."""

    cls_to_become = InstanceNorm3d
