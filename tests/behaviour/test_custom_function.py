"""User-defined Functions: both styles, arguments, saved values, returned gradients, higher derivatives, lifetime."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch
from custom import MODIFIED, Function, const, grad_of, leaf, make, once_differentiable


class Scale(Function):
    """x * factor, with ten times the right gradient, so that its backward is recognisable."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.factor * 10, None


class Cube(Function):
    """x**3 with a differentiable backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


class Exp(Function):
    """exp(x) that saves its output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (result,) = ctx.saved_tensors
        return grad * result


class Divide(Function):
    """a / b in the style with a separate setup_context, and a default argument."""

    @staticmethod
    def forward(a: Any, b: Any, scale: float = 1.0) -> Any:
        return a / b * scale

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, b, ctx.scale = inputs
        ctx.save_for_backward(b, output)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        b, output = ctx.saved_tensors
        return grad / b * ctx.scale, -grad * output / b, None


def test_apply_records_and_runs_backward() -> None:
    x = leaf(1.0, 2.0)
    y = Scale.apply(x, 3.0)
    assert y.tolist() == [3.0, 6.0]
    assert y.requires_grad
    assert not y.is_leaf
    assert grad_of(y, x) == [30.0, 30.0]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_calling_an_instance_raises() -> None:
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        Scale()(leaf(1.0), 2.0)


def test_instantiating_warns() -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Scale()


def test_separate_setup_context() -> None:
    a, b = leaf(6.0), leaf(3.0)
    y = Divide.apply(a, b)
    assert y.tolist() == [2.0]
    assert [g.tolist() for g in torch.autograd.grad(y, (a, b))] == [[1 / 3], [-2 / 3]]
    y = Divide.apply(a, b, 6.0)
    assert y.tolist() == [12.0]
    assert [g.tolist() for g in torch.autograd.grad(y, (a, b))] == [[2.0], [-4.0]]


def test_keyword_argument_with_setup_context() -> None:
    a, b = leaf(6.0), leaf(3.0)
    y = Divide.apply(a, b, scale=3.0)
    assert y.tolist() == [6.0]
    assert grad_of(y, a) == [1.0]


def test_setup_context_sees_defaults_inputs_and_output() -> None:
    seen: list[Any] = []
    function = make(
        lambda x, n=4: x * n,
        lambda ctx, grad: (grad * 4, None),
        setup_context=lambda ctx, inputs, output: seen.append((len(inputs), inputs[1], output.tolist())),
    )
    x = leaf(1.0)
    assert grad_of(function.apply(x), x) == [4.0]
    function.apply(x, 5)
    assert seen == [(2, 4, [4.0]), (2, 5, [5.0])]


def test_wrong_number_of_arguments_raises_type_error() -> None:
    with pytest.raises(TypeError):
        Cube.apply(leaf(1.0), 2)
    with pytest.raises(TypeError):
        Cube.apply()
    with pytest.raises(TypeError):
        Cube.apply(leaf(1.0), nope=1)


def test_default_and_non_tensor_arguments() -> None:
    function = make(
        lambda ctx, x, text="a", options=None: x * (len(text) + len(options or {})),
        lambda ctx, grad: (grad * 7, None, None),
    )
    x = leaf(1.0)
    assert function.apply(x).tolist() == [1.0]
    assert function.apply(x, "abc", {"k": x}).tolist() == [4.0]
    x.grad = None
    make(lambda ctx, x, *rest: x * len(rest), lambda ctx, grad: (grad * 2, None, None)).apply(x, 1, None).backward()
    assert x.grad.tolist() == [2.0]


def test_variable_number_of_tensors() -> None:
    function = make(lambda ctx, *xs: sum(xs), lambda ctx, grad: tuple(grad * i for i in range(3)))
    xs = [leaf(1.0), leaf(2.0), leaf(3.0)]
    y = function.apply(*xs)
    assert y.tolist() == [6.0]
    assert [g.tolist() for g in torch.autograd.grad(y, xs)] == [[0.0], [1.0], [2.0]]


def test_forward_runs_without_grad_on_the_inputs_themselves() -> None:
    x, seen = leaf(1.0), []

    def forward(ctx: Any, argument: Any) -> Any:
        result = argument * 2
        seen.append((torch.is_grad_enabled(), argument is x, argument.requires_grad, result.requires_grad))
        return result

    y = make(forward, lambda ctx, grad: grad).apply(x)
    assert seen == [(False, True, True, False)]
    assert y.requires_grad
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_in_backward_follows_create_graph(create_graph: bool) -> None:
    x, seen = leaf(1.0), []

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return grad

    y = make(lambda ctx, x: x * 2, backward).apply(x)
    torch.autograd.grad(y, x, create_graph=create_graph)
    assert seen == [create_graph]


def test_needs_input_grad_has_one_flag_per_argument() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return (grad if ctx.needs_input_grad[0] else None), None, None, None

    x = leaf(1.0)
    make(forward, backward).apply(x, const(2.0), 3, "text").backward()
    make(forward, backward).apply(x, leaf(2.0), None, x * 1)
    assert seen == [(True, False, False, False), (True, False, False, False), (True, True, False, True)]


def test_saved_tensors_are_what_was_saved_with_none_entries() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, None, y)
        return x * y

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.saved_tensors)
        assert ctx.saved_tensors[1] is None  # reading twice is fine
        return grad, None

    x, y = leaf(1.0), const(2.0)
    result = make(forward, backward).apply(x, y)
    result.backward()
    first, nothing, last = seen[0]
    assert (first.tolist(), nothing, last.tolist()) == ([1.0], None, [2.0])
    assert first is x


def test_nothing_saved_gives_an_empty_tuple() -> None:
    assert Scale.apply(leaf(1.0), 2.0).grad_fn.saved_tensors == ()


@pytest.mark.parametrize(("value", "name"), [(3, "int"), ([1.0], "list"), ("text", "str")])
def test_saving_something_else_raises(value: Any, name: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, value)
        return x * 1

    message = f"save_for_backward can only save variables, but argument 1 is of type {name}"
    with pytest.raises(TypeError, match=message):
        make(forward, lambda ctx, grad: grad).apply(leaf(1.0))


def test_saved_input_or_output_modified_later_is_detected() -> None:
    x = leaf(1.0, 2.0) * 1
    y = Cube.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    y = Exp.apply(leaf(1.0, 2.0))
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_second_backward_needs_retain_graph_when_something_was_saved() -> None:
    x = leaf(2.0)
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [24.0]
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        (lambda ctx, g: g, [1.0, 1.0]),
        (lambda ctx, g: (g,), [1.0, 1.0]),
        (lambda ctx, g: (g, None), [1.0, 1.0]),
        (lambda ctx, g: (g, None, None), [1.0, 1.0]),
        (lambda ctx, g: g.expand(3, 2), [3.0, 3.0]),
        (lambda ctx, g: torch.ones(1, 2, dtype=torch.float64), [1.0, 1.0]),
        (lambda ctx, g: g.float(), [1.0, 1.0]),
        (lambda ctx, g: g.long() * 2, [2.0, 2.0]),
        (lambda ctx, g: None, None),
        (lambda ctx, g: (None,), None),
    ],
)
def test_accepted_gradients(backward: Callable[[Any, Any], Any], expected: list[float] | None) -> None:
    x = leaf(1.0, 2.0)
    make(lambda ctx, x: x * 2, backward).apply(x).sum().backward()
    if expected is None:
        assert x.grad is None
    else:
        assert x.grad.tolist() == expected
        assert x.grad.dtype == torch.float64


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda ctx, g: (g, g), r"returned an incorrect number of gradients \(expected 1, got 2\)"),
        (lambda ctx, g: (), r"returned an incorrect number of gradients \(expected 1, got 0\)"),
        (
            lambda ctx, g: torch.ones(5),
            r"invalid gradient at index 0 - got \[5\] but expected shape compatible with \[2\]",
        ),
        (lambda ctx, g: g[0], r"invalid gradient at index 0 - got \[\] but expected shape compatible with \[2\]"),
        (lambda ctx, g: g[:1], r"invalid gradient at index 0 - got \[1\] but expected shape compatible with \[2\]"),
        (lambda ctx, g: 3, r"expected Variable or None \(got int\)"),
        (lambda ctx, g: [g], r"expected Variable or None \(got list\)"),
        (lambda ctx, g: "text", r"expected Variable or None \(got str\)"),
    ],
)
def test_refused_gradients(backward: Callable[[Any, Any], Any], message: str) -> None:
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: x * 2, backward).apply(x)
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()
    assert x.grad is None


def test_number_of_gradients_counts_all_arguments() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"MyFunctionBackward returned an incorrect number .* \(expected 2, got 1\)"):
        make(lambda ctx, x, y: x * 2, lambda ctx, g: g).apply(x, const(1.0)).sum().backward()
    with pytest.raises(RuntimeError, match="gradient different than None at position 2, but the corresponding forward"):
        make(lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(x, 3).sum().backward()
    make(lambda ctx, x, y: x * 2, lambda ctx, g: (g, g)).apply(x, const(1.0, 1.0)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_none_is_no_contribution() -> None:
    x, y = leaf(1.0), leaf(2.0)
    product = make(lambda ctx, a, b: a * b, lambda ctx, g: (None, g)).apply(x, y)
    product.backward()
    assert x.grad is None
    assert y.grad.tolist() == [1.0]
    (x * 5 + make(lambda ctx, a: a * 2, lambda ctx, g: None).apply(x)).backward()
    assert x.grad.tolist() == [5.0]


@pytest.mark.parametrize("argument", [7, const(1.0), torch.tensor([1, 2]), None])
def test_nothing_is_recorded_without_an_input_that_requires_grad(argument: Any) -> None:
    output = make(lambda ctx, x: torch.ones(2)).apply(argument)
    assert output.grad_fn is None
    assert not output.requires_grad


def test_tensors_nested_in_arguments_are_not_inputs() -> None:
    x = leaf(1.0)
    assert not make(lambda ctx, xs: xs[0] * 2).apply([x]).requires_grad


def test_nothing_is_recorded_under_no_grad() -> None:
    with torch.no_grad():
        y = Cube.apply(leaf(2.0))
    assert not y.requires_grad


def test_double_backward_of_backward_written_with_operations() -> None:
    x = leaf(2.0)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.tolist(), second.tolist(), third.tolist()) == ([12.0], [12.0], [6.0])


def test_double_backward_through_saved_output() -> None:
    x = leaf(0.0)
    (first,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
    assert first.requires_grad
    assert grad_of(first, x) == [1.0]


def test_once_differentiable_runs_without_grad_and_refuses_the_second_derivative() -> None:
    modes: list[bool] = []

    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        (x,) = ctx.saved_tensors
        return grad * 2 * x

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    function = make(forward, backward)
    x = leaf(3.0)
    assert grad_of(function.apply(x), x) == [6.0]
    (first,) = torch.autograd.grad(function.apply(x) ** 2, x, create_graph=True)
    assert first.tolist() == [108.0]
    assert first.requires_grad
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_diff"):
        first.backward()
    assert modes == [False, False]


def test_missing_methods() -> None:
    empty = type("Empty", (Function,), {})
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        empty.apply(leaf(1.0))
    x = leaf(1.0)
    y = make(lambda ctx, x: x * 2).apply(x)
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        y.backward()


def test_vjp_is_another_name_for_backward() -> None:
    x = leaf(1.0)
    assert grad_of(make(lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 3).apply(x), x) == [3.0]
    both = make(lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both.apply(x).backward()


def test_node_is_named_after_the_class_and_shows_the_context() -> None:
    x = leaf(1.0)
    y = Scale.apply(x, 2.5)
    assert type(y.grad_fn).__name__ == "ScaleBackward"
    assert y.grad_fn.name() == "ScaleBackward"
    assert y.grad_fn.factor == 2.5
    assert "grad_fn=<ScaleBackward>" in repr(y)
    assert y.grad_fn.next_functions[0][0].variable is x
    assert len(y.grad_fn.next_functions) == 1
    assert y.grad_fn.needs_input_grad == (True, False)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = y.grad_fn.nothing_like_it


def test_subclass_of_a_function() -> None:
    class SubScale(Scale):
        pass

    x = leaf(1.0)
    y = SubScale.apply(x, 2.0)
    assert type(y.grad_fn).__name__ == "SubScaleBackward"
    assert grad_of(y, x) == [20.0]


def test_context_of_one_call_is_its_own() -> None:
    x = leaf(1.0)
    first, second = Scale.apply(x, 2.0), Scale.apply(x, 3.0)
    assert grad_of(first, x) == [20.0]
    assert grad_of(second, x) == [30.0]


def test_functions_compose_with_operations_and_with_themselves() -> None:
    x = leaf(0.5)
    y = Cube.apply(Exp.apply(x * 2) + 1).log()
    e = (x.detach() * 2).exp()
    assert grad_of(y, x) == pytest.approx((3 * 2 * e / (e + 1)).tolist())


def test_output_may_have_any_shape() -> None:
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: torch.zeros(3, 4, dtype=torch.float64), lambda ctx, g: g.sum().expand(2)).apply(x)
    assert grad_of(y, x) == [12.0, 12.0]


def test_exceptions_keep_their_type() -> None:
    def fail(*_: Any) -> Any:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        make(fail).apply(leaf(1.0))
    y = make(lambda ctx, x: x * 1, fail).apply(leaf(1.0))
    with pytest.raises(LookupError, match="mine"):
        y.backward()
    assert torch.is_grad_enabled()


def test_straight_through_estimator() -> None:
    function = make(lambda ctx, x: x.round(), lambda ctx, g: g)
    x = leaf(0.2, 1.7)
    y = function.apply(x * 2)
    assert y.tolist() == [0.0, 3.0]
    assert grad_of(y * const(1.0, 5.0), x) == [2.0, 10.0]


def test_gradient_reversal_keeps_values() -> None:
    function = make(lambda ctx, x, k: x.view_as(x), lambda ctx, g: (-g, None))
    x = leaf(1.0, 2.0)
    y = function.apply(x, 1.0)
    assert y.tolist() == [1.0, 2.0]
    assert grad_of(y, x) == [-1.0, -1.0]


@pytest.mark.parametrize("function", [Exp, Cube])
def test_context_and_saved_values_are_collected(function: Any) -> None:
    class Payload:
        pass

    x = leaf(1.0, 2.0)
    y = function.apply(x)
    y.grad_fn.payload = payload = Payload()
    watched = weakref.ref(payload)
    del payload
    gc.collect()
    assert watched() is not None
    del y
    gc.collect()
    assert watched() is None


def test_output_kept_on_the_context_is_collected() -> None:
    class Payload:
        pass

    def forward(ctx: Any, x: Any) -> Any:
        ctx.payload = Payload()
        result = x * 2
        ctx.save_for_backward(x, result)
        return result

    y = make(forward, lambda ctx, g: g).apply(leaf(1.0))
    watched = weakref.ref(y.grad_fn.payload)
    y.backward()
    del y
    gc.collect()
    assert watched() is None


def test_a_node_of_a_custom_function_prints_as_pytorch_prints_it() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    node = Square.apply(torch.ones(2, requires_grad=True)).grad_fn
    assert re.fullmatch(r"<torch\.autograd\.function\.SquareBackward object at 0x[0-9a-f]+>", repr(node))
