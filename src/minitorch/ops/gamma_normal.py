"""Incomplete and multivariate gamma functions, entropy, zeta, and functions of the normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, integer
from .._kernels.special import lgamma
from .._op import documents, op
from .._types import Number
from .copies import as_operand

if TYPE_CHECKING:
    from .._tensor import Tensor


def _lazily(name: str) -> Any:
    """A kernel of ``_kernels/gamma_normal.py``, which is imported when it is first called."""

    def kernel(self: np.ndarray) -> np.ndarray:
        from .._kernels import gamma_normal

        return getattr(gamma_normal, name)(self)

    return kernel


def _lazily_of_two(name: str) -> Any:
    def kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
        from .._kernels import gamma_normal

        return getattr(gamma_normal, name)(self, other)

    return kernel


def _missing(name: str) -> Any:
    """The formula of a derivative that nobody knows in closed form."""

    def formula(F: Any, g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return formula


# -- rows --------------------------------------------------------------------------------------------------------------
def _entr_kernel(self: np.ndarray) -> np.ndarray:
    out = np.multiply(self, -np.log(np.maximum(self, np.finfo(self.dtype).tiny)), out=...)
    return np.where(self > 0, out, np.where(self == 0, 0, np.where(self < 0, -np.inf, np.nan))).astype(self.dtype)


def _xlog1py_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    out = np.multiply(np.log1p(other), self, out=...)
    np.copyto(out, 0, where=np.equal(self, 0) & ~np.isnan(other))
    return out


def _xlog1py_self(F: Any, g: Any, self: Any, other: Any) -> Any:
    return g * F.keep(F.log1p(other), (self != 0) | ~(other <= -1))


def _mvlgamma_kernel(self: np.ndarray, *, p: int) -> np.ndarray:
    parts = [lgamma(np.asarray(self - k / 2, self.dtype)) for k in range(p)]
    return np.asarray(sum(parts) + p * (p - 1) / 4 * math.log(math.pi), self.dtype)


def _mvlgamma_self(F: Any, g: Any, self: Any, p: int) -> Any:
    total = F.digamma(self)
    for k in range(1, p):
        total = total + F.digamma(self - k / 2)
    return g * total


def _erfcx_self(F: Any, g: Any, self: Any, result: Any) -> Any:
    """``2 x erfcx(x) - 2 / sqrt(pi)``: far right, where the terms cancel, by the asymptotic series (DLMF 7.12.1)."""
    far = self > 25
    inverse = F.reciprocal(F.masked_fill(self, ~far, value=25))
    half = inverse * inverse * 0.5
    series = 1 - half * 17
    for odd in range(15, 1, -2):
        series = 1 - half * odd * series
    return g * F.where(half * series * (-2 / math.sqrt(math.pi)), 2 * self * result - 2 / math.sqrt(math.pi), far)


def _log_ndtr_self(F: Any, g: Any, self: Any) -> Any:
    """Density over distribution, both scaled by ``exp(x^2 / 2)`` left of 0, where they vanish."""
    right = self > 0
    x, y = F.masked_fill(self, ~right, value=0), F.masked_fill(self, right, value=0)
    above = F.exp(x * x * -0.5) / F.ndtr(x) / math.sqrt(2 * math.pi)
    return g * F.where(above, F.reciprocal(F.erfcx(y * -math.sqrt(0.5))) * math.sqrt(2 / math.pi), right)


def _density(F: Any, a: Any, x: Any) -> Any:
    """``x^(a - 1) exp(-x) / Gamma(a)``: the derivative of the lower incomplete gamma function."""
    return F.exp((a - 1) * F.log(x) - x - F.lgamma(a))


_entr = op("entr", "SpecialEntrBackward0", _entr_kernel, ("self",), elementwise=True, floats=True,
           self=lambda F, g, self: g * (-F.log(self) - 1))  # fmt: skip
_erfcx = op("erfcx", "SpecialErfcxBackward0", _lazily("erfcx"), ("self",), elementwise=True, floats=True,
            self=_erfcx_self)  # fmt: skip
_ndtr = op("ndtr", "SpecialNdtrBackward0", _lazily("ndtr"), ("self",), elementwise=True, floats=True,
           self=lambda F, g, self: g * (F.exp(self * self * -0.5) / math.sqrt(2 * math.pi)))  # fmt: skip
_log_ndtr = op("log_ndtr", "SpecialLogNdtrBackward0", _lazily("log_ndtr"), ("self",), elementwise=True, floats=True,
               self=_log_ndtr_self)  # fmt: skip
_ndtri = op("ndtri", "SpecialNdtriBackward0", _lazily("ndtri"), ("self",), elementwise=True, floats=True,
            self=lambda F, g, result: g * (F.exp(result * result * 0.5) * math.sqrt(2 * math.pi)))  # fmt: skip
_xlog1py = op("xlog1py", "SpecialXlog1PyBackward0", _xlog1py_kernel, ("self", "other"), elementwise=True, floats=True,
              self=_xlog1py_self,
              other=lambda F, g, self, other: g * (self / (other + 1)))  # fmt: skip
_zeta = op("zeta", "SpecialZetaBackward0", _lazily_of_two("zeta"), ("self", "other"), elementwise=True, floats=True,
           self=_missing("zeta"),
           other=lambda F, g, self, other: g * -self * F.zeta(self + 1, other))  # fmt: skip
_igamma = op("igamma", "IgammaBackward0", _lazily_of_two("gammainc"), ("self", "other"), elementwise=True, numbers=False,
             self=_missing("igamma: input"),
             other=lambda F, g, self, other: g * _density(F, self, other))  # fmt: skip
_igammac = op("igammac", "IgammacBackward0", _lazily_of_two("gammaincc"), ("self", "other"), elementwise=True,
              numbers=False, self=_missing("igammac: input"),
              other=lambda F, g, self, other: -g * _density(F, self, other))  # fmt: skip
_mvlgamma = op("mvlgamma", "MvlgammaBackward0", _mvlgamma_kernel, ("self",), elementwise=True, floats=True,
               self=_mvlgamma_self)  # fmt: skip


# -- functions ---------------------------------------------------------------------------------------------------------
@documents(_entr)
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input * log(input)``, elementwise: 0 at 0, ``-inf`` below.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.entr(torch.tensor([-1.0, 0.0, 0.5]))
    tensor([  -inf, 0.0000, 0.3466])
    """


@documents(_erfcx)
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input ** 2) * erfc(input)``, elementwise, without underflow.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.erfcx(torch.tensor([0.0, 10.0]))
    tensor([1.0000, 0.0561])
    """


@documents(_ndtr)
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The distribution function of the standard normal distribution, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.ndtr(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """


@documents(_log_ndtr)
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of ``ndtr``, elementwise, accurate in both tails.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.log_ndtr(torch.tensor([0.0, -20.0]))
    tensor([  -0.6931, -203.9172])
    """


@documents(_ndtri)
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ``ndtr``, elementwise: infinite at 0 and 1, NaN beyond.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """


def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, elementwise, and 0 where *input* is 0 and *other* is no NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 0.5]))
    tensor([0.0000, 0.8109])
    """
    return _xlog1py(_first(input, other, "special_xlog1py"), other, out=out)


def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function, elementwise: the sum of ``(k + other) ** -input`` over k from 0.

    It is differentiable by *other* only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """
    return _zeta(_first(input, other, "special_zeta"), other, out=out)


def _first(input: Any, other: Any, name: str) -> Any:
    """A tensor, or a number beside one."""
    if isinstance(input, _runtime.Tensor) or not isinstance(other, _runtime.Tensor):
        return input
    return as_operand(float(input), other, name)


def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function ``P(input, other)``, elementwise; floats only.

    It is differentiable by *other* only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.igamma(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 4.0]))
    tensor([0.6321, 0.5665])
    """
    _floats("igamma", input, other)
    return _igamma(input, other, out=out)


def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function ``Q(input, other)``, elementwise; see ``igamma``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.igammac(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 4.0]))
    tensor([0.3679, 0.4335])
    """
    _floats("igammac", input, other)
    return _igammac(input, other, out=out)


def _floats(name: str, input: Any, other: Any) -> None:
    a, b = array_of(name, input), array_of(name, other, "other", 2)
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        raise NotImplementedError(f'"{name}_cpu" not implemented for {a.dtype.name!r}; use .float()')


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension *p*, elementwise.

    Raises
    ------
    RuntimeError
        If *p* is less than 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mvlgamma(torch.tensor([2.0, 3.5]), 2)
    tensor([0.4516, 2.4665])
    """
    array_of("mvlgamma", input)
    if integer(p, "p") < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but got {p}")
    return _mvlgamma(input, p, out=out)
