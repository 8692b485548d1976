"""The steps that ``networks`` times, and the process in which one library makes them.

    python benchmarks/steps.py torch

A process has one library: what importing the other sets for the whole process, such as minitorch the allocator's
thresholds, must not change the times of this one.
"""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

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

        class CausalAttention(nn.Module):
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

    class Residual(nn.Module):
        def __init__(self, *layers: Any) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.LayerNorm(width), *layers)

        def forward(self, x: Any) -> Any:
            return x + self.inner(x)

    class GPT(nn.Module):
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


# -- processes ---------------------------------------------------------------------------------------------------------
class Contender:
    """A library in a process of its own, which makes steps when it is told to."""

    def __init__(self, library: str) -> None:
        command = [sys.executable, __file__, library]
        self.process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _ask(self, request: Any) -> Any:
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def make(self, name: str) -> list[np.ndarray]:
        """Make a network, by the name of its function, and a step; what both libraries must agree on."""
        found: list[np.ndarray] = self._ask(name)
        return found

    def timed(self, turns: int) -> int:
        """The nanoseconds of the thread's time that so many steps take."""
        taken: int = self._ask(turns)
        return taken

    def end(self) -> None:
        """Let the process end."""
        self.process.communicate()


def _serve(library: Any) -> None:
    """Do what is asked, until nothing more comes."""
    library.set_num_threads(1)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    step: Any = None
    while sys.stdin.buffer.peek(1):
        request = pickle.load(sys.stdin.buffer)
        if isinstance(request, str):
            library.manual_seed(0)
            step, found = globals()[request](library)
            step()
            answer: Any = [t.detach().numpy().copy() for t in found()]
        else:
            turns = range(request)
            start = time.thread_time_ns()
            for _turn in turns:
                step()
            answer = time.thread_time_ns() - start
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _serve(importlib.import_module(sys.argv[1]))
