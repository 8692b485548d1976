"""Sums, means, products, norms and other reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import asarray

from .. import _dtypes
from .._args import array_of, dim_of, dims_of, either, flag, missing_dim
from .._choices import choice
from .._dtypes import to_numpy
from .._errors import scalar_name
from .._kernels import reduce as kernels
from .._kernels import softmax
from .._kernels.reduce import ones
from .._op import op
from .._runtime import deliver, out_dtype, raw, severed, traced, wrap
from .._types import Dims
from .copies import in_dtype
from .scan import exclusive_cumprod_self

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- what reductions share ---------------------------------------------------------------------------------------------
def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions reduced over, counted from 0: all where *dim* is None or empty."""
    if dim.__class__ is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return tuple(range(ndim))
    dims = dims_of(dim, ndim)
    return dims if ndim else ()


def kept(F: Any, reduced: Any, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """A reduction's result, or its gradient, in a shape that broadcasts with the input (formulas use it)."""
    return reduced if keepdim or dim is None else F.unsqueeze_dims(reduced, dim=dim)


def count(shape: tuple[int, ...], dim: tuple[int, ...] | None) -> int:
    """How many elements each result is made of."""
    return math.prod(shape if dim is None else [shape[d] for d in dim])


raw.count = traced.count = lambda shape, dim=None: count(shape, dim) or 1
"""How many elements share a gradient: what a formula divides by."""


# -- sum ---------------------------------------------------------------------------------------------------------------
_FEW, _MORE = 256, 4096


def _sum_all(self: np.ndarray) -> np.ndarray:
    size, char = self.size, self.dtype.char
    if size <= _FEW and char in "fd" and self.flags.forc:  # a product with ones takes fewer steps than NumPy's own sum
        return asarray(self.ravel("K").dot(ones(char, size)))
    if size <= _MORE and char in "fd":  # which is accurate enough
        return np.add.reduce(self, None, out=...)
    return kernels.sum(self, None)


def _sum(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    return kernels.sum(self, dim, keepdim)


def _sum_self(F: Any, g: Any, self_shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    return F.expand(g if keepdim else F.unsqueeze_dims(g, dim=dim), size=self_shape)


sum_all = op("sum_all", "SumBackward0", _sum_all, ("self",), tangent="linear",
             self=lambda F, g, self_shape: F.expand(g, size=self_shape))  # fmt: skip
sum_dims = op("sum", "SumBackward1", _sum, ("self",), tangent="linear", self=_sum_self)
sum_to = op("sum_to", "SumToBackward0", lambda self, *, shape: kernels.sum_to(self, shape), ("self",), tangent="linear",
            self=lambda F, g, self_shape: F.expand(g, size=self_shape))  # fmt: skip


def sum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The sum over all elements or over dimensions.

    Parameters
    ----------
    input : Tensor
        Any shape; integers and bools are added as int64.
    dim : int or sequence of int, optional
        The dimensions summed over (default, or empty: all).
    keepdim : bool
        Whether they stay, with size 1.
    dtype : dtype, optional
        What the input is converted to first.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Raises
    ------
    IndexError
        If a dimension is out of range.
    RuntimeError
        If a dimension is repeated.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        wanted = out_dtype(dtype, out)
        return deliver("sum", lambda: sum(input, dim, keepdim, dtype=wanted), (input,), out)
    if dtype is not None:
        result = sum(in_dtype(input, dtype), dim, keepdim)
        return in_dtype(result, dtype) if result._array.dtype.kind != "f" else result
    if dim is None and not keepdim:
        return sum_all(input)
    return sum_dims(input, reduced_dims(dim, array_of("sum", input).ndim), keepdim)


# -- nansum, mean, nanmean ---------------------------------------------------------------------------------------------
def _nansum(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    return kernels.sum(np.where(np.isnan(self), self.dtype.type(0), self), dim, keepdim)


_nansum_dims = op("nansum", "NansumBackward0", _nansum, ("self",), tangent="reduction",
                  self=lambda F, g, self, dim, keepdim: kept(F, g, dim, keepdim) * (self == self))  # fmt: skip


def nansum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The sum with NaN counted as zero; arguments as for `sum`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("nansum", lambda: nansum(input, dim, keepdim, dtype=out_dtype(dtype, out)), (input,), out)
    array = array_of("nansum", input)
    if array.dtype.kind != "f":
        return sum(input, dim, keepdim, dtype=dtype)
    return _nansum_dims(in_dtype(input, dtype), reduced_dims(dim, array.ndim), keepdim)


def mean_kernel(self: np.ndarray, dim: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """The mean over dimensions, or all: NaN of nothing."""
    if self.dtype.itemsize == 2:
        return np.asarray(mean_kernel(self.astype(np.float32), dim, keepdim), self.dtype)
    out = kernels.sum(self, dim, keepdim)
    return np.divide(out, kernels.number(out.dtype.char, count(self.shape, dim)), out)


def _mean(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    return mean_kernel(self, dim, keepdim)


def _mean_all_kernel(self: np.ndarray) -> np.ndarray:
    size, char = self.size, self.dtype.char
    if size <= _FEW and char in "fd":
        return asarray(self.ravel("K").dot(ones(char, size)) / size)
    if char == "e":
        return mean_kernel(self)
    out = _sum_all(self)
    return np.divide(out, kernels.number(char, size), out)


def _spread(F: Any, g: Any, shape: tuple[int, ...], dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """A mean's gradient: each element's share."""
    return F.expand(kept(F, g, dim, keepdim) / F.count(shape, dim), size=shape)


_counted: dict[str, Any] = {"self_sym_numel": lambda node: math.prod(node.saved_self_shape)}
_mean_all = op("mean_all", "MeanBackward0", _mean_all_kernel, ("self",), tangent="linear", shows=_counted,
               self=lambda F, g, self_shape: _spread(F, g, self_shape, None, False))  # fmt: skip
_mean_dims = op("mean", "MeanBackward1", _mean, ("self",), tangent="linear", shows=_counted,
                self=lambda F, g, self_shape, dim, keepdim: _spread(F, g, self_shape, dim, keepdim))  # fmt: skip


def mean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean over all elements or over dimensions: NaN of nothing; arguments as for `sum`.

    Raises
    ------
    RuntimeError
        If the input holds integers or bools and no floating-point *dtype* is given.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("mean", lambda: mean(input, dim, keepdim, dtype=dtype), (input,), out, casts=True)
    array = array_of("mean", input)
    kind = array.dtype if dtype is None else to_numpy(dtype)
    if kind.kind != "f":
        flag(keepdim, "keepdim")
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {scalar_name(kind)}"
        )
    if dtype is not None:
        input = in_dtype(input, dtype)
    if dim is None and not keepdim:
        return _mean_all(input)
    return _mean_dims(input, reduced_dims(dim, array.ndim), keepdim)


def nanmean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean of the elements that are not NaN; arguments as for `sum`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("nanmean", lambda: nanmean(input, dim, keepdim, dtype=dtype), (input,), out, casts=True)
    array = array_of("nanmean", input)
    if array.dtype.kind != "f":
        came = scalar_name(array.dtype)
        raise RuntimeError(f"nanmean(): expected input to have floating point dtype but got {came}")
    present = _present(input, dims=reduced_dims(dim, array.ndim), keepdim=keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / wrap(present)


@choice("how many are not nan")
def _present(self: np.ndarray, *, dims: Any, keepdim: bool) -> np.ndarray:
    return np.add.reduce(~np.isnan(self), dims, np.int64, out=..., keepdims=keepdim)


# -- prod --------------------------------------------------------------------------------------------------------------
def _prod(self: np.ndarray, *, dim: int, keepdim: bool = False) -> np.ndarray:
    return kernels.prod(self, dim if self.ndim else None, keepdim)


def _prod_all_self(F: Any, g: Any, self: Any, self_shape: tuple[int, ...]) -> Any:
    if not self_shape:
        return g
    return F.view(F.prod_backward(F.view(g, size=(1,)), F.view(self, size=(-1,)), dim=0), size=self_shape)


def _prod_self(F: Any, g: Any, self: Any, self_shape: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    if not self_shape:
        return F.expand(g, size=())
    return F.prod_backward(g if keepdim else F.unsqueeze_dims(g, dim=dim), self, dim=dim)


def _others(F: Any, self: Any, dim: int) -> Any:
    """For each factor, the product of the others: of those before it times that of those after it."""
    return F.exclusive_cumprod(self, dim=dim) * F.exclusive_cumprod(self, dim=dim, reverse=True)


def _prod_backward_self(F: Any, g: Any, grad: Any, self: Any, dim: int) -> Any:
    before = F.exclusive_cumprod(self, dim=dim)
    after = F.exclusive_cumprod(self, dim=dim, reverse=True)
    g = g * grad
    through_before = exclusive_cumprod_self(F, g * after, self, before, dim, False)
    return through_before + exclusive_cumprod_self(F, g * before, self, after, dim, True)


_prod_all = op(
    "prod_all",
    "ProdBackward0",
    lambda self: _prod(self.reshape(-1), dim=0),
    ("self",),
    tangent="reduction",
    self=_prod_all_self,
)
_prod_dim = op("prod", "ProdBackward1", _prod, ("self",), tangent="reduction", self=_prod_self)

op("prod_backward", "ProdBackwardBackward0", lambda grad, self, *, dim: kernels.prod_backward(grad, self, dim),
   ("grad", "self"), tangent="transpose",
   grad=lambda F, g, self, dim: F.sum(g * _others(F, self, dim), dim=(dim,), keepdim=True),
   self=_prod_backward_self)  # fmt: skip


def prod(
    input: Tensor,
    dim: int | EllipsisType = ...,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The product of all elements or over one dimension: 1 of nothing; arguments as for `sum`.

    Its derivatives are exact with zeros too, to any order.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.prod(torch.tensor([1.0, 2.0, 3.0]))
    tensor(6.)
    """
    dim = dim if axis is None else either(dim, axis, ...)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        wanted = out_dtype(dtype, out)
        return deliver("prod", lambda: prod(input, dim, keepdim, dtype=wanted), (input,), out)
    if dtype is not None:
        result = prod(in_dtype(input, dtype), dim, keepdim)
        return in_dtype(result, dtype) if result._array.dtype.kind != "f" else result
    if dim is not ...:
        return _prod_dim(input, dim_of(dim, array_of("prod", input).ndim), keepdim)
    if keepdim:
        raise TypeError("prod(): keepdim needs dim: give the dimension that stays")
    return _prod_all(input)


# -- all, any, count_nonzero -------------------------------------------------------------------------------------------
@choice("all or any")
def _combined(self: np.ndarray, *, ufunc: np.ufunc, dims: Any, keepdim: bool, to: Any) -> np.ndarray:
    return ufunc.reduce(self, dims, bool, out=..., keepdims=keepdim).astype(to, copy=False)


@choice("count_nonzero")
def _not_zero(self: np.ndarray, *, dims: Any) -> np.ndarray:
    return np.add.reduce(self != 0, dims, np.int64, out=...)


def _logical(name: str, ufunc: np.ufunc, input: Tensor, dim: Any, keepdim: bool, out: Tensor | None) -> Tensor:
    array = array_of(name, input)
    dims: Any = dim if isinstance(dim, tuple) and not dim else reduced_dims(dim, array.ndim)
    bytes_ = array.dtype == _dtypes.UINT8 or out_dtype(None, out) == _dtypes.UINT8
    result = _combined(input, ufunc=ufunc, dims=dims, keepdim=keepdim, to=np.uint8 if bytes_ else np.bool_)
    return wrap(result) if out is None else deliver(name, lambda: wrap(result), (), out)


def all(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Whether all elements, or all along dimensions, are true (not zero); arguments as for `sum`.

    Returns
    -------
    Tensor
        Of bools; of uint8 for uint8 input, as in PyTorch.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    keepdim = keepdim if keepdims is None else keepdims
    return _logical("all", np.logical_and, input, dim if axis is None else either(dim, axis), keepdim, out)


def any(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Whether any element, or any along dimensions, is true (not zero); arguments and result as for `all`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.any(torch.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    keepdim = keepdim if keepdims is None else keepdims
    return _logical("any", np.logical_or, input, dim if axis is None else either(dim, axis), keepdim, out)


def count_nonzero(input: Tensor, dim: Dims | None = None, *, axis: Dims | None = None) -> Tensor:
    """How many elements are not zero, over all or over dimensions, as int64.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.count_nonzero(torch.tensor([0.0, 2.0, 3.0]))
    tensor(2)
    """
    dim = dim if axis is None else either(dim, axis)
    array = array_of("count_nonzero", input)
    return severed("count_nonzero", _not_zero(input, dims=reduced_dims(dim, array.ndim)), input)


# -- logsumexp ---------------------------------------------------------------------------------------------------------
def _logsumexp(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    return softmax.logsumexp(self, dim, keepdim)


def _logsumexp_self(F: Any, g: Any, self: Any, result: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    return kept(F, g, dim, keepdim) * F.exp(self - kept(F, result, dim, keepdim))


_logsumexp_dims = op(
    "logsumexp", "LogsumexpBackward0", _logsumexp, ("self",), floats=True, tangent="reduction", self=_logsumexp_self
)


def logsumexp(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials over dimensions, without overflow; -inf of nothing.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are converted to the default dtype.
    dim : int or sequence of int
        The dimensions summed over.
    keepdim : bool
        Whether they stay, with size 1.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logsumexp(torch.tensor([[0.0, 0.0], [1000.0, -1000.0]]), 1)
    tensor([6.9315e-01, 1.0000e+03])
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("logsumexp", lambda: logsumexp(input, dim, keepdim), (input,), out, casts=True)
    if dim is None:
        raise missing_dim()
    return _logsumexp_dims(input, reduced_dims(dim, array_of("logsumexp", input).ndim), keepdim)
