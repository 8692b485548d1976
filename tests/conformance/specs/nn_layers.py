"""Functional layers."""

from __future__ import annotations

from conformance import values
from conformance.spec import FLOATS, op

F = "nn.functional."
N = values.normal
XW = {"x": N, "w": N, "b": N}
LAYOUTS = ("contiguous", "transposed", "sliced")
XWB_BAD = (
    "@(); @(x); @(x, 'x'); @('x', w); @(x, w, torch.ones(77)); @(x, w, nonsense=1); @(x, 1.0); "
    "@(x, w, 'x'); @(x, None); @(x.int(), w); @(x, w[0]); @(x[0, 0], w[0, 0]); "
)

op(
    F + "linear",
    "@(x, w); @(x, w, b); @(input=x, weight=w, bias=b); @(x, w, bias=None); @(x, w, b) * 2",
    shapes=(
        ((3, 4), (2, 4), (2,)),
        ((4,), (2, 4), (2,)),
        ((2, 3, 4), (5, 4), (5,)),
        ((0, 4), (2, 4), (2,)),
        ((3, 0), (2, 0), (2,)),
        ((2, 1, 3, 2), (3, 2), (3,)),
    ),
    dtypes=(*FLOATS, "float16"),
    **XW,
    bad=XWB_BAD + "@(x, torch.ones(2, 7)); @(torch.tensor(1.0), w)",
)
CONV = (
    "@(x, w); @(x, w, b); @(input=x, weight=w, bias=b); @(x, w, b, stride=2); @(x, w, b, 1, 1); "
    "@(x, w, padding=1, dilation=2); @(x, w, padding='same'); @(x, w, b, padding='valid'); @(x, w, b, 2, 2, 2); "
)
CONV_BAD = (
    XWB_BAD + "@(x, w, stride=0); @(x, w, padding=-1); @(x, w, dilation=0); @(x, w, groups=2); "
    "@(x, w, padding='x'); @(x, w, stride='x'); @(x, torch.ones(7, 7, 7, 7)); @(x, w, stride=(1, 1, 1, 1)); "
    "@(x, w, groups=0); @(x, w, stride=2, padding='same'); @(x, w, b, 1, 0, 50)"
)
conv = {"dtypes": FLOATS, "layouts": LAYOUTS, **XW}


op(
    F + "conv1d",
    CONV + "@(x, w, stride=(2,), padding=(1,))",
    shapes=(
        ((2, 3, 8), (4, 3, 3), (4,)),
        ((3, 8), (4, 3, 3), (4,)),
        ((0, 3, 8), (2, 3, 1), (2,)),
        ((1, 1, 7), (1, 1, 2), (1,)),
        ((2, 3, 9), (2, 3, 1), (2,)),
    ),
    **conv,
    bad=CONV_BAD,
)
op(
    F + "conv1d",
    "@(x, w, groups=2); @(x, w, b, groups=2); @(x, w, b, 2, 1, 1, 2)",
    shapes=(((2, 4, 8), (4, 2, 3), (4,)), ((1, 2, 5), (2, 1, 2), (2,))),
    **conv,
)
op(
    F + "conv2d",
    CONV + "@(x, w, None, (2, 1), (0, 1))",
    shapes=(
        ((2, 3, 6, 5), (4, 3, 3, 2), (4,)),
        ((3, 6, 6), (2, 3, 3, 3), (2,)),
        ((0, 3, 6, 5), (2, 3, 1, 1), (2,)),
        ((1, 1, 5, 6), (1, 1, 2, 2), (1,)),
        ((2, 3, 4, 4), (2, 3, 1, 1), (2,)),
    ),
    **conv,
    bad=CONV_BAD,
)
op(
    F + "conv2d",
    "@(x, w, groups=2); @(x, w, b, groups=2); @(x, w, b, 2, 1, 1, 2)",
    shapes=(((2, 4, 5, 5), (4, 2, 3, 3), (4,)), ((1, 2, 4, 5), (2, 1, 2, 2), (2,))),
    **conv,
)
BACK = (
    "@(x, w); @(x, w, b); @(input=x, weight=w, bias=b); @(x, w, b, stride=2); @(x, w, b, 1, 1); "
    "@(x, w, padding=1, dilation=2); @(x, w, b, stride=2, output_padding=1); @(x, w, b, 3, 1, 2); "
    "@(x, w, b, 2, 1, 1, 1, 2); "
)
BACK_BAD = (
    XWB_BAD + "@(x, w, stride=0); @(x, w, padding=-1); @(x, w, dilation=0); @(x, w, groups=2); "
    "@(x, w, padding='same'); @(x, w, stride='x'); @(x, w, output_padding=5); @(x, torch.ones(7, 7, 7, 7))"
)
op(
    F + "conv_transpose1d",
    BACK,
    shapes=(
        ((2, 3, 5), (3, 4, 3), (4,)),
        ((3, 5), (3, 4, 3), (4,)),
        ((1, 1, 4), (1, 1, 2), (1,)),
        ((2, 2, 3), (2, 3, 4), (3,)),
    ),
    **conv,
    bad=BACK_BAD,
)
op(
    F + "conv_transpose1d",
    "@(x, w, groups=2); @(x, w, b, stride=2, groups=2)",
    shapes=(((2, 4, 5), (4, 2, 3), (4,)), ((1, 2, 3), (2, 1, 2), (2,))),
    **conv,
)
op(
    F + "conv_transpose2d",
    BACK,
    shapes=(
        ((2, 3, 4, 3), (3, 4, 3, 2), (4,)),
        ((3, 4, 4), (3, 2, 3, 3), (2,)),
        ((1, 1, 3, 4), (1, 1, 2, 2), (1,)),
        ((2, 2, 3, 3), (2, 3, 2, 4), (3,)),
    ),
    **conv,
    bad=BACK_BAD,
)
op(
    F + "conv_transpose2d",
    "@(x, w, groups=2); @(x, w, b, stride=2, groups=2)",
    shapes=(((2, 4, 3, 3), (4, 2, 3, 3), (4,)), ((1, 2, 3, 3), (2, 1, 2, 2), (2,))),
    **conv,
)

POOL_BAD = (
    "@(); @(x); @('x', 2); @(x, 'x'); @(x, 0); @(x, -1); @(x, 99); @(x, 2, 0); @(x, 2, padding=2); "
    "@(x, 2, nonsense=1); @(x, (1, 2, 3, 4)); @(torch.ones(3), 2); @(x, None); @(x, 1.5); @(x, 2, -1); "
)
ONE = {"shapes": ((2, 3, 8), (3, 8), (1, 1, 7), (0, 3, 8), (2, 2, 9)), "dtypes": FLOATS}
TWO = {"shapes": ((2, 3, 6, 5), (3, 6, 6), (1, 1, 5, 7), (0, 3, 6, 5), (2, 2, 4, 4)), "dtypes": FLOATS}
AVERAGE = (
    "@(x, 2); @(input=x, kernel_size=3); @(x, 3, 1); @(x, 2, stride=1, padding=1); "
    "@(x, 3, ceil_mode=True); @(x, 3, 2, 1, count_include_pad=False); "
    "@(x, 2, 3, ceil_mode=True, count_include_pad=False); "
)
op(
    F + "avg_pool1d",
    AVERAGE + "@(x, (2,), (1,)); torch.avg_pool1d(x, 2); @(x, 3, 2, 1, True)",
    **ONE,
    x=N,
    bad=POOL_BAD,
)
op(
    F + "avg_pool2d",
    AVERAGE + "@(x, (2, 3), (1, 2)); @(x, 2, divisor_override=3); @(x, (3, 2), padding=(1, 0), ceil_mode=True)",
    **TWO,
    x=N,
    bad=POOL_BAD + "@(x, 2, divisor_override=0)",
)
MAXIMUM = (
    "@(x, 2); @(input=x, kernel_size=3); @(x, 3, 1); @(x, 2, stride=1, padding=1); "
    "@(x, 3, ceil_mode=True); @(x, 2, dilation=2); @(x, 2, return_indices=True); @(x, 3, 2, 1, 1, True, True); "
    "@(x, 2, 1, return_indices=True)[0]; "
)
op(
    F + "max_pool1d",
    MAXIMUM + "@(x, (2,), (1,)); torch.max_pool1d(x, 2)",
    **ONE,
    x=values.distinct,
    bad=POOL_BAD + "@(x, 2, dilation=0)",
)
op(
    F + "max_pool2d",
    MAXIMUM + "@(x, (2, 3), (1, 2)); torch.max_pool2d(x, 2); @(x, (3, 2), padding=(1, 0), ceil_mode=True)",
    **TWO,
    x=values.distinct,
    bad=POOL_BAD + "@(x, 2, dilation=0)",
)
ADAPTIVE_BAD = (
    "@(); @(x); @('x', 2); @(x, 'x'); @(x, -1); @(x, (1, 2, 3)); @(torch.ones(3), 2); @(x, 2, 3); "
    "@(x, 1.5); @(x, 2, nonsense=1); @(x, (-1,)); @(x.long(), 2)"
)
op(
    F + "adaptive_avg_pool1d",
    "@(x, 2); @(input=x, output_size=3); @(x, 1); @(x, (4,)); @(x, [5]); torch.adaptive_avg_pool1d(x, 3); @(x, 9)",
    **ONE,
    x=N,
    bad=ADAPTIVE_BAD,
)
op(
    F + "adaptive_avg_pool2d",
    "@(x, 2); @(input=x, output_size=(3, 2)); @(x, 1); @(x, (4, None)); "
    "@(x, [None, 3]); @(x, (5, 4)); @(x, (None, None)); @(x, 7)",
    **TWO,
    x=N,
    bad=ADAPTIVE_BAD,
)

op(
    F + "batch_norm",
    "@(x, None, None, training=True); @(x, m, v); @(x, m, v, w, b); @(x, None, None, w, b, True); "
    "@(x, m.clone(), v.clone(), w, b, training=True, momentum=0.3); @(x, m, v, weight=w, bias=b, eps=0.1); "
    "@(x, None, None, w, training=True, eps=1e-2); @(x, running_mean=m, running_var=v, bias=b)",
    shapes=(
        ((4, 3), (3,), (3,), (3,), (3,)),
        ((2, 3, 4), (3,), (3,), (3,), (3,)),
        ((2, 3, 2, 3), (3,), (3,), (3,), (3,)),
        ((5, 1), (1,), (1,), (1,), (1,)),
    ),
    dtypes=FLOATS,
    needs=("first", "none"),
    x=N,
    w=N,
    b=N,
    m=N,
    v=values.positive,
    bad="@(); @(x); @(x, None, None); @(x, m); @('x', m, v); @(x, torch.ones(7), v); @(x, m, v, torch.ones(7)); "
    "@(x[:1], None, None, training=True); @(x, m, v, 'x'); @(x, m, v, nonsense=1); @(x, m, v, eps='x'); "
    "@(x[0, 0], m, v); @(x, m, v, w, torch.ones(7))",
)
op(
    F + "batch_norm",
    "@(x, None, None, w, b, True); @(x, None, None, w, training=True); "
    "@(x, None, None, bias=b, training=True, eps=0.1)",
    shapes=(((4, 3), (3,), (3,)), ((2, 3, 4), (3,), (3,)), ((2, 3, 2, 3), (3,), (3,))),
    dtypes=FLOATS,
    **XW,
)
NORMS = (
    "@(); @(x); @('x', (4,)); @(x, 'x'); @(x, (7,)); @(x, ()); @(x, (4,), torch.ones(7)); "
    "@(x, (4,), nonsense=1); @(x, 1.5); @(x, (4,), 'x'); @(x, (4,), eps='x'); @(x, None); @(x, (9, 9, 9, 9)); "
)
op(
    F + "layer_norm",
    "@(x, (4,)); @(x, [4], w, b); "
    "@(input=x, normalized_shape=(4,), weight=w, bias=b, eps=1e-2); @(x, (4,), w); @(x, (4,), bias=b); "
    "@(x, x.shape); torch.layer_norm(x, (4,), w, b); "
    "@(x, (4,), None, None, 0.1)",
    shapes=(
        ((3, 4), (4,), (4,)),
        ((2, 3, 4), (4,), (4,)),
        ((4,), (4,), (4,)),
        ((0, 4), (4,), (4,)),
        ((2, 1, 3, 4), (4,), (4,)),
    ),
    dtypes=(*FLOATS, "float16"),
    layouts=LAYOUTS,
    **XW,
    bad=NORMS,
)
op(
    F + "rms_norm",
    "@(x, (4,)); @(x, [4], w); @(input=x, normalized_shape=(4,), weight=w, eps=1e-2); "
    "@(x, (4,), w) * 2; @(x, x.shape); torch.rms_norm(x, (4,), w); "
    "@(x, (4,), None, 0.1)",
    shapes=(((3, 4), (4,)), ((2, 3, 4), (4,)), ((4,), (4,)), ((0, 4), (4,)), ((2, 1, 3, 4), (4,))),
    dtypes=FLOATS,
    x=N,
    w=N,
    bad=NORMS,
)
op(
    F + "group_norm",
    "@(x, 2); @(x, 1, w, b); @(input=x, num_groups=2, weight=w, bias=b, eps=1e-2); @(x, 4, w); "
    "@(x, 2, bias=b); torch.group_norm(x, 2, w, b); "
    "@(x, 2, None, None, 0.1)",
    # Not groups of two values: their gradient is a difference that float32 does not resolve, PyTorch's least of all.
    shapes=(((3, 4, 6), (4,), (4,)), ((2, 4, 3), (4,), (4,)), ((2, 4, 2, 3), (4,), (4,)), ((1, 4, 5), (4,), (4,))),
    dtypes=FLOATS,
    layouts=LAYOUTS,
    **XW,
    bad="@(); @(x); @('x', 2); @(x, 'x'); @(x, 3); @(x, 0); @(x, 2, torch.ones(7)); @(x, 2, nonsense=1); "
    "@(x, 1.5); @(x, 2, 'x'); @(x[0, 0], 1); @(x, -1); @(x, 2, w, torch.ones(7))",
)
op(
    F + "instance_norm",
    "@(x); @(x, weight=w, bias=b); @(input=x, weight=w, bias=b, eps=1e-2); @(x, None, None, w); "
    "@(x, None, None, w, b, True, 0.1, 0.1); @(x, use_input_stats=True)",
    shapes=(((2, 4, 3), (4,), (4,)), ((2, 4, 2, 3), (4,), (4,)), ((1, 4, 5), (4,), (4,)), ((3, 1, 4), (1,), (1,))),
    dtypes=FLOATS,
    **XW,
    bad="@(); @('x'); @(x, use_input_stats=False); @(x, weight=torch.ones(7)); @(x[..., :1]); @(x, nonsense=1); "
    "@(x, weight='x'); @(x[0, 0]); @(x, eps='x'); @(1.0)",
)
op(
    F + "embedding",
    "@(i, w); @(input=i, weight=w); @(i, w, padding_idx=0); @(i, w, 1); @(i, w, -1); @(i.int(), w); "
    "@(i, w, padding_idx=2)",
    shapes=(((3,), (4, 2)), ((2, 3), (5, 3)), ((), (3, 2)), ((0,), (3, 2)), ((2, 2, 2), (3, 1))),
    dtypes=(*FLOATS, "float16", "int64"),
    i=values.index(3),
    w=N,
    bad="@(); @(i); @(i, 'x'); @(i + 99, w); @(i - 99, w); @(i.double(), w); @(i, w[0]); "
    "@(i, w, padding_idx=99); @(i, w, 'x'); @(i, w, nonsense=1); @([0], w); @(i, w, padding_idx=-99); @(i, None)",
)
op(
    F + "one_hot",
    "@(i); @(i, 5); @(i, num_classes=4); @(i, -1); @(i, 3).sum(); @(i, num_classes=-1) * 2",
    shapes=((3,), (2, 3), (), (1, 1), (2, 2, 2)),
    i=values.index(3),
    needs=("none",),
    dtypes=("int64",),
    bad="@(); @('x'); @(i, 1); @(i.double()); @(i - 9); @(i, 'x'); @(i.int()); @(torch.zeros(0).long()); "
    "@(i, 0); @([1]); @(i, 1.5); @(i, nonsense=1)",
)
op(
    F + "pad",
    "@(x, (1, 2)); @(x, [1, 1], 'constant', 2.5); @(input=x, pad=(0, 2), value=-1); @(x, (-1, 1)); "
    "@(x, (1, 0, 2, 1)); @(x, (0, 0, -1, 1), value=3); @(x, ()); @(x, (1, 1), mode='constant')",
    shapes=((3, 4), (2, 3, 4), (2, 1, 3, 4), (4, 4), (2, 0)),
    dtypes=(*FLOATS, "int64", "float16", "bool"),
    x=N,
    bad="@(); @(x); @(x, 'x'); @(x, (1,)); @(x, (1, 1), 'x'); @(x, (1,) * 12); @('x', (1, 1)); @(x, (1.5, 1)); "
    "@(x, (-9, 0)); @(x, (1, 1), nonsense=1); @(x, 1); @(x, None); @(x, (1, 1), 'reflect', 2.0)",
)
for _mode in ("reflect", "replicate", "circular"):
    op(
        F + "pad",
        f"@(x, (1, 2), mode='{_mode}'); @(x, (2, 0), '{_mode}')",
        shapes=((3, 4), (2, 3, 5)),
        dtypes=FLOATS,
        x=N,
        bad=f"@(x, (9, 9), mode='{_mode}'); @(x[0], (1, 1), mode='{_mode}'); @(x, (1, 1, 1), mode='{_mode}')",
    )
    op(F + "pad", f"@(x, (1, 2, 0, 1), mode='{_mode}')", shapes=((3, 3, 4), (2, 3, 4, 5)), dtypes=FLOATS, x=N)
RESIZE = (
    "@(x, size=5, mode='{0}'); @(x, scale_factor=2, mode='{0}'); @(x, scale_factor=1.5, mode='{0}'); "
    "@(input=x, size=3, mode='{0}'); @(x, 2, mode='{0}'); "
    "@(x, scale_factor=0.5, mode='{0}', recompute_scale_factor=True); "
)
ALIGN = "@(x, size=5, mode='{0}', align_corners=True); @(x, scale_factor=2, mode='{0}', align_corners=False); "
for _mode, _shape, _more in (
    ("nearest", (2, 3, 4), ""),
    ("linear", (2, 3, 4), ALIGN),
    ("nearest", (2, 1, 4, 3), ""),
    ("bilinear", (2, 1, 4, 3), ALIGN),
    ("bicubic", (2, 1, 4, 3), ALIGN),
    ("nearest-exact", (2, 1, 4, 3), ""),
    ("area", (2, 1, 4, 3), ""),
):
    op(F + "interpolate", (RESIZE + _more).format(_mode), shapes=(_shape, (1, 2, *_shape[2:])), dtypes=FLOATS, x=N)
op(
    F + "interpolate",
    "@(x, (3, 5)); @(x, size=(6, 2), mode='bilinear'); @(x, scale_factor=(2, 1.5)); "
    "@(x, scale_factor=(0.5, 2), mode='bilinear')",
    shapes=((2, 1, 4, 3),),
    dtypes=FLOATS,
    x=N,
    bad="@(); @(x); "
    "@('x', 2); @(x, 'x'); @(x, 0); @(x, -1); @(x, 2, 2); @(x, (1, 2, 3)); @(x, 2, mode='x'); "
    "@(x, 2, mode='linear'); @(x[0, 0], 2); @(x, 2, mode='nearest', align_corners=True); @(x, nonsense=1); "
    "@(x, scale_factor='x'); @(x, scale_factor=-1.0)",
)
op(
    F + "unfold",
    "@(x, 2); @(x, (2, 3)); @(input=x, kernel_size=2, stride=2); @(x, 2, dilation=2); @(x, 3, padding=1); "
    "@(x, 2, 1, 1, 2); @(x, kernel_size=(1, 2), padding=(0, 1))",
    shapes=((2, 3, 5, 4), (1, 1, 4, 4), (3, 4, 5), (2, 2, 6, 3)),
    dtypes=(*FLOATS, "float16"),
    x=N,
    bad="@(); @(x); @('x', 2); @(x, 'x'); @(x, 0); @(x, -1); @(x, 99); @(x, 2, stride=0); @(x, 2, dilation=0); "
    "@(x, 2, padding=-1); @(x[0, 0], 2); @(x, 2, nonsense=1); @(x, (1, 2, 3))",
)
op(
    F + "pixel_shuffle",
    "@(x, 2); @(input=x, upscale_factor=2); @(x, 1); torch.pixel_shuffle(x, 2); @(x, 2) * 2",
    shapes=((2, 4, 3, 2), (4, 2, 2), (1, 8, 1, 3), (2, 1, 4, 2, 2), (0, 4, 2, 2)),
    dtypes=(*FLOATS, "int64", "float16"),
    x=N,
    bad="@(); @(x); @('x', 2); @(x, 'x'); @(x, 0); @(x, -1); @(x, 3); @(x[0, 0], 1); @(x, 1.5); @(x, 2, 2); "
    "@(x, nonsense=1)",
)
op(
    F + "pixel_unshuffle",
    "@(x, 2); @(input=x, downscale_factor=2); @(x, 1); torch.pixel_unshuffle(x, 2); @(x, 2) * 2",
    shapes=((2, 1, 4, 2), (4, 2, 2), (1, 2, 6, 4), (2, 1, 3, 2, 2), (0, 4, 2, 2)),
    dtypes=(*FLOATS, "int64", "float16"),
    x=N,
    bad="@(); @(x); @('x', 2); @(x, 'x'); @(x, 0); @(x, -1); @(x, 3); @(x[0, 0], 1); @(x, 1.5); @(x, 2, 2); "
    "@(x, nonsense=1)",
)
op(
    F + "normalize",
    "@(x); @(x, 1); @(x, p=3.0, dim=0); @(input=x, dim=-1); @(x, 2, 1, 0.5); "
    "@(x, dim=0, eps=1e-3); @(x, p=inf, dim=0); "
    "@(x * 0, dim=0)",
    shapes=((3, 4), (2, 3, 4), (4, 4), (3, 1), (0, 3)),
    dtypes=(*FLOATS, "float16"),
    x=N,
    bad="@(); @('x'); @(x, 2, 9); @(x, 'x'); @(x.long()); @(x, nonsense=1); @(x, 2, 'x'); @(1.0); "
    "@(x, eps='x'); @(None); @(x, out=1)",
)
op(
    F + "cosine_similarity",
    "@(a, b); @(a, b, 0); @(x1=a, x2=b, dim=-1); @(a, b, dim=1, eps=0.1); "
    "torch.cosine_similarity(a, b); @(a, b, -1, 1e-3); "
    "@(a, a, 0)",
    shapes=(((3, 4), (3, 4)), ((2, 3, 4), (3, 4)), ((4, 4), (1, 4)), ((0, 3), (0, 3)), ((3, 2), (3, 2))),
    dtypes=(*FLOATS, "float64 float32"),
    a=N,
    b=N,
    bad="@(); @(a); @(a, 'x'); @(a, 1.0); @(a, torch.ones(7)); @(a, b, 9); @(a, b, 'x'); @(a.long(), b.long()); "
    "@(a, b, nonsense=1); @(a, b, 1, 'x'); @(a, None)",
)
op(
    F + "pairwise_distance",
    "@(a, b); @(a, b, 1); @(x1=a, x2=b, p=2.0); @(a, b, keepdim=True); "
    "torch.pairwise_distance(a, b); @(a, b, 3.0, 1e-2); @(a, b, p=inf); "
    "@(a, a)",
    shapes=(((3, 4), (3, 4)), ((2, 3, 4), (3, 4)), ((4,), (4,)), ((4, 4), (1, 4)), ((0, 3), (0, 3))),
    dtypes=FLOATS,
    a=N,
    b=N,
    bad="@(); @(a); @(a, 'x'); @(a, 1.0); @(a, torch.ones(7)); @(a, b, 'x'); @(a, b, nonsense=1); "
    "@(a, b, 2, 'x'); @(a, None); @(a, b, keepdim='x')",
)
op(
    F + "scaled_dot_product_attention",
    "@(q, k, v); @(query=q, key=k, value=v); @(q, k, v, is_causal=True); @(q, k, v, scale=0.5); @(q, k, v, m); "
    "@(q, k, v, attn_mask=q @ k.mT); @(q, k, v, dropout_p=0.0, is_causal=False); "
    "@(q, k, v, None, 0.0, True, scale=1.0); @(q, k, v) * 2",
    shapes=(
        ((2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)),
        ((3, 4), (5, 4), (5, 4), (3, 5)),
        ((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4), (3, 3)),
        ((1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3), (1, 4)),
        ((2, 0, 4), (2, 5, 4), (2, 5, 4), (1, 5)),
    ),
    dtypes=FLOATS,
    layouts=LAYOUTS,
    q=N,
    k=N,
    v=N,
    m=values.mask,
    bad="@(); @(q, k); @(q, k, 'x'); @(q, k, v, torch.ones(7, 7)); @(q, k, v, m, is_causal=True); "
    "@(q, k, v.int()); @(q, torch.ones(2, 5, 7), v); @(q, k, v, 'x'); @(q, k, v, dropout_p=2.0); "
    "@(q[0, 0], k, v); @(q, k, v, m.long()); @(q, k, v, nonsense=1)",
)
