"""Metal devices: there are none."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "get_rng_state",
    "is_available", "manual_seed", "seed", "set_rng_state", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a Metal device: never."""
    return False


def device_count() -> int:
    """The number of Metal devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the device's generator; without one, nothing happens."""


def refused(*args: Any, **options: Any) -> NoReturn:
    """Refused: there is no Metal device.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("Cannot do this without the MPS backend: tensors live on the CPU, device='cpu'")


empty_cache = synchronize = seed = get_rng_state = set_rng_state = refused
current_allocated_memory = driver_allocated_memory = refused
