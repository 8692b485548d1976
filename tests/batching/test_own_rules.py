"""Custom Functions with a rule of their own for batches: whose forward computes with NumPy, and what rules may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.func import grad, hessian, jacrev, jvp, vmap


class Sorted(torch.autograd.Function):
    """Sorts a dimension, by NumPy."""

    @staticmethod
    def forward(x: Any, dim: int) -> Any:
        order = np.argsort(x.detach().numpy(), axis=dim)
        back = np.argsort(order, axis=dim)
        values = np.take_along_axis(x.detach().numpy(), order, axis=dim)
        return torch.from_numpy(values), torch.from_numpy(order), torch.from_numpy(back)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])
        ctx.save_for_forward(*output[1:])
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Any, *_: Any) -> Any:
        order, back = ctx.saved_tensors
        return Taken.apply(gradient, back, order, ctx.dim), None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        order, back = ctx.saved_tensors
        return Taken.apply(tangent, order, back, ctx.dim), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, dim: int) -> Any:
        x = x.movedim(in_dims[0], 0)
        return Sorted.apply(x, dim + 1), (0, 0, 0)


class Taken(torch.autograd.Function):
    """Takes along a dimension, by NumPy, at indices that are all of it in some order, of which *back* is the inverse."""

    @staticmethod
    def forward(x: Any, order: Any, back: Any, dim: int) -> Any:
        return torch.from_numpy(np.take_along_axis(x.detach().numpy(), order.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[1:3])
        ctx.save_for_forward(*inputs[1:3])
        ctx.dim = inputs[3]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        order, back = ctx.saved_tensors
        return Taken.apply(gradient, back, order, ctx.dim), None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        order, back = ctx.saved_tensors
        return Taken.apply(tangent, order, back, ctx.dim)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, order: Any, back: Any, dim: int) -> Any:
        tensors = [
            t.expand(info.batch_size, *t.shape) if at is None else t.movedim(at, 0)
            for t, at in zip((x, order, back), in_dims)
        ]
        return Taken.apply(*tensors, dim + 1), 0


X = torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]], dtype=torch.float64)
WEIGHTS = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)


def ordered(x: Any) -> Any:
    return Sorted.apply(x, 0)[0]


def weighed(x: Any) -> Any:
    return (ordered(x) ** 2 * WEIGHTS).sum()


def test_a_rule_of_ones_own_may_look_at_values() -> None:
    assert vmap(ordered)(X).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert vmap(ordered, in_dims=1)(X).tolist() == [[3, 5], [1, 4], [2, 6]]
    assert vmap(lambda x: ordered(x * 2) + x)(X).tolist() == [[5, 5, 8], [13, 14, 18]]
    assert vmap(vmap(ordered))(torch.stack([X, -X])).tolist() == [[[1, 2, 3], [4, 5, 6]], [[-3, -2, -1], [-6, -5, -4]]]
    nested = vmap(lambda s: vmap(lambda x: ordered(x * s))(X))(torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert nested.tolist() == [[[1, 2, 3], [4, 5, 6]], [[-3, -2, -1], [-6, -5, -4]]]
    only_outer = vmap(lambda x: vmap(lambda s: ordered(x) * s)(WEIGHTS))(X)
    assert only_outer[1].tolist() == [[4, 5, 6], [40, 50, 60], [400, 500, 600]]


def test_its_derivatives() -> None:
    expected = [[600.0, 2.0, 40.0], [100.0, 8.0, 1200.0]]
    assert vmap(grad(weighed))(X).tolist() == expected
    leaf = X.clone().requires_grad_()
    vmap(weighed)(leaf).sum().backward()
    assert leaf.grad.tolist() == expected
    assert jacrev(ordered)(X[0]).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert jacrev(jacrev(weighed))(X[0]).diagonal().tolist() == [200, 2, 20]
    assert hessian(weighed)(X[0]).diagonal().tolist() == [200, 2, 20]
    tangents = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    assert jvp(vmap(ordered), (X,), (tangents,))[1].tolist() == [[1, 2, 0], [4, 3, 5]]
    assert vmap(lambda x, t: jvp(ordered, (x,), (t,))[1])(X, tangents).tolist() == [[1, 2, 0], [4, 3, 5]]


class Noisy(Sorted):
    """Its forward draws, returns what it was given and writes nowhere."""

    seen: list[Any] = []  # noqa: RUF012

    @staticmethod
    def forward(x: Any) -> Any:
        return x, x + torch.rand(())

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        Noisy.seen.append(output[1] * 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 7 + gradients[1]

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return (x * 10, x + torch.rand(x.shape)), (in_dims[0], in_dims[0])


def test_what_the_rule_gives_is_the_result() -> None:
    x = torch.arange(3.0)
    torch.manual_seed(0)
    first, second = vmap(lambda x: Noisy.apply(x + 1))(x)
    torch.manual_seed(0)
    noise = torch.rand(3)
    assert first.tolist() == [10.0, 20.0, 30.0]
    assert second.tolist() == (x + 1 + noise).tolist()  # forward draws nothing that the rule would have drawn
    assert vmap(lambda x: x * Noisy.apply(x)[0])(x).tolist() == [0.0, 10.0, 40.0]  # x is what it was


def test_what_it_sets_up_is_of_each_example() -> None:
    Noisy.seen.clear()

    def function(x: Any) -> Any:
        Noisy.apply(x)
        return Noisy.seen[-1]

    torch.manual_seed(0)
    doubled = vmap(function)(torch.arange(3.0))
    torch.manual_seed(0)
    assert doubled.tolist() == ((torch.arange(3.0) + torch.rand(3)) * 2).tolist()


def test_a_rule_that_is_made_maps_the_forward() -> None:
    class Made(Sorted):
        generate_vmap_rule = True
        vmap = torch.autograd.Function.vmap

    with pytest.raises(RuntimeError, match=r"vmap: \.numpy\(\) cannot give one array"):
        vmap(lambda x: Made.apply(x, 0)[0])(X)


def test_a_rule_that_fails_leaves_the_map_as_it_was() -> None:
    class Failing(Noisy):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            raise ZeroDivisionError

    class Unready(Noisy):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            raise ZeroDivisionError

    def function(x: Any) -> Any:
        for bad in (Failing, Unready):
            with pytest.raises(ZeroDivisionError):
                bad.apply(x)
        return Noisy.apply(x)[0] + ordered(x.reshape(1)).sum()

    assert vmap(function)(torch.arange(3.0)).tolist() == [0.0, 11.0, 22.0]


class Sine(torch.autograd.Function):
    """Of what NumPy makes an array of: not of a number, for which NumPy gives no array."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * ctx.saved_tensors[0].cos()

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return Sine.apply(x), in_dims[0]


def test_forward_sees_batches_only() -> None:
    x = X[0]
    with pytest.raises(TypeError):
        Sine.apply(x[0])
    assert vmap(Sine.apply)(x).tolist() == x.sin().tolist()
    assert vmap(vmap(Sine.apply))(X).tolist() == X.sin().tolist()
    assert vmap(lambda a: Sine.apply(a) * a + Sine.apply(2 * a))(x).tolist() == (x.sin() * x + (2 * x).sin()).tolist()
    assert vmap(grad(Sine.apply))(x).tolist() == x.cos().tolist()
    assert jvp(vmap(Sine.apply), (x,), (x,))[1].tolist() == (x * x.cos()).tolist()
    assert jacrev(vmap(Sine.apply))(x).diagonal().tolist() == x.cos().tolist()
    assert hessian(lambda x: vmap(Sine.apply)(x).sum())(x).diagonal().tolist() == (-x.sin()).tolist()
    assert vmap(Sine.apply)(torch.ones(0)).shape == (0,)


def test_what_the_rule_does_to_the_first_example_is_not_counted() -> None:
    class Doubled(Sine):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x.sin() * 2, in_dims[0]

    x = X[0]
    with torch.autograd.count_operations() as count:
        vmap(Doubled.apply)(x)
    assert dict(count.by_name) == {"sin": 1, "mul": 1}


class Written(torch.autograd.Function):
    """Doubles what it is given, in place."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 2 * gradient

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return Written.apply(x), in_dims[0]


def test_a_rule_may_return_what_it_is_given() -> None:
    def function(x: Any) -> Any:
        y = x * 1
        return Written.apply(y) + y, y

    total, written = vmap(function)(X[0])
    assert total.tolist() == (4 * X[0]).tolist()
    assert written.tolist() == (2 * X[0]).tolist()

    class Same(Noisy):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return (x, x), in_dims[0]

    assert vmap(lambda x: Same.apply(x)[0] * x)(X[0]).tolist() == (X[0] ** 2).tolist()


def returning(made: Any) -> Any:
    """A Function whose rule returns what *made* makes of the doubled batch; of as many outputs as that has."""

    class Returning(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.count = len(output) if isinstance(output, tuple) else 1

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return 2 * sum(gradients)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return made(x * 2)

    return Returning


WRONG = {
    "a dimension that is not there": (lambda x: (x, 7), IndexError, r"range of \[-2, 1\], but got 7.*Returning\.vmap"),
    "one before the first": (lambda x: (x, -3), IndexError, r"but got -3.*Returning\.vmap"),
    "of the second output": (lambda x: ((x, x), (0, 2)), IndexError, "but got 2"),
    "a tuple for one output": (
        lambda x: (x, (0,)),
        RuntimeError,
        r"out_dims=\(0,\) for one output.*return a dimension",
    ),
    "a list for one output": (lambda x: (x, [0]), RuntimeError, "incompatible"),
    "a list for a tuple": (
        lambda x: ((x, x), [0, 0]),
        RuntimeError,
        "tuple of 2 outputs: return a tuple with a dimension",
    ),
    "too few": (lambda x: ((x, x), (0,)), RuntimeError, "tuple of 2 outputs: return a tuple with a dimension"),
    "no dimensions": (lambda x: x, RuntimeError, r"gave a Tensor: return \(output, out_dims\)"),
    "a list of both": (lambda x: [x, 0], RuntimeError, r"gave a list: return \(output, out_dims\)"),
    "three returns": (lambda x: (x, 0, 0), RuntimeError, r"gave 3 returns: return \(output, out_dims\)"),
    "a float": (lambda x: (x, 1.5), TypeError, "1.5, a float: return a dimension"),
    "a text": (lambda x: (x, "a"), TypeError, "'a', a str: return a dimension"),
    "no tensor": (lambda x: (3, 0), ValueError, "out_dims=0 for a int: return Tensors"),
}


@pytest.mark.parametrize(("made", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_a_rule_must_return(made: Any, error: type[Exception], message: str) -> None:
    function = returning(made)

    def total(x: Any) -> Any:
        out = function.apply(x)
        return sum([o.sum() for o in out]) if isinstance(out, tuple) else out.sum()

    for mapped in (vmap(function.apply), vmap(grad(total))):  # also where nobody reads what it gives
        with pytest.raises(error, match=message) as raised:
            mapped(X)
        assert raised.type is error


def test_a_rule_must_return_every_example() -> None:
    with pytest.raises(RuntimeError, match=r"shape \(2, 3\) and out_dims=1 for it, but there are 2 examples"):
        vmap(returning(lambda x: (x, 1)).apply)(X)
    assert vmap(returning(lambda x: ((x, x.sum()), (-2, None))).apply)(X)[1].tolist() == [42, 42]
