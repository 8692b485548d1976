"""Signs and rounding: step functions, and what has them as derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._op import documents, op
from .._types import Number
from .copies import no_gradient
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- signs -------------------------------------------------------------------------------------------------------------
def _sign_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "b":
        return self.copy()
    out = np.sign(self, out=...)
    if self.dtype.kind == "f":
        np.copyto(out, 0, where=np.isnan(out))  # PyTorch's choice
    return out


def _abs_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "b":
        raise unsupported("abs", self)
    return np.abs(self, out=...)


def _signbit_kernel(self: np.ndarray) -> np.ndarray:
    return np.signbit(self, out=...) if self.dtype.kind == "f" else np.less(self, 0, out=...)


def _copysign_self(F: Any, g: Any, self: Any, result: Any) -> Any:
    return g * F.keep(result / self, self != 0)


_abs = op("abs", "AbsBackward0", _abs_kernel, ("self",), elementwise=True, casts=False,
          self=lambda F, g, self: g * F.sign(self))  # fmt: skip
_sign = op("sign", "SignBackward0", _sign_kernel, ("self",), elementwise=True, casts=False, self=no_gradient)
_sgn = op("sgn", "SgnBackward0", _sign_kernel, ("self",), elementwise=True, casts=False, self=no_gradient)
_signbit = op("signbit", "", _signbit_kernel, ("self",), elementwise=True, casts=False)
_copysign = op("copysign", "CopysignBackward0", np.copysign, ("self", "other"), floats=True,
               self=_copysign_self, other=no_gradient)  # fmt: skip
_copysign_number = op("copysign_number", "CopysignBackward1", np.copysign, ("self", "other"), floats=True,
                      self=_copysign_self)  # fmt: skip


@documents(_abs)
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value, elementwise; its gradient at 0 is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.abs(torch.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """


@documents(_sign)
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, elementwise; 0 for NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sign(torch.tensor([-1.5, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """


@documents(_sgn)
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as ``sign``: they differ for complex numbers only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sgn(torch.tensor([-3, 0, 2]))
    tensor([-1,  0,  1])
    """


@documents(_signbit)
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign bit is set: below zero, and -0.0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.signbit(torch.tensor([-1.0, 0.0, -0.0]))
    tensor([ True, False,  True])
    """


def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of *input* with the sign of *other*, elementwise; its gradient at 0 is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.copysign(torch.tensor([1.0, -2.0]), -0.0)
    tensor([-1., -2.])
    """
    row = _copysign if isinstance(other, _runtime.Tensor) else _copysign_number
    return row(input, other, out=out)


# -- rounding ----------------------------------------------------------------------------------------------------------
def _round_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "b":
        raise unsupported("round", self)
    return np.rint(self, out=...) if self.dtype.kind == "f" else self.copy()


def _round_decimals_kernel(self: np.ndarray, *, decimals: int) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("round", self)
    scale = 10.0 ** (decimals if decimals >= 0 else -decimals)
    exact = self.astype(np.float32) if self.itemsize == 2 else self
    if decimals >= 0:
        out = np.divide(np.rint(np.multiply(exact, scale)), scale, out=...)
    else:
        out = np.multiply(np.rint(np.divide(exact, scale)), scale, out=...)
    return out.astype(self.dtype, copy=False)


def _whole(ufunc: np.ufunc) -> Any:
    """The kernel of a rounding function: bools have none."""

    def kernel(self: np.ndarray) -> np.ndarray:
        if self.dtype.kind == "b":
            raise unsupported(ufunc.__name__, self)
        return ufunc(self, out=...)

    return kernel


def _frac_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        raise unsupported("frac", self)
    return np.subtract(self, np.trunc(self), out=...)


_exact: dict[str, Any] = {"elementwise": True, "casts": False}
_floor = op("floor", "FloorBackward0", _whole(np.floor), ("self",), **_exact, self=no_gradient)
_ceil = op("ceil", "CeilBackward0", _whole(np.ceil), ("self",), **_exact, self=no_gradient)
_trunc = op("trunc", "TruncBackward0", _whole(np.trunc), ("self",), **_exact, self=no_gradient)
_round = op("round", "RoundBackward0", _round_kernel, ("self",), **_exact, self=no_gradient)
_round_decimals = op("round_decimals", "RoundBackward1", _round_decimals_kernel, ("self",), **_exact,
                     self=no_gradient)  # fmt: skip
_frac = op("frac", "FracBackward0", _frac_kernel, ("self",), **_exact, self=lambda F, g: g)


@documents(_floor)
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integers not above the elements, in the same dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.floor(torch.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
    """


@documents(_ceil)
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integers not below the elements, in the same dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ceil(torch.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
    """


@documents(_trunc)
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements rounded towards zero, in the same dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.trunc(torch.tensor([1.7, -1.2]))
    tensor([ 1., -1.])
    """


@documents(_frac)
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``trunc`` takes away, of the elements' signs; floats only.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.frac(torch.tensor([1.75, -1.25]))
    tensor([ 0.7500, -0.2500])
    """


def round(input: Tensor, *, decimals: int | None = None, out: Tensor | None = None) -> Tensor:
    """The elements rounded to the nearest integer, or to *decimals* digits; halves go to the even neighbour.

    Parameters
    ----------
    input : Tensor
        Any shape.
    decimals : int, optional
        Digits after the point; negative ones are before it.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.75]))
    tensor([0., 2., 3.])
    >>> torch.round(torch.tensor([1234.5678]), decimals=2)
    tensor([1234.5699])
    """
    if decimals is None:
        return _round(input, out=out)
    return _round_decimals(input, decimals, out=out)


# -- other names -------------------------------------------------------------------------------------------------------
absolute, fix = abs, trunc
