"""Copies of a tensor in which a view's part is replaced: ``select_scatter`` and its kin; ``fill_diagonal_``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, dim_of, either, sizes_given
from .._choices import position
from .._errors import scalar_name
from .._inplace import NUMBERS, write
from .._kernels.scatter import ALL
from .._op import op, rows
from .._types import Number
from . import copies
from .choices import masked_fill
from .memory import Geometry, extent, offset_of, places, strides_of
from .subscript import END

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _written(view: Any, self: np.ndarray, src: np.ndarray, **where: Any) -> np.ndarray:
    """A copy of *self* whose part that a view's row shows is *src*."""
    out = np.array(self, order="C")
    view(out, **where)[...] = src
    return out


def _as_strided_scatter_kernel(
    self: np.ndarray, src: np.ndarray, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int, origin: Geometry
) -> np.ndarray:
    part = size, stride, offset
    memory = np.empty(extent(origin, part), self.dtype)
    memory[places(origin)] = self
    memory[places(part)] = src
    return np.asarray(memory[places(origin)])


_select, _slice, _diagonal = (rows[name].kernel for name in ("select", "slice", "diagonal"))
_select_scatter = op(
    "select_scatter", "SelectScatterBackward0",
    lambda self, src, *, dim, index: _written(_select, self, src, dim=dim, index=index),
    ("self", "src"), tangent="linear",
    self=lambda F, g, src_shape, dim, index: F.select_scatter(g, F.zeros(src_shape, g), dim=dim, index=index),
    src=lambda F, g, dim, index: F.select(g, dim=dim, index=index))  # fmt: skip
_slice_scatter = op(
    "slice_scatter", "SliceScatterBackward0",
    lambda self, src, *, dim, start, end, step: _written(_slice, self, src, dim=dim, start=start, end=end,
                                                         step=step),
    ("self", "src"), tangent="linear",
    self=lambda F, g, src_shape, dim, start, end, step:
        F.slice_scatter(g, F.zeros(src_shape, g), dim=dim, start=start, end=end, step=step),
    src=lambda F, g, dim, start, end, step: F.slice(g, dim=dim, start=start, end=end, step=step))  # fmt: skip
_diagonal_scatter = op(
    "diagonal_scatter", "DiagonalScatterBackward0",
    lambda self, src, *, offset, dim1, dim2: _written(_diagonal, self, src, offset=offset, dim1=dim1,
                                                      dim2=dim2),
    ("self", "src"), tangent="linear",
    self=lambda F, g, src_shape, offset, dim1, dim2:
        F.diagonal_scatter(g, F.zeros(src_shape, g), offset=offset, dim1=dim1, dim2=dim2),
    src=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2))  # fmt: skip
_as_strided_scatter = op(
    "as_strided_scatter", "AsStridedScatterBackward0",
    _as_strided_scatter_kernel, ("self", "src"), tangent="linear",
    self=lambda F, g, src_shape, size, stride, offset, origin:
        F.as_strided_scatter(g, F.zeros(src_shape, g), size=size, stride=stride, offset=offset, origin=origin),
    src=lambda F, g, size, stride, offset, origin:
        F.restride(g, source=origin, target=(size, stride, offset), shared=origin))  # fmt: skip


# -- functions ---------------------------------------------------------------------------------------------------------
def _fitting(name: str, input: Any, src: Any, part: Any) -> Any:
    """The source in *input*'s dtype; RuntimeError where its shape is not that of the part it replaces."""
    given = array_of(name, src, "src", 2)
    if given.shape != part.shape:
        raise RuntimeError(
            f"{name}(): expected src to have a size equal to the slice of self. src size = {list(given.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    return src if given.dtype is input._array.dtype else copies.converted(src, input._array.dtype)


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of *input* whose slice at one position of a dimension is *src*: ``out.select(dim, index)`` is.

    Raises
    ------
    RuntimeError
        If *src* has not that slice's shape.
    IndexError
        If *dim* or *index* is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    array = array_of("select_scatter", input)
    dim, place = dim_of(dim, array.ndim), operator.index(index)
    src = _fitting("select_scatter", input, src, _select(array, dim=dim, index=place))
    return _select_scatter(input, src, dim, position(place, index))


def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    axis: int | None = None,
) -> Tensor:
    """A copy of *input* whose slice ``start:end:step`` of a dimension is *src*.

    Raises
    ------
    RuntimeError
        If *src* has not that slice's shape.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=2)
    tensor([0., 0., 1., 1.])
    """
    dim = dim if axis is None else either(dim, axis, 0)
    array = array_of("slice_scatter", input)
    if step <= 0:
        raise RuntimeError(f"slice_scatter(): step must be positive, not {step}")
    where = dim_of(dim, array.ndim), 0 if start is None else start, END if end is None else end, step
    part = array[(ALL,) * where[0] + (slice(*where[1:]),)]
    return _slice_scatter(input, _fitting("slice_scatter", input, src, part), *where)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of *input* whose diagonal, see ``diagonal``, is *src*.

    Raises
    ------
    RuntimeError
        If *src* has not the diagonal's shape.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    array = array_of("diagonal_scatter", input)
    dim1, dim2 = dim_of(dim1, array.ndim), dim_of(dim2, array.ndim)
    part = _diagonal(array, offset=offset, dim1=dim1, dim2=dim2)
    return _diagonal_scatter(input, _fitting("diagonal_scatter", input, src, part), offset, dim1, dim2)


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of *input* whose part that ``as_strided`` would show is *src*.

    Raises
    ------
    RuntimeError
        If *src* has not that part's shape, or the part is outside the memory.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,), 1)
    tensor([0., 1., 0., 1.])
    """
    array = array_of("as_strided_scatter", input)
    sizes = sizes_given("as_strided_scatter", (size,))
    steps = sizes_given("as_strided_scatter", (stride,), argument="stride")
    here = offset_of(array)
    origin: Geometry = (array.shape, strides_of(array), here)
    where = sizes, steps, here if storage_offset is None else storage_offset, origin
    part = rows["as_strided"].kernel(array, size=where[0], stride=where[1], offset=where[2], origin=origin)
    return _as_strided_scatter(input, _fitting("as_strided_scatter", input, src, part), *where)


def fill_diagonal_(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Set the elements with equal indices to a number, in place; with *wrap*, go on below the end of a tall matrix.

    Raises
    ------
    RuntimeError
        If the tensor has fewer than 2 dimensions, or more and not all of one size.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 2).fill_diagonal_(3)
    tensor([[3., 0.],
            [0., 3.]])
    """
    array = array_of("fill_diagonal_", input)
    if array.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if array.ndim > 2 and len(set(array.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if isinstance(fill_value, _runtime.Tensor):
        raise TypeError(f"fill_diagonal_(): fill_value must be a number, not a tensor of {scalar_name(array.dtype)}")
    mask = np.zeros(array.shape, bool)
    np.fill_diagonal(mask, True, wrap=wrap)
    return write(input, masked_fill, (_runtime.wrap(mask), fill_value), extent=NUMBERS)
