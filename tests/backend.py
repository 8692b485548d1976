"""The engine under test: minitorch, or PyTorch itself with ``BACKEND=torch`` to check the tests' expectations."""

from __future__ import annotations

import importlib
import os
from typing import Any

torch: Any = importlib.import_module(os.environ.get("BACKEND", "minitorch"))

if torch.__name__ == "torch":
    torch.set_warn_always(True)  # PyTorch gives some warnings once a process; each test must see its own
