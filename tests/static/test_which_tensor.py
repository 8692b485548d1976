"""What a function may ask of a tensor besides its values: which one it is, whose memory it shows, its hooks, its origin."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import static


def itself() -> tuple[Any, Any]:
    a = torch.arange(6.0)[:3]
    return a, a


def another_of_the_same() -> tuple[Any, Any]:
    memory = torch.arange(6.0)
    return memory[:3], memory[:3]


def detached() -> tuple[Any, Any]:
    a = torch.arange(6.0)[:3]
    return a, a.detach()


def overlapping() -> tuple[Any, Any]:
    memory = torch.arange(6.0)
    return memory[1:4], memory[:3]


def beside() -> tuple[Any, Any]:
    memory = torch.arange(6.0)
    return memory[:3], memory[3:]


def apart() -> tuple[Any, Any]:
    return torch.arange(3.0), torch.arange(3.0) * 2


PAIRS = [itself, another_of_the_same, detached, overlapping, beside, apart]


def written(a: Any, b: Any) -> Any:
    a.mul_(2)
    return b + 1


def read(a: Any, b: Any) -> Any:
    return a * 10 + b


def given_back(a: Any, b: Any) -> Any:
    return b, a


def compared(a: Any, b: Any) -> Any:
    return a * 2 if a is b else a + b * 3


def both_written(a: Any, b: Any) -> Any:
    b.add_(a)
    return a.add_(b).mul_(b)


@pytest.mark.parametrize("function", [written, read, given_back, compared, both_written])
def test_arguments_of_one_memory(function: Callable[..., Any]) -> None:
    def bits(run: Callable[..., Any], pair: Callable[[], tuple[Any, Any]]) -> list[Any]:
        given = pair()
        out = run(*given)
        return [t.tolist() for t in (*(out if isinstance(out, tuple) else (out,)), *given)]

    for first, second in itertools.permutations(PAIRS, 2):
        program = static.compile(function, quiet=True)
        for pair in (first, second, first):
            assert bits(program, pair) == bits(function, pair), (first.__name__, second.__name__)
        assert program.variants


NAMED = [torch.ones(3), torch.full((3,), 2.0)]
FACTORS = {NAMED[0]: 2.0, NAMED[1]: 3.0}


def one_of_them(x: Any) -> Any:
    return x * 2 if any([x is named for named in NAMED]) else x + 100


def looked_up(x: Any) -> Any:
    return x * FACTORS.get(x, 1.0)


@pytest.mark.parametrize("function", [one_of_them, looked_up])
def test_an_argument_that_is_read_by_name_too(function: Callable[[Any], Any]) -> None:
    arguments = [torch.zeros(3) + 5, NAMED[0], NAMED[0].detach(), NAMED[1]]
    for order in itertools.permutations(arguments):
        program = static.compile(function, quiet=True)
        for x in (*order, *order):
            assert program(x).tolist() == function(x).tolist()


def test_hooks_of_an_argument() -> None:
    def slope(x: Any) -> Any:
        return torch.autograd.grad((x * x).sum(), x)[0]

    plain, hooked = [torch.ones(3, requires_grad=True) for _ in range(2)]
    hooked.register_hook(lambda g: g * 10)
    made = hooked * 1
    made.register_hook(lambda g: g * 100)
    program = static.compile(slope, quiet=True)
    found = [program(x)[0].item() for x in (plain, hooked, made, *[hooked] * 5, plain)]
    assert found == [2.0, 20.0, 200.0, *[20.0] * 5, 2.0]
    assert "an argument has hooks" in str(program.notes)
    assert len(program.variants) == 1


def test_a_hook_after_another_was_removed() -> None:
    w = torch.ones(3, requires_grad=True)
    factors = [3.0]

    def slope(x: Any) -> Any:
        return torch.autograd.grad((x * w * w).sum(), w)[0]

    program = static.compile(slope, quiet=True)
    x = torch.ones(3)
    found = [program(x)[0].item()]
    w.register_hook(lambda g: g * 10).remove()
    found.append(program(x)[0].item())
    w.register_hook(lambda g: g * factors[0])
    found.append(program(x)[0].item())
    factors[0] = 5.0
    assert [*found, program(x)[0].item()] == [2.0, 2.0, 6.0, 10.0]


@pytest.mark.parametrize(
    "asked",
    [
        lambda x: x._is_view(),
        lambda x: len(x.untyped_storage()) > 12,
        lambda x: x.is_inference(),
        lambda x: x.data_ptr() == NAMED[0].data_ptr(),
        lambda x: x.is_set_to(NAMED[0]),
        lambda x: x.requires_grad and "Mul" in x.grad_fn.name(),
    ],
    ids=["view", "storage", "inference", "address", "set to", "grad_fn"],
)
def test_how_an_argument_was_made(asked: Callable[[Any], bool]) -> None:
    def function(x: Any) -> Any:
        return x * 2 if asked(x) else x + 100

    w = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        unfollowed = torch.ones(3)
    arguments = [torch.ones(3), torch.ones(4)[:3], unfollowed, NAMED[0].detach(), w + 1, w * 1]
    with torch.no_grad():
        answers = [function(x).tolist() for x in arguments]
        assert len({str(a) for a in answers}) > 1
        for order in (1, -1):
            program = static.compile(function, quiet=True)
            assert [program(x).tolist() for x in arguments[::order]] == answers[::order]
