"""The entries of a tape: one recorded operation each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._dtypes import dtype
from .._sites import Site, site_of
from .._size import Size
from .._tape import Node


class Parent(NamedTuple):
    """Where an entry's input comes from.

    Attributes
    ----------
    entry : int or None
        The number of the entry that made it; None for a leaf, a constant, or what was made before the tape began.
    output : int
        Which of that entry's outputs it is.
    leaf : Tensor or None
        The leaf, where it is one that requires grad.
    name : str or None
        What it is called: see ``Tape``.
    number : int or None
        A leaf without a name goes by this number, from 0, on its tape.
    """

    entry: int | None
    output: int
    leaf: Any
    name: str | None = None
    number: int | None = None


class Saved(NamedTuple):
    """A value that a node keeps for its backward.

    Attributes
    ----------
    name : str
        As in ``grad_fn._saved_<name>``.
    value : Tensor, tuple of Tensor or None
        None where it was freed, or packed away by hooks.
    bytes : int
        The size of its memory.
    """

    name: str
    value: Any
    bytes: int


class Entry:
    """One recorded operation.

    Attributes
    ----------
    number : int
        Its number on this tape, from 0.
    position : int or None
        When it was recorded (the node's ``_sequence_nr``); None where no node was made.
    name : str
        The node's name, such as ``MulBackward0``; the operation's, such as ``mul``, where no node was made.
    op : str
        The operation's name; with an underscore at its end, where it wrote in place.
    parents : tuple of Parent
        Where its inputs come from.
    shapes, dtypes : tuple
        Of its outputs.
    node : Node or None
        What ``grad_fn`` of its output shows.
    site : Site or None
        The user's line and the module, if ``record_sites`` was on.
    label : str or None
        What the user called its output.
    row, inputs, params, outputs, in_place
        On a tape that recorded a block: what was called, with what, and what came of it; None on a tape read from a result.
    """

    __slots__ = (
        "_mark",
        "dtypes",
        "in_place",
        "inputs",
        "label",
        "name",
        "node",
        "number",
        "op",
        "outputs",
        "params",
        "parents",
        "position",
        "row",
        "shapes",
    )
    _mark: Any
    number: int
    position: int | None
    name: str
    op: str
    parents: tuple[Parent, ...]
    shapes: tuple[Size, ...]
    dtypes: tuple[dtype, ...]
    node: Node | None
    label: str | None
    row: Any
    inputs: tuple[Any, ...] | None
    params: dict[str, Any] | None
    outputs: tuple[Any, ...] | None
    in_place: bool

    @property
    def shape(self) -> Size:
        """The shape of the (first) output."""
        return self.shapes[0]

    @property
    def dtype(self) -> dtype:
        """The dtype of the (first) output."""
        return self.dtypes[0]

    @property
    def site(self) -> Site | None:
        """The user's line, if ``record_sites`` was on."""
        return site_of(self._mark)

    @property
    def module(self) -> str:
        """The path of the module that ran it, such as ``encoder.0.linear``; empty outside modules or without a site."""
        return "" if self._mark is None else self._mark[2]

    @property
    def output(self) -> Any:
        """The (first) output as a Tensor, on a tape that recorded a block."""
        return self.outputs[0] if self.outputs else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its inputs that have one."""
        return tuple([parent.name for parent in self.parents if parent.name])

    @property
    def saved(self) -> tuple[Saved, ...]:
        """What the node keeps for its backward."""
        return saved_by(self.node)

    @property
    def saved_bytes(self) -> int:
        """How much memory that is: the entries of a tape may keep the same arrays, see ``Tape.memory``."""
        return sum([saved.bytes for saved in self.saved])

    @property
    def hooks(self) -> tuple[Any, ...]:
        """The hooks of its node and of its outputs, as they were registered."""
        extras = None if self.node is None else self.node.extras
        if extras is None:
            return ()
        of_outputs = [hook for output in extras.outputs.values() for hook in output.hooks.values()]
        return (*of_outputs, *extras.prehooks.values(), *extras.posthooks.values())

    def __repr__(self) -> str:
        where = f" at {self.site.short}" if self.site else ""
        shapes = ", ".join([f"{tuple(shape)} {str(kind)[6:]}" for shape, kind in zip(self.shapes, self.dtypes)])
        return f"<#{self.number} {self.name if self.node is not None else self.op} {shapes}{where}>"


class Entries(list[Entry]):
    """A slice of a tape: a list that prints as a table."""

    def __str__(self) -> str:
        from ._table import table

        return table(self, None)


# -- what an entry holds -----------------------------------------------------------------------------------------------
def saved_by(node: Any) -> tuple[Saved, ...]:
    """The tensors that a node keeps for its backward; those that no needed gradient reads are not kept."""
    found = []
    for name, value in _kept(node):
        if value is _runtime.unsaved:
            continue
        arrays = [array_of(v) for v in (value if isinstance(value, (tuple, list)) else [value])]
        known = [a for a in arrays if a is not None]
        packed = value is None and node.extras is not None and node.extras.packed is not None
        shown = None if value is None or packed else [_runtime.wrap(a) for a in known]
        single = shown[0] if shown is not None and len(shown) == 1 else None if shown is None else tuple(shown)
        found.append(Saved(name, single, sum([size_in_memory(a) for a in known])))
    return tuple(found)


def _kept(node: Any) -> list[tuple[str, Any]]:
    """The names and values of what a row's node, or a custom Function's, saved."""
    if hasattr(node, "row"):
        return [(name, getattr(node, f"saved_{name}")) for name in node.row.kept]
    return [
        (f"saved_tensors[{i}]", None if s is None else s[0]) for i, s in enumerate(getattr(node, "saved", None) or ())
    ]


def kept_arrays(node: Any) -> list[np.ndarray]:
    """The arrays that a node keeps for its backward."""
    found = []
    for _, value in _kept(node):
        for one in value if value.__class__ in (tuple, list) else (value,):
            array = array_of(one)
            if array is not None:
                found.append(array)
    return found


def array_of(value: Any) -> Any:
    """The array of an array or tensor; None of anything else."""
    return value if isinstance(value, np.ndarray) else getattr(value, "_array", None)


def size_in_memory(array: np.ndarray) -> int:
    """The memory that an array keeps alive for itself: of repeated elements, one."""
    size = array.itemsize
    for length, stride in zip(array.shape, array.strides):
        size *= length if stride else min(length, 1)
    return size
