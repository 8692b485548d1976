"""What scripts ask of CUDA devices where there are none: whether they are available, and to seed them.

Examples
--------
>>> import minitorch as torch
>>> torch.cuda.is_available()
False
"""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available() -> bool:
    """Whether there are CUDA devices: never."""
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; without any, nothing happens."""


def empty_cache() -> None:
    """Free unused device memory; there is none."""


def synchronize(device: object = None) -> None:
    """Wait for a device to finish.

    Raises
    ------
    AssertionError
        Always: there is no CUDA device.
    """
    raise AssertionError("Torch not compiled with CUDA enabled: tensors live on the CPU")
