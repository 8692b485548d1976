"""Hooks on tensors: gradient hooks, retained gradients, hooks after accumulation, and hooks on several tensors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

graph = torch.autograd.graph


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def grads(output: Any, *inputs: Any, **options: Any) -> Any:
    """Gradients of `output.sum()` as lists: one list for one input, else a list of them."""
    result = [g.tolist() for g in torch.autograd.grad(output.sum(), inputs, **options)]
    return result[0] if len(inputs) == 1 else result


def test_hook_sees_the_gradient_and_none_keeps_it() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    assert grads(y * 5, x) == [15.0, 15.0]
    assert seen == [[5.0, 5.0]]


def test_returned_tensor_replaces_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    assert grads(y, x) == [30.0, 30.0]
    x.register_hook(lambda g: -g)
    assert grads(x * 2, x) == [-2.0, -2.0]


def test_hooks_run_in_order_each_on_the_previous_result() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 1
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    assert grads(y, x) == [20.0, 20.0]
    assert seen == [[2.0, 2.0]]


def test_hook_gets_the_sum_over_all_uses_once() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 2 + y * 3 + y).sum().backward()
    assert seen == [[6.0, 6.0]]
    assert x.grad.tolist() == [6.0, 6.0]


def test_hook_on_root() -> None:
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.register_hook(lambda g: g * 100)
    loss.backward()
    assert x.grad.tolist() == [200.0, 400.0]


def test_hook_runs_in_every_backward() -> None:
    x, seen = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [1.0, 1.0]


def test_removed_hook_does_not_run() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    handle = y.register_hook(lambda g: g * 100)
    other = y.register_hook(lambda g: g * 2)
    handle.remove()
    handle.remove()
    assert grads(y, x, retain_graph=True) == [2.0, 2.0]
    other.remove()
    assert grads(y, x) == [1.0, 1.0]


def test_handle_is_a_context_manager() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    with y.register_hook(lambda g: g * 100) as handle:
        assert grads(y, x, retain_graph=True) == [100.0, 100.0]
    assert grads(y, x, retain_graph=True) == [1.0, 1.0]
    handle.remove()
    assert type(handle).__name__ == "RemovableHandle"


def test_hook_may_remove_itself() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1

    def once(grad: Any) -> Any:
        handle.remove()
        return grad * 7

    handle = y.register_hook(once)
    assert grads(y, x, retain_graph=True) == [7.0, 7.0]
    assert grads(y, x) == [1.0, 1.0]


def test_same_function_may_be_registered_twice() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1

    def double(grad: Any) -> Any:
        return grad * 2

    first = y.register_hook(double)
    y.register_hook(double)
    assert grads(y, x, retain_graph=True) == [4.0, 4.0]
    first.remove()
    assert grads(y, x) == [2.0, 2.0]


@pytest.mark.parametrize("tensor", [lambda: torch.ones(2), lambda: leaf(1.0).detach(), lambda: leaf(1.0) > 0])
def test_hook_on_tensor_that_does_not_require_grad_raises(tensor: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        tensor().register_hook(lambda g: g)


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: (g,), TypeError, "expected Variable, but hook returned 'tuple'"),
        (lambda g: g.tolist(), TypeError, "expected Variable, but hook returned 'list'"),
        (lambda g: g[0], RuntimeError, "has changed the size of value"),
        (lambda g: g.unsqueeze(0), RuntimeError, "has changed the size of value"),
        (lambda g: g.float(), RuntimeError, "has changed the type of value"),
    ],
)
@pytest.mark.parametrize("on", ["leaf", "result"])
def test_hook_returning_something_else_raises(
    hook: Callable[[Any], Any], error: type[Exception], message: str, on: str
) -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    (x if on == "leaf" else y).register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_exception_in_hook_reaches_the_caller_and_backward_works_later() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_hook_on_leaf_runs_before_accumulation() -> None:
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(lambda g: seen.append(x.grad if x.grad is None else x.grad.tolist()))
    x.register_hook(lambda g: g * 2)
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert seen == [None, [6.0, 6.0]]
    assert x.grad.tolist() == [12.0, 12.0]


def test_hook_on_leaf_runs_under_autograd_grad() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 2)
    assert grads(x * 3, x) == [6.0, 6.0]
    assert x.grad is None


def test_hook_on_leaf_stays_through_writes_under_no_grad_and_requires_grad_changes() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 2)
    with torch.no_grad():
        x.mul_(10)
    assert grads(x * 3, x) == [6.0, 6.0]
    x.requires_grad_(False)
    x.requires_grad_()
    assert grads(x * 3, x) == [6.0, 6.0]


def test_gradient_clipping_by_hook() -> None:
    x = leaf(1.0, 100.0)
    x.register_hook(lambda g: g.clamp(-1, 1))
    (x * x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_hook_may_compute_with_the_gradient_under_create_graph() -> None:
    x = leaf(2.0)
    y = x**3
    y.register_hook(lambda g: g * x)
    (first,) = torch.autograd.grad(y, x, create_graph=True)  # 3 x^2 * x
    assert first.tolist() == [24.0]
    (second,) = torch.autograd.grad(first, x)
    assert second.tolist() == [36.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_inside_hook_follows_create_graph(create_graph: bool) -> None:
    x, seen = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    torch.autograd.grad(y.sum(), x, create_graph=create_graph)
    assert seen == [create_graph]
    assert torch.is_grad_enabled()


def test_hook_may_write_gradient_in_place_when_it_owns_memory() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g.zero_())
    assert grads(y * 2, x) == [0.0, 0.0]


def test_backward_inside_hook() -> None:
    x, other = leaf(1.0), leaf(5.0)
    y = x * 2
    y.register_hook(lambda g: (torch.enable_grad()(lambda: other * 3)()).backward())
    y.backward()
    assert x.grad.tolist() == [2.0]
    assert other.grad.tolist() == [3.0]


def test_hooks_stay_with_the_version_they_were_registered_on() -> None:
    a = leaf(1.0, 2.0)
    b = a.clone()
    b.register_hook(lambda g: g * 2)
    b.mul_(2)
    b.register_hook(lambda g: g * 2)
    b.sum().backward()
    assert a.grad.tolist() == [8.0, 8.0]


def test_hooks_of_old_and_new_version_see_their_own_gradient() -> None:
    a, seen = leaf(1.0, 2.0), []
    b = a.clone()
    b.register_hook(lambda g: seen.append(("old", g.tolist())))
    b.mul_(3)
    b.register_hook(lambda g: seen.append(("new", g.tolist())))
    (b * 5).sum().backward()
    assert seen == [("new", [5.0, 5.0]), ("old", [15.0, 15.0])]


def test_hook_on_output_that_gets_no_gradient_sees_none() -> None:
    x, seen = leaf(1.0, 2.0), []
    first, second = (x * 1).unbind()
    first.register_hook(lambda g: seen.append(("first", g.item())))
    second.register_hook(lambda g: seen.append(("second", g)))
    first.backward()
    assert sorted(seen) == [("first", 1.0), ("second", None)]


def test_retain_grad_keeps_the_gradient_of_a_result() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * 5).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [15.0, 15.0]
    (y * 5).sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]


def test_retain_grad_on_leaf_changes_nothing() -> None:
    x = leaf(1.0, 2.0)
    assert x.retain_grad() is None
    assert not x.retains_grad
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_retain_grad_without_requires_grad_raises() -> None:
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()


@pytest.mark.parametrize(
    ("write", "y_grad", "x_grad"),
    [
        (lambda y: y.mul_(2), [1.0, 1.0], [2.0, 2.0]),
        (lambda y: y.add_(2), [1.0, 1.0], [1.0, 1.0]),
        (lambda y: y.__setitem__(0, 5.0), [1.0, 1.0], [0.0, 1.0]),
        (lambda y: y[0].mul_(2), [1.0, 1.0], [2.0, 1.0]),
        (lambda y: y.mul_(2).mul_(3), [1.0, 1.0], [6.0, 6.0]),
    ],
)
def test_retained_gradient_is_that_of_the_newest_version(
    write: Callable[[Any], Any], y_grad: list[float], x_grad: list[float]
) -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.retain_grad()
    write(y)
    y.sum().backward()
    assert y.retains_grad
    assert y.grad.tolist() == y_grad
    assert x.grad.tolist() == x_grad


def test_retained_gradient_sees_all_tensor_hooks() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [20.0, 20.0]
    assert x.grad.tolist() == [20.0, 20.0]


def test_retain_grad_of_root_and_by_autograd_grad() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    loss = y.sum()
    loss.retain_grad()
    y.retain_grad()
    torch.autograd.grad(loss, x)
    assert loss.grad.item() == 1.0
    assert y.grad.tolist() == [1.0, 1.0]


def test_post_accumulate_hook_sees_the_updated_leaf() -> None:
    x, seen = leaf(1.0, 2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.tolist())))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert seen == [(True, [3.0, 3.0]), (True, [6.0, 6.0])]
    handle.remove()
    (x * 3).sum().backward()
    assert len(seen) == 2


def test_post_accumulate_hook_runs_once_per_backward() -> None:
    x, seen = leaf(1.0, 2.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 2 + x.exp() * 0 + x * x).sum().backward()
    assert seen == [[4.0, 6.0]]


def test_post_accumulate_hook_does_not_run_under_autograd_grad() -> None:
    x, seen = leaf(1.0, 2.0), []
    x.register_post_accumulate_grad_hook(seen.append)
    assert grads(x * 3, x) == [3.0, 3.0]
    assert not seen


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (lambda: leaf(1.0) * 1, "post accumulate grad hooks cannot be registered on non-leaf tensors"),
        (lambda: torch.ones(2), "cannot register a hook on a tensor that doesn't require gradient"),
    ],
)
def test_post_accumulate_hook_is_for_leaves_that_require_grad(tensor: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        tensor().register_post_accumulate_grad_hook(lambda p: None)


def test_post_accumulate_hook_must_return_none() -> None:
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError, match=r"hooks should return None\."):
        x.sum().backward()


def test_optimizer_step_inside_backward() -> None:
    parameters = [leaf(1.0), leaf(2.0)]

    def step(parameter: Any) -> None:
        with torch.no_grad():
            parameter -= 0.5 * parameter.grad
        parameter.grad = None

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(step)
    (parameters[0] * 4 + parameters[1] * 6).sum().backward()
    assert [p.tolist() for p in parameters] == [[-1.0], [-1.0]]
    assert all(p.grad is None for p in parameters)


def test_order_around_accumulation() -> None:
    x, log = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda p: log.append("after"))
    x.register_hook(lambda g: log.append("before"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("after again"))
    (x * 2).backward()
    assert log == ["before", "after", "after again"]


def test_multi_grad_hook_runs_once_per_backward_with_all_gradients() -> None:
    x, y, unused, seen = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0, 6.0), []
    product = x * y

    def record(all_grads: Any) -> None:
        seen.append([g if g is None else g.tolist() for g in all_grads])

    handle = graph.register_multi_grad_hook((x, y, unused, product), record)
    product.sum().backward(retain_graph=True)
    expected = [[3.0, 4.0], [1.0, 2.0], None, [1.0, 1.0]]
    assert seen == [expected]
    product.sum().backward(retain_graph=True)
    assert seen == [expected, expected]
    handle.remove()
    handle.remove()
    product.sum().backward()
    assert len(seen) == 2


def test_multi_grad_hook_waits_only_for_gradients_this_backward_produces() -> None:
    x, y, seen = leaf(1.0), leaf(2.0), []
    graph.register_multi_grad_hook(
        [x, y], lambda all_grads: seen.append([g if g is None else g.item() for g in all_grads])
    )
    (x * 3).backward()
    assert seen == [[3.0, None]]
    (y * 5).backward()
    assert seen == [[3.0, None], [None, 5.0]]
    (x * y).backward(inputs=[x])
    assert seen[2:] == [[2.0, None]]


def test_multi_grad_hook_does_not_run_when_no_tensor_is_reached() -> None:
    x, other, seen = leaf(1.0), leaf(2.0), []
    graph.register_multi_grad_hook([x], seen.append)
    other.backward(leaf(1.0).detach())
    assert not seen


def test_multi_grad_hook_result_is_ignored() -> None:
    x = leaf(1.0, 2.0)
    graph.register_multi_grad_hook((x,), lambda all_grads: 5)
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_multi_grad_hook_for_any_gradient_gets_the_first() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    handle = graph.register_multi_grad_hook((x, y), lambda g: seen.append(g.tolist()), mode="any")
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0]]
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0]] * 2
    handle.remove()
    y.sum().backward()
    assert len(seen) == 2


def test_multi_grad_hook_refuses_other_modes() -> None:
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got none"):
        graph.register_multi_grad_hook((leaf(1.0),), print, mode="none")


def test_multi_grad_hook_as_context_manager() -> None:
    x, seen = leaf(1.0), []
    with graph.register_multi_grad_hook((x,), lambda all_grads: seen.append(len(all_grads))):
        (x * 1).backward()
    (x * 1).backward()
    assert seen == [1]


def hooked_result() -> weakref.ref[Any]:
    """A weak reference to a hook on a result that refers to the result's node."""
    y = leaf(1.0, 2.0) * 2
    node = y.grad_fn

    def hook(grad: Any) -> None:
        assert node is not None

    y.register_hook(hook)
    y.sum().backward()
    return weakref.ref(hook)


def test_cycle_through_a_hook_and_its_node_is_collected() -> None:
    watched = hooked_result()
    gc.collect()
    assert watched() is None
