"""What values along a line say of analytic derivatives: a first look, and where that is not enough a table of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd._differences import (
    DOUBLE,
    EDGE,
    JUMP,
    KINK,
    SMOOTH,
    UNDEFINED,
    VERTICAL,
    Array,
    Behaviour,
    Glance,
    Line,
    Precision,
    Remembered,
    examine,
    glance,
    steps_between,
    steps_of_its_own,
)
from ..autograd._subject import Subject
from . import _rounding

SHARP = 0.02
"""A first look is enough where noise is below this part of the largest derivative beside it."""

_ROWS = 64
"""Of more rows that a table refuses, the rounding is that of all of them together."""


def rough_noise(subject: Subject) -> Array:
    """The rounding noise that the values' size alone suggests."""
    return 4 * subject.precision.unit * np.abs(subject.base)


def in_double(subject: Subject) -> Subject | None:
    """The same function in float64, if its values are the same but for rounding."""
    return subject.in_double(lambda rows: 64 * _rounding_of(subject, rows, None)[1])


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
        return of.line(directions)

    line, precision = Remembered(along_it(subject), weights), subject.precision
    rough, owners = rough_noise(subject), subject.owners()
    if weights is not None:
        rough, owners = np.sqrt((weights**2) @ rough**2), np.zeros(len(weights), int)
    _, agrees = agreement(line, precision.step, analytic, rough, owners, precision)
    double = None if agrees.all() else in_double(subject)
    if double is not None:
        exact = DOUBLE._replace(equal=precision.equal)
        rough = rough_noise(double) if weights is None else np.sqrt((weights**2) @ rough_noise(double) ** 2)
        agrees |= agreement(Remembered(along_it(double), weights), exact.step, analytic, rough, owners, exact)[1]
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
    precision, line = subject.precision, Remembered(line_of(subject), weights)
    steps = _steps(precision, scale, small)
    slack = max(32 * precision.unit, 1e-4 * precision.equal) * limits + precision.floor
    behaviour, right, noise = _table(subject, analytic, line, steps, slack, weights)
    behaviour = _closer(line, behaviour, right, steps, small, noise, precision)
    right = judge(analytic, behaviour, precision.equal, slack)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(analytic), np.abs(behaviour.value))
        vague = right & (behaviour.kind == SMOOTH) & (2 * behaviour.error > 0.05 * size) & (size > SHARP * limits)
    double = in_double(subject) if (~right | vague).any() else None
    if double is not None:
        line, steps = Remembered(line_of(double), weights), _steps(DOUBLE, scale, small)
        finer, agrees, noise = _table(double, analytic, line, steps, slack, weights, precision.equal)
        finer = _closer(line, finer, right | agrees, steps, small, noise, DOUBLE)
        agrees = judge(analytic, finer, precision.equal, slack)
        clearly = judge(analytic, finer, 5 * precision.equal, 32 * slack)
        better = (finer.kind == SMOOTH) & (behaviour.kind == SMOOTH) & (finer.error < behaviour.error)
        right = (right | agrees) & ~(vague & ~clearly & (finer.kind == SMOOTH))
        behaviour = _either(better, finer, behaviour)
    if (behaviour.kind == VERTICAL).any():  # a vector that is 0 for this output, times infinity
        right |= np.isnan(analytic)
    return right, behaviour


def _table(
    subject: Subject,
    analytic: Array,
    line: Remembered,
    steps: Sequence[float],
    slack: Array,
    weights: Array | None,
    equal: float | None = None,
) -> tuple[Behaviour, Array, Array]:
    """What a table says, which values are right by it, and the noise: what rounding does besides, too, where some are not."""
    noise, precision = _noise(subject, weights), subject.precision
    equal = precision.equal if equal is None else equal
    behaviour = examine(line, steps, noise, precision.equal)
    right = judge(analytic, behaviour, equal, slack)
    if not right.all():
        own, within = _rounding_of(subject, ~right, weights)
        noise = np.maximum(noise, np.where(line.flat(steps), 16 * within, 2 * own))
        behaviour = examine(line, steps, noise, precision.equal)
        right = judge(analytic, behaviour, equal, slack)
    return behaviour, right, noise


def _either(mask: Array, a: Behaviour, b: Behaviour) -> Behaviour:
    return Behaviour(*[np.where(mask, x, y) for x, y in zip(a, b)])


def _steps(precision: Precision, scale: float, small: float) -> list[float]:
    shortest = precision.finest * max(min(small, scale, 1.0), 1e-30)
    return steps_between(precision.coarsest * max(scale, 1.0), shortest)


def _noise(subject: Subject, weights: Array | None) -> Array:
    """The rounding noise of what is compared, as measured and as the values' size suggests; no less than what is subnormal."""
    noise, rough = subject.noise(), rough_noise(subject)
    if weights is not None:
        noise, rough = 2 * np.sqrt((weights**2) @ noise**2), np.sqrt((weights**2) @ rough**2)
    return np.maximum(noise, rough / 2) + 2 * subject.precision.unit * subject.precision.floor


def _rounding_of(subject: Subject, rows: Array, weights: Array | None) -> Array:
    """What rounding does to these rows, by the sizes of what they are sums of, in two measures; 0 for the others."""
    found = np.zeros((2, len(rows)))
    places = [int(row) for row in np.flatnonzero(rows)]
    missing = [row for row in places if row not in subject.rounding] if weights is None else places
    if weights is not None:
        found[:, places] = _rounding.of_values(subject, weights[places]).T
        return found
    if len(missing) > _ROWS:
        signs = np.random.default_rng(19).choice([-1.0, 1.0], len(rows))
        subject.rounding |= dict.fromkeys(missing, _rounding.of_values(subject, signs[None])[0])
    elif missing:
        subject.rounding |= dict(zip(missing, _rounding.of_values(subject, np.eye(len(rows))[missing])))
    if places:
        found[:, places] = np.array([subject.rounding[row] for row in places]).T
    return found


def _closer(
    line: Line, seen: Behaviour, right: Array, steps: Sequence[float], small: float, noise: Array, precision: Precision
) -> Behaviour:
    """What is smooth at a smaller scale than the steps reach: that of a tiny argument itself, or one that a jump hides."""
    broken = (seen.kind == KINK) | (seen.kind == JUMP) | (seen.kind == VERTICAL) | (seen.kind == EDGE)
    shorter = steps_of_its_own(precision, steps, small)
    if not shorter and (broken & ~right).any():
        shorter = steps_between(steps[-1] / 4, steps[-1] * 2.0**-32)
        broken &= ~right
    if not shorter or not broken.any():
        return seen
    finer = examine(line, shorter, noise, precision.equal)
    with np.errstate(all="ignore"):
        sure = (finer.kind == SMOOTH) & (finer.error <= SHARP * np.abs(finer.value))
    return _either(broken & sure, finer, seen)


def beside(subject: Subject, variable: int, element: int) -> tuple[Array, Array, Array]:
    """The least and the greatest slope of each output along one element's line moved aside, and their error.

    Where several elements are equal, as at a tie of three, one of them alone may move without a kink, though one is there.
    Here the others stand apart from one another, each at its own level, and the element moves past all of them.
    """
    subject = in_double(subject) or subject
    subject.point()
    levels = min(sum(subject.sizes), 64 if subject.precision is DOUBLE else 8)
    rng = np.random.default_rng(17)
    width = 2 * subject.precision.finest
    moved = [
        a + width * subject.own_sizes(v) * rng.permutation(np.arange(a.size) % levels).reshape(a.shape) / levels
        for v, a in enumerate(subject.arrays)
    ]
    scale = width * float(subject.own_sizes(variable).flat[element])
    original = float(subject.arrays[variable].flat[element])
    steps, values = [], []
    for level in range(-1, levels + 2):
        moved[variable].flat[element] = original + scale * level / levels
        arrays = [m.astype(a.dtype) for m, a in zip(moved, subject.arrays)]
        steps.append(float(arrays[variable].flat[element]))
        values.append(subject.values(arrays))
    with np.errstate(all="ignore"):
        widths = np.diff(steps)[:, None]
        slopes = np.diff(values, axis=0) / widths
        error = 4 * np.maximum(subject.noise(), rough_noise(subject) / 2) / np.abs(widths).min(initial=np.inf)
    slopes = np.where(np.isfinite(slopes), slopes, np.nan)
    known = np.isfinite(slopes).all(axis=0)
    return *[np.where(known, f(slopes, axis=0), np.nan) for f in (np.min, np.max)], error


def ordinary(subject: Subject, seed: int) -> Subject:
    """The function at a point where huge numbers are of size 1, and the others are as they are."""
    rng = np.random.default_rng(seed)
    other = Subject(subject.fn, subject.arguments, subject.variables, subject.parameters)
    other.arrays = [
        np.where(subject.huge(v), np.sign(a) * rng.uniform(0.6, 1.9, a.shape), a).astype(a.dtype)
        for v, a in enumerate(subject.arrays)
    ]
    return other


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
