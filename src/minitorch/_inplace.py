"""In-place operations: the functional row on a twin, copied into the array, then history rewritten.

See docs/design/04-in-place.md.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _op, _runtime
from ._dtypes import can_cast
from ._errors import explained, scalar_name
from ._layouts import layout_of, layouts
from ._modes import grad_on, inference_mode_on, observers
from ._runtime import _observing, observe, operand, quiet, wrap
from ._tape import AccumulateGrad, extras_of, next_position
from ._views import INFERENCE_WRITE, Edits, current_node, edited, edits_of, root_of, take_step

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."
EXPANDED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def in_place(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The in-place form of an operation: ``tensor.mul_(other)`` for ``mul(tensor, other)``."""
    row = getattr(function, "row", None)
    plain = row if row is not None and row.is_ufunc and row.elementwise else None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if plain is not None and not kwargs and (not grad_on() or not _needs_node(self, args)):
            return write_plain(self, plain, args)
        return write(self, function, args, kwargs)

    method.__name__ = method.__qualname__ = name or function.__name__ + "_"
    method.__doc__ = f"In-place form of ``{function.__name__}``: writes the result into the tensor and returns it."
    return method


def _needs_node(tensor: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether a write would have to be recorded or checked."""
    if tensor._node is not None or tensor._alias is not None and tensor._alias.parent is not None:
        return True
    for value in inputs:
        if value.__class__ is not float and isinstance(value, _runtime.Tensor) and current_node(value) is not None:
            return True
    return False


def write_plain(tensor: Any, row: _op.Row, inputs: tuple[Any, ...]) -> Any:
    """Run a ufunc row into the tensor's own array; nothing is recorded."""
    array = tensor._array
    operands = [i if isinstance(i, _runtime.Tensor) else operand(i, tensor) for i in inputs]
    if NotImplemented in operands:
        given = inputs[operands.index(NotImplemented)]
        raise TypeError(f"{row.name}_(): argument 'other' (position 1) must be Tensor or Number, not {type(given).__name__}")
    arrays = [o._array for o in operands]
    if observers and not _observing.get() or not all([a.dtype is array.dtype for a in arrays]) or not writable(array):
        return write(tensor, row.call, inputs, {})
    if inference_write(tensor):
        raise RuntimeError(INFERENCE_WRITE)
    edits = edits_of(tensor)
    count, position = edits.count, edits.position
    edited(tensor)
    try:
        quiet(row.kernel, array, *arrays, array)
    except Exception as error:
        if "cannot enter context" not in str(error):
            edits.count, edits.position = count, position
            raise explained_write(error, row, tensor, operands) from None
        with np.errstate(all="ignore"):
            row.kernel(array, *arrays, array)
    return tensor


def writable(array: np.ndarray) -> bool:
    """Whether each element has a memory place of its own (an expanded tensor's do not)."""
    return bool(array.flags.writeable) and 0 not in array.strides


def inference_write(tensor: Any) -> bool:
    """Whether a write would go into an inference tensor outside inference mode."""
    return tensor._alias is not None and tensor._alias.inference and not inference_mode_on.get()


def explained_write(error: Exception, row: Any, tensor: Any, operands: list[Any]) -> Exception:
    """The error of a result that does not fit the tensor it is written into."""
    if isinstance(error, ValueError) and "output" in str(error):
        shape = np.broadcast_shapes(tensor._array.shape, *[o._array.shape for o in operands])
        return RuntimeError(
            f"output with shape {list(tensor._array.shape)} doesn't match the broadcast shape {list(shape)}: an in-place "
            f"{row.name}_() cannot change the tensor's shape"
        )
    if "cast" in str(error):
        return RuntimeError(f"result type of {row.name}_() can't be cast to the desired output type {scalar_name(tensor._array.dtype)}")
    return explained(error, row, (tensor, *operands))


def write(tensor: Any, function: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Replace the tensor's values by ``function(tensor, *args, **kwargs)`` and rewrite its history.

    The function sees a twin that keeps the old node, and, if a gradient will read the old values, a copy of them.  The edit
    is counted before the node is made, so that a result the node saved is fresh until the next edit.

    Raises
    ------
    RuntimeError
        Where PyTorch refuses the write: a leaf that requires grad, one of several views, an expanded tensor, a result of
        another shape or a dtype that cannot be cast.  Nothing is changed then.
    """
    row = getattr(function, "row", None)
    edits = edits_of(tensor)
    node = current_node(tensor)
    refuse(tensor, node, args)
    twin = wrap(tensor._array, node)
    twin._layout = tensor._layout
    inputs = tuple([_frozen(i, edits) if isinstance(i, _runtime.Tensor) else i for i in args])
    count, position = edits.count, edits.position
    edited(tensor)
    try:
        token = _observing.set(True) if observers else None
        try:
            out = function(twin, *inputs, **(kwargs or {}))
        finally:
            if token is not None:
                _observing.reset(token)
        if not isinstance(out, _runtime.Tensor):
            raise TypeError(f"unsupported operand type(s) for an in-place operation on a Tensor: {type(args[0]).__name__!r}")
        result = out._array
        if result.shape != tensor._array.shape:
            raise RuntimeError(
                f"output with shape {list(tensor._array.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        if not can_cast(result.dtype, tensor._array.dtype):
            raise RuntimeError(
                f"result type {scalar_name(result.dtype)} can't be cast to the desired output type "
                f"{scalar_name(tensor._array.dtype)}"
            )
    except BaseException:
        edits.count, edits.position = count, position
        raise
    made = out._node
    if made is not None and made is not node:
        if row is None or any([getattr(made, name) is twin for name in made.saved_names]):
            twin._array = tensor._array.copy()  # a gradient will read the old values
        if made.saves_result:
            made.result_edits = (edits,)
    np.copyto(tensor._array, result, casting="unsafe")
    if made is not None and made.saves_result and made.saved_result is result:  # one array, and its edits are known
        made.saved_result = tensor._array
    if (made is not None or tensor._alias.parent is not None) and grad_on():
        rebase(tensor, out)
    if observers:
        observe(row or function, tensor, (tensor, *args), tuple((kwargs or {}).values()), in_place=True)
    return tensor


def _frozen(tensor: Any, edits: Edits) -> Any:
    """An operand as it is now, if the write is about to change its memory."""
    if tensor._alias is None or tensor._alias.edits is not edits:
        return tensor
    return wrap(tensor._array.copy(), current_node(tensor))


def refuse(tensor: Any, node: Any, inputs: tuple[Any, ...]) -> None:
    """Raise for the writes that PyTorch refuses."""
    if tensor._alias.inference and not inference_mode_on.get():
        raise RuntimeError(INFERENCE_WRITE)
    if not writable(tensor._array) and tensor._array.size:
        raise RuntimeError(EXPANDED)
    if not grad_on():
        return
    if node.__class__ is AccumulateGrad:
        raise RuntimeError(LEAF)
    view = tensor._alias
    if view.parent is None:
        return
    root = root_of(tensor)
    if root._node.__class__ is AccumulateGrad:
        raise RuntimeError(LEAF_VIEW)
    if view.refusal is not None:
        needs = node is not None or root._node is not None
        if needs or any([isinstance(i, _runtime.Tensor) and current_node(i) is not None for i in inputs]) or view.inference:
            raise RuntimeError(view.refusal)


class Take:
    """From a root to one of its views, on ndarrays or on Tensors."""

    __slots__ = ("steps",)

    def __init__(self, tensor: Any) -> None:
        self.steps: list[tuple[Any, tuple[Any, ...], int | None]] = []
        while (view := tensor._alias) is not None and view.parent is not None:
            self.steps.append((view.row, view.params, view.index))
            tensor = view.parent
        self.steps.reverse()

    def __call__(self, root: Any) -> Any:
        for step in self.steps:
            root = take_step(root, *step)
        return root


def rebase(tensor: Any, out: Any) -> None:
    """Give the tensor, or the root it is a view of, the node of the write; views are taken again when next used."""
    if tensor._alias.parent is None:
        changed, moved = tensor, tensor._node
        tensor._node = out._node
    else:
        changed = root_of(tensor)
        moved = changed._node
        changed._node = copy_slices_node(moved, out, Take(tensor), changed)
    if moved is not None and moved.__class__ is not AccumulateGrad and moved.extras is not None and moved.extras.retained is not None:
        moved.extras.retained = None
        extras_of(changed._node).retained = weakref.ref(changed)


def copy_slices_node(base_node: Any, value: Any, take: Take, base: Any) -> Any:
    """The node of a base of which the part *take* gives was overwritten with *value*: no need to copy all of it."""
    row = _op.rows["copy_slices"]
    if row.node_type is None:
        _op.build(row)
    node = row.node_type()
    node.position = next_position()
    node.edges = (base_node, value._node)
    node.saved_value_shape, node.saved_take = value._array.shape, take
    node.expects = None if value._array.dtype is base._array.dtype else layouts(base, value)
    node.layout, node.extras = layout_of(base), None
    return node


def setitem_view(self: Any, index: Any, value: Any) -> None:
    self[index].copy_(value)
