"""Reductions and scans."""

from __future__ import annotations

from conformance import values
from conformance.spec import ALL, FLOATS, op

SHAPES = ((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,), (1, 4, 1), "special", "ties")
FINITE = tuple([shape for shape in SHAPES if shape != "special"])
UNEQUAL = ("contiguous", "transposed", "sliced")  # of equal elements PyTorch chooses any
MATRICES = ((3, 4), (2, 3, 4), (2, 0, 3), (4, 1), (2, 1, 3, 2), "ties", (3, 4))
WIDE = (*FLOATS, "float16", "int64", "int32", "uint8", "bool")
BAD = "@(); @('x'); @(a, 9); @(a, -9); @(a, 'x'); @(a, 1.5); a.@(7); a.@(dim=-7); @(1.0); @(a, nonsense=1); "
DIM = (
    "@(a, 0); @(a, -1); @(a, dim=1); @(a, 0, True); @(a, dim=-1, keepdim=True); a.@(0); a.@(-1, True); "
    "a.@(dim=0, keepdim=True); @(a, 1, keepdim=False); "
)
DIMS = DIM + "@(a, (0, 1)); @(a, dim=(0, -1), keepdim=True); a.@((1,)); a.@([0, 1]); a.@((0, -1)); "

op("sum mean", "@(a); a.@(); @(a, dtype=torch.float64); a.@(dtype=torch.float32); @(input=a)", shapes=SHAPES, bad=BAD)
op("sum", "a.@(dtype=torch.int64); @(a, dtype=torch.int32)", shapes=SHAPES)
op(
    "sum mean",
    DIMS + "@(a, 0, dtype=torch.float64); @(a, None); @(a, dim=None, keepdim=True); @(a, -1, out=out); "
    "@(a, ()); @(a, 0, True, dtype=torch.float32)",
    shapes=MATRICES,
    bad=BAD + "@(a, (0, 0)); @(a, (0, 9)); @(a, dtype='x'); @(a, 0, dtype=1); @(a.long(), 0, keepdim='x'); "
    "@(a, (0, 'x'))",
)
op(
    "prod",
    "@(a); a.@(); @(a, dtype=torch.float64); a.@(dtype=torch.float32); @(a, dtype=torch.int64)",
    shapes=FINITE,
    bad=BAD,
)
op(
    "prod",
    DIM + "@(a, 0, dtype=torch.float64); @(a, -1, out=out)",
    shapes=MATRICES,
    bad="@(a, (0, 1)); @(a, [0]); " + BAD,
)
op("prod", "@(a); @(a, 0); @(a, -1, True)", a=values.unit, dtypes=("int64", "float64", "float32"), shapes=MATRICES)
for _name in ("std", "var", "std_mean", "var_mean"):
    op(
        _name,
        "@(a); @(a, unbiased=False); @(a, False); @(a, correction=0); @(a, correction=2); @(a, dim=None)",
        shapes=SHAPES,
        layouts=UNEQUAL,
        bad=BAD + "@(a.long()); @(a, correction='x'); @(a, unbiased='x'); @(a, unbiased=True, correction=1)",
    )
    op(
        _name,
        DIMS.replace("@(a, 0, True)", "@(a, 0, True, True)").replace("a.@(-1, True)", "@(a, -1, False)")
        + "@(a, 0, unbiased=False); @(a, -1, correction=0, keepdim=True); @(a, (0, 1), correction=2); "
        "@(a, None, keepdim=True)",
        shapes=MATRICES,
        bad=BAD + "@(a, (0, 0)); @(a, (0, 9)); @(a, 0, correction='x')",
    )
op(
    "std var",
    "a.@(); a.@(0); a.@(-1, keepdim=True); a.@(correction=0); a.@(False); a.@((0, 1), unbiased=False)",
    shapes=MATRICES,
)
op("prod cumprod", "@(a, 0); a.@(0)", shapes=("special",), dtypes=WIDE, needs=("none",))
op("std var", "@(a, 0, out=out); @(a, -1, correction=0, out=out)", shapes=MATRICES, dtypes=FLOATS)
for _name in ("max", "min"):
    op(_name, "@(a); a.@(); @(input=a)", shapes=SHAPES, dtypes=WIDE, bad=BAD)
    op(
        _name,
        DIM + "@(a, 0).values; @(a, 0).indices; a.@(1)[0]; @(a, 0, out=out); @(a, dim=-1, keepdim=True, out=out)",
        shapes=(*MATRICES, "ties", "special"),
        dtypes=WIDE,
        bad="@(a, (0, 1)); @(a, None); " + BAD,
    )
    op(
        _name,
        "@(a, b); @(a, other=b); a.@(b); @(a, b, out=out)",
        shapes=(((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((), (3,)), ((0,), (1,)), "ties", "special"),
        dtypes=(*WIDE, "float64 float32", "int64 float32"),
        a=values.normal,
        b=values.normal,
        bad="@(a, torch.ones(7)); @(a, 'x'); @(a, 1.5); @(a, b, True)",
    )
op("amax amin", "@(a); a.@(); @(input=a); @(a, ()); a.@(())", shapes=SHAPES, dtypes=WIDE, bad=BAD)
op(
    "amax amin",
    DIMS + "@(a, -1, out=out)",
    shapes=(*MATRICES, "ties", "special"),
    dtypes=WIDE,
    bad="@(a, (0, 0)); @(a, None); " + BAD,
)
op("all any", "@(a); a.@(); @(input=a); @(a, out=out)", shapes=SHAPES, dtypes=WIDE, bad=BAD)
op(
    "all any",
    DIMS + "@(a, -1, out=out); @(a, None); @(a, dim=None, keepdim=True)",
    shapes=(*MATRICES, "special"),
    dtypes=WIDE,
    bad=BAD,
)
op(
    "argmax argmin",
    "@(a); a.@(); @(a, None); @(a, dim=None); @(a, None, True); @(a, keepdim=True)",
    shapes=SHAPES,
    dtypes=WIDE,
    bad=BAD,
)
op("argmax argmin", DIM + "@(a, -1, out=out)", shapes=(*MATRICES, "special"), dtypes=WIDE, bad="@(a, (0, 1)); " + BAD)
op(
    "norm",
    "@(a); a.@(); @(a, 1); @(a, 'fro'); @(a, inf); @(a, -inf); @(a, 0); @(a, 3); @(a, 2.5); a.@(p=1); "
    "@(a, p=2, dtype=torch.float64)",
    shapes=FINITE[:-1],
    dtypes=(*FLOATS, "float16"),
    bad="@(); @('x'); @(a, 'x'); @(a.long()); @(a, 2, 9); @(a, 2, dim='x'); @(a, 2, (0, 0)); a.@(2, -9); "
    "@(a, object())",
)
op(
    "norm",
    "@(a, 2, 0); @(a, 1, -1, True); @(a, dim=1); @(a, p='fro', dim=(0, 1)); a.@(2, dim=0, keepdim=True); "
    "a.@(dim=(0, -1)); @(a, inf, 0); @(a, -inf, dim=1)\n"
    "@(a, 0, 1); @(a, 3, (0, 1)); @(a, 2, (0, 1)); @(a, dim=0, dtype=torch.float64); @(a, 'fro', 0)",
    shapes=[s for s in MATRICES if s != "ties"],
    dtypes=(*FLOATS, "float16"),
)
op(
    "norm",
    "@(a); @(a, 1); @(a, 0); @(a, inf); @(a, -inf); @(a, 3); @(a, 2, 0); @(a, 1, -1); @(a, inf, 1)",
    shapes=("special", "ties"),
    dtypes=("float32",),  # the first derivatives
)
op(
    "norm",
    "@(a, 'nuc'); @(a, 'nuc', dim=(0, 1))",
    shapes=((3, 4), (4, 4), (5, 2)),
    dtypes=FLOATS,
    tolerance=1e-6,
    needs=("none",),
)
op(
    "logsumexp",
    DIMS + "@(a, -1, out=out)",
    shapes=(*MATRICES, "special"),
    bad="@(a); a.@(); " + BAD + "@(a, (0, 0))",
    dtypes=WIDE,
)
op("median", "@(a); a.@(); @(input=a)", shapes=FINITE, dtypes=WIDE, layouts=UNEQUAL, a=values.distinct, bad=BAD)
op(
    "median",
    DIM + "@(a, 0).values; @(a, 0, out=out)",
    shapes=((3, 4), (2, 3, 4), (4, 1), (2, 1, 3, 2)),
    dtypes=[d for d in WIDE if d != "bool"],
    layouts=UNEQUAL,
    a=values.distinct,
    bad="@(a, (0, 1)); " + BAD,
)
op("nanmean nansum", "@(a); a.@(); @(a, dtype=torch.float64)", shapes=SHAPES, bad=BAD)
op(
    "nanmean nansum",
    DIMS + "@(a, -1, out=out); @(a, None); @(a, 0, dtype=torch.float64)",
    shapes=(*MATRICES, "special"),
    bad=BAD,
)
QUANTILES = (
    "@(a, 0.3); @(a, 0.5, 0); @(a, 0.75, dim=-1, keepdim=True); a.@(0.2); "
    "@(a, torch.tensor([0.1, 0.6], dtype=a.dtype), 0); @(a, 0.4, 0, interpolation='lower'); "
)
op(
    "quantile",
    QUANTILES + "@(a, 0.4, interpolation='higher'); @(a, 0.4, -1, interpolation='nearest'); "
    "@(a, 0.4, interpolation='midpoint'); @(a, torch.tensor(0.5, dtype=a.dtype)); @(a, 0.0); @(a, 1.0, 0)\n"
    "@(a, torch.tensor([0.0, 0.5, 1.0], dtype=a.dtype), -1, True); a.@(q=0.5, dim=0)",
    shapes=((3, 4), (2, 3, 4), (5,), (1, 4), ()),
    dtypes=FLOATS,
    layouts=UNEQUAL,
    bad="@(a); @(); @(a, 1.5); @(a, -0.5); @(a, 0.5, 9); @(a, 'x'); @(a.long(), 0.5); "
    "@(a, 0.5, interpolation='x'); @(a, torch.ones(2, 2) / 2); @(torch.ones(0), 0.5)",
)
op("quantile", QUANTILES + "@(a, 0.5, 0, out=out)", shapes=((3, 4), "special", "ties"), dtypes=FLOATS, needs=("none",))
SCAN = "@(a, 0); @(a, -1); @(a, dim=1); a.@(0); a.@(dim=-1); @(input=a, dim=0); "
op(
    "cumsum cumprod",
    SCAN + "@(a, 0, dtype=torch.float64); a.@(1, dtype=torch.float32); a.@_(0); "
    "@(a, -1, out=out); @(a, 0, dtype=torch.int64)",
    shapes=(*FINITE, *MATRICES),
    bad="@(a); a.@(); a.@_(); " + BAD,
)
op("cumprod", SCAN, shapes=(*MATRICES, "ties"), dtypes=FLOATS, a=values.unit)
op(
    "cummax cummin",
    SCAN + "@(a, 0).values; @(a, 0, out=out); a.@(-1)[1]",
    shapes=[s for s in (*SHAPES, *MATRICES) if s != (0,)],
    dtypes=WIDE,
    bad="@(a); a.@(); " + BAD,
)
op(
    "logcumsumexp",
    SCAN + "@(a, -1, out=out)",
    shapes=(*SHAPES, *MATRICES),
    dtypes=(*FLOATS, "float16"),
    bad="@(a); a.@(); @(a.long(), 0); " + BAD,
)
op(
    "trace",
    "@(a); a.@(); @(input=a)",
    shapes=((3, 4), (4, 4), (0, 3), (1, 1), (5, 2), (3, 4), "ties"),
    dtypes=ALL,
    bad="@(); @('x'); @(torch.ones(3)); @(torch.ones(2, 2, 2)); @(a, 1); a.@(1); @(1.0)",
)
op(
    "diff",
    "@(a); a.@(); @(a, 2); @(a, n=1, dim=0); @(a, dim=-1); a.@(1, 0); @(a, 0); @(a, 2, 0); @(a, out=out); @(a, n=3)",
    shapes=((3, 4), (2, 3, 4), (5,), (0, 3), (1, 4), "special"),
    dtypes=WIDE,
    bad="@(); @('x'); @(a, -1); @(a, 1, 9); @(torch.tensor(1.0)); @(a, 'x'); @(a, dim='x'); a.@(1, -9); "
    "@(a, prepend=1.0); @(a, prepend=torch.ones(7, 7, 7))",
)
op(
    "diff",
    "@(a, prepend=b); @(a, append=b); @(a, 1, -1, b, b); a.@(prepend=b, append=b); @(a, n=2, prepend=b)",
    shapes=(((3, 4), (3, 2)), ((5,), (1,)), ((0,), (3,))),
    a=values.normal,
    b=values.normal,
)
