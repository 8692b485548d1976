"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SUFFICIENT = 1e-4
"""What part of the decrease that the slope promises is enough."""
FLATTER = 0.9
"""What part of the first slope may be left."""


class Point(NamedTuple):
    """A place on the line: how far, the function's value, its gradient, and its slope along the line."""

    t: float
    value: float
    gradient: np.ndarray
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], start: Point, t: float, length: float, tolerance: float, most: int
) -> tuple[Point, int]:
    """A point that satisfies the strong Wolfe conditions, or the best that was found, and how many were tried.

    First the step grows until an interval holds such a point, then the interval shrinks around it.

    Parameters
    ----------
    at : callable
        Evaluates the function at a distance.
    start : Point
        The point at distance 0; its slope is negative.
    t : float
        The first distance to try.
    length : float
        The largest element of the direction.
    tolerance : float
        An interval whose length times *length* is shorter is not searched any more.
    most : int
        How many more points may be tried after the first.

    Notes
    -----
    Source: Nocedal and Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6.
    """

    def too_high(point: Point) -> bool:
        return point.value > start.value + SUFFICIENT * point.t * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -FLATTER * start.slope

    previous, point, tried = start, at(t), 0
    while tried < most:
        rising = too_high(point) or (tried > 1 and point.value >= previous.value)
        if flat(point) and not rising:
            return point, tried + 1
        if rising or point.slope >= 0:
            point, more = zoomed(at, [previous, point], too_high, flat, tolerance / length, most - tried)
            return point, tried + 1 + more
        t = lowest_of_cubic(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10)
        previous, point, tried = point, at(t), tried + 1
    return (start if start.value <= point.value else point), tried + 1


def zoomed(
    at: Callable[[float], Point],
    ends: list[Point],
    too_high: Callable[[Point], bool],
    flat: Callable[[Point], bool],
    shortest: float,
    most: int,
) -> tuple[Point, int]:
    """Shrink an interval that holds a point that satisfies the conditions; the point, and how many were tried."""
    low = 0 if ends[0].value <= ends[1].value else 1
    tried, stuck = 0, False
    while tried < most and abs(ends[1].t - ends[0].t) >= shortest:
        left, right = sorted((ends[0].t, ends[1].t))
        t = lowest_of_cubic(ends[0], ends[1], left, right)
        margin = 0.1 * (right - left)
        near_end = min(right - t, t - left) < margin
        if near_end and (stuck or not left < t < right):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stuck = False
        else:
            stuck = near_end
        point, tried = at(t), tried + 1
        if too_high(point) or point.value >= ends[low].value:
            ends[1 - low] = point
            low = 0 if ends[0].value <= ends[1].value else 1
        elif flat(point):
            return point, tried
        else:
            if point.slope * (ends[1 - low].t - ends[low].t) >= 0:
                ends[1 - low] = ends[low]
            ends[low] = point
    return ends[low], tried


def lowest_of_cubic(a: Point, b: Point, lowest: float, highest: float) -> float:
    """Where the cubic through two points with their slopes has its minimum, between two bounds.

    Source: Nocedal and Wright, "Numerical optimization", 2006, equation 3.59.
    """
    if a.t > b.t:
        a, b = b, a
    if a.t == b.t:
        return a.t
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = first * first - a.slope * b.slope
    if not square >= 0:
        return (lowest + highest) / 2
    second = math.sqrt(square)
    curvature = b.slope - a.slope + 2 * second
    if curvature == 0:
        return (lowest + highest) / 2
    t = b.t - (b.t - a.t) * ((b.slope + second - first) / curvature)
    return min(max(t, lowest), highest)
