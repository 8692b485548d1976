"""Views, joins, splits and layout changes."""

from __future__ import annotations

from conformance import values
from conformance.spec import ALL, op

SHAPES = ((3, 4), (2, 3, 4), (2, 0, 3), (4, 1), (2, 1, 3, 2), (4, 4))
EVERY = (*SHAPES, (), (0,), (5,))
DTYPES = ("float64", "float32", "int64", "bool", "float16")
BAD = "@(); @('x'); @(1.0); @(a, nonsense=1); a.@(nonsense=1); "
TWO = {"a": values.normal, "b": values.normal}

op(
    "reshape",
    "@(a, (-1,)); @(a, [4, -1]); a.@(-1); a.@(2, -1); a.@((4, 3)); a.@(3, 4).sum(0); @(a, shape=(-1, 1)); "
    "a.@(1, -1, 1); a.@(a.shape); @(a, (2, 6)); @(input=a, shape=(12,))",
    shapes=((3, 4), (4, 3), (2, 6), (12,), (2, 3, 2), (0, 3)),
    dtypes=DTYPES,
    bad=BAD + "@(a, (5, 5)); @(a, (-1, -1)); @(a, (-2,)); a.@(5); @(a, 'x'); @(a, (1.5,)); a.@(-1, 5); @(a); "
    "a.@(); a.@('x')",
)
op("reshape", "@(a, ()); a.@(1); a.@(()); a.@(1, 1); @(a, (-1,))", shapes=((), (1,), (1, 1)), dtypes=DTYPES)
op(
    "view",
    "a.@(-1); a.@(2, -1); a.@((4, 3)); a.@(size=(3, 4)); a.@(1, -1, 1); a.@(a.shape); "
    "a.@(12); a.@(torch.Size([6, 2])); a.@(-1).data_ptr() == a.data_ptr()",
    shapes=((3, 4), (4, 3), (2, 6), (12,), (2, 3, 2), (0, 3)),
    dtypes=DTYPES,
    bad="a.@(5); a.@(-1, -1); a.@(-2); a.@('x'); a.@(1.5); a.@(); a.@(None); a.@(torch.float16, 1)",
)
op("view", "a.@(1); a.@(()); a.@(1, 1); a.@(-1)", shapes=((), (1,), (1, 1)), dtypes=DTYPES)
op(
    "view",
    "a.@(torch.int64); a.@(torch.float64)",
    shapes=((3, 4), (2, 0)),
    dtypes=("float64", "int64"),
    needs=("none",),
)
op(
    "reshape_as",
    "a.@(b); a.@(other=b); a.@(b).sum(); a.@(b.T)",
    shapes=(((3, 4), (4, 3)), ((3, 4), (12,)), ((), (1, 1)), ((0,), (2, 0)), ((2, 3, 2), (12, 1)), ((12,), (2, 6))),
    dtypes=DTYPES,
    **TWO,
    bad="a.@(); a.@(torch.ones(5)); a.@((3, 4)); a.@('x'); a.@(1); a.@(b, b); a.@(None)",
)
op(
    "flatten",
    "@(a); a.@(); @(a, 1); @(a, start_dim=0, end_dim=1); a.@(0, -2); @(a, -2, -1); a.@(end_dim=0); "
    "a.@(start_dim=1); @(a, 1, 1)",
    shapes=EVERY,
    dtypes=DTYPES,
    bad=BAD + "@(a, 9); @(a, 0, 9); @(a, 1, 0); @(a, 'x'); @(a, 1.5); a.@(0, 1, 2); a.@(-9)",
)
op("ravel", "@(a); a.@(); @(input=a); a.@() is a", shapes=EVERY, dtypes=DTYPES, bad=BAD + "@(a, 1); a.@(0)")
op(
    "unflatten",
    "@(a, 1, (2, -1)); a.@(1, (2, 2)); a.@(-1, [4, 1]); @(a, dim=1, sizes=(1, -1)); a.@(dim=0, sizes=(1, -1)); "
    "a.@(0, (3, 1)); a.@(-1, (-1, 2, 1))",
    shapes=((3, 4), (2, 4), (3, 4, 2), (3, 0), (4,)),
    dtypes=DTYPES,
    bad=BAD + "@(a, 9, (2, 2)); @(a, 1, (3, 3)); @(a, 1, ()); @(a, 1, (-1, -1)); @(a, 'x', (2, 2)); a.@(1); "
    "@(a, 1, 'x'); a.@(1, 4)",
)
op(
    "squeeze",
    "@(a); a.@(); @(a, 1); @(a, dim=0); a.@(-1); a.@((0, 1)); @(a, (0, -1)); a.@_(); a.@_(1); a.@(dim=(1,)); "
    "a.@_((1, 2))",
    shapes=((3, 1), (1, 4), (2, 1, 3, 1), (), (1,), (0, 1), (1, 1, 1)),
    dtypes=DTYPES,
    bad=BAD + "@(a, 9); a.@(-9); @(a, 'x'); @(a, (0, 9)); @(a, (0, 0)); @(a, 1.5); a.@(0, 1)",
)
op(
    "unsqueeze",
    "@(a, 0); a.@(-1); @(a, dim=1); a.@(dim=-2); a.@_(0); a.@_(-1); @(input=a, dim=0)",
    shapes=EVERY,
    dtypes=DTYPES,
    bad=BAD + "@(a); @(a, 9); a.@(-9); @(a, 'x'); a.@(); @(a, (0, 1)); @(a, 1.5); a.@_()",
)
op(
    "permute",
    "@(a, (1, 0)); a.@(1, 0); a.@((1, 0)); a.@([-1, 0]); @(a, dims=(1, 0)); a.@(0, -1); a.@(dims=(1, 0)); @(a, [0, 1])",
    shapes=((3, 4), (4, 1), (0, 3), (4, 4), "ties"),
    dtypes=DTYPES,
    bad=BAD + "@(a, (0, 0)); @(a, (0,)); @(a, (0, 9)); a.@(0); @(a, 'x'); a.@(0, 1, 2); @(a); a.@(1.5, 0); a.@()",
)
op("permute", "a.@(2, 0, 1); @(a, (-1, 0, 1)); a.@(0, 2, 1)", shapes=((2, 3, 4), (2, 0, 3), (1, 4, 1)), dtypes=DTYPES)
op(
    "transpose",
    "@(a, 0, 1); a.@(0, -1); @(a, dim0=0, dim1=1); a.@(-1, -2); a.@_(0, 1); a.@(dim0=1, dim1=0); a.@_(0, -1); "
    "@(a, 0, 0)",
    shapes=EVERY,
    dtypes=DTYPES,
    bad=BAD + "@(a, 0, 9); a.@(-9, 0); @(a, 'x', 0); @(a, 0); a.@(); @(a, 0, 1, 2); @(a, 1.5, 0)",
)
op(
    "t",
    "@(a); a.@(); a.@_(); @(input=a)",
    shapes=((3, 4), (5,), (), (0, 3), (0,), (4, 4), (2, 3, 4)),
    dtypes=DTYPES,
    bad=BAD + "@(torch.ones(2, 2, 2)); a.@(0); a[None].@()",
)
op(
    "T",
    "a.@; a.@.shape; a.@.@; 1 + a.@",
    shapes=((3, 4), (5, 2), (0, 3), (4, 4), (1, 2)),
    dtypes=DTYPES,
    bad="a.@(); a.@.x; 'x'.@; a.@[9]",
)
op(
    "mT",
    "a.@; a.@.shape; a.@.@; 1 + a.@",
    shapes=((3, 4), (2, 3, 4), (0, 3), (4, 4), (2, 1, 3, 2)),
    dtypes=DTYPES,
    bad="a.@(); a[0].@; torch.tensor(1.0).@; a.@.x",
)
op(
    "movedim",
    "@(a, 0, 1); a.@(0, -1); @(a, (0, 1), (1, 0)); a.@((0,), (1,)); @(a, source=0, destination=-1); "
    "a.@([1, 0], [0, 1]); a.@(-1, 0)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, 0, 9); @(a, (0, 1), (0,)); @(a, (0, 0), (0, 1)); @(a, 'x', 0); @(a, 0); a.@(); "
    "@(a, (0, 1), (1, 1)); a.@(-9, 0)",
)
op(
    "expand",
    "a.@(3, 4); a.@(2, 3, 4); a.@((3, 4)); a.@(-1, 4); a.@([2, -1, 4]); a.@(a.shape); a.@(size=(3, 4)); "
    "a.@(2, 1, -1, -1)",
    shapes=((3, 1), (1, 4), (3, 4), (1, 1), (4,), (1,), ()),
    dtypes=DTYPES,
    bad="a.@(); a.@(7, 5); a.@(2); a.@('x'); a.@(-1, -1, -1, -1); a.@(1.5, 4); a.@(-2, 4); a.@(None)",
)
op("expand", "a.@(0, 3); a.@(2, 0, 3); a.@(-1, 3)", shapes=((0, 3), (1, 3), (0, 1)), dtypes=DTYPES)
op(
    "expand_as",
    "a.@(b); a.@(other=b); a.@(b).sum(); a.@(b) * 2",
    shapes=(((3, 1), (3, 4)), ((4,), (3, 4)), ((), (2, 3)), ((1,), (0,)), ((3, 4), (3, 4)), ((1, 1), (2, 3, 4))),
    dtypes=DTYPES,
    **TWO,
    bad="a.@(); a.@(torch.ones(5)); a.@((3, 4)); a.@('x'); a.@(1); a.@(b, b); a.@(torch.ones(7, 7))",
)
op(
    "broadcast_to",
    "@(a, (3, 4)); a.@((3, 4)); @(a, [2, 3, 4]); a.@([2, 3, 4]); @(a, size=(3, 4)); @(a, (-1, 4)); a.@((2, 1, 3, 4))",
    shapes=((3, 1), (1, 4), (3, 4), (1, 1), (4,), (1,), ()),
    dtypes=DTYPES,
    bad=BAD + "@(a, (7, 5)); @(a, (2,)); @(a, 'x'); @(a); a.@(); @(a, (-1, -1, -1, -1)); @(a, (1.5, 4))",
)
op(
    "broadcast_tensors",
    "@(a, b); @(a); @(a, b, a); [t.sum() for t in @(a, b)]; @(b, a)[0]; @(*[a, b])",
    shapes=(((3, 1), (3, 4)), ((4,), (3, 4)), ((), (2, 3)), ((1,), (0,)), ((), ()), ((3, 1), (1, 4))),
    dtypes=(*DTYPES, "float32 int64"),
    **TWO,
    bad="@(a, torch.ones(7)); @('x'); @(a, 1); @(1.0, a); @(a, None); @(a, 'x')",
)
op(
    "repeat",
    "a.@(2, 1); a.@((2, 3)); a.@(1, 1); a.@(2, 1, 3); a.@([1, 2]); a.@(repeats=(2, 2)); a.@(0, 2); a.@(3, 2, 1, 2)",
    shapes=((3, 4), (4,), (), (0, 3), (2, 1), (0,)),
    dtypes=DTYPES,
    bad="a.@(); a.@(2); a.@(-1, 2); a.@('x'); a.@(1.5, 2); a.@(None); a.@((2, 'x'))",
)
op("repeat", "a.@(2); a.@(3); a.@(0); a.@((2,))", shapes=((3,), (), (0,)), dtypes=DTYPES)
op(
    "tile",
    "@(a, (2, 1)); a.@((2, 3)); a.@(2); @(a, (2,)); a.@(2, 1, 3); @(a, dims=(1, 2)); @(a, ()); a.@(1, 2); "
    "@(a, (0, 2)); a.@((2, 1, 1, 2))",
    shapes=((3, 4), (4,), (), (0, 3), (2, 1), (2, 3, 2)),
    dtypes=DTYPES,
    bad=BAD + "@(a); @(a, 'x'); @(a, (-1,)); @(a, 1.5); a.@('x'); @(a, (1.5,))",
)
op(
    "repeat_interleave",
    "@(a, 2); a.@(2); @(a, 2, 0); @(a, repeats=3, dim=-1); a.@(2, dim=1); @(a, 0, 0); @(a, torch.tensor(2), 0); "
    "@(a, torch.tensor([2]), 1); @(a, 2, output_size=2 * a.numel())",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, -1); @(a, 2, 9); @(a, 'x'); @(a, 1.5); a.@(); @(a, torch.tensor([1, 2, 3, 4, 5]), 0); "
    "@(a, torch.tensor([1.0]), 0); @(a, torch.tensor([-1]), 0)",
)
op(
    "repeat_interleave",
    "@(a, r, 0); a.@(r, dim=0); @(a, r, dim=0, output_size=int(r.sum())); @(r)",
    shapes=(((3, 4), (3,)), ((5,), (5,)), ((0, 2), (0,)), ((2, 3, 2), (1,))),
    dtypes=DTYPES,
    a=values.normal,
    r=values.index(4),
)
JOINED = (((3, 4), (3, 4)), ((4, 4), (4, 4)), ((0, 4), (0, 4)), ((2, 3, 4), (2, 3, 4)), ((1, 4), (1, 4)), "ties")
op(
    "cat",
    "@([a, b]); @((a, b), 1); @([a, b, a], dim=0); @([a], 0); @(tensors=[a, b], dim=-1); @([a, b], -2); "
    "@([a, b], out=out); torch.concat([a, b], 1); torch.concatenate([a, b], dim=0); torch.concatenate([a, b], axis=0)",
    shapes=JOINED,
    dtypes=(*DTYPES, "float32 int64", "float64 float32", "int64 bool"),
    **TWO,
    bad="@(); @([]); @([a, torch.ones(7)]); @([a, b], 9); @([a, 1]); @(a); @([torch.tensor(1.0)]); "
    "@([a, b], 'x'); @('x'); @([a, torch.ones(7, 5)]); @([a, None]); @(a, b)",
)
op(
    "cat",
    "@([a, b]); @([b, a], 0); @([a, torch.ones(0), b]); @([a, b], -1)",
    shapes=(((5,), (2,)), ((0,), (3,)), ((1,), (0,))),
    dtypes=DTYPES,
    **TWO,
)
op(
    "stack",
    "@([a, b]); @((a, b), 1); @([a, b, a], dim=0); @([a], 0); @(tensors=[a, b], dim=-1); @([a, b], -2); "
    "@([a, b], out=out)",
    shapes=(*JOINED, ((), ()), ((3,), (3,))),
    dtypes=(*DTYPES, "float32 int64", "float64 float32"),
    **TWO,
    bad="@(); @([]); @([a, torch.ones(7)]); @([a, b], 9); @([a, 1]); @(a, 0, 1); @([a, b], 'x'); @('x'); "
    "@([a, None]); @(a, b); @([a, b], -9)",
)
op(
    "hstack vstack dstack",
    "@([a, b]); @((a, b)); @([a]); @([a, b, a]); @(tensors=[a, b]); @([a, b], out=out)",
    shapes=(*JOINED, ((), ()), ((3,), (3,)), ((1, 2, 3), (1, 2, 3))),
    dtypes=(*DTYPES, "float32 int64"),
    **TWO,
    bad="@(); @([]); @([a, torch.ones(7, 5, 3)]); @([a, 1]); @([a, b], 9); @('x'); @([a, None]); @(1.0); @(a, b)",
)
op(
    "split",
    "@(a, 2); a.@(2); @(a, 1, 0); @(a, 2, dim=-1); a.@(3, 1); @(a, split_size_or_sections=2); a.@(5); "
    "a.@(2)[0]; @(a, 2, 1)[1] * 2",
    shapes=((3, 4), (4, 4), (2, 3, 4), (5, 3), (0, 3)),
    dtypes=DTYPES,
    bad=BAD + "@(a, -1); @(a, 0); @(a, 2, 9); @(a, [1, 1]); @(a, 'x'); a.@(); @(a, 1.5); a.@([1, -1, 3]); "
    "@(a, None); @(a, [9, 9])",
)
op(
    "split",
    "@(a, [1, 2]); a.@((2, 1)); @(a, [0, 3], dim=0); a.@([3], 0); @(a, [1, 3], -1); a.@([1, 1, 1])",
    shapes=((3, 4), (3, 2), (3,)),
    dtypes=DTYPES,
)
op(
    "split_with_sizes",
    "@(a, [1, 2]); a.@((2, 1)); @(a, [0, 3], dim=0); a.@([3], 0); @(a, split_sizes=[1, 3], dim=-1); "
    "a.@([1, 1, 1]); @(a, [1, 2])[1]",
    shapes=((3, 4), (3, 2), (3,), (3, 0)),
    dtypes=DTYPES,
    bad=BAD + "@(a, [9]); @(a, [-1, 4]); @(a, [1, 2], 9); @(a, 'x'); @(a); a.@(); @(a, 2.5); @(a, [1.5, 1.5])",
)
op(
    "chunk",
    "@(a, 2); a.@(2); @(a, 1, 0); @(a, 2, dim=-1); a.@(3, 1); @(a, chunks=2); a.@(9); a.@(2)[0]; @(a, 2, 1)[1] * 2",
    shapes=((3, 4), (4, 4), (2, 3, 4), (5, 3), (0, 3)),
    dtypes=DTYPES,
    bad=BAD + "@(a, -1); @(a, 0); @(a, 2, 9); @(a, [1, 1]); @(a, 'x'); a.@(); @(a, 1.5); @(a); @(torch.tensor(1.0), 2)",
)
op(
    "tensor_split",
    "@(a, 2); a.@(2); @(a, 3, 1); @(a, (1, 2)); a.@([1], -1); "
    "a.@((1, -1), 1); a.@([2, 1]); a.@((0, 9)); "
    "@(a, torch.tensor(2)); @(a, torch.tensor([1, 2]))",
    shapes=((3, 4), (4, 4), (2, 3, 4), (5, 3), (0, 3)),
    dtypes=DTYPES,
    bad=BAD + "@(a, -1); @(a, 0); @(a, 2, 9); @(a, 'x'); a.@(); @(a, 1.5); @(torch.tensor(1.0), 2); "
    "@(a, torch.tensor(1.5)); @(a, [1.5])",
)
op(
    "unbind",
    "@(a); a.@(); @(a, 1); @(a, dim=0); a.@(-1); a.@(0)[0]; [t.sum() for t in a.@(1)]; @(input=a)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, 9); a.@(-9); @(a, 'x'); @(torch.tensor(1.0)); @(a, 1.5)",
)
op(
    "flip",
    "@(a, (0,)); a.@(0); a.@(0, 1); @(a, [-1]); a.@((0, 1)); @(a, dims=(1,)); @(a, ()); a.@([1, 0])",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, (9,)); @(a, (0, 0)); @(a, 'x'); @(a); a.@(-9); @(a, (1.5,))",
)
op("flip", "@(a, ()); @(a, (0,)); a.@(-1)", shapes=((), (5,), (0,)), dtypes=DTYPES)
op(
    "fliplr flipud",
    "@(a); a.@(); @(input=a); @(a) + 1",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(torch.tensor(1.0)); @(a, 1); a.@(0); torch.tensor(1.0).@()",
)
op(
    "roll",
    "@(a, 1); a.@(1); @(a, 1, 0); @(a, (1, 2), (0, 1)); a.@(-1, -1); @(a, shifts=2, dims=1); a.@((1,), (0,)); "
    "a.@(shifts=(1, -2), dims=(0, 0)); @(a, 9, 0); @(a, 0)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, 1, 9); @(a, (1, 2), 0); @(a, 'x'); @(a); a.@(); @(a, 1.5); @(a, (1, 2)); @(a, 1, (0, 1))",
)
op(
    "rot90",
    "@(a); a.@(); @(a, 2); @(a, -1); @(a, 1, (1, 0)); a.@(3, (0, 1)); @(a, k=5, dims=[0, -1]); @(a, 0); a.@(k=1)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, 1, (0, 0)); @(a, 1, (0,)); @(a, 1, (0, 9)); @(a, 'x'); @(torch.ones(3)); "
    "@(a, 1, (0, 1, 2)); @(a, 1.5); @(a, 1, 0)",
)
op(
    "narrow",
    "@(a, 0, 0, 1); a.@(1, 1, 2); @(a, dim=0, start=1, length=1); a.@(-1, -2, 1); a.@(0, 0, 0); "
    "@(a, 0, torch.tensor(1), 1); a.@(1, 0, 1) * 2",
    shapes=((3, 4), (2, 3, 4), (4, 3), (4, 4)),
    dtypes=DTYPES,
    bad=BAD + "@(a, 9, 0, 1); @(a, 0, 9, 1); @(a, 0, 0, 9); @(a, 0, 0, -1); @(a, 0, 0); a.@(); @(a, 'x', 0, 1); "
    "@(torch.tensor(1.0), 0, 0, 1); @(a, 0, -9, 1); @(a, 0, 1.5, 1)",
)
op(
    "select",
    "@(a, 0, 1); a.@(1, 0); @(a, dim=-1, index=-1); a.@(0, -2); a.@(-1, 0) * 2; a.@(dim=0, index=0)",
    shapes=((3, 4), (2, 3, 4), (4, 3), (4, 4), (5, 2)),
    dtypes=DTYPES,
    bad=BAD
    + "@(a, 9, 0); @(a, 0, 9); @(a, 0, -9); @(a, 0); a.@(); @(a, 'x', 0); @(torch.tensor(1.0), 0, 0); @(a, 0, 1.5)",
)
op(
    "unfold",
    "a.@(0, 2, 1); a.@(1, 2, 2); a.@(-1, 3, 1); a.@(dimension=0, size=2, step=3); a.@(1, 0, 1); "
    "a.@(0, 1, 1) * 2; "
    "a.@(0, 2, 1).sum()",
    shapes=((3, 4), (2, 3, 4), (4, 3), (4, 4), (5, 3)),
    dtypes=DTYPES,
    bad="a.@(0, 9, 1); "
    "a.@(9, 1, 1); a.@(0, 1, 0); a.@(0, -1, 1); a.@(0, 2); a.@(); a.@('x', 2, 1); a.@(0, 1, -1); a.@(0, 1.5, 1)",
)
op(
    "diagonal",
    "@(a); a.@(); @(a, 1); @(a, offset=-1); a.@(0, 1, 0); @(a, dim1=-1, dim2=-2); a.@(9); a.@(-1, 0, -1); "
    "a.@() * 2; @(a, 0, dim1=0, dim2=1)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(a, 0, 0, 0); @(a, 0, 9, 0); @(torch.ones(3)); @(a, 'x'); @(a, 1.5); a.@(0, 1, 2, 3); a.@(0, 0, -9)",
)
op(
    "diag",
    "@(a); a.@(); @(a, 1); @(a, diagonal=-1); a.@(2); a.@(-1); @(a, out=out); @(a, 1, out=out)",
    shapes=((3, 4), (4, 4), (5,), (0,), (1,), (4, 2)),
    dtypes=DTYPES,
    bad=BAD + "@(torch.ones(2, 2, 2)); @(torch.tensor(1.0)); @(a, 'x'); @(a, 1.5); a.@(0, 1); @(a, 99)",
)
op(
    "diag_embed",
    "@(a); a.@(); @(a, 1); @(a, offset=-1); a.@(0, 0, 1); @(a, dim1=0, dim2=-1); a.@(2, -1, -2); @(a, 1, 0, 2)",
    shapes=((3, 4), (5,), (2, 3, 4), (0,), (2, 0)),
    dtypes=DTYPES,
    bad=BAD + "@(a, 0, 0, 0); @(a, 0, 9, 0); @(a, 'x'); @(a, 1.5); a.@(0, 1, 2, 3); @(torch.tensor(1.0))",
)
op(
    "diagflat",
    "@(a); a.@(); @(a, 1); @(a, offset=-1); a.@(2); a.@(-1)",
    shapes=EVERY,
    dtypes=DTYPES,
    bad=BAD + "@(a, 'x'); @(a, 1.5); a.@(0, 1)",
)
op(
    "tril triu",
    "@(a); a.@(); @(a, 1); @(a, diagonal=-1); a.@(2); a.@_(); a.@_(-1); @(a, out=out); a.@(-9); @(a, diagonal=9)",
    shapes=SHAPES,
    dtypes=DTYPES,
    bad=BAD + "@(torch.ones(3)); @(torch.tensor(1.0)); @(a, 'x'); @(a, 1.5); a.@(0, 1)",
)
op(
    "meshgrid",
    "@(a, b, indexing='ij'); @([a, b], indexing='xy'); @(a, indexing='ij'); @(a, b); @(a, b, a, indexing='xy'); "
    "[t.sum() for t in @(a, b, indexing='ij')]; @((a, b), indexing='ij')[0]",
    shapes=(((3,), (4,)), ((), (3,)), ((0,), (2,)), ((1,), (5,)), ((), ())),
    dtypes=DTYPES,
    **TWO,
    bad="@(a, b, indexing='x'); @(torch.ones(2, 2), indexing='ij'); @(); @('x'); @(a, 1, indexing='ij'); "
    "@(a, b.long(), indexing='ij'); @([], indexing='ij'); @(a, b, indexing=1)",
)
op(
    "clone",
    "@(a); a.@(); @(input=a); a.@(memory_format=torch.contiguous_format); a.@() is a; "
    "a.@(memory_format=torch.preserve_format)",
    shapes=EVERY,
    dtypes=ALL,
    bad=BAD + "@(a, 1); a.@('x'); a.@(memory_format=1)",
)
op(
    "contiguous",
    "a.@(); a.@().is_contiguous(); a.@(memory_format=torch.contiguous_format); a.@() * 2; a.@() is a",
    shapes=EVERY,
    dtypes=ALL,
    bad="a.@(1); a.@('x'); a.@(memory_format=1); a.@(nonsense=1); a.@(None, None)",
)
op("clone contiguous", "a.@().data_ptr() == a.data_ptr(); a.@().stride()", shapes=((3, 4), (2, 3, 4), (5,), ()))
op(
    "as_strided",
    "@(a, (2, 2), (1, 2)); a.@((3, 2), (1, 1)); @(a, (2,), (0,)); a.@((2, 2), (2, 1), 1); "
    "@(a, size=(2, 2), stride=(1, 1), storage_offset=2); a.@((), ()); a.@([4], [2]); a.@((0,), (1,)); "
    "a.@((2, 3), (3, 1)) * 2",
    shapes=((3, 4), (2, 3, 4), (12,), (4, 4), (5, 2)),
    dtypes=DTYPES,
    layouts=("contiguous", "transposed"),
    bad=BAD + "@(a, (99,), (99,)); @(a, (2,), (1, 1)); @(a, (-1,), (1,)); @(a, (2,), (-1,)); @(a, (2,)); a.@(); "
    "@(a, 'x', (1,)); @(a, (2,), (1,), 999)",
)
