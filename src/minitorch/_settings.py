"""Settings that scripts make: threads, precision, determinism, warnings.  Where there is nothing to set, they say so."""

from __future__ import annotations

import os
from typing import Any

from ._args import flag

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")
_now: dict[str, Any] = {"threads": None, "interop": 1, "precision": "highest", "mode": 0, "warn_always": False}


# -- threads -----------------------------------------------------------------------------------------------------------
def set_num_threads(number: int, /) -> None:
    """Set how many threads matrix products use, where the package threadpoolctl is installed; otherwise keep the number.

    All else runs on one thread.

    Raises
    ------
    RuntimeError
        If the number is not positive.

    Examples
    --------
    >>> import minitorch as torch
    >>> threads = torch.get_num_threads()
    >>> torch.set_num_threads(1)
    >>> torch.get_num_threads()
    1
    >>> torch.set_num_threads(threads)
    """
    _now["threads"] = _positive("set_num_threads", number)
    try:
        import threadpoolctl  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return
    threadpoolctl.threadpool_limits(number, user_api="blas")


def get_num_threads() -> int:
    """How many threads matrix products use: what ``set_num_threads`` was given, or the number of CPUs."""
    return _now["threads"] or os.cpu_count() or 1


def set_num_interop_threads(number: int, /) -> None:
    """Accepted: operations never run beside each other."""
    _now["interop"] = _positive("set_num_interop_threads", number)


def get_num_interop_threads() -> int:
    """What ``set_num_interop_threads`` was given, or 1."""
    return _now["interop"]


def _positive(name: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{name} expects a positive integer, but got {number}")
    return number


# -- precision ---------------------------------------------------------------------------------------------------------
def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: float32 products are always computed in float32.

    Parameters
    ----------
    precision : {"highest", "high", "medium"}
        What ``get_float32_matmul_precision`` then returns.

    Raises
    ------
    RuntimeError
        For anything else.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"precision must be one of {', '.join(_PRECISIONS)}, but got {precision!r}")
    _now["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was given, or "highest"."""
    return _now["precision"]


def set_flush_denormal(mode: bool, /) -> bool:
    """False: whether denormal numbers become zero is not ours to set."""
    return False


# -- determinism and warnings ------------------------------------------------------------------------------------------
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: all algorithms are deterministic.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    _now["mode"] = 0 if not flag(mode, "mode", "use_deterministic_algorithms") else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was given, or False."""
    return _now["mode"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` was to warn only."""
    return _now["mode"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by level: 0 or "default", 1 or "warn", 2 or "error".

    Raises
    ------
    RuntimeError
        For anything else.
    """
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    level = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2, or one of {_MODES}, but got {debug_mode!r}")
    _now["mode"] = level


def get_deterministic_debug_mode() -> int:
    """The level: see ``set_deterministic_debug_mode``."""
    return _now["mode"]


def set_warn_always(b: bool, /) -> None:
    """Accepted: Python's filters say how often a warning is shown."""
    _now["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was given, or False."""
    return _now["warn_always"]
