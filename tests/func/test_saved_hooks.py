"""Transforms and dual levels where saved tensors are packed by hooks, checkpoints among them: as without hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import func
from minitorch.autograd import forward_ad
from minitorch.utils.checkpoint import checkpoint

hooks = torch.autograd.graph.saved_tensors_hooks
X = torch.tensor([[0.3, -0.4, 0.5], [0.7, 0.2, -0.9]], dtype=torch.float64, requires_grad=True)
V = torch.tensor([[1.0, 2.0, -1.0], [0.5, -3.0, 2.0]], dtype=torch.float64)
W = torch.tensor([[0.2, -0.7, 0.1], [0.4, 0.3, -0.5], [-0.6, 0.8, 0.9]], dtype=torch.float64)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x * x * 3

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return tangent * x * x * 3


def written(x: torch.Tensor) -> torch.Tensor:
    y = x * x
    z = y.clone()
    z[..., 0] = y[..., 1].sin() * x[..., 2]
    return z.tanh()


PACKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "as it is": (lambda t: t, lambda t: t),
    "another": (lambda t: t * 1, lambda t: t),
    "another, late": (lambda t: t, lambda t: t * 1),
    "a view": (lambda t: t.detach(), lambda t: t),
    "NumPy's": (lambda t: t.detach().numpy().copy(), torch.from_numpy),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "saved argument": lambda x: x**3,
    "saved result": lambda x: x.sin().exp(),
    "product": lambda x: (x @ W).tanh() @ W,
    "frozen factor": lambda x: torch.nn.functional.linear(x, W).sigmoid(),
    "softmax": lambda x: x.softmax(-1) * x.cos(),
    "custom": Cube.apply,
    "write": written,
}


def gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient of the sum, by ``autograd.grad`` inside of the function."""
    return lambda x: torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def by_dual(f: Callable[[Any], Any]) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(gradient(f)(forward_ad.make_dual(X, V))).tangent


WAYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: func.grad(lambda x: f(x).sum())(X),
    "hessian": lambda f: func.hessian(lambda x: f(x).sum())(X),
    "jacrev of jacrev": lambda f: func.jacrev(func.jacrev(f))(X),
    "jvp": lambda f: func.jvp(f, (X,), (V,))[1],
    "jvp of jvp": lambda f: func.jvp(lambda x: func.jvp(f, (x,), (V,))[1], (X,), (V,))[1],
    "vmap": lambda f: func.vmap(f)(X),
    "gradients of examples": lambda f: func.vmap(func.grad(lambda x: f(x).sum()))(X),
    "jvp of autograd.grad": lambda f: func.jvp(gradient(f), (X,), (V,))[1],
    "jacfwd of autograd.grad": lambda f: func.jacfwd(gradient(f))(X),
    "linearize": lambda f: func.linearize(f, X)[1](V),
    "linearize of grad": lambda f: func.linearize(func.grad(lambda x: f(x).sum()), X)[1](V),
    "dual": by_dual,
    "hvp": lambda f: torch.autograd.functional.hvp(lambda x: f(x).sum(), X, V)[1],
    "twice": lambda f: torch.autograd.grad((gradient(f)(X) * V).sum(), X)[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("pack", PACKS)
def test_hooks_change_nothing(way: str, function: str, pack: str) -> None:
    f, run = FUNCTIONS[function], WAYS[way]

    def within(x: torch.Tensor) -> torch.Tensor:
        with hooks(*PACKS[pack]):
            return f(x)

    expected = run(f).detach().numpy()
    np.testing.assert_allclose(run(within).detach().numpy(), expected, rtol=1e-12, atol=1e-14)
    if pack != "NumPy's" or not ("vmap" in way or "jac" in way or way in ("hessian", "gradients of examples")):
        with hooks(*PACKS[pack]):
            around = run(f)
        np.testing.assert_allclose(around.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_checkpoints_change_nothing(way: str, function: str) -> None:
    f, run = FUNCTIONS[function], WAYS[way]
    expected = run(f).detach().numpy()
    found = run(lambda x: checkpoint(f, x, use_reentrant=False))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("way", ["hessian", "gradients of examples", "jvp of autograd.grad", "linearize of grad"])
def test_a_transform_may_be_checkpointed(way: str) -> None:
    run = WAYS[way]
    found = checkpoint(lambda x: run(torch.sin), X, use_reentrant=False)
    np.testing.assert_allclose(found.detach().numpy(), run(torch.sin).detach().numpy(), rtol=1e-12)


def test_what_is_unpacked_gets_no_tangent_that_people_see() -> None:
    kept: list[torch.Tensor] = []
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, V)
        with hooks(lambda t: kept.append(t.detach().clone()) or len(kept) - 1, kept.__getitem__):
            y = x**3
        torch.autograd.grad(y.sum(), x, create_graph=True)
        assert all(forward_ad.unpack_dual(t).tangent is None for t in kept)


def test_a_write_does_not_reach_the_tangent_of_what_was_packed() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, V) * 1
        with hooks(lambda t: t.detach().clone(), lambda t: t):
            y = x**2
        x.mul_(5)
        found = y.grad_fn(torch.ones_like(y))
        assert torch.equal(forward_ad.unpack_dual(found).tangent, 2 * V)


def test_a_frozen_factor_is_packed_as_it_is() -> None:
    layer = torch.nn.Linear(2, 2).requires_grad_(False)
    x = torch.ones(1, 2, requires_grad=True)
    with hooks(lambda t: t, lambda t: t):
        y = layer(x).tanh().sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    (plain,) = torch.autograd.grad(layer(x).tanh().sum(), x, create_graph=True)
    assert torch.equal(second, torch.autograd.grad(plain.sum(), x)[0])


TOGETHER: dict[str, Callable[[Any], Any]] = {
    "qr": lambda a: torch.linalg.qr(a)[1],
    "svd": lambda a: torch.linalg.svd(a)[1],
    "lu": lambda a: torch.linalg.lu(a)[2],
    "lstsq": lambda a: torch.linalg.lstsq(a, torch.ones(3, 1, dtype=torch.float64)).solution,
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("needs_grad", [False, True])
def test_passes_that_tangents_need_are_not_packed(name: str, needs_grad: bool) -> None:
    a = (W + 2 * torch.eye(3, dtype=torch.float64)).requires_grad_(needs_grad)
    f = TOGETHER[name]

    def pushed(function: Callable[[Any], Any]) -> list[torch.Tensor]:
        tangent = func.jvp(function, (a,), (W,))[1]
        return [tangent, *(torch.autograd.grad(tangent.sum(), a) if needs_grad else ())]

    for found, expected in zip(pushed(lambda z: checkpoint(f, z, use_reentrant=False)), pushed(f)):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["inv", "cholesky", "qr", "eigh", "svd"])
def test_hooks_of_results_that_a_row_keeps_together(name: str) -> None:
    a = (W @ W.T + torch.eye(3, dtype=torch.float64)).requires_grad_()

    def first() -> torch.Tensor:
        results = getattr(torch.linalg, name)(a)
        return results if isinstance(results, torch.Tensor) else results[0]

    packed: list[torch.Tensor] = []
    result = first()
    saved = result.grad_fn._raw_saved_result
    saved.register_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda number: packed[number] * 1)
    assert packed
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    torch.testing.assert_close(torch.autograd.grad(result.sum(), a), torch.autograd.grad(first().sum(), a))


def test_hooks_inside_of_a_map_do_not_pack_a_batch() -> None:
    packed: list[tuple[int, ...]] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(tuple(tensor.shape))
        return tensor

    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            return x**3

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    torch.func.vmap(inside)(x).sum().backward()
    assert (3,) not in packed
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        torch.func.vmap(lambda x: x**3)(x).sum().backward()
    assert (3,) in packed
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 24.0, 54.0]
