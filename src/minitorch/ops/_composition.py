"""The way back of rows with one formula for all inputs: a kernel; or elementary operations, where it is to be differentiated
again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._choices import Choice
from .._differentiate import grad
from .._modes import enable_grad, grad_on, observers
from .._runtime import raw, traced
from . import shape


class Composition:
    """A row's function composed of other rows, ``compose(*inputs, **params)``: how forward mode goes through the row."""

    __slots__ = ("compose",)

    def __init__(self, compose: Callable[..., Any]) -> None:
        self.compose = compose


def gradients_of_composition(
    compose: Callable[..., Sequence[Any]], g: dict[int, Any], needed: list[bool], inputs: Sequence[Any]
) -> list[Any]:
    """The gradients, recorded, of what *compose* makes of the inputs with elementary operations; *g* has those of its
    outputs that came, by number."""
    recording = grad_on()
    with enable_grad():
        own = [shape.view(t, tuple(t.shape)) for t in inputs]  # hooks of the inputs are none of its business
        outputs = compose(*own)
        wanted = [t for t, wanted in zip(own, needed) if wanted]
        came = [outputs[number] for number in g], wanted, list(g.values())
        found = iter(grad(*came, create_graph=recording, allow_unused=True))
    return [next(found) if wanted else None for wanted in needed]


def way_back(name: str, kernel: Callable[..., Any], composition: Callable[..., Any]) -> None:
    """Give ``F`` a row's way back: a kernel on ndarrays; on Tensors the composition's gradient, or, where nothing is recorded
    and what observes wants kernels, a call of the kernel.

    Both are called as ``(g, needed, *inputs, kept=..., **params)``: *g* has one gradient, or those that came by number.
    """

    def gradients(*arrays: np.ndarray, came: Any, needed: Any, count: int, params: Any) -> tuple[np.ndarray, ...]:
        """The kernel, of all arrays in a row: gradients, inputs, what was kept; it gives those gradients that are needed."""
        named = dict(params)
        first = 1 if came is None else len(came)
        if len(arrays) > first + count:
            named["kept"] = arrays[first + count :]
        g = arrays[0] if came is None else dict(zip(came, arrays))
        found = kernel(g, list(needed), *arrays[first : first + count], **named)
        return tuple([part for part, wanted in zip(found, needed) if wanted])

    whole = Choice(name, gradients, ("*tensors",), True, False, False)

    def way(g: Any, needed: list[bool], *inputs: Any, kept: tuple[Any, ...] = (), **params: Any) -> Any:
        if grad_on() or {o.lifts for o in observers if o.lifts and o.active()} != {"kernels"}:
            return composition(g, needed, *inputs, **({"kept": kept} if kept else {}), **params)
        several = isinstance(g, dict)
        came = tuple(g) if several else None
        tensors = (*(g.values() if several else (g,)), *inputs, *kept)
        found = iter(whole.call(*tensors, came, tuple(needed), len(inputs), tuple(params.items())))
        return [next(found) if wanted else None for wanted in needed]

    setattr(raw, name, kernel)
    setattr(traced, name, way)
