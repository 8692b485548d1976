"""A graph as a sequence of its operations: printed and drawn as tapes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

from .._dtypes import of_numpy
from .._errors import public_name
from .._op import Row
from ..autograd._entries import Entries, Entry, Parent
from ..autograd._shown import Shown
from ._functions import ITEM, REST, Several
from ._instructions import Number
from ._nodes import Constant, Leaf, Node, Parameter, Placeholder
from ._order import topological_order, vertices
from ._text import leaf_text
from ._vertices import Symbol, Value


class _Any:
    """A size that is not known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class _Source:
    """What a picture shows of a placeholder or parameter: its name, shape and dtype, as far as they are known."""

    grad = None

    def __init__(self, vertex: Any) -> None:
        fixed = kind = None
        if isinstance(vertex, Parameter):
            fixed, kind = tuple(vertex.tensor.shape), vertex.tensor._array.dtype
        elif isinstance(vertex, Placeholder):
            fixed, kind = vertex.fixed, vertex.dtype
        self.shape = (_Any("…"),) if fixed is None else tuple([_Any("any") if n is None else n for n in fixed])
        self.dtype = "any dtype" if kind is None else of_numpy(kind)


class Graph(Shown):
    """The operations that some nodes need, in topological order, as an object to look at.

    It prints as a table; ``tree()``, ``to_svg()``, ``to_dot()``, ``to_mermaid()`` and ``render()`` are those of
    ``autograd.Tape``, and notebooks show its picture.

    Parameters
    ----------
    outputs : Node or sequence of Node

    Examples
    --------
    >>> from minitorch import static
    >>> x, w = static.placeholder("x"), static.placeholder("w", (3,))
    >>> y = (x + w) * (w + 1)
    >>> graph = static.Graph(y)
    >>> [entry.op for entry in graph]
    ['add', 'add', 'mul']
    >>> print(graph.tree())
    #2 mul
    ├─ #0 add
    │  ├─ x  leaf (…,)
    │  └─ w  leaf (3,)
    └─ #1 add
       ├─ w  leaf (3,)
       └─ 1
    """

    def __init__(self, outputs: Any) -> None:
        roots = vertices(outputs, "Graph")
        self._sources: dict[Any, _Source] = {}
        self._numbers: dict[Any, int] = {}
        self.entries: list[Entry] = []
        for vertex in topological_order(roots):
            hidden = isinstance(vertex, (Leaf, Value)) or vertex.op is None or vertex.op in (ITEM, REST)
            if not hidden:
                self._numbers[vertex] = len(self.entries)
                self.entries.append(self._entry(vertex))
        numbers = [self._numbers.get(_whole(root)[0]) for root in roots]
        self.roots = tuple([number for number in dict.fromkeys(numbers) if number is not None])

    def _entry(self, vertex: Any) -> Entry:
        entry, op = Entry(), vertex.op
        entry.number, entry.position = len(self.entries), vertex.number
        entry.op = entry.name = public_name(op) if isinstance(op, Row) else op.name
        entry.parents = tuple([self._parent(v) for v in (*vertex.inputs, *_symbols(vertex))])
        layout = vertex.layout if isinstance(vertex, Node) else None
        entry.shapes = ()
        entry.dtypes = () if layout is None or layout.dtype is None else (of_numpy(layout.dtype),)
        entry.label = vertex.label
        entry.node = entry._mark = entry.inputs = entry.outputs = None
        entry.row = op if isinstance(op, Row) else None
        entry.params, entry.in_place = dict(vertex.params), False
        return entry

    def _parent(self, value: Any) -> Parent:
        if isinstance(value, (Number, Value)):
            return Parent(None, 0, None, repr(value.value))
        whole, output = _whole(value)
        if whole in self._numbers:
            return Parent(self._numbers[whole], output, None, value.label)
        if isinstance(value, Constant) or not isinstance(value, Node):
            return Parent(None, 0, None, value.label or leaf_text(value))
        source = self._sources.setdefault(value, _Source(value))
        return Parent(None, 0, source, value.label or leaf_text(value))

    def entry_of(self, node: Any) -> Entry | None:
        """The entry of a node; None where it is none of the graph's operations."""
        if isinstance(node, Entry):
            return node
        number = self._numbers.get(_whole(node)[0])
        return None if number is None else self.entries[number]

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        found = self.entries[index]
        return Entries(found) if isinstance(found, list) else found

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _whole(vertex: Any) -> tuple[Any, int]:
    """The call that a node is an output of, and which output."""
    if isinstance(vertex, Node) and vertex.op in (ITEM, REST) and isinstance(vertex.inputs[0], Several):
        return vertex.inputs[0], vertex.params.get("index", 0)
    return vertex, 0


def _symbols(vertex: Any) -> list[Any]:
    return [value for value in vertex.params.values() if isinstance(value, Symbol)]
