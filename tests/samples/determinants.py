"""Samples of determinants."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, normal, sample


def row(name: str, *params: Any) -> Any:
    """A call of a row that has no public function."""
    return lambda torch, *inputs: _op.rows[name].call(*inputs, *params)


SAMPLES: dict[str, list[Sample]] = {
    "det": [
        sample(lambda t, x: t.linalg.det(x), normal(3, 3)),
        sample(lambda t, x: x.det(), normal(2, 2, 2)),
        sample(lambda t, x: t.det(x), normal(1, 1), same_graph=False),
        sample(lambda t, x: t.det(x), [[1.0, 2.0], [2.0, 4.0]], in_torch=False),
    ],
    "cofactor": [sample(row("cofactor"), normal(2, 3, 3), in_torch=False)],
    "cofactor_slope": [sample(row("cofactor_slope"), normal(3, 3), normal(3, 3), in_torch=False)],
    "slogdet": [
        sample(lambda t, x: t.linalg.slogdet(x), normal(3, 3)),
        sample(lambda t, x: t.slogdet(x).logabsdet, normal(2, 2, 2)),
        sample(lambda t, x: t.logdet(x @ x.mT), normal(2, 2, 2)),
    ],
}
