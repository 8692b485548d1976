"""Losses."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, op

F = "nn.functional."
TWO = {"a": values.normal, "b": values.normal}
SHAPES = (((3, 4), (3, 4)), ((5,), (5,)), ((), ()), ((2, 3, 2), (2, 3, 2)), ((0, 3), (0, 3)), ((3, 1), (3, 1)))
DTYPES = (*FLOATS, "float16")
PAIR = "@(a, b); @(input=a, target=b); @(a, b, reduction='sum'); @(a, b, reduction='none'); @(a, b, reduction='mean'); "
BAD = (
    "@(); @(a); @('x', b); @(a, 'x'); @(a, 1.0); @(a, None); @(a, b, reduction='x'); @(a, b, nonsense=1); "
    "@(a, b, reduction=1); @(a, torch.ones(7)); "
)

op(
    F + "mse_loss " + F + "l1_loss",
    PAIR + "@(a, b, weight=w); @(a, b, weight=w, reduction='sum')",
    shapes=[(*s, s[0]) for s in SHAPES],
    dtypes=(*DTYPES, "float64 float32"),
    **TWO,
    w=values.positive,
    bad=BAD,
)
op(F + "mse_loss " + F + "l1_loss", PAIR, shapes=("special",), dtypes=FLOATS, **TWO)
op(
    F + "smooth_l1_loss",
    PAIR + "@(a, b, beta=0.5); @(a, b, beta=0.0); @(a, b, reduction='sum', beta=2)",
    shapes=(*SHAPES, "ties"),
    dtypes=DTYPES,
    **TWO,
    bad=BAD + "@(a, b, beta=-1); @(a, b, beta='x')",
)
op(
    F + "huber_loss",
    PAIR + "@(a, b, delta=0.5); @(a, b, delta=2); @(a, b, 'sum', 1.5)",
    shapes=(*SHAPES, "ties"),
    dtypes=DTYPES,
    **TWO,
    bad=BAD + "@(a, b, delta=-1); @(a, b, delta=0); @(a, b, delta='x')",
)
CLASSES = (
    "@(a, t); @(input=a, target=t); @(a, t, w); @(a, t, weight=w, reduction='sum'); "
    "@(a, t, reduction='none'); @(a, t, ignore_index=1); @(a, t, w, ignore_index=0, reduction='none'); "
    "@(a, t, ignore_index=2, reduction='sum'); @(a, t, w, reduction='none'); "
)
CLASS_SHAPES = (
    ((4, 3), (4,), (3,)),
    ((3,), (), (3,)),
    ((2, 3, 4), (2, 4), (3,)),
    ((2, 3, 2, 2), (2, 2, 2), (3,)),
    ((0, 3), (0,), (3,)),
    ((1, 5), (1,), (5,)),
)
CLASS_BAD = (
    "@(); @(a); @(a, 'x'); @(a, t + 99); @(a, t[:1]); @(a, t.double()); @(a, t, torch.ones(7)); "
    "@(a, t, reduction='x'); @(a.long(), t); @(a, None); @(a, t, 'x'); @(a, t, nonsense=1); "
    "@(a, t, ignore_index='x'); @(a, 1); @(a, t.int()); @(a, t - 9); "
)
op(
    F + "cross_entropy",
    CLASSES + "@(a, t, label_smoothing=0.1); "
    "@(a, t, w, label_smoothing=0.3, reduction='none'); "
    "@(a, t, label_smoothing=0.2, ignore_index=1, reduction='sum'); "
    "@(a, t, w, label_smoothing=0.5)",
    shapes=CLASS_SHAPES,
    dtypes=FLOATS,
    a=values.normal,
    t=values.index(3),
    w=values.positive,
    bad=CLASS_BAD + "@(a, t, label_smoothing=2.0); @(a, t, label_smoothing=-1.0)",
)
op(
    F + "cross_entropy",
    "@(a, p); @(a, p, reduction='sum'); @(a, p, w); @(a, p, label_smoothing=0.2); @(a, p, w, reduction='none'); "
    "@(a, p, w, label_smoothing=0.1)",
    shapes=(((4, 3), (4, 3), (3,)), ((3,), (3,), (3,)), ((2, 3, 4), (2, 3, 4), (3,)), ((0, 3), (0, 3), (3,))),
    dtypes=FLOATS,
    a=values.normal,
    p=values.probability,
    w=values.positive,
    bad="@(a, p[:, :1]); @(a, p, ignore_index=1); @(a, p.float().long()); @(a, torch.ones(7, 3))",
)
op(
    F + "nll_loss",
    CLASSES,
    shapes=CLASS_SHAPES,
    dtypes=FLOATS,
    a=values.normal,
    t=values.index(3),
    w=values.positive,
    bad=CLASS_BAD,
)
BINARY = (
    "@(a, t); @(input=a, target=t); @(a, t, w); @(a, t, weight=w, reduction='sum'); "
    "@(a, t, reduction='none'); @(a, t, w, reduction='none'); "
)
BINARY_SHAPES = (
    ((3, 4), (3, 4), (4,)),
    ((5,), (5,), (5,)),
    ((), (), ()),
    ((2, 3, 2), (2, 3, 2), (3, 2)),
    ((0, 3), (0, 3), (3,)),
)
BINARY_BAD = (
    "@(); @(a); @(a, 'x'); @(a, t[:1]); @(a, 1.0); @(a, t.long()); @(a, t, torch.ones(7)); "
    "@(a, t, reduction='x'); @(a, None); @(a, t, nonsense=1); @(a, torch.ones(7)); @(a, t, 'x'); "
)
op(
    F + "binary_cross_entropy",
    BINARY,
    shapes=BINARY_SHAPES,
    dtypes=FLOATS,
    a=values.probability,
    t=values.probability,
    w=values.positive,
    bad=BINARY_BAD + "@(a + 5, t); @(a - 5, t)",
)
op(
    F + "binary_cross_entropy",
    "@(a, a); @((a > 0.5).to(a.dtype), a); @((a > 0.5).to(a.dtype), (a > 0.3).to(a.dtype), reduction='none')",
    shapes=((3, 4), ()),
    dtypes=FLOATS,
    a=values.probability,
)
op(
    F + "binary_cross_entropy_with_logits",
    BINARY + "@(a, t, pos_weight=w); @(a, t, w, pos_weight=w); @(a * 100, t); @(a, t, pos_weight=w, reduction='none')",
    shapes=BINARY_SHAPES,
    dtypes=DTYPES,
    a=values.normal,
    t=values.probability,
    w=values.positive,
    bad=BINARY_BAD + "@(a, t, pos_weight=torch.ones(7)); @(a, t, pos_weight=1.0)",
)
op(
    F + "kl_div",
    "@(a, t); @(input=a, target=t); @(a, t, reduction='sum'); @(a, t, reduction='none'); "
    "@(a, t, reduction='batchmean'); @(a, t.log(), log_target=True); @(a, t, reduction='mean'); "
    "@(a, t * 0)",
    shapes=(*SHAPES, ((2, 3), (3,))),
    dtypes=FLOATS,
    a=values.normal,
    t=values.positive,
    bad="@(); "
    "@(a); @(a, 'x'); @(a, 1.0); @(a, torch.ones(7)); @(a, t, reduction='x'); @(a, None); @(a, t, nonsense=1); "
    "@('x', t); @(a, t, reduction=1)",
)
op(
    F + "gaussian_nll_loss",
    "@(a, b, v); @(input=a, target=b, var=v); @(a, b, v, full=True); @(a, b, v, reduction='sum'); "
    "@(a, b, v, reduction='none'); @(a, b, v, eps=0.5); @(a, b, v, True, 1e-3, 'sum'); @(a, b, v[..., :1])",
    shapes=(
        ((3, 4), (3, 4), (3, 4)),
        ((5,), (5,), (5,)),
        ((2, 3, 2), (2, 3, 2), (2, 3, 2)),
        ((4, 3), (4, 3), (4, 1)),
        ((4, 3), (4, 3), (4,)),
    ),
    dtypes=FLOATS,
    **TWO,
    v=values.positive,
    bad="@(); @(a, b); @(a, 'x', v); @(a, b, -v); @(a, b, torch.ones(7)); @(a, b, v, reduction='x'); "
    "@(a, b, v, eps=-1.0); @(a, b, v, nonsense=1); @(a, b, 'x'); @(a, None, v); @(a, b, -1.0)",
)
op(
    F + "hinge_embedding_loss",
    "@(a, y); @(input=a, target=y); @(a, y, 2.0); "
    "@(a, y, margin=0.5, reduction='sum'); @(a, y, reduction='none'); "
    "@(a, y, margin=1)",
    shapes=(*SHAPES, ((2, 3), (3,))),
    dtypes=FLOATS,
    a=values.normal,
    y=values.signs,
    bad=BAD.replace("a, b", "a, y").replace(", b)", ", y)"),
)
op(
    F + "margin_ranking_loss",
    "@(a, b, y); @(input1=a, input2=b, target=y); @(a, b, y, 0.5); @(a, b, y, margin=1, reduction='sum'); "
    "@(a, b, y, reduction='none'); @(a, a, y)",
    shapes=(((3, 4), (3, 4), (3, 4)), ((5,), (5,), (5,)), ((0,), (0,), (0,)), ((), (), ()), ((2, 3), (2, 3), (2, 3))),
    dtypes=FLOATS,
    **TWO,
    y=values.signs,
    bad="@(); @(a, b); @(a, b, 'x'); @(a, 'x', y); @(a, torch.ones(7), y); @(a, b, y, reduction='x'); "
    "@(a, b, y, margin='x'); @(a, b, y, nonsense=1); @(a, b, y[0]); @(a, b, 1.0); @(a, None, y)",
)
op(
    F + "cosine_embedding_loss",
    "@(a, b, y); @(input1=a, input2=b, target=y); @(a, b, y, 0.5); @(a, b, y, margin=0.1, reduction='sum'); "
    "@(a, b, y, reduction='none'); @(a, a, y); @(a, b, -y)",
    shapes=(((3, 4), (3, 4), (3,)), ((5, 2), (5, 2), (5,)), ((4,), (4,), ()), ((1, 6), (1, 6), (1,))),
    dtypes=FLOATS,
    **TWO,
    y=values.signs,
    bad="@(); @(a, b); @(a, b, 'x'); @(a, 'x', y); @(a, torch.ones(7), y); @(a, b, y, reduction='x'); "
    "@(a, b, y, margin='x'); @(a, b, y, nonsense=1); @(a, b, y[None]); @(a, b, 1.0); @(a, None, y)",
)
op(
    F + "triplet_margin_loss",
    "@(a, b, c); @(anchor=a, positive=b, negative=c); @(a, b, c, margin=0.5); @(a, b, c, p=1); "
    "@(a, b, c, swap=True); @(a, b, c, reduction='sum'); @(a, b, c, reduction='none'); "
    "@(a, b, c, margin=2.0, p=3, eps=1e-3)",
    shapes=(((3, 4), (3, 4), (3, 4)), ((4,), (4,), (4,)), ((2, 3, 4), (2, 3, 4), (2, 3, 4)), ((1, 4), (3, 4), (1, 4))),
    dtypes=FLOATS,
    **TWO,
    c=values.normal,
    bad="@(); @(a, b); @(a, b, 'x'); @(a, 'x', c); @(a, torch.ones(7), c); @(a, b, c, reduction='x'); "
    "@(a, b, c, margin='x'); @(a, b, c, nonsense=1); @(a, b, c[0]); @(a, b, 1.0); @(a, b, c, margin=-1.0); "
    "@(a, b, c, swap='x')",
)
