"""A sampler for one of several processes that share a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from ..._random import Generator
from ...ops.random import randperm
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The keys that one of several processes works on: every *num_replicas*-th, from the *rank*-th on.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    num_replicas : int
        How many processes there are.
    rank : int
        Which one this is, from 0.
    shuffle : bool
        Whether keys come in random order, another after each ``set_epoch``.
    seed : int
        Seeds that order; the same in all processes.
    drop_last : bool
        Whether keys are left out, rather than repeated, so that all processes have as many.

    Raises
    ------
    RuntimeError
        If *num_replicas* or *rank* is left out: there is no process group to ask.
    ValueError
        If *rank* is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> list(torch.utils.data.DistributedSampler("abcde", num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available: give num_replicas and rank")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        size = len(dataset)
        short = max(size - num_replicas, 0) if drop_last and size % num_replicas else size
        self.num_samples = math.ceil(short / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            keys = randperm(size, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            keys = list(range(size))
        if not self.drop_last:
            keys = (keys * math.ceil(self.total_size / max(size, 1)))[: self.total_size]
        return iter(keys[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which pass over the data comes next, so that it has an order of its own."""
        self.epoch = epoch
