"""Checkpointing: the same gradients with less kept; what is computed again has to be what was computed first."""

from __future__ import annotations

import contextlib
import gc
import importlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


class Counted:
    """sin(x).cos(), counting its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x.sin().cos()


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients_are_those_without_it(use_reentrant: bool) -> None:
    f = Counted()
    x, y = leaf(0.5, 1.0), leaf(0.5, 1.0)
    (f(x) * 2).sum().backward()
    out = checkpoint(f, y, use_reentrant=use_reentrant)
    (out * 2).sum().backward()
    assert torch.equal(x.grad, y.grad)
    assert f.calls == 3


def test_saved_tensors_are_dropped_and_computed_again() -> None:
    x = leaf(1.0, 2.0)
    inner: list[Any] = []

    def f(x: Any) -> Any:
        a = x.exp()
        inner.append(weakref.ref(a))
        return (a * a).sin()

    y = checkpoint(f, x, use_reentrant=False)
    gc.collect()
    assert inner[0]() is None
    y.sum().backward()
    a = x.detach().exp()
    torch.testing.assert_close(x.grad, (a * a).cos() * 2 * a * a)


def test_double_backward_and_grad() -> None:
    x = leaf(0.5, 1.0)
    y = checkpoint(lambda x: x.sin() * x, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    torch.testing.assert_close(h, 2 * x.cos() - x * x.sin())


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_nested(use_reentrant: bool) -> None:
    f = Counted()

    def outer(x: Any) -> Any:
        return checkpoint(f, x.exp(), use_reentrant=use_reentrant).exp()

    x, y = leaf(0.5), leaf(0.5)
    inner_warns = pytest.warns(UserWarning, match="None of the inputs") if use_reentrant else contextlib.nullcontext()
    with inner_warns:
        checkpoint(outer, x, use_reentrant=use_reentrant).sum().backward()
    assert f.calls == 3
    f(y.exp()).exp().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_the_second_call_ends_early_unless_told_otherwise() -> None:
    reached: list[str] = []

    def f(x: Any) -> Any:
        y = x.sin().cos()
        reached.append("end")
        return y

    checkpoint(f, leaf(1.0), use_reentrant=False).sum().backward()
    assert len(reached) == 1
    checkpoint(f, leaf(1.0), use_reentrant=False, early_stop=False).sum().backward()
    assert len(reached) == 3
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, leaf(1.0), use_reentrant=False)
    y.sum().backward()
    assert len(reached) == 5


def test_every_backward_computes_again() -> None:
    f = Counted()
    y = checkpoint(f, leaf(1.0), use_reentrant=False)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert f.calls == 3
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.sum().backward()


def test_arguments_of_all_kinds() -> None:
    x, scale = leaf(1.0, 2.0), leaf(3.0)

    def f(a: Any, factor: float, pair: Any, *, flag: bool, more: Any) -> tuple[Any, str]:
        assert flag
        return (a * factor).sin() * pair[0] * more, "second"

    y, text = checkpoint(f, x, 2.0, [scale], flag=True, more=torch.ones(2), use_reentrant=False)
    y.sum().backward()
    assert text == "second"
    torch.testing.assert_close(x.grad, (x * 2).cos() * 2 * 3)
    torch.testing.assert_close(scale.grad, (x * 2).sin().sum().reshape(1))


def test_an_edited_argument_is_noticed() -> None:
    x = leaf(1.0)
    a = x * 1
    y = checkpoint(lambda a: a.sin(), a, use_reentrant=False)
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("preserve", [True, False])
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_random_numbers(use_reentrant: bool, preserve: bool) -> None:
    def run(torch: Any, checkpoint: Any) -> tuple[list[float], list[float], list[float]]:
        torch.manual_seed(0)
        x = torch.ones(6, requires_grad=True)
        options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve}
        y = checkpoint(lambda x: torch.nn.functional.dropout(x) * x, x, **options)
        y.sum().backward()
        return y.tolist(), x.grad.tolist(), torch.rand(2).tolist()

    found = run(torch, checkpoint)
    assert preserve == (found[0] == [g / 2 for g in found[1]])
    pytest.importorskip("torch")
    assert found == run(importlib.import_module("torch"), importlib.import_module("torch.utils.checkpoint").checkpoint)


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_sequential(segments: int, use_reentrant: bool) -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear
    model = torch.nn.Sequential(linear(3, 4), torch.nn.Tanh(), linear(4, 4), torch.nn.Dropout(0.3), linear(4, 1))
    x = torch.randn(5, 3, requires_grad=True)
    torch.manual_seed(1)
    model(x).sum().backward()
    expected = [x.grad, *[p.grad for p in model.parameters()]]
    x.grad = None
    model.zero_grad()
    torch.manual_seed(1)
    checkpoint_sequential(model, segments, x, use_reentrant=use_reentrant).sum().backward()
    for one, other in zip([x.grad, *[p.grad for p in model.parameters()]], expected):
        torch.testing.assert_close(one, other)


def test_contexts_of_both_calls() -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def noting(name: str) -> Iterator[None]:
        events.append(name)
        yield

    y = checkpoint(Counted(), leaf(1.0), use_reentrant=False, context_fn=lambda: (noting("first"), noting("second")))
    y.sum().backward()
    assert events == ["first", "second"]


def test_under_no_grad_the_function_is_just_called() -> None:
    f = Counted()
    with torch.no_grad():
        assert not checkpoint(f, leaf(1.0), use_reentrant=False).requires_grad
    assert f.calls == 1


class Changing:
    """Another function at each call."""

    def __init__(self, *functions: Callable[[Any], Any]) -> None:
        self.functions = iter(functions)

    def __call__(self, x: Any) -> Any:
        return next(self.functions)(x)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (lambda x: x.sin() * x.cos(), lambda x: x.sin(), "A different number of tensors was saved"),
        (lambda x: x.sin(), lambda x: x.double().sin(), "different metadata"),
        (lambda x: x.sin(), lambda x: x[:1].sin(), "different metadata"),
    ],
)
def test_what_differs_is_refused(first: Any, second: Any, message: str) -> None:
    y = checkpoint(Changing(first, second), leaf(1.0, 2.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match=message):
        y.sum().backward()


def test_what_goes_on_is_refused_without_an_early_stop() -> None:
    f = Changing(lambda x: x.sin(), lambda x: x.sin().cos())
    y = checkpoint(f, leaf(1.0), use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match="saves more"):
        y.sum().backward()


def test_refusals() -> None:
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, x)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint_sequential([torch.sin], 1, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.sin, torch.ones(1), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(torch.sin, x, k=1, use_reentrant=True)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, debug=True, use_reentrant=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.sin, x, determinism_check="some", use_reentrant=False)
    y = checkpoint(torch.sin, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\)"):
        torch.autograd.grad(y.sum(), x)
    y = checkpoint(lambda x: x.sin().detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


def test_batches_and_tangents_go_through() -> None:
    weight = leaf(2.0, -1.0, 0.5)
    plain = lambda x: (x.sin() * weight).exp()
    checked = lambda x: checkpoint(plain, x, use_reentrant=False)
    x = torch.tensor([[0.3, 1.2, 0.7], [0.5, -1.0, 2.0]])
    for transform in (
        torch.func.vmap,
        torch.func.jacfwd,
        lambda f: torch.func.vmap(torch.func.grad(lambda z: f(z).sum())),
        lambda f: lambda z: torch.func.jvp(f, (z,), (z,))[1],
        lambda f: torch.func.jacfwd(torch.func.grad(lambda z: f(z).sum())),
    ):
        torch.testing.assert_close(transform(checked)(x), transform(plain)(x))
    torch.vmap(checked)(x).sum().backward()
    got, weight.grad = weight.grad, None
    plain(x).sum().backward()
    torch.testing.assert_close(got, weight.grad)
    with pytest.raises(CheckpointError):
        torch.func.grad(lambda z: torch.func.jvp(checked, (z,), (z,))[1].sum())(x)
