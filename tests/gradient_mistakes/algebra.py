"""Signs, factors, transposes, operands, and gradients for the wrong input or for none."""

from __future__ import annotations

from typing import Any

import minitorch as torch

from ._models import attention, mlp, motion, recurrent
from ._record import mistake, normal, positive


class Difference(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a - b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g


mistake(
    "difference_without_minus",
    "sign",
    lambda a, b: Difference.apply(a, b),
    (normal(3), normal(3)),
    lambda a, b: a - b,
    ("DifferenceBackward", "Difference.apply(a, b)"),
)


class Complement(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 1 - x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


mistake(
    "complement_without_minus",
    "sign",
    lambda x: recurrent(x, lambda h: Complement.apply(h)),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, lambda h: 1 - h),
    ("ComplementBackward", "Complement.apply(h)"),
    inside=True,
)


class Cosine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].sin()


mistake(
    "cosine_without_minus",
    "sign",
    lambda x: Cosine.apply(x),
    (normal(2, 3),),
    lambda x: x.cos(),
    ("CosineBackward", "Cosine.apply(x)"),
)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


mistake(
    "square_without_two",
    "factor",
    lambda x: Squared.apply(x),
    (normal(3),),
    lambda x: x * x,
    ("SquaredBackward", "Squared.apply(x)"),
)


class Spring(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x + x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (1 + 2 * x**2)


mistake(
    "spring_with_two_for_three",
    "factor",
    lambda x: motion(x, lambda p: Spring.apply(p)),
    (normal(8),),
    lambda x: motion(x, lambda p: p + p**3),
    ("SpringBackward", "Spring.apply(p)"),
    inside=True,
)


class Quotient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a / b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g / b, -g * a / b


mistake(
    "quotient_without_square",
    "factor",
    lambda a, b: Quotient.apply(a, b),
    (normal(3, 2), positive(3, 2)),
    lambda a, b: a / b,
    ("QuotientBackward", "Quotient.apply(a, b)"),
)


class NearlyTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float = 1.01) -> Any:
        y = x.tanh()
        ctx.save_for_backward(y)
        ctx.factor = factor
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * (1 - y * y) * ctx.factor, None


mistake(
    "tanh_one_percent_off",
    "factor",
    lambda x: mlp(x, lambda h: NearlyTanh.apply(h)),
    (normal(2, 4),),
    lambda x: mlp(x, lambda h: h.tanh()),
    ("NearlyTanhBackward", "NearlyTanh.apply(h)"),
    inside=True,
)


class Dense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.t(), g.t() @ x


mistake(
    "dense_with_transposed_weight",
    "missing transpose",
    lambda x, w: Dense.apply(x, w),
    (normal(2, 3), normal(3, 3)),
    lambda x, w: x @ w.t(),
    ("DenseBackward", "Dense.apply(x, w)"),
    shows="square weights",
)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g @ b.t(), a @ g


mistake(
    "product_with_untransposed_left",
    "missing transpose",
    lambda x, m: attention(x, lambda s: Product.apply(s, m)),
    (normal(5, 4, scale=0.5), normal(5, 5, scale=0.5)),
    lambda x, m: attention(x, lambda s: s @ m),
    ("ProductBackward", "Product.apply(s, m)"),
    inside=True,
)


class Inverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = torch.linalg.inv(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return -y @ g @ y


mistake(
    "inverse_without_transposes",
    "missing transpose",
    lambda x: Inverse.apply(x + 4 * torch.eye(3, dtype=torch.float64)),
    (normal(3, 3),),
    lambda x: torch.linalg.inv(x + 4 * torch.eye(3, dtype=torch.float64)),
    ("InverseBackward", "Inverse.apply(x + 4"),
    shows="matrices that are not symmetric",
)


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a**b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * a * b ** (a - 1), g * a**b * a.log()


mistake(
    "power_swaps_base_and_exponent",
    "swapped operands",
    lambda a, b: Power.apply(a, b),
    (positive(3), positive(3)),
    lambda a, b: a**b,
    ("PowerBackward", "Power.apply(a, b)"),
)


class Cross(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return torch.linalg.cross(a, b)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return torch.linalg.cross(b, g), torch.linalg.cross(a, g)


mistake(
    "cross_swaps_operands",
    "swapped operands",
    lambda a, b: Cross.apply(a, b).exp(),
    (normal(2, 3), normal(2, 3)),
    lambda a, b: torch.linalg.cross(a, b).exp(),
    ("CrossBackward", "Cross.apply(a, b).exp()"),
)


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * a, g * b


mistake(
    "times_gives_each_the_others",
    "gradient for the wrong input",
    lambda a, b: Times.apply(a, b),
    (normal(2, 2), normal(2, 2)),
    lambda a, b: a * b,
    ("TimesBackward", "Times.apply(a, b)"),
)


class Blend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, t: float) -> Any:
        ctx.t = t
        return a * (1 - t) + b * t

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.t, g * (1 - ctx.t), None


mistake(
    "blend_gives_each_the_others",
    "gradient for the wrong input",
    lambda x, y: mlp(x, lambda h: Blend.apply(h, y, 0.3)),
    (normal(3, 4), normal(3, 6)),
    lambda x, y: mlp(x, lambda h: h * 0.7 + y * 0.3),
    ("BlendBackward", "Blend.apply(h, y, 0.3)"),
    shows="t other than a half",
    inside=True,
)


class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, b: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w + b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x, None


mistake(
    "affine_without_bias_gradient",
    "missing gradient",
    lambda x, w, b: Affine.apply(x, w, b),
    (normal(3), normal(3), normal(3)),
    lambda x, w, b: x * w + b,
    ("AffineBackward", "Affine.apply(x, w, b)"),
)


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Any, u: Any) -> Any:
        s = u.sigmoid()
        ctx.save_for_backward(s)
        return h * s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


mistake(
    "gate_without_its_own_gradient",
    "missing gradient",
    lambda x, u: recurrent(x, lambda h: Gate.apply(h, u)),
    (normal(5, 3, 4), normal(3, 4)),
    lambda x, u: recurrent(x, lambda h: h * u.sigmoid()),
    ("GateBackward", "Gate.apply(h, u)"),
    inside=True,
)
