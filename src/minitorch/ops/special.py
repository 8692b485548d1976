"""Special functions: logistic, error and gamma functions, and their like; integers give the default float dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._kernels import activation, special
from .._kernels.polygamma import polygamma as _polygamma_kernel
from .._op import documents, op
from .._types import Number
from .copies import as_operand
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- logistic ----------------------------------------------------------------------------------------------------------
def _logit_kernel(self: np.ndarray, *, eps: float | None = None) -> np.ndarray:
    x = self if eps is None else np.clip(self, eps, 1 - eps)
    return np.log(np.divide(x, 1 - x), out=...)


def _logit_self(F: Any, g: Any, self: Any, eps: float | None) -> Any:
    slope = g / (self * (1 - self))
    low = 0 if eps is None else eps
    inside = (self >= low) & (self <= 1 - low)
    return F.masked_fill(slope, ~inside, value=math.nan) if eps is None else F.keep(slope, inside)


_sigmoid = op("sigmoid", "SigmoidBackward0", activation.sigmoid, ("self",), elementwise=True, floats=True,
              self=lambda F, g, result: F.sigmoid_backward(g, result))  # fmt: skip
op("sigmoid_backward", "SigmoidBackwardBackward0", activation.sigmoid_backward, ("grad", "output"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, output: F.sigmoid_backward(g, output),
   output=lambda F, g, grad, output: F.addcmul(both := g * grad, both, output, value=-2))  # fmt: skip
_logit = op("logit", "LogitBackward0", _logit_kernel, ("self",), elementwise=True, floats=True, self=_logit_self)


@documents(_sigmoid)
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function ``1 / (1 + exp(-input))``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """


@documents(_logit)
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ``sigmoid``, elementwise: ``log(input / (1 - input))``.

    Parameters
    ----------
    input : Tensor
        Any shape; NaN outside 0 to 1, unless *eps* is given.
    eps : float, optional
        Clamps the input to between *eps* and ``1 - eps`` first.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logit(torch.tensor([0.5, 1.0]), eps=0.25)
    tensor([0.0000, 1.0986])
    """


# -- logarithms of sums and products -----------------------------------------------------------------------------------
def _logaddexp_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("logaddexp", self)
    return np.logaddexp(self, other, out=...)


def _logaddexp2_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("logaddexp2", self)
    return np.logaddexp2(self, other, out=...)


def _xlogy_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    out = np.multiply(np.log(other), self, out=...)
    np.copyto(out, 0, where=np.equal(self, 0) & ~np.isnan(other))
    return out


def _hypot_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("hypot", self)
    return np.hypot(self, other, out=...)


_logaddexp = op("logaddexp", "LogaddexpBackward0", _logaddexp_kernel, ("self", "other"), elementwise=True, numbers=False,
                self=lambda F, g, self, other: g / (1 + F.exp(other - self)),
                other=lambda F, g, self, other: g / (1 + F.exp(self - other)))  # fmt: skip
_logaddexp2 = op("logaddexp2", "Logaddexp2Backward0", _logaddexp2_kernel, ("self", "other"), elementwise=True, numbers=False,
                 self=lambda F, g, self, other: g / (1 + F.exp2(other - self)),
                 other=lambda F, g, self, other: g / (1 + F.exp2(self - other)))  # fmt: skip
_hypot = op("hypot", "HypotBackward0", _hypot_kernel, ("self", "other"), elementwise=True, numbers=False,
            self=lambda F, g, self, result: g * (self / result),
            other=lambda F, g, other, result: g * (other / result))  # fmt: skip


@documents(_logaddexp)
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))``, elementwise, without overflow; floats only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logaddexp(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 1000.0]))
    tensor([6.9315e-01, 1.0007e+03])
    """


@documents(_logaddexp2)
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)``, elementwise, without overflow; floats only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logaddexp2(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 1000.0]))
    tensor([1.0000e+00, 1.0010e+03])
    """


@documents(_hypot)
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)``, elementwise, without overflow; floats only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.hypot(torch.tensor([3.0, 5.0]), torch.tensor([4.0, 12.0]))
    tensor([ 5., 13.])
    """


def _xlogy_self(F: Any, g: Any, self: Any, other: Any) -> Any:
    return g * F.keep(F.log(other), (self != 0) | ~(other <= 0))


_xlogy = op("xlogy", "XlogyBackward0", _xlogy_kernel, ("self", "other"), elementwise=True, floats=True,
            self=_xlogy_self,
            other=lambda F, g, self, other: g * (self / other))  # fmt: skip
_xlogy_number = op("xlogy_number", "XlogyBackward2", _xlogy_kernel, ("self", "other"), elementwise=True, floats=True,
                   self=_xlogy_self)  # fmt: skip
_number_xlogy = op("number_xlogy", "XlogyBackward1", lambda other, self: _xlogy_kernel(self, other), ("other", "self"),
                   elementwise=True, floats=True, other=lambda F, g, self, other: g * (self / other))  # fmt: skip


def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, elementwise, and 0 where *input* is 0 and *other* is no NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.5]))
    tensor([0.0000, 0.8109])
    """
    if not isinstance(other, _runtime.Tensor):
        return _xlogy_number(input, other, out=out)
    if not isinstance(input, _runtime.Tensor):
        return _number_xlogy(other, as_operand(input, other, "xlogy"), out=out)
    return _xlogy(input, other, out=out)


# -- error functions ---------------------------------------------------------------------------------------------------
_SLOPE = 2 / math.sqrt(math.pi)

_erf = op("erf", "ErfBackward0", special.erf, ("self",), elementwise=True, floats=True,
          self=lambda F, g, self: g * (_SLOPE * F.exp(-(self * self))))  # fmt: skip
_erfc = op("erfc", "ErfcBackward0", special.erfc, ("self",), elementwise=True, floats=True,
           self=lambda F, g, self: g * (-_SLOPE * F.exp(-(self * self))))  # fmt: skip
_erfinv = op("erfinv", "ErfinvBackward0", special.erfinv, ("self",), elementwise=True, floats=True,
             self=lambda F, g, self: g * (F.exp(F.pow_number(F.erfinv(self), exponent=2)) / _SLOPE))  # fmt: skip


@documents(_erf)
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, elementwise: ``2 / sqrt(pi)`` times the integral of ``exp(-t ** 2)`` from 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.erf(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5205])
    """


@documents(_erfc)
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, elementwise, accurate where that is small.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.erfc(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 0.4795])
    """


@documents(_erfinv)
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ``erf``, elementwise: infinite at -1 and 1, NaN beyond.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.erfinv(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """


# -- gamma functions ---------------------------------------------------------------------------------------------------
_lgamma = op("lgamma", "LgammaBackward0", special.lgamma, ("self",), elementwise=True, floats=True,
             self=lambda F, g, self: g * F.digamma(self))  # fmt: skip
_digamma = op("digamma", "DigammaBackward0", special.digamma, ("self",), elementwise=True, floats=True,
              self=lambda F, g, self: g * F.polygamma(self, n=1))  # fmt: skip
_polygamma = op("polygamma", "PolygammaBackward0", _polygamma_kernel, ("self",), elementwise=True, floats=True,
                self=lambda F, g, self, n: g * F.polygamma(self, n=n + 1))  # fmt: skip


@documents(_lgamma)
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's absolute value, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lgamma(torch.tensor([1.0, 4.5]))
    tensor([0.0000, 2.4537])
    """


@documents(_digamma)
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of ``lgamma``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.digamma(torch.tensor([1.0, 4.5]))
    tensor([-0.5772,  1.3889])
    """


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The *n*-th derivative of ``digamma``, elementwise.

    Raises
    ------
    RuntimeError
        If *n* is negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n: {n}")
    return _polygamma(input, n, out=out)


def polygamma_method(input: Tensor, n: int) -> Tensor:
    """``polygamma(n, input)``."""
    return polygamma(n, input)


# -- sinc and angles ---------------------------------------------------------------------------------------------------
def _sinc_kernel(self: np.ndarray) -> np.ndarray:
    angle = np.multiply(self, math.pi, out=...)
    out = np.divide(np.sin(angle), angle, out=...)
    np.copyto(out, 1, where=np.equal(angle, 0))
    return out


def _sinc_self(F: Any, g: Any, self: Any) -> Any:
    """The spherical Bessel function j1 of the angle, with a minus; its series where the closed form cancels."""
    angle = self * math.pi
    near = F.abs(angle) < 0.1
    small = F.masked_fill(angle, ~near, value=0)
    square = small * small
    series = small / -3 * (1 - square / 10 * (1 - square / 28 * (1 - square / 54)))
    apart = F.masked_fill(angle, near, value=1)
    slope = F.where(series, (F.cos(apart) - F.sin(apart) / apart) / apart, near)
    return g * slope * math.pi


_sinc = op("sinc", "SincBackward0", _sinc_kernel, ("self",), elementwise=True, floats=True, self=_sinc_self)
_deg2rad = op("deg2rad", "Deg2RadBackward0", lambda self: np.multiply(self, math.pi / 180, out=...), ("self",),
              elementwise=True, floats=True, self=lambda F, g: g * (math.pi / 180))  # fmt: skip
_rad2deg = op("rad2deg", "Rad2DegBackward0", lambda self: np.multiply(self, 180 / math.pi, out=...), ("self",),
              elementwise=True, floats=True, self=lambda F, g: g * (180 / math.pi))  # fmt: skip


@documents(_sinc)
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, elementwise, and 1 at 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sinc(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """


@documents(_deg2rad)
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees in radians.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.deg2rad(torch.tensor([0.0, 180.0]))
    tensor([0.0000, 3.1416])
    """


@documents(_rad2deg)
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians in degrees.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.rad2deg(torch.tensor([0.0, 0.5]))
    tensor([ 0.0000, 28.6479])
    """
