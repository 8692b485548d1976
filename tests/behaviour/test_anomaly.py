"""Anomaly mode: NaN checks and the forward call behind a failing backward."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from backend import torch

Function = torch.autograd.Function
detect_anomaly = torch.autograd.detect_anomaly
set_detect_anomaly = torch.autograd.set_detect_anomaly

ENABLED = "Anomaly Detection has been enabled"


@pytest.fixture(autouse=True)
def anomaly_mode_is_off() -> Iterator[None]:
    """Every test starts outside the mode and must leave it."""
    assert not torch.is_anomaly_enabled()
    yield
    left_off = not torch.is_anomaly_enabled()
    set_detect_anomaly(False)
    assert left_off


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class NanGradient(Function):
    """The sum of two tensors; the gradient of the second one is NaN."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g * float("nan")


class Fails(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no gradient here")


def an_identifiable_forward_line(x: Any) -> Any:
    return x.sqrt()


class TestNanCheck:
    @pytest.mark.parametrize(
        ("fn", "name"),
        [
            (lambda x: x.sqrt(), "SqrtBackward0"),
            (lambda x: x.sqrt().sum(), "SqrtBackward0"),
            (lambda x: x**0.5, "PowBackward0"),
            (lambda x: x * torch.tensor([float("nan")]), "MulBackward0"),
        ],
    )
    def test_the_function_is_named(self, fn: Any, name: str) -> None:
        x = vector(-1.0)
        with set_detect_anomaly(True):
            y = fn(x)
            with (
                pytest.warns(UserWarning, match=rf"Error detected in {name}\. Traceback of forward call"),
                pytest.raises(RuntimeError, match=rf"^Function '{name}' returned nan values in its 0th output\."),
            ):
                y.backward()
        assert x.grad is None

    def test_a_custom_function_is_named(self) -> None:
        x, y = vector(1.0), vector(2.0)
        with set_detect_anomaly(True):
            z = NanGradient.apply(x, y)
            with (
                pytest.warns(UserWarning, match="Error detected in NanGradientBackward"),
                pytest.raises(
                    RuntimeError, match=r"Function 'NanGradientBackward' returned nan values in its 1th output\."
                ),
            ):
                z.backward()

    def test_zero_times_infinity(self) -> None:
        x = torch.zeros(2, requires_grad=True)
        with set_detect_anomaly(True):
            y = x.norm() * 0 + (x.sqrt() * 0).sum()
            with (
                pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
                pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."),
            ):
                y.backward()

    def test_under_grad(self) -> None:
        x = vector(-1.0)
        with set_detect_anomaly(True):
            y = x.sqrt()
            with (
                pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
                pytest.raises(RuntimeError, match="returned nan values"),
            ):
                torch.autograd.grad(y, x)

    def test_infinity_is_no_anomaly(self) -> None:
        x = vector(0.0)
        with set_detect_anomaly(True):
            x.log().backward()
        assert x.grad.tolist() == [float("inf")]

    def test_a_nan_value_alone_is_no_anomaly(self) -> None:
        x = vector(1.0)
        with set_detect_anomaly(True):
            (x + float("nan")).backward()
        assert x.grad.tolist() == [1.0]

    def test_it_can_be_turned_off(self) -> None:
        for mode in (
            lambda: set_detect_anomaly(True, check_nan=False),
            lambda: set_detect_anomaly(mode=True, check_nan=False),
        ):
            x = vector(-1.0)
            with mode():
                x.sqrt().backward()
            assert x.grad.isnan().all()
        x = vector(-1.0)
        with pytest.warns(UserWarning, match=ENABLED), detect_anomaly(check_nan=False):
            x.sqrt().backward()
        assert x.grad.isnan().all()

    def test_outside_the_mode_nothing_is_checked(self) -> None:
        x = vector(-1.0)
        with set_detect_anomaly(True):
            y = x.sqrt()
        y.backward()
        assert x.grad.isnan().all()

    def test_a_healthy_training_step(self) -> None:
        w = vector(1.0, 2.0)
        with set_detect_anomaly(True), warnings.catch_warnings():
            warnings.simplefilter("error")
            ((w * 3).tanh() ** 2).sum().backward()
        torch.testing.assert_close(w.grad, 6 * torch.tanh(3 * w.detach()) * (1 - torch.tanh(3 * w.detach()) ** 2))


class TestForwardTraceback:
    def test_the_warning_shows_the_forward_line(self) -> None:
        x = vector(-1.0)
        with set_detect_anomaly(True):
            y = an_identifiable_forward_line(x)
            z = y * 2
            with (
                pytest.warns(UserWarning, match="Error detected in SqrtBackward0") as caught,
                pytest.raises(RuntimeError, match="returned nan values"),
            ):
                z.backward()
        text = next(str(w.message) for w in caught if "Error detected in SqrtBackward0" in str(w.message))
        assert "an_identifiable_forward_line" in text
        assert "return x.sqrt()" in text
        assert "test_anomaly.py" in text

    def test_a_forward_pass_outside_the_mode_has_no_traceback(self) -> None:
        x = vector(-1.0)
        y = an_identifiable_forward_line(x)
        with (
            set_detect_anomaly(True),
            pytest.warns(UserWarning, match="No forward pass information available"),
            pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."),
        ):
            y.backward()

    def test_an_exception_in_backward_keeps_its_type(self) -> None:
        x = vector(1.0)
        with set_detect_anomaly(True):
            y = Fails.apply(x)
            with (
                pytest.warns(UserWarning, match="Error detected in FailsBackward"),
                pytest.raises(ValueError, match="no gradient here"),
            ):
                y.backward()

    def test_a_modified_variable(self) -> None:
        def forward_with_exp(x: Any) -> Any:
            return x.exp()

        x = vector(1.0, 2.0)
        with set_detect_anomaly(True):
            y = forward_with_exp(x)
            y.add_(1)
            with (
                pytest.warns(UserWarning, match="Error detected in ExpBackward0") as caught,
                pytest.raises(RuntimeError, match="modified by an inplace operation"),
            ):
                y.sum().backward()
        text = next(str(w.message) for w in caught if "Error detected in ExpBackward0" in str(w.message))
        assert "forward_with_exp" in text

    def test_double_backward_also_shows_the_parent(self) -> None:
        def first_order(x: Any) -> Any:
            return x**1.5

        def second_order(y: Any, x: Any) -> Any:
            return torch.autograd.grad(y, x, create_graph=True)[0]

        x = vector(-1.0)
        with set_detect_anomaly(True, check_nan=False):
            g = second_order(first_order(x), x)
        with warnings.catch_warnings(record=True) as caught, set_detect_anomaly(True):
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError, match="returned nan values"):
                torch.autograd.grad(g, x)
        text = "\n".join(str(w.message) for w in caught)
        assert "Error detected in" in text
        assert "autograd.grad(y, x, create_graph=True)" in text
        assert "Previous calculation was induced by" in text
        assert "return x**1.5" in text


class TestMode:
    def test_detect_anomaly_warns_about_its_cost(self) -> None:
        with pytest.warns(UserWarning, match=ENABLED):
            mode = detect_anomaly()
        with mode:
            assert torch.is_anomaly_enabled()
            assert torch.is_anomaly_check_nan_enabled()
        assert not torch.is_anomaly_enabled()

    def test_detect_anomaly_checks(self) -> None:
        x = vector(-1.0)
        with (
            pytest.warns(UserWarning, match=ENABLED),
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."),
            detect_anomaly(),
        ):
            x.sqrt().backward()
        assert not torch.is_anomaly_enabled()

    def test_set_detect_anomaly_as_a_function(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            set_detect_anomaly(True)
            assert torch.is_anomaly_enabled()
            set_detect_anomaly(False)
        assert not torch.is_anomaly_enabled()

    def test_set_detect_anomaly_as_a_context(self) -> None:
        with set_detect_anomaly(True):
            assert torch.is_anomaly_enabled()
            with set_detect_anomaly(False):
                assert not torch.is_anomaly_enabled()
            assert torch.is_anomaly_enabled()
        assert not torch.is_anomaly_enabled()

    def test_nested_modes_restore_the_outer_flags(self) -> None:
        with set_detect_anomaly(True, check_nan=False):
            with set_detect_anomaly(True):
                assert torch.is_anomaly_check_nan_enabled()
            assert not torch.is_anomaly_check_nan_enabled()
        assert torch.is_anomaly_check_nan_enabled()

    def test_an_exception_leaves_the_mode(self) -> None:
        with pytest.raises(KeyError), set_detect_anomaly(True):
            raise KeyError
        assert not torch.is_anomaly_enabled()
