"""``testing.assert_close``: what passes, and the messages where something does not, which are PyTorch's."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch as torch

nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    "pair",
    [
        (1.0, 1.0 + 1e-8),
        (None, None),
        (True, True),
        ([1, (2.0,)], (1, [2.0])),
        ({"a": 1}, OrderedDict(a=1)),
        (torch.tensor([1.0, inf]), torch.tensor([1.000001, inf])),
        (torch.tensor([1.0]), torch.nn.Parameter(torch.tensor([1.0]))),
        (torch.zeros(0), torch.zeros(0)),
        (np.ones(2), np.ones(2)),
        (np.float64(1.0), np.float64(1.0)),
    ],
)
def test_what_is_close(pair: tuple[Any, Any]) -> None:
    torch.testing.assert_close(*pair)


def test_options() -> None:
    torch.testing.assert_close(torch.tensor([nan]), torch.tensor([nan]), equal_nan=True)
    torch.testing.assert_close(nan, nan, equal_nan=True)
    torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1]), check_dtype=False)
    torch.testing.assert_close(1, 1.0, check_dtype=False)
    torch.testing.assert_close(torch.ones(2, 3), torch.ones(3, 2).t())
    torch.testing.assert_close(torch.tensor([1]), torch.tensor([3]), rtol=0, atol=2)


ONE = torch.tensor([1.0])


@pytest.mark.parametrize(
    ("actual", "expected", "options", "error", "message"),
    [
        (ONE, ONE, {"rtol": 1.0}, ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."),
        ("a", "a", {}, TypeError, "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>."),
        (1, 1.0, {}, AssertionError, "The (d)types do not match: <class 'int'> != <class 'float'>."),
        (True, False, {}, AssertionError, "Booleans mismatch: True is not False"),
        (1, None, {}, AssertionError, "None mismatch: 1 is not None"),
        (ONE, torch.ones(2), {}, AssertionError,
         "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2])."),
        (ONE, torch.tensor([1]), {}, AssertionError,
         "The values for attribute 'dtype' do not match: torch.float32 != torch.int64."),
        ([1], [1, 2], {}, AssertionError, "The length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, AssertionError,
         "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"
         "Additional keys in the actual mapping: ['a']"),
        ({"a": [ONE]}, {"a": [ONE * 2]}, {}, AssertionError,
         "Tensor-likes are not close!\n\nMismatched elements: 1 / 1 (100.0%)\n"
         "Greatest absolute difference: 1.0 at index (0,) (up to 1e-05 allowed)\n"
         "Greatest relative difference: 0.5 at index (0,) (up to 1.3e-06 allowed)\n\nThe failure occurred for item ['a'][0]"),
        (torch.tensor(2), torch.tensor(3), {}, AssertionError,
         "Scalars are not equal!\n\nExpected 3 but got 2.\nAbsolute difference: 1\nRelative difference: 0.3333333432674408"),
        (ONE, ONE * 2, {"msg": "what"}, AssertionError, "what"),
        (1, 2, {"msg": lambda text: text[:7]}, AssertionError, "Scalars"),
    ],
)  # fmt: skip
def test_messages(actual: Any, expected: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        torch.testing.assert_close(actual, expected, **options)
    assert str(caught.value) == message


FAILING: list[Callable[[Any], tuple[Any, ...]]] = [
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0])),
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1, 3]), {"check_dtype": False}),
    lambda t: (t.tensor([1.0, 2.0]).half(), t.tensor([1.0, 2.1]).half()),
    lambda t: (t.tensor([1.0, 2.0]).double(), t.tensor([1.0, 2.1]).double()),
    lambda t: (t.tensor([1, 2]), t.tensor([1, 30]), {"rtol": 0.1, "atol": 3}),
    lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    lambda t: (t.tensor(1.0), t.tensor(2.0)),
    lambda t: (t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 5.0], [6.0, 4.0]])),
    lambda t: (t.tensor([nan]), t.tensor([nan])),
    lambda t: (t.tensor([nan, 1.0, inf]), t.tensor([1.0, 2.0, 1.0])),
    lambda t: (t.tensor([inf, 1.0]), t.tensor([-inf, 1.0])),
    lambda t: (t.tensor([1.0, 0.0]), t.tensor([1.0, 0.5]), {"rtol": 0, "atol": 0}),
    lambda t: (t.tensor([1.0, 0.0]), t.tensor([0.0, 0.0])),
    lambda t: (1, 2, {"rtol": 0.1, "atol": 0.2}),
    lambda t: (3, 0),
    lambda t: (0.0, inf),
    lambda t: (nan, nan),
    lambda t: (1 + 2j, 1 + 3j),
    lambda t: (2**60, 2**60 + 1),
    lambda t: ([1.0, 2.0], [1.0]),
    lambda t: ({"a": [1, {"b": t.tensor([1.0])}]}, {"a": [1, {"b": t.tensor([2.0])}]}),
    lambda t: ({(1, 2): 1}, {(1, 2): 2}),
    lambda t: (range(3), [0, 1, 3]),
    lambda t: ({"a": 1}, [1]),
    lambda t: (t.tensor([1.0]), [1.0]),
    lambda t: (t.tensor([1.0]), np.ones(1)),
    lambda t: (1.0, t.tensor(1.0)),
    lambda t: (np.ones(2), np.ones(2, np.float32)),
    lambda t: (t.ones(2, 3), t.ones(3, 2).t(), {"check_stride": True}),
    lambda t: (t.ones(()), t.zeros(1)),
    lambda t: (t.tensor([100, 0], dtype=t.uint8), t.tensor([0, 200], dtype=t.uint8)),
    lambda t: (t.tensor([2**53 + 1]), t.tensor([2**53])),
    lambda t: (t.tensor([1.0]), t.nn.Parameter(t.tensor([1.0])), {"allow_subclasses": False}),
    lambda t: ([t.tensor([1.0])], [t.tensor([2.0])], {"msg": lambda text: "so: " + text}),
]


@pytest.mark.parametrize("case", FAILING)
def test_messages_like_pytorch(case: Callable[[Any], tuple[Any, ...]]) -> None:
    theirs = pytest.importorskip("torch")

    def message(torch: Any) -> str:
        actual, expected, *options = case(torch)
        with pytest.raises((AssertionError, TypeError)) as caught:
            torch.testing.assert_close(actual, expected, **(options[0] if options else {}))
        return f"{caught.type.__name__}: {caught.value}".replace("minitorch", "torch")

    assert message(minitorch) == message(theirs)


# -- make_tensor -------------------------------------------------------------------------------------------------------
def test_make_tensor() -> None:
    make = torch.testing.make_tensor
    assert make(2, 3, dtype=torch.float32).dtype is torch.float32
    assert make((), dtype=torch.int64).shape == ()
    assert make((100,), dtype=torch.uint8, high=3).max() < 3
    assert make(50, dtype=torch.int64, low=-1, high=2, exclude_zero=True).abs().min() == 1
    assert not make(2, 3, dtype=torch.float64, noncontiguous=True).is_contiguous()
    assert make(2, dtype=torch.float64, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="must be less than"):
        make(2, dtype=torch.float32, low=2, high=1)
    with pytest.raises(ValueError, match="requires_grad=True"):
        make(2, dtype=torch.int64, requires_grad=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_make_tensor_draws_what_pytorch_draws(dtype: str) -> None:
    theirs = pytest.importorskip("torch")
    made = []
    for torch_ in (minitorch, theirs):
        torch_.manual_seed(3)
        made.append(torch_.testing.make_tensor(4, 5, dtype=getattr(torch_, dtype), device="cpu"))
    np.testing.assert_array_equal(made[0].numpy(), made[1].numpy())
