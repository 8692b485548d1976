"""Activation functions.

Each gradient is a row of its own; where it reads the input, its derivative is given too, in terms of further rows.  At
their kinks, functions have the derivative that PyTorch has; where that is a step function, its derivative is zeros, not
nothing: the second derivatives of a piecewise linear network exist, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of
from .._errors import check_kind, scalar_name
from .._inplace import NUMBERS, WHOLE, write
from .._kernels import activation as kernels
from .._op import documents, op
from . import activation_derivatives, elementary, pointwise, rounding  # noqa: F401  (rows of derivatives)
from .choices import clamp_kernel, keep_kernel
from .copies import no_gradient

if TYPE_CHECKING:
    from .._tensor import Tensor


def _floats(array: np.ndarray, name: str) -> np.ndarray:
    """The array; NotImplementedError where it is of integers."""
    if array.dtype.kind != "f":
        raise NotImplementedError(
            f'"{name}" not implemented for {scalar_name(array.dtype)!r}: convert it with .float()'
        )
    return array


def _applied(recorder: Any, input: Tensor, inplace: bool, *params: Any, extent: int = WHOLE) -> Tensor:
    """The op's result, or the tensor itself after writing the result into it."""
    return write(input, recorder, params, extent=extent) if inplace else recorder(input, *params)


# -- relu and its kin --------------------------------------------------------------------------------------------------
def _relu_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "f":
        return kernels.relu(self)
    if self.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    return np.maximum(self, 0, out=...)


def _threshold_kernel(self: np.ndarray, *, threshold: float, value: float) -> np.ndarray:
    check_kind("threshold_cpu", self, "fiu")
    return np.where(self <= threshold, self.dtype.type(value), self)


def _threshold_backward_kernel(grad: np.ndarray, self: np.ndarray, *, threshold: float) -> np.ndarray:
    return keep_kernel(grad, ~(self <= threshold))


def _leaky_relu_kernel(self: np.ndarray, *, negative_slope: float) -> np.ndarray:
    scaled = _floats(self, "leaky_relu_cpu") * negative_slope
    if 0 <= negative_slope <= 1:
        return np.maximum(self, scaled, out=...)
    return np.where(self > 0, self, scaled)


def _leaky_relu_backward_kernel(grad: np.ndarray, self: np.ndarray, *, negative_slope: float) -> np.ndarray:
    return kernels.leaky_relu_backward(grad, self, negative_slope)


def _hardtanh_kernel(self: np.ndarray, *, min_val: float, max_val: float) -> np.ndarray:
    return clamp_kernel(self, min=min_val, max=max_val)


def _hardtanh_backward_kernel(grad: np.ndarray, self: np.ndarray, *, min_val: float, max_val: float) -> np.ndarray:
    return keep_kernel(grad, ~((self <= min_val) | (self >= max_val)))


_relu = op("relu", "ReluBackward0", _relu_kernel, ("self",), elementwise=True,
           self=lambda F, g, result: F.relu_backward(g, result))  # fmt: skip

op("relu_backward", "ThresholdBackwardBackward0", kernels.relu_backward, ("grad", "output"), elementwise=True,
   grad=lambda F, g, output: F.relu_backward(g, output), output=no_gradient)  # fmt: skip

_threshold = op("threshold", "ThresholdBackward0", _threshold_kernel, ("self",), elementwise=True,
                self=lambda F, g, self, threshold: F.threshold_backward(g, self, threshold=threshold))  # fmt: skip

op("threshold_backward", "ThresholdBackwardBackward0", _threshold_backward_kernel, ("grad", "self"), elementwise=True,
   grad=lambda F, g, self, threshold: F.threshold_backward(g, self, threshold=threshold),
   self=no_gradient)  # fmt: skip

_leaky_relu = op("leaky_relu", "LeakyReluBackward0", _leaky_relu_kernel, ("self",), elementwise=True,
                 self=lambda F, g, self, negative_slope:
                     F.leaky_relu_backward(g, self, negative_slope=negative_slope))  # fmt: skip

op("leaky_relu_backward", "LeakyReluBackwardBackward0", _leaky_relu_backward_kernel, ("grad", "self"), elementwise=True,
   grad=lambda F, g, self, negative_slope: F.leaky_relu_backward(g, self, negative_slope=negative_slope),
   self=no_gradient)  # fmt: skip

_hardtanh = op("hardtanh", "HardtanhBackward0", _hardtanh_kernel, ("self",), elementwise=True,
               self=lambda F, g, self, min_val, max_val:
                   F.hardtanh_backward(g, self, min_val=min_val, max_val=max_val))  # fmt: skip

op("hardtanh_backward", "HardtanhBackwardBackward0", _hardtanh_backward_kernel, ("grad", "self"), elementwise=True,
   grad=lambda F, g, self, min_val, max_val: F.hardtanh_backward(g, self, min_val=min_val, max_val=max_val),
   self=no_gradient)  # fmt: skip


# -- piecewise linear or quadratic, with three pieces ------------------------------------------------------------------
def _softshrink_kernel(self: np.ndarray, *, lambd: float) -> np.ndarray:
    _floats(self, "softshrink_cpu")
    return np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, self * 0))


def _hardshrink_kernel(self: np.ndarray, *, lambd: float) -> np.ndarray:
    _floats(self, "hardshrink_cpu")
    return keep_kernel(self, ~((self >= -lambd) & (self <= lambd)))


def _shrink_backward_kernel(grad: np.ndarray, self: np.ndarray, *, lambd: float) -> np.ndarray:
    return keep_kernel(grad, ~((self >= -lambd) & (self <= lambd)))


def _hardsigmoid_kernel(self: np.ndarray) -> np.ndarray:
    out = np.add(_floats(self, "hardsigmoid_kernel"), 3, out=...)
    return np.divide(clamp_kernel(out, min=0, max=6), 6, out)


def _hardsigmoid_backward_kernel(grad: np.ndarray, self: np.ndarray) -> np.ndarray:
    return np.where((self > -3) & (self < 3), grad / 6, grad.dtype.type(0))


def _hardswish_kernel(self: np.ndarray) -> np.ndarray:
    out = _hardsigmoid_kernel(_floats(self, "hardswish_cpu"))
    return np.multiply(out, self, out)


def _hardswish_backward_kernel(grad: np.ndarray, self: np.ndarray) -> np.ndarray:
    inside = np.where(self < 3, grad * (self / 3 + self.dtype.type(0.5)), grad)
    return np.where(self <= -3, grad.dtype.type(0), inside)


_softshrink = op("softshrink", "SoftshrinkBackward0", _softshrink_kernel, ("self",), elementwise=True,
                 self=lambda F, g, self, lambd: F.shrink_backward(g, self, lambd=lambd))  # fmt: skip

_hardshrink = op("hardshrink", "HardshrinkBackward0", _hardshrink_kernel, ("self",), elementwise=True,
                 self=lambda F, g, self, lambd: F.shrink_backward(g, self, lambd=lambd))  # fmt: skip

op("shrink_backward", "HardshrinkBackwardBackward0", _shrink_backward_kernel, ("grad", "self"), elementwise=True,
   grad=lambda F, g, self, lambd: F.shrink_backward(g, self, lambd=lambd),
   self=no_gradient)  # fmt: skip

_hardsigmoid = op("hardsigmoid", "HardsigmoidBackward0", _hardsigmoid_kernel, ("self",), elementwise=True,
                  self=lambda F, g, self: F.hardsigmoid_backward(g, self))  # fmt: skip

op("hardsigmoid_backward", "HardsigmoidBackwardBackward0", _hardsigmoid_backward_kernel, ("grad", "self"),
   elementwise=True,
   grad=lambda F, g, self: F.hardsigmoid_backward(g, self), self=no_gradient)  # fmt: skip

_hardswish = op("hardswish", "HardswishBackward0", _hardswish_kernel, ("self",), elementwise=True,
                self=lambda F, g, self: F.hardswish_backward(g, self))  # fmt: skip

op("hardswish_backward", "HardswishBackwardBackward0", _hardswish_backward_kernel, ("grad", "self"), elementwise=True,
   grad=lambda F, g, self: F.hardswish_backward(g, self),
   self=lambda F, g, grad, self: 2.0 * F.hardsigmoid_backward(g * grad, self))  # fmt: skip


# -- smooth ones -------------------------------------------------------------------------------------------------------
def _gelu_kernel(self: np.ndarray, *, approximate: str = "none") -> list[np.ndarray]:
    return kernels.gelu(_floats(self, "GeluKernelImpl"), approximate)


def _gelu_backward_kernel(grad: np.ndarray, self: np.ndarray, share: np.ndarray, *, approximate: str) -> np.ndarray:
    return kernels.gelu_backward(grad, self, share, approximate)


_gelu = op("gelu", "GeluBackward0", _gelu_kernel, ("self",), elementwise=True,
           self=lambda F, g, self, aside, approximate:
               F.gelu_backward(g, self, aside[0], approximate=approximate))  # fmt: skip

# The share is a function of self, whose formula counts that in.
op("gelu_backward", "GeluBackwardBackward0", _gelu_backward_kernel, ("grad", "self", "share"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, share, approximate: F.gelu_backward(g, self, share, approximate=approximate),
   self=lambda F, g, grad, self, approximate:
       F.gelu_derivative(g * grad, self, order=2, approximate=approximate))  # fmt: skip


_silu = op("silu", "SiluBackward0", lambda self: kernels.silu(_floats(self, "silu_cpu")), ("self",), elementwise=True,
           self=lambda F, g, self: F.silu_backward(g, self))  # fmt: skip

op("silu_backward", "SiluBackwardBackward0", kernels.silu_backward, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self: F.silu_backward(g, self),
   self=lambda F, g, grad, self: F.silu_derivative(g * grad, self, order=2))  # fmt: skip


def _mish_kernel(self: np.ndarray) -> np.ndarray:
    out = kernels.softplus(_floats(self, "mish_cpu"))
    return np.multiply(self, np.tanh(out, out), out)


_softsign = op("softsign", "DivBackward0", kernels.softsign, ("self",), elementwise=True,
               self=lambda F, g, self: F.softsign_derivative(g, self, order=1))  # fmt: skip
_mish = op("mish", "MishBackward0", _mish_kernel, ("self",), elementwise=True,
           self=lambda F, g, self: F.mish_derivative(g, self, order=1))  # fmt: skip


def _softplus_kernel(self: np.ndarray, *, beta: float, threshold: float) -> np.ndarray:
    return kernels.softplus(_floats(self, "softplus_cpu"), beta, threshold)


def _softplus_backward_kernel(grad: np.ndarray, self: np.ndarray, *, beta: float, threshold: float) -> np.ndarray:
    return kernels.softplus_backward(grad, self, beta, threshold)


_softplus = op("softplus", "SoftplusBackward0", _softplus_kernel, ("self",), elementwise=True,
               self=lambda F, g, self, beta, threshold:
                   F.softplus_backward(g, self, beta=beta, threshold=threshold))  # fmt: skip

op("softplus_backward", "SoftplusBackwardBackward0", _softplus_backward_kernel, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, beta, threshold: F.softplus_backward(g, self, beta=beta, threshold=threshold),
   self=lambda F, g, grad, self, beta, threshold:
       F.softplus_derivative(g * grad, self, order=2, beta=beta, threshold=threshold))  # fmt: skip


_logsigmoid = op("logsigmoid", "LogSigmoidBackward0",
                 lambda self: kernels.log_sigmoid(_floats(self, "log_sigmoid_cpu")), ("self",), elementwise=True,
                 casts=False,
                 self=lambda F, g, self: F.logsigmoid_backward(g, self))  # fmt: skip

# It is softplus with a beta of -1.
op("logsigmoid_backward", "LogSigmoidBackwardBackward0", kernels.log_sigmoid_backward, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self: F.logsigmoid_backward(g, self),
   self=lambda F, g, grad, self:
       F.softplus_derivative(g * grad, self, order=2, beta=-1.0, threshold=math.inf))  # fmt: skip


# -- elu: exponential below zero ---------------------------------------------------------------------------------------
def _elu_kernel(self: np.ndarray, *, alpha: float, scale: float, input_scale: float) -> np.ndarray:
    return kernels.elu(_floats(self, "elu_cpu"), alpha, scale, input_scale)


def _elu_derivative_kernel(
    grad: np.ndarray, self: np.ndarray, *, alpha: float, scale: float, input_scale: float, order: int
) -> np.ndarray:
    above = scale if order == 1 else 0.0
    out = kernels.elu_derivative(self, alpha * scale * input_scale**order, above, input_scale)
    if order > 1:  # where the slope has a kink, its derivative is 0, as in PyTorch
        np.multiply(out, self != 0, out)
    return np.multiply(grad, out, out)


def _elu_self(F: Any, g: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return F.elu_derivative(g, self, alpha=alpha, scale=scale, input_scale=input_scale, order=1)


def _elu_again(F: Any, g: Any, self: Any, alpha: float, scale: float, input_scale: float, order: int) -> Any:
    return F.elu_derivative(g, self, alpha=alpha, scale=scale, input_scale=input_scale, order=order)


_elu = op("elu", "EluBackward0", _elu_kernel, ("self",), elementwise=True, self=_elu_self)
_celu = op("celu", "CeluBackward0", _elu_kernel, ("self",), elementwise=True, self=_elu_self)
op("elu_derivative", "EluBackwardBackward0", _elu_derivative_kernel, ("grad", "self"), elementwise=True, broadcasts=False,
   grad=_elu_again,
   self=lambda F, g, grad, self, alpha, scale, input_scale, order:
       _elu_again(F, g * grad, self, alpha, scale, input_scale, order + 1))  # fmt: skip


# -- with weights, and gated -------------------------------------------------------------------------------------------
def _prelu_backward_kernel(grad: np.ndarray, weight: np.ndarray, self: np.ndarray) -> np.ndarray:
    return np.where(self > 0, grad, grad * weight)


def _where_not_positive_kernel(grad: np.ndarray, weight: np.ndarray, self: np.ndarray) -> np.ndarray:
    return np.where(self > 0, grad.dtype.type(0), grad)


_prelu = op("prelu", "PreluKernelBackward0", lambda self, weight: np.where(self > 0, self, self * weight),
            ("self", "weight"), elementwise=True,
            self=lambda F, g, weight, self: F.prelu_backward(g, weight, self),
            weight=lambda F, g, weight, self: F.where_not_positive(g * self, weight, self))  # fmt: skip

op("prelu_backward", "PreluKernelBackwardBackward0", _prelu_backward_kernel, ("grad", "weight", "self"),
   elementwise=True,
   grad=lambda F, g, weight, self: F.prelu_backward(g, weight, self),
   weight=lambda F, g, grad, weight, self: F.where_not_positive(g * grad, weight, self), self=no_gradient)  # fmt: skip

op("where_not_positive", "WhereBackward0", _where_not_positive_kernel, ("grad", "weight", "self"), elementwise=True,
   grad=lambda F, g, weight, self: F.where_not_positive(g, weight, self), weight=no_gradient)  # fmt: skip


def _glu_kernel(self: np.ndarray, *, dim: int) -> np.ndarray:
    values, gate = np.split(_floats(self, "glu_cpu"), 2, dim)
    return np.multiply(values, kernels.sigmoid(np.ascontiguousarray(gate)))


_glu = op("glu", "GluBackward0", _glu_kernel, ("self",),
          tangent=lambda F, t, self, dim: F.glu_jvp(t, self, dim=dim),
          self=lambda F, g, self, dim: F.glu_backward(g, self, dim=dim))  # fmt: skip


# -- public functions --------------------------------------------------------------------------------------------------
@documents(_relu)
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``, elementwise; the derivative at 0 is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """


def relu_(input: Tensor) -> Tensor:
    """`relu` written into the tensor, which is returned.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.relu_(x) is x, x
    (True, tensor([0., 2.]))
    """
    return write(input, _relu)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it exceeds *threshold*, *value* elsewhere.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.1, 0.5]), 0.2, 9.0)
    tensor([9.0000, 0.5000])
    """
    return _applied(_threshold, input, inplace, threshold, value, extent=NUMBERS)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where it is positive, *negative_slope* times the input elsewhere.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _applied(_leaky_relu, input, inplace, negative_slope)


def _check_bounds(dtype: np.dtype[Any], min_val: float) -> None:
    if dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh: convert the input first")
    if dtype.kind == "u" and int(min_val) < 0:
        raise RuntimeError(f"cannot do hardtanh on an unsigned type with negative limits, but min_val is {min_val}")


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input within bounds; the derivative at the bounds is 0.

    Raises
    ------
    ValueError
        If *min_val* exceeds *max_val*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, but got {min_val} and {max_val}")
    dtype = array_of("hardtanh", input).dtype
    if dtype.kind != "f":
        _check_bounds(dtype, min_val)
    return _applied(_hardtanh, input, inplace, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    if array_of("relu6", input).dtype.kind == "b":
        _check_bounds(input._array.dtype, 0)
    return _applied(_hardtanh, input, inplace, 0.0, 6.0)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input moved by *lambd* towards zero; zero within *lambd* of it.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-2.0, 0.2, 1.0]))
    tensor([-1.5000,  0.0000,  0.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input, but zero within *lambd* of zero."""
    return _hardshrink(input, lambd)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return _applied(_hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``; see A. Howard et al., "Searching for MobileNetV3", 2019."""
    return _applied(_hardswish, input, inplace)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """*input* times the probability that a standard normal variate is below it.

    Parameters
    ----------
    input : Tensor
        Any shape.
    approximate : {"none", "tanh"}
        Whether the probability is exact, or Hendrycks and Gimpel's approximation by tanh
        ("Gaussian Error Linear Units (GELUs)", 2016).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate.__class__ is str and approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}.")
    return _gelu(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _applied(_silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``; see D. Misra, "Mish", 2019."""
    return _applied(_mish, input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and *input* itself where ``beta * input`` exceeds *threshold*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return _softplus(input, beta, threshold)


@documents(_logsigmoid)
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, exact also where the sigmoid is 0 or 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input) - 1)`` elsewhere.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _applied(_elu, input, inplace, alpha, 1.0, 1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled `elu` that keeps mean 0 and variance 1.

    See G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    return _applied(_elu, input, inplace, 1.6732632423543772, 1.0507009873554805, 1.0)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _applied(_celu, input, inplace, alpha, 1.0, 1.0 / alpha)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``."""
    if array_of("softsign", input).dtype.kind == "f":
        return _softsign(input)
    return pointwise.div(input, pointwise.add(rounding.abs(input), 1))  # of which the latter overflows as integers do


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return pointwise.sub(input, elementary.tanh(input))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where it is positive, *weight* times the input elsewhere.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, or any shape with a single weight.
    weight : Tensor
        ``(C,)``, ``(1,)`` or 0-D.

    Raises
    ------
    RuntimeError
        If the number of weights is neither 1 nor the number of channels.
    """
    array = array_of("prelu", weight, "weight", 2)
    shape = array_of("prelu", input).shape
    channels = shape[1] if len(shape) > 1 else 1
    if array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {array.ndim}")
    if array.ndim and len(array) not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. "
            f"Found parameter numbers = {len(array)} and channel size = {channels}."
        )
    if array.dtype != input._array.dtype:
        names = [scalar_name(t._array.dtype) for t in (input, weight)]
        raise RuntimeError(f"prelu: Type promoting not supported. Got {names[0]} and {names[1]}")
    if array.ndim and not shape:
        weight = weight.reshape(())
    elif input._array.ndim > 2 and array.ndim:
        weight = weight.reshape(len(array), *[1] * (input._array.ndim - 2))
    return _prelu(input, weight)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the input along *dim*, times the sigmoid of the second half.

    Raises
    ------
    RuntimeError
        If the size along *dim* is odd, or the input is 0-D.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.glu(torch.tensor([2.0, 4.0, 0.0, 100.0]))
    tensor([1., 4.])
    """
    shape = array_of("glu", input).shape
    if not shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = dim_of(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    return _glu(input, dim)
