"""The figures of memory_plan() are what is allocated."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that a call allocates at a time, after two that write programs and what is checked before them."""
    call()
    call()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        out = call()
        found = tracemalloc.get_traced_memory()[1] - before
        del out
    finally:
        tracemalloc.stop()
    return found


def deep(width: int, layer: Callable[[], Any]) -> Any:
    return nn.Sequential(*[part for _ in range(50) for part in (nn.Linear(width, width), layer())])


def chain(x: Any) -> Any:
    return ((((x * 2 + 1) * x - 0.5).abs() + x) * 0.5 - x) * x + 1


WEIGHT = torch.randn(400, 400, requires_grad=True)


def mixed(x: Any) -> Any:
    return ((x @ WEIGHT).softmax(1) * x).sum(0) + x.exp() * 3


FUNCTIONS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "50 layers, relu": (deep(128, nn.ReLU), (512, 128)),
    "50 layers, tanh": (deep(256, nn.Tanh), (256, 256)),
    "elementwise": (chain, (1000, 300)),
    "a view of a copy": (lambda x: x.t().reshape(-1)[::2] * 2, (1000, 1000)),
    "mixed": (mixed, (400, 400)),
    "layer norm": (nn.Sequential(nn.LayerNorm(400), nn.GELU(), nn.Linear(400, 400)), (400, 400)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_figures_are_true(name: str) -> None:
    function, shape = FUNCTIONS[name]
    x = torch.randn(shape)
    programs = [static.compile(function, passes=p) for p in (static.PASSES[:-2], static.PASSES)]
    with torch.no_grad():
        found = [peak(lambda run=run: run(x)) for run in (function, *programs)]
    plan = programs[1].memory_plan()
    np.testing.assert_allclose(plan, [peak(lambda: function(x)), *found], rtol=0.05)
    assert programs[0].memory_plan().reused == plan.freed
    if name.startswith("50"):
        assert plan.reused <= 0.2 * plan.history


def test_what_a_trace_computed_is_not_kept() -> None:
    x = torch.randn(200, 200)
    mask = torch.ones(3, 3)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        program = static.trace(lambda x: [(x * n).exp().sum() for n in range(2, 20)] + [x[:3, :3] * mask.tril()], x)
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < 4 * x.nbytes  # of 36 values of this size
    arrays = program.variants[0].trace.arrays
    assert {a.shape for a in arrays[1:3]} == {(200, 200)}
    assert not arrays[1].any()
    with pytest.raises(RuntimeError, match="not traced"):
        static.compile(chain).memory_plan()


def thrice(y: Any) -> Any:
    v = y + y
    for _ in range(3):
        v.mul_(2)
    return v


def turned(y: Any) -> Any:
    v = y.clone()
    v.t().add_(y)
    v.exp_()
    return v, v.flip(0)


IN_PLACE: dict[str, Any] = {
    "thrice": thrice,
    "turned": turned,
    "an argument": lambda y: y.add_(1) + y,
    "a row": lambda y: (y + y)[0].add_(1).sum(),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_figures_are_true_in_place(name: str) -> None:
    function, x = IN_PLACE[name], torch.ones(600, 600)
    with torch.no_grad():
        programs = [static.compile(function, passes=p) for p in (static.PASSES[:-2], static.PASSES)]
        found = [peak(lambda run=run: run(x)) for run in (function, *programs)]
        np.testing.assert_allclose(programs[1].memory_plan()[1:], found, rtol=0.05)


def test_writes_are_made_in_place() -> None:
    program = static.trace(thrice, torch.ones(600, 600))
    plan = program.memory_plan()
    assert plan.reused == plan.eager
    assert program.explain_passes().count("# into %1") == 3


def drawn(seed: int) -> Callable[[Any, Any], Any]:
    """A function of elementwise operations, views and in-place writes."""

    def function(x: Any, y: Any) -> Any:
        rng = np.random.default_rng(seed)
        values = [x, y, x + y]
        for _ in range(10):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            match rng.integers(10):
                case 0:
                    values.append(a + b)
                case 1:
                    values.append((a * 0.5).exp().clamp(max=2))
                case 2:
                    values.append(a.t())
                case 3:
                    values.append(a.flip(0))
                case 4:
                    values.append(a.clone())
                case 5:
                    a.mul_(0.5)
                case 6:
                    a.add_(b)
                case 7:
                    a[1:].sub_(b[:-1])
                case 8:
                    a.sub_(b[0]).abs_()
                case 9:
                    a.copy_(b * 0.25 + a)
        return values[2], values[-1].clone(), values[len(values) // 2].clone()

    return function


@pytest.mark.parametrize("seed", range(40))
def test_passes_never_need_more(seed: int) -> None:
    function = drawn(seed)
    given = [np.random.default_rng(9).random((260, 260), dtype=np.float32) for _ in range(2)]
    program = static.compile(function)
    with torch.no_grad():
        for _ in range(2):
            ours, theirs = ([torch.tensor(a) for a in given] for _ in range(2))
            found, wanted = program(*ours), function(*theirs)
            for a, b in zip((*found, *ours), (*wanted, *theirs), strict=True):
                assert a.numpy().tobytes() == b.numpy().tobytes()
        plan = program.memory_plan()
        assert plan.reused <= plan.freed
        assert peak(lambda: program(*ours)) <= plan.reused * 1.05 + 30_000
