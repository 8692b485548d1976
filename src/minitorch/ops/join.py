"""Joining tensors, and splitting one into views of its parts."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, arrays_of, dim_of, either, integer, integer_or_integers, sizes_given, text
from .._choices import position
from .._errors import scalar_name
from .._layouts import row_major
from .._modes import observers
from .._op import op
from .._runtime import deliver, traced
from .._value_notes import tell_left, tell_read
from . import broadcast
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor

ALL: Any = slice(None)


# -- joining -----------------------------------------------------------------------------------------------------------
def _cat_kernel(tensors: list[np.ndarray], *, dim: int = 0) -> np.ndarray:
    try:
        return row_major(np.concatenate(tensors, dim))
    except ValueError:
        raise _misfit(tensors, dim) from None


def _misfit(arrays: list[np.ndarray], dim: int) -> Exception:
    """Why arrays cannot be concatenated."""
    first = arrays[0]
    for place, array in enumerate(arrays):
        if not array.ndim:
            return RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
        if array.ndim != first.ndim:
            return RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}")
    dim = dim_of(dim, first.ndim)
    for place, array in enumerate(arrays):
        for expected, n in zip(_without(first.shape, dim), _without(array.shape, dim)):
            if expected != n:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got "
                    f"size {n} for tensor "
                    f"number {place} in the list."
                )
    return RuntimeError(f"tensors of shapes {[a.shape for a in arrays]} cannot be concatenated")


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1 :]


def _cat_tensors(F: Any, g: Any, tensors_shape: list[tuple[int, ...]], dim: int) -> Any:
    return F.split_with_sizes(g, split_sizes=tuple([shape[dim] for shape in tensors_shape]), dim=dim)


def _stack_kernel(tensors: list[np.ndarray], *, dim: int = 0) -> np.ndarray:
    ndim = tensors[0].ndim + 1
    place = (ALL,) * (dim if dim >= 0 else dim + ndim) + (None,)
    try:
        return row_major(np.concatenate([array[place] for array in tensors], dim))
    except (ValueError, IndexError):
        dim_of(dim, ndim)
        which, other = next((i, array) for i, array in enumerate(tensors) if array.shape != tensors[0].shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
            f"{list(other.shape)} at entry {which}"
        ) from None


_cat = op("cat", "CatBackward0", _cat_kernel, ("*tensors",), broadcasts=True, tangent="linear",
          hides=("tensors_shape",), tensors=_cat_tensors)  # fmt: skip
_stack = op("stack", "StackBackward0", _stack_kernel, ("*tensors",), broadcasts=True, tangent="linear",
            tensors=lambda F, g, dim: F.unbind(g, dim=dim))  # fmt: skip


def _listed(name: str, tensors: Any) -> Any:
    if isinstance(tensors, (list, tuple)):
        return tensors
    raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")


def _some(name: str, tensors: Any) -> Any:
    if not _listed(name, tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along an existing dimension.

    Parameters
    ----------
    tensors : sequence of Tensor
        Shapes that are equal but for dimension *dim*; dtypes are promoted. Empty 1-d tensors are left out.
    dim : int
        The dimension; *axis* is another name for it.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If shapes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    dim = dim if axis is None else either(dim, axis, 0)
    if out is not None:
        return deliver("cat", lambda: cat(tensors, dim), tuple(tensors), out, casts=True, refusal=TypeError)
    if not _listed("cat", tensors):
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if dim is None:
        raise TypeError("cat(): argument 'dim' (position 2) must be int, not NoneType")
    try:
        return _cat(tensors, dim)
    except RuntimeError:
        kept = [t for t in tensors if t._array.shape != (0,)]
        if not kept or len(kept) == len(tensors):
            raise
    shape = list(kept[0]._array.shape)
    shape[dim] = 0
    return _cat([t if t._array.shape != (0,) else shapes.reshape(t, shape) for t in tensors], dim)


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """Tensors of one shape side by side, along a new dimension.

    Parameters
    ----------
    tensors : sequence of Tensor
        Equal shapes; dtypes are promoted.
    dim : int
        Where the new dimension is.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Raises
    ------
    RuntimeError
        If the shapes differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    dim = dim if axis is None else either(dim, axis, 0)
    if out is not None:
        return deliver("stack", lambda: stack(tensors, dim), tuple(tensors), out, casts=True, refusal=TypeError)
    if not _listed("stack", tensors):
        raise RuntimeError("stack expects a non-empty TensorList")
    return _stack(tensors, dim)


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along dimension 1, or 0 where they are 1-d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.hstack([torch.tensor([[1], [2]]), torch.tensor([[3], [4]])])
    tensor([[1, 3],
            [2, 4]])
    """
    wide = shapes.atleast_1d(_some("hstack", tensors))
    return cat(wide, 0 if wide and wide[0]._array.ndim == 1 else 1, out=out)


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along dimension 0; 1-d ones are rows.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(shapes.atleast_2d(_some("vstack", tensors)), 0, out=out)


row_stack = vstack


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along dimension 2, as `atleast_3d` gives them.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat(shapes.atleast_3d(_some("dstack", tensors)), 2, out=out)


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along dimension 1; 1-d ones are columns.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    arrays = arrays_of("column_stack", _some("column_stack", tensors))
    columns = [t if a.ndim > 1 else shapes._view(t, (a.size, 1)) for t, a in zip(tensors, arrays)]
    return cat(columns, 1, out=out)


# -- splitting ---------------------------------------------------------------------------------------------------------
def _parts(array: np.ndarray, dim: int, sizes: Sequence[int]) -> list[np.ndarray]:
    lead = (ALL,) * (dim % array.ndim)
    ends = list(itertools.accumulate(sizes))
    return [array[(*lead, slice(end - n, end))] for n, end in zip(sizes, ends)]


def _split_kernel(self: np.ndarray, *, split_size: int, dim: int = 0) -> list[np.ndarray]:
    lead = (ALL,) * (dim % self.ndim)
    starts = range(0, self.shape[dim] or 1, split_size or 1)
    return [self[(*lead, slice(start, start + split_size))] for start in starts]


def _split_with_sizes_kernel(self: np.ndarray, *, split_sizes: tuple[int, ...], dim: int = 0) -> list[np.ndarray]:
    return _parts(self, dim, split_sizes)


def _unbind_kernel(self: np.ndarray, *, dim: int = 0) -> list[np.ndarray]:
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    lead = (ALL,) * dim_of(dim, self.ndim)
    return [self[(*lead, place, ...)] for place in range(self.shape[dim])]


def _of_split(F: Any, g: Any, dim: int, split_size: int) -> Any:
    return F.cat(g, dim=dim)  # the sizes are saved only to be shown


def _of_split_with_sizes(F: Any, g: Any, dim: int, split_sizes: tuple[int, ...]) -> Any:
    return F.cat(g, dim=dim)


_views: dict[str, Any] = {"view": True, "outputs": True, "tangent": "linear"}
_split = op("split", "SplitBackward0", _split_kernel, ("self",), **_views, self=_of_split)
_split_with_sizes = op("split_with_sizes", "SplitWithSizesBackward0", _split_with_sizes_kernel, ("self",), **_views,
                       self=_of_split_with_sizes)  # fmt: skip
_unsafe_split = op(
    "unsafe_split", "UnsafeSplitBackward0", _split_kernel, ("self",), outputs=True, tangent="linear", self=_of_split
)
_unsafe_split_with_sizes = op("unsafe_split_with_sizes", "UnsafeSplitWithSizesBackward0", _split_with_sizes_kernel,
                              ("self",), outputs=True, tangent="linear", self=_of_split_with_sizes)  # fmt: skip
_unbind = op(
    "unbind", "UnbindBackward0", _unbind_kernel, ("self",), **_views, self=lambda F, g, dim: F.stack(g, dim=dim)
)


def _divided(name: str, input: Tensor, split_size: Any, dim: int, by_size: Any, by_sizes: Any) -> tuple[Tensor, ...]:
    shape = array_of(name, input).shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_of(dim, len(shape))
    if isinstance(split_size, (tuple, list)):
        sizes = sizes_given(name, (split_size,), argument="split_size")
        if sum(sizes) != shape[dim] or min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {shape[dim]} (input tensor's size at "
                f"dimension {dim}), "
                f"but got split_sizes={list(sizes)}"
            )
        return by_sizes(input, sizes, dim)
    if split_size.__class__ is not int:
        split_size = sizes_given(name, (split_size,), argument="split_size")[0].__index__()
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and shape[dim]:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {shape[dim]}")
    return by_size(input, split_size, dim)


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of one dimension.

    Parameters
    ----------
    tensor : Tensor
        At least one dimension.
    split_size_or_sections : int or sequence of int
        The size of each part (the last may be smaller), or the sizes of all parts.
    dim : int
        The dimension.

    Raises
    ------
    RuntimeError
        If the sizes do not add up. Writing in place into a part that has history is refused (see `unsafe_split`).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _divided("split", tensor, split_size_or_sections, dim, _split, _split_with_sizes)


def split_method(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of one dimension; see `split`."""
    return _divided("split", input, split_size, dim, _split, _split_with_sizes)


def split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Views of consecutive parts of these sizes; see `split`."""
    dim = dim if axis is None else either(dim, axis, 0)
    return _divided("split_with_sizes", input, list(split_sizes), dim, _split, _split_with_sizes)


def unsafe_split(input: Tensor, split_size: int, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """`split` whose parts may be written in place: they share memory, but autograd takes them for copies."""
    dim = dim if axis is None else either(dim, axis, 0)
    return _divided("unsafe_split", input, split_size, dim, _unsafe_split, _unsafe_split_with_sizes)


def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose parts may be written in place; see `unsafe_split`."""
    dim = dim if axis is None else either(dim, axis, 0)
    return _divided("unsafe_split_with_sizes", input, list(split_sizes), dim, _unsafe_split, _unsafe_split_with_sizes)


def _chunked(name: str, input: Tensor, chunks: int, dim: int, by_size: Any, by_sizes: Any) -> tuple[Tensor, ...]:
    shape = array_of(name, input).shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dim_of(dim, len(shape))
    if not shape[dim]:
        return by_sizes(input, (0,) * chunks, dim)
    return by_size(input, -(-shape[dim] // chunks), dim)


def chunk(input: Tensor, chunks: int, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """Views of at most *chunks* consecutive parts, all of one size but perhaps the last.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    dim = dim if axis is None else either(dim, axis, 0)
    return _chunked("chunk", input, chunks, dim, _split, _split_with_sizes)


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """`chunk` whose parts may be written in place; see `unsafe_split`."""
    dim = dim if axis is None else either(dim, axis, 0)
    return _chunked("unsafe_chunk", input, chunks, dim, _unsafe_split, _unsafe_split_with_sizes)


def unbind(input: Tensor, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """Views of all slices along a dimension, which is gone in them.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).unbind(1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    dim = dim if axis is None else either(dim, axis, 0)
    return _unbind(input, dim)


def _slice(input: Tensor, dim: int, start: int, end: int) -> Tensor:
    return traced.slice(input, dim=dim, start=start, end=end)


def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """A view of *length* elements of a dimension, from *start* on.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = array_of("narrow", input).shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim, first = dim_of(dim, len(shape)), integer(start, "start")
    n = shape[dim]
    if integer(length, "length") < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= first <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    first = first + n if first < 0 else first
    if first + length > n:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    if observers and length and isinstance(start, _runtime.Tensor):
        tell_left("index", start)
        start = start % n
        return _slice(input, dim, position(first, start), position(first + length, start + length))
    return _slice(input, dim, first, first + length)


def tensor_split(
    input: Tensor, indices_or_sections: Any, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Views of consecutive parts, as equal as can be, or between given places.

    Parameters
    ----------
    input : Tensor
        At least one dimension.
    indices_or_sections : int, sequence of int or Tensor
        How many parts, or where each but the first begins.
    dim : int
        The dimension.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(5).tensor_split(2), torch.arange(5).tensor_split((1, 4))
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2, 3]), tensor([4])))
    """
    dim = dim if axis is None else either(dim, axis, 0)
    shape = array_of("tensor_split", input).shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = dim_of(dim, len(shape))
    given = getattr(indices_or_sections, "_array", indices_or_sections)
    if isinstance(given, np.ndarray) and (given.dtype != np.int64 or given.ndim > 1):
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be 0-d or 1-d and of dtype long, but got "
            f"{given.ndim} dims of {scalar_name(given.dtype)}"
        )
    if isinstance(given, np.ndarray):
        tell_read([indices_or_sections])
        given = given.tolist()
    given = integer_or_integers(given, "indices_or_sections")
    if isinstance(given, tuple):
        starts, ends = (0, *given), (*given, shape[dim])
    elif given <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {given}")
    else:
        least, more = divmod(shape[dim], given)
        starts = tuple([least * i + min(i, more) for i in range(given)])
        ends = (*starts[1:], shape[dim])
    return tuple([_slice(input, dim, start, end) for start, end in zip(starts, ends)])


def _split_along(name: str, input: Tensor, given: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    shape = array_of(name, input).shape
    if len(shape) < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} "
            "dimensions!"
        )
    if isinstance(given, int) and (given <= 0 or shape[dim] % given):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} "
            "is not divisible by "
            f"the split_size {given}!"
        )
    return tensor_split(input, given, dim)


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 1 (0 for 1-d tensors); a number of parts must divide the size.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.hsplit(torch.arange(6).reshape(2, 3), [1])
    (tensor([[0],
            [3]]), tensor([[1, 2],
            [4, 5]]))
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if array_of("hsplit", input).ndim == 1 else 1, 1)


def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 0; a number of parts must divide the size."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 2; a number of parts must divide the size."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


# -- grids -------------------------------------------------------------------------------------------------------------
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid, each tensor expanded over the others.

    Parameters
    ----------
    *tensors : Tensor, or a sequence of Tensor
        0-d or 1-d.
    indexing : {"ij", "xy"}
        "ij": dimension *k* of the results is that of tensor *k*; "xy": the first two are swapped.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    arrays = arrays_of("meshgrid", given)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    if text(indexing, "indexing") not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for array in arrays:
        if array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape {list(array.shape)}"
            )
    if len({tensor._array.dtype for tensor in given}) > 1:
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swapped = indexing == "xy" and len(given) > 1
    if swapped:
        given[:2] = given[1::-1]
    size = tuple([tensor._array.size for tensor in given])
    grids = [
        broadcast._expand(shapes._view(tensor, tuple([n if d == place else 1 for d, n in enumerate(size)])), size)
        for place, tensor in enumerate(given)
    ]
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of elements of 1-d tensors, one a row.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for array in arrays_of("cartesian_prod", tensors):
        if array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([shapes.flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)
