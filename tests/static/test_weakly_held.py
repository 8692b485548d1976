"""What a function reaches weakly is not kept alive by its programs: where it is gone, the function sees that."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static

X = torch.ones(2)


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def scaled(self, x: Any) -> Any:
        return x * self.factor


class Scales(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor([3.0, 3.0]))

    def forward(self, x: Any) -> Any:
        return x * self.factor.detach()


def by_name(value: Any) -> Any:
    return weakref.WeakValueDictionary(a=value)


WAYS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any, Any], Any], bool]] = {
    "an item": (lambda: Scale(3.0), by_name, lambda d, x: x * d["a"].factor if "a" in d else x * 5, True),
    "by get()": (lambda: Scale(3.0), by_name, lambda d, x: x * d.get("a", Scale(5.0)).factor, True),
    "with a tensor": (lambda: Scale(X * 3), by_name, lambda d, x: x * d["a"].factor if "a" in d else x * 5, True),
    "a module": (Scales, by_name, lambda d, x: d["a"](x) if "a" in d else x * 5, True),
    "a method": (lambda: Scale(3.0), by_name, lambda d, x: d["a"].scaled(x) if "a" in d else x * 5, True),
    "a method's reference": (
        lambda: Scale(3.0),
        lambda s: weakref.WeakMethod(s.scaled),
        lambda r, x: r()(x) if r() is not None else x * 5,
        True,
    ),
    "a tensor's item": (lambda: X * 3, by_name, lambda d, x: x * d["a"] if "a" in d else x * 5, False),
    "a tensor's reference": (lambda: X * 3, weakref.ref, lambda r, x: x * r() if r() is not None else x * 5, False),
    "in a set": (
        lambda: X * 3,
        lambda t: weakref.WeakSet([t]),
        lambda s, x: x * next(iter(s)) if len(s) else x * 5,
        False,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_gone(way: str) -> None:
    make, holds, reads, is_program = WAYS[way]
    kept = [make()]
    holder = holds(kept[0])
    program = static.compile(lambda x: reads(holder, x), quiet=True)
    for _ in range(3):
        assert program(X).tolist() == [3, 3]
    assert bool(program.variants) == is_program
    assert is_program or "refers weakly to a tensor" in program.notes[0]
    kept.clear()
    for _ in range(3):
        assert program(X).tolist() == [5, 5]


def test_another_one_in_its_place() -> None:
    kept = [Scale(3.0)]
    holder = by_name(kept[0])
    program = static.compile(lambda x: x * holder["a"].factor, quiet=True)
    for factor in (3.0, 3.0, 4.0, 4.0):
        if factor == 4.0:
            kept[0] = holder["a"] = Scale(4.0)
        assert program(X).tolist() == [factor, factor]
