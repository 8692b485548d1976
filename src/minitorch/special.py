"""Special functions, as in ``torch.special``; those that are here only have no derivatives, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _runtime
from ._op import documents, op
from .ops.bessel import i0, i0e, i1, i1e, lazily
from .ops.copies import as_operand
from .ops.elementary import exp2, expm1, log1p
from .ops.gamma_normal import entr, erfcx, log_ndtr, ndtr, ndtri, xlog1py, zeta
from .ops.gamma_normal import igamma as gammainc
from .ops.gamma_normal import igammac as gammaincc
from .ops.gamma_normal import mvlgamma as multigammaln
from .ops.reduce import logsumexp
from .ops.rounding import round
from .ops.softmax import log_softmax, softmax
from .ops.special import digamma, erf, erfc, erfinv, logit, polygamma, sinc, xlogy
from .ops.special import lgamma as gammaln
from .ops.special import sigmoid as expit

if TYPE_CHECKING:
    from ._tensor import Tensor

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e",
    "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0",
    "xlog1py", "xlogy", "zeta",
]  # fmt: skip

psi = digamma


# -- Bessel and Airy functions -----------------------------------------------------------------------------------------
def _of_one(name: str, kernel: str, text: str) -> Callable[..., Tensor]:
    """A function of one tensor without a derivative."""
    row = op(name, "", lazily(kernel), ("self",), elementwise=True, floats=True)

    def public(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        raise NotImplementedError

    public.__name__, public.__doc__ = name, text
    documents(row)(public)
    return row


airy_ai = _of_one("airy_ai", "airy_ai", "Airy's function Ai, elementwise.")
bessel_j0 = _of_one("bessel_j0", "j0", "The Bessel function of the first kind, of order 0, elementwise.")
bessel_j1 = _of_one("bessel_j1", "j1", "The Bessel function of the first kind, of order 1, elementwise.")
bessel_y0 = _of_one("bessel_y0", "y0", "The Bessel function of the second kind, of order 0, elementwise.")
bessel_y1 = _of_one("bessel_y1", "y1", "The Bessel function of the second kind, of order 1, elementwise.")
modified_bessel_i0 = _of_one("modified_bessel_i0", "i0", "``i0`` without a derivative.")
modified_bessel_i1 = _of_one("modified_bessel_i1", "i1", "``i1`` without a derivative.")
modified_bessel_k0 = _of_one(
    "modified_bessel_k0", "k0", "The modified Bessel function of the second kind, of order 0, elementwise."
)
modified_bessel_k1 = _of_one(
    "modified_bessel_k1", "k1", "The modified Bessel function of the second kind, of order 1, elementwise."
)
scaled_modified_bessel_k0 = _of_one("scaled_modified_bessel_k0", "k0e", "``exp(x)`` times ``modified_bessel_k0(x)``.")
scaled_modified_bessel_k1 = _of_one("scaled_modified_bessel_k1", "k1e", "``exp(x)`` times ``modified_bessel_k1(x)``.")
spherical_bessel_j0 = _of_one("spherical_bessel_j0", "spherical_j0", "``sin(x) / x``, elementwise, and 1 at 0.")


# -- orthogonal polynomials --------------------------------------------------------------------------------------------
def _polynomial(name: str, text: str) -> Callable[..., Tensor]:
    """A function of a tensor, or number, and degrees, without a derivative."""

    def kernel(self: np.ndarray, n: np.ndarray) -> np.ndarray:
        from ._kernels.orthogonal_polynomials import POLYNOMIALS

        return POLYNOMIALS[name](self, n)

    row = op(name, "", kernel, ("self", "n"), elementwise=True, floats=True)

    def public(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, _runtime.Tensor) and isinstance(n, _runtime.Tensor):
            input = as_operand(float(input), n, name)
        return row(input, n, out=out)

    public.__name__ = public.__qualname__ = name
    public.row = row.row  # type: ignore[attr-defined]  # as recording functions have it
    public.__doc__ = f"{text} of degree *n* at *input*, elementwise; one of them may be a number."
    return public


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind")
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind")
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind")
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind")
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind, from 0 to 1,"
)
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind, from 0 to 1,"
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind, from 0 to 1,"
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind, from 0 to 1,"
)
hermite_polynomial_h = _polynomial("hermite_polynomial_h", "The physicist's Hermite polynomial")
hermite_polynomial_he = _polynomial("hermite_polynomial_he", "The probabilist's Hermite polynomial")
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", "Laguerre's polynomial")
legendre_polynomial_p = _polynomial("legendre_polynomial_p", "Legendre's polynomial")
