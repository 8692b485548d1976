"""A trace's instructions, run on other values, give what the function gives, with the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._trace import Trace
from minitorch._trace_instructions import Called, Made, Slot
from minitorch.nn import functional as F

W = torch.tensor(np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)).requires_grad_()


class Doubled(torch.autograd.Function):
    """``2 exp(x)``; backward reads what is neither an input nor an output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        h = x.exp()
        ctx.save_for_backward(h)
        return h * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (h,) = ctx.saved_tensors
        return g * h * 2


def in_place(x: Any) -> Any:
    y = x * 2
    y.mul_(x)
    y += 1
    y[0] = 3
    return y


def views(x: Any) -> Any:
    y = x.clone()
    z = y.t()[1]
    z.add_(5)
    y[:, 0].mul_(2)
    return y, z


def into_a_buffer(x: Any) -> Any:
    buffer = torch.zeros(4, 4)
    buffer.add_(x)
    buffer[1] = x[0] * 2
    return buffer


def several(x: Any) -> Any:
    a, b = x.split(2)
    return a * b, torch.stack(x.unbind())


def masked(x: Any) -> Any:
    y = x.clone()
    y.masked_fill_(x > 0, 1.0)
    y[x < 0] = 2
    return y


def numbers(x: Any) -> Any:
    return 2 - x, 1 / x, 2**x, x % 2


def indexed(x: Any) -> Any:
    return x[[0, 2]], x[:, None], x[..., torch.tensor([1, 0])]


def shifted(x: Any) -> Any:
    y = x * 1
    y[1:] = y[:-1].clone()
    y[:, 1].copy_(x[0])
    return y


ORDINARY: list[Callable[..., Any]] = [
    in_place,
    views,
    into_a_buffer,
    several,
    masked,
    numbers,
    indexed,
    shifted,
    Doubled.apply,
    lambda x: (F.softmax(x, -1), F.log_softmax(x, 0)),
    lambda x: torch.where(x > 0, x, x * 2),
    lambda x: (x.mean(), x.var(0), x.norm()),
    lambda x: torch.cat([x, x * 2], 1).reshape(-1),
    lambda x: F.batch_norm(x, None, None, training=True),
    lambda x: x @ W,
]


def first_order(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = (x @ W).tanh().sum()
    (g,) = torch.autograd.grad(y, x)
    return g, y.detach()


def second_order(x: Any) -> Any:
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (g * x).sum().backward()
    return x.grad


def of_an_in_place_operation(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = x * 2
    y.mul_(x)
    y.exp_()
    return torch.autograd.grad(y.sum(), x)


def of(function: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        function(x).sum().backward()
        return x.grad

    return gradient


GRADIENTS = [
    first_order,
    second_order,
    of_an_in_place_operation,
    of(F.gelu),
    of(Doubled.apply),
    of(lambda x: (x * 2).relu_()),
    of(lambda x: x.prod(1)),
]


def examples(requires_grad: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    a, b = (torch.tensor(rng.normal(size=(4, 4)).astype(np.float32)) for _ in range(2))
    return a.requires_grad_(requires_grad), b.requires_grad_(requires_grad)


def as_list(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (tuple, list)) else [out]


def same(found: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@pytest.mark.parametrize("function", [*ORDINARY, *GRADIENTS])
def test_run_again_on_other_values(function: Callable[..., Any]) -> None:
    example, other = examples()
    with Trace([example]) as trace:
        results = as_list(function(example))
    same(trace.again([other], results), as_list(function(other)))
    same(trace.again([example], results), as_list(function(example)))


@pytest.mark.parametrize("function", ORDINARY)
def test_what_is_run_again_has_the_same_gradients(function: Callable[..., Any]) -> None:
    example, other = examples(requires_grad=True)
    with Trace([example]) as trace:
        results = as_list(function(example))
    found, wanted = trace.again([other], results), as_list(function(other))
    gradients = [torch.autograd.grad(sum((o * o).sum() for o in outs), other) for outs in (found, wanted)]
    same(*map(list, gradients))


@pytest.mark.parametrize("function", [*ORDINARY, *GRADIENTS])
def test_a_trace_of_a_run_is_a_trace(function: Callable[..., Any]) -> None:
    example, other = examples()
    with Trace([example]) as trace:
        results = as_list(function(example))
    with Trace([other]) as second:
        results = trace.again([other], results)
    same(second.again([example], results), as_list(function(example)))


def test_what_was_there_before_is_captured_and_stays_live() -> None:
    weight, x = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with Trace([x]) as trace:
        y = x * weight
    assert list(trace.captured.values()) == [weight]
    assert trace.captured[trace.slot_of(weight)] is weight
    weight.mul_(10)
    assert trace.again([x], [y])[0].tolist() == [30.0, 80.0]


def test_what_a_factory_makes_is_made_anew_in_each_run() -> None:
    x = torch.tensor([1.0, 2.0])
    with Trace([x]) as trace:
        total = torch.zeros(2)
        total += x
    assert isinstance(trace.instructions[0], Made)
    assert [trace.again([x], [total])[0].tolist() for _ in range(2)] == [[1.0, 2.0]] * 2
    assert total.tolist() == [1.0, 2.0]


def test_what_depends_on_an_argument() -> None:
    x, w = torch.ones(3), torch.ones(3)
    leaks: list[str] = []
    with Trace([x], lambda kind, tensor: leaks.append(kind)) as trace:
        y, z, b = x * 2, w * 2, torch.zeros(2, 3)
        z.sum().item()
        part = b[1]
        assert not trace.depends_on(b)
        b[0] = y
        assert bool(y.sum() > 0)
    assert [trace.depends_on(t) for t in (x, w, y, z, b, part)] == [True, False, True, False, True, True]
    assert leaks == ["bool"]


def test_the_innermost_of_several_writes_down() -> None:
    x = torch.ones(2)
    with Trace([x]) as outer:
        y = x + 1
        with Trace([y]) as inner:
            z = y * 2
        inner.again([y], [z])
    assert [i.row.name for i in inner.instructions] == ["mul"]
    assert [i.row.name for i in outer.instructions] == ["add", "mul"]


def test_a_write_that_fails_leaves_its_parts_only() -> None:
    x = torch.ones(2)
    with Trace([x]) as trace:
        y = x * 2
        with pytest.raises(RuntimeError, match="broadcast"):
            y.add_(torch.ones(3, 2))
        y.add_(1)
    assert trace.again([torch.zeros(2)], [y])[0].tolist() == [1.0, 1.0]


def test_instructions_can_be_read() -> None:
    x = torch.ones(2)
    with Trace([x]) as trace:
        y = x * 2
        y.add_(x)
        y.sum(0, keepdim=True)
    assert list(map(repr, trace.instructions)) == [
        "%1 = mul(%0, 2.0)",
        "%2 = %1, to be written",
        "%3 = add(%1, %0)",
        "%1 := %3",
        "%4 = sum(%1, dim=(0,), keepdim=True)",
    ]
    called = trace.instructions[0]
    assert isinstance(called, Called)
    assert called.inputs[0].__class__ is Slot
    assert called.inputs[1].is_number
