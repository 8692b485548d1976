"""Ratios that hold on a shared machine: interleaved runs, thread CPU time, one thread, medians."""

from __future__ import annotations

import gc
import importlib
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

Runs = dict[str, Callable[[], Any]]
Timers = dict[str, Callable[[int], int]]


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def load_torch() -> Any:
    """PyTorch on one thread, or None."""
    torch = optional("torch")
    if torch is not None:
        torch.set_num_threads(1)
    return torch


def measure(runs: Runs, *, repeats: int, target_ms: float = 2.0) -> dict[str, float]:
    """Median nanoseconds a call of each contender, run A B A B … in this process."""
    gc.collect()
    return alternated({name: partial(_timed, run) for name, run in runs.items()}, repeats=repeats, target_ms=target_ms)


def _timed(run: Callable[[], Any], turns: int) -> int:
    """The nanoseconds of this thread's time that so many calls take."""
    calls = range(turns)
    start = time.thread_time_ns()
    for _call in calls:
        run()
    return time.thread_time_ns() - start


def alternated(timers: Timers, *, repeats: int, target_ms: float) -> dict[str, float]:
    """Median nanoseconds a call, of functions that give the time of so many calls, asked A B A B …"""
    numbers = {}
    for name, timed in timers.items():
        timed(3)
        numbers[name] = int(min(max(target_ms * 1e6 / max(timed(1), 100), 1), 20_000))
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(repeats):
        for name, timed in timers.items():
            times[name].append(timed(numbers[name]) / numbers[name])
    return {name: statistics.median(values) for name, values in times.items()}


class Table:
    """Prints one line a workload: the time of the base, and each contender's ratio to it."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def heading(self, title: str) -> None:
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def line(self, name: str, times: dict[str, float], limit: float | None = None, base: str = "torch") -> None:
        """One workload; *limit* is what minitorch's ratio to the base should stay under."""
        comparable = base in times  # PyTorch may not be installed
        base = base if comparable else next(iter(times))
        unit, scale = ("ms", 1e6) if times[base] > 1e6 else ("us", 1e3)
        cells = [f"{base} {times[base] / scale:9.2f} {unit}"]
        cells += [f"{other} x{value / times[base]:.2f}" for other, value in times.items() if other != base]
        verdict = ""
        if limit is not None and comparable:
            ratio = times["minitorch"] / times[base]
            verdict = f"  (limit {limit:.2f}: {'holds' if ratio <= limit else 'MISSED'})"
            if ratio > limit:
                self.failed.append(f"{name}: {ratio:.2f} > {limit:.2f}")
        print(f"{name:44s} {'   '.join(cells)}{verdict}", flush=True)
