"""The ways through a function that are written for many sizes, of all that were traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._trace_instructions import Left
from ._python import Block, Body
from ._python_sizes import SizedBody, Trial, axes_by_number, general_of
from ._size_passes import kind
from ._sizes import General


class Way(NamedTuple):
    """A way through a function: what was traced, which axes may vary there, and one program for many sizes."""

    block: Block
    axes: Mapping[int, Mapping[int, str]]
    general: General


def ways_of(
    function: Any, blocks: Sequence[Block], bodies: Sequence[Body], dynamic_axes: Any
) -> tuple[list[Way], list[tuple[Block, str]]]:
    """The different ways that were traced, for many sizes; and those that cannot be such, with the reason.

    Raises
    ------
    RuntimeError, TypeError, ValueError
        Where the last one cannot.
    """
    last: dict[Any, tuple[Block, Body]] = {}
    for block, body in zip(blocks, bodies):
        last[_key(block, body, dynamic_axes)] = block, body
    found: dict[Any, Way] = {}
    without: list[tuple[Block, str]] = []
    for block, body in last.values():
        try:
            axes = axes_by_number(body, dynamic_axes)
            general = general_of(function, block, axes)
        except (RuntimeError, ValueError) as error:
            if block is blocks[-1]:
                raise
            without.append((block, str(error).removeprefix("to_python(): ")))
            continue
        first = general.passes[0]
        found[repr(first.signature), *first.taken, *_fixed(body, axes)] = Way(block, axes, general)
    return [*found.values()], without


def _fixed(body: Body, axes: Mapping[int, Mapping[int, str]]) -> list[Any]:
    """The dtypes of arguments, and their sizes that do not vary."""
    arrays = [body.trace.arrays[slot] for slot in body.trace.arguments]
    sizes = [[None if i in axes.get(n, {}) else size for i, size in enumerate(a.shape)] for n, a in enumerate(arrays)]
    return [(a.dtype.name, *of) for a, of in zip(arrays, sizes)]


def _key(block: Block, body: Body, dynamic_axes: Any) -> Any:
    """What tells ways apart without trying other sizes: operations, and the values that became Python's."""
    try:
        axes = axes_by_number(body, dynamic_axes)
    except ValueError:  # it has other dimensions
        axes = {}
    instructions = block.plan.trace.instructions
    left = [i.value.tobytes() for i in instructions if i.__class__ is Left]
    return repr([kind(i) for i in instructions]), *left, *_fixed(body, axes)


def settled(written: Any, name: str, bodies: Sequence[SizedBody], function: Any, ways: Sequence[Way]) -> None:
    """Try what is written of each way by itself, and note in the bodies which sizes are right.

    Raises
    ------
    RuntimeError
        Where it gives other bits than the function.
    """
    for number, (body, way) in enumerate(zip(bodies, ways), 1):
        own = written[name if len(bodies) == 1 else f"{name}_{number}"]
        Trial(own, body, function, way.axes, way.block).settle()


def not_written(written: Any, function: Any, blocks: Sequence[Block], bodies: Sequence[Body]) -> list[Block]:
    """The blocks of whose examples a module gives other results than the function."""
    found = []
    for block, body in zip(blocks, bodies):
        if any([example is None for example in block.examples]):
            continue
        trial = Trial(written, body, function, {}, block)
        arrays: list[np.ndarray] = block.examples
        wanted = trial.wanted(arrays)
        if wanted is not None and not trial.gives(arrays, wanted):
            found.append(block)
    return found
