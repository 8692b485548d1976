"""Running sums, products, maxima and their like along a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either, missing_dim
from .._choices import choice
from .._dtypes import to_numpy
from .._errors import scalar_name
from .._kernels import reduce as kernels
from .._op import op
from .._runtime import deliver, out_dtype, traced
from . import _returns
from ._chosen import choosing, chosen, deliver_pair
from .copies import in_dtype

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- maps of derivatives -----------------------------------------------------------------------------------------------
def _shift(self: np.ndarray, *, dim: int, by: int) -> np.ndarray:
    """Each element moved by one or minus one place along a dimension; zero where none comes."""
    if self.ndim == 0:
        return np.zeros((), self.dtype)
    out = np.zeros(self.shape, self.dtype)
    head, tail = (slice(None),) * dim + (slice(None, -1),), (slice(None),) * dim + (slice(1, None),)
    if by > 0:
        out[tail] = self[head]
    else:
        out[head] = self[tail]
    return out


def _linear_recurrence(factor: np.ndarray, self: np.ndarray, *, dim: int, reverse: bool = False) -> np.ndarray:
    return kernels.linear_recurrence(factor, self, dim, reverse)


def _recurrence_self(F: Any, g: Any, factor: Any, dim: int, reverse: bool) -> Any:
    return F.linear_recurrence(F.shift(factor, dim=dim, by=1 if reverse else -1), g, dim=dim, reverse=not reverse)


def _recurrence_factor(F: Any, g: Any, factor: Any, result: Any, dim: int, reverse: bool) -> Any:
    return _recurrence_self(F, g, factor, dim, reverse) * F.shift(result, dim=dim, by=-1 if reverse else 1)


def exclusive_cumprod_self(F: Any, g: Any, self: Any, result: Any, dim: int, reverse: bool) -> Any:
    """The gradient of an exclusive running product: exact with zeros, as nothing is divided."""
    later = F.linear_recurrence(self, g, dim=dim, reverse=not reverse)
    return result * F.shift(later, dim=dim, by=1 if reverse else -1)


def _recurrence_tangent(F: Any, t: Any, factor: Any, dim: int, reverse: bool) -> Any:
    return F.linear_recurrence(factor, t, dim=dim, reverse=reverse)


def _factor_tangent(F: Any, t: Any, factor: Any, result: Any, dim: int, reverse: bool) -> Any:
    return _recurrence_tangent(F, t * F.shift(result, dim=dim, by=-1 if reverse else 1), factor, dim, reverse)


def _exclusive_tangent(F: Any, t: Any, self: Any, result: Any, dim: int, reverse: bool) -> Any:
    """That of the running product, one place later."""
    return F.shift(_recurrence_tangent(F, result * t, self, dim, reverse), dim=dim, by=-1 if reverse else 1)


op("shift", "ShiftBackward0", _shift, ("self",), tangent="linear",
   self=lambda F, g, dim, by: F.shift(g, dim=dim, by=-by))  # fmt: skip

op("linear_recurrence", "LinearRecurrenceBackward0", _linear_recurrence, ("factor", "self"),
   tangent={"factor": _factor_tangent, "self": _recurrence_tangent},
   factor=_recurrence_factor, self=_recurrence_self)  # fmt: skip

op("exclusive_cumprod", "ExclusiveCumprodBackward0",
   lambda self, *, dim, reverse=False: kernels.exclusive_cumprod(self, dim, reverse), ("self",),
   tangent=_exclusive_tangent,
   self=exclusive_cumprod_self)  # fmt: skip


def _exp_difference_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``exp(self - other)`` where that is at most one; one where both are the same infinity."""
    out = np.subtract(self, other, out=...)
    np.minimum(out, 0, out=out)
    np.exp(out, out)
    return np.where(self == other, out.dtype.type(1), out)


op("exp_difference", "ExpDifferenceBackward0", _exp_difference_kernel, ("self", "other"), elementwise=True,
   self=lambda F, g, result: g * result,
   other=lambda F, g, result: -g * result)  # fmt: skip


# -- cumsum, cumprod, logcumsumexp -------------------------------------------------------------------------------------
def _cumsum(self: np.ndarray, *, dim: int, reverse: bool = False) -> np.ndarray:
    if reverse and self.ndim:
        return np.flip(kernels.cumsum(np.flip(self, dim), dim), dim)
    return kernels.cumsum(self, dim)


def _cumprod_self(F: Any, g: Any, self: Any, self_shape: tuple[int, ...], dim: int) -> Any:
    if not self_shape:
        return g
    later = F.linear_recurrence(F.shift(self, dim=dim, by=-1), g, dim=dim, reverse=True)
    return F.exclusive_cumprod(self, dim=dim) * later


def _cumprod_tangent(F: Any, t: Any, self: Any, dim: int) -> Any:
    return _recurrence_tangent(F, F.exclusive_cumprod(self, dim=dim) * t, self, dim, False) if len(t.shape) else t


def _logcumsumexp(self: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.logcumsumexp(self, dim)


def _logcumsumexp_self(F: Any, g: Any, self: Any, result: Any, dim: int) -> Any:
    """``sum of g[j] exp(x[i] - y[j]) over j >= i``, by a recurrence whose factors do not exceed one."""
    decay = F.exp_difference(result, F.shift(result, dim=dim, by=-1))
    return F.exp_difference(self, result) * F.linear_recurrence(decay, g, dim=dim, reverse=True)


def _logcumsumexp_tangent(F: Any, t: Any, self: Any, result: Any, dim: int) -> Any:
    decay = F.exp_difference(F.shift(result, dim=dim, by=1), result)
    return _recurrence_tangent(F, F.exp_difference(self, result) * t, decay, dim, False)


_cumsum_row = op("cumsum", "CumsumBackward0", _cumsum, ("self",), tangent="linear", hides=("reverse",),
                 self=lambda F, g, dim, reverse: F.cumsum(g, dim=dim, reverse=not reverse))  # fmt: skip
_cumprod_row = op("cumprod", "CumprodBackward0", lambda self, *, dim: kernels.cumprod(self, dim), ("self",),
                  tangent=_cumprod_tangent,
                  self=_cumprod_self)  # fmt: skip
_logcumsumexp_row = op(
    "logcumsumexp",
    "LogcumsumexpBackward0",
    _logcumsumexp,
    ("self",),
    tangent=_logcumsumexp_tangent,
    self=_logcumsumexp_self,
)


def _scan(name: str, row: Any, input: Tensor, dim: Any, dtype: Any, out: Tensor | None) -> Tensor:
    if out is not None:
        wanted = out_dtype(dtype, out) if row is not _logcumsumexp_row else None
        return deliver(name, lambda: _scan(name, row, input, dim, wanted, None), (input,), out)
    if dim is None:
        raise missing_dim()
    number = dim_of(dim, array_of(name, input).ndim)
    if dtype is not None and to_numpy(dtype).kind == "b" and input._array.ndim:
        raise NotImplementedError(f"{name}() is not implemented for 'Bool': give another dtype=")
    result = row(in_dtype(input, dtype), number)
    return in_dtype(result, dtype) if result._array.dtype.kind != "f" else result


def cumsum(
    input: Tensor, dim: Any = None, *, dtype: Any = None, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """The running sum along a dimension.

    Parameters
    ----------
    input : Tensor
        Any shape; integers and bools are added as int64.
    dim : int
        The dimension.
    dtype : dtype, optional
        What the input is converted to first.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    dim = dim if axis is None else either(dim, axis)
    return _scan("cumsum", _cumsum_row, input, dim, dtype, out)


def cumprod(
    input: Tensor, dim: Any = None, *, dtype: Any = None, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """The running product along a dimension; arguments as for `cumsum`, derivatives exact with zeros too.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    dim = dim if axis is None else either(dim, axis)
    return _scan("cumprod", _cumprod_row, input, dim, dtype, out)


def logcumsumexp(input: Tensor, dim: Any = None, *, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, without overflow; arguments as for `cumsum`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logcumsumexp(torch.tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    dim = dim if axis is None else either(dim, axis)
    array = array_of("logcumsumexp", input)
    dtype = array.dtype
    if dtype.kind != "f":
        if dim is None:
            raise missing_dim()
        dim_of(dim, array.ndim)
        raise NotImplementedError(f"logcumsumexp() is not implemented for {scalar_name(dtype)!r}; use .float()")
    return _scan("logcumsumexp", _logcumsumexp_row, input, dim, None, out)


# -- cummax, cummin ----------------------------------------------------------------------------------------------------
@choice("the indices of records", warns=True)
def _record_indices(self: np.ndarray, *, ufunc: np.ufunc, dim: int) -> np.ndarray:
    """Where each element's running extreme stands: the latest of equal ones."""
    array = self
    if not array.ndim:
        return np.zeros((), np.int64)
    extremes = ufunc.accumulate(array, dim)
    records = array == extremes
    if array.dtype.kind == "f":
        records |= np.isnan(array)
    places = np.arange(array.shape[dim]).reshape((-1,) + (1,) * (array.ndim - 1 - dim))
    return np.maximum.accumulate(np.where(records, places, 0), dim)


_cummax_row = choosing("cummax", "CummaxBackward0", repeats=True)
_cummin_row = choosing("cummin", "CumminBackward0", repeats=True)


def _records_of(row: Any, kind: Any, ufunc: np.ufunc, input: Any, dim: Any) -> Any:
    array = array_of(kind.__name__, input)
    if dim is None:
        raise missing_dim()
    number = dim_of(dim, array.ndim)
    return chosen(row, kind, input, number, _record_indices(input, ufunc=ufunc, dim=number))


def cummax(input: Tensor, dim: Any = None, *, out: Any = None, axis: int | None = None) -> _returns.cummax:
    """The running maximum along a dimension and where it stands (the latest of equal elements); NaN propagates.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cummax(torch.tensor([1.0, 3.0, 2.0]), 0).indices
    tensor([0, 1, 1])
    """
    dim = dim if axis is None else either(dim, axis)
    if out is not None:
        return deliver_pair("cummax", lambda: cummax(input, dim), (input,), out)
    return _records_of(_cummax_row, _returns.cummax, np.maximum, input, dim)


def cummin(input: Tensor, dim: Any = None, *, out: Any = None, axis: int | None = None) -> _returns.cummin:
    """The running minimum along a dimension and where it stands (the latest of equal elements); NaN propagates.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cummin(torch.tensor([2.0, 1.0, 3.0]), 0).values
    tensor([2., 1., 1.])
    """
    dim = dim if axis is None else either(dim, axis)
    if out is not None:
        return deliver_pair("cummin", lambda: cummin(input, dim), (input,), out)
    return _records_of(_cummin_row, _returns.cummin, np.minimum, input, dim)


# -- diff --------------------------------------------------------------------------------------------------------------
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
) -> Tensor:
    """Differences of neighbours along a dimension, taken *n* times.

    Parameters
    ----------
    input : Tensor
        At least one-dimensional; neighbours of bools are compared (exclusive or).
    n : int
        How often the differences are taken.
    dim : int
        The dimension.
    prepend, append : Tensor, optional
        What is put before and after *input* along *dim* first.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.diff(torch.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    if out is not None:
        return deliver("diff", lambda: diff(input, n, dim, prepend, append), (input,), out)
    array = array_of("diff", input)
    if array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    number = dim_of(dim, array.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return traced.clone(input)
    parts = [part for part in (prepend, input, append) if part is not None]
    result = traced.cat(parts, dim=number) if len(parts) > 1 else input
    before = (slice(None),) * number
    for _ in range(min(n, result._array.shape[number])):
        after, ahead = result[(*before, slice(1, None))], result[(*before, slice(None, -1))]
        result = after != ahead if result._array.dtype.kind == "b" else after - ahead
    return result
