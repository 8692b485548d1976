"""Laws of values and memory: elementwise rows do not see places, layouts do not count, views alias, in place is the same."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op
from minitorch._inplace import in_place
from minitorch._runtime import wrap
from minitorch._views import writable
from row_calls import CHOICES, NUMBERS, Call, array_of, close, filled, law, vjp


def every(row: _op.Row) -> bool:
    return True


def elementwise(row: _op.Row) -> bool:
    return row.elementwise


def viewing(row: _op.Row) -> bool:
    return row.view is True and not row.name.endswith("_")


def replacing(row: _op.Row) -> bool:
    return not (row.view or row.outputs or row.variadic)


@law(elementwise, x=NUMBERS, g=NUMBERS, order=CHOICES)
def test_elementwise_rows_commute_with_permutations(call: Call, x: np.ndarray, g: np.ndarray, order: int) -> None:
    if call.has_places:
        return
    call = call.varied(x)
    shape = np.broadcast_shapes(*[a.shape for a in call.inputs])
    places = np.random.default_rng(order).permutation(int(np.prod(shape)))
    full = call.with_inputs([np.broadcast_to(a, shape) for a in call.inputs])
    moved = full.with_inputs([a.ravel()[places] for a in full.inputs])
    ours, theirs = moved.tensors(), full.tensors()
    out, expected = moved.run(ours), full.run(theirs)
    close(out, [array_of(e).ravel()[places] for e in expected], 1e-12)
    gradient = filled(g, shape)
    found = vjp(out, ours, [gradient.ravel()[places]])
    close(found, [array_of(e).ravel()[places] for e in vjp(expected, theirs, [gradient])], 1e-12)


def laid_out(array: np.ndarray, choice: int) -> np.ndarray:
    """The same values otherwise in memory: columns first, with gaps, backwards, after an offset."""
    if choice % 4 == 0:
        return np.array(array, order="F")
    if choice % 4 == 1:
        spread = np.zeros((*array.shape, 2), array.dtype)
        spread[..., 0] = array
        return spread[..., 0]
    if choice % 4 == 2:
        back = (slice(None, None, -1),) * array.ndim
        return array[back].copy()[back]
    return np.concatenate([np.zeros(1, array.dtype), array.ravel()])[1:].reshape(array.shape)


@law(lambda row: not row.view, x=NUMBERS, g=NUMBERS, choices=CHOICES)
def test_layouts_do_not_count(call: Call, x: np.ndarray, g: np.ndarray, choices: int) -> None:
    call = call.varied(x)
    inputs = call.tensors()
    out = call.run(inputs)
    gradients = [filled(g, o.shape) for o in out]
    others = call.tensors()
    for number, (tensor, array) in enumerate(zip(others, call.inputs)):
        tensor._array = laid_out(array, choices >> 2 * number)
    again = call.run(others)
    close(again, out, 1e-12)
    expected = vjp(out, inputs, gradients)
    close(vjp(again, others, [wrap(laid_out(a, choices >> 8)) for a in gradients]), expected, 1e-12)


@law(viewing, x=NUMBERS, y=NUMBERS)
def test_views_share_memory_with_what_they_are_of(call: Call, x: np.ndarray, y: np.ndarray) -> None:
    (tensor,) = call.with_inputs(call.inputs_from(x)).tensors([])
    for number in range(len(call.run([tensor]))):
        view = call.run([tensor])[number]
        assert view._base is tensor
        before, version = array_of(tensor).copy(), tensor._version
        if np.all(positions(call, number) < 2):
            view.copy_(minitorch.from_numpy(filled(y, view.shape)))
            close([call.run([tensor])[number]], [filled(y, view.shape)], 0)
            assert tensor._version == view._version == version + 1
            changed = array_of(tensor) != before
            assert not np.any(changed & (positions(call, number) == 0))
        tensor.mul_(2)
        close([view], [call.run([tensor])[number]], 0)


def positions(call: Call, number: int) -> np.ndarray:
    """How often an output, a view, has each element."""
    inputs = call.tensors()
    out = call.run(inputs)
    return array_of(vjp([out[number]], inputs, [np.ones(tuple(out[number].shape))])[0])


@law(viewing, x=NUMBERS, y=NUMBERS, h=NUMBERS)
def test_a_gradient_passes_a_write_into_a_view(call: Call, x: np.ndarray, y: np.ndarray, h: np.ndarray) -> None:
    """Where A takes the view, writing y into it gives ``x - A^T A x + A^T y``: linear, with a known transpose."""
    leaves = call.with_inputs(call.inputs_from(x)).tensors()
    whole = leaves[0].clone()
    views = call.run([whole])
    value = minitorch.from_numpy(filled(y, views[0].shape)).requires_grad_()
    if call.row.outputs and call.row.multiple:
        with pytest.raises(RuntimeError, match="multiple views"):
            views[0].copy_(value)
        return
    if not writable(views[0]._array):
        with pytest.raises(RuntimeError, match="more than one element"):
            views[0].copy_(value)
        return
    if np.any(positions(call, 0) > 1):
        return  # overlapping, which is not refused: what stays is the last value written
    views[0].copy_(value)
    gradient = filled(h, whole.shape)
    mine, written = vjp([whole], [leaves[0], value], [gradient])
    taken = call.with_inputs([gradient]).run_plainly()[0]
    close([written], [taken])
    close([mine], [np.where(positions(call, 0) > 0, 0, gradient)])


@law(replacing, x=NUMBERS, g=NUMBERS)
def test_the_in_place_form_is_the_result_copied(call: Call, x: np.ndarray, g: np.ndarray) -> None:
    call = call.varied(x)
    inputs, others = call.tensors(), call.tensors()
    (out,) = call.run(inputs)
    if out.shape != inputs[0].shape or out.dtype != inputs[0].dtype:
        return
    written = others[0].clone()
    version = written._version
    changed = in_place(call.row.call)(written, *others[1:], *call.seeded())
    assert changed is written
    assert written._version == version + 1
    close([written], [out], 0)
    if out.requires_grad:
        close(vjp([written], others, [filled(g, out.shape)]), vjp([out], inputs, [filled(g, out.shape)]), 1e-12)


@law(replacing, x=NUMBERS)
def test_without_a_gradient_the_values_are_the_same(call: Call, x: np.ndarray) -> None:
    call = call.varied(x)
    out = call.run(call.tensors())
    with minitorch.no_grad():
        again = call.run(call.tensors())
    plain: list[Any] = call.run_plainly()
    close(again, out, 0)
    close(plain, out, 0)
    assert not any(o.requires_grad for o in (*again, *plain))


def test_each_in_place_method_is_of_the_method_of_its_name() -> None:
    """Where there is one: not of ``copy_``, say."""
    methods = vars(minitorch.Tensor)
    for name, method in methods.items():
        if getattr(method, "__module__", "") == in_place.__module__ and name[:-1] in methods:
            function = inspect.getclosurevars(method).nonlocals["function"]
            plain = function.__name__ in ("compared", name[:-1], f"{name}into")  # with rules of their own for dtypes
            own = function is methods[name[:-1]] or plain
            assert own, f"{name} is the in-place form of {function.__name__}"
