"""Sums, means and maxima of the rows of a table that bags of indices name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._choices import choice
from .._dtypes import INT64
from .._errors import scalar_name
from .._op import rows
from .._runtime import wrap
from .index import embedding
from .join import cat

if TYPE_CHECKING:
    from .._tensor import Tensor


def _check_options(mode: str, scale_grad_by_freq: bool, sparse: bool, weights: Any) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, but got {mode!r}")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}')."
        )


def _check_bags(indices: np.ndarray, offsets: Any, include_last_offset: bool) -> None:
    """Raise where indices and offsets do not fit."""
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return
    if indices.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    starts = getattr(offsets, "_array", None)
    if starts is None or starts.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {None if starts is None else f'{starts.ndim}D'}")
    if starts.dtype.kind not in "iu":
        raise RuntimeError(f"expected offsets of type Long or Int; but got {scalar_name(starts.dtype)}")
    if include_last_offset and not len(starts):
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")


def _counts(indices: np.ndarray, offsets: Any, include_last_offset: bool) -> tuple[np.ndarray, np.ndarray]:
    """The indices one after the other, and how many each bag has; an error where offsets are not in order."""
    if indices.ndim == 2:
        return indices.reshape(-1), np.full(len(indices), indices.shape[1])
    starts = offsets[:-1] if include_last_offset else offsets
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}"
        )
    if len(starts) and starts[-1] > len(indices):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(indices)} but got offsets[-1] of {starts[-1]}"
        )
    end = offsets[-1] if include_last_offset else len(indices)
    counts = np.diff(np.append(starts, end).astype(INT64))
    if (counts < 0).any():
        raise RuntimeError(f"embedding_bag(): offsets must not decrease, but got {offsets.tolist()}")
    return indices[: counts.sum()], counts


@choice("bags", ("indices", "offsets"), fits=False)
def _bags(
    indices: np.ndarray, *offsets: np.ndarray, include_last: bool, padding: int | None, size: int, dtype: Any
) -> tuple[np.ndarray, ...]:
    """The indices one after the other, the bag of each, how many each bag has, which indices of all given ones these are,
    and what a mean is divided by."""
    indices, counts = _counts(indices, offsets[0] if offsets else None, include_last)
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        place = int(wrong.argmax())
        raise RuntimeError(
            f"Index {place} of input takes value {indices[place]} which is not in the valid range [0, {size})"
        )
    bag = np.repeat(np.arange(len(counts)), counts)
    kept = np.arange(len(bag))
    if padding is not None:
        kept = np.flatnonzero(indices != padding)
        indices, bag = indices[kept], bag[kept]
        counts = np.bincount(bag, minlength=len(counts))
    divisors = np.maximum(counts, 1)[:, None].astype(dtype)
    return indices.astype(INT64), bag, counts, kept, divisors


@choice("the maxima of bags", ("values", "bag", "counts"), warns=True)
def _first_maxima(values: np.ndarray, bag: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each bag and each column, the number of the row that has the first maximum; for an empty bag, one more than all."""
    chosen = np.full((len(counts), values.shape[1]), len(values), INT64)
    full = counts > 0
    if full.any():
        starts = (np.cumsum(counts) - counts)[full]
        highest = np.maximum.reduceat(values, starts, 0).repeat(counts[full], 0)
        number = np.where((values == highest) | np.isnan(values), np.arange(len(values))[:, None], len(values))
        chosen[full] = np.minimum.reduceat(number, starts, 0)
    return chosen


def _maxima(looked_up: Any, bag: np.ndarray, counts: np.ndarray) -> tuple[Any, np.ndarray]:
    """The maxima of bags, zeros for empty ones, and where they are."""
    chosen = _first_maxima(looked_up, wrap(bag), wrap(counts))
    return cat([looked_up, looked_up.new_zeros((1, chosen.shape[1]))]).gather(0, wrap(chosen)), chosen


def bagged(
    input: Any,
    weight: Any,
    offsets: Any,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    mode: str,
    weights: Any,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The bags' results, the bag of each index, how many indices each bag has, and where maxima came from."""
    given = array_of("embedding_bag", input)
    _check_bags(given, offsets, include_last_offset)
    table = array_of("embedding_bag", weight, "weight", 2)
    if given.dtype.kind not in "iu":
        raise RuntimeError(f"expected indices of type Long or Int; but got {scalar_name(given.dtype)}")
    if table.dtype.kind != "f" or table.ndim != 2:
        raise RuntimeError(
            f"expected a weight of two dimensions of floats; but got {list(table.shape)}, {weight.dtype}"
        )
    indices, bag, counts, kept, divisors = _bags(
        *([input] if offsets is None else [input, offsets]),
        include_last=include_last_offset,
        padding=padding_idx,
        size=len(table),
        dtype=table.dtype,
    )
    if weights is not None:
        if weights._array.dtype != table.dtype:
            raise RuntimeError(f"expected per_sample_weights of type {weight.dtype}; but got {weights.dtype}")
        weights = weights.reshape(-1)
        if padding_idx is not None or include_last_offset:
            weights = weights[wrap(kept)]
    looked_up = embedding(wrap(indices), weight, None, max_norm, norm_type, scale_grad_by_freq)
    if weights is not None:
        looked_up = looked_up * weights.unsqueeze(1)
    chosen = np.zeros((0, table.shape[1]), INT64)
    if mode == "max":
        result, chosen = _maxima(looked_up, bag, counts)
    else:
        result = rows["index_sum"].call(looked_up, wrap(bag), 0, (len(counts), table.shape[1]))
        if mode == "mean":
            result = result / wrap(divisors)
    return result, bag, counts, _named(wrap(indices), wrap(chosen), wrap(counts), mode=mode)


@choice("the rows of maxima", ("indices", "chosen", "counts"))
def _named(indices: np.ndarray, chosen: np.ndarray, counts: np.ndarray, *, mode: str) -> np.ndarray:
    """For each bag, and each column of maxima, the row that it is from; zero for others."""
    if mode != "max":
        return np.zeros(len(counts), INT64)
    return np.append(indices, 0)[chosen]


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of a table that each bag of indices names.

    Parameters
    ----------
    input : Tensor
        Integers: ``(bags, size)``, or all bags one after the other.
    weight : Tensor
        The table, ``(rows, columns)``.
    offsets : Tensor, optional
        Where each bag starts in a one-dimensional *input*.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As for `embedding`.
    mode : {"mean", "sum", "max"}
        What becomes of a bag's rows; an empty bag gives zeros.
    per_sample_weights : Tensor, optional
        Factors of the rows, of *input*'s shape, for ``mode="sum"``.
    include_last_offset : bool
        Whether the last offset is where the last bag ends.
    padding_idx : int, optional
        An index that does not count.

    Returns
    -------
    Tensor
        ``(bags, columns)``.

    Raises
    ------
    ValueError, RuntimeError, NotImplementedError
        If arguments do not fit together.

    Examples
    --------
    >>> import minitorch as torch
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 2, 1]), table, torch.tensor([0, 2]))
    tensor([[3., 4.],
            [3., 4.]])
    """
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if padding_idx is not None:
        size = len(array_of("embedding_bag", weight, "weight", 2))
        if not -size <= padding_idx < size:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{size} through {size - 1}, but got {padding_idx}"
            )
        padding_idx %= size
    _check_options(mode, scale_grad_by_freq, sparse, per_sample_weights)
    return bagged(
        input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip
