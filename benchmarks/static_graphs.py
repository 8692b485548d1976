"""What running a graph costs: against the same NumPy calls by hand, and against eager steps."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Table, measure
from steps import transformer_block

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


def programs(table: Table, repeats: int) -> None:
    """Times of compiled functions as shares of eager ones' and of NumPy's by hand, and the memory of one."""
    step, compiled, by_hand = _training()
    times = measure({"eager": step, "numpy": by_hand, "minitorch": compiled}, repeats=repeats)
    table.line("MLP 2-16-16-1, SGD step", times, 0.5, "eager")
    table.line("MLP 2-16-16-1, SGD step", times, 1.3, "numpy")
    x = minitorch.randn(1_000_000)
    chain = static.compile(_chain)
    times = measure({"eager": lambda: _chain(x), "minitorch": lambda: chain(x)}, repeats=repeats)
    table.line("10 elementwise operations on 1M float32", times, 0.5, "eager")
    block, _ = transformer_block(minitorch)
    block_program = static.compile(block)
    times = measure({"eager": block, "minitorch": block_program}, repeats=repeats, target_ms=20)
    table.line("transformer block d64 T32 B8, SGD step", times, 0.9, "eager")
    deep = nn.Sequential(*[layer for _ in range(50) for layer in (nn.Linear(256, 256), nn.ReLU())])
    x = minitorch.randn(1024, 256)
    with minitorch.no_grad():
        program = static.compile(deep)
        sizes = {"eager": peak(lambda: minitorch.enable_grad()(deep)(x)), "minitorch": peak(lambda: program(x))}
    table.line("50-layer MLP, peak bytes (with history)", sizes, 0.2, "eager")


def peak(call: Callable[[], Any]) -> float:
    """The most bytes that a call has allocated at a time, after a first one."""
    call()
    tracemalloc.start()
    try:
        out = call()
        found = tracemalloc.get_traced_memory()[1]
        del out
    finally:
        tracemalloc.stop()
    return float(found)


def _chain(x: Any) -> Any:
    return ((((x * 2 + 1) * x - 0.5).abs() + x) * 0.5 - x) * x + 1


def _training() -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    """An MLP's training step: eager, compiled, and with NumPy by hand, on parameters of their own."""
    minitorch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = minitorch.optim.SGD(model.parameters(), lr=1e-6)
    x, y = minitorch.randn(32, 2), minitorch.randn(32, 1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    w1, b1, w2, b2, w3, b3 = own = [p.detach().numpy().copy() for p in model.parameters()]
    rows, wanted = x.numpy(), y.numpy()

    def by_hand() -> Any:
        h1 = np.tanh(rows @ w1.T + b1)
        h2 = np.tanh(h1 @ w2.T + b2)
        difference = h2 @ w3.T + b3 - wanted
        loss = (difference * difference).mean()
        d3 = difference * np.float32(2 / len(rows))
        d2 = d3 @ w3 * (1 - h2 * h2)
        d1 = d2 @ w2 * (1 - h1 * h1)
        for parameter, gradient in zip(
            own, (d1.T @ rows, d1.sum(0), d2.T @ h1, d2.sum(0), d3.T @ h2, d3.sum(0)), strict=True
        ):
            parameter -= 1e-6 * gradient
        return loss

    compiled = static.compile(step)
    np.testing.assert_allclose(compiled(x, y).item(), by_hand(), rtol=1e-5)
    return lambda: step(x, y), lambda: compiled(x, y), by_hand


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
