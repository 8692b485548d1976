"""Samples of the random rows: with a seeded generator they are functions, and their gradients are zero."""

from __future__ import annotations

from typing import Any

from .sample import Sample, normal, positive, sample, within


def seeded(torch: Any) -> Any:
    """The same numbers at each call."""
    return torch.Generator().manual_seed(0)


def filled(method: str, *args: Any) -> Any:
    """A call that fills a copy of its input in place."""
    return lambda torch, x: getattr(x * 1, method)(*args, generator=seeded(torch))


SAMPLES: dict[str, list[Sample]] = {
    "uniform": [sample(filled("uniform_", -1.0, 2.0), normal(2, 3)), sample(filled("uniform_"), normal(4))],
    "normal_": [sample(filled("normal_", 1.0, 2.0), normal(2, 3)), sample(filled("normal_"), normal(4, 5))],
    "random": [sample(filled("random_"), normal(3))],
    "random_below": [sample(filled("random_", 10), normal(2, 3))],
    "random_between": [sample(filled("random_", -3, 10), normal(2, 3))],
    "bernoulli_number": [sample(filled("bernoulli_", 0.3), normal(2, 3))],
    "bernoulli_tensor": [
        sample(lambda torch, x, p: (x * 1).bernoulli_(p, generator=seeded(torch)), normal(2, 3), within(0.1, 0.9, 3))
    ],
    "bernoulli": [sample(lambda torch, p: torch.bernoulli(p, generator=seeded(torch)), within(0.1, 0.9, 2, 3))],
    "exponential": [sample(filled("exponential_", 2.0), normal(2, 3))],
    "cauchy": [sample(filled("cauchy_", 1.0, 0.5), normal(2, 3))],
    "log_normal": [sample(filled("log_normal_", 0.5, 0.25), normal(2, 3))],
    "geometric": [sample(filled("geometric_", 0.4), normal(2, 3))],
    # their gradients are zero by definition, whatever finite differences say
    "normal_mean": [sample(lambda torch, m: torch.normal(m, 2.0, generator=seeded(torch)), normal(2, 3), order=0)],
    "normal_std": [sample(lambda torch, s: torch.normal(1.5, s, generator=seeded(torch)), positive(2, 3), order=0)],
    "normal_both": [
        sample(lambda torch, m, s: torch.normal(m, s, generator=seeded(torch)), normal(2, 1), positive(3), order=0)
    ],
}
