"""Tensors that escape from a map: whatever is done with them raises."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, vmap
from minitorch.func import grad

X = torch.tensor([0.3, 1.2, 0.7], dtype=torch.float64)

USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda c: c + 1,
    "second operand": lambda c: X * c,
    "number before it": lambda c: 1 - c,
    "method": lambda c: c.exp(),
    "view": lambda c: c.reshape(1),
    "in a list": lambda c: torch.stack([X[0], c]),
    "in place": lambda c: c.add_(1),
    "written": lambda c: X.clone().copy_(c),
    "item": lambda c: c.item(),
    "bool": lambda c: bool(c),
    "numpy": lambda c: c.numpy(),
    "backward": lambda c: c.backward(),
    "data": lambda c: torch.tensor([c]),
}


def escaped(inner: Callable[[Any, list[Any]], Any], outer: Callable[..., Any] = vmap) -> list[Any]:
    found: list[Any] = []
    outer(lambda x: inner(x, found))(X)
    return found


def kept(x: Any, found: list[Any]) -> Any:
    y = x * 2
    found.append(y)
    return y


def refused(tensors: list[Any], use: Callable[[Any], Any] = lambda c: c + 1) -> None:
    assert tensors
    for tensor in tensors:
        with pytest.raises(RuntimeError, match="may have escaped from inside a function being vmapped"):
            use(tensor)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_escaped_tensor_cannot_be_used(use: Callable[[Any], Any]) -> None:
    refused(escaped(kept), use)


def test_its_shape_and_dtype_may_be_looked_at_and_its_text_says_what_it_is() -> None:
    found: list[Any] = []
    vmap(lambda x: kept(x, found))(torch.ones(4, 2, 3, dtype=torch.float64))
    (y,) = found
    assert (y.shape, y.size(), y.size(-1), y.dtype) == ((2, 3), (2, 3), 3, torch.float64)
    assert (y.ndim, y.dim(), y.numel(), len(y), y.is_floating_point()) == (2, 2, 6, 2, True)
    for text in (repr(y), str(y), f"{y}", f"{found}"):
        assert "shape=(2, 3), dtype=torch.float64, of an example of a vmap that has ended" in text
    refused(found)


def test_examples_and_tensors_around_the_same_values_escape_too() -> None:
    def function(x: Any, found: list[Any]) -> Any:
        found += [x, (x * 2).detach(), x.reshape(1)[0], torch.zeros_like(x) + x]
        return x

    refused(escaped(function))


def test_a_running_total_is_refused() -> None:
    total = torch.tensor(0.0, dtype=torch.float64)

    def function(x: Any) -> Any:
        nonlocal total
        total = total + x
        return x

    vmap(function)(X)
    refused([total])
    assert function.__closure__  # and the map can be called again, from a total of its own
    total = torch.tensor(0.0, dtype=torch.float64)
    assert vmap(function)(X).tolist() == X.tolist()


def test_what_hooks_of_gradients_keep_is_refused() -> None:
    def function(x: Any, found: list[Any]) -> Any:
        def scalar(x: Any) -> Any:
            y = x * x
            y.register_hook(found.append)
            return y * y

        return grad(scalar)(x)

    refused(escaped(function))


def test_what_hooks_of_modules_keep_is_refused() -> None:
    layer, found = nn.Linear(3, 2), []
    layer.register_forward_hook(lambda module, inputs, out: found.append(out))
    results = vmap(layer)(torch.ones(4, 3))
    assert results.shape == (4, 2)
    refused(found)
    refused(found, lambda c: c.sum())


def test_it_has_escaped_from_an_inner_map_too() -> None:
    def function(x: Any, found: list[Any]) -> Any:
        inner = vmap(lambda y: kept(y, found) * x)(X)
        refused(found)
        return inner

    refused(escaped(function))


def test_it_has_escaped_where_the_function_raised() -> None:
    found: list[Any] = []

    def function(x: Any) -> Any:
        kept(x, found)
        raise KeyError("x")

    with pytest.raises(KeyError):
        vmap(function)(X)
    refused(found)


def test_what_is_shared_and_what_is_returned_stays() -> None:
    shared, found = torch.ones(2), []

    def function(x: Any) -> Any:
        found.append(shared * 2)
        return x, shared.detach(), x * shared

    same, other, product = vmap(function, out_dims=(0, None, 0))(X)
    assert (shared + 1).tolist() == [2.0, 2.0]
    assert found[0].tolist() == [2.0, 2.0]
    assert same.tolist() == X.tolist()
    assert other.tolist() == [1.0, 1.0]
    assert product.shape == (3, 2)


def test_nothing_is_searched_where_nothing_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*arrays: Any) -> Any:
        raise AssertionError("something was left alive")

    monkeypatch.setattr(gc, "get_referrers", search)
    x = torch.randn(4, 3, requires_grad=True)
    vmap(grad(lambda x: (x.sin() * x).sum()))(x).sum().backward()
    vmap(vmap(lambda y: y * y))(x)
