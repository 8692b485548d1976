"""How rows of images are written: convolutions, poolings, paddings, resampling."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ops.resample import axis_of
from ._expressions import Expression
from ._formula_text import LEFT_OUT, UNKNOWN

Params = Mapping[str, Any]
Layouts = list[tuple[tuple[int, ...], Any]]


# -- helpers -----------------------------------------------------------------------------------------------------------
def changed(params: Params, **defaults: Any) -> tuple[tuple[str, Any], ...]:
    """The parameters that are not what they are by default: a number is that in each dimension."""
    found = []
    for name, default in defaults.items():
        value = params[name]
        if value != default and not (isinstance(value, tuple) and set(value) <= {default}):
            found.append((name, value))
    return tuple(found)


def on_first(reading: Any, index: Any, e: Expression) -> bool:
    """Whether indices are of these values: of what they were chosen by, or else of what they were used on first."""
    known = reading.known(index)
    if known is not None:
        return bool(known.args and known.args[0] is e)
    return bool(reading.users.setdefault(id(index), e) is e)


# -- convolutions ------------------------------------------------------------------------------------------------------
def convolved(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    options = changed(params, stride=1, padding=0, dilation=1, groups=1)
    return reading.algebra.call(f"conv{len(params['stride'])}d", args, options, *layouts[0])


def conv_transpose(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    grad, weight = args[:2]
    sizes = zip(
        params["shape"][2:],
        grad.shape[2:],
        weight.shape[2:],
        *[params[p] for p in ("stride", "padding", "dilation")],
    )
    extra = tuple([n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in sizes])
    if not all([0 <= n < max(s, d) for n, s, d in zip(extra, params["stride"], params["dilation"])]):
        return None
    options = changed({**params, "output_padding": extra}, stride=1, padding=0, output_padding=0, groups=1, dilation=1)
    return reading.algebra.call(f"conv_transpose{len(extra)}d", args, options, *layouts[0])


def conv_weight(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """The gradient of a convolution's weight, as PyTorch's ``nn.grad`` calls it."""
    options = changed(params, stride=1, padding=0, dilation=1, groups=1)
    size = ("weight_size", tuple(params["shape"]))
    name = f"conv{len(params['stride'])}d_weight"
    return reading.algebra.call(name, args[::-1], (size, *options), *layouts[0])


# -- pooling -----------------------------------------------------------------------------------------------------------
def pooled(params: Params, name: str, shape: tuple[int, ...]) -> tuple[str, tuple[tuple[str, Any], ...]] | None:
    """The name of a pooling, and its parameters."""
    ndim = params["ndim"]
    if name.startswith("adaptive"):
        return name, (("_output_size", shape[-ndim:]),)
    if params["windows"] is None or len(params["windows"][0]) != ndim:
        return None
    own = dict(zip(("kernel_size", "stride", "padding", "dilation", "ceil_mode"), params["windows"]))
    step = () if own["stride"] in (None, (), own["kernel_size"]) else (("stride", own["stride"]),)
    return name, (("_kernel_size", own["kernel_size"]), *step, *changed(own, padding=0, dilation=1, ceil_mode=False))


def max_pool(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    shape, dtype = layouts[0]
    found = pooled({"windows": None, **params}, name, shape)
    if found is None or not on_first(reading, params["indices"], args[0]):
        return None
    reading.pools[id(params["indices"])] = found
    made: Expression = reading.algebra.call(*found[:1], args, found[1], shape, dtype)
    return made


def max_pool_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    found = reading.pools.get(id(params["indices"]))
    if found is None or not on_first(reading, params["indices"], args[1]):
        return None
    made: Expression = reading.algebra.call(f"{found[0]}_backward", args, found[1], *layouts[0])
    return made


def adaptive_avg_pool(back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    size = args[0].shape[-params["ndim"] :] if back else params["size"]
    name = f"adaptive_avg_pool{len(size)}d{'_backward' * back}"
    made: Expression = reading.algebra.call(name, args, (("_output_size", tuple(size)),), *layouts[0])
    return made


def avg_pool(back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    kernel = params["kernel_size"]
    step = () if params["stride"] == kernel else (("stride", params["stride"]),)
    options = changed(params, padding=0, ceil_mode=False, count_include_pad=True)
    divisor = params.get("divisor_override")
    own = () if divisor is None else (("divisor_override", divisor),)
    name = f"avg_pool{len(kernel)}d{'_backward' * back}"
    made: Expression = reading.algebra.call(name, args, (("_kernel_size", kernel), *step, *options, *own), *layouts[0])
    return made


# -- paddings ----------------------------------------------------------------------------------------------------------
def padded(mode: str, back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    pads = tuple([n for pad in reversed(params["pads"]) for n in pad])
    kind: Any = (("mode", mode),) if mode != "constant" else changed(params, value=0)
    if params.get("value") is UNKNOWN:
        kind = (("value", LEFT_OUT),)
    if back and len(args) == 1:  # what is padded counts for its shape only
        args = (*args, reading.algebra.constant(0, *layouts[0]))
    made: Expression = reading.algebra.call(f"pad{'_backward' * back}", args, (("_pad", pads), *kind), *layouts[0])
    return made


def padded_behind(sign: int, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    pads = tuple([n for amount in reversed(params["amounts"]) for n in (0, sign * amount)])
    made: Expression = reading.algebra.call("pad", args, (("_pad", pads),), *layouts[0])
    return made


# -- other sizes -------------------------------------------------------------------------------------------------------
def interpolated(mode: str, back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``interpolate`` to a size; or, where that is not how the axes are, by factors."""
    axes, (shape, dtype) = params["axes"], layouts[0]
    new, old = [tuple(sizes) for sizes in zip(*[a.matrix(dtype).shape for a in axes])]
    kinds = {"bicubic": ("cubic", "smooth"), "bilinear": ("", "smooth")}.get(mode, ("",))
    corners = (False,) if "nearest" in mode else (False, True)
    factors = [getattr(a, "factor", None) for a in axes]
    ways = itertools.product((None, factors), kinds, corners, (np.float64, np.float32))
    for factor, kind, aligned, precision in ways:
        given = factor or [None] * len(axes)
        tried = [axis_of(kind, mode, n, m, f, aligned, precision) for n, m, f in zip(old, new, given)]
        if all([np.allclose(a.matrix(dtype), t.matrix(dtype), atol=1e-6) for a, t in zip(axes, tried)]):
            size = (("scale_factor", tuple(given)),) if factor else (("size", new),)
            options = () if mode == "nearest" else (("mode", mode),)
            options += (("align_corners", True),) * aligned + (("antialias", True),) * (kind == "smooth")
            name = f"interpolate{'_backward' * back}"
            if back:
                args = (*args, reading.algebra.constant(0, shape, dtype))
            made: Expression = reading.algebra.call(name, args, (*size, *options), shape, dtype)
            return made
    return None


_MODES = {"nearest": (1, 2, 3), "nearest_exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,),
          "trilinear": (3,)}  # fmt: skip

IMAGES: dict[str, Any] = {
    "conv": convolved,
    "conv_bias": convolved,
    "conv_input_grad": conv_transpose,
    "conv_input_grad_bias": conv_transpose,
    "conv_weight_grad": conv_weight,
    "conv_recorded": lambda reading, args, params, layouts: args[0],
    "max_pool_grad": max_pool_back,
    "avg_pool_grad": functools.partial(avg_pool, True),
    "adaptive_avg_pool_grad": functools.partial(adaptive_avg_pool, True),
    **{f"avg_pool{n}d": functools.partial(avg_pool, False) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": functools.partial(adaptive_avg_pool, False) for n in (1, 2, 3)},
    "constant_pad_nd": functools.partial(padded, "constant", False),
    **{
        f"{row}_pad{n}d{back}": functools.partial(padded, mode, bool(back))
        for row, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for n in (1, 2, 3)
        for back in ("", "_backward")
    },
    "pad_end": functools.partial(padded_behind, 1),
    "crop_end": functools.partial(padded_behind, -1),
    "circular_pad": functools.partial(padded, "circular", False),
    "circular_pad_backward": functools.partial(padded, "circular", True),
    **{
        f"{kind}{n}d": functools.partial(max_pool, f"{kind}{n}d")
        for kind in ("max_pool", "adaptive_max_pool")
        for n in (2, 3)
    },
    **{
        f"upsample_{mode}{n}d{back}": functools.partial(interpolated, mode.replace("_", "-"), bool(back))
        for mode, ranks in _MODES.items()
        for n in ranks
        for back in ("", "_backward")
    },
}
"""By the name of a row: see ``CALLS``."""
