"""Small tensors, and what tests of indexing ask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch

Tensor = minitorch.Tensor


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    array = np.array(data, dtype)
    return minitorch._runtime.made(
        array.astype("f4") if dtype is None and array.dtype == "f8" else array, requires_grad
    )


def arange(*shape: int, requires_grad: bool = True) -> Any:
    return tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=requires_grad)


def values(t: Any) -> Any:
    return t._array.tolist()


def chain(t: Any) -> list[str]:
    """The names of the nodes from a tensor to its leaf, along the first edges."""
    names, node = [], t.grad_fn
    while node is not None and node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    return names


def gradient(function: Callable[[Any], Any], x: Any) -> Any:
    x.grad = None
    y = function(x)
    weights = tensor(np.arange(1.0, y._array.size + 1).reshape(y._array.shape), x._array.dtype)
    (y * weights).sum().backward()
    return values(x.grad)


MASK = np.array([[True, False, True], [False, True, False]])
