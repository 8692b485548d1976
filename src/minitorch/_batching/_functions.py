"""Custom Functions under ``vmap``: by their ``vmap`` staticmethod, or by mapping their forward and their backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _runtime
from ..autograd.function import Function
from ._batch import expanded, to_front
from ._vmap import vmap


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
    dims = tuple([0 if b else None for b in batched])
    if function.vmap is Function.vmap:
        out = mapped_function(function, dims).apply(*args)
        return [o for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, _runtime.Tensor)]
    result = function.vmap(VmapInfo(size, randomness), dims, *args)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected {function.__name__}.vmap to return (output, out_dims), a tuple of two, but got {type(result)}"
        )
    out, out_dims = result
    outputs = out if isinstance(out, tuple) else (out,)
    places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    if len(places) != len(outputs):
        raise RuntimeError(
            f"{function.__name__}.vmap returned {len(outputs)} outputs and out_dims for {len(places)}: it takes one for each"
        )
    return [expanded(o, size) if d is None else to_front(o, d % o._array.ndim) for o, d in zip(outputs, places)]


class Saving:
    """What a Function's ``setup_context`` and ``backward`` of one example take for ``ctx``."""

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs)
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Gradients of these are not asked for here."""

    def mark_dirty(self, *tensors: Any) -> None:
        """Refuse: what is written may be shared by the examples."""
        raise RuntimeError("vmap: a custom Function with generate_vmap_rule=True cannot mark tensors as dirty")

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients come materialized."""


def mapped_function(function: Any, dims: tuple[int | None, ...]) -> Any:
    """The Function of whole batches whose forward and backward are those of a Function, mapped."""

    class Batch(Function):
        @staticmethod
        def forward(*args: Any) -> Any:
            return vmap(function.forward, dims, randomness="different")(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.several = isinstance(output, tuple)
            outputs = output if ctx.several else (output,)
            ctx.kept = [TENSOR if isinstance(i, _runtime.Tensor) else i for i in inputs]
            ctx.save_for_backward(*[i for i in inputs if isinstance(i, _runtime.Tensor)], *outputs)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved, count = list(ctx.saved_tensors), len(gradients)
            tensors = iter(saved[: len(saved) - count])
            outputs = saved[len(saved) - count :]
            inputs = [next(tensors) if kept is TENSOR else kept for kept in ctx.kept]
            needs = ctx.needs_input_grad

            def one(inputs: Any, outputs: Any, gradients: Any) -> Any:
                own = Saving(needs)
                function.setup_context(own, tuple(inputs), tuple(outputs) if ctx.several else outputs[0])
                found = function._backward()(own, *gradients)
                found = found if isinstance(found, tuple) else (found,)
                return [g for g in found if g is not None], _Kept([g is not None for g in found])

            found, kept = vmap(one, (list(dims), 0, 0), (0, None))(inputs, outputs, list(gradients))
            parts = iter(found)
            whole = [next(parts) if there else None for there in kept.flags]
            return tuple([_shared(g, dim) for g, dim in zip(whole, dims)])

    Batch.__name__ = Batch.__qualname__ = function.__name__
    return Batch


class _Kept:
    """Which gradients there are: a leaf that is no tensor."""

    def __init__(self, flags: list[bool]) -> None:
        self.flags = flags


TENSOR = object()
"""Stands for the tensors among a Function's arguments."""


def _shared(gradient: Any, dim: int | None) -> Any:
    """The gradient of an argument that all examples share is the sum of theirs."""
    return gradient.sum(0) if gradient is not None and dim is None else gradient
