"""Elementwise functions of one tensor."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, UNARY_SHAPES, op

UNARY = """
    @(a)
    @(input=a)
    a.@()
    a.@_()
    @(a, out=out)
"""

op("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor", UNARY)
op("log log10 log1p log2 neg reciprocal rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc", UNARY)
op("erfinv", UNARY)
op("digamma lgamma", UNARY, shapes=[s for s in UNARY_SHAPES if s != "special"])
op("digamma lgamma", "@(a); a.@()", shapes=("special",), needs=("none",))
op("acos asin atanh erfinv", "@(a); a.@_()", a=values.unit)
op("acosh log log10 log2 log1p sqrt rsqrt reciprocal", "@(a); a.@_()", a=values.positive)
op("digamma lgamma", "@(a); a.@_()", a=values.positive, shapes=((3, 4), (), (2, 3)))
op("positive", "@(a); @(input=a); a.@(); +a")
op("neg", "-a")
op("abs", "abs(a)")
op(
    "round",
    UNARY
    + "@(a, decimals=2); a.@(decimals=1); @(a, decimals=-1); a.@_(decimals=1); @(a, decimals=1, out=out); round(a)",
)
op(
    "logit",
    UNARY + "@(a, 0.1); @(a, eps=0.2); a.@(1e-3); a.@_(eps=1e-3); @(a, eps=None)",
    dtypes=(*FLOATS, "int64", "bool"),
    a=values.probability,
)
op(
    "nan_to_num",
    "@(a); a.@(); @(a, out=out); @(a, 1.0); @(a, nan=2.0, posinf=3.0, neginf=-3.0); a.@(0.0, 1.0); @(a, neginf=-1.0)",
)
op("nan_to_num", "a.@_(); a.@_(nan=1.0); a.@_(posinf=2.0)", layouts=("contiguous", "transposed", "sliced"))
