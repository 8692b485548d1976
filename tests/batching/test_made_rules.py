"""Custom Functions whose rule for batches is made by mapping their methods: nested, and differentiated in every way."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch.autograd import forward_ad
from minitorch.func import grad, hessian, jacfwd, jacrev, jvp, vmap


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * tangent


class Product(torch.autograd.Function):
    """A product, saved in another order for each mode, and a float output that has no gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, y: Any, factor: float) -> Any:
        return x * y * factor, (x > y).to(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, y, ctx.factor = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y, x)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> Any:
        x, y = ctx.saved_tensors
        return gradient * y * ctx.factor, gradient * x * ctx.factor, None

    @staticmethod
    def jvp(ctx: Any, x_tangent: Any, y_tangent: Any, _: Any) -> Any:
        y, x = ctx.saved_tensors
        return (x_tangent * y + y_tangent * x) * ctx.factor, None


X = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
Y = torch.tensor([2.0, 1.0, 5.0], dtype=torch.float64)


def square(x: Any) -> Any:
    return x * x


def product(x: Any, y: Any) -> Any:
    return Product.apply(x, y, 3.0)[0]


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


NESTED = {
    "vmap(vmap)": lambda f: vmap(vmap(f))(X),
    "vmap(vmap(vmap))": lambda f: vmap(vmap(vmap(f)))(X[None]),
    "vmap(grad(vmap))": lambda f: vmap(grad(lambda x: vmap(f)(x).sum()))(X),
    "grad(vmap(vmap))": lambda f: grad(lambda x: vmap(vmap(f))(x).sum())(X),
    "jacfwd(vmap)": lambda f: jacfwd(vmap(f))(X),
    "jacrev(vmap)": lambda f: jacrev(vmap(f))(X),
    "jacfwd(jacfwd(vmap))": lambda f: jacfwd(jacfwd(vmap(f)))(Y),
    "hessian(vmap)": lambda f: hessian(vmap(f))(Y),
    "vmap(hessian(vmap))": lambda f: vmap(hessian(vmap(f)))(X),
    "jvp(vmap)": lambda f: jvp(vmap(f), (X,), (X,)),
    "jvp(vmap(vmap))": lambda f: jvp(vmap(vmap(f)), (X,), (X,)),
    "vmap(jvp(vmap))": lambda f: vmap(lambda x: jvp(vmap(f), (x,), (x,)))(X),
    "jvp(vmap(grad))": lambda f: jvp(vmap(grad(lambda x: f(x).sum())), (X,), (X,)),
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_a_made_rule_nests(nested: Any) -> None:
    same(nested(Square.apply), nested(square))


def test_a_dual_level_around_the_map() -> None:
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(vmap(Square.apply)(forward_ad.make_dual(X, X)))
        same(found.tangent, 2 * X * X)


def of_two(f: Any) -> Any:
    """Values and derivatives of a function of an argument that has examples and of one that they share."""
    both = vmap(vmap(f), (0, None))
    return (
        both(X, Y),
        vmap(vmap(f, (0, None)), (None, 0))(X[0], Y),
        jvp(vmap(f, (0, None)), (X, Y), (X, 2 * Y)),
        jvp(lambda x: vmap(f, (0, None))(x, Y), (X,), (X,)),
        jvp(lambda y: vmap(f, (0, None))(X, y), (Y,), (Y,)),
        jacfwd(lambda y: both(X, y))(Y),
        jacrev(lambda y: both(X, y))(Y),
        hessian(lambda y: (both(X, y) ** 2).sum())(Y),
        vmap(grad(lambda x, y: vmap(f)(x, y).sum(), argnums=(0, 1)), (0, None))(X, Y),
    )


def test_of_several_arguments_and_outputs() -> None:
    same(of_two(product), of_two(lambda x, y: x * y * 3.0))


def test_outputs_that_are_marked_have_no_gradient() -> None:
    leaf = X.clone().requires_grad_()
    for mapped in (vmap(Product.apply, (0, None, None)), vmap(vmap(Product.apply, (0, 0, None)), (0, None, None))):
        product, larger = mapped(leaf, Y, 3.0)
        assert product.requires_grad
        assert not larger.requires_grad
        assert larger.tolist() == (X > Y).double().tolist()


def test_a_missing_jvp_is_named() -> None:
    class Without(Square):
        jvp = torch.autograd.Function.jvp

    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        jvp(vmap(Without.apply), (X,), (X,))
    same(vmap(vmap(Without.apply))(X), X * X)


def test_missing_gradients_come_as_the_function_says() -> None:
    given: list[Any] = []

    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            given.append(second)
            return first * 2

    leaf = X.clone().requires_grad_()
    vmap(Both.apply)(leaf)[0].sum().backward()
    assert given == [None]
    assert leaf.grad.tolist() == torch.full_like(X, 2.0).tolist()


def test_a_gradient_may_have_the_shape_of_what_was_broadcast() -> None:
    class Added(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, gradient

    rows, leaf = torch.ones(2, 4, 3, dtype=torch.float64), X.clone().requires_grad_()
    vmap(Added.apply)(leaf, rows).sum().backward()
    assert leaf.grad.tolist() == torch.full_like(X, 4.0).tolist()


def test_random_numbers_are_drawn_as_the_map_says() -> None:
    class Noise(Square):
        @staticmethod
        def forward(x: Any) -> Any:
            return x + torch.rand(())

    zeros = torch.zeros(4)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        vmap(Noise.apply)(zeros)
    assert len(set(vmap(Noise.apply, randomness="same")(zeros).tolist())) == 1
    assert len(set(vmap(Noise.apply, randomness="different")(zeros).tolist())) == 4
