"""Norms of vectors: of all elements, or along dimensions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, either, number
from .._dtypes import to_numpy
from .._errors import scalar_name
from .._kernels import reduce as kernels
from .._op import op
from .._runtime import deliver
from .._types import Dims, Number
from .copies import converted
from .reduce import kept, reduced_dims

if TYPE_CHECKING:
    from .._tensor import Tensor


def _divide_or_zero(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    out = np.zeros(np.broadcast_shapes(self.shape, other.shape), self.dtype)
    return np.divide(self, other, out=out, where=other != 0)


op("divide_or_zero", "DivideOrZeroBackward0", _divide_or_zero, ("self", "other"), elementwise=True,
   self=lambda F, g, other: F.divide_or_zero(g, other),
   other=lambda F, g, self, other: F.divide_or_zero(-g * self, other * other))  # fmt: skip


def _norm_kernel(self: np.ndarray, *, ord: float, dim: tuple[int, ...] | None, keepdim: bool = False) -> np.ndarray:
    if self.dtype.itemsize == 2:
        return np.asarray(_norm_kernel(self.astype(np.float32), ord=ord, dim=dim, keepdim=keepdim), self.dtype)
    if ord == 2:
        squares = kernels.sum_of_squares(self, dim, keepdim)
        return np.sqrt(squares, out=...)
    if ord == 0:
        return kernels.sum((self != 0).astype(self.dtype), dim, keepdim)
    sizes = np.abs(self, out=...)
    if math.isinf(ord):
        return (np.maximum if ord > 0 else np.minimum).reduce(sizes, dim, out=..., keepdims=keepdim)
    if ord == 1:
        return kernels.sum(sizes, dim, keepdim)
    total = kernels.sum(np.power(sizes, ord, sizes), dim, keepdim)
    return np.power(total, 1 / ord, total)


def _norm_self(F: Any, g: Any, self: Any, result: Any, ord: float, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """The gradient; 0 where the norm is 0, and, for orders below 1, for elements that are 0."""
    g, result = kept(F, g, dim, keepdim), kept(F, result, dim, keepdim)
    if ord == 0:
        return F.zeros_like(self)
    if ord == 1:
        return g * F.sign(self)
    if ord == 2:
        return g * F.divide_or_zero(self, result)
    if math.isinf(ord):
        return g * F.sign(self) * F.equal_share(F.abs(self), result, dim=dim)
    ratio = F.divide_or_zero(self, result)
    if ord >= 2:
        return g * ratio * F.abs(ratio) ** (ord - 2)
    if ord > 1:
        return g * F.sign(self) * F.abs(ratio) ** (ord - 1)
    return F.divide_or_zero(g * F.sign(self), F.abs(ratio) ** (1 - ord))


vector_norm_row = op(
    "vector_norm", "LinalgVectorNormBackward0", _norm_kernel, ("self",), tangent="reduction", self=_norm_self
)


def vector_norm(
    x: Tensor,
    ord: Number = 2,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The norm of all elements, or of vectors along dimensions, as one long vector.

    Parameters
    ----------
    x : Tensor
        Floats, any shape.
    ord : number
        The order: 2 is the Euclidean norm, 1 the sum of absolute values, ``inf`` the largest, ``-inf`` the smallest,
        0 the number of elements that are not zero; any other gives ``sum(abs(x)**ord)**(1/ord)``.
    dim : int or sequence of int, optional
        The dimensions (default, or empty: all).
    keepdim : bool
        Whether they stay, with size 1.
    dtype : dtype, optional
        What *x* is converted to first.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Raises
    ------
    RuntimeError
        If *x* is not of floats, or is empty where the order has no value for nothing.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("linalg.vector_norm", lambda: vector_norm(x, ord, dim, keepdim, dtype=dtype), (x,), out)
    array = array_of("norm", x)
    if array.dtype.kind != "f":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            f"Got {scalar_name(array.dtype)}; convert it with .float()"
        )
    ord = number(ord, "ord")
    if dtype is not None:
        x = converted(x, to_numpy(dtype))
    dims = (
        None if not keepdim and (dim is None or (isinstance(dim, tuple) and not dim)) else reduced_dims(dim, array.ndim)
    )
    if not array.size and (ord < 0 or ord == math.inf):
        _refuse_empty(array, ord, dims)
    return vector_norm_row(x, float(ord), dims, keepdim)


def _refuse_empty(array: np.ndarray, ord: float, dims: tuple[int, ...] | None) -> None:
    empty = [d for d in dims or () if not array.shape[d]]
    if dims is None or empty:
        where = "an empty tensor" if dims is None else f"the dimension {empty[0]}"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on {where} because the operation does not have an "
            "identity"
        )


def norm(
    input: Tensor,
    p: Number | str | None = "fro",
    dim: Dims | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of all elements, or along dimensions.

    Parameters
    ----------
    input : Tensor
        Floats, any shape.
    p : number, "fro" or "nuc"
        The order, as for `vector_norm`; "fro" is 2, "nuc" the sum of the singular values of matrices.
    dim : int or sequence of int, optional
        The dimensions (default: all).
    keepdim : bool
        Whether they stay, with size 1.
    out : Tensor, optional
        Where the result is written.
    dtype : dtype, optional
        What the input is converted to first.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    >>> torch.norm(torch.tensor([[3.0, -4.0], [1.0, 2.0]]), p=1, dim=1)
    tensor([7., 3.])
    """
    if out is not None:
        return deliver("norm", lambda: norm(input, p, dim, keepdim, dtype=dtype), (input,), out)
    if isinstance(p, str) and p != "fro":
        from .matrix_norm import matrix_norm

        dims: Any = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
        return matrix_norm(input, p, dims, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p is None or isinstance(p, str) else p, dim, keepdim, dtype=dtype)
