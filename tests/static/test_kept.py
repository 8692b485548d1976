"""What a function keeps, copies or catches: a program does what the function does, or says why it cannot."""

from __future__ import annotations

import copy
import functools
from array import array
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static


def results(function: Callable[..., Any], *calls: Any) -> list[Any]:
    """What it gives for each of these, with numbers in the place of tensors."""
    return [out.tolist() if isinstance(out := function(x), torch.Tensor) else out for x in calls]


def test_an_assigned_gradient_is_no_reason_to_trace_anew() -> None:
    def trained(wrap: Callable[..., Any]) -> tuple[Any, Any]:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            (g,) = torch.autograd.grad((w * w * x).sum(), [w])
            w.grad = g * 2
            optimizer.step()
            return g

        run = wrap(step)
        return results(run, *[torch.ones(2)] * 4), run

    (wanted, _), (found, program) = trained(lambda f: f), trained(lambda f: static.compile(f, quiet=True))
    assert found == wanted
    assert (len(program.variants), program.notes) == (1, [])


def test_a_copy_of_a_model_is_made_afresh() -> None:
    model = nn.Linear(2, 2)

    def function(x: Any) -> Any:
        return copy.deepcopy(model)(x).detach()

    program = static.compile(function)
    for _ in range(3):
        assert results(program, torch.ones(2)) == results(function, torch.ones(2))
        with torch.no_grad():
            model.bias.add_(1)
    assert (len(program.variants), program.notes) == (1, [])


@pytest.mark.parametrize(
    "failing",
    [
        lambda x: torch.linalg.inv(x),
        lambda x: torch.linalg.cholesky(x),
        lambda x: x[x.sum().long()],
        lambda x: nn.functional.embedding(x.sum().long(), torch.ones(1, 2)),
    ],
)
def test_an_error_that_is_caught(failing: Callable[..., Any]) -> None:
    def function(x: Any) -> Any:
        try:
            return failing(x)
        except (RuntimeError, IndexError):
            return x - 1

    program = static.compile(function, quiet=True)
    calls = [torch.full((2, 2), -3.0), torch.eye(2) * -1, torch.eye(2), torch.full((2, 2), 7.0), torch.eye(2)]
    assert results(program, *calls) == results(function, *calls)


def test_an_optimizer_that_the_call_makes() -> None:
    def trained(wrap: Callable[..., Any]) -> tuple[Any, Any]:
        w = torch.tensor([1.0, 2.0], requires_grad=True)

        def function(x: Any) -> Any:
            optimizer = torch.optim.Adam([w], lr=0.1)
            optimizer.zero_grad()
            (w * x).pow(2).sum().backward()
            optimizer.step()
            return w.detach().clone()

        run = wrap(function)
        return results(run, *[torch.ones(2)] * 5), run

    (wanted, _), (found, program) = trained(lambda f: f), trained(lambda f: static.compile(f, quiet=True))
    assert found == wanted
    assert "made in the call" in program.notes[0]


def test_functions_with_a_cache() -> None:
    @functools.lru_cache
    def table(size: int) -> Any:
        return torch.arange(float(size))

    @functools.cache
    def mask(size: int) -> Any:
        return (torch.rand(size) > 0.5).float()

    program = static.compile(lambda x: x + table(len(x)), quiet=True)
    assert results(program, *[torch.ones(3)] * 4) == [[1.0, 2.0, 3.0]] * 4
    assert len(program.variants) == 1
    table.cache_clear()
    assert results(program, torch.ones(3)) == [[1.0, 2.0, 3.0]]

    program = static.compile(lambda x: x * mask(len(x)), quiet=True)
    first, *others = results(program, *[torch.ones(20)] * 5)
    assert others == [first] * 4


def test_containers_of_bytes_and_context_variables() -> None:
    numbers, octets, variable = array("d", [2.0]), bytearray(b"\x02"), ContextVar("variable", default=1.0)
    program = static.compile(lambda x: x * numbers[0] * octets[0] * variable.get(), quiet=True)
    assert results(program, torch.ones(1)) == [[4.0]]
    numbers[0] = 3.0
    assert results(program, torch.ones(1)) == [[6.0]]
    octets[0] = 5
    assert results(program, torch.ones(1)) == [[15.0]]
    variable.set(10.0)
    assert results(program, torch.ones(1)) == [[150.0]]
    assert len(program.variants) == 4


@pytest.mark.parametrize(
    "read", [lambda x: x._version, lambda x: x.storage_offset(), lambda x: torch.get_num_threads()]
)
def test_what_no_program_asks_for_again(read: Callable[..., Any]) -> None:
    program = static.compile(lambda x: x * read(x), quiet=True)
    whole = torch.ones(4)
    calls = [whole[:2], whole[1:3], whole[2:].add_(0)]
    assert results(program, *calls) == [(x * read(x)).tolist() for x in calls]
    assert "it reads" in program.notes[0]


def test_a_function_in_a_graph_that_writes_into_its_argument() -> None:
    x = static.placeholder("x")
    y = static.apply(lambda t: t.mul_(2), x)
    run = static.Executor([y, x + 1]).run
    fed = np.ones(2, np.float32)
    for _ in range(3):
        assert [value.tolist() for value in run({x: fed})] == [[2.0, 2.0], [2.0, 2.0]]
    assert fed.tolist() == [1.0, 1.0]

    run = static.Executor(static.apply(lambda t: t.mul_(2) if t[0] > 1 else t * 3, x)).run
    assert run({x: fed})[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="in some runs only"):
        run({x: fed + 1})


def test_what_is_looked_up_in_vain_is_no_error() -> None:
    model = nn.Linear(2, 2, bias=False)

    def function(x: Any) -> Any:
        scale = 2 if hasattr(model, "scale") else 3
        return model(x).detach() * scale * getattr(model, "other", 1) * next(model.parameters()).detach()

    program = static.compile(function)
    assert results(program, *[torch.ones(2)] * 2) == results(function, *[torch.ones(2)] * 2)
    assert (len(program.variants), program.notes) == (1, [])


def test_elements_that_a_function_of_python_makes() -> None:
    functions = [
        lambda x: x.clone().apply_(lambda v: v + 1),
        lambda x: (x * 2).map_(x, lambda a, b: a * b),
        lambda x: torch.zeros(2).map2_(x, x + 1, lambda a, b, c: b * c),
    ]
    calls = [torch.tensor(row) for row in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0])]
    for function in functions:
        program = static.compile(function, quiet=True)
        assert results(program, *calls) == results(function, *calls)


def test_versions_count_each_write() -> None:
    state = torch.zeros(2)

    def function(x: Any) -> Any:
        state.add_(x)
        state[0].mul_(2)
        return state.sum()

    program = static.compile(function)
    counts = []
    for _ in range(3):
        before = state._version
        program(torch.ones(2))
        counts.append(state._version - before)
    assert counts == [2, 2, 2]


def test_an_error_after_a_write_says_what_the_operation_says() -> None:
    state = torch.zeros(2)

    def function(x: Any, i: Any) -> Any:
        state[0].add_(1)
        return (x * state)[i] * 2  # which cannot come before the write

    program = static.compile(function)
    program(torch.ones(2), torch.tensor([0]))
    with pytest.raises(
        IndexError, match=r"index 5 is out of bounds .* input has shape \(2,\) and dtype float32"
    ) as raised:
        program(torch.ones(2), torch.tensor([5]))
    assert raised.value.__notes__ == [
        "It failed within a compiled program: what that had written before stays written."
    ]


def test_an_executor_follows_the_default_dtype() -> None:
    x = static.placeholder("x")
    run = static.Executor([x / 2, x * 0.5, (x * 2).sqrt()]).run
    try:
        for dtype in (torch.float32, torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            assert {torch.from_numpy(value).dtype for value in run({x: np.array([1, 2])})} == {dtype}
    finally:
        torch.set_default_dtype(torch.float32)
