"""How rows and choices that have parameters of their own are written: as calls of the functions that people know.

A row such as ``nll_loss`` takes what its function has worked out before: cleaned targets, a divisor.  Here it is turned back
into a call of the function, ``nll_loss(x, c)``, or into the usual notation, ``-one_hot(c, 4)/3``; where what it takes cannot be
told from the function's own arguments, the row is called as it is.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import _runtime
from .._differentiate import grad as gradient_of
from .._dtypes import of_numpy
from .._modes import enable_grad
from ..ops import activation, class_loss, conv, gamma_normal, index, loss, normalize, pad, pool, scan, sort
from ._expressions import Expression
from ._formula_rows import averaged, channel_scaled, channel_total, compared, stretched, where
from ._formula_text import Ref

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


# -- losses ------------------------------------------------------------------------------------------------------------
def reduced(params: Params, size: int, shape: tuple[int, ...]) -> tuple[tuple[str, Any], ...] | None:
    """How a loss is reduced, from what its sum is multiplied by."""
    if params["summed"] is False or (shape and math.prod(shape) == size):
        return (("reduction", "none"),)
    if params["scale"] == 1 / max(size, 1):
        return ()
    return (("reduction", "sum"),) if params["scale"] == 1 else None


def elementwise_loss(
    name: str, option: str, reading: Any, args: Any, params: Params, layouts: Layouts
) -> Expression | None:
    shape, dtype = layouts[0]
    how = reduced(params, math.prod(np.broadcast_shapes(*[a.shape for a in args])), shape)
    if how is None or any([params.get(factor) is not None for factor in ("weight", "pos_weight")]):
        return None
    own = changed(params, **{option: 1.0}) if option else ()
    made: Expression = reading.algebra.call(name, args, (*own, *how), shape, dtype)
    return made


def nll_loss(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    told, divisor = params.get("asked"), params["divisor"]
    if not isinstance(told, tuple):
        return None
    target, weight, ignored, reduction = told[:4]
    if params["summed"] and reduction != 1 and divisor != 1:
        return None
    how = () if reduction == 1 else (("reduction", "sum" if params["summed"] else "none"),)
    inputs = [*args[:-1], reading.expression_of(target)]
    if weight is not None:
        how = (("weight", Ref(len(inputs))), *how)
        inputs.append(reading.expression_of(weight))
    options = (*changed({"ignore_index": ignored}, ignore_index=-100), *how)
    made: Expression = reading.algebra.call(name, inputs, options, *layouts[0])
    return made


def nll_loss_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The gradient: of scores of shape (N, C) or (C,) without weights one for the target, over how many are averaged."""
    told, (shape, dtype), (grad, *_) = params.get("asked"), layouts[0], args
    if not isinstance(told, tuple):
        return None
    target, weight, ignored = told[:3]
    if weight is not None or len(shape) > 2 or (target._array == ignored).any():
        return nll_loss("nll_loss_backward", reading, args, params, layouts)
    made = reading.algebra.call(
        "one_hot", (reading.expression_of(target),), (("_num_classes", shape[-1]),), shape, dtype
    )
    return -(grad if params["summed"] or len(shape) < 2 else stretched(grad, -1)) * made / float(params["divisor"])


# -- activations -------------------------------------------------------------------------------------------------------
def gelu_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """The normal distribution's function, and x times its density; the approximation's derivative goes by its name."""
    grad, x = args[:2]
    if params["approximate"] != "none":
        options = (("approximate", params["approximate"]),)
        return reading.algebra.call("gelu_backward", (grad, x), options, *layouts[0])
    share, density = [
        reading.algebra.call(name, (e,), (), e.shape, e.dtype) for name, e in (("ndtr", x), ("exp", -(x**2) / 2))
    ]
    return grad * (share + x * density * 0.3989422804014327)  # 1 / sqrt(2 pi)


def elu_slope(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    (x,), scale, inner = args, params["scale"], params["input_scale"]
    if params["order"] != 1:
        return None
    grown = reading.algebra.call("exp", (inner * x,), (), x.shape, x.dtype)
    return where(
        compared("gt", x, 0), reading.algebra.constant(scale, x.shape, x.dtype), scale * params["alpha"] * inner * grown
    )


# -- normalisation -----------------------------------------------------------------------------------------------------
def statistics(x: Expression, plan: Any) -> list[Expression]:
    """The mean and the variance of what is normalised together, one after the other."""
    seen = x.algebra.reshaped(x, plan.shape)
    mean = averaged(seen, plan.axes, True)
    spread = None if mean is None else averaged((seen - mean) ** 2, plan.axes, True)
    if mean is None or spread is None:
        return []
    return [x.algebra.reshaped(e, (math.prod(e.shape),)) for e in (mean, spread)]


def moments(reading: Any, args: Any, params: Params, layouts: Layouts) -> list[Expression] | None:
    return statistics(args[0], params["plan"]) or None


def normalized_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The gradient of what is normalised, less what of it the mean and the deviation take up."""
    (grad, x, weight, mean, var), plan = args, params["plan"]
    algebra = reading.algebra
    if 0 in x.shape:
        return None
    grad = channel_scaled(grad, weight, plan.channels)
    grad, centered = [algebra.reshaped(e, plan.shape) for e in (grad, x)]
    mean, var = [algebra.reshaped(e, plan.kept) for e in (mean, var)]
    centered, spread = centered - mean, var + plan.eps
    first, second = averaged(grad, plan.axes, True), averaged(grad * centered, plan.axes, True)
    if first is None or second is None:
        return None
    return algebra.reshaped((grad - first - centered * second / spread) / spread**0.5, layouts[0][0])


def norm_weight_grad(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The gradient of a weight: the sum for each channel of the gradient times what was normalised."""
    (grad, x, mean, var), plan = args, params["plan"]
    algebra = reading.algebra
    if 0 in x.shape:
        return None
    mean, var = [algebra.reshaped(e, plan.kept) for e in (mean, var)]
    normal = (algebra.reshaped(x, plan.shape) - mean) / (var + plan.eps) ** 0.5
    seen = [algebra.reshaped(e, plan.channels) for e in (grad, normal)]
    return channel_total(seen[0] * seen[1], plan.channels, layouts[0][0])


def scaled_by_deviation(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """Each channel over its deviation."""
    (x, var), channels = args, params["channels"]
    return channel_scaled(x, (var + params["eps"]) ** -0.5, channels)


def layer_norm(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    return affine(reading, "layer_norm", args, (("_normalized_shape", args[1].shape),), params, layouts)


def group_norm(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    return affine(reading, "group_norm", args, (("_num_groups", params["plan"].groups),), params, layouts)


def batch_norm(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    x, weight, bias, mean, var = args
    return affine(reading, "batch_norm", (x, mean, var, weight, bias), (), params, layouts)


def affine(reading: Any, name: str, args: Any, own: Any, params: Params, layouts: Layouts) -> Expression:
    """A normalisation by its function, without a weight of ones and a bias of zeros."""
    *inputs, weight, bias = args
    for what, e, absent in (("weight", weight, 1), ("bias", bias, 0)):
        if e.kind != "number" or e.number != absent:
            own = (*own, (what, Ref(len(inputs))))
            inputs.append(e)
    if params["plan"].eps != 1e-5:
        own = (*own, ("eps", params["plan"].eps))
    made: Expression = reading.algebra.call(name, inputs, own, *layouts[0])
    return made


NORMALIZING = frozenset(["layer_norm", "group_norm"])
"""Rows that keep the mean and the variance for their formulas."""


# -- places ------------------------------------------------------------------------------------------------------------
def at(reading: Any, indices: Any) -> tuple[list[Expression], tuple[str, Any]]:
    """The tensors of an index, and which dimensions they are for."""
    places = tuple([n for n, index in enumerate(indices) if index is not None])
    return [reading.index_of(indices[n]) for n in places], ("at", places)


def indexed(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    tensors, places = at(reading, params["indices"])
    made: Expression = reading.algebra.call("getitem", (*args, *tensors), (places,), *layouts[0])
    return made


def index_put(back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    tensors, places = at(reading, params["indices"])
    if places[1] != tuple(range(len(tensors))):
        return None
    if back:
        args = (reading.algebra.constant(0, *layouts[0]), *args)
    added = (("accumulate", True),) if back or params["accumulate"] is True else ()
    made: Expression = reading.algebra.call("put_at", (*args, *tensors), (places, *added), *layouts[0])
    return made


def padded(mode: str, back: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    pads = tuple([n for pad in reversed(params["pads"]) for n in pad])
    kind = (("mode", mode),) if mode != "constant" else changed(params, value=0)
    made: Expression = reading.algebra.call(f"pad{'_backward' * back}", args, (("_pad", pads), *kind), *layouts[0])
    return made


def chosen(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The values beside indices, where those are the second result of the same function."""
    index = reading.known(params["index"])
    if index is None or index.kind != "item" or index.args[0].head != name or index.args[0].args[0] is not args[0]:
        return None
    made: Expression = reading.algebra.item(index.args[0], 0, *layouts[0])
    return made


def replaced(algebra: Any, e: Expression, value: Expression, take: Any) -> Expression | None:
    """An expression of which a part, which one index or slice takes, was overwritten."""
    if len(take.steps) != 1 or take.steps[0][0].name not in ("select", "slice"):
        return None
    row, given, _ = take.steps[0]
    params = dict(zip(row.params, given))
    dim = params["dim"]
    inner: tuple[int, ...] = ()
    if row.name == "slice":
        params["end"] = min(params["end"], e.shape[dim])
        inner = (len(range(params["start"], params["end"], params["step"])),)
    part = algebra.fitted(value, (*e.shape[:dim], *inner, *e.shape[dim + 1 :]), e.dtype)
    options = tuple([(name, v) for name, v in params.items() if name != "step" or v != 1])
    made: Expression = algebra.call(f"{row.name}_scatter", (e, part), options, e.shape, e.dtype)
    return made


def overwritten(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    base, value = args
    return replaced(reading.algebra, base, value, params["take"])


def inside(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """A gradient where a value is between two numbers."""
    grad, x = args
    ends = [("ge", params.get("min")), ("le", params.get("max"))]
    if "min_val" in params:
        ends = [("gt", params["min_val"]), ("lt", params["max_val"])]
    within = [compared(head, x, end) for head, end in ends if end is not None]
    if len(within) == 2 and all([e.kind != "number" for e in within]):
        within = [reading.algebra.call("bitwise_and", within, (), x.shape, within[0].dtype)]
    made = grad
    for condition in within:
        made = where(condition, made, 0)
    return made


INDEXED = frozenset(["index_put", "index_backward"])
"""Rows that are called as they are where some dimensions are not indexed."""

CALLS: dict[str, Callable[..., Any]] = {
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
    "elu_derivative": elu_slope,
    "clamp_backward": inside,
    "hardtanh_backward": inside,
    "copy_slices": overwritten,
    "smooth_l1_loss": functools.partial(elementwise_loss, "smooth_l1_loss", "beta"),
    "huber_loss": functools.partial(elementwise_loss, "huber_loss", "delta"),
    "binary_cross_entropy": functools.partial(elementwise_loss, "binary_cross_entropy", ""),
    "binary_cross_entropy_with_logits": functools.partial(elementwise_loss, "binary_cross_entropy_with_logits", ""),
    "nll_loss": functools.partial(nll_loss, "nll_loss"),
    "nll_loss2d": functools.partial(nll_loss, "nll_loss"),
    "nll_loss_backward": nll_loss_back,
    "gelu_backward": gelu_back,
    "norm_moments": moments,
    "normalized_backward": normalized_back,
    "norm_weight_grad": norm_weight_grad,
    "over_deviation": scaled_by_deviation,
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "batch_norm_evaluated": batch_norm,
    "index": indexed,
    "index_put": functools.partial(index_put, False),
    "index_backward": functools.partial(index_put, True),
    "constant_pad_nd": functools.partial(padded, "constant", False),
    **{
        f"{row}_pad{n}d{back}": functools.partial(padded, mode, bool(back))
        for row, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for n in (1, 2, 3)
        for back in ("", "_backward")
    },
    **{name: functools.partial(chosen, name) for name in ("topk", "cummax", "cummin")},
    **{
        f"{kind}{n}d": functools.partial(max_pool, f"{kind}{n}d")
        for kind in ("max_pool", "adaptive_max_pool")
        for n in (2, 3)
    },
}
"""By the name of a row: called with the reading, the inputs, the parameters and the results' shapes and dtypes."""


def of_choice(reading: Any, name: str, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """Indices that are the second result of a function."""
    if name == "the indices of topk":
        options = (("_k", params["k"]), ("dim", params["dim"]), *changed(params, largest=True))
        name = "topk"
    elif name == "the indices of records":
        options, name = (("dim", params["dim"]),), "cummax" if params["ufunc"] is np.maximum else "cummin"
    else:
        return None
    made: Expression = reading.algebra.item(reading.algebra.call(name, args, options), 1, *layouts[0])
    return made


DEFAULTS: dict[str, dict[str, Any]] = {
    "elu": {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    "celu": {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    "softplus": {"beta": 1.0, "threshold": 20.0},
    "softplus_backward": {"beta": 1.0, "threshold": 20.0},
    "leaky_relu": {"negative_slope": 0.01},
    "hardtanh": {"min_val": -1.0, "max_val": 1.0},
    "hardtanh_backward": {"min_val": -1.0, "max_val": 1.0},
    "embedding": {"padding_idx": -1, "scale_grad_by_freq": False},
    "embedding_backward": {"padding_idx": -1, "scale_grad_by_freq": False},
    "vector_norm": {"ord": 2.0},
    "cdist": {"p": 2.0},
}
"""Parameters of rows, required there, that are left out where they are what the function has by default."""


# -- evaluating --------------------------------------------------------------------------------------------------------
def backward_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function's first argument."""

    def backward(grad: Any, input: Any, *args: Any, **params: Any) -> Any:
        with enable_grad():
            leaf = input.detach().requires_grad_()
            return gradient_of(function(leaf, *args, **params), leaf, grad)[0]

    known = inspect.signature(function)
    first = inspect.Parameter("grad", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    backward.__signature__ = known.replace(parameters=[first, *known.parameters.values()])  # type: ignore[attr-defined]
    return backward


def weight_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a convolution's weight."""

    def backward(input: Any, grad: Any, weight_size: Any, **params: Any) -> Any:
        with enable_grad():
            weight = _runtime.wrap(np.zeros(weight_size, input._array.dtype)).requires_grad_()
            return gradient_of(function(input.detach(), weight, **params), weight, grad)[0]

    return backward


_FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(
            sort.topk,
            scan.cummax,
            scan.cummin,
            gamma_normal.ndtr,
            class_loss.nll_loss,
            loss.smooth_l1_loss,
            loss.huber_loss,
        ),
        *(loss.binary_cross_entropy, loss.binary_cross_entropy_with_logits, normalize.layer_norm, normalize.group_norm),
        *(normalize.batch_norm, activation.gelu, pad.pad, conv.conv1d, conv.conv2d, conv.conv3d, conv.conv_transpose1d),
        *(conv.conv_transpose2d, conv.conv_transpose3d, pool.avg_pool1d, pool.avg_pool2d, pool.avg_pool3d),
        *(
            pool.adaptive_avg_pool1d,
            pool.adaptive_avg_pool2d,
            pool.adaptive_avg_pool3d,
            pool.max_pool2d,
            pool.max_pool3d,
        ),
        *(pool.adaptive_max_pool2d, pool.adaptive_max_pool3d),
    )
}


@functools.cache
def public(name: str) -> Any:
    """The function that a text calls by this name; None where it calls a row."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    for end, made in (("_backward", backward_of), ("_weight", weight_of)):
        if name.removesuffix(end) in _FUNCTIONS:
            return made(_FUNCTIONS[name.removesuffix(end)])
    return None


def one_hot(kind: Any) -> Callable[..., Any]:
    """``one_hot`` of a dtype, as ``zeros`` and ``ones`` are of one."""
    return lambda target, num_classes: index.one_hot(target, num_classes).to(of_numpy(kind))


def either(function: Any, row: Any) -> Any:
    """A function, or the row of the same name where it is called with parameters that only that has."""
    known = inspect.signature(function).parameters

    def call(*args: Any, **params: Any) -> Any:
        return (row if params.keys() - known.keys() else function)(*args, **params)

    return call
