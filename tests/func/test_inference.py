"""Transforms in inference mode, and of functions that read tensors made in it: as anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a product with itself": lambda x: (x @ x).sum(),
    "a write": lambda x: (x * 1).mul_(x).exp().sum(),
    "an inverse": lambda x: torch.linalg.inv(x + 3 * torch.eye(2, dtype=torch.float64)).sum(),
    "softmax": lambda x: (x.softmax(1) ** 2).sum(),
}
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: grad(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "jacrev": lambda f, x: jacrev(grad(f))(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "jvp of grad": lambda f, x: jvp(grad(f), (x,), (x,))[1],
    "vjp": lambda f, x: vjp(f, x)[1](torch.ones((), dtype=torch.float64))[0],
    "linearize": lambda f, x: linearize(f, x)[1](x),
}
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("made_inside", [False, True])
def test_transforms_give_ordinary_tensors_in_inference_mode(function: str, transform: str, made_inside: bool) -> None:
    expected = TRANSFORMS[transform](FUNCTIONS[function], X)
    with torch.inference_mode():
        x = X.clone() if made_inside else X
        found = TRANSFORMS[transform](FUNCTIONS[function], x)
    assert found.tolist() == expected.tolist()
    assert not found.is_inference()
    assert not found.requires_grad


def test_what_was_made_in_inference_mode_is_a_constant_to_transforms() -> None:
    with torch.inference_mode():
        weights = torch.tensor([1.0, 2.0, 3.0])
    x = torch.tensor([1.0, 1.0, 2.0])

    def function(x: Any) -> Any:
        return (x * weights * x).sum()

    assert grad(function)(x).tolist() == [2, 4, 12]
    assert hessian(function)(x).diagonal().tolist() == [2, 4, 6]
    assert jvp(grad(function), (x,), (weights,))[1].tolist() == [2, 8, 18]
    assert grad(lambda x: vmap(lambda x, w: x * w)(x, weights).sum())(x).tolist() == [1, 2, 3]
    assert grad(lambda x: vmap(lambda x: x * weights[0] * x)(x).sum())(x).tolist() == [2, 2, 4]
    leaf = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        jvp(lambda x: x * leaf * weights, (x,), (x,))  # by a graph that outlives the transform
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        vmap(lambda x, w: x * w)(leaf, weights)


def test_a_constant_that_was_written_since_is_noticed() -> None:
    with torch.inference_mode():
        weights = torch.tensor([1.0, 2.0, 3.0])
    leaf = torch.ones(3, requires_grad=True)
    gradient = grad(lambda x: (x * (leaf * weights)).sum())(torch.ones(3))
    with torch.inference_mode():
        weights.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        gradient.sum().backward()
