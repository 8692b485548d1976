"""Right at first order, wrong at second; wrong under create_graph; and functions that differ from their reference."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._models import convnet, mlp, motion, recurrent
from ._record import Blame, mistake, normal, positive


class CubeDetached(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach()
        return g * 3 * x**2


mistake(
    "cube_detaches_what_it_saved",
    "wrong only at second order",
    lambda x: CubeDetached.apply(x),
    (normal(4),),
    lambda x: x**3,
    Blame("CubeDetachedBackward", "CubeDetached.apply(x)", 2, "x = ctx.saved_tensors[0].detach()"),
    proof="second order",
)


class SoftplusNumpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return F.softplus(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        slope = torch.from_numpy(ctx.saved_tensors[0].detach().sigmoid().numpy())
        return g * slope


mistake(
    "softplus_slope_through_numpy",
    "wrong only at second order",
    lambda x: mlp(x, lambda h: SoftplusNumpy.apply(h)),
    (normal(2, 4),),
    lambda x: mlp(x, F.softplus),
    Blame("SoftplusNumpyBackward", "SoftplusNumpy.apply(h)", 2, "slope = torch.from_numpy("),
    proof="second order",
    inside=True,
)


class ExpKeepsData(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.y = y.detach()
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.y


mistake(
    "exp_keeps_a_detached_result",
    "wrong only at second order",
    lambda x: ExpKeepsData.apply(x),
    (normal(4),),
    torch.exp,
    Blame("ExpKeepsDataBackward", "ExpKeepsData.apply(x)", 2, "ctx.y = y.detach()"),
    proof="second order",
)


class SineSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, g: Any, x: Any) -> Any:
        ctx.save_for_backward(g, x)
        return g * x.cos()

    @staticmethod
    def backward(ctx: Any, h: Any) -> Any:
        g, x = ctx.saved_tensors
        return h * x.cos(), h * g * x.sin()


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return SineSlope.apply(g, ctx.saved_tensors[0])


mistake(
    "sine_second_slope_with_wrong_sign",
    "wrong only at second order",
    lambda x: motion(x, lambda p: Sine.apply(p)),
    (normal(8),),
    lambda x: motion(x, torch.sin),
    Blame("SineSlopeBackward", "SineSlope.apply(g, ctx.saved_tensors[0])", 2, "motion(x, lambda p: Sine.apply(p))"),
    proof="second order",
    inside=True,
)


class ProductSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, g: Any, b: Any) -> Any:
        ctx.save_for_backward(g, b)
        return g * b

    @staticmethod
    def backward(ctx: Any, h: Any) -> Any:
        _, b = ctx.saved_tensors
        return h * b, None


class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return ProductSlope.apply(g, b), g * a


mistake(
    "product_without_mixed_derivative",
    "wrong only at second order",
    lambda a, b: Multiply.apply(a, b),
    (normal(3), normal(3)),
    lambda a, b: a * b,
    Blame("ProductSlopeBackward", "ProductSlope.apply(g, b)", 2, "Multiply.apply(a, b)"),
    proof="second order",
)


class CentredGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            slope = 1 - x.tanh().square()
        return g * slope


mistake(
    "tanh_slope_under_no_grad",
    "wrong only at second order",
    lambda x: convnet(x, lambda h: CentredGradient.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, torch.tanh),
    Blame("CentredGradientBackward", "CentredGradient.apply(h)", 2, "slope = 1 - x.tanh().square()"),
    proof="second order",
    inside=True,
)


class Approximate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sigmoid()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        s = ctx.saved_tensors[0].sigmoid()
        return g * s if torch.is_grad_enabled() else g * s * (1 - s)


mistake(
    "shortcut_under_create_graph",
    "wrong under create_graph",
    lambda x: recurrent(x, lambda h: Approximate.apply(h)),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, torch.sigmoid),
    ("ApproximateBackward", "Approximate.apply(h)"),
    proof="create_graph",
    shows="create_graph=True",
    inside=True,
)


class Quadratic(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.count = x.numel()
        return (x * x).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g.expand(ctx.count)


mistake(
    "forgets_its_input_altogether",
    "missing chain-rule factor",
    lambda x: Quadratic.apply(x),
    (normal(3),),
    lambda x: (x * x).sum(),
    ("QuadraticBackward", "Quadratic.apply(x)"),
)


def _my_huber(x: Any, y: Any) -> Any:
    d = (x - y).abs()
    return torch.where(d < 1, d * d, d - 0.5).mean()


mistake(
    "huber_without_half",
    "differs from its reference",
    _my_huber,
    (normal(8, scale=2.0), normal(8)),
    F.smooth_l1_loss,
    ("reference", ""),
    proof="reference",
    reference=F.smooth_l1_loss,
    shows="differences below 1",
)
mistake(
    "logit_loss_with_wrong_sign",
    "differs from its reference",
    lambda x: (F.softplus(x) - x * 0.3).mean(),
    (normal(6),),
    lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.7)),
    ("reference", ""),
    proof="reference",
    reference=lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.7)),
)
mistake(
    "variance_with_other_correction",
    "differs from its reference",
    lambda x: mlp(x, lambda h: (h - h.mean(0)) / (h.var(0) + 1e-5).sqrt()),
    (normal(4, 4),),
    lambda x: mlp(x, lambda h: F.batch_norm(h, None, None, training=True)),
    ("reference", ""),
    proof="reference",
    inside=True,
    reference=lambda x: mlp(x, lambda h: F.batch_norm(h, None, None, training=True)),
)
mistake(
    "divergence_of_unnormalised",
    "differs from its reference",
    lambda p, q: (p * (p / q).log()).mean(),
    (positive(2, 3), positive(2, 3)),
    lambda p, q: F.kl_div(q.log(), p, reduction="batchmean"),
    ("reference", ""),
    proof="reference",
    reference=lambda p, q: F.kl_div(q.log(), p, reduction="batchmean"),
)
