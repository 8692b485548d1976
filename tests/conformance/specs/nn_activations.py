"""Activations."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, UNARY_SHAPES, op

F = "nn.functional."
DTYPES = (*FLOATS, "float16", "int64", "bool")
PLAIN = "@(a); @(input=a); "
INPLACE = "@(a, inplace=True); @(a, inplace=False); @(a.clone(), inplace=True); "
BAD = "@(); @('x'); @(1.0); @(None); @(a, nonsense=1); @([1.0]); @(a, 1, 2, 3, 4, 5); "
every = {"shapes": (*UNARY_SHAPES, "ties"), "dtypes": DTYPES, "bad": BAD}


def all_of(names: str) -> str:
    return " ".join([F + name for name in names.split()])


op(all_of("relu selu silu mish hardsigmoid hardswish"), PLAIN + INPLACE + "@(a) * 2", **every)
op(F + "relu", "torch.relu(a); a.relu(); a.relu_(); torch.relu_(a)", **every)
op(all_of("softsign tanhshrink logsigmoid"), PLAIN + "@(a) * 2; @(a) + a; -@(a)", **every)
op(F + "leaky_relu", PLAIN + INPLACE + "@(a, 0.2); @(a, negative_slope=-0.5); @(a, 0.1, True)", **every)
op(all_of("elu celu"), PLAIN + INPLACE + "@(a, 0.5); @(a, alpha=2.0); @(a, 1.5, True); @(a, 2)", **every)
op(F + "gelu", PLAIN + "@(a, approximate='none'); @(a, approximate='tanh'); @(input=a, approximate='tanh')", **every)
op(
    F + "gelu",
    PLAIN,
    shapes=((3,),),
    dtypes=("float64",),
    bad="@(a, approximate='x'); @(a, approximate=1); @(a, 'tanh')",
)
numeric = every | {"dtypes": DTYPES[:-1]}
op(F + "relu6", PLAIN + INPLACE + "@(a) * 2", **numeric)
op(F + "hardtanh", PLAIN + INPLACE + "@(a, -2, 2); @(a, min_val=-0.5, max_val=0.25); @(a, 0.0, 1.0, True)", **numeric)
op(
    F + "softplus",
    PLAIN + "@(a, 2); @(a, beta=0.5, threshold=1); @(a, 1, 0.5); @(a, threshold=30); @(a, beta=-1)",
    **every,
)
op(
    F + "prelu",
    "@(a, w); @(input=a, weight=w); @(a, weight=w); torch.prelu(a, w); a.prelu(w)",
    shapes=(
        ((3, 4), (4,)),
        ((3, 4), (1,)),
        ((2, 3, 4), (3,)),
        ((5,), (1,)),
        ((0, 3), (3,)),
        ((), (1,)),
        ((), ()),
        ((3, 4), ()),
    ),
    dtypes=FLOATS,
    a=values.normal,
    w=values.normal,
    bad="@(); @(a); @(a, 1.0); @(a, torch.ones(7)); @('x', w); @(a, w.int()); @(a, 'x'); "
    "@(a, torch.ones(2, 2)); @(a, w, 1)",
)
op(
    F + "glu",
    PLAIN + "@(a, 0); @(a, dim=1); @(a, -1); @(input=a, dim=0)",
    shapes=((2, 4), (4, 2), (2, 4, 6), (4,), (0, 2), (4, 4)),
    dtypes=(*FLOATS, "float16"),
    bad=BAD + "@(torch.ones(3)); @(a, 9); @(torch.tensor(1.0)); @(a, 'x'); @(torch.ones(2, 3), 1)",
)
SOFT = (
    "@(a, 0); @(a, dim=-1); @(a, 1); @(a, dim=0, dtype=torch.float64); @(input=a, dim=-1); "
    "@(a, -1, dtype=torch.float32); "
)
SHAPES = ((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,), "special", (3, 1))
SOFT_BAD = BAD + "@(a, 9); @(a, 'x'); @(a, dim=-9); @(a, dim=1.5); @(a, 0, dtype='x'); "
op(
    "softmax log_softmax",
    SOFT + "a.@(0); a.@(dim=-1); a.@(-1, torch.float64); torch.nn.functional.@(a, dim=0)",
    shapes=SHAPES,
    dtypes=(*FLOATS, "float16"),
    bad=SOFT_BAD + "@(a); a.@()",
)
op(F + "softmin", SOFT, shapes=SHAPES, dtypes=(*FLOATS, "float16"), bad=SOFT_BAD)
