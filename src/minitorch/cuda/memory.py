"""The memory of CUDA devices: there is none, so none is used."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any, NoReturn

__all__ = [
    "OutOfMemoryError", "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_summary", "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip


class OutOfMemoryError(RuntimeError):
    """A device has no memory left: never raised here, where Python raises MemoryError; there to be caught."""


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled: tensors live on the CPU, device='cpu'")


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3)


def empty_cache() -> None:
    """Free unused device memory; there is none."""


def ipc_collect() -> NoReturn:
    """Free memory that other processes shared: refused, as there is no device."""
    _refuse()


def memory_allocated(device: Any = None) -> int:
    """The bytes of device memory in use: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory that were in use: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes of device memory that are held: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of device memory that were held: 0."""
    return 0


def memory_cached(device: Any = None) -> int:
    """``memory_reserved``, by its old name."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: Any = None) -> int:
    """``max_memory_reserved``, by its old name."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What is known of device memory: nothing."""
    return OrderedDict()


def memory_summary(device: Any = None, abbreviated: bool = False) -> NoReturn:
    """What is known of device memory, as text: refused, as there is none."""
    _refuse()


def mem_get_info(device: Any = None) -> NoReturn:
    """The free and the whole memory of a device: refused, as there is none."""
    _refuse()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin anew with what ``max_memory_allocated`` says; without a device, nothing happens."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> NoReturn:
    """Limit the device memory to use: refused, as there is no device."""
    _refuse()
