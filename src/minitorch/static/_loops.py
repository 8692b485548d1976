"""Chains of elementwise calls on large arrays as one loop over pieces, each of which goes through all of them in the cache."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._op import Row
from .._trace_instructions import Called, Made, Slot
from ._facts import Facts, Instructions, is_elementwise_ufunc, last_uses, pure, reads_of, writes_of

PIECE = 1 << 15
"""Elements in a piece: kernels take as many at a time, and some of them do it otherwise where there are fewer."""
_LITTLE = 12
"""Bytes of an element, in all arrays together, up to which a piece is twice as long: 768 KiB."""
_LINE = 64
"""Pieces begin at multiples of it, so that the same elements are the last ones of a vector as in the whole array; it is the
length of a line of the cache, too, at which the memory of results begins."""

PIECEWISE = {
    "abs", "add_scaled", "addcdiv", "addcmul", "ceil", "clamp", "clamp_backward", "clamp_max", "clamp_min", "elu",
    "expm1", "floor", "gelu_backward", "hardtanh", "hardtanh_backward", "leaky_relu", "leaky_relu_backward",
    "lerp_number", "log1p", "mish", "mish_derivative", "pow_number", "relu", "relu_backward", "round", "rsqrt", "rsub",
    "rsub_number", "sigmoid", "sigmoid_backward", "sign", "silu", "silu_backward", "softplus", "softsign",
    "softsign_derivative", "sub_scaled", "tanh_backward", "trunc",
}  # fmt: skip
"""Rows besides those of ufuncs whose kernels do with each element what they do whatever the others are."""


class Loop(NamedTuple):
    """Calls, one after the other, that are made piece by piece.

    Attributes
    ----------
    members : tuple of Called
        The calls.
    shape : tuple of int
        The shape of their results.
    grid : tuple of int
        That as pieces see it: one axis, or rows and columns where an operand is a row or a column.
    step : int
        How much of the first axis is in a piece; the last one has what is left, and so more.
    inner : frozenset of Slot
        Results that nothing else reads: they are never whole.
    """

    members: tuple[Called, ...]
    shape: tuple[int, ...]
    grid: tuple[int, ...]
    step: int
    inner: frozenset[Slot]

    @property
    def starts(self) -> range:
        """Where the pieces begin."""
        return range(0, self.grid[0] // self.step * self.step, self.step)


# -- which calls -------------------------------------------------------------------------------------------------------
def fuse(instructions: Instructions, facts: Facts) -> Instructions:
    """Make elementwise calls on large arrays piece by piece, all on one piece, then all on the next."""
    readers: dict[Slot, set[int]] = {}
    for instruction in instructions:
        for slot in reads_of(instruction):
            readers.setdefault(slot, set()).add(id(instruction))
    usage = usage_of(instructions, facts)
    numbers = {id(instruction): number for number, instruction in enumerate(instructions)}
    kept: Instructions = []
    group: list[Called] = []
    grids: set[Any] = set()
    moved: list[int] = []  # the bytes of what is made before the loop

    def close() -> None:
        if len(group) > 1:
            loop = _loop(tuple(group), min(grids, key=lambda grid: (len(grid), grid)), readers, facts)
            held = usage[numbers[id(group[0])]] + sum(moved) + _held_besides(loop, facts)
            if held <= max(usage):  # results are all there from the first piece on
                facts.loops[group[0].outputs[0]] = loop
                facts.inner |= loop.inner
        kept.extend(group)
        group.clear()
        moved.clear()

    for instruction in instructions:
        own = _grids(instruction, facts)
        if own and group and _shape(group[0], facts) == _shape(instruction, facts) and own & grids:
            grids = own & grids
            group.append(instruction)
        elif own:
            close()
            grids = own
            group.append(instruction)
        elif group and _may_go_before(instruction, group, facts):
            kept.append(instruction)
            begun = {facts.owners[s] for s in reads_of(instruction)}
            moved += [facts.layouts[s].size for s in writes_of(instruction) if facts.owners[s] not in begun]
        else:
            close()
            kept.append(instruction)
    close()
    return kept


def usage_of(instructions: Instructions, facts: Facts) -> list[int]:
    """How many bytes of computed values there are during each instruction; those of a loop are there during all of it."""
    last = last_uses(instructions, facts.results)
    spans: dict[int, tuple[int, int]] = {}
    for number, instruction in enumerate(instructions):
        loop = next((facts.loops[s] for s in writes_of(instruction) if s in facts.loops), None)
        count = 0 if loop is None else len(loop.members)
        spans.update(dict.fromkeys(range(number, number + count), (number, number + count - 1)))
    ends: dict[int, int] = {}
    for slot, number in last.items():
        end = len(instructions) if slot in facts.escaped else spans.get(number, (number, number))[1]
        ends[facts.owners[slot]] = max(end, ends.get(facts.owners[slot], 0))
    changes = [0] * (len(instructions) + 2)
    begun = {facts.owners[s] for s in facts.outside}
    for number, instruction in enumerate(instructions):
        for slot in writes_of(instruction):
            memory = facts.owners[slot]
            if memory not in begun and slot not in facts.inner:
                begun.add(memory)
                changes[spans.get(number, (number, number))[0]] += facts.layouts[slot].size
                changes[ends[memory] + 1] -= facts.layouts[slot].size
    return list(itertools.accumulate(changes))


def _held_besides(loop: Loop, facts: Facts) -> int:
    """The bytes that a loop holds besides what is there at its first call: other results, and pieces of what is never whole."""
    first, places = loop.members[0].outputs[0], {c.outputs[0]: place for place, c in enumerate(loop.members)}
    whole = [s for s in places if s not in loop.inner]
    ends = {s: place for place, c in enumerate(loop.members) for s in c.reads}
    live = [0]
    for place in range(len(loop.members)):  # what is not computed yet has room for what is never whole
        held = sum([facts.arrays[s].itemsize for s in loop.inner if places[s] <= place <= ends.get(s, -1)])
        live.append(held - sum([facts.arrays[s].itemsize for s in whole if places[s] >= place]))
    piece = (loop.grid[0] - loop.starts[-1]) * math.prod(loop.grid[1:])
    return sum([facts.layouts[s].size for s in whole]) - facts.layouts[first].size + max(live) * piece


def _shape(called: Called, facts: Facts) -> tuple[int, ...]:
    shape: tuple[int, ...] = facts.arrays[called.outputs[0]].shape
    return shape


def _grids(instruction: Any, facts: Facts) -> set[tuple[int, ...]]:
    """The ways to cut a call into pieces: as one axis, or as rows and columns; empty where it cannot be cut."""
    if not isinstance(instruction, Called) or not isinstance(instruction.row, Row) or not instruction.fixed:
        return set()
    row = instruction.row
    ufunc = is_elementwise_ufunc(row)
    if len(writes_of(instruction)) != 1 or not (ufunc or row.name in PIECEWISE):
        return set()
    out = facts.arrays[instruction.outputs[0]]
    if out.size < 2 * PIECE or not out.flags.c_contiguous:
        return set()
    found = {(out.size,), *_cuts(out.shape)}
    for item in instruction.inputs:
        array = facts.arrays[item] if item.__class__ is Slot else getattr(item, "_array", None)
        if array is None or not array.flags.c_contiguous:
            return set()
        if array.size != 1 and array.shape != out.shape:
            found = {grid for grid in found if ufunc and len(grid) == 2 and as_cut(array.shape, out.shape, grid)}
    return found


def _cuts(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """The ways to see an array as rows and columns such that some rows are a piece."""
    for axis in range(1, len(shape)):
        grid = math.prod(shape[:axis]), math.prod(shape[axis:])
        if grid[0] >= 2 * _rows(grid[1]):
            yield grid


def _rows(columns: int) -> int:
    """How many rows are in a piece."""
    least = _LINE // math.gcd(_LINE, columns)
    return max(PIECE // columns // least, 1) * least if columns * least <= 2 * PIECE else 1 << 60


def as_cut(shape: tuple[int, ...], whole: tuple[int, ...], grid: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of an operand on a grid: that of a row or of a column; None where it is neither."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    rows = 1
    for axis, size in enumerate(whole):
        if rows == grid[0] and math.prod(whole[axis:]) == grid[1]:
            if padded[axis:] == whole[axis:] and set(padded[:axis]) <= {1}:
                return (grid[1],)
            if padded[:axis] == whole[:axis] and set(padded[axis:]) <= {1}:
                return grid[0], 1
        rows *= size
    return None


def _may_go_before(instruction: Any, group: Sequence[Called], facts: Facts) -> bool:
    """Whether a call can be made before a group, for it reads nothing of it and costs no memory: a view, or something small."""
    if not pure(instruction) or {c.outputs[0] for c in group} & {*reads_of(instruction)}:
        return False
    owners = {facts.owners[s] for s in reads_of(instruction)}
    size = facts.arrays[group[0].outputs[0]].nbytes
    return isinstance(instruction, Made) or all(
        [facts.owners[s] in owners or facts.arrays[s].nbytes * 16 <= size for s in writes_of(instruction)]
    )


def _loop(members: tuple[Called, ...], grid: tuple[int, ...], readers: Mapping[Slot, set[int]], facts: Facts) -> Loop:
    own = {id(called) for called in members}
    made = [called.outputs[0] for called in members]
    inner = frozenset([s for s in made if facts.fresh(s) and readers.get(s, set()) <= own])
    step = PIECE * _pieces_at_once(members, inner, facts) if len(grid) == 1 else _rows(grid[1])
    return Loop(members, _shape(members[0], facts), grid, step, inner)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array that begins where a line of the cache does: vectors that lie in two lines take longer to store."""
    size = math.prod(shape)
    memory = np.empty(size * dtype.itemsize + _LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % _LINE
    return np.frombuffer(memory.data, dtype, size, start).reshape(shape)


def _pieces_at_once(members: Sequence[Called], inner: frozenset[Slot], facts: Facts) -> int:
    """How many pieces to take as one: two, where what is touched of an element is so little that both fit in the cache (L2)."""
    touched = {slot for called in members for slot in (*called.reads, *called.outputs)} - inner
    size = sum(
        [facts.arrays[slot].itemsize for slot in touched if facts.arrays[slot].shape == _shape(members[0], facts)]
    )
    return 2 if size <= _LITTLE else 1


# -- how they are written out ------------------------------------------------------------------------------------------
class Scratch:
    """Where results lie that are never whole: in the piece of one that is, until it is computed, or in arrays of their own."""

    def __init__(self, places: dict[str, tuple[np.dtype[Any], int]]) -> None:
        self.dtypes: list[np.dtype[Any]] = []
        self.places = places
        """By name, the dtype, and the number of the call until which it may be used."""

    def take(self, dtype: np.dtype[Any], until: int) -> str:
        """A place that is in no use until then."""
        for name, (kind, end) in self.places.items():
            if kind is dtype and until <= end:
                del self.places[name]
                return name
        self.dtypes.append(dtype)
        return f"t{len(self.dtypes) - 1}"

    def give(self, name: str, dtype: np.dtype[Any], end: int) -> None:
        """It is not in use any more."""
        self.places[name] = dtype, end


def written(writer: Any, loop: Loop, into: Mapping[Slot, Slot]) -> Iterator[str]:
    """The lines of a loop; what ``v1`` is whole, ``p1`` is on the grid, and ``q1`` is of a piece."""
    facts, grid = writer.plan.facts, loop.grid
    made = [called.outputs[0] for called in loop.members]
    given = [s for s in dict.fromkeys([s for c in loop.members for s in c.reads]) if s not in made]
    whole = [s for s in made if s not in loop.inner]
    pieces: dict[Slot, str] = {}
    cut: list[Slot] = []
    before: list[str] = []
    for slot in (*given, *whole):
        array, name = facts.arrays[slot], writer.slot(slot)
        if slot in made:
            memory = f"aligned({loop.shape}, {writer.name(array.dtype, 'dtype')})"
            before.append(f"{name} = {writer.slot(into[slot]) if slot in into else memory}")
        shape = grid if array.shape == loop.shape else () if array.size == 1 else as_cut(array.shape, loop.shape, grid)
        before.append(f"p{int(slot)} = {name}" + f".reshape({shape})" * (array.shape != shape))
        is_cut = shape == grid or (shape and len(shape) == 2)
        pieces[slot] = f"{'q' if is_cut else 'p'}{int(slot)}"
        cut += [slot] * bool(is_cut)
    numbers = {called.outputs[0]: number for number, called in enumerate(loop.members)}
    ends = {f"q{int(s)}": numbers[s] for s in whole if s not in into}
    scratch = Scratch({f"q{int(s)}": (facts.arrays[s].dtype, numbers[s]) for s in whole if s not in into})
    with writer.naming(pieces):
        body = [*[f"q{int(s)} = p{int(s)}[i:j]" for s in cut], *_calls(writer, loop, scratch, ends)]
    starts, extra = loop.starts, range(len(scratch.dtypes))
    size = (grid[0] - starts[-1]) * math.prod(grid[1:])
    facts.scratch[made[0]] = sum([size * dtype.itemsize for dtype in scratch.dtypes])
    for number, dtype in enumerate(scratch.dtypes):
        before.append(f"s{number} = aligned({(grid[0] - starts[-1], *grid[1:])}, {writer.name(dtype, 'dtype')})")
        before.append(f"t{number} = s{number}[:{loop.step}]")
    yield from before
    yield f"for i in range(0, {starts.stop}, {loop.step}):"
    yield f"    j = i + {loop.step}"
    yield f"    if i == {starts[-1]}:"
    yield "        " + "; ".join([f"j = {grid[0]}", *[f"t{n} = s{n}" for n in extra]])
    yield from ["    " + line for line in body]
    names = [*[f"p{int(s)}" for s in (*given, *whole)], *[f"q{int(s)}" for s in dict.fromkeys((*cut, *made))]]
    yield " = ".join([*names, *[f"{kind}{n}" for n in extra for kind in "st"]]) + " = None"


def _calls(writer: Any, loop: Loop, scratch: Scratch, ends: Mapping[str, int]) -> Iterator[str]:
    """The lines of the calls on a piece."""
    last = {s: number for number, called in enumerate(loop.members) for s in called.reads}
    arrays = writer.plan.facts.arrays
    held: dict[Slot, str] = {}
    for number, called in enumerate(loop.members):
        (slot,) = called.outputs
        piece, dtype = f"q{int(slot)}", arrays[slot].dtype
        dying = [s for s in dict.fromkeys(called.reads) if s in held and last[s] == number]
        out = ""
        if slot not in loop.inner:
            out = piece
            scratch.places.pop(piece, None)
        elif writer.takes_out(called):
            until = last.get(slot, number)
            if until < len(loop.members) and not writer.may_write_over(loop.members[until], slot):
                until += 1  # it must not lie where that writes its result
            over = [s for s in dying if writer.may_write_over(called, s) and arrays[s].dtype is dtype]
            same = next((s for s in over if until <= ends.get(held[s], until)), None)
            out = held[slot] = scratch.take(dtype, until) if same is None else held.pop(same)
        yield from writer.into_piece(called, piece, out)
        writer.pieces[slot] = piece
        for other in dying:
            if other in held:
                name = held.pop(other)
                if ends.get(name, number + 1) > number:
                    scratch.give(name, arrays[other].dtype, ends.get(name, len(loop.members)))
