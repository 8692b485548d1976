"""What needs a process of its own: a chain of a million operations, and importing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from harness import Table, load_torch

LONG_CHAIN = """
import gc, json, time
import numpy
import {library} as torch
torch.set_num_threads(1) if hasattr(torch, "set_num_threads") else None
gc.disable()
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
times = []
start = time.thread_time()
x, scale, shift = torch.ones(1, requires_grad=True), torch.ones(1), torch.zeros(1)
y = x
{loop}
times.append(time.thread_time() - start); start = time.thread_time()
y.backward()
times.append(time.thread_time() - start); start = time.thread_time()
assert x.grad.item() == 1, x.grad
del y
times.append(time.thread_time() - start)
left = sum(type(o).__name__ in ("AddBackward0", "MulBackward0", "NegBackward0") for o in gc.get_objects())
assert left == 0, f"{{left}} nodes left with the collector off"
print(json.dumps([*times, peak() - before]))
"""

CHAINS = {
    "negations": "for _ in range({length}): y = -y",
    "scaled and shifted by constants": "for _ in range({length} // 2): y = y * scale + shift",
}
"""What the chains are made of, for an even number of operations."""

IMPORT = "import time; start = time.process_time(); import {library}; print(time.process_time() - start)"


def run(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout


def long_chain(table: Table, repeats: int, length: int = 1_000_000) -> None:
    """Chains of a million operations: built, walked, freed, by reference counts alone."""
    libraries = ["minitorch", "torch"] if load_torch() is not None else ["minitorch"]
    for title, loop in CHAINS.items():
        results: dict[str, list[list[float]]] = {library: [] for library in libraries}
        for _ in range(repeats):
            for library in libraries:
                code = LONG_CHAIN.format(library=library, loop=loop.format(length=length))
                results[library].append(json.loads(run(code)))
        middle = {library: [statistics.median(column) for column in zip(*runs)] for library, runs in results.items()}
        for index, name in enumerate(("build", "backward", "free")):
            table.line(f"{title}: {name}", {lib: values[index] * 1e9 for lib, values in middle.items()})
        table.line("   all three", {lib: sum(values[:3]) * 1e9 for lib, values in middle.items()}, 0.30)
        memory = "   ".join(f"{lib} {values[3] * 1024 / length:.0f} bytes" for lib, values in middle.items())
        print(f"{'   peak memory, an operation':44s} {memory}")


def importing(table: Table, repeats: int) -> None:
    """Importing, against importing NumPy alone."""
    times: dict[str, list[float]] = {"numpy": [], "minitorch": []}
    run(IMPORT.format(library="minitorch"))  # compiles what is not compiled yet
    for _ in range(repeats):
        for library, values in times.items():
            values.append(float(run(IMPORT.format(library=library))))
    middle = {library: statistics.median(values) * 1e9 for library, values in times.items()}
    ratio = middle["minitorch"] / middle["numpy"]
    if ratio > 1.6:
        table.failed.append(f"import: {ratio:.2f} > 1.60")
    table.line(f"import  (limit 1.60: {'holds' if ratio <= 1.6 else 'MISSED'})", middle, base="numpy")
