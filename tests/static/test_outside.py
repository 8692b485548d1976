"""What a program's run does to what is there outside of it: optimizers' groups, memory, versions, views, gradients."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static


def test_parameters_that_an_optimizer_is_given_later() -> None:
    def losses(wrap: Callable[[Any], Any]) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        optimizer = torch.optim.SGD([model[0].weight], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step, found = wrap(step), []
        for number in range(7):
            if number == 3:
                optimizer.add_param_group({"params": [model[1].weight]})
            found.append(step(torch.ones(4, 2)).item())
        return found

    assert losses(lambda step: static.compile(step, quiet=True)) == losses(lambda step: step)


def expanded_row(a: Any) -> Any:
    wide = a.sum(0, keepdim=True).expand(3, 3)
    wide.tanh()[0].add_(1)
    wide[0].add_(1)
    return wide


def reads_itself(a: Any) -> Any:
    turned = a.t().reshape(3, 3)
    doubled = turned * 2
    a.add_(turned)
    a @ doubled
    return doubled


@pytest.mark.parametrize("function", [expanded_row, reads_itself])
@pytest.mark.parametrize("passes", [static.PASSES, ("reuse",), ()])
def test_writes_into_what_was_expanded_or_turned(function: Any, passes: Any) -> None:
    program = static.compile(function, passes=passes, quiet=True)
    for seed in range(3):
        torch.manual_seed(seed)
        given = torch.randn(3, 3)
        twin = given.clone()
        assert torch.equal(program(given), function(twin))
        assert torch.equal(given, twin)
    assert program.variants


def test_a_write_into_an_argument_is_counted() -> None:
    program = static.compile(lambda x: x.mul_(5), quiet=True)
    for _ in range(3):
        program(torch.ones(2))
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    loss = (w * x).sum()
    program(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("function", [lambda x: x.t(), lambda x: (x * 2, x[0])])
def test_a_view_of_an_argument_is_one_at_each_call(function: Any) -> None:
    program = static.compile(function, quiet=True)
    w = torch.ones(2, requires_grad=True)
    for _ in range(3):
        x = torch.ones(2, 2)
        out = program(x)
        view = out[-1] if isinstance(out, tuple) else out
        assert view._is_view()
        assert view._base is x
        view.mul_(w)
        assert x.requires_grad
        assert x._version == 1


def test_accumulating_gradients_settles() -> None:
    def run(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any, last: bool) -> Any:
            loss = model(x).pow(2).sum()
            loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
            return loss

        step, found = wrap(step), []
        for number in range(16):
            found.append(step(torch.randn(4, 2), number % 4 == 3).item())
        return step, found

    program, found = run(lambda step: static.compile(step, quiet=True))
    assert found == run(lambda step: step)[1]
    assert len(program.variants) == 3, program.notes


@dataclasses.dataclass
class Result:
    value: Any


class Outputs(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("wrap", "unwrap"),
    [
        (Result, lambda out: out.value),
        (lambda t: Outputs(value=t), lambda out: out["value"]),
        (lambda t: (1, {"a": types.SimpleNamespace(value=t)}), lambda out: out[1]["a"].value),
        (lambda t: lambda: t, lambda out: out()),
        (lambda t: iter([t]), next),
    ],
    ids=["dataclass", "subclass of dict", "nested namespace", "closure", "iterator"],
)
def test_results_in_other_containers_are_not_those_of_the_first_call(wrap: Any, unwrap: Any) -> None:
    program = static.compile(lambda x: wrap(x * 2), quiet=True)
    assert [unwrap(program(torch.ones(1) * k)).item() for k in range(4)] == [0, 2, 4, 6]
    assert "it returns a" in program.notes[-1]


def test_a_write_into_what_has_a_history_belongs_to_it() -> None:
    def double(x: Any) -> None:
        x.mul_(2)

    program = static.compile(double, quiet=True)
    for _ in range(4):
        w = torch.ones(2, requires_grad=True)
        x = w.clone()
        program(x)
        x.sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]
