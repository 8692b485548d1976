"""Operators with the tensor on the right, and subscripts."""

from __future__ import annotations

from conformance import values
from conformance.spec import ALL, BINARY_SHAPES, MIXED, op

NUMBER = "{0}; 2 {1} a; 2.5 {1} a; True {1} a; 0 {1} a; -1.5 {1} a; a.@(2); a.@(2.5); a.@(True); a.@(-1)"
TWO = {"a": values.normal, "b": values.normal}
BAD = "a.@(); a.@(1, 2); 'x' {0} a; None {0} a; object() {0} a; a.@(torch.ones(7)); a.@(other=1, more=2)"

for _name, _sign in (("__radd__", "+"), ("__rmul__", "*"), ("__rsub__", "-")):
    op(_name, "a.@(b)", shapes=BINARY_SHAPES, dtypes=MIXED, **TWO)
    op(_name, NUMBER.format("a.@(3)", _sign), bad=BAD.format(_sign))
op("__rdiv__", "a.@(2); 2 / a; 2.5 / a; True / a; 0 / a; a.@(2.5); a.@(True); -1.5 / a", bad=BAD.format("/"))
op("__rdiv__", "a.@(b)", shapes=BINARY_SHAPES, dtypes=MIXED, **TWO)
op("__rpow__", NUMBER.format("a.@(3)", "**"), bad=BAD.format("**"))
op("__rpow__", "a.@(b)", shapes=BINARY_SHAPES, dtypes=MIXED, a=values.positive, b=values.positive)
op(
    "__rmatmul__",
    "a.@(b); b @ a",
    shapes=(
        ((3, 4), (2, 3)),
        ((3,), (3,)),
        ((3, 4), (3,)),
        ((4,), (2, 4)),
        ((2, 4, 3), (5, 4)),
        ((4, 3), (2, 1, 5, 4)),
        ((0, 3), (2, 0)),
        ((3, 0), (2, 3)),
        ((3,), (4,)),
        ((), (3,)),
    ),
    dtypes=("float64", "float32", "int64", "float64 float32"),
    **TWO,
    bad="a.@(2); a.@(); (2).__matmul__(a); 'x' @ a; a.@(torch.ones(7, 7)); None @ a",
)

SUBSCRIPTS = """
    a[0]; a[-1]; a[1:]; a[::2]; a[:, 1]; a[..., 0]; a[None]; a[0, 1:, None]; a[...]; a[:, None, ::2]; a[1:1]
    a[True]; a[False]
    a[[0, 2]]; a[[0, 1], [1, 2]]; a[:, [0, 2]]; a[[True, False, True]]; a[None, 0, ..., 1]; a[()]
    a[torch.tensor(1)]; a[range(2)]
    a[torch.tensor([0, 2, 0])]; a[:, torch.tensor([1, 1])]; a[torch.tensor([[0, 1], [2, 0]])]
    a[torch.tensor([0, 1]), ..., 1]
    a[torch.tensor([True, False, True])]; a[[0, 2], :, None]; a[torch.tensor([], dtype=torch.int64)]
    a[slice(0, 2)]; a[np.array([0, 1])]
    a[0:2, torch.tensor([2, 0])]; a[torch.tensor([-1, 0], dtype=torch.int32)]
    a[torch.tensor([1, 0], dtype=torch.uint8)]
    a[a > 0]; a[a > 100]; a.@(0); a.@((0, 1)); a[torch.tensor([[0], [1]]), torch.tensor([1, 2])]
    a[np.int64(1)]; a[:, torch.tensor(True)]
"""
op(
    "__getitem__",
    SUBSCRIPTS,
    shapes=((3, 4), (3, 4, 2), (3, 3, 2, 3)),
    dtypes=ALL,
    bad="""a[9]; a[-9]; a['x']; a[0, 0, 0, 0, 0]; a[1.5]; a[[9]]; a[torch.tensor([9])]; a[torch.tensor([1.0])]
    a[object()]; a[::-1]
    a[torch.tensor([True, False])]; a[[0, 1], [0, 1, 2]]; a[..., ...]; a[::0]; a[None, 'x']; a.@(); a[0, 9]
    a['x', 0]; a[{}]""",
)
op("__getitem__", "a[None]; a[...]; a[()]; a[True]; a[..., None]", shapes=((), (0,)), bad="a[0]; a[:]; a[[0]]; a[0, 0]")
