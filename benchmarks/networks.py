"""Training steps of whole networks: forward, backward and, where named, the optimizer's step."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Table, load_torch, measure
from workloads import agree

import minitorch

torch = load_torch()
LIBRARIES = {"torch": torch, "minitorch": minitorch} if torch is not None else {"minitorch": minitorch}

Made = tuple[Callable[[], Any], Callable[[], list[Any]]]
"""The step that is timed, and what both libraries must agree on once it ran."""


def _step(model: Any, *inputs: Any, loss_of: Callable[[Any], Any]) -> Made:
    """Forward and backward of a model on inputs."""
    parameters = list(model.parameters())

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        loss_of(model(*inputs)).backward()

    return step, lambda: [p.grad for p in parameters]


def _squares(output: Any) -> Any:
    output = output[0] if isinstance(output, tuple) else output
    return output.pow(2).mean()


def _with_sgd(library: Any, parameters: list[Any], loss: Callable[[], Any]) -> Made:
    """A training step, SGD's own included."""
    optimizer = library.optim.SGD(parameters, lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step, lambda: [p.grad for p in parameters]


def transformer_block(library: Any) -> Made:
    nn, width = library.nn, 64
    attention = nn.Sequential(nn.LayerNorm(width), Attention(library, width, 4, causal=False))
    feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    inputs = library.randn(8, 32, width)

    def loss() -> Any:
        x = inputs + attention(inputs)
        return (x + feed(x)).pow(2).mean()

    return _with_sgd(library, [*attention.parameters(), *feed.parameters()], loss)


def lstm_cells(library: Any) -> Made:
    cell = library.nn.LSTMCell(64, 64)
    inputs = library.randn(32, 16, 64)

    def loss() -> Any:
        state = (library.zeros(16, 64), library.zeros(16, 64))
        for x in inputs:
            state = cell(x, state)
        return state[0].pow(2).mean()

    return _with_sgd(library, list(cell.parameters()), loss)


def lstm_layer(library: Any) -> Made:
    return _step(library.nn.LSTM(64, 64), library.randn(32, 16, 64), loss_of=_squares)


def convnet(library: Any) -> Made:
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 49, 10),
    )  # fmt: skip
    images, labels = library.randn(64, 1, 28, 28), library.randint(10, (64,))
    return _step(model, images, loss_of=lambda scores: nn.functional.cross_entropy(scores, labels))


def convolution(library: Any) -> Made:
    model = library.nn.Conv2d(64, 64, 3, padding=1)
    images = library.randn(16, 64, 32, 32, requires_grad=True)
    upstream = library.randn(16, 64, 32, 32)
    parameters = [images, *model.parameters()]

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        model(images).backward(upstream)

    return step, lambda: [p.grad for p in parameters]


def adam_of_many(library: Any) -> Made:
    parameters = [library.nn.Parameter(library.randn(16)) for _ in range(200)]
    for parameter in parameters:
        parameter.grad = library.randn(16)
    return library.optim.Adam(parameters, lr=1e-7).step, lambda: parameters


def loading(library: Any) -> Made:
    data = library.utils.data
    dataset = data.TensorDataset(library.randn(1000, 16), library.arange(1000))
    loader = data.DataLoader(dataset, batch_size=32, shuffle=True)
    batches: list[Any] = []

    def epoch() -> None:
        batches[:] = [x for x, _ in loader]

    return epoch, lambda: batches


class Attention:
    """Made anew for each library: classes of modules need their library's ``Module``."""

    def __new__(cls, library: Any, width: int, heads: int, causal: bool = True) -> Any:
        nn = library.nn

        class CausalAttention(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

            def forward(self, x: Any) -> Any:
                batch, length, _ = x.shape
                query, key, value = (
                    part.view(batch, length, heads, width // heads).transpose(1, 2)
                    for part in self.project(x).split(width, dim=2)
                )
                mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
                return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

        return CausalAttention()


def char_gpt(library: Any, layers: int = 4, width: int = 128, length: int = 64, batch: int = 16) -> Made:
    """A whole training step, the optimizer's too."""
    nn = library.nn

    class Residual(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, *layers: Any) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.LayerNorm(width), *layers)

        def forward(self, x: Any) -> Any:
            return x + self.inner(x)

    class GPT(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.places = nn.Embedding(65, width), nn.Embedding(length, width)
            blocks: list[Any] = []
            for _ in range(layers):
                blocks.append(Residual(Attention(library, width, 4)))
                blocks.append(Residual(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)))
            self.blocks = nn.Sequential(*blocks)
            self.norm, self.score = nn.LayerNorm(width), nn.Linear(width, 65, bias=False)

        def forward(self, characters: Any) -> Any:
            x = self.embed(characters) + self.places(library.arange(characters.shape[1]))
            return self.score(self.norm(self.blocks(x)))

    model = GPT()
    characters = library.randint(65, (batch, length + 1))
    targets = characters[:, 1:].flatten()
    forward_backward, found = _step(
        model, characters[:, :-1], loss_of=lambda s: nn.functional.cross_entropy(s.flatten(0, 1), targets)
    )
    optimizer = library.optim.AdamW(model.parameters(), lr=1e-7)

    def step() -> None:
        forward_backward()
        optimizer.step()

    return step, found


NETWORKS: dict[str, tuple[Callable[[Any], Made], float]] = {
    "transformer block d64 T32 B8, SGD step": (transformer_block, 0.75),
    "LSTMCell x 32, SGD step": (lstm_cells, 0.60),
    "nn.LSTM over 32 steps": (lstm_layer, 1.2),
    "convnet 28x28, batch 64": (convnet, 1.0),
    "Adam over 200 small parameters": (adam_of_many, 0.1),
    "DataLoader, shuffled, an epoch": (loading, 1.0),
    "char-GPT step, 4 layers d128 T64 B16": (char_gpt, 1.0),
    "conv 3x3 64->64, 32x32, batch 16, both ways": (convolution, 1.8),
}
"""name -> what makes the step, and the limit of its ratio."""


def networks(table: Table, repeats: int) -> None:
    """Both libraries make the network and its data themselves, from the same seed."""
    for name, (make, limit) in NETWORKS.items():
        runs, found = {}, {}
        for peer, library in LIBRARIES.items():
            library.manual_seed(0)
            runs[peer], results = make(library)
            runs[peer]()
            found[peer] = [t.detach().numpy().copy() for t in results()]
        agree(name, found, 1e-3)
        table.line(name, measure(runs, repeats=repeats, target_ms=20), limit)


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
