"""Notes of backward passes and optimizers' steps, and of what becomes of leaves and their gradients; see ``_records``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._records import Positions, history, name_of_leaf, next_moment, note_writer, notes_of, recordings
from ._sites import Site, getframe, mark_at, site_of
from ._tape import AccumulateGrad, Output, extras_of, next_position

_SHOWN = 8
"""How many leaves a pass names."""


class Pass:
    """One backward pass, as a recording keeps it.

    Attributes
    ----------
    mark : tuple or None
        Where it was asked for: see ``site``.
    roots : list of str
        The roots' nodes by name.
    reached : frozenset of int
        The positions of all nodes that the roots lead to.
    cuts : tuple of Cut
        Those that were met on the way.
    accumulates : bool
        Whether it adds to ``.grad`` (``autograd.grad`` does not).
    ends : list of str
        The leaves it reached, by name or shape.
    error : str or None
        What it raised.
    newest, oldest : int
        The positions of its newest root, and of the oldest operation that it reached.
    moment : int
        When it began.
    """

    __slots__ = ("accumulates", "cuts", "ends", "error", "mark", "moment", "newest", "oldest", "reached", "roots")

    def __init__(self, roots: list[Any], accumulates: bool, mark: Any) -> None:
        self.roots = [(root.edges[0] if root.__class__ is Output else root).name() for root in roots]
        self.mark, self.accumulates, self.moment = mark, accumulates, next_moment()
        self.error: str | None = None
        self.ends: list[str] = []
        self.newest = min([root.position for root in roots])
        self.oldest = self.newest
        self.reached, self.cuts = history(roots)

    def note_reached(self, nodes: Iterable[Any]) -> None:
        """Note what the reached nodes tell: the oldest operation, and some leaves by name."""
        for node in nodes:
            if node.__class__ is not AccumulateGrad:
                self.oldest = max(self.oldest, node.position)
            elif len(self.ends) < _SHOWN:
                self.ends.append(label(node))

    @property
    def failed(self) -> bool:
        """Whether it raised."""
        return self.error is not None

    @property
    def site(self) -> Site | None:
        """The user's line."""
        return site_of(self.mark)


def note_pass(roots: list[Any], accumulates: bool) -> Pass:
    """Note that a backward pass begins."""
    noted = Pass(roots, accumulates, mark_at(getframe(1)))
    for recording in recordings:
        recording.passes.append(noted)
    return noted


def tell(node: Any, what: str) -> None:
    """Note on a leaf's node what happens to its gradient: the last 20 events, each with its mark."""
    if recordings and node.__class__ is AccumulateGrad:
        story = extras_of(node).story
        story.append((what, mark_at(getframe(1)), next_moment()))
        del story[:-20]


def label(leaf: AccumulateGrad) -> str:
    """What a leaf is called in a list: its name, or else its shape."""
    return name_of_leaf(leaf) or f"a leaf of shape {tuple(leaf.array.shape)}"


class Step:
    """A step of an optimizer: where, of which class, and the positions of the leaves it holds."""

    __slots__ = ("held", "mark", "moment", "optimizer")

    def __init__(self, optimizer: Any, mark: Any) -> None:
        self.optimizer, self.mark, self.moment = type(optimizer).__name__, mark, next_moment()
        nodes = [p._node for group in optimizer.param_groups for p in group["params"]]
        self.held = Positions([node.position for node in nodes if node is not None])

    @property
    def site(self) -> Site | None:
        """The user's line."""
        return site_of(self.mark)


def noted_step(optimizer: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's step that notes which memory it wrote; that it is made is noted at once."""
    step = Step(optimizer, mark_at(getframe(1)))
    for recording in recordings:
        recording.steps.append(step)

    def run(*args: Any, **kwargs: Any) -> Any:
        start = next_position()
        try:
            return function(*args, **kwargs)
        finally:
            for edits in [p._alias.edits for group in optimizer.param_groups for p in group["params"] if p._alias]:
                if edits.position < start and not (
                    edits.writer and edits.writer[-1][0] < start
                ):  # by calls noted themselves
                    note_writer(edits, f"{step.optimizer}.step()", step.mark)

    return run


def note_leaf(tensor: Any) -> None:
    """Mark where a leaf came to require grad, and what its values had been cut from."""
    if recordings:
        extras = extras_of(tensor._node)
        made, extras.cuts = notes_of(tensor)
        extras.mark = mark_at(getframe(1))
        caller = getframe(3)  # past requires_grad_, or the assignment
        if extras.mark[0] is caller.f_code and (made is None or site_of(made)[:2] != site_of(extras.mark)[:2]):  # type: ignore[index]
            tell(tensor._node, "required")


def note_replaced(old: Any, new: Any) -> None:
    """Note that a module, or a parameter, gives its place in a model to another."""
    stay = {id(parameter) for parameter in _parameters_of(new)}
    for parameter in _parameters_of(old):
        if id(parameter) not in stay:
            tell(parameter._node, "replaced")


def _parameters_of(part: Any) -> list[Any]:
    """A module's parameters; of a parameter, itself."""
    return list(part.parameters()) if hasattr(part, "parameters") else [] if part is None else [part]
