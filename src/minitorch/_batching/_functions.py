"""Custom Functions under ``vmap``: by their ``vmap`` staticmethod, or by mapping their forward and their backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._kernels.scatter import ALL
from .._pytree import tree_flatten
from ..autograd.function import Function
from ._batch import expanded, to_front
from ._vmap import spread_over, vmap


class VmapInfo(NamedTuple):
    """What a custom Function's ``vmap`` is told.

    Attributes
    ----------
    batch_size : int
        How many examples there are.
    randomness : str
        What random operations do.
    """

    batch_size: int
    randomness: str


def applied(function: Any, args: Sequence[Any], batched: Sequence[bool], size: int, randomness: str) -> list[Any]:
    """The outputs, with the examples in front, of a custom Function of whole batches."""
    if function.vmap is Function.vmap:
        out = mapped_function(function, tuple([0 if b else None for b in batched]), randomness).apply(*args)
        return [o for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, _runtime.Tensor)]
    out, dims = by_own_rule(function, args, batched, size, randomness)
    found = []
    for output, dim in zip(out if isinstance(out, tuple) else (out,), dims):
        if not isinstance(output, _runtime.Tensor):
            continue
        if dim is not None and output._array.shape[dim] != size:
            raise RuntimeError(
                f"{function.__name__}.vmap returned an output of shape {output._array.shape} and out_dims={dim} for it, but "
                f"there are {size} examples: give the dimension that they lie along, or None for what is the same for all"
            )
        found.append(expanded(output, size) if dim is None else to_front(output, dim))
    return found


def of_first(function: Any, args: Sequence[Any], batched: Sequence[bool], randomness: str) -> Any:
    """What a custom Function's own rule gives for a batch of one: for the first example.

    A batched argument that the rule returns as it is, is that argument.
    """
    ones = [_runtime.wrap(a._array[None]) if b else a for a, b in zip(args, batched)]
    out, dims = by_own_rule(function, ones, batched, 1, randomness)
    given = {id(one): a for one, a, b in zip(ones, args, batched) if b}
    outputs = out if isinstance(out, tuple) else (out,)
    firsts = tuple([given[id(o)] if id(o) in given else _first(o, dim) for o, dim in zip(outputs, dims)])
    return firsts if isinstance(out, tuple) else firsts[0]


def _first(output: Any, dim: int | None) -> Any:
    """The first example of an output, in memory of its own."""
    if not isinstance(output, _runtime.Tensor):
        return output
    array = output._array
    return _runtime.wrap(np.array(array if dim is None else array[(ALL,) * dim + (0,)], order="C"))


def by_own_rule(
    function: Any, args: Sequence[Any], batched: Sequence[bool], size: int, randomness: str
) -> tuple[Any, list[int | None]]:
    """What a custom Function's ``vmap`` returns, with a dimension, counted from the front, or None for each output.

    Raises
    ------
    RuntimeError
        If it does not return outputs and ``out_dims`` of their structure.
    IndexError, TypeError
        If a dimension is not there, or is no integer.
    """
    result = function.vmap(VmapInfo(size, randomness), tuple([0 if b else None for b in batched]), *args)
    name = f"{function.__name__}.vmap"
    if not (isinstance(result, tuple) and len(result) == 2):
        got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result).__name__}"
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims, but {name} gave {got}: return "
            "(output, out_dims), out_dims a dimension, or None, or for several outputs a tuple of them"
        )
    out, out_dims = result
    several = isinstance(out, tuple)
    dims = spread_over(out_dims, tree_flatten(out, is_leaf=lambda part: part is not out or not several)[1])
    if dims is None:
        raise RuntimeError(
            f"{name} returned an incompatible (output, out_dims) tuple: out_dims={out_dims} for "
            + (f"a tuple of {len(out)} outputs" if several else "one output that is no tuple")
            + ": return "
            + ("a tuple with a dimension, or None, for each, or one for all" if several else "a dimension, or None")
        )
    return out, [_from_the_front(name, o, d) for o, d in zip(out if several else (out,), dims)]


def _from_the_front(name: str, output: Any, dim: Any) -> int | None:
    """The dimension of an output, counted from the front."""
    if dim is None:
        return None
    if not isinstance(output, _runtime.Tensor):
        raise ValueError(
            f"{name} returned out_dims={dim} for a {type(output).__name__}: return Tensors, or None for its dimension"
        )
    if not isinstance(dim, int):
        raise TypeError(
            f"{name} returned out_dims with {dim!r}, a {type(dim).__name__}: return a dimension, an int, or None"
        )
    rank = output._array.ndim
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim}): {name} returned it as "
            f"out_dims of an output of shape {output._array.shape}; return the dimension that the examples lie along, or None"
        )
    return dim % rank


class Saving:
    """What a Function's ``setup_context``, ``backward`` and ``jvp`` of one example take for ``ctx``."""

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs)
        self.saved_tensors: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Note which outputs have no gradient."""
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Refuse: what is written may be shared by the examples."""
        raise RuntimeError("vmap: a custom Function with generate_vmap_rule=True cannot mark tensors as dirty")

    def set_materialize_grads(self, value: bool) -> None:
        """Note whether missing gradients come as zeros or as None."""
        self.materialize = value


def mapped_function(function: Any, dims: tuple[int | None, ...], randomness: str) -> Any:
    """The Function of whole batches whose methods are those of a Function, mapped; it is mapped likewise itself."""

    class Batch(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*args: Any) -> Any:
            return vmap(function.forward, dims, randomness=randomness)(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.several = isinstance(output, tuple)
            outputs = output if ctx.several else (output,)
            ctx.kept = [TENSOR if isinstance(i, _runtime.Tensor) else i for i in inputs]
            whole = [*[i for i in inputs if isinstance(i, _runtime.Tensor)], *outputs]
            ctx.save_for_backward(*whole)
            ctx.save_for_forward(*whole)

            def one(inputs: Any, outputs: Any) -> Any:
                own = of_one(function, ctx, inputs, outputs)
                return Said([any([o is t for t in own.non_differentiable]) for o in outputs], own.materialize)

            said = vmap(one, (list(dims), 0), None, randomness)(list(inputs), list(outputs))
            ctx.mark_non_differentiable(*[o for o, marked in zip(outputs, said.flags) if marked])
            ctx.set_materialize_grads(said.materialize)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            def one(inputs: Any, outputs: Any, gradients: Any) -> Any:
                found = function._backward()(of_one(function, ctx, inputs, outputs), *gradients)
                found = found if isinstance(found, tuple) else (found,)
                return parted([_of_size(g, i) for g, i in zip(found, (*inputs, *[None] * len(found)))])

            found = on_all(one, ctx, dims, gradients, [0] * len(gradients), randomness)
            return tuple([_shared(g, dim) for g, dim in zip(found, dims)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            def one(inputs: Any, outputs: Any, tangents: Any) -> Any:
                own = of_one(function, ctx, inputs, outputs)
                own.saved_tensors = own.saved_for_forward
                found = function.jvp(own, *tangents)
                return parted(found if isinstance(found, tuple) else (found,))

            found = on_all(one, ctx, dims, tangents, dims, randomness)
            return tuple(found) if ctx.several else found[0]

    Batch.__name__ = Batch.__qualname__ = function.__name__
    return Batch


def of_one(function: Any, ctx: Any, inputs: Any, outputs: Any) -> Saving:
    """What a Function's methods take for ctx, of one example."""
    own = Saving(ctx.needs_input_grad)
    function.setup_context(own, tuple(inputs), tuple(outputs) if ctx.several else outputs[0])
    return own


def on_all(
    one: Any, ctx: Any, dims: Sequence[int | None], given: Sequence[Any], places: Sequence[int | None], randomness: str
) -> list[Any]:
    """What a method of one example gives for all: of what was saved, and of gradients or tangents, with None for some."""
    saved = iter(ctx.saved_tensors)
    inputs = [next(saved) if kept is TENSOR else kept for kept in ctx.kept]
    there = [None if g is None else place for g, place in zip(given, places)]
    found, said = vmap(one, (list(dims), 0, there), (0, None), randomness)(inputs, list(saved), list(given))
    parts = iter(found)
    return [next(parts) if there else None for there in said.flags]


class Said:
    """What one example says of all: a leaf that is no tensor."""

    def __init__(self, flags: list[bool], materialize: bool = True) -> None:
        self.flags, self.materialize = flags, materialize


def parted(results: Sequence[Any]) -> tuple[list[Any], Said]:
    """The results that there are, and which these are."""
    return [r for r in results if r is not None], Said([r is not None for r in results])


TENSOR = object()
"""Stands for the tensors among a Function's arguments."""


def _of_size(gradient: Any, argument: Any) -> Any:
    """The gradient of an argument, which may have the shape of what that was broadcast to."""
    if gradient is None or not isinstance(argument, _runtime.Tensor) or gradient._array.shape == argument._array.shape:
        return gradient
    return gradient.sum_to_size(argument._array.shape)


def _shared(gradient: Any, dim: int | None) -> Any:
    """The gradient of an argument that all examples share is the sum of theirs."""
    return gradient.sum(0) if gradient is not None and dim is None else gradient
