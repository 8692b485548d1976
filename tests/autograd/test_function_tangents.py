"""Forward mode through custom Functions."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch.autograd import Function
from minitorch.autograd import forward_ad as fwAD
from minitorch.autograd._jvp import jvp

X, T = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])


def tangent(tensor: Any) -> Any:
    found = fwAD.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, times: float) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.times = times
        return x**3 * times

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2 * ctx.times, None

    @staticmethod
    def jvp(ctx: Any, t: Any, times: Any) -> Any:
        assert times is None
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t * ctx.times


class Plain(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


def test_a_function_moves_as_its_jvp_says() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        assert tangent(Cube.apply(x, 2.0)) == [6.0, 12.0]
        assert tangent(Cube.apply(X, 2.0)) is None
        y = fwAD.make_dual(X.clone().requires_grad_(), T)
        moved = fwAD.unpack_dual(Cube.apply(y, 1.0)).tangent
        assert torch.autograd.grad(moved.sum(), y)[0].tolist() == [6.0, 6.0]
        (g,) = torch.autograd.grad(Cube.apply(y, 1.0).sum(), y)
        assert tangent(g) == [6.0, 6.0]
    assert jvp(lambda x: jvp(lambda y: Cube.apply(y, 1.0), (x,), (T,))[1], (X,), (T,))[1].tolist() == [6.0, 3.0]


def test_one_without_jvp_is_refused_where_a_tangent_comes() -> None:
    with fwAD.dual_level():
        assert Plain.apply(X).tolist() == [2.0, 4.0]
        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            Plain.apply(fwAD.make_dual(X, T))


@pytest.mark.parametrize("materialize", [True, False])
def test_missing_tangents_are_zeros_unless_they_are_not_wanted(materialize: bool) -> None:
    came: list[Any] = []

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * y

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any) -> Any:
            came.append(y)
            return x * 2

    with fwAD.dual_level():
        assert tangent(Product.apply(fwAD.make_dual(X, T), X)) == [2.0, 1.0]
    assert (came[0] is None) != materialize
    assert not materialize or came[0].tolist() == [0.0, 0.0]


def test_several_outputs_and_setup_context() -> None:
    class Both(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp(), x.long()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(output[0])

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return ctx.saved_tensors[0] * t, None

    with fwAD.dual_level():
        floats, integers = Both.apply(fwAD.make_dual(torch.zeros(2), T))
        assert tangent(floats) == [1.0, 0.5]
        assert tangent(integers) is None


def test_inputs_that_are_written_or_returned() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t.mul_(2)

    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t.view_as(t)

    with fwAD.dual_level():
        x = fwAD.make_dual(X, T).clone()
        assert tangent(Same.apply(x)) == [1.0, 0.5]
        Doubled.apply(x)
        assert x.tolist() == [2.0, 4.0]
        assert tangent(x) == [2.0, 1.0]


@pytest.mark.parametrize(
    ("forward", "moved", "said"),
    [
        (
            lambda ctx, x: (x * 2, x * 3),
            lambda ctx, t: t,
            r"invalid number of forward gradients \(expected 2 but got 1\)",
        ),
        (lambda ctx, x: x * 2, lambda ctx, t: t.sum(), "different size"),
        (lambda ctx, x: x * 2, lambda ctx, t: 3.0, "expected Variable or None"),
        (lambda ctx, x: x, lambda ctx, t: t * 2, "jvp is not returning a view"),
        (lambda ctx, x: x > 1, lambda ctx, t: t * 2, "not a differentiable Tensor"),
    ],
)
def test_what_does_not_fit_is_refused(forward: Any, moved: Any, said: str) -> None:
    wrong = type("Wrong", (Function,), {"forward": staticmethod(forward), "jvp": staticmethod(moved)})
    with fwAD.dual_level(), pytest.raises(RuntimeError, match=said):
        wrong.apply(fwAD.make_dual(X, T))


def test_a_write_that_the_jvp_does_not_make_is_refused() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2

    with fwAD.dual_level(), pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        Doubled.apply(fwAD.make_dual(X, T).clone())
