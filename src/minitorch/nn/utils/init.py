"""Modules without initial values."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ..._random import default_generator
from ..modules.module import Module

_Module = TypeVar("_Module", bound=Module)


def skip_init(module_cls: type[_Module], *args: Any, **kwargs: Any) -> _Module:
    """A module of a class that takes ``device``; where its initial values matter not, what they are is left open.

    Raises
    ------
    RuntimeError
        If it is no class of modules, or takes no ``device``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape
    torch.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(state)
