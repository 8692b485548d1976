"""The C library's allocator, told to keep freed memory for the next step.

A training step frees at its end what it allocated, and the next one allocates as much again.  glibc's defaults give much
of that back to the system, which then maps every page anew, filled with zeros: a fifth of the time of a step of a small
language model.  PyTorch's CPU build allocates in the same way.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# mallopt()'s names for what is set, from glibc's malloc.h, and to what. Blocks up to the first are taken from the heap: glibc
# itself comes to the same number, its greatest, as blocks are freed. So much free memory at the heap's end is kept.
_MMAP_THRESHOLD, _LARGEST = -3, 32 << 20
_TRIM_THRESHOLD, _KEPT = -1, 256 << 20
# How much of the heap is asked for in huge pages, of what size they are, and madvise()'s names for them, from Linux's mman.h:
# what is mapped from now on, and what is there, at once.
_HUGE, _PAGE, _MADV_HUGEPAGE, _MADV_COLLAPSE = 128 << 20, 2 << 20, 14, 25
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def keep_freed_memory() -> None:
    """Have freed memory reused; nothing where the C library is not glibc, or where the environment has its own settings."""
    if _set_by_environment():
        return
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        _in_huge_pages(library)
    except (AttributeError, OSError, TypeError):  # of another C library, or of another system
        return


def objects_in_huge_pages() -> None:
    """Have the objects that are there by now in huge pages: nothing where the system or its owner does not want that.

    A step's arrays push functions, classes and the like out of the processor's caches, those of where pages are too.
    """
    try:
        if _set_by_environment() or "[never]" in _HUGE_PAGES.read_text():
            return
        madvise = ctypes.CDLL(None).madvise
        for start, end in _mappings_of_objects():
            first, last = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
            if first < last:
                madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)
    except (AttributeError, OSError, TypeError):
        return


def _mappings_of_objects() -> Iterator[tuple[int, int]]:
    """Where mappings start and end: those in which modules lie, and the heap, which has what is too large for pools."""
    modules = [id(module) for module in tuple(sys.modules.values())]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = [int(place, 16) for place in line.split(maxsplit=1)[0].split("-")]
        if line.endswith("[heap]") or any([start <= place < end for place in modules]):
            yield start, end


def _set_by_environment() -> bool:
    """Whether the environment has settings of its own for the allocator."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return "glibc.malloc" in tunables or any(name.startswith("MALLOC_") for name in os.environ)


def _in_huge_pages(library: ctypes.CDLL) -> None:
    """Have the heap mapped in huge pages, which spare the processor most of its searches for where a page is.

    The heap is first grown, and not touched: what it grows by later has the kernel's usual pages.
    """
    malloc, sbrk, madvise = library.malloc, library.sbrk, library.madvise
    malloc.restype = sbrk.restype = ctypes.c_void_p
    start = -(-(sbrk(0) or 0) // _PAGE) * _PAGE
    blocks = [malloc(ctypes.c_size_t(_LARGEST - 4096)) for _ in range(_HUGE // _LARGEST)]
    for block in blocks:
        library.free(ctypes.c_void_p(block))
    length = (sbrk(0) or 0) - start
    if length > 0:
        madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _MADV_HUGEPAGE)
