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
