"""The autograd part of Tensor: what each attribute and method does."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from . import _runtime
from ._args import array_of
from ._errors import scalar_name
from ._modes import active_levels, in_transform, inference_marks, inference_mode_on, levels, observers
from ._op import rows
from ._passes import note_leaf, tell
from ._records import show, tell_parts
from ._runtime import has_tangent, traced, wrap
from ._tape import AccumulateGrad, Output, extras_of, output_hooks
from ._value_notes import note_cut
from ._views import InferenceEdits, InferenceView, current_node, edits_of

FLOATS_ONLY = "only Tensors of floating point dtype can require gradients"
NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
    "Tensor instead."
)
FLAGS = "you can only change requires_grad flags of leaf variables."


def requires_grad(self: Any) -> bool:
    """Whether gradients are to be computed for this tensor."""
    return self._node is not None or current_node(self) is not None


def set_requires_grad(self: Any, value: bool) -> None:
    """Assign ``requires_grad`` of a leaf."""
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, but got {type(value).__name__}")
    if not is_leaf(self):
        hint = (
            ""
            if value
            else " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
        raise RuntimeError(FLAGS + hint)
    _switch(self, bool(value))


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Set whether this leaf requires grad, and return it.

    Raises
    ------
    RuntimeError
        For integers and bools, for results of operations (unless they require grad already), for inference tensors; inside of
        a function that a transform of ``torch.func`` or ``vmap`` runs.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    if not isinstance(requires_grad, bool):
        raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if in_transform() or any([observer.batches and observer.active() for observer in observers]):
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() inside of a function being transformed by torch.func or vmap: "
            "it would not make the tensor an input of the transform. Use the transforms (e.g. grad, vjp, jacrev, jacfwd, "
            "hessian), or call requires_grad_() outside of the function being transformed"
        )
    if not is_leaf(self):
        if requires_grad:
            return self
        set_requires_grad(self, False)
    _switch(self, bool(requires_grad))
    return self


def _switch(tensor: Any, value: bool) -> None:
    node = tensor._node
    if value and node is None:
        if tensor._array.dtype.kind != "f":
            raise RuntimeError(FLOATS_ONLY)
        if is_inference(tensor) and not inference_mode_on.get():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        tensor._node = node = getattr(tensor, "_accumulator", None) or AccumulateGrad(tensor)
        node.array, node.grad = tensor._array, getattr(tensor, "_grad", None)
        if observers:
            note_leaf(tensor)
    elif not value and node is not None:
        tensor._node = None
        tensor._accumulator, tensor._grad = node, node.grad  # its hooks are there again when it requires grad again
        if observers:
            tell(node, "frozen")


def is_leaf(self: Any) -> bool:
    """Whether this tensor was made by the user, or needs no gradient."""
    node = current_node(self)
    return node is None or node.__class__ is AccumulateGrad


def grad_fn(self: Any) -> Any:
    """The node of the operation that made this tensor; None for leaves."""
    node = current_node(self)
    if node.__class__ is AccumulateGrad:
        return None
    return node.edges[0] if node.__class__ is Output else node


def output_nr(self: Any) -> int:
    """Which of its node's outputs this tensor is."""
    node = current_node(self)
    return node.index if node.__class__ is Output else 0


def grad(self: Any) -> Any:
    """The accumulated gradient; None until a backward pass reached this leaf."""
    node = self._node
    if node.__class__ is AccumulateGrad:
        if observers:
            tell_parts("grad_read", self, node.grad)
        return node.grad
    value = getattr(self, "_grad", None)
    if node is None and observers:
        tell_parts("grad_read", self, value)
    if value is None and node is not None and not retains_grad(self):
        warnings.warn(NOT_A_LEAF, UserWarning, stacklevel=2)
    return value


def set_grad(self: Any, value: Any) -> None:
    """Assign the gradient: None, or a tensor of this tensor's shape and dtype."""
    if value is not None:
        if not isinstance(value, _runtime.Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value._array.dtype is not self._array.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{scalar_name(value._array.dtype)}' to a tensor of dtype "
                f"'{scalar_name(self._array.dtype)}'. The gradient must match the tensor's dtype: convert it with .to()"
            )
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )
    if observers:
        tell(self._node, "cleared" if value is None else "assigned")
        if self._node.__class__ is AccumulateGrad:
            tell_parts("graded", self, self._node.grad, None)  # what it was does not matter any more
            if value is not None:
                tell_parts("graded", self, None, value)
        elif self._node is None:
            tell_parts("graded", self, getattr(self, "_grad", None), value)
    if self._node.__class__ is AccumulateGrad:
        self._node.grad = value
    else:
        self._grad = value


def delete_grad(self: Any) -> None:
    """``del x.grad``: the same as ``x.grad = None``."""
    set_grad(self, None)


def retains_grad(self: Any) -> bool:
    """Whether this is a non-leaf that keeps its gradient."""
    node = current_node(self)
    if node is None or node.__class__ is AccumulateGrad:
        return False
    retained = output_hooks(node).retained if node.__class__ is Output or node.extras is not None else None
    return retained is not None and retained() is self


def retain_grad(self: Any) -> None:
    """Keep the gradient of this non-leaf in ``.grad`` when a backward pass reaches it; nothing happens to a leaf.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> y.retain_grad()
    >>> (y * y).sum().backward()
    >>> y.grad
    tensor([6., 6.])
    """
    node = current_node(self)
    if node is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if node.__class__ is not AccumulateGrad:
        output_hooks(node).retained = weakref.ref(self)


def name(self: Any) -> str | None:
    """What the user calls this tensor, if anything: shown in tapes, pictures and messages."""
    given: str | None = self.__dict__.get("name")
    return given


def set_name(self: Any, value: str | None) -> None:
    """Call this tensor something; the node that made it knows the name too."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a tensor's name must be str or None, not {type(value).__name__}")
    self.__dict__["name"] = value
    node = current_node(self)
    if node is not None and node.__class__ is not AccumulateGrad:
        node, index = (node.edges[0], node.index) if node.__class__ is Output else (node, 0)
        extras_of(node).names[index] = value


def version(self: Any) -> int:
    """How often this tensor's memory was written in place."""
    if self._alias is None:
        return 0
    if self._alias.inference:
        raise RuntimeError("Inference tensors do not track version counter.")
    return self._alias.edits.count


def is_inference(self: Any) -> bool:
    """Whether this tensor was made in inference mode."""
    array_of("is_inference", self)
    return self._alias is not None and self._alias.inference


def detach(self: Any) -> Any:
    """A tensor with the same memory that needs no gradient; writes into either are seen by both, and by backward.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.detach()
    tensor([1., 1.])
    """
    twin = wrap(self._array)
    twin._layout = self._layout
    twin._alias = edits_of(self)
    if observers:
        twin._array = self._array.view()  # what observers know values by
        note_cut("detach", self, twin)
        show(rows["detach"], (twin,), (self,), ())
    return twin


traced.detach = rows["detach"].call = detach


def detach_(self: Any) -> Any:
    """Cut this tensor from its graph, in place; its tangents are gone, too.

    Raises
    ------
    RuntimeError
        For a view: detach its base.
    """
    array_of("detach_", self)
    if self._alias is not None and self._alias.parent is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
            "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets."
        )
    if observers:
        note_cut("detach_", self, self)
        for level in active_levels():
            level[self._array] = None
    if self._node.__class__ is AccumulateGrad:
        _switch(self, False)
    self._node = None
    return self


def data(self: Any) -> Any:
    """A tensor with the same memory that autograd does not follow: writes through it are not noticed."""
    twin = wrap(self._array)
    twin._layout = self._layout
    if observers:
        twin._array = self._array.view()  # what observers know values by
        note_cut("data", self, twin)
        show(rows["detach"], (twin,), (self,), ())
    if in_transform() and self._alias is not None:  # which refuses writes into what its function has captured
        edits_of(twin).watchers = self._alias.edits.watchers
    return twin


def set_data(self: Any, value: Any) -> None:
    """Give this tensor another tensor's memory, without telling autograd."""
    if not isinstance(value, _runtime.Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if in_transform():
        raise RuntimeError(
            "mutating directly with `.data` inside functorch transform is not allowed: make a new tensor, or write into one "
            "that the function made with copy_()"
        )
    if self._node is not None and value._array.dtype.kind != "f":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    tangents = [(level, level.of(self)) for level in active_levels()]
    if any([tangent is not None for _, tangent in tangents]) or has_tangent(value):
        value = detach(value)  # the tensor keeps its tangents, and those of *value* are not its own
    fits = self._array.shape == value._array.shape
    if observers and fits:
        token = levels.set(())
        try:
            tell_parts("written", self, value)
            tell_parts("rebound", self)
        finally:
            levels.reset(token)
    self._array, self._layout = value._array, value._layout
    for level, tangent in tangents:
        if tangent is not None and fits:
            level.put(self, tangent)
        elif tangent is not None:
            level[self._array] = None  # nor has it that of what it was a view of
    if self._node.__class__ is AccumulateGrad:
        self._node.array = value._array


def mark_inference(tensor: Any) -> None:
    """Make a tensor just made an inference tensor, unless it is a view of a normal one."""
    alias = tensor._alias
    if alias is None:
        tensor._alias = InferenceEdits()
    elif alias.parent is not None and not alias.edits.inference:
        view = InferenceView()
        view.edits, view.parent, view.row = alias.edits, alias.parent, alias.row
        view.params, view.index, view.seen = alias.params, alias.index, alias.seen
        tensor._alias = view


inference_marks.mark = mark_inference
