"""Common divisors, steps, and floats by their parts: ``gcd``, ``lcm``, ``heaviside``, ``nextafter``, ``frexp``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of
from .._choices import choice
from .._op import documents, op
from .._runtime import wrap
from . import _returns
from .copies import no_gradient
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _of_integers(name: str, ufunc: np.ufunc) -> Any:
    def kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
        if self.dtype.kind not in "iu":
            raise unsupported(name, self)
        return ufunc(self, other, out=...)

    return kernel


def _heaviside_kernel(self: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.where(self == 0, values, (self > 0).astype(self.dtype))


def _no_tangent(F: Any, t: Any) -> Any:
    raise NotImplementedError("Trying to use forward AD with aten::heaviside that does not support it: it is a step")


def _no_derivative(F: Any, g: Any) -> Any:
    raise RuntimeError("derivative for aten::heaviside is not implemented: it is a step")


def _nextafter_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("nextafter", self)
    return np.nextafter(self, other, out=...)


_gcd = op("gcd", "", _of_integers("gcd_cpu", np.gcd), ("self", "other"), elementwise=True, numbers=False)
_lcm = op("lcm", "", _of_integers("lcm_cpu", np.lcm), ("self", "other"), elementwise=True, numbers=False)
_heaviside = op("heaviside", "NotImplemented", _heaviside_kernel, ("self", "values"), elementwise=True, numbers=False,
                tangent={"self": _no_tangent, "values": _no_tangent},
                self=_no_derivative, values=_no_derivative)  # fmt: skip
_nextafter = op("nextafter", "NextafterBackward0", _nextafter_kernel, ("self", "other"), elementwise=True, numbers=False,
                self=lambda F, g, self, other: F.keep(g, self != other),
                other=no_gradient)  # fmt: skip
_mantissa = op("frexp", "FrexpBackward0", lambda self, *, scale: np.multiply(self, scale, out=...), ("self",),
               elementwise=True, self=lambda F, g, scale: F.frexp(g, scale=scale))  # fmt: skip


def _angle_kernel(self: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(self), np.nan, np.where(self < 0, np.pi, 0)).astype(self.dtype)


_angle = op("angle", "AngleBackward0", _angle_kernel, ("self",), elementwise=True, floats=True, self=no_gradient)


# -- functions ---------------------------------------------------------------------------------------------------------
def _checked(name: str, argument: str, input: Any, other: Any) -> None:
    array_of(name, input)
    array_of(name, other, argument, 2)


def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of two integers, elementwise; 0 of two zeros.

    Raises
    ------
    NotImplementedError
        Unless both are integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.gcd(torch.tensor([4, -6, 0]), torch.tensor([6, 9, 0]))
    tensor([2, 3, 0])
    """
    _checked("gcd", "other", input, other)
    return _gcd(input, other, out=out)


def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of two integers, elementwise.

    Raises
    ------
    NotImplementedError
        Unless both are integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lcm(torch.tensor([4, -6]), torch.tensor([6, 9]))
    tensor([12, 18])
    """
    _checked("lcm", "other", input, other)
    return _lcm(input, other, out=out)


def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero (and for NaN), 1 above, *values* at zero; it has no derivative.

    Raises
    ------
    RuntimeError
        If the dtypes differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    _checked("heaviside", "values", input, values)
    if input._array.dtype != values._array.dtype:
        raise RuntimeError(
            f"heaviside is not yet implemented for tensors with different dtypes: {input.dtype} and {values.dtype}"
        )
    return _heaviside(input, values, out=out)


def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next floating-point number after *input* towards *other*, elementwise.

    Raises
    ------
    NotImplementedError
        For integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> (torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)) - 1).item() == torch.finfo(torch.float32).eps
    True
    """
    _checked("nextafter", "other", input, other)
    return _nextafter(input, other, out=out)


@choice("exponents", warns=True)
def _exponent(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exponents, and what the numbers are multiplied by for the mantissas."""
    exponent = np.asarray(np.frexp(self)[1], np.int32)
    return exponent, np.asarray(np.ldexp(np.ones((), self.dtype), -exponent))


def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> _returns.frexp:
    """The mantissa, of magnitude from 0.5 to 1, and the int32 exponent: ``input = mantissa * 2 ** exponent``.

    Raises
    ------
    RuntimeError
        For integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.frexp(torch.tensor([3.0, 0.25]))
    torch.return_types.frexp(
    mantissa=tensor([0.7500, 0.5000]),
    exponent=tensor([ 2, -1], dtype=torch.int32))
    """
    array = array_of("frexp", input)
    if array.dtype.kind != "f":
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype}")
    exponent, scale = _exponent(input)
    found = _mantissa(input, scale), wrap(exponent)
    if out is None:
        return _returns.frexp(found)
    parts = [_runtime.deliver("frexp", partial(tuple.__getitem__, found, i), (input,), out[i]) for i in (0, 1)]
    return _returns.frexp(parts)


@documents(_angle)
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle that a number has as a complex one: pi below zero, else 0; its gradient is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.angle(torch.tensor([-1.0, 2.0]))
    tensor([3.1416, 0.0000])
    """
