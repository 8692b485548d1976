"""The C library's allocator, told to keep freed memory for the next step.

A training step frees at its end what it allocated, and the next one allocates as much again.  glibc's defaults give much
of that back to the system, which then maps every page anew, filled with zeros: a fifth of the time of a step of a small
language model.  PyTorch's CPU build allocates in the same way.
"""

from __future__ import annotations

import ctypes
import os

# mallopt()'s names for what is set, from glibc's malloc.h, and to what. Blocks up to the first are taken from the heap: glibc
# itself comes to the same number, its greatest, as blocks are freed. So much free memory at the heap's end is kept.
_MMAP_THRESHOLD, _LARGEST = -3, 32 << 20
_TRIM_THRESHOLD, _KEPT = -1, 256 << 20


def keep_freed_memory() -> None:
    """Have freed memory reused; nothing where the C library is not glibc, or where the environment has its own settings."""
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "") or any(name.startswith("MALLOC_") for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # of another C library, or of another system
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, _KEPT)
