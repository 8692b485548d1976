"""Samples of attention."""

from __future__ import annotations

from .sample import normal, sample

MASK = [[0.0, float("-inf"), 0.0], [float("-inf")] * 3]


def _attention(t, q, k, v, **options):
    return t.nn.functional.scaled_dot_product_attention(q, k, v, **options)


QKV = normal(2, 2, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 4)

SAMPLES = {
    "scaled_dot_product_attention": [  # PyTorch has no second derivatives of it
        sample(_attention, *QKV, in_torch=False),
        sample(_attention, *QKV, order=1),
        sample(lambda t, *qkv: _attention(t, *qkv, is_causal=True, scale=0.3), *QKV, order=1),
        sample(lambda t, *qkv: _attention(t, *qkv, attn_mask=(t.arange(5) > 1).expand(3, 5)), *QKV, order=1),
    ],
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
