"""Which of the values between the slopes of a kink an operation has to give: PyTorch's; and kinks that cancel."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._op import Row
from ..autograd._subject import Subject, moved_by
from ._blame import Step, compared, own_jacobian, site_of, steps
from ._compare import Point, compare
from ._recording import Recording
from ._time import in_time
from ._verdict import ordinary

_AT_BOUNDS = "clamp clamp_min clamp_max"
_BOUNDS_TOO = "clamp_tensors clamp_low clamp_high"
_BELOW = "elu celu leaky_relu prelu"
_SHARED = "maximum minimum amax amin max_all min_all aminmax median nanmedian"
_SMALLEST = "relu abs hardtanh hardsigmoid hardswish threshold softshrink smooth_l1_loss"
RULES: dict[str, str] = {
    **dict.fromkeys(_AT_BOUNDS.split(), "largest"),
    **dict.fromkeys(_BOUNDS_TOO.split(), "largest for the first"),
    **dict.fromkeys(_BELOW.split(), "left"),
    **dict.fromkeys(_SHARED.split(), "shared"),
    **dict.fromkeys(_SMALLEST.split(), "smallest"),
}
"""How operations choose: as PyTorch's documentation of gradients of functions that are not differentiable has it, the value of
the smallest size, but for those that clamp (the slope inside), that have a branch below 0 (its slope, 0 included), and maxima
of equal elements (shared evenly).  Others take a slope of either side, or one of these."""

IN_WORDS = {
    "smallest": "the value of the smallest size between the slopes",
    "largest": "the steeper slope",
    "largest for the first": "the steeper slope for the input, the other one for its bounds",
    "left": "the slope on the left",
    "shared": "an even share of the equal elements",
    "either": "a slope of one side, or the value of the smallest size between",
}


CANCELLING = "kinks that cancel"


def documented(subject: Subject) -> Iterator[tuple[str, Point, str, str]]:
    """Each recorded operation at a kink with another value: its name, the entry, what it should be, the line."""
    with Recording() as recording:
        subject.call()
    taken = [(step, own_jacobian(step)) for step in steps(recording)]
    for step, own in taken:
        if not isinstance(own, tuple) or len(own[1]) != own[1].shape[1]:
            continue
        found = compared(step, own)
        rule = rule_of(step)
        if found is None:
            continue
        for point in found.accepted:
            if point.kind == "kink" and not follows(point, rule) and at_the_point(found.subject, point):
                yield step.entry.name, point, IN_WORDS[rule], site_of(step)


def cancelling(subject: Subject) -> list[str]:
    """The operations at kinks of their own, with their lines, where these cancel; none where something else is wrong.

    ``relu(x) - relu(-x)`` is ``x``: at 0 each takes a slope of one side, and together they have none of the function's.  Next
    to the point all is right.
    """
    with Recording() as recording:
        subject.call()
    taken = [(step, own_jacobian(step)) for step in steps(recording)]
    names = []
    for step, own in taken:
        found = compared(step, own) if isinstance(own, tuple) else None
        if found is not None and any([p.kind == "kink" for p in found.accepted]):
            names.append(f"{step.entry.name} ({site_of(step)})")
    return names if names and all([_right_beside(subject, seed) for seed in (29, 31)]) else []


def _right_beside(subject: Subject, seed: int) -> bool:
    """Whether gradients are right at a point nearby."""
    other = moved(subject, np.random.default_rng(seed))
    return compare(other, other.rows(in_time)).agrees


def moved(subject: Subject, rng: np.random.Generator) -> Subject:
    """The function at a point nearby; with numbers of size 1 in the place of huge ones."""
    other = ordinary(subject, 43)
    other.arrays = [
        moved_by(a, 2.0**-7 * subject.own_sizes(v) * rng.uniform(0.5, 1, a.shape) * rng.choice([-1, 1], a.shape))
        for v, a in enumerate(other.arrays)
    ]
    return other


def at_the_point(subject: Subject, point: Point) -> bool:
    """Whether the kink is at the point itself, and not next to it, as the values at the nearest numbers tell.

    A point one unit in the last place beside a kink has the slope of its side; finite differences of any longer step see the
    kink.  Where values are rounded too coarsely to tell, it is taken to be beside.
    """
    element = (
        int(np.ravel_multi_index(point.input_index, subject.arrays[point.input].shape)) if point.input_index else 0
    )
    array = subject.arrays[point.input]
    value = array.flat[element]
    unit = float(np.spacing(np.abs(value))) if value else float(subject.scales(point.input).flat[element]) * 2.0**-60
    row = int(
        np.flatnonzero([subject.output_of(r) == (point.output, point.output_index) for r in range(subject.base.size)])[
            0
        ]
    )
    line = subject.column(point.input, element)
    for side, slope in ((1, point.right), (-1, point.left)):
        for units in (1, 2, 3):
            taken, values = line.at(side * units * unit)
            near = (values[row] - line.base[row]) / taken if taken else math.nan
            if not abs(near - slope) <= 0.1 * abs(point.right - point.left):
                return False
    return True


def rule_of(step: Step) -> str:
    """The rule of an operation; that of a custom Function is PyTorch's general one."""
    row = step.entry.row
    return RULES.get(row.name, "either") if isinstance(row, Row) else "smallest"


def follows(point: Point, rule: str) -> bool:
    """Whether the value at a kink is the one of the rule."""
    low, high = sorted([point.left, point.right])
    margin = 2 * point.error + 1e-2 * (high - low)

    def near(value: float) -> bool:
        return abs(point.analytic - value) <= margin

    smallest = min(max(0.0, low), high)
    if rule == "smallest" or (rule == "largest for the first" and point.input):
        return near(smallest)
    if rule == "largest" or (rule == "largest for the first" and point.input == 0):
        return near(max(low, high, key=abs))
    if rule == "left":
        return near(point.left)
    shares = [near(end + (other - end) / k) for end, other in ((low, high), (high, low)) for k in range(2, 65)]
    if rule == "shared":
        return any(shares)
    return near(smallest) or near(low) or near(high) or any(shares)
