"""What it costs to look: marks, recorded blocks, and reading and printing a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Table, measure

import minitorch as torch
from minitorch.autograd import Tape, record_sites


def looking(table: Table, repeats: int) -> None:
    """A tiny recorded operation with marks, or in a block; a tape of 10,000 nodes against its own backward."""
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def off() -> None:
        for _ in range(500):
            a + b

    def sites() -> None:
        with record_sites():
            off()

    def block() -> None:
        with Tape():
            off()

    times = measure({"off": off, "sites": sites, "block": block}, repeats=repeats)
    table.line("a + b, 2 elements, with sites", _two(times, "off", "sites"), 1.5, "off")
    table.line("a + b, 2 elements, in a Tape block", _two(times, "off", "block"), 2.5, "off")

    loss = _chain(10_000)
    runs: dict[str, Callable[[], Any]] = {
        "backward": lambda: loss.backward(retain_graph=True),
        "Tape": lambda: [entry.number for entry in Tape(loss)],
        "print": lambda: str(Tape(loss)),
    }
    times = measure(runs, repeats=max(repeats // 4, 3))
    table.line("Tape(loss), 10,000 nodes", _two(times, "backward", "Tape"), 2.0, "backward")
    table.line("str(Tape(loss)), 10,000 nodes", _two(times, "backward", "print"), 5.0, "backward")


def _two(times: dict[str, float], base: str, other: str) -> dict[str, float]:
    return {base: times[base], "minitorch": times[other]}


def _chain(length: int) -> Any:
    """Nodes of several kinds, with shared parts."""
    x = torch.ones(4, requires_grad=True)
    y = x
    for _ in range(length // 4):
        z = y * x
        y = (z + y).tanh() - z
    return y.sum()
