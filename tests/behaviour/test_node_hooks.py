"""Hooks on graph nodes: pre-hooks, post-hooks, and the order of everything that runs at a node."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def as_lists(values: Any) -> list[Any]:
    return [v if v is None else v.tolist() for v in values]


def test_prehook_gets_the_output_gradients() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: seen.append((type(grads), as_lists(grads))))
    (y * 5).sum().backward()
    assert seen == [(tuple, [[5.0, 5.0]])]
    assert x.grad.tolist() == [15.0, 15.0]


def test_prehook_may_replace_the_output_gradients() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
    y.sum().backward()
    assert x.grad.tolist() == [33.0, 33.0]


def test_prehook_of_node_with_several_outputs() -> None:
    x, seen = leaf(1.0, 2.0), []
    first, second = x.unbind()
    assert first.grad_fn is second.grad_fn
    first.grad_fn.register_prehook(lambda grads: seen.append(as_lists(grads)))
    first.backward(retain_graph=True)
    (first * 2 + second * 3).backward()
    assert seen == [[1.0, None], [2.0, 3.0]]


def test_posthook_gets_both_sides_and_may_replace_the_input_gradients() -> None:
    x, y, seen = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    z = x * y

    def hook(grad_inputs: Any, grad_outputs: Any) -> Any:
        seen.append((type(grad_inputs), as_lists(grad_inputs), type(grad_outputs), as_lists(grad_outputs)))
        return grad_inputs[0] * 10, grad_inputs[1]

    z.grad_fn.register_hook(hook)
    (z * 2).sum().backward()
    assert seen == [(tuple, [[6.0, 8.0], [2.0, 4.0]], tuple, [[2.0, 2.0]])]
    assert x.grad.tolist() == [60.0, 80.0]
    assert y.grad.tolist() == [2.0, 4.0]


def test_posthook_sees_none_for_inputs_without_grad() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * torch.ones(2, dtype=torch.float64)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(as_lists(grad_inputs)))
    y.sum().backward()
    assert seen == [[[1.0, 1.0], None]]


def test_posthooks_chain_and_none_keeps() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x.exp() * 0 + x
    node = y.grad_fn
    node.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0], grad_inputs[1] * 2))
    node.register_hook(lambda grad_inputs, grad_outputs: seen.append(as_lists(grad_inputs)))
    node.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0], grad_inputs[1] + 1))
    y.sum().backward()
    assert seen == [[[1.0, 1.0], [2.0, 2.0]]]
    assert x.grad.tolist() == [3.0, 3.0]


def test_posthook_may_drop_gradients() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = x * y
    z.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (None, grad_inputs[1]))
    z.sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda grads: grads[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda grads: [grads[0]], TypeError, "expected tuple, but hook returned 'list'"),
        (lambda grads: (3,), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda grads: (grads[0], grads[0]), RuntimeError, r"incorrect number of values \(got 2, but expected 1\)"),
        (lambda grads: (grads[0][0],), RuntimeError, "has changed the size of value"),
    ],
)
def test_prehook_returning_something_else_raises(
    hook: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    y = leaf(1.0, 2.0) * 3
    y.grad_fn.register_prehook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda i, o: i[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda i, o: list(i), TypeError, "expected tuple, but hook returned 'list'"),
        (lambda i, o: (i[0], 3), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda i, o: (i[0],), RuntimeError, r"incorrect number of values \(got 1, but expected 2\)"),
        (lambda i, o: (i[0][0], i[1]), RuntimeError, "has changed the size of value"),
    ],
)
def test_posthook_returning_something_else_raises(
    hook: Callable[[Any, Any], Any], error: type[Exception], message: str
) -> None:
    y = leaf(1.0, 2.0) * leaf(3.0, 4.0)
    y.grad_fn.register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize("register", ["register_prehook", "register_hook"])
def test_handles_of_node_hooks(register: str) -> None:
    y, seen = leaf(1.0, 2.0) * 3, []
    first = getattr(y.grad_fn, register)(lambda *_: seen.append("first"))
    with getattr(y.grad_fn, register)(lambda *_: seen.append("second")):
        y.sum().backward(retain_graph=True)
    assert seen == ["first", "second"]
    y.sum().backward(retain_graph=True)
    assert seen == ["first", "second", "first"]
    first.remove()
    first.remove()
    y.sum().backward()
    assert len(seen) == 3


@pytest.mark.parametrize("register", ["register_prehook", "register_hook"])
def test_exception_in_node_hook_reaches_the_caller(register: str) -> None:
    y = leaf(1.0, 2.0) * 3

    def fail(*_: Any) -> None:
        raise KeyError("mine")

    getattr(y.grad_fn, register)(fail)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()


def record_everything(log: list[str]) -> tuple[Any, Any, Any]:
    """A leaf, `leaf * 2` and its sum, with a hook of every kind at the leaf and at the result that writes to `log`."""
    x = leaf(1.0, 2.0)
    y = x * 2
    node = y.grad_fn

    def retained() -> str:
        return "not retained" if y.grad is None else "retained"

    node.register_prehook(lambda grads: log.append("pre 1"))
    y.retain_grad()
    y.register_hook(lambda g: log.append(f"tensor 1, {retained()}"))
    node.register_hook(lambda grad_inputs, grad_outputs: log.append(f"post, {retained()}"))
    node.register_prehook(lambda grads: log.append("pre 2"))
    y.register_hook(lambda g: log.append("tensor 2"))
    accumulator = node.next_functions[0][0]
    accumulator.register_prehook(lambda grads: log.append("leaf pre"))
    accumulator.register_hook(lambda grad_inputs, grad_outputs: log.append(f"leaf post, inputs {grad_inputs}"))
    x.register_hook(lambda g: log.append("leaf tensor" if x.grad is None else "leaf tensor, accumulated"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("leaf accumulated"))
    return x, y, y.sum()


AT_RESULT = ["tensor 1, not retained", "tensor 2", "pre 1", "pre 2", "post, retained"]
AT_LEAF = ["leaf tensor", "leaf pre", "leaf accumulated", "leaf post, inputs ()"]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda x, y, loss: loss.backward(), AT_RESULT + AT_LEAF),
        (lambda x, y, loss: loss.backward(inputs=[x]), AT_RESULT + AT_LEAF),
        (lambda x, y, loss: torch.autograd.grad(loss, x), [*AT_RESULT, "leaf tensor"]),
        (lambda x, y, loss: torch.autograd.grad(loss, [x, y]), [*AT_RESULT, "leaf tensor"]),
        (lambda x, y, loss: torch.autograd.grad(loss, y), AT_RESULT[:2]),
    ],
)
def test_order_of_everything_at_a_node(run: Callable[[Any, Any, Any], Any], expected: list[str]) -> None:
    log: list[str] = []
    run(*record_everything(log))
    assert log == expected


def test_tensor_hooks_precede_prehooks_and_retained_gradient_ignores_prehooks() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    y.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]
    assert x.grad.tolist() == [40.0, 40.0]


def test_prehook_of_accumulator_changes_what_is_accumulated() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: (grads[0] * 10,))
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_gradient_by_autograd_grad_is_taken_after_tensor_hooks_and_before_prehooks() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    (grad,) = torch.autograd.grad((y * 3).sum(), y)
    assert grad.tolist() == [15.0, 15.0]


def test_hooks_on_custom_function_node() -> None:
    log: list[Any] = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            log.append("backward")
            return grad * 2, None

    x = leaf(1.0, 2.0)
    y = Double.apply(x, 2.0)
    y.grad_fn.register_prehook(lambda grads: log.append(("pre", as_lists(grads))))
    y.grad_fn.register_hook(lambda i, o: log.append(("post", as_lists(i), as_lists(o))))
    y.sum().backward()
    assert log[:2] == [("pre", [[1.0, 1.0]]), "backward"]
    assert log[2][0] == "post"
    assert log[2][1][0] == [2.0, 2.0]
    assert log[2][2] == [[1.0, 1.0]]


def test_hook_registered_during_backward_on_a_later_node_runs() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    z = y * 3
    z.grad_fn.register_hook(lambda *_: y.grad_fn.register_prehook(lambda grads: seen.append(as_lists(grads))) and None)
    z.sum().backward()
    assert seen == [[[3.0, 3.0]]]


def test_node_hooks_run_when_several_consumers_have_contributed() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(as_lists(grads)))
    (y * 3 + y.sum() + y * y).sum().backward()
    assert seen == [[[9.0, 13.0]]]


def hooked_node(register: str) -> weakref.ref[Any]:
    """A weak reference to a hook that refers to the node on which it hangs."""
    y = leaf(1.0, 2.0) * 2
    node = y.grad_fn

    def hook(*gradients: Any) -> None:
        assert node not in gradients

    getattr(node, register)(hook)
    y.sum().backward()
    return weakref.ref(hook)


@pytest.mark.parametrize("register", ["register_prehook", "register_hook"])
def test_cycle_through_a_node_hook_is_collected(register: str) -> None:
    watched = hooked_node(register)
    gc.collect()
    assert watched() is None
