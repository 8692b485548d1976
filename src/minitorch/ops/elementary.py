"""Exponentials, logarithms, trigonometric and hyperbolic functions: integers give the default float dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels import activation
from .._kernels import elementary as kernels
from .._op import documents, op

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- exponentials and logarithms ---------------------------------------------------------------------------------------
_LN2, _LN10 = math.log(2), math.log(10)

_exp = op("exp", "ExpBackward0", np.exp, ("self",), floats=True, self=lambda F, g, result: g * result)
_exp2 = op("exp2", "Exp2Backward0", np.exp2, ("self",), floats=True, self=lambda F, g, result: g * (result * _LN2))
_expm1 = op("expm1", "Expm1Backward0", kernels.expm1, ("self",), elementwise=True, floats=True,
            self=lambda F, g, result: g * (result + 1))  # fmt: skip
_log = op("log", "LogBackward0", np.log, ("self",), floats=True, self=lambda F, g, self: g / self)
_log2 = op("log2", "Log2Backward0", np.log2, ("self",), floats=True, self=lambda F, g, self: g / (self * _LN2))
_log10 = op("log10", "Log10Backward0", np.log10, ("self",), floats=True, self=lambda F, g, self: g / (self * _LN10))
_log1p = op("log1p", "Log1PBackward0", kernels.log1p, ("self",), elementwise=True, floats=True,
            self=lambda F, g, self: g / (self + 1))  # fmt: skip


@documents(_exp)
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``e ** input``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


@documents(_exp2)
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``2 ** input``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.exp2(torch.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """


@documents(_expm1)
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``e ** input - 1``, elementwise, accurate near 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.expm1(torch.tensor([0.0, 0.001]))
    tensor([0.0000, 0.0010])
    """


@documents(_log)
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm, elementwise: -inf at 0, NaN below.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.log(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


@documents(_log2)
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.log2(torch.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """


@documents(_log10)
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.log10(torch.tensor([1.0, 10.0]))
    tensor([0., 1.])
    """


@documents(_log1p)
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, elementwise, accurate near 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.log1p(torch.tensor([0.0, 0.001]))
    tensor([0.0000, 0.0010])
    """


# -- trigonometric -----------------------------------------------------------------------------------------------------
_sin = op("sin", "SinBackward0", np.sin, ("self",), floats=True, self=lambda F, g, self: g * F.cos(self))
_cos = op("cos", "CosBackward0", np.cos, ("self",), floats=True, self=lambda F, g, self: g * -F.sin(self))
_tan = op("tan", "TanBackward0", kernels.tan, ("self",), elementwise=True, floats=True,
          self=lambda F, g, result: g * (1 + result * result))  # fmt: skip
_asin = op("asin", "AsinBackward0", np.arcsin, ("self",), floats=True,
           self=lambda F, g, self: g * F.rsqrt(1 - self * self))  # fmt: skip
_acos = op("acos", "AcosBackward0", np.arccos, ("self",), floats=True,
           self=lambda F, g, self: g * -F.rsqrt(1 - self * self))  # fmt: skip
_atan = op("atan", "AtanBackward0", np.arctan, ("self",), floats=True, self=lambda F, g, self: g / (self * self + 1))


def _inverse_square(F: Any, a: Any, b: Any) -> Any:
    """1 / (a^2 + b^2), and 0 at the origin."""
    square = a * a + b * b
    return F.keep(1 / square, square != 0)


_atan2 = op("atan2", "Atan2Backward0", np.arctan2, ("self", "other"), floats=True, numbers=False,
            self=lambda F, g, self, other: g * (other * _inverse_square(F, self, other)),
            other=lambda F, g, self, other: g * -(self * _inverse_square(F, self, other)))  # fmt: skip


@documents(_sin)
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine, elementwise, of radians.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """


@documents(_cos)
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine, elementwise, of radians.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cos(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """


@documents(_tan)
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent, elementwise, of radians.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """


@documents(_asin)
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine, elementwise, in radians: NaN outside -1 to 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.asin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """


@documents(_acos)
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine, elementwise, in radians: NaN outside -1 to 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.acos(torch.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """


@documents(_atan)
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent, elementwise, in radians.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.atan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """


@documents(_atan2)
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (*other*, *input*), elementwise, in radians from -pi to pi.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([0.0, -1.0]))
    tensor([ 1.5708, -2.3562])
    """


# -- hyperbolic --------------------------------------------------------------------------------------------------------
_sinh = op("sinh", "SinhBackward0", np.sinh, ("self",), floats=True, self=lambda F, g, self: g * F.cosh(self))
_cosh = op("cosh", "CoshBackward0", np.cosh, ("self",), floats=True, self=lambda F, g, self: g * F.sinh(self))
_tanh = op("tanh", "TanhBackward0", np.tanh, ("self",), floats=True,
           self=lambda F, g, result: F.tanh_backward(g, result))  # fmt: skip
op("tanh_backward", "TanhBackwardBackward0", activation.tanh_backward, ("grad", "output"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, output: F.tanh_backward(g, output),
   output=lambda F, g, grad, output: -2 * (g * grad * output))  # fmt: skip
_asinh = op("asinh", "AsinhBackward0", np.arcsinh, ("self",), floats=True,
            self=lambda F, g, self: g * F.rsqrt(self * self + 1))  # fmt: skip
_acosh = op("acosh", "AcoshBackward0", np.arccosh, ("self",), floats=True,
            self=lambda F, g, self: g * F.rsqrt(self * self - 1))  # fmt: skip
_atanh = op("atanh", "AtanhBackward0", np.arctanh, ("self",), floats=True,
            self=lambda F, g, self: g / (1 - self * self))  # fmt: skip


@documents(_sinh)
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """


@documents(_cosh)
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cosh(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """


@documents(_tanh)
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@documents(_asinh)
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.asinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """


@documents(_acosh)
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, elementwise: NaN below 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.acosh(torch.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """


@documents(_atanh)
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, elementwise: infinite at -1 and 1, NaN beyond.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.atanh(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """


# -- other names -------------------------------------------------------------------------------------------------------
arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
