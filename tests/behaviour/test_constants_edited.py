"""Index, mask, target and weight tensors that a node reads in backward must not be written before it ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

F = torch.nn.functional
MODIFIED = "modified by an inplace operation"


def leaf(*shape: int) -> Any:
    return torch.linspace(0.1, 0.9, 12, dtype=torch.float64).reshape(shape).requires_grad_()


def floats(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def assigned(x: Any, index: Any) -> Any:
    y = x * 1
    y[index] = x[:2] * 3
    return y


MASK = [[True, False, True], [False, False, True], [True, True, False], [False, True, True]]
PLACES = [[0, 1, 2], [1, 1, 0]]
CLASSES = [0, 2, 1, 2]

mask: Callable[[], Any] = lambda: torch.tensor(MASK)
rows: Callable[[], Any] = lambda: torch.tensor([2, 0])
places: Callable[[], Any] = lambda: torch.tensor(PLACES)
classes: Callable[[], Any] = lambda: torch.tensor(CLASSES)
weights: Callable[[], Any] = lambda: floats(1.0, 2.0, 0.5)
chances: Callable[[], Any] = lambda: leaf(4, 3).detach() * 0.5

# What is called with a leaf of shape (4, 3) and a constant, and what makes the constant.
READS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = {
    "index": (lambda x, c: x[c], rows),
    "index with a slice": (lambda x, c: x[:, c], rows),
    "index by mask": (lambda x, c: x[c], mask),
    "assignment": (assigned, rows),
    "index_put": (lambda x, c: torch.index_put(x, (c,), x[:2] * 2), rows),
    "index_put accumulating": (lambda x, c: torch.index_put(x, (c,), x[:2] * 2, accumulate=True), rows),
    "index_select": (lambda x, c: x.index_select(1, c), rows),
    "index_add": (lambda x, c: x.index_add(0, c, x[:2]), rows),
    "index_copy": (lambda x, c: x.index_copy(0, c, x[:2]), rows),
    "index_fill": (lambda x, c: x.index_fill(0, c, 1.0), rows),
    "index_fill by a tensor": (lambda x, c: x.index_fill(0, c, x[0, 0]), rows),
    "embedding": (lambda x, c: F.embedding(c, x), rows),
    "take": (lambda x, c: torch.take(x, c), places),
    "put": (lambda x, c: torch.put(x, c, x[:2]), places),
    "gather": (lambda x, c: x.gather(0, c), places),
    "scatter": (lambda x, c: x.scatter(0, c, x[:2] * 2), places),
    "scatter of a number": (lambda x, c: x.scatter(0, c, 2.0), places),
    "scatter_add": (lambda x, c: x.scatter_add(0, c, x[:2] * 2), places),
    "scatter_reduce": (lambda x, c: x.scatter_reduce(0, c, x[:2] * 2, "prod"), places),
    "scatter_reduce mean": (lambda x, c: x.scatter_reduce(0, c, x[:2] * 2, "mean"), places),
    "scatter_reduce amax": (lambda x, c: x.scatter_reduce(0, c, x[:2] * 2, "amax"), places),
    "where": (lambda x, c: torch.where(c, x, 0.0), mask),
    "where, other": (lambda x, c: torch.where(c, 0.0, x), mask),
    "masked_fill": (lambda x, c: x.masked_fill(c, 0.0), mask),
    "masked_fill by a tensor": (lambda x, c: x.masked_fill(c, x[0, 0]), mask),
    "masked_fill_": (lambda x, c: (x * 1).masked_fill_(c, 0.0), mask),
    "masked_select": (lambda x, c: x.masked_select(c), mask),
    "masked_scatter": (lambda x, c: x.masked_scatter(c, x * 2), mask),
    "prelu's other operand": (lambda x, c: F.prelu(x - 0.5, c * x.mean()), weights),
    "mse_loss": (lambda x, c: F.mse_loss(x, c), chances),
    "smooth_l1_loss": (lambda x, c: F.smooth_l1_loss(x, c), chances),
    "huber_loss": (lambda x, c: F.huber_loss(x, c), chances),
    "kl_div": (lambda x, c: F.kl_div(x, c, reduction="sum"), chances),
    "binary_cross_entropy": (lambda x, c: F.binary_cross_entropy(x, c), chances),
    "binary_cross_entropy, weight": (lambda x, c: F.binary_cross_entropy(x, chances(), c), weights),
    "with logits": (lambda x, c: F.binary_cross_entropy_with_logits(x, c), chances),
    "with logits, weight": (lambda x, c: F.binary_cross_entropy_with_logits(x, chances(), c), weights),
    "with logits, pos_weight": (
        lambda x, c: F.binary_cross_entropy_with_logits(x, chances(), pos_weight=c),
        weights,
    ),
    "nll_loss": (lambda x, c: F.nll_loss(x, c), classes),
    "nll_loss, a class ignored": (lambda x, c: F.nll_loss(x, c, ignore_index=2), classes),
    "nll_loss, weight": (lambda x, c: F.nll_loss(x, classes(), c), weights),
    "nll_loss of planes": (lambda x, c: F.nll_loss(x.reshape(2, 3, 2), c), lambda: torch.tensor([[0, 1], [2, 2]])),
    "cross_entropy": (lambda x, c: F.cross_entropy(x, c), classes),
    "cross_entropy, bytes": (lambda x, c: F.cross_entropy(x, c), lambda: torch.tensor(CLASSES, dtype=torch.uint8)),
    "cross_entropy, smoothed": (lambda x, c: F.cross_entropy(x, c, label_smoothing=0.1), classes),
    "cross_entropy, weight": (lambda x, c: F.cross_entropy(x, classes(), c), weights),
    "cross_entropy, weight, smoothed": (
        lambda x, c: F.cross_entropy(x, classes(), c, label_smoothing=0.1),
        weights,
    ),
    "cross_entropy of probabilities": (lambda x, c: F.cross_entropy(x, c), chances),
    "cross_entropy of probabilities, weight": (lambda x, c: F.cross_entropy(x, chances(), c), weights),
}


def rewrite(tensor: Any) -> None:
    """Write a tensor in place: even where the values stay, it counts as modified."""
    tensor.copy_(tensor.clone())


@pytest.mark.parametrize(("call", "constant"), READS.values(), ids=READS.keys())
def test_edited_constant_makes_backward_raise(call: Callable[[Any, Any], Any], constant: Callable[[], Any]) -> None:
    x, c = leaf(4, 3), constant()
    y = call(x, c)
    rewrite(c)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize(("call", "constant"), READS.values(), ids=READS.keys())
def test_constant_edited_before_or_after_is_fine(call: Callable[[Any, Any], Any], constant: Callable[[], Any]) -> None:
    x, c = leaf(4, 3), constant()
    call(x, constant()).sum().backward()
    expected, x.grad = x.grad, None
    rewrite(c)
    call(x, c).sum().backward()
    rewrite(c)
    assert x.grad.tolist() == expected.tolist()


def test_constant_edited_through_a_view_or_its_base() -> None:
    x, base = leaf(4, 3), torch.tensor([MASK, MASK])
    y = x.masked_fill(base[0], 0.0)
    base[1].fill_(False)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_constant_of_no_gradient_may_be_edited() -> None:
    x, c = leaf(4, 3), torch.tensor(MASK)
    y = torch.where(c, x.detach(), 0.0) * x
    rewrite(c)
    y.sum().backward()
    assert x.grad is not None


def test_constant_edited_between_first_and_second_order() -> None:
    x, c = leaf(4, 3), torch.tensor(MASK)
    (gradient,) = torch.autograd.grad((torch.where(c, x, 0.0) ** 3).sum(), x, create_graph=True)
    rewrite(c)
    with pytest.raises(RuntimeError, match=MODIFIED):
        gradient.sum().backward()


def test_weight_of_classes_refuses_to_require_grad() -> None:
    weight = weights().requires_grad_()
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        F.nll_loss(leaf(4, 3), classes(), weight)
    x = leaf(4, 3).detach()
    F.cross_entropy(x, chances(), weight).backward()
    expected = -(x.log_softmax(1) * chances()).sum(0) / 4
    torch.testing.assert_close(weight.grad, expected)
