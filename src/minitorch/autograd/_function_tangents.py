"""Forward mode through custom Functions: what their ``jvp`` says."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _runtime
from .._modes import active_levels
from .._runtime import wrap
from .._tangents import Level, computing


def push(node: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], produced: list[Any]) -> None:
    """Give the outputs of a call their tangents, at each level at which an argument has one.

    Raises
    ------
    NotImplementedError
        If the Function has no ``jvp``.
    RuntimeError
        If what it returns does not fit the outputs.
    """
    for level in active_levels():
        tangents = [level.of(a) if isinstance(a, _runtime.Tensor) else None for a in args]
        if any([t is not None for t in tangents]):
            with computing(level.outer):
                results = _called(node, args, tangents)
                _check_number(results, outputs)
                for number, (result, output, tensor) in enumerate(zip(results, outputs, produced)):
                    _put(level, node, number, result, output, tensor, tangents)


def _called(node: Any, args: tuple[Any, ...], tangents: list[Any]) -> tuple[Any, ...]:
    """What ``jvp`` returns: it reads what ``save_for_forward`` kept."""
    if node.materialize:
        for place, argument in enumerate(args):
            if tangents[place] is None and isinstance(argument, _runtime.Tensor) and argument._array.dtype.kind == "f":
                tangents[place] = wrap(np.zeros_like(argument._array))
    saved, extras = node.saved, node.extras
    node.saved = [None if t is None else (t, None, None) for t in node.saved_for_forward or ()]
    node.extras = None
    try:
        results = node.function.jvp(node, *tangents)
    finally:
        node.saved, node.extras = saved, extras
    return results if isinstance(results, tuple) else (results,)


def _check_number(results: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    if len(results) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(results)})"
        )


def _put(level: Level, node: Any, number: int, result: Any, output: Any, tensor: Any, tangents: list[Any]) -> None:
    """Check the tangent of one output, and keep it."""
    dirty = any([output is d for d in node.dirty])
    constant = tensor is None or tensor._array.dtype.kind != "f" or any([output is t for t in node.non_differentiable])
    if result is None:
        if not constant:
            raise RuntimeError(
                f"Function's jvp returned None at position {number}, but the corresponding forward output is differentiable: "
                "return zeros where it does not change, or mark it with ctx.mark_non_differentiable"
            )
        if tensor is not None and not dirty:
            level[tensor._array] = None
        return
    if not isinstance(result, _runtime.Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(result).__name__}) for grad output {number}.")
    if constant:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {number}, but the corresponding forward output is not a "
            "differentiable Tensor. You should return None at that position instead."
        )
    if result._array.shape != tensor._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(result.shape)}."
        )
    given = [t for t in tangents if t is not None]
    if dirty:
        if not any([result._array is t._array for t in given]):
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying "
                "an input inplace, then the jvp function must modify the corresponding gradient inplace."
            )
        level.put(tensor, result)
    elif tensor._alias is not None and tensor._alias.parent is not None:
        if not any([result is not t and np.shares_memory(result._array, t._array) for t in given]):
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
            )
        level.put(tensor, result)
    else:
        level.result(tensor, result, given)
