"""Determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels import linalg as kernels
from .._op import op
from .._runtime import deliver, traced
from . import _returns
from ._matrices import checked, delivered, over_matrices

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _det(self: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.det(self))


def _slogdet(self: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(part) for part in np.linalg.slogdet(self)]


def _product(F: Any, a: Any, b: Any, keepdim: bool = True) -> Any:
    """The inner product of matrices, to multiply matrices with."""
    return F.sum(a * b, dim=(len(a.shape) - 2, len(a.shape) - 1), keepdim=keepdim)


def _slope_self(F: Any, g: Any, self: Any, grad: Any) -> Any:
    """The third derivative of the determinant d: ``d ((c:G) (c:H) - H:(c G^T c))``, c = A^-T, differentiated once more."""
    c = F.mT(F.inv_ex(self)[0])
    a, b = [F.matmul(F.bmm_nt(c, h), c) for h in (grad, g)]
    p, q = _product(F, c, grad), _product(F, c, g)
    whole = c * (p * q - _product(F, g, a)) - a * q - b * p
    return over_matrices(F, F.det(self)) * (whole + F.matmul(F.bmm_nt(a, g), c) + F.matmul(F.bmm_nt(c, g), a))


_det_row = op("det", "LinalgDetBackward0", _det, ("self",),
              tangent=lambda F, t, self: _product(F, F.cofactor(self), t, False),
              self=lambda F, g, self: over_matrices(F, g) * F.cofactor(self))  # fmt: skip

op("cofactor", "CofactorBackward0", lambda self: kernels.cofactor(self), ("self",), tangent="formulas",
   self=lambda F, g, self: F.cofactor_slope(self, g))  # fmt: skip

op("cofactor_slope", "CofactorSlopeBackward0", lambda self, grad: kernels.cofactor_slope(self, grad), ("self", "grad"),
   tangent="formulas",
   self=_slope_self,
   grad=lambda F, g, self: F.cofactor_slope(self, g))  # fmt: skip

_slogdet_row = op("slogdet", "LinalgSlogdetBackward0", _slogdet, ("self",), outputs=2,
                  tangent=lambda F, t, self: (None, _product(F, F.mT(F.inv_ex(self)[0]), t, False)),
                  self=lambda F, g, self: over_matrices(F, g[1]) * F.mT(F.inv_ex(self)[0]))  # fmt: skip


# -- public functions --------------------------------------------------------------------------------------------------
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices.

    The gradient is the matrix of cofactors, by the singular value decomposition: it is right for singular matrices too, in
    the first and second order (M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
    differentiation" (2008), 2.2.4, multiplied out).

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, n, n)``.
    out : Tensor, optional
        Where the result, ``(*)``, is written.

    Raises
    ------
    RuntimeError
        If *A* is not of floats or not square.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    if out is not None:
        return deliver("linalg.det", lambda: det(A), (A,), out)
    _check("linalg.det", A, "lu_cpu")
    return _det_row(A)


def input_det(input: Tensor) -> Tensor:
    """The determinants of square matrices: `linalg.det`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.det(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return det(input)


def _check(name: str, A: Any, kernel: str = "") -> np.ndarray:
    """Of half floats PyTorch's determinant says that there is no kernel, its logarithm that the precision is low."""
    half = getattr(A, "_array", np.empty(0)).dtype == np.float16
    return checked(name, A, kernel=kernel if half else "")


def slogdet(A: Tensor, *, out: Any = None) -> _returns.linalg_slogdet:
    """The signs of the determinants of square matrices and the logarithms of their absolute values.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, n, n)``.
    out : tuple of two Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``sign`` (0 for a singular matrix) and ``logabsdet`` (then -inf).  The gradient of the latter is the inverse's
        transpose (Giles 2008, 2.2.4); there is none at singular matrices.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.slogdet(torch.tensor([[-2.0, 0.0], [0.0, 0.5]])).sign
    tensor(-1.)
    """
    if out is not None:
        return delivered("linalg.slogdet", lambda: slogdet(A), (A,), out)
    _check("linalg.slogdet", A)
    return _returns.linalg_slogdet(_slogdet_row(A))


def input_slogdet(input: Tensor, *, out: Any = None) -> _returns.slogdet:
    """The signs and the logarithms of the absolute values of determinants: `linalg.slogdet`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.slogdet(torch.tensor([[1.0, 0.0], [0.0, 1.0]])).logabsdet
    tensor(0.)
    """
    return _returns.slogdet(slogdet(input, out=out))


def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants of square matrices; NaN where one is negative, -inf where it is zero.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, n, n)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logdet(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor(0.)
    """
    _check("logdet", input)
    sign, logarithm = _slogdet_row(input)
    return traced.masked_fill(logarithm, traced.eq(sign, -1), value=float("nan"))
