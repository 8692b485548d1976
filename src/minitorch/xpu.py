"""Intel's graphics devices: there are none."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether there is such a device: never."""
    return False


def device_count() -> int:
    """The number of such devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; without any, nothing happens."""


def empty_cache() -> None:
    """Free unused device memory; there is none."""
