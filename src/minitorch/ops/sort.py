"""Sorting, choosing by rank, unique values, and searching sorted ones."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either, flag, number, text
from .._choices import choice
from .._modes import observers
from .._op import op
from .._runtime import deliver, severed, wrap
from .._types import Number
from . import _returns
from ._chosen import choosing, chosen, deliver_pair, places
from .extrema import checked_dim

if TYPE_CHECKING:
    from .._tensor import Tensor

_sort_row = choosing("sort", "SortBackward0", keeps_flag=False)
_stable_sort_row = choosing("sort_stable", "SortBackward1", keeps_flag=False)
_topk_row = choosing("topk", "TopkBackward0", keeps_flag=False)
_kthvalue_row = choosing("kthvalue", "KthvalueBackward0")


# -- sort --------------------------------------------------------------------------------------------------------------
def along(dim: int, part: slice) -> tuple[slice, ...]:
    """What takes a part of an array along a dimension."""
    return (slice(None),) * dim + (part,)


def _ordered(array: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The stable order of the elements along a dimension; NaN counts as the largest."""
    if not array.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return array.argsort(dim, kind="stable")
    flip = along(dim, slice(None, None, -1))
    return array.shape[dim] - 1 - array[flip].argsort(dim, kind="stable")[flip]


@choice("argsort")
def _order(self: np.ndarray, *, dim: int, descending: bool) -> np.ndarray:
    return _ordered(self, dim, descending)


def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Any = None,
    axis: int | None = None,
) -> _returns.sort:
    """The elements in order along a dimension, and where each stood; equal ones keep their order, NaN is the largest.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        The dimension.
    descending : bool
        Whether the largest comes first.
    stable : bool, optional
        Whether equal elements must keep their order: they do anyway.
    out : pair of Tensors, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Returns
    -------
    torch.return_types.sort
        ``values``, whose gradients go back to the elements, and ``indices``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0])).values
    tensor([1., 2., 3.])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    if out is not None:
        return deliver_pair("sort", lambda: sort(input, dim, descending, stable=stable), (input,), out)
    array = array_of("sort", input)
    number = dim_of(dim, array.ndim)
    flag(descending, "descending")
    if stable is not None:
        flag(stable, "stable")
    row = _sort_row if stable is None else _stable_sort_row
    order = _order(input, dim=number, descending=descending) if observers else _ordered(array, number, descending)
    return chosen(row, _returns.sort, input, number, order)


def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, axis: int | None = None
) -> Tensor:
    """The indices that sort along a dimension; arguments as for `sort`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([0, 2, 1])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    array = array_of("argsort", input)
    flag(stable, "stable")
    number = dim_of(dim, array.ndim)
    return severed("argsort", _order(input, dim=number, descending=flag(descending, "descending")), input)


def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.msort(torch.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    if out is not None:
        return deliver("msort", lambda: msort(input), (input,), out)
    return sort(input, 0).values


# -- topk, kthvalue ----------------------------------------------------------------------------------------------------
@choice("the indices of topk")
def _top(self: np.ndarray, *, k: int, dim: int, largest: bool) -> np.ndarray:
    """Where the *k* largest (or smallest) elements stand, in order."""
    if not self.ndim:
        return np.zeros((), np.int64)
    size = self.shape[dim]
    if not k or 8 * k >= size:  # choosing first saves nothing
        return _ordered(self, dim, largest)[along(dim, slice(k))]
    kth, part = (size - k, slice(size - k, None)) if largest else (k - 1, slice(k))
    some = self.argpartition(kth, dim)[along(dim, part)]
    order = _ordered(self[places(some, dim)], dim, largest)
    return some[places(order, dim)]


@choice("the indices of kthvalue")
def _kth(self: np.ndarray, *, k: int, dim: int) -> np.ndarray:
    return self.argpartition(k - 1, dim)[along(dim, slice(k - 1, k))] if self.ndim else np.zeros((), np.int64)


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
    axis: int | None = None,
) -> _returns.topk:
    """The *k* largest elements along a dimension, and where they stand.

    Parameters
    ----------
    input : Tensor
        Any shape.
    k : int
        How many.
    dim : int
        The dimension.
    largest : bool
        Whether the largest are taken, or the smallest.
    sorted : bool
        Whether they must come in order: they do anyway.
    out : pair of Tensors, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Returns
    -------
    torch.return_types.topk
        ``values``, whose gradients go back to the elements, and ``indices``.

    Raises
    ------
    RuntimeError
        If there are fewer than *k* elements.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.topk(torch.tensor([3.0, 1.0, 2.0]), 2).indices
    tensor([0, 2])
    """
    dim = dim if axis is None else either(dim, axis, -1)
    if out is not None:
        return deliver_pair("topk", lambda: topk(input, k, dim, largest), (input,), out)
    array = array_of("topk", input)
    if array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU: convert the input first")
    number = dim_of(dim, array.ndim)
    size = array.shape[number] if array.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, but dimension {number} has size {size}")
    flag(sorted, "sorted")
    index = _top(input, k=k, dim=number, largest=flag(largest, "largest"))
    return chosen(_topk_row, _returns.topk, input, number, index)


def kthvalue(
    input: Tensor,
    k: int,
    dim: int = -1,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> _returns.kthvalue:
    """The *k*-th smallest element along a dimension, counted from 1, and where it stands.

    Parameters
    ----------
    input : Tensor
        Any shape.
    k : int
        Which.
    dim : int
        The dimension.
    keepdim : bool
        Whether it stays, with size 1.
    out : pair of Tensors, optional
        Where the result is written.
    axis, keepdims
        NumPy's names for *dim* and *keepdim*.

    Raises
    ------
    RuntimeError
        If there are fewer than *k* elements.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    dim = dim if axis is None else either(dim, axis, -1)
    keepdim = keepdim if keepdims is None else keepdims
    if out is not None:
        return deliver_pair("kthvalue", lambda: kthvalue(input, k, dim, keepdim), (input,), out)
    array = array_of("kthvalue", input)
    if array.dtype.kind == "b":
        raise NotImplementedError("kthvalue() is not implemented for 'Bool'; convert the input first")
    number = checked_dim("kthvalue", input, dim)
    size = array.shape[number] if array.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {number}: k is {k}, but its size is {size}"
        )
    index = _kth(input, k=k, dim=number)
    return chosen(_kthvalue_row, _returns.kthvalue, input, number, index, keepdim)


# -- unique ------------------------------------------------------------------------------------------------------------
def _no_derivative(F: Any, g: Any) -> Any:
    raise NotImplementedError("the derivative for unique is not implemented; take the values by their indices")


def _found_values(name: str, node_name: str) -> Any:
    """A row of values that are found beforehand and have no derivative, as in PyTorch."""
    return op(
        name,
        node_name,
        lambda self, *, values: values,
        ("self",),
        hides=("values",),
        tangent="transpose",
        self=_no_derivative,
    )


_unique, _unique_dim = _found_values("unique", "Unique2Backward0"), _found_values("unique_dim", "UniqueDimBackward0")
_unique_consecutive = _found_values("unique_consecutive", "UniqueConsecutiveBackward0")


@choice("unique", fits=False)
def _different(self: np.ndarray, *, axis: int | None) -> tuple[np.ndarray, ...]:
    found = np.unique(self, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    return tuple(map(np.asarray, found))


@choice("unique_consecutive", fits=False)
def _runs(self: np.ndarray, *, axis: int | None) -> tuple[np.ndarray, ...]:
    """The first of each run, which run each element belongs to, and how long they are."""
    if axis is None:
        lines = self.reshape(-1, 1)
    else:
        lines = np.moveaxis(self, axis, 0)
        lines = lines.reshape(len(lines), math.prod(lines.shape[1:]))
    starts = np.ones(len(lines), bool)
    starts[1:] = (lines[1:] != lines[:-1]).any(1)
    places = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(places, append=len(lines))
    if axis is None:
        return lines[places, 0], inverse.reshape(self.shape), counts
    return self.take(places, axis), inverse, counts


def _check_slices(name: str, shape: tuple[int, ...], axis: int | None) -> None:
    """Refuse to compare slices that have no elements."""
    if axis is not None and 0 in shape[:axis] + shape[axis + 1 :]:
        raise RuntimeError(
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: got shape "
            f"{list(shape)} and dim={axis}"
        )


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or slices along a dimension, in order; no NaN equals another. It has no gradient.

    Parameters
    ----------
    input : Tensor
        Any shape.
    sorted : bool
        Whether they must come in order: they do anyway.
    return_inverse : bool
        Whether to tell which one each element of *input* is.
    return_counts : bool
        Whether to tell how often each occurs.
    dim : int, optional
        The dimension (default: single elements).

    Returns
    -------
    Tensor, or tuple of Tensors
        The elements; the inverse and the counts, if asked for.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.unique(torch.tensor([2, 1, 2]), return_counts=True)
    (tensor([1, 2]), tensor([1, 2]))
    """
    array = array_of("unique", input)
    axis = None if dim is None else dim_of(dim, array.ndim)
    flag(sorted, "sorted")
    _check_slices("unique", array.shape, axis)
    found = _different(input, axis=axis if array.ndim else None)
    return _unique_results(_unique_dim if dim is not None else _unique, input, found, return_inverse, return_counts)


def _unique_results(row: Any, input: Tensor, found: Any, return_inverse: bool, return_counts: bool) -> Any:
    flag(return_inverse, "return_inverse"), flag(return_counts, "return_counts")
    values, (inverse, counts) = (
        row(input, found[0]),
        [severed("unique", part, input) for part in found[1:]],
    )
    if not (return_inverse or return_counts):
        return values
    return (values, *[inverse] * return_inverse, *[counts] * return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements, or of equal slices along a dimension; results as of `unique`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    array = array_of("unique_consecutive", input)
    axis = None if dim is None else dim_of(dim, array.ndim)
    _check_slices("unique_consecutive", array.shape, axis)
    found = _runs(input, axis=axis)
    return _unique_results(_unique_consecutive, input, found, return_inverse, return_counts)


# -- searchsorted, bucketize -------------------------------------------------------------------------------------------
def _bisected(sequences: np.ndarray, values: np.ndarray, after: bool) -> np.ndarray:
    """`searchsorted` for several sequences at once, in halves; NaN, in either, is above everything, as in PyTorch."""
    reaches = np.greater if after else np.greater_equal
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, sequences.shape[-1])
    while (open_ := low < high).any():
        middle = (low + high) // 2
        at = np.where(open_, middle, 0)
        seen = sequences[at] if sequences.ndim == 1 else np.take_along_axis(sequences, at, -1)
        found = reaches(seen, values)
        low = np.where(open_ & ~found, middle + 1, low)
        high = np.where(open_ & found, middle, high)
    return low


@choice("searchsorted", ("sorted_sequence", "self", "sorter"))
def _insertion(
    sorted_sequence: np.ndarray, self: np.ndarray, *sorter: np.ndarray, after: bool, small: bool
) -> np.ndarray:
    if sorter:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter[0], -1)
    if sorted_sequence.ndim == 1 and not (sorted_sequence.dtype.kind == "f" and np.isnan(sorted_sequence).any()):
        found = np.asarray(sorted_sequence.searchsorted(self, "right" if after else "left"))
    else:
        found = _bisected(sorted_sequence, self, after)
    return found.astype(np.int32) if small else found


def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would be inserted into a sorted sequence to keep it sorted.

    Parameters
    ----------
    sorted_sequence : Tensor
        Sorted along its last dimension: one sequence, or one for each of *input*'s rows.
    input : Tensor or number
        The values.
    out_int32 : bool
        Whether the result is of int32 rather than int64.
    right : bool
        Whether a value is inserted after its equals rather than before them.
    side : "left" or "right", optional
        The same in words.
    sorter : Tensor, optional
        The order that sorts *sorted_sequence* along its last dimension, if it is not.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If there are several sequences and their leading dimensions are not those of *input*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    if out is not None:
        options: dict[str, Any] = {"out_int32": out_int32, "right": right, "side": side, "sorter": sorter}
        search = partial(searchsorted, sorted_sequence, input, **options)
        return deliver("searchsorted", search, (sorted_sequence,), out)
    if side is not None:
        text(side, "side")
    if flag(right, "right") and side == "left":
        raise RuntimeError("searchsorted(): side and right can't be opposites, got side 'left' while right was True")
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side!r}")
    sequences = array_of("searchsorted", sorted_sequence, "sorted_sequence")
    tensor: Any = input
    if not hasattr(input, "_array"):
        tensor = wrap(np.asarray(number(input, "input", expected="Tensor or Number")))
    values = tensor._array
    flag(out_int32, "out_int32")
    if sequences.dtype.kind == "b" and values.dtype.kind == "b":
        raise NotImplementedError("searchsorted() is not implemented for 'Bool'; convert the tensors first")
    sorters = [] if sorter is None else [sorter]
    if sorter is not None:
        array_of("searchsorted", sorter, "sorter", 0)
    if sequences.ndim != 1 and sequences.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sequences.shape)} and input value "
            f"tensor {list(values.shape)}"
        )
    after = right or side == "right"
    return wrap(_insertion(sorted_sequence, tensor, *sorters, after=after, small=out_int32))


def bucketize(
    input: Tensor | Number,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which interval between sorted boundaries each value falls into: `searchsorted` with the arguments exchanged.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bucketize(torch.tensor([0.5, 1.0, 4.0]), torch.tensor([1.0, 3.0]))
    tensor([0, 0, 2])
    """
    if array_of("bucketize", boundaries, "boundaries", 2).ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)
