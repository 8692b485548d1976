"""Comparisons and masks."""

from __future__ import annotations

from conformance import values
from conformance.spec import ALL, BINARY_SHAPES, MIXED, op

TWO = {"a": values.normal, "b": values.normal}
BAD = "@(a); @(a, torch.ones(7)); @(a, 'x'); @(a, b, b); a.@(); a.@(None); a.@_()"

for _name, _sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    op(
        _name,
        f"@(a, b); @(a, other=b); a.@(b); a.@_(b); a {_sign} b; @(a, 1); a.@(0.5); a {_sign} True; 1 {_sign} a; "
        f"@(a, b, out=out); a.@_(1)",
        shapes=(*BINARY_SHAPES, "ties"),
        dtypes=MIXED,
        **TWO,
        bad=BAD if _name in ("eq", "ne") else BAD + f"; a {_sign} 'x'; a {_sign} None",
    )
op(
    "isclose",
    "@(a, b); @(a, a); @(a, b, rtol=0.5, atol=0.1); a.@(b); @(a, b, 0.1, 1.0); @(a, b, equal_nan=True); "
    "a.@(b, rtol=1.0); @(a, a, equal_nan=True)",
    shapes=(*BINARY_SHAPES, "ties"),
    dtypes=MIXED,
    **TWO,
    bad="@(a); @(a, torch.ones(7)); @(a, 'x'); @(a, 1.0); @(a, b, rtol=-1); @(a, b, atol=-1.0); @(a, b.long()); a.@()",
)
op(
    "allclose",
    "@(a, b); @(a, a); @(a, b, rtol=100., atol=10); a.@(b); @(a, b, 0.1, 10.0); @(a, a, equal_nan=True); a.@(a)",
    shapes=(*BINARY_SHAPES, "ties"),
    dtypes=MIXED,
    **TWO,
    bad="@(a); @(a, torch.ones(7)); @(a, 'x'); @(a, 1.0); @(a, b, rtol=-1); @(a, b, atol=-1.0); @(a, b.long()); a.@()",
)
op(
    "equal",
    "@(a, b); @(a, a); a.@(b); a.@(a); @(a, a.clone()); @(input=a, other=b)",
    shapes=(*BINARY_SHAPES, "ties"),
    dtypes=MIXED,
    **TWO,
    bad="@(a); @(a, 'x'); @(a, 1.0); a.@(); a.@(None); @(a, [1.0])",
)
op("isfinite isinf isnan", "@(a); @(input=a); a.@(); ~@(a)", dtypes=ALL, bad="@(); @('x'); @(1.0); @(a, a); a.@(1)")
op(
    "logical_and logical_or logical_xor",
    "@(a, b); @(a, other=b); a.@(b); a.@_(b); @(a, b, out=out)",
    shapes=(*BINARY_SHAPES, "ties"),
    dtypes=MIXED,
    **TWO,
    bad=BAD + "; @(a, 1); @(1, a)",
)
op(
    "logical_not",
    "@(a); @(input=a); a.@(); a.@_(); @(a, out=out)",
    dtypes=ALL,
    bad="@(); @('x'); @(1.0); @(a, a); a.@(1)",
)
