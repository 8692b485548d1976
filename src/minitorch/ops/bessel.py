"""The modified Bessel functions that can be differentiated: i0, i1 and their scaled forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._op import documents, op

if TYPE_CHECKING:
    from .._tensor import Tensor


def lazily(name: str) -> Any:
    """A kernel of ``_kernels/bessel.py``, which is imported when it is first called."""

    def kernel(self: np.ndarray) -> np.ndarray:
        from .._kernels import bessel

        return getattr(bessel, name)(self)

    return kernel


def _away_from_zero(F: Any, self: Any, at_zero: float, slope: Any) -> Any:
    """``slope(self)``, but a constant where 1 is not changed by adding *self*: its quotients have no digits there."""
    zero = F.abs(self) + 1 == 1
    return F.masked_fill(slope(F.masked_fill(self, zero, value=1)), zero, value=at_zero)


def _i1_self(F: Any, g: Any, self: Any) -> Any:
    return g * _away_from_zero(F, self, 0.5, lambda x: F.i0(x) - F.i1(x) / x)


def _i1e_self(F: Any, g: Any, self: Any) -> Any:
    return g * _away_from_zero(F, self, 0.5, lambda x: F.i0e(x) - F.i1e(x) * (F.sgn(x) + F.reciprocal(x)))


_i0 = op("i0", "I0Backward0", lazily("i0"), ("self",), elementwise=True, floats=True,
         self=lambda F, g, self: g * F.i1(self))  # fmt: skip
_i0e = op("i0e", "SpecialI0EBackward0", lazily("i0e"), ("self",), elementwise=True, floats=True,
          self=lambda F, g, self, result: g * (F.i1e(self) - F.sgn(self) * result))  # fmt: skip
_i1 = op("i1", "SpecialI1Backward0", lazily("i1"), ("self",), elementwise=True, floats=True, self=_i1_self)
_i1e = op("i1e", "SpecialI1EBackward0", lazily("i1e"), ("self",), elementwise=True, floats=True, self=_i1e_self)


@documents(_i0)
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """


@documents(_i0e)
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) i0(input)``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.i0e(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.4658])
    """


@documents(_i1)
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.i1(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """


@documents(_i1e)
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) i1(input)``, elementwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.special.i1e(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2079])
    """
