"""The properties beyond values that ``check_gradients`` asks for: each by a Function that breaks it, and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.testing import GradientError, check_gradients

F64 = torch.float64
HELD: list[Any] = []


def function(forward: Any, backward: Any) -> Any:
    """The apply of a Function with these two."""
    return type(
        "Custom", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    ).apply


def saving(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * x


def keeps_context(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    y = x * x
    ctx.y = y
    return y


def drifting(ctx: Any, g: Any) -> Any:
    ctx.calls = getattr(ctx, "calls", 0) + 1
    return g * 2 * ctx.saved_tensors[0] * (1 + 1e-12 * ctx.calls)


def scaling_g(ctx: Any, g: Any) -> Any:
    return g.mul_(2 * ctx.saved_tensors[0])


def writing_saved(ctx: Any, g: Any) -> Any:
    (x,) = ctx.saved_tensors
    x.data.mul_(2)
    return g * x


def affine(ctx: Any, g: Any) -> Any:
    return g * 2 * ctx.saved_tensors[0] + 1e-9


def in_single(ctx: Any, g: Any) -> Any:
    return (g * 2 * ctx.saved_tensors[0]).float()


def by_mode(ctx: Any, g: Any) -> Any:
    return g * 2 * ctx.saved_tensors[0] * (1.5 if torch.is_grad_enabled() else 1)


def squared(ctx: Any, g: Any) -> Any:
    return g * 2 * ctx.saved_tensors[0]


def flat_memory(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return torch.from_numpy(np.asarray(np.lib.stride_tricks.as_strided(x.detach().numpy(), x.shape, (16, 8))) ** 2)


def multiply(ctx: Any, a: Any, b: Any) -> Any:
    ctx.save_for_backward(a, b)
    return a * b


def by_needs(ctx: Any, g: Any) -> Any:
    a, b = ctx.saved_tensors
    return g * b * (1 if ctx.needs_input_grad[1] else 2), g * a


def without_sum(ctx: Any, g: Any) -> Any:
    a, b = ctx.saved_tensors
    return (g * b)[: a.shape[0]], (g * a)[: b.shape[0]]


BROKEN: dict[str, tuple[Any, int, str]] = {
    "determinism": (function(saving, drifting), 1, "determinism"),
    "incoming gradient": (function(saving, scaling_g), 1, "mutation"),
    "saved value": (function(saving, writing_saved), 1, "mutation"),
    "argument": (lambda x: (x.data.add_(1), x * 2)[1], 1, "mutation"),
    "linearity": (function(saving, affine), 1, "linearity"),
    "dtype": (function(saving, in_single), 1, "dtype"),
    "grad mode": (function(saving, by_mode), 1, "create_graph"),
    "layout": (function(flat_memory, squared), 1, "non_contiguous"),
    "subsets": (function(multiply, by_needs), 2, "subsets"),
    "broadcasting": (function(multiply, without_sum), 2, "broadcasting"),
    "cycle": (function(keeps_context, squared), 1, "cycles"),
}


def inputs(count: int) -> list[Any]:
    return [torch.tensor([[0.5, -2.0], [1.5, 0.75]], dtype=F64) + i for i in range(count)]


@pytest.mark.parametrize("name", BROKEN)
def test_each_is_found_by_its_name(name: str) -> None:
    fn, count, check = BROKEN[name]
    with pytest.raises(GradientError) as error:
        check_gradients(fn, *inputs(count))
    assert check in [f.check for f in error.value.report.failures]
    assert f"[{check}]" in str(error.value)


@pytest.mark.parametrize("name", ["determinism", "incoming gradient", "saved value", "linearity", "dtype", "grad mode"])
def test_the_function_is_named(name: str) -> None:
    fn, count, check = BROKEN[name]
    report = check_gradients(lambda x: fn(x.sin()).cos(), *inputs(count), raise_exception=False)
    (failure,) = [f for f in report.failures if f.check == check]
    assert failure.blame is not None
    assert failure.blame.name == "CustomBackward"
    assert __file__ in failure.blame.site


def test_the_write_is_named() -> None:
    report = check_gradients(BROKEN["argument"][0], *inputs(1), raise_exception=False)
    (failure,) = [f for f in report.failures if f.check == "mutation"]
    assert failure.blame is not None
    assert failure.blame.kind == "write"
    assert failure.blame.name == "add_()"


@pytest.mark.parametrize("name", ["subsets", "layout", "cycle", "broadcasting"])
def test_each_can_be_switched_off(name: str) -> None:
    fn, count, check = BROKEN[name]
    both = (check, "expanded") if name == "layout" else (check,)  # elements that share memory lie in another way, too
    report = check_gradients(fn, *inputs(count), skip=both)
    assert report.ok
    assert check not in report.checks


def test_nan_of_finite_values() -> None:
    def fn(x: Any) -> Any:
        return torch.where(x > 0, x.sqrt(), x * 2)

    with pytest.raises(GradientError) as error:
        check_gradients(fn, torch.tensor([-1.0, 2.0], dtype=F64))
    assert {f.check for f in error.value.report.failures} >= {"values", "finite"}
    assert "NaN" in str(error.value)


def test_a_mistake_that_only_other_gradients_show() -> None:
    fn = function(lambda ctx, x: x.sum() * 2, lambda ctx, g: torch.full((2, 2), 2.0, dtype=F64))
    report = check_gradients(lambda x: fn(x).sin(), *inputs(1), raise_exception=False)
    assert [failure.check for failure in report.failures[:2]] == ["linearity", "values"]
    assert report.failures[0].blame is not None
    assert report.failures[0].blame.name == "CustomBackward"


def test_state_kept_outside_the_context() -> None:
    class Last(torch.autograd.Function):
        x: Any = None

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            Last.x = x.detach().clone()
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * Last.x

    report = check_gradients(lambda x: Last.apply(Last.apply(x) + 1), *inputs(1), raise_exception=False)
    blame = report.failures[0].blame
    assert blame is not None
    assert blame.name == "LastBackward"
    assert "a value that it kept was changed since" in blame.detail


def test_a_backward_that_raises() -> None:
    fn = function(saving, lambda ctx, g: (g * 2 * ctx.saved_tensors[0])[0])
    with pytest.raises(GradientError, match=r"backward raised RuntimeError: .* invalid gradient") as error:
        check_gradients(lambda x: fn(x).sin(), torch.ones(2, 3, dtype=F64))
    blame = error.value.report.failures[0].blame
    assert blame is not None
    assert blame.name == "CustomBackward"


def test_a_cast_on_the_way_is_named() -> None:
    report = check_gradients(lambda x: (x * 3).half().double().sin(), *inputs(1), raise_exception=False)
    blame = report.failures[0].blame
    assert blame is not None
    assert blame.name == "a cast from float64 to float16"
    assert "(x * 3).half()" in blame.detail


def test_packed_values_serve_a_second_backward() -> None:
    x = torch.tensor([0.5, -1.0], dtype=F64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = torch.nn.functional.gelu(x).sum()
    first, again = [torch.autograd.grad(y, x, retain_graph=True)[0].tolist() for _ in range(2)]
    assert first == again


@pytest.mark.parametrize(
    ("fn", "check"),
    [
        (lambda x: x.sin() if not x.is_contiguous() else x * 1.0, "non_contiguous"),
        (lambda x: x.sin() if 0 in x.stride() else x * 1.0, "expanded"),
    ],
    ids=["strides", "shared memory"],
)
def test_values_that_depend_on_strides(fn: Any, check: str) -> None:
    x = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    assert check_gradients(fn, x, raise_exception=False).failures[0].check == check
    assert check_gradients(lambda x: x.as_strided((2, 2), (1, 2)), x).ok


LAYOUTS: list[Any] = [
    lambda line: line[6:].view(2, 3),
    lambda line: line.view(3, 4).t(),
    lambda line: line.view(3, 4)[:, 1::2],
    lambda line: line[:3].expand(2, 3),
    lambda line: line[:0],
    lambda line: line[1],
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("of", LAYOUTS)
def test_inputs_keep_their_layout(of: Any, order: int) -> None:
    x, seen = of(torch.arange(12.0, dtype=torch.float64)), []

    def fn(x: Any) -> Any:
        seen.append((x.stride(), x.storage_offset()))
        return x.sin()

    assert check_gradients(fn, x, order=order).ok
    shared = 0 in x.stride()
    assert seen[0] == (((3, 1), 0) if shared else (x.stride(), x.storage_offset()))
