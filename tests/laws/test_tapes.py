"""Laws of recorded passes: gradients add up in any order, and a block's tape, run again, gives what it gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op
from minitorch.autograd import Tape
from row_calls import NUMBERS, SAMPLES, Call, close, filled, law, recorded


def every(row: _op.Row) -> bool:
    return True


def backward(out: list[Any], numbers: np.ndarray, **options: Any) -> None:
    """Accumulate the gradients of the outputs into the leaves."""
    chosen = [o for o in out if o.requires_grad]
    minitorch.autograd.backward(chosen, [minitorch.from_numpy(filled(numbers, o.shape)) for o in chosen], **options)


def gradients(tensors: list[Any]) -> list[Any]:
    return [minitorch.zeros_like(t) if t.grad is None else t.grad for t in tensors if t.requires_grad]


@law(every, x=NUMBERS, g=NUMBERS, h=NUMBERS)
def test_gradients_add_up_in_any_order(call: Call, x: np.ndarray, g: np.ndarray, h: np.ndarray) -> None:
    call = call.varied(x)
    separate = []
    for numbers in (g, h):
        leaves = call.tensors()
        backward(call.run(leaves), numbers)
        separate.append(gradients(leaves))
    expected = [a + b for a, b in zip(*separate)]

    leaves = call.tensors()
    first, second = call.run(leaves), call.run(leaves)
    backward(second, h)
    backward(first, g)  # adds to the .grad that is there
    close(gradients(leaves), expected, 1e-12)

    leaves = call.tensors()
    first, second = call.run(leaves), call.run(leaves)
    total = sum(
        [
            (o * minitorch.from_numpy(filled(numbers, o.shape))).sum()
            for out, numbers in ((second, h), (first, g))
            for o in out
            if o.requires_grad
        ]
    )
    total.backward()  # added up inside one walk
    close(gradients(leaves), expected, 1e-12)

    leaves = call.tensors()
    out = call.run(leaves)
    backward(out, g, retain_graph=True)
    backward(out, h)  # the same nodes again
    close(gradients(leaves), expected, 1e-12)


def replayed(tape: Tape, leaves: list[Any], values: list[Any]) -> list[list[Any]]:
    """Run a block's entries again on other leaves: what each gives."""
    known = {id(leaf): value for leaf, value in zip(leaves, values)}
    results = []
    for entry in tape:
        call = Call(entry.row, (), tuple(entry.params.values()))
        out = call.run([known.get(id(t), t) for t in entry.inputs])
        known.update({id(old): new for old, new in zip(entry.outputs, out)})
        results.append(out)
    return results


def writes(tape: Tape) -> bool:
    """Whether something is not any more what the entries before had read."""
    return any(entry.in_place or entry.op.endswith("_") for entry in tape)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_tape_run_again_gives_what_it_gave(name: str) -> None:
    for case in SAMPLES[name]:
        tape, leaves = recorded(case)
        if not writes(tape):
            values = [minitorch.from_numpy(np.array(a)).requires_grad_(case.order > 0) for a in case.inputs]
            for entry, again in zip(tape, replayed(tape, leaves, values)):
                close(again, entry.outputs, 0)
