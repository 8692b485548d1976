"""Samples of attention."""

from __future__ import annotations

from .sample import normal, sample

MASK = [[0.0, float("-inf"), 0.0], [float("-inf")] * 3]

SAMPLES = {
    "safe_softmax": [
        sample(
            lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(
                q, k, v, t.tensor([[True, False, True], [True, True, True]]), scale=0.3
            ),
            normal(2, 4),
            normal(3, 4),
            normal(3, 2),
            same_graph=False,
        ),
        sample(
            lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, t.tensor(MASK, dtype=q.dtype)).sum(
                -1
            ),
            normal(2, 2, 4),
            normal(2, 3, 4),
            normal(2, 3, 4),
            same_graph=False,
        ),
    ],
}
