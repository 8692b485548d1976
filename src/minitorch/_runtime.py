"""What generated code calls: operands, results, saved values, observers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import Context
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._args import CONVERTERS
from ._dtypes import can_cast, weak_dtype, weak_numbers
from ._errors import explained, not_a_tensor, operand_names, public_name, scalar_name
from ._layouts import intern_layout
from ._modes import active_levels, grad_on, in_transform, inference_mode_on, observers
from ._records import observe_write, tell_parts
from ._stories import stale, tell_operands
from ._tape import Node, Output, extras_of, next_position, output_node
from ._value_notes import note_made, note_severed
from ._views import (
    EXPANDED,
    INFERENCE_SAVED,
    InferenceEdits,
    MultipleView,
    UnrecordedView,
    View,
    current_node,
    edit,
    edited,
    edits_of,
    writable,
)

if TYPE_CHECKING:
    from ._op import Row

raw = SimpleNamespace()
"""name -> kernel on ndarrays: what formulas call in an ordinary backward."""
traced = SimpleNamespace()
"""name -> recorder on Tensors: what formulas call in ``backward(create_graph=True)``."""

numpy_scalars = frozenset([np.dtype(code).type for code in "?bhilqBHILQefd"])
"""Types of NumPy's scalars: as parameters of operations they count as Python's numbers."""
tensor_types: set[type] = set()
"""Tensor and its subclasses: looked up in a third of the time that ``isinstance`` takes."""

Tensor: Any = None  # learnt once, from _tensor
new_tensor: Any = None  # makes a Tensor without any of its attributes, past what ``Tensor(...)`` means to people
unsaved: Any = None  # a Tensor without array, in place of an input that no needed gradient reads

quiet = Context().run
"""Runs a kernel where NumPy's floating-point warnings are off: the caller's settings are never touched, and entering a
prepared context costs a thirtieth of ``np.errstate``.  One thread at a time: ``rescued`` serves the others."""
quiet(np.seterr, all="ignore")


def not_implemented(row: Row, first: Any, given: Any) -> Any:
    """An operator's answer to an operand it does not know: Python tries the other side, then raises TypeError."""
    return NotImplemented


def operand(value: Any, like: Any) -> Any:
    """A Python number as a weak 0-d tensor, an ndarray as a tensor; NotImplemented for anything else."""
    if not isinstance(like, Tensor):
        return value if isinstance(value, Tensor) else NotImplemented
    dtype = like._array.dtype
    weak = weak_numbers.get((value.__class__, dtype))
    if weak is None:
        if isinstance(value, np.ndarray):
            return wrap(value)
        if isinstance(value, np.generic):
            return operand(value.item(), like)
        if not isinstance(value, (int, float)):
            return NotImplemented
        weak = weak_dtype(type(value), dtype)  # type: ignore[arg-type]  # a class is hashable
        limit = 0.0 if weak.kind != "f" or weak.itemsize == 8 else float(np.finfo(weak).max)
        weak_numbers[value.__class__, dtype] = weak = weak, intern_layout(np.empty((), weak)), limit
    tensor = new_tensor()
    try:
        if weak[2] and not -weak[2] < value < weak[2]:  # becomes infinite, without a warning
            tensor._array = silent(np.array, value, weak[0])
        else:
            tensor._array = np.array(value, weak[0])
    except OverflowError:  # an integer out of range wraps, as in PyTorch
        tensor._array = wrapped(value, weak[0])
    tensor._node, tensor._alias, tensor._layout = None, None, weak[1]
    if observers:
        tensor.is_number, tensor.number = True, value  # pack hooks do not see numbers
    return tensor


def float_operand(value: Any, like: Any) -> Any:
    """``operand`` for a function of floats: an integer is not wrapped into a small integer dtype."""
    return operand(float(value) if isinstance(value, (int, np.integer)) else value, like)


def wrapped(value: int, dtype: np.dtype[Any]) -> np.ndarray:
    """An integer modulo the range of a small integer dtype; RuntimeError beyond 64 bits."""
    if not -(2**63) <= value < 2**64:
        raise RuntimeError(f"value cannot be converted to type int64_t without overflow: {value}")
    return np.array(value & 0xFFFF_FFFF_FFFF_FFFF, np.uint64).astype(dtype)


def rescued(
    error: Exception, row: Row, inputs: tuple[Any, ...], arrays: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """What the kernel gives where another thread was in ``quiet``, or NumPy is set to raise; else the error, explained."""
    if is_busy(error) or isinstance(error, FloatingPointError):  # the latter where NumPy is set to raise
        with np.errstate(all="ignore"):
            out = {"out": ...} if row.is_ufunc else {}
            try:
                return row.kernel(*arrays, **params, **out)
            except Exception as second:
                error = second
    for name, value in params.items():
        parameter(row, name, value)  # an error that says more, where one has the wrong type
    said = explained(error, row, inputs)
    if len(inputs) > 1 and ("shape" in str(said) or "size" in str(said)):
        said = tell_operands(said, inputs, operand_names(row, len(inputs)))
    raise said from None


def parameter(row: Row, name: str, value: Any) -> Any:
    """A parameter that may not be of the type that the kernel declares, converted to it; TypeError where that cannot be."""
    kind = row.declared[name]
    if (value is None and kind.endswith("| None")) or kind.removesuffix(" | None") not in CONVERTERS:
        return value
    return CONVERTERS[kind.removesuffix(" | None")][1](value, name)


def without_tensors(row: Row, inputs: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """What a call gives whose first operand may be a number and is one, the second being a tensor; else the error."""
    if row.numbers == "either" and isinstance(inputs[1], Tensor):
        first = (float_operand if row.floats else operand)(inputs[0], inputs[1])
        if first is not NotImplemented:
            return row.call(first, inputs[1], *params)
    raise not_a_tensor(row, inputs, Tensor) from None


def silent(kernel: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """Run a kernel outside a row, without NumPy's floating-point warnings, from any thread."""
    try:
        return quiet(kernel, *args, **params)
    except RuntimeError as error:
        if not is_busy(error):
            raise
        with np.errstate(all="ignore"):
            return kernel(*args, **params)


def is_busy(error: Exception) -> bool:
    """Whether another thread was in ``quiet``."""
    return isinstance(error, RuntimeError) and "cannot enter context" in str(error)


def wrap(array: np.ndarray, node: Any = None) -> Any:
    """A Tensor around an ndarray."""
    tensor = new_tensor()
    tensor._array, tensor._node, tensor._alias, tensor._layout = array, node, None, None
    return tensor


def twin(tensor: Any, node: Any = None) -> Any:
    """Another Tensor around the array of a tensor: the same value, with the same tangents."""
    if observers:
        has_tangent(tensor)  # a view's are known by its base until somebody asks
    return wrap(tensor._array, node)


def made(array: np.ndarray, requires_grad: bool = False) -> Any:
    """A Tensor that a factory makes: a leaf, or an inference tensor where that mode is on."""
    tensor = wrap(array)
    if inference_mode_on.get():
        tensor._alias = InferenceEdits()
    if observers:
        note_made(tensor)
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def flagged(tensor: Any, requires_grad: bool = True) -> Any:
    """A leaf that requires grad, or does not: ``requires_grad_()``, which transforms refuse in functions of users."""
    tensor.requires_grad = requires_grad
    return tensor


def moves(tensor: Any) -> bool:
    """Whether a derivative is asked for with respect to a tensor: it requires grad, and is recorded, or has a tangent."""
    return (tensor.requires_grad and grad_on()) or has_tangent(tensor)


def has_tangent(tensor: Any) -> bool:
    """Whether a tensor has a tangent at a level that is active, or is one of a batch that has."""
    levels = active_levels()
    return bool(levels) and (
        any([level.of(tensor) is not None for level in levels])
        or any([observer.pushed(tensor) for observer in observers if observer.active()])
    )


def refuse_derivative(function: str, name: str, tensor: Any) -> None:
    """RuntimeError where a derivative is asked for with respect to a tensor that a function takes as a constant."""
    if moves(tensor):
        has = "requires_grad True" if tensor.requires_grad else "a tangent; pass its .detach()"
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. "
            f"This input cannot have {has}."
        )


def severed(name: str, array: np.ndarray, *inputs: Any) -> Any:
    """A result that no gradient goes back from, of a function that is no row."""
    tensor = wrap(array)
    if observers:
        note_severed(name, tensor, inputs)
    return tensor


def rewrapped(node: Node, result: Any, number: int | None = None) -> Any:
    """A node's own output (of several all, or that of a *number*) as a Tensor again: only while recording, so that a node
    never owns it."""
    if number is not None:
        return wrap(result, output_node(node, number, node.layout[number]))
    if node.several:
        outputs = []
        for index, array in enumerate(result):
            floats = index < len(node.layout) and array.dtype.kind == "f"
            outputs.append(wrap(array, output_node(node, index, node.layout[index]) if floats else None))
        return tuple(outputs)
    tensor = wrap(result, node)
    tensor._layout = node.layout
    if node.result_edits:  # type: ignore[attr-defined]
        tensor._alias = node.result_edits[0]  # type: ignore[attr-defined]
    return tensor


def outputs_of(node: Node | None, arrays: Any) -> tuple[Any, ...]:
    """The Tensors of a several-output node, each that is not of integers with its Output node."""
    tensors = tuple([wrap(array) for array in arrays])
    if node is not None:
        for index, (tensor, layout) in enumerate(zip(tensors, node.layout)):
            tensor._layout = layout
            if layout[1].kind == "f":
                tensor._node = output_node(node, index, layout)
    return tensors


def views_of(node: Node | None, arrays: Any, parent: Any, row: Row, params: tuple[Any, ...]) -> tuple[Any, ...]:
    """The Tensors of a row whose several outputs are views of *parent*."""
    edits = edits_of(parent)
    kind = MultipleView if row.multiple else View if grad_on() else UnrecordedView
    edges, tensors = (node,), []
    for index, array in enumerate(arrays):
        tensor = new_tensor()
        tensor._array, tensor._layout = array, None
        if node is None:
            tensor._node = None
        else:
            tensor._node = output = Output()
            output.position, output.edges, output.index = next_position(), edges, index
            output.layout, output.extras = node.layout[index], None
        tensor._alias = view = kind()
        view.edits, view.parent, view.row = edits, parent, row
        view.params, view.index, view.seen = params, index, edits.count
        tensors.append(tensor)
    return tuple(tensors)


def filled(node: Node, gradients: Any, F: Any) -> list[Any]:
    """The gradients of all outputs, zeros where none came."""
    filled_in = []
    for index, (shape, dtype) in enumerate(node.layout):
        if index in gradients:
            filled_in.append(gradients[index])
        else:
            zeros = np.zeros(shape, dtype)
            filled_in.append(zeros if F is raw else wrap(zeros))
    return filled_in


def guard(out: Any, **constants: Any) -> Any:
    """Have backward raise where a constant tensor that *out*'s node reads (an index, a mask) was edited meanwhile."""
    node = (out[0] if isinstance(out, tuple) else out)._node
    if node is not None:
        node = node.edges[0] if node.__class__ is Output else node
        guards = [(name, edits_of(t)) for name, t in constants.items() if isinstance(t, Tensor)]
        if guards:
            extras = extras_of(node)
            extras.guards = (*extras.guards, *guards)
    return out


def check_unedited(node: Any, edits: Any, name: str) -> None:
    """Raise if a saved array was edited after *node* saved it."""
    if edits.position < node.position:
        raise stale(node, edits, name)


def raise_inference() -> None:
    """Raise the error of saving an inference tensor; in a transform that differentiates, it is a constant like others."""
    if in_transform() in ("", "forward"):
        raise RuntimeError(INFERENCE_SAVED)


def into(out: Any, row: Row, inputs: tuple[Any, ...], params: tuple[Any, ...] = ()) -> Any:
    """``out=``: the op's result, copied into a tensor that is given."""
    differentiable = inputs if row.formulas else ()
    return deliver(public_name(row), lambda: row.call(*inputs, *params), differentiable, out, row.casts, stacklevel=4)


def deliver(
    name: str,
    compute: Callable[[], Any],
    inputs: tuple[Any, ...],
    out: Any,
    casts: bool = False,
    refusal: type[Exception] = RuntimeError,
    stacklevel: int = 3,
) -> Any:
    """Copy what *compute* returns into *out*, resizing it where the shape differs, as PyTorch does.

    An *out* of another dtype is refused, unless the function *casts* and that loses no category (float, integer, bool).
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if grad_on():
        for tensor in (*inputs, out):
            if isinstance(tensor, Tensor) and current_node(tensor) is not None:
                which = "the output tensor" if tensor is out else "one of the arguments"
                raise RuntimeError(
                    f"{name}(): functions with out=... arguments don't support automatic differentiation, "
                    f"but {which} requires grad."
                )
    computed = compute()
    if not isinstance(computed, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(computed)} Tensors, not Tensor")
    if any([level.of(tensor) is not None for level in active_levels() for tensor in (computed, out)]):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function: "
            "assign the result, or write it with copy_()"
        )
    result = computed._array
    given = out._array.dtype
    if given is not result.dtype and given != result.dtype:
        if not casts:
            raise refusal(
                f"{name}(): Expected out tensor to have dtype {scalar_name(result.dtype)}, but got {scalar_name(given)} instead"
            )
        if not can_cast(result.dtype, given):
            came = scalar_name(result.dtype)
            raise refusal(f"{name}(): result type {came} can't be cast to the desired output type {scalar_name(given)}")
    if result.size and out._array.shape == result.shape and not writable(out._array):
        raise RuntimeError(EXPANDED)
    if observers:
        told_of(out, computed)
    if out._array.shape == result.shape:
        edited(out)
        silent(np.copyto, out._array, result, casting="unsafe")
        if observers:
            observe_write(traced.copy.row, out, (out, computed), (), None)
    else:
        if out._array.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out._array.shape)}, which does "
                f"not match the required output shape {list(result.shape)}.",
                stacklevel=stacklevel,
            )
        if result.dtype is not given:
            result = traced.to(computed, dtype=given)._array
        out._array, out._layout = result, None
        edit(out)
    return out


def told_of(out: Any, computed: Any) -> None:
    """Tell observers that a result is written into *out*."""
    if out._array.shape == computed._array.shape:
        tell_parts("written", out, computed)


def out_dtype(dtype: Any, out: Any) -> Any:
    """The dtype in which a sum, say, is computed into *out*: what is asked for, or that of *out*."""
    return out._array.dtype if dtype is None and isinstance(out, Tensor) else dtype


def learn_tensor(cls: type) -> None:
    """Called once by _tensor."""
    global Tensor, new_tensor, unsaved
    Tensor = cls
    new_tensor = type.__call__.__get__(cls)
    unsaved = wrap(None)  # type: ignore[arg-type]  # in place of a value that is gone
