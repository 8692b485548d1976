"""Analytic and numeric derivatives compared, entry by entry: what agrees, what is at a kink, what is wrong.

Columns whose analytic entries touch different outputs are varied together: one pair of evaluations serves them all, and what
an output does that none of them should touch shows too.  Where that agrees, nothing more is evaluated; where not, the columns
are looked at one by one, and those that still disagree get a table of steps (``_differences.examine``).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..autograd._differences import DOUBLE, KINDS, KINK, SMOOTH, Array, Behaviour, Glance, Line
from ..autograd._subject import Subject
from ._rounding import at_point, near_point
from ._time import OutOfTime, in_time
from ._verdict import agreement, along, beside, in_double, ordinary, rough_noise, verdict

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
        "smooth", "kink", "discontinuity", "vertical slope", "edge of the domain", "undefined" or "kinks that cancel".
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
    mistakes, accepted : list of Point
        Entries that are wrong; and those at a kink or the like with an accepted value.
    beyond : list of (int, tuple of int)
        Elements of inputs that are so large that differences say nothing of them; the gradient is right at ordinary sizes.
    """

    subject: Subject
    analytic: Array
    numeric: Array
    error: Array
    wrong: Array
    mistakes: list[Point] = field(default_factory=list)
    accepted: list[Point] = field(default_factory=list)
    beyond: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    examined: int = 0

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong.any()

    def notes(self) -> list[str]:
        """In words, that there are elements of which differences say nothing."""
        if not self.beyond:
            return []
        variable, index = self.beyond[0]
        value = self.subject.arrays[variable][index]
        others = f" and {len(self.beyond) - 1} more" if len(self.beyond) > 1 else ""
        return [
            f"not comparable: input {variable} at {list(index)}{others} is {value:.3g}, and the next number is "
            f"{abs(np.spacing(value)):.3g} away, so that differences say nothing there. With numbers of size 1 in its place "
            "the gradient is right"
        ]

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


def compare(subject: Subject, analytic: Array) -> Comparison:
    """Compare an analytic Jacobian with finite differences; where the time is up, what was found wrong is enough."""
    subject.point()
    empty = np.zeros_like(analytic)
    found = Comparison(subject, analytic, empty, empty.copy(), np.zeros(analytic.shape, bool))
    scales = np.concatenate([subject.scales(v).ravel() for v in range(len(subject.arrays))] or [np.zeros(0)])
    rough = rough_noise(subject)
    work = _Columns(subject, found, scales, rough)
    try:
        for group in groups(analytic):
            work.settle(group)
    except OutOfTime:
        if found.agrees:
            raise
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

    def __init__(self, subject: Subject, found: Comparison, scales: Array, rough: Array) -> None:
        self.subject, self.found, self.scales, self.rough = subject, found, scales, rough
        self.outputs = subject.owners()
        size = np.abs(np.where(np.isfinite(found.analytic), found.analytic, 0))
        largest = [size[self.outputs == o].max(initial=0) for o in range(len(subject.shapes))]
        self.limits = np.array(largest)[self.outputs] if largest else np.zeros(0)
        self.rng, self.failed = np.random.default_rng(5), 0
        self._rounding: dict[tuple[int, bool], Array] = {}
        self._wrong_at_ordinary: Array | None = None

    def settle(self, group: list[int]) -> None:
        """Compare a group of columns; look closer where they do not agree."""
        in_time()
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
        in_time()
        subject, found, scale = self.subject, self.found, self.scales[column]
        variable, index = subject.input_of(column)
        if not np.isfinite(subject.arrays[variable][index]):  # it cannot be moved
            found.numeric[:, column] = np.nan
            return
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
                    np.abs(analytic - look.central)
                    > 5 * subject.precision.equal * size + 16 * found.error[:, column] + subject.precision.floor
                )
            found.wrong[:, column] |= np.isnan(analytic)
            found.wrong[:, column] &= np.isfinite(look.central)
            return
        place = column - sum(subject.sizes[:variable])
        double = in_double(subject)
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
            abs(float(subject.arrays[variable].flat[place])) or min(scale, 1.0),
        )
        known = np.isfinite(subject.base)
        if not np.isfinite(analytic[~known]).all():  # a vector that is 0 for the others, times infinity
            right |= np.isnan(analytic)
        if (~right & known & ~np.isnan(analytic)).any():
            right, behaviour = self.between_neighbours(variable, place, analytic, right, behaviour)
        for row in np.flatnonzero(~right & known & np.isfinite(analytic))[:ENOUGH]:
            right, behaviour = self.between_tied(int(row), variable, place, analytic, right, behaviour)
        found.numeric[:, column], found.error[:, column] = behaviour.value, behaviour.error
        wrong = ~right & known
        if wrong.any() and self.beyond(column, wrong):
            found.beyond.append((variable, index))
            return
        for row in np.flatnonzero(wrong)[:ENOUGH]:
            smooth = bool(behaviour.kind[row] == SMOOTH)
            wrong[row] = not abs(analytic[row] - behaviour.value[row]) <= self.rounding(int(row), smooth)[column]
        found.wrong[:, column] = wrong
        self.failed += bool(found.wrong[:, column].any())
        special = known & (behaviour.kind != 0)
        for row in np.flatnonzero(special | found.wrong[:, column]):
            self._note(int(row), column, behaviour)

    def rounding(self, row: int, smooth: bool) -> Array:
        """How far rounding moves the gradient of an output element."""
        if (row, smooth) not in self._rounding:
            subject, vectors = self.subject, self.subject.split(np.eye(1, self.subject.base.size, row)[0])
            self._rounding[row, smooth] = (
                near_point(subject, vectors) if smooth else np.repeat(at_point(subject, vectors), subject.sizes)
            )
        return self._rounding[row, smooth]

    def beyond(self, column: int, wrong: Array) -> bool:
        """Whether an element is so large that differences say nothing of it, and all is right at ordinary sizes.

        The numbers next to 1e300 are further apart than the periods of ``sin``, and than whole numbers.
        """
        subject = self.subject
        huge = np.concatenate([subject.huge(v).ravel() for v in range(len(subject.sizes))])
        if not huge[column] or not np.isfinite(self.found.analytic[wrong, column]).all():
            return False
        if self._wrong_at_ordinary is None:
            self._wrong_at_ordinary = np.ones(len(huge), bool)
            with contextlib.suppress(Exception):  # where it has no values, nothing is known
                points = [ordinary(subject, seed) for seed in (37, 41)]
                self._wrong_at_ordinary = np.any([compare(p, p.rows()).wrong.any(axis=0) for p in points], axis=0)
        return not self._wrong_at_ordinary[column]

    def between_tied(
        self, row: int, variable: int, place: int, analytic: Array, right: Array, behaviour: Behaviour
    ) -> tuple[Array, Behaviour]:
        """What is a slope of another output with the same value, as at a tie of singular values, if the sum over them is right.

        Which of those that are equal has which slope is a matter of their order; one of them is at a kink then.
        """
        subject, base = self.subject, self.subject.base
        largest = np.abs(np.where(np.isfinite(base), base, 0))[self.outputs == self.outputs[row]].max()
        tied = (self.outputs == self.outputs[row]) & (np.abs(base - base[row]) <= 32 * subject.precision.unit * largest)
        if tied.sum() < 2 or not (behaviour.kind[tied] == KINK).any():
            return right, behaviour
        slopes = np.concatenate([behaviour.left[tied], behaviour.right[tied]])
        low, high = slopes.min(), slopes.max()
        error = np.maximum(behaviour.left_error, behaviour.right_error)[tied].max()
        margin = 2 * error + subject.precision.equal * max(abs(low), abs(high))
        if not low - margin <= analytic[row] <= high + margin:
            return right, behaviour
        weights, scale = tied[None].astype(float), self.scales[sum(subject.sizes[:variable]) + place]
        small = abs(float(subject.arrays[variable].flat[place])) or min(scale, 1.0)
        total, limit = np.array([analytic[tied].sum()]), np.array([self.limits[row]])
        (also,), _ = verdict(subject, total, limit, lambda of: of.column(variable, place), scale, small, weights)
        kink = Behaviour((low + high) / 2, error, low, error, high, error, np.array(KINK))
        mask = (np.arange(len(base)) == row) & also
        return right | mask, Behaviour(*[np.where(mask, a, b) for a, b in zip(kink, behaviour)])

    def between_neighbours(
        self, variable: int, place: int, analytic: Array, right: Array, behaviour: Behaviour
    ) -> tuple[Array, Behaviour]:
        """What is no derivative here, but between those next to it: at a kink that the element's own line does not show."""
        low, high, error = beside(self.subject, variable, place)
        with np.errstate(all="ignore"):
            margin = error + self.subject.precision.equal * np.maximum(np.abs(low), np.abs(high))
            between = ~right & (analytic >= low - margin) & (analytic <= high + margin) & (high - low > 4 * margin)
        kink = Behaviour((low + high) / 2, error, low, error, high, error, np.full(len(low), KINK))
        return right | between, Behaviour(*[np.where(between, a, b) for a, b in zip(kink, behaviour)])

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


def random_directions(subject: Subject, rng: np.random.Generator) -> list[Array]:
    """A random direction, each element of the size of what it moves."""
    return [
        rng.choice([-1.0, 1.0], a.shape) * rng.uniform(0.5, 1, a.shape) * subject.scales(v)
        for v, a in enumerate(subject.arrays)
    ]


def compared_along(subject: Subject, directions: Sequence[Array]) -> tuple[Array, Behaviour | None, Array]:
    """The products of directions with a symmetric Jacobian from the left, the derivative along them, and where they differ."""
    analytic = subject.joined(subject.vjp([d.astype(float) for d in directions]))
    subject.backwards += 1
    behaviour, wrong = along(subject, directions, analytic)
    if wrong.any() and behaviour is not None:
        floors = np.repeat(at_point(subject, directions, sums=True), subject.sizes)
        wrong &= ~(np.abs(analytic - behaviour.value) <= floors)
    if wrong.any() and behaviour is not None and (smooth := wrong & (behaviour.kind == SMOOTH)).any():
        wrong &= ~(smooth & (np.abs(analytic - behaviour.value) <= near_point(subject, directions)))
    return analytic, behaviour, wrong


def changed(subject: Subject, row: int, analytic: float, behaviour: Behaviour) -> Point:
    """An element of a gradient, and how it changes along a direction."""
    variable, index = subject.input_of(row)
    return Point(variable, index, -1, (), float(analytic), *numbers(behaviour, row))


def along_all(behaviour: Behaviour, analytic: float) -> list[Point]:
    """The derivative along a direction that moves all inputs, of a sum of all outputs."""
    return [Point(-1, (), -1, (), float(analytic), *numbers(behaviour, 0))]


def severity(point: Point) -> float:
    """How many times its error an entry is off."""
    apart = abs(point.analytic - point.numeric)
    return math.inf if math.isnan(apart) else apart / (point.error + 1e-30)
