"""A tape as a tree of ``next_functions``, drawn with lines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ._table import dtype_text, parent_text, shape_text, shapes_text

if TYPE_CHECKING:
    from ._entries import Entry, Parent
    from .tape import Tape

ROWS = 100
DEPTH = 12
"""How many levels are drawn beside each other; what is deeper begins anew at the margin."""


def tree(tape: Tape, start: Any = None, rows: int | None = ROWS, depth: int = DEPTH) -> str:
    """The lines of ``Tape.tree``."""
    if start is None:
        begins = tape.roots or _unused(tape)
    else:
        if isinstance(start, int):
            entry = tape[start] if -len(tape) <= start < len(tape) else None
        else:
            entry = tape.entry_of(start)
        if entry is None:
            raise ValueError("tree(): start is not on this tape")
        begins = (entry.number,)
    drawing = _Drawing(tape, begins, rows, depth)
    return "\n".join(drawing.lines) if drawing.lines else "no operations"


def _unused(tape: Tape) -> tuple[int, ...]:
    """The entries of a block whose outputs no other takes."""
    used = {parent.entry for entry in tape for parent in entry.parents}
    return tuple([entry.number for entry in tape if entry.number not in used])


class _Drawing:
    """Draws depth first, with a stack of its own: tapes may be deep."""

    def __init__(self, tape: Tape, begins: tuple[int, ...], rows: int | None, depth: int) -> None:
        self.entries, self.rows, self.depth = tape.entries, rows, max(depth, 1)
        self.lines: list[str] = []
        self.drawn: set[int] = set()
        self.later: deque[int] = deque()
        for begin in begins:
            self.later.append(begin)
            while self.later:
                number = self.later.popleft()
                if number in self.drawn:
                    continue
                if self._full():
                    self._say_what_is_missing(number)
                    return
                self._draw(number)

    def _full(self) -> bool:
        return self.rows is not None and len(self.lines) >= self.rows

    def _draw(self, number: int) -> None:
        """One block: what an entry leads to, at most *depth* levels of it."""
        stack: list[tuple[int | Parent, str, str]] = [(number, "", "")]  # what, its line's beginning, its children's
        while stack:
            what, head, below = stack.pop()
            if self._full():
                waiting = self._numbers([what, *[w for w, _, _ in reversed(stack)]])
                self.later.extendleft(reversed(waiting))
                return
            if not isinstance(what, int) and what.entry is None:
                self.lines.append(head + _leaf_text(what))
                continue
            entry = self.entries[what if isinstance(what, int) else what.entry]  # type: ignore[index]
            name, output = _name(entry), "" if isinstance(what, int) or not what.output else f".{what.output}"
            if entry.number in self.drawn:
                self.lines.append(f"{head}#{entry.number}{output} {name}, as above")
            elif len(below) >= 3 * self.depth and entry.parents:
                self.later.append(entry.number)
                self.lines.append(f"{head}#{entry.number}{output} {name}, further below")
            else:
                self.drawn.add(entry.number)
                self.lines.append(f"{head}#{entry.number}{output} {_text(entry)}")
                for index, parent in reversed(list(enumerate(entry.parents))):
                    last = index == len(entry.parents) - 1
                    stack.append((parent, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))

    def _numbers(self, things: list[int | Parent]) -> list[int]:
        numbers = [t if isinstance(t, int) else t.entry for t in things]
        return [n for n in numbers if n is not None]

    def _say_what_is_missing(self, number: int) -> None:
        waiting, missing = [number, *self.later], set()
        while waiting:
            found = waiting.pop()
            if found not in missing and found not in self.drawn:
                missing.add(found)
                waiting.extend(self._numbers(list(self.entries[found].parents)))
        self.lines.append(
            f"… {len(missing):,} more operations; from here: print(tape.tree({number})), all: print(tape.tree(full=True))"
        )


def _name(entry: Entry) -> str:
    return entry.name if entry.node is not None else entry.op


def _text(entry: Entry) -> str:
    shapes = shapes_text([f"{shape_text(s)} {dtype_text(kind)}" for s, kind in zip(entry.shapes, entry.dtypes)])
    return (_name(entry) + (f" {entry.label}" if entry.label else "") + f"  {shapes}").rstrip()


def _leaf_text(parent: Parent) -> str:
    if parent.leaf is None or not parent.name:
        return parent_text(parent)
    return f"{parent.name}  leaf {shape_text(parent.leaf.shape)}"
