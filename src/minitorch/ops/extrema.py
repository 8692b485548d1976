"""Maxima and minima: over all elements or along dimensions, with and without where they stand."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either, flag
from .._choices import choice
from .._modes import observers
from .._op import op
from .._runtime import deliver, severed, traced
from .._types import Dims
from . import _returns
from ._chosen import choosing, chosen, deliver_pair
from .reduce import kept, reduced_dims

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _equal_share(
    self: np.ndarray, value: np.ndarray, *, dim: tuple[int, ...] | None = None, nan: bool = True
) -> np.ndarray:
    """For elements equal to *value* (to NaN, if *nan*), one over their number; zero for the others."""
    equal = self == value
    if nan and self.dtype.kind == "f" and np.isnan(value).any():
        equal |= np.isnan(self) & np.isnan(value)
    number = np.add.reduce(equal, dim, self.dtype, out=..., keepdims=dim is not None)
    return np.divide(equal, number, out=np.empty(self.shape, self.dtype))


op("equal_share", "", _equal_share, ("self", "value"))


def _extreme_all(name: str, node_name: str, ufunc: np.ufunc) -> Any:
    return op(name, node_name, lambda self: ufunc.reduce(self, None, out=...), ("self",),
              tangent="reduction", self=lambda F, g, self, result: g * F.equal_share(self, result))  # fmt: skip


def _extreme_dims(name: str, node_name: str, ufunc: np.ufunc) -> Any:
    def kernel(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
        return ufunc.reduce(self, dim, out=..., keepdims=keepdim)

    return op(name, node_name, kernel, ("self",), tangent="reduction", self=_extreme_self)


def _extreme_self(F: Any, g: Any, self: Any, result: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """Equal extremes share evenly; NaN, which equals nothing, gives NaN, as in PyTorch."""
    share = F.equal_share(self, kept(F, result, dim, keepdim), dim=dim, nan=False)
    return kept(F, g, dim, keepdim) * share


def _aminmax(self: np.ndarray, *, dim: tuple[int, ...], keepdim: bool = False) -> list[np.ndarray]:
    return [ufunc.reduce(self, dim, out=..., keepdims=keepdim) for ufunc in (np.minimum, np.maximum)]


def _aminmax_self(F: Any, g: Any, self: Any, result: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    least, most = [_extreme_self(F, g[i], self, result[i], dim, keepdim) for i in (0, 1)]
    return least + most


def _aminmax_tangent(F: Any, t: Any, self: Any, result: Any, dim: tuple[int, ...], keepdim: bool) -> tuple[Any, ...]:
    shares = [F.equal_share(self, kept(F, r, dim, keepdim), dim=dim, nan=False) for r in result]
    return tuple([F.sum(t * share, dim=dim, keepdim=keepdim) for share in shares])


_max_all = _extreme_all("max_all", "MaxBackward1", np.maximum)
_min_all = _extreme_all("min_all", "MinBackward1", np.minimum)
_amax = _extreme_dims("amax", "AmaxBackward0", np.maximum)
_amin = _extreme_dims("amin", "AminBackward0", np.minimum)
_aminmax_row = op(
    "aminmax", "AminmaxBackward0", _aminmax, ("self",), outputs=2, tangent=_aminmax_tangent, self=_aminmax_self
)
_max_dim = choosing("max_dim", "MaxBackward0")
_min_dim = choosing("min_dim", "MinBackward0")


# -- arguments ---------------------------------------------------------------------------------------------------------
def checked_dim(name: str, input: Tensor, dim: Any) -> int:
    """The dimension, counted from 0; IndexError where it is empty, as nothing can be chosen from it."""
    array = array_of(name, input)
    number = dim_of(dim, array.ndim)
    if array.ndim and not array.shape[number]:
        raise IndexError(f"{name}(): Expected reduction dim {number} to have non-zero size.")
    return number


def _checked_dims(name: str, input: Tensor, dim: Any) -> tuple[int, ...]:
    array = array_of(name, input)
    dims = reduced_dims(dim, array.ndim)
    if not array.size:
        if dim is None or (not isinstance(dim, int) and not dim):
            _refuse_empty(name, input)
        for d in dims:
            checked_dim(name, input, d)
    return dims


def _refuse_empty(name: str, input: Tensor, kind: type[Exception] = RuntimeError) -> None:
    if not array_of(name, input).size:
        raise kind(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )


# -- max, min ----------------------------------------------------------------------------------------------------------
def max(
    input: Tensor,
    dim: int | Tensor | EllipsisType = ...,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Any:
    """The maximum: of all elements, along a dimension with where it stands, or of two tensors elementwise.

    Parameters
    ----------
    input : Tensor
        Any shape, not empty.
    dim : int or Tensor, optional
        The dimension; or a second tensor, whose elementwise maximum with *input* is taken, as by `maximum`.
    keepdim : bool
        Whether the dimension stays, with size 1.
    other : Tensor, optional
        The second tensor by name.
    out : Tensor or pair of Tensors, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Returns
    -------
    Tensor
        Without *dim*; its gradient is shared evenly by equal maxima. NaN, if there is one.
    torch.return_types.max
        With *dim*: ``values``, whose gradient goes to the chosen element, and ``indices``, the first of equal ones.

    Raises
    ------
    RuntimeError
        If *input* is empty and no *dim* is given.
    IndexError
        If *dim* is out of range or empty.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.max(torch.tensor([1.0, 3.0]))
    tensor(3.)
    >>> torch.max(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1).indices
    tensor([1, 0])
    """
    if dim is ... and axis is None and other is None:
        if keepdim or keepdims:
            raise TypeError("max(): keepdim needs dim: give the dimension that stays")
        _refuse_empty("max", input)
        return _max_all(input) if out is None else deliver("max", lambda: _max_all(input), (input,), out, casts=True)
    if other is not None or hasattr(dim, "_array"):
        if keepdim is not False:
            raise TypeError("max(): of two tensors there is no keepdim")
        return traced.maximum(input, dim if other is None else other, out=out)
    number = checked_dim("max", input, dim if axis is None else either(dim, axis, ...))
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver_pair("max", lambda: max(input, number, keepdim), (input,), out)
    plain = not observers and input._array.ndim
    index = input._array.argmax(number, keepdims=True) if plain else _largest(input, dim=number, keepdim=True)
    return chosen(_max_dim, _returns.max, input, number, index, keepdim)


def min(
    input: Tensor,
    dim: int | Tensor | EllipsisType = ...,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Any:
    """The minimum: of all elements, along a dimension with where it stands, or of two tensors; as `max`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.min(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1).values
    tensor([1., 2.])
    """
    if dim is ... and axis is None and other is None:
        if keepdim or keepdims:
            raise TypeError("min(): keepdim needs dim: give the dimension that stays")
        _refuse_empty("min", input)
        return _min_all(input) if out is None else deliver("min", lambda: _min_all(input), (input,), out, casts=True)
    if other is not None or hasattr(dim, "_array"):
        if keepdim is not False:
            raise TypeError("min(): of two tensors there is no keepdim")
        return traced.minimum(input, dim if other is None else other, out=out)
    number = checked_dim("min", input, dim if axis is None else either(dim, axis, ...))
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver_pair("min", lambda: min(input, number, keepdim), (input,), out)
    plain = not observers and input._array.ndim
    index = input._array.argmin(number, keepdims=True) if plain else _smallest(input, dim=number, keepdim=True)
    return chosen(_min_dim, _returns.min, input, number, index, keepdim)


@choice("argmax")
def _largest(self: np.ndarray, *, dim: Any, keepdim: bool) -> np.ndarray:
    return np.asarray(self.argmax(dim, keepdims=keepdim)) if self.ndim else np.zeros((), np.int64)


@choice("argmin")
def _smallest(self: np.ndarray, *, dim: Any, keepdim: bool) -> np.ndarray:
    return np.asarray(self.argmin(dim, keepdims=keepdim)) if self.ndim else np.zeros((), np.int64)


# -- amax, amin, aminmax -----------------------------------------------------------------------------------------------
def amax(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The maximum over all elements or over dimensions; equal maxima share its gradient evenly.

    Parameters
    ----------
    input : Tensor
        Any shape, not empty along *dim*.
    dim : int or sequence of int, optional
        The dimensions (default, or empty: all).
    keepdim : bool
        Whether they stay, with size 1.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Raises
    ------
    IndexError
        If a dimension is out of range or empty.
    RuntimeError
        If a dimension is repeated, or *input* is empty and no *dim* is given.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.amax(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=0)
    tensor([4., 3.])
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("amax", lambda: amax(input, dim, keepdim), (input,), out)
    return _amax(input, _checked_dims("amax", input, dim), keepdim)


def amin(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The minimum over all elements or over dimensions; as `amax`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.amin(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=0)
    tensor([1., 2.])
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver("amin", lambda: amin(input, dim, keepdim), (input,), out)
    return _amin(input, _checked_dims("amin", input, dim), keepdim)


def aminmax(
    input: Tensor,
    *,
    dim: int | None = None,
    keepdim: bool = False,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> _returns.aminmax:
    """The minimum and the maximum, over all elements or one dimension, as `amin` and `amax` give them.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.aminmax(torch.tensor([1.0, 3.0, 2.0])).max
    tensor(3.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver_pair("aminmax", lambda: aminmax(input, dim=dim, keepdim=keepdim), (input,), out)
    if dim is None:
        _refuse_empty("aminmax", input)
    dims = reduced_dims(None if dim is None else checked_dim("aminmax", input, dim), array_of("aminmax", input).ndim)
    return _returns.aminmax(_aminmax_row(input, dims, keepdim))


# -- argmax, argmin ----------------------------------------------------------------------------------------------------
def _arg(name: str, choose: Any, input: Tensor, dim: Any, keepdim: bool, out: Tensor | None) -> Tensor:
    if out is not None:
        return deliver(name, lambda: _arg(name, choose, input, dim, keepdim, None), (), out)
    array = array_of(name, input)
    flag(keepdim, "keepdim")
    if array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        _refuse_empty(name, input, IndexError)
    number = None if dim is None else checked_dim(name, input, dim)
    return severed(name, choose(input, dim=number, keepdim=keepdim), input)


def argmax(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Where the maximum stands: the first of equal ones, or of NaNs.

    Parameters
    ----------
    input : Tensor
        Any shape, not bool, not empty along *dim*.
    dim : int, optional
        The dimension (default: the index is that into the flattened tensor).
    keepdim : bool
        Whether it stays, with size 1.
    out : Tensor, optional
        Where the result is written: of int64.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Raises
    ------
    IndexError
        If *dim* is out of range, or there is nothing to choose from.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.argmax(torch.tensor([[1.0, 3.0], [4.0, 2.0]]))
    tensor(2)
    """
    keepdim = keepdim if keepdims is None else keepdims
    return _arg("argmax", _largest, input, dim if axis is None else either(dim, axis), keepdim, out)


def argmin(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Where the minimum stands; as `argmax`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.argmin(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1)
    tensor([0, 1])
    """
    keepdim = keepdim if keepdims is None else keepdims
    return _arg("argmin", _smallest, input, dim if axis is None else either(dim, axis), keepdim, out)
