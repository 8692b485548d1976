"""How rows and choices that have parameters of their own are written: as calls of the functions that people know.

A row such as ``nll_loss`` takes what its function has worked out before: cleaned targets, a divisor.  Here it is turned back
into a call of the function, ``nll_loss(x, c)``, or into the usual notation, ``-one_hot(c, 4)/3``; where what it takes cannot be
told from the function's own arguments, the row is called as it is.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._op import rows
from ..ops.activation_derivatives import DERIVATIVES, GLU, MISH
from ._expressions import Expression, negative
from ._formula_images import IMAGES, changed
from ._formula_places import PLACES
from ._formula_rows import averaged, channel_scaled, channel_total, compared, stretched, where
from ._formula_text import LEFT_OUT, UNKNOWN, Ref

Params = Mapping[str, Any]
Layouts = list[tuple[tuple[int, ...], Any]]


# -- losses ------------------------------------------------------------------------------------------------------------
def reduced(params: Params, size: int, shape: tuple[int, ...]) -> tuple[tuple[str, Any], ...] | None:
    """How a loss is reduced, from what its sum is multiplied by."""
    if params["summed"] is False or (shape and math.prod(shape) == size):
        return (("reduction", "none"),)
    if params["scale"] == 1 / max(size, 1) or params["scale"] is UNKNOWN:
        return ()
    return (("reduction", "sum"),) if params["scale"] == 1 else None


def elementwise_loss(
    name: str, option: str, reading: Any, args: Any, params: Params, layouts: Layouts
) -> Expression | None:
    shape, dtype = layouts[0]
    how = reduced(params, math.prod(np.broadcast_shapes(*[a.shape for a in args])), shape)
    if how is None:
        return None
    own, inputs = changed(params, **{option: 1.0}) if option else (), list(args)
    for factor in ("weight", "pos_weight"):
        if (value := params.get(factor)) is not None:
            if value is UNKNOWN:
                return None
            own = (*own, (factor, Ref(len(inputs))))
            inputs.append(reading.place_of(value))
    made: Expression = reading.algebra.call(name, inputs, (*own, *how), shape, dtype)
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
    inputs, options = (reading.expression_of(target),), (("_num_classes", shape[-1]),)
    made = reading.algebra.fitted(
        reading.algebra.call("one_hot", inputs, options, shape, np.dtype("int64")), shape, dtype
    )
    return -(grad if params["summed"] or len(shape) < 2 else stretched(grad, -1)) * made / float(params["divisor"])


# -- activations -------------------------------------------------------------------------------------------------------
def gelu_back(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """The normal distribution's function, and x times its density; or what approximates it, a sigmoid of h(x)."""
    grad, x = args[:2]
    if params["approximate"] != "none":
        twice, cubic = 2 * math.sqrt(2 / math.pi), 0.044715
        inner = twice * (x + cubic * x**3)
        share = reading.algebra.call("sigmoid", (inner,), (), x.shape, x.dtype)
        return grad * share * (1 + x * (1 - share) * (twice + 3 * twice * cubic * x**2))
    share, density = [
        reading.algebra.call(name, (e,), (), e.shape, e.dtype) for name, e in (("ndtr", x), ("exp", -(x**2) / 2))
    ]
    return grad * (share + x * density * 0.3989422804014327)  # 1 / sqrt(2 pi)


def of_activation(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """The gradient times a derivative of an activation function, in the functions that it is a polynomial of."""
    grad, x = args

    def symbol(function: str) -> Callable[..., Expression]:
        return lambda e, **params: reading.algebra.call(function, (e,), tuple(params.items()), e.shape, e.dtype)

    F = SimpleNamespace(**{function: symbol(function) for function in ("abs", "exp", "sign", "softplus", "tanh")})
    F.sigmoid = lambda e: 1 - symbol("sigmoid")(-e) if negative(e) else symbol("sigmoid")(e)
    if name == "mish_derivative":
        share, logistic = F.tanh(F.softplus(x)), F.sigmoid(x)
        slope = MISH.polynomial(params["order"]).at((x, logistic, 1 - logistic, share, 1 - share**2))
    else:
        slope = DERIVATIVES[name](F, x, **params)
    if params.get("threshold", math.inf) < math.inf:
        slope = where(compared("lt", params["beta"] * x, params["threshold"]), slope, 0)
    return grad * slope


def of_glu(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """A derivative of glu, in halves and sigmoids of them."""
    shape = list(args[-1].shape)
    shape[params["dim"]] //= 2

    def symbol(head: str, size: Any) -> Callable[..., Expression]:
        return lambda *e, **params: reading.of_row(rows[head], e, params, [(tuple(size), e[0].dtype)])[0]

    F = SimpleNamespace(half=symbol("half", shape), halves=symbol("halves", args[-1].shape))
    F.sigmoid = symbol("sigmoid", shape)
    made: Expression = GLU[name](F, *args, **params)
    return made


def activated(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``elu``, ``selu`` or ``celu``."""
    alpha, scale, inner = params["alpha"], params["scale"], params["input_scale"]
    options: Any = changed(params, alpha=1.0)
    if inner == 1.0 and scale == 1.0:
        name = "elu"
    elif (alpha, scale, inner) == (1.6732632423543772, 1.0507009873554805, 1.0):
        name, options = "selu", ()
    elif scale == 1.0 and inner == 1.0 / alpha:
        name = "celu"
    else:
        return None
    made: Expression = reading.algebra.call(name, args, options, *layouts[0])
    return made


def weighed(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``prelu``, whose weight for each channel stands along a dimension of its own here."""
    x, weight = args
    return None if weight.shape in ((), (1,)) else where(compared("gt", x, 0), x, weight * x)


def diagonal(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """With its dimensions, where those are not all: ``linalg.diagonal`` has others by default."""
    (x,) = args
    dims = () if x.ndim == 2 and (params["dim1"], params["dim2"]) == (0, 1) else ("dim1", "dim2")
    options = (*changed(params, offset=0), *[(d, params[d]) for d in dims])
    return reading.algebra.call("diagonal", args, options, *layouts[0])


def elu_slope(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    (grad, x), scale, inner, order = args, params["scale"], params["input_scale"], params["order"]
    grown = scale * params["alpha"] * inner**order * reading.algebra.call("exp", (inner * x,), (), x.shape, x.dtype)
    if order == 1:
        return grad * where(compared("gt", x, 0), reading.algebra.constant(scale, x.shape, x.dtype), grown)
    return grad * where(compared("lt", x, 0), grown, 0)


# -- normalisation -----------------------------------------------------------------------------------------------------
def statistics_of(x: Expression, plan: Any) -> list[Expression]:
    """The mean and the variance of what is normalised together, one after the other."""
    seen = x.algebra.reshaped(x, plan.shape)
    mean = averaged(seen, plan.axes, True)
    spread = None if mean is None else averaged((seen - mean) ** 2, plan.axes, True)
    if mean is None or spread is None:
        return []
    return [x.algebra.reshaped(e, (math.prod(e.shape),)) for e in (mean, spread)]


def moments(reading: Any, args: Any, params: Params, layouts: Layouts) -> list[Expression] | None:
    return statistics_of(args[0], params["plan"]) or None


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


def standardized_bend(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """How the gradient of what is standardised changes in a direction."""
    (*both, x, mean, var), plan = args, params["plan"]
    algebra = reading.algebra
    if 0 in x.shape:
        return None
    x, one, two = [algebra.reshaped(e, plan.shape) for e in (x, *both)]
    mean, var = [algebra.reshaped(e, plan.kept) for e in (mean, var)]
    centered, spread = x - mean, var + plan.eps
    means = [averaged(e, plan.axes, True) for e in (one, two)]
    if means[0] is None or means[1] is None:
        return None
    one, two = one - means[0], two - means[1]
    first, second, product = [averaged(e, plan.axes, True) for e in (one * centered, two * centered, one * two)]
    if first is None or second is None or product is None:
        return None
    bent = centered * (product - 3 * first * second / spread) + one * second + two * first
    return algebra.reshaped(-bent / spread**1.5, layouts[0][0])


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


def batch_norm(trains: bool, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    x, weight, bias, mean, var = args
    if not trains:
        return affine(reading, "batch_norm", (x, mean, var, weight, bias), (), params, layouts)
    options = ("_running_mean", None), ("_running_var", None), ("training", True)
    return affine(reading, "batch_norm", (x, weight, bias), options, params, layouts)


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


# -- elementwise -------------------------------------------------------------------------------------------------------
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


# -- others ------------------------------------------------------------------------------------------------------------
def backwards(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """A running sum from the end."""
    (x,), dim = args, params["dim"]
    if params["reverse"] is not True:
        return None
    if not x.ndim:
        return x
    made = x
    for head, options in (("flip", ("dims", (dim,))), ("cumsum", ("dim", dim)), ("flip", ("dims", (dim,)))):
        made = reading.algebra.call(head, (made,), (options,), x.shape, x.dtype)
    return made


def spread(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression:
    """A number for each channel, for all that is in the channel."""
    (x,), channels, algebra = args, tuple(params["channels"]), reading.algebra
    each = algebra.reshaped(x, (channels[1], 1)[: len(channels) - 1])
    made: Expression = algebra.reshaped(algebra.fitted(each, channels, x.dtype), layouts[0][0])
    return made


def transposed_times(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``self.mT @ vec``, of what stands in the rows of tensors."""
    matrix, vector = args
    if not vector.ndim or 0 in matrix.shape:
        return None
    rows_of = reading.algebra.reshaped(matrix, (math.prod(matrix.shape[:-1]), matrix.shape[-1]))
    made: Expression = rows_of.mT @ reading.algebra.reshaped(vector, (math.prod(vector.shape),))
    return made


def extremes(reading: Any, args: Any, params: Params, layouts: Layouts) -> list[Expression] | None:
    """``aminmax`` along one dimension, or of all elements."""
    dims, keepdim = params["dim"], params["keepdim"]
    if len(dims) == 1:
        options: Any = (("dim", dims[0]), *changed({"keepdim": keepdim}, keepdim=False))
    elif len(dims) == args[0].ndim and keepdim is not True:
        options = ()
    else:
        return None
    made = reading.algebra.call("aminmax", args, options)
    return [reading.algebra.item(made, n, *layout) for n, layout in enumerate(layouts)]


def pseudo_inverse(reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """``pinv`` with its tolerances, where those are not the usual ones."""
    (x,) = args
    options: list[tuple[str, Any]] = []
    for name in ("rtol", "atol"):
        if (value := params[name]) is UNKNOWN:
            options.append((name, LEFT_OUT))
            continue
        number = np.asarray(getattr(value, "_array", value))
        if number.ndim:
            return None
        usual = max(x.shape[-2:]) * np.finfo(x.dtype).eps if name == "rtol" else 0.0
        if float(number) != float(usual):
            options.append((name, float(number)))
    hermitian = params["hermitian"]
    options += [("hermitian", LEFT_OUT if hermitian is UNKNOWN else hermitian)] if hermitian else []
    made: Expression = reading.algebra.call("pinv", args, tuple(options), *layouts[0])
    return made


def filled(value: Any, reading: Any, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """The same number everywhere."""
    number = params.get("value", value)
    return reading.algebra.constant(number, *layouts[0]) if isinstance(number, (bool, int, float)) else None


def inverse_of_many(name: str, reading: Any, args: Any, params: Params, layouts: Layouts) -> list[Expression] | None:
    """The first of the results of ``inv_ex`` and its like is that of the function itself."""
    algebra = reading.algebra
    options = tuple([(p, v) for p, v in params.items() if row_default(rows[name], p) != v])
    head = name.removesuffix("_ex")
    first = algebra.call(head, args, options, *layouts[0])
    rest = algebra.call(name, args, options)
    return [first, *[algebra.item(rest, n, *layout) for n, layout in enumerate(layouts[1:], 1)]]


def row_default(row: Any, param: str) -> Any:
    """What a parameter of a row is by default."""
    text = row.params[param]
    return ast.literal_eval(text[1:]) if text else None


CALLS: dict[str, Callable[..., Any]] = {
    "diagonal": diagonal,
    **dict.fromkeys(
        ("unique", "unique_dim", "unique_consecutive"),
        lambda reading, args, params, layouts: reading.place_of(params["values"]),
    ),
    "frexp": lambda reading, args, params, layouts: args[0] * reading.place_of(params["scale"]),
    "elu_derivative": elu_slope,
    **{name: functools.partial(of_activation, name) for name in DERIVATIVES},
    **{name: functools.partial(of_glu, name) for name in GLU},
    "elu": activated,
    "celu": activated,
    "prelu": weighed,
    "cumsum": backwards,
    "channel_fill": spread,
    "mv_t": transposed_times,
    "aminmax": extremes,
    "clamp_backward": inside,
    "hardtanh_backward": inside,
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
    "standardized_bend": standardized_bend,
    "norm_weight_grad": norm_weight_grad,
    "over_deviation": scaled_by_deviation,
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "batch_norm": functools.partial(batch_norm, True),
    "batch_norm_evaluated": functools.partial(batch_norm, False),
    "pinv": pseudo_inverse,
    "fill": functools.partial(filled, None),
    "fill_": functools.partial(filled, None),
    "zero_": functools.partial(filled, 0),
    **{name: functools.partial(inverse_of_many, name) for name in ("inv_ex", "solve_ex", "cholesky_ex")},
    **IMAGES,
    **PLACES,
}
"""By the name of a row: called with the reading, the inputs, the parameters and the results' shapes and dtypes."""


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
