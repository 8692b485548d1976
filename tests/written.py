"""Modules that were written by ``to_python``, loaded."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def loaded(path: Path) -> Any:
    """The module at a path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
