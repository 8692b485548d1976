"""Attention by scaled dot products, and its gradients, in blocks of matrices whose scores stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .softmax import _SOFTMAX_BOUNDS, _column, _within, softmax

Array: TypeAlias = np.ndarray

# Scores of a block.
_BLOCK = 1 << 15


@lru_cache(maxsize=32)
def causal(rows: int, columns: int, dtype: Any) -> Array:
    """What is added to scores so that each row sees the columns up to its own number."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


def safe_softmax(scores: Array) -> Array:
    """Softmax along the last axis; zeros, not NaN, where all is minus infinity."""
    out = softmax(scores, -1)
    empty = np.isnan(out[..., 0]) if scores.shape[-1] else np.zeros((), bool)
    if empty.any():
        empty &= np.equal(scores, -np.inf).all(-1)
        out[empty] = 0
    return out


def attention(query: Array, key: Array, value: Array, mask: Array | None, scale: float) -> list[Array]:
    """Return ``softmax(query @ key^T * scale + mask) @ value``, and the weights, which are the softmax.

    Parameters
    ----------
    query, key, value : (N, H, L, E), (N, H, S, E) and (N, H, S, E) ndarray
        Of one dtype.  Results lie in memory as what they are like: heads beside one another where those of the query do.
    mask : ndarray, optional
        Of the shape of the scores, (N, H, L, S).  Where a whole row of it is minus infinity, the result is zero.
    scale : float
        What the products are multiplied with.
    """
    count, heads, length, _ = query.shape
    keys = key.shape[2]
    out = np.empty_like(query, order="K")
    weights = np.empty((count, heads, length, keys), query.dtype)
    scaled = np.multiply(query, query.dtype.type(scale))
    for part in _parts(count, heads, length * keys):
        block = weights[part]
        _scores(scaled[part], key[part], None if mask is None else mask[part], block)
        sums = _column(np.exp(block, block).reshape(-1, keys)).reshape(*block.shape[:3], 1)
        if _within(_SOFTMAX_BOUNDS, sums):
            np.divide(block, sums, block)
        else:
            _scores(scaled[part], key[part], None if mask is None else mask[part], block)
            block[...] = safe_softmax(block) if mask is not None else softmax(block, -1)
        np.matmul(block, value[part], out[part])
    return [out, weights]


def attention_backward(
    grad: Array,
    needed: list[bool],
    query: Array,
    key: Array,
    value: Array,
    result: Array,
    weights: Array,
    *,
    scale: float,
) -> list[Array | None]:
    """Return the gradients of query, key and value, where needed.

    The sum over weights times their gradients is that over results times theirs: T. Dao et al., "FlashAttention", 2022,
    appendix B.
    """
    count, heads, length, keys = weights.shape
    by_query, by_key, by_value = [np.empty_like(x, order="K") for x in (query, key, value)]
    factor = query.dtype.type(scale)
    for part in _parts(count, heads, length * keys):
        share = weights[part]
        if needed[2]:
            np.matmul(share.swapaxes(2, 3), grad[part], by_value[part])
        if needed[0] or needed[1]:
            came = np.multiply(grad[part], factor)
            slopes = np.matmul(came, value[part].swapaxes(2, 3))
            slopes -= np.vecdot(came, result[part])[..., None]
            slopes *= share
            if needed[0]:
                np.matmul(slopes, key[part], by_query[part])
            if needed[1]:
                np.matmul(slopes.swapaxes(2, 3), query[part], by_key[part])
    found = zip((by_query, by_key, by_value), needed)
    return [gradient if wanted else None for gradient, wanted in found]


def _scores(scaled: Array, key: Array, mask: Array | None, out: Array) -> None:
    np.matmul(scaled, key.swapaxes(2, 3), out)
    if mask is not None:
        np.add(out, mask, out)


def _parts(count: int, heads: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Indices of so many matrices at a time that they stay in the cache."""
    step = _BLOCK // (heads * size)
    if step:
        for start in range(0, count, step):
            yield slice(start, start + step), slice(None)
        return
    step = max(1, _BLOCK // size)
    for number in range(count):
        for start in range(0, heads, step):
            yield slice(number, number + 1), slice(start, start + step)
