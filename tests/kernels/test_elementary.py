"""Elementary functions in float32: against NumPy's in float64, at extremes, and of few values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch._kernels.elementary import expm1, log1p, tan

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any, list[tuple[float, float]]]] = {
    "log1p": (log1p, np.log1p, [(-1, 1), (-0.999, 100), (-1e-3, 1e-3), (0, 1e30)]),
    "expm1": (expm1, np.expm1, [(-1, 1), (-30, 88.7), (-1e-3, 1e-3), (-0.4, -0.3), (0.3, 0.4)]),
    "tan": (tan, np.tan, [(-1.5, 1.5), (-100, 100), (-1e5, 1e5)]),
}
EXTREMES = [
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    1e-30,
    -1e-30,
    np.inf,
    -np.inf,
    np.nan,
    -1.0,
    88.7,
    88.75,
    -17.0,
    -104.0,
    3e38,
    -3e38,
]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_four_units_in_the_last_place(name: str) -> None:
    kernel, reference, ranges = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    for low, high in ranges:
        x = rng.uniform(low, high, 50_000).astype(np.float32)
        given = x.copy()
        found = kernel(x)
        exact = reference(x.astype(np.float64))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(x, given)
        assert (np.abs(found - exact) / np.spacing(np.abs(exact.astype(np.float32)))).max() < 4


@pytest.mark.parametrize("size", [16, 1600])
@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_extremes(name: str, size: int) -> None:
    kernel, reference, _ = FUNCTIONS[name]
    x = np.resize(np.array(EXTREMES, np.float32), size)
    found, exact = kernel(x), reference(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(found, exact, rtol=5e-7, atol=2e-45)
    numbers = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(exact[numbers]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (70, 30)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_and_dtypes(name: str, shape: tuple[int, ...], dtype: str) -> None:
    kernel, reference, _ = FUNCTIONS[name]
    x = np.random.default_rng(1).uniform(-0.9, 0.9, shape).astype(dtype)
    found = kernel(x)
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    tolerance = {"float16": 2e-3, "float32": 5e-7, "float64": 1e-15}[dtype]
    np.testing.assert_allclose(found, reference(x.astype(np.float64)), rtol=tolerance)
