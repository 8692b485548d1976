"""Membership, places and counts: ``isin``, ``unravel_index``, ``histogram``; and ``gradient``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _runtime
from .._args import array_of, dims_of, either, number
from .._choices import choice
from .._dtypes import promoted
from .._runtime import deliver, traced, wrap
from .._types import Number
from . import _returns
from ._underived import underived
from .copies import as_operand, converted
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


def isin(
    elements: Tensor | Number,
    test_elements: Tensor | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """For each element, whether it is among *test_elements*.

    Parameters
    ----------
    elements, test_elements : Tensor or number
        Any shapes; one may be a number.
    assume_unique : bool
        Of no influence: a promise that neither has repeated elements.
    invert : bool
        Whether to tell instead which are not among them.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
    tensor([False,  True, False])
    """
    if out is not None:
        return deliver("isin", lambda: isin(elements, test_elements, invert=invert), (elements, test_elements), out)
    if not isinstance(elements, _runtime.Tensor) and not isinstance(test_elements, _runtime.Tensor):
        raise TypeError(f"isin(): one of elements and test_elements must be a Tensor, not {type(elements).__name__}")
    first, second = as_operand(elements, test_elements, "isin"), as_operand(test_elements, elements, "isin")
    one, other = first._array, second._array
    if "b" in (one.dtype.kind, other.dtype.kind):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool; convert it first")
    return wrap(_among(first, second, common=promoted(one.dtype, other.dtype), invert=invert))


@choice("isin", ("elements", "test_elements"))
def _among(elements: np.ndarray, test_elements: np.ndarray, *, common: Any, invert: bool) -> np.ndarray:
    found = np.isin(elements.astype(common), test_elements.astype(common), invert=invert)
    return np.asarray(found, bool).reshape(elements.shape)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor a dimension, that places in a flattened array of a shape have.

    Raises
    ------
    TypeError
        If *indices* are no integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    array = array_of("unravel_index", indices, "indices")
    if array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = tuple(shape) if isinstance(shape, Sequence) else (operator.index(shape),)
    if any([size < 0 for size in sizes]):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    return tuple([wrap(place) for place in _unravelled(indices, sizes=sizes)])


@choice("unravel_index")
def _unravelled(self: np.ndarray, *, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    coordinates, rest = [], self
    for size in reversed(sizes):
        rest, place = np.floor_divide(rest, size, out=...), np.remainder(rest, size, out=...)
        coordinates.append(place)
    return tuple(reversed(coordinates))


# -- histograms --------------------------------------------------------------------------------------------------------
@choice("edges of bins")
def _edges(self: np.ndarray, *, place: int, columns: int, bins: int, low_high: Sequence[float] | None) -> np.ndarray:
    """The bounds of so many bins of equal width over a range, by default that of the data."""
    column = self.reshape(-1, columns)[:, place]
    if low_high is None:
        low_high = (column.min(), column.max()) if column.size else (0.0, 1.0)
    low, high = (float(v) for v in low_high)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1, dtype=column.dtype)


def _bounds(samples: Any, place: int, columns: int, bins: Any, low_high: Sequence[float] | None) -> Any:
    """The bounds of the bins of one coordinate: given, or to be found."""
    if isinstance(bins, _runtime.Tensor):
        return bins
    return wrap(_edges(samples, place=place, columns=columns, bins=bins, low_high=low_high))


@choice("histogram", ("*tensors",))
def _histogram(self: np.ndarray, *given: np.ndarray, dims: int, density: bool) -> np.ndarray:
    edges, weights = list(given[:dims]), given[dims].reshape(-1) if len(given) > dims else None
    counts = np.histogramdd(self.reshape(-1, dims), edges, weights=weights, density=density)[0]
    return np.asarray(counts, self.dtype)


def _counted(name: str, samples: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    if weight is not None:
        array_of(name, weight, "weight", 0)
    given = edges if weight is None else [*edges, weight]
    counts = wrap(_histogram(samples, *given, dims=len(edges), density=density))
    return underived(f"aten::{name}", counts, samples, *given)


def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> _returns.histogram:
    """How many elements lie in each of some intervals, and their bounds; the last interval has its upper bound.

    Parameters
    ----------
    input : Tensor
        Floats, any shape.
    bins : int or Tensor
        How many intervals of equal width, or their increasing bounds.
    range : pair of float, optional
        Where the intervals begin and end; by default at the least and the greatest element.
    weight : Tensor, optional
        What each element counts.
    density : bool
        Whether counts are scaled so that they integrate to 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    array = array_of("histogram", input)
    if array.dtype.kind != "f":
        raise unsupported("histogram", array)
    edges = _bounds(input, 0, 1, bins, range)
    counts = _counted("histogram", input, [edges], weight, density)
    given = [t for t in (input, edges, weight) if t is not None]
    return _returns.histogram([counts, underived("aten::histogram", wrap(edges._array), *given)])


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> _returns.histogramdd:
    """``histogram`` of points: the last dimension of *input* holds their coordinates.

    Parameters
    ----------
    input : Tensor
        Floats, of shape (..., N).
    bins : int, sequence of int, or sequence of Tensor
        How many intervals for all, or for each of the N coordinates, or their bounds.
    range : sequence of float, optional
        For each coordinate where its intervals begin and end, one after the other.
    weight, density
        See ``histogram``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    array = array_of("histogramdd", input)
    if array.dtype.kind != "f":
        raise unsupported("histogramdd", array)
    count = array.shape[-1]
    given = bins if isinstance(bins, (tuple, list)) else [bins] * count
    ranges = [None] * count if range is None else [range[i : i + 2] for i in np.arange(0, 2 * count, 2).tolist()]
    edges = [_bounds(input, i, count, b, r) for i, (b, r) in enumerate(zip(given, ranges))]
    counts = _counted("histogramdd", input, edges, weight, density)
    found = [e if e is b else underived("aten::histogramdd", e, input) for e, b in zip(edges, given)]
    return _returns.histogramdd([counts, tuple(found)])


# -- slopes ------------------------------------------------------------------------------------------------------------
def gradient(
    input: Tensor,
    *,
    spacing: Any = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
    axis: int | Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """The slope of sampled values along each dimension, by central differences; one-sided ones at the ends.

    Parameters
    ----------
    input : Tensor
        The values.
    spacing : number, sequence of numbers, or sequence of Tensor
        How far apart samples are, for all dimensions or each; or where they are, along each.
    dim : int or sequence of int, optional
        Along which dimensions; by default all.
    edge_order : {1, 2}
        The order of the differences at the ends.
    axis
        NumPy's name for *dim*.

    Raises
    ------
    RuntimeError
        If a dimension has too few elements, or spacings and dimensions differ in number.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dim = dim if axis is None else either(dim, axis)
    array = array_of("gradient", input)
    if array.dtype.kind in "ub":
        raise RuntimeError(f"torch.gradient does not support {array.dtype} input: convert it to a signed dtype")
    if array.dtype.kind != "f":
        input = input.to(_dtypes.get_default_dtype())
        array = input._array
    spacing = 1 if spacing is None else spacing
    dims = tuple(np.arange(array.ndim).tolist()) if dim is None else dims_of(dim, array.ndim)
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or of length {len(dims)}, got {len(spacings)}"
        )
    if any([array.shape[d] < edge_order + 1 for d in dims]):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple([_slope(input, d, _distances(s, array, d), edge_order) for s, d in zip(spacings, dims)])


def _distances(spacing: Any, array: np.ndarray, dim: int) -> Any:
    """From each sample to the next, shaped to be broadcast along a dimension."""
    after = array.ndim - dim - 1
    if isinstance(spacing, _runtime.Tensor) and spacing._array.ndim:
        if len(spacing._array) != array.shape[dim]:
            raise RuntimeError("torch.gradient expected each coordinate tensor to have a place for each sample")
        steps = converted(spacing[1:] - spacing[:-1], array.dtype)
        return traced.view(steps, size=(-1,) + (1,) * after)
    return wrap(np.full((array.shape[dim] - 1,) + (1,) * after, number(spacing, "spacing"), array.dtype))


def _slope(input: Any, dim: int, steps: Any, edge_order: int) -> Any:
    def at(start: int, stop: int | None) -> Any:
        return input[(*(slice(None),) * dim, slice(start, stop))]

    def h(start: int, stop: int | None) -> Any:
        return steps[start:stop]

    count = input._array.shape[dim]
    parts = []
    if count > 2:
        a, b = h(0, -1), h(1, None)
        middle = at(0, -2) * (-b / (a * (a + b))) + at(1, -1) * ((b - a) / (a * b)) + at(2, None) * (a / (b * (a + b)))
        parts = [middle]
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / h(0, 1), (at(count - 1, count) - at(count - 2, count - 1)) / h(-1, None)
    else:
        first = _edge([at(i, i + 1) for i in (0, 1, 2)], h(0, 1), h(1, 2))
        last = -_edge([at(count - i, count - i + 1) for i in (1, 2, 3)], h(-1, None), h(-2, -1))
    return traced.cat([first, *parts, last], dim=dim)


def _edge(values: Sequence[Any], a: Any, b: Any) -> Any:
    """The slope at the first of three samples, by the parabola through them."""
    return (
        values[0] * (-(2 * a + b) / (a * (a + b))) + values[1] * ((a + b) / (a * b)) - values[2] * (a / (b * (a + b)))
    )
