"""Hooks that run where a module, a parameter or a buffer is registered in any module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._extras import RemovableHandle

MODULE_HOOKS: dict[Any, Callable[..., Any]] = {}
PARAMETER_HOOKS: dict[Any, Callable[..., Any]] = {}
BUFFER_HOOKS: dict[Any, Callable[..., Any]] = {}


def hooked(hooks: dict[Any, Callable[..., Any]], module: Any, name: str, value: Any) -> Any:
    """What is registered after all hooks were called: *value*, or what they returned in its place."""
    for hook in tuple(hooks.values()):
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` where a submodule is registered; what it returns, unless None, replaces it.

    Examples
    --------
    >>> import minitorch as torch
    >>> register = torch.nn.modules.module.register_module_module_registration_hook
    >>> with register(lambda module, name, submodule: print(name, submodule)):
    ...     _ = torch.nn.Sequential(torch.nn.ReLU())
    0 ReLU()
    """
    return RemovableHandle(MODULE_HOOKS, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The same for parameters: ``hook(module, name, parameter)``; None as the place of one is not told."""
    return RemovableHandle(PARAMETER_HOOKS, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The same for buffers, None as the place of one too: ``hook(module, name, buffer)``."""
    return RemovableHandle(BUFFER_HOOKS, hook)
