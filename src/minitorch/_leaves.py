"""Where a walk ends: a leaf's hooks, and its gradient captured or added to ``.grad``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _runtime
from ._hooks import as_tensor, at_leaf
from ._modes import observers
from ._records import tell_parts
from ._runtime import traced, wrap
from ._tape import AccumulateGrad, Outputs
from ._value_notes import tell_derived
from ._views import edit, tell_edit

if TYPE_CHECKING:
    from ._engine import Walk

_accumulating = threading.RLock()
"""Held while a gradient is added to a leaf: several threads may run backward to one leaf."""


def finish_leaf(node: AccumulateGrad, gradient: Any, fresh: bool, F: Any, walk_: Walk) -> None:
    """The leaf's hooks; then its gradient is captured, or added to ``.grad``."""
    tensor = node.leaf()
    if tensor is not None and tensor._node is not node:  # told since the forward pass that it needs no gradient
        return
    if node.hooks or node.extras is not None or walk_.captured is not None:
        gradient, fresh, wanted = before_accumulation(node, gradient, fresh, F, walk_)
        if not wanted:
            return
    with _accumulating:
        before = node.grad
        if fresh and before is None and gradient.__class__ is np.ndarray:  # it is ours, and taken
            node.grad = wrap(gradient)
        else:
            node.grad = accumulated(before, gradient, walk_.create)
    if observers:
        tell_parts("graded", node.variable, before, node.grad)
        if before is None and not walk_.create:
            tell_derived([node.grad])
    if node.post_hooks:
        for hook in tuple(node.post_hooks.values()):
            if hook(node.variable) is not None:
                raise RuntimeError("post accumulate grad hooks should return None.")
    if node.extras is not None:
        for hook in tuple(node.extras.posthooks.values()):
            hook((), (as_tensor(gradient, F),))


def before_accumulation(
    node: AccumulateGrad, gradient: Any, fresh: bool, F: Any, walk_: Walk
) -> tuple[Any, bool, bool]:
    """Hooks and capture at a leaf: the gradient, whether it is ours, and whether it is to be accumulated."""
    if node.hooks or (node.extras is not None and node.extras.prehooks):
        gradient, fresh = at_leaf(node, gradient, F, walk_.accumulate), False
    if walk_.captured is None:
        return gradient, fresh, True
    if node not in walk_.captured:
        return gradient, fresh, False
    walk_.captured[node] = own(gradient, fresh, F)
    return gradient, False, walk_.accumulate


def accumulated(grad: Any, gradient: Any, create: bool) -> Any:
    """The new ``.grad``: a copy of the first gradient; added to in place unless the sum is to be differentiable."""
    if grad is None:
        if create:
            return gradient
        return traced.clone(gradient) if isinstance(gradient, _runtime.Tensor) else wrap(np.array(gradient))
    if create:
        return grad + gradient
    if isinstance(gradient, _runtime.Tensor):
        return grad.add_(gradient)
    if observers:
        tell_edit(grad)
    try:
        np.add(grad._array, gradient, out=grad._array)
    except ValueError as error:
        raise RuntimeError(
            f"cannot add a gradient of shape {np.shape(gradient)} to the .grad that is there, of shape {grad._array.shape}: "
            f"{error}; set it to None, or to a clone"
        ) from None
    edit(grad)
    return grad


def own(gradient: Any, fresh: bool, F: Any) -> Any:
    """A gradient to hand to the user: never memory that something else holds."""
    if F is traced or fresh:
        return gradient
    if gradient.__class__ is Outputs:
        return Outputs({index: np.array(g) for index, g in gradient.items()})
    return np.array(gradient)
