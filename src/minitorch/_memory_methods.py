"""Tensor methods about memory and elements one by one: ``set_``, ``dim_order``, ``apply_``, ``map_`` and the like."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._args import array_of, sizes_given
from ._identity import owner
from ._modes import observers
from ._records import tell_parts
from ._runtime import traced, wrap
from ._storage import Storage
from ._value_notes import tell_left
from ._views import EXPANDED, current_node, edit, edited, writable
from .ops.creation import Options, made_by, required_size
from .ops.memory import as_strided, offset_of, strides_of

if TYPE_CHECKING:
    from typing import Unpack

    from ._tensor import Tensor


# -- memory ------------------------------------------------------------------------------------------------------------
def set_(
    input: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Make the tensor show another one's memory, or a storage's, in place; without a source, none.

    Raises
    ------
    RuntimeError
        If the dtypes differ, or the tensor requires grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.zeros(2)
    >>> x.set_(torch.arange(3.0))
    tensor([0., 1., 2.])
    """
    array = array_of("set_", input)
    if current_node(input) is not None:
        raise RuntimeError("set_(): a tensor that requires grad cannot be given other memory; use .data or detach()")
    if isinstance(source, Storage):
        source = wrap(source._elements.view(array.dtype))
        size = source.shape if size is None else size
    given = np.empty(0, array.dtype) if source is None else array_of("set_", source, "source", 2)
    if given.dtype != array.dtype:
        raise RuntimeError(f"set_(): could not set a tensor of {input.dtype} to memory of {given.dtype}")
    if size is not None:
        sizes = sizes_given("set_", (size,))
        steps = strides_of(np.empty(sizes, array.dtype)) if stride is None else stride
        given = as_strided(source, sizes, steps, storage_offset)._array
    edit(input)
    input._array, input._layout = given, None
    return input


def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same elements of the same memory."""
    a, b = array_of("is_set_to", input), array_of("is_set_to", tensor, "tensor", 2)
    return owner(a) is owner(b) and (a.shape, strides_of(a), offset_of(a)) == (b.shape, strides_of(b), offset_of(b))


def dim_order(input: Tensor) -> tuple[int, ...]:
    """The dimensions from the one with the longest steps in memory to that with the shortest.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    steps = strides_of(input._array)
    return tuple(sorted(range(len(steps)), key=lambda dim: -steps[dim]))


def resize(input: Tensor, *sizes: Any) -> Tensor:
    """``reshape`` by its former name; the number of elements must stay.

    Raises
    ------
    RuntimeError
        If the number of elements would change.
    """
    shape = sizes_given("resize", sizes)
    return traced.view(input.contiguous(), size=shape)


def resize_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.resize(other.shape)``."""
    return resize(input, array_of("resize_as", other, "other", 2).shape)


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The tensor summed along the dimensions in which a smaller shape would be broadcast to it.

    Raises
    ------
    RuntimeError
        If that shape does not broadcast to the tensor's.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ones(2, 3).sum_to_size(2, 1)
    tensor([[3.],
            [3.]])
    """
    shape, sizes = sizes_given("sum_to_size", size), array_of("sum_to_size", input).shape
    fits = len(shape) <= len(sizes) and all([a in (1, b) for a, b in zip(shape[::-1], sizes[::-1])])
    if not fits:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(sizes)}}}.")
    return traced.sum_to(input, shape=shape)


def new_empty_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], **options: Unpack[Options]) -> Tensor:
    """``empty_strided`` of this tensor's dtype."""
    options.setdefault("dtype", _dtypes.of_numpy(input._array.dtype))
    return empty_strided(size, stride, **options)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Unpack[Options]) -> Tensor:
    """A tensor of whatever the memory holds, whose neighbours along each dimension are *stride* elements apart.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    sizes, steps = required_size("empty_strided", size), required_size("empty_strided", stride)
    if len(sizes) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(sizes)}) must match dimensionality of strides ({len(steps)})"
        )
    reach = 0 if 0 in sizes else 1 + sum([(n - 1) * step for n, step in zip(sizes, steps)])

    def make(dtype: Any) -> np.ndarray:
        return as_strided(wrap(np.empty(reach, dtype)), sizes, steps)._array

    return made_by("empty_strided", make, _dtypes.default(), None, options)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Unpack[Options]) -> Tensor:
    """A tensor of whatever the memory holds, whose dimensions lie in memory in the order that is given.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    sizes = required_size("empty_permuted", size)
    if sorted(physical_layout) != list(range(len(sizes))):
        raise RuntimeError(f"empty_permuted(): {tuple(physical_layout)} is no order of {len(sizes)} dimensions")

    def make(dtype: Any) -> np.ndarray:
        return np.empty([sizes[d] for d in physical_layout], dtype).transpose(np.argsort(physical_layout))

    return made_by("empty_permuted", make, _dtypes.default(), None, options)


# -- elements one by one -----------------------------------------------------------------------------------------------
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it, in place; slow.

    Raises
    ------
    RuntimeError
        If the tensor requires grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).apply_(lambda value: value * 10)
    tensor([10, 20])
    """
    return _mapped("apply_", input, (), callable)


def map_(input: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it and of another tensor's, in place.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda a, b: a * b)
    tensor([3, 8])
    """
    return _mapped("map_", input, (tensor,), callable)


def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """``map_`` with two other tensors."""
    return _mapped("map2_", input, (x, y), callable)


def _mapped(name: str, input: Tensor, others: tuple[Any, ...], function: Callable[..., Any]) -> Tensor:
    arrays = [array_of(name, tensor) for tensor in (input, *others)]
    if any([current_node(tensor) is not None for tensor in (input, *others)]):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if observers:
        for tensor in (input, *others):
            tell_left("tolist", tensor)
    values = [np.broadcast_to(array, arrays[0].shape).ravel().tolist() for array in arrays]
    if not writable(arrays[0]) and arrays[0].size:
        raise RuntimeError(EXPANDED)
    edited(input)
    made = np.array([function(*row) for row in zip(*values)], arrays[0].dtype).reshape(arrays[0].shape)
    if observers:
        tell_parts("written", input, _runtime.wrap(made))
    arrays[0][...] = made
    return input


# -- the rest ----------------------------------------------------------------------------------------------------------
def as_subclass(input: Tensor, cls: type) -> Any:
    """The same tensor, with its memory and history, as one of a subclass of Tensor.

    Raises
    ------
    TypeError
        If *cls* is none.
    """
    if not issubclass(cls, _runtime.Tensor):
        raise TypeError(f"cls must be a subclass of Tensor, but got {cls.__name__}")
    alias = traced.alias(input)
    own: Any = object.__new__(cls)
    own._array, own._node, own._alias, own._layout = alias._array, alias._node, alias._alias, alias._layout
    return own


def reversed_tensor(input: Tensor) -> Tensor:
    """``reversed(tensor)``: the first dimension flipped."""
    return traced.flip(input, dims=(0,)) if input._array.ndim else input


def detach(input: Tensor) -> Tensor:
    """``input.detach()``: a tensor with the same memory that needs no gradient.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.detach(torch.ones(2, requires_grad=True))
    tensor([1., 1.])
    """
    array_of("detach", input)
    return input.detach()


def share_memory_(input: Tensor) -> Tensor:
    """The tensor itself, with a warning: its memory stays this process's own, and what others write is not seen.

    Examples
    --------
    >>> import warnings
    >>> import minitorch as torch
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     weights = torch.zeros(2).share_memory_()
    >>> weights.is_shared(), caught[0].category.__name__
    (False, 'UserWarning')
    """
    warnings.warn(NOT_SHARED, UserWarning, stacklevel=2)
    return input


NOT_SHARED = (
    "share_memory_(): memory is not shared between processes: each has a copy, and what another one writes is not seen here. "
    "Send what is computed back, through a multiprocessing.Queue, say"
)
