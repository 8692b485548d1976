"""A traced call is watched: what it does besides computing tensors, which a program, or a file, would leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._modes import grad_on, inference_mode_on
from .._pytree import tree_unflatten
from ._effects import Effects
from ._executed import Executed
from ._libraries import of_kind
from ._returned import Recording
from ._size_passes import copied
from ._stands import alike, flat, is_plain
from ._surroundings import Surroundings

TRIES = 3
"""How often a function is traced whose calls change what it reads, before it is taken to do so at each."""


class Watch:
    """What a call of a function reads and changes besides its arguments.

    Parameters
    ----------
    function : callable
    others : sequence
        Arguments that are no tensors, and have a state.
    tensors : sequence of Tensor
        Those that are.
    met : iterable
        Functions that earlier calls ran, and no name leads to.

    Attributes
    ----------
    around, read : Surroundings
        What the function may read, and after the call what it has read.
    reason : str
        Why the call is not what a later one would do; empty where it is.
    surely : bool
        Whether later calls are to be expected to be no better.
    changed : str
        Which of its arguments, or of the modes of this library, the call has changed.
    spoken : str
        What it printed or logged, on which no number depends.
    unseen : list
        Functions that ran, and no name leads to.
    """

    def __init__(
        self, function: Callable[..., Any], others: Sequence[Any], tensors: Sequence[Any], met: Iterable[Any] = ()
    ) -> None:
        self.function = function
        self.around = self.read = Surroundings([function, *others], tensors, met)
        self.reason, self.surely, self.changed, self.spoken = "", False, "", ""
        self.unseen: list[Any] = []

    def call(self, trace: Recording, args: Sequence[Any], kwargs: Mapping[str, Any], once: bool = False) -> Any:
        """Call the function, and note what it did; *once*, where no later call matters."""
        around, given = self.around, flat((args, kwargs))
        trace.all_leaks, trace.within = True, Watch.call.__code__
        with around:
            modes = _modes()
            with trace, Executed(around.asks) as executed, Effects() as effects:
                out = self.function(*args, **kwargs)
            why_not = around.why_not(trace, None if effects.said else effects.told)
            unseen = [] if effects.said or why_not else around.unseen(effects)
        self.read = read = around.narrowed(executed)
        read.layers(effects.layers)
        refused = around.refused_once and read.refused_once if once else around.refused and read.refused
        self.reason, self.spoken = refused or effects.said or why_not, effects.spoken
        self.unseen = [] if self.reason else unseen
        self.changed = _changed(given, flat((args, kwargs)))
        if _modes() != modes:
            self.changed = (
                "a call leaves another mode of gradients, default dtype, or way of NumPy with errors: set it outside"
            )
        self.surely = bool(refused or self.changed) or effects.surely
        return out


def watched(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, str]:
    """Why what a function does cannot be written down, and what it says meanwhile; empty where that is not so.

    It is called on copies of the tensors among its arguments; again where a first call may have filled a cache.
    """
    leaves, spec = flat((args, kwargs))
    others = [x for x in leaves if not of_kind(x, _runtime.Tensor) and not is_plain(x)]
    met: list[Any] = []
    for _ in range(TRIES):
        given = [
            _runtime.wrap(copied(x._array)).requires_grad_(x.requires_grad) if of_kind(x, _runtime.Tensor) else x
            for x in leaves
        ]
        tensors = [x for x in given if of_kind(x, _runtime.Tensor)]
        watch = Watch(function, others, tensors, met)
        called, named = tree_unflatten(given, spec)
        watch.call(Recording(tensors, lifts="kernels"), called, named, once=True)
        reason = watch.reason or watch.changed
        if watch.surely or not (reason or watch.unseen):
            break
        met += watch.unseen
    return reason, watch.spoken


def _modes() -> tuple[Any, ...]:
    """What is on in this thread."""
    return grad_on(), inference_mode_on.get(), _dtypes.default(), np.geterr()


def _changed(before: tuple[Any, Any], after: tuple[Any, Any]) -> str:
    """Why no program can stand for a call that changed the containers that it was given; empty where it did not."""
    same = before[1] == after[1] and all(map(alike, before[0], after[0]))
    return "" if same else "a call changes a list or a dict that is an argument: return what it becomes"
