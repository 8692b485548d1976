"""Analytic and numeric derivatives compared, entry by entry: what agrees, what is at a kink, what is wrong.

Columns whose analytic entries touch different outputs are varied together: one pair of evaluations serves them all, and what
an output does that none of them should touch shows too.  Where that agrees, nothing more is evaluated; where not, the columns
are looked at one by one, and those that still disagree get a table of steps (``_differences.examine``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd._differences import (
    DOUBLE,
    EDGE,
    JUMP,
    KINDS,
    KINK,
    SMOOTH,
    UNDEFINED,
    VERTICAL,
    Array,
    Behaviour,
    Glance,
    Line,
    Precision,
    examine,
    glance,
    steps_between,
)
from ..autograd._subject import Subject

SHARP = 0.02
"""A first look is enough where noise is below this part of the largest derivative beside it."""


ENOUGH = 16
"""After so many columns with something wrong, others are only glanced at."""


@dataclass(frozen=True)
class Point:
    """One entry of a Jacobian.

    Attributes
    ----------
    output, input : int
        Which output and which of the checked inputs.
    output_index, input_index : tuple of int
        Which of their elements.
    analytic, numeric, error : float
        The gradient that was computed, the finite difference, and how far the latter may be off.
    left, right : float
        The one-sided slopes.
    kind : str
        "smooth", "kink", "discontinuity", "vertical slope", "edge of the domain" or "undefined".
    """

    output: int
    output_index: tuple[int, ...]
    input: int
    input_index: tuple[int, ...]
    analytic: float
    numeric: float
    error: float
    left: float
    right: float
    kind: str


@dataclass
class Comparison:
    """What came of comparing Jacobians.

    Attributes
    ----------
    analytic, numeric, error : ndarray
        Output elements by input elements.
    wrong : ndarray
        Which entries differ by more than the error explains.
    points : list of Point
        Entries that are wrong or at a kink or the like; of the latter, those with an accepted value.
    """

    subject: Subject
    analytic: Array
    numeric: Array
    error: Array
    wrong: Array
    mistakes: list[Point] = field(default_factory=list)
    accepted: list[Point] = field(default_factory=list)
    examined: int = 0

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong.any()

    def blocks(self) -> list[tuple[int, int]]:
        """The pairs of output and input in which something is wrong."""
        pairs = [tuple(map(int, pair)) for pair in np.argwhere(self.wrong)]
        return sorted({(self.subject.output_of(r)[0], self.subject.input_of(c)[0]) for r, c in pairs})

    def block(self, output: int, input: int) -> tuple[slice, slice]:
        """The rows and columns of one output and one input."""
        sizes = [int(np.prod(s)) for s in self.subject.shapes]
        place = self.subject.which.index(output)
        top, left = sum(sizes[:place]), sum(self.subject.sizes[:input])
        return slice(top, top + sizes[place]), slice(left, left + self.subject.sizes[input])


class TooSlow(RuntimeError):
    """The check would take, or took, longer than it may."""


def compare(subject: Subject, analytic: Array, deadline: float = np.inf) -> Comparison:
    """Compare an analytic Jacobian with finite differences."""
    subject.point()
    empty = np.zeros_like(analytic)
    found = Comparison(subject, analytic, empty, empty.copy(), np.zeros(analytic.shape, bool))
    scales = np.concatenate([subject.scales(v).ravel() for v in range(len(subject.arrays))] or [np.zeros(0)])
    rough = rough_noise(subject)
    work = _Columns(subject, found, scales, rough, deadline)
    for group in groups(analytic):
        work.settle(group)
    return found


def groups(analytic: Array) -> list[list[int]]:
    """The columns, those together that have no output in common."""
    touched = (analytic != 0).T
    made: list[list[int]] = []
    masks: list[Array] = []
    for column, mask in enumerate(touched):
        for place in range(max(0, len(made) - 8), len(made)):
            if not (masks[place] & mask).any():
                made[place].append(column)
                masks[place] |= mask
                break
        else:
            made.append([column])
            masks.append(mask.copy())
    return made


class _Columns:
    """The comparison of columns, alone or in groups."""

    def __init__(self, subject: Subject, found: Comparison, scales: Array, rough: Array, deadline: float) -> None:
        self.subject, self.found, self.scales, self.rough, self.deadline = subject, found, scales, rough, deadline
        self.outputs = subject.owners()
        size = np.abs(np.where(np.isfinite(found.analytic), found.analytic, 0))
        largest = [size[self.outputs == o].max(initial=0) for o in range(len(subject.shapes))]
        self.limits = np.array(largest)[self.outputs] if largest else np.zeros(0)
        self.rng, self.failed = np.random.default_rng(5), 0

    def settle(self, group: list[int]) -> None:
        """Compare a group of columns; look closer where they do not agree."""
        if time.monotonic() > self.deadline:
            raise TooSlow
        if len(group) == 1:
            self.column(group[0])
            return
        sizes = np.zeros(len(self.scales))
        sizes[group] = self.scales[group] * self.rng.uniform(0.75, 1, len(group))
        line = self.subject.line(self._directions(sizes))
        expected = np.nan_to_num(self.found.analytic[:, group]) @ sizes[group]
        owner = np.full(len(expected), -1)
        touched = self.found.analytic[:, group] != 0
        owner[touched.any(axis=1)] = np.array(group)[touched.argmax(axis=1)[touched.any(axis=1)]]
        look, agrees = self.agreement(line, self.subject.precision.step, expected)
        agrees &= np.isfinite(self.found.analytic[:, group]).all(axis=1)
        rows = np.flatnonzero(owner >= 0)
        self.found.numeric[rows, owner[rows]] = look.central[rows] / sizes[owner[rows]]
        self.found.error[rows, owner[rows]] = (self.rough * look.gain)[rows] / sizes[owner[rows]]
        if agrees.all():
            return
        blamed = set(owner[~agrees].tolist())
        if -1 in blamed:  # an output that none of them should move
            for column in group:
                self.column(column)
            return
        for column in sorted(blamed):
            self.column(column)
        rest = [c for c in group if c not in blamed]
        if rest:
            self.settle(rest)

    def column(self, column: int) -> None:
        """Compare one column."""
        if time.monotonic() > self.deadline:
            raise TooSlow
        subject, found, scale = self.subject, self.found, self.scales[column]
        variable, _ = subject.input_of(column)
        line = subject.column(variable, column - sum(subject.sizes[:variable]))
        analytic = found.analytic[:, column]
        look, agrees = self.agreement(line, subject.precision.step * scale, analytic)
        found.numeric[:, column], found.error[:, column] = look.central, self.rough * look.gain
        if agrees.all():
            return
        if self.failed >= ENOUGH:  # what is wrong is known well enough
            with np.errstate(all="ignore"):
                size = np.maximum(np.abs(analytic), np.abs(look.central))
                found.wrong[:, column] = (
                    np.abs(analytic - look.central) > 5 * subject.precision.equal * size + 16 * found.error[:, column]
                )
            found.wrong[:, column] |= np.isnan(analytic)
            found.wrong[:, column] &= np.isfinite(look.central)
            return
        place = column - sum(subject.sizes[:variable])
        double = subject.in_double()
        if double is not None:
            exact = DOUBLE._replace(equal=subject.precision.equal)
            look, also = agreement(
                double.column(variable, place), exact.step * scale, analytic, rough_noise(double), self.outputs, exact
            )
            found.numeric[:, column] = np.where(agrees, found.numeric[:, column], look.central)
            if (agrees | also).all():
                return
        found.examined += 1
        right, behaviour = verdict(
            subject,
            analytic,
            self.limits,
            lambda of: of.column(variable, place),
            scale,
            abs(float(subject.arrays[variable].flat[place])) or scale,
        )
        found.numeric[:, column], found.error[:, column] = behaviour.value, behaviour.error
        known = np.isfinite(subject.base)
        found.wrong[:, column] = ~right & known
        self.failed += bool(found.wrong[:, column].any())
        special = known & (behaviour.kind != 0)
        for row in np.flatnonzero(special | found.wrong[:, column]):
            self._note(int(row), column, behaviour)

    def agreement(self, line: Line, step: float, analytic: Array) -> tuple[Glance, Array]:
        """A first look along a line."""
        return agreement(line, step, analytic, self.rough, self.outputs, self.subject.precision)

    def _directions(self, sizes: Array) -> list[Array | None]:
        parts = np.split(sizes, np.cumsum(self.subject.sizes)[:-1])
        return [p.reshape(a.shape) if p.any() else None for p, a in zip(parts, self.subject.arrays)]

    def _note(self, row: int, column: int, behaviour: Behaviour) -> None:
        point = point_of(self.subject, row, column, self.found.analytic[row, column], behaviour)
        (self.found.mistakes if self.found.wrong[row, column] else self.found.accepted).append(point)


def point_of(subject: Subject, row: int, column: int, analytic: float, behaviour: Behaviour) -> Point:
    """One entry, as it is reported."""
    output, output_index = subject.output_of(row)
    input, input_index = subject.input_of(column)
    return Point(output, output_index, input, input_index, float(analytic), *numbers(behaviour, row))


def numbers(behaviour: Behaviour, row: int) -> tuple[float, float, float, float, str]:
    """What a table says of one entry: the derivative, its error, the slopes, the kind of point."""
    value, error, left, right = [
        float(f[row]) for f in (behaviour.value, behaviour.error, behaviour.left, behaviour.right)
    ]
    return value, error, left, right, KINDS[behaviour.kind[row]]


def rough_noise(subject: Subject) -> Array:
    """The rounding noise that the values' size alone suggests."""
    return 4 * subject.precision.unit * np.abs(subject.base)


def agreement(
    line: Line, step: float, analytic: Array, rough: Array, outputs: Array, precision: Precision
) -> tuple[Glance, Array]:
    """A first look, and where it is enough: close to the analytic values, sharp, and with both sides alike."""
    look = glance(line, step)
    with np.errstate(all="ignore"):
        noise = rough * look.gain
        size = np.maximum(np.abs(look.central), np.abs(analytic))
        largest = np.zeros_like(size)
        for output in range(outputs.max(initial=-1) + 1):
            here = outputs == output
            largest[here] = np.max(np.where(np.isfinite(size[here]), size[here], 0), initial=0)
        close = np.abs(look.central - analytic) <= precision.equal * size + noise
        sharp = (noise <= SHARP * largest) | ((look.central == 0) & (analytic == 0))
        apart = np.abs(look.right - look.left)
        slopes = np.maximum(np.maximum(np.abs(look.right), np.abs(look.left)), 0.01 * largest)
        alike = apart <= 0.02 * slopes + 2 * noise
        if (close & sharp & ~alike).any():  # a kink, or curved: the difference of a curve shrinks with the step
            finer = glance(line, step / 8)
            shrunk = np.abs(finer.right - finer.left) <= 0.3 * apart + 16 * noise
            alike |= shrunk & (np.abs(finer.central - analytic) <= precision.equal * size + 8 * noise)
        if (close & alike & ~sharp).any() and precision is not DOUBLE:  # a longer step has less noise
            wider = glance(line, 8 * step)
            near = np.abs(wider.central - analytic) <= precision.equal * size + noise / 8
            sharp |= near & (noise / 8 <= SHARP * largest)
    return look, close & sharp & alike


def along(
    subject: Subject, directions: Sequence[Array | None], analytic: Array, weights: Array | None = None
) -> tuple[Behaviour | None, Array]:
    """Compare derivatives along one direction: what a table says, if the first look was not enough, and where they are wrong.

    *weights*, a row for each number that is compared, turn the outputs into those numbers.
    """

    def along_it(of: Subject) -> Line:
        return of.line(directions) if weights is None else weighted(of.line(directions), weights)

    line, precision = along_it(subject), subject.precision
    rough, owners = rough_noise(subject), subject.owners()
    if weights is not None:
        rough, owners = np.sqrt((weights**2) @ rough**2), np.zeros(len(weights), int)
    _, agrees = agreement(line, precision.step, analytic, rough, owners, precision)
    double = None if agrees.all() else subject.in_double()
    if double is not None:
        exact = DOUBLE._replace(equal=precision.equal)
        rough = rough_noise(double) if weights is None else np.sqrt((weights**2) @ rough_noise(double) ** 2)
        agrees |= agreement(along_it(double), exact.step, analytic, rough, owners, exact)[1]
    if agrees.all():
        return None, ~agrees
    limits = np.broadcast_to(np.abs(np.where(np.isfinite(analytic), analytic, 0)).max(initial=0), analytic.shape)
    right, behaviour = verdict(subject, analytic, limits, along_it, 1.0, 1.0, weights)
    return behaviour, ~right & np.isfinite(line.base)


def verdict(
    subject: Subject,
    analytic: Array,
    limits: Array,
    line_of: Callable[[Subject], Line],
    scale: float,
    small: float,
    weights: Array | None = None,
) -> tuple[Array, Behaviour]:
    """Which analytic values along a line are right, and what a table says of it.

    Where a function of a narrower precision can be evaluated in float64 and gives the same values, what the table of its own
    values refuses, or leaves open, is asked of that: a value is wrong if both refuse it, or if the first cannot say.

    Parameters
    ----------
    limits : ndarray
        For each output the largest derivative beside it.
    line_of : function
        The line, of the subject or of its double.
    scale, small : float
        The sizes of what moves, for the longest and the shortest step.
    weights : ndarray, optional
        Of sums of outputs.
    """
    precision = subject.precision
    behaviour = tabulated(subject, line_of, scale, small, weights)
    slack = max(32 * precision.unit, 1e-4 * precision.equal) * limits
    right = judge(analytic, behaviour, precision.equal, slack)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(analytic), np.abs(behaviour.value))
        vague = right & (behaviour.kind == SMOOTH) & (2 * behaviour.error > 0.05 * size) & (size > SHARP * limits)
    double = subject.in_double() if (~right | vague).any() else None
    if double is not None:
        finer = tabulated(double, line_of, scale, small, weights)
        agrees = judge(analytic, finer, precision.equal, slack)
        clearly = judge(analytic, finer, 5 * precision.equal, 32 * slack)
        better = (finer.kind == SMOOTH) & (behaviour.kind == SMOOTH) & (finer.error < behaviour.error)
        right = (right | agrees) & ~(vague & ~clearly & (finer.kind == SMOOTH))
        behaviour = Behaviour(*[np.where(better, b, a) for a, b in zip(behaviour, finer)])
    if (behaviour.kind == VERTICAL).any():  # a vector that is 0 for this output, times infinity
        right |= np.isnan(analytic)
    return right, behaviour


def tabulated(
    subject: Subject, line_of: Callable[[Subject], Line], scale: float, small: float, weights: Array | None
) -> Behaviour:
    """A table of steps along a line."""
    precision = subject.precision
    noise, rough = subject.noise(), rough_noise(subject)
    if weights is not None:
        noise, rough = 2 * np.sqrt((weights**2) @ noise**2), np.sqrt((weights**2) @ rough**2)
    shortest = precision.finest * max(min(small, scale, 1.0), 1e-30)
    steps = steps_between(precision.coarsest * max(scale, 1.0), shortest)
    return examine(line_of(subject), steps, np.maximum(noise, rough / 2), precision.equal)


def weighted(line: Line, weights: Array) -> Line:
    """Sums of the outputs with weights, along the same line."""

    def at(step: float) -> tuple[float | Array, Array]:
        taken, values = line.at(step)
        return taken, weights @ values

    return Line(at, weights @ line.base)


def judge(analytic: Array, seen: Behaviour, equal: float, slack: Any = 0.0) -> Array:
    """Where an analytic value is one that the behaviour allows.

    Smooth, or at the edge of the domain: the derivative.  At a kink or a jump: anything between the slopes on its two sides.
    At a vertical slope: infinity, or what a limit from one side gives.  Where the function has no values on either side:
    anything.
    """
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(seen.value), np.maximum(np.abs(analytic), np.abs(seen.value)), np.abs(analytic))
        right = np.abs(analytic - seen.value) <= 2 * seen.error + equal * size + slack
        low, high = np.minimum(seen.left, seen.right), np.maximum(seen.left, seen.right)
        slopes = np.maximum(
            np.abs(np.nan_to_num(low, posinf=0, neginf=0)), np.abs(np.nan_to_num(high, posinf=0, neginf=0))
        )
        margin = 2 * (seen.left_error + seen.right_error) + equal * slopes + slack
        between = (analytic >= low - margin) & (analytic <= high + margin)
        broken = (seen.kind == KINK) | (seen.kind == JUMP)
        right = np.where(broken, between, right)
        one_side = np.isnan(low)
        steep = np.isinf(analytic) | between | one_side | (analytic == 0)
        right = np.where(seen.kind == VERTICAL, steep, right)
        right = np.where((seen.kind == EDGE) & ~np.isfinite(seen.value), True, right)
    return np.asarray(np.where(seen.kind == UNDEFINED, True, right), bool)
