"""Covariances, and integrals by the trapezoidal rule."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either
from .._errors import scalar_name
from .._runtime import traced, wrap
from .._types import Number
from . import choices, diagonals, linalg, reduce, scan
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- covariances -------------------------------------------------------------------------------------------------------
def _checked_weights(which: str, weights: Any, kind: str, observations: int) -> None:
    array = array_of("cov", weights, which)
    if array.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {which} to have one or fewer dimensions but got {which} with {array.ndim} dimensions"
        )
    if (array.dtype.kind == "f") != (kind == "floating point"):
        raise RuntimeError(
            f"cov(): expected {which} to have {kind} dtype but got {which} with {scalar_name(array.dtype)} dtype"
        )
    if array.size != observations:
        raise RuntimeError(
            f"cov(): expected {which} to have the same numel as there are observations in the input but got "
            f"{array.size} != {observations}"
        )
    if observations and array.min() < 0:
        raise RuntimeError(f"cov(): {which} cannot be negative")


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables, one a row, whose observations are the columns.

    Parameters
    ----------
    input : Tensor
        2-D, or less for one variable.
    correction : int
        What is subtracted from the number of observations in the divisor.
    fweights : Tensor, optional
        How often each observation was made, integers.
    aweights : Tensor, optional
        How much each counts, floats.

    Returns
    -------
    Tensor
        A matrix, symmetric; of one variable its variance, 0-d.

    Warns
    -----
    UserWarning
        If the divisor is not positive; the result is NaN or infinite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    array = array_of("cov", input)
    if array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {array.ndim} dimensions"
        )
    if array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = shapes.reshape(input, (1, -1)) if array.ndim < 2 else input
    observations = rows._array.shape[1]
    if fweights is not None:
        _checked_weights("fweights", fweights, "integral", observations)
    if aweights is not None:
        _checked_weights("aweights", aweights, "floating point", observations)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total: Any = observations if weights is None else reduce.sum(weights)
    if observations and weights is not None and total._array == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = reduce.sum(rows if weights is None else rows * weights, 1, keepdim=True) / total
    if aweights is None or correction == 0:
        divisor = total - correction
    else:
        divisor = total - correction * reduce.sum(weights * aweights) / total
    if not (divisor > 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=2,
        )
        divisor = 0
    centered = rows - mean
    weighted = centered if weights is None else centered * weights
    return shapes.squeeze(linalg.mm(centered, shapes.t(weighted)) / divisor)


def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables, one a row: covariances over the products of standard deviations.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    array = array_of("corrcoef", input)
    if array.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {array.ndim} dimensions"
        )
    covariances = cov(input)
    if not covariances._array.ndim:
        return covariances / covariances
    deviations = traced.sqrt(diagonals.diag(covariances))
    scaled = covariances / traced.unsqueeze(deviations, dim=1) / traced.unsqueeze(deviations, dim=0)
    return choices.clamp(scaled, -1.0, 1.0)


# -- integrals ---------------------------------------------------------------------------------------------------------
def _neighbours(values: Any, dim: int) -> tuple[Any, Any]:
    """What has a neighbour before it along a dimension, and those neighbours."""
    size = values._array.shape[dim]
    return (
        traced.slice(values, dim=dim, start=1, end=size),
        traced.slice(values, dim=dim, start=0, end=max(size - 1, 0)),
    )


def _sampled(name: str, y: Tensor, x: Tensor | None, dx: Number | None, dim: int) -> tuple[int, Any]:
    """The dimension, and the widths of the intervals: a number or a tensor that broadcasts with *y*."""
    array = array_of(name, y, "y")
    if not array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    number = dim_of(dim, array.ndim)
    if array.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if x is None:
        return number, 1 if dx is None else dx
    if dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: give either 'x' or 'dx'")
    points = array_of(name, x, "x", 2)
    if points.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    if points.ndim == 1:
        if len(points) != array.shape[number]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = shapes.reshape(x, [-1 if d == number else 1 for d in range(array.ndim)])
    elif points.ndim < array.ndim:
        x = shapes.reshape(x, [1] * (array.ndim - points.ndim) + list(points.shape))
    after, before = _neighbours(x, number)
    return number, after - before


def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1, axis: int | None = None
) -> Tensor:
    """The integral of samples along a dimension, by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor
        The samples.
    x : Tensor, optional
        Where they were taken: 1-D, or of a shape that broadcasts.
    dx : number, optional
        The distance between them, where *x* is not given (default: 1).
    dim : int
        The dimension.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
    dim = dim if axis is None else either(dim, axis, -1)
    number, widths = _sampled("trapezoid", y, x, dx, dim)
    if not y._array.shape[number]:
        shape = y._array.shape[:number] + y._array.shape[number + 1 :]
        return wrap(np.zeros(shape, y._array.dtype if y._array.dtype.kind == "f" else np.float32))
    if x is None:
        count = y._array.shape[number]
        first, last = [traced.slice(y, dim=number, start=k, end=k + 1) for k in (0, count - 1)]
        return (reduce.sum(y, number) - reduce.sum(first + last, number) * 0.5) * widths
    after, before = _neighbours(y, number)
    return reduce.sum((after + before) * widths, number) / 2.0


trapz = trapezoid


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1, axis: int | None = None
) -> Tensor:
    """The running integral of samples along a dimension, by the trapezoidal rule; arguments as for `trapezoid`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    number, widths = _sampled("cumulative_trapezoid", y, x, dx, dim)
    after, before = _neighbours(y, number)
    if x is None:
        return scan.cumsum(after + before, number) * (widths / 2.0)
    return scan.cumsum((after + before) * widths, number) / 2.0
