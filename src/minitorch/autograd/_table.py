"""A tape as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tape import Entry, Parent, Tape


def table(tape: Tape) -> str:
    """The entries, one a line."""
    rows = [["#", "node", "parents", "output"], *[_cells(entry) for entry in tape]]
    if any([entry.site for entry in tape]):
        sites = ["site", *[str(entry.site or "") for entry in tape]]
        rows = [[*row, site] for row, site in zip(rows, sites)]
    widths = [max([len(cell) for cell in column]) for column in zip(*rows)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip() for row in rows]
    return "\n".join(lines)


def _cells(entry: Entry) -> list[str]:
    """An entry as the cells of its line."""
    parents = ", ".join([_parent_text(parent) for parent in entry.parents])
    outputs = ", ".join([f"{tuple(shape)} {str(kind)[6:]}" for shape, kind in zip(entry.shapes, entry.dtypes)])
    return [str(entry.number), entry.name if entry.node is not None else entry.op, parents, outputs]


def _parent_text(parent: Parent) -> str:
    if parent.entry is not None:
        return f"#{parent.entry}" + (f".{parent.output}" if parent.output else "")
    return parent.name or (f"leaf {tuple(parent.leaf.shape)}" if parent.leaf is not None else "constant")
