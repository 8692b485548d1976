"""What vmap refuses, and what to do instead."""

from __future__ import annotations

from typing import Any

from .._errors import reading

RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
    "flags on vmap, or draw outside of vmap and map over what was drawn"
)
SAME_OF_BATCHED = (
    "vmap: does not support same randomness with a batched tensor input: what is drawn depends on it. Please use "
    "randomness='different', or draw outside of vmap"
)
WRITE = (
    "vmap: an inplace operation is not possible because what is written is vmapped over and what it is written into is not, so "
    "that every example would write into the same memory. Please use an out-of-place operator, or make the tensor that is "
    "written inside of the function, or map over it too (of batch normalisation in training: call "
    "eval() first, make it with track_running_stats=False, use func.replace_all_batch_norm_modules_, or map over its buffers)"
)
BACKWARD = (
    "vmap: backward() called inside of vmap would add the gradients of each example to one .grad. Please use func.grad or "
    "autograd.grad, which return them, or call backward() on the results of vmap"
)
ESCAPED = (
    "vmap: your tensor may have escaped from inside a function being vmapped: it is of the examples of a map that has ended. "
    "Please return it from the function, and use what vmap gives for it"
)
LEAVING = {
    "item": (
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, as it "
        "has another value for each example: keep it a Tensor, and compute with it"
    ),
    "format": (
        "vmap: It looks like you're calling .item() on a Tensor, as formatting its number does (an f-string, format()). We "
        "don't support that, as it has another value for each example: print(x) and f'{x!r}' show that of the first one"
    ),
    "bool": (
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that, as "
        "the condition may differ from example to example: compute both branches and choose with torch.where(condition, a, b)"
    ),
    "numpy": (
        "vmap: .numpy() cannot give one array of a Tensor that is vmapped over: keep to operations on Tensors, or return the "
        "Tensor and convert the result of vmap"
    ),
    "tolist": (
        "vmap: .tolist() cannot give one list of a Tensor that is vmapped over: keep to operations on Tensors, or return the "
        "Tensor and convert the result of vmap"
    ),
}
"""By the way in which a value becomes Python's or NumPy's."""


OPTION = (
    "vmap: It looks like you're calling .item() on a Tensor: {name}() takes a number (an option such as alpha or eps, a size, "
    "a dimension), the same for all examples, but it was given a Tensor that is vmapped over. Pass a number, or do the "
    "same with operations on Tensors, such as x + alpha * y in place of add(x, y, alpha=alpha)"
)
COMPARED = (
    "vmap: {name}() is one answer of Python for all examples, but the Tensors that it compares are vmapped over: we don't "
    "support data-dependent control flow. Compare with operations on Tensors, such as (a == b).all(), and choose with "
    "torch.where(condition, a, b)"
)
_CONVERTERS = tuple([f"{__package__.rpartition('.')[0]}.{name}" for name in ("_args", "_convert", "_value_notes")]) + (
    f"{__package__}._examples",
    __name__,
)


def check_leaving(kind: str) -> None:
    """Refuse a value that depends on the batch as Python's or NumPy's."""
    if kind in ("item", "bool") and (name := reading(_CONVERTERS)):
        raise RuntimeError((COMPARED if name in ("equal", "allclose") else OPTION).format(name=name))
    if kind in LEAVING:
        raise RuntimeError(LEAVING[kind])


def check_function(function: Any) -> None:
    """Refuse a custom Function that says nothing of vmap."""
    from ..autograd.function import Function, one_forward

    own = function.vmap is not Function.vmap
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if function.setup_context is Function.setup_context:
        raise RuntimeError(one_forward(function))
    if not own and not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and implement the "
            "vmap staticmethod or set generate_vmap_rule=True."
        )
