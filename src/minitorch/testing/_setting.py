"""What is asked of a gradient is asked in a setting: the function at a point, vectors, and the gradients they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd._differences import Array
from ..autograd._subject import Subject, vjp
from . import _rounding


class Setting:
    """What the properties look at: the function at a point, vectors for its outputs, and the gradients they give.

    Attributes
    ----------
    vectors : list of ndarray
        One for each output of floats.
    gradients : list of (ndarray or None)
        One for each variable.
    fast : bool
        Whether few evaluations may be made.
    regular : bool
        Whether the function is smooth at the point: no infinite slope, no edge of its domain.
    """

    def __init__(self, subject: Subject, seed: int, fast: bool) -> None:
        self.subject, self.fast, self.regular = subject, fast, True
        self.rng = np.random.default_rng(seed)
        self.unit = subject.precision.unit
        self.vectors = self.draw()
        self.gradients = [None if g is None else g._array.copy() for g in subject.vjp(self.vectors)]
        subject.backwards += 1

    def draw(self) -> list[Array]:
        """A random vector for each output."""
        outputs = self.subject.point()[0]
        return [
            self.rng.normal(size=s).astype(outputs[o]._array.dtype)
            for o, s in zip(self.subject.which, self.subject.shapes)
        ]

    def differ(
        self,
        found: Sequence[Any],
        expected: Sequence[Any],
        rounding: Callable[[], Sequence[float]] | None = None,
        factor: float = _rounding.UNITS,
    ) -> str | None:
        """In words, where gradients are not equal but for rounding.

        *rounding*, asked where they are not close as they are, says how far it moves each of them.
        """
        floors: Sequence[float] | None = None
        for place, (a, b) in enumerate(zip(found, expected)):
            a, b = array_of(a), array_of(b)
            if a is None and b is None:
                continue
            a = np.zeros_like(b) if a is None else a
            b = np.zeros_like(a) if b is None else b
            if a.shape != b.shape:
                return f"input {place}: shape {a.shape}, expected {b.shape}"
            far = distance(a, b, factor * self.unit)
            if far is not None and rounding is not None:
                floors = rounding() if floors is None else floors
                far = distance(a, b, factor * self.unit, floors[place])
            if far is not None:
                return f"input {place}: {far}"
        return None

    def rounding_of_call(
        self,
        call: Callable[[Sequence[Array]], tuple[Sequence[Any], Sequence[Any]]],
        arrays: Sequence[Array],
        vectors: Sequence[Array],
    ) -> list[float]:
        """The same where values are computed anew: *call* gives outputs and variables of these arrays."""

        def gradients(at: Sequence[Array]) -> list[Array]:
            outputs, wanted = call(at)
            self.subject.backwards += 1
            found = vjp(outputs, wanted, vectors)
            return [np.zeros(t._array.shape) if g is None else g._array.astype(float) for t, g in zip(wanted, found)]

        outputs, wanted = call(arrays)
        own = _rounding.of_gradients(outputs, wanted, vectors, self.unit)
        return [a + b for a, b in zip(own, _rounding.of_points(gradients, arrays, self.unit))]


def array_of(value: Any) -> Any:
    return getattr(value, "_array", value)


def distance(a: Array, b: Array, tolerance: float, rounding: float = 0.0) -> str | None:
    """In words, how far two arrays are apart, if by more than the tolerance, a part of their largest values, and *rounding*."""
    dims, a, b = a.shape, a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if not a.size:
        return None
    limit = (
        tolerance * max(np.abs(b[np.isfinite(b)]).max(initial=0), np.abs(a[np.isfinite(a)]).max(initial=0)) + rounding
    )
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    apart[np.isnan(apart)] = np.inf
    worst = int(apart.argmax())
    if apart[worst] <= limit:
        return None
    return (
        f"at {[int(i) for i in np.unravel_index(worst, dims)]}: {float(a[worst]):.6g}, expected {float(b[worst]):.6g}"
    )
