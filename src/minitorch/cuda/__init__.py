"""What scripts ask of CUDA devices where there are none: questions are answered, requests refused as by a CPU build.

Examples
--------
>>> import minitorch as torch
>>> torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated()
(False, 0, 0)
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _runtime
from .._device import device as _device
from . import amp, memory
from ._tensors import (
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .memory import (
    OutOfMemoryError,
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)

__all__ = [
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "Event", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "OutOfMemoryError", "ShortTensor", "Stream", "amp", "can_device_access_peer", "current_device",
    "current_stream", "default_stream", "device", "device_count", "device_of", "empty_cache", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all",
    "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "stream", "synchronize",
]  # fmt: skip

_refuse = memory._refuse


# -- which devices there are -------------------------------------------------------------------------------------------
def is_available() -> bool:
    """Whether there are CUDA devices: never."""
    return False


def is_initialized() -> bool:
    """Whether CUDA was started: never."""
    return False


def init() -> NoReturn:
    """Start CUDA: refused."""
    _refuse()


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the CUDA device computes in bfloat16: there is none."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that were compiled for: none."""
    return []


def current_device() -> NoReturn:
    """The number of the current device: refused, as there is none."""
    _refuse()


def get_device_name(device: Any = None) -> NoReturn:
    """The name of a device: refused, as there is none.

    Raises
    ------
    AssertionError
        Always, as in PyTorch's CPU build.
    """
    _refuse()


def get_device_capability(device: Any = None) -> NoReturn:
    """The capability of a device: refused, as there is none."""
    _refuse()


def get_device_properties(device: Any = None) -> NoReturn:
    """The properties of a device: refused, as there is none."""
    _refuse()


def can_device_access_peer(device: Any, peer_device: Any) -> NoReturn:
    """Whether one device reads another's memory: refused, as there are none."""
    _refuse()


def set_device(device: Any) -> None:
    """Choose a device: refused, but for a negative number, which means none."""
    if not isinstance(device, int) or device >= 0:
        _refuse()


class device:
    """Context in which a CUDA device is current: entering it is refused, but for None or a negative number."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device if isinstance(device, int) else _device(device).index or 0

    def __enter__(self) -> None:
        if self.idx >= 0:
            _refuse()

    def __exit__(self, *exc: object) -> None: ...


class device_of(device):
    """Context in which a tensor's device is current: tensors are on the CPU, so nothing happens."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


# -- streams and events ------------------------------------------------------------------------------------------------
def synchronize(device: Any = None) -> NoReturn:
    """Wait for a device to finish.

    Raises
    ------
    AssertionError
        Always: there is no CUDA device.
    """
    _refuse()


class Stream:
    """A queue of a CUDA device's work: refused, as there is none."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support: work on the CPU is done when a call returns")


class Event:
    """A mark in a stream, to measure time: refused, as there is none; use ``time.perf_counter``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch.cuda.Event requires CUDA support: measure time on the CPU with time.perf_counter()")


class stream:
    """Context in which a stream is current; without one, nothing happens."""

    def __init__(self, stream: Any = None) -> None:
        if stream is not None:
            _refuse()

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def current_stream(device: Any = None) -> NoReturn:
    """The current stream of a device: refused, as there is none."""
    _refuse()


def default_stream(device: Any = None) -> NoReturn:
    """The default stream of a device: refused, as there is none."""
    _refuse()


# -- random numbers ----------------------------------------------------------------------------------------------------
def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; without any, nothing happens."""


def seed() -> None:
    """Seed the generator of the current device anew; without one, nothing happens."""


def seed_all() -> None:
    """Seed the generators of all devices anew; without any, nothing happens."""


def initial_seed() -> NoReturn:
    """The seed of the current device's generator: refused, as there is none."""
    _refuse()


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """The state of a device's generator: refused, as there is none."""
    _refuse()


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators: none."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a device's generator; without one, nothing happens."""


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all devices' generators, of which there are none.

    Raises
    ------
    AssertionError
        If there are states.
    """
    if any([isinstance(state, _runtime.Tensor) for state in new_states]):
        _refuse()
