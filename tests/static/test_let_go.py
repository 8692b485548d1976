"""What programs keep alive: neither the arguments that they were traced on, nor objects for which there is one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def a_step() -> Callable[[Any], Any]:
    model = nn.Sequential(nn.Linear(300, 4), nn.BatchNorm1d(4), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "a result": lambda: lambda x: (x * 2).relu(),
    "a model": lambda: nn.Linear(300, 4),
    "a training step": a_step,
    "a view": lambda: lambda x: x[:3],
    "itself": lambda: lambda x: x,
    "a write": lambda: lambda x: x.add_(1),
    "a branch": lambda: lambda x: x * 2 if x.sum() > 0 else x,
    "a number": lambda: lambda x: (x * 2, x.sum().item()),
    "a choice": lambda: lambda x: x[x > 0],
    "random numbers": lambda: nn.Dropout(0.5),
    "lists and dicts": lambda: lambda x: {"a": [x + 1], "b": x},
    "refused": lambda: lambda x: (print(end=""), x * 2)[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_and_results_are_freed(name: str) -> None:
    function = static.compile(FUNCTIONS[name](), quiet=True)
    for _ in range(3):
        x = torch.rand(1000, 300)
        out = function(x)
        tensors = [x, *tensors_in(out)]
        known = [weakref.ref(t) for t in tensors] + [weakref.ref(t._array) for t in tensors]
        del x, out, tensors
        assert not [reference for reference in known if reference() is not None]


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def test_arguments_within_structures_and_of_gradients_are_freed() -> None:
    function = static.compile(lambda given, scale: given["x"] * scale, quiet=True)
    gradients = static.compile(lambda x: (x * x).sum(), quiet=True).gradients()
    for _ in range(3):
        x = torch.rand(1000, 300, requires_grad=True)
        known = weakref.ref(x), weakref.ref(x._array)
        function({"x": x.detach()}, 2.0)
        gradients(x)
        del x
        assert known[0]() is None
        assert known[1]() is None


def test_other_sizes_are_made_of_small_examples_or_of_those_of_trace(tmp_path: Path) -> None:
    axes = {"x": {0: "n"}}
    function = static.compile(lambda x: x * 2, quiet=True)
    x = torch.ones(3, 4)
    function(x)
    x.fill_(float("nan"))  # a batch's memory is used again
    del x
    function.to_python(tmp_path / "small.py", dynamic_axes=axes)
    assert [example().tolist() for example in function.variants[0].examples] == [[[1.0] * 4] * 3]

    large = static.compile(lambda x: x * 2, quiet=True)
    x = torch.ones(300, 400)
    large(x)
    large.to_python(tmp_path / "large.py", dynamic_axes=axes)
    del x
    large.to_python(tmp_path / "fixed.py")
    with pytest.raises(
        RuntimeError, match=r"which is gone, for large ones are not kept: trace the function with static\.trace"
    ):
        large.to_python(tmp_path / "gone.py", dynamic_axes=axes)
    static.trace(lambda x: x * 2, torch.ones(300, 400)).to_python(tmp_path / "traced.py", dynamic_axes=axes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fixed.py", "large.py", "small.py", "traced.py"]


# -- objects -----------------------------------------------------------------------------------------------------------
class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(30, 30)

    @static.compile(quiet=True)
    def forward(self, x: Any) -> Any:
        return self.layer(x).relu()


class Plain:
    def __init__(self) -> None:
        self.weight, self.factors = torch.ones(30, 30), [2.0]

    @static.compile(quiet=True)
    def forward(self, x: Any) -> Any:
        return x @ self.weight * self.factors[0]


class Slotted:
    __slots__ = ("__weakref__", "weight")

    def __init__(self) -> None:
        self.weight = torch.ones(30, 30)

    @static.compile(quiet=True)
    def forward(self, x: Any) -> Any:
        return x @ self.weight


class Trainer:
    def __init__(self) -> None:
        self.model = nn.Linear(30, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    @static.compile(quiet=True)
    def forward(self, x: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss


@pytest.mark.parametrize("kind", [Model, Plain, Slotted, Trainer])
def test_an_object_is_freed_with_its_programs(kind: Any) -> None:
    x, traced = torch.ones(2, 30), vars(kind)["forward"]
    other = kind()
    with torch.no_grad() if kind is not Trainer else torch.enable_grad():
        other.forward(x)
        for _ in range(3):
            it = kind()
            results = [it.forward(x) for _ in range(3)]
            assert len(traced.variants) == 2
            assert traced.variants[1].runs == 2
            known = weakref.ref(it), weakref.ref(getattr(it, "weight", results[0]))
            del it, results
            assert known[0]() is None
            assert known[1]() is None
            assert len(traced.variants) == 1
        runs = traced.variants[0].runs
        other.forward(x)
    assert traced.variants[0].runs == runs + 1
    assert len(traced._objects) == 1


def test_a_slot_is_compared_as_before() -> None:
    it, x = Slotted(), torch.ones(2, 30)
    before = it.forward(x)
    it.weight = torch.zeros(30, 30)
    assert it.forward(x).sum() == 0
    assert before.sum() != 0
    assert Slotted.forward.notes[-1].startswith("an argument.weight is another one")


def test_a_model_that_is_an_argument_is_freed() -> None:
    function = static.compile(lambda model, x: model(x) * 2, quiet=True)
    model, x = nn.Linear(30, 3), torch.ones(2, 30)
    with torch.no_grad():
        wanted = model(x) * 2
        assert [torch.equal(function(model, x), wanted) for _ in range(3)] == [True] * 3
    known = weakref.ref(model), weakref.ref(model.weight)
    del model
    assert known[0]() is None
    assert known[1]() is None
    assert not function.variants


def test_what_is_refused_for_an_object_is_not_for_another_at_its_address() -> None:
    function = static.compile(lambda model, x: model(x), quiet=True)
    x = torch.ones(2, 3)
    for _ in range(5):
        loud = nn.Linear(3, 3)
        loud.register_forward_hook(lambda *_: print(end=""))
        function(loud, x)
        del loud
        assert not function._refused
        assert not function._tries


def test_an_object_that_is_new_at_each_call_is_not_traced_for_ever() -> None:
    function = static.compile(lambda x, scale: scale(x) + 1, quiet=True)
    for _ in range(100):
        assert function(torch.ones(2), lambda x: x * 2).tolist() == [3.0, 3.0]
    assert len(function.notes) == 64
    assert function.notes[0].startswith("scale is another function: traced anew for each")
    assert function.notes[-1].startswith("there are programs for 64 kinds of arguments already")


def test_to_python_of_a_function_of_a_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    program = static.trace(lambda model, x: model(x), nn.Linear(3, 2), torch.ones(4, 3))
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    program.to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})
    namespace: dict[str, Any] = {"__file__": str(tmp_path / "many.py"), "__name__": "many"}
    exec((tmp_path / "many.py").read_text(), namespace)
    assert namespace["forward"](np.ones((7, 3), np.float32)).tolist() == model(torch.ones(7, 3)).tolist()
