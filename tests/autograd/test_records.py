"""What is noted while recording is on: marks, module paths, cuts, stories of leaves, passes, steps; and what is not."""

from __future__ import annotations

import gc
import inspect
import random
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from minitorch import _records, nn
from minitorch._modes import mode_place, observers
from minitorch._records import Positions, known_recordings, notes_of, recordings
from minitorch._sites import module_path, site_of
from minitorch.autograd import Tape, record_sites

HERE = __file__


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def mark_of(tensor: Any) -> Any:
    node = tensor.grad_fn
    return None if node.extras is None else node.extras.mark


def site(tensor: Any) -> Any:
    return site_of(mark_of(tensor))


def cuts(tensor: Any) -> list[str]:
    """The kinds of what a result was cut from: of its node, or of itself where it has none."""
    node = tensor.grad_fn
    found = notes_of(tensor)[1] if node is None else () if node.extras is None else node.extras.cuts
    return [cut.kind for cut in found]


def here() -> int:
    return inspect.currentframe().f_back.f_lineno


def story(tensor: Any) -> list[str]:
    extras = tensor._node.extras
    return [] if extras is None else [event[0] for event in extras.story]


# -- marks -------------------------------------------------------------------------------------------------------------
def test_a_mark_is_the_call_itself() -> None:
    x = leaf(1.0, 2.0)
    with record_sites():
        y, z = (x * 2) + x.exp(), torch.tanh(x)
        line = here() - 1
    assert [(e.op, e.site.line, e.site.expression) for e in Tape([y, z])] == [
        ("mul", line, "x * 2"),
        ("exp", line, "x.exp()"),
        ("add", line, "(x * 2) + x.exp()"),
        ("tanh", line, "torch.tanh(x)"),
    ]


def test_a_call_over_several_lines() -> None:
    x = leaf(1.0, 2.0)
    with record_sites():
        y = torch.add(
            x,
            x,
        )
        line = here() - 4
    assert site(y).line == line
    assert site(y).expression == "torch.add("
    assert site(y).short == f"test_records.py:{line}"


def test_what_the_package_calls_is_the_users_call() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with record_sites():
        loss = nn.functional.cross_entropy(x, torch.tensor([0, 1]))
        norm = nn.functional.layer_norm(x, (3,))
        line = here() - 2
    assert {e.site.line for e in Tape(loss)} == {line}
    assert {e.site.line for e in Tape(norm)} == {line + 1}


def test_in_place_calls_and_views() -> None:
    x = leaf(1.0, 2.0)
    with record_sites():
        y = x * 1
        y.mul_(3)
        y[0].add_(1)
        lines = here() - 2, here() - 1
    writes = y._alias.edits.writer
    assert [(op, site_of(mark).line) for _, op, mark in writes] == [("mul_", lines[0]), ("add_", lines[1])]
    assert [e.site.line for e in Tape(y)][-1] == lines[1]


def test_of_many_writes_the_last_are_known() -> None:
    y = torch.zeros(2)
    with record_sites():
        for _ in range(30):
            y.add_(1)
        y.mul_(2)
    assert [op for _, op, _ in y._alias.edits.writer] == ["add_"] * 7 + ["mul_"]


def test_the_place_of_a_leaf() -> None:
    with record_sites():
        w = torch.zeros(2, requires_grad=True)
        v = torch.zeros(2)
        v.requires_grad_()
        layer = nn.Linear(2, 1)
        line = here()
    lines = [site_of(t._node.extras.mark).line for t in (w, v, layer.weight, layer.bias)]
    assert lines == [line - 4, line - 2, line - 1, line - 1]
    assert [story(t) for t in (w, v, layer.weight)] == [[], ["required"], []]


def test_anomaly_mode_has_the_whole_stack() -> None:
    def inner(x: Any) -> Any:
        return x * 2

    with torch.autograd.set_detect_anomaly(True):
        y = inner(leaf(1.0))
    assert [call[2] for call in site(y).calls[-2:]] == ["test_anomaly_mode_has_the_whole_stack", "inner"]
    assert "return x * 2" in site(y).text
    assert site(y).calls[-1][:2] == (HERE, site(y).line)


# -- modules -----------------------------------------------------------------------------------------------------------
class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def forward(self, x: Any) -> Any:
        return self.inner(x) * 2


class Hidden(nn.Module):
    """A module that keeps a part where it is not registered."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [nn.Linear(2, 2)]

    def forward(self, x: Any) -> Any:
        return self.parts[0](x)


class Failing(nn.Module):
    def forward(self, x: Any) -> Any:
        x * 2
        raise ZeroDivisionError


def test_paths_of_modules() -> None:
    model = nn.Sequential(Block(), nn.Sequential(Block()))
    with record_sites():
        y = model(torch.ones(1, 2))
        z = y + 1
    modules = {(e.op, e.module) for e in Tape(z)}
    assert {path for op, path in modules if op == "tanh"} == {"0.inner.1", "1.0.inner.1"}
    assert {path for op, path in modules if op == "mul"} == {"0", "1.0"}
    assert ("add", "") in modules
    assert {p.name for e in Tape(z) for p in e.parents if p.leaf is not None} == {
        n for n, _ in model.named_parameters()
    }
    with record_sites():
        assert Tape(model[0](torch.ones(1, 2)))[-1].module == "Block"


def test_modules_that_are_not_registered() -> None:
    model = Hidden()
    with record_sites():
        y = model(torch.ones(1, 2))
    assert Tape(y)[-1].module == "Hidden.(Linear)"
    assert Tape(y)[-1].parameters[-1] == "Hidden.(Linear).weight"


def test_an_exception_leaves_the_path_clean() -> None:
    model = nn.Sequential(Block(), Failing())
    with record_sites():
        with pytest.raises(ZeroDivisionError):
            model(torch.ones(1, 2, requires_grad=True))
        assert module_path() == ""
        y = leaf(1.0) * 2
    assert site(y).module == ""


# -- cuts --------------------------------------------------------------------------------------------------------------
def scale(x: Any) -> Any:
    return x / x.detach().max()


def test_cuts_go_on_through_helpers() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    with record_sites():
        h = w * 2
        a = h.detach()
        b = (a + 1).exp().reshape(2, 1).squeeze(1)
        c = b * other
        d = c.sum() + h.data.sum()
    assert [cuts(t) for t in (a, b, c, d)] == [["detach"], ["detach"], ["detach"], ["data"]]
    (cut,) = c.grad_fn.extras.cuts
    assert cut.hides(w._node)
    assert not cut.hides(other._node)
    assert (cut.shape, cut.site.expression) == ((2,), "h.detach()")
    assert cut.reached.__class__ is Positions
    with record_sites():
        assert cuts(scale(w)) == ["detach"]


def test_a_cut_knows_the_cuts_before_it() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        a = (w * 2).detach()
        b = (a * leaf(1.0, 1.0)).argmax()
    (cut,) = notes_of(b)[1]
    assert (cut.kind, [c.kind for c in cut.before]) == ("argmax", ["detach"])
    assert cut.hides(w._node)
    assert not cut.own(w._node)
    assert cut.before[0].own(w._node)
    assert cut.before[0].moment < cut.moment


def test_a_long_row_of_cuts_is_bounded() -> None:
    w, state = leaf(1.0, 2.0), torch.zeros(2)
    with record_sites():
        for _ in range(200):
            state = (state.detach() + w).tanh()
        (last,) = notes_of(state.detach())[1]
    assert len(last.before) == 16
    assert all(cut.before == () for cut in last.before)
    gc.collect()
    assert sum(type(thing) is _records.Cut for thing in gc.get_objects()) < 40


def test_cuts_of_what_is_read_or_written() -> None:
    w, table = leaf(0.0, 1.0), torch.ones(3, 2, requires_grad=True)
    with record_sites():
        index = w.long()
        found = table[index]
        one = table[w.argmax()]
        buffer = torch.zeros(3)
        buffer[:2] = w.detach()
        with torch.no_grad():
            filled = torch.zeros(2)
            filled.copy_(w)
        placed = torch.zeros(3).scatter_(0, index, 1.0)
    assert [cuts(t) for t in (found, one)] == [["to(int64)"], ["argmax"]]
    assert [cuts(t) for t in (buffer, filled, placed)] == [["detach"], ["no_grad"], ["to(int64)"]]


@pytest.mark.parametrize(
    ("take", "kind"),
    [
        (lambda h: h > 0, "gt"),
        (lambda h: h.argsort(), "argsort"),
        (lambda h: h.max(0).indices, "the indices of max"),
        (lambda h: h.topk(1)[1], "the indices of topk"),
        (lambda h: h.nonzero(), "nonzero"),
        (lambda h: torch.where(h > 1)[0], "gt"),
        (lambda h: h.bool(), "to(bool)"),
        (lambda h: h.to(torch.int32), "to(int32)"),
        (lambda h: torch.multinomial(h, 1), "multinomial"),
        (lambda h: torch.histc(h, 2), "histc"),
        (lambda h: torch.tensor([h.sum(), h[0]]), "tensor"),
        (lambda h: h.new_tensor(h), "new_tensor"),
        (lambda h: torch.as_tensor([h[0]]), "as_tensor"),
        (lambda h: torch.count_nonzero(h), "count_nonzero"),
    ],
)
@pytest.mark.filterwarnings("ignore:Converting a tensor", "ignore:To copy construct")
def test_what_has_no_derivative_cuts(take: Any, kind: str) -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        taken = take(w * 1.5)
    (cut,) = notes_of(taken)[1]
    assert cut.kind == kind
    assert cut.certain
    assert cut.hides(w._node)
    assert notes_of(take(w * 1.5)) == (None, ())


def test_values_that_become_numbers_or_arrays() -> None:
    w = leaf(1.0, 2.0)
    with record_sites() as recording:
        h = w * 2
        h.sum().item()
        float(h[0].detach())
        h.tolist()
        h.detach().numpy()
        torch.ones(2).tolist()
    assert [cut.kind for cut in recording.left] == ["item", "item", "tolist", "numpy"]
    assert all(cut.hides(w._node) for cut in recording.left)


def test_numbers_come_back_as_a_tensor() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        total = (w * 2).sum()
        back = torch.tensor([total.item(), 1.0])
        again = torch.from_numpy(np.array([1.0]))
    (cut,) = notes_of(back)[1]
    assert (cut.kind, cut.certain, [c.kind for c in cut.before]) == ("tensor", False, ["item"])
    assert cut.hides(w._node)
    assert [c.certain for c in notes_of(again)[1]] == [False]
    with record_sites():
        total = (w * 2).sum()
        total.backward()
        total.item()
        logged = torch.tensor([1.0])
    assert notes_of(logged)[1] == ()


def test_a_leaf_that_was_made_of_what_was_cut() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        start = (w * 2).detach().requires_grad_()
        copied = nn.Parameter(w * 2)
        loss = (start * copied).sum()
        loss.backward()
        noted = known_recordings()[0].passes[-1]
    assert sorted(cut.kind for cut in noted.cuts) == ["Parameter", "detach"]


@torch.no_grad()
def decorated(x: Any) -> Any:
    return x * 2


@torch.inference_mode()
def generated(x: Any) -> Any:
    yield x * 2


def test_where_recording_was_switched_off() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        with torch.no_grad():
            a = w * 2
        line = here() - 2
        with torch.enable_grad(), torch.inference_mode():
            b = w * 2
        made = [a, b, decorated(w), next(generated(w))]
        torch.set_grad_enabled(False)
        made.append(w * 2)
        torch.set_grad_enabled(True)
    places = [notes_of(t)[1][0].mode_site for t in made]
    first = [place.line for place in places if place is not None]
    assert first[:2] == [line, line + 3]
    assert [p.source for p in places[2:]] == [
        "@torch.no_grad()",
        "@torch.inference_mode()",
        "torch.set_grad_enabled(False)",
    ]
    assert places[4] is not None


def test_the_place_of_a_mode_ends_with_it() -> None:
    with record_sites():
        with torch.no_grad():
            outer = mode_place.get()
            with torch.no_grad():
                assert mode_place.get() != outer
            with torch.inference_mode():
                assert mode_place.get() != outer
            assert mode_place.get() == outer
        assert mode_place.get() is None
        with torch.set_grad_enabled(False):
            assert mode_place.get() is not None
        assert mode_place.get() is None


# -- leaves, passes, steps ---------------------------------------------------------------------------------------------
def test_the_story_of_a_gradient() -> None:
    w = leaf(1.0, 2.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with record_sites() as recording:
        (w * 2).sum().backward()
        line = here() - 1
        optimizer.step()
        optimizer.zero_grad()
        w.grad = torch.ones(2)
        optimizer.zero_grad(set_to_none=False)
        torch.autograd.grad((w * 2).sum(), w)
        w.requires_grad_(False)
    events = w._accumulator.extras.story
    assert [event[0] for event in events] == ["backward", "cleared", "assigned", "zeroed", "frozen"]
    assert site_of(events[0][1]).line == line
    moments = [event[2] for event in events]
    assert moments == sorted(set(moments))
    (step,) = recording.steps
    assert (step.optimizer, step.site.line) == ("SGD", line + 2)
    assert w._accumulator.position in step.held
    assert moments[0] < step.moment < moments[1]


def test_a_story_is_bounded() -> None:
    w = leaf(1.0)
    with record_sites() as recording:
        for _ in range(150):
            (w * 2).backward(torch.ones(1))
    assert story(w) == ["backward"] * 20
    assert len(recording.passes) == 100


def test_parameters_that_are_replaced() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    old, kept = model[1], model[0]
    with record_sites():
        model[1] = nn.Linear(2, 3)
        model[0] = nn.Sequential(kept, nn.Tanh())
        weight = kept.weight
        kept.weight = nn.Parameter(torch.zeros(2, 2))
        kept.bias = kept.bias
    assert story(old.weight) == story(old.bias) == story(weight) == ["replaced"]
    assert story(kept.bias) == []


def test_what_a_pass_reached() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    w.name = "w"
    with record_sites() as recording:
        h = w * 2
        unused = other * 3
        loss = h.sum()
        loss.backward()
        (g,) = torch.autograd.grad(unused.sum(), other)
    first, second = recording.passes
    assert (first.roots, first.accumulates, first.error, first.ends) == (["SumBackward0"], True, None, ["w"])
    assert (second.accumulates, second.ends) == (False, ["a leaf of shape (2,)"])
    for tensor, reached in ((w, True), (other, False), (h, True), (unused, False), (loss, True)):
        assert (tensor._node.position in first.reached) == reached
    assert len(first.reached) == 3
    assert (first.newest, first.oldest) == (loss._node.position, h._node.position)
    assert first.site.expression == "loss.backward()"
    assert g is not None


def test_a_pass_that_fails() -> None:
    w = leaf(1.0, 2.0)
    with record_sites() as recording:
        y = w.exp()
        loss = y.sum()
        y.zero_()
        with pytest.raises(RuntimeError):
            loss.backward()
    (noted,) = recording.passes
    assert noted.failed
    assert noted.error.startswith("RuntimeError: one of the variables")
    assert story(w) == []


def test_which_call_freed_a_node() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        y = w.exp()
        loss = y.sum()
        loss.backward(retain_graph=True)
        assert y.grad_fn.extras.freed is None
        loss.backward()
    assert site_of(y.grad_fn.extras.freed).expression == "loss.backward()"


@given(st.lists(st.integers(-300, 0)))
def test_positions_are_a_set_of_numbers(numbers: list[int]) -> None:
    positions = Positions(numbers)
    assert [n for n in range(-305, 5) if n in positions] == sorted(set(numbers))
    assert len(positions) == len(set(numbers))


# -- on, off, and what stays -------------------------------------------------------------------------------------------
def test_nothing_is_noted_outside() -> None:
    w = leaf(1.0, 2.0)
    with record_sites() as recording:
        pass
    y = (w * 2).detach() * w
    y.sum().backward()
    y.sum().item()
    w.grad = None
    with torch.no_grad():
        torch.optim.SGD([w], lr=0.1).step()
    assert y.grad_fn.extras is None
    assert w._node.extras is None
    assert (recording.left, recording.passes, recording.steps) == (
        type(recording.left)(),
        type(recording.left)(),
        type(recording.left)(),
    )
    assert not observers
    assert not recordings
    assert mode_place.get() is None


def test_recordings_nest_and_cross() -> None:
    w = leaf(1.0)
    outer = record_sites()
    inner = record_sites()
    (w * 2).sum().backward()
    outer.stop()
    (w * 3).sum().backward()
    y = w * 2
    inner.stop()
    inner.stop()
    assert (len(outer.passes), len(inner.passes)) == (1, 2)
    assert mark_of(y) is not None
    assert mark_of(w * 2) is None
    assert not observers
    record_sites()
    record_sites()
    record_sites(False)
    assert not recordings


def test_notes_of_an_earlier_recording_are_read() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        kept = (w * 2).detach()
    with record_sites() as recording:
        (kept * leaf(1.0, 1.0)).sum().backward()
    assert [cut.kind for cut in recording.passes[0].cuts] == ["detach"]


def test_an_exception_ends_a_recording() -> None:
    def failing() -> None:
        with record_sites():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert not recordings
    assert not observers


def test_the_recording_that_ended_last_is_known() -> None:
    with record_sites() as first:
        pass
    assert known_recordings() == [first]
    with record_sites() as second:
        assert known_recordings() == [second]
        with torch.autograd.set_detect_anomaly(True):
            assert len(known_recordings()) == 2
    assert known_recordings() == [second]
    gone = weakref.ref(first)
    del first
    assert gone() is None


def test_threads_note_their_own_modules() -> None:
    model = nn.Sequential(Block(), Block())
    found: dict[int, set[str]] = {}
    barrier = threading.Barrier(2)

    def work(number: int) -> None:
        barrier.wait()
        paths = set()
        for _ in range(20):
            y = model[number](torch.ones(1, 2))
            paths |= {e.module for e in Tape(y)}
            y.sum().backward()
        found[number] = paths

    with record_sites() as recording:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found[0] == found[1] == {"Block", "inner.0", "inner.1"}
    assert len(recording.passes) == 40
    assert not any(noted.failed for noted in recording.passes)


def test_notes_make_no_cycles_and_keep_nothing() -> None:
    gc.collect()
    gc.disable()
    try:
        model = nn.Sequential(Block(), nn.Linear(2, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        with record_sites() as recording:
            for _ in range(3):
                optimizer.zero_grad()
                h = model(torch.ones(4, 2))
                cut = h.detach() * model[1].weight.sum().item()
                kept = torch.tensor([h.sum().item()]) + h
                loss = (kept * cut).sum()
                loss.backward()
                optimizer.step()
        ends = [weakref.ref(t) for t in (h, loss, cut, kept, h.grad_fn, loss.grad_fn, model[1].weight, model)]
        del model, optimizer, h, loss, cut, kept
        assert [end() for end in ends] == [None] * len(ends)
        assert recording.passes
    finally:
        gc.enable()


def test_memory_is_bounded_over_a_long_run() -> None:
    w = leaf(1.0, 2.0)

    def steps(count: int) -> None:
        for _ in range(count):
            loss = (w * torch.tensor([random.random(), 1.0])).tanh().sum()
            loss.backward()
            loss.item()
            w.grad = None

    with record_sites() as recording:
        steps(1200)
        gc.collect()
        before = sys.getallocatedblocks()
        steps(300)
        gc.collect()
        after = sys.getallocatedblocks()
    assert len(recording.left) == 1000
    assert after - before < 500


def test_a_block_without_sites_within_one_with_them() -> None:
    x = leaf(1.0)
    with record_sites() as outer:
        with record_sites(False):
            assert mark_of(x * 2) is None
        assert mark_of(x * 2) is not None
        off = record_sites(False)
    with off:
        pass
    assert outer not in recordings
    assert mark_of(x * 2) is None
