"""Rows: what is refused at import, what is saved, what the generated code shows."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _op, _runtime


@pytest.fixture
def scratch() -> Iterator[Any]:
    """Declares rows that are forgotten afterwards."""
    names: list[str] = []

    def declare(name: str, *args: Any, **kwargs: Any) -> Any:
        names.append(name)
        return _op.op(name, *args, **kwargs)

    yield declare
    for name in names:
        _op.rows.pop(name, None)
        for carrier in (_runtime.raw, _runtime.traced):
            vars(carrier).pop(name, None)


def test_a_formula_may_read_only_what_there_is() -> None:
    with pytest.raises(TypeError, match=r"derivative of 'self' reads \['nothing'\]; it may read"):
        _op.op("bad", "Bad", np.multiply, ("self",), self=lambda F, g, nothing: g)


def test_a_formula_belongs_to_an_input() -> None:
    with pytest.raises(TypeError, match=r"derivative given for \['selff'\], but its inputs are"):
        _op.op("bad", "Bad", np.multiply, ("self",), selff=lambda F, g: g)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(TypeError, match="declared twice"):
        _op.op("mul", "MulBackward0", np.multiply, ("self", "other"))


def test_names_of_the_generated_code_are_refused() -> None:
    with pytest.raises(TypeError, match="names of the generated code"):
        _op.op("bad", "Bad", lambda self, *, out: self, ("self",))


def test_a_row_is_all_there_is_to_an_operation(scratch: Any) -> None:
    cube = scratch(
        "test_cube", "CubeBackward0", lambda self: self**3, ("self",), elementwise=True,
        self=lambda F, g, self: g * (3.0 * self * self),
    )  # fmt: skip
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = cube(x)
    assert y.grad_fn.name() == "CubeBackward0"
    assert torch.testing.check_gradients(cube, x, order=2)
    assert y.grad_fn._saved_self is x


def test_only_what_needed_gradients_read_is_saved() -> None:
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x * c).grad_fn._saved_self is None
    assert (x * c).grad_fn._saved_other is c
    assert not [name for name in dir((x + c).grad_fn) if name.startswith("_saved_") and "alpha" not in name]


def test_generated_code_can_be_read_and_is_seen_in_tracebacks() -> None:
    x = torch.ones(2)
    x * x
    assert "node.position = next_position()" in torch.mul.row.source
    assert "def recorder(input, other" in inspect.getsource(torch.mul)
    with pytest.raises(RuntimeError) as error:
        x * torch.ones(3)
    text = "".join(traceback.format_exception(error.value))
    assert "<op mul" in text  # with tangents, once forward mode came to it


def test_public_signatures_are_typed_and_documented() -> None:
    parameters = inspect.signature(torch.mul).parameters
    assert list(parameters) == ["input", "other", "out"]
    assert torch.mul.__name__ == "mul"
    assert "Parameters" in torch.mul.__doc__
    assert torch.Tensor.mul is torch.mul


def test_methods_declared_before_the_first_call_are_the_same_function(scratch: Any) -> None:
    twice = scratch("test_twice", "TwiceBackward0", lambda self: self * 2, ("self",), self=lambda F, g: g * 2.0)
    alias = twice
    assert twice(torch.ones(1)).item() == 2
    assert alias is twice
    assert alias(torch.ones(1)).item() == 2


def test_node_listings_show_what_people_look_for() -> None:
    names = dir((torch.ones(2, requires_grad=True) * torch.ones(2)).grad_fn)
    assert {"next_functions", "name", "metadata", "register_hook", "_saved_other"} <= set(names)
    assert not {"edges", "position", "expects", "extras", "saved_other"} & set(names)


def test_a_kernel_sets_arrays_aside_for_formulas(scratch: Any) -> None:
    """They belong to the node alone: nobody can edit them, and the result may be edited."""
    power = scratch(
        "test_power", "PowerBackward0", lambda self: [self**3, 3 * self * self], ("self",), elementwise=True,
        self=lambda F, g, aside: g * aside[0],
    )  # fmt: skip
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = power(x)
    total = (2 * y).sum()
    y.mul_(0)
    total.backward()
    assert x.grad.tolist() == [6, 24]
    assert not [name for name in dir(y.grad_fn) if "aside" in name]


@pytest.mark.parametrize("number", [0, 1])
def test_only_edits_of_outputs_that_formulas_read_are_refused(scratch: Any, number: int) -> None:
    both = scratch(
        "test_both", "BothBackward0", lambda self: [self + 1, np.exp(self)], ("self",), outputs=2,
        self=lambda F, g, result1: g[0] + g[1] * result1,
    )  # fmt: skip
    x = torch.tensor([0.0], requires_grad=True)
    outputs = both(x)
    total = (2 * outputs[0] + 3 * outputs[1]).sum()
    (again,) = torch.autograd.grad(total, x, create_graph=True)
    assert torch.autograd.grad(again.sum(), x)[0].tolist() == [3]
    outputs = both(x)
    total = (2 * outputs[0] + 3 * outputs[1]).sum()
    outputs[number].mul_(0)
    if number == 1:
        with pytest.raises(RuntimeError, match="the result that BothBackward0 saved"):
            total.backward()
    else:
        total.backward()
        assert x.grad.tolist() == [5]
