"""Elementary and special functions: dtypes, special points, relations between them, PyTorch's values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from alike import DTYPES, check_alike, values

inf, nan = math.inf, math.nan

UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "logit", "erf", "erfc", "erfinv", "lgamma",
    "digamma", "sinc", "deg2rad", "rad2deg",
]  # fmt: skip
BINARY = ["atan2", "xlogy", "logaddexp", "logaddexp2", "hypot"]


def gradient(function: Callable[[Any], Any], *points: float) -> list[float]:
    x = torch.tensor(np.array(points), requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("name", UNARY)
def test_integers_give_the_default_float_dtype(name: str) -> None:
    assert getattr(torch, name)(torch.tensor([1])).dtype is torch.float32
    assert getattr(torch, name)(torch.tensor([1.0], dtype=torch.float16)).dtype is torch.float16


@pytest.mark.parametrize(
    ("name", "points", "expected"),
    [
        ("log", [0.0], [inf]),
        ("log1p", [-1.0], [inf]),
        ("asin", [1.0], [inf]),
        ("acos", [1.0], [-inf]),
        ("acosh", [1.0, 0.5], [inf, nan]),
        ("atanh", [1.0, 2.0], [inf, -1 / 3]),
        ("sigmoid", [1000.0, -1000.0, 0.0], [0.0, 0.0, 0.25]),
        ("logit", [0.5, 0.0, 1.0, 2.0], [4.0, inf, inf, nan]),
        ("erfinv", [1.0, 0.0], [inf, math.sqrt(math.pi) / 2]),
        ("lgamma", [1.0, 0.0], [-0.5772156649015329, -inf]),
        ("digamma", [1.0, 0.5], [math.pi**2 / 6, math.pi**2 / 2]),
        ("sinc", [0.0, 1.0], [0.0, -1.0]),
        ("exp2", [0.0], [math.log(2)]),
        ("deg2rad", [90.0], [math.pi / 180]),
    ],
)
def test_gradient_at_special_points(name: str, points: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(gradient(getattr(torch, name), *points), expected, rtol=1e-12)


def test_values_at_special_points() -> None:
    assert torch.sigmoid(torch.tensor([-1000.0, 1000.0])).tolist() == [0.0, 1.0]
    assert torch.sinc(torch.tensor([0.0])).tolist() == [1.0]
    assert torch.logaddexp(torch.tensor([-inf, inf]), torch.tensor([-inf, 1.0])).tolist() == [-inf, inf]
    assert torch.xlogy(torch.tensor([0.0, 0.0]), torch.tensor([0.0, nan])).isnan().tolist() == [False, True]
    assert torch.lgamma(torch.tensor([0.0, -1.0])).tolist() == [inf, inf]


def test_atan2_has_no_slope_at_the_origin() -> None:
    y = torch.tensor([0.0, 1.0], requires_grad=True)
    x = torch.tensor([0.0, 0.0], requires_grad=True)
    torch.atan2(y, x).sum().backward()
    assert y.grad.tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [0.0, -1.0]


def test_xlogy_with_numbers() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert gradient(lambda x: torch.xlogy(x, 0.0), 0.0, 1.0) == [0.0, -inf]
    assert gradient(lambda x: torch.xlogy(2.0, x), 4.0) == [0.5]
    assert [type(o.grad_fn).__name__ for o in (torch.xlogy(x, 2), torch.xlogy(2, x), torch.xlogy(x, x))] == [
        "XlogyBackward2", "XlogyBackward1", "XlogyBackward0",
    ]  # fmt: skip


def test_logit_clamps() -> None:
    x = [0.5, 0.0, 1.0, 2.0]
    out = torch.logit(torch.tensor(x), eps=0.1)
    np.testing.assert_allclose(out.tolist(), [0.0, -2.1972246, 2.1972246, 2.1972246], rtol=1e-6)
    assert gradient(lambda x: torch.logit(x, 0.1), *x) == [4.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "hypot"])
def test_floats_only(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"\"{name}\" not implemented for 'Long'"):
        getattr(torch, name)(torch.tensor([1]), torch.tensor([2]))


# Values from DLMF 5.15: psi'(1) = pi^2 / 6, psi'(1/2) = pi^2 / 2, psi''(1) = -2 zeta(3), psi'(-1/2) = pi^2 / 2 + 4.
@pytest.mark.parametrize(
    ("n", "x", "expected"),
    [
        (1, 1.0, math.pi**2 / 6),
        (1, 0.5, math.pi**2 / 2),
        (1, -0.5, math.pi**2 / 2 + 4),
        (2, 1.0, -2 * 1.2020569031595942),
        (0, 1.0, -0.5772156649015329),
        (1, inf, 0.0),
        (1, -3.0, inf),
    ],
)
def test_polygamma(n: int, x: float, expected: float) -> None:
    assert torch.polygamma(n, torch.tensor(np.array(x))).item() == pytest.approx(expected, rel=1e-13)


def test_polygamma_of_a_negative_order() -> None:
    with pytest.raises(RuntimeError, match="negative n"):
        torch.polygamma(-1, torch.ones(1))


@given(st.integers(1, 4), st.floats(-30, 30))
def test_polygamma_satisfies_its_recurrence(n: int, x: float) -> None:
    if abs(x - round(x)) < 1e-2:
        return
    here, next_ = torch.polygamma(n, torch.tensor(np.array([x, x + 1]))).tolist()
    term = (-1) ** n * math.factorial(n) / x ** (n + 1)
    assert next_ - here == pytest.approx(term, rel=1e-9, abs=1e-9 * abs(here))


@given(st.floats(-0.9999, 0.9999))
def test_inverse_functions(x: float) -> None:
    t = torch.tensor(np.array(x))
    for function, inverse in [("erf", "erfinv"), ("tanh", "atanh"), ("sin", "asin"), ("cos", "acos")]:
        assert getattr(torch, function)(getattr(torch, inverse)(t)).item() == pytest.approx(x, abs=1e-12)


# -- against PyTorch ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_every_dtype_like_pytorch(name: str) -> None:
    for dtype, shape in itertools.product(DTYPES, [(), (2, 3)]):
        check_alike(lambda torch, a, b: getattr(torch, name)(a), values(dtype, shape), np.zeros(0))


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_dtypes_like_pytorch(name: str) -> None:
    for one, two in itertools.product(DTYPES, DTYPES):
        check_alike(lambda torch, a, b: getattr(torch, name)(a, b), values(one, (2, 3)), values(two, (3,)))
