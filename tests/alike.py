"""The same call with minitorch and with PyTorch: dtype, shape and values alike, and errors where there are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
SHAPES = [((), ()), ((), (2,)), ((2,), ()), ((2,), (2,)), ((2, 3), (3,)), ((2, 1), (2, 3)), ((0,), (1,))]


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(len(dtype) + sum(shape))
    if "float" in dtype:
        return np.asarray(rng.normal(size=shape) * 2).astype(dtype)
    return np.asarray(rng.integers(0 if dtype == "uint8" else -6, 7, shape)).astype(dtype)


def outcome(call: Callable[[], Any]) -> Any:
    """A result as dtype, shape and array, or the error."""
    try:
        out = call()
    except Exception as error:
        return error
    return str(out.dtype), tuple(out.shape), out.numpy()


def check_alike(call: Callable[[Any, Any, Any], Any], a: np.ndarray, b: np.ndarray) -> None:
    """The call gives the same with PyTorch's tensors; an error of ours is one of theirs."""
    torch = pytest.importorskip("torch")
    theirs = outcome(lambda: call(torch, torch.from_numpy(a.copy()), torch.from_numpy(b.copy())))
    ours = outcome(lambda: call(minitorch, minitorch.from_numpy(a.copy()), minitorch.from_numpy(b.copy())))
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(ours, (RuntimeError, TypeError)), (ours, theirs)
        assert isinstance(theirs, Exception), (ours, theirs)
        return
    assert ours[:2] == theirs[:2]
    tolerance = {"torch.float16": 2e-3, "torch.float32": 2e-6, "torch.float64": 1e-13}.get(ours[0], 0)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=tolerance, atol=tolerance)
