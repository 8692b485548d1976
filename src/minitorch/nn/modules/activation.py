"""Nonlinearities: elementwise functions, and those that normalise along a dimension."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...ops.creation import full
from .. import functional as F
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention
from .module import Module
from .softmax import LogSoftmax as LogSoftmax
from .softmax import Softmax as Softmax
from .softmax import Softmax2d as Softmax2d
from .softmax import Softmin as Softmin


class _InPlace(Module):
    """A nonlinearity that may write its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """``max(x, 0)``.

    Parameters
    ----------
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SELU(_InPlace):
    """``scale * elu(x)`` with the constants that keep mean 0 and variance 1; parameters as for ReLU.

    Notes
    -----
    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.SELU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """``x * sigmoid(x)``, also called swish; parameters as for ReLU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.SiLU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))``; parameters as for ReLU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Mish()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class _QuietlyInPlace(_InPlace):
    """A nonlinearity that does not print whether it writes its input."""

    def extra_repr(self) -> str:
        return ""


class Hardswish(_QuietlyInPlace):
    """``x * relu6(x + 3) / 6``; parameters as for ReLU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Hardswish()(torch.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_QuietlyInPlace):
    """``relu6(x + 3) / 6``; parameters as for ReLU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Threshold(Module):
    """``x`` where it is above a threshold, a fixed value elsewhere.

    Parameters
    ----------
    threshold, value : float
        The threshold, and the value.
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Threshold(0.5, 9.0)(torch.tensor([0.0, 1.0]))
    tensor([9., 1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    """``x`` clamped to an interval.

    Parameters
    ----------
    min_val, max_val : float
        The interval, [-1, 1] by default.
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Hardtanh()(torch.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if not max_val > min_val:
            raise AssertionError("max_val must be larger than min_val")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``; parameters as for ReLU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _Alpha(Module):
    """What ELU and CELU have."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Alpha):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Parameters
    ----------
    alpha : float, default 1
        The limit far to the left, negated.
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``; parameters as for ELU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.CELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Parameters
    ----------
    negative_slope : float, default 0.01
        The slope to the left of zero.
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 1.0]))
    tensor([-0.1000,  1.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """``x`` where positive, ``weight * x`` elsewhere, with a slope that is learnt.

    Parameters
    ----------
    num_parameters : int, default 1
        One slope, or one for each channel.
    init : float, default 0.25
        The slope to start with.
    device, dtype
        Of the slope.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.PReLU()(torch.tensor([-1.0, 1.0])).tolist()
    [-0.25, 1.0]
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the slope to what it started with."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Sigmoid()(torch.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Tanh()(torch.ones(1))
    tensor([0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``, exact far to the left too.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LogSigmoid()(torch.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + abs(x))``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softsign()(torch.ones(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Tanhshrink()(torch.ones(1))
    tensor([0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """``x * Phi(x)``, with the normal distribution's Phi.

    Parameters
    ----------
    approximate : "none" or "tanh"
        Whether Phi is approximated by a hyperbolic tangent.

    Notes
    -----
    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.GELU()(torch.ones(1))
    tensor([0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second.

    Parameters
    ----------
    dim : int, default -1
        The dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.GLU()(torch.tensor([4.0, 0.0]))
    tensor([2.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Shrink(Module):
    """What the shrinking functions have."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """``x`` outside [-lambd, lambd], 0 inside.

    Parameters
    ----------
    lambd : float, default 0.5
        Half the width of the interval.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.3, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved towards zero by lambd, and 0 inside [-lambd, lambd].

    Parameters
    ----------
    lambd : float, default 0.5
        How far, not negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.3, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``.

    Parameters
    ----------
    beta : float, default 1
        How sharp the bend is.
    threshold : float, default 20
        Above ``threshold / beta`` it is ``x``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Softplus()(torch.zeros(1))
    tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class RReLU(Module):
    """The input where it is positive, elsewhere times a slope: drawn in training, the mean of both bounds in evaluation.

    Parameters
    ----------
    lower, upper : float
        The bounds of slopes.
    inplace : bool, default False
        Whether the input itself is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")
