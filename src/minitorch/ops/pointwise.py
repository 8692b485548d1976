"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, number, text
from .._errors import scalar_name
from .._layouts import settle
from .._op import documents, op, rows
from .._types import Number
from .copies import as_operand, filler, no_gradient

if TYPE_CHECKING:
    from .._tensor import Tensor


def unsupported(name: str, array: np.ndarray) -> NotImplementedError:
    """The error of a function that has no kernel for this dtype."""
    return NotImplementedError(f'"{name}" not implemented for {scalar_name(array.dtype)!r}; convert the input first')


# -- sums and products -------------------------------------------------------------------------------------------------
_BOOL = "Subtraction, the `-` operator, with a bool tensor is not supported; use `~` or logical_not for a mask"


def numeric(first: Tensor, second: Tensor) -> Any:
    """``settle`` for a subtraction, which refuses bools."""
    if "b" in (first._array.dtype.kind, second._array.dtype.kind):
        raise RuntimeError(_BOOL)
    return settle(first, second)


def number_but_bool(value: Any, like: Tensor) -> Any:
    """``operand`` for a subtraction, which refuses bools."""
    if value.__class__ is bool:
        raise RuntimeError(_BOOL)
    return _runtime.operand(value, like)


def _scaled(name: str) -> Callable[..., Any]:
    """What ``add`` and ``sub`` do where alpha is not 1."""

    def scaled(input: Tensor, other: Any, alpha: Number, out: Tensor | None = None) -> Tensor:
        if not isinstance(alpha, (int, float)):
            alpha = number(alpha, "alpha", name)
        if not isinstance(input, _runtime.Tensor):
            input = as_operand(input, other, name)
        elif name == "sub":
            number_but_bool(other, input)
        other = as_operand(other, input, name)
        if name == "sub":
            numeric(input, other)
        check_alpha(alpha, input._array, other._array)
        return rows[f"{name}_scaled"].call(input, other, alpha, out=out)

    return scaled


def check_alpha(alpha: Number, *arrays: np.ndarray) -> None:
    """Refuse a factor of a higher category than the tensors, and a bool for numbers."""
    kinds = [array.dtype.kind for array in arrays]
    if isinstance(alpha, float) and "f" not in kinds:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, bool) and kinds != ["b"] * len(kinds):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")


def scaled_by(other: np.ndarray, alpha: Number) -> np.ndarray:
    """``alpha * other``, in the dtype of *other*."""
    return np.multiply(other, alpha if other.dtype.kind == "f" else filler(alpha, other.dtype), out=...)


def _add_scaled_kernel(self: np.ndarray, other: np.ndarray, *, alpha: Number) -> np.ndarray:
    if self.dtype.kind == "b":
        return np.logical_or(self, np.logical_and(other, alpha), out=...)
    return np.add(self, scaled_by(other, alpha), out=...)


def _sub_scaled_kernel(self: np.ndarray, other: np.ndarray, *, alpha: Number) -> np.ndarray:
    return np.subtract(self, scaled_by(other, alpha), out=...)


_add = op("add", "AddBackward0", np.add, ("self", "other"), numbers="either", rarely={"alpha": (1, _scaled("add"))},
          shows={"alpha": lambda node: 1}, tangent="linear",
          self=lambda F, g: g,
          other=lambda F, g: g)  # fmt: skip
op("add_scaled", "AddBackward0", _add_scaled_kernel, ("self", "other"), elementwise=True,
   self=lambda F, g: g,
   other=lambda F, g, alpha: g * alpha)  # fmt: skip

_sub = op("sub", "SubBackward0", np.subtract, ("self", "other"), rarely={"alpha": (1, _scaled("sub"))},
          numbers="either", instead={"settle": numeric, "operand": number_but_bool}, shows={"alpha": lambda node: 1},
          tangent="linear",
          self=lambda F, g: g,
          other=lambda F, g: -g)  # fmt: skip
op("sub_scaled", "SubBackward0", _sub_scaled_kernel, ("self", "other"), elementwise=True,
   self=lambda F, g: g,
   other=lambda F, g, alpha: g * -alpha)  # fmt: skip

_mul = op("mul", "MulBackward0", np.multiply, ("self", "other"), numbers="either",
          self=lambda F, g, other: g * other,
          other=lambda F, g, self: g * self)  # fmt: skip

_neg = op("neg", "NegBackward0", np.negative, ("self",), casts=False, self=lambda F, g: -g)


def _rsub_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.subtract(other, self, out=...)


_rsub = op("rsub", "RsubBackward0", _rsub_kernel, ("self", "other"), elementwise=True, instead={"settle": numeric},
           self=lambda F, g: -g,
           other=lambda F, g: g)  # fmt: skip
_rsub_number = op("rsub_number", "RsubBackward1", _rsub_kernel, ("self", "other"), elementwise=True,
                  self=lambda F, g: -g)  # fmt: skip


@documents(_add)
def add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """The sum ``input + alpha * other``, elementwise; operands broadcast and are promoted.

    Raises
    ------
    RuntimeError
        If the shapes do not broadcast, or *alpha* is a float and the tensors are of integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """


@documents(_sub)
def sub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """The difference ``input - alpha * other``, elementwise; bool tensors are refused.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 3)
    tensor([-2., -1.])
    """


def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """The difference the other way round: ``other - alpha * input``.

    Examples
    --------
    >>> import minitorch as torch
    >>> 10 - torch.tensor([1.0, 2.0])
    tensor([9., 8.])
    """
    array = array_of("rsub", input)
    if array.dtype.kind == "b" or other.__class__ is bool:
        raise RuntimeError(_BOOL)
    if alpha != 1:
        check_alpha(alpha, array, as_operand(other, input, "rsub")._array)
        input = mul(input, alpha)
    return _rsub(input, other) if isinstance(other, _runtime.Tensor) else _rsub_number(input, other)


@documents(_mul)
def mul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The product, elementwise; operands broadcast and are promoted.

    Parameters
    ----------
    input : Tensor
        Any shape.
    other : Tensor or number
        A shape that broadcasts with *input*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """


@documents(_neg)
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative, elementwise; RuntimeError for bools.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.neg(torch.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """


def positive(input: Tensor) -> Tensor:
    """The input itself; RuntimeError for bools.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0])
    >>> torch.positive(x) is x
    True
    """
    if array_of("positive", input).dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# -- division ----------------------------------------------------------------------------------------------------------
def checked(name: str, self: np.ndarray, other: np.ndarray) -> None:
    """Refuse to divide bools, and integers by zero."""
    if self.dtype.kind != "f" and other.dtype.kind != "f":
        if self.dtype.kind == "b":
            raise unsupported(name, self)
        if self.size and not np.all(other):
            raise RuntimeError("ZeroDivisionError: integers cannot be divided by zero")


def _div_floor_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    checked("div_floor", self, other)
    return np.floor_divide(self, other, out=...)


def _div_trunc_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    checked("div_trunc", self, other)
    if self.dtype.kind == "f":
        return np.trunc(np.divide(self, other), out=...)
    quotient = np.floor_divide(self, other, out=...)
    below = np.not_equal(quotient * other, self) & (np.less(self, 0) != np.less(other, 0))
    return np.add(quotient, below, out=..., dtype=quotient.dtype, casting="unsafe")


def _remainder_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    checked("remainder", self, other)
    return np.remainder(self, other, out=...)


def _fmod_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    checked("fmod", self, other)
    return np.fmod(self, other, out=...)


def _rounded(input: Tensor, other: Tensor | Number, rounding_mode: str, out: Tensor | None = None) -> Tensor:
    """``div`` with a rounding mode."""
    if text(rounding_mode, "rounding_mode") not in ("trunc", "floor"):
        expected = "one of None, 'trunc', or 'floor'"
        raise RuntimeError(f"div expected rounding_mode to be {expected} but found {rounding_mode!r}")
    if not isinstance(input, _runtime.Tensor):
        input = as_operand(input, other, "div")
    return (_div_floor if rounding_mode == "floor" else _div_trunc)(input, other, out=out)


def _no_tangent(F: Any, t: Any) -> Any:
    raise NotImplementedError(
        "Trying to use forward AD with aten::floor_divide that does not support it; use div(..., rounding_mode='floor')"
    )


def _no_derivative(F: Any, g: Any) -> Any:
    raise RuntimeError("derivative for aten::floor_divide is not implemented; use div(..., rounding_mode='floor')")


_div = op("div", "DivBackward0", np.divide, ("self", "other"), floats=True, numbers="either",
          rarely={"rounding_mode": (None, _rounded)},
          self=lambda F, g, other: g / other,
          other=lambda F, g, self, other: -g * ((self / other) / other))  # fmt: skip
_reciprocal = op("reciprocal", "ReciprocalBackward0", np.reciprocal, ("self",), floats=True,
                 self=lambda F, g, result: -g * (result * result))  # fmt: skip
_div_floor = op("div_floor", "DivBackward2", _div_floor_kernel, ("self", "other"), elementwise=True,
                self=no_gradient, other=no_gradient)  # fmt: skip
_div_trunc = op("div_trunc", "DivBackward2", _div_trunc_kernel, ("self", "other"), elementwise=True,
                self=no_gradient, other=no_gradient)  # fmt: skip
_floor_divide = op("floor_divide", "NotImplemented", _div_floor_kernel, ("self", "other"), elementwise=True,
                   tangent={"self": _no_tangent, "other": _no_tangent},
                   self=_no_derivative, other=_no_derivative)  # fmt: skip

_remainder = op("remainder", "RemainderBackward1", _remainder_kernel, ("self", "other"), elementwise=True,
                self=lambda F, g: g,
                other=lambda F, g, self, other: -g * F.div_floor(self, other))  # fmt: skip
_remainder_number = op("remainder_number", "RemainderBackward0", _remainder_kernel, ("self", "other"), elementwise=True,
                       self=lambda F, g: g)  # fmt: skip
_fmod = op("fmod", "FmodBackward1", _fmod_kernel, ("self", "other"), elementwise=True,
           self=lambda F, g: g,
           other=lambda F, g, self, other: -g * F.div_trunc(self, other))  # fmt: skip
_fmod_number = op("fmod_number", "FmodBackward0", _fmod_kernel, ("self", "other"), elementwise=True,
                  self=lambda F, g: g)  # fmt: skip


@documents(_div)
def div(
    input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """The quotient, elementwise; integers are divided as floats, unless they are rounded.

    Parameters
    ----------
    input : Tensor
        Any shape.
    other : Tensor or number
        A shape that broadcasts with *input*.
    rounding_mode : {"trunc", "floor"}, optional
        Round the quotient towards zero or down, and keep integers integers.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If the shapes do not broadcast, or integers are divided by zero with rounding.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.div(torch.tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """


@documents(_reciprocal)
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``, elementwise; integers give the default float dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.reciprocal(torch.tensor([2, 4]))
    tensor([0.5000, 0.2500])
    """


def reflected_div(input: Tensor, other: Number) -> Tensor:
    """``other / input``, as PyTorch computes it: the reciprocal, multiplied."""
    return mul(reciprocal(input), other)


def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down, elementwise; it has no derivative.

    Raises
    ------
    RuntimeError
        If integers are divided by zero; in backward, always: use ``div(..., rounding_mode="floor")``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.floor_divide(torch.tensor([7.0, -7.0]), 2)
    tensor([ 3., -4.])
    """
    if not isinstance(input, _runtime.Tensor):
        input = as_operand(input, other, "floor_divide")
    return _floor_divide(input, other, out=out)


def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded down: of *other*'s sign, as Python's ``%``.

    Raises
    ------
    RuntimeError
        If integers are divided by zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.remainder(torch.tensor([7.0, -7.0]), 4)
    tensor([3., 1.])
    """
    if not isinstance(input, _runtime.Tensor) and out is None:
        input = as_operand(input, other, "remainder")
    elif not isinstance(other, _runtime.Tensor):
        return _remainder_number(input, other, out=out)
    return _remainder(input, other, out=out)


def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded towards zero: of *input*'s sign, as C's ``fmod``.

    Raises
    ------
    RuntimeError
        If integers are divided by zero.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.fmod(torch.tensor([7.0, -7.0]), 4)
    tensor([ 3., -3.])
    """
    if isinstance(other, _runtime.Tensor):
        return _fmod(input, other, out=out)
    return _fmod_number(input, other, out=out)


def operator_remainder(input: Tensor, other: Any) -> Any:
    """``input % other``: NotImplemented for operands that are neither tensors nor numbers."""
    return rows["remainder" if isinstance(other, _runtime.Tensor) else "remainder_number"].operator(input, other)


def reflected_floor_divide(input: Tensor, other: Number) -> Tensor:
    """``other // input``."""
    return floor_divide(other, input)


def reflected_remainder(input: Tensor, other: Number) -> Tensor:
    """``other % input``."""
    return remainder(other, input)


# -- several at once ---------------------------------------------------------------------------------------------------
def _lerp_kernel(self: np.ndarray, end: np.ndarray, weight: Any) -> np.ndarray:
    """Exact at both ends: from the nearer one."""
    difference = end - self
    return np.where(np.less(np.abs(weight), 0.5), self + weight * difference, end - difference * (1 - weight))


def _lerp_number_kernel(self: np.ndarray, end: np.ndarray, *, weight: float) -> np.ndarray:
    difference = np.subtract(end, self, out=...)
    if abs(weight) < 0.5:
        return np.add(self, np.multiply(difference, weight, out=...), out=...)
    return np.subtract(end, np.multiply(difference, 1 - weight, out=...), out=...)


_lerp_number = op("lerp_number", "LerpBackward0", _lerp_number_kernel, ("self", "end"), elementwise=True, numbers=False,
                  self=lambda F, g, weight: g * (1 - weight),
                  end=lambda F, g, weight: g * weight)  # fmt: skip
_lerp = op("lerp", "LerpBackward1", _lerp_kernel, ("self", "end", "weight"), elementwise=True, numbers=False,
           self=lambda F, g, weight: g * (1 - weight),
           end=lambda F, g, weight: g * weight,
           weight=lambda F, g, self, end: g * (end - self))  # fmt: skip


def _addcmul_kernel(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, *, value: Number = 1) -> np.ndarray:
    if self.dtype.kind == "b":
        raise unsupported("addcmul", self)
    return np.add(self, np.multiply(scaled_by(tensor1, value), tensor2, out=...), out=...)


def _addcdiv_kernel(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, *, value: Number = 1) -> np.ndarray:
    return np.add(self, np.divide(np.multiply(tensor1, value, out=...), tensor2, out=...), out=...)


_addcmul = op("addcmul", "AddcmulBackward0", _addcmul_kernel, ("self", "tensor1", "tensor2"), elementwise=True, numbers=False,
              self=lambda F, g: g,
              tensor1=lambda F, g, tensor2, value: g * (tensor2 * value),
              tensor2=lambda F, g, tensor1, value: g * (tensor1 * value))  # fmt: skip
_addcdiv = op("addcdiv", "AddcdivBackward0", _addcdiv_kernel, ("self", "tensor1", "tensor2"), elementwise=True, numbers=False,
              self=lambda F, g: g,
              tensor1=lambda F, g, tensor2, value: g * (value / tensor2),
              tensor2=lambda F, g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)))  # fmt: skip


def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Linear interpolation: ``input + weight * (end - input)``.

    Parameters
    ----------
    input, end : Tensor
        Of one float dtype; shapes that broadcast.
    weight : Tensor or number
        0 gives *input*, 1 gives *end*; a tensor of the same dtype, or 0-d.

    Raises
    ------
    RuntimeError
        If the dtypes differ.
    NotImplementedError
        For integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    dtype = array_of("lerp", input).dtype
    tensor: Any
    for name, tensor in (("end", end), ("weight", weight)):
        typed = isinstance(tensor, _runtime.Tensor) and (name == "end" or tensor._array.ndim > 0)
        if typed and tensor._array.dtype is not dtype:
            expected, came = scalar_name(dtype).lower(), scalar_name(tensor._array.dtype).lower()
            raise RuntimeError(f"expected dtype {expected} for `{name}` but got dtype {came}")
    if dtype.kind != "f":
        raise unsupported("lerp", input._array)
    if isinstance(weight, _runtime.Tensor):
        return _lerp(input, end, weight, out=out)
    return _lerp_number(input, end, float(number(weight, "weight")), out=out)


@documents(_addcmul)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addcmul(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0]), value=0.5)
    tensor([4.])
    """


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``, elementwise.

    Raises
    ------
    RuntimeError
        If both *tensor1* and *tensor2* are of integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addcdiv(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([2.0]), value=2)
    tensor([4.])
    """
    if (
        array_of("addcdiv", tensor1, "tensor1", 2).dtype.kind != "f"
        and array_of("addcdiv", tensor2, "tensor2", 3).dtype.kind != "f"
    ):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported: convert tensor1 or tensor2 to a float dtype, or use "
            "addcmul with div(..., rounding_mode='trunc')."
        )
    return _addcdiv(input, tensor1, tensor2, value, out=out)


# -- other names -------------------------------------------------------------------------------------------------------
subtract, multiply, divide, true_divide, negative = sub, mul, div, div, neg
