"""Files that are written at once and whole."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[Any]:
    """A file to write, which takes the place of the one at *path* when the block ends well, at once and whole."""
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as file:  # a device or a pipe: nothing to keep
            yield file
        return
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fsdecode(path))} does not exist.")
    descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=directory)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~current_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def current_umask() -> int:
    """Which permissions new files do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
