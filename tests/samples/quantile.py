"""Samples of quantiles: compositions of rows that other samples cover."""

from __future__ import annotations

from .sample import Sample, distinct, sample

SAMPLES: dict[str, list[Sample]] = {
    "take_along": [
        sample(lambda torch, x: x.quantile(0.3), distinct(2, 3)),
        sample(lambda torch, x: torch.quantile(x, torch.tensor([0.1, 0.8], dtype=x.dtype), dim=1), distinct(2, 5)),
        sample(lambda torch, x: x.nanquantile(0.4, dim=0, keepdim=True, interpolation="midpoint"), distinct(4, 2)),
    ]
}
