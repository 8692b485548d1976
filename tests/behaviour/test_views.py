"""Views: sharing, writes through views and their gradients, which views refuse writes, and indexed assignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
MULTIPLE = "This view is the output of a function that returns multiple views"


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def const(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def grad_of(output: Any, *inputs: Any) -> Any:
    """Gradients of `output.sum()` as nested lists: one list for one input, else a list of them."""
    grads = [g.tolist() for g in torch.autograd.grad(output.sum(), inputs)]
    return grads[0] if len(inputs) == 1 else grads


VIEWS: list[Callable[[Any], Any]] = [
    lambda t: t[0],
    lambda t: t[-1, 1],
    lambda t: t[1:],
    lambda t: t[:, ::2],
    lambda t: t[None],
    lambda t: t[...],
    lambda t: t[:, None, 1],
    lambda t: t.view(-1),
    lambda t: t.view(3, 2),
    lambda t: t.view_as(torch.zeros(6)),
    lambda t: t.reshape(6),
    lambda t: t.flatten(),
    lambda t: t.ravel(),
    lambda t: t.unflatten(1, (3, 1)),
    lambda t: t.t(),
    lambda t: t.T,
    lambda t: t.mT,
    lambda t: t.transpose(0, 1),
    lambda t: t.permute(1, 0),
    lambda t: t.movedim(0, 1),
    lambda t: t.unsqueeze(1),
    lambda t: t.unsqueeze(0).squeeze(0),
    lambda t: t.select(1, 2),
    lambda t: t.narrow(1, 1, 2),
    lambda t: t.diagonal(),
    lambda t: t.unfold(1, 2, 2),
    lambda t: t.as_strided((2,), (3,), 1),
    lambda t: t[0].view(3, 1).t(),
]


@pytest.mark.parametrize("view", VIEWS)
def test_view_shares_storage_and_names_its_base(view: Callable[[Any], Any]) -> None:
    t = torch.arange(6, dtype=torch.float64).view(2, 3).clone()
    v = view(t)
    assert v._base is t
    assert v._is_view()
    assert not t._is_view()
    assert t._base is None
    v.add_(100)
    assert (t >= 100).sum().item() == v.numel()
    t.zero_()
    assert v.abs().sum().item() == 0


@pytest.mark.parametrize("view", VIEWS)
def test_write_through_view_has_functional_values_and_gradients(view: Callable[[Any], Any]) -> None:
    """Multiplying a view by w scales exactly the viewed entries: the gradient is w there and 1 elsewhere."""
    a = torch.arange(1, 7, dtype=torch.float64).view(2, 3).requires_grad_()
    touched = torch.zeros(2, 3, dtype=torch.float64)
    view(touched).fill_(1.0)
    base = a * 1
    v = view(base)
    v.mul_(5)
    factor = 1 + 4 * touched
    assert base.tolist() == (a.detach() * factor).tolist()
    assert v.tolist() == view(a.detach() * factor).tolist()
    assert grad_of(base + 0, a) == factor.tolist()
    base = a * 1
    view(base).mul_(5)
    assert grad_of(view(base) * 2, a) == (10 * touched).tolist()


@pytest.mark.parametrize("view", VIEWS)
def test_write_into_base_reaches_existing_view(view: Callable[[Any], Any]) -> None:
    a = torch.arange(1, 7, dtype=torch.float64).view(2, 3).requires_grad_()
    viewed = torch.zeros(2, 3, dtype=torch.float64)
    view(viewed).fill_(1.0)
    base = a * 1
    v = view(base)
    base.mul_(3)
    assert v.tolist() == (3 * view(a.detach())).tolist()
    assert grad_of(v, a) == (3 * viewed).tolist()


@pytest.mark.parametrize("view", VIEWS)
def test_write_of_tensor_requiring_grad_into_view_of_constant(view: Callable[[Any], Any]) -> None:
    base = torch.zeros(2, 3, dtype=torch.float64)
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    v = view(base)
    v.add_(scale)
    assert base.requires_grad
    assert not base.is_leaf
    assert v.requires_grad
    assert grad_of(base, scale) == v.numel()


@pytest.mark.parametrize(
    "copy",
    [
        lambda t: t.t().reshape(4),
        lambda t: t.t().contiguous(),
        lambda t: t.clone(),
        lambda t: t[torch.tensor([0])],
        lambda t: t[t > 0],
        lambda t: t.repeat(1, 1),
        lambda t: t.flip(0),
        lambda t: t.detach(),
        lambda t: t + 0,
    ],
)
def test_results_that_are_no_views(copy: Callable[[Any], Any]) -> None:
    result = copy(torch.ones(2, 2))
    assert result._base is None
    assert not result._is_view()


@pytest.mark.parametrize("copy", [lambda t: t.t().reshape(4), lambda t: t.clone(), lambda t: t[torch.tensor([0, 1])]])
def test_write_into_copy_leaves_the_source_alone(copy: Callable[[Any], Any]) -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    y = (a * 1).view(2, 2)
    copy(y).mul_(100)
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert grad_of(y, a) == [1.0, 1.0, 1.0, 1.0]


def test_view_of_view_has_the_first_tensor_as_base() -> None:
    t = torch.zeros(4)
    assert t[1:3][0]._base is t
    assert t.view(2, 2).t()[0]._base is t


def test_write_into_one_view_changes_history_of_the_overlapping_one() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    base = (a * 1).view(2, 2)
    row, column = base[0], base[:, 1]
    before = column.grad_fn
    row.mul_(2)
    assert column.tolist() == [4.0, 4.0]
    assert column.grad_fn is not before
    assert grad_of(column * const(1.0, 10.0), a) == [0.0, 2.0, 0.0, 10.0]


def test_chain_of_writes_through_base_and_views() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    base = a * 1
    square = base.view(2, 2)
    base.mul_(2)
    square.mul_(3)
    square[0].add_(1)
    base[3:].zero_()
    assert base.tolist() == [7.0, 13.0, 18.0, 0.0]
    assert square.tolist() == [[7.0, 13.0], [18.0, 0.0]]
    assert grad_of(base * base, a) == [84.0, 156.0, 216.0, 0.0]


def test_zeroing_a_view_of_a_view() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    y = a * 1
    head = y[:2]
    column = head.view(2, 1)
    column[0].zero_()
    assert (y.tolist(), head.tolist(), column.tolist()) == ([0.0, 2.0, 3.0, 4.0], [0.0, 2.0], [[0.0], [2.0]])
    assert grad_of(torch.cat([head, y, column.flatten()]), a) == [0.0, 3.0, 1.0, 1.0]


def test_gradient_with_respect_to_a_view_and_its_base() -> None:
    a = leaf(1.0, 2.0, 3.0)
    base = a * 1
    view = base[:2]
    loss = (view * base[1:]).sum()
    assert grad_of(loss, view) == [2.0, 3.0]
    base = a * 1
    view = base[:2]
    view.mul_(2)
    assert grad_of((base * base).sum() + view.sum(), base, view) == [[5.0, 9.0, 6.0], [1.0, 1.0]]


def test_second_derivatives_through_written_view() -> None:
    a = leaf(1.0, 2.0, 3.0)
    base = a**2
    base[:2].mul_(a[1:])
    (first,) = torch.autograd.grad(base.sum(), a, create_graph=True)
    # base = (a0^2 a1, a1^2 a2, a2^2)
    assert first.tolist() == [4.0, 13.0, 10.0]
    (second,) = torch.autograd.grad(first.sum(), a)
    assert second.tolist() == [6.0, 12.0, 6.0]


def test_write_after_save_is_detected_through_any_alias() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    y = a * 1
    squares = y * y
    y[0].add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        squares.sum().backward()
    y = a * 1
    head = y[:2]
    squares = head * head
    y[3].add_(1)  # elsewhere in the same storage
    with pytest.raises(RuntimeError, match=MODIFIED):
        squares.sum().backward()


def test_retained_gradient_of_a_view_after_its_base_was_written() -> None:
    a = leaf(1.0, 2.0, 3.0)
    y = a * 1
    head = y[:2]
    y.mul_(2)
    head.retain_grad()
    (head * 5).sum().backward()
    assert head.grad.tolist() == [5.0, 5.0]
    assert a.grad.tolist() == [10.0, 10.0, 0.0]


def test_views_of_constant_follow_when_it_becomes_differentiable() -> None:
    a = leaf(5.0, 6.0)
    base = torch.zeros(2, 2, dtype=torch.float64)
    first, second = base[0], base[1]
    assert not second.requires_grad
    first.add_(a)
    assert base.requires_grad
    assert second.requires_grad
    assert not second.is_leaf
    assert grad_of(second * 7 + first, a) == [1.0, 1.0]


def test_buffer_filled_row_by_row() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    buffer = torch.zeros(2, 2, dtype=torch.float64)
    for i in range(2):
        buffer[i] = a[2 * i : 2 * i + 2] * (i + 1)
    assert buffer.tolist() == [[1.0, 2.0], [6.0, 8.0]]
    assert grad_of(buffer * buffer, a) == [2.0, 4.0, 24.0, 32.0]


def test_diagonal_filled_and_scaled() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    matrix = torch.zeros(2, 2, dtype=torch.float64)
    matrix.diagonal().copy_(a[:2])
    matrix.diagonal().mul_(a[2:])
    assert matrix.tolist() == [[3.0, 0.0], [0.0, 8.0]]
    assert grad_of(matrix, a) == [3.0, 4.0, 1.0, 2.0]


def test_prefix_sums_written_one_after_another() -> None:
    a = leaf(1.0, 2.0, 3.0)
    sums = a * 1
    for i in range(1, 3):
        sums[i] = sums[i] + sums[i - 1]
    assert sums.tolist() == [1.0, 3.0, 6.0]
    assert grad_of(sums, a) == [3.0, 2.0, 1.0]


def test_inplace_transposes_change_the_tensor_itself() -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    y = a.view(2, 2) * 1
    assert y.t_() is y
    y.mul_(const(1.0, 2.0))
    assert y.tolist() == [[1.0, 6.0], [2.0, 8.0]]
    assert grad_of(y, a) == [1.0, 1.0, 2.0, 2.0]
    y = a * 1
    y.unsqueeze_(0)
    assert tuple(y.shape) == (1, 4)
    y.squeeze_()
    assert tuple(y.shape) == (4,)
    assert grad_of(y, a) == [1.0] * 4


@pytest.mark.parametrize(
    ("outputs", "producer"),
    [
        (lambda t: t.unbind(), "Unbind"),
        (lambda t: torch.unbind(t, 0), "Unbind"),
        (lambda t: tuple(t), "Unbind"),
        (lambda t: t.split(1), "Split"),
        (lambda t: t.split([1, 2]), "SplitWithSizes"),
        (lambda t: t.chunk(3), "Split"),
        (lambda t: torch.chunk(t, 2), "Split"),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_output_of_multi_view_op_may_not_be_written(outputs: Callable[[Any], Any], producer: str, number: int) -> None:
    y = leaf(1.0, 2.0, 3.0) * 1
    part = outputs(y)[number]
    with pytest.raises(RuntimeError, match=f"Output {number} of {producer} is a view and is being modified inplace"):
        part.mul_(2)
    with pytest.raises(RuntimeError, match=MULTIPLE):
        part.add_(1)
    assert y.tolist() == [1.0, 2.0, 3.0]


def test_augmented_assignment_while_iterating_raises() -> None:
    row = next(iter(leaf(1.0, 2.0, 3.0) * 1))
    with pytest.raises(RuntimeError, match=MULTIPLE):
        row += 1


def test_multi_view_output_is_unusable_after_its_base_was_written() -> None:
    y = leaf(1.0, 2.0, 3.0) * 1
    part = y.unbind()[0]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and its base or another view of its base has"):
        part * 1
    with pytest.raises(RuntimeError, match=MULTIPLE):
        _ = part.grad_fn


def test_multi_view_outputs_of_constants_may_be_written() -> None:
    t = torch.zeros(3)
    for i, part in enumerate(t.unbind()):
        part.add_(i)
    t.split(1)[0].fill_(7.0)
    t.chunk(3)[2].mul_(3)
    assert t.tolist() == [7.0, 1.0, 6.0]


@pytest.mark.parametrize(
    "outputs",
    [
        lambda t: torch.unsafe_split(t, 1),
        lambda t: torch.unsafe_chunk(t, 3),
        lambda t: t.unsafe_split(1),
        lambda t: t.tensor_split(3),
        lambda t: [t[i : i + 1] for i in range(3)],
    ],
)
def test_outputs_that_may_be_written(outputs: Callable[[Any], Any]) -> None:
    a = leaf(1.0, 2.0, 3.0)
    part = outputs(a * 1)[1]
    part.mul_(2)
    assert part.tolist() == [4.0]
    assert grad_of(part, a) == [0.0, 2.0, 0.0]


def test_gradients_of_multi_view_outputs() -> None:
    a = leaf(1.0, 2.0, 3.0)
    first, _, third = (a * 1).unbind()
    assert grad_of(first * 5 + third * 7, a) == [5.0, 0.0, 7.0]
    left, right = (a * 1).split([1, 2])
    assert grad_of(left * right, a) == [5.0, 1.0, 1.0]


NO_GRAD_VIEW = "A view was created in no_grad mode and is being modified inplace with grad mode enabled"


@pytest.mark.parametrize(
    "write",
    [lambda v: v.mul_(2), lambda v: v.add_(leaf(1.0)[0]), lambda v: v.zero_(), lambda v: v.copy_(const(1.0)[0])],
)
def test_view_made_under_no_grad_may_not_be_written_with_grad_enabled(write: Callable[[Any], Any]) -> None:
    y = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        view = y[0]
    with pytest.raises(RuntimeError, match=NO_GRAD_VIEW):
        write(view)


def test_view_made_under_no_grad_of_leaf_or_constant() -> None:
    x, buffer = leaf(1.0, 2.0), torch.zeros(2, dtype=torch.float64)
    with torch.no_grad():
        of_leaf, of_buffer = x[0], buffer[0]
        of_leaf.mul_(5)
    assert x.tolist() == [5.0, 2.0]
    with pytest.raises(RuntimeError, match=NO_GRAD_VIEW):
        of_leaf.mul_(2)
    of_buffer.add_(1)  # neither the constant nor the operand requires grad
    assert buffer.tolist() == [1.0, 0.0]
    with pytest.raises(RuntimeError, match=NO_GRAD_VIEW):
        of_buffer.add_(x[0])


def test_view_and_write_both_under_no_grad() -> None:
    a = leaf(1.0, 2.0)
    y = a * 3
    with torch.no_grad():
        y[0].add_(100)
    assert y.tolist() == [103.0, 6.0]
    assert grad_of(y, a) == [3.0, 3.0]


def test_view_of_view_made_under_no_grad_may_not_be_written() -> None:
    y = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        view = y.view(2, 1)
    with pytest.raises(RuntimeError, match="Output 0 of Select is a view of a view which was created in no_grad mode"):
        view[0].mul_(2)


def test_detach_inplace_refuses_views() -> None:
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (leaf(1.0, 2.0) * 1)[0].detach_()


@pytest.mark.parametrize(
    ("index", "value", "grad_y", "grad_value"),
    [
        (0, 9.0, [0, 1, 1, 1], None),
        (-1, leaf(9.0), [1, 1, 1, 0], [1.0]),
        (slice(1, 3), leaf(9.0), [1, 0, 0, 1], [2.0]),
        (slice(1, 3), leaf(8.0, 9.0), [1, 0, 0, 1], [1.0, 1.0]),
        (slice(None, None, 2), leaf(9.0), [0, 1, 0, 1], [2.0]),
        (slice(None), leaf(9.0), [0, 0, 0, 0], [4.0]),
        (..., leaf(9.0), [0, 0, 0, 0], [4.0]),
        (slice(0, 0), 9.0, [1, 1, 1, 1], None),
        (torch.tensor([True, False, False, True]), leaf(9.0), [0, 1, 1, 0], [2.0]),
        (torch.tensor([True, False, False, True]), leaf(8.0, 9.0), [0, 1, 1, 0], [1.0, 1.0]),
        (torch.tensor([False] * 4), 9.0, [1, 1, 1, 1], None),
        (torch.tensor([0, 2]), leaf(8.0, 9.0), [0, 1, 0, 1], [1.0, 1.0]),
        ([0, 2], leaf(9.0), [0, 1, 0, 1], [2.0]),
        (torch.tensor(3), 9.0, [1, 1, 1, 0], None),
        (True, leaf(9.0), [0, 0, 0, 0], [4.0]),
    ],
)
def test_assignment_zeroes_overwritten_gradient_and_sums_broadcast_one(
    index: Any, value: Any, grad_y: list[float], grad_value: list[float] | None
) -> None:
    a = leaf(1.0, 2.0, 3.0, 4.0)
    y = a * 1
    y[index] = value
    expected = const(1.0, 2.0, 3.0, 4.0)
    expected[index] = value.detach() if grad_value is not None else value
    assert y.tolist() == expected.tolist()
    assert grad_of(y, a) == grad_y
    if grad_value is not None:
        y = a * 1
        y[index] = value
        assert grad_of(y, value) == grad_value


def test_assignment_into_a_matrix() -> None:
    a, row = leaf(1.0, 2.0, 3.0, 4.0), leaf(10.0, 20.0)
    y = (a * 1).view(2, 2)
    y[:, 0] = row
    y[1, 1] = row[0] * row[1]
    assert y.tolist() == [[10.0, 2.0], [20.0, 200.0]]
    assert grad_of(y, a, row) == [[0.0, 1.0, 0.0, 0.0], [21.0, 11.0]]
    y = (a * 1).view(2, 2)
    y[torch.tensor([0, 1]), torch.tensor([1, 0])] = row
    assert grad_of(y, a, row) == [[1.0, 0.0, 0.0, 1.0], [1.0, 1.0]]
    y = (a * 1).view(2, 2)
    y[y > 1.5] *= 3
    assert y.tolist() == [[1.0, 6.0], [9.0, 12.0]]
    assert grad_of(y, a) == [1.0, 3.0, 3.0, 3.0]


def test_assignment_casts_the_value() -> None:
    y = torch.zeros(2)
    value = leaf(1.5)
    y[0] = value
    assert y.dtype == torch.float32
    (grad,) = torch.autograd.grad(y.sum(), value)
    assert grad.dtype == torch.float64
    assert grad.tolist() == [1.0]


def test_assignment_of_a_shape_that_does_not_fit() -> None:
    y = leaf(1.0, 2.0, 3.0) * 1
    with pytest.raises(RuntimeError):
        y[0:2] = torch.ones(3)
    with pytest.raises(IndexError):
        y[3] = 1.0
    assert y.tolist() == [1.0, 2.0, 3.0]


def test_write_into_indexed_copy_is_lost_but_augmented_assignment_is_not() -> None:
    a = leaf(1.0, 2.0, 3.0)
    y = a * 1
    y[[0, 0]].add_(1)
    assert y.tolist() == [1.0, 2.0, 3.0]
    y[[0, 2]] += 1
    assert y.tolist() == [2.0, 2.0, 4.0]
    assert grad_of(y, a) == [1.0, 1.0, 1.0]


def test_repeated_indices_accumulate_in_the_gradient() -> None:
    y = torch.arange(12, dtype=torch.float64).view(4, 3).requires_grad_()
    y[[1, 1, 3]].sum().backward()
    assert y.grad.tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda x: x[torch.tensor([0, 0, 0])], [3.0, 0.0, 0.0]),
        (lambda x: x[[2, 1, 2, -1]], [0.0, 1.0, 3.0]),
        (lambda x: x[torch.tensor([[0, 1], [1, 0]])], [2.0, 2.0, 0.0]),
        (lambda x: x.index_select(0, torch.tensor([1, 1])), [0.0, 2.0, 0.0]),
        (lambda x: x.gather(0, torch.tensor([2, 2, 0])), [1.0, 0.0, 2.0]),
        (lambda x: x.take(torch.tensor([1, 1, 1])), [0.0, 3.0, 0.0]),
        (lambda x: x.expand(4, 3)[:, 1], [0.0, 4.0, 0.0]),
        (lambda x: x.repeat(3), [3.0, 3.0, 3.0]),
        (lambda x: x.unfold(0, 2, 1), [1.0, 2.0, 1.0]),
        (lambda x: x[torch.tensor([], dtype=torch.long)], [0.0, 0.0, 0.0]),
        (lambda x: torch.nn.functional.embedding(torch.tensor([2, 2]), x[:, None]), [0.0, 0.0, 2.0]),
    ],
)
def test_entry_read_several_times_gets_the_sum(read: Callable[[Any], Any], expected: list[float]) -> None:
    x = leaf(1.0, 2.0, 3.0)
    assert grad_of(read(x), x) == expected
