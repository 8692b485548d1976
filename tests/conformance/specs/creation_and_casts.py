"""Factories, and conversions of dtypes."""

from __future__ import annotations

from conformance import values
from conformance.spec import ALL, op

SHAPES = ((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,))
ONE = {"shapes": ((3,), ()), "dtypes": ("float64", "int64")}
LIKE = (
    "@(a{0}); @(input=a{0}); @(a{0}, dtype=torch.float32); @(a{0}, requires_grad=True, dtype=torch.float64); "
    "@(a{0}, dtype=torch.int64); @(a{0}, device='cpu'); @(a{0}, memory_format=torch.preserve_format); "
)

op(
    "arange",
    "@(5); @(1, 5); @(1, 10, 2); @(0.5); @(0, 1, 0.25); @(5, dtype=torch.float32); @(start=1, end=4); "
    "@(1, 4, step=2); @(5, 0, -1); @(3.0); @(0); @(2, 2); @(5, requires_grad=False); "
    "@(0, 3, dtype=torch.float64, requires_grad=True)\n"
    "@(end=4); @(1.5, 4.5, 1.5, dtype=torch.int64); @(5, out=torch.empty(0)); "
    "@(0, 1, 0.1, dtype=torch.float16); @(torch.tensor(4)); @(a.numel()); @(True); @(-3, 3); @(5, device='cpu')",
    **ONE,
    bad="@(); @('x'); @(5, 0, 1); @(0, 5, 0); @(0, 5, -1); @(0, inf); @(nan); @(1, 2, 3, 4); @(5, dtype='x'); "
    "@(5, dtype=torch.int64, requires_grad=True); @(None); @(5, nonsense=1)",
)
op(
    "linspace",
    "@(0, 1, 5); @(0, 10, steps=3); @(1.0, -1.0, 4); @(start=0, end=1, steps=2); @(0, 5, 6, dtype=torch.int64); "
    "@(0, 1, 1); @(0, 1, 0); @(0, 1, 5, dtype=torch.float64); @(0, 1, 5, requires_grad=True); @(2, 2, 3)\n"
    "@(0, 1, 3, out=torch.empty(3)); @(torch.tensor(0.0), torch.tensor(2.0), 5); @(torch.tensor(0.0), 2, 3); "
    "@(0, 9, 4, dtype=torch.float16); @(-5, 5, 11); @(0, 1, 7, device='cpu'); @(0, 3, 4, dtype=torch.int32)",
    **ONE,
    bad="@(); @(0, 1); @(0, 1, -1); @('x', 1, 5); @(0, 1, 'x'); @(0, 1, 1.5); @(0, 1, 5, 6); "
    "@(0, 1, 5, dtype='x'); @(0, 1, 5, nonsense=1); @(torch.ones(2), 1, 5); @(0, None, 5)",
)
op(
    "eye",
    "@(3); @(3, 4); @(n=2, m=3); @(3, dtype=torch.int64); @(0); @(2, 0); @(3, requires_grad=True); "
    "@(4, 2, dtype=torch.float64); @(3, out=torch.empty(0)); @(2, dtype=torch.bool); @(1); @(3, device='cpu'); "
    "@(5, 3) * 2; @(3, m=1); @(2, dtype=torch.float16)",
    **ONE,
    bad="@(); @(-1); @('x'); @(1.5); @(3, -1); @(3, 4, 5); @((3, 4)); @(3, dtype='x'); @(None); "
    "@(3, nonsense=1); @(3, dtype=torch.int64, requires_grad=True)",
)
op(
    "full",
    "@((2, 3), 1.5); @([2], 3); @((), True); @((2, 3), 1, dtype=torch.float64); @(size=(2,), fill_value=0.5); "
    "@((0, 3), 1.0); @((2,), 1.5, dtype=torch.int64); @((2,), 1.0, requires_grad=True); @((2, 2), inf); "
    "@(a.shape, 7); @((2,), False, dtype=torch.float32)\n"
    "@((2,), torch.tensor(2.5)); @((2, 1), -3, dtype=torch.float16); @((3,), 2, device='cpu'); "
    "@((2,), 1.5, out=torch.empty(2))",
    **ONE,
    bad="@(); @((2, 3)); @((2, 3), 'x'); @((-1,), 1); @('x', 1); @((1.5,), 1); @(2, 1); @((2,), 1, 2); "
    "@((2,), 1, dtype='x'); @((2,), 1, nonsense=1); @((2,), None); @((2,), 1, requires_grad=True)",
)
op(
    "zeros ones",
    "@(2, 3); @((2, 3)); @([2, 3]); @(3); @(()); @(); @(0); @(2, dtype=torch.float64); @(size=(2, 3)); "
    "@((2,), dtype=torch.int64); @(2, 3, requires_grad=True); @(a.shape); @(2, 0, 3); "
    "@((2,), out=torch.empty(0)); @(2, dtype=torch.bool)\n"
    "@(torch.Size([2, 2])); @(2, device='cpu'); @((2, 1), dtype=torch.float16); @(torch.tensor(2), 3)",
    **ONE,
    bad="@(-1); @('x'); @(1.5); @((2, -3)); @(2, 'x'); @((2, 3), 4); @(None); @(2, dtype='x'); "
    "@(2, nonsense=1); @((1.5,)); @(2, dtype=torch.int64, requires_grad=True); @([[2]])",
)
op(
    "full_like",
    LIKE.format(", fill_value=2") + "@(a, 2); @(a, fill_value=1.5); @(a, True)",
    shapes=SHAPES,
    dtypes=ALL,
    bad="@(); @(a); @(a, 'x'); @(1.0, 1); @('x', 1); @(a, 1, 2); @(a, 1, dtype='x'); @(a, 1, nonsense=1); @((2, 3), 1)",
)
op(
    "zeros_like ones_like",
    LIKE.format("") + "@(a, dtype=torch.bool)",
    shapes=SHAPES,
    dtypes=ALL,
    bad="@(); @(1.0); @('x'); @(a, 1, 2); @(a, dtype='x'); @(a, nonsense=1); @(None); @((2, 3)); @([a]); @(a, a)",
)
op(
    "new_full",
    "a.@((2, 3), 1.5); a.@([2], 3); a.@((), True); a.@((2, 3), 1, dtype=torch.float64); "
    "a.@(size=(2,), fill_value=2); a.@((0, 3), 1); a.@((2,), 1, requires_grad=True, dtype=torch.float32); "
    "a.@(a.shape, 0); a.@((1,), 2, device='cpu')",
    shapes=((3, 4), ()),
    dtypes=ALL,
    bad="a.@(); a.@((2, 3)); a.@((2, 3), 'x'); a.@((-1,), 1); a.@('x', 1); a.@((1.5,), 1); a.@(2, 1); "
    "a.@((2,), 1, 2); a.@((2,), 1, dtype='x'); a.@((2,), None)",
)
op(
    "new_ones new_zeros",
    "a.@(2, 3); a.@((2, 3)); a.@([2]); a.@(()); a.@(3); a.@((2,), dtype=torch.float64); a.@(size=(2,)); "
    "a.@(0, 2); a.@((2,), requires_grad=True, dtype=torch.float32); a.@(a.shape); a.@((1,), device='cpu')",
    shapes=((3, 4), ()),
    dtypes=ALL,
    bad="a.@(-1); a.@('x'); a.@(1.5); a.@((2, -3)); a.@(2, 'x'); a.@((2, 3), 4); a.@(None); a.@(2, dtype='x'); "
    "a.@(2, nonsense=1); a.@((1.5,))",
)
CAST_BAD = "a.@(1); a.@('x'); a.@(None, None); a.@(memory_format=1); a.@(nonsense=1); a.@(a); a.@(dtype=torch.float32)"
op(
    "double float long bool",
    "a.@(); a.@() is a; a.@(memory_format=torch.preserve_format); a.@() + 1; [a.@(), 1]",
    shapes=(*SHAPES, "ties"),
    dtypes=ALL,
    bad=CAST_BAD,
)
op("double float long bool", "a.@(); a.@().sum()", shapes=((4,),), dtypes=ALL, a=values.positive)
op(
    "to",
    "a.@(torch.float64); a.@(torch.float32); a.@(dtype=torch.int64); a.@('cpu'); a.@('cpu', torch.float32); "
    "a.@(b); a.@(other=b); a.@(torch.float64, copy=True); a.@(device='cpu', dtype=torch.float64); "
    "a.@(torch.float64) is a; a.@(torch.bool)\n"
    "a.@(torch.device('cpu')); a.@(torch.float32, False, True); a.@(torch.float16, non_blocking=True); "
    "a.@(dtype=torch.float32, memory_format=torch.preserve_format); a.@(b, copy=True); a.@(a.dtype, copy=True) is a",
    shapes=(((3, 4), (2,)), ((), (3,)), ((0,), ()), ((2, 0, 3), (1,)), ((5,), (5,))),
    dtypes=(
        "float64 float32",
        "float32 float64",
        "int64 float32",
        "float32 int64",
        "bool float64",
        "float16",
        "float64",
    ),
    a=values.normal,
    b=values.normal,
    bad="a.@('x'); a.@(1.5); a.@(torch.float32, 'x'); a.@(dtype='x'); a.@(nonsense=1); a.@(None, 'x'); "
    "a.@([1]); a.@(b, b); a.@(object())",
)
op(
    "item",
    "a.@(); [a.@(), 1]; a.@() + 1; str(type(a.@()))",
    shapes=((), (1,), (1, 1)),
    dtypes=ALL,
    bad="torch.ones(2).@(); a.@(1); torch.ones(0).@(); a.@('x'); torch.ones(2, 2).@(); a.@(nonsense=1)",
)
op(
    "fill",
    "@(a, 2); @(a, 1.5); @(a, value=True); a.fill_(2); a.fill_(1.5); @(a, torch.tensor(2.0)); "
    "a.fill_(value=1); @(a, -1)",
    shapes=SHAPES,
    dtypes=ALL,
    bad="@(); @(a); @(a, 'x'); "
    "@(a, torch.ones(2)); a.fill_(); a.fill_('x'); a.fill_(torch.ones(2)); @(1.0, 1); @(a, 1, 2); @(a, None)",
)
op(
    "fill",
    "@(a, v); a.fill_(v); @(a, value=v); a.fill_(torch.tensor(3))",
    shapes=(((3, 4), ()), ((0,), ()), ((), ())),
    dtypes=ALL,
    layouts=("contiguous", "transposed", "sliced"),
    a=values.normal,
    v=values.normal,
)
op(
    "zero_",
    "a.@(); torch.zero_(a); a.@().sum(); a.@() is a; a[0].@() if a.dim() and len(a) else a.@()",
    shapes=SHAPES,
    dtypes=ALL,
    bad="a.@(1); torch.zero_(); torch.zero_(1.0); torch.zero_('x'); torch.zero_(a, a); a.@('x'); a.@(nonsense=1)",
)
