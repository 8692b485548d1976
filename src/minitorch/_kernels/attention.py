"""Attention by scaled dot products, and its gradients, in blocks of matrices whose scores stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .reduce import number, ones
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
    keys = key.shape[2]
    out = np.empty_like(query, order="K")
    weights = np.empty((*query.shape[:3], keys), query.dtype)
    scaled = np.multiply(query, number(query.dtype.char, scale))
    for queries, k, v, added, block, found in _parts(weights.shape, scaled, key, value, mask, weights, out):
        _scores(queries, k, added, block)
        sums = _column(np.exp(block, block).reshape(-1, keys)).reshape(*block.shape[:3], 1)
        if _within(_SOFTMAX_BOUNDS, sums):
            np.divide(block, sums, block)
        else:
            _scores(queries, k, added, block)
            block[...] = safe_softmax(block) if mask is not None else softmax(block, -1)
        np.matmul(block, v, found)
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
    found = [np.empty_like(x, order="K") if wanted else None for x, wanted in zip((query, key, value), needed)]
    factor = number(query.dtype.char, scale)
    arrays = grad, query, key, value, result, weights, *found
    for g, q, k, v, output, share, by_query, by_key, by_value in _parts(weights.shape, *arrays):
        if by_value is not None:
            np.matmul(share.swapaxes(2, 3), g, by_value)
        if by_query is not None or by_key is not None:
            came = np.multiply(g, factor)
            slopes = np.matmul(came, v.swapaxes(2, 3))
            slopes -= np.matmul(came * output, ones(output.dtype.char, output.shape[3]))[..., None]
            slopes *= share
            if by_query is not None:
                np.matmul(slopes, k, by_query)
            if by_key is not None:
                np.matmul(slopes.swapaxes(2, 3), q, by_key)
    return found


def _scores(scaled: Array, key: Array, mask: Array | None, out: Array) -> None:
    np.matmul(scaled, key.swapaxes(2, 3), out)
    if mask is not None:
        np.add(out, mask, out)


def _parts(shape: tuple[int, ...], *arrays: Array | None) -> Iterator[Sequence[Any]]:
    """Arrays, by so many matrices at a time that their scores, of this shape, stay in the cache; None stays None."""
    count, heads, length, keys = shape
    size = length * keys
    step = _BLOCK // (heads * size)
    if step >= count:
        yield arrays
    elif step:
        for start in range(0, count, step):
            yield [None if array is None else array[start : start + step] for array in arrays]
    else:
        step = max(1, _BLOCK // size)
        for place in range(count):
            for start in range(0, heads, step):
                part = slice(place, place + 1), slice(start, start + step)
                yield [None if array is None else array[part] for array in arrays]
