"""Whether tensors have a history, and what a call's writes give one that were there before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._reach import reachable
from .._tape import AccumulateGrad
from .._views import root_of


def is_view(tensor: Any) -> bool:
    """Whether a tensor is a view of another one."""
    return tensor._alias is not None and tensor._alias.parent is not None


def has_history(tensor: Any) -> bool:
    """Whether a tensor requires grad; of a view whose memory was written since it was taken, that is its root's matter."""
    if tensor._node is not None or not is_view(tensor) or tensor._alias.seen == tensor._alias.edits.count:
        return tensor._node is not None
    return root_of(tensor)._node is not None


def belongs(tensor: Any) -> bool:
    """Whether a write into a tensor belongs to a history: its own, or that of what it is a view of."""
    if tensor._node is not None:
        return tensor._node.__class__ is not AccumulateGrad
    return is_view(tensor) and root_of(tensor)._node is not None


def leads_back(tensor: Any) -> bool:
    """Whether a tensor has a history that no backward pass has been through."""
    node = tensor._node
    if node is None or node.__class__ is AccumulateGrad:
        return False
    rows = [(n, n.row) for n in reachable([node]) if hasattr(n, "row")]
    return not any([getattr(n, f"saved_{name}") is None for n, row in rows for name in row.kept])


def _edits(tensor: Any) -> int:
    return 0 if tensor._alias is None else int(tensor._alias.edits.count)


class Histories:
    """Which of some tensors have a history, and their versions, before a call that may write them."""

    def __init__(self, tensors: Iterable[Any]) -> None:
        self._before = {id(tensor): (tensor, has_history(tensor), _edits(tensor)) for tensor in tensors}

    def had(self, tensor: Any) -> bool:
        """Whether one had a history; of others, whether they have."""
        return self._before[id(tensor)][1] if id(tensor) in self._before else has_history(tensor)

    def gained(self, tensor: Any) -> bool:
        """Whether one has a history that had none."""
        return has_history(tensor) and not self.had(tensor)

    def edits(self, tensor: Any, writes: int) -> int:
        """How many of so many writes its version has counted: not those of running statistics, or through ``.data``."""
        known = self._before.get(id(tensor))
        return writes if known is None else min(writes, _edits(tensor) - known[2])
