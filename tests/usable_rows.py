"""Elementwise rows that random graphs may be made of."""

from __future__ import annotations

from minitorch import _op
from row_calls import refuses
from samples import all_samples

SAMPLED = all_samples()


def usable(row: _op.Row) -> bool:
    """Whether a row is elementwise, of one or two inputs that both have derivatives, and needs no parameters."""
    return (
        row.elementwise
        and (len(row.inputs) == 1 or row.broadcasts)
        and not row.outputs
        and not row.variadic
        and set(row.formulas) == set(row.inputs)
        and not any(map(refuses, row.formulas.values()))
        and not any(default == "" for default in row.params.values())
        and any(case.order > 1 for case in SAMPLED[row.name])
    )


ROWS = {n: [r.name for r in _op.rows.values() if usable(r) and len(r.inputs) == n] for n in (1, 2)}
"""Their names, by the number of operands."""
