"""A call of the function, recorded: every operation with the values it was given, and where values left the graph."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._anomaly import record_sites
from .._records import Cut, history, notes_of
from .._views import current_node
from ..autograd.function import Function
from ..autograd.tape import Tape

_OF_DATA = ("as_tensor", "asarray", "from_numpy", "tensor")
"""Functions of the package that take values."""
_APPLY = inspect.unwrap(Function.apply).__code__
"""What switches recording off for the forward of a custom Function, and for all that this calls."""


class Recording(Tape):
    """A tape of a block that keeps copies of the values each operation was given, and knows where values left the graph.

    Parameters
    ----------
    watched : sequence of ndarray
        Arrays that nothing should write into.

    Attributes
    ----------
    values : list of tuple
        For each entry its inputs: arrays in place of tensors, as they were before the call.
    """

    def __init__(self, watched: Sequence[np.ndarray] = ()) -> None:
        super().__init__()
        self._watched = [(array, array.copy()) for array in watched]
        self._written: int | None = None
        self.values: list[tuple[Any, ...]] = []
        self._seen: dict[int, tuple[Any, np.ndarray]] = {}

    def __enter__(self) -> Recording:
        self._sites = record_sites()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._sites.stop()
        self._seen.clear()

    def recorded(self, call: Any) -> None:
        """Note one call and the values it was given."""
        before = len(self)
        super().recorded(call)
        if len(self) == before:
            return
        self.values.append(tuple([self._before(t, call.in_place and i == 0) for i, t in enumerate(call.inputs)]))
        if self._written is None and any([not np.array_equal(a, b, equal_nan=True) for a, b in self._watched]):
            self._written = len(self.values) - 1
        for tensor in (*call.inputs, *call.outputs):
            if isinstance(tensor, _runtime.Tensor):
                self._seen[id(tensor)] = tensor, tensor._array.copy()
        if call.in_place:
            for key, (tensor, _) in list(self._seen.items()):
                if np.may_share_memory(tensor._array, call.outputs[0]._array):
                    self._seen[key] = tensor, tensor._array.copy()

    def _before(self, value: Any, written: bool) -> Any:
        if not isinstance(value, _runtime.Tensor):
            return value
        if written:
            return self._seen[id(value)][1] if id(value) in self._seen else None
        return value._array.copy()

    def cuts(self, outputs: Sequence[Any]) -> list[Cut]:
        """Where values that these outputs are made of left the graph; then, where values left for Python or NumPy.

        What a custom Function's forward does is its own business.
        """
        tensors = [t for t in outputs if isinstance(t, _runtime.Tensor)]
        roots = [node for t in tensors if (node := current_node(t)) is not None]
        functions: list[Any] = [entry.row for entry in self if isinstance(entry.row, type)]
        own = {f.__code__ for c in functions for f in (c.forward, c.setup_context)} | {_APPLY}
        met = [*history(roots)[1], *[cut for t in tensors for cut in notes_of(t)[1]], *self._sites.left]
        every = dict.fromkeys([c for cut in met for c in (*cut.before, cut)])
        chosen = [cut for cut in every if cut.loses and cut.certain]  # what came back is among what left
        return [cut for cut in chosen if not any([mark and mark[0] in own for mark in (cut.mark, cut.mode_mark)])]

    def writer(self) -> Any:
        """The first entry after which one of the watched arrays was another."""
        return None if self._written is None else self[self._written]


def described(cut: Cut) -> str:
    """A cut in words."""
    if cut.kind in ("no_grad", "inference_mode"):
        return f"an operation under {cut.kind}"
    if cut.kind == "data":
        return ".data"
    return f"torch.{cut.kind}()" if cut.kind in _OF_DATA else f"{cut.kind}()"
