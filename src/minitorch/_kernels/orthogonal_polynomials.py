"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9), and Chebyshev's by cosines of multiples.

All are 0 for negative degrees, and for those that no 64-bit integer is, as in PyTorch; others are cut to integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .special import Array

Step = Callable[[int, Array, Array, Array], Array]


def _by_recurrence(x: Array, n: Array, first: Callable[[Array], Array], step: Step) -> Array:
    """``p_0 = 1``, ``p_1 = first(x)``, ``p_(k+1) = step(k, x, p_k, p_(k-1))``."""
    before, now = np.ones_like(x), first(x)
    out = np.where(n == 0, before, 0.0)
    for k in range(1, int(n.max(initial=0)) + 1):
        out = np.where(n == k, now, out)
        before, now = now, step(k, x, now, before)
    return out


def _prepared(x: Array, n: Array) -> tuple[Array, Array, Any]:
    dtype = np.result_type(x, n)
    degrees = np.asarray(n, np.float64)
    degrees = np.where(np.abs(degrees) < 2.0**63, np.trunc(degrees), -1)
    wide, degrees = np.broadcast_arrays(np.asarray(x, np.float64), degrees)
    return wide, degrees, dtype


def _polynomial(name: str, first: Callable[[Array], Array], step: Step) -> Callable[[Array, Array], Array]:
    def kernel(x: Array, n: Array) -> Array:
        wide, degrees, dtype = _prepared(x, n)
        return _by_recurrence(wide, degrees, first, step).astype(dtype)

    kernel.__name__ = name
    return kernel


def _chebyshev(
    name: str, first: Callable[[Array], Array], inside: Callable[[Array, Array], Array], shifted: bool = False
) -> Callable[[Array, Array], Array]:
    """One of four kinds: by a formula in the angle from -1 to 1, by the recurrence outside and for few degrees."""

    def kernel(x: Array, n: Array) -> Array:
        wide, degrees, dtype = _prepared(x, n)
        y = 2 * wide - 1 if shifted else wide
        angle = (np.abs(y) < 1) & (degrees > 8)
        by_angle = inside(np.arccos(np.where(angle, y, 0.0)), degrees)
        stepped = _by_recurrence(y, np.where(angle, -1, degrees), first, lambda k, y, now, before: 2 * y * now - before)
        return np.where(angle, by_angle, stepped).astype(dtype)

    kernel.__name__ = name
    return kernel


_KINDS: dict[str, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    "t": (lambda x: x, lambda a, n: np.cos(n * a)),
    "u": (lambda x: 2 * x, lambda a, n: np.sin((n + 1) * a) / np.sin(a)),
    "v": (lambda x: 2 * x - 1, lambda a, n: np.cos((n + 0.5) * a) / np.cos(a / 2)),
    "w": (lambda x: 2 * x + 1, lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2)),
}

POLYNOMIALS: dict[str, Callable[[Array, Array], Array]] = {
    **{f"chebyshev_polynomial_{k}": _chebyshev(k, first, inside) for k, (first, inside) in _KINDS.items()},
    **{
        f"shifted_chebyshev_polynomial_{k}": _chebyshev(k, first, inside, shifted=True)
        for k, (first, inside) in _KINDS.items()
    },
    "hermite_polynomial_h": _polynomial("h", lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before)),
    "hermite_polynomial_he": _polynomial("he", lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": _polynomial(
        "l", lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": _polynomial(
        "p", lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
    ),
}
"""By the name of the function in ``torch.special``."""
