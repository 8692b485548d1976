"""A Jacobian in four ways, with what each costs: the program beside four-ways-to-differentiate.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import minitorch as torch

Function = Callable[[Any], Any]


BOOKKEEPING = frozenset(["alias", "detach", "mT", "stack", "unbind"])
"""Operations that compute nothing: views, and what puts rows together."""


class Cost(NamedTuple):
    """What a Jacobian cost: evaluations of the function, passes beside them, operations in all."""

    evaluations: int
    passes: int
    operations: int


class Counted:
    """A function that counts how often it is evaluated."""

    def __init__(self, function: Function) -> None:
        self.function, self.evaluations = function, 0

    def __call__(self, x: Any) -> Any:
        self.evaluations += 1
        return self.function(x)


def forward(f: Function, x: Any) -> tuple[Any, int]:
    """A column for each input: the derivative along a unit vector, computed with the value."""
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(columns, 1), 0


def reverse(f: Function, x: Any) -> tuple[Any, int]:
    """A row for each output: one evaluation, then a pass backward from each output."""
    x = x.detach().requires_grad_()
    y = f(x)
    units = torch.eye(len(y), dtype=x.dtype)
    rows = [torch.autograd.grad(y, x, e, retain_graph=True)[0] for e in units]
    return torch.stack(rows), len(rows)


def numerical(f: Function, x: Any) -> tuple[Any, int]:
    """A column for each input: the function to both sides of it."""
    return torch.autograd.numerical_jacobian(f, x, method="central"), 0


def symbolic(f: Function, x: Any) -> tuple[Any, int]:
    """The gradient's formula, written once; its value for each output."""
    x = x.detach().requires_grad_()
    x.name = "x"
    with torch.autograd.Tape() as tape:
        y = f(x)
    formula = tape.formula(y)
    rows = [formula.evaluate(g=e)["dL/dx"] for e in torch.eye(len(y), dtype=x.dtype)]
    return torch.stack(rows), len(rows)


WAYS = {way.__name__: way for way in (forward, reverse, numerical, symbolic)}


def cost(way: Callable[[Function, Any], tuple[Any, int]], f: Function, x: Any) -> tuple[Any, Cost]:
    """A Jacobian and what it cost."""
    counted = Counted(f)
    with torch.no_grad() if way is numerical else torch.enable_grad(), torch.autograd.count_operations() as operations:
        jacobian, passes = way(counted, x)
    computing = [count for name, count in operations.by_name.items() if name not in BOOKKEEPING]
    return jacobian, Cost(counted.evaluations, passes, sum(computing))


def layer(outputs: int, inputs: int) -> tuple[Function, Any]:
    """The function ``tanh(W @ x)`` and a point."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(outputs, inputs, generator=generator, dtype=torch.float64) / 10
    W.name = "W"
    x = torch.randn(inputs, generator=generator, dtype=torch.float64)
    return lambda x: torch.tanh(W @ x), x
