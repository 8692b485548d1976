"""Finite differences and their errors: ``numerical_jacobian``, and the table of steps under it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import numerical_jacobian
from minitorch.autograd._differences import DOUBLE, KINDS, Line, examine, rounding_noise, steps_between

F64, F32 = torch.float64, torch.float32

SMOOTH: dict[str, tuple[Any, Any, list[float]]] = {
    "sine": (torch.sin, torch.cos, [0.3, -2.0, 40.0, 1000.0]),
    "logarithm": (torch.log, lambda x: 1 / x, [1e-8, 1e-3, 2.0, 1e6]),
    "root": (torch.sqrt, lambda x: 0.5 / x.sqrt(), [1e-8, 0.2, 30.0]),
    "exponential": (torch.exp, torch.exp, [-30.0, 0.0, 1.5, 60.0]),
    "cube": (lambda x: x**3, lambda x: 3 * x * x, [0.0, 1e-6, -2.0, 1e5]),
    "beside a large number": (lambda x: x.sin() + 1e6, torch.cos, [0.3, 1.2]),
    "tanh": (torch.tanh, lambda x: 1 - x.tanh() ** 2, [0.0, 0.5, -2.0]),
}


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("name", SMOOTH)
def test_the_error_covers_the_difference_and_is_small(name: str, dtype: Any) -> None:
    fn, slope, points = SMOOTH[name]
    if dtype is F32:
        points = [p for p in points if 1e-4 < abs(p) < 100 or p == 0]
    x = torch.tensor(points, dtype=dtype)
    value, error = numerical_jacobian(fn, x, with_error=True)
    true = slope(x.double())
    off = (value.diag() - true).abs()
    assert bool((off <= 2 * error.diag() + 1e-13 * true.abs()).all())
    if name != "beside a large number":
        assert bool((error.diag() <= (1e-7 if dtype is F64 else 1e-2) * true.abs() + 1e-8).all())
    else:
        assert bool((error.diag() <= 1e-2 if dtype is F64 else error.diag() >= 1e-3).all())


def test_forms() -> None:
    a, b = torch.ones(2, 3, dtype=F64), torch.ones(3, dtype=F64)
    one = numerical_jacobian(lambda a: a.sum(1), a)
    assert one.shape == (2, 2, 3)
    pair = numerical_jacobian(lambda a, b: a @ b, (a, b))
    assert [t.shape for t in pair] == [(2, 2, 3), (2, 3)]
    rows = numerical_jacobian(lambda a, b: (a @ b, b.sum()), (a, b))
    assert [[tuple(t.shape) for t in row] for row in rows] == [[(2, 2, 3), (2, 3)], [(2, 3), (3,)]]
    assert rows[1][1].tolist() == pytest.approx([1.0] * 3)
    assert numerical_jacobian(lambda a, n: a * n, (a, 3))[0].shape == (2, 3, 2, 3)
    assert numerical_jacobian(lambda x: x * 2, torch.ones(0)).shape == (0, 0)


@pytest.mark.parametrize(("method", "order"), [("central", 2), ("forward", 1), ("backward", 1)])
def test_single_steps(method: str, order: int) -> None:
    x = torch.tensor([0.7], dtype=F64)
    errors = [abs(numerical_jacobian(torch.exp, x, method=method, step=h).item() - np.exp(0.7)) for h in (1e-2, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(10**order, rel=0.1)
    value, error = numerical_jacobian(torch.exp, x, method=method, with_error=True)
    assert abs(value.item() - np.exp(0.7)) <= error.item() < 1e-4


def test_refusals() -> None:
    x = torch.ones(2)
    with pytest.raises(ValueError, match="method must be one of"):
        numerical_jacobian(torch.sin, x, method="middle")
    with pytest.raises(ValueError, match="extrapolation chooses"):
        numerical_jacobian(torch.sin, x, step=0.1)
    with pytest.raises(ValueError, match="at least one tensor of floats"):
        numerical_jacobian(torch.sin, torch.ones(2, dtype=torch.int64))


def kinds(fn: Any, point: float = 0.0) -> str:
    line = Line(lambda t: (t, np.atleast_1d(fn(np.float64(point + t)))), np.atleast_1d(fn(np.float64(point))))
    noise = rounding_noise(line, (DOUBLE.step / 2, 2 * DOUBLE.finest), DOUBLE.unit)
    seen = examine(line, steps_between(DOUBLE.coarsest, DOUBLE.finest), noise, DOUBLE.equal)
    return KINDS[seen.kind[0]]


def test_kinds_of_points() -> None:
    with np.errstate(all="ignore"):
        assert kinds(np.abs) == "kink"
        assert kinds(lambda x: np.abs(x) ** 1.5) == "smooth"
        assert kinds(lambda x: x * x) == "smooth"
        assert kinds(np.sign) == "discontinuity"
        assert kinds(lambda x: np.floor(x) + x * x, 3.0) == "discontinuity"
        assert kinds(np.sqrt) == "vertical slope"
        assert kinds(np.cbrt) == "vertical slope"
        assert kinds(lambda x: x * np.log(x) if x > 0 else np.where(x == 0, 0.0, np.nan)) == "vertical slope"
        assert kinds(lambda x: x**1.5) == "edge of the domain"
        assert kinds(lambda x: np.where(x == 0, 1.0, np.nan)) == "undefined"
        assert kinds(lambda x: np.abs(x), 1e-3) == "smooth"


def test_noise_is_measured() -> None:
    rng = np.random.default_rng(0)
    line = Line(lambda t: (t, np.array([np.sin(t), np.sin(t) + 1e-6 * rng.normal()])), np.array([0.0, 0.0]))
    exact, noisy = rounding_noise(line, (1e-5, 1e-7), DOUBLE.unit)
    assert exact < 1e-15
    assert 1e-7 < noisy < 1e-4


# -- edges -----------------------------------------------------------------------------------------------------------------
def test_a_number_of_a_number() -> None:
    x = torch.tensor(2.0, dtype=torch.float64)
    value, error = torch.autograd.numerical_jacobian(lambda x: x**3, x, with_error=True)
    assert value.shape == error.shape == ()
    assert abs(value.item() - 12) < 1e-8


def test_the_error_at_a_kink_covers_both_slopes() -> None:
    x = torch.zeros(3, dtype=torch.float64)
    value, error = torch.autograd.numerical_jacobian(torch.abs, x, with_error=True)
    assert ((value.diagonal() - 1).abs() <= error.diagonal() + 1e-9).all()
    assert ((value.diagonal() + 1).abs() <= error.diagonal() + 1e-9).all()
    assert error[0, 1] < 1e-9
    _, error = torch.autograd.numerical_jacobian(torch.abs, x + 1, with_error=True)
    assert error.max() < 1e-6


@pytest.mark.parametrize("step", [0, 0.0, -1.0, float("nan"), float("inf")])
def test_a_step_is_positive(step: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        torch.autograd.numerical_jacobian(torch.sin, torch.ones(2), method="central", step=step)


@pytest.mark.parametrize("result", [2, None, torch.tensor([1, 2]), (torch.ones(2), 3.0), (torch.ones(2), {})])
def test_what_is_no_tensor_of_floats_has_no_jacobian(result: Any) -> None:
    with pytest.raises(TypeError, match="return tensors of floats, got"):
        torch.autograd.numerical_jacobian(lambda x: result, torch.ones(2))


def test_dicts_are_not_taken() -> None:
    with pytest.raises(TypeError, match="dicts are not taken"):
        torch.autograd.numerical_jacobian(lambda x: x, {"x": torch.ones(2)})


def test_the_function_may_write_into_its_input() -> None:
    x = torch.ones(2, dtype=torch.float64)
    found = torch.autograd.numerical_jacobian(lambda x: x.mul_(3), x)
    assert torch.allclose(found, 3 * torch.eye(2, dtype=torch.float64))
    assert x.tolist() == [1.0, 1.0]
    y = x.clone().requires_grad_()
    second = torch.autograd.numerical_jacobian(lambda x: torch.autograd.grad((x**3).sum(), x)[0], y)
    assert torch.allclose(second, 6 * torch.eye(2, dtype=torch.float64))
    assert not second.requires_grad


def test_it_is_refused_where_it_would_be_a_constant_silently() -> None:
    x = torch.ones(2, dtype=torch.float64)

    def total(x: Any) -> Any:
        return torch.autograd.numerical_jacobian(torch.sin, x).sum()

    for transformed in (torch.func.grad(total), lambda x: torch.func.jvp(total, (x,), (x,))):
        with pytest.raises(RuntimeError, match="would be a constant"):
            transformed(x)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with pytest.raises(RuntimeError, match="would be a constant"):
            total(dual)
        assert total(x) is not None


def test_examples_of_a_map_have_no_jacobian_of_their_own() -> None:
    with pytest.raises(RuntimeError, match="inside of a transform"):
        torch.func.vmap(lambda x: torch.autograd.numerical_jacobian(torch.sin, x))(torch.ones(3))
