"""Samplers: they say in which order a dataset's keys come."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..._dtypes import float64, int64
from ..._random import Generator, default_generator
from ...ops.from_data import as_tensor
from ...ops.random import multinomial, randint, randperm

Key = TypeVar("Key", covariant=True)


class Sampler(Generic[Key]):
    """The order of keys; a subclass defines ``__iter__``, and ``__len__`` where that is known.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    ...     def __len__(self):
    ...         return len(self.data)
    >>> data = torch.arange(3)
    >>> list(torch.utils.data.DataLoader(data, sampler=Backwards(data), batch_size=2))
    [tensor([2, 1]), tensor([0])]
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Key]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All keys in order.

    Parameters
    ----------
    data_source : Dataset
        The dataset.

    Examples
    --------
    >>> import minitorch as torch
    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Keys at random.

    Parameters
    ----------
    data_source : Dataset
        The dataset.
    replacement : bool
        Whether a key may come again before all others have come.
    num_samples : int, optional
        How many; as many as the dataset has, by default.
    generator : Generator, optional
        The source of randomness.  Without one, each pass seeds its own from the default generator.

    Raises
    ------
    TypeError, ValueError
        For arguments of wrong types or out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.RandomSampler("abcde", generator=generator))
    [4, 0, 1, 3, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many keys come."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(seed_from(None))
        runs, rest = divmod(self.num_samples, 32 if self.replacement else size)
        for _ in range(runs):
            if self.replacement:
                yield from randint(size, (32,), dtype=int64, generator=generator).tolist()
            else:
                yield from randperm(size, generator=generator).tolist()
        if self.replacement:
            yield from randint(size, (rest,), dtype=int64, generator=generator).tolist()
        else:
            yield from randperm(size, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some keys in random order.

    Parameters
    ----------
    indices : sequence
        The keys.
    generator : Generator, optional
        The source of randomness.

    Examples
    --------
    >>> import minitorch as torch
    >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5, 8]))
    [3, 5, 8]
    """

    def __init__(self, indices: Sequence[Any], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Keys at random, each as often as its weight says.

    Parameters
    ----------
    weights : sequence of float
        The weights of the keys from 0 on; they need not add up to 1.
    num_samples : int
        How many keys come.
    replacement : bool
        Whether a key may come again.
    generator : Generator, optional
        The source of randomness.

    Raises
    ------
    ValueError
        For arguments out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[Any]]):
    """Keys in lists of *batch_size*.

    Parameters
    ----------
    sampler : Sampler or iterable
        The keys.
    batch_size : int
        How many keys a list has.
    drop_last : bool
        Whether a shorter list at the end is left out.

    Raises
    ------
    ValueError
        For arguments out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        keys = iter(self.sampler)
        while batch := list(itertools.islice(keys, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]  # TypeError where the sampler does not know
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


def check_count(name: str, value: Any) -> None:
    """Refuse what is no positive integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def seed_from(generator: Generator | None) -> int:
    """A seed for another generator."""
    return (generator or default_generator).random64() & (2**63 - 1)
