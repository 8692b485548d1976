"""A compiled function gives what the function gives, whatever changes between calls; where it cannot, it says why."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from changing import Box, pair
from minitorch import nn, static
from minitorch.utils.checkpoint import checkpoint
from reaching_told import PROGRAMS


def leaves(out: Any) -> list[Any]:
    if isinstance(out, (list, tuple)):
        return [leaf for part in out for leaf in leaves(part)]
    if isinstance(out, torch.Tensor):
        return [(str(out.dtype), out.shape, out.detach().numpy().tobytes())]
    return [repr(out)]


def ran(program: Any, compile_: Any) -> list[Any]:
    torch.manual_seed(0)
    return leaves(program(compile_))


@pytest.mark.parametrize("name", PROGRAMS)
def test_later_calls_give_what_the_function_gives(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, said = PROGRAMS[name]
    made: list[static.Traced] = []

    def compile_(function: Any) -> Any:
        made.append(static.compile(function))
        return made[-1]

    assert ran(program, compile_) == ran(program, lambda function: function)
    notes = [note for traced in made for note in traced.notes if "as it is written" in note]
    assert bool(notes) == bool(said)
    assert said in "".join(notes)
    out = capsys.readouterr().out
    assert all([note in out for note in notes])
    assert said or any([traced.variants for traced in made])


def test_many_kinds_of_arguments() -> None:
    f = static.compile(lambda x, n: x * n, quiet=True)
    assert [f(pair(1, 2), n)[1].item() for n in range(80)] == [2 * n for n in range(80)]
    assert len(f.variants) == 64
    assert "pass numbers that differ at each call as tensors" in f.notes[-1]


def test_results_have_their_history_where_buffers_are_written_and_numbers_drawn() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    compiled = static.compile(model, quiet=True)
    x = torch.randn(4, 2)
    for seed in range(3):
        found = []
        state = {k: v.clone() for k, v in model.state_dict().items()}
        for f in (compiled, model):
            model.load_state_dict(state)
            model.zero_grad()
            torch.manual_seed(seed)
            f(x).square().sum().backward()
            found.append(leaves([[p.grad for p in model.parameters()], list(model.buffers())]))
        assert found[0] == found[1]


def test_a_block_without_gradients_stays_one() -> None:
    w = torch.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        with torch.no_grad():
            scale = w * 2
        return (x * w * scale).sum()

    compiled = static.compile(f, quiet=True)
    for _ in range(3):
        (g,) = torch.autograd.grad(compiled(pair(1, 2)), w)
        assert g.tolist() == [2.0, 4.0]


def test_within_transforms_and_within_each_other() -> None:
    inner = static.compile(lambda x: x * 2 + 1, quiet=True)
    outer = static.compile(lambda x: inner(x) * inner(x + 1), quiet=True)
    for i in range(4):
        assert outer(pair(i, 1)).tolist() == [(2 * i + 1) * (2 * i + 3), 15]
    assert len(outer.variants) == 1
    square = static.compile(lambda x: (x**2).sum(), quiet=True)
    for i in (1.0, 2.0):
        x = torch.full((3, 2), i)
        assert torch.func.vmap(square)(x).tolist() == [2 * i * i] * 3
        assert torch.func.grad(square)(x).tolist() == [[2 * i, 2 * i]] * 3
        assert torch.func.jvp(square, (x,), (x,))[1].item() == 12 * i * i
    k = 1.0
    mapped = static.compile(lambda x: torch.func.vmap(lambda t: t * k)(x), quiet=True)
    for k in (1.0, 3.0, 2.0):
        assert mapped(torch.ones(2, 2)).tolist() == [[k, k]] * 2


def test_anomaly_mode_looks_at_the_operations() -> None:
    w = torch.ones(2, requires_grad=True)

    def f(x: Any) -> None:
        w.grad = None
        (w * x).sqrt().sum().backward()

    compiled = static.compile(f, quiet=True)
    for _ in range(2):
        compiled(pair(1, 2))
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="SqrtBackward0"), pytest.warns():
        compiled(pair(-1, 1))


def test_in_threads() -> None:
    f, found = static.compile(lambda x: (x * 2).sin(), quiet=True), {}
    f(pair(1, 2))

    def work(i: int) -> None:
        found[i] = f(pair(i, 2))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        assert torch.equal(found[i], (pair(i, 2) * 2).sin())


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_draw_the_same_numbers_again(reentrant: bool) -> None:
    def run(compile_: Any) -> Any:
        model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.5))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = checkpoint(model, x.clone().requires_grad_(), use_reentrant=reentrant).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = compile_(step)
        return [step(pair(i, 1)) for i in range(5)]

    assert ran(run, lambda f: static.compile(f, quiet=True)) == ran(run, lambda f: f)


def test_memory_written_by_several_names() -> None:
    def run(compile_: Any) -> Any:
        w = torch.arange(4.0)
        a, b = w[:2], w[1:3]

        def f(x: Any, y: Any) -> Any:
            a.add_(x)
            y.mul_(2)
            return b * 2 + x

        f, own = compile_(f), torch.arange(4.0)
        return [f(pair(1, 2), own[:2]), f(w[:2], w[2:]), f(own[:2], own[1:3]), f(own[1:3], own[1:3]), f(a, b), w, own]

    assert ran(run, lambda f: static.compile(f, quiet=True)) == ran(run, lambda f: f)


def test_names_of_a_slotted_object() -> None:
    class Slotted:
        __slots__ = ("k",)

    o = Slotted()
    o.k = 1.0
    f = static.compile(lambda x: x * o.k, quiet=True)
    for k in (1.0, 2.0, 3.0):
        o.k = k
        assert f(pair(1, 2)).tolist() == [k, 2 * k]


def test_what_a_function_reads_costs_little() -> None:
    box, unread = Box(), np.zeros(10**6)
    box.count = 2
    f = static.compile(lambda x: x * box.count, quiet=True)
    assert f(pair(1, 2)).tolist() == [2.0, 4.0]
    box.unread = unread
    assert f(pair(1, 2)).tolist() == [2.0, 4.0]
    assert len(f.variants) == 1
    big = static.compile(lambda x: x + float(unread.sum()), quiet=True)
    big(pair(1, 2))
    assert "a large NumPy array, which may change: pass it as a tensor" in big.notes[0]
