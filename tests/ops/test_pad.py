"""Padding: values of every mode, negative amounts, dtypes, gradients and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from backend import torch

F = torch.nn.functional


def row() -> Any:
    return torch.arange(5.0).reshape(1, 5)


@pytest.mark.parametrize(
    ("pad", "expected"),
    [
        ((1, 2), [[7, 0, 1, 2, 3, 4, 7, 7]]),
        ((0, 0), [[0, 1, 2, 3, 4]]),
        ((-1, 1), [[1, 2, 3, 4, 7]]),
        ((-2, -2), [[2]]),
        ((-5, 2), [[7, 7]]),
        ((0, 0, 1, 0), [[7, 7, 7, 7, 7], [0, 1, 2, 3, 4]]),
        ([-3, 0, 0, 1], [[3, 4], [7, 7]]),
        ((), [[0, 1, 2, 3, 4]]),
    ],
)
def test_constant(pad: Any, expected: Any) -> None:
    assert F.pad(row(), pad, value=7).tolist() == expected
    assert torch.constant_pad_nd(row(), pad, 7).tolist() == expected


@pytest.mark.parametrize(
    ("mode", "pad", "expected"),
    [
        ("reflect", (2, 1), [2, 1, 0, 1, 2, 3, 4, 3]),
        ("reflect", (-3, 2), [3, 4, 3, 2]),
        ("reflect", (3, -6), [3, 2]),
        ("replicate", (2, 1), [0, 0, 0, 1, 2, 3, 4, 4]),
        ("replicate", (6, -2), [0, 0, 0, 0, 0, 0, 0, 1, 2]),
        ("replicate", (-6, 3), [4, 4]),
        ("circular", (2, 1), [3, 4, 0, 1, 2, 3, 4, 0]),
        ("circular", (-3, 2), [3, 4, 3, 4]),
        ("circular", (2, -3), [0, 1, 0, 1]),
    ],
)
def test_own_values(mode: str, pad: tuple[int, int], expected: list[float]) -> None:
    assert F.pad(row(), pad, mode=mode).tolist() == [expected]
    assert F.pad(row()[None].long(), pad, mode=mode).tolist() == [[expected]]


def test_result_is_new_memory() -> None:
    x = row()
    for mode in ("constant", "reflect", "replicate", "circular"):
        out = F.pad(x, (0, 0), mode)
        out.zero_()
        assert x.tolist() == [[0, 1, 2, 3, 4]]


def test_gradients_add_up_where_cells_were_repeated() -> None:
    expected = {
        "constant": [1, 1, 1, 1, 1],
        "reflect": [1, 2, 2, 2, 1],
        "replicate": [3, 1, 1, 1, 2],
        "circular": [2, 1, 1, 2, 2],
    }
    for mode, gradient in expected.items():
        x = row().requires_grad_()
        F.pad(x, (2, 1), mode).sum().backward()
        assert x.grad.tolist() == [gradient]


def test_dtypes() -> None:
    assert F.pad(torch.arange(2), (1, 0), value=1.7).tolist() == [1, 0, 1]
    assert F.pad(torch.tensor([False]), (1, 1), value=2).tolist() == [True, False, True]
    assert F.pad(row(), (1, 0), value=torch.tensor(2.0))[0, 0].item() == 2.0
    assert F.pad(torch.zeros(1, 2, dtype=torch.float16), (1, 1), "reflect").dtype is torch.float16


def test_empty_batches_and_results() -> None:
    assert F.pad(torch.zeros(0, 1, 3), (1, 1), "reflect").shape == (0, 1, 5)
    assert F.pad(torch.zeros(0, 3), (1, 1)).shape == (0, 5)
    assert F.pad(torch.zeros(2, 0), (1, 1), value=1.0).tolist() == [[1, 1], [1, 1]]
    assert F.pad(torch.tensor(1.0), ()).item() == 1.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.pad(row(), (1,)), RuntimeError, "divisible by 2"),
        (lambda: F.pad(row(), (1,) * 6), RuntimeError, "padding length 6 and input of dimension 2"),
        (lambda: F.pad(row(), (-3, -3)), RuntimeError, "length must be non-negative"),
        (lambda: F.pad(row(), 1), TypeError, "'pad' .* must be tuple of ints, not int"),
        (lambda: F.pad(row(), (1, 1.5)), TypeError, "'pad'.*float"),
        (lambda: F.pad(3, (1, 1)), TypeError, "must be Tensor, not int"),
        (lambda: F.pad(row(), (1, 1), mode=3), TypeError, "'mode' .* must be str, not int"),
        (lambda: F.pad(row(), (1, 1), "mirror"), NotImplementedError, "Unrecognised padding mode mirror"),
        (lambda: F.pad(row(), (1, 1), "reflect", 1), RuntimeError, "doesn't take in value argument"),
        (lambda: F.pad(torch.zeros(3), (1, 1), "reflect"), NotImplementedError, "Padding size 2 .* 1D input"),
        (lambda: F.pad(row(), (5, 1), "reflect"), RuntimeError, r"padding \(5, 1\) at dimension 1 of input \[1, 5\]"),
        (lambda: F.pad(row(), (-3, -3), "replicate"), RuntimeError, "too small. Calculated output W: -1"),
        (lambda: F.pad(row() > 1, (1, 1), "reflect"), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: F.pad(row()[:, :0], (1, 1), "replicate"), RuntimeError, "non-zero dimensions"),
        (lambda: F.pad(row(), (6, 0), "circular"), RuntimeError, "wrapping around more than once"),
        (lambda: F.pad(row(), (-3, -3), "circular"), RuntimeError, "empty dimension"),
        (lambda: F.pad(torch.zeros(2, dtype=torch.uint8), (1, 1), value=300), RuntimeError, "without overflow"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@given(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.tuples(st.integers(0, 2), st.integers(-2, 2)))
def test_a_constant_padding_is_undone_by_its_opposite(last: tuple[int, int], first: tuple[int, int]) -> None:
    x = torch.arange(42.0).reshape(6, 7)
    grown = tuple(abs(amount) for amount in (*last, *first))
    assert torch.equal(F.pad(F.pad(x, grown), tuple(-amount for amount in grown)), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_every_amount_as_in_pytorch(mode: str) -> None:
    pytorch = pytest.importorskip("torch")
    values = np.arange(24.0).reshape(2, 3, 4)
    for before, after in itertools.product(range(-5, 5), repeat=2):
        if mode == "circular" and max(before, after) > 4 + min(before, 0) + min(after, 0):
            continue  # PyTorch refuses it in several ways, or reads what is not there
        try:
            expected: Any = pytorch.nn.functional.pad(pytorch.tensor(values), (before, after), mode).tolist()
        except RuntimeError:
            with pytest.raises(RuntimeError):
                minitorch.nn.functional.pad(minitorch.tensor(values), (before, after), mode)
        else:
            assert minitorch.nn.functional.pad(minitorch.tensor(values), (before, after), mode).tolist() == expected
