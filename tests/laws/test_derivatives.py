"""Laws of derivatives, for every differentiable row: linear in the gradient, adjoint, the same however they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import _op, _runtime
from row_calls import CHOICES, NUMBERS, SAMPLES, Call, array_of, close, dot, filled, law, vjp


def every(row: _op.Row) -> bool:
    return True


def twice(row: _op.Row) -> bool:
    """Whether the row's gradients can be differentiated again."""
    return max(case.order for case in SAMPLES[row.name]) > 1


def linear(row: _op.Row) -> bool:
    return row.tangent == "linear"


def several(row: _op.Row) -> bool:
    return len(row.formulas) > 1 or row.variadic


def broadcasting(row: _op.Row) -> bool:
    return row.elementwise and row.broadcasts


@law(every, x=NUMBERS, g=NUMBERS, h=NUMBERS, scale=st.integers(-3, 3))
def test_a_vjp_is_linear_in_the_gradient(call: Call, x: np.ndarray, g: np.ndarray, h: np.ndarray, scale: int) -> None:
    inputs = call.varied(x).tensors()
    out = call.run(inputs)
    starts = [filled(g, o.shape) for o in out]
    others = [filled(h, o.shape) for o in out]
    first, second = vjp_again(out, inputs, starts), vjp_again(out, inputs, others)
    both = vjp_again(out, inputs, [scale * a + b for a, b in zip(starts, others)])
    close(both, [scale * a + b for a, b in zip(first, second)])


def vjp_again(out: list[Any], inputs: list[Any], gradients: list[np.ndarray]) -> list[Any]:
    """The gradients, from nodes that will be asked again: on ndarrays, recording nothing."""
    wanted = [t for t in inputs if t.requires_grad]
    chosen = [(o, minitorch.from_numpy(np.asarray(g))) for o, g in zip(out, gradients) if o.requires_grad]
    roots, starts = zip(*chosen)
    found = minitorch.autograd.grad(roots, wanted, starts, retain_graph=True, allow_unused=True)
    return [minitorch.zeros_like(t) if g is None else g for t, g in zip(wanted, found)]


@law(every, x=NUMBERS, g=NUMBERS)
def test_arrays_and_tensors_carry_the_same_gradients(call: Call, x: np.ndarray, g: np.ndarray) -> None:
    inputs = call.varied(x).tensors()
    out = call.run(inputs)
    starts = [filled(g, o.shape) for o in out]
    close(vjp(out, inputs, starts, create_graph=True), vjp_again(out, inputs, starts), 1e-12)


@law(twice, x=NUMBERS, g=NUMBERS, v=NUMBERS)
def test_transposing_twice_gives_the_jacobian(call: Call, x: np.ndarray, g: np.ndarray, v: np.ndarray) -> None:
    """``<g, J v> = <J^T g, v>``, where J v is the derivative of ``<J^T g, v>`` by g: of a linear row, the row itself."""
    call = call.varied(x)
    inputs = call.tensors()
    out = [o for o in call.run(inputs) if o.requires_grad]
    starts = [minitorch.from_numpy(filled(g, o.shape)).requires_grad_() for o in out]
    pulled = vjp(out, inputs, starts, create_graph=True)
    directions = [filled(v, p.shape) for p in pulled]
    if not any(p.requires_grad for p in pulled):
        return  # the derivative of a step
    pushed = vjp(pulled, starts, directions)
    assert np.isclose(dot(starts, pushed), dot(pulled, directions), 1e-9, 1e-9)
    if linear(call.row):
        values = list(call.inputs)
        for place, direction in zip(call.differentiable, directions):
            values[place] = direction
        plain = [o for o in call.with_inputs(values).run_plainly() if o.is_floating_point()]
        close(pushed, plain)


@law(linear, x=NUMBERS, y=NUMBERS, scale=st.integers(-3, 3))
def test_linear_rows_are_linear(call: Call, x: np.ndarray, y: np.ndarray, scale: int) -> None:
    first, second = call.inputs_from(x), call.inputs_from(y)
    both = [scale * a + b if i in call.differentiable else a for i, (a, b) in enumerate(zip(first, second))]
    found = call.with_inputs(both).run_plainly()
    expected = [
        scale * a + b for a, b in zip(call.with_inputs(first).run_plainly(), call.with_inputs(second).run_plainly())
    ]
    close(found, expected)


@given(data=st.data(), x=NUMBERS, y=NUMBERS)
def test_sum_to_is_adjoint_to_expand(data: st.DataObject, x: np.ndarray, y: np.ndarray) -> None:
    small = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    kept = [n if n != 1 else data.draw(st.integers(0, 3)) for n in small]
    large = (*data.draw(st.lists(st.integers(0, 3), max_size=2)), *kept)
    a, b = filled(x, small), filled(y, large)
    expanded = _op.rows["expand"].call(minitorch.from_numpy(a), large)
    summed = _op.rows["sum_to"].call(minitorch.from_numpy(b), small)
    assert tuple(summed.shape) == small
    assert np.isclose(dot([expanded], [b]), dot([a], [summed]))


@law(several, x=NUMBERS, g=NUMBERS, choices=CHOICES)
def test_a_gradient_does_not_depend_on_which_others_are_asked_for(
    call: Call, x: np.ndarray, g: np.ndarray, choices: int
) -> None:
    call = call.varied(x)
    everywhere = call.differentiable
    some = [i for i in everywhere if choices >> i & 1] or everywhere[-1:]
    inputs, fewer = call.tensors(), call.tensors(some)
    out, again = call.run(inputs), call.run(fewer)
    close(again, out, 0)
    expected = dict(zip(everywhere, vjp(out, inputs, [filled(g, o.shape) for o in out])))
    close(vjp(again, fewer, [filled(g, o.shape) for o in again]), [expected[i] for i in some], 1e-12)


@law(broadcasting, x=NUMBERS, g=NUMBERS, choices=CHOICES)
def test_the_gradient_of_a_broadcast_input_is_the_sum_of_the_expanded_ones(
    call: Call, x: np.ndarray, g: np.ndarray, choices: int
) -> None:
    if call.has_places:
        return
    call = call.varied(x)
    shape = (2, 3, 2)
    inputs = []
    for number, array in enumerate(call.inputs):
        bits = choices >> 5 * number
        lead = bits % 4 if number else 0
        narrow = [n if bits >> 2 + d & 1 else 1 for d, n in enumerate(shape[lead:])]
        if call.row.inputs[number] == "grad":
            narrow = list(shape)  # of the result's shape
        inputs.append(np.resize(array, narrow))
    narrow_call = call.with_inputs(inputs)
    shape = np.broadcast_shapes(*[a.shape for a in inputs])
    wide_call = call.with_inputs([np.broadcast_to(a, shape) for a in inputs])
    ours, theirs = narrow_call.tensors(), wide_call.tensors()
    out, expected = narrow_call.run(ours), wide_call.run(theirs)
    close([np.broadcast_to(array_of(o), shape) for o in out], expected, 1e-12)
    full = vjp(expected, theirs, [filled(g, shape)])
    narrow_gradient = _runtime.raw.sum_to(filled(g, shape), shape=tuple(out[0].shape))
    sums = [_runtime.raw.sum_to(array_of(f), shape=tuple(t.shape)) for f, t in zip(full, active(ours))]
    close(vjp(out, ours, [narrow_gradient]), sums)


def active(tensors: list[Any]) -> list[Any]:
    return [t for t in tensors if t.requires_grad]
