"""Ways out of a map, and random numbers in one: what the first example has is not what all have."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _runtime, nn, vmap

X = torch.tensor([0.3, 1.2, 0.7], dtype=torch.float64)

WAYS: dict[str, Callable[[Any], Any]] = {
    "numerical_jacobian of a captured value": lambda x: torch.autograd.numerical_jacobian(lambda y: y * x, X),
    "torch.from_dlpack": torch.from_dlpack,
    "np.from_dlpack": lambda x: torch.tensor(np.from_dlpack(x)),
    "__dlpack__": lambda x: x.__dlpack__(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "deepcopy": copy.deepcopy,
    "untyped_storage": lambda x: x.untyped_storage(),
    "storage": lambda x: x.storage(),
    "data_ptr": lambda x: x.data_ptr(),
    "assert_close": lambda x: torch.testing.assert_close(x, X[0]),
    "assert_close, second": lambda x: torch.testing.assert_close(X[0], x),
    "gradcheck": lambda x: torch.autograd.gradcheck(torch.sin, _runtime.flagged(x.detach())),
    "check_gradients": lambda x: torch.testing.check_gradients(torch.sin, x),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_ways_out_are_refused(way: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        way(x)
        return x

    with pytest.raises(RuntimeError, match="vmapped over"):
        vmap(function)(X)


def test_what_does_not_depend_on_the_batch_may_leave() -> None:
    def function(x: Any) -> Any:
        torch.testing.assert_close(X, X.clone())
        return x * float(torch.from_dlpack(X)[0]) + copy.deepcopy(X)[0]

    assert vmap(function)(X).tolist() == (X * 0.3 + 0.3).tolist()


# -- random numbers ----------------------------------------------------------------------------------------------------
DRAWS: dict[str, Callable[[Any], Any]] = {
    "gumbel_softmax": lambda x: nn.functional.gumbel_softmax(x),
    "trunc_normal_": lambda x: x + nn.init.trunc_normal_(torch.empty(3)),
    "orthogonal_": lambda x: x + nn.init.orthogonal_(torch.empty(3, 3)),
    "sparse_": lambda x: x + nn.init.sparse_(torch.empty(3, 3), 0.3),
}


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
def test_randomness_is_heeded(draws: Callable[[Any], Any]) -> None:
    x = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        vmap(draws)(x)
    alike = vmap(draws, randomness="same")(x)
    assert all((row == alike[0]).all() for row in alike)
    apart = vmap(draws, randomness="different")(x)
    assert all((row != apart[0]).any() for row in apart[1:])


def test_different_numbers_are_pytorchs_and_leave_the_generator_where_it_does() -> None:
    torch.manual_seed(0)
    found = vmap(lambda x: x + torch.randn(3), randomness="different")(torch.zeros(4, 3))
    after = torch.rand(2)
    torch.manual_seed(0)
    assert found.tolist() == torch.randn(4, 3).tolist()
    assert found[0, :2].tolist() == pytest.approx([1.5410, -0.2934], abs=1e-4)
    assert after.tolist() == torch.rand(2).tolist()


def test_what_is_drawn_and_not_read_is_drawn_all_the_same() -> None:
    def function(x: Any) -> Any:
        torch.rand(2)
        return x + torch.rand(1)

    torch.manual_seed(0)
    found = vmap(function, randomness="different")(torch.zeros(3, 1))
    torch.manual_seed(0)
    torch.rand(3, 2)
    assert found.tolist() == torch.rand(3, 1).tolist()
