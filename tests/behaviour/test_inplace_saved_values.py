"""Writing in place into values that backward will read: what is detected, what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def grad_of(output: Any, *inputs: Any) -> Any:
    """Gradients of `output.sum()` as nested lists: one list for one input, else a list of them."""
    grads = [g.tolist() for g in torch.autograd.grad(output.sum(), inputs)]
    return grads[0] if len(inputs) == 1 else grads


@pytest.mark.parametrize(
    "operation",
    [
        lambda y: y * y,
        lambda y: y**2,
        lambda y: y.sin(),
        lambda y: y.log(),
        lambda y: y.abs(),
        lambda y: y / leaf(1.0, 2.0, 3.0),
        lambda y: y.prod(),
        lambda y: y.norm(),
        lambda y: y.std(),
        lambda y: y.max(),
        lambda y: torch.maximum(y, leaf(1.0, 2.0, 3.0)),
        lambda y: torch.dot(y, leaf(1.0, 2.0, 3.0)),
        lambda y: torch.outer(y, leaf(1.0, 2.0, 3.0)),
        lambda y: torch.clamp(y, 0, 1),
        lambda y: torch.nn.functional.gelu(y),
        lambda y: torch.nn.functional.softplus(y),
        lambda y: torch.logsumexp(y, 0),
        lambda y: torch.cumprod(y, 0),
    ],
)
def test_modified_saved_input_makes_backward_raise(operation: Callable[[Any], Any]) -> None:
    y = leaf(1.0, 2.0, 3.0) * 1
    z = operation(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x.exp(),
        lambda x: x.sqrt(),
        lambda x: x.tanh(),
        lambda x: x.sigmoid(),
        lambda x: x.relu(),
        lambda x: x.reciprocal(),
        lambda x: x.softmax(0),
        lambda x: x.log_softmax(0),
        lambda x: x.tan(),
        lambda x: x.rsqrt(),
        lambda x: x.expm1(),
        lambda x: 2**x,
    ],
)
def test_modified_saved_result_makes_backward_raise(operation: Callable[[Any], Any]) -> None:
    y = operation(leaf(1.0, 2.0, 3.0))
    y.mul_(2)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda x: x + 1, [2.0, 2.0, 2.0]),
        (lambda x: x - 1, [2.0, 2.0, 2.0]),
        (lambda x: 1 - x, [-2.0, -2.0, -2.0]),
        (lambda x: x * 3, [6.0, 6.0, 6.0]),
        (lambda x: x / 2, [1.0, 1.0, 1.0]),
        (lambda x: -x, [-2.0, -2.0, -2.0]),
        (lambda x: x * x, [4.0, 8.0, 12.0]),
        (lambda x: x**2, [4.0, 8.0, 12.0]),
        (lambda x: x.log(), [2.0, 1.0, 2 / 3]),
        (lambda x: x.clone(), [2.0, 2.0, 2.0]),
        (lambda x: x.cumsum(0), [6.0, 4.0, 2.0]),
        (lambda x: x.flip(0), [2.0, 2.0, 2.0]),
        (lambda x: torch.stack([x, x]), [4.0, 4.0, 4.0]),
        (lambda x: torch.cat([x, x]), [4.0, 4.0, 4.0]),
        (lambda x: x.mean(0, keepdim=True), [2 / 3, 2 / 3, 2 / 3]),
    ],
)
def test_result_that_its_formula_does_not_need_may_be_modified(
    operation: Callable[[Any], Any], expected: list[float]
) -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = operation(x)
    y.mul_(2)
    assert grad_of(y, x) == pytest.approx(expected)


@pytest.mark.parametrize(
    "operation",
    [
        lambda y: y + 1,
        lambda y: y * 2,
        lambda y: y / 2,
        lambda y: y.exp(),
        lambda y: y.tanh(),
        lambda y: y.sum(),
        lambda y: y.mean(),
        lambda y: y.cumsum(0),
        lambda y: y.softmax(0),
        lambda y: y[torch.tensor([0, 1])],
        lambda y: torch.where(torch.tensor([True, False, True]), y, 0.0),
        lambda y: torch.cat([y, y]),
    ],
)
def test_input_that_the_formula_does_not_need_may_be_modified(operation: Callable[[Any], Any]) -> None:
    x = leaf(1.0, 2.0, 3.0)
    untouched = grad_of(operation(x * 1), x)
    y = x * 1
    z = operation(y)
    y.zero_()
    assert grad_of(z, x) == untouched


def test_only_the_operand_that_a_needed_gradient_reads_is_protected() -> None:
    x, constant = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    y = x * 1
    z = y * constant
    y.zero_()
    assert grad_of(z, x) == [3.0, 4.0]
    z = (x * 1) * constant
    constant.zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_message_tells_shape_producer_and_versions() -> None:
    y = torch.ones(2, 3, requires_grad=True) + 1
    z = y * y
    y.add_(1).mul_(2)
    with pytest.raises(RuntimeError, match=r"\[2, 3\].*is at version 2"):
        z.sum().backward()


def test_modified_index_or_mask_makes_backward_raise() -> None:
    x, index, mask = leaf(1.0, 2.0, 3.0), torch.tensor([0, 1]), torch.tensor([True, False, True])
    y, z = x[index], x.masked_fill(mask, 0.0)
    index[0] = 2
    mask[0] = False
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_graph_works_again_after_an_error_elsewhere() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    broken, sound = y * y, y * 3
    y.zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        broken.sum().backward()
    x.grad = None
    sound.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_optimizer_like_step_between_forward_and_backward_raises() -> None:
    weight, x = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    loss = (weight * x).sum()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        weight.sub_(weight.grad, alpha=0.1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_increment_version_invalidates_saved_values() -> None:
    x, factor = leaf(1.0), torch.tensor([2.0])
    y = x * factor
    factor.data.fill_(3.0)
    torch.autograd.graph.increment_version(factor)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_mutation_of_saved_tensors_can_be_allowed() -> None:
    a = leaf(1.0, 2.0, 3.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = a * 1
        z = y**2
        y.mul_(10)
        late = y**2
        y.zero_()
        (z + late).sum().backward()
    assert y.tolist() == [0.0, 0.0, 0.0]
    assert a.grad.tolist() == [202.0, 404.0, 606.0]


def test_allowed_mutation_through_view_and_of_leaf() -> None:
    a = leaf(1.0, 2.0, 3.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = a * 1
        z = y.sin()
        y[0].zero_()
        loss = (a * a).sum() + (z * 0).sum()
        with torch.no_grad():
            a.zero_()
        loss.backward()
    assert a.grad.tolist() == [2.0, 4.0, 6.0]


def test_allowed_mutation_ends_with_its_context() -> None:
    a = leaf(1.0, 2.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = a * 1
        z = y**2
        y.zero_()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        z.sum().backward()


def test_allowed_mutation_contexts_do_not_nest() -> None:
    outer = torch.autograd.graph.allow_mutation_on_saved_tensors()
    inner = torch.autograd.graph.allow_mutation_on_saved_tensors()
    with outer, pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"), inner:
        pass


def test_write_into_detached_alias_makes_backward_raise_when_saved() -> None:
    a = leaf(1.0, 2.0)
    b = a * 1
    saved, unsaved = b * b, b + 1
    b.detach().zero_()
    assert b.tolist() == [0.0, 0.0]
    assert grad_of(unsaved, a) == [1.0, 1.0]
    with pytest.raises(RuntimeError, match=MODIFIED):
        saved.sum().backward()


def test_write_into_detached_leaf_makes_backward_raise_when_saved() -> None:
    a = leaf(1.0, 2.0)
    y = a * a
    a.detach().mul_(2)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
