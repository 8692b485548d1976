"""Samples of counts, gamma and Dirichlet numbers; tests/ops/test_sampled.py has how they are distributed, and gradients."""

from __future__ import annotations

from .sample import Sample, positive, sample, within

SAMPLES: dict[str, list[Sample]] = {
    "standard_gamma": [
        sample(lambda torch, a: torch._standard_gamma(a, torch.Generator().manual_seed(0)), positive(3, 2), order=0),
    ],
    "standard_gamma_grad": [
        sample(
            lambda torch, a, x: torch._standard_gamma_grad(a, x),
            [0.5, 2.0, 9.0, 90.0, 9.0],
            [0.1, 3.0, 9.1, 70.0, 3.0],
            order=0,
        ),
    ],
    "sample_dirichlet": [
        sample(lambda torch, a: torch._sample_dirichlet(a, torch.Generator().manual_seed(0)), positive(3, 2), order=0),
    ],
    "dirichlet_grad": [
        sample(
            lambda torch, x, a, t: torch._dirichlet_grad(x, a, t),
            [0.1, 0.9, 0.4, 0.5, 0.7],
            [0.5, 2.0, 9.0, 9.0, 3.0],
            [1.0, 2.5, 20.0, 18.0, 7.0],
            order=0,
        ),
    ],
    "poisson": [
        sample(lambda torch, a: torch.poisson(a, torch.Generator().manual_seed(0)), within(0, 30, 3, 2), order=0),
    ],
    "binomial": [
        sample(
            lambda torch, n, p: torch.binomial(n, p, torch.Generator().manual_seed(0)),
            [[3.0, 4.0], [40.0, 99.0]],
            within(0, 1, 2, 2),
            order=0,
        ),
    ],
}  # fmt: skip
