"""Layers with weights, pooling, padding, normalization, dropout, and rearrangement."""

from conformance.modules import module

# -- linear ------------------------------------------------------------------------------------------------------------
module(
    "Linear",
    "4, 3; 4, 3, bias=False; 4, 0; 1, 2, dtype=torch.float64",
    "@(normal(2, {4|1})); @(normal(4)); @(normal(0, 4))",
)
module(
    "Bilinear",
    "3, 4, 2, bias={True|False}",
    "@(normal(5, 3), normal(5, 4)); @(normal(2, 5, 3), normal(2, 5, 4))",
    "@(0, 1, 1)",
)
module("LazyLinear", "3; 3, bias=False", "@(normal(2, 4)); @(normal(2, 2, 4))")
module("Identity", "; 3, x=4", "@(normal(2, 3)); @(normal())")

# -- convolution -------------------------------------------------------------------------------------------------------
WRONG = "@(3, 4, 3, groups=2); @(4, 3, 3, groups=2); @(4, 4, 3, groups=0); @(4, 4, 3, padding='x'); @(4, 4, 3, padding_mode='x');"
module(
    "Conv1d",
    "4, 6, 3, stride={1|2}, padding={0|2}, dilation={1|2}, groups={1|2}; 4, 6, (2,), bias=False; "
    "4, 6, {3|4}, padding='{same|valid}'; 4, 6, 3, padding=2, padding_mode='{zeros|reflect|replicate|circular}'",
    "@(normal(2, 4, 9)); @(normal(4, 9)); @(normal(0, 4, 9))",
    WRONG + "@(4, 4, 3, stride=2, padding='same'); @(4, 4, 3)(normal(2, 4, 2)); @(4, 4, 3)(normal(2, 5, 9))",
)
module(
    "Conv2d",
    "4, 6, (3, 2), stride={1|(2, 1)}, padding={0|(1, 2)}, dilation={1|(1, 2)}, groups={1|2}; 4, 8, 1; "
    "4, 4, 3, groups=4, bias=False; 4, 6, {3|2}, padding='{same|valid}'; "
    "4, 6, 3, padding=(1, 2), padding_mode='{zeros|reflect|replicate|circular}'",
    "@(normal(2, 4, 7, 6)); @(normal(4, 7, 6)); @(normal(2, 7, 4, 6).transpose(1, 2))",
    WRONG + "@(4, 4, 9)(normal(2, 4, 7, 6)); @(4, 4, 3)(normal(2, 3, 7, 6)); @(4, 4, (1, 2, 3))",
)
module(
    "Conv3d",
    "2, 4, (3, 2, 1), stride={1|2}, padding={0|1}, dilation={1|(2, 1, 1)}, groups={1|2}, bias={True|False}; "
    "2, 4, 3, padding='same'; 2, 4, 3, padding=1, padding_mode='{reflect|replicate|circular}'",
    "@(normal(2, 2, 5, 4, 5)); @(normal(2, 5, 4, 5))",
    WRONG,
)
module("LazyConv1d", "6, 3, stride={1|2}, groups={1|2}", "@(normal(2, 4, 9))")
module("LazyConv2d", "6, 3, padding={1|'same'}, bias={True|False}", "@(normal(2, 4, 6, 6))")
module("LazyConv3d", "6, 2, padding_mode='{zeros|circular}'", "@(normal(1, 2, 4, 4, 4))")
module(
    "ConvTranspose1d",
    "4, 6, 3, stride={1|2}, padding={0|1}, dilation={1|2}, groups={1|2}; 4, 6, 3, 2, output_padding=1, bias=False",
    "@(normal(2, 4, 5)); @(normal(4, 5))",
    WRONG + "@(4, 6, 3)(normal(2, 3, 5)); @(4, 6, 3, output_padding=1)(normal(2, 4, 5))",
)
module(
    "ConvTranspose1d",
    "4, 6, 3, 2",
    "@(normal(2, 4, 5), output_size={[11]|(2, 6, 12)})",
    "@(4, 6, 3, 2)(normal(2, 4, 5), output_size=[20])",
)
module(
    "ConvTranspose2d",
    "4, 6, (3, 2), stride={1|(2, 3)}, padding={0|1}, dilation={1|2}, groups={1|2}; "
    "4, 6, 3, 2, output_padding=1, bias=False",
    "@(normal(2, 4, 5, 4)); @(normal(4, 5, 4))",
    WRONG + "@(4, 4, 3, padding_mode='reflect'); @(4, 4, 3, padding='same')",
)
module(
    "ConvTranspose3d",
    "2, 4, (3, 2, 1), stride={1|2}, padding={0|1}, groups={1|2}; 2, 4, 2, 2, output_padding=1, bias=False",
    "@(normal(2, 2, 3, 4, 3)); @(normal(2, 3, 4, 3))",
    WRONG,
)
module("LazyConvTranspose1d", "6, 3, stride={1|2}", "@(normal(2, 4, 5))")
module("LazyConvTranspose2d", "6, 3, groups={1|2}", "@(normal(2, 4, 5, 5))")
module("LazyConvTranspose3d", "6, 2, bias={True|False}", "@(normal(1, 2, 3, 3, 3))")
module(
    "Unfold",
    "2; (2, 3), dilation={1|2}, padding={0|1}, stride={1|2}",
    "@(normal(2, 3, 5, 6)); @(normal(3, 5, 6))",
    "@(9)(normal(2, 3, 5, 6))",
)
module(
    "Fold",
    "(4, 5), 2; (4, 5), 2, stride=1, padding=0",
    "@(normal(2, 8, 12)); @(normal(8, 12))",
    "@((4, 5), 2)(normal(2, 8, 11))",
)
module("Fold", "(4, 5), (2, 2), dilation=2, padding=1, stride=1", "@(normal(2, 8, 20))")

# -- pooling -----------------------------------------------------------------------------------------------------------
for n, size in ((1, "9"), (2, "8, 9"), (3, "5, 6, 5")):
    calls = f"@(normal(2, 3, {size})); @(normal(3, {size}))"
    some = "{2|3}" if n == 1 else f"{{2|{tuple([3, 2, 2][:n])}}}"
    module(
        f"MaxPool{n}d",
        f"{some}; 3, stride={{1|2}}, padding={{0|1}}, dilation={{1|2}}, return_indices={{False|True}}, "
        "ceil_mode={False|True}",
        calls,
        f"@(2, padding=2)(normal(2, 3, {size})); @(2, stride=0)(normal(2, 3, {size}))",
    )
    extra = "" if n == 1 else "; 3, divisor_override={2|5}"
    module(
        f"AvgPool{n}d",
        f"{some}; 3, stride={{1|2}}, padding={{0|1}}, ceil_mode={{False|True}}, count_include_pad={{True|False}}{extra}",
        calls,
        f"@(2, padding=2)(normal(2, 3, {size}))",
    )
    module(
        f"LPPool{n}d",
        f"{{1|2|3}}, {some}, ceil_mode={{False|True}}; 2, 3, stride=2",
        f"@(unit(2, 3, {size})); @(unit(3, {size}))",
    )
    sizes = "{3|1|4}" if n == 1 else f"{{3|{tuple([2, None, 3][:n])}|{tuple([7, 2, 1][:n])}}}"
    module(f"AdaptiveAvgPool{n}d", sizes, calls, "@('x')(normal(2, 3, 4))")
    module(f"AdaptiveMaxPool{n}d", f"{sizes}, return_indices={{False|True}}", calls)
    module(
        f"MaxUnpool{n}d",
        "2; 2, stride=2",
        f"@(*nn.functional.max_pool{n}d(normal(2, 3, {', '.join(['6'] * n)}), 2, return_indices=True)); "
        f"@(*nn.functional.max_pool{n}d(normal(2, 3, {', '.join(['7'] * n)}), 2, return_indices=True), output_size={[7] * n})",
    )
module(
    "FractionalMaxPool2d",
    "2, {output_size=3|output_ratio=0.5|output_size=(4, 3)}, return_indices={False|True}",
    "@(normal(2, 3, 8, 7)); @(normal(3, 8, 7))",
    "@(2); @(2, 3, 0.5); @(2, output_ratio=1.5)",
)
module(
    "FractionalMaxPool3d",
    "2, {output_size=3|output_ratio=0.5|output_size=(2, 3, 4)}, return_indices={False|True}",
    "@(normal(2, 3, 6, 7, 8)); @(normal(3, 6, 7, 8))",
    "@(2); @(2, 3, 0.5); @(2, output_ratio=1.5)",
)

# -- padding -----------------------------------------------------------------------------------------------------------
for n, size, sides in ((1, "6", "(1, 3)"), (2, "5, 6", "(1, 2, 0, 3)"), (3, "4, 5, 4", "(1, 2, 0, 3, 2, 1)")):
    calls = f"@(normal(2, 3, {size})); @(normal(3, {size}))"
    module(
        f"ReflectionPad{n}d ReplicationPad{n}d ZeroPad{n}d",
        f"{{1|2|{sides}}}",
        calls,
        f"@(9)(normal(2, 3, {size})); @(1)(normal(2))",
    )
    module(f"CircularPad{n}d", f"{{1|2|{sides}}}", calls, f"@(9)(normal(2, 3, {size})); @(1)(normal(2))")
    module(f"ConstantPad{n}d", f"{{1|2|{sides}|-1}}, {{0|1.5}}", calls, "@(1)")

# -- normalization -----------------------------------------------------------------------------------------------------
OPTIONS = "eps=1e-5, momentum={0.1|None|0.5}, affine={True|False}, track_running_stats={True|False}"
for n, size in ((1, "5"), (2, "3, 4"), (3, "2, 3, 2")):
    flat = "; @(normal(6, 3))" if n == 1 else ""
    lower = f"@(3)(normal(2, 3{', 4, 4' * n}, 1)); @(3)(normal(3)); @(4)(normal(2, 3, {size})); "
    module(
        f"BatchNorm{n}d",
        f"3; 3, eps={{1e-3|0.5}}; 3, {OPTIONS}",
        f"@(normal(4, 3, {size})){flat}",
        lower + f"@(3)(normal(1, 3{', 1' * n}))",
    )
    module(
        f"InstanceNorm{n}d",
        f"3; 3, eps={{1e-3|0.5}}; 3, {OPTIONS}",
        f"@(normal(2, 3, {size})); @(normal(3, {size}))",
        lower,
    )
    module(f"LazyBatchNorm{n}d", "; affine={True|False}, track_running_stats={True|False}", f"@(normal(4, 3, {size}))")
    module(f"LazyInstanceNorm{n}d", "; affine=True; affine=True, track_running_stats=True", f"@(normal(2, 3, {size}))")
module(
    "LayerNorm",
    "4; (4,); [3, 4], eps=1e-3; 4, elementwise_affine={True|False}; 4, bias=False",
    "@(normal(2, 3, 4)); @(normal(3, 4))",
    "@(4)(normal(2, 3)); @((3, 4))(normal(4))",
)
module(
    "RMSNorm",
    "4; (3, 4); 4, eps=1e-3; 4, elementwise_affine=False",
    "@(normal(2, 3, 4)); @(normal(3, 4))",
    "@(4)(normal(2, 3))",
)
module(
    "GroupNorm",
    "{1|2|4}, 4; 2, 4, eps=1e-3, affine={True|False}; 2, 4, bias=False",
    "@(normal(2, 4)); @(normal(2, 4, 3)); @(normal(2, 4, 3, 2))",
    "@(3, 4); @(2, 4)(normal(2, 5, 3)); @(2, 4)(normal(4))",
)
module(
    "SyncBatchNorm",
    "3, affine={True|False}, track_running_stats={True|False}, momentum={0.1|None}; 3, bias=False",
    "@(normal(4, 3)); @(normal(4, 3, 2)); @(normal(2, 3, 2, 2, 2))",
    "@(3)(normal(3)); @(0)(normal(4, 0)); @(3)(normal(4, 2)); @(3)(normal(1, 3))",
)

module(
    "LocalResponseNorm",
    "2; 3, alpha=1e-2, beta=0.5, k=2",
    "@(normal(2, 4, 3)); @(normal(2, 4, 3, 2))",
    "@(2)(normal(3, 4))",
)

module(
    "CrossMapLRN2d",
    "2; 3, alpha=1e-2, beta=0.5, k=2",
    "@(normal(2, 4, 3, 2)); @(normal(1, 5, 2, 2))",
    "@(2)(normal(3, 4))",
)

# -- dropout -----------------------------------------------------------------------------------------------------------
WRONG = "@(1.5); @(-0.1)"
module(
    "Dropout AlphaDropout",
    "; {0.0|0.3|1.0}; 0.5, inplace=True",
    "@(normal(4, 5) * 1); @(normal(2, 3, 4) * 1); @(normal(20, 30) * 1)",
    WRONG,
)
module("Dropout1d", "; 0.3; 0.5, True", "@(normal(4, 3, 5) * 1); @(normal(3, 5) * 1)", WRONG)
module("Dropout2d", "; 0.3; 0.5, True", "@(normal(4, 3, 5, 2) * 1); @(normal(3, 5, 2) * 1)", WRONG)
module("Dropout3d", "; 0.3; 0.5, True", "@(normal(4, 3, 5, 2, 2) * 1); @(normal(3, 5, 2, 2) * 1)", WRONG)
module("FeatureAlphaDropout", "; {0.0|0.3}; 0.5, True", "@(normal(4, 3, 5, 2) * 1); @(normal(4, 3) * 1)", WRONG)

# -- rearrangement -----------------------------------------------------------------------------------------------------
module(
    "Flatten",
    "; 0; 1, 2; -2, -1",
    "@(normal(2, 3, 4, 5)); @(normal(2, 0, 3))",
    "@(2, 1)(normal(2, 3, 4)); @(5)(normal(2, 3))",
)
module(
    "Unflatten",
    "1, (2, 3); 1, [3, -1]; -2, (6, 1)",
    "@(normal(2, 6, 4))",
    "@(1, (2, 'a')); @(1, (4, 4))(normal(2, 6)); @('a', (2, 3))",
)
module(
    "PixelShuffle",
    "{1|2}",
    "@(normal(2, 8, 3, 2)); @(normal(4, 2, 2)); @(normal(2, 3, 4, 2, 2))",
    "@(3)(normal(1, 8, 2, 2))",
)
module("PixelUnshuffle", "{1|2}", "@(normal(2, 3, 4, 6)); @(normal(1, 2, 2))", "@(3)(normal(1, 1, 4, 4))")
module("ChannelShuffle", "{1|2|4}", "@(normal(2, 8, 3)); @(normal(2, 8, 3, 2))", "@(3)(normal(1, 8, 2, 2)); @(0)")
module(
    "Upsample",
    "size={4|7}; scale_factor={2|1.5}; {None, 2.0|9}, 'nearest-exact'; scale_factor=2, mode='linear', align_corners={True|False}; "
    "size=7, mode='linear', align_corners=False; scale_factor=1.7, mode='linear', recompute_scale_factor=True",
    "@(normal(2, 3, 5))",
    "@()(normal(2, 3, 5)); @(2, 2)(normal(2, 3, 5)); @(2, mode='x')(normal(2, 3, 5)); @(2, mode='bilinear')(normal(2, 3, 5))",
)
module(
    "Upsample",
    "scale_factor={2|(2, 1.5)|0.7}, mode='{nearest|nearest-exact|bilinear|bicubic}'; "
    "size=(7, 3), mode='{bilinear|bicubic}', align_corners={True|False}; size=3, mode='area'",
    "@(normal(2, 3, 4, 5))",
)
module(
    "Upsample",
    "scale_factor=2, mode='{nearest|nearest-exact|trilinear}'; size=(3, 4, 5), mode='trilinear', align_corners=True",
    "@(normal(2, 2, 3, 4, 3))",
)
module(
    "UpsamplingNearest2d UpsamplingBilinear2d",
    "scale_factor={2|3}; size={(5, 6)|4}",
    "@(normal(2, 3, 4, 3))",
    "@(2)(normal(2, 3))",
)
