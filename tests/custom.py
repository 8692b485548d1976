"""What tests make user-defined Functions of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backend import torch

Function = torch.autograd.Function
once_differentiable = torch.autograd.function.once_differentiable
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def const(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def grad_of(output: Any, x: Any, **options: Any) -> Any:
    (grad,) = torch.autograd.grad(output.sum(), x, **options)
    return grad.tolist()


def make(forward: Callable[..., Any], backward: Callable[..., Any] | None = None, **methods: Any) -> Any:
    """A Function class named MyFunction with the given static methods."""
    body = {"forward": staticmethod(forward), **{name: staticmethod(method) for name, method in methods.items()}}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type("MyFunction", (Function,), body)
