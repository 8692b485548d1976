"""What a check may take: functions that take long are told from wrong ones, by a clock that they move themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch.testing import GradientError, GradientReport, _fresh, check_gradients, property_test
from minitorch.testing.__main__ import main
from minitorch.testing.strategies import tensors

SHORT = "are too short to check|finite differences would take too long"


class Clock:
    """Seconds that functions pretend to take: 10 for each call."""

    def __init__(self) -> None:
        self.passed = 0.0
        self._real = time.monotonic

    def __call__(self) -> float:
        return self._real() + self.passed

    def slow(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, slower."""

        def called(*args: Any) -> Any:
            self.passed += 10
            return fn(*args)

        return called


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(_fresh, "asked", False)
    monkeypatch.setattr(time, "monotonic", made)
    return made


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x**2


def point(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64)


def at_limits(
    clock: Clock, fn: Any, *inputs: Any, over: float = 0.0, step: float = 30.0, **options: Any
) -> list[GradientReport]:
    """What is said with ever more time, until there is time for all; it takes that time, or so many seconds more."""
    found: list[GradientReport] = []
    while len(found) < 60:
        limit, start = 15.0 + step * len(found), clock.passed
        found.append(check_gradients(fn, *inputs, time_limit=limit, raise_exception=False, **options))
        assert clock.passed - start <= limit + over
        if not re.search(SHORT, str(found[-1])):
            return found
    raise AssertionError("there is never enough time")


@pytest.mark.parametrize(
    "options",
    [{}, {"order": 2}, {"fast": True, "order": 2}, {"reference": torch.tanh}, {"skip": ("determinism", "values")}],
    ids=lambda options: " ".join(options) or "plain",
)
def test_right_functions_are_right_or_too_slow(clock: Clock, options: Any) -> None:
    *short, last = at_limits(clock, clock.slow(torch.tanh), point(0.3, -0.7), **options)
    assert last.ok
    assert short
    for report in short:
        (failure,) = report.failures
        assert report.too_slow
        assert not report.checkable
        assert re.search(SHORT, failure.text)
        assert ("Pass smaller inputs, or" if options.get("fast") else "Pass fast=True (20 calls)") in failure.text
    assert "15 s are too short to check values, determinism" in str(short[0]) or "determinism" in options.get(
        "skip", ()
    )


def test_checks_that_were_made_are_not_named(clock: Clock) -> None:
    reports = at_limits(clock, clock.slow(lambda x, w: (x * w).sin()), point(0.3, -0.7), point(1, 2))
    (failure,) = reports[-2].failures
    named = failure.text.partition(" check ")[2].partition(": a call of the function takes 10 s")[0].split(", ")
    assert named[-1] == "cycles"
    assert sorted([*reports[-2].checks, *named]) == sorted(reports[-1].checks)


def test_wrong_functions_are_wrong_or_too_slow(clock: Clock) -> None:
    *short, last = at_limits(clock, clock.slow(lambda x: Cube.apply(x) + x), point(0.3, -0.7))
    blamed = [None if r.too_slow else r.failures[0].blame.name for r in (*short, last)]
    assert blamed[0] is None
    assert blamed[-1] == "CubeBackward"
    assert last.failed("values")
    wrong = [report for report in short if not report.too_slow]
    assert wrong
    assert all(report.failed("values") for report in wrong)
    assert all("to blame" not in str(r) or "CubeBackward" in str(r) or "was not found in" in str(r) for r in wrong)
    assert any("are too short to check" in note for report in wrong for note in report.notes)


def test_operations_that_take_long_themselves(clock: Clock) -> None:
    class Slow(Cube):
        forward = staticmethod(clock.slow(Cube.forward))

    *short, last = at_limits(clock, lambda x: Slow.apply(x) + x, point(0.3, -0.7), over=30, step=210)
    assert last.failures[0].blame is not None
    assert last.failures[0].blame.name == "SlowBackward"
    assert all(report.too_slow or report.failed("values") for report in short)


def test_backward_passes_that_take_long(clock: Clock) -> None:
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            clock.passed += 10
            return g * 2

    with pytest.raises(GradientError, match="95 s are too short to check values, mutation"):
        check_gradients(Slow.apply, torch.ones(40, dtype=torch.float64), time_limit=95)
    assert clock.passed == 100


def test_kinks_that_cancel(clock: Clock) -> None:
    *short, last = at_limits(clock, clock.slow(lambda x: x.relu() - (-x).relu()), point(0.0, 1.0), over=20)
    assert last.ok
    assert all(report.too_slow or "nor whether kinks of several operations cancel" in str(report) for report in short)


def test_more_calls_than_there_is_time_for_are_not_begun(clock: Clock) -> None:
    total = clock.slow(lambda x: (x * x).sum())
    with pytest.raises(
        GradientError, match=r"80 calls of 10 s each, and of 300 s there are 280 s left\. Pass fast=True"
    ):
        check_gradients(total, torch.ones(40, dtype=torch.float64), time_limit=300)
    assert clock.passed == 20
    assert check_gradients(total, torch.ones(40, dtype=torch.float64), time_limit=300, fast=True).ok
    assert check_gradients(total, torch.ones(40, dtype=torch.float64), time_limit=None).ok


# -- drawn inputs ------------------------------------------------------------------------------------------------------
def test_no_more_is_drawn_when_the_time_is_up(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    report = property_test(clock.slow(torch.sin), tensors(shape=(2,)), time_limit=1000, seed=1)
    assert report.stopped
    assert 0 < report.draws < 50
    assert clock.passed <= 1000
    assert "stopped as the time was up" in str(report)
    assert capsys.readouterr().out == ""


def test_inputs_that_take_long_are_no_failure_beside_others(clock: Clock) -> None:
    def slow(x: Any) -> Any:
        clock.passed += 1000 * (x.numel() > 4)
        return x.sin()

    report = property_test(slow, tensors(), time_limit=900, seed=1, max_examples=100)
    assert report.stopped
    assert 0 < report.draws < 100
    assert clock.passed == 1000


def test_functions_that_always_take_too_long(clock: Clock) -> None:
    with pytest.raises(GradientError, match=SHORT) as error:
        property_test(clock.slow(torch.sin), tensors(shape=(2,)), time_limit=30)
    assert clock.passed <= 30
    assert "time_limit=30" in error.value.test
    assert error.value.report.too_slow


def test_a_failure_takes_one_more_check(clock: Clock) -> None:
    with pytest.raises(GradientError, match="to blame: CubeBackward") as error:
        property_test(clock.slow(Cube.apply), tensors(shape=(3,), elements="away_from_kinks"), time_limit=3000)
    assert error.value.report.failed("values")
    assert clock.passed <= 2 * 3000 + 100


def test_no_time_at_all() -> None:
    with pytest.raises(GradientError, match="too short to check"):
        property_test(torch.sin, tensors(), time_limit=0)
    with pytest.raises(GradientError, match="too short to check"):
        check_gradients(torch.sin, point(1), time_limit=0)


def test_from_the_shell(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    def slow(x: Any) -> Any:
        clock.passed += 10
        return x.sin()

    globals()["slow_one"] = slow
    assert main([f"{__name__}:slow_one", "--shapes", "(2,)", "--time-limit", "30"]) == 1
    out, _ = capsys.readouterr()
    assert re.search(SHORT, out)
    assert "time_limit=30" in out
    assert clock.passed <= 30
    assert main([f"{__name__}:slow_one", "--shapes", "(2,)", "--time-limit", "1000"]) == 0
    assert "stopped as the time was up" in capsys.readouterr().out
    assert clock.passed <= 1030
