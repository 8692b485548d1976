"""How rows read as expressions: what an operation is in the usual notation.

A reading is written as the operation is defined: ``reading(*inputs, **params)`` of expressions gives one.  A row that is not
here, or whose reading gives None for what it gets, is a call of a function that is named as the row is.
"""

from __future__ import annotations

import functools
import math
import operator
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from ._expressions import Expression, unexpanded
from ._masks import promoted, uncast

Reading = Callable[..., Expression | None]


# -- helpers -----------------------------------------------------------------------------------------------------------
def compared(head: str, self: Expression, other: Any) -> Expression:
    """A comparison, of bools."""
    algebra = self.algebra
    other = other if isinstance(other, Expression) else algebra.constant(other, (), self.dtype)
    shape = np.broadcast_shapes(self.shape, other.shape)
    if self.kind == "product" and self.floats and other.kind == "number" and other.number == 0 < self.number < math.inf:
        self = algebra.product(1, zip(self.args, self.params), self.shape, self.dtype)  # 2*x > 0 where x > 0
    if head == "gt" and self.head == "relu" and other.kind == "number" and other.number == 0:
        (self,) = self.args
    if self.kind == other.kind == "number":
        return algebra.constant(getattr(operator, head)(self.number, other.number), shape, np.dtype(bool))
    return in_shape(head, (self, other), shape, np.dtype(bool))


def in_shape(head: str, args: tuple[Expression, ...], shape: tuple[int, ...], dtype: Any) -> Expression:
    """An elementwise call, expanded where numbers, which are written without their shape, are what makes it larger."""
    algebra, args = args[0].algebra, tuple(map(unexpanded, args))
    own = np.broadcast_shapes(*[e.shape for e in args if e.kind != "number"])
    return algebra.fitted(algebra.call(head, args, (), own, dtype), shape, dtype)


def where(condition: Expression, self: Expression, other: Any) -> Expression:
    """The choice between two."""
    algebra = self.algebra
    other = other if isinstance(other, Expression) else algebra.constant(other, (), self.dtype)
    shape = np.broadcast_shapes(condition.shape, self.shape, other.shape)
    if condition.kind == "number":
        return algebra.fitted(self if condition.number else other, shape, self.dtype)
    if self.kind == other.kind == "number" and self.floats and math.isfinite(self.number - other.number):
        chosen = [(condition, 1)], condition.shape, self.dtype
        return algebra.fitted(algebra.product(self.number - other.number, *chosen) + other.number, shape, self.dtype)
    if other.kind == "number" and other.number == 0 and self.floats:
        return kept(condition, self, other, shape)
    return in_shape("where", (condition, self, other), shape, self.dtype)


def kept(condition: Expression, self: Expression, zero: Expression, shape: tuple[int, ...]) -> Expression:
    """What there is where a condition is true, among zeros: no product, which would be NaN where there is an infinity.

    Whole numbers stand before it. What the condition has chosen already, and powers of ``relu`` where that is not 0, need no
    choice.
    """
    algebra, core, number = self.algebra, unexpanded(self), 1
    if core.kind == "product" and core.number and float(core.number).is_integer():
        number, core = core.number, algebra.product(1, zip(core.args, core.params), core.shape, core.dtype)
    if uncast(core) is condition:
        return algebra.product(number, [(condition, 1)], shape, self.dtype)
    if core.head == "where" and core.args[0] is condition:
        core = core.args[1]
    base, power = (core.args[0], core.params[0]) if core.kind == "product" and len(core.args) == 1 else (core, 1)
    positive = condition.head == "gt" and condition.args[1].kind == "number" and condition.args[1].number == 0
    if not (positive and base.head == "relu" and base.args[0] is condition.args[0] and power > 0):
        core = in_shape("where", (condition, core, zero), np.broadcast_shapes(condition.shape, core.shape), self.dtype)
    return algebra.product(number, [(core, 1)], shape, self.dtype)


def either(self: Expression, other: Expression, decides: bool) -> Expression | None:
    """``|`` or ``&`` of bools, of which a known one may decide."""
    for known, unknown in ((self, other), (other, self)):
        if known.kind == "number" and known.dtype.kind == unknown.dtype.kind == "b":
            shape = np.broadcast_shapes(self.shape, other.shape)
            if bool(known.number) is decides:
                return self.algebra.constant(decides, shape, known.dtype)
            return self.algebra.fitted(unknown, shape, known.dtype)
    return None


def opposite(self: Expression) -> Expression | None:
    """``~`` of a bool."""
    return self.args[0] if self.head == "bitwise_not" and self.dtype.kind == "b" else None


def stretched(e: Expression, dim: int) -> Expression:
    """With a dimension of size 1 at *dim*."""
    at = dim % (e.ndim + 1)
    return e.algebra.reshaped(e, (*e.shape[:at], 1, *e.shape[at:]))


def summed(e: Expression, dim: Any = None, keepdim: bool = False) -> Expression:
    return e.algebra.sum_over(e, (dim,) if isinstance(dim, int) else dim, keepdim)


def averaged(e: Expression, dim: Any = None, keepdim: bool = False) -> Expression | None:
    dims = (dim,) if isinstance(dim, int) else dim
    if dims is None and 0 in e.shape:
        return e.algebra.call("mean", (e,), (), (), e.dtype)
    return e.algebra.sum_over(e, dims, keepdim, "mean") if e.floats and 0 not in e.shape else None


def sum_to(e: Expression, shape: tuple[int, ...]) -> Expression:
    """The sum over what broadcasting repeated."""
    lead = e.ndim - len(shape)
    leading = tuple(range(lead))
    inner = tuple([lead + d for d, n in enumerate(shape) if n == 1 and e.shape[lead + d] != 1])
    if not inner:
        return e.algebra.sum_over(e, leading, False) if leading else e
    total = e.algebra.sum_over(e, leading + inner, True)
    return e.algebra.reshaped(total, shape)


def permuted(e: Expression, dims: tuple[int, ...]) -> Expression:
    """With the dimensions in another order; the exchange of the last two has a sign of its own."""
    dims = tuple([d % e.ndim for d in dims]) if e.ndim else ()
    if e.head == "permute":
        (_, before), *_ = e.params
        return permuted(e.args[0], tuple([before[d] for d in dims]))
    if dims == tuple(range(e.ndim)):
        return e
    if e.ndim > 1 and dims == (*range(e.ndim - 2), e.ndim - 1, e.ndim - 2):
        return e.mT
    shape = tuple([e.shape[d] for d in dims])
    return e.algebra.call("permute", (e,), (("dims", dims),), shape, e.dtype)


def selected_back(grad: Expression, shape: Any, dim: int, index: int) -> Expression | None:
    """A gradient in its place among zeros: numbers stand before it, so that like terms are added."""
    number, algebra = grad.number, grad.algebra
    if grad.kind not in ("number", "product") or number == 1 or not grad.floats or not math.isfinite(number):
        return None
    core = algebra.constant(1, grad.shape, grad.dtype)
    if grad.kind == "product":
        core = algebra.product(1, zip(grad.args, grad.params), grad.shape, grad.dtype)
    params = ("shape", tuple(shape)), ("dim", dim), ("index", index)
    return number * algebra.call("select_backward", (core,), params, tuple(shape), grad.dtype)


def transposed(self: Expression, dim0: int, dim1: int) -> Expression:
    dims = list(range(self.ndim))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return permuted(self, tuple(dims))


def product(self: Expression, other: Expression) -> Expression | None:
    """A product of matrices or vectors, where it is one."""
    return self @ other if self.ndim and other.ndim else None


def of_rows(self: Expression, other: Expression) -> Expression | None:
    """``self.mT @ other`` of matrices, or of what stands in the rows of tensors."""
    if not self.ndim or not other.ndim or 0 in (*self.shape, *other.shape):
        return None
    first, second = [e.algebra.reshaped(e, (math.prod(e.shape[:-1]), e.shape[-1])) for e in (self, other)]
    return first.mT @ second


def contracted(self: Expression, other: Expression, left: Any, right: Any, kept: Any) -> Expression | None:
    """A product summed over labels of dimensions: of numbers or matrices where it is one, else as ``einsum`` writes it."""
    left, right, kept = tuple(left), tuple(right), tuple(kept)
    if (made := matrix_product(self, other, left, right, kept)) is not None:
        return made
    labels = dict.fromkeys((*left, *right, *kept))
    letters = {label: chr(label) for label in labels if 0 < label < 128 and chr(label).isalpha()}
    free = iter([c for c in string.ascii_letters if c not in letters.values()])
    letters |= {label: next(free) for label in labels if label not in letters}
    words = ["".join([letters[label] for label in labels]) for labels in (left, right, kept)]
    sizes = dict(zip((*left, *right), (*self.shape, *other.shape)))
    shape = tuple([sizes[label] for label in kept])
    text = f"{words[0]},{words[1]}->{words[2]}"
    return self.algebra.call("einsum", (self, other), (("equation", text),), shape, self.dtype)


def matrix_product(self: Expression, other: Expression, left: Any, right: Any, kept: Any) -> Expression | None:
    """A product over labels of dimensions in the usual notation: with a number, or of vectors and matrices."""
    if (not left and right == kept) or (not right and left == kept):
        return self * other
    if left == right and not kept and len(set(left)) == len(left) > 1:
        return summed(self * other)
    shared = set(left) & set(right)
    if len(shared) != 1 or shared & set(kept) or not all([len(set(w)) == len(w) <= 2 for w in (left, right)]):
        return None
    (label,) = shared
    free = [tuple([one for one in labels if one != label]) for labels in (left, right)]
    if kept not in ((*free[0], *free[1]), (*free[1], *free[0])):
        return None
    first = self if left[-1] == label else self.mT
    second = other if right[0] == label else other.mT
    if kept == (*free[0], *free[1]):
        return first @ second
    return second.mT @ first.mT


def channel_total(self: Expression, channels: tuple[int, ...], size: tuple[int, ...]) -> Expression:
    """The sum for each channel, which is the second dimension of the shape *channels*."""
    total = summed(self.algebra.reshaped(self, channels), (0, 2)[: len(channels) - 1])
    return self.algebra.reshaped(total, size)


def channel_scaled(self: Expression, weight: Expression, channels: tuple[int, ...]) -> Expression:
    each = self.algebra.reshaped(weight, (channels[1], 1)[: len(channels) - 1])
    return self.algebra.reshaped(self.algebra.reshaped(self, channels) * each, self.shape)


def combined(self: Expression, first: Expression, second: Expression, beta: Any, alpha: Any) -> Expression:
    return beta * self + alpha * (first @ second)


def powered(self: Expression, exponent: Expression) -> Expression | None:
    """A power whose exponent, or base, is the same number everywhere."""
    if exponent.kind == "number":
        return self**exponent.number if self.floats else None
    if self.kind != "number" or not self.floats:
        return None
    return power_of_number(exponent.algebra.fitted(exponent, exponent.shape, self.dtype), self.number)


def power_of_number(exponent: Expression, self: Any) -> Expression:
    base = exponent.algebra.constant(self, (), exponent.dtype)
    return exponent.algebra.call("pow", (base, exponent), (), exponent.shape, exponent.dtype)


def sloped(grad: Expression, self: Expression, slope: Any) -> Expression:
    """The gradient, times a slope where *self* is not positive: times a slope of 0 an infinity is NaN."""
    positive = compared("gt", self, 0)
    if (slope.number if isinstance(slope, Expression) else slope) == 0:
        return grad * positive
    return where(positive, grad, slope * grad)


def silu_backward(grad: Expression, self: Expression) -> Expression:
    sigmoid = self.algebra.call("sigmoid", (self,), (), self.shape, self.dtype)
    return grad * sigmoid * (1 + self * (1 - sigmoid))


def softmax_backward(grad: Expression, output: Expression, dim: int) -> Expression:
    return output * (grad - summed(grad * output, dim, True)) if output.ndim else grad * 0


def log_softmax_backward(grad: Expression, output: Expression, dim: int) -> Expression:
    softmax = output.algebra.call("exp", (output,), (), output.shape, output.dtype)
    return grad - softmax * summed(grad, dim, True) if output.ndim else grad * 0


def softmax_bend(grad: Expression, other: Expression, output: Expression, dim: int) -> Expression:
    one, two = [summed(e * output, dim, True) if e.ndim else e * output for e in (grad, other)]
    return grad * other - grad * two - other * one


def softmax_turn(grad: Expression, other: Expression, output: Expression, dim: int) -> Expression:
    one, two = [summed(e, dim, True) if e.ndim else e for e in (other * output, grad * other)]
    return grad * other - grad * one - output * two


def log_softmax_tangent(grad: Expression, output: Expression, dim: int) -> Expression:
    softmax = output.algebra.call("exp", (output,), (), output.shape, output.dtype)
    return grad - summed(grad * softmax, dim, True) if output.ndim else grad * 0


def log_softmax_bend(grad: Expression, other: Expression, output: Expression, dim: int) -> Expression:
    softmax = output.algebra.call("exp", (output,), (), output.shape, output.dtype)
    return -grad * softmax * (summed(other, dim, True) if other.ndim else other)


def squared_error(self: Expression, target: Expression, reduction: int) -> Expression | None:
    square = (self - target) ** 2
    return square if reduction == 0 else averaged(square) if reduction == 1 else summed(square)


# -- readings ----------------------------------------------------------------------------------------------------------
def _same(self: Expression, **params: Any) -> Expression:
    return self


ARITHMETIC: dict[str, Reading] = {
    "add": lambda self, other: self + other,
    "add_scaled": lambda self, other, alpha: self + alpha * other,
    "sub": lambda self, other: self - other,
    "sub_scaled": lambda self, other, alpha: self - alpha * other,
    "rsub": lambda self, other: other - self,
    "rsub_number": lambda self, other: other - self,
    "mul": lambda self, other: self * other,
    "neg": lambda self: -self,
    "div": lambda self, other: self / other if self.floats or other.floats else None,
    "reciprocal": lambda self: 1 / self if self.floats else None,
    "addcmul": lambda self, tensor1, tensor2, value: (
        self * (1 + value * tensor2) if self is tensor1 else self + value * tensor1 * tensor2
    ),
    "addcdiv": lambda self, tensor1, tensor2, value: self + value * tensor1 / tensor2 if tensor1.floats else None,
    "lerp_number": lambda self, end, weight: self + weight * (end - self),
    "lerp": lambda self, end, weight: self + weight * (end - self),
    "pow_number": lambda self, exponent: self**exponent if self.floats else None,
    "pow": powered,
    "pow_of_number": power_of_number,
    "sqrt": lambda self: self**0.5 if self.floats else None,
    "rsqrt": lambda self: self**-0.5 if self.floats else None,
    "tanh_backward": lambda grad, output: grad * (1 - output**2),
    "sigmoid_backward": lambda grad, output: grad * output * (1 - output),
    "relu_backward": lambda grad, output: where(compared("gt", output, 0), grad, 0),
    "threshold_backward": lambda grad, self, threshold: where(compared("gt", self, threshold), grad, 0),
    "silu_backward": silu_backward,
    "leaky_relu_backward": lambda grad, self, negative_slope: sloped(grad, self, negative_slope),
    "prelu_backward": lambda grad, weight, self: sloped(grad, self, weight),
    "exp_difference": lambda self, other: (d := self - other).algebra.call("exp", (d,), (), d.shape, d.dtype),
    "softmax_backward": softmax_backward,
    "softmax_bend": softmax_bend,
    "softmax_turn": softmax_turn,
    "log_softmax_backward": log_softmax_backward,
    "log_softmax_tangent": log_softmax_tangent,
    "log_softmax_bend": log_softmax_bend,
    "mse_loss": squared_error,
}

SHAPES: dict[str, Reading] = {
    "alias": _same,
    "to": _same,  # what is left to do is to give it its dtype
    "clone": _same,
    "contiguous": _same,
    "ordered": _same,
    "scatter_prod_once": lambda self, index, src, dim: src,
    "scatter_prod_twice": lambda grad, self, index, src, dim: grad,
    "sum_all": summed,
    "sum": summed,
    "sum_to": sum_to,
    "mean_all": averaged,
    "mean": averaged,
    "expand": lambda self, size: self,  # what is left to do is to give it its shape
    "T": lambda self: permuted(self, tuple(range(self.ndim))[::-1]),
    "t": lambda self: permuted(self, tuple(range(self.ndim))[::-1]),
    "mT": lambda self: self.mT if self.ndim else self,
    "permute": lambda self, dims: permuted(self, tuple(dims)),
    "t_": lambda self: permuted(self, tuple(range(self.ndim))[::-1]),
    "transpose": transposed,
    "transpose_": transposed,
    "select_backward": selected_back,
    "bitwise_or": lambda self, other: either(self, other, True),
    "bitwise_and": lambda self, other: either(self, other, False),
    "bitwise_not": opposite,
    "keep": lambda self, mask: where(mask, self, 0),
    "where": lambda self, other, condition: where(condition, self, other),
}

PRODUCTS: dict[str, Reading] = {
    "mm": product,
    "bmm": product,
    "matmul": product,
    "folded_mm": product,
    "mv": product,
    "folded_mv": product,
    "vm": product,
    "mm_nt": lambda self, mat2: self @ mat2.mT,
    "folded_mm_nt": lambda self, mat2: self @ mat2.mT,
    "bmm_nt": lambda self, mat2: self @ mat2.mT,
    "mm_tn": of_rows,
    "bmm_tn": lambda self, mat2: self.mT @ mat2,
    "mv_t": lambda self, vec: self.mT @ vec if self.ndim == 2 else None,
    "rows_times": lambda self, vec: stretched(self, -1) * vec,
    "dot": product,
    "vdot": product,
    "linear": lambda self, weight, bias: self @ weight.mT + bias,
    "folded_linear": lambda self, weight, bias: self @ weight.mT + bias,
    "vector_linear": lambda self, weight: self @ weight.mT,
    "addmm": combined,
    "addmv": combined,
    "baddbmm": combined,
    "contract": contracted,
    "channel_total": channel_total,
    "channel_sum": lambda self: summed(self, (0, *range(2, self.ndim))),
    "channel_scaled": channel_scaled,
    "addr": lambda self, vec1, vec2, beta, alpha: beta * self + alpha * (stretched(vec1, -1) * vec2),
}

RESHAPES = frozenset(
    """view unsafe_view unsqueeze unsqueeze_dims squeeze squeeze_dim squeeze_dims unsqueeze_ squeeze_ squeeze_dim_
    squeeze_dims_""".split()
)
"""Rows that only say what shape the elements have."""

READINGS: dict[str, Reading] = {
    **ARITHMETIC,
    **SHAPES,
    **PRODUCTS,
    **{name: functools.partial(compared, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}


def read(row: Any, args: tuple[Expression, ...], params: dict[str, Any], shape: Any, dtype: Any) -> Expression | None:
    """The expression of a call of a row with one result; None where it is just that call."""
    if row.name in RESHAPES:
        made: Expression | None = args[0].algebra.reshaped(args[0], shape)
    elif (reading := READINGS.get(row.name)) is not None and dtype is not None:
        made = reading(*promoted(args, dtype), **params)
    else:
        made = None
    return None if made is None else made.algebra.fitted(made, shape, dtype)
