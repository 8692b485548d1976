"""Rearranged copies: repeated, flipped, rolled, rotated; triangles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, dims_of, either, integer, integers, sizes_given
from .._choices import choice
from .._device import check_device
from .._dtypes import INT64, to_numpy
from .._errors import scalar_name
from .._layouts import row_major
from .._op import op
from .._runtime import deliver, traced, wrap
from . import broadcast, copies
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- repeating ---------------------------------------------------------------------------------------------------------
def _repeat_kernel(self: np.ndarray, *, repeats: tuple[int, ...]) -> np.ndarray:
    shape = (1,) * (len(repeats) - self.ndim) + self.shape
    pairs = list(itertools.chain.from_iterable(zip(repeats, shape)))
    spread = np.broadcast_to(self.reshape(_paired([1] * len(shape), shape)), pairs)
    return np.array(spread).reshape([times * n for times, n in zip(repeats, shape)])


def _paired(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The two sequences' elements in turn."""
    return tuple(itertools.chain.from_iterable(zip(first, second)))


def _repeat_self(F: Any, g: Any, self_shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    shape = (1,) * (len(repeats) - len(self_shape)) + self_shape
    spread = F.view(g, size=_paired(repeats, shape))
    return F.view(F.sum_to(spread, shape=_paired([1] * len(shape), shape)), size=self_shape)


_repeat = op("repeat", "RepeatBackward0", _repeat_kernel, ("self",), tangent="linear", self=_repeat_self)


def repeat(input: Tensor, *times: Any, repeats: Sequence[int] | None = None) -> Tensor:
    """A copy in which the tensor comes several times along each dimension.

    Parameters
    ----------
    input : Tensor
        Any shape.
    *times : int, or a sequence of int
        How often, for each dimension; there may be more than *input* has, which then lead.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    given = sizes_given("repeat", times, repeats, "repeats")
    if len(given) < input._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if min(given, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats are {list(given)}")
    return _repeat(input, given)


def tile(input: Tensor, *times: Any, dims: Sequence[int] | None = None) -> Tensor:
    """`repeat`, where fewer numbers than dimensions are counted from the last one.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    given = sizes_given("tile", times, dims, "dims")
    return repeat(input, (1,) * (array_of("tile", input).ndim - len(given)) + given)


def repeat_interleave(
    input: Tensor,
    repeats: int | Tensor | EllipsisType = ...,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    axis: int | None = None,
) -> Tensor:
    """A copy in which each element, or slice along *dim*, comes several times in a row.

    Parameters
    ----------
    input : Tensor
        Any shape; flattened where *dim* is None.
    repeats : int or Tensor
        How often, for all alike or for each; where it is not given, *input* says it of its own places, which come.
    dim : int, optional
        The dimension.
    output_size : int, optional
        The size that *dim* then has, which is checked.
    axis
        NumPy's name for *dim*.

    Raises
    ------
    RuntimeError
        If a number of repeats is negative, or there are not as many as slices, or *output_size* is another.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    >>> torch.tensor([1, 2]).repeat_interleave(torch.tensor([0, 3]))
    tensor([2, 2, 2])
    """
    dim = dim if axis is None else either(dim, axis)
    if not isinstance(repeats, EllipsisType):
        return repeat_interleave_method(input, repeats, dim, output_size=output_size)
    if dim is not None:
        raise TypeError("repeat_interleave(): a dim needs repeats: give how often each slice comes")
    counts = array_of("repeat_interleave", input)
    if counts.ndim != 1:
        raise RuntimeError(f"repeat_interleave only accepts a 1-d tensor as repeats, not one of {counts.ndim} dims")
    return _repeated_places(input, output_size)


def repeat_interleave_method(
    input: Tensor,
    repeats: int | Tensor,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    axis: int | None = None,
) -> Tensor:
    """A copy in which each element, or slice along *dim*, comes several times in a row; see `repeat_interleave`."""
    dim = dim if axis is None else either(dim, axis)
    if dim is None:
        input, dim = shapes.flatten(input), 0
    dim = dim_of(dim, array_of("repeat_interleave", input).ndim)
    shape = input._array.shape or (1,)
    counts = getattr(repeats, "_array", None)
    if counts is not None and counts.size != 1:
        if counts.shape != (shape[dim],):
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.shape = {list(counts.shape)} and "
                f"input.shape = {list(shape)}"
            )
        return traced.index_select(input, _repeated_places(repeats, output_size), dim=dim)  # type: ignore[arg-type]  # a tensor
    if counts is not None:
        _check_counts(counts)
    times = integer(repeats, "repeats")
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    _check_output_size(output_size, shape[dim] * times)
    spread = broadcast._expand(shapes._unsqueeze(input, dim + 1), (*shape[: dim + 1], times, *shape[dim + 1 :]))
    return shapes._view(copies._contiguous(spread), (*shape[:dim], shape[dim] * times, *shape[dim + 1 :]))


@choice("repeats", fits=False)
def _repeats(self: np.ndarray, *, output_size: int | None) -> np.ndarray:
    """Of counts, or of rows of them that have one sum."""
    if (self < 0).any():
        raise RuntimeError("repeats can not be negative")
    totals = self.sum(-1)
    wanted = totals.flat[0] if output_size is None and totals.size else output_size
    if (totals != wanted).any():
        if output_size is None:
            raise RuntimeError(
                "repeat_interleave: results of examples under vmap must have one size, but the repeats' sums are "
                f"{totals.tolist()}"
            )
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {totals.tolist()} but got {output_size}")
    numbers = np.broadcast_to(np.arange(self.shape[-1]), self.shape)
    return np.repeat(numbers.ravel(), self.ravel()).reshape(*self.shape[:-1], wanted or 0)


def _repeated_places(counted: Tensor, output_size: int | None) -> Tensor:
    """0, 1, 2 …, each as often as *counted* says."""
    counts = counted._array
    _check_counts(counts)
    return wrap(_repeats(counted, output_size=None if output_size is None else integer(output_size, "output_size")))


def _check_counts(counts: np.ndarray) -> None:
    if counts.dtype not in (np.int64, np.int32):
        raise NotImplementedError(f'"repeat_interleave_cpu" not implemented for {scalar_name(counts.dtype)!r}')


def _check_output_size(given: int | None, found: int) -> None:
    if given is not None and integer(given, "output_size") != found:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {found} but got {given}")


# -- reversing and shifting --------------------------------------------------------------------------------------------
def _flip_kernel(self: np.ndarray, *, dims: tuple[int, ...]) -> np.ndarray:
    return self[(*[slice(None, None, -1 if d in dims else None) for d in range(self.ndim)], ...)].copy()


def _rot90_kernel(self: np.ndarray, *, k: int, dims: tuple[int, int]) -> np.ndarray:
    return np.rot90(self, k, dims).copy("K")


def _roll_kernel(self: np.ndarray, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    return row_major(np.roll(self, shifts, dims) if dims else np.roll(self, shifts[0]))


_flip = op(
    "flip", "FlipBackward0", _flip_kernel, ("self",), tangent="linear", self=lambda F, g, dims: F.flip(g, dims=dims)
)
_roll = op("roll", "RollBackward0", _roll_kernel, ("self",), tangent="linear",
           self=lambda F, g, shifts, dims: F.roll(g, shifts=tuple([-s for s in shifts]), dims=dims))  # fmt: skip
_rot90 = op("rot90", "Rot90Backward0", _rot90_kernel, ("self",), tangent="linear",
            self=lambda F, g, k, dims: F.rot90(g, k=-k, dims=dims))  # fmt: skip


def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A copy with the order of elements reversed along some dimensions.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dims : sequence of int
        The dimensions; the method takes several ints too.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).flip(0)
    tensor([[3, 4],
            [1, 2]])
    """
    return _flip(input, dims_of(integers(dims, "dims"), array_of("flip", input).ndim))


def flip_method(input: Tensor, *order: Any, dims: Sequence[int] | None = None) -> Tensor:
    """A copy reversed along dimensions that are given as ints or as a sequence of them; see `flip`."""
    return _flip(input, dims_of(sizes_given("flip", order, dims, "dims"), input._array.ndim))


def fliplr(input: Tensor) -> Tensor:
    """A copy with dimension 1 reversed.

    Raises
    ------
    RuntimeError
        If the input has fewer than 2 dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if array_of("fliplr", input).ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


def flipud(input: Tensor) -> Tensor:
    """A copy with dimension 0 reversed.

    Raises
    ------
    RuntimeError
        If the input has no dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.flipud(torch.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    if not array_of("flipud", input).ndim:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    """A copy with elements moved along dimensions; what leaves at the end comes in at the start.

    Parameters
    ----------
    input : Tensor
        Any shape.
    shifts : int or sequence of int
        How far.
    dims : int or sequence of int
        Along which dimensions, one for each shift; none: the flattened tensor is rolled.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    far = sizes_given("roll", (shifts,), argument="shifts")
    ndim = array_of("roll", input).ndim
    if dims != () and not ndim:
        raise IndexError(f"Dimension specified as {dims} but tensor has no dimensions")
    along = tuple([dim_of(d, ndim) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))])
    if not far:
        raise RuntimeError("`shifts` required")
    if len(far) != len(along) and (along or len(far) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(far)}, dims:{len(along)}")
    return _roll(input, far, along if ndim else ())


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated by *k* right angles in the plane of two dimensions, from the first towards the second.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).rot90()
    tensor([[2, 4],
            [1, 3]])
    """
    dims = integers(dims, "dims")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if array_of("rot90", input).ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    plane = tuple([dim_of(d, input._array.ndim) for d in dims])
    if plane[0] == plane[1]:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return _rot90(input, k, plane)


# -- triangles ---------------------------------------------------------------------------------------------------------
def _tril_kernel(self: np.ndarray, *, diagonal: int = 0) -> np.ndarray:
    if self.ndim < 2:
        raise RuntimeError("input tensor must have at least 2 dimensions")
    return np.tril(self, diagonal)


def _triu_kernel(self: np.ndarray, *, diagonal: int = 0) -> np.ndarray:
    if self.ndim < 2:
        raise RuntimeError("input tensor must have at least 2 dimensions")
    return np.triu(self, diagonal)


_tril = op("tril", "TrilBackward0", _tril_kernel, ("self",), tangent="linear",
           self=lambda F, g, diagonal: F.tril(g, diagonal=diagonal))  # fmt: skip
_triu = op("triu", "TriuBackward0", _triu_kernel, ("self",), tangent="linear",
           self=lambda F, g, diagonal: F.triu(g, diagonal=diagonal))  # fmt: skip


def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangles of matrices, 0 elsewhere.

    Parameters
    ----------
    input : Tensor
        ``(*, n, m)``.
    diagonal : int
        The last diagonal that is kept: 0 the main one, positive above it.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).tril()
    tensor([[1, 0],
            [3, 4]])
    """
    if out is not None:
        return deliver("tril", lambda: _tril(input, diagonal), (input,), out)
    return _tril(input, diagonal)


def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangles of matrices, 0 elsewhere; see `tril`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.triu(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    if out is not None:
        return deliver("triu", lambda: _triu(input, diagonal), (input,), out)
    return _triu(input, diagonal)


def _indices(name: str, places: tuple[np.ndarray, ...], dtype: Any) -> Tensor:
    to = INT64 if dtype is None else to_numpy(dtype)
    if to.kind not in "iu" or to.itemsize < 4:
        raise NotImplementedError(f'"{name}" not implemented for {to}: use int32 or int64')
    return wrap(np.stack(places).astype(to))


def _matrix(row: Any, offset: Any, col: Any) -> tuple[int, int, int]:
    row, offset, col = integer(row, "row"), integer(offset, "offset"), integer(col, "col")
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, but got row={row} and col={col}")
    return row, offset, col


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Rows and columns of the elements on and below a diagonal of a ``(row, col)`` matrix, row by row: ``(2, n)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    check_device(device)
    return _indices("tril_indices", np.tril_indices(*_matrix(row, offset, col)), dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Rows and columns of the elements on and above a diagonal of a ``(row, col)`` matrix, row by row: ``(2, n)``."""
    check_device(device)
    return _indices("triu_indices", np.triu_indices(*_matrix(row, offset, col)), dtype)
