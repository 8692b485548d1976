"""Formulas of floats of several dtypes: every operation of a line is computed in the dtype that it was computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch as torch
from minitorch.autograd import Tape

HALF, SINGLE, DOUBLE = torch.float16, torch.float32, torch.float64


def leaf(dtype: torch.dtype, name: str, *values: float) -> Any:
    tensor = torch.tensor(values, dtype=dtype, requires_grad=True)
    tensor.name = name
    return tensor


def full(value: float, dtype: torch.dtype = DOUBLE) -> Any:
    return torch.full((2,), value, dtype=dtype)


def text(function: Callable[[Any], Any], x: Any) -> str:
    """The formula of a sum, which is held to what was recorded, evaluated and as text."""
    with Tape() as tape:
        y = function(x).sum()
        y.name = "y"
    formula = tape.formula()
    (gradient,) = torch.autograd.grad(y, x)
    found, names = formula.evaluate(), dict(formula.names)
    for line in formula.lines:
        names[line.name] = eval(line.text, formula.functions, names)
    for values in (found, names):
        torch.testing.assert_close(values["y"], y.detach(), rtol=1e-14, atol=1e-14)
        torch.testing.assert_close(values["dy/dx"], gradient, rtol=1e-6, atol=0)
    return str(formula)


def test_a_constant_tensor_converts_what_is_beside_it() -> None:
    x = leaf(SINGLE, "x", 0.5, 0.7)
    assert "t1 = x.to(float64) + 100000000\n" in text(lambda x: (x + full(1e8)).sin(), x)
    assert "t1 = 100000000*x.to(float64)\n" in text(lambda x: (x * full(1e8)).sin(), x)
    assert text(lambda x: x ** full(2.5), x).startswith("t1 = x.to(float64)\ny = sum(t1**2.5)\n")
    choice = text(lambda x: torch.where(x > full(0.6), x, full(3.0)), x)
    assert choice.startswith("t1 = x.to(float64)\ny = sum(where(t1 > 0.6, t1, 3))\n")


def test_half_precision_beside_a_constant_of_single_precision() -> None:
    x = leaf(HALF, "x", 0.5, 0.7)
    with Tape() as tape:
        y = (x + full(3000.3, SINGLE)).sin().sum()
        y.name = "y"
    assert str(tape.formula()).splitlines()[0] == "t1 = x.to(float32) + 3000.3"
    torch.testing.assert_close(tape.formula().evaluate()["y"], y.detach())


def test_a_narrower_constant_has_the_value_that_it_had() -> None:
    x = leaf(DOUBLE, "x", 0.5, 0.7)
    assert "0.10000000149011612*sum(x)" in text(lambda x: x * full(0.1, SINGLE), x)
    assert "sum(x**1.2999999523162842)" in text(lambda x: x ** full(1.3, SINGLE), x)
    assert "0.1*sum(x)" in text(lambda x: x * 0.1, x)


def test_two_tensors_convert_each_other_and_more_are_converted() -> None:
    other, x = leaf(SINGLE, "s", 0.3, 1.7), leaf(DOUBLE, "x", 0.5, 0.7)
    assert ".to(float64)" not in text(lambda x: x * other, x).splitlines()[0]
    assert text(lambda x: x * other * 3, x).startswith("t1 = s.to(float64)\n")
    assert text(lambda x: x * other.double() ** 2, x).startswith("t1 = s.to(float64)\n")
    assert "s.to(float64)" in text(lambda x: x + other + full(1e8), x).splitlines()[0]


def test_a_number_to_a_power_has_the_shape_that_it_had() -> None:
    x = leaf(SINGLE, "x", 1.0, 2.0)
    for base in (torch.full((3, 2), 0.5), torch.full((3, 2), 0.5, dtype=DOUBLE), torch.full((), 0.5)):
        text(lambda x, base=base: base**x, x)
        text(lambda x, base=base: torch.float_power(base, x), x)
    assert text(lambda x: torch.full((3, 2), 0.5) ** x, x).startswith("y = 3*sum(0.5**x)\n")
