"""What is named as the cause of a wrong gradient."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import minitorch as torch
from minitorch.testing import GradientReport, check_gradients

F64 = torch.float64


def point() -> Any:
    return torch.tensor([0.5, 2.0, -1.0], dtype=F64)


def report_of(fn: Any, *inputs: Any, **options: Any) -> GradientReport:
    """The report of a function that is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check_gradients(fn, *(inputs or (point(),)), raise_exception=False, **options)
    assert not report.ok
    return report


COPIES: dict[str, tuple[Any, str]] = {
    "tensor": (lambda x: torch.tensor(x) * x, "torch.tensor()"),
    "tensor of a list": (lambda x: torch.tensor([x[0], x[1], x[2]]) * x, "torch.tensor()"),
    "tensor alone": (lambda x: torch.tensor(x) * 2, "torch.tensor()"),
    "tensor that requires grad": (lambda x: torch.tensor(x, requires_grad=True) * x, "torch.tensor()"),
    "as_tensor of a list": (lambda x: torch.as_tensor([x[0], x[1], x[2]]) * x, "torch.as_tensor()"),
    "asarray of a list": (lambda x: torch.asarray([x[0], x[1], x[2]]) * x, "torch.asarray()"),
    "new_tensor": (lambda x: x.new_tensor(x) * x, "new_tensor()"),
    "Parameter": (lambda x: torch.nn.Parameter(x) * x, "Parameter()"),
}


@pytest.mark.parametrize("name", COPIES)
def test_what_copies_values_is_named(name: str) -> None:
    fn, call = COPIES[name]
    failure = report_of(fn).failures[0]
    assert failure.blame is not None
    assert (failure.blame.kind, failure.blame.name) == ("cut", call)
    assert __file__ in failure.blame.site


def test_operations_without_a_derivative_are_no_cuts() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    for rest in (lambda x: x.argmax(), lambda x: x > 0, lambda x: x.sort().indices, lambda x: torch.frexp(x)[1]):
        (failure,) = report_of(lambda x, rest=rest: Doubled.apply(x) * (1 + rest(x)), point() * 0.6).failures
        assert failure.blame is not None
        assert failure.blame.name == "DoubledBackward"


def marked(several: bool, first: bool = True) -> Any:
    """A Function that marks a sine as non-differentiable; with a cosine, before or behind it."""

    class Marking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.sin()
            ctx.mark_non_differentiable(y)
            ctx.save_for_backward(x)
            both = (y, x.cos()) if first else (x.cos(), y)
            return both if several else y

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            (x,) = ctx.saved_tensors
            return -gradients[first] * x.sin() if several else gradients[0] * x.cos()

    return Marking


@pytest.mark.parametrize(
    "call",
    [
        lambda x: marked(False).apply(x),
        lambda x: marked(False).apply(x) * x,
        lambda x: marked(True).apply(x),
        lambda x: marked(True, False).apply(x),
        lambda x: marked(True).apply(x)[0] * x,
    ],
)
def test_a_function_that_marks_what_has_a_derivative_is_named(call: Any) -> None:
    failure = report_of(call).failures[0]
    assert failure.blame is not None
    assert (failure.blame.kind, failure.blame.name) == ("cut", "Marking.apply()")
    assert "ctx.mark_non_differentiable" in failure.blame.detail
    assert __file__ in failure.blame.site


def test_what_a_function_marks_rightly_is_not_blamed() -> None:
    class Levels(torch.autograd.Function):
        """Rounded values, which have no derivative, and a sine whose gradient is doubled."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            levels = x.round()
            ctx.mark_non_differentiable(levels)
            ctx.save_for_backward(x)
            return levels, x.sin()

        @staticmethod
        def backward(ctx: Any, unused: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g * x.cos()

    failure = report_of(lambda x: Levels.apply(x)[1], point() / 8 + 0.1).failures[0]
    assert failure.blame is not None
    assert (failure.blame.kind, failure.blame.name) == ("node", "LevelsBackward")
    assert __file__ in failure.blame.site
    assert "gives 1.9" in failure.blame.detail


def test_tensors_that_pass_through_a_hooked_module_are_not_cut_there() -> None:
    class Pair(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x * y

    def hooked(x: Any) -> Any:
        module = Pair()
        module.register_full_backward_hook(lambda *_: None)
        return module(x, torch.ones(3, dtype=F64)) * x.detach()

    failure = report_of(hooked).failures[0]
    assert failure.blame is not None
    assert failure.blame.name == "detach()"
    assert "apply" not in str(failure)


@pytest.mark.parametrize("on", ["a result", "an input"])
def test_only_a_hook_that_changes_the_gradient_is_named(on: str) -> None:
    def hooked(x: Any, change: bool) -> Any:
        y = x.sin()
        y.register_hook(lambda g: None)
        (y if on == "a result" else x).register_hook(lambda g: g * 3 if change else g)
        return y.exp() * (1.0 if change else x.detach())

    failure = report_of(lambda x: hooked(x, True)).failures[0]
    assert failure.blame is not None
    named = "a hook on SinBackward0" if on == "a result" else "a hook on input 0"
    assert (failure.blame.kind, failure.blame.name) == ("hook", f"{named} changes the gradient")
    failure = report_of(lambda x: hooked(x, False)).failures[0]
    assert failure.blame is not None
    assert failure.blame.name == "detach()"


def custom(gradient: Any) -> Any:
    """A square whose backward is a function of x and g."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return gradient(*ctx.saved_tensors, g)

    return Square


NOT_LINEAR: dict[str, Any] = {
    "squared": lambda x, g: 2 * x * g * g.abs(),
    "left out": lambda x, g: 2 * x + 0 * g,
    "clipped": lambda x, g: 2 * x * g.clamp(-1, 1),
    "a constant": lambda x, g: 2 * x * g + 1,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_a_backward_that_is_not_linear_is_told_as_that_first(name: str) -> None:
    report = report_of(custom(NOT_LINEAR[name]).apply)
    assert report.failures[0].check == "linearity"
    for failure in report.failures:
        assert failure.blame is not None
        assert failure.blame.name == "SquareBackward"
        assert failure.blame.detail.startswith("its backward is not linear in the gradient it is given")
    assert "was changed since" not in str(report)
    assert "pattern" not in str(report)


def test_a_random_backward_is_told_once() -> None:
    torch.manual_seed(0)  # one of eight gives the same twice
    report = report_of(custom(lambda x, g: 2 * x * g * (torch.rand(g.shape, dtype=g.dtype) > 0.5)).apply)
    assert report.failures[0].check == "determinism"
    assert {failure.check for failure in report.failures} <= {"determinism", "values"}


def test_a_gradient_that_is_wrong_without_dimensions() -> None:
    one = custom(lambda x, g: 2 * x * g * (1 if g.ndim else 3))
    report = report_of(one.apply)
    assert [failure.check for failure in report.failures] == ["scalars"]
    assert "raised" not in str(report)


def test_once_differentiable_is_not_advised_where_it_is() -> None:
    once = custom(lambda x, g: 2 * x * g)
    once.backward = staticmethod(torch.autograd.function.once_differentiable(once.backward))
    (failure,) = report_of(once.apply, order=2).failures
    assert failure.blame is not None
    assert failure.blame.name == "SquareBackward"
    assert "check with order=1" in failure.blame.detail
    assert "If nobody needs" not in failure.blame.detail


def test_a_function_that_was_seen_to_be_wrong_is_not_called_right() -> None:
    report = report_of(custom(lambda x, g: 2 * x * g / (x != 2).double()).apply)
    assert [failure.check for failure in report.failures] == ["values", "finite"]
    assert "nothing wrong was seen in it alone" not in str(report)
    assert "it is to blame for [values], too" in str(report)


@pytest.mark.parametrize("factor", [1.001, 1.009, 1.02])
def test_a_small_mistake_is_not_taken_for_a_changed_value(factor: float) -> None:
    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x.cos() * factor

    report = check_gradients(Sin.apply, torch.tensor([0.1, 0.6], dtype=torch.float64), raise_exception=False)
    blame = report.failures[0].blame
    assert blame is not None
    assert (blame.name, blame.kind) == ("SinBackward", "node")
    assert "changed since" not in blame.detail


def positive_part(x: Any) -> Any:
    return torch.where(x > 0, x, 0.01 * x)


def copied_product(x: Any, y: Any) -> Any:
    return x.detach() * y


class Leaky(torch.autograd.Function):
    """Its forward calls another function; its backward forgets the slope on the left."""

    slope = 0.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return positive_part(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, Leaky.slope * g)


class Half(torch.autograd.Function):
    """A product, with no gradient for one of the factors; its forward calls a function that detaches."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return copied_product(x, y)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        _, y = ctx.saved_tensors
        return g * y, None


def test_what_a_forward_calls_is_its_own_business(monkeypatch: pytest.MonkeyPatch) -> None:
    negative = torch.tensor([-1.0, -2.0], dtype=F64)
    assert report_of(Leaky.apply, negative).failures[0].blame.name == "LeakyBackward"
    assert report_of(Half.apply, negative, negative + 0.5).failures[0].blame.name == "HalfBackward"
    monkeypatch.setattr(Leaky, "slope", 0.01)
    blame = report_of(lambda x: Leaky.apply(x).detach() * 2, negative).failures[0].blame
    assert blame is not None
    assert (blame.name, blame.detail) == ("detach()", "")


def test_a_hook_is_blamed_for_what_is_not_linear() -> None:
    def clipped(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g.clamp(-0.5, 0.5))
        return y.sin()

    failures = report_of(clipped, skip=("values",)).failures
    assert failures[0].check == "linearity"
    assert failures[0].blame is not None
    assert (failures[0].blame.kind, failures[0].blame.name) == ("hook", "a hook on MulBackward0 changes the gradient")
