"""Gradients that are NaN where the function has a kink: no slope to compare with, and which operation made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._op import Row
from ..autograd._subject import Subject, vjp
from ._compare import Comparison
from ._recording import Recording
from ._report import Blame


class Made(NamedTuple):
    """How a NaN came about.

    Attributes
    ----------
    blame : Blame
        The operation that made it, or the infinity that it was made of.
    documented : bool
        Whether it is an operation of the library, at a kink of its own: PyTorch gives NaN there.
    custom : bool
        Whether it is a custom Function.
    """

    blame: Blame
    documented: bool
    custom: bool


def at_kinks(found: Comparison) -> bool:
    """Whether all that is wrong are NaNs, each with respect to an element at which some output has a kink."""
    columns = found.wrong.any(axis=0)
    kinks = {found.subject.input_of(int(c)) for c in np.flatnonzero(columns)}
    kinks -= {(p.input, p.input_index) for p in (*found.mistakes, *found.accepted) if p.kind != "smooth"}
    return bool(np.isnan(found.analytic[found.wrong]).all()) and not kinks


def maker(subject: Subject) -> Made | None:
    """The first operation whose gradient is not finite though the one it is given is."""
    with Recording() as recording:
        outputs, wanted = subject.call()
    made: list[tuple[Any, bool]] = []

    def watch(entry: Any) -> Callable[..., None]:
        def note(results: Sequence[Any], given: Sequence[Any]) -> None:
            known = all([np.isfinite(g._array).all() for g in given if g is not None])
            numbers = [r._array for r in results if r is not None]
            if known and not all([np.isfinite(a).all() for a in numbers]):
                made.append((entry, any([np.isnan(a).any() for a in numbers])))

        return note

    entries = {id(entry.node): entry for entry in recording if entry.node is not None}
    handles = [entry.node.register_hook(watch(entry)) for entry in entries.values() if entry.node is not None]
    subject.backwards += 1
    vjp([outputs[o] for o in subject.which], wanted, subject.split(np.ones(subject.base.size)))
    for handle in handles:
        handle.remove()
    if not made:
        return None
    entry, is_nan = made[0]
    what = (
        "its gradient is NaN" if is_nan else "its gradient is infinite; times 0, or less another infinity, that is NaN"
    )
    blame = Blame("nan", entry.name, str(entry.site or ""), what)
    row = isinstance(entry.row, Row)
    return Made(blame, is_nan and row, not row)
