"""Powers and roots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of
from .._dtypes import FLOAT64
from .._errors import scalar_name
from .._op import documents, op
from .._types import Number
from . import copies
from .copies import as_operand, filler
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


def _power_kernel(self: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        if self.dtype.kind == exponent.dtype.kind == "b":
            raise unsupported("pow", self)
        if exponent.dtype.kind == "i" and np.less(exponent, 0).any():
            return _power_of_negative(self, exponent)
    return np.power(self, exponent, out=...)


def _power_of_negative(self: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Integer powers where some exponents are negative: 1 over the power, rounded towards zero; 0 over 0."""
    out = np.power(self, np.maximum(exponent, 0), out=...)
    of_one = np.where(np.abs(self) == 1, np.power(self, exponent & 1), 0)
    return np.where(exponent < 0, of_one, out).astype(out.dtype, copy=False)


def _number_kernel(self: np.ndarray, *, exponent: Number) -> np.ndarray:
    if exponent == 2 and self.dtype.kind != "b":
        return np.square(self, out=...)
    if self.dtype.kind == "f":
        if exponent == 3:
            return np.multiply(np.square(self, out=...), self, out=...)
        if exponent == 0.5:
            return np.sqrt(self, out=...)
        if exponent == -1:
            return np.reciprocal(self, out=...)
        if exponent == 1:
            return self.copy()
    elif exponent < 0:
        raise ValueError("Integers to negative integer powers are not allowed; convert the base to a float dtype")
    elif self.dtype.kind == "b":
        return np.logical_or(self, exponent == 0, out=...)
    else:
        return np.power(self, filler(exponent, self.dtype), out=...)
    return np.power(self, exponent, out=...)


def _number_self(F: Any, g: Any, self: Any, exponent: Number) -> Any:
    if exponent == 0:
        return F.zeros_like(g)
    if exponent == 2 and F is _runtime.raw:  # traced, each power is recorded down to the zeroth, as in PyTorch
        return g * (2 * self)
    return g * (exponent * F.pow_number(self, exponent=exponent - 1))


def _base_kernel(exponent: np.ndarray, *, self: Number) -> np.ndarray:
    return _power_kernel(np.asarray(self, exponent.dtype), exponent)


def _base_exponent(F: Any, g: Any, exponent: Any, self: Number, result: Any) -> Any:
    if self == 0:  # the result is infinite below 0, and so is its slope; from 0 on it is flat
        return F.keep(g * -result, ~(exponent >= 0))
    return g * (result * (math.log(self) if self > 0 else math.nan))


def _power_self(F: Any, g: Any, self: Any, exponent: Any) -> Any:
    return F.keep(g * (exponent * F.pow(self, exponent - 1)), exponent != 0)


def _power_exponent(F: Any, g: Any, self: Any, exponent: Any, result: Any) -> Any:
    return g * F.keep(result * F.log(self), (self != 0) | ~(exponent >= 0))


def _ldexp_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.multiply(self, np.exp2(other), out=...)


_pow = op("pow", "PowBackward1", _power_kernel, ("self", "exponent"), elementwise=True,
          self=_power_self, exponent=_power_exponent)  # fmt: skip
_pow_number = op("pow_number", "PowBackward0", _number_kernel, ("self",), elementwise=True, self=_number_self)
_pow_of_number = op("pow_of_number", "PowBackward2", _base_kernel, ("exponent",), elementwise=True,
                    exponent=_base_exponent)  # fmt: skip
_sqrt = op("sqrt", "SqrtBackward0", np.sqrt, ("self",), floats=True, self=lambda F, g, result: g / (2 * result))
_rsqrt = op("rsqrt", "RsqrtBackward0", lambda self: np.reciprocal(np.sqrt(self), out=...), ("self",), elementwise=True,
            floats=True, self=lambda F, g, result: -0.5 * g * F.pow_number(result, exponent=3))  # fmt: skip

_ldexp = op("ldexp", "LdexpBackward0", _ldexp_kernel, ("self", "other"), elementwise=True, floats=True, numbers=False,
            self=lambda F, g, other: g * F.exp2(other),
            other=lambda F, g, result: g * (result * math.log(2)))  # fmt: skip


def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """*input* to the power of *exponent*, elementwise; either may be a number.

    Parameters
    ----------
    input : Tensor or number
        The base.
    exponent : Tensor or number
        Shapes broadcast and dtypes are promoted.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an integer tensor is raised to a negative integer number.

    Notes
    -----
    ``x ** 0`` has gradient 0 also at ``x = 0``; so has ``0 ** y`` with respect to ``y >= 0``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> torch.pow(2, torch.tensor([1, 2, 3]))
    tensor([2, 4, 8])
    """
    result = _power(input, exponent, out)
    if result is NotImplemented:
        raise TypeError(
            "pow(): expected a Tensor and a Tensor or Number (input, exponent), but got "
            f"({type(input).__name__}, {type(exponent).__name__})"
        )
    return result


def _power(input: Any, exponent: Any, out: Any = None) -> Any:
    """``pow`` and ``**``: NotImplemented for operands that are neither tensors nor numbers."""
    kind = exponent.__class__
    if kind is int or kind is float:
        if not isinstance(input, _runtime.Tensor):
            return NotImplemented
        return _pow_number(*_weak_base(input, exponent), out=out)
    if isinstance(exponent, _runtime.Tensor):
        if isinstance(input, _runtime.Tensor):
            return _pow(input, exponent, out=out)
        base = as_operand(input, exponent, "pow")
        if base._array.ndim:
            return _pow(base, exponent, out=out)
        return _pow_of_number(copies.to_dtype_of(exponent, base), base._array.item(), out=out)
    if kind is bool:
        bools = isinstance(input, _runtime.Tensor) and input._array.dtype.kind == "b"
        return _pow_number(input, int(exponent), out=out) if bools else _power(input, int(exponent), out)
    if isinstance(exponent, (int, float, np.generic)):
        return _power(input, exponent.item() if isinstance(exponent, np.generic) else exponent.real, out)
    if isinstance(exponent, np.ndarray):
        return _pow(input, exponent, out=out)
    return NotImplemented


def _weak_base(input: Tensor, exponent: Number) -> tuple[Tensor, Number]:
    """The base in the result's dtype: integers become floats for a float exponent, bools integers for any."""
    if input._array.dtype.kind != "f":
        input = copies.to_dtype_of(input, _runtime.operand(exponent, input))
    return input, exponent


def operator_pow(input: Tensor, exponent: Any) -> Any:
    """``input ** exponent``."""
    return _power(input, exponent)


def reflected_pow(input: Tensor, base: Any) -> Any:
    """``base ** input``."""
    return _power(base, input)


def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** 2``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.square(torch.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
    return pow(input, 2, out=out)


def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The power in float64, whatever the dtypes.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.float_power(torch.tensor([2]), -1)
    tensor([0.5000], dtype=torch.float64)
    """
    if isinstance(input, _runtime.Tensor):
        input = copies.converted(input, FLOAT64)
    if isinstance(exponent, _runtime.Tensor):
        exponent = copies.converted(exponent, FLOAT64)
    return pow(input, exponent, out=out)


def float_power_into(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """What ``float_power_`` writes; RuntimeError unless the tensor is of float64."""
    if array_of("float_power_", input).dtype != FLOAT64:
        came = scalar_name(input._array.dtype)
        raise RuntimeError(
            f"the base given to float_power_ has dtype {came} but the operation's result requires dtype Double"
        )
    return float_power(input, exponent)


@documents(_sqrt)
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root, elementwise: NaN below zero; integers give the default float dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sqrt(torch.tensor([4, 9]))
    tensor([2., 3.])
    """


@documents(_rsqrt)
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root, elementwise; integers give the default float dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.rsqrt(torch.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])
    """


@documents(_ldexp)
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``, elementwise; integers give the default float dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
