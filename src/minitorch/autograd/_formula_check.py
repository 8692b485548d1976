"""Whether a formula of memory that was written gives what was recorded: else a write could not be followed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._formula import Formula
    from .tape import Tape

NOT_FOLLOWED = (
    "a write into memory could not be followed, one by NumPy perhaps. Write into a clone(), or compute out of place"
)


def must_agree(tape: Tape, formula: Formula, recorded: dict[str, Any], events: Iterable[tuple[Any, ...]]) -> None:
    """Raise where a formula of a block that writes memory has other values than were recorded.

    Parameters
    ----------
    tape : Tape
        What was recorded.
    formula : Formula
        What was read of it.
    recorded : dict of str to (Tensor or None)
        The values and the derivatives, by the lines' names; None where nothing depends on a leaf.
    events : iterable of tuple
        What was called, in the block and in the backward passes.
    """
    if not writes(tape) or is_changed(tape, formula):
        return
    calls = [first for event, first, *_ in events if event == "read_call"]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = formula.evaluate()
    except (TypeError, ValueError):  # a constant that is not known; it is said when the formula is evaluated
        return
    except (RuntimeError, IndexError) as error:
        raise RuntimeError(f"formula(): the expressions that were read cannot be evaluated: {NOT_FOLLOWED}") from error
    largest = max([_largest(t) for call in calls for t in (*call.inputs, *call.outputs)], default=0.0)
    for name, tensor in recorded.items():
        if tensor is None or agree(values[name]._array, tensor._array, largest):
            continue
        spread = spread_of(formula, name, values[name]._array)
        if spread is not None and not agree(values[name]._array, tensor._array, largest, 1000 * spread):
            raise RuntimeError(
                f"formula(): the expression that was read for {name} does not give what was recorded: {NOT_FOLLOWED}"
            )


def writes(tape: Tape) -> bool:
    """Whether anything of a block may have written memory."""
    return bool(tape._memory.events or any([call.in_place for call in tape._calls])) or any(
        [kind == "numpy" for _, kind, *_ in tape._numbers_read]
    )


def is_changed(tape: Tape, formula: Formula) -> bool:
    """Whether a leaf or a constant was written after the block."""
    aliases = [t._alias for t in formula.names.values() if t._alias is not None]
    return tape._end is not None and any([alias.edits.position < tape._end for alias in aliases])


def spread_of(formula: Formula, name: str, found: np.ndarray) -> float | None:
    """How far a result moves where all values move by a rounding; None where it is not known."""
    spread = 0.0
    for seed in range(3):
        draw = np.random.RandomState(seed)
        near = {
            n: (t._array * (1 + 4 * np.finfo(t._array.dtype).eps * draw.choice([-1, 1], t._array.shape))).astype(
                t._array.dtype
            )
            for n, t in formula.names.items()
            if t._array.dtype.kind == "f"
        }
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                moved = formula.evaluate(**near)[name]._array
        except (TypeError, ValueError, RuntimeError, IndexError):
            return None
        if moved.shape != found.shape:
            return None
        away = np.abs(moved.astype(np.float64) - found)
        spread = max(spread, float(away.max(initial=0, where=np.isfinite(away))))
    return spread


def agree(found: np.ndarray, recorded: np.ndarray, largest: float, spread: float = 0.0) -> bool:
    """Whether two results are one but for rounding, of numbers as large as *largest*, which moves them by *spread*.

    The identities of a formula are those of numbers, so it may be finite where what was recorded is not.
    """
    if found.shape != recorded.shape:
        return False
    if recorded.dtype.kind != "f":
        return spread > 0 or np.array_equal(found, recorded)
    eps = float(np.finfo(recorded.dtype).eps)
    a, b = found.astype(np.float64), recorded.astype(np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    bound = eps**0.4 * np.abs(b).max(initial=0, where=known) + 1000 * eps * max(largest, 1.0) + spread
    return bool((np.abs(a - b)[known] <= bound).all())


def _largest(tensor: Any) -> float:
    array = getattr(tensor, "_array", None)
    if array is None or array.dtype.kind != "f" or not array.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        return float(np.abs(array).max(initial=0, where=np.isfinite(array)))
