"""Gradients of a batch of vectors in one backward pass: ``autograd.grad(is_grads_batched=True)``."""

from __future__ import annotations

from typing import Any

from .._differentiate import gradients, gradients_for
from .._size import Size
from ._vmap import vmap


def batched(
    roots: tuple[Any, ...],
    wanted: tuple[Any, ...],
    grad_outputs: Any,
    retain: bool,
    create: bool,
    unused: bool,
    materialize: bool,
) -> tuple[Any, ...]:
    """One walk for each entry of the batch, stacked."""
    batches = gradients_for(roots, grad_outputs)
    sizes: list[int] = []
    for index, (root, batch) in enumerate(zip(roots, batches)):
        if batch is not None:
            shape, expected = tuple(batch.shape), tuple(root.shape)
            if not shape or shape[1:] != expected:
                raise RuntimeError(
                    f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                    f"dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                    f"output, but a mismatch was detected: grad_output[{index}] has a shape of "
                    f"{Size(shape[1:])} and output[{index}] has a shape of {root.shape}: give it "
                    "the sizes of the output, and one dimension more in front."
                )
            sizes.append(shape[0])
        elif root.numel() != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs: pass grad_outputs, with a batch in front"
            )
    if not sizes:
        raise ValueError(
            "is_grads_batched=True takes vectors from the first dimension of grad_outputs, but there are none: pass them"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension of grad_outputs"
        )
    dims = tuple([None if b is None else 0 for b in batches])
    there: list[bool] = []

    def one(*vectors: Any) -> list[Any]:
        results = gradients(roots, wanted, vectors, retain, create, unused, materialize)
        there[:] = [r is not None for r in results]
        return [r for r in results if r is not None]

    found = iter(vmap(one, dims, randomness="different")(*batches))
    return tuple([next(found) if t else None for t in there])
