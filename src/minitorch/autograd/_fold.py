"""A long tape in few pieces: what a module did, what is repeated, what is left out.

Every piece is a contiguous part of the tape.  So a picture of pieces has no cycles, as the tape has none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._entries import Entry

LONGEST = 800
"""How many pieces a repeated part may have."""
WORTH = 4
"""How many entries folding must save."""


class Piece:
    """Several entries that stand for one in a table or picture.

    Attributes
    ----------
    kind : {"module", "repeat", "rest"}
        What a module did in one call; a part that is repeated; what there is no room for.
    label : str
        The module's path.
    start, stop : int
        Which entries: indices into the list of entries.
    items : list of (int or Piece)
        What it is made of; of a repeated part, the first time.
    times : int
        How often a repeated part was run.
    opened : bool
        Whether its items are shown.
    """

    __slots__ = ("code", "items", "kind", "label", "opened", "start", "stop", "times")

    def __init__(self, kind: str, start: int, stop: int, items: list[Any], label: str = "", times: int = 1) -> None:
        self.kind, self.start, self.stop, self.items, self.label, self.times = kind, start, stop, items, label, times
        self.opened, self.code = False, -1

    def __len__(self) -> int:
        return self.stop - self.start


Item = int | Piece


def outline(entries: Sequence[Entry], modules: bool = True, repeats: bool = True) -> list[Item]:
    """The entries, those of each module's call in a piece and what is repeated in one."""
    return _Outline(entries, modules, repeats).items


class _Outline:
    """Makes pieces; what is alike has the same code."""

    def __init__(self, entries: Sequence[Entry], modules: bool, repeats: bool) -> None:
        self._repeats = repeats
        self._known: dict[Any, int] = {}
        self._codes = [self._code((e.op, e.shapes, e.dtypes)) for e in entries]
        paths = [_components(e.module) for e in entries]
        self.items: list[Item] = list(range(len(entries)))
        if modules and any(paths):
            self.items = self._by_module(paths)
        self.items = self._fold(self.items)

    def _code(self, what: Any) -> int:
        return self._known.setdefault(what, len(self._known))

    def code_of(self, item: Item) -> int:
        return self._codes[item] if isinstance(item, int) else item.code

    def _by_module(self, paths: list[tuple[str, ...]]) -> list[Item]:
        """Nest the entries as the modules' paths are."""
        top: list[Item] = []
        opened: list[tuple[tuple[str, ...], list[Item]]] = [((), top)]
        for index, path in enumerate([*paths, ()]):
            while opened[-1][0] != path[: len(opened[-1][0])]:
                inner, items = opened.pop()
                opened[-1][1].append(self._module(inner, items))
            for depth in range(len(opened[-1][0]) + 1, len(path) + 1):
                opened.append((path[:depth], []))
            opened[-1][1].append(index)
        top.pop()
        return top

    def _module(self, path: tuple[str, ...], items: list[Item]) -> Item:
        items = self._fold(items)
        if len(items) == 1 and (isinstance(items[0], int) or items[0].kind == "module"):
            return items[0]
        piece = Piece("module", _start(items[0]), _stop(items[-1]), items, ".".join(path))
        like = tuple(["*" if part.isdigit() else part for part in path])
        piece.code = self._code((like, tuple([self.code_of(i) for i in items])))
        return piece

    def _fold(self, items: list[Item]) -> list[Item]:
        """Find what is repeated, short parts first, then what is repeated of those."""
        before = -1
        while self._repeats and len(items) > 1 and len(items) != before:
            before, period = len(items), 1
            codes = np.array([self.code_of(i) for i in items])
            while period <= min(len(items) // 2, LONGEST):
                runs = _runs(codes, period)
                if runs and len(folded := self._replace(items, runs, period)) < len(items):
                    items = folded
                    codes = np.array([self.code_of(i) for i in items])
                period += 1
        return items

    def _replace(self, items: list[Item], runs: list[tuple[int, int]], period: int) -> list[Item]:
        made: list[Item] = []
        done = 0
        for begin, times in runs:
            if begin < done:
                continue
            body, end = items[begin : begin + period], begin + period * times
            if (_stop(body[-1]) - _start(body[0])) * (times - 1) < WORTH:
                continue
            piece = Piece("repeat", _start(body[0]), _stop(items[end - 1]), body, times=times)
            piece.code = self._code(("repeat", times, tuple([self.code_of(i) for i in body])))
            made += [*items[done:begin], piece]
            done = end
        return made + items[done:]


def _runs(codes: np.ndarray, period: int) -> list[tuple[int, int]]:
    """Where parts of this length follow each other that are alike: beginning, how often."""
    step = max(1, period // 8)  # a look at every so many is enough where nothing is repeated
    if b"\1" * (period // step) not in (codes[period::step] == codes[:-period:step]).tobytes():
        return []
    same = codes[period:] == codes[:-period]
    breaks = np.flatnonzero(~same)
    begins = np.concatenate([[0], breaks + 1])
    lengths = np.concatenate([breaks, [len(same)]]) - begins
    long = lengths >= period
    return [(int(b), int(n) // period + 1) for b, n in zip(begins[long], lengths[long])]


def _components(path: str) -> tuple[str, ...]:
    """A module's path; empty for the model itself, which is called by its class there."""
    if not path or ("." not in path and path[0].isupper()):
        return ()
    return tuple(path.split("."))


def _start(item: Item) -> int:
    return item if isinstance(item, int) else item.start


def _stop(item: Item) -> int:
    return item + 1 if isinstance(item, int) else item.stop


def open_to(items: list[Item], room: int, closed: Sequence[str] = ()) -> list[Item]:
    """Open pieces, outer ones first, as long as all that is shown are no more than *room*; leave out the middle of what is
    longer. What the modules *closed* did stays one piece."""
    room = max(room, 1)
    if len(items) > room:
        items = _without_middle(items, room)
    shown = len(items)
    waiting = deque(_openable(items, closed))
    while waiting:
        piece = waiting.popleft()
        more = len(piece.items) - (piece.kind == "module")
        if shown + more > room and room - shown >= room // 2:
            piece.items = _without_middle(piece.items, room - shown)
            more = len(piece.items) - (piece.kind == "module")
        if shown + more <= room:
            piece.opened = True
            shown += more
            waiting.extend(_openable(piece.items, closed))
    return items


def open_all(items: list[Item], closed: Sequence[str] = ()) -> None:
    """Open all pieces but what the modules *closed* did."""
    waiting = deque(_openable(items, closed))
    while waiting:
        piece = waiting.popleft()
        piece.opened = True
        waiting.extend(_openable(piece.items, closed))


def _openable(items: list[Item], closed: Sequence[str]) -> list[Piece]:
    pieces = [i for i in items if isinstance(i, Piece) and i.items]
    return [p for p in pieces if not any([f"{p.label}.".startswith(f"{path}.") for path in closed])]


def _without_middle(items: list[Item], room: int) -> list[Item]:
    head, tail = (room - 1) // 2, (room - 1) - (room - 1) // 2
    left_out = items[head : len(items) - tail]
    rest = Piece("rest", _start(left_out[0]), _stop(left_out[-1]), [])
    return [*items[:head], rest, *items[len(items) - tail :]]


def lines_of(items: list[Item]) -> list[tuple[Item, bool]]:
    """What is shown, in order: entries, pieces, and after what is repeated the piece once more (then the second is True)."""
    lines: list[tuple[Item, bool]] = []
    stack: list[tuple[Item, bool]] = [(item, False) for item in reversed(items)]
    while stack:
        item, after = stack.pop()
        if isinstance(item, int) or not item.opened or after:
            lines.append((item, after))
            continue
        if item.kind == "repeat":
            stack.append((item, True))
        stack.extend([(inner, False) for inner in reversed(item.items)])
    return lines
