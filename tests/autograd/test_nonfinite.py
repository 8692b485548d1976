"""Infinities and NaNs are traced to the first operation that made one of finite values."""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch._modes import observers
from minitorch.autograd import NonfiniteError, nonfinite_guard

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in", "ignore:std")

INF = float("inf")


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def blamed(function: Callable[[], Any]) -> Any:
    """What anomaly mode says of a failing backward."""
    with pytest.raises(RuntimeError, match="returned nan values") as caught, torch.autograd.detect_anomaly():
        function().sum().backward()
    assert isinstance(caught.value.__cause__, NonfiniteError)
    return caught.value.__cause__.origin


FORWARD: list[tuple[Callable[[], Any], str, str, tuple[int, ...]]] = [
    (lambda: (lambda p: p * p.log())(leaf(0.5, 0.0)), "log", "log of 0", (1,)),
    (lambda: (lambda x: x * x.log())(leaf(1.0, -2.0)), "log", "negative", (1,)),
    (lambda: (lambda e: e / e.sum())(leaf(1.0, 800.0).exp()), "exp", "overflows", (1,)),
    (lambda: (lambda x: x / x.norm())(leaf(0.0, 0.0)), "div", "0 / 0", (0,)),
    (lambda: (lambda x: x / x.std())(leaf(3.0)), "std", "one element", ()),
    (lambda: leaf(-1e-9, 1.0).sqrt(), "sqrt", "negative", (0,)),
    (lambda: torch.acos(leaf(0.5, 1.0000001)), "acos", r"outside \[-1, 1\]", (1,)),
    (lambda: leaf(-2.0, 4.0) ** 0.5, "pow", "fractional", (0,)),
    (lambda: (leaf(1.0, 2.0) * -INF).softmax(0), "softmax", "a row is -inf", (0,)),
    (lambda: leaf(1.0, 2.0).masked_fill(torch.tensor([True, True]), -INF).softmax(0), "softmax", "a row is -inf", (0,)),
]


@pytest.mark.parametrize(("function", "op", "cause", "place"), FORWARD, ids=lambda v: v if isinstance(v, str) else "")
def test_an_operation_of_the_forward_pass(function: Any, op: str, cause: str, place: tuple[int, ...]) -> None:
    origin = blamed(function)
    assert (origin.op, origin.what, origin.made) == (op, "forward:", True)
    assert origin.where[0] == place
    assert origin.cause is not None
    assert re.search(cause, origin.cause)
    assert origin.site.file == __file__


BACKWARD: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: (lambda x: torch.where(x > 0, x.sqrt(), x))(leaf(0.0, 4.0)), "SqrtBackward0", "sqrt at 0"),
    (lambda: (lambda x: (x * 0.0).sqrt() * x)(leaf(0.0, 4.0)), "SqrtBackward0", "sqrt at 0"),
    (lambda: (lambda x: torch.where(x > 0, x**0.5, x))(leaf(0.0, 4.0)), "PowBackward0", "power below 1"),
]


@pytest.mark.parametrize(("function", "op", "cause"), BACKWARD, ids=lambda v: v if isinstance(v, str) else "")
def test_an_operation_of_the_backward_pass(function: Any, op: str, cause: str) -> None:
    origin = blamed(function)
    assert (origin.op, origin.what) == (op, "backward:")
    assert cause in origin.cause


def test_an_infinite_slope_is_the_first_where_nan_comes_of_it_later() -> None:
    def function() -> Any:
        x = leaf(0.0)
        return (x * 0.0 * torch.ones(1, dtype=torch.float64)).sqrt()

    assert blamed(function).op == "SqrtBackward0"


def test_what_came_from_outside_is_said_to() -> None:
    def function() -> Any:
        data = torch.tensor([1.0, float("nan")], dtype=torch.float64)
        data.name = "batch"
        return leaf(1.0, 2.0) * data + 1

    origin = blamed(function)
    assert (origin.op, origin.made) == ("mul", False)
    assert "batch: (2,) float64, finite values from 1 to 1; nan at that place" in origin.story()


def test_the_story() -> None:
    x = leaf(1.0, 800.0)
    with pytest.raises(NonfiniteError) as caught, nonfinite_guard("raise"):
        x.exp()
    lines = str(caught.value).splitlines()
    assert lines[0] == "forward: exp gave infinite values in 1 of 2 elements, first at (1,), of finite inputs"
    assert "test_nonfinite.py" in lines[1]
    assert lines[1].endswith("x.exp()")
    assert lines[2] == "  input: (2,) float64, values from 1 to 800; 800 at that place"
    assert "exp overflows" in lines[3]


def test_the_guard_takes_what_is_asked_for() -> None:
    x = torch.tensor([1.0, 2.0])
    with nonfinite_guard("raise"):
        masked = x.masked_fill(torch.tensor([True, False]), -INF)
        assert masked.softmax(0).tolist() == [0.0, 1.0]
        x + INF
        torch.full((2,), INF) * 2
        torch.zeros(2).fill_(-INF)
        (x / 0.5).log()
    x / 0


def test_the_guard_warns_once_for_one_cause() -> None:
    x = torch.tensor([1.0, 0.0])
    with nonfinite_guard("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ((x.log() + 1) * 2).sum()
    assert len(caught) == 1
    assert "log gave" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_in_modules_the_path_is_named() -> None:
    class Log(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.log()

    model = torch.nn.Sequential(torch.nn.Identity(), Log())
    with pytest.raises(NonfiniteError, match=r"\(module 1\)"), torch.autograd.record_sites(), nonfinite_guard("raise"):
        model(torch.zeros(2))


def test_nothing_is_left_behind() -> None:
    gc.collect()
    gc.disable()
    try:
        with torch.autograd.set_detect_anomaly(True), nonfinite_guard("off"):
            y = leaf(0.0).log()
            made = weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.extras.origin)
            del y
            assert made[0]() is None
            assert made[1]() is None
        assert not observers
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:Error detected")
def test_a_caught_error_keeps_no_graph() -> None:
    gc.collect()
    gc.disable()
    try:
        with torch.autograd.set_detect_anomaly(True):
            y = leaf(0.0).sqrt() * 0
            made = weakref.ref(y.grad_fn)
            with pytest.raises(RuntimeError, match="SqrtBackward0"):
                y.sum().backward()
            del y
            assert made() is None
    finally:
        gc.enable()
