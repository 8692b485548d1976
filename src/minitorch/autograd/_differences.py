"""Finite differences along a line, with an error estimate for each entry.

A ``Line`` is a function of one number, the step, with several outputs.  ``glance`` takes two evaluations; ``examine`` takes a
table of them, at steps that shrink by four, extrapolates central and one-sided differences (Richardson's way, in Neville's
table as Ridders does), and says of each output how it behaves at 0: smooth, a kink, a jump, a vertical slope, the edge of the
domain.  All of it is float64 arithmetic on values that the function computed in its own precision, whose rounding noise is
measured.  See docs/design/06-gradient-checks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Array = np.ndarray

SMOOTH, KINK, JUMP, VERTICAL, EDGE, UNDEFINED = range(6)
KINDS = ("smooth", "kink", "discontinuity", "vertical slope", "edge of the domain", "undefined")


DOUBTED = 16.0
"""By how much the error of an estimate grows that finer steps contradict, besides the contradiction itself."""


class Precision(NamedTuple):
    """What a floating-point format allows: its rounding unit, steps as powers of two, what a check calls equal.

    Attributes
    ----------
    unit : float
        Half the distance from 1 to the next number.
    step : float
        The step of a first look, for arguments of size 1.
    coarsest, finest : float
        The first and the last step of a table.
    equal : float
        Relative differences below this are never called a mismatch: a tenth of them would not be found for certain.
    least : float
        The smallest argument that steps of its own size leave its digits.
    floor : float
        Gradients below this have too few digits to be compared: they, or what they are made of, are subnormal.
    """

    unit: float
    step: float
    coarsest: float
    finest: float
    equal: float
    least: float
    floor: float


DOUBLE = Precision(2.0**-53, 2.0**-17, 2.0**-3, 2.0**-25, 1e-5, 2.0**-960, 2.0**-1022)
SINGLE = Precision(2.0**-24, 2.0**-6, 2.0**-2, 2.0**-14, 1e-2, 2.0**-100, 2.0**-126)
HALF = Precision(2.0**-11, 2.0**-3, 2.0**-1, 2.0**-7, 5e-2, 2.0**-4, 2.0**-20)


def precision_of(dtypes: Sequence[np.dtype]) -> Precision:
    """The precision of a function of these dtypes: that of the narrowest."""
    size = min([d.itemsize for d in dtypes if d.kind == "f"], default=8)
    return {2: HALF, 4: SINGLE}.get(size, DOUBLE)


class Line:
    """A function along a line.

    Parameters
    ----------
    at : function
        ``at(step)`` gives the step that was really taken, a number or one for each output (rounding of the arguments changes
        it), and the values there, a vector of float64.
    base : ndarray
        The values at 0.
    """

    def __init__(self, at: Callable[[float], tuple[float | Array, Array]], base: Array) -> None:
        self.at, self.base = at, base


class Remembered(Line):
    """A line, or sums of its outputs with weights, that keeps its values."""

    def __init__(self, line: Line, weights: Array | None = None) -> None:
        kept: dict[float, tuple[float | Array, Array]] = {}

        def at(step: float) -> tuple[float | Array, Array]:
            if step not in kept:
                taken, values = line.at(step)
                kept[step] = taken, values if weights is None else weights @ values
            return kept[step]

        super().__init__(at, line.base if weights is None else weights @ line.base)

    def flat(self, steps: Sequence[float]) -> Array:
        """Where the shortest of *steps* to one side do not move the values: what these are rounded to does not show then."""
        sides = [[self.at(side * step)[1] == self.base for step in steps[-3:]] for side in (1, -1)]
        return np.asarray(np.all(sides[0], axis=0) | np.all(sides[1], axis=0))


class Glance(NamedTuple):
    """Differences at one step: central and one-sided, and by how much one unit of noise in the values moves them."""

    central: Array
    right: Array
    left: Array
    gain: Array


class Behaviour(NamedTuple):
    """What a table says of each output: the derivative and its error, both slopes and theirs, the kind of point."""

    value: Array
    error: Array
    left: Array
    left_error: Array
    right: Array
    right_error: Array
    kind: Array


def glance(line: Line, step: float) -> Glance:
    """Two evaluations."""
    (right_step, right), (left_step, left) = line.at(step), line.at(-step)
    width = np.asarray(right_step - left_step)
    with np.errstate(all="ignore"):
        return Glance(
            (right - left) / width,
            (right - line.base) / right_step,
            (left - line.base) / left_step,
            np.broadcast_to(2 / width, right.shape),
        )


def rounding_noise(line: Line, steps: Sequence[float], unit: float) -> Array:
    """How far each value may be off: measured by third differences along one side, which smooth parts leave out.

    Eight evaluations for each of the *steps*.  Where kinks are close together, long steps see more than rounding; where
    values are rounded to few digits on the way, short ones see nothing: what counts is the smallest that is not zero.  It is
    bounded from below by the rounding of the values themselves.  (Hamming's difference table; Moré and Wild, "Estimating
    computational noise", 2011.)
    """
    smallest, regular, largest = *np.full((2, *line.base.shape), np.inf), np.abs(line.base)
    with np.errstate(all="ignore"):
        for step in steps:
            values = np.array([line.base, *[line.at(k * step)[1] for k in range(1, 9)]])
            table = np.abs(np.diff(values, 3, axis=0))
            table = np.sort(np.where(np.isfinite(table), table, np.inf), axis=0)
            measured = table[2] / np.sqrt(20.0)  # of independent errors, a third difference sums 1 + 9 + 9 + 1 squares
            most = np.max(np.where(np.isfinite(values), np.abs(values), 0), axis=0)
            shows = measured > 4 * unit * most  # what is rounded on the way may be regular by chance
            smallest = np.where(shows & (measured < smallest), measured, smallest)
            regular = np.where((measured > 0) & (measured < regular), measured, regular)
            largest = np.maximum(largest, most)
    smallest = np.where(np.isfinite(smallest), smallest, regular)
    return np.maximum(np.where(np.isfinite(smallest), 4 * smallest, 0), 2 * unit * np.nan_to_num(largest, posinf=0))


def steps_between(coarsest: float, finest: float, most: int = 40) -> list[float]:
    """Steps that shrink by four."""
    steps = [coarsest]
    while steps[-1] > finest and len(steps) < most:
        steps.append(steps[-1] / 4)
    return steps


def steps_of_its_own(precision: Precision, steps: Sequence[float], small: float) -> list[float]:
    """Steps of the size of a tiny argument itself; none where *steps* reach there, or where there is no room for them."""
    if precision.least < small < 2.0**5 * steps[-1]:
        return steps_between(precision.coarsest * small, precision.finest * small)
    return []


def examine(line: Line, steps: Sequence[float], noise: Array, equal: float, unit: float = 0.0) -> Behaviour:
    """The derivative along the line at 0, from values at all these steps on both sides, for each output.

    Two evaluations a step.  The noise is that of values near 0, and of each value at least *unit* times its size.
    """
    count = len(steps)
    right, left = np.empty((count, *line.base.shape)), np.empty((count, *line.base.shape))
    right_steps, left_steps = np.empty_like(right), np.empty_like(left)
    for j, step in enumerate(steps):
        right_steps[j], right[j] = line.at(step)
        left_steps[j], left[j] = line.at(-step)
    with np.errstate(all="ignore"):
        slopes = (right - line.base) / right_steps, (left - line.base) / left_steps
        central = (right - left) / (right_steps - left_steps)
        half = (right_steps - left_steps) / 2
        noise = np.fmax(noise, unit * np.fmax(np.abs(right), np.abs(left)))
        off_middle = unit * np.abs(slopes[0] - slopes[1])  # as the points are rounded
        value, error = extrapolated(central, noise / half + np.where(np.isfinite(off_middle), off_middle, 0), 16.0)
        rs, re = extrapolated(slopes[0], 2 * noise / right_steps, 4.0)
        ls, le = extrapolated(slopes[1], -2 * noise / left_steps, 4.0)
        steep = [np.abs(s[-1]) > 4 * _largest_of(slopes[0][:2], slopes[1][:2]) for s in slopes]
        jumps = [s & jump(v - line.base, noise[-1]) for s, v in zip(steep, (right, left))]
        steep = [s & vertical(v, noise / half) for s, v in zip(steep, slopes)]
    has_right, has_left = np.isfinite(rs), np.isfinite(ls)
    kink = has_right & has_left & (np.abs(rs - ls) > 2 * (re + le) + equal * np.maximum(np.abs(rs), np.abs(ls)))
    kind = np.where(kink, KINK, SMOOTH)
    kind[has_right != has_left] = EDGE
    kind[~has_right & ~has_left] = UNDEFINED
    kind[steep[0] | steep[1]] = VERTICAL
    kind[jumps[0] | jumps[1]] = JUMP
    only_right, only_left = has_right & ~has_left, has_left & ~has_right
    value, error = np.where(only_right, rs, value), np.where(only_right, re, error)
    value, error = np.where(only_left, ls, value), np.where(only_left, le, error)
    if (kind == JUMP).any():
        rs, re = _where(jumps[0], beyond(right, right_steps, noise[:-1]), (rs, re))
        ls, le = _where(jumps[1], beyond(left, left_steps, noise[:-1]), (ls, le))
    if (kind == VERTICAL).any():
        rs = np.where(steep[0], np.copysign(np.inf, slopes[0][-1]), rs)
        ls = np.where(steep[1], np.copysign(np.inf, slopes[1][-1]), ls)
    return Behaviour(value, error, ls, le, rs, re, kind)


def _largest_of(*quotients: Array) -> Array:
    found = np.abs(np.concatenate(quotients))
    return np.max(np.where(np.isfinite(found), found, 0), axis=0)


def _where(mask: Array, a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    return [np.where(mask, x, y) for x, y in zip(a, b)]


def extrapolated(differences: Array, noise: Array, ratio: float) -> tuple[Array, Array]:
    """The limit of difference quotients of shrinking steps, and its error, for each output.

    Column k of the table is free of the first k powers of the step.  Of all entries the one with the smallest error
    estimate is taken: how far it is from its neighbours, plus the noise.  One that quotients of finer steps contradict by more
    than their own uncertainty is taken only if there is no other: it is of a scale at which the function is another.
    """
    count = len(differences)
    best = np.full(differences.shape[1:], np.nan)
    smallest = np.full(differences.shape[1:], np.inf)
    change = np.abs(np.diff(differences, axis=0, prepend=differences[:1] * np.nan))
    slack = 3 * noise + 2 / (ratio - 1) * np.where(np.isfinite(change), change, np.inf)
    column = differences
    for k in range(4):
        if k:
            finer = column[1:] + (column[1:] - column[:-1]) / (ratio**k - 1)
            spread = np.maximum(np.abs(finer - column[1:]), np.abs(finer - column[:-1]))
            column = finer
        else:
            spread = change
        first = count - len(column)
        errors = spread + 1.5 * noise[first:]
        for row in range(len(column)):
            level = first + row
            error = errors[row]
            if level + 1 < count:
                against = np.abs(column[row] - differences[level + 1 :]) - slack[level + 1 :]
                against = np.max(np.where(np.isfinite(against), against, 0), axis=0)
                error = np.where(against > 0, DOUBTED * (error + against), error)
            better = error < smallest
            best, smallest = np.where(better, column[row], best), np.where(better, error, smallest)
    return best, smallest


def jump(changes: Array, noise: Array) -> Array:
    """Where values stay away from the value at 0, however small the step."""
    size = np.abs(changes[-3:])
    return (size[2] > 0.75 * size[1]) & (size[1] > 0.75 * size[0]) & (size[2] > 20 * noise)


def vertical(slopes: Array, noise: Array) -> Array:
    """Where difference quotients grow without limit: their increments do not shrink as the steps do."""
    size = np.abs(slopes[-5:])
    if len(size) < 5:
        return np.zeros(slopes.shape[1:], bool)
    growth = np.diff(size, axis=0)
    steady = (growth[1:] > 0.7 * growth[:-1]).all(axis=0) & (growth > 0).all(axis=0)
    return steady & (growth[-1] > 10 * noise[-1])


def beyond(values: Array, steps: Array, noise: Array) -> tuple[Array, Array]:
    """The slope on one side of a jump, from values on that side alone."""
    widths = np.diff(steps, axis=0)
    slopes = np.diff(values, axis=0) / widths
    return extrapolated(slopes, np.abs(2 * noise / widths), 4.0)
