"""Elementwise functions of several tensors, with numbers on either side."""

from __future__ import annotations

from conformance import values
from conformance.spec import BINARY_SHAPES, LAYOUTS, MIXED, op

FUNCTION = "@(a, b); @(a, other=b); a.@(b); @(a, b, out=out); "
INPLACE = "a.@_(b); "
NUMBER = "@(a, 2); a.@(2.5); "
TWO = {"a": values.normal, "b": values.normal}
POWERS = {"a": values.positive, "b": values.normal}
TERNARY_SHAPES = (
    ((3, 4), (3, 4), (3, 4)),
    ((3, 4), (4,), (3, 1)),
    ((), (3,), ()),
    ((), (), ()),
    ((0,), (1,), (0,)),
    ((2, 1, 4), (3, 1), (1,)),
    "special",
)
BAD = "@(a, torch.ones(7)); @(a); @(a, b, b); a.@(); a.@('x'); @(a, [1.0]); "
pairs = {"shapes": BINARY_SHAPES, "dtypes": MIXED}

for _name in ("add", "sub"):
    op(
        _name,
        FUNCTION
        + INPLACE
        + NUMBER
        + "@(a, b, alpha=2); @(a, b, alpha=-3); a.@_(b, alpha=2); a.@_(3); @(2, b); @(a, True); "
        "@(a, 1.5, alpha=2); @(a, b, alpha=2, out=out); a.@_(1.5); @(a, 2, alpha=3)",
        **pairs,
        **TWO,
        bad=BAD + "@(a, b, alpha='x'); @(a.long(), b.long(), alpha=1.5); a.long().@_(b); a.@_(torch.ones(2, 3, 4)); "
        "@(a, b, alpha=None)",
    )
op("add", "a + b; a + 2; 2.5 + a; a + True", **pairs, **TWO)
op(
    "sub",
    "a - b; a - 2; 2.5 - a; a - True; torch.subtract(a, b)",
    **pairs,
    **TWO,
    bad="a.@_(True); a.subtract_(False); True - a",
)
op(
    "rsub",
    "@(a, b); @(a, 2); @(a, 2.5); @(a, b, alpha=2); @(a, other=b); 2 - a; @(a, 3, alpha=2)",
    **pairs,
    **TWO,
    bad=BAD,
)
op(
    "mul",
    FUNCTION + INPLACE + NUMBER + "a * b; a * 2; 2.5 * a; @(2, b); a.@_(3); a.@_(2.5); a * True",
    **pairs,
    **TWO,
    bad=BAD + "a.long().@_(b)",
)
op(
    "div",
    FUNCTION
    + INPLACE
    + NUMBER
    + "a / b; a / 2; 2.5 / a; @(a, b, rounding_mode='floor'); @(a, b, rounding_mode='trunc'); "
    "@(a, b, rounding_mode=None); a.@(b, rounding_mode='floor'); a.@_(b, rounding_mode='trunc'); "
    "@(a, 2, rounding_mode='floor'); "
    "a.@(2, rounding_mode='trunc'); @(a, b, rounding_mode='floor', out=out); a.@_(2); @(a, 0)",
    **pairs,
    **TWO,
    bad=BAD + "@(a, b, rounding_mode='up'); @(a, b, rounding_mode=1); a.long().@_(b); @(a, b, 'floor')",
)
op("true_divide", FUNCTION + INPLACE + NUMBER + "a.@_(2)", **pairs, **TWO, bad=BAD)
op("floor_divide", FUNCTION + NUMBER + "a // b; a // 2; 5 // a; a // -1.5", **pairs, **TWO, bad=BAD)
op("floor_divide", INPLACE + "a.@_(2)", **pairs, **TWO, needs=("none",))
op("fmod", FUNCTION + INPLACE + NUMBER + "@(a, -2); a.@_(2)", **pairs, **TWO, bad=BAD)
op(
    "remainder",
    FUNCTION + INPLACE + NUMBER + "a % b; a % 2; @(a, -2); @(5, b); a.@_(2); 5.5 % a",
    **pairs,
    **TWO,
    bad=BAD,
)
op(
    "pow",
    "@(a, b); @(a, exponent=b); a.@(b); @(a, b, out=out); a.@_(b); a ** b; @(2, b); @(2.5, b)",
    **pairs,
    **POWERS,
    bad="@(a); @(a, torch.ones(7)); @(2, 3); @(a, 'x'); a.@(); a.@_(); @(a, b, b)",
)
op(
    "pow",
    "@(a, 2); @(a, 3.0); a.@(0.5); a ** 2; a ** -1; 2 ** a; a.@_(2); a.@(0); a.@(1); @(a, -2.0); a ** 0.0; "
    "@(a, 2, out=out); @(0, a); @(-1.5, a)",
    dtypes=("float64", "float32", "int64", "bool", "uint8", "float16"),
)
op(
    "atan2",
    FUNCTION + INPLACE,
    shapes=BINARY_SHAPES,
    dtypes=[d for d in MIXED if d != "int64 float32"],
    **TWO,
    bad=BAD + "@(a, 2); a.@(2.0)",
)
op("hypot", FUNCTION + INPLACE, **pairs, **TWO, bad=BAD + "@(a, 2)")
op("maximum minimum", FUNCTION, **pairs, **TWO, bad=BAD + "@(a, 2); a.@(1.0)")
op("logaddexp", FUNCTION, **pairs, **TWO, bad=BAD + "@(a, 2)")
op(
    "xlogy",
    FUNCTION + INPLACE + "@(a, 2); @(2, b); @(0.0, b); a.@(2.5); a.@_(2)",
    **pairs,
    a=values.normal,
    b=values.positive,
    bad=BAD,
)

op(
    "lerp",
    "@(a, b, c); @(a, b, 0.3); @(a, end=b, weight=0.7); a.@(b, c); a.@(b, 0.5); a.@_(b, c); a.@_(b, 0.25); "
    "@(a, b, c, out=out); @(a, b, 2)",
    shapes=TERNARY_SHAPES,
    dtypes=("float64", "float32", "float16", "int64", "float64 float32 float64"),
    **TWO,
    c=values.unit,
    bad="@(a, b); @(a); @(a, 1.0, 0.5); @(a, torch.ones(7), 0.5); @(a, b, 'x'); a.@(b)",
)
for _name in ("addcmul", "addcdiv"):
    op(
        _name,
        "@(a, b, c); @(a, b, c, value=2); @(a, tensor1=b, tensor2=c, value=-0.5); a.@(b, c); "
        "a.@(b, c, value=3); a.@_(b, c); "
        "a.@_(b, c, value=0.5); @(a, b, c, value=2, out=out)",
        shapes=TERNARY_SHAPES,
        dtypes=("float64", "float32", "int64", "float64 float32 float64", "float16"),
        a=values.normal,
        b=values.normal,
        c=values.positive,
        bad="@(a, b); @(a); @(a, 1.0, c); @(a, torch.ones(7), c); @(a, b, c, value='x'); a.@(b); a.@(b, 2.0); "
        "a.@_(torch.ones(7), c)",
    )
op(
    "where",
    "@(c, a, b); @(condition=c, input=a, other=b); @(c, a, 2); @(c, 1.5, b); a.@(c, b); a.@(c, 0); @(c, 1, 2); "
    "@(c, 1.0, 2); @(c); @(c, a, b, out=out); @(c, a, 2.5); @(c, True, b)",
    shapes=TERNARY_SHAPES,
    dtypes=MIXED,
    **TWO,
    c=values.mask,
    bad="@(a, a, b); @(c, a); @(c, torch.ones(7), b); @(c, 'x', b); @(); a.@(c); @(True, a, b); @(c.long(), a, b)",
)
op(
    "clamp",
    "@(a, b, c); @(a, min=b); @(a, max=c); a.@(b, c); a.@_(b, c); a.@_(max=c); @(a, b, c, out=out); a.@_(min=b)",
    shapes=TERNARY_SHAPES,
    dtypes=(*MIXED, "float64 float32 float64"),
    **TWO,
    c=values.positive,
    bad="@(a); a.@(); @(a, torch.ones(7)); @(a, b, 1.0); @(a, 'x'); @(a, min='x'); @(a, 0, 1, 2); a.@_()",
)
op(
    "clamp",
    "@(a, -1, 1); @(a, min=0); @(a, max=1.5); @(a, 0.5); @(a, -0.5, 0.75); a.@(0, 2); a.@_(-1, 1); a.@_(min=0); "
    "a.@(max=1); @(a, 2, -2); "
    "torch.clip(a, -1, 1); @(a, None, 1); @(a, min=-1, max=1, out=out); a.@(0, None); @(a, nan, 1.0); @(a, -inf, inf)",
)
for _name, _word in (("clamp_min", "min"), ("clamp_max", "max")):
    op(
        _name,
        f"@(a, b); @(a, 0); @(a, 0.5); @(a, {_word}=b); @(a, {_word}=-0.5); a.@(b); a.@(1); a.@_(b); a.@_(1); "
        f"@(a, b, out=out); @(a, 1, out=out)",
        **pairs,
        **TWO,
        bad="@(a); @(a, torch.ones(7)); @(a, 'x'); a.@(); @(a, None); @(a, 1, 2)",
    )
op(
    "masked_fill",
    "@(a, m, 2); @(a, m, 2.5); a.@(m, -inf); a.@(m, value=0); a.@_(m, 1); a.@(mask=m, value=True); "
    "@(a, mask=m, value=1.0)",
    **pairs,
    a=values.normal,
    m=values.mask,
    bad="@(a, m); @(a, a, 1.0); @(a, torch.ones(7).bool(), 1.0); @(a, m, 'x'); a.@(m); @(a, m.long(), 1.0); "
    "@(a, m, torch.ones(2)); a.@_(m)",
)
filled = {
    "shapes": (((3, 4), (3, 4), ()), ((3, 4), (4,), ()), ((), (), ()), ((0, 2), (2,), ())),
    "dtypes": MIXED,
    "a": values.normal,
    "m": values.mask,
    "v": values.normal,
}
op("masked_fill", "@(a, m, v); a.@(m, v); a.@(m, value=v)", **filled)
op(  # of an expanded tensor PyTorch's derivative by the value counts each place as often as it is seen
    "masked_fill",
    "a.@_(m, v)",
    **filled,
    layouts=LAYOUTS[:-1],
)
