"""Getting the samples of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dataset import IterableDataset, items_of


class Fetcher:
    """Gets batches from a dataset, in this process or in a worker's.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    batched : bool
        Whether a batch has several samples; otherwise it is one sample.
    collate : callable
        Makes a batch of a list of samples, or of one sample.
    drop_last : bool
        Whether a shorter batch at the end of an iterable dataset is left out.
    """

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset, self.batched, self.collate, self.drop_last = dataset, batched, collate, drop_last
        self.samples = iter(dataset) if isinstance(dataset, IterableDataset) else None
        self.ended = False

    def fetch(self, keys: Any) -> Any:
        """The batch at some keys; for an iterable dataset, the next one.

        Raises
        ------
        StopIteration
            At the end of an iterable dataset.
        """
        if self.samples is None:
            return self.collate(items_of(self.dataset, keys) if self.batched else self.dataset[keys])
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate(next(self.samples))
        batch = []
        for _ in keys:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate(batch)
