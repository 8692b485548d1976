"""Samples of ``torch.special`` and of the incomplete gamma functions."""

from __future__ import annotations

import minitorch.special  # noqa: F401  (its rows)

from .sample import Sample, positive, sample, within


def _function(name: str, low: float, high: float, order: int = 2) -> list[Sample]:
    """A function of one tensor, on values within an interval."""
    return [sample(lambda torch, x: getattr(torch.special, name)(x), within(low, high, 2, 3), order=order)]


def _polynomial(name: str) -> list[Sample]:
    degrees = [0.0, 1.0, 2.0, 3.0, 5.0, 12.0]
    return [
        sample(lambda torch, x, n: getattr(torch.special, name)(x, n), within(-1.5, 1.5, 4, 6), degrees, order=0),
        sample(lambda torch, x: getattr(torch.special, name)(x, 3), within(-1.5, 1.5, 2, 3), order=0),
    ]


SAMPLES: dict[str, list[Sample]] = {
    **{name: _function(name, -3, 3) for name in ("i0", "i0e", "i1", "i1e", "log_ndtr")},
    "erfcx": [
        *_function("erfcx", -3, 3),
        sample(lambda torch, x: torch.special.erfcx(x), [26.0, 27.5, 30.0], in_torch=False),  # where PyTorch's cancels
    ],
    "ndtr": [sample(lambda torch, x: torch.special.ndtr(x), within(-3, 3, 2, 3), same_graph=False)],
    "entr": _function("entr", 0.2, 3),
    "ndtri": _function("ndtri", 0.1, 0.9),
    "xlog1py": [
        sample(lambda torch, a, b: torch.special.xlog1py(a, b), positive(2, 3), positive(3)),
        sample(lambda torch, a: torch.special.xlog1py(a, 2.5) * a, positive(2, 3)),
        sample(lambda torch, a: torch.special.xlog1py(2.5, a), positive(2, 3)),
    ],
    "zeta": [
        sample(lambda torch, q: torch.special.zeta(torch.tensor([[2.5], [4.0]], dtype=q.dtype), q), positive(3)),
        sample(lambda torch, q: torch.special.zeta(3.0, q), positive(3)),
    ],
    "igamma": [sample(lambda torch, x: torch.igamma(torch.tensor([[0.5], [2.0]], dtype=x.dtype), x), positive(3))],
    "igammac": [sample(lambda torch, x: torch.tensor([[0.5], [2.0]], dtype=x.dtype).igammac(x), positive(3))],
    "mvlgamma": [sample(lambda torch, x: torch.mvlgamma(x, 3), within(1.5, 4, 2, 3))],
    **{
        # beyond 5 PyTorch's Bessel functions are off by some 1e-7: tests/test_special.py looks at ours there
        name: _function(name, 0.1 if "_k" in name or "_y" in name else -4.5, 4.5, order=0)
        for name in (
            "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
            "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
        )
    },
    "airy_ai": _function("airy_ai", -2.0, 4.5, order=0),  # PyTorch's is off by some 1e-7 between -2.9 and -2.1
    **{f"{shifted}chebyshev_polynomial_{kind}": _polynomial(f"{shifted}chebyshev_polynomial_{kind}")
       for shifted in ("", "shifted_") for kind in "tuvw"},
    **{name: _polynomial(name) for name in
       ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")},
}  # fmt: skip
