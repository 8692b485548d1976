"""Masks in expressions: bools as numbers, and what is chosen by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._expressions import Expression, Number


def uncast(e: Expression) -> Expression:
    """The integers or bools that an expression has as floats."""
    return e.args[0] if e.kind == "call" and e.head == "to" and not e.args[0].floats else e


def mask_of(e: Expression) -> tuple[Expression, list[tuple[Expression, Number]]] | None:
    """The condition under which an expression is not zero, and the factors that it is then."""
    factors = list(zip(e.args, e.params)) if e.kind == "product" else [(e, 1)]
    for place, (a, n) in enumerate(factors):
        rest, a = [*factors[:place], *factors[place + 1 :]], uncast(a)
        number = [(e.algebra.constant(e.number, (), e.dtype), 1)] if e.kind == "product" else []
        if a.dtype is not None and a.dtype.kind == "b":
            return a, [*number, *rest]
        if a.head == "where" and n == 1 and a.args[2].kind == "number" and a.args[2].number == 0:
            return a.args[0], [*number, *rest, (a.args[1], 1)]
    return None


def chosen_of(e: Expression) -> Any:
    """What a choice with zeros elsewhere chooses; None where it is none, or has other factors than a number."""
    if e.kind == "product" and len(e.args) == 1 and e.params == (1,):
        (e,) = e.args
    return e.args[1] if e.head == "where" and e.args[2].kind == "number" and not e.args[2].number else None
