"""One call in both libraries: the same values, dtypes and gradients of both orders, or errors of the same class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch


def _results(library: Any, call: Callable[..., Any], arrays: tuple[np.ndarray, ...], second: bool) -> list[Any]:
    library.manual_seed(3)
    tensors = [library.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    leaves = [t for t in tensors if t.requires_grad]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = call(library, *tensors)
    except Exception as error:
        return [(type(error), error)]
    outputs = list(out) if isinstance(out, (tuple, list)) else [out]
    found = list(outputs)
    total = sum([(o * o).sum() for o in outputs if o.requires_grad])
    if isinstance(total, library.Tensor):
        first = library.autograd.grad(total, leaves, create_graph=second, allow_unused=True)
        found += first
        squares = sum([(g * g).sum() for g in first if g is not None and g.requires_grad])
        if second and isinstance(squares, library.Tensor):
            found += library.autograd.grad(squares, leaves, allow_unused=True)
    return [None if t is None else t.detach().numpy() for t in found]


def same_as_pytorch(call: Callable[..., Any], *arrays: np.ndarray, second: bool = True) -> None:
    """Check ``call(library, *tensors)``; skip where PyTorch is not installed."""
    expected = _results(pytest.importorskip("torch"), call, arrays, second)
    got = _results(minitorch, call, arrays, second)
    assert len(expected) == len(got), (expected, got)
    for one, other in zip(expected, got):
        if one is None or other is None:
            assert not np.any(other if one is None else one)
        elif isinstance(one, tuple) or isinstance(other, tuple):
            assert [type(x) for x in (one, other)] == [tuple] * 2, (one, other)
            assert one[0] is other[0], (one, other)
        else:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(other, one, rtol=1e-7, atol=1e-9)
