"""Numbers that depend on sizes as expressions of these, which give every bit of what was computed with them in Python."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ._size_expressions import Axis, Fit, Size

_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "float": float,
}
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 3}
_SEEN = 5
"""At how many sizes at least a number must be what an expression with constants that are not simple says."""


class Expression(NamedTuple):
    """An operation of Python's on numbers, sizes, and other ones.

    Attributes
    ----------
    operation : str
        A sign, ``float``, or the name of a function of `math`.
    parts : tuple of (Expression, Size, int or float)
    """

    operation: str
    parts: tuple[Any, ...]

    def value(self, size: Callable[[Axis], int]) -> float:
        """What it is for given sizes."""
        return _OPERATIONS[self.operation](*[_value(part, size) for part in self.parts])

    def text(self, name: Callable[[Axis], str], function: Callable[[Any], str], within: int = 0) -> str:
        """It as an expression of Python, in brackets where it is an operand of a stronger sign.

        *name* gives the names of sizes, and *function* those of the functions of `math`.
        """
        own = _STRENGTH.get(self.operation)
        if own is None:
            (part,) = [_text(part, name, function, 0) for part in self.parts]
            called = "float" if self.operation == "float" else function(getattr(math, self.operation))
            return f"{called}({part})"
        left, right = [
            _text(part, name, function, own + (self.operation == "**" or place))
            for place, part in enumerate(self.parts)
        ]
        said = f"{left} {self.operation} {right}"
        return f"({said})" if own < within else said

    def __repr__(self) -> str:
        return self.text(lambda axis: repr(Size(((1, (axis,)),))), lambda function: function.__name__)


def _value(part: Any, size: Callable[[Axis], int]) -> Any:
    return part.value(size) if isinstance(part, (Expression, Size)) else part


def _text(part: Any, name: Callable[[Axis], str], function: Callable[[Any], str], within: int) -> str:
    if isinstance(part, Expression):
        return part.text(name, function, within)
    said = part.text(name) if isinstance(part, Size) else repr(part)
    plain = said.isidentifier() or not within or (not isinstance(part, Size) and part >= 0)
    return said if plain else f"({said})"


class NumberFit:
    """Finds expressions for numbers that differ between passes.

    A candidate is taken only where it gives each number exactly, or, of numbers that are known only as they were rounded to a
    dtype, what is rounded to these; then its constants must be simple ones.
    """

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.known: dict[Any, Expression | None] = {}

    def of(self, values: Sequence[float], near: Sequence[Axis], rounded: np.dtype[Any] | None) -> Expression | None:
        """An expression for values; *rounded*: the dtype that they were rounded to, if it is not known what they were."""
        key = tuple(values), tuple(near), rounded
        if key not in self.known:
            with np.errstate(all="ignore"):
                self.known[key] = self._found(np.array(values, np.float64), near, rounded)
        return self.known[key]

    def _found(self, values: np.ndarray, near: Sequence[Axis], rounded: np.dtype[Any] | None) -> Expression | None:
        if not np.isfinite(values).all():
            return None
        for size, sizes in self._bases(values, near):
            numbers = [int(s) for s in sizes]
            if min(numbers) < 1:
                continue
            for candidate in _candidates(size, np.array(numbers, np.float64), values, rounded):
                if self._gives(candidate, size, numbers, values, rounded):
                    return candidate
        return None

    def _bases(self, values: np.ndarray, near: Sequence[Axis]) -> Iterator[tuple[Size, Sequence[int]]]:
        """Sizes that a number may be computed from: products, and what integer it is itself, or is one over, or the root of."""
        yield from self.fit.products(near)
        for turned in (values, 1 / values, values**2, 1 / values**2):
            whole = np.round(turned)
            if np.isfinite(turned).all() and np.allclose(turned, whole, 1e-5, 0) and (abs(whole) < 2**53).all():
                found = self.fit.of(tuple([int(n) for n in whole]), near)
                if isinstance(found, Size):
                    yield found, [int(n) for n in whole]

    def _gives(
        self, number: Expression, size: Size, sizes: Sequence[int], values: np.ndarray, rounded: np.dtype[Any] | None
    ) -> bool:
        try:
            found = np.array([_at(number, size, s) for s in sizes], np.float64)
        except (ArithmeticError, ValueError, TypeError):  # TypeError: a root that is complex
            return False
        if rounded is not None:
            found, values = found.astype(rounded), values.astype(rounded)
        return bool((found == values).all())


def _at(part: Any, size: Size, value: int) -> Any:
    """What an expression is where the size in it has a value."""
    if isinstance(part, Expression):
        return _OPERATIONS[part.operation](*[_at(item, size, value) for item in part.parts])
    return value if part is size else part


def _candidates(size: Size, s: np.ndarray, values: np.ndarray, rounded: np.dtype[Any] | None) -> Iterator[Expression]:
    """Expressions that are about the values: with a line through what a function makes of them."""
    near = 1e-11 if rounded is None else 4 * float(np.finfo(rounded).eps) if rounded.kind == "f" else 1e-12
    simple = rounded is not None or len({*s}) < _SEEN
    columns = {
        "size": s, "over": 1 / s, "log": np.log(s), "root": np.sqrt(s), "sin": np.sin(s), "cos": np.cos(s), "exp": np.exp(s),
        "tanh": np.tanh(s),
    }  # fmt: skip
    turned = {
        "itself": values, "over": 1 / values, "square": values**2, "over square": 1 / values**2,
        "exp": np.exp(values), "log": np.log(values), "artanh": np.arctanh(values),
    }  # fmt: skip
    for (way, forms), (column, line) in [(form, c) for form in _FORMS.items() for c in columns.items()]:
        u = turned[way]
        if way == "artanh" and (clear := abs(values) < 0.9999).sum() >= _SEEN:  # others are rounded to 1
            u, line = u[clear], line[clear]
        if (of := forms.get(column)) is None or not np.isfinite(u).all():
            continue
        low, high = int(line.argmin()), int(line.argmax())
        if line[low] == line[high]:
            continue
        a = (u[high] - u[low]) / (line[high] - line[low])
        b = u[low] - a * line[low]
        scale = np.maximum(abs(u), abs(a * line))
        if a and (abs(a * line + b - u) <= near * scale).all():
            zero = abs(b) <= near * scale.min() * 4
            factors = u / line if zero else np.array([a])
            for a_ in _constants(factors, simple):
                for b_ in [0.0] if zero else _constants(np.array([b, *(u - a_ * line)[[low, high]]]), simple):
                    yield from of(size, a_, b_)


def _constants(found: np.ndarray, simple: bool) -> list[float]:
    """What a constant may be that was found about so several times: simple ones, and the numbers next to it."""
    middle = float(np.median(found))
    about = [float(f"{middle:.{digits}g}") for digits in (1, 2, 3, 4, 5, 6)]
    ratio = Fraction(middle).limit_denominator(1000)
    near = 1e-9 if not simple else 1e-6
    plain = [c for c in (float(ratio), *about) if math.isclose(c, middle, rel_tol=near)]
    raw = [] if simple else [float(f"{middle:.12g}"), *map(float, found)]
    raw += [float(np.nextafter(c, end)) for c in raw[1:4] for end in (-np.inf, np.inf)]
    return list(dict.fromkeys([*plain, *raw]))


def _plain(number: float) -> float | int:
    """A whole number as an integer."""
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def _times(factor: float, part: Any) -> Any:
    return part if factor == 1 else Expression("*", (_plain(factor), part))


def _plus(part: Any, b: float) -> Any:
    return part if not b else Expression("+" if b > 0 else "-", (part, _plain(abs(b))))


def _over(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``1 / (a * size + b)``."""
    if b:
        yield Expression("/", (1, _plus(_times(a, size), b)))
        for c in _inverse(a):
            for d in {b * c, float(f"{b * c:.12g}")}:
                yield Expression("/", (_plain(c), _plus(size, d)))
        return
    for c in _inverse(a):
        yield Expression("/", (_plain(c), size))
        yield Expression("*", (_plain(c), Expression("/", (1, size))))
    ratio = Fraction(a).limit_denominator(1000)
    yield Expression("/", (ratio.denominator, _times(ratio.numerator, size)))
    yield Expression("/", (1, Expression("*", (a, size))))
    yield Expression("/", (Expression("/", (1, size)), a))


def _inverse(a: float) -> list[float]:
    """What *a* may be one over."""
    found = [1 / a, float(f"{1 / a:.12g}"), float(np.nextafter(1 / a, 0)), float(np.nextafter(1 / a, math.inf))]
    return list(dict.fromkeys(found))


def _itself(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``a * size + b``."""
    if not b:
        yield Expression("float", (size,)) if a == 1 else _times(a, size)
        for c in _inverse(a):
            yield Expression("/", (size, _plain(c)))
        return
    yield _plus(_times(a, size), b)
    for c in _inverse(a):
        yield _plus(Expression("/", (size, _plain(c))), b)


def _root(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About the root of that."""
    inner = _plus(_times(a, size), b)
    yield Expression("sqrt", (inner,))
    yield Expression("**", (inner, 0.5))
    if not b:
        for root in (Expression("sqrt", (size,)), Expression("**", (size, 0.5))):
            for c in _roots(a):
                yield Expression("*", (_plain(c), root))
                yield Expression("/", (root, 1 / c))
                yield Expression("/", (root, float(f"{1 / c:.12g}")))


def _roots(a: float) -> list[float]:
    c = math.sqrt(a) if a > 0 else math.nan
    return [] if math.isnan(c) else list(dict.fromkeys([float(f"{c:.12g}"), c]))


def _over_root(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About one over the root of that."""
    inner = _plus(_times(a, size), b)
    yield Expression("/", (1, Expression("sqrt", (inner,))))
    yield Expression("**", (inner, -0.5))
    yield Expression("/", (1, Expression("**", (inner, 0.5))))
    for c in _inverse(a):
        yield Expression("sqrt", (Expression("/", (_plain(c), _plus(size, float(f"{b * c:.12g}")))),))
    if not b:
        for c in _roots(1 / a):
            yield Expression("/", (_plain(c), Expression("sqrt", (size,))))
            yield Expression("/", (_plain(c), Expression("**", (size, 0.5))))
            yield Expression("*", (_plain(c), Expression("**", (size, -0.5))))
            yield Expression("*", (_plain(c), Expression("/", (1, Expression("sqrt", (size,))))))
        for c in _roots(a):
            yield Expression("/", (1, Expression("*", (_plain(c), Expression("sqrt", (size,))))))


def _of_root(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``a * sqrt(size) + b``."""
    for root in (Expression("sqrt", (size,)), Expression("**", (size, 0.5))):
        yield _plus(_times(a, root), b)


def _share(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``a / size + b``."""
    if not b:
        return
    yield _plus(Expression("/", (_plain(a), size)), b)
    ratio, rest = Fraction(b).limit_denominator(100), Fraction(a).limit_denominator(100)
    p, q, r = (
        ratio.numerator * rest.denominator,
        rest.numerator * ratio.denominator,
        ratio.denominator * rest.denominator,
    )
    shared = math.gcd(p, q, r)
    yield Expression("/", (_plus(_times(p // shared, size), q // shared), _times(r // shared, size)))


def _of_share(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``1 / (a / size + b)``."""
    if b:
        yield Expression("/", (size, _plus(_times(b, size), a)))
        yield Expression("/", (1, _plus(Expression("/", (_plain(a), size)), b)))
        yield Expression("/", (_times(1 / b, size), _plus(size, a / b)))


def _logarithm(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About the logarithm of ``a * size + b``."""
    yield Expression("log", (_plus(_times(a, size), b),))


def _of_logarithm(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``a * log(size) + b``."""
    log = Expression("log", (size,))
    yield _plus(_times(a, log), b)
    if not b:
        for c in _inverse(a):
            yield Expression("/", (log, _plain(c)))


def _over_logarithm(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About one over that."""
    if not b:
        for c in _inverse(a):
            yield Expression("/", (_plain(c), Expression("log", (size,))))


def _of(function: str) -> Callable[[Any, float, float], Iterator[Expression]]:
    """About ``a * function(size) + b``."""

    def form(size: Any, a: float, b: float) -> Iterator[Expression]:
        yield _plus(_times(a, Expression(function, (size,))), b)

    return form


def _within(function: str) -> Callable[[Any, float, float], Iterator[Expression]]:
    """About a function of ``a * size + b``."""

    def form(size: Any, a: float, b: float) -> Iterator[Expression]:
        for inner in _itself(size, a, b):
            yield Expression(function, (size if inner.operation == "float" else inner,))

    return form


def _power(size: Any, a: float, b: float) -> Iterator[Expression]:
    """About ``exp(a * size + b)``."""
    base = math.exp(a) if abs(a) < 700 else 0.0
    for c in dict.fromkeys([float(f"{base:.{digits}g}") for digits in (2, 4, 6, 12)]):
        for factor in (
            [1.0] if not b else dict.fromkeys([float(f"{math.exp(min(b, 700)):.{d}g}") for d in (2, 4, 6, 12)])
        ):
            yield _times(factor, Expression("**", (c, size)))


_FORMS: dict[str, dict[str, Callable[[Any, float, float], Iterator[Expression]]]] = {
    "itself": {
        "size": _itself,
        "over": _share,
        "log": _of_logarithm,
        "root": _of_root,
        "sin": _of("sin"),
        "cos": _of("cos"),
        "exp": _of("exp"),
        "tanh": _of("tanh"),
    },
    "over": {"size": _over, "over": _of_share, "log": _over_logarithm},
    "over square": {"size": _over_root},
    "square": {"size": _root},
    "exp": {"size": _logarithm},
    "log": {"size": lambda *given: itertools.chain(_within("exp")(*given), _power(*given))},
    "artanh": {"size": _within("tanh")},
}
