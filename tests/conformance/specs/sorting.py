"""Ordering."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, op

SHAPES = ((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,), (1, 4, 1), "special")
DTYPES = (*FLOATS, "int64", "int32", "uint8", "float16")
UNEQUAL = ("contiguous", "transposed", "sliced")  # of equal elements PyTorch chooses any
BAD = "@(); @('x'); @(a, 9); @(a, 'x'); a.@(-9); @(a, dim=1.5); @(1.0); "

op(
    "sort",
    "@(a); a.@(); @(a, 0); @(a, -1, True); @(a, dim=0, descending=True); a.@(-1); a.@(descending=True); "
    "@(a, stable=True); @(a, dim=-1, stable=True, descending=True)\n"
    "@(a, 0).values; @(a).indices; @(a, out=out); a.@(0)[0]; @(a, stable=True, dim=0)",
    shapes=SHAPES,
    dtypes=DTYPES,
    a=values.distinct,
    bad=BAD + "@(a, descending='x'); @(a, 0, True, True)",
)
op("sort", "@(a, stable=True); @(a, dim=0, stable=True)", shapes=("ties",), dtypes=(*DTYPES, "bool"))
op("sort", "@(a, stable=True, dim=-1, descending=True); @(a).values", shapes=("ties",), dtypes=(*DTYPES, "bool"))
op(
    "argsort",
    "@(a); a.@(); @(a, 0); @(a, -1, True); @(a, dim=0, descending=True); a.@(-1); a.@(descending=True); "
    "@(a, stable=True); @(a, dim=-1, stable=True, descending=True)",
    shapes=SHAPES,
    dtypes=DTYPES,
    a=values.distinct,
    bad=BAD + "@(a, descending='x'); @(a, 0, True, True, 5)",
)
op("argsort", "@(a, stable=True); @(a, stable=True, descending=True)", shapes=("ties",), dtypes=(*DTYPES, "bool"))
op(
    "topk",
    "@(a, 2); a.@(2); @(a, 1, 0); @(a, k=2, dim=-1); @(a, 2, largest=False); @(a, 2, -1, False, True); "
    "a.@(1, dim=0, largest=False); @(a, 0); @(a, 2).values; @(a, 1, out=out); @(a, 3, 0)",
    shapes=((3, 4), (), (2, 3, 4), (5,), (0, 3), (1, 4, 3)),
    dtypes=DTYPES,
    layouts=UNEQUAL,
    a=values.distinct,
    bad="@(a); @(); @('x', 1); @(a, 99); @(a, -1); @(a, 1, 9); @(a, 'x'); @(a, 1.5); a.@(); a.@(1, -9); @(a, None)",
)
op(
    "kthvalue",
    "@(a, 2); a.@(2); @(a, 1, 0); @(a, k=2, dim=-1); @(a, 2, -1, True); a.@(1, dim=0, keepdim=True); "
    "@(a, 2).values; @(a, 1, out=out); @(a, 3, 0).indices",
    shapes=((3, 4), (), (2, 3, 4), (5,), (1, 4, 3)),
    dtypes=DTYPES,
    layouts=UNEQUAL,
    a=values.distinct,
    bad="@(a); @(); @('x', 1); @(a, 99); @(a, 0); @(a, -1); @(a, 1, 9); @(a, 'x'); @(a, 1.5); a.@(); "
    "a.@(1, -9); @(a, None)",
)
op(
    "unique",
    "@(a); a.@(); @(a, return_inverse=True); @(a, return_counts=True); @(a, True, True, True); "
    "a.@(return_counts=True); @(a, sorted=True)",
    shapes=(*SHAPES, "ties"),
    dtypes=(*DTYPES, "bool"),
    bad="@(); @('x'); @(1.0); @(a, dim=9); @(a, dim='x'); @(a, nonsense=1)",
)
op(
    "unique",
    "@(a, dim=0); @(a, dim=-1, return_inverse=True); @(a, dim=0, return_counts=True, return_inverse=True); a.@(dim=1)",
    shapes=("ties", (4, 2), (2, 3, 2), (3,)),
    dtypes=("float64", "int64", "float32"),
    a=values.unit,
)
SEARCH = """
    @(s, v); @(s, v, right=True); @(s, v, side='right'); @(s, v, out_int32=True); @(s, input=v); @(s, v, side='left')
    @(s, v, out=out)
"""
op(
    "searchsorted",
    SEARCH,
    shapes=(((5,), (3, 4)), ((2, 5), (2, 3)), ((5,), ()), ((0,), (3,)), ((4,), (0,)), ((2, 3, 4), (2, 3, 2)), "ties"),
    dtypes=("float64", "float32", "int64", "int32"),
    layouts=("contiguous", "sliced"),
    needs=("none",),
    s=values.ascending,
    v=values.normal,
    bad="@(s); @(); @(s, 'x'); @(s, v, side='up'); @(s, v, right=True, side='left'); @(s, v.int()); "
    "@(torch.tensor(1.0), v); @(torch.ones(2, 3), torch.ones(3, 3)); @(torch.ones(2, 3), 1.0)",
)
op(
    "searchsorted",
    "@(s, 2); @(s, 0.5); @(s, 1, right=True); @(s, 1, sorter=torch.argsort(s))",
    shapes=((5,), (0,), (1,)),
    dtypes=("float64", "float32", "int64"),
    needs=("none",),
    s=values.ascending,
)
op(
    "bucketize",
    "@(v, s); @(v, s, right=True); @(v, s, out_int32=True); @(input=v, boundaries=s); "
    "@(v, boundaries=s, right=False); @(0.5, s); @(1, s, right=True); @(v, s, out=out)",
    shapes=(((5,), (3, 4)), ((5,), ()), ((0,), (3,)), ((4,), (0,)), ((3,), (2, 3, 2))),
    dtypes=("float64", "float32", "int64", "int32"),
    layouts=("contiguous", "sliced"),
    needs=("none",),
    s=values.ascending,
    v=values.normal,
    bad="@(v); @(); @(v, 'x'); @('x', s); @(v, torch.ones(2, 3)); @(v, s.int()); @(v, s, right='x'); "
    "@(v, s, nonsense=1); @(v, 1.0)",
)
