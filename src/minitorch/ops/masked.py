"""Flat positions and masks: take and put, masked reads and writes, where a tensor is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, check_tensors, dim_of, flag, integer
from .._choices import choice
from .._errors import broadcast_problem, scalar_name
from .._kernels.scatter import ALL, add_along
from .._op import op
from .._runtime import deliver, severed, traced, wrap
from .choices import coordinates
from .index import outside

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- flat positions ----------------------------------------------------------------------------------------------------
def _take_kernel(self: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.asarray(self.reshape(-1)[index])


def _put_sum_kernel(source: np.ndarray, index: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    return _put_kernel(np.zeros(shape, source.dtype), index, source, accumulate=True)


def _put_kernel(self: np.ndarray, index: np.ndarray, source: np.ndarray, *, accumulate: bool = False) -> np.ndarray:
    out = np.array(self, order="C")
    flat, where = out.reshape(-1), index.reshape(-1)
    if accumulate:
        add_along(flat, np.where(where < 0, where + flat.size, where), source, 0)
    else:
        flat[where] = source.reshape(-1)
    return out


_take = op("take", "TakeBackward0", _take_kernel, ("self", "index"), tangent="linear",
           self=lambda F, g, self_shape, index: F.put_sum(g, index, shape=self_shape))  # fmt: skip
op("put_sum", "PutBackward0", _put_sum_kernel, ("source", "index"), tangent="linear",
   source=lambda F, g, index: F.take(g, index))  # fmt: skip


def _put_self(F: Any, g: Any, index: Any, source_shape: Any, accumulate: bool) -> Any:
    return g if accumulate else F.put(g, index, F.zeros(source_shape, g))


_put = op("put", "PutBackward0", _put_kernel, ("self", "index", "source"), tangent="linear",
          self=_put_self,
          source=lambda F, g, index: F.take(g, index))  # fmt: skip


def _check_flat(name: str, input: Any, index: Any) -> None:
    if array_of(name, index, "index", 2).dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {scalar_name(index._array.dtype)}")
    size = array_of(name, input).size
    if (wrong := outside(index, size, name, lowest=-size)) is not None:
        raise IndexError(f"{name}(): out of range: tried to access index {wrong} on a tensor of {size} elements.")


def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened input at given positions.

    Parameters
    ----------
    input : Tensor
        Any shape.
    index : Tensor
        int64, any shape; negative ones count from the end.
    out : Tensor, optional
        Where the result is written.

    Returns
    -------
    Tensor
        Of *index*'s shape.

    Raises
    ------
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    if out is not None:
        return deliver("take", lambda: take(input, index), (input, index), out)
    _check_flat("take", input, index)
    return _take(input, index)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values put at positions of the flattened input.

    Parameters
    ----------
    input : Tensor
        Any shape.
    index : Tensor
        int64, any shape; negative ones count from the end.
    source : Tensor
        *input*'s dtype, as many elements as *index*.
    accumulate : bool
        Whether values are added, also where a position is repeated.

    Raises
    ------
    IndexError
        If a position is out of range or the numbers of elements differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.put(torch.zeros(2, 2), torch.tensor([1, -1]), torch.tensor([5.0, 6.0]))
    tensor([[0., 5.],
            [0., 6.]])
    """
    _check_flat("put_", input, index)
    flag(accumulate, "accumulate")
    if array_of("put_", source, "source", 3).dtype != input._array.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_name(input._array.dtype)} and source.dtype = {scalar_name(source._array.dtype)}"
        )
    if source._array.size != index._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    if source._array.shape != index._array.shape:
        source = traced.view(source, size=index._array.shape)
    return _put(input, index, source, accumulate)


# -- masks -------------------------------------------------------------------------------------------------------------
def _masked_select_kernel(self: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if self.shape != mask.shape:
        self, mask = np.broadcast_arrays(self, mask)
    return self[mask]


def _masked_place_kernel(self: np.ndarray, mask: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """``self`` where the mask is true, added up to the shape that was broadcast to the mask's."""
    out = np.zeros(np.broadcast_shapes(shape, mask.shape), self.dtype)
    out[np.broadcast_to(mask, out.shape)] = self
    lead = out.ndim - len(shape)
    out = out.sum(tuple(range(lead))) if lead else out
    kept = tuple([dim for dim, size in enumerate(shape) if size == 1 and out.shape[dim] != 1])
    return np.asarray(out.sum(kept, keepdims=True) if kept else out)


def _masked_scatter_kernel(self: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    mask = np.broadcast_to(mask, np.broadcast_shapes(self.shape, mask.shape))
    out = np.broadcast_to(self, mask.shape).copy(order="C")
    out[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
    return out


def _masked_pack_kernel(self: np.ndarray, mask: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """What the mask selects, in front of zeros: the gradient of ``masked_scatter`` for its source."""
    out = np.zeros(shape, self.dtype)
    selected = self[np.broadcast_to(mask, self.shape)]
    out.reshape(-1)[: selected.size] = selected
    return out


_masked_select = op("masked_select", "MaskedSelectBackward0", _masked_select_kernel, ("self", "mask"), tangent="linear",
                    self=lambda F, g, self_shape, mask: F.masked_place(g, mask, shape=self_shape))  # fmt: skip
op("masked_place", "MaskedScatterBackward0", _masked_place_kernel, ("self", "mask"), tangent="linear",
   self=lambda F, g, mask: F.masked_select(g, mask))  # fmt: skip
_masked_scatter = op("masked_scatter", "MaskedScatterBackward0", _masked_scatter_kernel, ("self", "mask", "source"),
                     tangent="linear",
                     self=lambda F, g, self_shape, mask:
                         F.sum_to(F.masked_scatter(g, mask, F.zeros(g.shape, g)), shape=self_shape),
                     source=lambda F, g, mask, source_shape: F.masked_pack(g, mask, shape=source_shape))  # fmt: skip
op("masked_pack", "MaskedSelectBackward0", _masked_pack_kernel, ("self", "mask"), tangent="linear",
   self=lambda F, g, self_shape, mask: F.masked_scatter(F.zeros(self_shape, g), mask, g))  # fmt: skip


def _masked_shape(input: Any, mask: Any) -> tuple[int, ...]:
    shapes = [mask._array.shape, input._array.shape]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(broadcast_problem(shapes)) from None


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask is true, as a vector.

    Parameters
    ----------
    input : Tensor
        Any shape.
    mask : Tensor
        bool; broadcasts with *input*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If the mask is not bool or does not broadcast.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0, -2.0, 3.0])
    >>> torch.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    if out is not None:
        return deliver("masked_select", lambda: masked_select(input, mask), (input, mask), out)
    if array_of("masked_select", mask, "mask", 2).dtype != np.bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {scalar_name(mask._array.dtype)}")
    array_of("masked_select", input)
    _masked_shape(input, mask)
    return _masked_select(input, mask)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the first values of a source, in order, where a mask is true.

    Parameters
    ----------
    input : Tensor
        Any shape.
    mask : Tensor
        bool; broadcasts with *input*.
    source : Tensor
        *input*'s dtype, at least as many elements as the mask has true ones.

    Raises
    ------
    RuntimeError
        If the mask is not bool, dtypes differ, or the source is too short.

    Examples
    --------
    >>> import minitorch as torch
    >>> mask = torch.tensor([True, False, True])
    >>> torch.masked_scatter(torch.zeros(3), mask, torch.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 2.])
    """
    check_tensors("masked_scatter", input=input, mask=mask, source=source)
    if mask._array.dtype != np.bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {scalar_name(mask._array.dtype)}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{scalar_name(input._array.dtype)} and {scalar_name(source._array.dtype)}"
        )
    wanted = np.count_nonzero(np.broadcast_to(mask._array, _masked_shape(input, mask)))
    if source._array.size < wanted:
        raise RuntimeError(
            "masked_scatter: Number of elements of source < number of ones in mask: got "
            f"{source._array.size} and {wanted}"
        )
    return _masked_scatter(input, mask, source)


# -- where a tensor is not zero; copies of a part ----------------------------------------------------------------------
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Where the input is not zero.

    Parameters
    ----------
    input : Tensor
        Any shape.
    out : Tensor, optional
        Where the result is written.
    as_tuple : bool
        Whether to return a vector of indices for each dimension, fit to index the input, instead of a row a place.

    Returns
    -------
    Tensor or tuple of Tensor
        int64, of shape (number of places, number of dimensions); or that many vectors.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nonzero(torch.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    >>> torch.nonzero(torch.tensor([0, 5, 6]), as_tuple=True)
    (tensor([1, 2]),)
    """
    array_of("nonzero", input)
    if flag(as_tuple, "as_tuple"):
        return tuple([severed("nonzero", place, input) for place in coordinates(input)])
    if out is not None:
        return deliver("nonzero", lambda: nonzero(input), (), out)
    return severed("nonzero", _places(input), input)


@choice("nonzero", fits=False)
def _places(self: np.ndarray) -> np.ndarray:
    places = np.atleast_1d(self).nonzero()
    return np.stack(places[: self.ndim], 1) if self.ndim else np.zeros((places[0].size, 0), np.int64)


def argwhere(input: Tensor) -> Tensor:
    """Where the input is not zero, one row of indices for each place.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.argwhere(torch.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    return nonzero(input)  # type: ignore[return-value]  # one, unless as a tuple


_narrow_copy = op("narrow_copy", "NarrowCopyBackward0",
                  lambda self, *, dim, start, end: self[(ALL,) * dim + (slice(start, end),)].copy(), ("self",),
                  tangent="linear",
                  self=lambda F, g, self_shape, dim, start, end:
                      F.slice_backward(g, shape=self_shape, dim=dim, start=start, end=end, step=1))  # fmt: skip


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of *length* slices along a dimension, from *start* on.

    Parameters
    ----------
    input : Tensor
        At least 1-d.
    dim : int
        Which dimension.
    start : int
        The first one; negative counts from the end.
    length : int
        How many.

    Raises
    ------
    RuntimeError
        If these slices are not there.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.narrow_copy(torch.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    shape = array_of("narrow_copy", input).shape
    if not shape:
        raise RuntimeError("narrow_copy() cannot be applied to a 0-dim tensor.")
    dim = dim_of(dim, len(shape))
    start, length, size = integer(start, "start"), integer(length, "length"), shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"narrow_copy(): start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start += size * (start < 0)
    if length < 0 or start + length > size:
        raise RuntimeError(f"narrow_copy(): start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return _narrow_copy(input, dim, start, start + length)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first *size* rows of ``nonzero``; where there are fewer, *fill_value* in the others.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nonzero_static(torch.tensor([1, 0, 1]), size=3)
    tensor([[ 0],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    array_of("nonzero_static", input)
    return wrap(_first_places(input, size=size, fill_value=fill_value))


@choice("nonzero_static")
def _first_places(self: np.ndarray, *, size: int, fill_value: int) -> np.ndarray:
    found = np.argwhere(self)[:size]
    rows = np.full((size, self.ndim), fill_value, np.int64)
    rows[: len(found)] = found
    return rows
