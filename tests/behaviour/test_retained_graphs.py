"""Graphs that are walked again: create_graph and retain_graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

CREATE_GRAPH_WARNING = r"Using backward\(\) with create_graph=True"


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class TestCreateGraph:
    def backward(self, loss: Any, **kwargs: Any) -> None:
        with pytest.warns(UserWarning, match=CREATE_GRAPH_WARNING):
            loss.backward(create_graph=True, **kwargs)

    def test_method_and_function_warn(self) -> None:
        x = vector(1.0, 2.0)
        self.backward((x * x).sum())
        with pytest.warns(UserWarning, match=CREATE_GRAPH_WARNING):
            torch.autograd.backward((x * x).sum(), create_graph=True)
        x.grad = None

    def test_grad_does_not_warn(self) -> None:
        x = vector(1.0, 2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.autograd.grad((x * x).sum(), x, create_graph=True)
            (x * x).sum().backward()

    def test_the_gradient_can_be_differentiated(self) -> None:
        x = vector(1.0, 2.0)
        self.backward((x**3).sum())
        first = x.grad
        assert first.requires_grad
        assert not first.is_leaf
        x.grad = None
        first.sum().backward()
        assert x.grad.tolist() == [6.0, 12.0]

    def test_a_constant_gradient_needs_no_graph(self) -> None:
        x = vector(1.0, 2.0)
        self.backward((x * 2).sum())
        assert x.grad.tolist() == [2.0, 2.0]
        assert not x.grad.requires_grad

    @pytest.mark.parametrize("first_has_graph", [True, False])
    def test_accumulation_makes_a_new_tensor(self, first_has_graph: bool) -> None:
        x = vector(1.0, 2.0)
        if first_has_graph:
            self.backward((x * x).sum())
        else:
            (x * x).sum().backward()
        old = x.grad
        self.backward((x * x).sum())
        assert x.grad is not old
        assert x.grad.requires_grad
        assert old.tolist() == [2.0, 4.0]
        assert x.grad.tolist() == [4.0, 8.0]

    def test_a_plain_backward_then_adds_in_place(self) -> None:
        x = vector(1.0, 2.0)
        self.backward((x * x).sum())
        old = x.grad
        (x * x).sum().backward()
        assert x.grad is old
        assert old.tolist() == [4.0, 8.0]

    def test_the_graph_is_retained_unless_told_otherwise(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).sum()
        self.backward(loss)
        self.backward(loss, retain_graph=False)
        assert x.grad.tolist() == [4.0, 8.0]
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            loss.backward()

    def test_gradient_penalty(self) -> None:
        w = vector(1.0, 2.0)
        x = vector(3.0, 4.0)
        (g,) = torch.autograd.grad((w * x * x).sum(), x, create_graph=True)
        (g * g).sum().backward()  # sum (2 w x)^2
        assert w.grad.tolist() == [8.0 * 9.0, 16.0 * 16.0]
        assert x.grad.tolist() == [8.0 * 3.0, 32.0 * 4.0]


class TestRetainGraph:
    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x * x,
            lambda x: x.exp(),
            lambda x: x.sigmoid(),
            lambda x: x**2,
            lambda x: x / x,
            lambda x: x @ x,
            lambda x: x.prod(),
            lambda x: x.relu(),
            lambda x: torch.nn.functional.softmax(x, dim=0),
        ],
    )
    def test_a_second_backward_through_saved_tensors_raises(self, fn: Callable[[Any], Any]) -> None:
        x = vector(1.0, 2.0)
        loss = fn(x).sum()
        loss.backward()
        before = x.grad.tolist()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            loss.backward()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            torch.autograd.grad(loss, x)
        assert x.grad.tolist() == before

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x + 1,
            lambda x: 1 - x,
            lambda x: x + x,
            lambda x: -x,
            lambda x: x.clone(),
            lambda x: x.view(2, 1).t(),
            lambda x: x[0],
            lambda x: x.expand(3, 2),
            lambda x: torch.cat([x, x]),
            lambda x: torch.stack([x, x]),
            lambda x: x.mean(),
            lambda x: x.sum(dim=0, keepdim=True),
        ],
    )
    def test_a_second_backward_through_nodes_that_saved_nothing_works(self, fn: Callable[[Any], Any]) -> None:
        x = vector(1.0, 2.0)
        loss = fn(x).sum()
        loss.backward()
        once = x.grad.tolist()
        loss.backward()
        assert x.grad.tolist() == [2 * g for g in once]

    def test_a_shared_part_is_freed_for_other_roots(self) -> None:
        x = vector(1.0, 2.0)
        hidden = x * x
        first, second = hidden.sum(), (hidden + 1).sum()
        first.backward()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            second.backward()

    def test_a_shared_part_that_is_retained_serves_other_roots(self) -> None:
        x = vector(1.0, 2.0)
        hidden = x * x
        first, second = hidden.sum(), (hidden * 10).sum()
        first.backward(retain_graph=True)
        second.backward()
        assert x.grad.tolist() == [22.0, 44.0]

    def test_a_state_carried_over_without_detach_raises(self) -> None:
        w, state = vector(0.5), torch.ones(1)
        state = (state * w).tanh()
        state.sum().backward()
        state = (state * w).tanh()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            state.sum().backward()

    def test_a_retained_graph_runs_any_number_of_times(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).exp().log().sum()
        for _ in range(5):
            x.grad = None
            loss.backward(retain_graph=True)
            torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0]))
        loss.backward()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            loss.backward()

    def test_retaining_comes_too_late_after_a_plain_backward(self) -> None:
        loss = (vector(1.0) * vector(2.0)).sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            loss.backward(retain_graph=True)
