"""A call of a row on whole batches: its inputs with the batch in front, and how they are brought into shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._op import Row, rows


class Batch:
    """The inputs and constants of one call, for all examples at once.

    Attributes
    ----------
    row : Row or Choice
        What is called.
    tensors : list
        Its inputs; batched ones have the batch in front.
    batched : list of bool
        Which of them have one.
    params : dict
        Its constants by name; ``Batched`` where a tensor among them has a batch.
    size : int
        How many examples there are.
    caller : str
        The function that people called, where the row's name does not say it.
    """

    __slots__ = ("batched", "caller", "params", "row", "size", "tensors")

    def __init__(self, row: Any, tensors: list[Any], batched: list[bool], params: dict[str, Any], size: int) -> None:
        self.row, self.tensors, self.batched = row, tensors, batched
        self.params, self.size, self.caller = params, size, ""

    @property
    def ranks(self) -> list[int]:
        """The number of dimensions that each input has for one example; 0 for a number."""
        return [rank_of(t) - b for t, b in zip(self.tensors, self.batched)]

    def shape(self, place: int) -> tuple[int, ...]:
        """One example's shape of the input at a place."""
        shape: tuple[int, ...] = self.tensors[place]._array.shape
        return shape[1:] if self.batched[place] else shape

    def whole(self, place: int) -> Any:
        """The input at a place with a batch in any case: one that has none is expanded."""
        tensor = self.tensors[place]
        return tensor if self.batched[place] else expanded(tensor, self.size)

    def wholes(self) -> list[Any]:
        """All inputs so."""
        return [self.whole(place) for place in range(len(self.tensors))]

    def aligned(self) -> list[Any]:
        """The inputs, batched ones with further dimensions of size one behind the batch, so that all broadcast."""
        rank = max(self.ranks)
        return [padded(t, rank - r) if b else t for t, b, r in zip(self.tensors, self.batched, self.ranks)]

    def filled(self) -> dict[str, Any]:
        """The constants, arrays among them with a batch in front."""
        return {name: spread(value, self.size) for name, value in self.params.items()}

    def again(self, tensors: Sequence[Any], **params: Any) -> Any:
        """The row's result for these inputs, and for other constants than the example's."""
        return call(self.row, tensors, self.params | params if params else self.params)


class Batched:
    """A tensor among a row's constants that has a batch, in front; or the array of one.

    Attributes
    ----------
    tensor : Tensor
        For all examples.
    bare : bool
        Whether the row takes its array.
    number : bool
        Whether it takes the number in that.
    """

    __slots__ = ("bare", "number", "tensor")

    def __init__(self, tensor: Any, bare: bool = False, number: bool = False) -> None:
        self.tensor, self.bare, self.number = tensor, bare, number


Rule = Callable[[Batch], Any]


def call(row: Row | str, tensors: Sequence[Any], params: dict[str, Any] | None = None) -> Any:
    """What a row gives."""
    found = rows[row] if isinstance(row, str) else row
    values = params.values() if params else ()
    return found.call(list(tensors), *values) if found.variadic else found.call(*tensors, *values)


def rank_of(value: Any) -> int:
    """The number of dimensions; 0 of a number."""
    return value._array.ndim if isinstance(value, _runtime.Tensor) else 0


def to_front(tensor: Any, dim: int | None) -> Any:
    """A view whose first dimension is the one at *dim*."""
    if not dim:
        return tensor
    order = list(range(tensor._array.ndim))
    return call("permute", [tensor], {"dims": (order.pop(dim), *order)})


def padded(tensor: Any, count: int, place: int = 1) -> Any:
    """A view with *count* dimensions of size one from *place* on."""
    dims = tuple(range(place, place + count))
    return call("unsqueeze_dims", [tensor], {"dim": dims}) if count else tensor


def expanded(tensor: Any, size: int) -> Any:
    """A view with a batch in front, in which every example is the same."""
    return call("expand", [padded(tensor, 1, 0)], {"size": (size, *tensor._array.shape)})


def spread(value: Any, size: int) -> Any:
    """An array among the constants with a batch in front: one that has none is the same for every example.

    Arrays are values too, which observers know; so the operations are those of rows.
    """
    if value.__class__ is Batched and value.bare:
        return value.tensor._array
    return expanded(_runtime.wrap(value), size)._array if isinstance(value, np.ndarray) else value


def on_array(function: Callable[..., Any], array: np.ndarray, *args: Any) -> np.ndarray:
    """What a function of tensors makes of an array."""
    out: np.ndarray = function(_runtime.wrap(array), *args)._array
    return out


def reshaped(tensor: Any, *shape: int) -> Any:
    """The elements in another shape: a view where they are in order."""
    array = tensor._array
    if -1 in shape:
        known = -math.prod(shape)
        shape = tuple([array.size // (known or 1) if size == -1 else size for size in shape])
    if array.shape == shape:
        return tensor
    if not array.flags.c_contiguous:
        tensor = call("contiguous", [tensor])
    return call("view", [tensor], {"size": shape})


def mapped(function: Callable[[Any], Any], result: Any) -> Any:
    """The function of a result; of each, where there are several."""
    return tuple([function(r) for r in result]) if isinstance(result, (tuple, list)) else function(result)
