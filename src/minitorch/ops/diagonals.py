"""Diagonals: views and sums of them, and the matrices that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of
from .._dtypes import INT64
from .._op import documents, op
from .._runtime import deliver
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor


def _two_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    first, second = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def _diagonal_kernel(self: np.ndarray, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    first, second = _two_dims(dim1, dim2, self.ndim)
    out = self.diagonal(offset, first, second)
    if self.flags.writeable:  # NumPy's diagonals are read-only
        out.setflags(write=True)
    return out


def _diagonal_backward_kernel(
    self: np.ndarray, *, shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> np.ndarray:
    out = np.zeros(shape, self.dtype)
    _diagonal_kernel(out, offset=offset, dim1=dim1, dim2=dim2)[...] = self
    return out


_diagonal = op("diagonal", "DiagonalBackward0", _diagonal_kernel, ("self",), view=True, tangent="linear",
               self=lambda F, g, self_shape, offset, dim1, dim2:
                  F.diagonal_backward(g, shape=self_shape, offset=offset, dim1=dim1, dim2=dim2))  # fmt: skip
op("diagonal_backward", "DiagonalBackwardBackward0", _diagonal_backward_kernel, ("self",), tangent="linear",
   self=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2))  # fmt: skip


@documents(_diagonal)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonals of the matrices that two dimensions hold; they come as a new last dimension.

    Parameters
    ----------
    input : Tensor
        At least two dimensions.
    offset : int
        Which diagonal: above the main one where positive, below where negative.
    dim1, dim2 : int
        The rows' and the columns' dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """


def _diag_embed_kernel(self: np.ndarray, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    ndim = self.ndim + 1
    first, second = _two_dims(dim1, dim2, ndim)
    n = self.shape[-1] + abs(offset)
    others = iter(self.shape[:-1])
    out = np.zeros([n if d in (first, second) else next(others) for d in range(ndim)], self.dtype)
    _diagonal_kernel(out, offset=offset, dim1=first, dim2=second)[...] = self
    return out


def _diagonal_copy_kernel(self: np.ndarray, *, offset: int = 0) -> np.ndarray:
    return self.diagonal(offset).copy()


_diag_embed = op("diag_embed", "DiagEmbedBackward0", _diag_embed_kernel, ("self",), tangent="linear",
                 self=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2))  # fmt: skip
_diagonal_copy = op("diagonal_copy", "DiagonalBackward0_copy", _diagonal_copy_kernel, ("self",), tangent="linear",
                    self=lambda F, g, self_shape, offset:
                       F.diagonal_backward(g, shape=self_shape, offset=offset, dim1=0, dim2=1))  # fmt: skip


@documents(_diag_embed)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, 0 but on one diagonal, which holds the last dimension of *input*.

    Parameters
    ----------
    input : Tensor
        ``(*, n)``.
    offset : int
        Which diagonal: above the main one where positive.
    dim1, dim2 : int
        Which dimensions of the result are the rows and the columns.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with a vector on its diagonal, or a copy of the diagonal of a matrix.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if out is not None:
        return deliver("diag", lambda: diag(input, diagonal), (input,), out)
    if array_of("diag", input).ndim == 1:
        return _diag_embed(input, diagonal)
    if input._array.ndim == 2:
        return _diagonal_copy(input, diagonal)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._array.ndim}D")


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of *input* on a diagonal.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.diagflat(torch.tensor([1, 2]), offset=1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    return _diag_embed(shapes._reshaped(input, (-1,)), offset)


def _trace_kernel(self: np.ndarray) -> np.ndarray:
    if self.ndim != 2:
        raise RuntimeError(f"expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype.kind == "b":
        raise NotImplementedError("trace() is not implemented for 'Bool'; convert the input first")
    return np.add.reduce(self.diagonal(), dtype=None if self.dtype.kind == "f" else INT64, out=...)


def _trace_self(F: Any, g: Any, self_shape: tuple[int, ...]) -> Any:
    return F.diagonal_backward(F.expand(g, size=(min(self_shape),)), shape=self_shape, offset=0, dim1=0, dim2=1)


_trace = op("trace", "TraceBackward0", _trace_kernel, ("self",), tangent="linear", self=_trace_self)


@documents(_trace)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.trace(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
