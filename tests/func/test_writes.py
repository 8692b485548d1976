"""Writes under transforms: derivatives of the second order in every order of modes."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch.func import grad, jacfwd, jacrev, jvp, vmap


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
