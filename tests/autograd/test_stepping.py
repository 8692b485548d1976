"""Backward one node at a time: the same as ``loss.backward()``, with everything to look at, edit, skip and leave."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from graphs import random_graph
from minitorch.autograd import Tape


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def leaves_of(loss: Any) -> list[Any]:
    return list({id(p.leaf): p.leaf for e in Tape(loss) for p in e.parents if p.leaf is not None}.values())


@given(st.integers(0, 2**20), st.booleans())
def test_stepping_equals_backward(seed: int, run: bool) -> None:
    torch.manual_seed(0)
    first = random_graph(seed)
    torch.manual_seed(0)
    second = random_graph(seed)
    first.backward()
    tape = Tape(second)
    seen = []
    for step in tape.backward():
        seen.append(step.entry.number)
        if run:
            step.run()
    assert seen == [entry.number for entry in reversed(tape)]
    for a, b in zip(leaves_of(first), leaves_of(second)):
        assert torch.equal(a.grad, b.grad)
    with pytest.raises(RuntimeError, match="second time"):
        for _ in tape.backward():
            pass


def test_what_comes_in_and_goes_out() -> None:
    x, c = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    seen = {s.entry.op: (s.gradient.tolist(), listed(s.run())) for s in Tape((x * c).sum()).backward()}
    assert seen == {"sum": (1.0, [[1.0, 1.0]]), "mul": ([1.0, 1.0], [[3.0, 4.0], None])}


def listed(gradients: tuple[Any, ...]) -> list[Any]:
    return [None if g is None else g.tolist() for g in gradients]


def test_outgoing_gradients_have_the_inputs_shapes() -> None:
    x, y = torch.ones(3, 1, requires_grad=True), torch.ones(2, requires_grad=True)
    steps = list(Tape((x * y).sum()).backward())
    assert steps[1].outgoing is not None
    assert [tuple(g.shape) for g in steps[1].outgoing] == [(3, 1), (2,)]


def test_several_outputs() -> None:
    x = leaf(1.0, 2.0, 3.0)
    a, b, _ = x.unbind()
    steps = list(Tape(a * b).backward())
    assert [s.entry.op for s in steps] == ["mul", "unbind"]
    assert listed(steps[1].gradients) == [2.0, 1.0, None]


def test_editing() -> None:
    x = leaf(1.0, 2.0)
    for step in Tape((x * 3).sum()).backward():
        if step.entry.op == "mul":
            step.gradient = step.gradient * torch.tensor([1.0, 10.0], dtype=torch.float64)
    assert x.grad.tolist() == [3.0, 30.0]
    x.grad = None
    for step in Tape((x * 3).sum()).backward():
        if step.entry.op == "sum":
            step.set_outgoing(step.run()[0] * 0)
    assert x.grad.tolist() == [0.0, 0.0]


def test_edits_are_checked() -> None:
    x = leaf(1.0, 2.0)
    with Tape((x * 3).sum()).backward() as steps:
        step = next(steps)
        with pytest.raises(RuntimeError, match="size"):
            step.gradient = torch.ones(5, dtype=torch.float64)
        with pytest.raises(RuntimeError, match="type"):
            step.gradient = torch.tensor(1.0)
        with pytest.raises(TypeError, match="skip"):
            step.set_gradient(None)
        with pytest.raises(IndexError, match="1 output"):
            step.set_gradient(torch.tensor(1.0, dtype=torch.float64), 1)
        step.run()
        with pytest.raises(RuntimeError, match="has run"):
            step.gradient = torch.tensor(2.0, dtype=torch.float64)
    assert x.grad is None


def test_skipping_sends_no_gradient_on() -> None:
    x, y = leaf(1.0), leaf(2.0)
    for step in Tape((x * 2 + y.exp()).sum()).backward():
        if step.entry.op == "exp":
            step.skip()
            assert step.outgoing == (None,)
    assert (x.grad.item(), y.grad) == (2.0, None)


@pytest.mark.parametrize("keep", ["nothing", "reached"])
def test_leaving_early(keep: str) -> None:
    x, y = leaf(1.0), leaf(2.0)
    y.grad = torch.tensor([5.0], dtype=torch.float64)
    before = y.grad
    tape = Tape(y * (x.exp().log() * 1))
    for step in tape.backward(keep=keep):
        if step.entry.op == "exp":
            break
    del step
    assert x.grad is None
    assert y.grad is before
    assert y.grad.item() == (5.0 if keep == "nothing" else 6.0)
    for _ in tape.backward():  # nothing was freed
        pass
    assert x.grad.item() == pytest.approx(2.0)


def test_until() -> None:
    x = leaf(1.0, 2.0, 3.0)
    h = (x * 2).relu()
    loss = (h[:2] * h[:2]).sum()

    def stops(until: Any) -> list[str]:
        return [s.entry.op for s in Tape(loss).backward(until=until, retain_graph=True)]

    assert stops("relu") == stops("ReluBackward0") == stops(h) == stops(h.grad_fn) == ["relu"]
    assert stops((2,)) == ["mul", "slice", "slice"]
    assert stops(lambda s: s.gradient.sum().item() == 1) == ["sum"]
    with pytest.raises(ValueError, match="not on this tape"):
        stops(leaf(1.0) * 2)


def test_until_nonfinite() -> None:
    x = leaf(0.0, 4.0)
    steps = Tape((x.sqrt() * 2).sum()).backward(until="nonfinite")
    step = next(steps)
    assert step.entry.op == "sqrt"
    assert step.outgoing is not None
    assert step.outgoing[0].tolist() == [np.inf, 0.5]
    steps.finish()
    assert x.grad.tolist() == [np.inf, 0.5]


def test_finish_and_stop() -> None:
    x = leaf(1.0)
    steps = Tape(x.exp() * 2).backward()
    next(steps)
    steps.finish()
    assert x.grad is not None
    assert list(steps) == []
    x.grad = None
    steps = Tape(x.exp() * 2).backward()
    next(steps)
    steps.stop()
    assert list(steps) == []
    assert x.grad is None


def test_create_graph() -> None:
    x = leaf(2.0)
    for _ in Tape(x**3).backward(create_graph=True):
        pass
    assert torch.autograd.grad(x.grad, x)[0].item() == 12.0


def test_hooks_and_retained_gradients_are_as_in_backward() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    for _ in Tape(y * 3).backward():
        pass
    assert (x.grad.item(), y.grad.item()) == (60.0, 30.0)
    z = x * 2
    z.retain_grad()
    for step in Tape(z * 3).backward():
        if step.entry.node is z.grad_fn:
            break
    del step
    assert z.grad is None


def test_an_error_of_a_node_is_raised_where_it_is_run() -> None:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("no backward today")

    x = leaf(1.0)
    with pytest.raises(ValueError, match="today"):
        [step.run() for step in Tape(Bad.apply(x) * 2).backward()]
    with pytest.raises(ValueError, match="today"):
        list(Tape(Bad.apply(x) * 2).backward())
    assert x.grad is None


def test_a_block_needs_a_root() -> None:
    x = leaf(1.0)
    with Tape() as tape:
        y = x.exp()
    with pytest.raises(RuntimeError, match="of=loss"):
        tape.backward()
    assert [step.entry.op for step in tape.backward(of=y)] == ["exp"]


def test_nothing_is_left_behind() -> None:
    threads = threading.active_count()
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        tape = Tape(x.exp() * 2)
        node = weakref.ref(tape[0].node)
        for _ in tape.backward():
            break
        steps = tape.backward()
        next(steps)
        del steps, _, tape
        assert threading.active_count() <= threads
        assert node() is None
    finally:
        gc.enable()
