"""In-place operations: the functional row on a twin, copied into the array, then history rewritten.

See docs/design/04-in-place.md.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _op, _runtime
from ._args import not_a_tensor
from ._dtypes import can_cast
from ._errors import scalar_name
from ._layouts import layout_of, layouts
from ._modes import grad_on, inference_mode_on, observers
from ._records import _observing, observe_write, tell_before, tell_parts
from ._runtime import operand, quiet, silent, wrap
from ._tape import AccumulateGrad, Output, next_position, output_hooks
from ._views import (
    EXPANDED,
    INFERENCE_WRITE,
    Edits,
    current_node,
    edited,
    edits_of,
    overlap,
    overlapping,
    path_to,
    places_of,
    refusal_of,
    root_of,
    take_step,
    writable,
)

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."


in_place_names: dict[Any, str] = {}
"""What the in-place forms of operations are called."""


WHOLE, PARTLY, WARNED, NUMBERS, SETTLED = range(5)
"""What a write changes, and whether an expanded tensor may be written, of which several elements are one place of memory: all
elements, no; those it names, no; those it names, with a warning; those it names, but not to the value of a tensor; the same
as another write did that was allowed."""


def in_place(function: Callable[..., Any], name: str | None = None, extent: int = WHOLE) -> Callable[..., Any]:
    """The in-place form of an operation: ``tensor.mul_(other)`` for ``mul(tensor, other)``."""
    row = getattr(function, "row", None)
    if row is not None and row.is_ufunc and row.formulas and len(row.inputs) == 2:
        method = _two_operands(row, function)
    else:

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return write(self, function, args, kwargs, extent)

    in_place_names.setdefault(function, name or function.__name__ + "_")
    method.__name__ = method.__qualname__ = name or function.__name__ + "_"
    method.__doc__ = f"In-place form of ``{function.__name__}``: writes the result into the tensor and returns it."
    return method


def _two_operands(row: _op.Row, function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of a ufunc row of two operands, with short ways for the common cases; ``write`` has the others."""
    kernel, reads_self = row.kernel, bool(row.readers("self"))
    number: Callable[[Any, Any], Any] = row.instead.get("operand", operand)

    def method(self: Any, other: Any, **options: Any) -> Any:
        given = other
        if other.__class__ is not _runtime.Tensor and not isinstance(other, _runtime.Tensor):
            other = number(other, self)
            if other is NotImplemented:
                raise TypeError(
                    f"{row.name}_(): argument 'other' (position 1) must be Tensor or Number, not {type(given).__name__}"
                )
        try:
            alias = self._alias
        except AttributeError:
            raise not_a_tensor(f"{row.name}_", self) from None
        edits = alias.edits if alias is not None else edits_of(self)
        array = self._array
        simple = not options and not observers and other._array.dtype is array.dtype
        if (
            not simple
            or edits.watchers is not None
            or edits.inference
            or (other._alias is not None and other._alias.edits is edits)
        ):
            return write(self, function, (given,), options)
        node = self._node
        recording = grad_on()
        if recording and (
            node is not None or other._node is not None or (alias is not None and alias.parent is not None)
        ):
            if node.__class__ is AccumulateGrad or (alias is not None and alias.parent is not None):
                return write(self, function, (given,), options)
            return _record_into(self, row, other, edits, reads_self)
        if alias is not None and alias.parent is not None and alias.seen == edits.count:
            alias.seen += 1  # the view's history does not change
        position = edits.position
        edits.count += 1
        edits.position = next_position()
        try:
            quiet(kernel, array, other._array, array)
        except Exception:  # to be explained, or done in another way
            edits.count -= 1
            edits.position = position
            return write(self, function, (given,), options)
        return self

    return method


def _record_into(tensor: Any, row: _op.Row, other: Any, edits: Edits, reads_self: bool) -> Any:
    """Record a write into a tensor that is neither a leaf nor a view, of operands of one dtype."""
    array, node = tensor._array, tensor._node
    twin = wrap(array, node)
    twin._layout = tensor._layout
    edits.count += 1
    position, edits.position = edits.position, next_position()
    try:
        out = row.call(twin, other)
        if out._array.shape != array.shape:
            raise _another_shape(array, out._array)
    except BaseException:
        edits.count -= 1
        edits.position = position
        raise
    made = out._node
    if reads_self and made.saved_self is twin:
        twin._array = array.copy()  # a gradient will read the old values
    array[...] = out._array
    if made.saves_result:
        made.result_edits = (edits,)
        made.saved_result = array
    tensor._node = made
    if node is not None and (node.extras is not None or node.__class__ is Output):
        _move_retained(node, tensor)
    return tensor


def _another_shape(array: np.ndarray, result: np.ndarray) -> RuntimeError:
    return RuntimeError(
        f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(result.shape)}: an in-place operation "
        "cannot change the tensor's shape"
    )


def _check_result(array: np.ndarray, out: Any, args: tuple[Any, ...]) -> None:
    """Errors for a result that is no tensor, of another shape, or of a dtype that cannot be cast."""
    if not isinstance(out, _runtime.Tensor):
        raise TypeError(
            f"unsupported operand type(s) for an in-place operation on a Tensor: {type(args[0]).__name__!r}"
        )
    result = out._array
    if result.shape != array.shape:
        raise _another_shape(array, result)
    if not can_cast(result.dtype, array.dtype):
        raise RuntimeError(
            f"result type {scalar_name(result.dtype)} can't be cast to the desired output type {scalar_name(array.dtype)}"
        )


def _move_retained(node: Any, tensor: Any) -> None:
    """``retain_grad`` follows a tensor to its newest version."""
    old = output_hooks(node) if node.__class__ is Output or node.extras.outputs else None
    if old is not None and old.retained is not None:
        old.retained = None
        output_hooks(tensor._node).retained = weakref.ref(tensor)


def copied(array: np.ndarray) -> np.ndarray:
    """A copy that lies in memory as what ``clone`` gives: a trace writes it down as that."""
    return array.copy("C" if 0 in array.strides else "K")


class Keywords(tuple[Any, ...]):
    """The values of keyword arguments, and their names."""

    names: tuple[str, ...]

    def __new__(cls, given: dict[str, Any]) -> Keywords:
        made = super().__new__(cls, given.values())
        made.names = tuple(given)
        return made


def write(
    tensor: Any,
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    extent: int = WHOLE,
) -> Any:
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
    try:
        edits = edits_of(tensor)
    except AttributeError:
        raise not_a_tensor(f"{function.__name__}_", tensor) from None
    node = current_node(tensor)
    refuse(tensor, node, args, extent, function)
    shared = overlapping(tensor._array)
    twin = wrap(tensor._array, node)
    twin._layout = tensor._layout
    inputs = tuple([_frozen(i, edits) if isinstance(i, _runtime.Tensor) else i for i in args])
    count, position = edits.count, edits.position
    edited(tensor, function)
    kept = shared or (bool(observers) and any([o.keeps() for o in observers]))
    if kept:
        _keep(tensor, twin)
    try:
        token = _observing.set(_told_of(tensor)) if observers else None
        try:
            out = function(twin, *inputs, **(kwargs or {}))
            _check_result(tensor._array, out, args)
            if shared:
                out = _settled(out, twin, tensor._array, extent)
        finally:
            if token is not None:
                _observing.reset(token)
    except BaseException:
        edits.count, edits.position = count, position
        raise
    result = out._array
    recording = grad_on() and (row is None or bool(row.formulas))  # without formulas, as in PyTorch, history stays
    if out._node is None and node is not None and recording:  # the old values' gradient is zero
        out = _op.rows["copy"].call(twin, out, out._array.dtype)
        result = out._array
    made = out._node
    if made is not None and made is not node:
        if not kept and (row is None or any([getattr(made, name) is twin for name in made.saved_names])):
            _keep(tensor, twin)  # a gradient will read the old values
        if made.saves_result:
            made.result_edits = (edits,)
    if observers:
        tell_parts("written", tensor, out)
    if tensor._array.flags.writeable:
        silent(np.copyto, tensor._array, result, casting="unsafe")
    else:
        _fill_in(tensor._array, result)
    if made is not None and made.saves_result and made.saved_result is result:  # one array, and its edits are known
        made.saved_result = tensor._array
    if (made is not None or tensor._alias.parent is not None) and recording:
        rebase(tensor, out)
    elif tensor._alias.parent is not None and tensor._alias.seen == count:
        tensor._alias.seen = edits.count  # history did not change
    if observers:
        observe_write(row or function, tensor, (tensor, *args), Keywords(kwargs or {}), made)
    return tensor


def _told_of(tensor: Any) -> bool | str:
    """Who is shown the operations inside of an in-place one, which begins: nobody, or those observers that want its parts."""
    tell_before(tensor)
    tell_parts("writing", tensor)
    return _observing.get() or ("parts" if any([o.parts and o.active() for o in observers]) else True)


def _fill_in(array: np.ndarray, result: np.ndarray) -> None:
    """Write what differs into an array of which several elements may share memory."""
    array.flags.writeable = True
    try:
        np.copyto(array, result, casting="unsafe", where=array != result)
    finally:
        array.flags.writeable = False


def _frozen(tensor: Any, edits: Edits) -> Any:
    """An operand as it is now, if the write is about to change its memory."""
    if tensor._alias is None or tensor._alias.edits is not edits:
        return tensor
    twin = wrap(tensor._array, current_node(tensor))
    _keep(tensor, twin)
    return twin


def _keep(tensor: Any, twin: Any) -> None:
    """Have a twin keep what is about to be written over."""
    twin._array = copied(tensor._array)
    if observers:
        tell_parts("copied", tensor, twin._array)


def refuse(tensor: Any, node: Any, inputs: tuple[Any, ...], extent: int = WHOLE, function: Any = None) -> None:
    """Raise for the writes that PyTorch refuses, and warn of those that it warns of."""
    if tensor._alias.inference and not inference_mode_on.get():
        raise RuntimeError(INFERENCE_WRITE)
    if grad_on():
        refuse_recorded(tensor, node, inputs)
    if not writable(tensor._array) and tensor._array.size and extent is not SETTLED:
        if extent in (WHOLE, PARTLY) or (extent is NUMBERS and inputs and isinstance(inputs[-1], _runtime.Tensor)):
            raise RuntimeError(EXPANDED)
        if extent is WARNED:
            name = in_place_names[function]
            example = "tensor[indices] = tensor" if name == "index_put_" else "tensor[mask] = scalar"
            warnings.warn(
                f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
                f"operation. This also applies to advanced indexing e.g. {example}",
                stacklevel=4,
            )


def _settled(out: Any, old: Any, array: np.ndarray, extent: int) -> Any:
    """The result of a write, the same for all elements that are one place of memory: that of the last which the write changed.

    It is computed by operations as any other, so that batches have their own choices, and derivatives and tangents follow them.
    """
    shape, size = array.shape, array.size
    place = places_of(shape, array.strides)
    number = wrap(np.arange(1, size + 1))
    if extent is not WHOLE:
        number = number * ((out != old) & ((out == out) | (old == old))).reshape(-1)
    last = wrap(np.zeros(size, np.int64)).scatter_reduce(0, wrap(place), number, "amax")[wrap(place)]
    return out.take((last - 1).where(last > 0, wrap(np.arange(size))).view(shape))


def refuse_recorded(tensor: Any, node: Any, inputs: tuple[Any, ...]) -> None:
    """Raise for the writes that PyTorch refuses to record."""
    if node.__class__ is AccumulateGrad:
        raise RuntimeError(LEAF)
    view = tensor._alias
    if view.parent is None:
        return
    root = root_of(tensor)
    if view.refusal is not None:
        needs = node is not None or root._node is not None
        if (
            needs
            or any([isinstance(i, _runtime.Tensor) and current_node(i) is not None for i in inputs])
            or view.inference
        ):
            raise RuntimeError(refusal_of(tensor))
    if root._node.__class__ is AccumulateGrad:
        raise RuntimeError(LEAF_VIEW)


class Take:
    """From a root, or a gradient of it, to one of its views: on ndarrays or on Tensors.

    Some views, such as those of another shape, are what they are by the order of the root's elements in memory; what they
    are taken from must be in that order.
    """

    __slots__ = ("lies", "order", "steps")

    def __init__(self, root: np.ndarray, steps: Any, view: np.ndarray) -> None:
        self.steps = steps  # the root's dimensions from the slowest to the fastest, unless they are so already
        self.order = None if root.flags.c_contiguous else tuple(np.argsort(root.strides, stable=True)[::-1].tolist())
        self.lies = view.shape, view.strides

    def __call__(self, root: Any) -> Any:
        for step in self.steps:
            root = take_step(root, *step)
        return root

    def once(self) -> np.ndarray | None:
        """Where several elements of the view are one place of memory, those that stand for their place in gradients."""
        if not overlap(*self.lies):
            return None
        place = places_of(*self.lies)
        return (np.unique(place, return_index=True)[1][place] == np.arange(place.size)).reshape(self.lies[0])

    def is_ordered(self, array: np.ndarray) -> bool:
        """Whether an array is in the root's order."""
        return array.flags.c_contiguous if self.order is None else array.transpose(self.order).flags.c_contiguous

    def ordered(self, array: np.ndarray) -> np.ndarray:
        """A copy in the root's order."""
        if self.order is None:
            return np.array(array, order="C")  # of a NumPy scalar too, which a sum of 0-d gradients is
        return array.transpose(self.order).copy().transpose(np.argsort(self.order))


def rebase(tensor: Any, out: Any) -> None:
    """Give the tensor, or the root it is a view of, the node of the write; views are taken again when next used."""
    if tensor._alias.parent is None:
        changed, moved = tensor, tensor._node
        tensor._node = out._node
    else:
        changed = root_of(tensor)
        moved = changed._node
        if moved is None and out._node is None:
            return  # neither needs a gradient
        take = Take(changed._array, path_to(tensor)[1], tensor._array)
        changed._node = copy_slices_node(moved, out, take, changed)
    if (
        moved is not None
        and moved.__class__ is not AccumulateGrad
        and (moved.extras is not None or moved.__class__ is Output)
    ):
        _move_retained(moved, changed)


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
