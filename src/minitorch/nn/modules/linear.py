"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor import Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class Identity(Module):
    """Hands its input on; all arguments are ignored.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Identity()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """An affine map of the last dimension: ``input @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
        The size of the last dimension of the input and of the output.
    bias : bool, default True
        Whether a bias is learnt.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight : Parameter, shape (out_features, in_features)
        Starts uniform within ``1 / sqrt(in_features)``.
    bias : Parameter or None, shape (out_features,)
        Starts the same way.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.Linear(20, 30)
    >>> layer(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def _misfit(self, input: Tensor) -> str:
        if input.shape[-1:] == (self.in_features,):
            return ""
        size = input.shape[-1] if input.dim() else 1
        return (
            f"Linear({self.in_features}, {self.out_features}) expects last dimension {self.in_features} and got "
            f"{tuple(input.shape)}: reshape the input, or make it Linear({size}, {self.out_features})"
        )

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        The sizes of the last dimensions of both inputs and of the output.
    bias : bool, default True
        Whether a bias is learnt.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight : Parameter, shape (out_features, in1_features, in2_features)
        Starts uniform within ``1 / sqrt(in1_features)``.
    bias : Parameter or None, shape (out_features,)
        Starts the same way.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Bilinear(20, 30, 40)(torch.randn(128, 20), torch.randn(128, 30)).shape
    torch.Size([128, 40])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def _misfit(self, input1: Tensor, input2: Tensor) -> str:
        one, two = tuple(input1.shape), tuple(input2.shape)
        sizes = self.in1_features, self.in2_features
        if (one[-1:], two[-1:]) == (sizes[:1], sizes[1:]) and one[:-1] == two[:-1]:
            return ""
        return (
            f"Bilinear{(*sizes, self.out_features)} expects inputs of shapes (*, {sizes[0]}) and (*, {sizes[1]}), alike but "
            f"for the last dimension, and got {one} and {two}: reshape or expand them, or change in1_features and in2_features"
        )

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that goes by another name where attention holds it, as in PyTorch."""


def reset_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Draw a bias within one over the root of how many inputs each output of *weight* has."""
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)
