"""What values are taken for in expressions: bools for numbers and masks, floats for those of another dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._dtypes import result_dtype

if TYPE_CHECKING:
    from ._expressions import Expression, Number


def uncast(e: Expression) -> Expression:
    """The integers or bools that an expression has as floats."""
    return e.args[0] if e.kind == "call" and e.head == "to" and not e.args[0].floats else e


def wraps(e: Expression) -> bool:
    """Whether it is of small integers, which wrap elsewhere where they are computed with in another order."""
    return e.dtype is not None and e.dtype.kind in "iu" and e.dtype.itemsize < 8


def uncast_terms(parts: list[tuple[Expression, Number]], number: Number) -> list[tuple[Expression, Number]]:
    """The terms of a sum of floats, in which integers become floats by themselves."""
    if all([uncast(e) is not e for e, _ in parts]):
        return parts
    small = [c for e, c in parts if wraps(uncast(e))]
    alone = small == [1] or (small == [-1] and any([c > 0 for _, c in parts]))
    found = []
    for e, c in parts:
        bare = uncast(e)
        by_itself = bare.dtype.kind in "iu" and isinstance(c, int) and (not wraps(bare) or (alone and not number))
        found.append((bare if by_itself else e, c))
    return found


def uncast_factors(args: Any, exponents: Any, dtype: Any) -> tuple[Any, Any]:
    """The factors of a product of floats: small integers behind those beside which they become floats by themselves."""
    if not any([wraps(a) for a in args]):
        return args, exponents
    pairs = sorted(zip(args, exponents), key=lambda pair: wraps(pair[0]))
    below = sum([n < 0 for _, n in pairs])
    alone = [n == 1 or (n == -1 and below == 1) for _, n in pairs]
    made = [
        a if not wraps(a) or by_itself else a.algebra.fitted(a, a.shape, dtype)
        for (a, _), by_itself in zip(pairs, alone)
    ]
    return made, [n for _, n in pairs]


def in_one_dtype(parts: list[tuple[Expression, Number]], alone: bool, dtype: Any) -> list[tuple[Expression, Number]]:
    """The terms or factors of what has this dtype: narrower floats are converted, unless there are two, *alone*, and the other
    converts it."""
    narrow = [e for e, _ in parts if e.floats and e.dtype.itemsize < dtype.itemsize]
    if not narrow:
        return parts
    converts = any([e.dtype == dtype and (e.shape or not narrow[0].shape) for e, _ in parts])
    if len(parts) == 2 and alone and converts and all([abs(n) == 1 for _, n in parts]):
        return parts
    return [(e.algebra.fitted(e, e.shape, dtype) if e in narrow else e, n) for e, n in parts]


def promoted(args: tuple[Expression, ...], dtype: Any) -> tuple[Expression, ...]:
    """Operands, converted to what they are together: what is written as a number was a tensor, which converts others."""
    own = [e for e in args if e.kind != "number"]
    if len(own) in (0, len(args)):
        return args
    wide, without = [result_dtype([np.empty((0,) * bool(e.shape), e.dtype) for e in some]) for some in (args, own)]
    if dtype.kind == "f" and dtype != wide:
        return args
    converts = [e.floats and (e.kind == "number" or wide != without) for e in args]
    return tuple([e.algebra.fitted(e, e.shape, wide) if c else e for e, c in zip(args, converts)])


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
