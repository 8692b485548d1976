"""Masks of kinks, of missing entries and of maxima."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._models import const, convnet, mlp, recurrent
from ._record import Blame, mistake, normal, uniform


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clamp(-0.5, 0.5)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0] < 0.5)


mistake(
    "clip_forgets_lower_end",
    "wrong clamp mask",
    lambda x: Clip.apply(x),
    (normal(8),),
    lambda x: x.clamp(-0.5, 0.5),
    ("ClipBackward", "Clip.apply(x)"),
    shows="inputs below the lower end",
)


class ClipByOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.clamp(-0.3, 0.3)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0].abs() <= 0.3)


mistake(
    "clip_masks_by_its_output",
    "wrong clamp mask",
    lambda x: recurrent(x, lambda h: ClipByOutput.apply(h)),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, lambda h: h.clamp(-0.3, 0.3)),
    ("ClipByOutputBackward", "ClipByOutput.apply(h)"),
    shows="inputs outside the interval",
    inside=True,
)


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * torch.ones_like(ctx.saved_tensors[0])


mistake(
    "leaky_with_mask_of_ones",
    "wrong mask",
    lambda x: convnet(x, lambda h: Leaky.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: F.leaky_relu(h, 0.1)),
    ("LeakyBackward", "Leaky.apply(h)"),
    shows="negative inputs",
    inside=True,
)


class MaskedMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, labels: Any) -> Any:
        ctx.save_for_backward(labels)
        keep = labels >= 0
        return (x * keep).sum() / keep.sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (labels,) = ctx.saved_tensors
        return g * (labels > 0).to(g.dtype) / (labels >= 0).sum(), None


mistake(
    "mask_greater_for_greater_equal",
    "wrong mask",
    lambda x: MaskedMean.apply(x, torch.tensor([0, 2, -1, 1, 0])),
    (normal(5),),
    lambda x: (x * torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0])).sum() / 4,
    ("MaskedMeanBackward", "MaskedMean.apply(x, "),
    shows="labels that are 0",
)


class Rectified(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0] >= 0)


mistake(
    "relu_one_at_zero",
    "wrong mask",
    lambda x: Rectified.apply(x),
    (lambda generator: torch.tensor([-1.0, 0.0, 2.0, 0.0], dtype=torch.float64),),
    torch.relu,
    ("RectifiedBackward", "Rectified.apply(x)"),
    shows="exactly at zero, only where the reference's value at its kink is asked for",
    reference=torch.relu,
)


class Hinge(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, margin: Any) -> Any:
        return (1 - margin).clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g


mistake(
    "hinge_without_mask",
    "wrong mask",
    lambda x: mlp(x, lambda h: Hinge.apply(2 * h)),
    (normal(4, 4),),
    lambda x: mlp(x, lambda h: torch.relu(1 - 2 * h)),
    ("HingeBackward", "Hinge.apply(2 * h)"),
    shows="margins above 1",
    inside=True,
)


class RowMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.columns = x.shape[1]
        return x.max(1).values

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:, None].expand(-1, ctx.columns)


mistake(
    "row_max_to_all",
    "maximum to all elements",
    lambda x: RowMax.apply(x),
    (normal(3, 4),),
    lambda x: x.max(1).values,
    ("RowMaxBackward", "RowMax.apply(x)"),
)


class MaxOfPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.maximum(x, x.flip(-1))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g + g.flip(-1)) / 2


mistake(
    "max_of_pairs_shared",
    "maximum to all elements",
    lambda x: convnet(x, lambda h: MaxOfPairs.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: torch.maximum(h, h.flip(-1))),
    ("MaxOfPairsBackward", "MaxOfPairs.apply(h)"),
    inside=True,
)


class Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, keep: Any) -> Any:
        ctx.save_for_backward(keep)
        return x * keep / 0.6

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


mistake(
    "dropout_without_scale",
    "missing chain-rule factor",
    lambda x: mlp(x, lambda h: Dropped.apply(h, const(*h.shape) > -0.3)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h * (const(*h.shape) > -0.3) / 0.6),
    ("DroppedBackward", "Dropped.apply(h, "),
    inside=True,
)


class Shrink(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sign() * (x.abs() - 0.5).clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0] > 0.5)


mistake(
    "shrink_forgets_negative_side",
    "wrong only for negative values",
    lambda x: Shrink.apply(x),
    (normal(8),),
    lambda x: F.softshrink(x, 0.5),
    ("ShrinkBackward", "Shrink.apply(x)"),
    shows="inputs below -0.5",
)


class Magnitude(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.abs() * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2 * ctx.saved_tensors[0]


mistake(
    "signed_square_without_abs",
    "wrong only for negative values",
    lambda x: mlp(x, lambda h: Magnitude.apply(h)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h.abs() * h),
    ("MagnitudeBackward", "Magnitude.apply(h)"),
    shows="negative inputs",
    inside=True,
)


class SoftPlus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp().log1p()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * torch.where(x > 3, torch.ones_like(x), x.sigmoid())


mistake(
    "softplus_cut_off_too_early",
    "wrong only for large inputs",
    lambda x: SoftPlus.apply(x),
    (uniform(2.0, 5.0, 6),),
    F.softplus,
    ("SoftPlusBackward", "SoftPlus.apply(x)"),
    shows="inputs above 3",
)


class Huber(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Any) -> Any:
        ctx.save_for_backward(d)
        return torch.where(d.abs() < 1, d * d / 2, d.abs() - 0.5)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (d,) = ctx.saved_tensors
        return g * torch.where(d.abs() < 1, d, torch.ones_like(d))


mistake(
    "huber_without_sign",
    "wrong only for large inputs",
    lambda x: Huber.apply(x),
    (normal(12, scale=2.0),),
    lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"),
    ("HuberBackward", "Huber.apply(x)"),
    shows="inputs below -1",
)


class Logistic(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return F.softplus(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        e = ctx.saved_tensors[0].exp()
        return g * e / (1 + e)


mistake(
    "logistic_overflows",
    "wrong only for large inputs",
    lambda x: Logistic.apply(x),
    (lambda generator: torch.tensor([0.5, 3.0, 800.0], dtype=torch.float64),),
    F.softplus,
    Blame("LogisticBackward", "Logistic.apply(x)"),
    shows="inputs above 710",
)
