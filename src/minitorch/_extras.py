"""What few nodes have: hooks, metadata, a site, packed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OutputHooks:
    """What was asked for at one output of a node: tensor hooks in call order, and whose ``.grad`` keeps the gradient."""

    __slots__ = ("hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[Any, Any] = {}
        self.retained: Callable[[], Any] | None = None


class Extras:
    """What few nodes have: hooks in call order, metadata, a site, packed saved tensors, constants that must stay unedited."""

    __slots__ = ("guards", "metadata", "outputs", "packed", "parent", "posthooks", "prehooks", "site")

    def __init__(self) -> None:
        self.outputs: dict[int, OutputHooks] = {}
        self.prehooks: dict[Any, Any] = {}
        self.posthooks: dict[Any, Any] = {}
        self.metadata: dict[Any, Any] = {}
        self.site: Any = None
        self.packed: Any = None
        self.parent: Any = None
        self.guards: tuple[Any, ...] = ()


class RemovableHandle:
    """Removes the hook it stands for; also as a context manager."""

    __slots__ = ("__weakref__", "_hooks", "_key")

    def __init__(self, hooks: dict[Any, Any], hook: Callable[..., Any]) -> None:
        self._hooks, self._key = hooks, object()
        hooks[self._key] = hook

    def remove(self) -> None:
        """Unregister the hook; nothing happens when it was removed before."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
