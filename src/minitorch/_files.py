"""Files that are written at once and whole."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[Any]:
    """A file to write, which takes the place of the one at *path* when the block ends well, at once and whole."""
    target = os.path.realpath(os.fsdecode(path))
    directory = os.path.dirname(target)
    known = os.stat(target).st_mode if os.path.exists(target) else None
    if known is not None and not stat.S_ISREG(known):
        with open(target, "wb") as file:  # a device or a pipe: nothing to keep
            yield file
        return
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fsdecode(path))} does not exist.")
    name = f".{os.urandom(8).hex()}.tmp"  # known before there is the file, to remove it by
    temporary = os.path.join(directory, name)
    permissions = 0o666 if known is None else 0o600
    try:
        with open(temporary, "x+b", opener=lambda path, flags: os.open(path, flags, permissions)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if known is not None:
            os.chmod(temporary, stat.S_IMODE(known))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
