"""Copies, conversions and filling."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from alike import DTYPES, check_alike, values


def test_conversion_to_the_same_dtype_is_the_tensor_itself() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    assert x.float() is x
    assert x.to(torch.float32) is x
    assert x.type_as(torch.ones(2)) is x
    assert type(x.to(torch.float32, copy=True).grad_fn).__name__ == "ToCopyBackward0"


def test_gradients_come_back_in_the_dtype_of_the_input() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [3.0, 3.0]
    assert not x.long().requires_grad


def test_integers_wrap() -> None:
    assert torch.tensor([300]).byte().tolist() == [44]
    assert torch.tensor([-1.5, 300.0]).to(torch.uint8).tolist() == [255, 44]
    assert torch.tensor([130]).char().tolist() == [-126]
    assert torch.tensor([0.5, 0.0]).bool().tolist() == [True, False]


def test_clone_keeps_the_layout_in_memory_and_contiguous_does_not() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).mT
    assert x.clone().numpy().strides == (4, 12)
    assert x.contiguous().numpy().strides == (8, 4)
    plain = x.contiguous()
    assert plain.contiguous() is plain


def test_copy_broadcasts_and_converts() -> None:
    base = torch.zeros(2, 3, requires_grad=True)
    source = torch.tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    x = base.clone()
    assert x.copy_(source) is x
    assert x.dtype is torch.float32
    assert x.tolist() == [[1.0, 2.0, 3.0]] * 2
    x.sum().backward()
    assert base.grad.tolist() == [[0.0] * 3] * 2
    assert source.grad.tolist() == [2.0] * 3
    assert source.grad.dtype is torch.float64
    assert torch.tensor([1, 2]).copy_(torch.tensor([1.9])).tolist() == [1, 1]
    assert torch.ones(2).copy_(3).tolist() == [3.0, 3.0]


def test_fill() -> None:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    value = torch.tensor(5.0, requires_grad=True)
    filled = leaf.clone().fill_(value)
    assert filled.tolist() == [5.0, 5.0]
    filled.sum().backward()
    assert (leaf.grad.tolist(), value.grad.item()) == ([0.0, 0.0], 2.0)
    outs = torch.fill(leaf, 2), torch.fill(leaf, value), leaf.clone().fill_(2)
    assert [type(out.grad_fn).__name__ for out in outs] == ["FillBackward0", "FillBackward1", "FillBackward2"]
    assert torch.tensor([1]).fill_(2.5).tolist() == [2]
    assert torch.tensor([1], dtype=torch.uint8).fill_(-1).tolist() == [255]
    zeros = torch.ones(2)
    assert zeros.zero_() is zeros
    assert zeros.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: torch.ones(2).copy_(torch.ones(3)), RuntimeError, r"tensor a \(2\) must match"),
        (lambda: torch.ones(2).copy_("a"), TypeError, "copy_"),
        (lambda: torch.ones(2).to(torch.float32, "x"), TypeError, "'non_blocking' must be bool"),
        (lambda: torch.ones(2).to("cpu", non_blocking=1), TypeError, "'non_blocking' must be bool"),
        (lambda: torch.ones(2).to(torch.float32, dtype=torch.float64), TypeError, "invalid combination of arguments"),
        (lambda: torch.ones(2).to("cpu", True), TypeError, "invalid combination of arguments"),
        (lambda: torch.ones(2).fill_(torch.ones(1)), RuntimeError, "0-dimension value tensor"),
        (lambda: torch.tensor([1], dtype=torch.uint8).fill_(300), RuntimeError, "without overflow"),
        (lambda: torch.ones(2, requires_grad=True).zero_(), RuntimeError, "a leaf Variable that requires grad"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, a, b: a.type_as(b),
        lambda torch, a, b: b.copy_(a),
        lambda torch, a, b: b.fill_(1.5),
        lambda torch, a, b: b.zero_(),
    ],
)
def test_pairs_of_dtypes_like_pytorch(call: Callable[..., Any]) -> None:
    for one, two in itertools.product(DTYPES, DTYPES):
        check_alike(call, values(one, (3,)), values(two, (2, 3)))
