"""L-BFGS: its way equals PyTorch's, with and without line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch


def rosenbrock(x: Any) -> Any:
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def wavy(x: Any) -> Any:
    return (x.sin() * 3 + 0.1 * x * x).sum()


def steep(x: Any) -> Any:
    return (x.exp() - 2 * x + x**4).sum()


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "rosenbrock": (rosenbrock, [-1.2, 1.0, 0.5, 2.0]),
    "valley": (rosenbrock, [-1.2, 1.0]),
    "wavy": (wavy, [0.3, -4.0, 5.0]),
    "steep": (steep, [3.0, -2.0, 0.0]),
}
OPTIONS: list[dict[str, Any]] = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.1, "max_iter": 7},
    {"line_search_fn": "strong_wolfe", "lr": 100.0, "max_iter": 5, "max_eval": 9},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "tolerance_change": 1e-6},
    {"line_search_fn": "strong_wolfe", "tolerance_grad": 0.5},
    {"lr": 1e-3},
    {"lr": 1e-3, "max_iter": 3, "history_size": 1},
    {"lr": 1e-3, "tolerance_change": 1e-2},
]


def way(library: Any, name: str, options: dict[str, Any], dtype: str, steps: int) -> tuple[list[Any], Any]:
    """Every point at which the closure was called, and the optimizer."""
    function, start = FUNCTIONS[name]
    first = library.tensor(start[:1], dtype=getattr(library, dtype), requires_grad=True)
    rest = library.tensor(start[1:], dtype=getattr(library, dtype), requires_grad=True)
    unused = library.tensor([1.0], dtype=getattr(library, dtype), requires_grad=True)
    optimizer = library.optim.LBFGS([first, unused, rest], **options)
    points = []

    def closure() -> Any:
        optimizer.zero_grad()
        x = library.cat([first, rest])
        points.append(x.detach().numpy().copy())
        loss = function(x)
        loss.backward()
        return loss

    for _ in range(steps):
        points.append(optimizer.step(closure).detach().numpy())
    return [*points, *[p.detach().numpy() for p in (first, unused, rest)]], optimizer


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_way_equals_pytorchs(name: str, options: dict[str, Any]) -> None:
    reference = pytest.importorskip("torch")
    ours, optimizer = way(minitorch, name, options, "float64", 2)
    theirs, their_optimizer = way(reference, name, options, "float64", 2)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    (state,), (their_state,) = optimizer.state.values(), their_optimizer.state.values()
    assert set(state) == set(their_state)
    for key, value in their_state.items():
        for a, b in zip(*[v if isinstance(v, list) else [v] for v in (state[key], value)], strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                np.testing.assert_allclose(float_or_array(a), float_or_array(b), rtol=1e-4, atol=1e-6)


def float_or_array(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_stays_float32(name: str) -> None:
    points, optimizer = way(torch, name, {"line_search_fn": "strong_wolfe"}, "float32", 2)
    assert {np.asarray(p).dtype for p in points} == {np.dtype(np.float32)}
    state = optimizer.state_dict()["state"][0]
    assert state["d"].dtype == state["old_dirs"][0].dtype == torch.float32


def test_it_finds_the_minimum() -> None:
    points, _ = way(torch, "valley", {"line_search_fn": "strong_wolfe", "max_iter": 200}, "float64", 1)
    np.testing.assert_allclose(np.concatenate([points[-3], points[-1]]), np.ones(2), atol=1e-4)


def test_it_goes_on_after_saving_and_loading() -> None:
    def run(reload: bool) -> Any:
        x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([x], max_iter=4, line_search_fn="strong_wolfe")
        for _ in range(4):
            if reload:
                state = optimizer.state_dict()
                optimizer = torch.optim.LBFGS([x], max_iter=4, line_search_fn="strong_wolfe")
                optimizer.load_state_dict(state)

            def closure(optimizer: Any = optimizer) -> Any:
                optimizer.zero_grad()
                loss = rosenbrock(x)
                loss.backward()
                return loss

            optimizer.step(closure)
        return x.tolist()

    assert run(True) == run(False)


def test_a_closure_that_raises_leaves_the_parameters_where_the_iteration_began() -> None:
    x = minitorch.tensor([-1.2, 1.0], dtype=minitorch.float64, requires_grad=True)
    optimizer = minitorch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    calls = []

    def closure() -> Any:
        calls.append(x.tolist())
        if len(calls) == 2:
            raise KeyboardInterrupt
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert calls[1] != [-1.2, 1.0]
    assert x.tolist() == [-1.2, 1.0]


def test_refusals() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="per-parameter options"):
        torch.optim.LBFGS([{"params": [x]}, {"params": [torch.ones(1, requires_grad=True)]}])
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.LBFGS([x], lr=-1)
    optimizer = torch.optim.LBFGS([x], line_search_fn="armijo")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)
    with pytest.raises(TypeError, match="closure"):
        torch.optim.LBFGS([x]).step()
