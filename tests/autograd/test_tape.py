"""``Tape``: read from a result, recorded from a block, and held to what backward really does."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from graphs import random_graph
from minitorch import func
from minitorch.autograd import Tape


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_a_result_is_read_in_recorded_order() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a = x * y
    b = a + x
    tape = Tape((a * b).sum())
    assert [entry.name for entry in tape] == ["MulBackward0", "AddBackward0", "MulBackward0", "SumBackward0"]
    assert [entry.number for entry in tape] == [0, 1, 2, 3]
    assert [[p.entry for p in entry.parents] for entry in tape] == [[None, None], [0, None], [0, 1], [2]]
    assert tape[0].parents[0].leaf is x
    assert tape[1].parents[1].leaf is x
    assert [entry.position for entry in tape] == sorted(entry.position for entry in tape)


def test_entries_tell_shape_and_dtype() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    tape = Tape(x.double().sum(0))
    assert [(tuple(e.shape), e.dtype) for e in tape] == [((2, 3), torch.float64), ((3,), torch.float64)]
    assert tape[0].op == "to"
    assert tape[1].node.name() == "SumBackward1"


def test_several_outputs_are_numbered() -> None:
    first, second = leaf(1.0, 2.0).unbind()
    tape = Tape([first, second * 2])
    assert [e.name for e in tape] == ["UnbindBackward0", "MulBackward0"]
    assert tape[1].parents[0][:2] == (0, 1)
    assert [tuple(s) for s in tape[0].shapes] == [(), ()]


def test_it_is_a_sequence_and_prints_as_a_table() -> None:
    tape = Tape((leaf(1.0, 2.0) * 3).exp())
    assert len(tape) == 2
    assert tape[-1].name == "ExpBackward0"
    assert [e.name for e in tape[:1]] == ["MulBackward0"]
    assert [e.name for e in reversed(tape)] == ["ExpBackward0", "MulBackward0"]
    assert str(tape).splitlines() == [
        "#  op   inputs      shape  dtype    saved",
        "0  mul  leaf0 (2,)  (2,)   float32    4 B",
        "1  exp  #0          (2,)   float32    8 B",
    ]
    assert repr(tape) == str(tape)


def test_what_needs_no_gradient_has_no_tape() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        Tape(torch.ones(2) * 2)


def test_a_block_is_recorded_with_what_was_called() -> None:
    x, c = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    with Tape() as tape:
        a = c * 2
        b = (x * a).sum(0, keepdim=True)
        a.add_(1)
    assert [e.op for e in tape] == ["mul", "mul", "sum", "add_"]
    assert [e.node is None for e in tape] == [True, False, False, True]
    product = tape[1]
    assert product.inputs[0] is x
    assert product.inputs[1] is a
    assert product.row.name == "mul"
    assert product.parents[0].leaf is x
    assert product.parents[1].entry == 0
    assert tape[2].params == {"dim": (0,), "keepdim": True}
    assert tape[2].outputs == (b,)
    assert tape[3].in_place
    assert tape[3].inputs[0] is a
    torch.ones(2) * 2  # the tape has ended
    assert len(tape) == 4


def test_writes_through_views_are_found() -> None:
    x = leaf(1.0, 2.0, 3.0)
    with Tape() as tape:
        y = x * 1
        view = y[:2]
        view.mul_(2)
        y.sum()
    assert [(e.op, [p.entry for p in e.parents]) for e in tape] == [
        ("mul", [None, None]),
        ("slice", [0]),
        ("mul_", [1]),
        ("sum", [2]),
    ]


def test_only_tensors_have_a_tape() -> None:
    with pytest.raises(TypeError, match="not int"):
        Tape(3)
    with pytest.raises(TypeError, match="must be a Tensor or a GradientEdge, not int"):
        Tape([3])


def test_an_entry_can_be_run_again() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with Tape() as tape:
        x.softmax(1).sum(0).exp()
        torch.stack([x, x + 1], 1)
    for entry in tape:
        inputs = [list(entry.inputs)] if entry.row.variadic else list(entry.inputs)
        again = entry.row.call(*inputs, *entry.params.values())
        assert torch.equal(again, entry.outputs[0])


def fail_while_recording(tape: Tape, x: Any) -> None:
    with tape:
        x * 2
        raise ZeroDivisionError


def test_blocks_nest_and_end_with_an_exception() -> None:
    x = torch.ones(2)
    with Tape() as outer:
        inner = Tape()
        with pytest.raises(ZeroDivisionError):
            fail_while_recording(inner, x)
        x + 1
    assert [e.op for e in inner] == ["mul"]
    assert [e.op for e in outer] == ["mul", "add"]


def test_a_failing_operation_is_not_recorded() -> None:
    with Tape() as tape, pytest.raises(RuntimeError):
        torch.ones(2) * torch.ones(3)
    assert len(tape) == 0


def test_sites_name_the_users_line() -> None:
    x = leaf(1.0, 2.0)
    with torch.autograd.record_sites():
        y = (x * 2).exp()
    line = inspect.currentframe().f_lineno - 1
    for entry in Tape(y.sum()):
        if entry.site is not None:
            assert (entry.site.file, entry.site.line) == (__file__, line)
            assert entry.site.function == "test_sites_name_the_users_line"
    assert [entry.site is not None for entry in Tape(y.sum())] == [True, True, False]
    assert f"test_tape.py:{line}" in str(Tape(y.sum()))


def test_sites_appear_in_errors_about_edits() -> None:
    x = leaf(1.0, 2.0) * 1
    with torch.autograd.record_sites():
        y = (x * x).sum()
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"recorded at File .*test_tape.py.*written at File .*test_tape.py"):
        y.backward()


def test_observers_are_gone_when_nothing_watches() -> None:
    from minitorch._modes import observers

    with Tape(), torch.autograd.record_sites(), torch.inference_mode():
        assert observers
    assert not observers


# -- the tape and the walk ---------------------------------------------------------------------------------------------
@given(st.integers(0, 2**20))
def test_backward_runs_the_tape_in_reverse(seed: int) -> None:
    loss = random_graph(seed)
    tape = Tape(loss)
    ran: list[int] = []
    for entry in tape:
        entry.node.register_prehook(lambda grads, number=entry.number: ran.append(number))
    loss.backward(retain_graph=True)
    assert ran == [entry.number for entry in reversed(tape)]
    ran.clear()
    torch.autograd.grad(loss, [e.parents[0].leaf for e in tape if e.parents and e.parents[0].leaf is not None][:1])
    assert ran == sorted(ran, reverse=True)


@given(st.integers(0, 2**20))
def test_a_block_holds_what_the_result_shows(seed: int) -> None:
    """Every node that a result reaches was recorded in the block that made it, in the same order."""
    with Tape() as block:
        loss = random_graph(seed)
    recorded = [e.node for e in block if e.node is not None]
    reached = [e.node for e in Tape(loss)]
    order = {id(node): i for i, node in enumerate(recorded)}
    own = [order[id(n)] for n in reached if id(n) in order]
    assert own == sorted(own)
    missing = [n.name() for n in reached if id(n) not in order]
    assert all("CopySlices" in name or "Select" in name for name in missing)  # history that a write gave to its base


def test_blocks_may_be_nested_crossed_and_entered_again() -> None:
    x = leaf(1.0)
    outer, inner = Tape(), Tape()
    outer.__enter__()
    x * 1
    inner.__enter__()
    x * 2
    outer.__exit__()
    x * 3
    inner.__exit__()
    assert (len(outer), len(inner)) == (2, 2)
    with outer, outer:
        x * 4
    assert len(outer) == 3
    with outer:
        x * 5
    assert len(outer) == 4


def test_what_is_not_on_a_tape_is_said() -> None:
    x = leaf(1.0, 2.0, 3.0)
    tape = Tape(torch.tanh(x).sum())
    assert tape.find("relu") == []
    assert tape.find("MyFunction") == []
    assert [e.op for e in tape.find(shape=3)] == ["tanh"]
    with pytest.raises(ValueError, match="no operation is called 'rellu': is it 'relu'"):
        tape.find("rellu")
    with pytest.raises(IndexError, match="entry 99 of a tape that has 2 of them"):
        tape[99]
    assert len(Tape([])) == 0
    with pytest.raises(ValueError, match="nothing on this tape is called 'relu'"):
        tape.backward(until="relu")


# -- around transforms -------------------------------------------------------------------------------------------------
def _written_by_halves(a: Any) -> Any:
    y = a * 1.0
    y[1:].mul_(a[:-1])
    return y.sum()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: func.vmap(lambda a: a.sin() * a)(x),
        lambda x: func.vmap(func.vmap(lambda a: a.exp() * a))(x),
        lambda x: func.vmap(lambda a: (x * 2).sum().exp() * a.max(0)[0])(x),
        lambda x: func.vmap(_written_by_halves)(x),
        lambda x: func.vmap(func.grad(lambda a: (a.sin() * a).sum()))(x),
        lambda x: func.jacfwd(lambda a: a.sin() * a)(x[0]),
        lambda x: func.hessian(lambda a: (a.sin() * a).sum())(x[0]),
    ],
)
def test_a_block_around_a_map_has_what_was_computed_for_the_batch(function: Any) -> None:
    x = torch.tensor([[0.3, 0.5, -0.2], [1.0, -1.5, 0.7]], dtype=torch.float64, requires_grad=True)
    x.name = "x"
    with Tape() as tape:
        z = function(x).sum()
    (expected,) = torch.autograd.grad(z, x, retain_graph=True)
    nodes = {entry.node for entry in tape}
    assert {e.node for e in Tape(z) if type(e.node).__name__ != "CopySlices"} <= nodes  # nothing of it is missing
    assert len(str(tape.table(full=True)).splitlines()) == len(tape) + 1
    assert tape.to_svg().startswith("<svg")
    assert tape.memory().total
    values = tape.formula().evaluate()
    assert torch.allclose(values["y"], z)
    assert torch.allclose(values["dy/dx"], expected)
    for _ in tape.backward(of=z):
        pass
    assert torch.equal(x.grad, expected)


def test_a_block_within_a_maps_function_has_the_examples_calls() -> None:
    ops = []

    def function(a: Any) -> Any:
        with Tape() as tape:
            b = a.sin() * a
        ops.extend([entry.op for entry in tape])
        return b

    func.vmap(function)(torch.ones(2, 3))
    assert ops == ["sin", "mul"]


def test_writes_of_a_map_are_copies_in_a_block() -> None:
    x = torch.ones(2, 3)
    with Tape() as tape:
        func.vmap(_written_by_halves)(x)
    assert [entry.op for entry in tape if entry.in_place] == ["copy_"]
