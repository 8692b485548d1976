"""What a wrong Jacobian looks like: the mistake behind it, where its pattern is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


def pattern_of(
    analytic: Array, numeric: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    """The first pattern that explains one block of a Jacobian, in words; None if none does.

    Parameters
    ----------
    analytic, numeric : ndarray
        Output elements by input elements.
    tolerance : ndarray
        How far their entries may be apart.
    output_shape, input_shape : tuple of int
        The shapes of the output and of the input.
    """
    if np.isnan(analytic).any():
        return f"NaN: {int(np.isnan(analytic).sum())} of {analytic.size} entries are NaN where the derivative is not"
    if not np.isfinite(numeric).all() or not np.isfinite(analytic).all():
        return None
    size = np.maximum(np.abs(analytic), np.abs(numeric))
    mistake = np.max(np.abs(analytic - numeric) / np.where(size > 0, size, 1), initial=0)
    near = Near(tolerance, min(1e-2, 0.1 * float(mistake)))
    for pattern in (_zero, _scaled, _transposed, _moved, _partial, _averaged, _one_dimension):
        found = pattern(analytic, numeric, near, output_shape, input_shape)
        if found:
            return found
    return None


class Near(NamedTuple):
    """What a pattern has to explain: all but the errors of the numbers, and a part of the mistake.

    A mistake of a hundredth is explained by what is nearer than that.

    Attributes
    ----------
    errors : ndarray
        How far entries may be apart.
    part : float
        And by which part of their size.
    """

    errors: Array
    part: float

    def each(self, a: Array, b: Array, factor: Any = 1.0) -> Array:
        """Which entries agree, where the errors are larger by a factor."""
        return np.asarray(np.abs(a - b) <= factor * self.errors + self.part * np.maximum(np.abs(a), np.abs(b)))

    def all(self, a: Array, b: Array, factor: Any = 1.0) -> bool:
        """Whether all do."""
        return bool(self.each(a, b, factor).all())


def _zero(a: Array, n: Array, near: Near, *shapes: tuple[int, ...]) -> str | None:
    if not a.any():
        return "zero: the gradient is zero everywhere, the derivative is not"
    return None


def _scaled(a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> str | None:
    factor = float(np.vdot(n, a) / np.vdot(n, n)) if n.any() else 0.0
    if not factor or not near.all(a, factor * n, np.abs(factor)):
        return None
    if math.isclose(factor, -1, rel_tol=1e-3):
        return "sign flipped: the gradient is -1 times the derivative"
    text = f"scaled by a constant: the gradient is {_number(factor)} times the derivative"
    whole = round(factor)
    if 1 < whole < 1000 and math.isclose(factor, whole, rel_tol=1e-3):
        sizes = {*input_shape, *output_shape, math.prod(input_shape), math.prod(output_shape)}
        extra = "" if whole not in sizes else f", or a mean over {whole} elements is not divided by {whole}"
        return f"{text}: perhaps it is accumulated {whole} times (stale by {whole - 1}){extra}"
    inverse = round(1 / factor)
    if 1 < abs(inverse) < 1000 and math.isclose(1 / factor, inverse, rel_tol=1e-3):
        return f"{text} (1/{inverse})"
    return text


def _transposed(
    a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    if len(input_shape) < 2:
        return None
    *lead, rows, columns = input_shape
    if rows == 1 or columns == 1:
        return None
    mixed = a.reshape(len(a), *lead, columns, rows).swapaxes(-1, -2).reshape(a.shape)
    if near.all(mixed, n):
        return "transposed: the gradient is the derivative with its last two dimensions exchanged"
    return None


def _moved(a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> str | None:
    whole = a.reshape(len(a), *input_shape)
    for dim, size in enumerate(input_shape):
        if size < 2:
            continue
        if near.all(np.flip(whole, dim + 1).reshape(a.shape), n):
            return f"reversed along dimension {dim} of the input"
        for shift in range(1, min(size, 4)):
            for sign in (shift, -shift):
                if near.all(np.roll(whole, sign, dim + 1).reshape(a.shape), n):
                    return f"shifted by {-sign} along dimension {dim} of the input (the ends may differ)"
                inner = _inner(np.roll(whole, sign, dim + 1), n.reshape(whole.shape), sign, dim + 1)
                if near._replace(errors=near.errors.max()).all(*inner):
                    return f"shifted by {-sign} along dimension {dim} of the input (the ends differ)"
    return None


def _inner(a: Array, n: Array, shift: int, axis: int) -> tuple[Array, Array]:
    """Both without the ends that a shift makes meaningless; all of them, if nothing else would be left to compare."""
    keep = [slice(None)] * a.ndim
    keep[axis] = slice(shift, None) if shift > 0 else slice(None, shift)
    inner = n[tuple(keep)]
    return (a[tuple(keep)], inner) if inner.any() and inner.size * 2 > n.size else (a, n)


def _partial(a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> str | None:
    kept = near.each(a, n)
    lost = ~kept & (a == 0)
    if not (kept | lost).all():
        return None
    agreeing = int((kept & (n != 0)).sum())
    if not agreeing:
        return None
    several = (np.abs(n) > near.errors).sum(axis=0)
    if input_shape != output_shape and (several > 1).all() and ((a != 0).sum(axis=0) < several).all():
        return (
            "missing a broadcast sum: each input element acts on several output elements, and the gradient has the terms of "
            f"only some of them ({agreeing} of {int((np.abs(n) > near.errors).sum())} entries agree, the others are zero)"
        )
    return f"terms are missing: {agreeing} entries agree, {int(lost.sum())} are zero where the derivative is not"


def _averaged(
    a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    for axes in _axes(input_shape):
        shape = (len(a), *input_shape)
        mean = np.broadcast_to(n.reshape(shape).mean(axes, keepdims=True), shape).reshape(a.shape)
        total = np.broadcast_to(n.reshape(shape).sum(axes, keepdims=True), shape).reshape(a.shape)
        dims = ", ".join([str(axis - 1) for axis in axes])
        if near.all(a, mean):
            return f"averaged: each entry is the mean of the derivative over dimension {dims} of the input"
        if near.all(a, total):
            return f"summed: each entry is the sum of the derivative over dimension {dims} of the input"
    return None


def _axes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    large = [dim + 1 for dim, size in enumerate(shape) if size > 1]
    for dim in large:
        yield (dim,)
    if len(large) > 1:
        yield tuple(large)


def _one_dimension(
    a: Array, n: Array, near: Near, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    """A factor for each input element, or for each output element."""
    describe: list[tuple[int, Callable[[Array], str]]] = [
        (0, lambda f: f"scaled by a factor for each input element: {_factors(f)}"),
        (1, lambda f: f"scaled by a factor for each output element: {_factors(f)}"),
    ]
    for axis, text in describe:
        square = (n * n).sum(axis, keepdims=True)
        if not square.all():
            continue
        factors = (a * n).sum(axis, keepdims=True) / square
        if min(a.shape) > 1 and near.all(a, factors * n, np.maximum(np.abs(factors), 1)):
            return text(factors.ravel())
    return None


def _factors(factors: Array) -> str:
    """Four of them, the one that is farthest from 1 included."""
    first = min(max(int(np.abs(factors - 1).argmax()) - 3, 0), max(len(factors) - 4, 0))
    shown = ", ".join([_number(f) for f in factors[first : first + 4]])
    return "…, " * (first > 0) + shown + ", …" * (first + 4 < len(factors))


def _number(value: float) -> str:
    return f"{value:.4g}"
