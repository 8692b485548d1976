"""``Tape``: what a forward pass recorded, as an object people hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, overload

from .. import _runtime
from .._anomaly import Site, current_site
from .._differentiate import GradientEdge, tuple_of
from .._dtypes import dtype, of_numpy
from .._modes import observers
from .._reach import reachable
from .._size import Size
from .._tape import AccumulateGrad, Node, Output
from .._views import current_node

_recording: ContextVar[tuple[Tape, ...]] = ContextVar("tapes", default=())


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
    """

    entry: int | None
    output: int
    leaf: Any


class Entry(NamedTuple):
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
        The operation's name.
    parents : tuple of Parent
        Where its inputs come from.
    shapes, dtypes : tuple
        Of its outputs.
    node : Node or None
        What ``grad_fn`` of its output shows.
    site : Site or None
        Where it was called, if sites were recorded.
    row, inputs, params, outputs, in_place
        On a tape that recorded a block: what was called, with what, and what came of it; None on a tape read from a result.
    """

    number: int
    position: int | None
    name: str
    op: str
    parents: tuple[Parent, ...]
    shapes: tuple[Size, ...]
    dtypes: tuple[dtype, ...]
    node: Node | None
    site: Site | None
    row: Any = None
    inputs: tuple[Any, ...] | None = None
    params: dict[str, Any] | None = None
    outputs: tuple[Any, ...] | None = None
    in_place: bool = False

    @property
    def shape(self) -> Size:
        """The shape of the (first) output."""
        return self.shapes[0]

    @property
    def dtype(self) -> dtype:
        """The dtype of the (first) output."""
        return self.dtypes[0]

    def __repr__(self) -> str:
        return f"<{' '.join(_cells(self))}>"


class Tape(Sequence[Entry]):
    """The operations of a forward pass, in the order in which they were recorded.

    ``Tape(loss)`` lists what *loss* depends on; read backwards, it is the order in which ``backward()`` runs the nodes.
    ``with Tape() as tape:`` records every operation of a block, also those that need no gradient.

    Parameters
    ----------
    roots : Tensor, GradientEdge or sequence of them, optional
        The results to start from.

    Raises
    ------
    RuntimeError
        If a root does not require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> print(torch.autograd.Tape((x * 2).exp().sum()))
    #  node          parents      output
    0  MulBackward0  leaf (2, 3)  (2, 3) float32
    1  ExpBackward0  #0           (2, 3) float32
    2  SumBackward0  #1           () float32
    >>> with torch.autograd.Tape() as tape:
    ...     y = x.detach() + 1
    >>> tape[0].op, tape[0].params
    ('add', {})
    """

    def __init__(self, roots: Any = None) -> None:
        self.entries: list[Entry] = [] if roots is None else list(read_entries(roots))
        self._made_by: dict[int, tuple[int, int]] = {}
        self._written_by: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        return self.entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        rows = [["#", "node", "parents", "output"], *[_cells(entry) for entry in self.entries]]
        if any([entry.site for entry in self.entries]):
            sites = ["site", *[str(entry.site or "") for entry in self.entries]]
            rows = [[*row, site] for row, site in zip(rows, sites)]
        widths = [max([len(cell) for cell in column]) for column in zip(*rows)]
        lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip() for row in rows]
        return "\n".join(lines)

    __repr__ = __str__

    # -- recording a block
    def __enter__(self) -> Tape:
        self._token = _recording.set((*_recording.get(), self))
        observers.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        _recording.reset(self._token)
        self._made_by.clear()
        self._written_by.clear()

    def active(self) -> bool:
        """Whether this tape is recording here."""
        return self in _recording.get()

    def recorded(self, call: Any) -> None:
        """Note one call."""
        index = len(self.entries)
        tensors = [t for t in call.inputs if isinstance(t, _runtime.Tensor)]
        parents = tuple([self._parent(t) for t in tensors])
        row, node = call.row, call.node
        op = getattr(row, "name", None) or row.__name__
        params = dict(zip(row.params, call.params)) if hasattr(row, "params") else {}
        arrays = [t._array for t in call.outputs]
        site = None if node is None or node.extras is None else node.extras.site
        entry = Entry(
            index,
            None if node is None else node._sequence_nr(),
            op if node is None else node.name(),
            op + "_" * call.in_place,
            parents,
            tuple([Size(a.shape) for a in arrays]),
            tuple([of_numpy(a.dtype) for a in arrays]),
            node,
            site or (current_site() if _sites_on() else None),
            row,
            call.inputs,
            params,
            call.outputs,
            call.in_place,
        )
        self.entries.append(entry)
        for number, tensor in enumerate(call.outputs):
            self._made_by[id(tensor)] = index, number
            if call.in_place:
                self._written_by[id(tensor._alias.edits)] = index

    def _parent(self, tensor: Any) -> Parent:
        entry, output = self._made_by.get(id(tensor), (None, 0))
        written = None if tensor._alias is None else self._written_by.get(id(tensor._alias.edits))
        if written is not None and (entry is None or written > entry):  # through a view, or through its base
            entry, output = written, 0
        leaf = tensor if entry is None and current_node(tensor).__class__ is AccumulateGrad else None
        return Parent(entry, output, leaf)


def _sites_on() -> bool:
    return any([type(observer).__name__ == "Sites" for observer in observers])


def read_entries(roots: Any) -> Iterator[Entry]:
    """The entries of everything that *roots* depend on, oldest first."""
    nodes = ordered_nodes([_root(root, index) for index, root in enumerate(tuple_of(roots))])
    numbers = {node: index for index, node in enumerate(nodes)}
    for index, node in enumerate(nodes):
        layouts = node.layout if getattr(node, "several", False) else [node.layout]
        layouts = [layout for layout in layouts if layout is not None]
        row = getattr(node, "row", None)
        yield Entry(
            index,
            node._sequence_nr(),
            node.name(),
            row.name if row is not None else node.name(),
            tuple([_read_parent(edge, numbers) for edge in node.edges if edge is not None]),
            tuple([Size(shape) for shape, _ in layouts]),
            tuple([of_numpy(numpy_dtype) for _, numpy_dtype in layouts]),
            node,
            None if node.extras is None else node.extras.site,
        )


def _root(root: Any, index: int) -> Node:
    if not isinstance(root, (_runtime.Tensor, GradientEdge)):
        raise TypeError(f"element {index} of roots must be a Tensor or a GradientEdge, not {type(root).__name__}")
    node = current_node(root) if isinstance(root, _runtime.Tensor) else root.node
    if node is None:
        raise RuntimeError(
            f"element {index} of roots does not require grad and does not have a grad_fn: nothing was recorded for it"
        )
    return node


def ordered_nodes(roots: Sequence[Node]) -> list[Node]:
    """The recorded operations that lead to *roots*, in the order of recording; leaves are not operations."""
    seen = reachable(list(roots)) - {None}
    return sorted([n for n in seen if type(n) not in (AccumulateGrad, Output)], key=lambda n: n.position, reverse=True)


def _read_parent(edge: Node, numbers: dict[Node, int]) -> Parent:
    if isinstance(edge, AccumulateGrad):
        return Parent(None, 0, edge.variable)
    if isinstance(edge, Output):
        return Parent(numbers[edge.edges[0]], edge.index, None)
    return Parent(numbers[edge], 0, None)


def _cells(entry: Entry) -> list[str]:
    """An entry as the cells of its line."""
    parents = ", ".join([_parent_text(parent) for parent in entry.parents])
    outputs = ", ".join([f"{tuple(shape)} {str(kind)[6:]}" for shape, kind in zip(entry.shapes, entry.dtypes)])
    return [str(entry.number), entry.name if entry.node is not None else entry.op, parents, outputs]


def _parent_text(parent: Parent) -> str:
    if parent.entry is not None:
        return f"#{parent.entry}" + (f".{parent.output}" if parent.output else "")
    return f"leaf {tuple(parent.leaf.shape)}" if parent.leaf is not None else "constant"
