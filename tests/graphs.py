"""Random graphs, for what must hold of every graph."""

from __future__ import annotations

import random
from typing import Any

import minitorch as torch


def random_graph(seed: int) -> Any:
    """A loss of random operations, views, several-output operations and in-place writes."""
    rng = random.Random(seed)
    pool = [torch.rand(2, 3, requires_grad=True) for _ in range(3)]
    for _ in range(rng.randrange(3, 25)):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.randrange(9)
        if kind == 0:
            made = a * b
        elif kind == 1:
            made = a + b.tanh()
        elif kind == 2:
            made = a - b[rng.randrange(2)]
        elif kind == 3:
            made = torch.stack(a.unbind(1), 1)
        elif kind == 4:
            made = a.t().reshape(2, 3) if rng.random() < 0.5 else a.sum(0).expand(2, 3)
        elif kind == 5:
            made = a.clone()
            made[0].mul_(b[1])
        elif kind == 6:
            made = (a + 0).add_(b)
        elif kind == 7:
            made = torch.cat(a.split([1, 2], 1)[::-1], 1)
        else:
            made = torch.where(a > 0.5, a, b)
        pool.append(made)
    chosen = [t for t in pool[3:] if t.requires_grad] or pool[:1]
    return sum((t * t).sum() for t in rng.sample(chosen, min(3, len(chosen))))
