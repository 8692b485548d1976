"""How many operations a block runs: ``count_operations``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._modes import Observer, differ_since, observers
from .._records import op_name


class count_operations(Observer):
    """Count the operations that a block runs, those of its backward passes and transforms included.

    As a context manager it gives itself: a count for each operation by name, and ``total``.  Inside, backward passes run their
    formulas on tensors, so that they are seen: it is for counting, not for timing.  Of a function that ``vmap`` maps, the
    operations on the whole batch count, each as one.

    Attributes
    ----------
    by_name : collections.Counter
        How often each operation ran.
    total : int
        How many ran.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.count_operations() as count:
    ...     loss = (x * x).sum()
    >>> count.total, count["mul"]
    (2, 1)
    >>> with torch.autograd.count_operations() as count:
    ...     g, = torch.autograd.grad(loss, x)
    >>> dict(count.by_name)
    {'expand': 1, 'mul': 2, 'add': 1}
    """

    lifts = True

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return sum(self.by_name.values())

    def __getitem__(self, name: str) -> int:
        return self.by_name[name]

    def __repr__(self) -> str:
        return f"<{self.total} operations: {', '.join([f'{n} {name}' for name, n in self.by_name.most_common()])}>"

    def recorded(self, call: Any) -> None:
        if not differ_since(self, call.outputs):  # else of one example: those of the batch come
            self.by_name[op_name(call.row)] += 1

    def __enter__(self) -> count_operations:
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
