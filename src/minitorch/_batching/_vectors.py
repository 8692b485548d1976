"""Gradients of a batch of vectors in one backward pass: ``autograd.grad(is_grads_batched=True)``."""

from __future__ import annotations

from typing import Any

from .._differentiate import gradients, gradients_for
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
    sizes = set()
    for index, (root, batch) in enumerate(zip(roots, batches)):
        if batch is not None:
            shape, expected = tuple(batch.shape), tuple(root.shape)
            if not shape or shape[1:] != expected:
                raise RuntimeError(
                    f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                    f"dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                    f"output, but a mismatch was detected: grad_output[{index}] has a shape of {batch.shape} and "
                    f"output[{index}] has a shape of {root.shape}."
                )
            sizes.add(shape[0])
    if len(sizes) != 1:
        raise RuntimeError(f"is_grads_batched=True needs grad_outputs with one batch size, got {sorted(sizes)}")
    dims = tuple([None if b is None else 0 for b in batches])
    there: list[bool] = []

    def one(*vectors: Any) -> list[Any]:
        results = gradients(roots, wanted, vectors, retain, create, unused, materialize)
        there[:] = [r is not None for r in results]
        return [r for r in results if r is not None]

    found = iter(vmap(one, dims, randomness="different")(*batches))
    return tuple([next(found) if t else None for t in there])
