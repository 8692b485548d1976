"""The rows of normalisation over rows, channels or groups of channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._kernels import normalize as kernels
from .._kernels.normalize import Plan
from .._kernels.reduce import sum as sum_kernel
from .._op import op
from .._runtime import traced, wrap
from .._saved import reveal
from ._composition import way_back

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


def _standardized_bend(
    grad: np.ndarray, other: np.ndarray, self: np.ndarray, mean: np.ndarray, var: np.ndarray, *, plan: Plan
) -> np.ndarray:
    return kernels.standardized_bend(grad, other, self, mean, var, plan)


def _turn(F: Any, first: Any, second: Any, third: Any, self: Any, plan: Plan) -> Any:
    """The derivative of ``<first, standardized_bend(second, third, self)>`` by *self*.

    With y the standardised values, r one over the deviation, m() the mean, u' = u - m(u) and s(u) = m(u' y), that inner product
    is -r^2 times the sum of s(u) (m(v' w') - s(v) s(w)) over the three ways to take one as u and the others as v and w, and its
    derivative r^3 times the sum of 2 y s(u) (m(v' w') - s(v) s(w)) - (u' - s(u) y) (m(v' w') - 3 s(v) s(w)).
    """
    own = tuple(self.shape)

    def average(t: Any) -> Any:
        return F.mean(t, dim=plan.axes, keepdim=True)

    def centered(t: Any) -> Any:
        t = F.view(t, size=plan.shape)
        return t - average(t)

    x = centered(self)
    r = F.rsqrt(average(x * x) + plan.eps)
    y = x * r
    u, v, w = centered(first), centered(second), centered(third)
    by_u, by_v, by_w = average(u * y), average(v * y), average(w * y)
    terms: Any = None
    for one, share, of_others, shares in (
        (u, by_u, average(v * w), by_v * by_w),
        (v, by_v, average(u * w), by_u * by_w),
        (w, by_w, average(u * v), by_u * by_v),
    ):
        slope = of_others - 3 * shares
        term = y * (share * (2 * (of_others - shares) + slope)) - one * slope
        terms = term if terms is None else terms + term
    return F.view(terms * (r * r * r), size=own)


moments = op("norm_moments", "", _moments_kernel, ("self",), outputs=2)
op("standardized", "NativeBatchNormBackward0", _standardized, ("self", "mean", "var"), tangent="formulas",
   self=lambda F, g, self, mean, var, plan: F.standardized_backward(g, self, mean, var, plan=plan))  # fmt: skip
op("standardized_backward", "NativeBatchNormBackwardBackward0", _standardized_backward, ("grad", "self", "mean", "var"),
   tangent="formulas",
   grad=lambda F, g, self, mean, var, plan: F.standardized_backward(g, self, mean, var, plan=plan),
   self=lambda F, g, grad, self, mean, var, plan: F.standardized_bend(g, grad, self, mean, var, plan=plan))  # fmt: skip

# The derivative of <grad, standardized_backward(other, self)>, which is <other, standardized_backward(grad, self)>, by self.
op("standardized_bend", "NativeBatchNormBackwardBackwardBackward0", _standardized_bend,
   ("grad", "other", "self", "mean", "var"), tangent="formulas",
   grad=lambda F, g, other, self, mean, var, plan: F.standardized_bend(g, other, self, mean, var, plan=plan),
   other=lambda F, g, grad, self, mean, var, plan: F.standardized_bend(g, grad, self, mean, var, plan=plan),
   self=lambda F, g, grad, other, self, plan: _turn(F, g, grad, other, self, plan))  # fmt: skip


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
    scaled = F.channel_scaled(grad, weight, channels=plan.channels)
    return F.standardized_bend(g, scaled, self, mean, var, plan=plan)


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


layer_norm_row = _norm_row("layer_norm", "NativeLayerNormBackward0", _row_statistics_shape,
                        normalized_shape=lambda node: node.saved_weight_shape)  # fmt: skip
group_norm_row = _norm_row("group_norm", "NativeGroupNormBackward0",
                        lambda node: (node.saved_plan.channels[0], node.saved_plan.groups),
                        N=lambda node: node.saved_plan.channels[0],
                        C=lambda node: node.saved_plan.channels[1],
                        HxW=lambda node: math.prod(node.saved_plan.channels[2:]),
                        group=lambda node: node.saved_plan.groups,
                        eps=lambda node: node.saved_plan.eps)  # fmt: skip
batch_norm_row = op("batch_norm", "NativeBatchNormBackward0", _normalized, ("self", "weight", "bias", "mean", "var"),
                 shows={"input": "self", "weight": _given_weight, "eps": lambda node: node.saved_plan.eps,
                        "training": lambda node: True, **_statistics(lambda node: node.saved_weight_shape)},
                 hides=_internal,
                 tangent={"self": _self_tangent, "weight": _weight_tangent, "bias": _bias_tangent},
                 self=lambda F, g, self, weight, mean, var, plan:
                     F.normalized_backward(g, self, weight, mean, var, plan=plan),
                 weight=lambda F, g, self, mean, var, weight_shape, plan:
                     F.norm_weight_grad(g, self, mean, var, plan=plan, size=weight_shape),
                 bias=_bias_of_normalized)  # fmt: skip
batch_norm_evaluated_row = op("batch_norm_evaluated", "NativeBatchNormBackward0", _normalized,
                           ("self", "weight", "bias", "mean", "var"),
                           shows={"input": "self", "weight": _given_weight, "running_mean": "mean", "running_var": "var",
                                  "eps": lambda node: node.saved_plan.eps, "training": lambda node: False},
                           hides=("bias_shape", "plan", "self_shape", "weight_shape"),
                           tangent={"self": _self_of_evaluated, "weight": _weight_tangent_evaluated, "bias": _bias_tangent},
                           self=_self_of_evaluated, weight=_weight_of_evaluated,
                           bias=_bias_of_normalized)  # fmt: skip
