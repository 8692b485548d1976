"""Properties of a gradient that compare calls: with inputs of other strides and sizes the function gives the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._runtime import wrap
from ..autograd._differences import Array
from ..autograd._subject import Subject, tuple_of, vjp
from ..autograd.tape import Tape
from . import _rounding
from ._setting import Setting, distance


def non_contiguous(setting: Setting) -> str | None:
    """Inputs with other strides give the same; a function that refuses them is left alone."""
    subject = setting.subject
    inputs = [wrap(spread(a)).requires_grad_() for a in subject.arrays[: len(subject.variables)]]
    if not inputs:  # nothing but parameters is varied
        return None
    how = "with non-contiguous inputs (the same values, other strides)"
    remedy = "look for views of flat memory and numpy()"
    try:
        with Tape() as tape:
            outputs = call_with(subject, inputs)
    except Exception:
        return None
    far = distance(subject.flat(outputs), subject.base, 2.0**10 * setting.unit)
    if far:
        (floor,) = _rounding.of_points(
            lambda at: [subject.flat(call_with(subject, [wrap(spread(a)) for a in at]))],
            subject.arrays[: len(inputs)],
            setting.unit,
        )
        far = distance(subject.flat(outputs), subject.base, 2.0**10 * setting.unit, floor)
    if far:
        return None if _asks_for_strides(tape) else f"{how} the outputs differ ({far}): {remedy}"
    gradients = vjp([outputs[o] for o in subject.which], inputs, setting.vectors)
    subject.backwards += 1

    def again(at: Sequence[Array]) -> tuple[list[Any], list[Any]]:
        others = [wrap(spread(a)).requires_grad_() for a in at]
        results = call_with(subject, others)
        return [results[o] for o in subject.which], others

    far = setting.differ(
        gradients,
        setting.gradients[: len(inputs)],
        lambda: setting.rounding_of_call(again, subject.arrays[: len(inputs)], setting.vectors),
    )
    return f"{how} the gradient differs ({far}): {remedy}" if far else None


def _asks_for_strides(tape: Tape) -> bool:
    """Whether a call may depend on its inputs' strides: as ``as_strided`` does, and draws, which fill memory in its order."""
    return any(
        [
            entry.op == "as_strided" or getattr(entry.row, "draws", False) or "generator" in (entry.params or {})
            for entry in tape
        ]
    )


def spread(array: Array) -> Array:
    """The same values with other strides."""
    wide = np.zeros((*array.shape[::-1], 2), array.dtype)
    wide[..., 0] = array.T
    return wide[..., 0].T


def call_with(subject: Subject, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs for these tensors as the variables that are arguments."""
    arguments = [wrap(a._array.copy()) if isinstance(a, _runtime.Tensor) else a for a in subject.arguments]
    for i, tensor in zip(subject.variables, inputs):
        arguments[i] = tensor
    subject.evaluations += 1
    return tuple_of(subject.fn(*arguments))


def _pair(setting: Setting, small: list[Any], large: list[Any], grow: Callable[[int, Any], Any]) -> str | None:
    """Where two calls give the same values, whether their gradients agree; calls that are refused are not compared."""
    subject = setting.subject

    def outputs_of(inputs: Sequence[Any]) -> list[Any]:
        return [t for t in call_with(subject, inputs) if _is_float(t)]

    def grown(inputs: Sequence[Any]) -> list[Any]:
        return outputs_of([grow(i, t) for i, t in enumerate(inputs)])

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = grown(small), outputs_of(large)
    except Exception:
        return None
    if len(first) != len(second) or any([a._array.shape != b._array.shape for a, b in zip(first, second)]):
        return None
    if any([distance(a._array, b._array, 2.0**10 * setting.unit) for a, b in zip(first, second)]):
        return None
    vectors = [setting.rng.normal(size=t._array.shape) for t in first]
    subject.backwards += 2
    try:
        found, expected = vjp(first, small, vectors), vjp(second, large, vectors)
    except Exception as error:
        if "invalid gradient" in str(error):  # of a custom Function: of the shape before broadcasting
            raise
        return None  # made for other shapes
    sums = [None if g is None else _sum_to(g._array, s._array.shape) for g, s in zip(expected, small)]
    if any([g is not None and g._array.shape != s._array.shape for g, s in zip(found, small)]):
        return None  # a row by itself, made for other shapes
    far = setting.differ(found, sums, lambda: _rounding_of_pair(setting, small, large, grown, outputs_of, vectors))
    return far if far and _same_beside(setting, small, large, grown, outputs_of) else None


def _same_beside(
    setting: Setting,
    small: Sequence[Any],
    large: Sequence[Any],
    first: Callable[..., list[Any]],
    second: Callable[..., list[Any]],
) -> bool:
    """Whether two calls give the same values at other points, too.

    At zeros different functions may; and at large numbers those whose values have a limit: one nearby, and one of moderate
    numbers.
    """
    sizes = [setting.rng.uniform(0.5, 1, t._array.shape).astype(t._array.dtype) for t in small]
    for moved in (
        [t._array + s for t, s in zip(small, sizes)],
        [np.copysign(s, t._array) for t, s in zip(small, sizes)],
    ):
        others = [np.broadcast_to(m, t._array.shape).copy() for m, t in zip(moved, large)]
        pairs = zip(first([wrap(m.copy()) for m in moved]), second([wrap(o) for o in others]))
        if any([distance(a._array.ravel(), b._array.ravel(), min(2.0**20 * setting.unit, 1e-3)) for a, b in pairs]):
            return False
    return True


def _rounding_of_pair(
    setting: Setting,
    small: Sequence[Any],
    large: Sequence[Any],
    grown: Callable[..., list[Any]],
    outputs_of: Callable[..., list[Any]],
    vectors: Sequence[Array],
) -> list[float]:
    """How far rounding moves the gradients of either call; those of the second one are summed."""

    def of(call: Callable[..., list[Any]], inputs: Sequence[Any]) -> list[float]:
        def made(arrays: Sequence[Array]) -> tuple[list[Any], list[Any]]:
            leaves = [wrap(a.copy()).requires_grad_() for a in arrays]
            return call(leaves), leaves

        arrays = [t._array for t in inputs]
        shaped = [
            v.reshape(t._array.shape) for v, t in zip(vectors, made(arrays)[0])
        ]  # of one element: of any dimensions
        return setting.rounding_of_call(made, arrays, shaped)

    return [
        a + b * t._array.size / max(s._array.size, 1)
        for a, b, s, t in zip(of(grown, small), of(outputs_of, large), small, large)
    ]


def _is_float(value: Any) -> bool:
    return isinstance(value, _runtime.Tensor) and value._array.dtype.kind == "f"


def _sum_to(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    lead = array.ndim - len(shape)
    with np.errstate(all="ignore"):
        array = array.sum(tuple(range(lead))) if lead else array
        axes = tuple([i for i, (a, s) in enumerate(zip(array.shape, shape)) if a != s])
        return np.asarray(array.sum(axes, keepdims=True) if axes else array)


def expanded(setting: Setting) -> str | None:
    """Expanded inputs, whose elements share memory, give the same as copies of them."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    wide = [a.ndim > 0 and a.shape[0] > 1 for a in arrays]
    if not any(wide):
        return None
    small = [wrap(a[:1].copy() if w else a.copy()).requires_grad_() for a, w in zip(arrays, wide)]
    large = [wrap(np.repeat(a[:1], len(a), 0) if w else a.copy()).requires_grad_() for a, w in zip(arrays, wide)]

    def grown(i: int, t: Any) -> Any:
        return t.expand(*arrays[i].shape) if wide[i] else t

    differing = _values_differ(setting, small, large, grown)
    if differing:
        return (
            f"with expanded inputs the outputs differ from those of copies ({differing}): look for in-place writes, views of "
            "flat memory and numpy()"
        )
    found = _pair(setting, small, large, grown)
    if found:
        return f"with expanded inputs the gradient differs from that of copies ({found}): look for in-place writes and strides"
    return None


def _values_differ(
    setting: Setting, small: Sequence[Any], large: Sequence[Any], grow: Callable[[int, Any], Any]
) -> str | None:
    """Where a function gives other values of tensors that are grown than of others with the same values, in words."""
    subject = setting.subject
    unit = setting.unit

    def of(inputs: Sequence[Any]) -> list[Array]:
        return [t._array.astype(float) for t in call_with(subject, inputs) if _is_float(t)]

    def both(at: Sequence[Array]) -> list[Array]:
        others = [np.broadcast_to(a, t._array.shape).copy() for a, t in zip(at, large)]
        return [*of([grow(i, wrap(a.copy())) for i, a in enumerate(at)]), *of([wrap(o) for o in others])]

    at = [t._array for t in small]
    try:
        with warnings.catch_warnings(), Tape() as tape:
            warnings.simplefilter("ignore")
            every = both(at)
    except Exception:
        return None
    pairs = list(zip(every[: len(every) // 2], every[len(every) // 2 :]))
    if _asks_for_strides(tape) or any([a.shape != b.shape for a, b in pairs]):
        return None
    if not any([distance(a, b, 2.0**10 * unit) for a, b in pairs]):
        return None
    floors = _rounding.of_points(both, at, unit)
    texts = [distance(a, b, 2.0**10 * unit, floor) for (a, b), floor in zip(pairs, floors)]
    return next((text for text in texts if text), None)


def scalars(setting: Setting) -> str | None:
    """Inputs without dimensions give what inputs of one element give."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    if any([not a.size for a in arrays]) or all([not a.ndim for a in arrays]):
        return None
    small = [wrap(np.array(a.flat[0])).requires_grad_() for a in arrays]
    large = [wrap(np.array([a.flat[0]])).requires_grad_() for a in arrays]

    def called(inputs: Sequence[Any]) -> list[Any]:
        return list(call_with(setting.subject, inputs))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = called(small), called(large)
    except Exception:
        return None
    if not all([_is_float(t) and t._array.size == 1 for t in (*first, *second)]) or len(first) != len(second):
        return None
    if any([distance(a._array.ravel(), b._array.ravel(), 2.0**10 * setting.unit) for a, b in zip(first, second)]):
        return None
    try:
        found = vjp(first, small, [np.ones(t._array.shape) for t in first])
        expected = vjp(second, large, [np.ones(t._array.shape) for t in second])
    except Exception:  # a Function made for other shapes
        return None
    setting.subject.backwards += 2
    if any([g is not None and g._array.size != 1 for g in expected]):
        return None
    far = setting.differ(
        found,
        [None if g is None else g._array.reshape(()) for g in expected],
        lambda: _rounding_of_pair(setting, small, large, called, called, [np.ones(t._array.shape) for t in first]),
    )
    far = far if far and _same_beside(setting, small, large, called, called) else None
    return f"for inputs without dimensions the gradient differs from that for one element ({far})" if far else None


def broadcasting(setting: Setting) -> str | None:
    """An input that is broadcast has the gradient of its copy, summed."""
    arrays = setting.subject.arrays[: len(setting.subject.variables)]
    if len(arrays) < 2:
        return None
    for which, array in enumerate(arrays):
        if not array.ndim or array.shape[0] < 2:
            continue
        small = [wrap(a[:1].copy() if i == which else a.copy()).requires_grad_() for i, a in enumerate(arrays)]
        large = [
            wrap(np.repeat(a[:1], len(a), 0) if i == which else a.copy()).requires_grad_() for i, a in enumerate(arrays)
        ]
        found = _pair(setting, small, large, lambda i, t: t)
        if found:
            return (
                f"where input {which} is broadcast, the gradient is not that of its copy, summed ({found}): sum it over the "
                "dimensions that were broadcast"
            )
        if setting.fast:
            return None
    return None
