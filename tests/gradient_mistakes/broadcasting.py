"""Sums over broadcast dimensions, means, axes, reductions, and what is done to g."""

from __future__ import annotations

from typing import Any

import minitorch as torch

from ._models import attention, const, mlp
from ._record import mistake, normal, positive


class ColumnBias(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, b: Any) -> Any:
        return x + b[:, None]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g  # the engine sums the rows, where columns were broadcast


mistake(
    "column_bias_not_summed",
    "missing unbroadcast",
    lambda x, b: ColumnBias.apply(x, b),
    (normal(4, 4), normal(4)),
    lambda x, b: x + b[:, None],
    ("ColumnBiasBackward", "ColumnBias.apply(x, b)"),
)


class AddRow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, row: Any) -> Any:
        return x + row.expand(x.shape)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g[:1]


mistake(
    "row_gets_first_gradient_only",
    "missing unbroadcast",
    lambda x, row: mlp(x, lambda h: AddRow.apply(h, row)),
    (normal(3, 4), normal(1, 6)),
    lambda x, row: mlp(x, lambda h: h + row),
    ("AddRowBackward", "AddRow.apply(h, row)"),
    shows="batch size above 1",
    inside=True,
)


class OuterSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a[:, None] + b[None, :]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.diagonal(), g.diagonal()


mistake(
    "outer_sum_takes_diagonal",
    "missing unbroadcast",
    lambda a, b: OuterSum.apply(a, b),
    (normal(3), normal(3)),
    lambda a, b: a[:, None] + b,
    ("OuterSumBackward", "OuterSum.apply(a, b)"),
)


class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, s: Any) -> Any:
        ctx.save_for_backward(x, s)
        return x * s[:, None]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        return g * s[:, None], (g * x).sum(0)


mistake(
    "scale_rows_sums_over_rows",
    "wrong axis",
    lambda x, s: attention(x, lambda a: ScaleRows.apply(a, s)),
    (normal(5, 4), positive(5)),
    lambda x, s: attention(x, lambda a: a * s[:, None]),
    ("ScaleRowsBackward", "ScaleRows.apply(a, s)"),
    inside=True,
)


class SumColumns(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.sum(0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:, None].expand(g.shape[0], g.shape[0])


mistake(
    "sum_spreads_along_other_axis",
    "wrong axis",
    lambda x: SumColumns.apply(x),
    (normal(4, 4),),
    lambda x: x.sum(0),
    ("SumColumnsBackward", "SumColumns.apply(x)"),
    shows="square matrices",
)


class UnitRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        norm = x.norm(dim=1, keepdim=True)
        y = x / norm
        ctx.save_for_backward(y, norm)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        y, norm = ctx.saved_tensors
        return (g - y * (g * y).sum(0, keepdim=True)) / norm


mistake(
    "unit_rows_projects_along_columns",
    "wrong axis",
    lambda x: mlp(x, lambda h: UnitRows.apply(h)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h / h.norm(dim=1, keepdim=True)),
    ("UnitRowsBackward", "UnitRows.apply(h)"),
    inside=True,
)


class MeanRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.columns = x.shape[1]
        return x.mean(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:, None].expand(g.shape[0], ctx.columns)


mistake(
    "mean_not_divided",
    "forgotten division by n",
    lambda x: MeanRows.apply(x),
    (normal(3, 4),),
    lambda x: x.mean(1),
    ("MeanRowsBackward", "MeanRows.apply(x)"),
    shows="more than one column",
)


class MeanSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x - y)
        return (x - y).square().mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (d,) = ctx.saved_tensors
        return 2 * g * d, -2 * g * d


mistake(
    "mean_square_not_divided",
    "forgotten division by n",
    lambda x, y: mlp(x, lambda h: h * MeanSquare.apply(h, y)),
    (normal(3, 4), normal(3, 6)),
    lambda x, y: mlp(x, lambda h: h * (h - y).square().mean()),
    ("MeanSquareBackward", "MeanSquare.apply(h, y)"),
    inside=True,
)


class MeanAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g / ctx.shape[0]).expand(ctx.shape)


mistake(
    "mean_divided_by_rows_only",
    "forgotten division by n",
    lambda x: MeanAll.apply(x.exp()),
    (normal(2, 3),),
    lambda x: x.exp().mean(),
    ("MeanAllBackward", "MeanAll.apply(x.exp())"),
)


class RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return x.sum(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.mean().expand(ctx.shape)


mistake(
    "row_sum_averages_g",
    "wrong use of g",
    lambda x: RowSum.apply(x),
    (normal(3, 4),),
    lambda x: x.sum(1),
    ("RowSumBackward", "RowSum.apply(x)"),
    shows="g that is not constant",
)


class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.full_like(g, 3.0) * g.sum()


mistake(
    "triple_sums_g",
    "wrong use of g",
    lambda x: mlp(x, lambda h: Triple.apply(h)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h * 3),
    ("TripleBackward", "Triple.apply(h)"),
    inside=True,
)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.sum() * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.full((4,), 2.0, dtype=torch.float64)


mistake(
    "ignores_g",
    "wrong use of g",
    lambda x: Doubled.apply(x).sin(),
    (normal(4),),
    lambda x: (x.sum() * 2).sin(),
    ("DoubledBackward", "Doubled.apply(x).sin()"),
    shows="g other than 1",
)


class Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, reduction: str) -> Any:
        ctx.save_for_backward((x - y).sign())
        total = (x - y).abs().sum()
        return total / x.numel() if reduction == "mean" else total

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (s,) = ctx.saved_tensors
        return g * s, -g * s, None


mistake(
    "distance_forgets_reduction",
    "forgotten reduction option",
    lambda x, y: Distance.apply(x, y, "mean"),
    (normal(3, 2), normal(3, 2)),
    lambda x, y: (x - y).abs().mean(),
    ("DistanceBackward", 'Distance.apply(x, y, "mean")'),
    shows="reduction='mean'",
)


class WeightedMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        ctx.shape = x.shape
        return (x * weight).sum() / weight.sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g / ctx.shape[0]).expand(ctx.shape), None


mistake(
    "weighted_mean_forgets_weights",
    "forgotten reduction option",
    lambda x: mlp(x, lambda h: h * WeightedMean.apply(h[:, 0], const(x.shape[0]) + 2)),
    (normal(4, 4),),
    lambda x: mlp(x, lambda h: h * (h[:, 0] * (const(x.shape[0]) + 2)).sum() / (const(x.shape[0]) + 2).sum()),
    ("WeightedMeanBackward", "WeightedMean.apply(h[:, 0]"),
    shows="weights that differ",
    inside=True,
)
