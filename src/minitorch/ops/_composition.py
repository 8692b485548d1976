"""The way back of rows with one formula for all inputs, where it is to be differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._differentiate import grad
from .._modes import enable_grad, grad_on
from . import shape


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
