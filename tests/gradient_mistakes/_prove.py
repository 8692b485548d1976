"""Proofs that a mistake is one, by the engine that the records were written for (minitorch or PyTorch)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = list[np.ndarray]


def outputs_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _copies(inputs: list[Any]) -> list[Any]:
    """The same inputs, layouts and all, as new leaves."""
    copies = []
    for x in inputs:
        again = x.detach().clone()
        copies.append(again.requires_grad_(x.requires_grad))
    return copies


def _cotangents(torch: Any, outputs: tuple[Any, ...]) -> list[Any]:
    generator = np.random.default_rng(3)
    return [torch.from_numpy(np.asarray(generator.uniform(0.5, 1.5, tuple(y.shape)))) for y in outputs]


def _filled(gradients: Any, inputs: list[Any]) -> Arrays:
    """As arrays, with zeros for None."""
    return [np.zeros(tuple(x.shape)) if g is None else g.detach().numpy().copy() for g, x in zip(gradients, inputs)]


def nodes(tensors: tuple[Any, ...]) -> list[str]:
    """The names of the nodes that tensors reach."""
    found, pending = {}, [t.grad_fn for t in tensors if t.grad_fn is not None]
    while pending:
        node = pending.pop()
        if id(node) not in found:
            found[id(node)] = node
            pending.extend(n for n, _ in node.next_functions if n is not None)
    return [node.name() for node in found.values()]


def gradients(
    torch: Any, fn: Callable[..., Any], inputs: list[Any], create_graph: bool = False
) -> tuple[Arrays, Arrays]:
    """The values of a function, and the gradients of its inputs for one random g."""
    inputs = _copies(inputs)
    needed = [x for x in inputs if x.requires_grad]
    outputs = outputs_of(fn(*inputs))
    values = [y.detach().numpy().copy() for y in outputs]
    g = _cotangents(torch, outputs)
    if not any(y.requires_grad for y in outputs):
        return values, _filled([None] * len(needed), needed)
    found = torch.autograd.grad(outputs, needed, g, allow_unused=True, create_graph=create_graph)
    return values, _filled(found, needed)


def second_gradients(torch: Any, fn: Callable[..., Any], inputs: list[Any]) -> Arrays:
    """The gradients of a weighted sum of a function's gradients, by its inputs and by g."""
    inputs = _copies(inputs)
    outputs = outputs_of(fn(*inputs))
    g = [v.requires_grad_() for v in _cotangents(torch, outputs)]
    inputs = [x for x in inputs if x.requires_grad]
    first = torch.autograd.grad(outputs, inputs, g, create_graph=True, allow_unused=True)
    first = [f for f in first if f is not None and f.requires_grad]
    weights = [torch.from_numpy(np.sin(np.arange(f.numel()) + 1.0).reshape(tuple(f.shape))) for f in first]
    second = torch.autograd.grad(first, [*inputs, *g], weights, allow_unused=True)
    return _filled(second, [*inputs, *g])


def distance(a: Arrays, b: Arrays) -> float:
    """The largest relative difference of two lists of arrays; infinite where only the first has NaN."""
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape
        assert np.isfinite(y).all()
        if not np.isfinite(x).all():
            return float("inf")
        if x.size:
            worst = max(worst, float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)))
    return worst


WRONG, SAME = 1e-5, 1e-9
"""Relative differences of gradients that are wrong, and that are alike."""


def differs(torch: Any, mistake: Any, inputs: list[Any], roughly: float = SAME, create_graph: bool = False) -> bool:
    """Right values, wrong gradients."""
    fn = mistake.make()[0]
    values, found = gradients(torch, fn, inputs, create_graph)
    right_values, right = gradients(torch, mistake.truth, inputs)
    assert distance(values, right_values) < roughly, "the values differ already"
    return distance(found, right) > WRONG


def differs_at_second_order(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """Right values and gradients, wrong second derivatives."""
    fn = mistake.make()[0]
    assert distance(gradients(torch, fn, inputs)[1], gradients(torch, mistake.truth, inputs)[1]) < SAME
    return distance(second_gradients(torch, fn, inputs), second_gradients(torch, mistake.truth, inputs)) > WRONG


def differs_under_create_graph(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """Right gradients, except under ``create_graph``."""
    assert not differs(torch, mistake, inputs)
    return differs(torch, mistake, inputs, create_graph=True)


def differs_in_both(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """Another function than its reference: other values, other gradients, but its own gradients."""
    values, found = gradients(torch, mistake.make()[0], inputs)
    right_values, right = gradients(torch, mistake.truth, inputs)
    return distance(values, right_values) > WRONG and distance(found, right) > WRONG


def input_changes(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """An input is another one after forward and backward."""
    fn = mistake.make()[0]
    before = [x.detach().numpy().copy() for x in inputs]
    outputs = outputs_of(fn(*inputs))
    torch.autograd.grad(outputs, inputs, _cotangents(torch, outputs))
    return any((x.detach().numpy() != b).any() for x, b in zip(inputs, before))


def g_changes(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """The g that was given is another one after backward."""
    outputs = outputs_of(mistake.make()[0](*inputs))
    g = _cotangents(torch, outputs)
    before = [v.numpy().copy() for v in g]
    torch.autograd.grad(outputs, inputs, g)
    return any((v.numpy() != b).any() for v, b in zip(g, before))


def second_backward_differs(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """Two backward passes of one forward pass differ, and those of the truth do not."""

    def twice(fn: Callable[..., Any]) -> float:
        outputs = outputs_of(fn(*inputs))
        g = _cotangents(torch, outputs)
        torch.manual_seed(3)
        first, second = (_filled(torch.autograd.grad(outputs, inputs, g, retain_graph=True), inputs) for _ in range(2))
        return distance(first, second)

    return twice(mistake.truth) == 0 and twice(mistake.make()[0]) > WRONG


def leaves_a_cycle(torch: Any, mistake: Any, inputs: list[Any]) -> bool:
    """What a call made outlives its result."""

    def lives_on(fn: Callable[..., Any]) -> bool:
        result = fn(*inputs)
        watch = weakref.ref(result)
        del result
        return watch() is not None

    gc.disable()
    try:
        return not lives_on(mistake.truth) and lives_on(mistake.make()[0])
    finally:
        gc.enable()
        gc.collect()


PROOFS: dict[str, Callable[[Any, Any, list[Any]], bool]] = {
    "gradient": differs,
    "gradient, values roughly": lambda torch, mistake, inputs: differs(torch, mistake, inputs, roughly=1e-2),
    "second order": differs_at_second_order,
    "create_graph": differs_under_create_graph,
    "reference": differs_in_both,
    "input mutated": input_changes,
    "gradient mutated": g_changes,
    "nondeterministic": second_backward_differs,
    "cycle": leaves_a_cycle,
}


def proven(torch: Any, mistake: Any) -> bool:
    """Whether a mistake is one."""
    inputs = mistake.make()[1]
    if mistake.at is not None:
        inputs = mistake.at(inputs)
    return PROOFS[mistake.proof](torch, mistake, inputs)
