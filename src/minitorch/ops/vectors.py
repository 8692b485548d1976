"""Products of vectors along a dimension, Vandermonde matrices, and what makes matrices of vectors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .._args import array_of, dim_of, either
from .._dtypes import promoted
from .._errors import scalar_name
from .._op import op
from .._runtime import deliver, traced, wrap
from . import arrange, diagonals, pointwise, reduce, scan
from . import shape as shapes
from ._matrices import check_batches, check_floating, check_same_dtype

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- cross and dot products --------------------------------------------------------------------------------------------
def _cross(self: np.ndarray, other: np.ndarray, *, dim: int) -> np.ndarray:
    a, b = np.moveaxis(self, dim, 0), np.moveaxis(other, dim, 0)
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return np.moveaxis(np.stack(parts), 0, dim)


_cross_row = op("cross", "LinalgCrossBackward0", _cross, ("self", "other"), broadcasts=True, numbers=False,
                tangent="multilinear",
                self=lambda F, g, other, dim: F.cross(other, g, dim=dim),
                other=lambda F, g, self, dim: F.cross(g, self, dim=dim))  # fmt: skip


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """The cross products of vectors with three elements.

    Parameters
    ----------
    input, other : Tensor
        As many dimensions each; they broadcast.
    dim : int
        The dimension, of size 3, along which the vectors lie.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    name = "linalg.cross"
    if out is not None:
        return deliver(name, lambda: cross(input, other, dim=dim), (input, other), out)
    a, b = array_of(name, input), array_of(name, other, "other", 2)
    if a.ndim != b.ndim:
        raise RuntimeError(f"{name}: inputs must have the same number of dimensions.")
    number = dim_of(dim, a.ndim)
    if not a.ndim or a.shape[number] != 3 or b.shape[number] != 3:
        sizes = [t.shape[number] if t.ndim else "none" for t in (a, b)]
        raise RuntimeError(f"{name}: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    check_batches(name, a.shape, b.shape)
    check_same_dtype(name, a, b, "input", "other")
    return _cross_row(input, other, number)


def input_cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """The cross products of vectors: `linalg.cross`, by default along the first dimension of size 3.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cross(torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0]))
    tensor([1., 0., 0.])
    """
    dim = dim if axis is None else either(dim, axis)
    if dim is None:
        shape = array_of("cross", input).shape
        array_of("cross", other, "other", 2)
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
    return cross(input, other, dim=dim, out=out)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """The dot products of vectors along a dimension.

    Parameters
    ----------
    x, y : Tensor
        Floats of one dtype; they broadcast.
    dim : int
        The dimension.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    name = "linalg.vecdot"
    if out is not None:
        return deliver(name, lambda: vecdot(x, y, dim=dim), (x, y), out)
    a, b = array_of(name, x, "x"), array_of(name, y, "y", 2)
    check_floating(name, a)
    check_same_dtype(name, a, b, "x", "y")
    return reduce.sum(pointwise.mul(x, y), dim)


def matrix_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices, ``(*, m, n)``: `diagonal` for the last two dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.diagonal(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3])
    """
    return diagonals.diagonal(A, offset, dim1, dim2)


# -- Vandermonde matrices ----------------------------------------------------------------------------------------------
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Matrices whose rows are the powers of elements, from 0 on.

    Parameters
    ----------
    x : Tensor
        ``(*, n)``, of integers, float32 or float64.
    N : int, optional
        How many powers (default: n).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.vander(torch.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    array = array_of("linalg.vander", x, "x")
    if array.dtype.kind == "b" or array.dtype == np.float16:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {scalar_name(array.dtype)}"
        )
    powers = (array.shape[-1] if array.ndim else 0) if N is None else N
    if powers <= 1:
        raise RuntimeError("N must be greater than 1.")
    dtype = array.dtype if array.dtype.kind == "f" else np.dtype(np.int64)
    if not array.ndim:
        x, array = shapes.reshape(x, (1,)), array.reshape(1)
    factors = traced.unsqueeze(x, dim=-1)
    factors = traced.expand(factors, size=(*array.shape, powers - 1))
    ones = wrap(np.ones((*array.shape, 1), dtype))
    return traced.cat([ones, scan.cumprod(factors, -1)], dim=array.ndim)


def input_vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix whose rows are the powers of a vector's elements, the highest first unless *increasing*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    array = array_of("vander", x, "x")
    if array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    powers = len(array) if N is None else N
    if powers < 0:
        raise RuntimeError("N must be non-negative.")
    if powers > 1:
        result = vander(x, powers)
    else:
        result = wrap(np.ones((len(array), powers), array.dtype if array.dtype.kind == "f" else np.int64))
    return result if increasing else arrange.flip(result, (1,))


# -- blocks and combinations -------------------------------------------------------------------------------------------
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrix with these blocks along its diagonal, and zeros elsewhere.

    Parameters
    ----------
    *tensors : Tensor
        Of two dimensions at most; a vector is a row, a number a block of size 1.  Their dtypes are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    arrays = []
    for position, tensor in enumerate(tensors):
        if not hasattr(tensor, "_array"):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
        arrays.append(tensor._array)
        if tensor._array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {position} has {tensor._array.ndim} dimensions"
            )
    if not tensors:
        return wrap(np.empty((1, 0), np.float32))
    widths = [array.shape[-1] if array.ndim else 1 for array in arrays]
    dtype = arrays[0].dtype
    for array in arrays[1:]:
        dtype = promoted(dtype, array.dtype)
    rows, before = [], 0
    for tensor, width in zip(tensors, widths):
        block = shapes.reshape(tensor, (1, width)) if tensor._array.ndim < 2 else tensor
        if block._array.dtype != dtype:
            block = traced.to(block, dtype=dtype)
        height, after = block._array.shape[0], sum(widths) - before - width
        sides = [wrap(np.zeros((height, size), dtype)) for size in (before, after)]
        rows.append(traced.cat([sides[0], block, sides[1]], dim=1))
        before += width
    return traced.cat(rows, dim=0)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of *r* elements of a vector, one a row, in order of their places.

    Parameters
    ----------
    input : Tensor
        1-D.
    r : int
        How many elements each has.
    with_replacement : bool
        Whether an element may be taken several times.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    array = array_of("combinations", input)
    if array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(np.empty(0, array.dtype))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(len(array)), r)), np.int64).reshape(-1, r)
    columns = [traced.index_select(input, wrap(places[:, i].copy()), 0) for i in range(r)]
    return traced.stack(columns, dim=1)
