"""Transforms in transforms, drawn at random, against PyTorch: values, whether there is a history, gradients by that."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Function = Callable[..., Any]
"""Of the library, its func, and two vectors, to a scalar."""

BASES: list[Function] = [
    lambda t, f, x, w: (x * w).sin().sum(),
    lambda t, f, x, w: (x**3).sum() * x.prod(),
    lambda t, f, x, w: (w.exp() * x.tanh()).mean(),
    lambda t, f, x, w: (x.outer(x) @ w).sum(),
    lambda t, f, x, w: x.sum() * 2,
]


def both(g: Function) -> Function:
    def function(t: Any, f: Any, x: Any, w: Any) -> Any:
        first, second = f.grad(lambda y, z: g(t, f, y, z), argnums=(0, 1))(x, w)
        return (first * second).sum()

    return function


def unrecorded(g: Function) -> Function:
    def function(t: Any, f: Any, x: Any, w: Any) -> Any:
        with t.no_grad():
            constant = g(t, f, x, w)
        return constant * x.sum()

    return function


def with_value(g: Function) -> Function:
    def function(t: Any, f: Any, x: Any, w: Any) -> Any:
        gradient, value = f.grad_and_value(lambda y: g(t, f, y, w))(x)
        return gradient.sum() * value

    return function


WRAPPERS: dict[str, Callable[[Function], Function]] = {
    "grad": lambda g: lambda t, f, x, w: f.grad(lambda y: g(t, f, y, w))(x).sum(),
    "grad of the second": lambda g: lambda t, f, x, w: (f.grad(lambda y: g(t, f, x, y))(w) * x).sum(),
    "grad of both": both,
    "grad with a captured argument": lambda g: lambda t, f, x, w: f.grad(lambda y: g(t, f, x, w) * (x * y).sum())(w).sum(),
    "grad and value": with_value,
    "vjp": lambda g: lambda t, f, x, w: f.vjp(lambda y: g(t, f, y, w) * y, x)[1](w)[0].sum(),
    "jvp": lambda g: lambda t, f, x, w: f.jvp(lambda y: g(t, f, y, w) * y, (x,), (w,))[1].sum(),
    "jacrev": lambda g: lambda t, f, x, w: f.jacrev(lambda y: g(t, f, y, w) * y)(x).diagonal().sum(),
    "jacfwd": lambda g: lambda t, f, x, w: f.jacfwd(lambda y: g(t, f, y, w) * w)(x).sum(),
    "hessian": lambda g: lambda t, f, x, w: f.hessian(lambda y: g(t, f, y, w))(x).sum(),
    "vmap": lambda g: lambda t, f, x, w: f.vmap(lambda y: g(t, f, y, w))(t.stack([x, w, x * w])).sum(),
    "vmap of grad": lambda g: lambda t, f, x, w: f.vmap(
        f.grad(lambda y, z: g(t, f, y, z)), in_dims=(None, 0)
    )(x, t.stack([x, w])).sum(),
    "vmap of jvp": lambda g: lambda t, f, x, w: f.vmap(
        lambda v: f.jvp(lambda y: g(t, f, y, w) * y, (x,), (v,))[1], out_dims=1
    )(t.stack([x, w])).sum(),
    "no_grad": unrecorded,
    "detach": lambda g: lambda t, f, x, w: g(t, f, x.detach(), w) + x.sum(),
}  # fmt: skip


def result(library: str, function: Function, requires: list[bool]) -> tuple[Any, ...]:
    t, f = importlib.import_module(library), importlib.import_module(f"{library}.func")
    x, w = [
        t.tensor(v, dtype=t.float64, requires_grad=r) for v, r in zip(([0.3, -0.7, 1.2], [0.5, 0.9, -0.4]), requires)
    ]
    out = function(t, f, x, w)
    leaves = [v for v in (x, w) if v.requires_grad]
    found = t.autograd.grad(out, leaves, allow_unused=True) if out.requires_grad and leaves else [None] * len(leaves)
    return out.requires_grad, out.item(), [np.zeros(3) if g is None else g.numpy() for g in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_as_in_pytorch(seed: int) -> None:
    pytest.importorskip("torch")
    rng = random.Random(seed)
    function, requires = rng.choice(BASES), [rng.random() < 0.5 for _ in range(2)]
    names = [rng.choice(list(WRAPPERS)) for _ in range(rng.randint(1, 3))]
    for name in names:
        function = WRAPPERS[name](function)
    ours = result("minitorch", function, requires)
    theirs = result("torch", function, requires)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-12, err_msg=str(names))
    for one, other in zip(ours[2], theirs[2]):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10, err_msg=str(names))
    if any(g.any() for g in theirs[2]) or not theirs[0]:  # of zeros, PyTorch's sometimes have a history
        assert ours[0] == theirs[0], names
