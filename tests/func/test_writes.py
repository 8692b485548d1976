"""Writes under transforms: derivatives of the second order in every order of modes."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch.func import _captured, functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def _scaled(x: Any) -> Any:
    y = x * 1.0
    y.mul_(x)
    return y


def _shifted(x: Any) -> Any:
    y = x * 1.0
    y[1:].mul_(x[:-1])
    return y


def _squared(x: Any) -> Any:
    y = x * 1.0
    y.mul_(y)
    return y


def _rows(x: Any) -> Any:
    y = x.expand(2, 3).clone()
    y[0] *= x
    y[:, 1] *= x[0]
    y[1].sin_().mul_(x)
    return y


def _several(x: Any) -> Any:
    y = x * 1.0
    y.div_(x + 3)
    y.addcmul_(x, x)
    y.lerp_(x.sin(), x)
    y.atan2_(x + 2)
    return y


@pytest.mark.parametrize("function", [_scaled, _shifted, _squared, _rows, _several])
def test_writes_are_differentiated_twice_in_every_order(function: Any) -> None:
    x = torch.tensor([0.3, 0.5, -0.2], dtype=torch.float64)
    wanted = jacfwd(jacrev(function))(x)
    for outer, inner in ((jacfwd, jacfwd), (jacrev, jacfwd), (jacrev, jacrev)):
        assert torch.allclose(outer(inner(function))(x), wanted, rtol=1e-12)
    along = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    slope = grad(lambda x: jvp(function, (x,), (along,))[1].sum())(x)
    assert torch.allclose(slope, wanted.sum(dim=tuple(range(wanted.dim() - 2))) @ along, rtol=1e-12)
    slopes = vmap(grad(lambda x: jvp(function, (x,), (along,))[1].sum()))(torch.stack([x, 2 * x]))
    assert torch.allclose(slopes[0], slope, rtol=1e-12)


def test_a_gradient_goes_through_the_tangent_of_a_write() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
        tangent = torch.autograd.forward_ad.unpack_dual(_scaled(dual)).tangent
        (slope,) = torch.autograd.grad(tangent.sum(), x)
    assert slope.tolist() == [2.0, 2.0, 2.0]


# -- what is captured --------------------------------------------------------------------------------------------------
class Plain:
    def __init__(self, w: Any) -> None:
        self.w = w


@dataclasses.dataclass
class Data:
    w: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    w: Any


class Shared:
    w: Any = torch.zeros(2)


BUFFER = torch.zeros(2)


def _first(x: Any) -> Any:
    return BUFFER.add_(x)


def _second(x: Any) -> Any:
    return _first(x) * 2


def _third(x: Any) -> Any:
    return _second(x) * x


def _within_functions(w: Any) -> Callable[[Any], Any]:
    def first(x: Any) -> Any:
        return w.add_(x)

    def second(x: Any) -> Any:
        return first(x) * 2

    def third(x: Any) -> Any:
        return second(x) * x

    return lambda x: third(x)


def _by(holder: Any) -> Callable[[Any], Any]:
    return lambda x: holder.w.add_(x) * x


def _by_path(holder: Any) -> Callable[[Any], Any]:
    return lambda x: holder.w.w.w.w.add_(x) * x


def _by_iterator(tensors: Any) -> Callable[[Any], Any]:
    return lambda x: next(tensors).add_(x) * x


def _of_module(w: Any) -> Callable[[Any], Any]:
    holder = types.ModuleType("peoples")
    holder.w = w  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"peoples": holder}
    exec("def function(x): return peoples.w.add_(x) * x", scope)
    function: Callable[[Any], Any] = scope["function"]
    return function


HOLDERS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "plain": lambda w: _by(Plain(w)),
    "namespace": lambda w: _by(types.SimpleNamespace(w=w)),
    "dataclass": lambda w: _by(Data(w)),
    "slots": lambda w: _by(Slotted(w)),
    "object in an object": lambda w: _by_path(Plain(Plain(Data(Plain(w))))),
    "containers": lambda w: lambda x, o=[{"a": ({"b": [w]},)}]: o[0]["a"][0]["b"][0].add_(x) * x,
    "iterator": lambda w: _by_iterator(iter([w] * 9)),
    "functions": _within_functions,
    "module": _of_module,
    "data": lambda w: lambda x: w.data.add_(x) * x,
    "detached": lambda w: lambda x: w.detach().add_(x) * x,
    "without history": lambda w: lambda x: w.add_(x.detach()) * x,
    "a constant": lambda w: lambda x: w.add_(1) * x,
    "without grad": lambda w: torch.no_grad()(lambda x: w.add_(x) * x),
}
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: grad(lambda x: f(x).sum())(x),
    "vjp": vjp,
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "linearize": linearize,
    "vmap of grad": lambda f, x: vmap(grad(lambda x: f(x).sum()))(torch.stack([x, x])),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_captured_is_not_written_wherever_it_is(holder: str, transform: str) -> None:
    w = torch.zeros(2)
    with pytest.raises(RuntimeError, match=r"call in-place operation \(add_\) that would mutate a captured Tensor"):
        TRANSFORMS[transform](HOLDERS[holder](w), torch.ones(2))
    assert w.tolist() == [0, 0]
    assert not w.requires_grad
    w.add_(1)  # afterwards it may be written


def test_globals_are_captured_through_functions_and_classes() -> None:
    for function in (_third, lambda x: Shared.w.add_(x) * x):
        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            grad(lambda x, f=function: f(x).sum())(torch.ones(2))
    assert BUFFER.tolist() == Shared.w.tolist() == [0, 0]


def test_what_the_function_makes_and_keeps_may_be_written() -> None:
    kept, cache = Plain(None), {"w": torch.ones(2)}

    def function(x: Any) -> Any:
        kept.w, cache["w"] = torch.zeros(2), torch.zeros(2)
        kept.w[0] = x[1]
        cache["w"].add_(kept.w)
        return (cache["w"] * x).sum()

    x = torch.tensor([1.0, 2.0])
    assert grad(function)(x).tolist() == [2, 1]
    assert hessian(function)(x).tolist() == [[0, 1], [1, 0]]
    norm = torch.nn.BatchNorm1d(2)
    buffers = {name: b.clone() for name, b in norm.named_buffers()}
    grad(lambda x: functional_call(norm, buffers, (x,)).square().sum(), 0)
    grad(lambda x, b: functional_call(norm, b, (x,)).square().sum())(torch.rand(4, 2), buffers)
    assert buffers["num_batches_tracked"].item() == 1


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("fill_", lambda w, x: w.view(-1)[0].fill_(x[0])),
        ("__setitem__", lambda w, x: w.__setitem__(0, x[0])),
        ("__setitem__", lambda w, x: w.__setitem__(slice(None), x[0])),
        ("__setitem__", lambda w, x: w.__setitem__(torch.tensor([0]), x[0])),
        ("copy_", lambda w, x: w.copy_(x)),
        ("zero_", lambda w, x: w.zero_()),
        ("normal_", lambda w, x: w.normal_()),
        ("polygamma_", lambda w, x: w.polygamma_(1)),
        ("eq_", lambda w, x: w.eq_(x)),
        ("relu_", lambda w, x: torch.relu_(w)),
        ("masked_fill_", lambda w, x: w.masked_fill_(w > 0, 1.0)),
        ("index_add_", lambda w, x: w.index_add_(0, torch.tensor([0]), x[:1])),
        ("t_", lambda w, x: w.t_()),
    ],
)
def test_a_refused_write_is_named_as_people_call_it(name: str, write: Any) -> None:
    w = torch.zeros(2)

    def function(x: Any) -> Any:
        write(w, x)
        return x.sum()

    with pytest.raises(RuntimeError, match=rf"call in-place operation \({name}\) that would mutate"):
        grad(function)(torch.ones(2))
    assert w.tolist() == [0, 0]


def test_operations_themselves_hold_nothing_that_is_looked_into() -> None:
    for function in (torch.sin, torch.mul, torch.Tensor.exp):
        assert list(_captured._held(function)) == []
