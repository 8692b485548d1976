"""Objects whose attributes are made by code of their own: that code runs when the function does, and not besides."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import minitorch as torch
from minitorch import static

SCALE = 2.0


class Items(dict[str, float]):
    """Its items as attributes; KeyError for others."""

    __getattr__ = dict.__getitem__


class Scaled(dict[str, float]):
    def __getattr__(self, name: str) -> float:
        return self[name] * SCALE


class Counting:
    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        self.asked += 1
        if name == "value":
            return self.asked
        raise AttributeError(name)


class Slots:
    __slots__ = ("value",)
    asked = 0

    def __getattr__(self, name: str) -> float:
        type(self).asked += 1
        return 5.0


def test_a_dict_whose_items_are_attributes() -> None:
    items: Any = Items(k=2.0)
    x = torch.ones(1)
    program = static.compile(lambda x: x * items.k, quiet=True)
    assert [program(x).item() for _ in range(3)] == [2.0, 2.0, 2.0]
    assert not program.notes
    items["k"] = 3.0
    assert program(x).item() == 3.0
    assert program.notes == ["items['k'] is another one: traced anew"]


def test_what_a_dict_of_another_class_reads_is_seen(monkeypatch: Any) -> None:
    scaled: Any = Scaled(k=2.0)
    x = torch.ones(1)
    program = static.compile(lambda x: x * scaled.k, quiet=True)
    assert [program(x).item() for _ in range(2)] == [4.0, 4.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert program(x).item() == 6.0
    assert program.notes == ["SCALE is another one: traced anew"]


def test_attributes_that_count_are_asked_for_by_the_function_alone() -> None:
    def values(wrap: Any) -> Any:
        counting = Counting()
        function = wrap(lambda x: x * counting.value)
        return [function(torch.ones(1)).item() for _ in range(5)], counting.asked

    assert values(lambda f: static.compile(f, quiet=True)) == values(lambda f: f) == ([1.0, 2.0, 3.0, 4.0, 5.0], 5)


def test_a_slot_that_is_empty() -> None:
    slots: Any = Slots()
    x = torch.ones(1)
    program = static.compile(lambda x: x * slots.value, quiet=True)
    for asked in range(1, 6):
        assert program(x).item() == 5.0
        assert Slots.asked == asked
    slots.value = 7.0
    assert program(x).item() == 7.0


@pytest.mark.parametrize("nested", [False, True])
def test_a_lazy_module_gets_its_shapes_at_the_first_call(nested: bool) -> None:
    torch.manual_seed(0)
    model: Any = torch.nn.LazyLinear(2)
    program = static.compile((lambda x: model(x) * 2) if nested else model, quiet=True)
    x = torch.ones(1, 3)
    with torch.no_grad():
        assert [program(x).tolist() for _ in range(3)] == [(model(x) * (1 + nested)).tolist()] * 3
    assert len(program.variants) == 1
    assert not program.notes


@pytest.mark.parametrize("call", ["eval", "exec", "globals"])
def test_what_may_read_anything_is_not_repeated(call: str, monkeypatch: Any) -> None:
    names: dict[str, Any] = {}
    functions: Any = {
        "eval": lambda x: x * eval("SCALE", globals(), names),
        "exec": lambda x: exec("y = x * SCALE", globals(), {"x": x}) or x,
        "globals": lambda x: x * globals()["SCALE"],
    }
    program = static.compile(functions[call], quiet=True)
    program(torch.ones(1))
    assert program.notes[0].startswith("it runs as it is written: it calls ")
    assert call == "exec" or program(torch.ones(1)).item() == 2.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert call == "exec" or program(torch.ones(1)).item() == 3.0


def test_a_namespace_that_code_ran_in_holds_the_builtins_too() -> None:
    names: dict[str, Any] = {"scale": 2.0}
    exec("twice = scale * 2", names)
    program = static.compile(lambda x: x * names["twice"], quiet=True)
    assert [program(torch.ones(1)).item() for _ in range(2)] == [4.0, 4.0]
    assert not program.notes


def test_methods_are_pickled_while_a_function_is_traced_that_computes_names() -> None:
    copies: list[Any] = []

    def function(x: torch.Tensor, name: str) -> torch.Tensor:
        copies.append(pickle.loads(pickle.dumps("a".upper)))
        return x * getattr(Counting(), name.lower())

    traced = static.compile(function, quiet=True)
    assert traced(torch.ones(1), "VALUE").item() == 1
    assert copies[0]() == "A"
