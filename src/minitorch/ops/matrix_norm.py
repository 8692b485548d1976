"""Norms and condition numbers of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dims_of, either, flag, integer_or_integers, number
from .._dtypes import to_numpy
from .._errors import scalar_name
from .._runtime import traced, wrap
from .._types import Dims, Number
from . import extrema, reduce
from . import shape as shapes
from ._matrices import check_floating, check_floats, check_matrices, copied
from .solves import inv_ex
from .spectra import svdvals
from .vector_norm import vector_norm

if TYPE_CHECKING:
    from .._tensor import Tensor

_NUMBERS = (1, 2, math.inf)


def matrix_norm(
    input: Tensor,
    ord: Number | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Sequence[int] | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The norms of matrices.

    Parameters
    ----------
    input : Tensor
        Floats, at least 2-D.
    ord : number or str
        "fro": the root of the sum of squares; "nuc": the sum of the singular values; 2 and -2: the largest and smallest of
        these; 1 and -1: the largest and smallest sum of absolute values in a column; ``inf`` and ``-inf``: in a row.
    dim : two ints
        The dimensions of rows and columns.
    keepdim : bool
        Whether they stay, with size 1.
    dtype : dtype, optional
        What the input is converted to first.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), ord=1)
    tensor(5.)
    """
    dim = dim if axis is None else either(dim, axis, (-2, -1))
    keepdim = keepdim if keepdims is None else keepdims
    name = "linalg.matrix_norm"
    if out is not None:
        return copied(name, lambda: matrix_norm(input, ord, dim, keepdim, dtype=dtype), out)
    array = array_of(name, input)
    check_floating(name, array)
    check_matrices(name, array, square=False)
    if isinstance(ord, bool) or not isinstance(ord, (int, float, str)):
        raise TypeError(f"{name}(): argument 'ord' must be Number or str, not {type(ord).__name__}")
    if not isinstance(dim, (tuple, list)):
        raise TypeError(f"{name}(): argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    if ord not in ("fro", "nuc") and (isinstance(ord, str) or abs(ord) not in _NUMBERS):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    try:
        rows, columns = dims_of(dim, array.ndim)
    except RuntimeError:
        raise RuntimeError(f"{name}: dims must be different. Got {tuple(dim)}") from None
    if dtype is not None:
        input = _converted(name, input, dtype)
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        check_floats(name, input._array)
        values = svdvals(shapes.movedim(input, (rows, columns), (-2, -1)))
        result = _reduced(values, ord, -1, False)
        if not keepdim:
            return result
        for place in sorted((rows, columns)):
            result = shapes.unsqueeze(result, place)
        return result
    first, last = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = vector_norm(input, 1, (first,), keepdim)
    return _reduced(sums, ord, last - (last > first and not keepdim), keepdim)


def _reduced(values: Tensor, ord: Any, dim: int, keepdim: bool) -> Tensor:
    """The sum, the largest or the smallest; of nothing the largest is 0."""
    if ord == "nuc" or (ord > 0 and not values._array.shape[dim]):
        return reduce.sum(values, dim, keepdim)
    return (extrema.amax if ord > 0 else extrema.amin)(values, dim, keepdim)


def _converted(name: str, A: Tensor, dtype: Any) -> Tensor:
    wanted, given = to_numpy(dtype), A._array.dtype
    if wanted.kind != "f":
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {scalar_name(wanted)}")
    if wanted.itemsize < given.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_name(given)}) should be convertible without narrowing to the "
            f"specified dtype ({scalar_name(wanted)})"
        )
    return A if wanted == given else traced.to(A, dtype=wanted)


def norm(
    input: Tensor,
    ord: Number | str | None = None,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The norm of a vector or a matrix: `linalg.vector_norm`, or `linalg.matrix_norm` where *ord* and two dimensions are given.

    Parameters
    ----------
    input : Tensor
        Floats, any shape.
    ord : number or str, optional
        The order; without it, the root of the sum of squares.
    dim : int or sequence of int, optional
        One dimension for vectors, two for matrices.  Without it all elements are taken where *ord* is not given either;
        else *input* must be a vector or a matrix.
    keepdim : bool
        Whether the dimensions stay, with size 1.
    out : Tensor, optional
        Where the result is written.
    dtype : dtype, optional
        What the input is converted to first.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor(5.)
    >>> torch.linalg.norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), ord=float("inf"))
    tensor(7.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return copied("linalg.norm", lambda: norm(input, ord, dim, keepdim, dtype=dtype), out)
    ndim = array_of("linalg.norm", input).ndim
    if ord is not None and not isinstance(ord, str):
        ord = number(ord, "ord")
    keepdim = flag(keepdim, "keepdim")
    if dim is not None:
        dim = integer_or_integers(dim, "dim")
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None and ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")
    dims: Any = tuple(range(ndim)) if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) == 2 or isinstance(ord, str):
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


def cond(input: Tensor, p: Number | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition numbers of matrices, infinite for singular ones.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``; square where *p* is not None, 2 or -2.
    p : number or str, optional
        The order of the norm, as for `linalg.matrix_norm` (default: 2): the condition number is that of the matrix times
        that of its inverse.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if out is not None:
        return copied("linalg.cond", lambda: cond(input, p), out)
    array = array_of("linalg.cond", input)
    if array.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc") and (isinstance(p, str) or abs(p) not in _NUMBERS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        if not array.size:
            return wrap(np.zeros(array.shape[:-2], array.dtype))
        values = svdvals(input)
        largest, smallest = values[..., :1], values[..., -1:]
        return traced.squeeze_dim(smallest / largest if p == -2 else largest / smallest, dim=-1)
    check_matrices(f"linalg.cond(ord={p})", array)
    if not array.size:
        return wrap(np.zeros(array.shape[:-2], array.dtype))
    inverse, info = inv_ex(input)
    singular = info.ne(0)
    safe = traced.masked_fill(inverse, singular[..., None, None], value=1.0)
    product = matrix_norm(input, p) * matrix_norm(safe, p)
    return traced.masked_fill(product, singular, value=math.inf)
