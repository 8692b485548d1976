"""What a wrong Jacobian looks like: the mistake behind it, where its pattern is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

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
    for pattern in (_zero, _scaled, _transposed, _moved, _partial, _averaged, _one_dimension):
        found = pattern(analytic, numeric, tolerance, output_shape, input_shape)
        if found:
            return found
    return None


def _agree(a: Array, b: Array, tolerance: Array) -> bool:
    return bool((np.abs(a - b) <= tolerance + 1e-2 * np.maximum(np.abs(a), np.abs(b))).all())


def _zero(a: Array, n: Array, tolerance: Array, *shapes: tuple[int, ...]) -> str | None:
    if not a.any():
        return "zero: the gradient is zero everywhere, the derivative is not"
    return None


def _scaled(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    factor = float(np.vdot(n, a) / np.vdot(n, n)) if n.any() else 0.0
    if not factor or not _agree(a, factor * n, np.abs(factor) * tolerance):
        return None
    if math.isclose(factor, -1, rel_tol=1e-3):
        return "sign flipped: the gradient is -1 times the derivative"
    text = f"scaled by a constant: the gradient is {_number(factor)} times the derivative"
    whole = round(factor)
    if 1 < whole < 1000 and math.isclose(factor, whole, rel_tol=1e-3):
        sizes = {*input_shape, *output_shape, math.prod(input_shape), math.prod(output_shape)}
        extra = "" if whole not in sizes else f", or a mean over {whole} elements is not divided by {whole}"
        return f"{text}: it is accumulated {whole} times (stale by {whole - 1}){extra}"
    inverse = round(1 / factor)
    if 1 < abs(inverse) < 1000 and math.isclose(1 / factor, inverse, rel_tol=1e-3):
        return f"{text} (1/{inverse})"
    return text


def _transposed(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    if len(input_shape) < 2:
        return None
    *lead, rows, columns = input_shape
    if rows == 1 or columns == 1:
        return None
    mixed = a.reshape(len(a), *lead, columns, rows).swapaxes(-1, -2).reshape(a.shape)
    if _agree(mixed, n, tolerance):
        return "transposed: the gradient is the derivative with its last two dimensions exchanged"
    return None


def _moved(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    whole = a.reshape(len(a), *input_shape)
    for dim, size in enumerate(input_shape):
        if size < 2:
            continue
        if _agree(np.flip(whole, dim + 1).reshape(a.shape), n, tolerance):
            return f"reversed along dimension {dim} of the input"
        for shift in range(1, min(size, 4)):
            for sign in (shift, -shift):
                if _agree(np.roll(whole, sign, dim + 1).reshape(a.shape), n, tolerance):
                    return f"shifted by {-sign} along dimension {dim} of the input (the ends may differ)"
                if _agree(
                    *_inner(np.roll(whole, sign, dim + 1), n.reshape(whole.shape), sign, dim + 1), tolerance.max()
                ):
                    return f"shifted by {-sign} along dimension {dim} of the input (the ends differ)"
    return None


def _inner(a: Array, n: Array, shift: int, axis: int) -> tuple[Array, Array]:
    """Both without the ends that a shift makes meaningless; all of them, if nothing else would be left to compare."""
    keep = [slice(None)] * a.ndim
    keep[axis] = slice(shift, None) if shift > 0 else slice(None, shift)
    inner = n[tuple(keep)]
    return (a[tuple(keep)], inner) if inner.any() and inner.size * 2 > n.size else (a, n)


def _partial(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    near = np.abs(a - n) <= tolerance + 1e-2 * np.abs(n)
    lost = ~near & (a == 0)
    if not (near | lost).all():
        return None
    kept = int((near & (n != 0)).sum())
    if not kept:
        return None
    several = (np.abs(n) > tolerance).sum(axis=0)
    if (several > 1).all() and ((a != 0).sum(axis=0) < several).all():
        return (
            "missing a broadcast sum: each input element acts on several output elements, and the gradient has the terms of "
            f"only some of them ({kept} of {int((np.abs(n) > tolerance).sum())} entries agree, the others are zero)"
        )
    return f"terms are missing: {kept} entries agree, {int(lost.sum())} are zero where the derivative is not"


def _averaged(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> str | None:
    for axes in _axes(input_shape):
        shape = (len(a), *input_shape)
        mean = np.broadcast_to(n.reshape(shape).mean(axes, keepdims=True), shape).reshape(a.shape)
        total = np.broadcast_to(n.reshape(shape).sum(axes, keepdims=True), shape).reshape(a.shape)
        dims = ", ".join([str(axis - 1) for axis in axes])
        if _agree(a, mean, tolerance):
            return f"averaged: each entry is the mean of the derivative over dimension {dims} of the input"
        if _agree(a, total, tolerance):
            return f"summed: each entry is the sum of the derivative over dimension {dims} of the input"
    return None


def _axes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    large = [dim + 1 for dim, size in enumerate(shape) if size > 1]
    for dim in large:
        yield (dim,)
    if len(large) > 1:
        yield tuple(large)


def _one_dimension(
    a: Array, n: Array, tolerance: Array, output_shape: tuple[int, ...], input_shape: tuple[int, ...]
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
        if min(a.shape) > 1 and _agree(a, factors * n, tolerance * np.maximum(np.abs(factors), 1)):
            return text(factors.ravel())
    return None


def _factors(factors: Array) -> str:
    shown = ", ".join([_number(f) for f in factors[:4]])
    return shown + (", …" if len(factors) > 4 else "")


def _number(value: float) -> str:
    return f"{value:.4g}"
