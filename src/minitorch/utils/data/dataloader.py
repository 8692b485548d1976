"""The loader of batches."""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.context
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ..._random import Generator
from ._collate import default_collate, default_convert
from ._fetch import Fetcher
from ._workers import Plan, Workers, batches, get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, seed_from

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

Item = TypeVar("Item", covariant=True)

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[Item]):
    """Batches of a dataset's samples, pass after pass.

    Parameters
    ----------
    dataset : Dataset
        The samples.
    batch_size : int or None
        How many samples a batch has; None: samples are not put together.
    shuffle : bool
        Whether they come in random order, another in each pass.
    sampler : Sampler or iterable, optional
        The order of keys.
    batch_sampler : Sampler or iterable, optional
        The keys of each batch.
    num_workers : int
        How many processes load batches; 0: this one does.
    collate_fn : callable, optional
        Makes a batch of a list of samples; ``default_collate`` by default.
    pin_memory : bool
        Accepted: there is no accelerator to pin memory for.
    drop_last : bool
        Whether a shorter batch at the end is left out.
    timeout : float
        How many seconds to wait for a worker's batch; 0: for ever.
    worker_init_fn : callable, optional
        Called in each worker with its number.
    multiprocessing_context : str or context, optional
        How workers are started.
    generator : Generator, optional
        The source of randomness of the order and of the workers' seeds.
    prefetch_factor : int, optional
        How many batches each worker makes in advance; 2 by default.
    persistent_workers : bool
        Whether workers are kept for the next pass.
    pin_memory_device : str
        Accepted.
    in_order : bool
        Whether batches of workers come in the order of their keys, or as soon as they are made.

    Raises
    ------
    ValueError
        For options out of range or that exclude each other.

    Notes
    -----
    With the same seed, batches are PyTorch's.

    Examples
    --------
    >>> import minitorch as torch
    >>> dataset = torch.utils.data.TensorDataset(torch.arange(5), torch.arange(5) ** 2)
    >>> for x, y in torch.utils.data.DataLoader(dataset, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0, 1])
    tensor([2, 3]) tensor([4, 9])
    tensor([4]) tensor([16])
    """

    _ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.iterable = isinstance(dataset, IterableDataset)
        check_order(self.iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.generator, self.in_order, self.persistent_workers = generator, in_order, persistent_workers
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if self.iterable:
                sampler = Unkeyed()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._announced: int | None = None
        self._workers: Workers | None = None
        self._passes = 0
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        if name == "multiprocessing_context" and value is not None:
            value = context_of(value, self.num_workers)
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Item]:
        return LoaderIterator(self)

    def __len__(self) -> int:
        if not self.iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        length = self._announced = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def _start(self) -> Iterator[Any]:
        """The batches of a pass."""
        keys = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        workers = self._workers
        if workers is not None and workers.running:  # kept from the pass before
            return self._made_by(workers, keys)
        seed = seed_from(self.generator)
        arguments = self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last
        if self.num_workers == 0:
            return fetched(Fetcher(*arguments), keys)
        warn_of_many(self.num_workers)
        plan = Plan(*arguments, self.worker_init_fn, seed, self.num_workers)
        workers = Workers(plan, self.multiprocessing_context)
        if self.persistent_workers:
            self._workers = workers
            return self._made_by(workers, keys)
        return stopping(workers, self._made_by(workers, keys))

    def _made_by(self, workers: Workers, keys: Iterator[Any]) -> Iterator[Any]:
        """The batches of a pass, made by workers."""
        self._passes += 1
        workers.run = self._passes
        return batches(workers, keys, self._passes, self.prefetch_factor or 1, self.timeout, self.in_order)


class LoaderIterator:
    """A pass over a loader's batches."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self._batches, self._yielded = loader, loader._start(), 0
        self._announced = loader._announced  # by a len() before this pass
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
                stacklevel=3,
            )

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self._yielded += 1
        announced = self._announced
        if announced is not None and self._yielded > announced:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {announced} (when accessing "
                f"len(dataloader)), but {self._yielded} samples have been fetched. With several workers, each has a copy of "
                "the dataset: use get_worker_info() to share the samples out.",
                stacklevel=2,
            )
        return batch

    def __len__(self) -> int:
        return len(self._loader)


class Unkeyed(Sampler[None]):
    """The keys of an iterable dataset: it has none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def fetched(fetcher: Fetcher, keys: Iterable[Any]) -> Iterator[Any]:
    """The batches at some keys, made in this process."""
    for batch in keys:
        try:
            made = fetcher.fetch(batch)
        except StopIteration:
            if fetcher.samples is None:  # raised by the dataset by mistake
                raise RuntimeError(f"the dataset raised StopIteration for {batch}") from None
            return
        yield made


def stopping(workers: Workers, made: Iterator[Any]) -> Iterator[Any]:
    """Batches; the workers are stopped at the end, or when nobody wants more."""
    try:
        yield from made
    finally:
        workers.stop()


def check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """Refuse options of workers that do not fit together."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def check_order(
    iterable: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Refuse options of the order that exclude each other."""
    if iterable:
        for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def context_of(value: Any, num_workers: int) -> Any:
    """A way to start processes, given by name or as it is."""
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(value, str):
        known = multiprocessing.get_all_start_methods()
        if value not in known:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                f"multiprocessing_context={value!r}"
            )
        return multiprocessing.get_context(value)
    if not isinstance(value, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, but "
            f"got multiprocessing_context={value}"
        )
    return value


def warn_of_many(num_workers: int) -> None:
    """Warn of more workers than processors."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if count is not None and num_workers > count:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker in "
            f"current system is {count}, which is smaller than what this DataLoader is going to create. Please be aware that "
            "excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid "
            "potential slowness/freeze if necessary.",
            stacklevel=4,
        )
