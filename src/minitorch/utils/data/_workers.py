"""Worker processes that load batches.

A worker gets tasks (a number and the keys of a batch) through a queue, and sends what it made through a pipe of its own:
so its end is noticed at once.  What it sends is pickled before, so that what cannot be pickled is an error like others.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import queue
import random
import traceback
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

import numpy as np

from ..._random import manual_seed
from ._fetch import Fetcher

CHECK_SECONDS = 5.0
"""How often a worker that waits looks whether its parent is alive."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows about itself.

    Attributes
    ----------
    id : int
        Its number, from 0.
    num_workers : int
        How many workers there are.
    seed : int
        What its random generators were seeded with.
    dataset : Dataset
        Its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What this process is as a worker of a ``DataLoader``; None in the main process.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


class Failure:
    """An exception in a worker, with its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def raise_again(self) -> None:
        """Raise an exception of the same class; RuntimeError where the class cannot be made from a text."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        try:
            error = self.kind(Unquoted(text) if issubclass(self.kind, KeyError) else text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class Unquoted(str):
    """A text that is its own repr: a KeyError shows the repr, in which the lines of a traceback would be one."""

    def __repr__(self) -> str:
        return str(self)


class End:
    """What a worker sends when its part of an iterable dataset is at its end."""


@dataclass(frozen=True)
class Plan:
    """What all workers of a loader need to know."""

    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], Any] | None
    seed: int
    workers: int

    def fetcher(self) -> Fetcher:
        """What gets the batches of a pass."""
        return Fetcher(self.dataset, self.batched, self.collate, self.drop_last)


def work(plan: Plan, number: int, tasks: Any, results: Any) -> None:
    """What a worker process does: tasks are ``(pass, number, keys)``, None is the end."""
    global _worker_info
    where, seed, parent = f"in DataLoader worker process {number}", plan.seed + number, os.getppid()
    random.seed(seed)
    manual_seed(seed)
    halves = [number, plan.seed & 0xFFFFFFFF, plan.seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(halves).generate_state(4))  # noqa: NPY002  # users' code draws from it
    _worker_info = WorkerInfo(number, plan.workers, seed, plan.dataset)
    fetcher, current, failure = None, -1, None
    try:
        if plan.init is not None:
            plan.init(number)
    except Exception as error:
        failure = Failure(error, where)
    try:
        while os.getppid() == parent:
            try:
                task = tasks.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                continue
            if task is None:
                break
            run, index, keys = task
            try:
                if fetcher is None or run != current:
                    fetcher, current = plan.fetcher(), run
                made = failure or fetcher.fetch(keys)
                failure = None
                message = pickle.dumps((run, index, made), pickle.HIGHEST_PROTOCOL)
            except StopIteration:
                message = pickle.dumps((run, index, End()))
            except Exception as error:
                message = pickle.dumps((run, index, Failure(error, where)))
            results.send_bytes(message)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the main process is told by itself, or is gone


class Workers:
    """The worker processes of a loader."""

    def __init__(self, plan: Plan, context: Any) -> None:
        context = context or multiprocessing
        self.tasks, self.results, self.processes = [], [], []
        self.running, self.run = True, 0  # the number of the latest pass
        for number in range(plan.workers):
            tasks = context.Queue()
            tasks.cancel_join_thread()
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(plan, number, tasks, sender), daemon=True)
            process.start()
            sender.close()
            self.tasks.append(tasks)
            self.results.append(receiver)
            self.processes.append(process)
        self._finalizer = weakref.finalize(self, shut_down, self.tasks, self.results, self.processes)

    def send(self, number: int, task: Any) -> None:
        """Give a worker something to do."""
        self.tasks[number].put(task)

    def receive(self, timeout: float) -> tuple[int, int, int, Any]:
        """The next result that arrives: of which worker, the pass, the task's number, and what was made.

        Raises
        ------
        RuntimeError
            If none comes in time, or a worker ended.
        """
        ready = connection.wait(self.results, timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        number = self.results.index(ready[0])
        try:
            run, index, made = pickle.loads(self.results[number].recv_bytes())
        except EOFError:
            process = self.processes[number]
            self.stop()
            raise RuntimeError(
                f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly with exit code {process.exitcode}"
            ) from None
        return number, run, index, made

    def stop(self) -> None:
        """End all processes."""
        self.running = False
        self._finalizer()


def shut_down(tasks: list[Any], results: list[Any], processes: list[Any]) -> None:
    """End processes: kindly first."""
    for line, process in zip(tasks, processes):
        if process.is_alive():
            line.put(None)
    for receiver in results:
        receiver.close()  # who waits for room in the pipe gets an error
    for process in processes:
        process.join(CHECK_SECONDS)
        if process.is_alive():
            process.terminate()
            process.join()
    for line in tasks:
        line.close()


def batches(
    workers: Workers, keys: Iterator[Any], run: int, ahead: int, timeout: float, in_order: bool
) -> Iterator[Any]:
    """The batches that the workers make: the n-th is made by the n-th worker in turn, and each has *ahead* in hand."""
    turns = itertools.cycle(range(len(workers.tasks)))
    left = set(range(len(workers.tasks)))  # workers whose part is not at its end
    given: dict[int, int] = {}  # tasks that are under way, and whose they are
    made: dict[int, Any] = {}  # what came too early
    sent = itertools.count()

    def give() -> None:
        """Send a task to the next worker in turn that is not at its end."""
        worker = next((w for w in itertools.islice(turns, len(workers.tasks)) if w in left), None)
        if worker is not None:
            for batch in itertools.islice(keys, 1):
                number = next(sent)
                given[number] = worker
                workers.send(worker, (run, number, batch))

    for _ in range(ahead * len(workers.tasks)):
        give()
    while (given or made) and workers.run == run:  # an older pass ends where a new one has begun, as in PyTorch
        number = min([*given, *made])
        while number not in made and (in_order or not made):
            worker, of_run, index, value = workers.receive(timeout)
            if of_run == run:  # else: left over from a pass that was not finished
                made[index] = value
                del given[index]
                if isinstance(value, End):
                    left.discard(worker)
        if not in_order:
            number = min(made)
        value = made.pop(number)
        give()
        if isinstance(value, Failure):
            value.raise_again()
        if not isinstance(value, End):
            yield value
