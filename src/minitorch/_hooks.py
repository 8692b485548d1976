"""What the walk does at the few nodes that have extras: hooks, retained gradients, packed values, anomaly checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _runtime
from ._extras import OutputHooks, RemovableHandle
from ._runtime import traced, wrap
from ._saved import unpacking
from ._tape import AccumulateGrad, Node, Outputs, output_hooks
from ._views import current_node

hooked_leaves: list[None] = []
"""Not empty once a leaf has had hooks: backward passes then find out when each such leaf is complete."""


def as_tensor(gradient: Any, F: Any) -> Any:
    """A gradient of the walk as hooks see it."""
    return gradient if F is traced or gradient is None else wrap(np.asarray(gradient))


def as_gradient(tensor: Any, F: Any) -> Any:
    """What a hook returned, as the walk carries it."""
    return tensor if F is traced or tensor is None else tensor._array


def checked(old: Any, new: Any) -> Any:
    """What a hook returned for a gradient: None keeps it; a tensor of its shape and dtype replaces it."""
    if new is None:
        return old
    if not isinstance(new, _runtime.Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}': return a Tensor or None")
    if old is not None and new._array.shape != old._array.shape:
        raise RuntimeError(
            f"hook has changed the size of value: it returned shape {tuple(new._array.shape)}, "
            f"expected {tuple(old._array.shape)}"
        )
    if old is not None and new._array.dtype != old._array.dtype:
        raise RuntimeError(f"hook has changed the type of value: it returned {new.dtype}, expected {old.dtype}")
    return new


def checked_tuple(given: tuple[Any, ...], returned: Any) -> tuple[Any, ...]:
    """What a node's hook returned for its gradients: None keeps them, a tuple of as many replaces them."""
    if returned is None:
        return given
    if not isinstance(returned, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(returned).__name__}': return a tuple or None")
    if len(returned) != len(given):
        raise RuntimeError(
            f"hook has returned an incorrect number of values (got {len(returned)}, but expected {len(given)})"
        )
    return tuple([None if new is None else checked(old, new) for old, new in zip(given, returned)])


def run_tensor_hooks(hooks: dict[Any, Any], tensor: Any) -> Any:
    """Tensor hooks in order of registration, each seeing what the one before left."""
    for hook in tuple(hooks.values()):
        tensor = checked(tensor, hook(tensor))
    return tensor


def before(outputs: dict[int, OutputHooks], gradient: Any, F: Any) -> Any:
    """Each output's tensor hooks and retained gradient; returns the gradient they leave."""
    if not outputs:
        return gradient
    if gradient.__class__ is not Outputs:
        return _at_output(outputs[0], gradient, F)
    left = Outputs(gradient)
    for index, hooks in outputs.items():
        replacement = _at_output(hooks, gradient.get(index), F)
        if replacement is not None:
            left[index] = replacement
    return left


def _at_output(output: OutputHooks, gradient: Any, F: Any) -> Any:
    tensor = run_tensor_hooks(output.hooks, as_tensor(gradient, F))
    if tensor is not None and output.retained is not None and (keeper := output.retained()) is not None:
        kept = getattr(keeper, "_grad", None)
        if kept is not None:
            keeper._grad = kept + tensor
        else:  # memory of its own, as the gradient goes on to others
            keeper._grad = tensor if F is traced else wrap(np.array(tensor._array))
    return as_gradient(tensor, F)


def at_leaf(node: AccumulateGrad, gradient: Any, F: Any, run_prehooks: bool) -> Any:
    """A leaf's tensor hooks and, where its gradient is accumulated, its node's prehooks."""
    tensor = run_tensor_hooks(node.hooks or {}, as_tensor(gradient, F))
    if run_prehooks and node.extras is not None:
        for hook in tuple(node.extras.prehooks.values()):
            (tensor,) = checked_tuple((tensor,), hook((tensor,)))
    return as_gradient(tensor, F)


def after(node: Node, gradient: Any, F: Any, edges: tuple[Any, ...], retain: bool, check: Any) -> Any:
    """Run a node that has prehooks, post hooks, packed values, guards, or whose results are to be checked."""
    extras = node.extras
    if extras is not None and extras.prehooks:
        gradient = _prehooked(node, extras.prehooks, gradient, F)
    if extras is not None:
        for name, edits in extras.guards:
            _runtime.check_unedited(node, edits, name)
    with unpacking(node, retain):
        if check is None:
            results = node.backward(gradient, F, edges, retain)
        else:
            results = check(node, gradient, lambda g: node.backward(g, F, edges, retain), F)
    if extras is not None and extras.posthooks:
        inputs = tuple([as_tensor(r, F) for r in results])
        outputs = tuple([as_tensor(g, F) for g in listed(node, gradient)])
        for hook in tuple(extras.posthooks.values()):
            inputs = checked_tuple(inputs, hook(inputs, outputs))
        results = [as_gradient(r, F) for r in inputs]
    return results


def _prehooked(node: Node, hooks: dict[int, Any], gradient: Any, F: Any) -> Any:
    """The gradient after the node's prehooks, which see one entry per output."""
    outputs = tuple([as_tensor(g, F) for g in listed(node, gradient)])
    for hook in tuple(hooks.values()):
        outputs = checked_tuple(outputs, hook(outputs))
    if gradient.__class__ is Outputs:
        return Outputs({i: as_gradient(g, F) for i, g in enumerate(outputs) if g is not None})
    return as_gradient(outputs[0], F)


def listed(node: Node, gradient: Any) -> list[Any]:
    """The gradient of each output of a node, None where none came."""
    if gradient.__class__ is Outputs:
        return [gradient.get(i) for i in range(len(node.layout))]
    return [gradient]


# -- registering -------------------------------------------------------------------------------------------------------
def register_hook(tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``hook(gradient)`` whenever the tensor's gradient is computed; a returned tensor replaces the gradient.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> (x * 2).sum().backward()
    >>> x.grad
    tensor([20., 20.])
    """
    node = current_node(tensor)
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if node.__class__ is AccumulateGrad:
        if node.hooks is None:
            node.hooks = {}
            hooked_leaves.append(None)
        return RemovableHandle(node.hooks, hook)
    return RemovableHandle(output_hooks(node).hooks, hook)


def register_post_accumulate_grad_hook(tensor: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """Call ``hook(leaf)`` after each addition to the leaf's ``.grad``.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad, or is no leaf.
    """
    node = current_node(tensor)
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if node.__class__ is not AccumulateGrad:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if node.post_hooks is None:
        node.post_hooks = {}
        hooked_leaves.append(None)
    return RemovableHandle(node.post_hooks, hook)
