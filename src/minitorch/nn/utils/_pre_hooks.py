"""Hooks that compute a tensor of a module before each call: found again, and removed."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module


def hook_on(module: Module, kind: type[Any], name: str) -> tuple[Any, Any]:
    """The key and the hook of this kind that is on the tensor of this name; (None, None) if there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None, None


def remove_hook(module: Module, kind: type, name: str, missing: str) -> None:
    """Let the hook of this kind put the tensor back, and remove it; ValueError if there is none."""
    key, hook = hook_on(module, kind, name)
    if hook is None:
        raise ValueError(missing.format(name=name, module=module))
    hook.remove(module)
    del module._forward_pre_hooks[key]
