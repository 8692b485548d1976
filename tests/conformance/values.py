"""What is in the tensors: domains, which make an array from a random generator, a shape and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Domain = Callable[[np.random.Generator, tuple[int, ...], str], np.ndarray]


def _kind(dtype: str) -> str:
    return np.dtype(dtype).kind


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Of both signs; small integers."""
    if _kind(dtype) == "f":
        return np.asarray(rng.normal(size=shape) * 1.5).astype(dtype)
    return np.asarray(rng.integers(0 if _kind(dtype) in "ub" else -4, 2 if dtype == "bool" else 6, shape)).astype(dtype)


def positive(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if _kind(dtype) == "f":
        return np.asarray(rng.uniform(0.3, 3.0, shape)).astype(dtype)
    return np.asarray(rng.integers(1, 6, shape)).astype(dtype)


def unit(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Between -1 and 1."""
    if _kind(dtype) == "f":
        return np.asarray(rng.uniform(-0.95, 0.95, shape)).astype(dtype)
    return np.asarray(rng.integers(0 if _kind(dtype) in "ub" else -1, 2, shape)).astype(dtype)


def probability(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Between 0 and 1."""
    if _kind(dtype) == "f":
        return np.asarray(rng.uniform(0.05, 0.95, shape)).astype(dtype)
    return np.asarray(rng.integers(0, 2, shape)).astype(dtype)


def distinct(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """No two alike, where the dtype has so many values."""
    size = int(np.prod(shape))
    places = rng.permutation(size) - (0 if _kind(dtype) in "ub" else size // 2)
    return (places * 0.37 if _kind(dtype) == "f" else places).reshape(shape).astype(dtype)


def ascending(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Sorted along the last dimension."""
    return np.sort(normal(rng, shape, dtype), -1)


def mask(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.asarray(rng.integers(0, 2, shape)).astype(bool)


def signs(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Ones and minus ones."""
    return np.asarray(rng.choice([-1.0, 1.0], shape)).astype(dtype if _kind(dtype) in "fi" else "int64")


def index(size: int, low: int = 0, dtype: str = "int64") -> Domain:
    """Indices from *low* to below *size*."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], _: str) -> np.ndarray:
        return np.asarray(rng.integers(low, size, shape)).astype(dtype)

    return draw


def places(size: int) -> Domain:
    """Indices below *size* along the last dimension, none twice."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], _: str) -> np.ndarray:
        lines = [rng.permutation(size)[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))]
        return np.array(lines, "int64").reshape(shape)

    return draw


def special(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, halves, the dtype's bounds."""
    if _kind(dtype) == "f":
        return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2.5, 3, 20, -30, np.inf, -np.inf, np.nan], dtype)
    if dtype == "bool":
        return np.array([False, True])
    bounds = np.iinfo(dtype)
    return np.array([v for v in (0, 1, -1, 2, -2, 3, 7, bounds.max, bounds.min) if v >= bounds.min], dtype)


def ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.asarray(rng.integers(0, 3, shape)).astype(dtype)


def draw(domain: Any, rng: np.random.Generator, shape: Any, dtype: str, place: int, count: int) -> np.ndarray:
    """An array of a domain; *shape* may be "special" (a dimension of its own for each of *count* tensors) or "ties"."""
    if shape == "ties":
        return ties(rng, (4, 5), dtype) if domain in (normal, distinct, positive) else domain(rng, (4, 5), dtype)
    if shape == "special":
        if domain in (normal, distinct, positive, unit, probability):
            array = special(dtype)
        else:
            array = domain(rng, (6,), dtype)
        return array.reshape(array.shape + (1,) * (count - 1 - place))
    return domain(rng, shape, dtype)
