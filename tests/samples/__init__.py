"""Samples of every operation: what the tests of rows run. Each family has a module with ``SAMPLES``."""

from __future__ import annotations

import importlib
import pkgutil

from .sample import Sample


def families() -> dict[str, dict[str, list[Sample]]]:
    """The samples of each family's rows."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.__name__.split(".")[-1]: module.SAMPLES for module in modules if hasattr(module, "SAMPLES")}


def all_samples() -> dict[str, list[Sample]]:
    """The samples of each row."""
    found: dict[str, list[Sample]] = {}
    for samples in families().values():
        for name, cases in samples.items():
            found.setdefault(name, []).extend(cases)
    return found
