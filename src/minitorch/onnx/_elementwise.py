"""Forms of elementwise rows that are more than one node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._builder import INT64, Builder, CannotExport, Value
from ._table import form


# -- arithmetic --------------------------------------------------------------------------------------------------------
def _of_bools(row: str, of_bools: str, op: str) -> None:
    @form(row)
    def operation(g: Builder, self: Value, other: Value) -> Value:
        return g(of_bools if self.dtype == bool else op, self, other)


_of_bools("add", "Or", "Add")
_of_bools("mul", "And", "Mul")


@form("rsub")
def rsub(g: Builder, self: Value, other: Value) -> Value:
    return g("Sub", other, self)


@form("rsub_number")
def rsub_number(g: Builder, self: Value, other: Any) -> Value:
    return g("Sub", g.number(other, self), self)


@form("add_scaled")
def add_scaled(g: Builder, self: Value, other: Value, alpha: Any) -> Value:
    return g("Add", self, g("Mul", other, g.number(alpha, other)))


@form("sub_scaled")
def sub_scaled(g: Builder, self: Value, other: Value, alpha: Any) -> Value:
    return g("Sub", self, g("Mul", other, g.number(alpha, other)))


def _extreme(op: str, *names: str) -> None:
    @form(*names)
    def extreme(g: Builder, *inputs: Value) -> Value:
        return g.extreme(op, *inputs)


_extreme("Max", "maximum", "clamp_min_tensor", "clamp_low")
_extreme("Min", "minimum", "clamp_max_tensor", "clamp_high")


@form("sign", "sgn")
def sign(g: Builder, self: Value) -> Value:
    """Zero for what is no number."""
    found = g("Sign", self)
    return found if self.dtype.kind != "f" else g("Where", g("IsNaN", self), g.constant(0, self.dtype), found)


_MOST = 64
"""The exponent up to which powers of integers are products, which are exact."""


@form("pow_number")
def pow_number(g: Builder, self: Value, exponent: Any) -> Value:
    if exponent == 2:
        return g("Mul", self, self)
    if exponent == 0.5:
        return g("Sqrt", self)
    (_, dtype) = g.results[0]
    if dtype.kind in "iu" and 0 < exponent <= _MOST:
        return _product(g, g.cast(self, dtype), int(exponent))
    return g("Pow", g.cast(self, dtype), g.number(exponent, dtype))


@form("pow_of_number")
def pow_of_number(g: Builder, exponent: Value, self: Any) -> Value:
    (_, dtype) = g.results[0]
    return g("Pow", g.number(self, dtype), g.cast(exponent, dtype))


@form("rsqrt")
def rsqrt(g: Builder, self: Value) -> Value:
    return g("Reciprocal", g("Sqrt", self))


def _product(g: Builder, value: Value, count: int) -> Value:
    """A value times itself."""
    if count == 1:
        return value
    half = _product(g, value, count // 2)
    whole = g("Mul", half, half)
    return g("Mul", whole, value) if count % 2 else whole


@form("floor_divide", "div_floor")
def div_floor(g: Builder, self: Value, other: Value) -> Value:
    """Of floats, what is left over is taken away first, as it need not be where a quotient is rounded: ``1 // 0.1`` is 9; by
    infinity of the other sign, it is -1.  Of integers, ONNX's Div rounds towards zero, which is one too much where the two
    remainders differ."""
    quotient = g("Div", self, other)
    if self.dtype.kind == "f":
        whole = g("Round", g("Div", g("Sub", self, remainder(g, self, other)), other))
        infinite = g("IsInf", other)
        below = g("And", infinite, _of_other_signs(g, self, other))
        quotient = g("Sub", quotient, g.cast(below, self.dtype))
        plain = g("Or", g("Equal", other, g.constant(0, self.dtype)), infinite)
        return g("Where", plain, quotient, whole)
    if self.dtype.kind == "u":
        return quotient
    above = g("Not", g("Equal", g("Mod", self, other), g("Mod", self, other, fmod=1)))
    return g("Sub", quotient, g.cast(above, self.dtype))


@form("div_trunc")
def div_trunc(g: Builder, self: Value, other: Value) -> Value:
    quotient = g("Div", self, other)
    return quotient if self.dtype.kind != "f" else _truncated(g, quotient)


def _of_other_signs(g: Builder, self: Value, other: Value) -> Value:
    """Whether one is positive and one negative."""
    return g("Less", g("Mul", g("Sign", self), g("Sign", other)), g.constant(0, self.dtype))


def _truncated(g: Builder, value: Value) -> Value:
    return g("Mul", g("Sign", value), g("Floor", g("Abs", value)))


def _whole(name: str, op: Any) -> None:
    @form(name)
    def whole(g: Builder, self: Value) -> Value:
        """Integers are whole."""
        return op(g, self) if self.dtype.kind == "f" else g("Identity", self)


_whole("trunc", _truncated)
_whole("ceil", lambda g, self: g("Ceil", self))
_whole("floor", lambda g, self: g("Floor", self))
_whole("round", lambda g, self: g("Round", self))


@form("frac")
def frac(g: Builder, self: Value) -> Value:
    return g("Sub", self, _truncated(g, self))


@form("remainder")
def remainder(g: Builder, self: Value, other: Value) -> Value:
    if self.dtype.kind != "f":
        return g("Mod", self, other)
    rest = g("Mod", self, other, fmod=1)
    return g("Where", _of_other_signs(g, rest, other), g("Add", rest, other), rest)


@form("remainder_number")
def remainder_number(g: Builder, self: Value, other: Any) -> Value:
    return remainder(g, self, g.number(other, self))


@form("fmod")
def fmod(g: Builder, self: Value, other: Value) -> Value:
    return g("Mod", self, other, fmod=1)


@form("fmod_number")
def fmod_number(g: Builder, self: Value, other: Any) -> Value:
    return g("Mod", self, g.number(other, self), fmod=1)


def _numbers(name: str, op: str) -> None:
    @form(name)
    def of_numbers(g: Builder, self: Value, other: Value) -> Value:
        """What is no number does not count."""
        if self.dtype.kind != "f":
            return g.extreme(op, self, other)
        rest = g("Where", g("IsNaN", other), self, g(op, self, other))
        return g("Where", g("IsNaN", self), other, rest)


_numbers("fmax", "Max")
_numbers("fmin", "Min")


@form("exp2")
def exp2(g: Builder, self: Value) -> Value:
    return g("Pow", g.constant(2, self.dtype), self)


@form("expm1")
def expm1(g: Builder, self: Value) -> Value:
    """``tanh(x / 2) * (exp(x) + 1)``, in which nothing small is taken from 1."""
    return g("Mul", g("Tanh", g.binary("Mul", self, 0.5)), g.binary("Add", g("Exp", self), 1))


@form("log1p")
def log1p(g: Builder, self: Value) -> Value:
    """Near 0 by way of ``2 * atanh(x / (x + 2))``, in which nothing small is added to 1."""
    near = g.binary("Mul", g("Atanh", g("Div", self, g.binary("Add", self, 2))), 2)
    small = g("Less", g("Abs", self), g.constant(0.5, self.dtype))
    return g("Where", small, near, g("Log", g.binary("Add", self, 1)))


@form("log2")
def log2(g: Builder, self: Value) -> Value:
    return g.binary("Div", g("Log", self), np.log(2))


@form("log10")
def log10(g: Builder, self: Value) -> Value:
    return g.binary("Div", g("Log", self), np.log(10))


@form("deg2rad")
def deg2rad(g: Builder, self: Value) -> Value:
    return g.binary("Mul", self, np.pi / 180)


@form("rad2deg")
def rad2deg(g: Builder, self: Value) -> Value:
    return g.binary("Mul", self, 180 / np.pi)


@form("erfc")
def erfc(g: Builder, self: Value) -> Value:
    return g("Sub", g.constant(1, self.dtype), g("Erf", self))


# -- comparisons, dtypes, choices --------------------------------------------------------------------------------------
def _order(name: str, op: str) -> None:
    @form(name)
    def compared(g: Builder, self: Value, other: Value) -> Value:
        return g(op, self, other)


_order("lt", "Less")
_order("le", "LessOrEqual")
_order("gt", "Greater")
_order("ge", "GreaterOrEqual")


@form("ne")
def ne(g: Builder, self: Value, other: Value) -> Value:
    return g("Not", g("Equal", self, other))


@form("isfinite")
def isfinite(g: Builder, self: Value) -> Value:
    return g("Not", g("Or", g("IsNaN", self), g("IsInf", self)))


@form("isposinf")
def isposinf(g: Builder, self: Value) -> Value:
    return g("IsInf", self, detect_negative=0)


@form("isneginf")
def isneginf(g: Builder, self: Value) -> Value:
    return g("IsInf", self, detect_positive=0)


@form("signbit")
def signbit(g: Builder, self: Value) -> Value:
    """One over a negative zero is below zero."""
    below = g("Less", self, g.constant(0, self.dtype))
    if self.dtype.kind != "f":
        return below
    return g("Or", below, g("Less", g("Reciprocal", self), g.constant(0, self.dtype)))


@form("bitwise_not")
def bitwise_not(g: Builder, self: Value) -> Value:
    return g("Not" if self.dtype == bool else "BitwiseNot", self)


_of_bools("bitwise_and", "And", "BitwiseAnd")
_of_bools("bitwise_or", "Or", "BitwiseOr")
_of_bools("bitwise_xor", "Xor", "BitwiseXor")


@form("bitwise_left_shift")
def left_shift(g: Builder, self: Value, other: Value) -> Value:
    return _shifted(g, self, other, "LEFT")


@form("bitwise_right_shift")
def right_shift(g: Builder, self: Value, other: Value) -> Value:
    """A negative integer is shifted as the one that has its bits the other way round; by too much, all bits are its sign's."""
    if self.dtype.kind == "u":
        return _shifted(g, self, other, "RIGHT")
    below = g("Less", self, g.constant(0, self.dtype))
    found = _shifted(g, g("Where", below, g("BitwiseNot", self), self), other, "RIGHT")
    return g("Where", below, g("BitwiseNot", found), found)


def _shifted(g: Builder, self: Value, other: Value, direction: str) -> Value:
    """Bits shifted in 64 of them; all are gone where the distance is negative, or as many as the dtype has."""
    bits = [g.cast(g.cast(v, INT64), np.uint64) for v in (self, other)]
    found = g.cast(g.cast(g("BitShift", *bits, direction=direction), INT64), self.dtype)
    far = g(
        "Or",
        *[
            g(op, other, g.constant(n, other.dtype))
            for op, n in (("Less", 0), ("GreaterOrEqual", self.dtype.itemsize * 8))
        ],
    )
    return g("Where", far, g.constant(0, self.dtype), found)


@form("to")
def to(g: Builder, self: Value) -> Value:
    """The dtype of the result is given to every result."""
    return g("Identity", self)


@form("copy")
def copy(g: Builder, src: Value) -> Value:
    (shape, _) = g.results[0]
    return g.expand(src, shape)


@form("where")
def where(g: Builder, condition: Value, self: Value, other: Value) -> Value:
    return g("Where", condition, self, other)


@form("keep")
def keep(g: Builder, self: Value, mask: Value) -> Value:
    return g("Where", g.cast(mask, bool), self, g.constant(0, self.dtype))


@form("masked_fill")
def masked_fill(g: Builder, self: Value, mask: Value, value: Any) -> Value:
    return g("Where", mask, g.number(value, self), self)


@form("masked_fill_tensor")
def masked_fill_tensor(g: Builder, self: Value, value: Value, mask: Value) -> Value:
    return g("Where", mask, value, self)


def _bound(g: Builder, self: Value, op: str, bound: Any) -> Value:
    """The larger or smaller of a value and a number."""
    if bound is None:
        return self
    if not isinstance(bound, (int, float)):
        return g.extreme(op, self, g.number(bound, self))
    if self.dtype.kind != "f" and isinstance(bound, float) and not bound.is_integer():
        raise CannotExport(f"integers are bounded by {bound}, which is none: give an integer")
    number = np.asarray(bound)  # a negative one of integers without a sign is counted from their end, as here
    return g.extreme(op, self, g.constant(number.astype(self.dtype)))


@form("clamp")
def clamp(g: Builder, self: Value, min: Any, max: Any) -> Value:
    return _bound(g, _bound(g, self, "Max", min), "Min", max)


@form("clamp_min")
def clamp_min(g: Builder, self: Value, min: Any) -> Value:
    return _bound(g, self, "Max", min)


@form("clamp_max")
def clamp_max(g: Builder, self: Value, max: Any) -> Value:
    return _bound(g, self, "Min", max)


@form("clamp_tensors")
def clamp_tensors(g: Builder, self: Value, min: Value, max: Value) -> Value:
    return g.extreme("Min", g.extreme("Max", self, min), max)


@form("fill", "fill_", "fill_tensor", "fill_tensor_")
def fill(g: Builder, value: Any) -> Value:
    ((shape, dtype),) = g.results
    return g.expand(g.number(value, dtype), shape)


@form("zero_")
def zero(g: Builder) -> Value:
    ((shape, dtype),) = g.results
    return g.expand(g.constant(0, dtype), shape)


@form("zeros_of")
def zeros_of(g: Builder, src: Value) -> Value:
    """Where there are zeros, in the dtype of the result, which every result is given."""
    return g("Equal", src, g.constant(0, src.dtype))


# -- activations -------------------------------------------------------------------------------------------------------
@form("relu")
def relu(g: Builder, self: Value) -> Value:
    return g("Relu", self) if self.dtype.kind == "f" else g.extreme("Max", self, g.constant(0, self.dtype))


@form("hardtanh")
def hardtanh(g: Builder, self: Value, min_val: Any, max_val: Any) -> Value:
    return g("Clip", self, g.number(min_val, self), g.number(max_val, self))


@form("hardsigmoid")
def hardsigmoid(g: Builder, self: Value) -> Value:
    return g("HardSigmoid", self, alpha=1 / 6, beta=0.5)


@form("leaky_relu")
def leaky_relu(g: Builder, self: Value, negative_slope: float) -> Value:
    return g("LeakyRelu", self, alpha=negative_slope)


@form("prelu")
def prelu(g: Builder, self: Value, weight: Value) -> Value:
    return g("PRelu", self, weight)


@form("elu", "celu")
def elu(g: Builder, self: Value, alpha: float, scale: float, input_scale: float) -> Value:
    """``scale * x``, and below zero ``scale * alpha * (exp(input_scale * x) - 1)``."""
    if scale == 1 and input_scale == 1:
        return g("Elu", self, alpha=alpha)
    if input_scale == 1:
        return g("Selu", self, alpha=alpha, gamma=scale)
    below = g("Elu", g.binary("Mul", self, input_scale), alpha=alpha * scale)
    positive = g("Greater", self, g.constant(0, self.dtype))
    return g("Where", positive, g.binary("Mul", self, scale), below)


@form("gelu")
def gelu(g: Builder, self: Value, approximate: str) -> Value:
    return g("Gelu", self, approximate=approximate)


@form("silu")
def silu(g: Builder, self: Value) -> Value:
    return g("Mul", self, g("Sigmoid", self))


@form("softplus")
def softplus(g: Builder, self: Value, beta: float, threshold: float) -> Value:
    """``log(1 + exp(beta * x)) / beta``, and the value itself where ``beta * x`` is above the threshold."""
    scaled = self if beta == 1 else g.binary("Mul", self, beta)
    soft = g("Softplus", scaled)
    soft = soft if beta == 1 else g.binary("Div", soft, beta)
    return g("Where", g("Greater", scaled, g.constant(threshold, self.dtype)), self, soft)


@form("logsigmoid")
def logsigmoid(g: Builder, self: Value) -> Value:
    return g("Neg", g("Softplus", g("Neg", self)))


@form("softshrink")
def softshrink(g: Builder, self: Value, lambd: float) -> Value:
    return _shrunk(g, self, lambd, lambd)


@form("hardshrink")
def hardshrink(g: Builder, self: Value, lambd: float) -> Value:
    return _shrunk(g, self, 0.0, lambd)


def _shrunk(g: Builder, value: Value, bias: float, lambd: float) -> Value:
    """What is no number stays so."""
    return g("Where", g("IsNaN", value), value, g("Shrink", value, bias=bias, lambd=lambd))


@form("threshold")
def threshold(g: Builder, self: Value, threshold: float, value: float) -> Value:
    below = g("LessOrEqual", self, g.constant(threshold, self.dtype))
    return g("Where", below, g.constant(value, self.dtype), self)


@form("glu")
def glu(g: Builder, self: Value, dim: int) -> Value:
    value, gate = g("Split", self, outputs=2, axis=dim, num_outputs=2)
    return g("Mul", value, g("Sigmoid", gate))


# -- choices -----------------------------------------------------------------------------------------------------------
@form("indices counted from the end")
def counted_from_end(g: Builder, self: Value, size: Any) -> Value:
    return g("Mod", self, g.number(size, INT64))


@form("one_hot")
def one_hot(g: Builder, self: Value, num_classes: Any) -> Value:
    ((shape, dtype),) = g.results
    return g("OneHot", self, g.scalar(shape[-1]), g.constant([0, 1], dtype), dtype=dtype)


@form("one_hot without num_classes")
def one_hot_of_all(g: Builder, self: Value) -> Value:
    ((_, dtype),) = g.results
    return g(
        "OneHot", self, g.binary("Add", g("ReduceMax", self, keepdims=0), 1), g.constant([0, 1], dtype), dtype=dtype
    )


@form("mask to be added")
def additive(g: Builder, self: Value, hides: bool, dtype: Any) -> Value:
    shown, hidden = g.constant(0, dtype), g.constant(-np.inf, dtype)
    return g("Where", self, hidden, shown) if hides else g("Where", self, shown, hidden)


@form("classes")
def classes(
    g: Builder, target: Value, weight: Value | None, single: bool, ignore_index: int, dtype: Any
) -> tuple[Value, ...]:
    """The targets with 0 for those ignored, which are not, their weights, and the sum of these over those kept."""
    ((shape, _), *_) = g.results
    target = g.cast(g.reshape(target, shape), INT64)
    ignored = g("Equal", target, g.scalar(ignore_index))
    known, kept = g("Where", ignored, g.scalar(0), target), g("Not", ignored)
    weights = g.expand(g.constant(1, dtype), shape) if weight is None else g("Gather", weight, known, axis=0)
    total = g("ReduceSum", g("Where", kept, weights, g.constant(0, weights.dtype)), keepdims=0)
    return known, kept, weights, total


@form("classes that are ignored")
def ignored_classes(
    g: Builder, target: Value, weight: Value | None, single: bool, ignore_index: int, dtype: Any
) -> tuple[Value, Value]:
    _, kept, _, total = classes(g, target, weight, single, ignore_index, dtype)
    return g("Not", kept), g.cast(total, dtype)


@form("the classes that are not the target")
def other_classes(g: Builder, target: Value, weight: Value | None, shape: Any, dtype: Any) -> Value:
    """What each class counts: 0 for the target, otherwise the target's weight."""
    places = g.reshape(g.cast(target, INT64), (-1, 1))
    counts = g.constant(1, dtype) if weight is None else g("Gather", weight, places, axis=0)
    own = g("Equal", g("Range", g.scalar(0), g.scalar(shape[1]), g.scalar(1)), places)
    return g("Where", own, g.constant(0, dtype), counts)


@form("labels")
def labels(g: Builder, target: Value, shape: Any, dtype: Any) -> tuple[Value, Value]:
    """Those before the first that is negative; and 1 for each pair of one and a class that is none."""
    target = g.reshape(g.cast(target, INT64), shape)
    ended = g("CumSum", g.cast(g("Less", target, g.scalar(0)), INT64), g.scalar(1))
    given = g("Equal", ended, g.scalar(0))
    each, classes = g("Unsqueeze", given, g.ints([2])), g("Range", g.scalar(0), g.scalar(shape[1]), g.scalar(1))
    found = g("And", each, g("Equal", g("Unsqueeze", target, g.ints([2])), classes))
    labelled = g("ReduceMax", g.cast(found, np.int32), g.ints([1]), keepdims=1)
    counted = g("And", each, g("Equal", labelled, g.constant(0, np.int32)))
    return g("Where", given, target, g.scalar(0)), g.cast(counted, dtype)


@form("what is lacking of eps")
def lacking_of_eps(g: Builder, self: Value, eps: float) -> Value:
    return g("Max", g("Sub", g.constant(eps, self.dtype), self), g.constant(0, self.dtype))


@form("isclose")
def isclose(g: Builder, a: Value, b: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    if a.dtype.kind != "f":
        a, b = g.cast(a, np.float64), g.cast(b, np.float64)
    same = g("Equal", a, b)
    if equal_nan:
        same = g("Or", same, g("And", g("IsNaN", a), g("IsNaN", b)))
    room = g.binary("Add", g.binary("Mul", g("Abs", b), rtol), atol)
    difference = g("Abs", g("Sub", a, b))
    near = g("And", g("LessOrEqual", difference, room), g("Not", g("IsInf", difference)))
    return g("Or", same, near)
