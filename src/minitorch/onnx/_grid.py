"""Forms of what samples images at places: of the choices that ``grid_sample`` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._builder import BOOL, INT64, Builder, Value
from ._table import form


def _reflected(g: Builder, x: Value, low: Value, high: Value) -> Value:
    """Coordinates reflected at both bounds until they lie between them."""
    span, shifted = g("Sub", high, low), g("Abs", g("Sub", x, low))
    rest = g("Mod", shifted, span, fmod=1)
    odd = g(
        "Equal", g("Mod", g("Floor", g("Div", shifted, span)), g.constant(2, x.dtype), fmod=1), g.constant(1, x.dtype)
    )
    return g("Where", odd, g("Sub", high, rest), g("Add", rest, low))


def _inside(g: Builder, x: Value, size: Any, padding: str, corners: bool) -> Value:
    """Coordinates as the padding mode moves them; what is no number goes to 0."""
    if padding == "zeros":
        return x
    zero, limit = g.constant(0, x.dtype), g.binary("Sub", g.number(size, x.dtype), 1)
    if padding == "reflection":
        low, beyond = (0.0, 0.0) if corners else (-0.5, 0.5)
        x = _reflected(g, x, g.constant(low, x.dtype), g.binary("Add", limit, beyond))
    return g("Where", g("Greater", x, zero), g("Min", x, limit), zero)


@form("places in a grid")
def places(g: Builder, self: Value, size: Any, padding: str, corners: bool) -> tuple[Value]:
    """The pixel coordinates; what their slopes are is for derivatives."""
    sizes, moved = g.number(size, self.dtype), g.binary("Add", self, 1)
    if corners:
        pixels = g("Mul", g.binary("Div", moved, 2), g.binary("Sub", sizes, 1))
    else:
        pixels = g.binary("Div", g.binary("Sub", g("Mul", moved, sizes), 1), 2)
    return (_inside(g, pixels, size, padding, corners),)


@form("placed")
def placed(g: Builder, value: Value) -> Value:
    return g("Identity", value)


@form("what is not finite")
def not_finite(g: Builder, self: Value) -> Value:
    return g("Or", g("IsNaN", self), g("IsInf", self))


def _whole(name: str, op: str, otherwise: float) -> None:
    @form(name)
    def whole(g: Builder, self: Value) -> Value:
        return g("Where", not_finite(g, self), g.constant(otherwise, self.dtype), g(op, self))


_whole("the floor of places", "Floor", -3e4)
_whole("the nearest of places", "Round", -1)


@form("cells of an image")
def cells(
    g: Builder, coordinates: Sequence[Value], sides: Sequence[int], image: Sequence[Any], moves: Any
) -> tuple[Value, ...]:
    """Where whole coordinates, plus *sides*, are in an image, and which are outside."""
    cell = [g.binary("Add", coordinate, side) for coordinate, side in zip(coordinates, sides)]
    if moves is not None:
        cell = [g("Floor", _inside(g, coordinate, size, *moves)) for coordinate, size in zip(cell, image[2:])]
    outside: Value | None = None
    place = g.constant(0, INT64)
    for coordinate, size in zip(cell, image[2:]):
        below = g("Less", coordinate, g.constant(0, coordinate.dtype))
        out = g("Or", below, g("GreaterOrEqual", coordinate, g.number(size, coordinate.dtype)))
        outside = out if outside is None else g("Or", outside, out)
        place = g("Add", g("Mul", place, g.number(size, INT64)), g.cast(coordinate, INT64))
    assert outside is not None
    place = g("Where", outside, g.constant(0, INT64), place)
    (shape, _), _ = g.results
    return g.expand(g.unsqueeze(place, 1), shape), g.cast(outside, BOOL)
