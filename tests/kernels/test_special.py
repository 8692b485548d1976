"""Special functions, against exact values, SciPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch._kernels.special import digamma, erf, erfc, erfinv, lgamma

FUNCTIONS = {"erf": erf, "erfc": erfc, "erfinv": erfinv, "lgamma": lgamma, "digamma": digamma}
INF, NAN = np.inf, np.nan

# Arguments and values, correctly rounded from 50 digits.
EXACT: dict[str, list[tuple[float, float]]] = {
    "erf": [
        (1e-300, 1.1283791670955126e-300),
        (0.015625, 0.017629489782642005),
        (0.25, 0.27632639016823696),
        (0.5, 0.5204998778130465),
        (0.5625, 0.5736744566155919),
        (1.0, 0.8427007929497149),
        (-1.5, -0.9661051464753108),
        (2.75, 0.9998993780778803),
        (-4.0, -0.9999999845827421),
        (5.5, 0.9999999999999927),
    ],
    "erfc": [
        (-3.0, 1.9999779095030015),
        (-0.75, 1.7111556336535152),
        (0.25, 0.7236736098317631),
        (0.5, 0.4795001221869535),
        (0.625, 0.376759117811582),
        (1.0, 0.15729920705028513),
        (2.5, 0.0004069520174449589),
        (5.0, 1.537459794428035e-12),
        (9.0, 4.13703174651381e-37),
        (26.0, 5.663192408856143e-296),
    ],
    "erfinv": [
        (1e-300, 8.86226925452758e-301),
        (0.0625, 0.05544594877278202),
        (0.5, 0.4769362762044699),
        (-0.75, -0.8134198475976185),
        (0.984375, 1.7094723742995115),
        (0.9921875, 1.8809517454731395),
        (-0.9999, -2.75106390571208),
    ],
    "lgamma": [
        (1e-300, 690.7755278982137),
        (0.0625, 2.7396316219462036),
        (0.5, 0.5723649429247001),
        (0.9921875, 0.004559888861804559),
        (1.0078125, -0.0044594880379522995),
        (1.46875, -0.12146183058765041),
        (1.9921875, -0.003283288599221334),
        (2.0078125, 0.00332265240410265),
        (3.5, 1.2009736023470743),
        (7.75, 8.025458396315983),
        (8.0, 8.525161361065415),
        (100.0, 359.1342053695754),
        (1e30, 6.807755278982137e31),
        (-0.25, 1.589575312551186),
        (-1.5, 0.860047015376481),
        (-7.25, -7.54188344347575),
    ],
    "digamma": [
        (1e-300, -9.999999999999999e299),
        (0.0625, -16.478853490060104),
        (0.5, -1.9635100260214235),
        (1.0, -0.5772156649015329),
        (1.4609375, -0.0006724023902428804),
        (1.46875, 0.006865411470735777),
        (2.0, 0.42278433509846713),
        (2.5, 0.7031566406452432),
        (7.75, 1.9817915626943456),
        (8.0, 2.01564147795561),
        (100.0, 4.600161852738087),
        (1e30, 69.07755278982137),
        (-0.25, 2.9141391202135276),
        (-1.75, -2.322691628614361),
        (-7.375, 3.365653462874429),
    ],
}
# Where the functions are infinite, undefined or zero: as PyTorch's.
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (1e300, 1.0)],
    "erfc": [(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (40.0, 0.0), (-40.0, 2.0)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-2.0, NAN), (INF, NAN), (NAN, NAN)],
    "lgamma": [
        (0.0, INF),
        (-0.0, INF),
        (-1.0, INF),
        (-7.0, INF),
        (1.0, 0.0),
        (2.0, 0.0),
        (INF, INF),
        (-INF, INF),
        (NAN, NAN),
    ],
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (-7.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


# Alone, the values may take another way than among many.
@pytest.mark.parametrize("copies", [1, 100, 20_000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_exact_values(name: str, copies: int) -> None:
    x, expected = np.array(EXACT[name]).T
    np.testing.assert_allclose(FUNCTIONS[name](np.tile(x, copies)), np.tile(expected, copies), rtol=2.5e-15)
    # Those that float32 holds: the arguments exactly, the values at full precision.
    held = (x.astype(np.float32) == x) & (np.abs(expected) > np.finfo(np.float32).tiny)
    assert held.sum() >= 5
    single = FUNCTIONS[name](np.tile(x[held], copies).astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.tile(expected[held], copies), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("copies", [1, 30])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_points(name: str, copies: int, dtype: type) -> None:
    x, expected = np.array(SPECIAL[name]).T
    result = FUNCTIONS[name](np.tile(x, copies).astype(dtype))
    np.testing.assert_array_equal(result, np.tile(expected, copies))
    zeros = expected == 0
    if name in ("erf", "erfinv"):
        np.testing.assert_array_equal(np.signbit(result[: x.size][zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (5, 7), (300, 200)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shape_dtype_and_layout(name: str, shape: tuple[int, ...], dtype: type) -> None:
    x = np.random.default_rng(0).uniform(0.05, 0.95, shape).astype(dtype)
    before = x.copy()
    result = FUNCTIONS[name](x)
    assert type(result) is np.ndarray
    assert result.base is None
    assert result.shape == shape
    assert result.dtype == dtype
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(FUNCTIONS[name](x.T), result.T, rtol=1e-6 if dtype != np.float16 else 2e-3)


def _uniform(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(1).uniform(low, high, 20_000)


def _spread(low: float, high: float) -> np.ndarray:
    return 10 ** _uniform(low, high)


# Arguments, and the relative error allowed in float64 and in float32.
RANGES: list[tuple[str, np.ndarray, float, float]] = [
    ("erf", _uniform(-6, 6), 1e-15, 6e-7),
    ("erf", _spread(-30, 0), 1e-15, 6e-7),
    ("erfc", _uniform(-6, 3), 3e-15, 6e-7),
    ("erfinv", _uniform(-1, 1), 2e-15, 4e-7),
    ("erfinv", 1 - _spread(-15, -1), 2e-15, 4e-7),
    ("erfinv", _spread(-30, -1), 2e-15, 4e-7),
    ("lgamma", _uniform(2.1, 9), 3e-15, 1.5e-6),
    ("lgamma", _spread(1, 30), 2e-15, 5e-7),
    ("lgamma", _spread(-30, -1), 2e-15, 5e-7),
    ("digamma", _uniform(0, 9), 4e-15, 2e-6),
    ("digamma", _spread(0.5, 30), 2e-15, 5e-7),
    ("digamma", -_spread(-20, -1), 2e-15, 5e-7),
]


@pytest.mark.parametrize("index", range(len(RANGES)))
def test_agrees_with_scipy(index: int) -> None:
    scipy_special = pytest.importorskip("scipy.special")
    name, x, wide, narrow = RANGES[index]
    reference: Callable[..., np.ndarray] = getattr(scipy_special, {"lgamma": "gammaln"}.get(name, name))
    np.testing.assert_allclose(FUNCTIONS[name](x), reference(x), rtol=wide)
    single = x.astype(np.float32)
    expected = reference(single.astype(np.float64))
    np.testing.assert_allclose(FUNCTIONS[name](single), expected, rtol=narrow)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_below_zero_agrees_with_scipy(name: str) -> None:
    scipy_special = pytest.importorskip("scipy.special")
    x = _uniform(-20, 0)
    reference = getattr(scipy_special, {"lgamma": "gammaln"}.get(name, name))
    np.testing.assert_allclose(FUNCTIONS[name](x), reference(x), rtol=2e-10, atol=2e-14)


def test_erf_in_float32_is_within_its_bound() -> None:
    x = np.linspace(-6, 6, 100_001, dtype=np.float32)
    assert np.abs(erf(x) - erf(x.astype(np.float64))).max() < 1.6e-7


def test_erfc_keeps_its_tail() -> None:
    x = np.linspace(1, 9, 1001, dtype=np.float32)
    np.testing.assert_allclose(erfc(x), erfc(x.astype(np.float64)), rtol=1e-6)


def test_inverse() -> None:
    x = np.linspace(-4, 4, 4001)
    np.testing.assert_allclose(erfinv(erf(x[1000:3001])), x[1000:3001], rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(erf(erfinv(x / 4.001)), x / 4.001, rtol=1e-15, atol=1e-300)


def test_recurrences() -> None:
    x = np.random.default_rng(2).uniform(-8, 12, 5000)
    np.testing.assert_allclose(lgamma(x + 1), lgamma(x) + np.log(np.abs(x)), atol=1e-11)
    np.testing.assert_allclose(digamma(x + 1) - digamma(x), 1 / x, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_pytorch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.concatenate([np.array(SPECIAL[name]).T[0], _uniform(-0.99, 0.99)[:500], _uniform(1.6, 30)[:500]]).astype(
        dtype
    )
    expected = getattr(torch, name)(torch.tensor(x)).numpy()
    tolerance = {"float32": 5e-6, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(FUNCTIONS[name](x), expected, rtol=tolerance, atol=tolerance)
