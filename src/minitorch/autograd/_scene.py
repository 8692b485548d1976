"""What a picture of a tape shows, and where: boxes of operations, leaves and modules, and the wires between them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _runtime
from ._fold import Item, Piece, open_all, open_to, outline
from ._layers import Level, Spot, Wire
from ._table import bytes_text, dtype_text, parent_text, paths_text, saved_together, shape_text, shapes_text

if TYPE_CHECKING:
    from ._entries import Entry, Parent
    from .tape import Tape

EM = 12.0
"""The size of the text."""
ADVANCE = 0.61 * EM
"""How wide a character of a monospaced font is at most: DejaVu, Menlo and Liberation have 0.602 em, Consolas 0.55."""
LINE = 16.0
PAD = 8.0
INSIDE = 12.0
"""Between a module's border and what is in it."""
_LONGEST = 40


class Options(NamedTuple):
    """What a picture is to show.

    Attributes
    ----------
    room : int or None
        How many operations and pieces there may be.
    fold : sequence of str
        Modules that are one piece.
    values : bool
    gradients : bool or mapping of int to Tensor
    """

    room: int | None
    fold: Sequence[str]
    values: bool
    gradients: Any


class Node:
    """One thing in a picture.

    Attributes
    ----------
    kind : {"op", "leaf", "constant", "piece"}
    lines : list of (str, str)
        Its text: what is at the left, and at the right, of each line.
    about : str
        All about it.
    root, shared : bool
        Whether it is a result that the tape was read from; whether several operations take it.
    x, y, width, height : float
    """

    def __init__(self, kind: str, lines: list[tuple[str, str]], about: str) -> None:
        self.kind, self.about = kind, about
        self.lines = [(_cut(left), right) for left, right in lines if left or right]
        self.root = self.shared = False
        longest = max(
            [columns(left) + columns(right) + 2 * bool(right and left) for left, right in self.lines], default=0
        )
        self.width = longest * ADVANCE + 2 * PAD
        self.height = len(self.lines) * LINE + 2 * PAD - 4
        self.x = self.y = 0.0
        self.ins: dict[Any, float] = {}
        self.outs: dict[Any, float] = {}


class Box:
    """A module in a picture; the picture itself.

    Attributes
    ----------
    label : str
        Empty for the picture.
    things : list of (Node or Box)
    x, y, width, height : float
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.things: list[Node | Box] = []
        self.local: dict[Any, tuple[Any, dict[Any, None]]] = {}
        self.x = self.y = self.width = self.height = 0.0
        self.ins: dict[Any, float] = {}
        self.outs: dict[Any, float] = {}
        self.lines: list[Line] = []


class Line(NamedTuple):
    """A wire's piece: down from (*x0*, *y0*) to *turn*, over to *x1* by *over*, down to *y1*; with a head where it arrives."""

    wire: Any
    x0: float
    y0: float
    turn: float
    over: float
    x1: float
    y1: float
    arrives: bool


def columns(text: str) -> int:
    """How many columns a text takes in a monospaced font."""
    if text.isascii():
        return len(text)
    wide = [0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text]
    return sum(wide)


def _cut(text: str) -> str:
    return text if columns(text) <= _LONGEST else text[: _LONGEST // 2 - 3] + "…" + text[-_LONGEST // 2 :]


class Scene:
    """The nodes, boxes and wires of a tape's picture; ``place()`` gives them coordinates."""

    def __init__(self, tape: Tape, options: Options) -> None:
        self.entries: Sequence[Entry] = tape.entries
        self.options = options
        self.box = Box("")
        self.places: dict[Node, tuple[Box, ...]] = {}
        self.nodes: list[Node] = []
        self.wires: dict[Any, tuple[Node, dict[Node, None]]] = {}
        self._made_by: list[Any] = [None] * len(self.entries)
        items: list[Item] = list(range(len(self.entries)))
        room, closed = options.room, options.fold
        _check_modules(closed, self.entries)
        if room is not None and len(items) > room:
            items = open_to(outline(self.entries), room, closed)
        else:
            items = outline(self.entries, repeats=False)
            open_all(items, closed)
        self._add(items, (self.box,))
        for number in tape.roots:
            self._made_by[number].root = True
        self._connect()

    # -- what there is
    def _add(self, items: list[Item], inside: tuple[Box, ...]) -> None:
        for item in items:
            if isinstance(item, int):
                self._node(_of_entry(self.entries[item], self.options), inside, item, item + 1)
            elif item.opened and item.kind == "module":
                inner = Box(item.label)
                inside[-1].things.append(inner)
                self._add(item.items, (*inside, inner))
            elif item.opened:
                self._add(item.items, inside)
                begin = item.start + len(item) // item.times
                self._node(_of_piece(item, self.entries[begin : item.stop], item.times - 1), inside, begin, item.stop)
            else:
                node = _of_piece(item, self.entries[item.start : item.stop], item.times)
                self._node(node, inside, item.start, item.stop)

    def _node(self, node: Node, place: tuple[Box, ...], start: int, stop: int) -> None:
        self.places[node] = place
        place[-1].things.append(node)
        self.nodes.append(node)
        for index in range(start, stop):
            self._made_by[index] = node

    def _connect(self) -> None:
        """Find the wires, and the leaves and constants that they begin at."""
        origins: dict[tuple[int, int], tuple[Parent, Any]] = {}
        sources: dict[tuple[int, int], Node] = {}
        takers: dict[tuple[int, int], dict[Node, None]] = {}
        for index, entry in enumerate(self.entries):
            taker = self._made_by[index]
            for parent, tensor in zip(entry.parents, _inputs(entry)):
                if parent.entry is not None:
                    source = self._made_by[parent.entry]
                    if source is taker:
                        continue
                    key = id(source), parent.output if source.kind == "op" else 0
                    sources[key] = source
                else:
                    known = tensor if parent.leaf is None else parent.leaf
                    key = (id(known), 0) if known is not None else (index, len(takers))
                    origins.setdefault(key, (parent, tensor))
                takers.setdefault(key, {})[taker] = None
        for key, ends in takers.items():
            if key in origins:
                if all([end.kind == "piece" for end in ends]) and len(ends) == 1:
                    continue  # it is a part of what is folded
                source = self._origin(*origins[key], list(ends))
            else:
                source = sources[key]
            source.shared = source.shared or len(ends) > 1
            self.wires[key] = source, ends
            source.outs[key] = 0.0
        for node in self.nodes:
            for index, key in enumerate(sorted(node.outs, key=lambda key: key[1])):
                node.outs[key] = node.width * ((index + 1) / (len(node.outs) + 1) - 0.5)

    def _origin(self, parent: Parent, tensor: Any, ends: list[Node]) -> Node:
        """The node of a leaf or constant: in the innermost module around all that take it."""
        place = self.places[ends[0]]
        for end in ends:
            while place != self.places[end][: len(place)]:
                place = place[:-1]
        node = _of_leaf(parent, tensor, place[-1].label, self.options)
        self.places[node] = place
        things, below = place[-1].things, len(place)
        inner: list[tuple[Node | Box, ...]] = [(*self.places[end], end) for end in ends]
        first = min([things.index(path[below]) for path in inner])
        things.insert(first, node)
        self.nodes.append(node)
        return node

    # -- where it is
    def place(self) -> Scene:
        """Give everything its coordinates."""
        for key, (source, ends) in self.wires.items():
            for end in ends:
                self._route(key, (*self.places[source], source), (*self.places[end], end))
        self._lay_out(self.box)
        _move(self.box, INSIDE, INSIDE)
        return self

    def _route(self, key: Any, start: tuple[Any, ...], end: tuple[Any, ...]) -> None:
        """Note a wire in each box that it is in."""
        common = 0
        while start[common] is end[common]:
            common += 1

        def note(box: Box, source: Any, to: Any) -> None:
            box.local.setdefault(key, (source, {}))[1][to] = None

        note(start[common - 1], start[common], end[common])
        for depth in range(common, len(start) - 1):
            note(start[depth], start[depth + 1], "out")
        for depth in range(common, len(end) - 1):
            note(end[depth], "in", end[depth + 1])

    def _lay_out(self, box: Box) -> None:
        for thing in box.things:
            if isinstance(thing, Box):
                self._lay_out(thing)
        spots: dict[Any, Spot] = {}
        if box.label:
            label = Spot("label", columns(box.label) * ADVANCE + 4, LINE, "top")
            spots["label"] = label
        ins = {key: Spot(("in", key), 6.0, 0.0, "top") for key, (source, _) in box.local.items() if source == "in"}
        outs = {key: Spot(("out", key), 6.0, 0.0, "bottom") for key, (_, ends) in box.local.items() if "out" in ends}
        for thing in box.things:
            light = isinstance(thing, Node) and thing.kind in ("leaf", "constant")
            spots[thing] = Spot(thing, thing.width, thing.height, light=light)
        wires = []
        for key, (source, ends) in box.local.items():
            start = ins[key] if source == "in" else spots[source]
            out = 0.0 if source == "in" else source.outs[key]
            if isinstance(source, Node) and len(source.outs) == 1:
                out = None
            to: list[tuple[Spot, float | None]] = []
            for end in ends:
                if end == "out":
                    to.append((outs[key], 0.0))
                else:
                    to.append((spots[end], end.ins.get(key)))
            wires.append(Wire(key, start, out, to))
        level = Level([*ins.values(), *spots.values(), *outs.values()], wires)
        _take_over(box, level, ins, outs)


def _take_over(box: Box, level: Level, ins: dict[Any, Spot], outs: dict[Any, Spot]) -> None:
    """Take a level's coordinates for a box and what is in it."""
    margin = INSIDE if box.label else 0.0
    box.width, box.height = level.width + 2 * margin, level.height + 2 * margin
    for spot in level.spots:
        if isinstance(spot.thing, (Node, Box)):
            spot.thing.x, spot.thing.y = spot.x - spot.width / 2 + margin, spot.y + margin
    box.ins = {key: spot.x + margin - box.width / 2 for key, spot in ins.items()}
    box.outs = {key: spot.x + margin - box.width / 2 for key, spot in outs.items()}
    for p in level.pieces:
        y0 = 0.0 if isinstance(p.start, tuple) else p.y0 + margin  # at the border, for what comes from outside
        y1 = box.height if isinstance(p.end, tuple) else p.y1 + margin
        arrives = isinstance(p.end, Node)
        box.lines.append(Line(p.wire, p.x0 + margin, y0, p.turn + margin, p.over + margin, p.x1 + margin, y1, arrives))


def _move(box: Box, x: float, y: float) -> None:
    """From coordinates in each box to those of the picture."""
    box.x, box.y = box.x + x, box.y + y
    x, y = box.x, box.y
    box.lines = [
        Line(k.wire, k.x0 + x, k.y0 + y, k.turn + y, k.over + y, k.x1 + x, k.y1 + y, k.arrives) for k in box.lines
    ]
    for thing in box.things:
        if isinstance(thing, Box):
            _move(thing, x, y)
        else:
            thing.x, thing.y = thing.x + x, thing.y + y


# -- texts -------------------------------------------------------------------------------------------------------------
def _of_entry(entry: Entry, options: Options) -> Node:
    shapes = shapes_text([shape_text(s) for s in entry.shapes])
    kinds = shapes_text(list(dict.fromkeys([dtype_text(kind) for kind in entry.dtypes])))
    lines = [(entry.op, f"#{entry.number}"), (entry.label or "", ""), (f"{shapes} {kinds}".strip(), "")]
    if options.values and entry.outputs:
        lines.append(("= " + brief(entry.outputs[0]), ""))
    gradient = _gradient_of(entry, options.gradients)
    if gradient is not None:
        lines.append(("grad " + brief(gradient), ""))
    site, saved = entry.site, bytes_text(saved_together([entry]))
    about = [
        f"#{entry.number} {entry.op}" + (f" ({entry.name})" if entry.node is not None else ""),
        f"takes {', '.join([parent_text(p) for p in entry.parents]) or 'nothing that is recorded'}",
        f"makes {shapes} {kinds}",
        f"saves {saved}" if saved else "",
        f"in {entry.module}" if entry.module else "",
        f"at {site.short}: {site.source}" if site else "",
    ]
    return Node("op", lines, "\n".join(filter(None, about)))


def _of_piece(piece: Piece, entries: Sequence[Entry], times: int) -> Node:
    count = len(entries) // times
    what = f"{count:,} operation{'s' * (count > 1)}" + (f", {times:,} times" if times > 1 else "")
    first, last = entries[0], entries[-1]
    numbers = f"#{first.number}–{last.number}"
    shapes = f"{shape_text(last.shape)} {dtype_text(last.dtype)}" if last.shapes else ""
    label = piece.label or ("…" if piece.kind == "rest" else paths_text(entries) if times > 1 else "")
    lines = [(label, numbers), (what, "")] if label else [(what, numbers)]
    node = Node("piece", [*lines, (shapes, "")], f"{numbers}: {what}\n{paths_text(entries)}".strip())
    node.width, node.height = node.width + 4, node.height + 4  # for the sheets behind it
    return node


def _of_leaf(parent: Parent, tensor: Any, box: str, options: Options) -> Node:
    tensor = tensor if parent.leaf is None else parent.leaf
    kind = "constant" if parent.leaf is None else "leaf"
    name = parent_text(parent) if parent.name or tensor is None else "leaf" + str(parent.number)
    if kind == "constant" and not parent.name:
        name = "constant"
    about = name
    if box and name.startswith(f"{box}."):
        name = name[len(box) + 1 :]
    lines = [(name, "")]
    if tensor is not None:
        shape = f"{shape_text(tensor.shape)} {dtype_text(tensor.dtype)}"
        about += f"\n{kind}, {shape}"
        small = kind == "constant" and tensor._array.size == 1
        lines = [(brief(tensor) if small and not parent.name else name, ""), ("" if small else shape, "")]
        if options.values and not (small and not parent.name):
            lines.append(("= " + brief(tensor), ""))
        if options.gradients and parent.leaf is not None and tensor.grad is not None:
            lines.append(("grad " + brief(tensor.grad), ""))
    return Node(kind, lines, about)


def brief(tensor: Any) -> str:
    """A value in a few characters: up to four elements, or the range of more."""
    array = tensor._array
    if array.size == 0:
        return "[]"
    if array.dtype.kind == "b":
        return str(array.item()) if array.size == 1 else f"{np.count_nonzero(array):,} of {array.size:,} true"
    if array.size <= 4:
        texts = [f"{value:.3g}" for value in array.ravel().tolist()]
        return texts[0] if array.size == 1 else f"[{', '.join(texts)}]"
    finite = array[np.isfinite(array)]
    missing = array.size - finite.size
    text = f"{finite.min().item():.3g} … {finite.max().item():.3g}" if finite.size else ""
    return ", ".join(filter(None, [text, f"{missing:,} not finite" if missing else ""]))


def _gradient_of(entry: Entry, gradients: Any) -> Any:
    """The gradient of an entry's output: as it was given, or what its tensor retains."""
    if not gradients:
        return None
    if isinstance(gradients, Mapping):
        return gradients.get(entry.number)
    tensor = entry.output
    if tensor is None and entry.node is not None and entry.node.extras is not None:
        hooks = next(iter(entry.node.extras.outputs.values()), None)
        tensor = hooks.retained() if hooks is not None and hooks.retained is not None else None
    return tensor.grad if tensor is not None and tensor.retains_grad else None


def _inputs(entry: Entry) -> list[Any]:
    """The tensors that an entry's parents are, where they are known."""
    if entry.inputs is None:
        return [None] * len(entry.parents)
    return [t for t in entry.inputs if isinstance(t, _runtime.Tensor)]


def _check_modules(names: Sequence[str], entries: Sequence[Entry]) -> None:
    known = {entry.module for entry in entries}
    for name in names:
        if not any([f"{path}.".startswith(f"{name}.") for path in known]):
            raise ValueError(f"fold: no module {name!r} ran on this tape (modules are known where record_sites was on)")
