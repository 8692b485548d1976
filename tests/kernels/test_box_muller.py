"""Box-Muller transforms: PyTorch 2.13's values, float64 references, and correctly rounded products and sums."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch._kernels.box_muller import (
    RunTable,
    few_normal_pairs,
    fused_scale,
    normal_pairs,
    normal_runs32,
    normal_runs64,
)


def uniforms32(seed: int, count: int) -> np.ndarray:
    """What ``torch.manual_seed(seed); torch.rand(count)`` gives."""
    words = np.random.RandomState(seed).randint(0, 2**32, count, dtype=np.uint32)
    return (words % 2**24 * 2.0**-24).astype(np.float32)


def exact_runs(uniforms: np.ndarray) -> np.ndarray:
    runs = uniforms.astype(np.float64).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - runs[:, 0])), 2 * np.pi * runs[:, 1]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


def test_values_of_runs() -> None:
    assert normal_runs32(uniforms32(0, 16)).tolist()[:6] == [
        -1.1258398294448853,
        -1.152360200881958,
        -0.2505785822868347,
        -0.4338788092136383,
        0.8487103581428528,
        0.6920091509819031,
    ]


@pytest.mark.parametrize("count", [0, 16, 4096, 2**16 + 16])
def test_runs_are_close_to_exact_ones(count: int) -> None:
    uniforms = uniforms32(1, count)
    np.testing.assert_allclose(normal_runs32(uniforms), exact_runs(uniforms), rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(normal_runs64(uniforms.astype(np.float64)), exact_runs(uniforms), rtol=1e-14)


@pytest.mark.parametrize("radius", [0, 2**-24, 0.25, 1 - 2**-24])
@pytest.mark.parametrize("angle", [0, 2**-24, 0.125, 0.25, 0.5, 0.75, 1 - 2**-24])
def test_runs_at_the_ends_of_the_intervals(radius: float, angle: float) -> None:
    uniforms = np.repeat(np.array([radius, angle], np.float32), 8)
    np.testing.assert_allclose(normal_runs32(uniforms), exact_runs(uniforms), rtol=1e-6, atol=2e-6)


TABLE_UNIFORMS = uniforms32(2, 700)
TABLE = RunTable(TABLE_UNIFORMS)


@given(start=st.integers(0, 700), count=st.integers(0, 43))
def test_a_table_gives_the_runs_from_any_place(start: int, count: int) -> None:
    length = min(16 * count, (700 - start) // 16 * 16)
    result = np.empty(length, np.float32)
    TABLE.fill(result, start)
    assert len(TABLE) == 700
    np.testing.assert_array_equal(result, normal_runs32(TABLE_UNIFORMS[start : start + length]))


def test_pairs() -> None:
    uniforms = np.random.default_rng(0).random(2000)
    angle, radius = 2 * np.pi * uniforms[0::2], np.sqrt(-2 * np.log(1 - uniforms[1::2]))
    result = normal_pairs(uniforms)
    np.testing.assert_allclose(result[0::2], radius * np.cos(angle), rtol=1e-13)
    np.testing.assert_allclose(result[1::2], radius * np.sin(angle), rtol=1e-13)
    np.testing.assert_array_max_ulp(np.array(few_normal_pairs(uniforms.tolist())), result, maxulp=4)


def assert_nearest(result: Any, exact: Fraction) -> None:
    """No neighbour of a NumPy scalar is closer to the exact value."""
    error = abs(Fraction(float(result)) - exact)
    for direction in (-math.inf, math.inf):
        neighbour = np.nextafter(result, result.dtype.type(direction))
        assert error <= abs(Fraction(float(neighbour)) - exact)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("scale", "shift"), [(1.77, -0.123), (1 / 3, 1e-3), (1e5, 7.0), (2.5, 0.0), (1.0, 1.1), (1, 0)]
)
def test_scaling_rounds_once(dtype: Any, scale: float, shift: float) -> None:
    values = np.random.default_rng(3).standard_normal(2000).astype(dtype)
    exact_scale, exact_shift = Fraction(float(dtype(scale))), Fraction(float(dtype(shift)))
    for value, result in zip(values.tolist(), fused_scale(values.copy(), scale, shift), strict=True):
        assert_nearest(result, Fraction(value) * exact_scale + exact_shift)


def test_scaling_many_and_huge_numbers() -> None:
    many = np.full(2**15 + 3, 3, np.float32)
    assert (fused_scale(many, 0.5, 0.25) == 1.75).all()
    assert fused_scale(np.array([1e300, -1e300, 1e-300]), 1e300, 1.0).tolist() == [math.inf, -math.inf, 2.0]
    assert fused_scale(np.array([1e305]), 2.0, 1.0).tolist() == [2e305]
