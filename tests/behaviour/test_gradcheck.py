"""The verdicts of gradcheck and gradgradcheck."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from backend import torch

Function = torch.autograd.Function
gradcheck = torch.autograd.gradcheck
gradgradcheck = torch.autograd.gradgradcheck
# the package's attribute of this name is the function
GradcheckError = importlib.import_module(f"{torch.__name__}.autograd.gradcheck").GradcheckError

both_modes = pytest.mark.parametrize("fast_mode", [False, True])


def vector(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


class WrongSlope(Function):
    """Doubles; the gradient claims a tripling."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


class WrongSecondOrder(Function):
    """x -> x**3 with a right first derivative, of which half of the second one is lost."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x.detach()


class Drifts(Function):
    """Doubles; each run of its backward gives a slightly larger gradient."""

    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Drifts.calls += 1
        return g * 2 * (1 + 1e-9 * Drifts.calls)


RIGHT: dict[str, tuple[Any, int]] = {
    "square": (lambda x: x * x, 1),
    "polynomial": (lambda x: x**3 - 2 * x, 1),
    "transcendental": (lambda x: x.sin() * x.exp() + (x * x + 1).log().sqrt(), 1),
    "linear": (lambda x: x * 2, 1),
    "reduction": (lambda x: (x * x).mean(), 1),
    "two inputs": (lambda x, y: x * y + x / (y * y + 1), 2),
    "two outputs": (lambda x, y: (x * y, (x - y).sin().sum()), 2),
    "indexing": (lambda x: x[[0, 1, 1]] * x[0] ** 2, 1),
    "softmax": (lambda x: torch.nn.functional.softmax(x, dim=0).log(), 1),
    "in place": (lambda x: x.clone().mul_(x), 1),
}


class TestGradcheck:
    @both_modes
    @pytest.mark.parametrize("name", RIGHT)
    def test_a_right_gradient_passes(self, name: str, fast_mode: bool) -> None:
        fn, arity = RIGHT[name]
        inputs = (vector(0.5, -1.25), vector(2.0, 0.75))[:arity]
        assert gradcheck(fn, inputs, fast_mode=fast_mode) is True

    @both_modes
    def test_a_wrong_gradient_raises(self, fast_mode: bool) -> None:
        with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
            gradcheck(WrongSlope.apply, (vector(1.0, 2.0),), fast_mode=fast_mode)

    def test_the_message_shows_both_jacobians(self) -> None:
        with pytest.raises(RuntimeError, match="Jacobian mismatch") as error:
            gradcheck(WrongSlope.apply, (vector(1.0),))
        message = str(error.value)
        assert message.index("numerical") < message.index("analytical")
        assert "2." in message
        assert "3." in message

    def test_the_error_is_a_runtime_error(self) -> None:
        assert issubclass(GradcheckError, RuntimeError)

    @both_modes
    def test_without_exceptions_it_returns_false(self, fast_mode: bool) -> None:
        x = vector(1.0, 2.0)
        assert gradcheck(WrongSlope.apply, (x,), raise_exception=False, fast_mode=fast_mode) is False
        assert gradcheck(lambda x: x * 2, (x,), raise_exception=False, fast_mode=fast_mode) is True

    def test_the_wrong_input_and_output_are_named(self) -> None:
        x, y = vector(1.0, 2.0), vector(3.0, 4.0)
        with pytest.raises(GradcheckError, match="for output 0 with respect to input 1"):
            gradcheck(lambda x, y: x + WrongSlope.apply(y), (x, y))
        with pytest.raises(GradcheckError, match="for output 1 with respect to input 0"):
            gradcheck(lambda x: (x * x, WrongSlope.apply(x)), (x,))

    def test_only_inputs_that_require_grad_are_checked(self) -> None:
        x, y = vector(1.0, 2.0), vector(3.0, 4.0).detach()
        assert gradcheck(lambda x, y: x * WrongSlope.apply(y), (x, y))

    def test_one_tensor_or_a_list(self) -> None:
        x = vector(1.0, 2.0)
        assert gradcheck(lambda x: x * x, x)
        assert gradcheck(lambda x: x * x, [x])
        assert gradcheck(lambda x: [x * x, x.sum()], x)

    def test_other_arguments_pass_through(self) -> None:
        assert gradcheck(lambda x, n, name: x**n, (vector(1.0, 2.0), 3, "cube"))

    def test_scalars_and_matrices(self) -> None:
        assert gradcheck(lambda x: x**3, torch.tensor(2.0, dtype=torch.float64, requires_grad=True))
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)
        b = torch.tensor([[0.5, -1.0, 2.0, 0.0], [1.0, 0.25, -0.5, 3.0]], dtype=torch.float64, requires_grad=True)
        assert gradcheck(torch.matmul, (a, b))
        assert gradcheck(lambda a: a.t() @ a, (a,))

    def test_no_elements(self) -> None:
        assert gradcheck(lambda x: x * 2, (torch.ones(0, dtype=torch.float64, requires_grad=True),))

    def test_a_module(self) -> None:
        layer = torch.nn.Linear(2, 3).double()
        x = torch.tensor([[1.0, -2.0]], dtype=torch.float64, requires_grad=True)
        assert gradcheck(lambda x, *parameters: layer(x).tanh(), (x, *layer.parameters()))

    def test_an_unused_input_has_a_zero_gradient(self) -> None:
        assert gradcheck(lambda x, y: x * x, (vector(1.0, 2.0), vector(3.0)))

    def test_a_function_that_returns_no_tensor_is_refused(self) -> None:
        for fn in (lambda x: None, lambda x: x.sum().item(), lambda x: (x * 2, 3)):
            with pytest.raises(AttributeError):
                gradcheck(fn, (vector(1.0, 2.0),))

    def test_tolerances(self) -> None:
        x = vector(1.0, 2.0)
        assert gradcheck(WrongSlope.apply, (x,), atol=2.0)
        assert gradcheck(WrongSlope.apply, (x,), rtol=1.0)
        assert not gradcheck(lambda x: x**3, (x,), eps=0.5, raise_exception=False)
        assert gradcheck(lambda x: x * x, (x,), eps=1e-4, atol=1e-5, rtol=1e-3)

    def test_inputs_are_left_as_they_were(self) -> None:
        x = vector(1.0, 2.0)
        x.grad = torch.tensor([5.0, 6.0], dtype=torch.float64)
        gradcheck(lambda x: x * x, (x,))
        gradgradcheck(lambda x: x**3, (x,))
        assert x.tolist() == [1.0, 2.0]
        assert x.grad.tolist() == [5.0, 6.0]
        assert x.requires_grad

    def test_an_exception_of_the_function_passes(self) -> None:
        def fails(x: Any) -> Any:
            raise KeyError("inside")

        with pytest.raises(KeyError, match="inside"):
            gradcheck(fails, (vector(1.0),))
        with pytest.raises(KeyError, match="inside"):
            gradcheck(fails, (vector(1.0),), raise_exception=False)

    def test_the_public_name(self) -> None:
        assert torch.autograd.gradcheck is gradcheck
        assert callable(torch.autograd.gradgradcheck)


class TestRequirements:
    @pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
    def test_some_input_must_require_grad(self, check: Any) -> None:
        with pytest.raises(ValueError, match="requires_grad=True"):
            check(lambda x: x * x, (torch.ones(2, dtype=torch.float64),))
        with pytest.raises(ValueError, match="requires_grad=True"):
            check(lambda x: x * x, (torch.ones(2, dtype=torch.float64),), raise_exception=False)

    def test_single_precision_warns(self) -> None:
        x = torch.ones(2, requires_grad=True)
        with pytest.warns(UserWarning, match="is not a double precision"):
            assert gradcheck(lambda x: x * 2, (x,), eps=1e-2, atol=1e-2)

    def test_single_precision_is_too_coarse_for_the_default_step(self) -> None:
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        with pytest.warns(UserWarning, match="is not a double precision"):
            assert not gradcheck(lambda x: x.exp(), (x,), raise_exception=False)

    def test_a_single_precision_constant_does_not_matter(self) -> None:
        assert gradcheck(lambda x, c: x * c, (vector(1.0, 2.0), torch.ones(2)))


class TestDeterminism:
    @both_modes
    def test_a_drifting_backward_is_reported(self, fast_mode: bool) -> None:
        with pytest.raises(GradcheckError, match="Backward is not reentrant"):
            gradcheck(Drifts.apply, (vector(1.0, 2.0),), fast_mode=fast_mode)
        assert not gradcheck(Drifts.apply, (vector(1.0, 2.0),), fast_mode=fast_mode, raise_exception=False)

    @both_modes
    def test_within_the_tolerance_it_passes(self, fast_mode: bool) -> None:
        assert gradcheck(Drifts.apply, (vector(1.0, 2.0),), fast_mode=fast_mode, nondet_tol=1e-5)


class TestOutputs:
    def test_without_a_graph_they_must_not_depend_on_the_inputs(self) -> None:
        with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
            gradcheck(lambda x: x.detach() * 2, (vector(1.0, 2.0),))
        assert not gradcheck(lambda x: x.detach() * 2, (vector(1.0, 2.0),), raise_exception=False)

    def test_without_a_graph_constants_pass(self) -> None:
        assert gradcheck(lambda x: torch.ones(2, dtype=torch.float64), (vector(1.0, 2.0),))
        assert gradcheck(lambda x: x.detach().sign(), (vector(1.0, -2.0),))

    def test_beside_differentiable_ones_discrete_ones_are_ignored(self) -> None:
        assert gradcheck(lambda x: (x * x, x.argmax()), (vector(1.0, 2.0),))
        assert gradcheck(lambda x: x.sort(), (vector(3.0, 1.0, 2.0),))

    def test_they_must_keep_their_shape(self) -> None:
        with pytest.raises(AssertionError):
            gradcheck(lambda x: x[x > 1.0 - 1e-12], (vector(1.0, 2.0),))

    def test_a_missing_branch_is_found(self) -> None:
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(lambda x: x * x.detach(), (vector(1.0, 2.0),))

    def test_a_jump_in_the_derivative_is_averaged(self) -> None:
        x = vector(0.0)
        assert gradcheck(lambda x: x.abs(), (x,))
        assert not gradcheck(lambda x: x.relu(), (x,), raise_exception=False)


class TestGradgradcheck:
    @both_modes
    @pytest.mark.parametrize("name", RIGHT)
    def test_right_second_derivatives_pass(self, name: str, fast_mode: bool) -> None:
        fn, arity = RIGHT[name]
        inputs = (vector(0.5, -1.25), vector(2.0, 0.75))[:arity]
        assert gradgradcheck(fn, inputs, fast_mode=fast_mode) is True

    @both_modes
    def test_a_wrong_second_derivative_is_found(self, fast_mode: bool) -> None:
        x = vector(1.0, 2.0)
        assert gradcheck(WrongSecondOrder.apply, (x,), fast_mode=fast_mode)
        with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
            gradgradcheck(WrongSecondOrder.apply, (x,), fast_mode=fast_mode)
        assert gradgradcheck(WrongSecondOrder.apply, (x,), fast_mode=fast_mode, raise_exception=False) is False

    def test_gradients_of_outputs_can_be_given(self) -> None:
        x, v = vector(1.0, 2.0), vector(3.0, -1.0)
        assert gradgradcheck(lambda x: x**3, (x,), (v,))
        assert gradgradcheck(lambda x: x**3, x, grad_outputs=v)

    def test_it_makes_gradients_for_every_output(self) -> None:
        x = torch.tensor([[0.5, 1.5], [2.5, -0.5]], dtype=torch.float64, requires_grad=True)
        assert gradgradcheck(lambda x: (x @ x, x.sum(dim=0), x.prod()), (x,))

    def test_a_detached_derivative_is_found(self) -> None:
        class Detached(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return g * 3 * x.detach() ** 2

        x = vector(1.0, 2.0)
        assert gradcheck(Detached.apply, (x,))
        assert not gradgradcheck(Detached.apply, (x,), raise_exception=False)


class ForwardWrong(Function):
    """Doubles, with a right backward and a jvp that triples."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 3


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # PyTorch's own, where it is the backend
class TestForwardMode:
    @both_modes
    @pytest.mark.parametrize(
        "function",
        [
            pytest.param(lambda x, y: (x * y).sin(), id="elementwise"),
            pytest.param(lambda x, y: (x.outer(y) @ y, x.sum()), id="several"),
            pytest.param(lambda x, y: x.clone().mul_(y).cumsum(0), id="in place"),
            pytest.param(lambda x, y: x * 2, id="unused"),
        ],
    )
    def test_right_tangents_pass(self, function: Any, fast_mode: bool) -> None:
        inputs = vector(0.5, -1.5), vector(2.0, 0.7)
        assert gradcheck(function, inputs, check_forward_ad=True, fast_mode=fast_mode)
        assert gradcheck(function, inputs, check_forward_ad=True, check_backward_ad=False, fast_mode=fast_mode)
        assert gradgradcheck(function, inputs, check_fwd_over_rev=True, fast_mode=fast_mode)
        assert gradgradcheck(
            function,
            inputs,
            check_fwd_over_rev=True,
            check_rev_over_rev=False,
            check_undefined_grad=False,
            fast_mode=fast_mode,
        )

    @both_modes
    def test_wrong_tangents_are_found(self, fast_mode: bool) -> None:
        x = vector(1.0, 2.0)
        assert gradcheck(ForwardWrong.apply, (x,), fast_mode=fast_mode)
        mismatch = "Jacobian computed with forward mode mismatch for output 0 with respect to input 0"
        with pytest.raises(GradcheckError, match=mismatch):
            gradcheck(ForwardWrong.apply, (x,), check_forward_ad=True, fast_mode=fast_mode)
        assert not gradcheck(
            ForwardWrong.apply, (x,), check_forward_ad=True, raise_exception=False, fast_mode=fast_mode
        )

    def test_batches(self) -> None:
        inputs = vector(0.5, -1.5), vector(2.0, 0.7)
        assert gradcheck(
            lambda x, y: (x.outer(y).tanh() @ y, x.sum()),
            inputs,
            check_forward_ad=True,
            check_batched_grad=True,
            check_batched_forward_grad=True,
        )

    @pytest.mark.parametrize(
        ("check", "options", "message"),
        [
            (gradcheck, {"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
            (
                gradcheck,
                {"check_forward_ad": True, "check_backward_ad": False, "check_batched_grad": True},
                "Setting check_batched_grad=True requires check_backward_ad to be True",
            ),
            (
                gradcheck,
                {"check_batched_forward_grad": True},
                "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
            ),
            (gradgradcheck, {"check_rev_over_rev": False}, "at least one of check_fwd_over_rev or check_rev_over_rev"),
            (
                gradgradcheck,
                {"check_fwd_over_rev": True, "check_rev_over_rev": False},
                "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
            ),
        ],
    )
    def test_what_is_asked_for_must_fit(self, check: Any, options: dict[str, bool], message: str) -> None:
        with pytest.raises(AssertionError, match=message):
            check(lambda x: x * 2, (vector(1.0),), **options)


@pytest.mark.parametrize("inputs", [(), (3,), (torch.ones(2, dtype=torch.float64),)])
def test_no_input_requires_grad(inputs: Any) -> None:
    with pytest.raises(ValueError, match="but none of them have requires_grad=True"):
        gradcheck(lambda *args: vector(1.0), inputs)


@pytest.mark.parametrize("raise_exception", [False, True])
@pytest.mark.parametrize("forward", [False, True])
def test_shapes_that_change_with_the_inputs(forward: bool, raise_exception: bool) -> None:
    def longer(x: Any) -> Any:
        return torch.cat([x, x[1:]]) if x[0] > 0.5 else x * 1

    with pytest.raises(AssertionError) as error:
        gradcheck(
            longer,
            vector(0.5, 2.0),
            check_forward_ad=forward,
            check_backward_ad=not forward,
            raise_exception=raise_exception,
        )
    assert type(error.value) is AssertionError
    text = str(error.value)
    assert text.startswith(
        "Expected `func` to return outputs with the same shape when inputs are perturbed on index (0,)"
    )
    assert "by 1e-06, but got: shapes torch.Size([2]) and torch.Size([3])." in text
