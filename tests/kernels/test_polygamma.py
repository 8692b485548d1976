"""The polygamma functions: against exact values, SciPy, and at poles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitorch._kernels.polygamma import polygamma

INF, NAN = np.inf, np.nan
# n, x and the value, correctly rounded from 50 digits.
EXACT = [
    (1, 0.5, 4.934802200544679),
    (1, 1.0, 1.6449340668482264),
    (1, 10.0, 0.10516633568168575),
    (1, -0.5, 8.934802200544679),
    (2, 1.0, -2.4041138063191885),
    (3, 1.0, 6.493939402266829),
]
RANGES = [(1e-3, 1.0), (1.0, 12.0), (12.0, 1e3), (1e3, 1e6)]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("n", "x", "value"), EXACT)
def test_exact_values(n: int, x: float, value: float) -> None:
    np.testing.assert_allclose(polygamma(np.array([x]), n=n), [value], rtol=2e-15)
    np.testing.assert_allclose(polygamma(np.array([x], np.float32), n=n), [value], rtol=6e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poles_and_limits(dtype: Any) -> None:
    x = np.array([0.0, -0.0, -1.0, -7.0, INF, NAN, 1e-15, -1e-15], dtype)
    np.testing.assert_allclose(polygamma(x, n=1), [INF, INF, INF, INF, 0, NAN, 1e30, 1e30], rtol=1e-6)
    np.testing.assert_allclose(
        polygamma(x[4:], n=2), [0, NAN, -INF, INF] if dtype is np.float32 else [0, NAN, -2e45, 2e45]
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_keeps_dtype_and_shape(dtype: Any) -> None:
    for shape in ((), (0,), (2, 3)):
        found = polygamma(np.ones(shape, dtype), n=1)
        assert (type(found), found.dtype, found.shape) == (np.ndarray, dtype, shape)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 20])
def test_agrees_with_scipy(n: int) -> None:
    scipy_special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(n)
    for low, high in RANGES:
        x = np.exp(rng.uniform(np.log(low), np.log(high), 2000))
        np.testing.assert_allclose(polygamma(x, n=n), scipy_special.polygamma(n, x), rtol=2e-15 * max(1, n / 6))
        single = x.astype(np.float32)
        expected = scipy_special.polygamma(n, single.astype(np.float64))
        inside = (np.abs(expected) < 1e38) & (np.abs(expected) > 1e-30)
        np.testing.assert_allclose(polygamma(single, n=n)[inside], expected[inside], rtol=8e-7 * max(1, n / 4))
    below = rng.uniform(-8, 0, 2000)
    np.testing.assert_allclose(polygamma(below, n=n), scipy_special.polygamma(n, below), rtol=1e-9)
