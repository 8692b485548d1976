"""A printed test run by itself: whether it shows its failure, or that depends on what earlier calls have left behind."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

asked = True
"""Whether tests are run by themselves; not within one that is."""


def passes(test: str, seconds: float) -> bool:
    """Whether a test passes in a process of its own, within so many seconds; False where that is not known."""
    names = re.findall(r"^def (test_\w+)\(", test, re.MULTILINE)
    if not asked or not sys.executable or not names or "  # to be filled in" in test:
        return False
    program = f"import {__name__} as _fresh\n_fresh.asked = False\ndel _fresh\n{test}\n{names[-1]}()\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path or os.getcwd() for path in sys.path])}
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        done = subprocess.run(
            [sys.executable, "-"],
            input=program.encode(),
            capture_output=True,
            timeout=seconds,
            env=environment,
            check=False,
        )
        return done.returncode == 0
    return False
