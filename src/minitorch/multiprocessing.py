"""Python's ``multiprocessing``, with PyTorch's additions; tensors go to other processes as copies.

Examples
--------
>>> import minitorch as torch
>>> queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
>>> queue.put(torch.tensor([1.0, 2.0]))
>>> queue.get()
tensor([1., 2.])
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection as _connection
from typing import Any

__all__ = [
    *_multiprocessing.__all__, "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip

_STRATEGY = "file_system"


def get_all_sharing_strategies() -> set[str]:
    """How tensors can go to other processes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """What ``set_sharing_strategy`` was given; tensors are copied whatever it is."""
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: tensors are copied to other processes."""
    global _STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"unknown sharing strategy {new_strategy!r}")
    _STRATEGY = new_strategy


class ProcessRaisedException(Exception):
    """A started process raised an exception."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, error_pid


class ProcessExitedException(Exception):
    """A started process ended with another code than 0."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None, exit_code: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid, self.exit_code = msg, error_index, error_pid, exit_code


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    """What a process does: the function; on an exception, its traceback is sent and the code is 1."""
    try:
        fn(index, *args)
    except Exception:
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


class SpawnContext:
    """The processes that ``spawn`` started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int | None]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until one of them ends; whether all have.  When one fails, the others are ended.

        Raises
        ------
        ProcessRaisedException
            If one raised an exception.
        ProcessExitedException
            If one ended with another code than 0.
        """
        running = [process.sentinel for process in self.processes if process.exitcode is None]
        if running:
            _connection.wait(running, timeout)
        for index, process in enumerate(self.processes):
            if process.exitcode:
                self._fail(index, process)
        return all([process.exitcode == 0 for process in self.processes])

    def _fail(self, index: int, failed: Any) -> None:
        for process in self.processes:
            process.terminate()
            process.join()
        if not self._errors[index].empty():
            text = f"\n\n-- Process {index} terminated with the following error:\n{self._errors[index].get()}"
            raise ProcessRaisedException(text, index, failed.pid)
        text = f"process {index} terminated with exit code {failed.exitcode}"
        raise ProcessExitedException(text, index, failed.pid, failed.exitcode)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """Start *nprocs* processes, each of which calls ``fn(i, *args)`` with its number.

    Parameters
    ----------
    fn : function
        What to call; at the top of a module, so that processes find it.
    args : tuple
        Its further arguments.
    nprocs : int
        How many processes.
    join : bool
        Whether to wait for them; if not, their context is returned, with ``join()``.
    daemon : bool
        Whether they end with this process.
    start_method : str
        "spawn", "fork" or "forkserver".

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        If one of them fails.
    """
    mp: Any = _multiprocessing.get_context(start_method)
    errors = [mp.SimpleQueue() for _ in range(nprocs)]
    processes = [mp.Process(target=_run, args=(fn, i, args, errors[i]), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    context = SpawnContext(processes, errors)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """``start_processes``."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
