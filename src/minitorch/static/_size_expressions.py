"""Expressions of sizes: integers, numbers and constants that are other ones at other sizes, and how they are found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .._runtime import Tensor
from .._trace_instructions import Packed, Slot


class Axis(NamedTuple):
    """The size of a value's axis; *name* where the user gave it one."""

    slot: Slot
    axis: int
    name: str = ""


class Size:
    """An integer made of sizes: a sum of products, divided and rounded down, or what remains of that, within bounds.

    Attributes
    ----------
    terms : tuple of (int, tuple of (Axis or Size))
        A coefficient and the sizes that it is multiplied with, those of axes or quotients; the constant, if any, has none.
    divisor, modulus : int
        What it is divided by, and what the remainder of that is taken by; 0 where none is.
    low, high : int or None
        What is taken instead where it is less, or more.
    """

    __slots__ = ("divisor", "high", "low", "modulus", "terms")

    def __init__(
        self,
        terms: tuple[tuple[int, tuple[Axis | Size, ...]], ...],
        divisor: int = 1,
        modulus: int = 0,
        low: int | None = None,
        high: int | None = None,
    ) -> None:
        self.terms, self.divisor, self.modulus = tuple([term for term in terms if term[0]]), divisor, modulus
        self.low, self.high = low, high

    @property
    def axes(self) -> list[Axis]:
        """The sizes that it is made of."""
        factors = [factor for _, factors in self.terms for factor in factors]
        return list(dict.fromkeys([a for f in factors for a in (f.axes if isinstance(f, Size) else [f])]))

    def value(self, size: Callable[[Axis], Any]) -> Any:
        """What it is for given sizes; without bounds, these may be arrays."""
        total: Any = 0
        for coefficient, factors in self.terms:
            for factor in factors:
                coefficient *= factor.value(size) if isinstance(factor, Size) else size(factor)
            total += coefficient
        total //= self.divisor
        total = total % self.modulus if self.modulus else total
        total = total if self.low is None else max(total, self.low)
        return total if self.high is None else min(total, self.high)

    def values(self, sizes: Mapping[Axis, Sequence[int]]) -> tuple[int, ...]:
        """What it is in each of several passes."""
        return tuple([self.value(dict(zip(self.axes, of)).__getitem__) for of in zip(*[sizes[a] for a in self.axes])])

    def text(self, name: Callable[[Axis], str]) -> str:
        """It as an expression of Python, in which sizes have the names that *name* gives them."""
        said = ""
        for coefficient, axes in self.terms:
            factors = [str(abs(coefficient))] * (abs(coefficient) != 1 or not axes)
            factors += [f"({axis.text(name)})" if isinstance(axis, Size) else name(axis) for axis in axes]
            sign = "-" if coefficient < 0 else "+" if said else ""
            said += (f" {sign} " if said else sign) + "*".join(factors)
        divided = f"//{self.divisor}" * (self.divisor != 1) + f"%{self.modulus}" * (self.modulus != 0)
        alone = len(self.terms) == 1 and self.terms[0][0] == 1 and len(self.terms[0][1]) == 1
        said = f"({said}){divided}" if divided and not alone else f"{said}{divided}"
        said = said if self.low is None else f"max({said}, {self.low})"
        return said if self.high is None else f"min({said}, {self.high})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.terms, self.divisor, self.modulus, self.low, self.high

    def __repr__(self) -> str:
        return self.text(lambda axis: axis.name or f"{axis.slot!r}.shape[{axis.axis}]")


class Share(Size):
    """A size times a float, or over one, rounded, as Python computes it: ``int(0.7*n)``; a factor in other sizes.

    In doubles, ``0.7*90`` is less than 63: so it is not ``7*n//10``.
    """

    __slots__ = ("factor", "operation", "rounding")

    def __init__(self, axis: Axis, operation: str, factor: float, rounding: str) -> None:
        super().__init__(((1, (axis,)),))
        self.operation, self.factor, self.rounding = operation, factor, rounding

    def value(self, size: Callable[[Axis], Any]) -> Any:
        """What it is for a size, or for an array of them."""
        given = size(self.axes[0])
        exact = given * self.factor if self.operation == "*" else given / self.factor
        found = _ROUNDED[self.rounding](exact)
        return found.astype(np.int64) if isinstance(given, np.ndarray) else int(found)

    def text(self, name: Callable[[Axis], str]) -> str:
        """It as an expression of Python."""
        said = f"{name(self.axes[0])}{self.operation}{self.factor!r}"
        return f"-int(-({said})//1)" if self.rounding == "ceil" else f"{self.rounding}({said})"

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.terms, self.operation, self.factor, self.rounding


_ROUNDED: dict[str, Any] = {"int": np.trunc, "ceil": np.ceil, "round": np.rint}


class Repeated(NamedTuple):
    """A tuple of *count* times the same."""

    item: Any
    count: Any


class Filled(NamedTuple):
    """An array of one value."""

    shape: tuple[Any, ...]
    value: Any
    dtype: Any


class Listed(NamedTuple):
    """An array of these elements, in row-major order."""

    shape: tuple[int, ...]
    items: tuple[Any, ...]
    dtype: Any


class Counted(NamedTuple):
    """The array ``start + step * arange(count)``."""

    start: Any
    step: Any
    count: Any
    dtype: Any


class Spaced(NamedTuple):
    """The array of *count* numbers from one to another, evenly spaced, as ``linspace`` makes it."""

    start: Any
    end: Any
    count: Any
    dtype: Any


class Triangle(NamedTuple):
    """A matrix of one value up to a diagonal and of another above it: *below* where ``column - row <= diagonal``."""

    shape: tuple[Any, ...]
    diagonal: Any
    below: Any
    above: Any
    dtype: Any


class Diagonal(NamedTuple):
    """A matrix of one value on its diagonal and of another elsewhere."""

    shape: tuple[Any, ...]
    on: Any
    off: Any
    dtype: Any


class Parts(NamedTuple):
    """An object of a class with these attributes, of which some differ."""

    kind: type
    attributes: dict[str, Any]


class Computed(NamedTuple):
    """What a function makes of these arguments."""

    function: Any
    given: Any


class Varying(NamedTuple):
    """What is another thing at each size, and no expression of sizes was found for."""

    values: tuple[Any, ...]


# -- how they are found -------------------------------------------------------------------------------------------------
class Fit:
    """Finds expressions for integers that differ between passes."""

    def __init__(self) -> None:
        self.first: list[tuple[Axis, tuple[int, ...]]] = []
        self.exact: dict[tuple[int, ...], Axis] = {}
        self.sizes: dict[Axis, tuple[int, ...]] = {}  # of values whose sizes are expressions, too
        self.known: dict[Any, Size | None] = {}
        self.doubts: dict[Axis, list[Doubt]] = {}

    def add(self, axis: Axis, values: tuple[int, ...], argument: bool = False) -> None:
        """A size that is known from here on."""
        self.exact.setdefault(values, axis)
        self.sizes[axis] = values
        if argument and self.exact[values] is axis:
            self.first.append((axis, values))

    def of(self, values: tuple[int, ...], near: Sequence[Axis] = (), divided: bool = True) -> int | Size | None:
        """An expression for values: of the arguments' sizes, and of those of operands (*near*); *divided* and rounded down,
        where no other is right."""
        if len(set(values)) == 1:
            return values[0]
        if values in self.exact:
            return Size(((1, (self.exact[values],)),))
        key = values, tuple(near), divided
        if key not in self.known:
            found = self._found(values, near, divided)
            if found is None and divided:
                found = self._separated(values, near) or self._bounded(values, near) or self._elsewhere(values)
            self.known[key] = found
        return self.known[key]

    def _separated(self, values: tuple[int, ...], near: Sequence[Axis]) -> Size | None:
        """An expression of one size times one of others: ``(h//2) * (w//2)``; the former shows where the others stay."""
        for axis, sizes in self.first:
            others = [(other, of) for other, of in self.first if other is not axis]
            where = [*zip(*[of for _, of in others])]
            most = max(where, key=where.count, default=None)
            alike = [n for n, at in enumerate(where) if at == most]
            one = self._of_passes(alike, [axis])
            part = [values[n] for n in alike]
            common = math.gcd(*part)
            if len({*part}) < 3 or (factor := one._found(tuple([v // common for v in part]), (), divided=True)) is None:
                continue
            factors = factor.values({axis: sizes})
            seen = [n for n, f in enumerate(factors) if f]  # the others are told by those
            if any([values[n] % f if f else values[n] for n, f in enumerate(factors)]):
                continue
            rest = self._of_passes(seen, [other for other, _ in others])
            other = rest.of(tuple([values[n] // factors[n] for n in seen]))
            found = Size(((1, (factor, other)),)) if isinstance(other, Size) else None
            if found is not None and found.values(dict(self.first)) == values:
                for doubted, doubts in (*one.doubts.items(), *rest.doubts.items()):
                    self.doubts.setdefault(doubted, []).extend(doubts)
                return found
        return None

    def _of_passes(self, numbers: Sequence[int], axes: Sequence[Axis]) -> Fit:
        """What finds expressions of some sizes, as they are in some of the passes."""
        part = Fit()
        part.sizes = {axis: tuple([self.sizes[axis][n] for n in numbers]) for axis in axes}
        part.first = [*part.sizes.items()]
        return part

    def _elsewhere(self, values: tuple[int, ...]) -> Size | None:
        """An expression of one size that is neither an argument's nor an operand's, such as what an image lacks of another."""
        for axis in [axis for axis in self.exact.values() if not any([axis is known for known, _ in self.first])]:
            alone = Fit()
            alone.sizes = {axis: self.sizes[axis]}
            if (found := alone._found(values, [axis], divided=True)) is not None:
                return found
        return None

    def _bounded(self, values: tuple[int, ...], near: Sequence[Axis]) -> Size | None:
        """An expression with a bound that several values are: the others settle what it is."""
        low, high = [end if values.count(end) > 1 else None for end in (min(values), max(values))]
        known = dict(self.first) | {axis: self.sizes[axis] for axis in near}
        for axis, ends in itertools.product(known, [(low, None), (None, high)]):
            found = Size(((1, (axis,)),), 1, 0, *ends)
            if ends != (None, None) and found.values(known) == values:
                return found
        known |= self.sizes
        for ends in [(low, None), (None, high), (low, high)]:
            inside = [n for n, value in enumerate(values) if value not in ends]
            if len({values[n] for n in inside}) < 3 or ends == (None, None):
                continue
            part = Fit()
            part.first = [(axis, tuple([sizes[n] for n in inside])) for axis, sizes in self.first]
            part.sizes = {axis: tuple([sizes[n] for n in inside]) for axis, sizes in self.sizes.items()}
            size = part._found(tuple([values[n] for n in inside]), near, divided=True)
            if size is None:
                continue
            found = Size(size.terms, size.divisor, size.modulus, *ends)
            if found.values(known) == values:
                return found
        return None

    def products(self, near: Sequence[Axis] = ()) -> Iterator[tuple[Size, list[int]]]:
        """The products of up to three sizes, those of the arguments and *near* ones, with their values."""
        sizes = list((dict(self.first) | {axis: self.sizes[axis] for axis in near}).items())
        for count in (1, 2, 3):
            for chosen in itertools.combinations_with_replacement(sizes, count):
                values = [math.prod(parts) for parts in zip(*[v for _, v in chosen])]
                yield Size(((1, tuple([axis for axis, _ in chosen])),)), values

    def _found(self, values: tuple[int, ...], near: Sequence[Axis], divided: bool) -> Size | None:
        for size, products in self.products(near):  # a * s * t * u + b
            if (line := _line(values, products)) and (line[1] == 0 or len(size.terms[0][1]) < 3):
                return Size(((line[0], size.terms[0][1]), (line[1], ())))
        sizes: list[tuple[Any, Any]] = [
            (size.terms[0][1][0], v) for size, v in self.products(near) if len(size.terms[0][1]) == 1
        ]
        for (s, v), (t, w) in itertools.combinations(sizes, 2):  # s + t + a, s - t + a
            for sign in (1, -1):
                rest = {value - a - sign * b for value, a, b in zip(values, v, w)}
                if len(rest) == 1:
                    return Size(((1, (s,)), (sign, (t,)), (rest.pop(), ())))
        for s, v in sizes:
            if divided and (polynomial := _polynomial(values, s, v)):
                return polynomial
        sizes = [(s, v) for s, v in sizes if divided]
        for s, v, divisor, sign in [
            (*size, k, sign) for size in sizes for k in _periods(size[1], 32) for sign in (1, -1)
        ]:
            for b in range(divisor):  # (s + b) // k
                if all([value == (sign * a + b) // divisor for value, a in zip(values, v)]):
                    return self._told(values, s, v, Size(((sign, (s,)), (b, ())), divisor))
        for s, v, divisor in [(*size, k) for size in sizes for k in _periods(size[1], 16)]:
            for factor in [factor for factor in range(1, 3 * divisor) if factor % divisor]:
                if found := _rounded(values, s, v, factor, divisor):
                    return self._told(values, s, v, found)
        for s, v in sizes:
            if shared := self._told(values, s, v):
                return shared
        for s, v, modulus, sign in [
            (*size, k, sign) for size in sizes for k in _periods(size[1], 32) for sign in (1, -1)
        ]:
            for b in range(modulus):  # what remains, such as what a multiple lacks
                if all([value == (sign * a + b) % modulus for value, a in zip(values, v)]):
                    return Size(((sign, (s,)), (b, ())), 1, modulus)
        return _of_quotient(values, sizes)

    def _told(self, values: Sequence[int], axis: Axis, sizes: Sequence[int], found: Size | None = None) -> Size | None:
        """An expression for values, *found* or a share; where others are as right, sizes that tell them apart are noted."""
        if found is not None and found.divisor & (found.divisor - 1) == 0:  # products with it are exact in floats
            return found
        others = [*_shares(values, axis, sizes)]
        if found is None and others:
            found, enough = others.pop(0)
            if max(sizes) < enough:  # it may be one of as few digits by chance
                self.doubts.setdefault(axis, []).append(Doubt((enough, enough + 1, enough + 2), True))
        for other, _ in others:
            assert found is not None
            every = np.arange(1, _TOLD)
            apart = np.flatnonzero(found.value(lambda _: every) != other.value(lambda _: every))  # noqa: B023
            if len(apart):
                self.doubts.setdefault(axis, []).append(Doubt(tuple((apart[:4] + 1).tolist()), False))
        return found


class Doubt(NamedTuple):
    """Sizes of which each tells whether an expression is the right one; *needed*: it is not taken unless they do."""

    sizes: tuple[int, ...]
    needed: bool


_TOLD = 1 << 20
"""Expressions that are the same up to here are one."""
_DIGITS = 3


def _shares(values: Sequence[int], axis: Axis, sizes: Sequence[int]) -> Iterator[tuple[Size, int]]:
    """What values may be that are a share of a size, rounded: a number of few digits times it, or it over one; each with the
    size that must have been tried for it not to be one by chance."""
    s, v = np.array(sizes, np.float64), np.array(values, np.float64)
    if s.min() < 1 or s.max() < 16 or len({*sizes}) < 5:
        return
    known: set[Size] = set()
    for offset, rounding in itertools.product((0, 1, -1, 2, -2), _ROUNDED):
        below, above = {"int": (0, 1), "ceil": (-1, 0), "round": (-0.5, 0.5)}[rounding]
        low, high = float(((v - offset + below) / s).max()), float(((v - offset + above) / s).min())
        if not 0 < low <= high * (1 + 1e-12):
            continue
        for operation, ends in (("*", (low, high)), ("/", (1 / high, 1 / low))):
            for factor, digits in _few_digits(*ends).items():
                share = Share(axis, operation, factor, rounding)
                found = Size(((1, (share,)), (offset, ())))
                if found not in known and found.values({axis: sizes}) == tuple(values):
                    known.add(found)
                    yield found, 20 * 10**digits


def _few_digits(low: float, high: float) -> dict[float, int]:
    """Numbers between two that have few digits, or are fractions of small integers, which count as two; none where many are."""
    found: dict[float, int] = {}
    for digits in range(1, _DIGITS + 1):
        scale = 10**digits
        first, last = math.ceil(low * scale - 1e-9), math.floor(high * scale + 1e-9)
        if last - first > 2:
            break
        found |= {n / scale: digits for n in range(first, last + 1) if n % scale}
        if found:
            break
    for divisor in (3, 6, 7, 9, 11, 12, 13, 14, 15):
        first, last = math.ceil(low * divisor - 1e-9), math.floor(high * divisor + 1e-9)
        if last - first < 2:
            found |= {n / divisor: 2 for n in range(first, last + 1) if n % divisor and n / divisor not in found}
    return found


def _rounded(values: Sequence[int], axis: Axis, sizes: Sequence[int], factor: int, divisor: int) -> Size | None:
    """A share of a size, ``factor * size / divisor``, rounded down, up, or to the next integer."""
    exact = divisor & (divisor - 1) == 0  # halves are, in Python's floats
    for b in (0, divisor - 1, *[divisor // 2] * exact):
        if all([value == (factor * size + b) // divisor for value, size in zip(values, sizes)]):
            return Size(((factor, (axis,)), (b, ())), divisor)
    if exact and all([value == round(Fraction(factor * size, divisor)) for value, size in zip(values, sizes)]):
        odd = Size(((factor, (axis,)),), divisor, 2)  # a half goes to the even one
        return Size(((factor, (axis,)), (1, (odd,)), (divisor // 2 - 1, ())), divisor)
    return None


def _of_quotient(values: Sequence[int], sizes: Sequence[tuple[Axis, Sequence[int]]]) -> Size | None:
    """A multiple of a size, and of a quotient that is rounded down: ``n//2*2``, ``n + n%4``."""
    for s, v in sizes:
        for divisor in range(2, min(max(v) // 4, 16) + 1):  # four periods are seen
            for b, factor in itertools.product(range(divisor), (0, 1, 2, -1)):
                quotients = [(a + b) // divisor for a in v]
                line = _line([value - factor * a for value, a in zip(values, v)], quotients)
                if line and line[0]:
                    quotient = Size(((1, (s,)), (b, ())), divisor)
                    return Size(((factor, (s,)), (line[0], (quotient,)), (line[1], ())))
    return None


def _polynomial(values: Sequence[int], axis: Axis, sizes: Sequence[int]) -> Size | None:
    """A polynomial of second or third degree in a size, whose values are whole: ``(s*s - s) // 2``."""
    points = dict(zip(sizes, values))
    for degree in (2, 3):
        if len(points) < degree + 3:  # so that at least two confirm it
            return None
        chosen = sorted(points)[: degree + 1]
        terms: list[Any] = [Fraction(0)] * (degree + 1)
        for s in chosen:  # as Lagrange does
            others = [Fraction(1)]
            for t in chosen:
                if t != s:
                    others = [b - t * a for a, b in zip([*others, Fraction(0)], [Fraction(0), *others])]
            scale = points[s] / math.prod([Fraction(s - t) for t in chosen if t != s])
            terms = [a + scale * b for a, b in zip(terms, others)]
        divisor = math.lcm(*[term.denominator for term in terms])
        found = [(int(term * divisor), (axis,) * power) for power, term in enumerate(terms)]
        size = Size(tuple(found[::-1]), divisor)
        if divisor <= math.factorial(degree) * 16 and size.values({axis: sizes}) == tuple(values):
            return size
    return None


def _periods(sizes: Sequence[int], most: int) -> range:
    """What sizes may be divided by, so that two periods are seen: anything is a quotient of some that are smaller."""
    return range(2, min(max(sizes) // 2, most) + 1)


def _line(values: Sequence[int], sizes: Sequence[int]) -> tuple[int, int] | None:
    """The *a* and *b* of ``a * size + b``."""
    places = [i for i, s in enumerate(sizes) if s != sizes[0]]
    if not places:
        return None
    a = Fraction(values[places[0]] - values[0], sizes[places[0]] - sizes[0])
    b = values[0] - a * sizes[0]
    if a.denominator != 1 or any([a * s + b != v for s, v in zip(sizes, values)]):
        return None
    return int(a), int(b)


def alike(one: Any, other: Any) -> bool:
    """Whether two parameters are the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return bool(one._array.dtype == other._array.dtype) and alike(one._array, other._array)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Packed):
        return alike(one.items, other.items)
    if is_plain(one):
        return all([alike(*parts) for _, parts in attributes((one, other))])
    return bool(one == other) or (one != one and other != other)


def is_plain(value: Any) -> bool:
    """Whether a value is an object with slots that are equal where what is in them is."""
    return hasattr(type(value), "__slots__") and not any(["__eq__" in vars(kind) for kind in type(value).__mro__[:-1]])


def attributes(items: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """What objects of one class have in their slots."""
    names = [n for kind in type(items[0]).__mro__ for n in getattr(kind, "__slots__", ())]
    return [(name, tuple([getattr(item, name, None) for item in items])) for name in names]
