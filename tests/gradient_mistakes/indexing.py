"""Cumulative sums, sorting, gathering, permuting; and mistakes that show only in part of the inputs."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._models import const, convnet, mlp, motion, recurrent
from ._record import Draw, mistake, normal, positive


class CumulativeSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.cumsum(0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.cumsum(0)


mistake(
    "cumsum_not_reversed",
    "cumulative sum not reversed",
    lambda x: CumulativeSum.apply(x),
    (normal(5),),
    lambda x: x.cumsum(0),
    ("CumulativeSumBackward", "CumulativeSum.apply(x)"),
)


class RunningMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        count = torch.arange(1, x.shape[1] + 1)
        ctx.save_for_backward(count)
        return x.cumsum(1) / count

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (count,) = ctx.saved_tensors
        return (g / count).flip(1).cumsum(1)


mistake(
    "running_mean_not_flipped_back",
    "cumulative sum not reversed",
    lambda x: recurrent(x, lambda h: RunningMean.apply(h)),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, lambda h: h.cumsum(1) / torch.arange(1, 5)),
    ("RunningMeanBackward", "RunningMean.apply(h)"),
    inside=True,
)


class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, order = x.sort()
        ctx.save_for_backward(order)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[ctx.saved_tensors[0]]


mistake(
    "sort_applies_the_order_again",
    "wrong index",
    lambda x: Sorted.apply(x),
    (lambda generator: torch.tensor([0.5, 2.0, -1.0, 1.0, 0.7], dtype=torch.float64),),
    lambda x: x.sort().values,
    ("SortedBackward", "Sorted.apply(x)"),
    shows="orders that are not their own inverse",
)


class Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, index: Any) -> Any:
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.gather(1, index)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.zeros(ctx.shape, dtype=g.dtype).scatter(1, ctx.saved_tensors[0], g), None


mistake(
    "gather_scatters_without_adding",
    "overwritten accumulation",
    lambda x: mlp(x, lambda h: Gathered.apply(h, torch.tensor([[0, 1, 1, 2, 5, 5]] * 3))),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h[:, torch.tensor([0, 1, 1, 2, 5, 5])]),
    ("GatheredBackward", "Gathered.apply(h, "),
    shows="repeated indices",
    inside=True,
)


class Rolled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.roll(1, -1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.roll(1, -1)


mistake(
    "roll_in_the_same_direction",
    "wrong index",
    lambda x: motion(x, lambda p: Rolled.apply(p) - p),
    (normal(8),),
    lambda x: motion(x, lambda p: p.roll(1, -1) - p),
    ("RolledBackward", "Rolled.apply(p)"),
    shows="more than two elements",
    inside=True,
)


class Permuted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.permute(1, 2, 0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.permute(1, 2, 0)


mistake(
    "permuted_the_same_way_back",
    "wrong index",
    lambda x: Permuted.apply(x),
    (normal(3, 3, 3),),
    lambda x: x.permute(1, 2, 0),
    ("PermutedBackward", "Permuted.apply(x)"),
    shows="cubes",
)


class CumulativeProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.cumprod(0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return (g * y).flip(0).cumsum(0).flip(0) / x


mistake(
    "cumprod_divides_by_zero",
    "NaN at an ordinary point",
    lambda x: CumulativeProduct.apply(x),
    (lambda generator: torch.tensor([1.5, 0.0, -2.0], dtype=torch.float64),),
    lambda x: x.cumprod(0),
    ("CumulativeProductBackward", "CumulativeProduct.apply(x)"),
    shows="inputs that are zero",
)


class Sinc(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.sinc(x / torch.pi)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x * x.cos() - x.sin()) / x**2


mistake(
    "sinc_without_its_limit",
    "NaN at an ordinary point",
    lambda x: motion(x, lambda p: Sinc.apply(p * const(8).round())),
    (normal(8),),
    lambda x: motion(x, lambda p: torch.sinc(p * const(8).round() / torch.pi)),
    ("SincBackward", "Sinc.apply(p * "),
    shows="inputs that are zero",
    inside=True,
)


def _where_zero(x: Any) -> Any:
    ratio = torch.sin(x) / x
    return torch.where(x == 0, torch.ones_like(x), ratio)


mistake(
    "where_does_not_shield_the_division",
    "NaN at an ordinary point",
    _where_zero,
    (lambda generator: torch.tensor([0.5, 0.0, -2.0], dtype=torch.float64),),
    lambda x: torch.sinc(x / torch.pi),
    ("DivBackward0", "ratio = torch.sin(x) / x"),
    shows="inputs that are zero",
)


class Log1p(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.log1p()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ((1 + x) - 1) / (x * (1 + x))


def tiny(*shape: int) -> Draw:
    """Numbers about 1e-17."""
    return lambda generator: positive(*shape)(generator) * 1e-17


mistake(
    "log1p_loses_small_numbers",
    "wrong only for small inputs",
    lambda x: Log1p.apply(x),
    (tiny(4),),
    lambda x: x.log1p(),
    ("Log1pBackward", "Log1p.apply(x)"),
    shows="inputs near 1e-17",
)


class FirstRowOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.t(), x[0][:, None] * g[0]


mistake(
    "weight_gets_first_sample_only",
    "wrong at batch size above 1",
    lambda x, w: FirstRowOnly.apply(x, w),
    (normal(3, 2), normal(2, 4)),
    lambda x, w: x @ w,
    ("FirstRowOnlyBackward", "FirstRowOnly.apply(x, w)"),
    shows="batch size above 1",
)


class PerSample(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        norm = x.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1)
        ctx.save_for_backward(x, norm)
        return x / norm

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, norm = ctx.saved_tensors
        return g / norm - x * (g * x).sum() / norm**3


mistake(
    "samples_share_one_projection",
    "wrong at batch size above 1",
    lambda x: convnet(x, lambda h: PerSample.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: h / h.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1)),
    ("PerSampleBackward", "PerSample.apply(h)"),
    shows="batch size above 1",
    inside=True,
)


class MemoryOrder(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        flat = x.detach().numpy().ravel(order="K").copy()
        return g * torch.from_numpy(flat).reshape(x.shape).cos()


mistake(
    "reads_memory_in_order",
    "wrong for non-contiguous input only",
    lambda x: MemoryOrder.apply(x),
    (normal(3, 4),),
    torch.sin,
    ("MemoryOrderBackward", "MemoryOrder.apply(x)"),
    shows="inputs that are not contiguous",
    at=lambda inputs: [x.detach().t().contiguous().t().requires_grad_() for x in inputs],
)


class Strided(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * g * torch.as_strided(x.detach(), x.shape, (x.shape[1], 1))


mistake(
    "assumes_contiguous_strides",
    "wrong for non-contiguous input only",
    lambda x: mlp(x, lambda h: Strided.apply(h.t().contiguous().t())),
    (normal(3, 4),),
    lambda x: mlp(x, torch.square),
    ("StridedBackward", "Strided.apply(h.t()"),
    shows="inputs that are not contiguous",
    inside=True,
)


class AssumesFirst(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        ga = g * b.exp() if ctx.needs_input_grad[0] else None
        gb = g * a * b.exp() if all(ctx.needs_input_grad) else None
        return ga, gb


mistake(
    "second_gradient_only_with_first",
    "wrong for a subset of the inputs",
    lambda a, b: AssumesFirst.apply(a, b),
    (normal(3), normal(3)),
    lambda a, b: a * b.exp(),
    ("AssumesFirstBackward", "AssumesFirst.apply(a, b)"),
    shows="the first input requires no gradient",
    at=lambda inputs: [inputs[0].detach(), inputs[1]],
)


class Factorised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = F.silu(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        s = y / x
        return g * (s + y * (1 - s))


mistake(
    "silu_divides_by_its_input",
    "NaN at an ordinary point",
    lambda x: Factorised.apply(x - 1),
    (lambda generator: torch.tensor([2.0, 1.0, -0.5], dtype=torch.float64),),
    lambda x: F.silu(x - 1),
    ("FactorisedBackward", "Factorised.apply(x - 1)"),
    shows="inputs that are zero",
)
