"""``torch.special``: exact values, SciPy's, PyTorch's at special points and of all dtypes, derivatives that are missing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch as torch

inf, nan = math.inf, math.nan

# Arguments and values, correctly rounded from 30 digits.
EXACT: list[tuple[str, tuple[float, ...], float]] = [
    ("i0", (1.0,), 1.2660658777520083),
    ("i1", (9.0,), 1030.9147225169565),
    ("i0e", (-20.0,), 0.08978031188482602),
    ("bessel_j0", (1.0,), 0.7651976865579666),
    ("bessel_j1", (20.0,), 0.06683312417584991),
    ("bessel_y0", (1.0,), 0.08825696421567697),
    ("bessel_y1", (20.0,), -0.16551161436252129),
    ("modified_bessel_k0", (1.0,), 0.42102443824070834),
    ("modified_bessel_k1", (5.0,), 0.004044613445452164),
    ("airy_ai", (1.0,), 0.13529241631288141),
    ("airy_ai", (-1.0,), 0.5355608832923521),
    ("ndtri", (0.975,), 1.9599639845400543),
    ("erfcx", (30.0,), 0.018795888861416752),
    ("zeta", (2.0, 1.0), math.pi**2 / 6),
    ("zeta", (3.0, -0.5), 8.4143983221171603 - 8),
    ("gammainc", (1.0, 1.0), 1 - math.exp(-1)),
    ("gammaincc", (0.5, 4.0), 0.004677734981047266),
    ("entr", (0.5,), math.log(2) / 2),
    ("multigammaln", (3.5, 1), 1.2009736023470743),
    ("hermite_polynomial_h", (0.5, 3), -5.0),
    ("hermite_polynomial_he", (0.5, 3), -1.375),
    ("laguerre_polynomial_l", (0.5, 2), 0.125),
    ("legendre_polynomial_p", (0.5, 2), -0.125),
    ("chebyshev_polynomial_t", (0.5, 3), -1.0),
    ("chebyshev_polynomial_u", (0.5, 2), 0.0),
    ("chebyshev_polynomial_v", (1.0, 20), 1.0),
    ("chebyshev_polynomial_w", (1.0, 20), 41.0),
    ("shifted_chebyshev_polynomial_t", (0.25, 2), -0.5),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), EXACT)
def test_exact_values(name: str, arguments: tuple[float, ...], expected: float) -> None:
    first, *rest = (torch.tensor(a, dtype=torch.float64) if isinstance(a, float) else a for a in arguments)
    value = getattr(torch.special, name)(first, *rest)
    assert value.item() == pytest.approx(expected, rel=2e-15, abs=1e-15)
    single = getattr(torch.special, name)(first.float(), *[r.float() if torch.is_tensor(r) else r for r in rest])
    assert single.dtype is torch.float32
    assert single.item() == pytest.approx(expected, rel=3e-7, abs=3e-7)


def test_all_names_are_there_and_documented() -> None:
    for name in torch.special.__all__:
        assert getattr(torch.special, name).__doc__
    theirs = pytest.importorskip("torch")
    assert set(torch.special.__all__) == set(theirs.special.__all__)


# -- against SciPy -----------------------------------------------------------------------------------------------------
X = np.concatenate([np.linspace(-25, 25, 801), np.geomspace(1e-8, 300, 100)])
POSITIVE = np.concatenate([np.linspace(0.01, 30, 600), np.geomspace(1e-8, 300, 100)])
SCIPY: list[tuple[str, str, np.ndarray, float]] = [  # with the relative error that SciPy's and ours have together
    ("i0", "i0", X, 2e-15),
    ("i0e", "i0e", X, 2e-15),
    ("i1", "i1", X, 4e-15),
    ("i1e", "i1e", X, 4e-15),
    ("modified_bessel_k0", "k0", POSITIVE, 4e-15),
    ("modified_bessel_k1", "k1", POSITIVE, 4e-15),
    ("scaled_modified_bessel_k0", "k0e", POSITIVE, 4e-15),
    ("scaled_modified_bessel_k1", "k1e", POSITIVE, 4e-15),
    ("erfcx", "erfcx", X, 2e-15),
    ("ndtri", "ndtri", np.linspace(1e-9, 1 - 1e-9, 801), 4e-15),
    ("ndtr", "ndtr", np.linspace(-8, 8, 801), 2e-14),
    ("log_ndtr", "log_ndtr", np.linspace(-40, 8, 801), 1e-13),
    ("entr", "entr", X, 2e-15),
]


@pytest.mark.parametrize(("ours", "theirs", "x", "tolerance"), SCIPY)
def test_scipys_values(ours: str, theirs: str, x: np.ndarray, tolerance: float) -> None:
    special = pytest.importorskip("scipy.special")
    function = getattr(torch.special, ours)
    expected = getattr(special, theirs)(x)
    np.testing.assert_allclose(function(torch.tensor(x)).numpy(), expected, rtol=tolerance)
    single = function(torch.tensor(x.astype(np.float32))).numpy()
    expected = getattr(special, theirs)(x.astype(np.float32).astype(np.float64))
    expected = np.where(np.abs(expected) > 3e38, np.copysign(inf, expected), expected)
    np.testing.assert_allclose(single, expected, rtol=3e-7, atol=1e-37)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1", "airy"])
def test_oscillating_functions_to_absolute_accuracy(name: str) -> None:
    special = pytest.importorskip("scipy.special")
    x = X if name in ("j0", "j1") else POSITIVE if name != "airy" else np.linspace(-20, 10, 801)
    expected = special.airy(x)[0] if name == "airy" else getattr(special, name)(x)
    ours = getattr(torch.special, "airy_ai" if name == "airy" else f"bessel_{name}")
    np.testing.assert_allclose(ours(torch.tensor(x)).numpy(), expected, rtol=1e-14, atol=1e-14)


def test_incomplete_gamma_functions_like_scipys() -> None:
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(-5, 8, 2000))
    x = a * np.exp(rng.normal(size=2000) * np.where(a > 20, 3 / np.sqrt(a), 1))
    for ours, theirs in ((torch.igamma, special.gammainc), (torch.igammac, special.gammaincc)):
        np.testing.assert_allclose(
            ours(torch.tensor(a), torch.tensor(x)).numpy(), theirs(a, x), rtol=1e-12, atol=1e-300
        )


def test_zeta_like_scipys() -> None:
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(0)
    s, q = rng.uniform(1.01, 120, 1000), np.exp(rng.uniform(-3, 6, 1000))
    np.testing.assert_allclose(
        torch.special.zeta(torch.tensor(s), torch.tensor(q)).numpy(), special.zeta(s, q), rtol=2e-14
    )


# -- against PyTorch ---------------------------------------------------------------------------------------------------
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 9.0, inf, -inf, nan]
ONE = [n for n in minitorch.special.__all__ if any(k in n for k in ("bessel", "airy", "ndtr", "entr", "erfcx"))]
ONE += ["i0", "i0e", "i1", "i1e"]
TWO = ["xlog1py", "zeta"] + [n for n in minitorch.special.__all__ if "polynomial" in n]


def alike(call: Callable[[Any], Any], least: float = 1e-12) -> None:
    theirs = pytest.importorskip("torch")
    a, b = call(minitorch), call(theirs)
    assert str(a.dtype) == str(b.dtype)
    assert a.requires_grad == b.requires_grad
    tolerance = {"torch.float64": least, "torch.float32": 2e-5}.get(str(b.dtype), 5e-3)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_like_pytorch(name: str) -> None:
    least = {"airy_ai": 1e-5}.get(name, 1e-8 if name[:8] in ("bessel_j", "bessel_y") else 1e-12)  # PyTorch's own errors
    alike(lambda t: getattr(t.special, name)(t.tensor(POINTS, dtype=t.float64)), least)
    alike(lambda t: getattr(t.special, name)(t.tensor(POINTS)))
    alike(lambda t: getattr(t.special, name)(t.tensor([1, 2, 3])))
    alike(lambda t: getattr(t.special, name)(t.tensor(0.5, requires_grad=True)))
    alike(lambda t: getattr(t.special, name)(t.zeros(0, 2)))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_like_pytorch(name: str) -> None:
    function = lambda t: getattr(t.special, name)
    finite = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1.5]
    degrees = [-1.0, 0.0, 1.0, 2.0, 3.7, 12.0] if "polynomial" in name else [0.5, 1.0, 2.0, 9.0]
    pairs = np.array(list(itertools.product(finite, degrees)))
    alike(lambda t: function(t)(t.tensor(pairs[:, 0]), t.tensor(pairs[:, 1])))
    alike(lambda t: function(t)(t.tensor([[0.25], [0.75]]), t.tensor([1, 2])))
    alike(lambda t: function(t)(t.tensor([0.25, 0.75]), 2))
    alike(lambda t: function(t)(0.25, t.tensor([1.0, 2.0])))
    alike(lambda t: function(t)(t.tensor([2, 3]), t.tensor([1, 2])))


def test_gradients_at_zero_like_pytorch() -> None:
    for name in ("i0", "i0e", "i1", "i1e", "erfcx", "ndtr", "log_ndtr", "entr"):
        alike(lambda t, name=name: _slope(t, getattr(t.special, name), [0.0, -1.0, 2.0]))
    alike(lambda t: _slope(t, lambda x: t.special.xlog1py(x, t.tensor([-1.0, 0.0, 1.0])), [0.0, 0.0, 2.0]))


def _slope(t: Any, function: Callable[[Any], Any], points: list[float]) -> Any:
    x = t.tensor(points, requires_grad=True)
    function(x).sum().backward()
    return x.grad


def test_derivatives_far_out_and_close_to_zero() -> None:
    """Where terms of the closed forms cancel, or their squares are beyond all numbers."""
    double = [("log_ndtr", 39.0, 0.0, -0.0), ("log_ndtr", 1e20, 0.0, -0.0), ("log_ndtr", -1e20, 1e20, -1.0)]
    double += [("log_ndtr", 0.5, 0.50916043387, -0.51382467), ("i1e", 1e-200, 0.5, 0.0), ("i1", 1e-200, 0.5, 0.0)]
    double += [("erfcx", 1e20, -1 / math.sqrt(math.pi) * 1e-40, 0.0), ("sinc", 1e8, 1e-8, 0.0)]
    double += [("erfcx", 26.0, -0.00083274897, 0.0000638638)]
    for name, x, slope, bend in double:
        _check_derivatives(name, torch.tensor(x, dtype=torch.float64), slope, bend)
    single = [("log_ndtr", 15.0, 0.0, 0.0), ("log_ndtr", 1e20, 0.0, 0.0), ("log_ndtr", -1e3, 1e3, -1.0)]
    single += [("erfcx", 1e3, -5.6419e-7, 1.1284e-9), ("sinc", 1e10, 0.0, 0.0)]
    for name, x, slope, bend in single:
        _check_derivatives(name, torch.tensor(x), slope, bend)
    assert torch.special.erfcx(torch.tensor([-1e20, -math.inf], dtype=torch.float64)).isposinf().all()


def _check_derivatives(name: str, x: torch.Tensor, slope: float, bend: float) -> None:
    function = getattr(torch.special, name)
    first, second = torch.func.grad(function), torch.func.grad(torch.func.grad(function))
    absolute = 1e-6 if x.dtype is torch.float32 else 1e-7
    assert first(x).item() == pytest.approx(slope, rel=1e-6, abs=absolute), (name, x)
    assert second(x).item() == pytest.approx(bend, rel=1e-3, abs=absolute), (name, x)


def test_derivatives_that_are_missing() -> None:
    a, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    for function in (torch.igamma, torch.igammac, torch.special.zeta):
        with pytest.raises(NotImplementedError, match=r"the derivative for .* is not implemented"):
            function(a, x).backward()
    assert not torch.special.bessel_j0(a).requires_grad
    with pytest.raises(RuntimeError, match="greater than or equal to 1"):
        torch.mvlgamma(x, 0)
    with pytest.raises(NotImplementedError, match="igamma_cpu"):
        torch.igamma(torch.tensor([1]), torch.tensor([1]))
