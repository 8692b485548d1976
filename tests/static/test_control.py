"""Branches and loops in graphs: values, gradients of several orders, what is computed, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from minitorch.autograd import grad

x, w, x3, x4 = [static.placeholder(name) for name in ("x", "w", "x3", "x4")]


def run(outputs: Any, feed: Any) -> list[Any]:
    return static.Executor(outputs).run(feed)


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_allclose(one, other.detach() if isinstance(other, torch.Tensor) else other, rtol=1e-5)


def leaves(*values: float) -> list[Any]:
    return [torch.tensor(v, requires_grad=True) for v in values]


# -- cond --------------------------------------------------------------------------------------------------------------
def test_a_branch_and_its_gradients() -> None:
    y = static.cond(x > 2, x * x3, x4 - x)
    assert str(y) == "cond((x>2), (x*x3), (x4-x))"
    executor = static.Executor([y, *static.gradients(y, [x, x3, x4])])
    close(executor.run({x: 3.0, x3: 5.0, x4: 1.0}), [15, 5, 3, 0])
    close(executor.run({x: 1.0, x3: 5.0, x4: 1.0}), [0, -1, 0, 1])


def counted(calls: list[str], name: str) -> Any:
    def function(tensor: Any) -> Any:
        calls.append(name)
        return tensor * 1

    return function


def test_only_the_branch_that_is_taken_is_computed_backwards_too() -> None:
    calls: list[str] = []
    then, otherwise = static.apply(counted(calls, "then"), x), static.apply(counted(calls, "otherwise"), x)
    shared = static.apply(counted(calls, "shared"), x)
    y = static.cond(x > 0, then * shared, otherwise + w) + shared
    executor = static.Executor([y, *static.gradients(y, [x, w])])
    close(executor.run({x: 2.0, w: 5.0}), [6, 5, 0])
    assert calls.count("otherwise") == 0
    calls.clear()
    close(executor.run({x: -2.0, w: 5.0}), [1, 2, 1])
    assert calls.count("then") == 0
    assert "shared" in calls


def test_what_fails_in_a_branch_fails_where_it_is_taken() -> None:
    y = static.cond(x > 0, x, static.apply(lambda t: t[5], x))
    executor = static.Executor(y)
    close(executor.run({x: 1.0}), [1])
    with pytest.raises(Exception, match="at node"):
        executor.run({x: -1.0})


def test_nested_branches_of_second_order() -> None:
    y = static.cond(x > 0, static.cond(w > 0, x * w * w, x * x), static.cond(w > 0, x**3, lambda: w))
    first = static.gradients(y, [x, w])
    second = static.gradients(first[0] + first[1], [x, w], allow_unused=True)
    executor = static.Executor([y, *first, *second])
    for a in (1.5, -1.5):
        for b in (0.5, -0.5):
            at, bt = leaves(a, b)
            eager = (at * bt * bt if b > 0 else at * at) if a > 0 else (at**3 if b > 0 else bt + at * 0)
            g = grad(eager, [at, bt], create_graph=True, materialize_grads=True)
            h = grad(g[0] + g[1] + 0 * at * bt, [at, bt], materialize_grads=True)
            close(executor.run({x: a, w: b}), [eager, *g, *h])


def test_chains_of_branches_cost_as_much_as_they_are_long() -> None:
    y: Any = x
    for _ in range(40):
        y = static.cond(y > 1, y * 0.5, y * w)
    g = static.gradients(y, [x, w])
    at, bt = leaves(1.5, 1.25)
    eager = at
    for _ in range(40):
        eager = eager * 0.5 if eager > 1 else eager * bt
    executor = static.Executor([y, *g])
    assert len(executor.program.instructions) < 1000
    close(executor.run({x: 1.5, w: 1.25}), [eager, *grad(eager, [at, bt])])


def test_several_values_and_the_gradient_of_a_node_in_a_branch() -> None:
    inner = x * w
    a, b = static.cond(x > 0, (inner * 2, x), (x, w))
    g = static.gradients([a, b], [inner, w], allow_unused=True)
    close(run([a, b, *g], {x: 2.0, w: 3.0}), [12, 2, 2, 4])
    close(run([a, b, *g], {x: -2.0, w: 3.0}), [-2, 3, 0, 1])


def test_branches_that_cannot_be() -> None:
    with pytest.raises(TypeError, match="'condition' must be a node, not bool; where it is known now, use if"):
        static.cond(True, x, w)
    with pytest.raises(RuntimeError, match="give 2 and 1 values"):
        static.cond(x > 0, (x, w), x)
    with pytest.raises(
        RuntimeError, match=r"the condition \(x>2\) has shape \(3,\), but a branch takes one truth value"
    ):
        run(static.cond(x > 2, x, w), {x: np.ones(3), w: 1.0})
    with pytest.raises(RuntimeError, match=r"^cond\(\): the condition \(x>2\) has shape \(3,\), but a branch"):
        run(static.cond(x > 2, x * 2, w * 2), {x: np.ones(3), w: 1.0})


# -- while_loop --------------------------------------------------------------------------------------------------------
def eager_power(a: Any, b: Any) -> Any:
    while a < 50:
        a = a * b + a
    return a


def test_a_loop_and_its_gradients() -> None:
    y = static.while_loop(lambda p: p < 50, lambda p: p * w + p, x)
    first = static.gradients(y, [x, w])
    second = static.gradients(first[1], [x, w])
    third = static.gradients(second[1], [w])
    executor = static.Executor([y, *first, *second, *third])
    for a, b in ((1.0, 1.5), (2.0, 3.0), (60.0, 1.0)):
        at, bt = leaves(a, b)
        eager = eager_power(at, bt)
        g = grad(eager, [at, bt], create_graph=True, materialize_grads=True)
        h = grad(g[1] + 0 * at * bt, [at, bt], create_graph=True)
        k = grad(h[1] + 0 * bt, [bt])
        close(executor.run({x: a, w: b}), [eager, *g, *h, *k])


def test_a_counter_beside_a_state_and_a_constant_from_outside() -> None:
    scale = static.constant([2.0, 3.0])
    count, h = static.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, (h * w * scale).tanh()), (0, x))
    g = static.gradients(h, [x, w])
    at, bt = torch.tensor([0.5, 0.1], requires_grad=True), torch.tensor(0.7, requires_grad=True)
    eager = at
    for _ in range(4):
        eager = (eager * bt * torch.tensor([2.0, 3.0])).tanh()
    found = run([count, h, *g], {x: at.detach(), w: 0.7})
    assert found[0].item() == 4
    close([f.numpy() for f in found[1:]], [eager, *grad(eager.sum(), [at, bt])])


def test_loops_in_loops_with_branches() -> None:
    def outer(k: Any, h: Any) -> Any:
        _, inner = static.while_loop(lambda j, q: j < k, lambda j, q: (j + 1, q * w + x), (0, h))
        return k + 1, static.cond(inner > 2, inner * 0.5, inner)

    _, y = static.while_loop(lambda k, h: k < 4, outer, (1, x))
    first = static.gradients(y, [x, w])
    executor = static.Executor([y, *first, *static.gradients(first[1], [x, w])])
    at, bt = leaves(0.5, 0.9)
    eager = at
    for k in range(1, 4):
        for _ in range(k):
            eager = eager * bt + at
        if eager > 2:
            eager = eager * 0.5
    g = grad(eager, [at, bt], create_graph=True)
    close(executor.run({x: 0.5, w: 0.9}), [eager, *g, *grad(g[1], [at, bt])])


def test_iterates_are_kept_only_for_gradients() -> None:
    y = static.while_loop(lambda p: p < 50, lambda p: p * 2, x)
    assert "keep=False" in static.Executor(y).program.source
    assert "keep=True" in static.Executor(static.gradients(y, [x])).program.source


def test_a_long_loop() -> None:
    n, y = static.while_loop(lambda i, p: i < 3000, lambda i, p: (i + 1, p * w), (0, x))
    close(run([y, *static.gradients(y, [w])], {x: 1.0, w: 1.0}), [1, 3000])
    assert str(n) == "while_loop(0, x, w)[0]" or "while_loop" in str(n)


def test_loops_that_cannot_be() -> None:
    leaked: list[Any] = []

    def leak(v: Any) -> Any:
        leaked.append(v * 2)
        return v + 1

    static.while_loop(lambda v: v < 3, leak, x)
    with pytest.raises(
        RuntimeError, match=r"node \(v\*2\) belongs to the body of while_loop\(leak\) and has no value out"
    ):
        leaked[0] + x
    with pytest.raises(
        RuntimeError, match=r"\(v\*2\) belongs to the body of while_loop\(leak\); run what the loop gives"
    ):
        static.Executor(leaked)
    with pytest.raises(RuntimeError, match=r"body gives 2 values for 1 variables \(v\)"):
        static.while_loop(lambda v: v < 3, lambda v: (v, v), x)
    with pytest.raises(TypeError, match="condition must give a node, not bool"):
        static.while_loop(lambda v: True, lambda v: v, x)
    with pytest.raises(TypeError, match="'init' is empty"):
        static.while_loop(lambda: x > 0, lambda: (), ())
    with pytest.raises(RuntimeError, match=r"static\.parameter"):
        static.while_loop(lambda v: v < 3, lambda v: v + x, torch.ones(1, requires_grad=True))


def test_what_is_given_on_is_a_copy() -> None:
    tensor = torch.ones(3, requires_grad=True)
    p = static.parameter(tensor, "p")
    swapped = static.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), (0, p * 2, p))
    outputs = [
        p,
        static.cond(x > 0, p, p * 2),
        static.cond(x > 0, static.cond(x > 1, p * 3, p), p),
        static.while_loop(lambda a: a.sum() < 0, lambda a: a * 2, p),
        static.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, p), (0, p * 2))[1],
        swapped[1],
        static.constant([1.0, 2.0]),
    ]
    executor = static.Executor(outputs)
    for found in executor.run({x: 1.0}):
        found += 5
    assert tensor.tolist() == [1, 1, 1]
    assert [v.tolist()[0] for v in executor.run({x: 1.0})] == [1, 1, 1, 1, 1, 1, 1]
