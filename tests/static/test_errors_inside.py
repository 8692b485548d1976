"""Errors within compiled programs: those of eager code, which leaves what it had changed by then; and gradients returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch.nn import functional as F

FAILING: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "embedding": (lambda i: F.embedding(i, torch.ones(4, 3)), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "getitem": (lambda i: torch.ones(4)[i], torch.tensor([0, 1]), torch.tensor([0, 9])),
    "after others": (lambda i: ((i * 2).float().relu() + 1)[i], torch.tensor([0, 1]), torch.tensor([0, 9])),
    "gather": (lambda i: torch.ones(4).gather(0, i), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "scatter": (lambda i: torch.zeros(4).scatter(0, i, 1.0), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "index_select": (lambda i: torch.ones(4).index_select(0, i), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "one_hot": (lambda i: F.one_hot(i, 5), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "nll_loss": (lambda t: F.nll_loss(torch.ones(2, 3), t), torch.tensor([0, 1]), torch.tensor([0, 9])),
    "floor_divide": (lambda d: 4 // d, torch.tensor([1, 2]), torch.tensor([0, 2])),
    "bernoulli": (torch.bernoulli, torch.ones(2) / 2, torch.ones(2) * 2),
    "multinomial": (lambda p: torch.multinomial(p, 1), torch.ones(2), -torch.ones(2)),
    "after a draw": (lambda i: F.dropout(torch.ones(4))[i], torch.tensor([0, 1]), torch.tensor([0, 9])),
    "binary_cross_entropy": (
        lambda p: F.binary_cross_entropy(p, torch.ones(2)),
        torch.ones(2) / 2,
        torch.ones(2) * 2,
    ),
    "binary_cross_entropy of NaN": (
        lambda p: F.binary_cross_entropy(p, torch.ones(2)),
        torch.ones(2) / 2,
        torch.ones(2) * float("nan"),
    ),
    "inv": (torch.linalg.inv, torch.eye(2), torch.zeros(2, 2)),
}


@pytest.mark.parametrize("name", FAILING)
def test_the_error_and_what_was_changed_are_those_of_eager_code(name: str) -> None:
    function, good, bad = FAILING[name]

    def seen(compiled: bool) -> Any:
        torch.manual_seed(0)
        calls, weight = torch.zeros(3), torch.ones(3, requires_grad=True)

        def step(given: Any) -> Any:
            calls.add_(1)
            weight.grad = None
            found = function(given)
            (weight * found.sum()).sum().backward()
            calls.mul_(2)
            return found

        run: Any = static.compile(step, quiet=True) if compiled else step
        for _ in range(3):
            run(good)
        with pytest.raises((RuntimeError, IndexError)) as raised:
            run(bad)
        if compiled:
            assert [variant.runs for variant in run.variants] == [2], run.notes
        grad = None if weight.grad is None else weight.grad.tolist()
        return type(raised.value), str(raised.value), calls.tolist(), calls._version, grad, torch.rand(3).tolist()

    assert seen(True) == seen(False)


def test_a_generator_goes_back_to_a_place() -> None:
    generator = torch.Generator().manual_seed(3)
    for count in (0, 1, 700, 5000, 30000):
        torch.rand(count, generator=generator)
        place = generator.place()
        first = [torch.rand(n, generator=generator) for n in (3, 700, 20000)]
        state = generator.get_state()
        generator.again(place)
        again = [torch.rand(n, generator=generator) for n in (3, 700, 20000)]
        assert all(map(torch.equal, first, again))
        assert torch.equal(generator.get_state(), state)


def test_a_gradient_that_is_returned_is_the_gradient() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    @static.compile(quiet=True)
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return model.weight.grad, model.bias.grad

    for _ in range(3):
        weight, bias = step(torch.ones(4, 3))
        assert weight is model.weight.grad
        assert bias is model.bias.grad
    assert step.variants[0].runs == 2


def test_one_program_for_keywords_in_any_order() -> None:
    program = static.trace(lambda a, b, *, c=1.0: a * 2 + b * c, torch.ones(2), torch.zeros(2), quiet=True)
    a, b = torch.ones(2), torch.full((2,), 3.0)
    for found in (program(a, b), program(a, b=b), program(b=b, a=a), program(a=a, b=b)):
        assert found.tolist() == [5.0, 5.0]
    assert len(program.variants) == 1
    assert program(b=b, c=2.0, a=a).tolist() == program(a, b, c=2.0).tolist() == [8.0, 8.0]
    assert len(program.variants) == 2


def test_positions_are_told_from_keywords_where_a_function_does() -> None:
    def told(a: Any, /, b: Any = None, **others: Any) -> Any:
        return a + (0 if b is None else b) + sum([n * value for n, value in enumerate(others.values(), 1)])

    program = static.compile(told, quiet=True)
    x = torch.ones(1)
    assert program(x, a=x, c=x * 10).tolist() == told(x, a=x, c=x * 10).tolist() == [22.0]
    assert program(x, c=x * 10, a=x).tolist() == told(x, c=x * 10, a=x).tolist() == [13.0]
    assert program(x, b=x, c=x).tolist() == [3.0]
    with pytest.raises(TypeError):
        program(a=x)


def test_notes_say_what_of_a_module_is_another_one() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    model, plain = Scaled(), nn.Sequential(nn.Linear(2, 2))
    program = static.compile(lambda x: model(plain(x)), quiet=True)
    weights = {torch.ones(1000): 1.0}
    weighted = static.compile(lambda x: x * next(iter(weights.values())), quiet=True)
    x = torch.ones(1, 2)
    with torch.no_grad():
        program(x)
        plain.register_forward_hook(lambda *args: None)
        program(x)
        model.inner.register_forward_pre_hook(lambda *args: None)
        program(x)
        model.add_module("further", nn.ReLU())
        program(x)
        plain.add_module("further", nn.ReLU())
        program(x)
        weighted(x)
        weights[next(iter(weights))] = 2.0
        weighted(x)
    assert [note.removesuffix(": traced anew") for note in (*program.notes, *weighted.notes)] == [
        "plain has other hooks than before",
        "model.inner has other hooks than before",
        "model.further is another one",
        "plain.further is another one",
        "weights[a Tensor] is another one",
    ]


def test_another_order_of_items_is_said() -> None:
    program = static.compile(lambda d: d["a"] + d["b"] * 2, quiet=True)
    a, b = torch.ones(1), torch.zeros(1)
    program({"a": a, "b": b})
    program({"b": b, "a": a})
    assert program.notes == ["the items of d come in another order than before: traced anew"]
