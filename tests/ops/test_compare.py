"""Comparisons, logic, bits, and choices between values: dtypes, forms of arguments, ties and bounds, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from alike import DTYPES, SHAPES, check_alike, values

inf, nan = np.inf, np.nan


def leaf(*values: float) -> Any:
    return torch.tensor(np.array(values, np.float64), requires_grad=True)


def gradients(out: Any, *leaves: Any) -> list[Any]:
    return [g.tolist() for g in torch.autograd.grad(out.sum(), leaves)]


# -- comparisons -------------------------------------------------------------------------------------------------------
def test_operators_compare() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    results = [x == 2, x != 2, x < 2, x <= 2, x > 2, x >= 2, 2 > x]  # noqa: SIM300
    assert [r.tolist() for r in results] == [
        [False, True, False], [True, False, True], [True, False, False], [True, True, False],
        [False, False, True], [False, True, True], [True, False, False],
    ]  # fmt: skip
    assert all(r.dtype is torch.bool for r in results)
    assert not (leaf(1.0) > 0).requires_grad


def test_comparing_with_something_else() -> None:
    x = torch.tensor([1.0])
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    with pytest.raises(TypeError, match="not supported between"):
        x < "a"  # noqa: B015


def test_tensors_hash_by_identity() -> None:
    x, y = torch.tensor([1.0]), torch.tensor([1.0])
    assert len({x, y, x}) == 2


def test_close_and_equal() -> None:
    a, b = torch.tensor([1.0, inf, nan, 2.0]), torch.tensor([1.0 + 1e-6, inf, nan, 2.1])
    assert torch.isclose(a, b).tolist() == [True, True, False, False]
    assert torch.isclose(a, b, equal_nan=True).tolist() == [True, True, True, False]
    assert torch.allclose(a[:2], b[:2]) is True
    assert torch.allclose(a, b) is False
    assert torch.equal(a[:2], a[:2].clone()) is True
    assert torch.equal(a[:2], a[:1]) is False
    assert torch.equal(torch.tensor([1]), torch.tensor([1.0])) is True


def test_tests_of_values() -> None:
    x = torch.tensor([1.0, inf, -inf, nan])
    assert torch.isnan(x).tolist() == [False, False, False, True]
    assert torch.isinf(x).tolist() == [False, True, True, False]
    assert torch.isfinite(x).tolist() == [True, False, False, False]
    assert torch.isposinf(x).tolist() == [False, True, False, False]
    assert torch.isneginf(x).tolist() == [False, False, True, False]
    assert torch.isnan(torch.tensor([1])).tolist() == [False]


# -- bits --------------------------------------------------------------------------------------------------------------
def test_bits() -> None:
    x = torch.tensor([3, 5])
    assert [(x & 6).tolist(), (6 & x).tolist(), (x | 6).tolist(), (x ^ 6).tolist(), (~x).tolist()] == [
        [2, 4], [2, 4], [7, 7], [5, 3], [-4, -6],
    ]  # fmt: skip
    assert [(x << 1).tolist(), (x >> 1).tolist(), (1 << x).tolist(), (64 >> x).tolist()] == [
        [6, 10], [1, 2], [8, 32], [8, 2],
    ]  # fmt: skip
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    assert (torch.tensor([True]) & 1).dtype is torch.int64


def test_shifts_beyond_the_width() -> None:
    x = torch.tensor([1, -8])
    assert (x << 70).tolist() == [0, 0]
    assert (x >> 70).tolist() == [0, -1]
    assert (x << -1).tolist() == [0, 0]


# -- choices -----------------------------------------------------------------------------------------------------------
def test_where_takes_numbers_on_either_side() -> None:
    mask = torch.tensor([True, False])
    assert torch.where(mask, torch.tensor([1.0]), 2).dtype is torch.float32
    assert torch.where(mask, 1, 2.5).tolist() == [1.0, 2.5]
    assert torch.where(mask, 1, 2).dtype is torch.int64
    assert torch.where(mask, 2.5, torch.tensor([1, 2])).tolist() == [2.5, 2.0]
    assert torch.tensor([1.0, 2.0]).where(mask, 0).tolist() == [1.0, 0.0]
    assert [i.tolist() for i in torch.where(torch.tensor([[0, 3], [4, 0]]))] == [[0, 1], [1, 0]]


def test_where_keeps_bad_values_of_the_other_side_out_of_the_gradient() -> None:
    x, y = leaf(1.0, inf), leaf(nan, 2.0)
    out = torch.where(torch.tensor([True, False]), x, y)
    assert out.tolist() == [1.0, 2.0]
    assert gradients(out * out, x, y) == [[2.0, 0.0], [0.0, 4.0]]


def test_where_condition_may_be_wider_than_both() -> None:
    x = leaf(1.0)
    out = torch.where(torch.tensor([[True, False], [True, True]]), x, 5.0)
    assert out.shape == (2, 2)
    assert gradients(out, x) == [[3.0]]


def test_masked_fill() -> None:
    x, value = leaf(1.0, 2.0), leaf(3.0)
    mask = torch.tensor([True, False])
    out = x.masked_fill(mask, value[0])
    assert out.tolist() == [3.0, 2.0]
    assert gradients(out, x, value) == [[0.0, 1.0], [1.0]]
    assert torch.tensor([1, 2]).masked_fill(mask, 5.5).tolist() == [5, 2]
    y = torch.tensor([1.0, 2.0])
    assert y.masked_fill_(mask, -inf) is y
    assert y.tolist() == [-inf, 2.0]


@pytest.mark.parametrize(
    ("call", "value", "slope"),
    [
        (lambda x: x.clamp(0, 1), [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]),
        (lambda x: x.clamp(min=1), [1.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
        (lambda x: x.clamp(max=1), [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]),
        (lambda x: x.clamp(1, 0), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        (lambda x: torch.clamp_min(x, 1), [1.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
        (lambda x: torch.clamp_max(x, 1), [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]),
    ],
)
def test_clamp_has_slope_one_on_its_bounds(call: Callable[[Any], Any], value: list[float], slope: list[float]) -> None:
    x = leaf(0.0, 1.0, 2.0)
    assert call(x).tolist() == value
    assert gradients(call(x), x) == [slope]


def test_clamp_between_tensors() -> None:
    x, low, high = leaf(0.0, 1.0, 2.0), leaf(0.5), leaf(1.5)
    out = torch.clamp(x, low, high)
    assert out.tolist() == [0.5, 1.0, 1.5]
    assert gradients(out, x, low, high) == [[0.0, 1.0, 0.0], [1.0], [1.0]]
    crossed = torch.clamp(x, high, low)
    assert crossed.tolist() == [0.5, 0.5, 0.5]
    assert gradients(crossed, x, high, low) == [[0.0] * 3, [0.0], [3.0]]


def test_clamp_of_integers() -> None:
    x = torch.tensor([1, 5])
    assert x.clamp(2, 4).tolist() == [2, 4]
    assert x.clamp(1.5).dtype is torch.float32
    assert torch.tensor([nan, 1.0]).clamp(0, 2).isnan().tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "value", "first", "second"),
    [
        ("maximum", [1.0, 2.0, nan], [0.5, 1.0, 1.0], [0.5, 0.0, 1.0]),
        ("minimum", [1.0, 1.0, nan], [0.5, 0.0, 1.0], [0.5, 1.0, 1.0]),
        ("fmax", [1.0, 2.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
        ("fmin", [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]),
    ],
)
def test_ties_and_nan(name: str, value: list[float], first: list[float], second: list[float]) -> None:
    x, y = leaf(1.0, 2.0, nan), leaf(1.0, 1.0, 1.0)
    out = getattr(torch, name)(x, y)
    np.testing.assert_array_equal(out.tolist(), value)
    assert gradients(out, x, y) == [first, second]


def test_nan_to_num() -> None:
    x = leaf(nan, inf, -inf, 1.0)
    out = torch.nan_to_num(x, nan=2.0, posinf=3.0)
    assert out.tolist() == [2.0, 3.0, -np.finfo(np.float64).max, 1.0]
    assert gradients(out, x) == [[0.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("and", [2, 0]), ("or", [7, 14]), ("xor", [5, 14]), ("left_shift", [48, 1536]), ("right_shift", [0, 0])],
)
def test_bits_of_a_number_and_a_tensor(name: str, expected: list[int]) -> None:
    assert getattr(torch, f"bitwise_{name}")(6, torch.tensor([3, 8])).tolist() == expected


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2, unique=True))
def test_gradients_of_maximum_and_minimum_share_the_whole(pair: list[float]) -> None:
    for x, y in ((leaf(pair[0]), leaf(pair[1])), (leaf(pair[0]), leaf(pair[0]))):
        for name in ("maximum", "minimum", "fmax", "fmin"):
            first, second = gradients(getattr(torch, name)(x, y), x, y)
            assert first[0] + second[0] == 1.0


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: torch.eq(torch.ones(2), torch.ones(3)), RuntimeError, r"tensor a \(2\) must match"),
        (lambda: torch.isclose(torch.ones(1), torch.ones(1).double()), RuntimeError, "Float did not match Double"),
        (lambda: torch.isclose(torch.ones(1), torch.ones(1), rtol=-1), RuntimeError, "rtol must be greater"),
        (lambda: torch.isclose(torch.ones(1), 1.0), TypeError, "argument 'other'"),
        (lambda: torch.equal(torch.ones(1), 1.0), TypeError, "argument 'other'"),
        (lambda: torch.ones(1) & torch.ones(1), NotImplementedError, "bitwise_and"),
        (lambda: torch.ones(1) << 1, NotImplementedError, "lshift"),
        (lambda: ~torch.ones(1), TypeError, "only implemented on integer and Boolean"),
        (lambda: torch.where(torch.tensor([1]), 1, 2), RuntimeError, "boolean tensor"),
        (lambda: torch.where(True, torch.ones(1), 2), TypeError, "condition"),
        (lambda: torch.where(torch.tensor([True]), torch.ones(1), "a"), TypeError, "where"),
        (lambda: torch.ones(1).masked_fill(torch.tensor([1]), 0), RuntimeError, "boolean masks"),
        (lambda: torch.ones(1).masked_fill(torch.tensor([True]), torch.ones(1)), RuntimeError, "0-dimensional"),
        (lambda: torch.clamp(torch.ones(1)), RuntimeError, "At least one of"),
        (lambda: torch.tensor([1], dtype=torch.uint8).clamp(max=300), RuntimeError, "without overflow"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


# -- against PyTorch ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["eq", "ne", "lt", "ge", "logical_and", "logical_xor", "bitwise_and", "bitwise_xor", "bitwise_left_shift",
     "bitwise_right_shift", "maximum", "fmin", "isclose", "clamp_min"],
)  # fmt: skip
def test_pairs_of_dtypes_and_shapes_like_pytorch(name: str) -> None:
    for (one, two), (first, second) in itertools.product(itertools.product(DTYPES, DTYPES), SHAPES[::2]):
        check_alike(lambda torch, a, b: getattr(torch, name)(a, b), values(one, first), values(two, second))


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, a, b: torch.where(a > 0, a, b),
        lambda torch, a, b: torch.where(b > 0, a, 2.5),
        lambda torch, a, b: torch.where(b > 0, 2, a),
        lambda torch, a, b: a.clamp(-1, 2.5),
        lambda torch, a, b: a.clamp(max=b),
        lambda torch, a, b: a.masked_fill(b > 0, 3),
    ],
)
def test_choices_like_pytorch(call: Callable[..., Any]) -> None:
    for (one, two), (first, second) in itertools.product(itertools.product(DTYPES, DTYPES), SHAPES[::3]):
        check_alike(call, values(one, first), values(two, second))
