"""The product rule, the chain rule, and constants taken for variables."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._models import const, convnet, mlp, recurrent
from ._record import mistake, normal


class TimesExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].exp()


mistake(
    "times_exp_without_second_term",
    "missing term of the product rule",
    lambda x: TimesExp.apply(x),
    (normal(4),),
    lambda x: x * x.exp(),
    ("TimesExpBackward", "TimesExp.apply(x)"),
)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].sigmoid()


mistake(
    "swish_without_second_term",
    "missing term of the product rule",
    lambda x: convnet(x, lambda h: Swish.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, F.silu),
    ("SwishBackward", "Swish.apply(h)"),
    inside=True,
)


class SteepSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = (3 * x).sigmoid()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


mistake(
    "steep_sigmoid_without_three",
    "missing chain-rule factor",
    lambda x: SteepSigmoid.apply(x),
    (normal(4),),
    lambda x: (3 * x).sigmoid(),
    ("SteepSigmoidBackward", "SteepSigmoid.apply(x)"),
)


class TanhGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        t = (0.7978845608 * (x + 0.044715 * x**3)).tanh()
        ctx.save_for_backward(x, t)
        return 0.5 * x * (1 + t)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, t = ctx.saved_tensors
        return g * 0.5 * (1 + t + x * (1 - t * t) * 0.7978845608)


mistake(
    "gelu_without_inner_cubic",
    "missing chain-rule factor",
    lambda x: convnet(x, lambda h: TanhGelu.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: 0.5 * h * (1 + (0.7978845608 * (h + 0.044715 * h**3)).tanh())),
    ("TanhGeluBackward", "TanhGelu.apply(h)"),
    inside=True,
)


class Signed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w.sign(), g * x


mistake(
    "sign_treated_as_variable",
    "constant treated as variable",
    lambda x, w: Signed.apply(x, w),
    (normal(4), normal(4)),
    lambda x, w: x * w.sign(),
    ("SignedBackward", "Signed.apply(x, w)"),
)


class Quantised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, step: Any) -> Any:
        ctx.save_for_backward(x)
        return x * (step * 4).floor()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 6, (g * x * 4).sum()


mistake(
    "floor_treated_as_variable",
    "constant treated as variable",
    lambda x, step: mlp(x, lambda h: Quantised.apply(h, step)),
    (normal(3, 4), lambda generator: torch.tensor(1.6, dtype=torch.float64)),
    lambda x, step: mlp(x, lambda h: h * (step * 4).floor()),
    ("QuantisedBackward", "Quantised.apply(h, step)"),
    inside=True,
)


class Residual(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        w = const(4, 4)
        y = (x @ w).tanh()
        ctx.save_for_backward(y, w)
        return x + y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        y, _ = ctx.saved_tensors
        return g + g * (1 - y * y)


mistake(
    "residual_without_weight",
    "missing chain-rule factor",
    lambda x: recurrent(x, lambda h: Residual.apply(h)),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, lambda h: h + (h @ const(4, 4)).tanh()),
    ("ResidualBackward", "Residual.apply(h)"),
    inside=True,
)
