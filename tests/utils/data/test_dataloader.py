"""DataLoader: its batches equal PyTorch's, in this process and in workers, and errors come through."""

from __future__ import annotations

import collections
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

data = torch.utils.data
Point = collections.namedtuple("Point", "x y")


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, list), so that libraries can be compared."""
    if hasattr(value, "tolist") and not isinstance(value, np.generic):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple([plain(v) for v in value])
    return [plain(v) for v in value] if isinstance(value, list) else value


# -- batches -----------------------------------------------------------------------------------------------------------
def weighted(library: Any, **kwargs: Any) -> Any:
    return library.utils.data.WeightedRandomSampler([0.1, 3.0, 1.0, 0.5, 2.0, 0.2, 0.7, 1.0, 1.0, 0.1], 8, **kwargs)


LOADERS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda t, d: t.utils.data.DataLoader(d, batch_size=3),
    "drop last": lambda t, d: t.utils.data.DataLoader(d, batch_size=3, drop_last=True),
    "shuffle": lambda t, d: t.utils.data.DataLoader(d, batch_size=4, shuffle=True),
    "generator": lambda t, d: t.utils.data.DataLoader(d, 4, True, generator=t.Generator().manual_seed(7)),
    "single": lambda t, d: t.utils.data.DataLoader(d, batch_size=None, shuffle=True),
    "replacement": lambda t, d: t.utils.data.DataLoader(
        d, 4, sampler=t.utils.data.RandomSampler(d, replacement=True, num_samples=70)
    ),
    "more": lambda t, d: t.utils.data.DataLoader(d, 4, sampler=t.utils.data.RandomSampler(d, num_samples=23)),
    "subset": lambda t, d: t.utils.data.DataLoader(d, 2, sampler=t.utils.data.SubsetRandomSampler([3, 5, 8, 9])),
    "weighted": lambda t, d: t.utils.data.DataLoader(d, 3, sampler=weighted(t)),
    "weighted once": lambda t, d: t.utils.data.DataLoader(d, 3, sampler=weighted(t, replacement=False)),
    "batches": lambda t, d: t.utils.data.DataLoader(
        d, batch_sampler=t.utils.data.BatchSampler(t.utils.data.RandomSampler(d), 4, True)
    ),
    "list of batches": lambda t, d: t.utils.data.DataLoader(d, batch_sampler=[[1, 2], [], [5]][::2]),
    "own collate": lambda t, d: t.utils.data.DataLoader(d, 4, collate_fn=lambda samples: len(samples)),
    "workers": lambda t, d: t.utils.data.DataLoader(d, 3, True, num_workers=2),
    "kept workers": lambda t, d: t.utils.data.DataLoader(d, 3, True, num_workers=2, persistent_workers=True),
    "ahead": lambda t, d: t.utils.data.DataLoader(d, 1, True, num_workers=2, prefetch_factor=4),
    "split": lambda t, d: t.utils.data.DataLoader(t.utils.data.random_split(d, [0.55, 0.45])[0], 2, shuffle=True),
    "joined": lambda t, d: t.utils.data.DataLoader(t.utils.data.Subset(d, [4, 2]) + d, 5, shuffle=True),
    "distributed": lambda t, d: t.utils.data.DataLoader(
        d, 2, sampler=t.utils.data.distributed.DistributedSampler(d, 3, 1)
    ),
    "distributed drop": lambda t, d: t.utils.data.DataLoader(
        d, 2, sampler=t.utils.data.distributed.DistributedSampler(d, 4, 3, shuffle=False, drop_last=True)
    ),
}


def passes(library: Any, name: str) -> Any:
    library.manual_seed(3)
    dataset = library.utils.data.TensorDataset(library.arange(20.0).view(10, 2), library.arange(10))
    loader = LOADERS[name](library, dataset)
    found = [[plain(batch) for batch in loader] for _ in range(2)]
    return [found, len(loader), library.rand(2).tolist()]


@pytest.mark.parametrize("name", LOADERS)
def test_batches_equal_pytorchs(name: str) -> None:
    assert passes(minitorch, name) == passes(pytest.importorskip("torch"), name)


def test_batches_by_value() -> None:
    torch.manual_seed(0)
    loader = data.DataLoader(torch.arange(10), batch_size=5, shuffle=True)
    assert [batch.tolist() for batch in loader] == [[6, 7, 1, 4, 2], [0, 9, 8, 3, 5]]
    assert [batch.tolist() for batch in loader] == [[2, 4, 7, 0, 8], [9, 5, 3, 6, 1]]
    torch.manual_seed(0)
    assert [list(p.indices) for p in data.random_split(range(10), [7, 3])] == [[4, 1, 7, 5, 3, 9, 0], [8, 6, 2]]


SAMPLES: dict[str, Callable[[Any], list[Any]]] = {
    "tensors": lambda t: [t.ones(2), t.zeros(2)],
    "arrays": lambda t: [np.ones(2, np.float32), np.zeros(2, np.float32)],
    "numpy numbers": lambda t: [np.float32(1), np.float32(2)],
    "bools": lambda t: [True, False],
    "ints": lambda t: [1, 2],
    "floats": lambda t: [1.5, 2.5],
    "texts": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "dicts": lambda t: [{"a": 1, "b": [1.0, "x"]}, {"a": 2, "b": [2.0, "y"]}],
    "tuples": lambda t: [(1, t.ones(1)), (2, t.zeros(1))],
    "named": lambda t: [Point(1, 2.0), Point(3, 4.0)],
    "lists": lambda t: [[1, 2, 3], [4, 5, 6]],
    "nested": lambda t: [([np.arange(2)], {"p": Point(1, t.ones(()))})] * 3,
    "ordered": lambda t: [collections.OrderedDict(b=1, a=2)] * 2,
    "range": lambda t: [range(2), range(3, 5)],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_collating_and_converting_equal_pytorchs(name: str) -> None:
    reference = pytest.importorskip("torch")
    for function in ("default_collate", "default_convert"):
        ours = getattr(minitorch.utils.data, function)(SAMPLES[name](minitorch))
        theirs = getattr(reference.utils.data, function)(SAMPLES[name](reference))
        assert type(ours) is type(theirs) or hasattr(ours, "numpy")
        assert plain(ours) == plain(theirs)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([object()], TypeError, "found <class 'object'>"),
        ([np.array(["a"])], TypeError, "default_collate: batch must contain"),
        ([[1, 2], [1]], RuntimeError, "equal size"),
        ([torch.ones(2), torch.ones(3)], RuntimeError, "equal size"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ],
)
def test_what_cannot_be_collated(batch: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        data.default_collate(batch)


# -- iterable datasets -------------------------------------------------------------------------------------------------
class Stream(minitorch.utils.data.IterableDataset):
    def __init__(self, size: int, announced: int | None = None) -> None:
        self.size, self.announced = size, size if announced is None else announced

    def __iter__(self) -> Any:
        info = minitorch.utils.data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.size, step))

    def __len__(self) -> int:
        return self.announced


def lists(loader: Any) -> list[Any]:
    return [batch.tolist() if hasattr(batch, "tolist") else batch for batch in loader]


def test_iterable_datasets() -> None:
    loader = minitorch.utils.data.DataLoader
    assert lists(loader(Stream(5), 2)) == [[0, 1], [2, 3], [4]]
    assert lists(loader(Stream(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert lists(loader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert lists(loader(Stream(7), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert lists(loader(Stream(3) + Stream(2), 4)) == [[0, 1, 2, 0], [1]]
    assert [len(loader(Stream(5), n, drop_last=d)) for n, d in ((2, False), (2, True))] == [3, 2]


def test_more_samples_than_announced_are_warned_of() -> None:
    loader = minitorch.utils.data.DataLoader(Stream(4, announced=2), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        assert len(lists(loader)) == 4


# -- workers -----------------------------------------------------------------------------------------------------------
class Numbers:
    """Samples that say who made them, or fail."""

    def __init__(self, fails: dict[int, BaseException | None] | None = None) -> None:
        self.fails = fails or {}

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        if index in self.fails:
            failure = self.fails[index]
            if failure is None:
                os.kill(os.getpid(), signal.SIGKILL)
            elif isinstance(failure, Exception):
                raise failure
        info = minitorch.utils.data.get_worker_info()
        time.sleep(0.02 if index < 2 else 0)
        return index, -1 if info is None else info.id, int(minitorch.randint(1000, ()).item())


def test_order_is_kept_and_work_is_shared() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers(), 2, num_workers=3)
    with pytest.warns(UserWarning, match="worker processes") if (os.cpu_count() or 1) < 3 else contextless():
        batches = [[column.tolist() for column in batch] for batch in loader]
    assert [n for batch in batches for n in batch[0]] == list(range(12))
    assert [batch[1][0] for batch in batches] == [0, 1, 2, 0, 1, 2]


def contextless() -> Any:
    import contextlib

    return contextlib.nullcontext()


def test_out_of_order_batches_all_come() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers(), 1, num_workers=2, in_order=False)
    assert sorted(batch[0].item() for batch in loader) == list(range(12))


def test_workers_are_seeded_as_pytorchs() -> None:
    reference = pytest.importorskip("torch")
    drawn = []
    for library in (minitorch, reference):

        class Drawing(Numbers):
            def __getitem__(self, index: int, library: Any = library) -> Any:
                import random

                seed = library.utils.data.get_worker_info().seed
                return index, seed, library.rand(()).item(), np.random.rand(), random.random()

        library.manual_seed(5)
        loader = library.utils.data.DataLoader(Drawing(), 2, num_workers=2)
        drawn.append([[column.tolist() for column in batch] for batch in loader])
    assert drawn[0] == drawn[1]


class Marked(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


@pytest.mark.parametrize(
    ("failure", "error"),
    [(ValueError("bad sample"), ValueError), (KeyError("bad"), KeyError), (Marked(1, 2), RuntimeError)],
)
@pytest.mark.parametrize("workers", [0, 2])
def test_errors_come_through(failure: Exception, error: type[Exception], workers: int) -> None:
    loader = minitorch.utils.data.DataLoader(Numbers({5: failure}), 2, num_workers=workers)
    batches = iter(loader)
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(error if workers else type(failure)) as caught:
        next(batches)
    if workers:
        assert f"Caught {type(failure).__name__} in DataLoader worker process 0" in str(caught.value)
        assert "__getitem__" in str(caught.value)


def test_a_worker_that_dies_is_noticed() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers({4: None}), 2, num_workers=1)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(loader)


def test_samples_that_cannot_be_sent_are_errors() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers(), 2, num_workers=1, collate_fn=lambda samples: lambda: samples)
    with pytest.raises((RuntimeError, AttributeError, TypeError), match="pickle"):
        list(loader)


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minitorch.utils.data._workers.CHECK_SECONDS", 0.1)
    loader = minitorch.utils.data.DataLoader(
        Numbers(), 2, num_workers=1, timeout=0.2, worker_init_fn=lambda worker: time.sleep(60)
    )
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        list(loader)


def test_a_failing_start_is_an_error_of_the_first_batch() -> None:
    def fail(worker: int) -> None:
        raise ValueError(f"no worker {worker}")

    loader = minitorch.utils.data.DataLoader(Numbers(), 2, num_workers=1, worker_init_fn=fail)
    with pytest.raises(ValueError, match="no worker 0"):
        next(iter(loader))


def test_kept_workers_are_the_same_and_start_anew() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers(), 2, num_workers=2, persistent_workers=True)
    first = iter(loader)
    next(first)  # a pass that is not finished
    processes = loader._workers.processes
    for _ in range(2):
        assert [n for batch in loader for n in batch[0].tolist()] == list(range(12))
    assert loader._workers.processes is processes
    assert all(process.is_alive() for process in processes)
    del first, loader
    for process in processes:
        process.join(10)
        assert not process.is_alive()


def test_workers_end_with_the_pass_and_with_the_iterator() -> None:
    loader = minitorch.utils.data.DataLoader(Numbers(), 2, num_workers=2)
    batches = iter(loader)
    next(batches)
    import multiprocessing

    assert len(multiprocessing.active_children()) >= 2
    own = list(multiprocessing.active_children())
    del batches
    assert not any(process.is_alive() for process in own)


def test_large_batches_and_many_keys_do_not_block() -> None:
    dataset = minitorch.utils.data.TensorDataset(minitorch.zeros(200_000, 2))
    loader = minitorch.utils.data.DataLoader(
        dataset, batch_size=50_000, num_workers=2, collate_fn=lambda samples: minitorch.zeros(len(samples), 10)
    )
    assert [tuple(batch.shape) for batch in loader] == [(50_000, 10)] * 4


# -- arguments ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
        {"persistent_workers": True}, {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0},
        {"batch_size": 2.0}, {"multiprocessing_context": "fork"}, {"num_workers": 1, "multiprocessing_context": "no"},
        {"batch_size": 2, "drop_last": 3},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_do_not_fit(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        data.DataLoader(range(3), **arguments)


def test_more_that_does_not_fit() -> None:
    for name, value in (("shuffle", True), ("sampler", [1]), ("batch_sampler", [[1]])):
        with pytest.raises(ValueError, match=f"expected unspecified {name}"):
            minitorch.utils.data.DataLoader(Stream(3), **{name: value})
    with pytest.raises(TypeError, match="valid context object"):
        data.DataLoader(range(3), num_workers=1, multiprocessing_context=3)
    loader = data.DataLoader(range(3))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 4
    with pytest.raises(ValueError, match="num_samples"):
        data.DataLoader([], shuffle=True)
    with pytest.raises(TypeError):
        len(data.DataLoader(range(3), sampler=iter([1])))


def test_pinning_is_accepted_with_pytorchs_warning() -> None:
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(data.DataLoader(range(3), pin_memory=True))) == 3


def test_a_dataset_that_raises_stop_iteration_does_not_end_the_pass_in_silence() -> None:
    class Broken(Numbers):
        def __getitem__(self, index: int) -> Any:
            raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(minitorch.utils.data.DataLoader(Broken(), 2))


class Longer(torch.utils.data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(3))

    def __len__(self) -> int:
        return 2


def test_a_length_announced_before_the_pass_is_checked() -> None:
    loader = torch.utils.data.DataLoader(Longer())
    assert len(list(loader)) == 3  # list() asks for the length once the pass has begun
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        list(loader)


def test_an_older_pass_ends_where_a_new_one_begins() -> None:
    loader = torch.utils.data.DataLoader(range(12), 4, num_workers=2, persistent_workers=True)
    older = iter(loader)
    next(older)
    assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert list(older) == []
    assert len(list(loader)) == 3
