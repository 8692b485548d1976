"""Arithmetic, powers, signs and rounding: dtypes, forms of arguments, special points, errors, in-place forms."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from alike import DTYPES, SHAPES, check_alike, values


def leaf(*values: float) -> Any:
    return torch.tensor(np.array(values, np.float64), requires_grad=True)


def gradients(out: Any, *leaves: Any) -> list[Any]:
    return [None if g is None else g.tolist() for g in torch.autograd.grad(out.sum(), leaves)]


# -- dtypes ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("result", "dtype", "value"),
    [
        (lambda: torch.tensor([1]) / 2, torch.float32, [0.5]),
        (lambda: torch.tensor([200], dtype=torch.uint8) + 100, torch.uint8, [44]),
        (lambda: torch.tensor([1], dtype=torch.uint8) / -3, torch.float32, [np.float32(-1 / 3).item()]),
        (lambda: torch.tensor(-2) / torch.tensor([5], dtype=torch.uint8), torch.float32, [np.float32(-0.4).item()]),
        (lambda: torch.tensor([True]) + torch.tensor([True]), torch.bool, [True]),
        (lambda: torch.tensor([True]) * 2, torch.int64, [2]),
        (lambda: torch.tensor(5.0, dtype=torch.float64) * torch.tensor([2.0]), torch.float32, [10.0]),
        (lambda: torch.tensor([1]) * torch.tensor([2.5]), torch.float32, [2.5]),
        (lambda: torch.tensor([7]) // 2, torch.int64, [3]),
        (lambda: torch.tensor([-7]) // 2, torch.int64, [-4]),
        (lambda: -7 % torch.tensor([4]), torch.int64, [1]),
        (lambda: torch.fmod(torch.tensor([-7]), 4), torch.int64, [-3]),
        (lambda: torch.div(torch.tensor([-7]), 2, rounding_mode="trunc"), torch.int64, [-3]),
        (lambda: torch.div(torch.tensor([-8]), 2, rounding_mode="trunc"), torch.int64, [-4]),
        (lambda: torch.div(torch.tensor([-7]), 2, rounding_mode="floor"), torch.int64, [-4]),
        (lambda: torch.tensor([2]) ** 3, torch.int64, [8]),
        (lambda: torch.tensor([2]) ** -1.0, torch.float32, [0.5]),
        (lambda: torch.tensor([2, 1, -1, 0]) ** torch.tensor([-1, -2, -3, 0]), torch.int64, [0, 1, -1, 1]),
        (lambda: torch.tensor([True]) ** 2, torch.int64, [1]),
        (lambda: torch.tensor([3], dtype=torch.int8) ** 5, torch.int8, [-13]),
        (lambda: 2 ** torch.tensor([3, -1]), torch.int64, [8, 0]),
        (lambda: torch.float_power(torch.tensor([2]), -1), torch.float64, [0.5]),
        (lambda: torch.square(torch.tensor([True])), torch.int64, [1]),
        (lambda: torch.round(torch.tensor([0.5, 1.5, 2.5])), torch.float32, [0.0, 2.0, 2.0]),
        (lambda: torch.round(torch.tensor([2])), torch.int64, [2]),
        (lambda: torch.floor(torch.tensor([2], dtype=torch.uint8)), torch.uint8, [2]),
        (lambda: torch.sign(torch.tensor([np.nan, -2.0])), torch.float32, [0.0, -1.0]),
        (lambda: torch.sqrt(torch.tensor([4])), torch.float32, [2.0]),
        (lambda: torch.addcmul(torch.tensor([1]), torch.tensor([2]), torch.tensor([3]), value=2.5), torch.int64, [13]),
    ],
)  # fmt: skip
def test_dtype_and_value(result: Callable[[], Any], dtype: Any, value: list[Any]) -> None:
    out = result()
    assert out.dtype is dtype
    assert out.tolist() == value


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_operators_with_a_number_on_either_side(symbol: str) -> None:
    function = getattr(operator, symbol)
    x = torch.tensor([2.0, 3.0])
    assert function(x, 2.0).tolist() == [function(2.0, 2.0), function(3.0, 2.0)]
    np.testing.assert_allclose(function(7.0, x).tolist(), [function(7.0, 2.0), function(7.0, 3.0)], rtol=1e-6)


# -- gradients at special points ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
        (lambda x: x**1, [0.0, 2.0], [1.0, 1.0]),
        (lambda x: x**0.5, [0.0, 4.0], [np.inf, 0.25]),
        (lambda x: 0**x, [0.0, 1.0, -1.0], [0.0, 0.0, -np.inf]),
        (lambda x: 0 * x**2 + abs(x), [0.0, -0.0, -2.0], [0.0, 0.0, -1.0]),
        (lambda x: torch.sqrt(x), [0.0, 4.0], [np.inf, 0.25]),
        (lambda x: torch.copysign(x, -1), [0.0, 2.0], [0.0, -1.0]),
        (lambda x: torch.round(x) + torch.sign(x) + torch.floor(x), [0.5, 2.0], [0.0, 0.0]),
        (lambda x: torch.frac(x), [0.5, -2.25], [1.0, 1.0]),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), [3.0], [0.0]),
    ],
)
def test_gradient_at_special_points(function: Callable[[Any], Any], points: list[float], expected: list[float]) -> None:
    x = leaf(*points)
    assert gradients(function(x), x) == [expected]


def test_gradient_of_a_power_in_base_and_exponent() -> None:
    base, exponent = leaf(0.0, 0.0, 2.0), leaf(0.0, 1.0, 2.0)
    of_base, of_exponent = gradients(base**exponent, base, exponent)
    assert of_base == [0.0, 1.0, 4.0]
    assert of_exponent == [0.0, 0.0, pytest.approx(4 * np.log(2))]


def test_remainder_by_a_tensor() -> None:
    x, y = leaf(7.0, -7.0), leaf(2.0, 2.0)
    assert gradients(x % y, x, y) == [[1.0, 1.0], [-3.0, 4.0]]


def test_floor_divide_has_no_derivative() -> None:
    out = leaf(7.0) // 2
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        out.sum().backward()


def test_numbers_from_tensors_without_dimensions() -> None:
    x, two = torch.tensor([1.0, 3.0]), torch.tensor(2.0)
    assert x.add(x, alpha=two).tolist() == [3.0, 9.0]
    assert torch.sub(x, x, alpha=torch.tensor(2)).tolist() == [-1.0, -3.0]
    assert x.clone().add_(1, alpha=two).tolist() == [3.0, 5.0]
    assert x.clamp(0, two).tolist() == [1.0, 2.0]
    for alpha in (two.clone().requires_grad_(), torch.tensor([2.0])):
        with pytest.raises(TypeError, match="'alpha' must be Number, not Tensor"):
            x.add(x, alpha=alpha)
        with pytest.raises(TypeError, match="'max' must be Number, not Tensor"):
            x.clamp(0, alpha)


def test_alpha() -> None:
    x, y = leaf(1.0), leaf(2.0)
    out = torch.add(x, y, alpha=3)
    assert out.tolist() == [7.0]
    assert gradients(out, x, y) == [[1.0], [3.0]]
    assert torch.sub(x, 2, alpha=3).tolist() == [-5.0]
    assert torch.rsub(x, 2, alpha=3).tolist() == [-1.0]


def test_lerp_is_exact_at_both_ends() -> None:
    start, end = torch.tensor([0.1, 3.3]), torch.tensor([7.7, -1.1])
    assert torch.lerp(start, end, 0.0).tolist() == start.tolist()
    assert torch.lerp(start, end, 1.0).tolist() == end.tolist()
    assert torch.lerp(start, end, torch.ones(2)).tolist() == end.tolist()


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3).filter(lambda y: abs(y) > 1e-3))
def test_quotient_and_remainder_make_the_dividend(x: float, y: float) -> None:
    a, b = torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)
    whole = (a // b) * b + a % b
    assert whole.item() == pytest.approx(a.item(), rel=1e-9, abs=1e-6)
    truncated = torch.div(a, b, rounding_mode="trunc") * b + torch.fmod(a, b)
    error = abs(truncated.item() - x)  # one divisor, where a quotient just below an integer was rounded to it
    assert min(error, abs(error - abs(y))) <= max(1e-9 * abs(x), 1e-6)


# -- in place ----------------------------------------------------------------------------------------------------------
def test_in_place_forms_write_and_record() -> None:
    x = leaf(2.0)
    y = x.clone()
    assert y.mul_(3).add_(1).pow_(2).sub_(9).div_(4) is y
    assert y.tolist() == [10.0]
    assert gradients(y, x) == [[10.5]]


def test_augmented_operators_are_in_place() -> None:
    x = torch.tensor([7.0])
    same = x
    x += 1
    x *= 2
    x -= 1
    x /= 3
    x //= 2
    x **= 3
    x %= 5
    assert x is same
    assert x.tolist() == [3.0]


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: torch.tensor([1.0, 2.0]) + torch.tensor([1.0, 2.0, 3.0]), RuntimeError, r"tensor a \(2\) must match"),
        (lambda: torch.tensor([3]) // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: torch.tensor([3]) % torch.tensor([0]), RuntimeError, "ZeroDivisionError"),
        (lambda: torch.fmod(torch.tensor([3]), 0), RuntimeError, "ZeroDivisionError"),
        (lambda: 7 // torch.tensor([0]), RuntimeError, "ZeroDivisionError"),
        (lambda: torch.tensor([True]) - torch.tensor([True]), RuntimeError, "not supported"),
        (lambda: -torch.tensor([True]), RuntimeError, "not supported"),
        (lambda: +torch.tensor([True]), RuntimeError, "not supported"),
        (lambda: 1 - torch.tensor([True]), RuntimeError, "not supported"),
        (lambda: torch.abs(torch.tensor([True])), NotImplementedError, "abs"),
        (lambda: torch.frac(torch.tensor([1])), NotImplementedError, "frac"),
        (lambda: torch.tensor([2]) ** -1, RuntimeError, "Integers to negative integer powers"),
        (lambda: torch.add(torch.tensor([1]), 2, alpha=1.5), RuntimeError, "alpha must not be a floating point"),
        (lambda: torch.add(torch.tensor([1.0]), 2, alpha="a"), TypeError, "alpha"),
        (lambda: torch.add(torch.tensor([1.0]), "a"), TypeError, "other"),
        (lambda: torch.tensor([1.0]) + "a", TypeError, "unsupported operand"),
        (lambda: torch.tensor([1.0]) ** None, TypeError, "unsupported operand"),
        (lambda: torch.pow(2, 3), TypeError, "pow"),
        (lambda: torch.div(torch.ones(1), 2, rounding_mode="up"), RuntimeError, "rounding_mode"),
        (lambda: torch.addcdiv(torch.ones(1), torch.tensor([1]), torch.tensor([2])), RuntimeError, "Integer division"),
        (lambda: torch.lerp(torch.ones(1), torch.ones(1).double(), 0.5), RuntimeError, "dtype float for `end`"),
        (lambda: torch.tensor([1]).add_(1.5), RuntimeError, "can't be cast"),
        (lambda: torch.tensor([1]).div_(2), RuntimeError, "can't be cast"),
        (lambda: torch.ones(2).add_(torch.ones(2, 1)), RuntimeError, "broadcast shape"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


# -- NumPy -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "name", "dtype"),
    [
        (lambda x: np.sin(x), "SinBackward0", torch.float32),
        (lambda x: np.multiply(np.ones(2), x), "MulBackward0", torch.float64),
        (lambda x: np.ones(2) + x, "AddBackward0", torch.float64),
        (lambda x: np.float64(2) * x, "MulBackward0", torch.float32),
        (lambda x: np.float64(2) - x, "SubBackward0", torch.float32),
        (lambda x: x * np.float64(2), "MulBackward0", torch.float32),
        (lambda x: np.square(x), "PowBackward0", torch.float32),
        (lambda x: np.arctan2(1.0, x), "Atan2Backward0", torch.float32),
    ],
)
def test_numpy_ufuncs_record(call: Callable[[Any], Any], name: str, dtype: Any) -> None:
    out = call(torch.tensor([1.0, 2.0], requires_grad=True))
    assert type(out.grad_fn).__name__ == name
    assert out.dtype is dtype


def test_numpy_computes_what_has_no_operation() -> None:
    x = torch.tensor([1.0, 8.0])
    assert np.cbrt(x).tolist() == [1.0, 2.0]
    assert np.add.reduce(x).item() == 9.0
    with pytest.raises(RuntimeError, match="requires grad"):
        np.cbrt(x.requires_grad_())


# -- against PyTorch ---------------------------------------------------------------------------------------------------
BINARY = ["add", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "float_power", "copysign"]


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_dtypes_and_shapes_like_pytorch(name: str) -> None:
    for (one, two), (first, second) in itertools.product(itertools.product(DTYPES, DTYPES), SHAPES):
        check_alike(lambda torch, a, b: getattr(torch, name)(a, b), values(one, first), values(two, second))


@pytest.mark.parametrize("name", ["neg", "reciprocal", "sqrt", "rsqrt", "square", "abs", "sign", "round", "signbit"])
def test_functions_of_every_dtype_like_pytorch(name: str) -> None:
    for dtype, shape in itertools.product(DTYPES, [(), (3,)]):
        check_alike(lambda torch, a, b: getattr(torch, name)(a), values(dtype, shape), np.zeros(0))


@pytest.mark.parametrize("symbol", ["add", "mul", "truediv", "floordiv", "mod", "pow"])
@pytest.mark.parametrize("number", [2, -3, 0, True, 2.5])
def test_numbers_like_pytorch(symbol: str, number: Any) -> None:
    function = getattr(operator, symbol)
    for dtype, shape in itertools.product(DTYPES, [(), (2,)]):
        check_alike(lambda torch, a, b: function(a, number), values(dtype, shape), np.zeros(0))
        check_alike(lambda torch, a, b: function(number, a), values(dtype, shape), np.zeros(0))
