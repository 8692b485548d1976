"""Models of 10 to 50 operations, each with a place for one function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

Inner = Callable[[Any], Any]


def const(*shape: int, k: float = 1.0) -> Any:
    """Numbers between -1 and 1 with no pattern, the same at each call."""
    return torch.sin(torch.arange(math.prod(shape), dtype=torch.float64) * k + 1).reshape(shape)


def mlp(x: Any, inner: Inner) -> Any:
    """(n, 4) to a loss; ``inner`` from (n, 6) to (n, 6)."""
    h = torch.tanh(x @ const(4, 6) + const(6, k=2))
    h = h * torch.sigmoid(h) + h
    h = inner(h)
    h = F.layer_norm(h, (6,)) + 0.5 * h
    h = h + torch.tanh(h @ const(6, 6, k=3))
    h = F.softplus(h)
    return torch.logsumexp(h @ const(6, 3, k=5), 1).mean()


def attention(x: Any, inner: Inner) -> Any:
    """(5, 4) to a loss; ``inner`` from (5, 5) to (5, 5)."""
    q, k, v = x @ const(4, 4), x @ const(4, 4, k=2), x @ const(4, 4, k=3)
    scores = q @ k.transpose(0, 1) / 2.0
    h = inner(scores) @ v + x
    h = F.gelu(F.layer_norm(h, (4,)))
    h = torch.cat([h, x.sin()], 1) @ const(8, 4, k=7)
    return (h.square() * const(5, 4, k=4)).sum() + h.exp().mean()


def recurrent(x: Any, inner: Inner) -> Any:
    """(5, 3, 4) to a loss; ``inner`` from (3, 4) to (3, 4), called at each of 5 steps."""
    h = torch.zeros(3, 4, dtype=torch.float64)
    steps = []
    for t in range(x.shape[0]):
        h = inner(torch.tanh(x[t] @ const(4, 4) + h @ const(4, 4, k=2)))
        steps.append(h * torch.sigmoid(h))
    return (torch.stack(steps) * const(5, 3, 4, k=3)).sum() + steps[-1].square().mean()


def convnet(x: Any, inner: Inner) -> Any:
    """(2, 2, 6, 6) to a loss; ``inner`` from (2, 3, 6, 6) to (2, 3, 6, 6)."""
    h = torch.tanh(F.conv2d(x, const(3, 2, 3, 3), const(3), padding=1))
    h = inner(h)
    h = F.silu(F.avg_pool2d(h, 2))
    h = F.conv2d(h, const(4, 3, 2, 2, k=2))
    h = F.elu(h.flatten(1)) @ const(16, 5, k=3)
    return F.cross_entropy(h - h.mean(1, keepdim=True), torch.tensor([1, 3]))


def motion(x: Any, inner: Inner) -> Any:
    """(8,) to an energy after five steps; ``inner``, a force, from (8,) to (8,), is called at each."""
    velocity = x.cos()
    for _ in range(5):
        velocity = velocity - 0.3 * inner(x)
        x = x + 0.3 * velocity
    return 0.5 * velocity.square().sum() + (x * const(8)).sum()
