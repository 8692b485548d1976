"""Derivatives of any order, of functions that are polynomials in functions whose own derivatives are such polynomials.

With s the sigmoid of x and w = s (1 - s), silu is x s; the derivatives of x, s and w are 1, w and w (1 - 2 s).  So silu's
first derivative is s + x w, and each further one is a polynomial in x, s and w, too.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any


class Polynomial:
    """A polynomial in variables that are numbered: the coefficient of each product, such as (0, 0, 2), of variables."""

    def __init__(self, terms: dict[tuple[int, ...], float]) -> None:
        self.terms = {product: value for product, value in terms.items() if value}

    def __add__(self, other: Polynomial | float) -> Polynomial:
        theirs = other.terms if isinstance(other, Polynomial) else {(): other}
        return Polynomial(
            {p: self.terms.get(p, 0.0) + theirs.get(p, 0.0) for p in dict.fromkeys([*self.terms, *theirs])}
        )

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        theirs = other.terms if isinstance(other, Polynomial) else {(): other}
        out = Polynomial({})
        for ours, a in self.terms.items():
            out += Polynomial({tuple(sorted(ours + product)): a * b for product, b in theirs.items()})
        return out

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Polynomial:
        return self * -1.0

    def derivative(self, rules: Sequence[Polynomial]) -> Polynomial:
        """The derivative, from those of the variables."""
        out = Polynomial({})
        for product, value in self.terms.items():
            for n, variable in enumerate(product):
                out += Polynomial({product[:n] + product[n + 1 :]: value}) * rules[variable]
        return out

    @functools.cached_property
    def _factored(self) -> tuple[Counter[int], list[tuple[float, Counter[int]]]]:
        """The powers that all terms have in common, and for each term its coefficient and those that are left."""
        counts = [Counter(product) for product in self.terms]
        common = functools.reduce(lambda a, b: a & b, counts)
        return common, [(value, c - common) for c, value in zip(counts, self.terms.values())]

    def at(self, values: Sequence[Any]) -> Any:
        """The value: what all terms have in common, times the sum of what is left of them."""
        common, left = self._factored
        terms = [_product(value, values, powers) for value, powers in left]
        return _product(functools.reduce(lambda a, b: a + b, terms), values, common)


def _product(factor: Any, values: Sequence[Any], powers: Counter[int]) -> Any:
    factors = [values[n] if power == 1 else values[n] ** power for n, power in powers.items()]
    if not factors or factor.__class__ is not float or factor != 1:
        factors.append(factor)
    return math.prod(factors[1:], start=factors[0])


def variables(count: int) -> list[Polynomial]:
    """The polynomials that are one variable each."""
    return [Polynomial({(n,): 1.0}) for n in range(count)]


class Derivatives:
    """A function's derivatives.

    Parameters
    ----------
    variables : callable
        ``variables(F, x)``: their values at x, by the kernels, recorders or symbols in F.
    rules : sequence of Polynomial
        Their derivatives.
    known : Polynomial
        The derivative of order *order*.
    """

    def __init__(
        self, variables: Callable[..., Any], rules: Sequence[Polynomial], known: Polynomial, order: int
    ) -> None:
        self.variables, self.rules, self.polynomials = variables, rules, {order: known}

    def polynomial(self, order: int) -> Polynomial:
        """The derivative of an order."""
        if order not in self.polynomials:
            self.polynomials[order] = self.polynomial(order - 1).derivative(self.rules)
        return self.polynomials[order]

    def at(self, F: Any, x: Any, order: int) -> Any:
        """Its value at x."""
        return self.polynomial(order).at(self.variables(F, x))
