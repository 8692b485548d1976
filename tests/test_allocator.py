"""Memory that a step frees serves the next one."""

from __future__ import annotations

import ctypes
import mmap
import os
import pathlib
import subprocess
import sys

import pytest

STEPS = """
import resource
import numpy as np
{first}
def step():
    arrays = [np.ones(1 << 20, np.float32) for _ in range(8)]
    del arrays

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(3):
    step()
before = faults()
for _ in range(5):
    step()
print(faults() - before)
"""


def pages_mapped(first: str, **environment: str) -> int:
    """How many pages five steps, of 8 times 4 MiB, had mapped anew."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    command = [sys.executable, "-c", STEPS.format(first=first)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=kept | environment)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is set is an allocator of Linux")
def test_freed_memory_is_not_mapped_anew() -> None:
    if pages_mapped("") < 100:
        pytest.skip("the C library keeps freed memory by itself")
    assert pages_mapped("import minitorch") < 100
    # who has set something keeps it
    assert pages_mapped("import minitorch", MALLOC_TRIM_THRESHOLD_="131072") > 100


@pytest.mark.skipif(
    not pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="the kernel has no huge pages to give"
)
def test_the_heap_is_asked_for_in_huge_pages() -> None:
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("the C library is another one")
    code = """
import pathlib
import minitorch
mappings = pathlib.Path("/proc/self/smaps").read_text().split("VmFlags:")
flags = [after.split("\\n")[0].split() for before, after in zip(mappings, mappings[1:]) if "[heap]" in before]
print(sum("hg" in flag for flag in flags))
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=kept)
    assert int(done.stdout) == 1


OBJECTS = """
import pathlib
import re
import sys
import minitorch.nn
modules = [id(module) for module in sys.modules.values()]
huge = 0
for mapping in re.split(r"\\n(?=[0-9a-f]+-)", pathlib.Path("/proc/self/smaps").read_text()):
    start, end = [int(place, 16) for place in mapping.split(maxsplit=1)[0].split("-")]
    if any(start <= place < end for place in modules):
        huge += int(re.search("AnonHugePages: *([0-9]+)", mapping)[1])
print(huge)
"""


def huge_pages_are_given_at_once() -> bool:
    """Whether the kernel moves what is mapped to a huge page when it is asked to, and has one."""
    size = 2 << 20
    with mmap.mmap(-1, 2 * size) as memory:
        memory.write(bytes(2 * size))
        view = ctypes.c_char.from_buffer(memory)
        start = -(-ctypes.addressof(view) // size) * size
        given = ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), 25)
        del view
    return given == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the calls are those of Linux")
def test_objects_are_in_huge_pages_once_networks_are_imported() -> None:
    setting = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[never]" in setting.read_text() or not huge_pages_are_given_at_once():
        pytest.skip("the system gives no huge pages at once")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}

    def kilobytes(**environment: str) -> int:
        command = [sys.executable, "-c", OBJECTS]
        return int(subprocess.run(command, check=True, capture_output=True, text=True, env=kept | environment).stdout)

    assert any(kilobytes() >= 2048 for _ in range(3))  # a busy system may have no huge page just now
    if "[madvise]" in setting.read_text():  # who has set something keeps it
        assert kilobytes(MALLOC_TRIM_THRESHOLD_="131072") == 0
