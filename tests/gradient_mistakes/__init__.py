"""What a gradient checker is judged by: functions with one mistake each, and functions that are right.

``MISTAKES`` are Functions, layers and models in which one derivative is wrong (or one promise is broken), with what a
report has to name; ``CORRECT`` are functions in which none is.  All are written as a user writes them, with
``import minitorch as torch``; ``in_pytorch()`` gives the same records over PyTorch.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from . import (
    algebra,
    broadcasting,
    chain,
    cuts,
    indexing,
    layers,
    masks,
    orders,
    right_by_hand,
    right_functions,
    right_layers,
    right_operations,
    state,
)
from ._record import CORRECT, MISTAKES, Blame, Correct, Mistake

__all__ = ["CORRECT", "MISTAKES", "Blame", "Correct", "Mistake", "in_pytorch"]

_FAMILIES = (
    algebra,
    broadcasting,
    chain,
    cuts,
    indexing,
    layers,
    masks,
    orders,
    right_by_hand,
    right_functions,
    right_layers,
    right_operations,
    state,
)
_TWIN = "gradient_mistakes_in_pytorch"


class _PyTorchLoader(SourceFileLoader):
    """Loads a file of this folder with PyTorch for minitorch."""

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text().replace("minitorch", "torch")
        return compile(source, self.path, "exec", dont_inherit=True)


class _PyTorchFinder:
    """Finds the modules of the twin of this package."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _TWIN and not name.startswith(_TWIN + "."):
            return None
        folder = Path(__file__).parent
        if name == _TWIN:
            file, within = folder / "__init__.py", [str(folder)]
        else:
            file, within = folder / f"{name.removeprefix(_TWIN + '.')}.py", None
        return importlib.util.spec_from_file_location(
            name, file, loader=_PyTorchLoader(name, str(file)), submodule_search_locations=within
        )


def in_pytorch() -> ModuleType:
    """This package, written for PyTorch."""
    if _TWIN not in sys.modules:
        finder: Any = _PyTorchFinder()
        sys.meta_path.insert(0, finder)
        try:
            importlib.import_module(_TWIN)
        finally:
            sys.meta_path.remove(finder)
    return sys.modules[_TWIN]
