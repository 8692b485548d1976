"""Clipping gradients, with values PyTorch gives too."""

from __future__ import annotations

from typing import Any

import pytest

from backend import torch


def with_gradient(*values: float) -> Any:
    tensor = torch.zeros(len(values), requires_grad=True)
    tensor.grad = torch.tensor(values)
    return tensor


def test_the_norm_of_all_gradients_together_is_bounded() -> None:
    a, b, unused = with_gradient(3.0, 0.0), with_gradient(4.0), torch.zeros(1, requires_grad=True)
    total = torch.nn.utils.clip_grad_norm_([a, b, unused], 1.0)
    assert total.item() == 5.0
    assert a.grad.tolist() == pytest.approx([0.6, 0.0])
    assert b.grad.tolist() == pytest.approx([0.8])
    assert unused.grad is None


def test_small_gradients_stay() -> None:
    a = with_gradient(0.3, 0.4)
    assert torch.nn.utils.clip_grad_norm_(a, 1.0).item() == pytest.approx(0.5)
    assert a.grad.tolist() == pytest.approx([0.3, 0.4])
    assert torch.nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_other_norms() -> None:
    a = with_gradient(3.0, -4.0)
    assert torch.nn.utils.clip_grad_norm_(a, 2.0, norm_type=float("inf")).item() == 4.0
    assert a.grad.tolist() == pytest.approx([1.5, -2.0])


def test_a_norm_that_is_not_finite_raises_before_anything_changes() -> None:
    a = with_gradient(float("inf"), 1.0)
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)
    assert a.grad.tolist() == [float("inf"), 1.0]


def test_values_are_clamped() -> None:
    a = with_gradient(3.0, -0.5, -2.0)
    torch.nn.utils.clip_grad_value_([a], 1.0)
    assert a.grad.tolist() == [1.0, -0.5, -1.0]


@pytest.mark.parametrize(("kind", "expected"), [("inf", 4.0), ("-inf", 3.0), ("2", 5.0), ("2.0", 5.0)])
def test_the_kind_of_norm_may_be_a_string(kind: str, expected: float) -> None:
    weight = torch.zeros(2, requires_grad=True)
    weight.grad = torch.tensor([3.0, -4.0])
    assert torch.nn.utils.get_total_norm([weight.grad], kind).item() == expected
    assert torch.nn.utils.clip_grad_norm_(weight, 100.0, norm_type=kind).item() == expected
    with pytest.raises(ValueError, match="could not convert string to float: 'fro'"):
        torch.nn.utils.clip_grad_norm_(weight, 100.0, norm_type="fro")
