"""What running a graph costs: against the same NumPy calls by hand, and against eager steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Table, measure

import minitorch
from minitorch import nn, static


def graphs(table: Table, repeats: int) -> None:
    """Times of an executor as shares of NumPy's and of eager code's."""
    small, by_hand = _elementwise()
    times = measure({"numpy": by_hand, "minitorch": small}, repeats=repeats)
    allowed = (1.2 * times["numpy"] + 20 * 300) / times["numpy"]
    table.line("20 nodes on 4 float32", times, allowed, "numpy")
    run, eager, make = _mlp()
    table.line("MLP 2-16-16-1, gradients", measure({"eager": eager, "minitorch": run}, repeats=repeats), 1.0, "eager")
    table.line("making that executor", measure({"eager": eager, "minitorch": make}, repeats=repeats), None, "eager")


def _elementwise() -> tuple[Callable[[], Any], Callable[[], Any]]:
    x, w = static.placeholder("x"), static.placeholder("w")
    y: Any = x
    for _ in range(5):
        y = (y * w + x).tanh() - w
    feed = {x: np.full(4, 0.5, np.float32), w: np.full(4, 0.25, np.float32)}
    a, b = feed.values()
    executor = static.Executor(y)

    def by_hand() -> Any:
        out = a
        for _ in range(5):
            out = np.subtract(np.tanh(np.add(np.multiply(out, b), a)), b)
        return out

    return lambda: executor.run(feed), by_hand


def _mlp() -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    minitorch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    parameters = list(model.parameters())
    rows, wanted = minitorch.randn(32, 2), minitorch.randn(32, 1)

    def eager() -> Any:
        return minitorch.autograd.grad(nn.functional.mse_loss(model(rows), wanted), parameters)

    def make() -> Any:
        x = static.placeholder("x", (None, 2), minitorch.float32)
        t = static.placeholder("t", (None, 1), minitorch.float32)
        own: list[Any] = [static.parameter(p) for p in parameters]
        h = x
        for number in (0, 2, 4):
            h = static.rows.linear(h, own[number], own[number + 1])
            h = h if number == 4 else h.tanh()
        loss = static.rows.mse_loss(h, t, reduction=1)
        return static.Executor([loss, *static.gradients(loss, own)])

    executor, feed = make(), {"x": rows, "t": wanted}
    return lambda: executor.run(feed), eager, make
