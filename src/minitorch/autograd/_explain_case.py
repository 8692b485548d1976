"""What is known about a tensor that ``explain`` is asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _fades
from .._engine import Walk, run
from .._fades import Way
from .._passes import Pass
from .._reach import reachable
from .._records import known_recordings, notes_of
from .._sites import site_of
from .._tape import AccumulateGrad
from .._views import current_node
from ._explanation import Evidence

RECORD = "run forward and backward in `with torch.autograd.record_sites():` and ask again: then the lines are known"


class Case:
    """One question: the tensor, and all that is known about it."""

    def __init__(self, tensor: Any, loss: Any, who: str) -> None:
        self.tensor, self.loss, self.who = tensor, loss, who
        self.node = current_node(tensor)
        self.leaf = self.node.__class__ is AccumulateGrad
        known = [r for r in known_recordings() if r.until is None or not self.is_newer_than(r.until)]
        self.recordings = known
        found = {id(p): p for recording in self.recordings for p in recording.passes}
        self.passes: list[Pass] = sorted(found.values(), key=lambda p: -p.moment)
        """The newest first."""
        extras = self.node.extras if self.leaf else None
        self.story: list[Any] = [] if extras is None else extras.story
        self.way: Way | None = None if extras is None else extras.way
        self.made = None if extras is None else site_of(extras.mark)
        self.grad = self.node.grad if self.leaf else getattr(tensor, "_grad", None)

    def is_newer_than(self, position: int) -> bool:
        """Whether the tensor was made after that: what was recorded before does not tell about it."""
        if self.node is None:
            return notes_of(self.tensor)[0] is None
        return bool(self.node.position < position)

    # -- small helpers
    def hints(self) -> tuple[str, ...]:
        """How more could be known."""
        return () if self.recordings else (RECORD,)

    def last(self, *what: str) -> Any:
        """The last event of such a kind in the leaf's story: (what, mark, moment)."""
        return next((event for event in reversed(self.story) if event[0] in what), (None, None, 0))

    def pass_fact(self, noted: Pass) -> Evidence:
        return Evidence(f"the backward pass started from {' and '.join(dict.fromkeys(noted.roots))}", noted.site)

    # -- a pass that is tried
    def walked(self, root: Any) -> tuple[Way | None, str | None]:
        """What a backward pass from *root*, which accumulates nothing, tells about the way to the tensor; or its error."""
        ways: dict[Any, Way] = {}
        held = [hooks for n in reachable([root]) if n and n.extras for hooks in n.extras.outputs.values()]
        keepers = [
            (keeper, getattr(keeper, "_grad", None))
            for h in held
            if h.retained and (keeper := h.retained()) is not None
        ]
        before = [(keeper, None if grad is None else grad.clone()) for keeper, grad in keepers]
        try:
            start = np.ones(self.loss._array.shape, self.loss._array.dtype)
            run([root], [start], Walk(False, True, False, {self.node: None}, _fades.for_pass(ways)))
        except RuntimeError as error:
            return None, f"{type(error).__name__}: {error}"
        finally:
            for keeper, grad in before:
                keeper._grad = grad
        return ways.get(self.node), None
