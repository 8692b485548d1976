"""Training steps of whole networks: forward, backward and, where named, the optimizer's step."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
from harness import Table, alternated
from steps import Contender
from workloads import agree

LIBRARIES = [name for name in ("torch", "minitorch") if importlib.util.find_spec(name) is not None]

NETWORKS: dict[str, tuple[str, float]] = {
    "transformer block d64 T32 B8, SGD step": ("transformer_block", 0.75),
    "LSTMCell x 32, SGD step": ("lstm_cells", 0.60),
    "nn.LSTM over 32 steps": ("lstm_layer", 1.2),
    "convnet 28x28, batch 64": ("convnet", 1.0),
    "Adam over 200 small parameters": ("adam_of_many", 0.1),
    "DataLoader, shuffled, an epoch": ("loading", 1.0),
    "char-GPT step, 4 layers d128 T64 B16": ("char_gpt", 1.0),
    "conv 3x3 64->64, 32x32, batch 16, both ways": ("convolution", 1.8),
}
"""name -> which function of ``steps`` makes the step, and the limit of its ratio."""


def networks(table: Table, repeats: int) -> None:
    """Both libraries make the network and its data themselves, from the same seed, each in a new process of its own."""
    print("Each library in a process of its own, as its users have it, new for each line; the two take turns.")
    for name, (made_by, limit) in NETWORKS.items():
        contenders = {library: Contender(library) for library in LIBRARIES}
        agree(name, {library: contender.make(made_by) for library, contender in contenders.items()}, 1e-3)
        timers = {library: contender.timed for library, contender in contenders.items()}
        table.line(name, alternated(timers, repeats=repeats, target_ms=20), limit)
        for contender in contenders.values():
            contender.end()


MEMORY = """
import {library} as torch
from {library} import nn
torch.set_num_threads(1)
peak = lambda field="VmHWM": next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
torch.manual_seed(0)
layers = [layer for _ in range(50) for layer in (nn.Linear(256, 256), nn.ReLU(inplace=True))]
model, x = nn.Sequential(*layers), torch.randn(4096, 256)
small = torch.randn(8, 256)  # loads what the first step loads
model(small).sum().backward()
model.zero_grad()
before = peak("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
model(x).sum().backward()
print(peak() - before)
"""


def memory(table: Table, repeats: int) -> None:
    """What a training step of a deep network adds to the process at its peak; sizes, not times."""
    found = {}
    for library in LIBRARIES:
        command = [sys.executable, "-c", MEMORY.format(library=library)]
        sizes = [
            int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(repeats)
        ]
        found[library] = float(np.median(sizes))
    ratio = found["minitorch"] / found.get("torch", found["minitorch"])
    sizes_in_mib = "   ".join(f"{library} {size / 1024:.0f} MiB" for library, size in found.items())
    verdict = "holds" if ratio <= 1.05 else "MISSED"
    print(f"{'50-layer MLP, in-place ReLU, peak memory':44s} {sizes_in_mib}   x{ratio:.2f}  (limit 1.05: {verdict})")
    if ratio > 1.05:
        table.failed.append(f"peak memory: {ratio:.2f} > 1.05")
