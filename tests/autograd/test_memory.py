"""What a tape keeps, and which recorded graphs are alive."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import minitorch as torch
from minitorch.autograd import Tape, alive


class Holder:
    result: Any


def leaf(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


# -- one tape ----------------------------------------------------------------------------------------------------------
def test_each_array_is_counted_once_and_leaves_are_not() -> None:
    x = leaf(1000)
    y = (x * x).exp()  # keeps its result, 4000 bytes; x is a leaf
    z = y * y  # keeps y, which is that result
    account = Tape(z.sum()).memory()
    assert account.total == 4000
    assert account.by("op") == {"exp": 4000}
    assert account.by("name") == {"result": 4000}
    assert [(kept.entry.op, kept.held, len(kept.others)) for kept in account.kept] == [
        ("mul", True, 0),
        ("exp", False, 1),
    ]


def test_a_view_keeps_the_whole_memory() -> None:
    x = leaf(1000)
    assert Tape(((x * 2)[:10] * leaf(10)).sum()).memory().total >= 4000


def test_the_peak_of_a_chain() -> None:
    x = leaf(1000)
    y = x.exp().exp()
    # at the newest exp: two results, the gradient that comes in, the one that goes out
    assert Tape(y).memory().peak == 4 * 4000
    y = x + 1
    assert Tape(y).memory().peak == 2 * 4000


def test_by_module_and_line() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
    with torch.autograd.record_sites():
        loss = model(torch.ones(2, 4)).sum()
    account = Tape(loss).memory()
    assert account.by("module")["1"] == 2 * 8 * 4
    assert next(iter(account.by("line"))).startswith("test_memory.py:")
    assert "by module: 1 64 B" in str(account)
    with pytest.raises(ValueError, match="'module'"):
        account.by("colour")


def test_a_freed_tape_keeps_nothing() -> None:
    x = leaf(10)
    loss = x.exp().sum()
    loss.backward()
    assert Tape(loss).memory().total == 0


def test_custom_functions_count() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x * 1)
            return x * x

    x = leaf(1000)
    (entry,) = Tape(Square.apply(x))
    assert [(s.name, s.bytes) for s in entry.saved] == [("saved_tensors[0]", 4000)]
    assert Tape(Square.apply(x)).memory().by("op") == {"SquareBackward": 4000}


# -- what is alive -----------------------------------------------------------------------------------------------------
def found(operations: int) -> Any:
    return [a for a in alive() if a.operations == operations]


def test_holders_are_told() -> None:
    holder, kept = Holder(), [None, leaf(3).exp().exp().exp().exp().exp().exp().exp()]
    holder.result = leaf(3).exp().exp().exp().exp().exp().exp().exp().exp()
    stored = {"out": leaf(3).exp().exp().exp().exp().exp().exp().exp().exp().exp()}
    (seven,), (eight,), (nine,) = found(7), found(8), found(9)
    assert any(
        [
            text.startswith("the variable 'kept' of test_holders_are_told()") and text.endswith("[1]")
            for text in seven.holders
        ]
    )
    assert eight.holders == ["the attribute 'result' of a Holder"]
    assert nine.holders == ["a dictionary's entry 'out'"]
    assert seven.bytes == 7 * 12
    del holder, kept, stored, seven, eight, nine
    gc.collect()  # pytest has looked at the variables
    assert not found(9)


def test_the_classic_leak() -> None:
    w = leaf(100)
    total = torch.zeros(())
    with torch.autograd.record_sites():
        for _ in range(11):
            total = total + (w * w * w).mean()
    (leak,) = found(44)
    assert leak.repeated == 11
    assert leak.site.source == "total = total + (w * w * w).mean()"
    assert any(["'total'" in text for text in leak.holders])
    assert "add loss.item() or loss.detach() instead" in str(leak)


def test_only_the_last_of_a_chain_is_listed() -> None:
    first = leaf(2).exp().exp().exp()
    second = first.exp().exp()
    assert len(found(5)) == 1
    assert not found(3)
    del first, second


def test_nothing_alive() -> None:
    gc.collect()
    before = len(alive())
    x = leaf(2)
    x.exp()
    assert len(alive()) == before
    assert "no recorded graph" in str(type(alive())())
