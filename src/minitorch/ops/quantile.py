"""Quantiles and histograms."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either, flag, integer, number, text
from .._choices import choice
from .._errors import scalar_name
from .._runtime import deliver, moves, severed, traced, wrap
from .._types import Number
from ._underived import underived
from .from_data import number_array
from .sort import sort

if TYPE_CHECKING:
    from .._tensor import Tensor

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


# -- quantile ----------------------------------------------------------------------------------------------------------
def quantile(
    input: Tensor,
    q: Number | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Quantiles over all elements or along a dimension, NaN if there is one.

    Parameters
    ----------
    input : Tensor
        float32 or float64, not empty.
    q : float or Tensor
        Which, between 0 and 1; a 1-D tensor of *input*'s dtype for several, which then lie along a new first dimension.
        It has a gradient with "linear" interpolation.
    dim : int, optional
        The dimension (default: over all elements).
    keepdim : bool
        Whether it stays, with size 1.
    interpolation : str
        What a quantile between two elements is: "linear", "lower", "higher", "midpoint" or "nearest".
    out : Tensor, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        compute = partial(quantile, input, q, dim, keepdim, interpolation=interpolation)
        return deliver("quantile", compute, (input, q), out)
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(
    input: Tensor,
    q: Number | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Quantiles of the elements that are not NaN; as `quantile`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    dim = dim if axis is None else either(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        compute = partial(nanquantile, input, q, dim, keepdim, interpolation=interpolation)
        return deliver("nanquantile", compute, (input, q), out)
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    array = array_of(name, input)
    flag(keepdim, "keepdim")
    levels = _checked_levels(name, array, q, text(interpolation, "interpolation"))
    number = 0 if dim is None else dim_of(dim, array.ndim)
    line = traced.view(input, size=(-1,)) if dim is None or not array.ndim else input
    ranked = sort(line, number).values
    kept = keepdim and array.ndim > 0
    moving = hasattr(q, "_array") and interpolation == "linear" and moves(q)
    given = q if hasattr(q, "_array") else wrap(levels)
    results = []
    for place in range(levels.size):
        low, high, weight, level, factor = _ranks(
            ranked,
            given,
            place=place,
            dim=number,
            keepdim=kept,
            interpolation=interpolation,
            skips=name == "nanquantile",
        )
        shift = None
        if moving:  # a zero that has the gradient of the rank
            shift = ((q[place] if levels.ndim else q) - wrap(level)) * wrap(factor)
        results.append(_between(ranked, number, low, high, weight, kept, interpolation, shift))
    if dim is None and keepdim:
        results = [traced.view(result, size=(1,) * array.ndim) for result in results]
    return traced.stack(results) if levels.ndim else results[0]


def _checked_levels(name: str, array: np.ndarray, q: Any, interpolation: str) -> np.ndarray:
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        came = scalar_name(array.dtype)
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, not {came}")
    if not array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        allowed = ", ".join(_INTERPOLATIONS)
        raise RuntimeError(f"{name}() interpolation must be one of {allowed}, but got {interpolation}")
    if hasattr(q, "_array"):
        levels: np.ndarray = q._array
        if levels.dtype != array.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor, not {levels.dtype}")
        if levels.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, but has shape {levels.shape}")
        if not ((levels >= 0) & (levels <= 1)).all():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        return levels
    if not isinstance(q, (int, float)):
        raise TypeError(f"{name}(): argument 'q' must be float or Tensor, not {type(q).__name__}")
    if not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    return np.asarray(q, array.dtype)


@choice("the ranks of quantiles", ("ranked", "levels"), warns=True, checks=True)
def _ranks(
    ranked: np.ndarray, levels: np.ndarray, *, place: int, dim: int, keepdim: bool, interpolation: str, skips: bool
) -> tuple[np.ndarray, ...]:
    """Of one level: the ranks below and above, the weight of the latter, the level itself, and how a rank moves with it."""
    level = levels.reshape(-1)[place]
    if not 0 <= level <= 1:
        raise RuntimeError(f"{'nanquantile' if skips else 'quantile'}() q values must be in the range [0, 1]")
    missing = np.isnan(ranked).sum(dim, keepdims=True)
    last = ranked.shape[dim] - 1
    span = np.maximum(last - missing, 0) if skips else np.where(missing > 0, 0, last)
    first = 0 if skips else np.where(missing > 0, last, 0)
    rank = (first + level * span).astype(ranked.dtype)
    if interpolation == "nearest":
        rank = np.rint(rank)
    low = np.floor(rank)
    weight = rank - low if interpolation == "linear" else np.where(rank == low, 0, 0.5).astype(rank.dtype)
    if not keepdim:
        weight, span = weight.squeeze(dim), span.squeeze(dim)
    return low.astype(np.int64), np.ceil(rank).astype(np.int64), weight, np.asarray(level), span.astype(ranked.dtype)


def _between(
    ranked: Tensor,
    dim: int,
    at_low: np.ndarray,
    at_high: np.ndarray,
    weight: np.ndarray,
    keepdim: bool,
    interpolation: str,
    shift: Tensor | None,
) -> Tensor:
    """The elements at fractional ranks along a dimension."""
    if interpolation in ("lower", "nearest"):
        return traced.take_along(ranked, dim, at_low, keepdim)
    higher = traced.take_along(ranked, dim, at_high, keepdim)
    if interpolation == "higher":
        return higher
    lower = traced.take_along(ranked, dim, at_low, keepdim)
    part = wrap(weight)
    return lower + (higher - lower) * (part if shift is None else part + shift)


# -- histograms --------------------------------------------------------------------------------------------------------
def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall into each of equal intervals; those outside are not counted, and there is no gradient.

    Parameters
    ----------
    input : Tensor
        Floats, any shape.
    bins : int
        How many intervals.
    min, max : number
        The ends of the range, both included; if they are equal, those of the data.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if out is not None:
        return deliver("histc", lambda: histc(input, bins, min, max), (input,), out)
    array = array_of("histc", input).reshape(-1)
    if array.dtype.kind != "f":
        raise NotImplementedError(f"histc() is not implemented for {scalar_name(array.dtype)!r}; use .float()")
    bins, min, max = integer(bins, "bins"), number(min, "min"), number(max, "max")
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    if max < min:
        raise RuntimeError("histc(): max must be larger than min")
    low, high = [float(number_array(bound, array.dtype, "histc")) for bound in (min, max)]
    return severed("histc", _histc(input, bins=bins, low=low, high=high), input)


@choice("histc")
def _histc(self: np.ndarray, *, bins: int, low: float, high: float) -> np.ndarray:
    array = self.reshape(-1)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"histc(): range of [{low}, {high}] is not finite")
    inside = array[(array >= low) & (array <= high)]
    places = ((inside - low) * bins / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(array.dtype)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 occurs, or the sum of its weights; there is no derivative.

    Parameters
    ----------
    input : Tensor
        1-D, of integers that are not negative.
    weights : Tensor, optional
        1-D, as long as *input*.
    minlength : int
        The smallest length of the result.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bincount(torch.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    array = array_of("bincount", input)
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"bincount() is not implemented for {scalar_name(array.dtype)!r}")
    if array.ndim != 1 or (array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if integer(minlength, "minlength") < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, but is {minlength}")
    if weights is None:
        return wrap(_bincount(input, minlength=minlength))
    if array_of("bincount", weights, "weights", 2).shape != array.shape:
        raise RuntimeError("bincount(): weights should be 1-d and have the same length as input")
    return underived("aten::bincount", wrap(_bincount(input, weights, minlength=minlength)), weights)


@choice("bincount", ("self", "weights"), fits=False)
def _bincount(self: np.ndarray, *weights: np.ndarray, minlength: int) -> np.ndarray:
    sums = np.bincount(self, weights[0] if weights else None, minlength)
    return sums.astype(np.float32) if weights and weights[0].dtype == np.float32 else sums
