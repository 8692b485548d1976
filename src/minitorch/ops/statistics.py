"""Variances, medians, modes, quantiles and counts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, either, flag, number
from .._choices import choice
from .._kernels import reduce as kernels
from .._op import op
from .._runtime import deliver
from .._types import Dims, Number
from . import _returns
from ._chosen import choosing, chosen, deliver_pair
from .extrema import checked_dim
from .reduce import count, kept, mean_kernel, reduced_dims

if TYPE_CHECKING:
    from .._tensor import Tensor

_Dim = tuple[int, ...] | None


# -- variance ----------------------------------------------------------------------------------------------------------
def _var(self: np.ndarray, *, dim: _Dim, correction: float = 1, keepdim: bool = False) -> np.ndarray:
    return kernels.var(self, dim, correction, keepdim)


def _std(self: np.ndarray, *, dim: _Dim, correction: float = 1, keepdim: bool = False) -> np.ndarray:
    out = kernels.var(self, dim, correction, keepdim)
    return np.sqrt(out, out)


def _var_mean(self: np.ndarray, *, dim: _Dim, correction: float = 1, keepdim: bool = False) -> list[np.ndarray]:
    return [kernels.var(self, dim, correction, keepdim), mean_kernel(self, dim, keepdim)]


def _std_mean(self: np.ndarray, *, dim: _Dim, correction: float = 1, keepdim: bool = False) -> list[np.ndarray]:
    return [_std(self, dim=dim, correction=correction, keepdim=keepdim), mean_kernel(self, dim, keepdim)]


def _var_self(
    F: Any, g: Any, self: Any, self_shape: tuple[int, ...], dim: _Dim, correction: float, keepdim: bool
) -> Any:
    freedom = count(self_shape, dim) - correction
    center = F.mean_all(self) if dim is None else F.mean(self, dim=dim, keepdim=True)
    return kept(F, g, dim, keepdim) * (2 / freedom if freedom > 0 else math.inf) * (self - center)


def _std_self(
    F: Any, g: Any, self: Any, result: Any, self_shape: tuple[int, ...], dim: _Dim, correction: float, keepdim: bool
) -> Any:
    """As of the variance over twice the deviation: 0 where all elements are equal."""
    return _var_self(F, F.divide_or_zero(g, result * 2), self, self_shape, dim, correction, keepdim)


def _mean_part(F: Any, g: Any, shape: tuple[int, ...], dim: _Dim, keepdim: bool) -> Any:
    return kept(F, g, dim, keepdim) / (count(shape, dim) or 1)


def _both(spread: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a variance or deviation with the mean beside it: of those that are used, as one may be undefined."""

    def gradients(
        F: Any,
        g: Any,
        needed: Any,
        self: Any,
        result: Any,
        self_shape: tuple[int, ...],
        dim: _Dim,
        correction: float,
        keepdim: bool,
    ) -> list[Any]:
        parts = []
        if 0 in g:
            parts.append(spread(F, g[0], self, result[0], self_shape, dim, correction, keepdim))
        if 1 in g:
            mean = _mean_part(F, g[1], self_shape, dim, keepdim)
            parts.append(mean if parts else F.expand(mean, size=self_shape))
        return [sum(parts[1:], parts[0])]

    return gradients


def _spread_tangents(slope: Callable[..., Any]) -> Callable[..., Any]:
    """The tangents of a variance or deviation, and of the mean beside it."""

    def tangent(
        F: Any, t: Any, self: Any, result: Any, self_shape: tuple[int, ...], dim: _Dim, correction: float, keepdim: bool
    ) -> tuple[Any, Any]:
        dims = tuple(range(len(self_shape))) if dim is None else dim
        slopes = slope(F, F.zeros_like(result[0]) + 1, self, result[0], self_shape, dim, correction, keepdim)
        return F.sum(slopes * t, dim=dims, keepdim=keepdim), F.mean(t, dim=dims, keepdim=keepdim)

    return tangent


def _var_slope(F: Any, g: Any, self: Any, result: Any, *rest: Any) -> Any:
    return _var_self(F, g, self, *rest)


_var_row = op("var", "VarBackward0", _var, ("self",), hides=("self_shape",), tangent="reduction", self=_var_self)
_std_row = op("std", "StdBackward0", _std, ("self",), hides=("self_shape",), tangent="reduction", self=_std_self)
_var_mean_row = op("var_mean", "VarMeanBackward0", _var_mean, ("self",), outputs=2,
                     hides=("self_shape",),
                   tangent=_spread_tangents(_var_slope),
                   together=_both(_var_slope))  # fmt: skip
_std_mean_row = op("std_mean", "StdMeanBackward0", _std_mean, ("self",), outputs=2,
                     hides=("self_shape",),
                   tangent=_spread_tangents(_std_self),
                   together=_both(_std_self))  # fmt: skip


def _spread(
    name: str, row: Any, input: Tensor, dim: Any, unbiased: bool | None, correction: Number | None, keepdim: bool
) -> Any:
    """Call a row of variance, ``var(unbiased)`` and ``var(dim, unbiased)`` included."""
    array = array_of(name, input)
    if dim is True or dim is False:
        if unbiased is not None or keepdim is not False or correction is not None:
            raise TypeError(f"{name}(): after 'unbiased' in the place of 'dim' no other argument can come")
        dim, unbiased = None, dim
    if array.dtype.kind != "f":
        raise RuntimeError(f"{name}(): std and var only support floating point and complex dtypes, not {array.dtype}")
    if unbiased is not None:
        if correction is not None:
            raise TypeError(f"{name}(): give either 'unbiased' or 'correction', not both")
        correction = int(flag(unbiased, "unbiased"))
    elif correction is None:
        correction = 1
    else:
        correction = number(correction, "correction")
    flag(keepdim, "keepdim")
    dims = None if dim is None and not keepdim else reduced_dims(dim, array.ndim)
    if count(array.shape, dims) <= correction:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            stacklevel=3,
        )
    return row(input, dims, correction, keepdim)


def var(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance over all elements or over dimensions.

    Parameters
    ----------
    input : Tensor
        Floats, any shape.
    dim : int or sequence of int, optional
        The dimensions (default, or empty: all).  A bool in its place is *unbiased*.
    unbiased : bool, optional
        Whether *correction* is 1 (the default) or 0.
    keepdim : bool
        Whether the dimensions stay, with size 1.
    correction : number, optional
        What is subtracted from the number of elements in the divisor.
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Warns
    -----
    UserWarning
        If there are no more elements than *correction*; the result is NaN or infinite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.var(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        compute = partial(var, input, dim, unbiased, keepdim, correction=correction)
        return deliver("var", compute, (input,), out, casts=True)
    return _spread("var", _var_row, input, dim, unbiased, correction, keepdim)


def std(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    out: Tensor | None = None,
    axis: Dims | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The standard deviation, the square root of `var`; its gradient is 0 where all elements are equal.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.std(torch.tensor([1.0, 3.0]), correction=0)
    tensor(1.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        compute = partial(std, input, dim, unbiased, keepdim, correction=correction)
        return deliver("std", compute, (input,), out, casts=True)
    return _spread("std", _std_row, input, dim, unbiased, correction, keepdim)


def var_mean(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims | bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean; arguments as for `var`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    return _spread("var_mean", _var_mean_row, input, dim, unbiased, correction, keepdim)


def std_mean(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims | bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean; arguments as for `var`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    return _spread("std_mean", _std_mean_row, input, dim, unbiased, correction, keepdim)


# -- median ------------------------------------------------------------------------------------------------------------
def _median_kernel(self: np.ndarray) -> np.ndarray:
    flat = self.reshape(-1)
    if not flat.size:
        return np.full((), np.nan if flat.dtype.kind in "fb" else np.iinfo(flat.dtype).min, flat.dtype)
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        return np.full((), np.nan, flat.dtype)
    middle = (flat.size - 1) // 2
    return np.asarray(np.partition(flat, middle)[middle])


def _nanmedian_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f":
        return _median_kernel(self)
    return _median_kernel(self[~np.isnan(self)])


@choice("the indices of median", warns=True)
def _median_index(self: np.ndarray, *, dim: int, skip_nan: bool) -> np.ndarray:
    """Where the lower median stands, the dimension kept; the first NaN, unless those are skipped."""
    array = self
    if not array.ndim:
        return np.zeros((), np.int64)
    order = array.argsort(dim, kind="stable")
    lower = order.take([(array.shape[dim] - 1) // 2], dim)
    if array.dtype.kind != "f":
        return lower
    missing = np.isnan(array)
    present = array.shape[dim] - missing.sum(dim, keepdims=True)
    if skip_nan:
        return np.take_along_axis(order, np.maximum(present - 1, 0) // 2, dim)
    return np.where(present < array.shape[dim], missing.argmax(dim, keepdims=True), lower)


def _share_of_equals(F: Any, g: Any, self: Any, result: Any) -> Any:
    return g * F.equal_share(self, result)


_median_all = op("median", "MedianBackward0", _median_kernel, ("self",), tangent="reduction", self=_share_of_equals)
_nanmedian_all = op(
    "nanmedian", "NanmedianBackward0", _nanmedian_kernel, ("self",), tangent="reduction", self=_share_of_equals
)
_median_dim = choosing("median_dim", "MedianBackward1")
_nanmedian_dim = choosing("nanmedian_dim", "NanmedianBackward1")
_mode_row = choosing("mode", "ModeBackward0")


def _check_ordered(name: str, array: np.ndarray, dim: Any) -> None:
    if array.dtype.kind == "b" and (array.size or dim is not None):
        raise NotImplementedError(f"{name}() is not implemented for 'Bool'; convert the input to an integer dtype")


def median(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Any:
    """The median, the lower one of an even number: of all elements, or along a dimension with where it stands.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int, optional
        The dimension.
    keepdim : bool
        Whether it stays, with size 1.
    out : Tensor or pair of Tensors, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Returns
    -------
    Tensor
        Without *dim*; its gradient is shared evenly by the elements equal to it. NaN if there is one.
    torch.return_types.median
        With *dim*: ``values``, whose gradient goes to the chosen element, and ``indices``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    array = array_of("median", input)
    _check_ordered("median", array, dim)
    if dim is None:
        if out is not None:
            return deliver("median", partial(_median_all, input), (input,), out)
        return _median_all(input)
    if out is not None:
        return deliver_pair("median", lambda: median(input, dim, keepdim), (input,), out)
    number = checked_dim("median", input, dim)
    index = _median_index(input, dim=number, skip_nan=False)
    return chosen(_median_dim, _returns.median, input, number, index, keepdim)


def nanmedian(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Any:
    """The median of the elements that are not NaN; as `median`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nanmedian(torch.tensor([4.0, 1.0, float("nan"), 2.0]))
    tensor(2.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    array = array_of("nanmedian", input)
    _check_ordered("nanmedian", array, dim)
    if dim is None:
        if out is not None:
            return deliver("nanmedian", partial(_nanmedian_all, input), (input,), out)
        return _nanmedian_all(input)
    if out is not None:
        return deliver_pair("nanmedian", lambda: nanmedian(input, dim, keepdim), (input,), out)
    number = checked_dim("nanmedian", input, dim)
    index = _median_index(input, dim=number, skip_nan=True)
    return chosen(_nanmedian_dim, _returns.nanmedian, input, number, index, keepdim)


# -- mode --------------------------------------------------------------------------------------------------------------
@choice("the indices of mode")
def _mode_index(self: np.ndarray, *, dim: int) -> np.ndarray:
    """Where the last of the most frequent values stands (the smallest value of several), the dimension kept."""
    if not self.ndim:
        return np.zeros((), np.int64)
    lines = np.moveaxis(self, dim, -1)
    order = lines.argsort(-1, kind="stable")
    ranked = np.take_along_axis(lines, order, -1)
    starts = np.ones(ranked.shape, bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    places = np.arange(ranked.shape[-1])
    run = places - np.maximum.accumulate(np.where(starts, places, 0), -1)  # each value's number among its equals
    return np.moveaxis(np.take_along_axis(order, run.argmax(-1, keepdims=True), -1), -1, dim)


def mode(
    input: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> _returns.mode:
    """The most frequent value along a dimension, the smallest of several, and where it stands last.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mode(torch.tensor([1.0, 2.0, 2.0, 3.0])).values
    tensor(2.)
    """
    dim = dim if axis is None else either(dim, axis, -1)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver_pair("mode", lambda: mode(input, dim, keepdim), (input,), out)
    number = checked_dim("mode", input, dim)
    return chosen(_mode_row, _returns.mode, input, number, _mode_index(input, dim=number), keepdim)
