"""What few nodes have: hooks, metadata, a mark of where they were made, packed values."""

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
    """What few nodes have; each slot is filled when it is first read or written, so that a mere mark costs little.

    Attributes
    ----------
    outputs : dict
        For each output, its tensor hooks and whose ``.grad`` keeps its gradient.
    prehooks, posthooks : dict
        The node's own hooks, in call order.
    metadata : dict
        The user's notes.
    packed : Packed or None
        Saved tensors as pack hooks left them.
    guards : tuple
        Constant tensors that must stay unedited.
    parent : Node or None
        In anomaly mode, the node whose backward recorded this one.
    mark : tuple or None
        Where the node was made, if that was recorded: see ``_records``.
    origin : Origin or None
        In anomaly mode, where the infinities and NaNs in its results came from.
    cuts : tuple
        Where values that the node read had left the graph.
    names : dict
        What the user called its outputs.
    freed : tuple or None
        The mark of the backward call that let go what the node had saved.
    story : list
        Of a leaf's node: what became of its gradient.
    way : Way or None
        Of a leaf's node: where, in the last backward pass, its gradient became zero; see ``_fades``.
    """

    __slots__ = (
        "cuts",
        "freed",
        "guards",
        "mark",
        "metadata",
        "names",
        "origin",
        "outputs",
        "packed",
        "parent",
        "posthooks",
        "prehooks",
        "story",
        "way",
    )
    cuts: tuple[Any, ...]
    freed: Any
    guards: tuple[Any, ...]
    mark: Any
    metadata: dict[Any, Any]
    names: dict[int, str | None]
    origin: Any
    outputs: dict[int, OutputHooks]
    packed: Any
    parent: Any
    posthooks: dict[Any, Any]
    prehooks: dict[Any, Any]
    story: list[Any]
    way: Any

    def __getattr__(self, name: str) -> Any:
        """A slot that was not filled yet."""
        if name not in _EMPTY:
            raise AttributeError(name)
        value = _EMPTY[name]()
        setattr(self, name, value)
        return value


_EMPTY: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("outputs", "prehooks", "posthooks", "metadata", "names"), dict),
    **dict.fromkeys(("cuts", "guards"), tuple),
    **dict.fromkeys(("freed", "mark", "origin", "packed", "parent", "way"), lambda: None),
    "story": list,
}


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
