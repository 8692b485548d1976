"""The walk: order at leaves, ownership of graphs, threads, errors midway."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch as torch


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The garbage collector is off, and has nothing to find afterwards."""
    gc.collect()
    gc.disable()
    yield
    found = gc.collect()
    gc.enable()
    assert found == 0


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_a_graph_keeps_a_leaf_that_was_dropped() -> None:
    def forward() -> Any:
        weight = torch.nn.Parameter(torch.ones(2))
        weight.note = "mine"
        weight.register_hook(lambda g: g * 10)
        return (weight * 3).sum()

    loss = forward()
    loss.backward()
    variable = loss.grad_fn.next_functions[0][0].next_functions[0][0].variable
    assert variable.tolist() == [1.0, 1.0]
    assert variable.grad.tolist() == [30.0, 30.0]
    assert isinstance(variable, torch.nn.Parameter)
    assert variable.requires_grad
    assert variable.note == "mine"
    assert variable is loss.grad_fn.next_functions[0][0].next_functions[0][0].variable


def test_hooks_of_leaves_run_as_soon_as_their_gradient_is_complete() -> None:
    order: list[str] = []
    early, late, twice = leaf(1.0), leaf(2.0), leaf(3.0)
    for name, tensor in (("early", early), ("late", late), ("twice", twice)):
        tensor.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
    a = early * twice
    b = a * 2
    b.register_hook(lambda g: order.append("b"))
    c = b * late
    c.register_hook(lambda g: order.append("c"))
    (c * twice).sum().backward()
    assert order.index("c") < order.index("late") < order.index("b") < order.index("early")
    assert order.index("b") < order.index("twice")


def test_an_optimizer_may_step_inside_backward() -> None:
    parameters = [leaf(1.0), leaf(2.0)]
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in parameters}

    def step(parameter: Any) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(step)
    (parameters[0] * 3 + parameters[1] * 5).sum().backward()
    assert [p.item() for p in parameters] == pytest.approx([0.7, 1.5])
    assert all(p.grad is None for p in parameters)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def in_place(x: Any) -> Any:
    h = x * 1
    h[0].mul_(3)
    h[1:] = h[:1] * 2
    h.add_(1)
    return h


GRAPHS = {
    "plain": lambda x: (x * x).exp(),
    "views": lambda x: x.view(1, -1)[0].t().unsqueeze(0),
    "several outputs": lambda x: x.unbind()[0] * x.max(0).values,
    "in place": in_place,
    "custom": lambda x: Double.apply(x) * Double.apply(x + 1),
    "saved results": lambda x: x.softmax(0).tanh().sigmoid(),
    "reshaped and indexed": lambda x: x[[0, 1, 1]].cumsum(0).reshape(3, 1).expand(3, 2),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.usefixtures("no_collector")
def test_graphs_are_freed_by_reference_count(name: str, backward: bool) -> None:
    x = leaf(0.5, 0.25)
    y = GRAPHS[name](x)
    node = weakref.ref(y.grad_fn)
    if backward:
        y.sum().backward()
    del y
    assert node() is None
    gone = weakref.ref(x)
    del x
    assert gone() is None


@pytest.mark.usefixtures("no_collector")
def test_hooks_and_packed_values_do_not_keep_a_graph() -> None:
    x = leaf(0.5, 0.25)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * x).exp()
    y.register_hook(lambda g: g)
    y.retain_grad()
    y.sum().backward()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


@pytest.mark.usefixtures("no_collector")
def test_a_long_graph_is_walked_and_freed_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1
    del y


def test_threads_add_all_they_have_to_one_leaf() -> None:
    x = torch.zeros(1000, requires_grad=True)

    def work() -> None:
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [400.0] * 1000


def test_an_interrupt_leaves_the_engine_usable() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda g: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward(retain_graph=True)
    handle.remove()
    assert torch.is_grad_enabled()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_deep_reentrant_backward_does_not_grow_the_stack() -> None:
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.inner = x.detach().requires_grad_() - 1
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.inner.item() > 0:
                with torch.enable_grad():
                    Deep.apply(ctx.inner).sum().backward()
            return g

    x = torch.tensor(3000.0, requires_grad=True)
    Deep.apply(x).sum().backward()
    assert x.grad.item() == 1
