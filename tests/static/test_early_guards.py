"""Branches over values in blocks that write, draw and make steps: asked before anything is changed, or refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn, static
from minitorch.nn import functional as F
from minitorch.nn.modules.module import register_module_forward_hook


class State:
    """What a block changes."""

    def __init__(self) -> None:
        self.total, self.other, self.count = torch.zeros(4), torch.ones(4), torch.zeros((), dtype=torch.int64)
        self.weight = torch.tensor([1.0, -1.0, 0.5, 2.0], requires_grad=True)
        self.optimizer = torch.optim.SGD([self.weight], lr=0.1, momentum=0.5)
        self.generator = torch.Generator()
        self.generator.manual_seed(1)

    def seen(self) -> list[Any]:
        grad = self.weight.grad
        known = [self.total, self.other, self.count, self.weight.detach(), torch.zeros(4) if grad is None else grad]
        return [t.clone() for t in known] + [torch.rand(2), torch.rand(2, generator=self.generator)]


def add(s: State, v: Any) -> Any:
    s.total.add_(v.detach())
    return v


def copy(s: State, v: Any) -> Any:
    s.other.copy_(v.detach() * 0.5)
    return v + s.other


def write_a_view(s: State, v: Any) -> Any:
    s.total[1:3].mul_(0.5)
    return v + s.total[:4]


def write_what_was_made(s: State, v: Any) -> Any:
    own = v.detach() * 1
    own[0] = 0.25
    return v + own


def count(s: State, v: Any) -> Any:
    s.count += 1
    return v


def draw(s: State, v: Any) -> Any:
    return v + torch.rand(4) + torch.randn(1)


def draw_from_another(s: State, v: Any) -> Any:
    return v * torch.rand(4, generator=s.generator)


def clear(s: State, v: Any) -> Any:
    s.optimizer.zero_grad()
    return v


def zero(s: State, v: Any) -> Any:
    s.optimizer.zero_grad(set_to_none=False)
    return v


def backward(s: State, v: Any) -> Any:
    (s.weight * v.detach()).square().sum().backward()
    return v


def clip(s: State, v: Any) -> Any:
    if s.weight.grad is not None:
        nn.utils.clip_grad_norm_([s.weight], 1.0)
        v = v + s.weight.grad
    return v


def step(s: State, v: Any) -> Any:
    s.optimizer.step()
    return v + s.weight.detach()


def by_value(s: State, v: Any) -> Any:
    return v * 0.5 if v.sum() > 4 else v + 0.25


def by_total(s: State, v: Any) -> Any:
    if s.total.sum() > 6:
        s.total.zero_()
    return v


def by_other(s: State, v: Any) -> Any:
    return v - 1 if s.other.max() > 1.5 else v


def by_count(s: State, v: Any) -> Any:
    return v + 1 if s.count % 3 == 0 else v


def by_gradient(s: State, v: Any) -> Any:
    return v * 0.5 if s.weight.grad is not None and s.weight.grad.norm() > 0.9 else v


def by_weight(s: State, v: Any) -> Any:
    return v - 0.5 if s.weight.sum() > 1 else v


ACTIONS = [
    add, copy, write_a_view, write_what_was_made, count, draw, draw_from_another, clear, zero, backward, clip, step,
    by_value, by_total, by_other, by_count, by_gradient, by_weight,
]  # fmt: skip


def bits(values: Any) -> list[bytes]:
    return [v.detach().numpy().tobytes() for v in values]


def ran(actions: list[Any], compile_: Callable[[Any], Any]) -> list[Any]:
    torch.manual_seed(0)
    state, found = State(), []

    @compile_
    def block(v: Any) -> Any:
        for action in actions:
            v = action(state, v)
        return v.detach() * 1

    for number in range(7):
        given = torch.tensor([0.1, 0.5, -0.5, 1.0]) * (number % 3)
        found.append(bits([block(given), *state.seen()]))
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(ACTIONS), min_size=2, max_size=7))
@example([zero, step, clear, backward])
@pytest.mark.filterwarnings("ignore:.*found before the first:UserWarning")
def test_blocks_that_ask_after_they_have_written(actions: list[Any]) -> None:
    wanted = ran(actions, lambda function: function)
    for passes in (static.PASSES, ("guards first",)):
        assert ran(actions, functools.partial(static.compile, passes=passes, quiet=True)) == wanted


def programs_of(actions: list[Any]) -> tuple[list[static.Traced], bool]:
    made: list[static.Traced] = []

    def compile_(function: Any) -> Any:
        made.append(static.compile(function, quiet=True))
        return made[0]

    return made, ran(actions, compile_) == ran(actions, lambda function: function)


@pytest.mark.parametrize(
    "actions",
    [
        [clear, by_value, backward, step],
        [clear, backward, clip, by_gradient, step],
        [count, by_count, clear, backward, step],
        [add, by_total],
        [copy, write_what_was_made, by_other, by_value],
        [draw, draw_from_another, by_value, clear, backward, step],
    ],
)
def test_what_can_be_asked_first_is_a_program(actions: list[Any]) -> None:
    made, right = programs_of(actions)
    assert right
    assert sum([v.runs for v in made[0].variants]) > 1
    assert not [note for note in made[0].notes if "written" in note]


@pytest.mark.parametrize(
    "actions", [[step, by_weight], [write_a_view, by_total], [step, draw, by_value], [zero, backward, by_gradient]]
)
def test_what_depends_on_what_was_changed_runs_as_it_is_written(actions: list[Any]) -> None:
    made, right = programs_of(actions)
    assert right
    assert "becomes Python's by bool() after something was written or stepped" in "".join(made[0].notes)


def test_memory_that_comes_to_be_shared() -> None:
    def found(compile_: Any) -> Any:
        first, second, seen = torch.ones(3), torch.full((3,), 2.0), []

        @compile_
        def f(x: Any) -> Any:
            first.add_(1)
            total = (second * x).sum()
            return total * 2 if total > 0 else total

        for number in range(6):
            if number == 2:
                second.data = first.data
            seen += [f(torch.ones(3)), first.clone(), second.clone()]
        return bits([*seen, f(first), first])

    assert found(lambda f: static.compile(f, quiet=True)) == found(lambda f: f)


@pytest.mark.parametrize("size", [2, 700])
def test_draws_are_made_again_where_a_guard_fails(size: int) -> None:
    def found(compile_: Any) -> Any:
        generator = torch.Generator()
        generator.manual_seed(2)
        torch.manual_seed(2)

        @compile_
        def f(x: Any) -> Any:
            noise = torch.rand(size) + torch.randn(1) + torch.rand(size, generator=generator)
            return noise * 2 if (noise + x).mean() > 1 else noise

        seen = [f(torch.zeros(())) for _ in range(30)]
        return bits([*seen, torch.rand(3), torch.randn(1), torch.rand(3, generator=generator), torch.get_rng_state()])

    compiled: list[Any] = []
    assert found(lambda f: compiled.append(static.compile(f, quiet=True)) or compiled[0]) == found(lambda f: f)
    assert sum([v.runs for v in compiled[0].variants]) == 28


def test_values_that_differ_at_each_call_make_no_programs() -> None:
    total = torch.zeros(())

    def f(x: Any) -> Any:
        total.add_(1)
        return x * x.sum().item()

    compiled = static.compile(f, quiet=True)
    for number in range(4):
        assert compiled(torch.tensor([1.0, number])).tolist() == [1.0 + number, number * (1.0 + number)]
    assert not compiled.variants
    assert "item() after something was written" in "".join(compiled.notes)


# -- numbers that are returned -----------------------------------------------------------------------------------------
N = torch.zeros((), dtype=torch.int64)


def helper(value: Any) -> Any:
    return value.item()


def nested(value: Any) -> Any:
    return {"a": [helper(value), 1], "b": float(value)}


def read_and_written(loss: Any, x: Any) -> Any:
    before = N.item()
    N.add_(5)
    after = N.item()
    N.sub_(5)
    return [before, after, (loss.item(),), len(x)]


def in_blocks(loss: Any, x: Any) -> Any:
    with torch.no_grad():
        value = loss.item()
        try:
            return {"value": value, "count": N.item()}
        finally:
            loss.add_(1)


def over_a_loop(loss: Any, x: Any) -> Any:
    value = loss.item()
    for _ in range(2):
        value = value
    return value


@torch.no_grad()
def decorated(loss: Any, x: Any) -> Any:
    return loss.item(), N


RETURNED: dict[str, Any] = {
    "alone": lambda loss, x: loss.item(),
    "by helpers": lambda loss, x: (helper(loss), nested(loss), helper(N)),
    "of each kind": lambda loss, x: (float(loss), int(N), bool(N > 3), float(N), loss.tolist(), (x > 0).all().item()),
    "read and written": read_and_written,
    "in blocks": in_blocks,
    "over a loop": over_a_loop,
    "decorated": decorated,
    "with tensors": lambda loss, x: {"loss": loss, "number": loss.item(), "n": len(x)},
}


def branches(loss: Any, x: Any) -> Any:
    value = loss.item()
    return (value, 1) if value > 5 else (value, 0)


def overwritten(loss: Any, x: Any) -> Any:
    value = loss.item()
    if len(x) == 2:
        value = N.item()
    return value


def kept(loss: Any, x: Any) -> Any:
    value = loss.item()
    return (lambda: value)()


def stored(loss: Any, x: Any) -> Any:
    found = {}
    found["loss"] = loss.item()
    return found


USED: dict[str, Any] = {
    "branches": branches,
    "overwritten": overwritten,
    "kept": kept,
    "stored": stored,
    "several": lambda loss, x: [value.item() for value in (loss, N)],
    "rounded": lambda loss, x: round(loss.item(), 3),
    "reckoned": lambda loss, x: helper(loss) + 1,
    "shown": lambda loss, x: f"{loss.item():.3f}",
    "keyed": lambda loss, x: {loss.item(): 1},
    "chosen": lambda loss, x: loss.item() or 1,
    "chosen from": lambda loss, x: (loss.item(), 1)[0],
    "made a tensor": lambda loss, x: torch.tensor(loss.item()),
    "twice": lambda loss, x: [loss.item()] * 2,
    "compared": lambda loss, x: max(loss.item(), 5.0),
    "unpacked": lambda loss, x: (*[loss.item()], 1),
}


@pytest.mark.parametrize("name", [*RETURNED, *USED])
def test_numbers_that_are_returned(name: str) -> None:
    body = (RETURNED | USED)[name]

    def found(compile_: Any) -> Any:
        torch.manual_seed(0)
        N.zero_()
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        @compile_
        def step(x: Any) -> Any:
            N.add_(1)
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), x)
            loss.backward()
            optimizer.step()
            return body(loss.detach(), x)

        return [repr(step(torch.tensor([[1.0, number], [0.5, -number]]))) for number in range(8)]

    compiled: list[Any] = []
    assert found(lambda f: compiled.append(static.compile(f, quiet=True)) or compiled[0]) == found(lambda f: f)
    assert len(compiled[0].variants) == (name in RETURNED), compiled[0].notes


def test_a_number_alone_has_one_program() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"sum": x.sum().item(), "twice": x * 2}

    compiled: Any = static.compile(Model(), quiet=True)
    assert [compiled(torch.tensor([1.0, n]))["sum"] for n in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(compiled.variants) == 1
    assert "returned by item" in str(compiled)


def test_dtypes_of_returned_numbers() -> None:
    f = static.compile(lambda x: (x.sum().item(), x.sum() > 1), quiet=True)
    for dtype in (torch.float32, torch.float64, torch.int32, torch.bool, torch.complex64, torch.float16):
        for value in ([1, 0], [1, 1]):
            number, _ = f(torch.tensor(value).to(dtype)) if dtype != torch.complex64 else (np.sum(value), 0)
            assert number == sum(value)


def test_hooks_of_all_modules_that_are_gone_make_no_difference() -> None:
    register_module_forward_hook(lambda *given: None).remove()
    test_a_number_alone_has_one_program()
