"""``func``: gradients, pullbacks and Jacobians as transforms, nested, of structures; what they refuse."""

from __future__ import annotations

import functools
import gc
import importlib
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import functional
from minitorch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
)

F64 = torch.float64


def point(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=F64)


# -- values and structures ---------------------------------------------------------------------------------------------
def test_gradients_of_any_order() -> None:
    derivative: Callable[..., Any] = torch.sin
    for order in range(1, 7):
        derivative = grad(derivative)
        expected = np.sin(0.7 + order * np.pi / 2)
        found = derivative(torch.tensor(0.7, dtype=F64))
        assert found.item() == pytest.approx(expected, abs=1e-14)
        assert not found.requires_grad


def test_structures_positions_and_auxiliary_output() -> None:
    def loss(p: Any, x: Any, *, scale: float = 1.0) -> Any:
        return (p["w"] * x * p["rest"][0]).sum() * scale, {"x": x * 2, "all": (p["w"] + x,)}

    p = {"w": point(1, 2), "rest": [point(3, 4)]}
    found, (value, aux) = grad_and_value(loss, argnums=(0, -1), has_aux=True)(p, point(5, 6), scale=2.0)
    assert found[0]["w"].tolist() == [30, 48]
    assert found[0]["rest"][0].tolist() == [10, 24]
    assert found[1].tolist() == [6, 16]
    assert value.item() == 126
    assert aux["x"].tolist() == [10, 12]
    assert aux["all"][0].tolist() == [6, 8]
    assert not any(t.requires_grad for t in (found[1], value, aux["x"]))
    assert grad(loss, has_aux=True)(p, point(5, 6))[1]["x"].tolist() == [10, 12]
    assert grad(loss, has_aux=True).__name__ == "loss"


def test_pullbacks() -> None:
    x, y = point(1, 2), point(3, 4)
    output, pullback = vjp(lambda x, y: {"p": x * y, "s": (x.sum(),)}, x, y)
    assert output["p"].tolist() == [3, 8]
    assert not output["p"].requires_grad
    one, two = point(1, 1), torch.tensor(2.0, dtype=F64)
    for _ in range(2):
        gx, gy = pullback({"p": one, "s": (two,)})
        assert gx.tolist() == [5, 6]
        assert gy.tolist() == [1, 2]
        assert not gx.requires_grad
    output, pullback, aux = vjp(lambda x: (x * x, x.sum()), x, has_aux=True)
    assert aux.item() == 3
    assert pullback(one)[0].tolist() == [2, 4]
    v = one.requires_grad_()
    (product,) = pullback(v)
    assert torch.autograd.grad(product.sum(), v)[0].tolist() == [2, 4]
    assert not pullback(v, create_graph=False)[0].requires_grad


def test_jacobians() -> None:
    x, y = point(1, 2), point(3, 4, 5)
    found = jacrev(lambda x, y: {"o": x.outer(y), "s": x.sum()}, argnums=(0, 1))(x, y)
    assert [t.shape for t in found["o"]] == [(2, 3, 2), (2, 3, 3)]
    torch.testing.assert_close(found["o"][0], torch.einsum("ik,j->ijk", torch.eye(2, dtype=F64), y))
    assert found["s"][0].tolist() == [1, 1]
    assert not found["s"][1].any()
    assert jacrev(lambda d: d["a"] ** 2)({"a": x})["a"].tolist() == [[2, 0], [0, 4]]
    assert jacrev(lambda x: (x**2, x.sum()), has_aux=True)(x)[1].item() == 3
    assert jacrev(lambda x: x * 2)(torch.zeros(0)).shape == (0, 0)
    assert jacrev(lambda x: x.sum())(torch.zeros(0, 2)).shape == (0, 2)


def test_jacobians_by_forward_mode() -> None:
    x, y = point(1, 2), point(3, 4, 5)
    function = lambda x, y: {"o": x.outer(y), "s": (x.sum() * y).sum()}
    for argnums in (0, 1, (0, 1), (1, 0), (-1,)):
        forward, backward = [jac(function, argnums=argnums)(x, y) for jac in (jacfwd, jacrev)]
        assert torch.utils._pytree.tree_all(bool, torch.utils._pytree.tree_map(torch.equal, forward, backward))
    assert jacfwd(lambda x, y: x * 2, argnums=None)(x, x)[1].tolist() == [[0, 0], [0, 0]]
    assert jacfwd(lambda d: d["a"] ** 2)({"a": x})["a"].tolist() == [[2, 0], [0, 4]]
    assert jacfwd(lambda x: (x**2, x.sum()), has_aux=True)(x)[1].item() == 3
    assert jacfwd(lambda x: x * 2)(torch.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x.sum())(torch.zeros(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("chunk_size", [1, 2, 4, 100])
def test_chunks_change_nothing(chunk_size: int) -> None:
    function, x = (lambda x: (x**2, x.sum(), x[:2] * x[1])), point(1, 2, 3)
    for one, other in zip(jacrev(function)(x), jacrev(function, chunk_size=chunk_size)(x)):
        assert torch.equal(one, other)


def test_hessians() -> None:
    (xx, xy), (yx, yy) = hessian(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(point(1, 2), point(3, 4))
    assert xx.tolist() == [[6, 0], [0, 8]]
    assert xy.tolist() == [[2, 0], [0, 4]] == yx.tolist()
    assert not yy.any()
    third = jacrev(hessian(lambda x: x[0] ** 2 * x[1]))(point(1, 2))
    assert third.tolist() == [[[0, 2], [2, 0]], [[2, 0], [0, 0]]]


def test_linearize_runs_its_function_once() -> None:
    calls = []

    def function(x: Any, y: Any) -> Any:
        calls.append(1)
        return {"p": x * y, "n": x.argmax()}

    output, derivative = linearize(function, point(1, 2), point(3, 4))
    assert output["p"].tolist() == [3, 8]
    assert derivative(point(1, 0), point(0, 1))["p"].tolist() == [3, 2]
    assert derivative(point(0, 1), point(0, 0))["p"].tolist() == [0, 4]
    assert calls == [1]
    with pytest.raises(RuntimeError, match="same argspec as the primals"):
        derivative(point(1, 2))
    with pytest.raises(RuntimeError, match=r"tangent:1 with shape .* doesn't match the shape"):
        derivative(point(1, 2), point(1))
    with pytest.raises(RuntimeError, match="tangent:0 with dtype"):
        derivative(torch.ones(2), point(1, 2))
    value, derivative = linearize(lambda x: {"p": x * 2, "n": 3.0, "none": None}, point(1, 2))
    found = derivative(point(1, 0))
    assert (found.pop("p").tolist(), value.pop("p").tolist()) == ([2, 0], [2, 4])
    assert found == value == {"n": 3.0, "none": None}


# -- nesting and history -----------------------------------------------------------------------------------------------
def test_levels_are_kept_apart() -> None:
    """d/dx of x * d/dy (x + y) is 1: the inner derivative is taken with respect to y only."""
    assert grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(2.0)))(torch.tensor(3.0)).item() == 1
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(torch.tensor(2.0)).item() == 8
    assert grad(lambda x: grad(lambda y: x * y)(x.detach() * 3))(torch.tensor(2.0)).item() == 1
    assert grad(lambda x: vjp(lambda y: x * y**2, x)[1](x)[0])(torch.tensor(2.0)).item() == 24


WAYS = [grad, lambda f: lambda x: jvp(f, (x,), (torch.ones((), dtype=F64),))[1], jacrev, jacfwd]


@pytest.mark.parametrize("ways", list(itertools.product(WAYS, repeat=3)))
def test_modes_nest_in_each_other(ways: Any) -> None:
    """The third derivative, each order by a mode of its own; with a constant from outside that looks like a variable."""
    x = torch.tensor(0.7, dtype=F64)

    def function(x: Any) -> Any:
        return x.sin() * x.exp()

    expected = -2 * np.exp(0.7) * (np.sin(0.7) - np.cos(0.7)) + 0.0
    derivative = function
    for way in ways:
        derivative = way(derivative)
    assert derivative(x).item() == pytest.approx(expected, rel=1e-12)
    outer, inner, _ = ways
    mixed = outer(lambda x: x * inner(lambda y: (x + y).sin())(x))  # d/dx of x cos(2x)
    assert mixed(x).item() == pytest.approx(np.cos(1.4) - 1.4 * np.sin(1.4), rel=1e-12)


def test_captured_tensors_keep_their_history() -> None:
    x, w = point(1, 2), point(3, 4).requires_grad_()
    found, value = grad_and_value(lambda x: (w * x * x).sum())(x)
    assert found.requires_grad
    assert value.requires_grad
    assert torch.autograd.grad(found.sum() + value, w)[0].tolist() == [3, 8]
    pair = grad(lambda x, y: (w * x).sum() + (y**2).sum(), argnums=(0, 1))(x, x)
    assert [g.requires_grad for g in pair] == [True, False]
    inputs = x.clone().requires_grad_()
    found = grad(lambda x: (x**3).sum())(inputs)
    assert torch.autograd.grad(found.sum(), inputs)[0].tolist() == [6, 12]
    assert inputs.grad is None
    assert w.grad is None
    assert jacrev(lambda x: w * x)(x).requires_grad
    assert hessian(lambda x: (w * x**2).sum())(x).requires_grad


def test_no_grad_inside_counts_and_outside_does_not() -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    w = point(3, 4).requires_grad_()
    assert grad(function)(point(1, 2)).tolist() == [1, 1]
    with torch.no_grad():
        assert grad(function)(point(1, 2)).tolist() == [1, 1]
        found = grad(lambda x: (w * x**2).sum())(point(1, 2))
        assert found.tolist() == [6, 16]
        assert not found.requires_grad
        output, pullback = vjp(lambda x: w * x**2, point(1, 2))
        assert not output.requires_grad
        assert not pullback(point(1, 1))[0].requires_grad
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        x = torch.ones(2)
        assert grad(lambda x: (x**3).sum())(x).tolist() == [3, 3]
        assert hessian(lambda x: (x**3).sum())(x).tolist() == [[6, 0], [0, 6]]


def test_writes_inside() -> None:
    x = point(1, 2)

    def fresh(x: Any) -> Any:
        b = torch.zeros(2, dtype=F64)
        b.add_(x)
        b[0] = 3
        return (b * x).sum()

    assert grad(fresh)(x).tolist() == [3, 4]

    def other_argument(x: Any, y: Any) -> Any:
        y.add_(x)
        return (x * y).sum()

    y = point(1, 1)
    assert grad(other_argument)(x, y).tolist() == [3, 5]
    assert y.tolist() == [2, 3]
    assert jacfwd(lambda x, y: y.mul_(2) * x)(x, y).tolist() == [[4, 0], [0, 6]]
    assert not y.requires_grad

    def argument(x: Any) -> Any:
        return x.mul_(2).sum()

    def view(x: Any) -> Any:
        x.view(2).mul_(2)
        return x.sum()

    for function in (argument, view):
        with pytest.raises(
            RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"
        ):
            grad(function)(x)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        grad(lambda x: grad(argument)(x).sum())(x)
    assert x.tolist() == [1, 2]


def test_captured_tensors_are_not_written() -> None:
    x, buffer = point(1, 2), point(0, 0)
    state, norm = {"count": point(0, 0)}, torch.nn.BatchNorm1d(2)

    def helper(x: Any) -> Any:
        return (buffer.add_(x) * x).sum()

    class Holder:
        def __init__(self) -> None:
            self.kept = buffer

        def method(self, x: Any) -> Any:
            self.kept[0] = x[0]
            return x.sum()

        __call__ = method

    writers: list[Callable[..., Any]] = [
        helper,
        lambda x: helper(x) * 2,
        lambda x: (state["count"].mul_(2) * x).sum(),
        lambda x, b=buffer: b.view(2).copy_(x).sum(),
        Holder().method,
        Holder(),
        functools.partial(lambda b, x: b.add_(1).sum() * x.sum(), buffer),
        lambda x: norm(torch.ones(4, 2)).sum() * x.sum(),
        lambda x: grad(helper)(x).sum(),
    ]
    for function in writers:
        for transform in (grad, jacfwd, lambda f: lambda x: vjp(f, x), lambda f: lambda x: linearize(f, x)):
            with pytest.raises(RuntimeError, match=r"would mutate a captured Tensor|vmap: an inplace operation"):
                transform(function)(x)
    with pytest.raises(RuntimeError, match=r"call in-place operation \(mul_\) that would mutate"):
        grad(lambda x: (buffer.mul_(x) * x).sum())(x)
    assert buffer.tolist() == [0, 0]
    assert not buffer.requires_grad
    assert norm.num_batches_tracked.item() == 0
    buffer.add_(1)  # afterwards it may be written
    assert grad(lambda x, b: (b.add_(x) * x).sum())(x, buffer).tolist() == [3, 5]


def test_nothing_is_kept_alive() -> None:
    x = torch.ones(3)
    kept = []

    def function(x: Any) -> Any:
        y = x.exp()
        kept.append(weakref.ref(y))
        return y.sum()

    gc.disable()
    try:
        grad(function)(x)
        hessian(function)(x)
        assert not any(ref() is not None for ref in kept)
    finally:
        gc.enable()


# -- modules -----------------------------------------------------------------------------------------------------------
def test_modules_as_functions() -> None:
    model = torch.nn.Linear(2, 1)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    found = grad(lambda p, x: functional_call(model, p, x).sum())(parameters, torch.tensor([3.0, 4.0]))
    assert found["weight"].tolist() == [[3, 4]]
    assert found["bias"].tolist() == [1]
    assert not found["weight"].requires_grad
    assert model.weight.grad is None
    assert grad(lambda p: functional_call(model, p, torch.ones(2)).pow(2).sum())(dict(model.named_parameters()))[
        "weight"
    ].requires_grad
    with pytest.raises(ValueError, match="to be a dict, or a list/tuple of dicts, but got <class 'int'>"):
        functional_call(model, 3, torch.ones(2))
    with pytest.raises(ValueError, match="Expected all elements of parameter_and_buffer_dicts to be dictionaries"):
        functional_call(model, [3], torch.ones(2))


def test_buffers_given_are_updated() -> None:
    model = torch.nn.BatchNorm1d(2)
    state = {name: t.detach().clone() for name, t in model.state_dict().items()}
    functional_call(model, state, torch.randn(4, 2))
    assert state["num_batches_tracked"].item() == 1
    assert not model.get_buffer("num_batches_tracked").any()

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count: torch.Tensor
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return x

    given = {"count": torch.zeros(())}
    counter = Counter()
    functional_call(counter, given, torch.ones(1))
    assert given["count"].item() == 1
    assert counter.count.item() == 0


def test_batch_normalisation_without_running_values() -> None:
    model = replace_all_batch_norm_modules_(
        torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).double()
    )
    x = torch.randn(4, 2, dtype=F64)
    found = grad(lambda p: functional_call(model, p, x).pow(3).sum())(dict(model.named_parameters()))
    assert found["0.weight"].shape == (2, 2)
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert torch.equal(model(x), model.eval()(x))


def test_stacked_states() -> None:
    models = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["0.weight"].shape == (4, 2, 3)
    assert parameters["0.weight"].is_leaf
    assert parameters["0.weight"].requires_grad
    assert buffers["1.running_mean"].shape == (4, 2)
    assert torch.equal(parameters["0.weight"][2], models[2][0].weight)
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([torch.nn.Linear(1, 1), torch.nn.ReLU()])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack_module_state([torch.nn.ReLU(), torch.nn.ReLU().eval()])
    frozen = torch.nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"Expected weight from each model to have the same .requires_grad"):
        stack_module_state([torch.nn.Linear(1, 1), frozen])


# -- as in PyTorch -----------------------------------------------------------------------------------------------------
def _no_grad(t: Any, call: Callable[[], Any]) -> Any:
    with t.no_grad():
        return call()


def _assigned(tensor: Any, index: int, value: Any) -> Any:
    tensor[index] = value
    return tensor


def _of_a_module(t: Any, f: Any, x: Any) -> Any:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.Linear(3, 2)).double()
    return f.jacrev(lambda p: f.functional_call(model, p, (x,)))(dict(model.named_parameters()))


def _loss(x: Any) -> Any:
    return (x**3).sum()


CALLS: dict[str, Callable[..., Any]] = {
    # t: the library, f: its func, x: a tensor, w: one that requires grad
    "captured": lambda t, f, x, w: f.grad(lambda x: (w * x * x).sum())(x),
    "argument that requires grad": lambda t, f, x, w: f.grad(_loss)(w),
    "value": lambda t, f, x, w: f.grad_and_value(lambda x: (w * x).sum())(x),
    "under no_grad": lambda t, f, x, w: _no_grad(t, lambda: f.grad_and_value(lambda x: (w * x * x).sum())(x)),
    "vjp": lambda t, f, x, w: f.vjp(lambda x: w * x * x, x)[1](x),
    "vjp under no_grad": lambda t, f, x, w: _no_grad(t, lambda: f.vjp(lambda x: w * x * x, x)[1](x)),
    "vjp of a structure": lambda t, f, x, w: f.vjp(lambda x, y: {"a": x * y, "b": [x]}, x, w)[1]({"a": x, "b": [x]}),
    "vjp with a vector that requires grad": lambda t, f, x, w: f.vjp(lambda x: x * x, x)[1](w),
    "vjp with aux": lambda t, f, x, w: f.vjp(lambda x: (x * w, (x * 2, w)), x, has_aux=True)[::2],
    "vjp of a constant": lambda t, f, x, w: f.vjp(lambda x: t.ones(2), x)[1](x),
    "integer": lambda t, f, x, w: f.grad(lambda x: x.sum())(t.tensor([1, 2])),
    "no scalar": lambda t, f, x, w: f.grad(lambda x: x * 2)(x),
    "one element": lambda t, f, x, w: f.grad(lambda x: x.sum(0, keepdim=True))(x),
    "a float out": lambda t, f, x, w: f.grad(lambda x: 2.0)(x),
    "a float in": lambda t, f, x, w: f.grad(lambda x: x)(2.0),
    "a float within": lambda t, f, x, w: f.grad(lambda d: d["a"].sum() * d["b"])({"a": x, "b": 2}),
    "vjp a float out": lambda t, f, x, w: f.vjp(lambda x: 2.0, x),
    "vjp none": lambda t, f, x, w: f.vjp(lambda x: None, x),
    "vjp empty": lambda t, f, x, w: f.vjp(lambda x: (), x),
    "vjp integers out": lambda t, f, x, w: f.vjp(lambda x: x.argmax(), x),
    "vjp other structure": lambda t, f, x, w: f.vjp(lambda x: (x, {"a": x, "b": [x]}), x)[1]((x,)),
    "vjp other shape": lambda t, f, x, w: f.vjp(lambda x: x * 2, x)[1](t.ones(3)),
    "vjp other dtype": lambda t, f, x, w: f.vjp(lambda x: x * 2, x)[1](t.ones(2)),
    "vjp a float as vector": lambda t, f, x, w: f.vjp(lambda x: x * 2, x)[1](2.0),
    "write": lambda t, f, x, w: f.grad(lambda x: x.mul_(2).sum())(x),
    "aux": lambda t, f, x, w: f.grad(lambda x: (x.sum(), {"a": w * 2, "b": (x * w, x)}), has_aux=True)(x),
    "aux a float": lambda t, f, x, w: f.grad(lambda x: (x.sum(), 2.0), has_aux=True)(x),
    "aux missing": lambda t, f, x, w: f.grad(lambda x: x.sum(), has_aux=True)(x),
    "aux a list": lambda t, f, x, w: f.grad(lambda x: [x.sum(), x], has_aux=True)(x),
    "jacrev": lambda t, f, x, w: f.jacrev(lambda x, y: {"a": x * y, "b": (x.sum(),)}, argnums=(0, 1))(x, w),
    "jacrev of structures": lambda t, f, x, w: f.jacrev(lambda d: [d["a"] * d["b"], d["a"]])({"a": x, "b": w}),
    "jacrev aux": lambda t, f, x, w: f.jacrev(lambda x: (x * w, x.sum()), has_aux=True)(x),
    "jacrev chunk": lambda t, f, x, w: f.jacrev(lambda x: x * x, chunk_size=0),
    "jacrev argnums": lambda t, f, x, w: f.jacrev(lambda x: x, argnums=None)(x),
    "jacrev a float out": lambda t, f, x, w: f.jacrev(lambda x: 2.0)(x),
    "jacrev integers in": lambda t, f, x, w: f.jacrev(lambda x: x * 1.0)(t.tensor([1, 2])),
    "jacrev integers out": lambda t, f, x, w: f.jacrev(lambda x: x.argmax())(x),
    "jacrev keywords": lambda t, f, x, w: f.jacrev(lambda x, y=2: x)(x, y=3),
    "jvp": lambda t, f, x, w: f.jvp(lambda x, y: {"a": w * x * y, "b": (x,)}, (x, x), (x, w)),
    "jvp under no_grad": lambda t, f, x, w: _no_grad(t, lambda: f.jvp(lambda x: w * x * x, (x,), (x,))),
    "jvp aux": lambda t, f, x, w: f.jvp(lambda x: (x * x, x.sum()), (x,), (x,), has_aux=True),
    "jvp no tuple": lambda t, f, x, w: f.jvp(lambda x: x, x, x),
    "jvp other structure": lambda t, f, x, w: f.jvp(lambda x: x, (x,), (x, x)),
    "jvp other shape": lambda t, f, x, w: f.jvp(lambda x: x, (x,), (t.ones(3),)),
    "jvp a float in": lambda t, f, x, w: f.jvp(lambda x: x, (2.0,), (2.0,)),
    "jvp a float out": lambda t, f, x, w: f.jvp(lambda x: 2.0, (x,), (x,)),
    "jvp strict": lambda t, f, x, w: f.jvp(lambda x: w, (x,), (x,), strict=True),
    "jvp integers": lambda t, f, x, w: f.jvp(lambda x: x * 1.0, (t.tensor([1, 2]),), (x,)),
    "jacfwd": lambda t, f, x, w: f.jacfwd(lambda x, y: {"a": x * y, "b": (x.sum(),)}, argnums=(0, 1))(x, w),
    "jacfwd of structures": lambda t, f, x, w: f.jacfwd(lambda d: [d["a"] * d["b"], d["a"]])({"a": x, "b": w}),
    "jacfwd aux": lambda t, f, x, w: f.jacfwd(lambda x: (x * w, x.sum()), has_aux=True)(x),
    "jacfwd aux a float": lambda t, f, x, w: f.jacfwd(lambda x: (x * w, 2.0), has_aux=True)(x),
    "jacfwd of writes": lambda t, f, x, w: f.jacfwd(
        lambda x: t.zeros(3, dtype=t.float64).index_copy_(0, t.tensor([2, 0]), x)
    )(x),
    "jacfwd of a subscript": lambda t, f, x, w: f.jacfwd(lambda x: _assigned(t.zeros(3, dtype=t.float64), 1, x[0] * 2))(x),
    "jacrev of a subscript": lambda t, f, x, w: f.jacrev(lambda x: _assigned(t.zeros(3, dtype=t.float64), 1, x[0] * 2))(x),
    "hessian of a subscript": lambda t, f, x, w: f.hessian(lambda x: _assigned(x.clone(), 1, x[0] ** 2).prod())(x),
    "jacfwd of a branch": lambda t, f, x, w: f.jacfwd(lambda x: x * 2 if x.sum() > 0 else x * 3)(x),
    "jacrev of the parameters of a module": lambda t, f, x, w: _of_a_module(t, f, x),
    "random in jacfwd": lambda t, f, x, w: f.jacfwd(lambda x: x * t.rand(2))(x),
    "jacfwd argnums": lambda t, f, x, w: f.jacfwd(lambda x, y: x * y, argnums=None)(x, x),
    "jacfwd a float out": lambda t, f, x, w: f.jacfwd(lambda x: 2.0)(x),
    "jacfwd integers in": lambda t, f, x, w: f.jacfwd(lambda x: x * 1.0)(t.tensor([1, 2])),
    "jacfwd integers out": lambda t, f, x, w: f.jacfwd(lambda x: x.argmax())(x),
    "hessian": lambda t, f, x, w: f.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(x, w),
    "nested": lambda t, f, x, w: f.grad(lambda x: (f.grad(lambda y: (x * y**2).sum())(x) * w).sum())(x),
    "linearize": lambda t, f, x, w: (lambda o, g: (o, g(x)))(*f.linearize(lambda x: x.sin() * x, x)),
    **{
        f"argnums {value!r}": lambda t, f, x, w, value=value: f.grad(lambda x, y: (x * y).sum(), argnums=value)(x, w)
        for value in (0, 1, -1, -2, (0, 1), (1, 0), (1,), 2, -3, (), (0, 0), [0], "0", 1.0, (0, "1"), True)
    },
    "keyword for a position": lambda t, f, x, w: f.grad(lambda x: x.sum())(x=x),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    results = []
    for library in ("torch", "minitorch"):
        t = importlib.import_module(library)
        x = t.tensor([0.3, -1.2], dtype=t.float64)
        w = t.tensor([0.7, 0.4], dtype=t.float64, requires_grad=True)
        try:
            results.append(described(CALLS[name](t, importlib.import_module(f"{library}.func"), x, w)))
        except Exception as error:
            results.append(error)
    theirs, ours = results
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), (theirs, ours)
        assert str(ours)[:40] == str(theirs)[:40], (theirs, ours)
    else:
        assert same(ours, theirs), (theirs, ours)


def described(value: Any) -> Any:
    """A structure with (values, whether it requires grad) for tensors."""
    if isinstance(value, dict):
        return {key: described(v) for key, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(described, value)]
    return (value.detach().numpy(), value.requires_grad) if hasattr(value, "detach") else value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[1] == other[1] and one[0].shape == other[0].shape and np.allclose(one[0], other[0], rtol=1e-12)
    return bool(one == other)


# -- what transforms refuse within them ------------------------------------------------------------------------------------
PLACED = {
    "jacobian": lambda x, **k: functional.jacobian(lambda x: x**3, x, **k),
    "jacobian forward": lambda x, **k: functional.jacobian(lambda x: x**3, x, strategy="forward-mode", **k),
    "hessian": lambda x, **k: functional.hessian(lambda x: (x**3).sum(), x, **k),
    "vjp": lambda x, **k: functional.vjp(lambda x: x**3, x, torch.ones_like(x), **k)[1],
    "jvp": lambda x, **k: functional.jvp(lambda x: x**3, x, torch.ones_like(x), **k)[1],
    "hvp": lambda x, **k: functional.hvp(lambda x: (x**3).sum(), x, torch.ones_like(x), **k)[1],
    "vhp": lambda x, **k: functional.vhp(lambda x: (x**3).sum(), x, torch.ones_like(x), **k)[1],
}


@pytest.mark.parametrize("name", PLACED)
def test_functional_inside_a_transform_needs_a_graph(name: str) -> None:
    call, x = PLACED[name], torch.tensor([0.3, 1.2], dtype=torch.float64)
    transforms = [
        torch.func.grad(lambda x: call(x).sum()),
        torch.func.jacrev(lambda x: call(x).sum()),
        lambda x: torch.func.vjp(lambda x: call(x), x),
        torch.func.grad(lambda x: torch.func.jvp(call, (x,), (x,))[1].sum()),
    ]
    for transformed in transforms:
        with pytest.raises(RuntimeError, match=r"autograd\.functional.*create_graph=True"):
            transformed(x)
    slope = torch.func.grad(lambda x: call(x, create_graph=True).sum())(x)
    third = name in ("hessian", "hvp", "vhp")
    assert torch.allclose(slope, torch.full((2,), 6.0, dtype=torch.float64) if third else 6 * x)
    assert torch.allclose(torch.func.jvp(lambda x: call(x).sum(), (x,), (torch.ones_like(x),))[1], slope.sum())
    assert call(x) is not None


def test_backward_inside_a_transform_is_refused() -> None:
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)

    def function(x: Any) -> Any:
        (w * 2).sum().backward()
        return (x * w).sum()

    def explicit(x: Any) -> Any:
        torch.autograd.backward([w * 2], [torch.ones(2)])
        return (x * w).sum()

    for each in (function, explicit):
        for transform in (torch.func.grad(each), lambda x, f=each: torch.func.jvp(f, (x,), (x,))):
            with pytest.raises(RuntimeError, match=r"backward\(\) called inside"):
                transform(x)
    assert w.grad is None
    function(x)
    assert w.grad.tolist() == [2.0, 2.0]


def test_vjp_without_primals_calls_the_function() -> None:
    with pytest.raises(TypeError, match="required positional argument"):
        torch.func.vjp(lambda x: x * 2)
    value, pullback = torch.func.vjp(lambda: torch.ones(2))
    assert (value.tolist(), pullback(torch.ones(2))) == ([1.0, 1.0], ())


def test_functions_whose_forward_takes_ctx_are_refused() -> None:
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x, elsewhere = point(1, 2), point(3, 4)
    for function in (Old.apply, lambda x: x * Old.apply(elsewhere)):
        for transform in (jacrev, jacfwd, lambda f: lambda x: vjp(f, x), lambda f: grad(lambda x: f(x).sum())):
            with pytest.raises(
                RuntimeError, match="must override the setup_context staticmethod: Old has a forward that"
            ):
                transform(function)(x)
    assert functional.jacobian(Old.apply, x).tolist() == [[2, 0], [0, 2]]
    value, derivative = linearize(lambda x: x * Old.apply(x) + Old.apply(elsewhere), x)  # in PyTorch too
    assert (value.tolist(), derivative(x).tolist()) == ([8, 16], [4, 16])
    for transform in (
        grad(lambda x: linearize(Old.apply, x)[1](x).sum()),
        jacfwd(lambda x: linearize(Old.apply, x)[0]),
    ):
        with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
            transform(x)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        linearize(jacrev(Old.apply), x)


def test_modules_with_backward_hooks_are_transformed() -> None:
    model, seen = torch.nn.Linear(2, 1), []
    model.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].shape))
    assert grad(lambda x: model(x).sum())(torch.ones(2)).tolist() == model.weight[0].tolist()
    assert seen == [(1,)]


def test_modules_with_backward_hooks_have_hessians() -> None:
    model, x = (
        torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double(),
        point(0.3, -1),
    )
    plain, batch = hessian(lambda x: model(x).sum()), torch.stack([x, 2 * x])
    expected, each = plain(x), torch.vmap(plain)(batch)
    seen: list[Any] = []
    model[1].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].shape))
    model[1].register_full_backward_pre_hook(lambda m, go: (2 * go[0],))  # what a hook does is differentiated, too
    assert torch.allclose(plain(x), 2 * expected, 1e-12)
    assert seen == [(3,)]
    assert torch.allclose(torch.vmap(plain)(batch), 2 * each, 1e-12)
    assert torch.allclose(jacrev(jacrev(lambda x: model(x).sum()))(x), 2 * expected, 1e-12)


def test_backward_hooks_of_modules_do_not_see_maps_and_forward_mode() -> None:
    model, seen = torch.nn.Linear(2, 1).double(), []
    model.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].shape))
    x = torch.arange(6.0, dtype=F64).reshape(3, 2)
    torch.vmap(model)(x).sum().backward()
    assert torch.equal(model.weight.grad, x.sum(0, keepdim=True))
    assert torch.equal(jvp(model, (x,), (x,))[1], x @ model.weight.mT)
    assert torch.equal(jacfwd(model)(x[0]), model.weight)
    assert seen == []
    leaf = x[0].clone().requires_grad_()
    torch.vmap(lambda a: a[0] * model(leaf))(x).sum().backward()  # the same for all examples
    assert seen == [(1,)]
    seen.clear()
    gradients, values = torch.vmap(torch.func.grad_and_value(lambda a: model(a).sum()))(x)
    assert torch.equal(gradients, model.weight.expand(3, 2))
    assert torch.equal(values, model(x)[:, 0])
    assert seen == [(1,)]  # within a gradient they do, once, as all that a map does


def test_names_that_are_left_out_say_why() -> None:
    for name in ("functionalize", "debug_unwrap"):
        assert not hasattr(torch.func, name)
        with pytest.raises(AttributeError, match=f"torch.func.{name} is left out: it "):
            getattr(torch.func, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = torch.func.nothing


# -- leaves made inside of the function --------------------------------------------------------------------------------
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f)(torch.ones(3)),
    "vjp": lambda f: vjp(f, torch.ones(3)),
    "jvp": lambda f: jvp(f, (torch.ones(3),), (torch.ones(3),)),
    "jacrev": lambda f: jacrev(f)(torch.ones(3)),
    "jacfwd": lambda f: jacfwd(f)(torch.ones(3)),
    "vmap": lambda f: torch.vmap(f)(torch.ones(2, 3)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_requires_grad_is_refused_inside(transform: str) -> None:
    for make in (
        lambda y: y.requires_grad_(),
        lambda y: y.clone().requires_grad_(),
        lambda y: torch.zeros(3).requires_grad_(),
        lambda y: torch.zeros(3).requires_grad_(False),
    ):
        with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\) inside of a function"):
            TRANSFORMS[transform](lambda y, make=make: (make(y) * y).sum())
    assert torch.zeros(3).requires_grad_().requires_grad


def test_leaves_made_inside_leave_no_history() -> None:
    for make in (
        lambda: torch.zeros(3, requires_grad=True),
        lambda: torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
        lambda: torch.nn.Parameter(torch.ones(3)),
        lambda: torch.nn.Linear(3, 3).weight[0],
    ):
        for transform in (grad, jacrev):
            assert not transform(lambda y, make=make: (make() * y).sum())(torch.ones(3)).requires_grad
    outside = torch.ones(3, requires_grad=True)
    assert grad(lambda y: (outside * torch.zeros(3, requires_grad=True) * y).sum())(torch.ones(3)).requires_grad


def test_messages_name_has_aux() -> None:
    x = point(1, 2)
    for function in (grad, grad_and_value):
        with pytest.raises(RuntimeError, match=r"return a Tensor, got <class 'tuple'>: of \(loss, aux\).*has_aux=True"):
            function(lambda x: (x.sum(), x))(x)
    with pytest.raises(RuntimeError, match=r"got <class 'dict'>: return the loss alone.*has_aux=True"):
        grad(lambda x: {"loss": x.sum()})(x)
    with pytest.raises(RuntimeError, match="got <class 'NoneType'>: was a return forgotten"):
        grad(lambda x: None)(x)
    for call in (lambda f: vjp(f, x), lambda f: jvp(f, (x,), (x,)), lambda f: jacrev(f)(x), lambda f: jacfwd(f)(x)):
        with pytest.raises(
            RuntimeError, match=r"return only tensors, got unsupported type <class 'int'>.*has_aux=True"
        ):
            call(lambda x: (x, 3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clone().relu_().sub_(1),
        lambda x: x.clone().exp_().mul_(2),
        lambda x: (x * x).tanh_().add_(x),
        lambda x: torch.stack([x.sin(), x])[0].sigmoid_().mul_(x),
    ],
)
def test_linearize_goes_through_writes_into_what_was_saved(function: Any) -> None:
    x, tangent = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1.0, -1.0, 0.5])
    linear = lambda x: linearize(function, x)[1](tangent)
    pushed = lambda x: jvp(function, (x,), (tangent,))[1]
    torch.testing.assert_close(linear(x), pushed(x))
    torch.testing.assert_close(jacfwd(linear)(x), jacfwd(pushed)(x))
    torch.testing.assert_close(torch.vmap(linear)(torch.stack([x, x * 2])), torch.vmap(pushed)(torch.stack([x, x * 2])))
    torch.testing.assert_close(linearize(linear, x)[1](tangent), jvp(pushed, (x,), (tangent,))[1])


@pytest.mark.parametrize("name", ["inv", "qr", "cholesky", "eigh", "svdvals", "solve"])
def test_linearize_of_what_keeps_all_its_results(name: str) -> None:
    a = torch.eye(3, dtype=torch.float64) * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    called = getattr(torch.linalg, name)

    def function(a: Any) -> Any:
        out = called(a, torch.ones(3, 1, dtype=torch.float64)) if name == "solve" else called(a)
        return out if isinstance(out, torch.Tensor) else out[0]

    wanted = torch.func.jvp(function, (a,), (torch.ones_like(a),))
    value, derivative = torch.func.linearize(function, a)
    assert torch.equal(value, wanted[0])
    assert torch.allclose(derivative(torch.ones_like(a)), wanted[1])


def test_linearize_where_hooks_are_disabled() -> None:
    def function(x: Any) -> Any:
        with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
            return x * x

    x = torch.tensor([1.0, 2.0])
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        assert torch.func.linearize(torch.square, x)[1](torch.ones(2)).tolist() == [2.0, 4.0]
    assert torch.func.linearize(function, x)[1](torch.ones(2)).tolist() == [2.0, 4.0]
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone), pytest.raises(RuntimeError, match="none"):
        function(x)
