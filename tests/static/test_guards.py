"""What is asked before a program runs again: each difference that a later call could meet is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from minitorch.static import _guards, _stands
from minitorch.static._guards import Guards, arrays_if_alike, arrays_if_unchanged
from minitorch.static._surroundings import Surroundings


class Held:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 2.0


def found(function: Callable[..., Any], tensors: list[Any]) -> Callable[[], Any]:
    return arrays_if_unchanged(Surroundings([function]), tensors, [])


def test_variables_attributes_and_containers() -> None:
    number, held, few, many, table = 3.0, Held(), [1, 2], list(range(100)), np.ones(2)
    options = {"a": 1}

    def block(x: Any) -> Any:
        return x * number * held.scale * few[0] * many[0] * options["a"] * table[0]

    arrays = found(block, [])
    assert arrays() == []

    def differs(change: Callable[[], Any], back: Callable[[], Any]) -> bool:
        change()
        out = arrays()
        back()
        return out is None and arrays() == []

    assert differs(lambda: few.append(3), few.pop)
    assert differs(lambda: few.__setitem__(1, 5), lambda: few.__setitem__(1, 2))
    assert differs(lambda: many.__setitem__(99, 5), lambda: many.__setitem__(99, 99))
    assert differs(lambda: many.append(1), many.pop)
    assert differs(lambda: options.__setitem__("a", 2), lambda: options.__setitem__("a", 1))
    assert differs(lambda: options.__setitem__("b", 2), lambda: options.pop("b"))
    assert differs(lambda: setattr(held, "scale", 4.0), lambda: setattr(held, "scale", 2.0))
    assert differs(lambda: delattr(held, "scale"), lambda: setattr(held, "scale", 2.0))
    assert differs(lambda: table.fill(2.0), lambda: table.fill(1.0))
    number = float("3.0")  # another object of the same value
    assert arrays() == []
    del block.__closure__[block.__code__.co_freevars.index("number")].cell_contents
    assert arrays() is None


@pytest.mark.parametrize("read", [_stands.addresses, _stands._addresses_asked])
def test_large_containers(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_guards, "addresses", read)
    objects = [Held() for _ in range(100)]
    table = {f"name {n}": 0.5 * n for n in range(100)}
    arrays = found(lambda: (objects, table), [])

    def still() -> bool:
        return arrays() is not None

    assert still()
    last, objects[99] = objects[99], Held()
    assert not still()
    objects[99] = last
    objects[3], objects[7] = objects[7], objects[3]
    assert not still()
    objects[3], objects[7] = objects[7], objects[3]
    assert still()
    for value, same in ((float("15.0"), True), (15, False), (15.5, False)):
        table["name 30"] = value
        assert still() is same
    table["name 30"] = 15.0
    table["name 0"] = -0.0
    assert not still()
    table["name 0"] = 0.0
    table["name 99"] = table.pop("name 99")
    assert still()
    table["name 5"] = table.pop("name 5")  # in another order
    assert not still()


@pytest.mark.parametrize("items", [[], [None], [1, "a", (2,), [3]], range(1000), {"a": 1}, {1.5}])
def test_addresses(items: Any) -> None:
    assert _stands.addresses(items) == _stands._addresses_asked(list(items))


def test_captured_tensors() -> None:
    w = torch.ones(2, 3, requires_grad=True)
    arrays = found(lambda: w, [w])
    assert arrays()[0] is w._array
    w._array = w._array.copy()
    assert arrays()[0] is w._array
    before = w._array
    w._array = np.ones((3, 2), np.float32).T
    assert arrays() is None
    w._array = before
    hook = w.register_hook(lambda g: g)
    assert arrays() is None
    hook.remove()
    v = torch.ones(2)
    arrays = found(lambda: v, [v])
    assert arrays() is not None
    v.requires_grad_()
    assert arrays() is None


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_arguments(count: int) -> None:
    like = arrays_if_alike([torch.ones(2, 3) for _ in range(count)])
    given: list[Any] = [torch.zeros(2, 3) for _ in range(count)]
    found = like(given)
    assert found is not None
    assert list(map(id, found)) == [id(t._array) for t in given]
    assert like([*given, torch.ones(2, 3)]) is None
    with torch.no_grad():
        assert like(given) is None
    for n in range(count):
        for other in (torch.ones(3, 2), torch.ones(3, 2).T, torch.ones(2, 3).double(), 1.0, None):
            assert like([*given[:n], other, *given[n + 1 :]]) is None
        assert like([*given[:n], torch.ones(2, 3, requires_grad=True), *given[n + 1 :]]) is None
        if n:
            assert like([*given[:n], given[0], *given[n + 1 :]]) is None


def test_arguments_that_are_never_compared() -> None:
    x = torch.ones(2)
    assert arrays_if_alike([x, x])([torch.ones(2), torch.ones(2)]) is None
    assert arrays_if_alike([torch.ones(2, requires_grad=True)])([torch.ones(2)]) is None


def test_an_alternative_is_enough() -> None:
    guards = Guards()
    guards.unless("x == 1", "x == 2")
    asked = guards.written("x", "True")
    assert [asked(x) for x in (1, 2, 3)] == [True, True, None]


def test_several_results_are_tensors_of_their_own_each_time() -> None:
    program = static.trace(lambda x: (x + 1, x * 2, x), torch.ones(2))
    x = torch.zeros(2)
    one, two, three = program(x)
    assert (one.tolist(), two.tolist()) == ([1.0, 1.0], [0.0, 0.0])
    assert three is x
    assert program(x)[0] is not one
