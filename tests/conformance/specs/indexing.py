"""Gathers and scatters."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, op

DTYPES = (*FLOATS, "int64", "int32", "bool", "float16")
SHAPES = (((3, 4), (2, 3), (2, 3)), ((3, 3), (3, 3), (3, 3)), ((5, 3), (2, 2), (3, 3)), ((3, 3), (0, 2), (2, 2)))
BAD = "@(); @('x'); @(a); @(a, nonsense=1); "

op(
    "gather",
    "@(a, 0, i); a.@(0, i); @(a, -1, i); @(a, dim=1, index=i); a.@(1, index=i); @(a, 0, i, sparse_grad=False); "
    "@(a, 0, i, out=out)",
    shapes=(((3, 4), (2, 3)), ((3, 3), (3, 3)), ((5, 3), (2, 2)), ((3, 3), (0, 2)), ((4, 3), (3, 3)), ((3, 3), (1, 2))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
    bad=BAD + "@(a, 9, i); @(a, 0, i.double()); @(a, 0, i + 99); @(a, 0, i[0]); @(a, 0, [0]); @(a, 'x', i); "
    "a.@(i, 0); @(a, 0, torch.ones(9, 9).long()); @(a, 0, i - 99)",
)
op(
    "gather",
    "@(a, 0, i); a.@(-1, i)",
    shapes=(((), ()), ((3,), (5,)), ((3,), (0,)), ((), (1,))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(1),
)
SCATTER_BAD = (
    BAD + "@(a, 9, i, b); @(a, 0, i.double(), b); @(a, 0, i + 99, b); @(a, 0, i[0], b); @(a, 0, i); "
    "@(a, 'x', i, b); @(a, 0, [0], b); "
)
op(
    "scatter",
    "@(a, 0, i, b); a.@(0, i, b); @(a, -1, index=i, src=b); a.@_(1, i, b); @(a, 0, i, b, out=out)",
    shapes=SHAPES,
    dtypes=DTYPES,
    a=values.normal,
    i=values.places(3),
    b=values.normal,
    bad=SCATTER_BAD + "@(a, 0, i, b.int()); @(a, 0, torch.zeros(9, 9).long(), b); @(a, 0, i, 'x')",
)
op(
    "scatter",
    "@(a, 0, i, 2); a.@(0, i, 1.5); @(a, 1, i, value=3); a.@_(0, i, 1); a.@(1, i, value=True); "
    "@(a, 0, i, 2, reduce='add'); a.@(0, i, 2, reduce='multiply'); a.@_(1, i, 2.5, reduce='add')",
    shapes=(((3, 4), (2, 3)), ((3, 3), (3, 3)), ((5, 3), (2, 2)), ((3, 3), (0, 2))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
)
op(
    "scatter",
    "@(a, 0, i, b, reduce='add'); a.@(1, i, b, reduce='multiply'); a.@_(0, i, b, reduce='add')",
    shapes=SHAPES,
    dtypes=(*FLOATS, "int64"),
    a=values.normal,
    i=values.index(3),
    b=values.normal,
    needs=("none",),
    bad="@(a, 0, i, b, reduce='x'); @(a, 0, i, b, reduce=1)",
)
op(
    "scatter_add",
    "@(a, 0, i, b); a.@(0, i, b); @(a, -1, index=i, src=b); a.@_(1, i, b); @(a, dim=1, index=i, src=b); "
    "@(a, 0, i, b, out=out)",
    shapes=SHAPES,
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
    b=values.normal,
    bad=SCATTER_BAD + "@(a, 0, i, 1.0); @(a, 0, i, b.int()); @(a, 0, torch.zeros(9, 9).long(), b); @(a, 0, i, 'x')",
)
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    op(
        "scatter_reduce",
        f"@(a, 0, i, b, '{_reduce}'); a.@(0, i, b, reduce='{_reduce}'); "
        f"@(a, -1, i, b, '{_reduce}', include_self=False); a.@_(1, i, b, '{_reduce}'); "
        f"a.@_(0, i, b, reduce='{_reduce}', include_self=False)",
        shapes=SHAPES,
        dtypes=(*FLOATS, "int64"),
        a=values.normal,
        i=values.index(3),
        b=values.normal,
        bad=SCATTER_BAD + "@(a, 0, i, b, 'x'); @(a, 0, i, 1.0, 'sum'); @(a, 0, i, b.int(), 'sum'); @(a, 0, i, b)"
        if _reduce == "sum"
        else "",
    )
op(
    "index_select",
    "@(a, 0, i); a.@(0, i); @(a, -1, i); @(a, dim=1, index=i); a.@(1, index=i); @(a, 0, i, out=out); a.@(0, i.int())",
    shapes=(((3, 4), (2,)), ((3, 3), (5,)), ((2, 3, 3), (2,)), ((3, 3), (0,)), ((4, 3, 2), (1,)), ((3, 3), ())),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(2),
    bad=BAD + "@(a, 9, i); @(a, 0, i.double()); @(a, 0, i + 99); @(a, 0, i[None]); @(a, 0, [0]); @(a, 'x', i); "
    "@(a, i, 0); @(a, 0, i - 99); a.@(0)",
)
op(
    "index_select",
    "@(a, 0, i); a.@(-1, i)",
    shapes=(((), (1,)), ((3,), (5,)), ((3,), (0,)), ((), ())),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(1),
)
ALONG = (
    ((4, 4), (2,), (2, 4)),
    ((3, 2), (3,), (3, 2)),
    ((5, 3, 2), (2,), (2, 3, 2)),
    ((3, 3), (0,), (0, 3)),
    ((3,), (2,), (2,)),
)
op(
    "index_add",
    "@(a, 0, i, b); a.@(0, i, b); @(a, 0, i, b, alpha=2); a.@_(0, i, b); "
    "a.@(dim=0, index=i, source=b, alpha=-1); a.@_(0, i, b, alpha=3); @(a, 0, i.int(), b); @(a, 0, i, b, out=out)",
    shapes=ALONG,
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
    b=values.normal,
    bad=BAD + "@(a, 9, i, b); @(a, 0, i.double(), b); @(a, 0, i + 99, b); @(a, 0, i, b[:1]); @(a, 0, i, 1.0); "
    "@(a, 0, i, b.int()); @(a, 0, i); @(a, 0, i, b, alpha='x'); @(a, 0, i[None], b)",
)
op(
    "index_add",
    "@(a, 1, i, b); a.@(-1, i, b)",
    shapes=(((4, 4), (2,), (4, 2)), ((2, 3), (5,), (2, 5))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
    b=values.normal,
)
op(
    "index_copy",
    "@(a, 0, i, b); a.@(0, i, b); a.@_(0, i, b); a.@(dim=0, index=i, source=b); @(a, 0, i, source=b); "
    "@(a, 0, i, b, out=out)",
    shapes=ALONG,
    dtypes=DTYPES,
    layouts=("contiguous", "transposed", "sliced"),
    a=values.normal,
    i=values.places(3),
    b=values.normal,
    bad=BAD + "@(a, 9, i, b); @(a, 0, i.double(), b); @(a, 0, i + 99, b); @(a, 0, i, b[:1]); @(a, 0, i, 1.0); "
    "@(a, 0, i, b.int()); @(a, 0, i); @(a, 0, i.int(), b); @(a, 0, i[None], b)",
)
op(
    "index_copy",
    "@(a, 1, i, b); a.@(-1, i, b)",
    shapes=(((4, 4), (2,), (4, 2)), ((2, 3), (3,), (2, 3))),
    dtypes=DTYPES,
    layouts=("contiguous", "transposed"),
    a=values.normal,
    i=values.places(3),
    b=values.normal,
)
op(
    "index_fill",
    "@(a, 0, i, 2); a.@(0, i, 1.5); @(a, -1, i, -1); a.@_(0, i, 3); a.@(dim=0, index=i, value=True); "
    "a.@(0, i, torch.tensor(2.0)); @(a, 0, i, torch.tensor(3)); a.@_(-1, i, torch.tensor(1))",
    shapes=(((3, 4), (2,)), ((3, 3), (5,)), ((3, 3), (0,)), ((4, 3, 2), (1,)), ((3,), (2,))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(2),
    bad=BAD + "@(a, 9, i, 1); @(a, 0, i.double(), 1); @(a, 0, i + 99, 1); @(a, 0, i); @(a, 0, i, 'x'); "
    "@(a, 0, i, torch.ones(2)); @(a, 0, i[None], 1); @(a, 0, [0], 1); @(a, 0, i.int(), 1)",
)
op(
    "index_put",
    "@(a, (i,), b); a.@((i,), b); a.@_((i,), b); @(a, [i], b, accumulate=True); a.@_([i], b, True); "
    "a.@(indices=(i,), values=b); @(a, (i,), b, False) * 2",
    shapes=(
        ((4, 4), (2,), (4,)),
        ((3, 2), (1,), (1, 2)),
        ((5, 3, 2), (2,), (3, 2)),
        ((3, 3), (0,), (3,)),
        ((3,), (2,), ()),
    ),
    dtypes=DTYPES,
    layouts=("contiguous", "transposed", "sliced"),
    a=values.normal,
    i=values.places(3),
    b=values.normal,
    bad=BAD + "@(a, i, b); @(a, (i + 99,), b); @(a, (i.double(),), b); @(a, (i, i, i), b); "
    "@(a, (i,), torch.ones(7)); @(a, (i,), b.int()); @(a, (i,)); @(a, (i,), 1.0); @(a, ('x',), b)",
)
op(
    "index_put",
    "@(a, (i, j), b); a.@((i, j), b, accumulate=True); a.@((i[:, None], j), b[0]); a.@_((i, j), b, True); "
    "@(a, (i, j), b[0])",
    shapes=(((4, 4), (2,), (2,), (2,)), ((3, 3), (4,), (4,), (1,)), ((3, 3, 2), (2,), (2,), (2, 2))),
    dtypes=(*FLOATS, "int64"),
    layouts=("contiguous",),
    a=values.normal,
    i=values.index(3),
    j=values.index(3),
    b=values.positive,
)
op(
    "index_put",
    "@(a, (m,), torch.tensor(2, dtype=a.dtype)); a.@_((m,), torch.ones((), dtype=a.dtype)); "
    "a.@((m,), torch.zeros(1, dtype=a.dtype))",
    shapes=(((3, 4), (3, 4)), ((3, 4), (3,)), ((5,), (5,)), ((0,), (0,))),
    dtypes=DTYPES,
    a=values.normal,
    m=values.mask,
)
op(
    "take",
    "@(a, i); a.@(i); @(a, index=i); a.@(index=i); @(a, i, out=out); a.@(i - 4); @(input=a, index=i)",
    shapes=(((3, 4), (2, 3)), ((3, 3), (5,)), ((2, 3, 3), ()), ((5,), (0,)), ((4, 3, 2), (1, 2))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(4),
    bad=BAD + "@(a, i.double()); @(a, i + 99); @(a, [0]); @(a, 0); @(a, i.int()); a.@(); @(a, i, i); "
    "@(a, i - 99); @(torch.ones(0), i)",
)
op(
    "take_along_dim",
    "@(a, i, 0); a.@(i, 0); @(a, i, dim=-1); @(a, indices=i, dim=1); a.@(i, dim=0); @(a, i, 0, out=out)",
    shapes=(((3, 3), (1, 3)), ((3, 3), (3, 3)), ((3, 4), (2, 1)), ((3, 3), (3, 1)), ((4, 4), (1, 1)), ((3, 3), (0, 1))),
    dtypes=DTYPES,
    a=values.normal,
    i=values.index(3),
    bad=BAD + "@(a, i, 9); @(a, i.double(), 0); @(a, i + 99, 0); @(a, [0], 0); @(a, i[0], 0); @(a, i, 'x'); "
    "a.@(); @(a, 0, 0); @(a, i.int(), 0)",
)
op(
    "take_along_dim",
    "@(a, i); a.@(i); @(a, i, None)",
    shapes=(((3, 4), (5,)), ((5,), (3,)), ((3, 2), (0,)), ((3, 4), (2, 2))),
    dtypes=DTYPES,
    layouts=("contiguous",),
    a=values.normal,
    i=values.index(3),
)
op(
    "masked_select",
    "@(a, m); a.@(m); @(a, mask=m); a.@(mask=m); @(a, m, out=out); @(input=a, mask=m); @(a, m) * 2",
    shapes=(((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((), (3,)), ((3, 1), (1, 4)), ((), ()), ((0,), (1,)), ((5,), ())),
    dtypes=DTYPES,
    a=values.normal,
    m=values.mask,
    bad=BAD + "@(a, a); @(a, torch.ones(7).bool()); @(a, m.long()); @(a, [True]); @(a, True); a.@(); "
    "@(a, m, m); @(a, m.byte())",
)
op(
    "masked_scatter",
    "@(a, m, b); a.@(m, b); @(a, mask=m, source=b); a.@_(m, b); a.@(mask=m, source=b); a.@_(m, source=b)",
    shapes=(
        ((3, 4), (3, 4), (12,)),
        ((3, 4), (4,), (4, 4)),
        ((), (), (1,)),
        ((3, 1), (1, 4), (12,)),
        ((0,), (1,), (2,)),
        ((5,), (), (5,)),
    ),
    dtypes=DTYPES,
    a=values.normal,
    m=values.mask,
    b=values.normal,
    bad=BAD + "@(a, a, b); @(a, torch.ones(7).bool(), b); @(a, m.long(), b); @(a, m, torch.ones(0)); "
    "@(a, m, b.int()); a.@(m); @(a, m, 1.0); @(a, torch.ones(3, 4).bool(), b[:1])",
)
op(
    "nonzero",
    "@(a); a.@(); @(a, as_tuple=True); a.@(as_tuple=True); @(a, as_tuple=False); @(a, out=out); @(a).shape; @(input=a)",
    shapes=((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,), "ties", "special"),
    dtypes=(*DTYPES, "uint8"),
    bad="@(); @('x'); @(1.0); @(a, 1); a.@(1); @(a, as_tuple='x'); @(a, a); a.@(nonsense=1); @(None)",
)
