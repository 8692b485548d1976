"""A tape as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._entries import kept_arrays, size_in_memory
from ._fold import Item, Piece, lines_of, open_to, outline

if TYPE_CHECKING:
    from .._dtypes import dtype
    from ._entries import Entry, Parent

ROWS = 50
"""How many lines a table has unless it is asked for in full."""
_WIDE = 40
"""How wide inputs may be where the table is not asked for in full."""
_COLUMNS = ("#", "op", "name", "inputs", "shape", "dtype", "saved", "module", "where")
_OPTIONAL = ("name", "saved", "module", "where")
_IF_THEY_FIT = ("where", "shape", "module", "name", "saved", "dtype")
_RIGHT = ("#", "saved")


def table(entries: Sequence[Entry], rows: int | None = ROWS, width: int | None = None) -> str:
    """Entries, one a line; more than *rows* of them in pieces, with a line that says how to see the rest.

    Where a *width* is given, inputs are shorter, and columns that do not fit are left out.
    """
    if not entries:
        return "no operations"
    items: list[Item] = list(range(len(entries)))
    folds = False
    if rows is not None and len(entries) > rows:
        items, folds = open_to(outline(entries), rows), True
    lines = lines_of(items)
    wide = None if rows is None else _WIDE if width is None else width // 3
    cells = [
        _of_entry(entries[item], wide) if isinstance(item, int) else _of_piece(item, entries, after)
        for item, after in lines
    ]
    shown = [i for i, name in enumerate(_COLUMNS) if name not in _OPTIONAL or any([row[i] for row in cells])]
    sizes = [max([len(cell) for cell in column]) for column in zip(_COLUMNS, *cells)]
    if width is not None:
        room = width - sum([sizes[i] + 2 for i in shown if _COLUMNS[i] not in _IF_THEY_FIT]) + 2
        for name in _IF_THEY_FIT:
            if (i := _COLUMNS.index(name)) in shown:
                room -= sizes[i] + 2
                if room < 0:
                    room += sizes[i] + 2
                    shown.remove(i)
    grid = [[row[i] for i in shown] for row in [_COLUMNS, *cells]]
    widths = [sizes[i] for i in shown]
    right = [_COLUMNS[i] in _RIGHT for i in shown]
    text = []
    for row in grid:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)]
        text.append("  ".join(padded).rstrip())
    if folds:
        text.append(_what_is_missing(lines, entries))
    return "\n".join(text)


def _what_is_missing(lines: list[tuple[Item, bool]], entries: Sequence[Entry]) -> str:
    seen = sum([isinstance(item, int) for item, _ in lines])
    first = next(item for item, _ in lines if not isinstance(item, int))
    begin = entries[first.start + (len(first) // first.times if first.opened else 0)].number
    return (
        f"{len(entries):,} operations, {seen:,} of them shown; all: print(tape.table(full=True)), "
        f"some: print(tape[{begin}:{begin + 40}])"
    )


# -- lines -------------------------------------------------------------------------------------------------------------
def _of_entry(entry: Entry, wide: int | None) -> list[str]:
    site = entry.site
    return [
        str(entry.number),
        entry.op,
        entry.label or "",
        inputs_text(entry.parents, wide),
        shapes_text([shape_text(shape) for shape in entry.shapes]),
        shapes_text(list(dict.fromkeys([dtype_text(kind) for kind in entry.dtypes]))),
        bytes_text(saved_together([entry])),
        entry.module,
        site.short if site else "",
    ]


def _of_piece(piece: Piece, entries: Sequence[Entry], after: bool) -> list[str]:
    start, times = piece.start, piece.times
    if after:  # the first time was shown
        start, times = start + len(piece) // piece.times, times - 1
    inside = entries[start : piece.stop]
    one = f"{len(piece) // piece.times:,} operation{'s' * (len(piece) > piece.times)}"
    op = f"{'⋮' if after or piece.kind == 'rest' else '▸'} {one}"
    if piece.kind == "repeat":
        op += (" once" if times == 1 else f" {times:,} times") + " more" * after
    row = [f"{inside[0].number}–{inside[-1].number}", op, "", "", "", "", bytes_text(saved_together(inside))]
    if piece.kind == "module":
        last = inside[-1]
        row[3] = inputs_text(parents_from_outside(inside))
        row[4], row[5] = (
            shapes_text([shape_text(s) for s in last.shapes]),
            dtype_text(last.dtype) if last.dtypes else "",
        )
    return [*row, piece.label or paths_text(inside), ""]


def parents_from_outside(entries: Sequence[Entry]) -> tuple[Parent, ...]:
    """What several entries take that none of them made, each once."""
    own = {entry.number for entry in entries}
    found: dict[tuple[Any, ...], Parent] = {}
    for entry in entries:
        for parent in entry.parents:
            if parent.entry not in own:
                found.setdefault((parent.entry, parent.output, id(parent.leaf), parent.name), parent)
    return tuple(sorted(found.values(), key=lambda parent: parent.entry is None))  # numbers before names


def paths_text(entries: Sequence[Entry]) -> str:
    """The modules from the first to the last of several entries: ``layers.1 – layers.11``."""
    first, last = entries[0].module.split("."), entries[-1].module.split(".")
    if not entries[0].module or not entries[-1].module:
        return ""
    common = 0
    for one, other in zip(first, last):
        if one != other:
            break
        common += 1
    if common == min(len(first), len(last)):
        return ".".join(first[:common])
    one, other = ".".join(first[: common + 1]), ".".join(last[: common + 1])
    return f"{one} – {other}"


# -- cells -------------------------------------------------------------------------------------------------------------
def inputs_text(parents: Sequence[Parent], wide: int | None = _WIDE) -> str:
    """Inputs by number or name; if that were too wide, names without their beginnings, and as many as there is room for."""
    texts = [parent_text(parent) for parent in parents]
    if wide is None or sum([len(text) + 2 for text in texts]) <= wide + 2:
        return ", ".join(texts)
    texts = [_shortened(text) for text in texts]
    fit = len(texts)
    while fit > 1 and sum([len(text) + 2 for text in texts[:fit]]) + 10 * (fit < len(texts)) > wide + 2:
        fit -= 1
    return ", ".join(texts[:fit]) + (f", … {len(texts) - fit} more" if fit < len(texts) else "")


def _shortened(name: str) -> str:
    parts = name.split(".")
    return "…" + ".".join(parts[-2:]) if len(parts) > 2 and not name.startswith("#") else name


def parent_text(parent: Parent) -> str:
    """``#3``; ``#3.1``, the second output of 3; the name of a leaf or constant, or what it is."""
    if parent.entry is not None:
        return f"#{parent.entry}" + (f".{parent.output}" if parent.output else "")
    return parent.name or (
        "constant" if parent.leaf is None else f"leaf{parent.number} {shape_text(parent.leaf.shape)}"
    )


def shape_text(shape: Sequence[int]) -> str:
    """``(2, 3)``."""
    return str(tuple(shape))


def dtype_text(kind: dtype) -> str:
    """``float32``."""
    return str(kind).removeprefix("torch.")


def shapes_text(shapes: list[str]) -> str:
    """Of several outputs: those that are alike once, at most three."""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} × {shapes[0]}"
    return ", ".join(shapes[:3]) + (f", … {len(shapes) - 3} more" if len(shapes) > 3 else "")


def saved_together(entries: Sequence[Entry]) -> int:
    """The bytes that entries keep for backward; an array that several keep counts once."""
    sizes = {id(array): size_in_memory(array) for entry in entries for array in kept_arrays(entry.node)}
    return sum(sizes.values())


def bytes_text(count: int) -> str:
    """``96 B``, ``1.5 KiB``; nothing for none."""
    if count < 1024:
        return f"{count} B" if count else ""
    size, unit = float(count), 0
    while size >= 1023.95 and unit < 5:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {' KMGTP'[unit]}iB"
