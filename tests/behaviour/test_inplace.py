"""Writing in place: version counters, which tensors refuse it, and how history is rebased."""

from __future__ import annotations

import gc
import weakref
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


WRITES: list[Callable[[Any], Any]] = [
    lambda t: t.add_(1),
    lambda t: t.sub_(torch.ones(3)),
    lambda t: t.mul_(2),
    lambda t: t.div_(2),
    lambda t: t.zero_(),
    lambda t: t.fill_(3),
    lambda t: t.copy_(torch.ones(3)),
    lambda t: t.clamp_(0, 1),
    lambda t: t.exp_(),
    lambda t: t.neg_(),
    lambda t: t.pow_(2),
    lambda t: t.sigmoid_(),
    lambda t: t.masked_fill_(t > 0, 0.0),
    lambda t: t.index_fill_(0, torch.tensor([0]), 1.0),
    lambda t: t.scatter_(0, torch.tensor([0]), 1.0),
    lambda t: t.index_add_(0, torch.tensor([1]), torch.ones(1)),
    lambda t: t.addcmul_(torch.ones(3), torch.ones(3)),
    lambda t: t.lerp_(torch.ones(3), 0.5),
    lambda t: t.uniform_(),
    lambda t: t.normal_(),
    lambda t: t.__iadd__(1),
    lambda t: t.__imul__(2),
    lambda t: t.__isub__(1),
    lambda t: t.__itruediv__(2),
    lambda t: t.__ipow__(2),
]


@pytest.mark.parametrize("write", WRITES)
def test_each_inplace_op_returns_its_tensor_and_bumps_the_version_once(write: Callable[[Any], Any]) -> None:
    t = torch.tensor([0.25, -0.5, 2.0])
    assert t._version == 0
    assert write(t) is t
    assert t._version == 1


@pytest.mark.parametrize("write", WRITES)
def test_each_inplace_op_invalidates_a_saved_value(write: Callable[[Any], Any]) -> None:
    t = torch.tensor([0.25, -0.5, 2.0])
    x = torch.ones(3, requires_grad=True)
    y = x * t
    write(t)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize("write", WRITES)
def test_each_inplace_op_refuses_a_leaf_but_works_under_no_grad(write: Callable[[Any], Any]) -> None:
    x = torch.tensor([0.25, -0.5, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        write(x)
    assert x.tolist() == [0.25, -0.5, 2.0]
    assert x._version == 0
    with torch.no_grad():
        write(x)
    assert x._version == 1
    assert x.is_leaf
    assert x.requires_grad


def test_version_counts_writes_through_views_and_detached_aliases() -> None:
    t = torch.zeros(3)
    t[0] = 1.0
    assert t._version == 1
    view, alias = t[1:], t.detach()
    assert (view._version, alias._version) == (1, 1)
    view.mul_(2)
    assert (t._version, view._version, alias._version) == (2, 2, 2)
    alias.zero_()
    assert (t._version, view._version, alias._version) == (3, 3, 3)
    t.view(3, 1)[0].add_(1)
    assert (t._version, view._version, alias._version) == (4, 4, 4)


def test_version_ignores_reads_copies_and_data() -> None:
    t = torch.zeros(3)
    t.add_(1)
    t.data.zero_()
    t.data[0] = 5.0
    t.requires_grad_()
    t + t
    assert t.tolist() == [5.0, 0.0, 0.0]
    assert t._version == 1
    assert t.clone()._version == 0
    assert t.data._version == 0
    assert (t * 1)._version == 0


def test_version_of_each_kind_of_assignment() -> None:
    t = torch.zeros(3)
    t += 1
    assert t._version == 1
    t[torch.tensor([0])] = 1
    assert t._version == 2
    t[t > 0] = 2
    assert t._version == 3
    t[...] = 0
    assert t._version == 4
    t[0:2] = torch.ones(2)
    assert t._version == 5
    t[0] += 1  # one write by the addition, another by the assignment of its result
    assert t._version == 7
    assert t.tolist() == [2.0, 1.0, 0.0]


def test_version_is_read_only() -> None:
    with pytest.raises(AttributeError):
        torch.zeros(3)._version = 3


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[0].add_(1),
        lambda x: x.view(3, 1).mul_(2),
        lambda x: x[1:].zero_(),
        lambda x: x.t().zero_(),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__setitem__(slice(0, 2), 1.0),
        lambda x: x.reshape(3, 1)[0].fill_(1),
    ],
)
def test_view_of_leaf_may_not_be_written(write: Callable[[Any], Any]) -> None:
    x = leaf(1.0, 2.0, 3.0)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        write(x)
    assert x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(torch.tensor([0]), 1.0),
        lambda x: x.__setitem__(torch.tensor([True, False, True]), 0.0),
        lambda x: x.__setitem__(torch.tensor([1, 2]), leaf(1.0, 2.0)),
    ],
)
def test_leaf_may_not_be_written_by_advanced_assignment(write: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        write(leaf(1.0, 2.0, 3.0))


def test_augmented_assignment_on_leaf_raises() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x += 1
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0] += 1


def test_leaf_without_grad_may_be_written() -> None:
    x = torch.tensor([1.0, 2.0])
    x.mul_(2)
    x[0] = 7.0
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [14.0, 8.0]


def test_history_is_rebased_and_the_object_stays() -> None:
    a = leaf(1.0, 2.0)
    b = a * 1
    first = b.grad_fn
    same = b.mul_(3)
    assert same is b
    assert b.grad_fn is not first
    assert b.grad_fn.next_functions[0][0] is first
    b += 1
    b.pow_(2)
    assert b.tolist() == [16.0, 49.0]
    assert grad_of(b, a) == [24.0, 42.0]


@pytest.mark.parametrize(
    ("write", "functional"),
    [
        (lambda y, o: y.add_(o), lambda y, o: y + o),
        (lambda y, o: y.add_(o, alpha=3), lambda y, o: y + 3 * o),
        (lambda y, o: y.sub_(o), lambda y, o: y - o),
        (lambda y, o: y.mul_(o), lambda y, o: y * o),
        (lambda y, o: y.div_(o), lambda y, o: y / o),
        (lambda y, o: y.pow_(o), lambda y, o: y**o),
        (lambda y, o: y.pow_(3), lambda y, o: y**3),
        (lambda y, o: y.exp_(), lambda y, o: y.exp()),
        (lambda y, o: y.log_(), lambda y, o: y.log()),
        (lambda y, o: y.sqrt_(), lambda y, o: y.sqrt()),
        (lambda y, o: y.sin_(), lambda y, o: y.sin()),
        (lambda y, o: y.tanh_(), lambda y, o: y.tanh()),
        (lambda y, o: y.sigmoid_(), lambda y, o: y.sigmoid()),
        (lambda y, o: y.relu_(), lambda y, o: y.relu()),
        (lambda y, o: y.neg_(), lambda y, o: -y),
        (lambda y, o: y.abs_(), lambda y, o: y.abs()),
        (lambda y, o: y.reciprocal_(), lambda y, o: 1 / y),
        (lambda y, o: y.clamp_(1.5, 2.5), lambda y, o: y.clamp(1.5, 2.5)),
        (lambda y, o: y.clamp_(min=1.5), lambda y, o: y.clamp(min=1.5)),
        (lambda y, o: y.copy_(o), lambda y, o: o + 0),
        (lambda y, o: y.lerp_(o, 0.25), lambda y, o: y + 0.25 * (o - y)),
        (lambda y, o: y.addcmul_(o, o, value=2), lambda y, o: y + 2 * o * o),
        (lambda y, o: y.addcdiv_(o, o + 1), lambda y, o: y + o / (o + 1)),
        (lambda y, o: y.masked_fill_(y > 1.5, o[0]), lambda y, o: torch.where(y > 1.5, o[0], y)),
        (
            lambda y, o: y.index_add_(0, torch.tensor([0, 0, 2]), o),
            lambda y, o: y + torch.stack([o[0] + o[1], o[0] * 0, o[2]]),
        ),
        (
            lambda y, o: y.index_copy_(0, torch.tensor([2, 1]), o[:2]),
            lambda y, o: torch.stack([y[0], o[1], o[0]]),
        ),
        (
            lambda y, o: y.scatter_add_(0, torch.tensor([1, 1, 1]), o),
            lambda y, o: torch.stack([y[0], y[1] + o.sum(), y[2]]),
        ),
    ],
)
def test_inplace_op_has_the_gradients_of_its_functional_form(
    write: Callable[[Any, Any], Any], functional: Callable[[Any, Any], Any]
) -> None:
    a, other = leaf(1.0, 2.0, 3.0), leaf(0.5, 1.25, 2.0)
    y = a * 1
    write(y, other * 1)
    expected = functional(a * 1, other * 1)
    assert y.tolist() == pytest.approx(expected.tolist())
    weight = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    got = torch.autograd.grad((y * weight).sum(), (a, other), allow_unused=True, materialize_grads=True)
    want = torch.autograd.grad((expected * weight).sum(), (a, other), allow_unused=True, materialize_grads=True)
    for g, w in zip(got, want, strict=True):
        assert g.tolist() == pytest.approx(w.tolist())


def test_inplace_op_with_itself_as_operand() -> None:
    a = leaf(2.0, 3.0)
    y = a * 1
    y.add_(y)
    assert grad_of(y, a) == [2.0, 2.0]
    y = a * 1
    y.sub_(y.detach() * 0.5)
    assert grad_of(y, a) == [1.0, 1.0]
    y = a * 1
    y.mul_(y)
    assert y.tolist() == [4.0, 9.0]


def test_old_results_keep_the_old_version() -> None:
    a = leaf(2.0, 3.0)
    y = a * 1
    before = y + 0
    y.mul_(5)
    assert before.tolist() == [2.0, 3.0]
    assert grad_of(before + 3 * y, a) == [16.0, 16.0]


def test_constant_becomes_differentiable_by_a_write() -> None:
    a = leaf(1.0, 2.0)
    buffer = torch.zeros(2, dtype=torch.float64)
    buffer.add_(a)
    assert buffer.requires_grad
    assert not buffer.is_leaf
    buffer.mul_(a)
    assert grad_of(buffer, a) == [2.0, 4.0]


def test_write_under_no_grad_into_result_keeps_its_history() -> None:
    a = leaf(1.0, 2.0)
    y = a * 3
    node = y.grad_fn
    with torch.no_grad():
        y.add_(100)
    assert y.grad_fn is node
    assert grad_of(y, a) == [3.0, 3.0]


def test_overwriting_everything_cuts_the_gradient() -> None:
    a = leaf(1.0, 2.0)
    y = a * 3
    y.zero_()
    assert y.requires_grad
    assert grad_of(y, a) == [0.0, 0.0]


def test_second_derivatives_through_inplace_ops() -> None:
    a = leaf(1.0, 2.0)
    y = a**2
    y.mul_(a)
    (first,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    assert first.tolist() == [3.0, 12.0]
    (second,) = torch.autograd.grad(first.sum(), a)
    assert second.tolist() == [6.0, 12.0]


def test_shape_and_dtype_of_the_destination_stay() -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        torch.zeros(3).mul_(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.zeros(3, dtype=torch.long).mul_(1.5)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.ones(3, dtype=torch.long).add_(torch.ones(3, requires_grad=True))
    y = torch.ones(2, requires_grad=True) * 1
    y.add_(leaf(1.0, 2.0))
    assert y.dtype == torch.float32


def test_expanded_tensor_may_not_be_written() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        torch.zeros(3).expand(2, 3).add_(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.add(x, x, out=torch.zeros(2, dtype=torch.float64)),
        lambda x: torch.mul(x, 2.0, out=torch.zeros(2, dtype=torch.float64)),
        lambda x: torch.exp(x, out=torch.zeros(2, dtype=torch.float64)),
        lambda x: torch.matmul(x, x, out=torch.zeros((), dtype=torch.float64)),
        lambda x: torch.sum(x, 0, out=torch.zeros((), dtype=torch.float64)),
        lambda x: torch.cat([x, x], out=torch.zeros(4, dtype=torch.float64)),
        lambda x: torch.add(x.detach(), 1, out=leaf(0.0, 0.0)),
        lambda x: torch.add(x.detach(), 1, out=x * 1),
    ],
)
def test_out_argument_refuses_tensors_that_require_grad(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic different"):
        call(leaf(1.0, 2.0))


def test_out_argument_without_grad_returns_the_destination() -> None:
    destination = torch.zeros(2)
    assert torch.add(torch.ones(2), 1, out=destination) is destination
    assert destination.tolist() == [2.0, 2.0]
    assert destination._version == 1
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        result = torch.add(x, x, out=torch.zeros(2, dtype=torch.float64))
    assert result.tolist() == [2.0, 4.0]
    assert not result.requires_grad


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"])
def test_inplace_comparison_stops_the_gradient(name: str) -> None:
    a = leaf(1.0, 2.0)
    y = a * 2
    getattr(y, name)(torch.tensor([2.0, 0.0], dtype=torch.float64))
    assert y.dtype == torch.float64
    assert y._version == 1
    assert y.requires_grad
    assert grad_of(y, a) == [0.0, 0.0]


def test_increment_version() -> None:
    t = torch.zeros(3)
    torch.autograd.graph.increment_version(t)
    assert t._version == 1
    torch.autograd.graph.increment_version([t, t])
    assert t._version == 3
    assert t[0]._version == 3
    with pytest.raises(RuntimeError, match="increment_version expect"):
        torch.autograd.graph.increment_version(3)


def test_write_through_data_goes_undetected() -> None:
    a = leaf(1.0, 2.0)
    b = a * 1
    c = b * b
    b.data.fill_(10.0)
    assert b._version == 0
    assert grad_of(c, a) == [20.0, 20.0]


def test_detach_inplace_cuts_the_graph() -> None:
    a = leaf(1.0, 2.0)
    y = a * 2
    later = y * 3
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None
    assert grad_of(later, a) == [6.0, 6.0]


def test_assigned_data_keeps_history_and_version() -> None:
    a = leaf(1.0, 2.0)
    y = a * 2
    y.data = torch.tensor([7.0, 8.0], dtype=torch.float64)
    assert y.tolist() == [7.0, 8.0]
    assert y._version == 0
    assert grad_of(y, a) == [2.0, 2.0]


def test_training_loop_with_inplace_updates() -> None:
    weight = leaf(0.0)
    for _ in range(3):
        loss = (weight - 4) ** 2
        loss.sum().backward()
        with torch.no_grad():
            weight -= 0.25 * weight.grad
        weight.grad.zero_()
    assert weight.tolist() == [3.5]
    assert weight.is_leaf
    assert weight.grad.tolist() == [0.0]


def test_history_cut_in_place_is_freed_at_once() -> None:
    intermediate = leaf(1.0) * 1
    result = intermediate * intermediate
    watched = weakref.ref(intermediate)
    gc.disable()
    try:
        del intermediate
        assert watched() is not None
        result.detach_()
        assert watched() is None
    finally:
        gc.enable()
