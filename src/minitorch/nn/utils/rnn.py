"""Sequences of different lengths in one tensor: padded, or packed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ... import _dtypes
from ..._runtime import wrap
from ..._tensor import Tensor
from ..._value_notes import tell_read
from ...ops import copies, join, sort
from ...ops.creation import full
from ...ops.from_data import as_tensor
from ...ops.index import index_select


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences, longest first, with the elements of a time step one after the other; made by ``pack_padded_sequence``.

    Attributes
    ----------
    data : Tensor
        The elements, ``(all elements, *)``.
    batch_sizes : Tensor
        How many sequences have an element at each step.
    sorted_indices, unsorted_indices : Tensor or None
        Where sorted sequences were before, and the other way round.

    Examples
    --------
    >>> import minitorch as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with their elements converted, as by ``Tensor.to``."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else PackedSequence(data, *self[1:])

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences on the CPU, where they are."""
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Raise: there is no such device."""
        return PackedSequence(self.data.cuda(*args, **kwargs), *self[1:])

    def pin_memory(self) -> PackedSequence:
        """Raise: there is no accelerator to pin memory for."""
        return PackedSequence(self.data.pin_memory(), *self[1:])

    def double(self) -> PackedSequence:
        """The elements as float64."""
        return self.to(_dtypes.float64)

    def float(self) -> PackedSequence:
        """The elements as float32."""
        return self.to(_dtypes.float32)

    def half(self) -> PackedSequence:
        """The elements as float16."""
        return self.to(_dtypes.float16)

    def long(self) -> PackedSequence:
        """The elements as int64."""
        return self.to(_dtypes.int64)

    def int(self) -> PackedSequence:
        """The elements as int32."""
        return self.to(_dtypes.int32)

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a CUDA device: no."""
        return False

    def is_pinned(self) -> bool:
        """Whether their memory is pinned: no."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else sort.argsort(permutation)


def reordered(state: Tensor, permutation: Tensor | None) -> Tensor:
    """A state with its sequences in another order."""
    return state if permutation is None else index_select(state, 1, permutation)


def _checked_lengths(lengths: Tensor, batch: int, longest: int) -> np.ndarray:
    tell_read([lengths])
    array = lengths._array
    if array.ndim != 1 or len(array) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {array.size} (batch_size={batch})"
        )
    if array.size and array.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if array.size and array.max() > longest:
        raise RuntimeError(f"start (0) + length ({array.max()}) exceeds dimension size ({longest})")
    return array


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that were padded to the same length.

    Parameters
    ----------
    input : Tensor
        ``(length, batch, *)``, or ``(batch, length, *)``.
    lengths : Tensor or list of int
        How long each sequence is.
    batch_first : bool
        Whether the batch comes first.
    enforce_sorted : bool
        Whether the sequences must be in order, longest first; otherwise they are sorted.

    Raises
    ------
    RuntimeError
        If lengths are not sorted, not positive, or not as many as there are sequences.

    Examples
    --------
    >>> import minitorch as torch
    >>> padded = torch.tensor([[1, 2, 0], [3, 4, 5]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False).data
    tensor([3, 1, 4, 2, 5])
    """
    lengths = as_tensor(lengths).to(_dtypes.int64)
    if batch_first:
        input = input.transpose(0, 1)
    longest, batch = input.shape[:2]
    array = _checked_lengths(lengths, batch, longest)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = sort.sort(lengths, stable=True, descending=True)
        input, array = index_select(input, 1, sorted_indices), lengths._array
    elif np.any(np.diff(array) > 0):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability."
        )
    there = np.arange(array.max(initial=0))[:, None] < array
    places = wrap(np.flatnonzero(there))
    flat = input[: len(there)].reshape(len(there) * batch, *input.shape[2:])
    return PackedSequence(index_select(flat, 0, places), wrap(there.sum(1)), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences to the same length: the inverse of ``pack_padded_sequence``.

    Parameters
    ----------
    sequence : PackedSequence
        The sequences.
    batch_first : bool
        Whether the batch comes first in the result.
    padding_value : float
        What stands where sequences have ended.
    total_length : int, optional
        The length; that of the longest sequence by default.

    Returns
    -------
    (Tensor, Tensor)
        The padded sequences, ``(length, batch, *)``, and their lengths, in their first order.

    Raises
    ------
    ValueError
        If *total_length* is too short.

    Examples
    --------
    >>> import minitorch as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    tell_read([sequence.batch_sizes])
    sizes = sequence.batch_sizes._array
    longest, batch = len(sizes), int(sizes[0])
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    length, data = total_length or longest, sequence.data
    there = np.zeros((length, batch), bool)
    there[:longest] = np.arange(batch) < sizes[:, None]
    lengths = wrap(there.sum(0))
    places = np.where(there, np.cumsum(there.ravel()).reshape(there.shape) - 1, 0)
    padded = data[wrap(places)]
    if not there.all():
        mask = wrap(~there).reshape(length, batch, *[1] * (data.dim() - 1))
        padded = padded.masked_fill(mask, padding_value)
    if sequence.unsorted_indices is not None:
        padded = index_select(padded, 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, padded to the longest.

    Parameters
    ----------
    sequences : iterable of Tensor
        Each ``(length, *)``.
    batch_first : bool
        Whether the batch comes first in the result.
    padding_value : float
        What they are padded with.
    padding_side : {"right", "left"}
        Where.

    Returns
    -------
    Tensor
        ``(longest, batch, *)``, or ``(batch, longest, *)``.

    Raises
    ------
    RuntimeError
        If there is nothing to stack, or sizes after the first dimension differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    tensors = list(sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max([t.size(0) for t in tensors])
    padded = []
    for t in tensors:
        if tuple(t.shape[1:]) != tuple(tensors[0].shape[1:]):
            raise RuntimeError(
                f"The size of the sequences after the first dimension must match: got {list(t.shape)} and "
                f"{list(tensors[0].shape)}"
            )
        if t.size(0) < longest:
            rest = full((longest - t.size(0), *t.shape[1:]), padding_value, dtype=t.dtype)
            t = join.cat([t, rest] if padding_side == "right" else [rest, t])
        padded.append(t)
    return join.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of which ``pad_sequence`` made a tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [copies.clone(rows[i, :n]) for i, n in enumerate(lengths.tolist())]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Parameters
    ----------
    sequences : list of Tensor
        Each ``(length, *)``.
    enforce_sorted : bool
        Whether they must be in order, longest first; otherwise they are sorted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed.

    Examples
    --------
    >>> import minitorch as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
