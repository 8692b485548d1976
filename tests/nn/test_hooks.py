"""Hooks of modules."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from backend import torch

nn = torch.nn


class Double(nn.Module):
    def forward(self, x: Any, scale: float = 2.0) -> Any:
        return x * scale


def test_forward_hooks_see_and_replace() -> None:
    layer = Double()
    seen: list[Any] = []
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    layer.register_forward_hook(lambda m, args, out: seen.append((args[0].item(), out.item())))
    handle = layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(torch.tensor(1.0)).item() == 40
    assert seen == [(2.0, 4.0)]
    handle.remove()
    assert layer(torch.tensor(1.0)).item() == 4


def test_a_pre_hook_may_return_one_value() -> None:
    layer = Double()
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert layer(torch.tensor(1.0)).item() == 4


def test_hooks_with_kwargs() -> None:
    layer = Double()
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["scale"], with_kwargs=True)
    assert layer(torch.tensor(1.0), scale=3.0).item() == 8
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\)"):
        layer(torch.tensor(1.0), scale=3.0)


def test_prepended_hooks_run_first() -> None:
    order: list[int] = []
    layer = Double()
    for number, prepend in ((1, False), (2, False), (3, True)):
        layer.register_forward_hook(lambda m, args, out, number=number: order.append(number), prepend=prepend)
    layer(torch.ones(1))
    assert order == [3, 1, 2]


def test_always_called_hooks_run_after_errors() -> None:
    seen: list[Any] = []
    layer = Double()
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    layer.register_forward_hook(lambda m, args, out: seen.append("not called"))
    with pytest.raises(TypeError):
        layer(torch.ones(1), "x")
    assert seen == [None]


def test_what_an_always_called_hook_raises_is_a_warning() -> None:
    def failing(*args: Any) -> None:
        raise ValueError("in the hook")

    layer = Double()
    layer.register_forward_hook(failing, always_call=True)
    with (
        pytest.warns(UserWarning, match="silenced as another error was raised in forward: in the hook"),
        pytest.raises(TypeError),
    ):
        layer(torch.ones(1), "x")


def test_full_backward_hooks_see_both_ends_and_replace_grad_input() -> None:
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append(([g.item() for g in grad_input], [g.item() for g in grad_output]))
        return (grad_input[0] * 10,)

    layer = Double()
    handle = layer.register_full_backward_hook(hook)
    x = torch.tensor(3.0, requires_grad=True)
    out = layer(x * 1)
    assert out.grad_fn.name() == "BackwardHookFunctionBackward"
    (out * 5).backward()
    assert seen == [([10.0], [5.0])]
    assert x.grad.item() == 100
    handle.remove()
    layer(x * 1).backward()
    assert x.grad.item() == 102


def test_full_backward_pre_hooks_replace_grad_output() -> None:
    layer = Double()
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    x = torch.tensor(3.0, requires_grad=True)
    layer(x).backward()
    assert x.grad.item() == 20


def test_gradients_stand_at_the_places_of_arguments_and_results() -> None:
    class Product(nn.Module):
        def forward(self, a: Any, factor: int, b: Any) -> Any:
            return a * factor * b, a

    seen: list[Any] = []
    layer = Product()
    layer.register_full_backward_hook(
        lambda m, gi, go: seen.append([None if g is None else g.item() for g in (*gi, *go)])
    )
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0)
    layer(a, 3, b)[0].backward()
    assert seen == [[6.0, None, 0.0, 1.0, None]]  # a, factor, b; then the outputs


def test_a_backward_hook_without_inputs_that_need_gradients_warns() -> None:
    seen: list[Any] = []
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1, 1)).sum().backward()
    assert seen == [(None,)]
    assert layer.weight.grad.item() == 1


def test_a_backward_hook_must_return_as_many_gradients() -> None:
    layer = Double()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(torch.tensor(1.0, requires_grad=True)).backward()


def test_nothing_is_watched_without_grad() -> None:
    layer = Double()
    layer.register_full_backward_hook(lambda m, gi, go: None)
    with torch.no_grad():
        assert layer(torch.ones(1, requires_grad=True)).grad_fn is None


def test_the_older_backward_hook_is_at_the_last_node() -> None:
    layer = nn.ReLU()
    seen: list[Any] = []
    handle = layer.register_backward_hook(
        lambda m, grad_in, grad_out: seen.append((grad_in[0].item(), grad_out[0].item()))
    )
    x = torch.tensor(2.0, requires_grad=True)
    layer(x * 1).mul(3).backward()
    handle.remove()
    layer(x * 1).backward()
    assert seen == [(3.0, 3.0)]


def test_the_older_backward_hook_may_replace_gradients() -> None:
    layer = nn.ReLU()
    layer.register_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] * 5,))
    x = torch.tensor(2.0, requires_grad=True)
    layer(x * 1).backward()
    assert x.grad.item() == 5


def test_the_older_backward_hook_warns_where_it_misses_gradients() -> None:
    class Two(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x * 2).relu()

    layer, x = Two(), torch.ones(1, requires_grad=True)
    layer.register_backward_hook(lambda m, grad_in, grad_out: None)
    with pytest.warns(FutureWarning, match="the forward contains multiple autograd Nodes"):
        layer(x)
    listed = Double()
    listed.register_backward_hook(lambda m, grad_in, grad_out: None)
    listed.register_forward_hook(lambda m, args, out: {"out": out})
    with pytest.warns(FutureWarning, match="does not return a single Tensor"):
        listed(x)
    paired = Double()
    paired.register_backward_hook(lambda m, grad_in, grad_out: None)
    with pytest.warns(FutureWarning, match="does not take as input a single Tensor"):
        paired(x, 2)
    split = Double()
    split.register_backward_hook(lambda m, grad_in, grad_out: None)
    split.register_forward_hook(lambda m, args, out: (out, out * 1))
    with pytest.warns(FutureWarning, match="outputs are generated by different autograd Nodes"):
        split(x)


def test_one_kind_of_backward_hooks() -> None:
    layer = Double()
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(lambda *args: None)
    layer = Double()
    layer.register_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_full_backward_hook(lambda *args: None)


def test_the_dictionaries_of_hooks() -> None:
    layer = Double()
    assert not layer._forward_hooks
    assert not layer._forward_pre_hooks
    assert not layer._backward_hooks
    hook = lambda *args: None
    handle = layer.register_forward_hook(hook, with_kwargs=True, always_call=True)
    (key,) = layer._forward_hooks
    assert layer._forward_hooks[key] is hook
    assert key in layer._forward_hooks_with_kwargs
    assert key in layer._forward_hooks_always_called
    handle.remove()
    assert not layer._forward_hooks
    assert not layer._forward_hooks_with_kwargs
    assert not layer._forward_hooks_always_called
    layer.register_forward_hook(lambda m, args, out: out * 100)
    layer._forward_hooks.clear()
    assert layer(torch.tensor(1.0)).item() == 2
    layer._forward_pre_hooks = {1: lambda m, args: args[0] + 1}
    assert layer(torch.tensor(1.0)).item() == 4


@pytest.fixture
def everywhere() -> Any:
    handles: list[Any] = []
    yield handles
    for handle in handles:
        handle.remove()


def test_hooks_on_all_modules_run_before_the_modules_own(everywhere: Any) -> None:
    module = nn.modules.module
    seen: list[Any] = []

    def note(what: str) -> Any:
        return lambda m, *args: seen.append((what, type(m).__name__))

    model = nn.Sequential(Double(), nn.ReLU())
    model[0].register_forward_hook(note("own forward"))
    model[0].register_forward_pre_hook(note("own pre"))
    model[1].register_full_backward_hook(note("own backward"))
    everywhere += [
        module.register_module_forward_pre_hook(note("pre")),
        module.register_module_forward_hook(note("forward")),
        module.register_module_full_backward_pre_hook(note("backward pre")),
        module.register_module_full_backward_hook(note("backward")),
    ]
    model(torch.ones(1, requires_grad=True)).backward()
    assert seen == [
        ("pre", "Sequential"), ("pre", "Double"), ("own pre", "Double"), ("forward", "Double"), ("own forward", "Double"),
        ("pre", "ReLU"), ("forward", "ReLU"), ("forward", "Sequential"), ("backward pre", "Sequential"),
        ("backward pre", "ReLU"), ("backward", "ReLU"), ("own backward", "ReLU"), ("backward pre", "Double"),
        ("backward", "Double"), ("backward", "Sequential"),
    ]  # fmt: skip


def test_hooks_on_all_modules_change_values_and_are_removed(everywhere: Any) -> None:
    layer = Double()
    everywhere += [
        nn.modules.module.register_module_forward_hook(lambda m, args, kwargs, out: out + 1, with_kwargs=True)
    ]
    assert layer(torch.tensor(1.0)).item() == 3
    layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(torch.tensor(1.0)).item() == 30
    everywhere.pop().remove()
    assert layer(torch.tensor(1.0)).item() == 20
    assert Double()(torch.tensor(1.0)).item() == 2


def test_copies_have_hooks_of_their_own() -> None:
    layer = Double()
    layer.register_forward_hook(lambda m, args, out: out + 1)
    twin = copy.deepcopy(layer)
    twin._forward_hooks.clear()
    assert layer(torch.tensor(1.0)).item() == 3
    assert twin(torch.tensor(1.0)).item() == 2
