"""Normalisation over rows, channels or groups of channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, integer, integers, real
from .._choices import replace
from .._errors import check_kind
from .._kernels import normalize as kernels
from .._kernels.normalize import Plan
from .._kernels.reduce import sum as sum_kernel
from .._op import op
from .._runtime import traced, wrap
from .._saved import reveal
from . import arrange, copies, pointwise, powers, reduce
from . import shape as shapes
from ._composition import way_back
from ._norm_args import check_running, mean_of_batch, moved, parameters, shape_of_rows

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]


# -- one value for each channel ----------------------------------------------------------------------------------------
def _place(channels: Sizes) -> Sizes:
    """The shape of one value for each channel beside elements seen as *channels*."""
    return (channels[1], 1)[: len(channels) - 1]


def _channel_scaled(self: np.ndarray, weight: np.ndarray, *, channels: Sizes) -> np.ndarray:
    return (self.reshape(channels) * weight.reshape(_place(channels))).reshape(self.shape)


def _channel_total(self: np.ndarray, *, channels: Sizes, size: Sizes) -> np.ndarray:
    return sum_kernel(self.reshape(channels), (0, 2)[: len(channels) - 1]).reshape(size)


def _channel_fill(self: np.ndarray, *, channels: Sizes, shape: Sizes) -> np.ndarray:
    return np.broadcast_to(self.reshape(_place(channels)), channels).reshape(shape)


def _over_deviation(self: np.ndarray, var: np.ndarray, *, channels: Sizes, eps: float) -> np.ndarray:
    deviation = np.sqrt(var + var.dtype.type(eps))
    return (self.reshape(channels) / deviation.reshape(_place(channels))).reshape(self.shape)


op("channel_scaled", "MulBackward0", _channel_scaled, ("self", "weight"), tangent="multilinear",
   self=lambda F, g, weight, channels: F.channel_scaled(g, weight, channels=channels),
   weight=lambda F, g, self, weight_shape, channels:
       F.channel_total(g * self, channels=channels, size=weight_shape))  # fmt: skip
op("channel_total", "SumBackward1", _channel_total, ("self",), tangent="linear",
   self=lambda F, g, self_shape, channels: F.channel_fill(g, channels=channels, shape=self_shape))  # fmt: skip
op("channel_fill", "ExpandBackward0", _channel_fill, ("self",), view="maybe", tangent="linear",
   self=lambda F, g, self_shape, channels: F.channel_total(g, channels=channels, size=self_shape))  # fmt: skip
op("over_deviation", "DivBackward0", _over_deviation, ("self", "var"), tangent="formulas",
   self=lambda F, g, var, channels, eps: F.over_deviation(g, var, channels=channels, eps=eps))  # fmt: skip


# -- standardised values -----------------------------------------------------------------------------------------------
# The statistics are inputs without formulas: they are functions of the first input, and its formula counts that in.
def _moments_kernel(self: np.ndarray, *, plan: Plan) -> list[np.ndarray]:
    return kernels.moments(self, plan)


def _standardized(self: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan) -> np.ndarray:
    return kernels.standardized(self, mean, var, plan)


def _standardized_backward(
    grad: np.ndarray, self: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan
) -> np.ndarray:
    return kernels.normalized_backward(grad, self, np.ones(plan.channels[1], mean.dtype), mean, var, plan)


def _curvature(F: Any, g: Any, grad: Any, self: Any, mean: Any, var: Any, plan: Plan) -> Any:
    """The derivative of ``<g, standardized_backward(grad, self)>`` by *self*.

    With y the standardised values, r one over the deviation, m() the mean and P(u) = standardized_backward(u):
    -r^2 y (m(g grad) - m(g) m(grad) - m(g y) m(grad y)) - r (m(grad y) P(g) + m(g y) P(grad)).
    """
    own = tuple(self.shape)
    of_g = F.standardized_backward(g, self, mean, var, plan=plan)
    of_grad = F.standardized_backward(grad, self, mean, var, plan=plan)
    y = F.standardized(self, mean, var, plan=plan)
    x, y, g, grad, of_g, of_grad = [F.view(t, size=plan.shape) for t in (self, y, g, grad, of_g, of_grad)]

    def average(t: Any) -> Any:
        return F.mean(t, dim=plan.axes, keepdim=True)

    centered = x - average(x)
    r = F.rsqrt(average(centered * centered) + plan.eps)
    gy, grad_y = average(g * y), average(grad * y)
    covariance = average(g * grad) - average(g) * average(grad) - gy * grad_y
    return F.view(-(r * r * covariance * y) - r * (grad_y * of_g + gy * of_grad), size=own)


_moments = op("norm_moments", "", _moments_kernel, ("self",), outputs=2)
op("standardized", "NativeBatchNormBackward0", _standardized, ("self", "mean", "var"), tangent="formulas",
   self=lambda F, g, self, mean, var, plan: F.standardized_backward(g, self, mean, var, plan=plan))  # fmt: skip
op("standardized_backward", "NativeBatchNormBackwardBackward0", _standardized_backward, ("grad", "self", "mean", "var"),
   tangent="formulas",
   grad=lambda F, g, self, mean, var, plan: F.standardized_backward(g, self, mean, var, plan=plan),
   self=_curvature)  # fmt: skip


# -- normalised values -------------------------------------------------------------------------------------------------
def _normalized(
    self: np.ndarray, weight: np.ndarray, bias: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan
) -> np.ndarray:
    return kernels.normalized(self, weight, bias, mean, var, plan)


def _normalized_backward(
    grad: np.ndarray, self: np.ndarray, weight: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan
) -> np.ndarray:
    return kernels.normalized_backward(grad, self, weight, mean, var, plan)


def _weight_grad(
    grad: np.ndarray, self: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan, size: Sizes
) -> np.ndarray:
    return kernels.weight_grad(grad, self, mean, var, plan).reshape(size)


def _grad_of_backward(F: Any, g: Any, self: Any, weight: Any, mean: Any, var: Any, plan: Plan) -> Any:
    return F.channel_scaled(F.standardized_backward(g, self, mean, var, plan=plan), weight, channels=plan.channels)


def _self_of_backward(F: Any, g: Any, grad: Any, self: Any, weight: Any, mean: Any, var: Any, plan: Plan) -> Any:
    return _curvature(F, g, F.channel_scaled(grad, weight, channels=plan.channels), self, mean, var, plan)


def _weight_of_backward(
    F: Any, g: Any, grad: Any, self: Any, mean: Any, var: Any, weight_shape: Sizes, plan: Plan
) -> Any:
    product = grad * F.standardized_backward(g, self, mean, var, plan=plan)
    return F.channel_total(product, channels=plan.channels, size=weight_shape)


_backward_tangents: dict[str, Any] = {
    "grad": lambda F, t, self, weight, mean, var, plan: F.normalized_backward(t, self, weight, mean, var, plan=plan),
    "self": _self_of_backward,
    "weight": lambda F, t, grad, self, mean, var, plan: F.normalized_backward(grad, self, t, mean, var, plan=plan),
}


def _weight_grad_self(F: Any, t: Any, grad: Any, self: Any, mean: Any, var: Any, plan: Plan, size: Sizes) -> Any:
    product = grad * F.standardized_backward(t, self, mean, var, plan=plan)
    return F.channel_total(product, channels=plan.channels, size=size)


op("normalized_backward", "NativeLayerNormBackwardBackward0", _normalized_backward,
   ("grad", "self", "weight", "mean", "var"), tangent=_backward_tangents,
   grad=_grad_of_backward, self=_self_of_backward, weight=_weight_of_backward)  # fmt: skip
op("norm_weight_grad", "NativeLayerNormBackwardBackward0", _weight_grad, ("grad", "self", "mean", "var"),
   tangent={"grad": lambda F, t, self, mean, var, plan, size: F.norm_weight_grad(t, self, mean, var, plan=plan, size=size),
            "self": _weight_grad_self},
   grad=lambda F, g, self, mean, var, plan:
       F.channel_scaled(F.standardized(self, mean, var, plan=plan), g, channels=plan.channels),
   self=lambda F, g, grad, self, mean, var, plan:
       F.standardized_backward(F.channel_scaled(grad, g, channels=plan.channels), self, mean, var, plan=plan))  # fmt: skip


_internal = ("bias_shape", "mean", "plan", "self_shape", "var", "weight_shape")


def _statistics(shape: Callable[[Any], Sizes]) -> dict[str, Any]:
    """What shows a node's means, and the inverses of its deviations, in the shape that PyTorch's have."""

    def mean(node: Any) -> Any:
        saved = reveal(node, "aside")[0] if "aside" in node.row.kept else reveal(node, "mean")
        return None if saved is None else wrap(saved._array.reshape(shape(node)).copy())

    def inverse_deviation(node: Any) -> Any:
        own = "aside" in node.row.kept
        saved = reveal(node, "aside")[2] if own else reveal(node, "var")
        if saved is None:
            return None
        values = saved._array.reshape(shape(node))
        return wrap(values.copy() if own else 1 / np.sqrt(values + values.dtype.type(node.saved_plan.eps)))

    return {"result1": mean, "result2": inverse_deviation}


def _given_weight(node: Any) -> Any:
    """A node's weight; None where none was given and it is ones."""
    return reveal(node, "weight") if node.saved_plan.weighted else None


def _row_statistics_shape(node: Any) -> Sizes:
    shape, size = node.layout[0], len(node.saved_weight_shape)
    return (*shape[: len(shape) - size], *[1] * size)


def _gradients_by_rows(
    g: Any, needed: list[bool], self: Any, weight: Any, mean: Any, var: Any, rstd: Any, plan: Plan, size: Sizes
) -> list[Any]:
    """The gradients on Tensors: each by a row of its own, which know the deviation by the variance."""
    F = traced
    return [
        F.normalized_backward(g, self, weight, mean, var, plan=plan) if needed[0] else None,
        F.norm_weight_grad(g, self, mean, var, plan=plan, size=size) if needed[1] else None,
        F.channel_total(g, channels=plan.channels, size=size) if needed[2] else None,
    ]


way_back("norm_gradients", kernels.gradients, _gradients_by_rows)


def _self_tangent(F: Any, t: Any, self: Any, weight: Any, mean: Any, var: Any, plan: Plan) -> Any:
    return F.channel_scaled(F.standardized_backward(t, self, mean, var, plan=plan), weight, channels=plan.channels)


def _weight_tangent(F: Any, t: Any, self: Any, mean: Any, var: Any, plan: Plan) -> Any:
    return F.channel_scaled(F.standardized(self, mean, var, plan=plan), t, channels=plan.channels)


def _bias_tangent(F: Any, t: Any, self_shape: Sizes, plan: Plan) -> Any:
    return F.channel_fill(t, channels=plan.channels, shape=self_shape)


_own_tangents: dict[str, Any] = {
    "self": lambda F, t, self, weight, aside, plan: _self_tangent(F, t, self, weight, aside[0], aside[1], plan),
    "weight": lambda F, t, self, aside, plan: _weight_tangent(F, t, self, aside[0], aside[1], plan),
    "bias": _bias_tangent,
}


def _bias_of_normalized(F: Any, g: Any, bias_shape: Sizes, plan: Plan) -> Any:
    return F.channel_total(g, channels=plan.channels, size=bias_shape)


def _norm_row(name: str, node_name: str, shape: Callable[[Any], Sizes], **shows: Any) -> Any:
    """Declare a normalisation by the input's own statistics, which its kernel finds and nodes show in this shape."""
    return op(name, node_name, kernels.normalized_by_own, ("self", "weight", "bias"),
              shows={"input": "self", "weight": _given_weight, **_statistics(shape), **shows}, hides=_internal,
              tangent=_own_tangents, together=lambda F, g, needed, self, weight, aside, weight_shape, plan:
                  F.norm_gradients(g, needed, self, weight, *aside, plan=plan, size=weight_shape))  # fmt: skip


def _self_of_evaluated(F: Any, g: Any, weight: Any, var: Any, plan: Plan) -> Any:
    scale = F.over_deviation(weight, var, channels=(1, plan.channels[1]), eps=plan.eps)
    return F.channel_scaled(g, scale, channels=plan.channels)


def _weight_of_evaluated(
    F: Any, g: Any, self: Any, mean: Any, var: Any, self_shape: Sizes, weight_shape: Sizes, plan: Plan
) -> Any:
    centered = self - F.channel_fill(mean, channels=plan.channels, shape=self_shape)
    y = F.over_deviation(centered, var, channels=plan.channels, eps=plan.eps)
    return F.channel_total(g * y, channels=plan.channels, size=weight_shape)


def _weight_tangent_evaluated(F: Any, t: Any, self: Any, mean: Any, var: Any, self_shape: Sizes, plan: Plan) -> Any:
    centered = self - F.channel_fill(mean, channels=plan.channels, shape=self_shape)
    y = F.over_deviation(centered, var, channels=plan.channels, eps=plan.eps)
    return F.channel_scaled(y, t, channels=plan.channels)


_layer_norm = _norm_row("layer_norm", "NativeLayerNormBackward0", _row_statistics_shape,
                        normalized_shape=lambda node: node.saved_weight_shape)  # fmt: skip
_group_norm = _norm_row("group_norm", "NativeGroupNormBackward0",
                        lambda node: (node.saved_plan.channels[0], node.saved_plan.groups),
                        N=lambda node: node.saved_plan.channels[0],
                        C=lambda node: node.saved_plan.channels[1],
                        HxW=lambda node: math.prod(node.saved_plan.channels[2:]),
                        group=lambda node: node.saved_plan.groups,
                        eps=lambda node: node.saved_plan.eps)  # fmt: skip
_batch_norm = op("batch_norm", "NativeBatchNormBackward0", _normalized, ("self", "weight", "bias", "mean", "var"),
                 shows={"input": "self", "weight": _given_weight, "eps": lambda node: node.saved_plan.eps,
                        "training": lambda node: True, **_statistics(lambda node: node.saved_weight_shape)},
                 hides=_internal,
                 tangent={"self": _self_tangent, "weight": _weight_tangent, "bias": _bias_tangent},
                 self=lambda F, g, self, weight, mean, var, plan:
                     F.normalized_backward(g, self, weight, mean, var, plan=plan),
                 weight=lambda F, g, self, mean, var, weight_shape, plan:
                     F.norm_weight_grad(g, self, mean, var, plan=plan, size=weight_shape),
                 bias=_bias_of_normalized)  # fmt: skip
_batch_norm_evaluated = op("batch_norm_evaluated", "NativeBatchNormBackward0", _normalized,
                           ("self", "weight", "bias", "mean", "var"),
                           shows={"input": "self", "weight": _given_weight, "running_mean": "mean", "running_var": "var",
                                  "eps": lambda node: node.saved_plan.eps, "training": lambda node: False},
                           hides=("bias_shape", "plan", "self_shape", "weight_shape"),
                           tangent={"self": _self_of_evaluated, "weight": _weight_tangent_evaluated, "bias": _bias_tangent},
                           self=_self_of_evaluated, weight=_weight_of_evaluated,
                           bias=_bias_of_normalized)  # fmt: skip


# -- arguments ---------------------------------------------------------------------------------------------------------
def _in_float32(row: Any, input: Any, weight: Any, bias: Any, plan: Plan) -> Any:
    """What the row makes of a half input and parameters of float32: halves."""
    wide = copies.converted(input, weight._array.dtype)
    return copies.converted(row(wide, weight, bias, plan), input._array.dtype)


@lru_cache(maxsize=64)
def _plan_of_rows(shape: Sizes, trailing: int, eps: float, weighted: bool) -> Plan:
    """How rows of so many trailing dimensions are normalised."""
    return Plan((math.prod(shape[:-trailing]), math.prod(shape[-trailing:])), 1, eps, weighted)


def _channels_of(array: np.ndarray) -> Sizes:
    """Where the channels, its second dimension, are in a batch."""
    batch, count, *rest = array.shape
    return (batch, count, math.prod(rest)) if rest else (batch, count)


# -- public ------------------------------------------------------------------------------------------------------------
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Each row less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``, of floats.
    normalized_shape : sequence of int
        The trailing dimensions that are a row.
    weight, bias : Tensor, optional
        Of shape *normalized_shape*.
    eps : float
        Added to the (biased) variance.

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit.

    Notes
    -----
    Source: Ba, Kiros and Hinton, "Layer normalization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0], [5.0, 5.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [ 0.0000,  0.0000]])
    """
    array = array_of("layer_norm", input)
    row = shape_of_rows("layer_norm", array, normalized_shape)
    plan = _plan_of_rows(array.shape, len(row), real(eps, "eps"), weight is not None)
    weight, bias = parameters(array, weight, bias, row, "of same shape as normalized_shape = {}")
    check_kind("LayerNormKernelImpl", array)
    if weight._array.dtype is not array.dtype:
        return _in_float32(_layer_norm, input, weight, bias, plan)
    return _layer_norm(input, weight, bias, plan)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Each row over its root mean square, times *weight*.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``, of floats.
    normalized_shape : sequence of int
        The trailing dimensions that are a row.
    weight : Tensor, optional
        Of shape *normalized_shape*.
    eps : float, optional
        Added to the mean square; by default the dtype's epsilon.

    Notes
    -----
    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0], [1.0, 1.0]]), (2,))
    tensor([[0.8485, 1.1314],
            [1.0000, 1.0000]])
    """
    array = array_of("rms_norm", input)
    shape = integers(normalized_shape, "normalized_shape", "rms_norm")
    if weight is not None and array_of("rms_norm", weight, "weight", 3).shape != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight._array.shape)} and normalized_shape = {list(normalized_shape)}"
        )
    if len(shape) > array.ndim:
        raise ValueError(
            f"rms_norm(): Input tensor must have at least {len(shape)} dimensions, as many as normalized_shape, but got "
            f"{array.ndim}"
        )
    row = shape_of_rows("rms_norm", array, normalized_shape)
    check_kind("rms_norm", array)
    dims = tuple(range(-len(row), 0))
    half = array.dtype.itemsize == 2  # whose squares would overflow
    smallest = float(np.finfo(np.float32 if half else array.dtype).eps) if eps is None else eps
    wide = copies.converted(input, np.dtype(np.float32)) if half else input
    square = reduce.mean(powers.pow(wide, 2), dims, keepdim=True)
    result = pointwise.mul(wide, powers.rsqrt(pointwise.add(square, smallest)))
    if weight is not None:
        result = pointwise.mul(result, weight)
    return copies.converted(result, array.dtype)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Each channel less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    running_mean, running_var : Tensor or None
        ``(C,)``: the statistics that are used; while *training*, the batch's own are used, and these, where given, are
        moved towards them in place.
    weight, bias : Tensor, optional
        ``(C,)``.
    training : bool
        Whether the batch's own statistics are used.
    momentum : float
        How far the running statistics are moved: 1 replaces them.
    eps : float
        Added to the variance.

    Raises
    ------
    ValueError
        If *training* with a single value for each channel.
    RuntimeError
        If shapes or dtypes do not fit, or the running statistics are missing.

    Notes
    -----
    The running variance is of the unbiased kind; the values are divided by the biased one.  Source: Ioffe and Szegedy,
    "Batch normalization: accelerating deep network training by reducing internal covariate shift", 2015.

    Examples
    --------
    >>> import minitorch as torch
    >>> mean, var = torch.zeros(1), torch.ones(1)
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), mean, var, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    >>> mean, var
    (tensor([0.2000]), tensor([1.1000]))
    """
    array = array_of("batch_norm", input)
    if array.ndim < 2:
        given = any([t is not None for t in (running_mean, running_var, weight, bias)])  # for channels there are none
        raise (RuntimeError if given else IndexError)(
            f"batch_norm(): expected an input of shape (N, C, *), but got one of shape {list(array.shape)}"
        )
    channels = _channels_of(array)
    if training and channels[0] * math.prod(channels[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if training and (running_mean is None) != (running_var is None):
        check_running(array, training, running_mean=running_mean, running_var=running_var)
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if flag(training, "training") and real(eps, "eps") <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _over_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _over_channels(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """`batch_norm` of an input that has channels."""
    array = input._array
    channels = _channels_of(array)
    check_running(array, training, running_mean=running_mean, running_var=running_var)
    check_kind("batch_norm", array)
    size = f"should contain {channels[1]} elements"
    plan = Plan(channels, 0, real(eps, "eps"), weight is not None)
    scale, shift = weight, bias
    weight, bias = parameters(array, weight, bias, (channels[1],), f"a vector: it {size}")
    if not array.size:  # as PyTorch does, which needs a channel where there is a weight
        out = copies.clone(input)
        out = out if scale is None else out * scale[0]
        return out if shift is None else out + shift[0]
    if not training:
        return _batch_norm_evaluated(input, weight, bias, running_mean, running_var, plan)
    mean, var = _moments(input, plan)
    if running_mean is not None:
        replace(running_mean, moved, mean, factor=1, momentum=momentum)
    if running_var is not None:
        replace(running_var, moved, var, factor=plan.count / (plan.count - 1), momentum=momentum)
    return _batch_norm(input, weight, bias, mean, var, plan)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Each group of channels of each sample less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    num_groups : int
        Into how many groups of neighbours the channels are divided.
    weight, bias : Tensor, optional
        ``(C,)``.
    eps : float
        Added to the (biased) variance.

    Raises
    ------
    ValueError
        If there is a single value for each group, in one sample.
    RuntimeError
        If shapes or dtypes do not fit.

    Notes
    -----
    Source: Wu and He, "Group normalization", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    array = array_of("group_norm", input)
    if array.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {array.ndim}")
    if integer(num_groups, "num_groups") <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    channels = _channels_of(array)
    if channels[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(array.shape)} and num_groups={num_groups}"
        )
    plan = Plan(channels, num_groups, real(eps, "eps"), weight is not None)
    if channels[0] * plan.count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(array.shape)}")
    expected = f"a vector of size equal to the number of channels in input of shape {list(array.shape)}"
    weight, bias = parameters(array, weight, bias, (channels[1],), expected)
    check_kind("GroupNormKernelImpl", array)
    if weight._array.dtype is not array.dtype:
        return _in_float32(_group_norm, input, weight, bias, plan)
    return _group_norm(input, weight, bias, plan)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """`batch_norm` of each sample by itself; the running statistics are moved towards the means over the batch.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    running_mean, running_var, weight, bias : Tensor, optional
        ``(C,)``.
    use_input_stats : bool
        Whether each sample's own statistics are used, rather than the running ones.
    momentum, eps : float
        As in `batch_norm`.

    Notes
    -----
    Source: Ulyanov, Vedaldi and Lempitsky, "Instance normalization: the missing ingredient for fast stylization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    array = array_of("instance_norm", input)
    for position, (name, given) in enumerate(
        {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items(), 2
    ):
        if given is not None:
            array_of("instance_norm", given, name, position)
    if flag(use_input_stats, "use_input_stats") and math.prod(array.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    batch, count, *rest = array.shape
    mean, var, scale, shift = [
        None if t is None else arrange.repeat(t, batch) for t in (running_mean, running_var, weight, bias)
    ]
    joined = shapes.reshape(input, (1, batch * count, *rest))
    out = _over_channels(joined, mean, var, scale, shift, use_input_stats, momentum, eps)
    for running, moved_there in ((running_mean, mean), (running_var, var)):
        if use_input_stats and running is not None and moved_there is not None:
            replace(running, mean_of_batch, moved_there, batch=batch)
    return shapes.view(out, array.shape)
