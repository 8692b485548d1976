"""State that a call changes and that no name in its code leads to."""

from __future__ import annotations

import functools
from collections import UserDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch.static._holdings import Holdings


class Counter:
    def __init__(self, function: Callable[..., Any] = abs) -> None:
        self.function, self.count = function, 0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        return self.function(x) * self.count


class Slotted:
    __slots__ = ("count",)


def add(holder: Any, key: Any, place: Callable[[Any], Any] = vars) -> Callable[[Any], Any]:
    """A function that counts at a place that no name in its code leads to."""

    def function(x: Any) -> Any:
        names = place(holder)
        names[key] = names.get(key, 0) + 1
        return x * names[key]

    return function


@Counter
def counted(x: Any) -> Any:
    return x + 1


def in_attribute(x: Any) -> Any:
    in_attribute.__dict__["n"] = in_attribute.__dict__.get("n", 0) + 1
    return x * in_attribute.__dict__["n"]


def by_a_computed_name() -> Callable[[Any], Any]:
    model = nn.Linear(2, 2)
    name = "".join(["ca", "lls"])

    def function(x: Any) -> Any:
        model.__setattr__(name, getattr(model, name, 0) + 1)
        return model(x) * model.__getattribute__(name)

    return function


def of_a_library_class() -> Callable[[Any], Any]:
    table: Any = UserDict(n=1)
    read, write = functools.partial(UserDict.__getitem__, table), functools.partial(UserDict.__setitem__, table)

    def function(x: Any) -> Any:
        write("n", read("n") + 1)
        return x * read("n")

    return function


PROGRAMS: dict[str, tuple[Callable[[], Callable[[Any], Any]], str]] = {
    "object": (lambda: [Counter(lambda x: x)][0].__call__, "self.count"),
    "in a list at a computed place": (lambda: lambda x: [None, counted][int("1")](x), "counted.count"),
    "attribute of the function": (lambda: in_attribute, "in_attribute"),
    "namespace": (lambda: add(SimpleNamespace(), "n"), "holder"),
    "item": (lambda: add([{"n": 0}], "n", lambda given: given[0]), "holder"),
    "computed name": (by_a_computed_name, "model"),
    "object of a library's class": (of_a_library_class, "write[0].data"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_that_counts_runs_as_it_is_written(name: str) -> None:
    make, said = PROGRAMS[name]
    torch.manual_seed(0)
    eager, x = make(), torch.ones(2)
    wanted = [eager(x) for _ in range(6)]
    in_attribute.__dict__.clear()
    counted.count = 0
    torch.manual_seed(0)
    compiled = static.compile(make(), quiet=True)
    assert all([torch.equal(compiled(x), value) for value in wanted])
    in_attribute.__dict__.clear()
    counted.count = 0
    assert not compiled.variants
    assert f"a call changes {said}" in compiled.notes[-1]


def holder(value: Any) -> Any:
    return lambda: value


def in_context(value: Any) -> ContextVar[Any]:
    variable: ContextVar[Any] = ContextVar("variable")
    variable.set(value)
    return variable


def numpy_like() -> Any:
    """An object of a class of people's own, in a module whose name begins as a library's."""
    return type("Like", (), {"__module__": "numpy_like"})()


CHANGES: dict[str, tuple[Any, Callable[[Any], Any], str]] = {
    "list": ([1], lambda v: v.append(2), "value"),
    "item of a list": ([[1], [2]], lambda v: v[1].append(2), "value[1]"),
    "dict": ({"a": [1]}, lambda v: v["a"].append(2), "value['a']"),
    "item of a dict": ({"a": 1}, lambda v: v.update(a=2), "value['a']"),
    "item more": ({"a": 1}, lambda v: v.update(b=2), "value['b']"),
    "another number of one value": ([1], lambda v: v.__setitem__(0, 1.0), "value"),
    "set": ({1}, lambda v: v.add(2), "value"),
    "deque": (deque([1]), lambda v: v.rotate(1) or v.append(2), "value"),
    "attribute": (Counter(), lambda v: setattr(v, "count", 1), "value.count"),
    "slot": (Slotted(), lambda v: setattr(v, "count", 1), "value.count"),
    "attribute of a class": (Slotted, lambda v: setattr(v, "shared", 1), "value.shared"),
    "default": (lambda a=[]: a, lambda v: v().append(1), "value.__defaults__[0]"),
    "bytes": (bytearray(b"a"), lambda v: v.append(1), "value"),
    "context": (in_context([]), lambda v: v.get().append(1), "value"),
    "many items": ([0] * 5000, lambda v: v.append(1), "value"),
    "key": ({(1, Slotted): 1}, lambda v: v.update({(2, Slotted): 1}), "value[1].key"),
    "method": (Counter().__call__, lambda v: setattr(v.__self__, "count", 1), "value.__self__.count"),
    "attribute of a parameter": (nn.Parameter(torch.ones(1)), lambda v: setattr(v, "n", 1), "value.n"),
    "class of a module with a library's name": (numpy_like(), lambda v: setattr(v, "n", 1), "value.n"),
    "module": (nn.Sequential(nn.ReLU()), lambda v: setattr(v[0], "n", 1), "value.0.n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_written_as_code_would(name: str) -> None:
    value, change, said = CHANGES[name]
    held = Holdings([(holder(value), "f")])
    assert held.changed() == ""
    change(value)
    assert held.changed() == said
    if name == "attribute of a class":
        del value.shared


def test_what_programs_bring_up_to_date_is_left_out() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    held = Holdings([(holder([w, optimizer, scheduler, {"w": w}]), "f")])
    w.sum().backward()
    optimizer.step()
    scheduler.step()
    assert held.changed() == ""


def test_objects_are_not_asked() -> None:
    class Odd(dict):
        def __iter__(self) -> Any:
            raise AssertionError

        __len__ = items = values = keys = __eq__ = __hash__ = __getattr__ = __iter__

    odd = Odd(a=1)
    held = Holdings([(holder(odd), "f")])
    assert held.changed() == ""
    odd["b"] = 1
    assert held.changed() == "value['b']"
