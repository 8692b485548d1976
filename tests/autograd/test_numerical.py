"""Finite differences and their errors: ``numerical_jacobian``, and the table of steps under it."""

from __future__ import annotations

import math
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


# -- honesty -------------------------------------------------------------------------------------------------------------
RNG = np.random.default_rng(0)


def sized(low: float, high: float, count: int = 60) -> np.ndarray:
    """Numbers of both signs whose logarithms are spread evenly."""
    return np.asarray(10 ** RNG.uniform(low, high, count) * RNG.choice([-1, 1], count))


HONEST: dict[str, tuple[Any, Any, np.ndarray]] = {
    "root": (torch.sqrt, lambda x: 0.5 / np.sqrt(x), np.append(abs(sized(-30, 4)), 0)),
    "root to both sides": (lambda x: x.abs() ** 0.5, lambda x: np.sign(x) / 2 / np.sqrt(abs(x)), sized(-12, 2)),
    "logarithm": (torch.log, lambda x: 1 / x, abs(sized(-30, 4))),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, sized(-8, 4)),
    "step": (torch.sign, lambda x: 0 * x, sized(-8, 1)),
    "floor": (torch.floor, lambda x: 0 * x, RNG.uniform(-9, 9, 60)),
    "choice": (lambda x: torch.where(x > 0, x + 1, x), lambda x: 1 + 0 * x, sized(-8, 1)),
    "relu": (torch.relu, lambda x: np.where(x > 0, 1.0, 0.0), np.append(sized(-8, 2), 0)),
    "two kinks": (
        lambda x: (x - 1).relu() + (x - 1.001).relu(),
        lambda x: 1.0 * (x > 1) + (x > 1.001),
        RNG.uniform(0.9, 1.1, 60),
    ),
    "sine": (torch.sin, np.cos, np.concatenate([RNG.uniform(-10, 10, 60), sized(-5, 4)])),
    "fast sine": (lambda x: (20 * x).sin(), lambda x: 20 * np.cos(20 * x), RNG.uniform(-3, 3, 120)),
    "faster and faster": (lambda x: (1 / x).sin(), lambda x: -np.cos(1 / x) / x**2, RNG.uniform(0.05, 2, 60)),
    "exponential": (torch.exp, np.exp, RNG.uniform(-30, 30, 60)),
    "cube": (lambda x: x**3, lambda x: 3 * x * x, sized(-6, 4)),
    "bell": (lambda x: (-x * x).exp(), lambda x: -2 * x * np.exp(-x * x), RNG.uniform(-6, 6, 60)),
    "spike": (lambda x: 1 / (1 + 1e4 * x * x), lambda x: -2e4 * x / (1 + 1e4 * x * x) ** 2, RNG.uniform(-2, 2, 60)),
    "edge": (
        torch.asin,
        lambda x: 1 / np.sqrt(1 - x * x),
        np.append(RNG.uniform(-1, 1, 30), 1 - abs(sized(-9, 0, 30))),
    ),
    "beside a large number": (lambda x: x.sin() + 1e6, np.cos, RNG.uniform(-3, 3, 60)),
}


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_no_entry_is_further_off_than_is_said(dtype: Any) -> None:
    count, wrong = 0, []
    for name, (fn, slope, points) in HONEST.items():
        for x in torch.from_numpy(points).to(dtype):
            value, error = numerical_jacobian(fn, x, with_error=True)
            with np.errstate(divide="ignore"):
                true = float(slope(np.float64(x.item())))
            count += 1
            if not (abs(value.item() - true) <= error.item() or error.item() == np.inf):
                wrong.append((name, x.item(), value.item(), true, error.item()))
    assert count > 1000
    assert len(wrong) <= count / 1000, wrong


WIDE: dict[str, tuple[Any, Any, bool]] = {
    # function, slope, whether points below 0 belong to it
    "square": (lambda x: x**2, lambda x: 2 * x, True),
    "cube": (lambda x: x**3, lambda x: 3 * x * x, True),
    "line": (lambda x: 3 * x + 1, lambda x: 3 + 0 * x, True),
    "root": (torch.sqrt, lambda x: 0.5 / np.sqrt(x), False),
    "root to both sides": (lambda x: x.abs().sqrt(), lambda x: np.sign(x) / 2 / np.sqrt(abs(x)), True),
    "cube root": (lambda x: x.sign() * x.abs() ** (1 / 3), lambda x: abs(x) ** (-np.longdouble(2) / 3) / 3, True),
    "power": (lambda x: x**1.5, lambda x: 1.5 * np.sqrt(x), False),
    "logarithm": (torch.log, lambda x: 1 / x, False),
    "x log x": (lambda x: x * x.log(), lambda x: 1 + np.log(x), False),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, True),
    "exponential": (torch.exp, np.exp, True),
    "tanh": (torch.tanh, lambda x: 1 / np.cosh(x) ** 2, True),
    "arctangent": (torch.atan, lambda x: 1 / (1 + x * x), True),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (2 + np.exp(-x) + np.exp(x)), True),
    "hypotenuse": (lambda x: (1 + x * x).sqrt(), lambda x: x / np.sqrt(1 + x * x), True),
    "softplus": (torch.nn.functional.softplus, lambda x: 1 / (1 + np.exp(-x)), True),
    "absolute": (torch.abs, np.sign, True),
    "relu": (torch.relu, lambda x: np.where(x > 0, 1.0, 0.0), True),
    "step": (torch.sign, lambda x: 0 * x, True),
    "absorbed": (lambda x: (x + 1) - 1, lambda x: 1 + 0 * x, True),
    "absorbed square": (lambda x: (x + 1) ** 2 - 1, lambda x: 2 * (x + 1), True),
    "sine": (torch.sin, np.cos, True),
}
STEEP_OR_ROUNDED = ("step", "absolute", "relu", "absorbed", "absorbed square", "sine", "hypotenuse")


def wide(dtype: Any, method: str) -> tuple[int, list[Any], list[Any]]:
    """How many bounds there are at points of all sizes; those that do not hold; and those of smooth functions that are wide."""
    rng = np.random.default_rng(5)
    count, wrong, loose = 0, [], []
    for name, (fn, slope, below) in WIDE.items():
        for size in (200, 20, 3) if dtype is F64 else (28, 8, 3):
            for place in 10.0 ** rng.uniform(-size, size, 6) * (rng.choice([-1, 1], 6) if below else 1):
                x = torch.tensor(place, dtype=dtype)
                with np.errstate(all="ignore"):
                    true = slope(np.longdouble(x.item()))
                    if not np.isfinite(float(true)) or not np.isfinite(fn(x).item()):
                        continue
                value, error = [t.item() for t in numerical_jacobian(fn, x, method=method, with_error=True)]
                count += 1
                if not abs(value - true) <= error:
                    wrong.append((name, place, value, float(true), error))
                if error > 1e-4 * abs(true) + 1e-8 and name not in STEEP_OR_ROUNDED:
                    loose.append((name, place, value, float(true), error))
    return count, wrong, loose


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_bounds_hold_from_tiny_to_huge_points(dtype: Any) -> None:
    count, wrong, loose = wide(dtype, "extrapolated")
    assert count > 350
    assert len(wrong) <= count / 1000, wrong
    if dtype is F64:
        assert len(loose) <= count / 50, loose


@pytest.mark.parametrize("power", [-250, -150, -60, -30, -15, 0, 30, 150])
def test_tiny_points_have_steps_of_their_own_size(power: int) -> None:
    point = 10.0**power
    for fn, slope in ((torch.sqrt, 0.5 * point**-0.5), (torch.log, 1 / point), (lambda x: 3 * x.abs(), 3.0)):
        value, error = numerical_jacobian(fn, torch.tensor(point, dtype=F64), with_error=True)
        assert abs(value.item() - slope) <= error.item() <= 1e-8 * slope
    if power > -160:
        value, error = numerical_jacobian(lambda x: x**2, torch.tensor(point, dtype=F64), with_error=True)
        assert abs(value.item() - 2 * point) <= error.item() <= 1e-8 * point


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_where_next_numbers_are_too_far_apart_no_bound_is_said(dtype: Any) -> None:
    for power in (20, 25, 30, 35, *((100, 200, 300) if dtype is F64 else ())):
        for fn in (torch.sin, lambda x: x.cos() + 5):
            _, error = numerical_jacobian(fn, torch.tensor(3.0 * 10.0**power, dtype=dtype), with_error=True)
            assert error.item() == np.inf


@pytest.mark.parametrize("fn", [lambda x: x.abs().sqrt(), torch.sqrt, lambda x: (1 - x).acos()])
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_vertical_slopes_have_no_bound(fn: Any, shape: tuple[int, ...], dtype: Any) -> None:
    _, error = numerical_jacobian(fn, torch.zeros(shape, dtype=dtype), with_error=True)
    assert (torch.atleast_2d(error).diagonal() == np.inf).all()


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("method", ["extrapolated", "central"])
def test_where_there_is_no_slope_no_bound_is_said(method: str, dtype: Any) -> None:
    for fn, points in (
        (torch.sign, [0.0]),
        (torch.floor, [-2.0, 1.0]),
        (lambda x: torch.where(x > 0, x + 1, x), [0.0]),
        (lambda x: x.abs().sqrt(), [0.0]),
        (lambda x: x.sign() * x.abs() ** (1 / 3), [0.0]),
    ):
        for point in points:
            x = torch.tensor(point, dtype=dtype)
            assert numerical_jacobian(fn, x, method=method, with_error=True)[1].item() == np.inf
    zero = torch.tensor(0.0, dtype=dtype)
    for fn in (torch.sqrt, torch.log):  # of which there is one side, or nothing
        error = numerical_jacobian(fn, zero, method=method, with_error=True)[1].item()
        assert not error < np.inf
    assert numerical_jacobian(torch.abs, zero, method=method, with_error=True)[1].item() >= 1


def test_where_there_is_one_a_bound_is_said() -> None:
    x = torch.tensor([1e-8, 1e-3, 0.3, 5.0, 1e3], dtype=F64)
    for fn, slope in ((torch.sqrt, 0.5 / x.sqrt()), (torch.log, 1 / x), (lambda x: x**3, 3 * x**2)):
        _, error = numerical_jacobian(fn, x, with_error=True)
        assert (error.diag() <= 1e-7 * slope.abs()).all()


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


@pytest.mark.parametrize("step", ["a", [1], 1j, torch.ones(2), np.ones(2)], ids=str)
def test_a_step_is_a_number(step: Any) -> None:
    with pytest.raises(TypeError, match=r"argument 'step' must be float, not (str|list|complex|Tensor|ndarray)"):
        numerical_jacobian(torch.sin, torch.ones(2), method="central", step=step)


@pytest.mark.parametrize("step", [np.float64(0.5), np.float32(0.5), torch.tensor(0.5)], ids=repr)
def test_a_step_may_be_a_number_of_numpy_or_a_tensor(step: Any) -> None:
    x = torch.ones(2, dtype=F64)
    found = numerical_jacobian(torch.sin, x, method="central", step=step)
    assert torch.equal(found, numerical_jacobian(torch.sin, x, method="central", step=0.5))


@pytest.mark.parametrize(("step", "words"), [(1e-30, "too short .* stays as it is"), (1e300, "too long .* infinite")])
@pytest.mark.parametrize("with_error", [False, True])
def test_a_step_moves_every_element(step: float, words: str, with_error: bool) -> None:
    with pytest.raises(ValueError, match=words):
        numerical_jacobian(torch.sin, torch.ones(2), method="forward", step=step, with_error=with_error)
    numerical_jacobian(torch.sin, torch.zeros(2, dtype=F64), method="forward", step=step, with_error=with_error)


def test_other_arguments_are_checked() -> None:
    x = torch.ones(2)
    for method in (None, 1, [], {}, b"central", np.array(["central", "x"])):
        with pytest.raises(ValueError, match="method must be one of extrapolated, central, forward, backward, not"):
            numerical_jacobian(torch.sin, x, method=method)
    for func in (None, 1, "x", x):
        with pytest.raises(TypeError, match="argument 'func' must be a function, not"):
            numerical_jacobian(func, x)
    for flag in ("yes", None, 1, x):
        with pytest.raises(TypeError, match="argument 'with_error' must be bool, not"):
            numerical_jacobian(torch.sin, x, with_error=flag)
    given = (((), "none"), (None, "NoneType"), (np.ones(2), "ndarray"), ((1.0, [x]), "float, list"))
    for inputs, words in (*given, (x.int(), r"torch\.int32")):
        with pytest.raises(ValueError, match=f"at least one tensor of floats among the inputs, got {words}"):
            numerical_jacobian(torch.sin, inputs)


@pytest.mark.parametrize(
    "result",
    [
        2,
        None,
        "x",
        [],
        np.ones(2, int),
        torch.tensor([1, 2]),
        (torch.ones(2), 3),
        (torch.ones(2), {}),
        {"a": torch.ones(2)},
    ],
    ids=str,
)
def test_what_is_no_tensor_of_floats_has_no_jacobian(result: Any) -> None:
    with pytest.raises(TypeError, match="return tensors of floats, got"):
        torch.autograd.numerical_jacobian(lambda x: result, torch.ones(2))


def test_floats_and_arrays_count_as_tensors() -> None:
    x = torch.tensor([1.0, 2.0], dtype=F64)
    squares = (lambda x: (x**2).sum().item(), lambda x: (x**2).sum().numpy(), lambda x: np.float64((x**2).sum().item()))
    for square in squares:
        assert torch.allclose(numerical_jacobian(square, x), 2 * x)
    reused = np.zeros(2)

    def into_the_same_array(x: Any) -> list[Any]:
        np.square(x.numpy(), out=reused)
        return [reused, x.sum().item()]

    rows = numerical_jacobian(into_the_same_array, x)
    assert torch.allclose(rows[0], torch.diag(2 * x))
    assert torch.allclose(rows[1], torch.ones(2, dtype=F64))


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


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("method", ["extrapolated", "central", "forward", "backward"])
def test_inputs_of_no_dimensions_are_tensors_as_others_are(method: str, dtype: Any) -> None:
    x, slope = torch.tensor(0.7, dtype=dtype), math.exp(0.7)
    for function, expected in (
        (lambda x: x.clone().exp_(), slope),
        (lambda x: x.exp_(), slope),
        (lambda x: x.exp().reshape(-1), slope),
        (lambda x: x.reshape(-1).exp(), slope),
        (lambda x: x.flatten(), 1.0),
        (lambda x: x.view(1), 1.0),
        (lambda x: torch.atleast_1d(x), 1.0),
        (lambda x: x.as_strided((1,), (1,)), 1.0),
        (lambda x: torch.nn.functional.relu(x.clone(), inplace=True), 1.0),
    ):
        found = numerical_jacobian(function, x, method=method)
        assert found.reshape(()).item() == pytest.approx(expected, rel=1e-2 if dtype is torch.float32 else 1e-4)


def test_what_its_errors_do_not_see() -> None:
    """The limits that the documentation names: a kink too slight for differences is not found; a plain one is."""
    zero = torch.zeros(1, dtype=torch.float64)
    for kink, seen in ((1e-3, True), (1e-8, False)):
        _, error = numerical_jacobian(lambda x, kink=kink: x + kink * x.abs(), zero, with_error=True)
        assert (error.item() >= kink) is seen
    points = torch.linspace(-1e-3, 1e-3, 41, dtype=torch.float64)
    value, error = numerical_jacobian(lambda x: (1 + x**2).log().sum(), points, with_error=True)
    off = (value - 2 * points / (1 + points**2)).abs()
    assert off.max().item() < 1e-6
    assert (off > error).double().mean().item() < 0.1
