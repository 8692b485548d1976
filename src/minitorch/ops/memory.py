"""How tensors lie in memory: strides and offsets, windows, and views of any geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._args import array_of, dim_of, integers, sizes_given
from .._choices import choice
from .._device import check_memory_format, contiguous_format
from .._identity import owner
from .._modes import active_levels
from .._op import op, rows
from .._views import current_node, edit, learn_strided_step, root_of
from .broadcast import restrided

if TYPE_CHECKING:
    from .._tensor import Tensor

Geometry: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""Sizes, strides and offset, in elements: which places of a memory a tensor shows."""


# -- what lies where ---------------------------------------------------------------------------------------------------
def is_contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    if memory_format is not contiguous_format:
        check_memory_format(memory_format, optional=False)
    return input._array.flags.c_contiguous


def strides_of(array: np.ndarray) -> tuple[int, ...]:
    """An array's strides in elements, as PyTorch has them."""
    shape = array.shape
    if not array.size:
        return tuple([math.prod([max(n, 1) for n in shape[d + 1 :]]) for d in range(len(shape))])
    strides = [step // array.itemsize for step in array.strides]
    for d in range(
        len(shape) - 1, -1, -1
    ):  # NumPy steps 0 through a new dimension of size 1, PyTorch past what follows
        if shape[d] == 1 and strides[d] == 0:
            strides[d] = shape[d + 1] * strides[d + 1] if d + 1 < len(shape) else 1
    return tuple(strides)


def stride(input: Tensor, dim: int | None = None) -> Any:
    """For each dimension, or one, how many elements apart in memory its neighbours are.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride()
    ((3, 1), (1, 3))
    """
    strides = strides_of(input._array)
    return strides if dim is None else strides[dim_of(dim, len(strides))]


def offset_of(array: np.ndarray) -> int:
    return (array.ctypes.data - owner(array).ctypes.data) // array.itemsize


def storage_offset(input: Tensor) -> int:
    """How many elements after the start of the memory, which it may share with others, the tensor begins."""
    return offset_of(input._array)


def base(input: Tensor) -> Tensor | None:
    """``tensor._base``: the tensor whose memory a view shows; None where the tensor is no view."""
    return root_of(input) if is_view(input) else None


def is_view(input: Tensor) -> bool:
    """``tensor._is_view()``: whether the tensor was taken from another one, whose memory it shows."""
    return input._alias is not None and input._alias.parent is not None


# -- windows -----------------------------------------------------------------------------------------------------------
def _unfold_kernel(self: np.ndarray, *, dimension: int, size: int, step: int) -> np.ndarray:
    dim = dim_of(dimension, self.ndim)
    shape, strides = (self.shape, self.strides) if self.ndim else ((1,), (self.itemsize,))
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > shape[dim]:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {shape[dim]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    count = (shape[dim] - size) // step + 1
    folded, steps = list(shape), list(strides)
    folded[dim], steps[dim] = count, strides[dim] * step
    if not self.ndim:
        return restrided(self, (size,), (self.itemsize,))
    return restrided(self, (*folded, size), (*steps, strides[dim]))


def _unfold_backward_kernel(
    self: np.ndarray, *, shape: tuple[int, ...], dimension: int, size: int, step: int
) -> np.ndarray:
    out = np.zeros(shape or (1,), self.dtype)
    windows = self if shape else self[None]
    lead = (slice(None),) * (dimension % out.ndim)
    count = windows.shape[len(lead)]
    for place in range(size):
        out[(*lead, slice(place, place + (count - 1) * step + 1, step))] += windows[..., place]
    return out.reshape(shape)


_unfold = op("unfold", "UnfoldBackward0", _unfold_kernel, ("self",), view=True, tangent="linear",
             self=lambda F, g, self_shape, dimension, size, step:
                F.unfold_backward(g, shape=self_shape, dimension=dimension, size=size, step=step))  # fmt: skip
op("unfold_backward", "UnfoldBackwardBackward0", _unfold_backward_kernel, ("self",), tangent="linear",
   self=lambda F, g, dimension, size, step: F.unfold(g, dimension=dimension, size=size, step=step))  # fmt: skip


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of *size* elements along one dimension, *step* apart; they come as a new last dimension.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dimension : int
        The dimension along which windows move.
    size, step : int
        How long a window is, and how far the next one is.

    Raises
    ------
    RuntimeError
        If a window is longer than the dimension, or *step* is not positive.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    return _unfold(input, dimension, size, step)


# -- any geometry ------------------------------------------------------------------------------------------------------
def places(geometry: Geometry) -> np.ndarray:
    """For each element, where in memory it is."""
    size, stride, offset = geometry
    found = np.full((), offset, np.intp)
    for n, step in zip(size, stride):
        found = np.add.outer(found, np.arange(n) * step)
    return found


def extent(*geometries: Geometry) -> int:
    """How many places of a memory they reach."""
    return max([_last(*geometry) + 1 for geometry in geometries if 0 not in geometry[0]], default=0)


def _last(size: Sequence[int], stride: Sequence[int], offset: int) -> int:
    return offset + sum([(n - 1) * step for n, step in zip(size, stride)])


def _as_strided_kernel(
    self: np.ndarray, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int, origin: Geometry
) -> np.ndarray:
    shape, steps, start = origin
    if all([n < 2 or a == b for n, a, b in zip(shape, strides_of(self), steps)]):
        memory, begin = owner(self).ravel(order="K").view(self.dtype), offset + offset_of(self) - start
    else:  # a gradient, laid out otherwise than the tensor it belongs to: its elements are put where those are
        memory, begin = np.zeros(extent(origin, (size, stride, offset)), self.dtype), offset
        memory[places(origin)] = self
        memory.setflags(write=False)
    last = _last(size, stride, begin)
    if math.prod(size) and not 0 <= begin <= last < memory.size:
        raise RuntimeError(
            f"sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {self.itemsize} "
            "requiring a storage "
            f"size of {(last + 1) * self.itemsize} are out of bounds for storage of size {memory.nbytes}"
        )
    out = restrided(memory[begin:], size, [step * self.itemsize for step in stride])
    if not memory.flags.writeable or any([step == 0 and n > 1 for n, step in zip(size, stride)]):
        out.setflags(write=False)
    return out


def _restride_kernel(self: np.ndarray, *, source: Geometry, target: Geometry, shared: Geometry) -> np.ndarray:
    """Add into the places of *source*, share each among the elements of *shared* there, read the places of *target*."""
    memory = np.zeros(extent(source, target, shared), self.dtype)
    np.add.at(memory, places(source), self)
    memory /= np.maximum(np.bincount(places(shared).ravel(), minlength=memory.size), 1)
    return np.asarray(memory[places(target)])


_as_strided = op("as_strided", "AsStridedBackward0", _as_strided_kernel, ("self",), view=True, tangent="linear",
                 self=lambda F, g, size, stride, offset, origin:
                    F.restride(g, source=(size, stride, offset), target=origin, shared=origin))  # fmt: skip
op("restride", "AsStridedBackwardBackward0", _restride_kernel, ("self",), tangent="linear",
   self=lambda F, g, source, target, shared: F.restride(g, source=target, target=source, shared=shared))  # fmt: skip


def _strided_step(root: Tensor, view: Tensor) -> tuple[Any, tuple[Any, ...], None]:
    """The step from a root to a view of it that goes by their places in memory."""
    base, shown = root._array, view._array
    here = offset_of(base)
    away = (shown.ctypes.data - base.ctypes.data) // base.itemsize
    origin = (base.shape, strides_of(base), here)
    return rows["as_strided"], (shown.shape, strides_of(shown), here + away, origin), None


learn_strided_step(_strided_step)


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with any sizes and strides; elements may overlap, and then share their gradient.

    Parameters
    ----------
    input : Tensor
        The tensor whose memory is shown.
    size, stride : sequence of int
        The sizes of the result, and how many elements apart neighbours are.
    storage_offset : int, optional
        Where the result begins; by default, where *input* does.

    Raises
    ------
    RuntimeError
        If that is outside the memory, or a stride is negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(4).as_strided((2, 3), (1, 1))
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """
    array = array_of("as_strided", input)
    sizes, steps = integers(size, "size"), integers(stride, "stride")
    if len(sizes) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if any([step < 0 for step in steps]):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    here = offset_of(array)
    origin = (array.shape, strides_of(array), here)
    return _as_strided(input, sizes, steps, here if storage_offset is None else storage_offset, origin)


def resize_(input: Tensor, *sizes: Any) -> Tensor:
    """Give the tensor other sizes in place: its elements in row-major order as far as they go, what is new is 0.

    Raises
    ------
    RuntimeError
        If the tensor requires grad, or has a tangent.
    """
    array_of("resize_", input)
    if current_node(input) is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if any([level.of(input) is not None for level in active_levels()]):
        raise RuntimeError("cannot resize variables that has a forward grad")
    shape = sizes_given("resize_", sizes)
    edit(input)
    input._array, input._layout = _resized(input, shape=shape), None
    return input


@choice("resized")
def _resized(self: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    flat = np.zeros(math.prod(shape), self.dtype)
    kept = self.reshape(-1)[: flat.size]
    flat[: kept.size] = kept
    return flat.reshape(shape)


def resize_as_(input: Tensor, other: Tensor) -> Tensor:
    """``input.resize_(other.shape)``."""
    return resize_(input, array_of("resize_as_", other, "other", 2).shape)
