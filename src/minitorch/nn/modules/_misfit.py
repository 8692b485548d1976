"""What is wrong with the shapes that a layer was called with, and what to do: for errors, see docs/design/09-errors.md."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor

Shape = tuple[int, ...]


def channels(name: str, shape: Shape, axis: int, count: int, argument: str) -> str:
    """Empty where dimension *axis* has *count* channels, as many as the layer's *argument* says."""
    if shape[axis] == count:
        return ""
    fix = f"make the layer with {argument}={shape[axis]}"
    if shape[-1] == count:
        fix = f"move the channels, which come last, with .movedim(-1, {axis})"
    return f"{name} expects {count} channels in dimension {axis} and got {shape}: {fix}"


def rows(name: str, shape: Shape, row: Shape) -> str:
    """Empty where the last dimensions are those of *row*."""
    if shape[len(shape) - len(row) :] == row and len(shape) >= len(row):
        return ""
    last = shape[-len(row) :]
    fix = f"make the layer with normalized_shape={last[0] if len(last) == 1 else last}" if last else "unsqueeze it"
    return f"{name} expects last dimensions {row} and got {shape}: reshape or permute the input, or {fix}"


def indices(name: str, input: Tensor, count: int) -> str:
    """Empty where all elements are integers from 0 to *count* - 1."""
    array = input._array
    if array.dtype.kind not in "iu":
        return f"{name} expects indices of int64 or int32 and got {input.dtype}: convert them with .long()"
    if not array.size or (array.min() >= 0 and array.max() < count):
        return ""
    return (
        f"{name} expects indices from 0 to {count - 1} and got some from {array.min()} to {array.max()}: map them to that "
        f"range, or make the layer with num_embeddings={max(array.max() + 1, count)}"
    )


def classes(name: str, scores: Tensor, target: Tensor, weight: Any, ignore_index: int) -> str:
    """Empty where *target* has a class of *scores*, (N, C, ...), at each of (N, ...)."""
    shape, got, values = tuple(scores.shape), tuple(target.shape), target._array
    expected = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    count = shape[len(shape) > 1] if shape else 0
    if got == shape and values.dtype.kind != "f":
        return (
            f"{name} got scores and a target of shape {shape}: class probabilities, or one-hot targets, need .float(); classes "
            f"have shape {expected}, as target.argmax({int(len(shape) > 1)}) gives them"
        )
    if got != expected and got != shape:
        fix = (
            f"use target.squeeze({len(expected)})"
            if got == (*expected, 1)
            else "reshape the target, or move the classes to dimension 1"
        )
        return (
            f"{name} expects, for scores of shape {shape} with {count} classes, a target of shape {expected} and got {got}: "
            f"{fix}"
        )
    if weight is not None and tuple(weight.shape) != (count,):
        return f"{name} expects a weight of shape {(count,)}, one for each class and got {tuple(weight.shape)}: give such a one"
    if values.dtype.kind == "f" and got != shape:
        return f"{name} expects classes of int64 and got {target.dtype}: convert the target with .long()"
    used = values[values != ignore_index]
    if values.dtype.kind == "f" or not used.size or (used.min() >= 0 and used.max() < count):
        return ""
    return (
        f"{name} expects classes from 0 to {count - 1} and got some from {used.min()} to {used.max()}: shift them, give the "
        f"scores {max(used.max() + 1, count)} classes, or set ignore_index"
    )


def alike(name: str, *tensors: Any) -> str:
    """Empty where all tensors have one shape."""
    shapes = [tuple(t.shape) for t in tensors if isinstance(t, Tensor)]
    if len(set(shapes)) < 2:
        return ""
    return f"{name} expects tensors of one shape and got {' and '.join(map(str, shapes))}: reshape, unsqueeze or expand one"


def factors(name: str, shape: Shape, weights: dict[str, Any]) -> str:
    """Empty where all weights, those that are not None, broadcast to *shape*."""
    for which, weight in weights.items():
        if weight is not None:
            own = tuple(weight.shape)
            sizes = zip(reversed(own), reversed(shape))
            if len(own) > len(shape) or any([n not in (1, size) for n, size in sizes]):
                return f"{name} expects a {which} that broadcasts to {shape} and got {own}: reshape it"
    return ""


def states(name: str, given: Any, names: tuple[str, ...], expected: tuple[Shape, ...]) -> str:
    """Empty where the first states of a recurrent layer have the *expected* shapes."""
    got = tuple([tuple(state.shape) for state in ((given,) if len(names) == 1 else given)])
    if got == expected:
        return ""
    return (
        f"{name} expects {' and '.join([f'{n} of shape {s}' for n, s in zip(names, expected)])} and got "
        f"{' and '.join(map(str, got))}: give such states, or none for zeros"
    )
