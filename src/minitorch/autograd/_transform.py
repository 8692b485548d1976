"""What transforms of functions have in common: the points they differentiate at, and whose history results keep.

A transform gives its function *inner inputs*: the caller's tensors under nodes of their own, so that the function may use the
same tensors from elsewhere too, and so that transforms nest.  See docs/design/11-transforms.md.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from .. import _runtime
from .._batching._vmap import vmap
from .._differentiate import grad
from .._inplace import LEAF
from .._modes import (
    active_levels,
    enable_grad,
    inference_mode,
    inner_leaves,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    observers,
    set_grad_enabled,
)
from .._runtime import flagged, traced, twin, wrap
from .._tangents import computing
from .._tape import AccumulateGrad, next_position
from .._views import View, current_node, edits_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


@contextmanager
def recording(on: bool = True) -> Iterator[None]:
    """Context in which operations are recorded (or are not), in inference mode too: transforms do what they do in any mode."""
    if is_inference_mode_enabled():
        with inference_mode(False), set_grad_enabled(on):
            yield
    elif on:
        with enable_grad():
            yield
    else:
        with set_grad_enabled(False):
            yield


def out_of_inference(transform: _Function) -> _Function:
    """A transform that runs with inference mode off, where that is on: it gives ordinary tensors, and records nothing else."""

    @functools.wraps(transform)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not is_inference_mode_enabled():
            return transform(*args, **kwargs)
        with inference_mode(False), set_grad_enabled(False):
            return transform(*args, **kwargs)

    return cast(_Function, run)


class InnerView(View):
    """What an inner input remembers of the tensor that it stands for."""

    __slots__ = ()
    refusal = LEAF


def bare(tensor: Any) -> Any:
    """The same values, the same array object, without history."""
    out = twin(tensor)
    out._layout = tensor._layout
    edits = edits_of(tensor)
    out._alias = None if edits.inference else edits
    return out


def cut(tensor: Any, keeps: Callable[[Any], bool] = lambda tensor: False) -> Any:
    """A tensor without its history, unless that is to be kept, and so with its tangents at the levels of forward mode."""
    kept = current_node(tensor) is None or keeps(tensor)
    levels = active_levels()
    if kept:
        out = tensor
    elif any([observer.parts and observer.active() for observer in observers]):
        with computing(()), no_grad():  # what a trace runs again is to be without history too
            out = traced.clone(tensor)
    else:
        out = bare(tensor)
    for level in levels:
        tangent = level.of(tensor)
        if tangent is not None:
            level[out._array] = cut(tangent, keeps)
    return out


def leaf(tensor: Any) -> Any:
    """The same array object under a leaf that requires grad.

    Raises
    ------
    RuntimeError
        For integers and bools.
    """
    return flagged(bare(tensor))


def inner(tensor: Any) -> Any:
    """An inner input through which gradients go on to the tensor."""
    alias = traced.alias(tensor)
    view = InnerView()
    view.edits, view.parent, view.row = alias._alias.edits, alias._alias.parent, alias._alias.row
    view.params, view.index, view.seen = (), None, alias._alias.seen
    alias._alias = view
    return alias


def zeros_like(tensor: Any) -> Any:
    """Zeros of a tensor's shape and dtype."""
    return wrap(np.zeros(tensor._array.shape, tensor._array.dtype))


def one_hot_rows(tensors: Sequence[Any]) -> list[Any]:
    """A basis: for each tensor a batch of directions, one for each element of all tensors together."""
    sizes = [t._array.size for t in tensors]
    rows, first = [], 0
    for tensor, size in zip(tensors, sizes):
        row = np.zeros((sum(sizes), *tensor._array.shape), tensor._array.dtype)
        row.reshape(sum(sizes), size)[range(first, first + size), range(size)] = 1
        rows.append(wrap(row))
        first += size
    return rows


def at_once(
    function: Callable[[list[Any]], Sequence[Any]], rows: Sequence[Any], randomness: str = "error"
) -> Sequence[Any]:
    """What a function gives for each row of a basis, stacked: by one call of it on the whole batch."""
    results: Sequence[Any] = vmap(lambda *row: tuple(function(list(row))), randomness=randomness)(*rows)
    return results


def each(function: Callable[[list[Any]], Sequence[Any]], rows: Sequence[Any]) -> Sequence[Any]:
    """The same by a call for each row."""
    count = rows[0]._array.shape[0]
    if not count:
        return at_once(function, rows)
    found = [function([row[i] for row in rows]) for i in range(count)]
    return [traced.stack(list(parts), 0) for parts in zip(*found)]


def row_blocks(rows: Any, outputs: Sequence[Any], input: Any) -> list[Any]:
    """From products of all basis vectors with a Jacobian to its blocks, for each output and one input."""
    blocks, first = [], 0
    for output in outputs:
        size = output._array.size
        blocks.append(rows[first : first + size].reshape(output._array.shape + input._array.shape))
        first += size
    return blocks


def column_blocks(columns: Any, inputs: Sequence[Any]) -> list[Any]:
    """From products of a Jacobian with all basis vectors to its blocks, for one output and each input."""
    shape = columns._array.shape[1:]
    blocks, first = [], 0
    for input in inputs:
        size = input._array.size
        block = columns[first : first + size].movedim(0, -1)
        blocks.append(block.reshape(shape + input._array.shape))
        first += size
    return blocks


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any] | None = None, **options: Any
) -> list[Any]:
    """``autograd.grad`` of those outputs that have a history; None for inputs that they do not depend on."""
    given: Sequence[Any] = [None] * len(outputs) if vectors is None else vectors
    pairs = [(o, v) for o, v in zip(outputs, given) if o is not None and current_node(o) is not None]
    if not pairs or not inputs:
        return [None] * len(inputs)
    return list(grad([o for o, _ in pairs], list(inputs), [v for _, v in pairs], allow_unused=True, **options))


def with_tangents(tensors: Sequence[Any]) -> Iterator[Any]:
    """Tensors, their tangents at the levels of forward mode, and the tangents of these."""
    yield from tensors
    for level in active_levels():
        there = [tangent for tangent in map(level.of, tensors) if tangent is not None]
        with computing(level.outer):
            yield from with_tangents(there)


_over: weakref.WeakSet[Any] = weakref.WeakSet()
"""Leaves of levels that are over, of which results with a history are about: to levels that go on they are nothing outside."""


class Level:
    """One reverse-mode transform that is running: its inner inputs, and which results lead to tensors outside.

    Attributes
    ----------
    outer : bool
        Whether operations were recorded outside: if not, results keep no history.
    begun, ended : number
        The positions at which the function was called and returned: leaves that came to require grad in between are its own.
    leaves : list of AccumulateGrad
        The nodes of the inner inputs that are leaves.
    own : set of Node
        Nodes that lead to these only, or to those of levels that are over.
    """

    __slots__ = ("begun", "ended", "leaves", "outer", "own")

    def __init__(self) -> None:
        self.outer, self.begun = is_grad_enabled(), next_position()
        self.ended = -math.inf
        self.leaves: list[Any] = []
        self.own: set[Any] = {None}

    def enter(self, tensor: Any) -> Any:
        """The inner input for a tensor: one that leads on to it if it has a history outside, a leaf otherwise."""
        if self.outer and current_node(tensor) is not None:
            return inner(tensor)
        return self.leaf(tensor)

    def leaf(self, tensor: Any) -> Any:
        """An inner input that leads to nothing outside."""
        made = leaf(tensor)
        inner_leaves.add(made._node)
        self.leaves.append(made._node)
        self.own.add(made._node)
        return made

    def end(self) -> None:
        """The function has returned; what comes to require grad from now on is outside."""
        self.ended = next_position()

    def leads_out(self, tensor: Any) -> bool:
        """Whether the tensor depends on anything outside that requires grad."""
        if not self.outer:
            return False
        seen: set[Any] = set()
        stack = [current_node(tensor)]
        while stack:
            node = stack.pop()
            if node in self.own or node in seen:
                continue
            outside = not self.begun > node.position > self.ended  # positions decrease
            if node.__class__ is AccumulateGrad and outside and node not in _over:
                return True
            seen.add(node)
            stack.extend(node.edges)
        self.own |= seen
        return False

    def leave(self, tensor: Any) -> Any:
        """A result, without the history that nothing outside needs; the level is over."""
        return cut(tensor, self._needed)

    def _needed(self, tensor: Any) -> bool:
        needed = self.leads_out(tensor)
        if needed:
            _over.update(self.leaves)
        return needed

    def gradients(
        self, outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any] | None = None, **options: Any
    ) -> list[Any]:
        """Gradients, with the history that something outside needs and no other; zeros for inputs without influence."""
        given = [t for t in (*outputs, *(vectors or ())) if isinstance(t, _runtime.Tensor)]
        needed = any([self.leads_out(t) for t in with_tangents(given)])
        with recording():
            found = gradients(outputs, inputs, vectors, create_graph=needed, **options)
        filled = [zeros_like(i) if g is None else g for g, i in zip(found, inputs)]
        return [self.leave(g) for g in filled] if needed else filled
