"""What a sample is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_random = np.random.default_rng(0)


@dataclass(frozen=True)
class Sample:
    """One call of an operation.

    Attributes
    ----------
    call : function
        ``call(torch, *tensors)``, with minitorch or PyTorch as *torch*: the result is a tensor, or a tuple of them.
    inputs : tuple of ndarray
        float64 arrays; each becomes a tensor that requires grad.
    order : int
        How often it can be differentiated: 2 for most, 1 or 0 for the others.
    in_torch : bool
        Whether PyTorch has the same call.
    same_graph : bool
        Whether gradients require grad, and second gradients are None, just where PyTorch's do and are.
    """

    call: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    order: int = 2
    in_torch: bool = True
    same_graph: bool = True


def sample(call: Callable[..., Any], *inputs: Any, **options: Any) -> Sample:
    """A sample with these inputs (arrays, or nested lists of numbers)."""
    return Sample(call, tuple([np.asarray(i, dtype=np.float64) for i in inputs]), **options)


def normal(*shape: int) -> np.ndarray:
    """Normally distributed values."""
    return np.asarray(_random.normal(size=shape))


def positive(*shape: int) -> np.ndarray:
    """Values between 0.5 and 2."""
    return np.asarray(_random.uniform(0.5, 2, size=shape))


def distinct(*shape: int) -> np.ndarray:
    """Values at least 0.1 apart, in random order: no ties, no kinks within a finite difference."""
    size = int(np.prod(shape))
    return (_random.permutation(size) * 0.3 - size * 0.1 + 0.05).reshape(shape)


def within(low: float, high: float, *shape: int) -> np.ndarray:
    """Uniform values."""
    return np.asarray(_random.uniform(low, high, size=shape))
