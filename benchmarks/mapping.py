"""What vmap gains: a network of two layers on 64 examples, and its gradients for each of them, against the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Table, load_torch, measure

import minitorch
from minitorch import nn
from minitorch.func import functional_call, grad

EXAMPLES, INPUTS, HIDDEN, CLASSES = 64, 16, 32, 10


def mapping(table: Table, repeats: int) -> None:
    """Times of vmap as shares of those of the loop; of PyTorch's vmap, of its own."""
    library = load_torch()
    forward, gradients = _forward(minitorch, nn), _gradients(minitorch, nn, functional_call, grad)
    for name, (mapped, looped) in (("forward", forward), ("gradients", gradients)):
        runs = {"loop": looped, "minitorch": mapped}
        if library is not None:
            made = _forward if name == "forward" else _gradients
            more = () if name == "forward" else (library.func.functional_call, library.func.grad)
            runs["torch.vmap"] = made(library, library.nn, *more)[0]
        title = f"MLP {INPUTS}-{HIDDEN}-{CLASSES}, {EXAMPLES} examples, {name}"
        table.line(title, measure(runs, repeats=repeats), 0.2, "loop")


def _model(library: Any, layers: Any) -> tuple[Any, Any, Any]:
    library.manual_seed(0)
    model = layers.Sequential(layers.Linear(INPUTS, HIDDEN), layers.ReLU(), layers.Linear(HIDDEN, CLASSES))
    return model, library.randn(EXAMPLES, INPUTS), library.randint(0, CLASSES, (EXAMPLES,))


def _forward(library: Any, layers: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    model, x, _ = _model(library, layers)
    mapped = library.vmap(model)
    return lambda: mapped(x), lambda: library.stack([model(row) for row in x])


def _gradients(library: Any, layers: Any, call: Any, grad: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    model, x, y = _model(library, layers)
    own = dict(model.named_parameters())
    parameters = {name: parameter.detach() for name, parameter in own.items()}

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return layers.functional.cross_entropy(call(model, parameters, (x,)), y)

    mapped = library.vmap(grad(loss), in_dims=(None, 0, 0))

    def looped() -> Any:
        found = []
        for row, target in zip(x, y):
            value = layers.functional.cross_entropy(model(row), target)
            found.append(library.autograd.grad(value, list(own.values())))
        return [library.stack(column) for column in zip(*found)]

    return lambda: mapped(parameters, x, y), looped
