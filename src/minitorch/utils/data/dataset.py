"""Datasets."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ..._random import Generator
from ...ops.random import randperm

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """Samples by key; a subclass defines ``__getitem__``, and ``__len__`` for most samplers.

    It may define ``__getitems__``, which is given a list of keys and returns a list of samples, where that is faster.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index, index**2
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [[tensor([0, 1]), tensor([0, 1])], [tensor([2, 3]), tensor([4, 9])]]
    """

    def __getitem__(self, index: Any) -> Item:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item], Iterable[Item]):
    """Samples one after the other; a subclass defines ``__iter__``.

    With several workers, each has a copy of the dataset: use ``get_worker_info()`` to share the samples out.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(torch.utils.data.DataLoader(Countdown(), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]  # one after the other
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Samples from tensors: each is the tuple of all tensors' rows at an index.

    Parameters
    ----------
    *tensors : Tensor
        Of the same size in the first dimension.

    Raises
    ------
    AssertionError
        If the sizes differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> dataset = torch.utils.data.TensorDataset(torch.arange(6).view(3, 2), torch.tensor([1, 0, 1]))
    >>> len(dataset), dataset[1]
    (3, (tensor([2, 3]), tensor(0)))
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        sizes = [tensor.size(0) for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"Size mismatch between tensors: their first dimensions are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Samples from several datasets together: the tuple, or the dict, of their samples at a key.

    Parameters
    ----------
    *args : Dataset
        For tuples.
    **kwargs : Dataset
        For dicts.

    Raises
    ------
    ValueError
        If both or none are given, or lengths differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.utils.data.StackDataset(number=[1, 2], name=["one", "two"])[1]
    {'number': 2, 'name': 'two'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both types "
                "are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = [len(dataset) for dataset in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _together(self, items: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, items)) if isinstance(self.datasets, dict) else tuple(items)

    def __getitem__(self, index: Any) -> Any:
        return self._together([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [items_of(dataset, indices) for dataset in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._together(items) for items in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Item]):
    """Datasets one after the other.

    Parameters
    ----------
    datasets : iterable of Dataset
        The datasets, with keys from 0 on.

    Raises
    ------
    AssertionError
        If there is none, or one has no keys.

    Examples
    --------
    >>> import minitorch as torch
    >>> dataset = torch.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(dataset), dataset[2], dataset[-1]
    (3, 3, 3)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any([isinstance(dataset, IterableDataset) for dataset in self.datasets]):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running sum of lengths."""
        return list(accumulate([len(part) for part in sequence]))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Item:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[number - 1] if number else 0
        found: Item = self.datasets[number][idx - start]
        return found


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other.

    Parameters
    ----------
    datasets : iterable of IterableDataset
        The datasets.

    Raises
    ------
    AssertionError
        From iterating, if one is not iterable.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([2, 1])
    >>> list(Countdown() + Countdown())
    [2, 1, 2, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _parts(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._parts():
            yield from dataset

    def __len__(self) -> int:
        return sum([len(dataset) for dataset in self._parts()])


class Subset(Dataset[Item]):
    """The samples of a dataset at some keys.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    indices : sequence
        The keys.

    Examples
    --------
    >>> import minitorch as torch
    >>> subset = torch.utils.data.Subset("abcdef", [4, 2])
    >>> list(subset[i] for i in range(len(subset)))
    ['e', 'c']
    """

    dataset: Any
    indices: Sequence[Any]

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset, self.indices = dataset, indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, by which DataLoader gets its samples: override "
                "that too, for example with `return [self[i] for i in indices]`"
            )

    def __getitem__(self, idx: Any) -> Item:
        key = [self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]
        found: Item = self.dataset[key]
        return found

    def __getitems__(self, indices: list[Any]) -> list[Item]:
        return items_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def items_of(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """The samples at some keys: at once, where the dataset can do that."""
    at_once = getattr(dataset, "__getitems__", None)
    if at_once:
        found: list[Any] = at_once(indices)
        return found
    return [dataset[i] for i in indices]


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Split a dataset at random.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    lengths : sequence of int or float
        How many samples each part has; or what part of all, summing to 1: what does not come out even is given, one by one,
        to the first parts.
    generator : Generator, optional
        The source of randomness.

    Raises
    ------
    ValueError
        If the lengths do not add up.

    Examples
    --------
    >>> import minitorch as torch
    >>> parts = torch.utils.data.random_split(range(10), [0.5, 0.3, 0.2])
    >>> [len(part) for part in parts]
    [5, 3, 2]
    """
    total = len(dataset)
    counts: list[Any] = list(lengths)
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        for number, fraction in enumerate(counts):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        counts = [math.floor(total * fraction) for fraction in counts]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        for number, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(counts) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"The lengths are {list(lengths)}, and the dataset has {total} samples"
        )
    order = randperm(total, generator=generator).tolist()
    return [Subset(dataset, order[end - count : end]) for end, count in zip(accumulate(counts), counts)]
