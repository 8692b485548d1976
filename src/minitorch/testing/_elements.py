"""Kinds of values for tensors of floats: each takes a dtype and a count, and draws lists of that many numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Kind: TypeAlias = Callable[[Any, int], SearchStrategy[list[float]]]
"""A function of a NumPy dtype and a count."""

KINKS = (0.0, 1.0, -1.0, 0.5, -0.5)
"""Where functions often have kinks."""


def ordinary(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Numbers from -8 to 8; the simplest are whole."""
    return lists(one_number(dtype), count)


def zeros(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Zeros, some of them negative, among ordinary numbers."""
    return lists(st.sampled_from([0.0, -0.0]) | one_number(dtype), count)


def repeated(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Two numbers, again and again."""
    two = st.tuples(one_number(dtype), one_number(dtype))
    return two.flatmap(lambda numbers: lists(st.sampled_from(numbers), count))


def ties(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Numbers that are equal, or almost: one or a few units in the last place, or a millionth, apart."""
    unit = float(np.finfo(dtype).eps)
    apart = st.sampled_from([0.0, unit, -unit, 4 * unit, 1e-6, -1e-3])
    return one_number(dtype).flatmap(lambda x: lists(apart.map(lambda d: x + d * (abs(x) or 1.0)), count))


def near_kinks(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Numbers at 0, 1, -1, 0.5 and -0.5, and next to them."""
    unit = float(np.finfo(dtype).eps)
    apart = st.sampled_from([0.0, 1e-2, -1e-2, 1e-4, -1e-4, 1e-7, -1e-7, unit, -unit])
    return lists(st.builds(lambda kink, d: kink + d, st.sampled_from(KINKS), apart), count)


def subnormals(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Numbers so small that they have fewer digits, among ordinary ones."""
    least = float(np.finfo(dtype).smallest_subnormal)
    tiny = st.builds(lambda n, sign: sign * n * least, st.integers(1, 100), st.sampled_from([1.0, -1.0]))
    return lists(tiny | one_number(dtype), count)


def huge(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Numbers whose squares, or whose sums, are beyond the range of the dtype, among ordinary ones."""
    most = float(np.finfo(dtype).max)
    large = st.sampled_from([most**0.5, -(most**0.5), most / 4, -most / 4, most])
    return lists(large | one_number(dtype), count)


def awkward(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """What functions have to be right for: ordinary numbers, zeros, ties, repeated ones, kinks.  The default."""
    return st.one_of([kind(dtype, count) for kind in (ordinary, zeros, repeated, ties, near_kinks)])


def trouble(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """All of it: what `awkward` draws, subnormal and huge numbers."""
    return st.one_of([kind(dtype, count) for kind in (awkward, subnormals, huge)])


def away_from_kinks(dtype: Any, count: int) -> SearchStrategy[list[float]]:
    """Distinct numbers, 0.15 or more apart in absolute value too, and from the multiples of 0.5."""
    places = st.permutations(range(count + 4)).map(lambda order: order[:count])
    signs = lists(st.sampled_from([1.0, -1.0]), count)
    shifts = lists(st.sampled_from([0.0, 0.0625, -0.0625, 0.03]), count)

    def numbers(places: list[int], signs: list[float], shifts: list[float]) -> list[float]:
        return [sign * (0.5 * place + 0.25 + shift) for place, sign, shift in zip(places, signs, shifts)]

    return st.builds(numbers, places, signs, shifts)


def between(text: str) -> Kind:
    """Numbers of a range that is written ``"0.1:10"``, its ends included; whole ones for tensors of those.

    Raises
    ------
    ValueError
        For what is no range, or one without numbers.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(between("0.5:3")(np.float64, 2), lambda numbers: numbers[0] > 2)
    [3.0, 1.0]
    """
    ends = text.split(":")
    try:
        low, high = [float(end) for end in ends]
    except ValueError:
        low, high = math.inf, -math.inf
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f'a range of numbers is written "low:high", such as "0.1:10", not {text!r}')

    def drawn(dtype: Any, count: int) -> SearchStrategy[list[float]]:
        numpy = np.dtype(dtype)
        if numpy.kind != "f":
            if math.ceil(low) > math.floor(high):
                raise ValueError(f"there are no whole numbers in {text!r}")
            return lists(st.integers(math.ceil(low), math.floor(high)), count)
        inside = [numpy.type(low), numpy.type(high)]  # the dtype's own numbers, rounded inward
        if float(inside[0]) < low:
            inside[0] = np.nextafter(inside[0], numpy.type(np.inf))
        if float(inside[1]) > high:
            inside[1] = np.nextafter(inside[1], numpy.type(-np.inf))
        least = float(np.finfo(numpy).smallest_normal)
        subnormal = any([0 < abs(end) < least for end in (low, high)])
        width: Any = 8 * numpy.itemsize
        numbers = st.floats(float(inside[0]), float(inside[1]), width=width, allow_subnormal=subnormal)
        return lists(numbers, count)

    return drawn


KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (ordinary, zeros, repeated, ties, near_kinks, subnormals, huge, awkward, trouble, away_from_kinks)
}


def one_number(dtype: Any) -> SearchStrategy[float]:
    """An ordinary number: 0, or of a size from 0.001 to 8."""
    width: Any = 8 * np.dtype(dtype).itemsize
    return st.floats(-8, 8, width=width, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-3 else 0.0)


def lists(numbers: SearchStrategy[Any], count: int) -> SearchStrategy[list[Any]]:
    """Lists of one length."""
    return st.lists(numbers, min_size=count, max_size=count)
