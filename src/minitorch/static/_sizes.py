"""One program for many sizes: integers, numbers and constants of a traced block as expressions of its arguments' sizes.

A block is traced at several sizes of each axis that may vary: some near the example's, small ones, and those that
numbers in its code make likely to matter.  All traces must have the same instructions in the same order; where an integer
in them differs, it is written as an expression of sizes that the program knows at that point (those of its arguments,
and of the operands), and what it cannot be written as is a `Varying` that whoever reads it refuses.

>>> import minitorch as torch
>>> def block(x):
...     return x.view(x.shape[0], -1, x.shape[2] * 2) + 1
>>> flat = generalise(block, [torch.ones(2, 4, 3)], {0: {0: "batch", 2: "width"}})
>>> print(flat)
%1 = view(%0, size=(batch, -1, 2*width))  # [batch, 2, 2*width]
%2 = add(%1, 1.0)  # [batch, 2, 2*width]
return %2
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .._kernels.spaced import spaced
from .._runtime import Tensor
from .._trace_instructions import Called, Made, Packed, Sized, Slot
from ._number_expressions import NumberFit
from ._size_expressions import (
    Axis,
    Computed,
    Counted,
    Diagonal,
    Doubt,
    Filled,
    Fit,
    Listed,
    Parts,
    Repeated,
    Size,
    Spaced,
    Triangle,
    Varying,
    alike,
    attributes,
    is_plain,
)
from ._size_passes import Bound, CannotGeneralise, Least, Pass, VaryingBlock, difference

_LISTED = 16
"""Up to this many elements, each may be an expression by itself."""


class General:
    """A block as a program of which sizes of arguments may vary.

    Attributes
    ----------
    passes : list of Pass
        The block at several sizes.
    instructions : list
        Those of the first pass, with `Size`, `Expression`, `Repeated` or `Varying` in place of parameters that differ.
    results : list of Slot
    shapes : dict of Slot to tuple
        The shape of each value: integers and `Size`s.
    constants : dict of Slot to object
        What was captured or made in the block: a Tensor that is the same in all passes, an array, or a `Filled`, `Counted`,
        `Spaced`, `Listed`, `Diagonal` or `Triangle` one, or `Varying`.
    bounds : dict of str to Bound
        Up to which sizes it is what the block does, of those axes where that is known.
    least : dict of str to Least
        From which sizes on.
    paths : dict of int to str
        By the number of an instruction, the module that it is of.
    """

    def __init__(
        self,
        passes: list[Pass],
        axes: Mapping[int, Mapping[int, str]],
        bounds: Mapping[str, Bound] | None = None,
        least: Mapping[str, Least] | None = None,
    ) -> None:
        self.passes, self.bounds, self.least, self._fit = passes, bounds or {}, least or {}, Fit()
        self._numbers = NumberFit(self._fit)
        self.trace, self.results = passes[0].trace, passes[0].results
        self.shapes: dict[Slot, tuple[Any, ...]] = {}
        self.constants: dict[Slot, Any] = {}
        self.instructions: list[Any] = []
        self.paths: dict[int, str] = {}
        self._sized = {i.slot for i in passes[0].instructions if isinstance(i, Sized)}
        self._of_values: list[Axis] = []
        for number, slot in enumerate(self.trace.arguments):
            for axis, values in enumerate(zip(*[p.shape(slot) for p in passes])):
                if name := axes.get(number, {}).get(axis):
                    self._fit.add(Axis(slot, axis, name), values, argument=True)
        for slot in self.trace.arguments:
            self._note_shape(slot, ())
        for slot, tensor in self.trace.captured.items():
            self._captured(slot, [p.trace.captured.get(slot) for p in passes], tensor)
        for number, group in enumerate(zip(*[p.instructions for p in passes])):
            self.paths[number] = passes[0].paths.get(id(group[0]), "")
            self.instructions.append(self._instruction(group))

    def _captured(self, slot: Slot, tensors: list[Any], tensor: Any) -> None:
        if any([t is None for t in tensors]):
            raise CannotGeneralise(
                f"the block takes a tensor of shape {list(tensor.shape)} from outside at some sizes only"
            )
        self._note_shape(slot, ())
        if all([t is tensor or t._array is tensor._array for t in tensors]):
            self.constants[slot] = tensor
        else:
            self.constants[slot] = self._array([t._array for t in tensors], ())

    def sizes(self, one: Pass) -> dict[str, int]:
        """The sizes of what is named, in a pass."""
        return {axis.name: one.given[axis.slot].shape[axis.axis] for axis, _ in self._fit.first}

    def doubts(self) -> list[tuple[str, Doubt]]:
        """What expressions may be that were as right at all sizes that were tried; with the names of the axes of these."""
        found = []
        for axis, doubts in self._fit.doubts.items():
            own = None if axis.name else self._of_named(axis)
            for doubt in doubts:
                if own is None:
                    found.append((axis.name, doubt))
                    continue
                every = np.arange(1, 1 << 16)
                there = np.flatnonzero(np.isin(own.value(lambda _: every), doubt.sizes))  # noqa: B023
                if len(there) or doubt.needed:
                    found.append((own.axes[0].name, Doubt(tuple((there[:4] + 1).tolist()), doubt.needed)))
        return list(dict.fromkeys(found))

    def _of_named(self, axis: Axis) -> Size:
        """The size of a value that is no argument, as an expression of one argument's."""
        known = dict(self._fit.first)
        found = Fit()
        found.first = [*known.items()]
        size = found.of(self._fit.sizes[axis])
        plain = isinstance(size, Size) and size.low is None and size.high is None and len(size.axes) == 1
        if not plain:
            raise CannotGeneralise(
                "a size is a share of one that is known only when it runs, and what it is at all sizes could not be told"
            )
        return size  # type: ignore[return-value]

    def near(self, slots: Sequence[Slot]) -> list[Axis]:
        """The sizes in the shapes of values; and these themselves, where they are expressions of several; and those that depend
        on values."""
        found: list[Axis] = []
        for slot in slots:
            for axis, size in enumerate(self.shapes.get(slot, ())):
                if isinstance(size, Size):
                    found += size.axes if len(size.terms) == 1 else [*size.axes, Axis(slot, axis)]
        return list(dict.fromkeys([*found, *self._of_values]))

    def _note_shape(self, slot: Slot, near: Sequence[Axis]) -> None:
        shapes = [p.shape(slot) for p in self.passes]
        if len({len(shape) for shape in shapes}) > 1:
            raise CannotGeneralise(f"a value has {len(shapes[0])} dimensions at one size and others at another")
        found = []
        for axis, values in enumerate(zip(*shapes)):
            size = self._fit.of(values, near, divided=False)  # which a coincidence of few sizes could be
            size = self._fit.known.get((values, tuple(near), True)) if size is None else size  # a parameter is the same
            if size is None:
                self._fit.add(own := Axis(slot, axis), values)
                size = Size(((1, (own,)),))
                self._of_values += [own] * (slot in self._sized)
            elif isinstance(size, Size) and len(size.terms) > 1:
                self._fit.sizes[Axis(slot, axis)] = values
            found.append(size)
        self.shapes[slot] = tuple(found)

    def _instruction(self, group: tuple[Any, ...]) -> Any:
        first = group[0]
        slots = [s for s in getattr(first, "reads", ()) if isinstance(s, Slot)]
        near = self.near(slots)
        if isinstance(first, Made):
            self.constants[first.outputs[0]] = self._array([i.array for i in group], near)
        if isinstance(first, Called) and len(group) > 1:
            inputs = tuple([self.general(items, near) for items in zip(*[i.inputs for i in group])])
            params = tuple([self.general(items, near) for items in zip(*[i.params for i in group])])
            first = Called(first.row, inputs, params, first.outputs, first.asides)
        for slot in (*getattr(first, "outputs", ()), *getattr(first, "asides", ())):
            self._note_shape(slot, near)
        return first

    def general(self, items: tuple[Any, ...], near: Sequence[Axis]) -> Any:
        """What stands for a parameter that is one thing in each pass."""
        first = items[0]
        if all([alike(first, item) for item in items[1:]]):
            return first
        kinds = {type(item) for item in items}
        if len(kinds) > 1 or isinstance(first, Slot):
            return Varying(items)
        if isinstance(first, Tensor):
            numbers = [
                getattr(item, "number", None) for item in items
            ]  # as they were before they had the tensors' dtype
            if None in numbers:
                return self._number([i._array.item() for i in items], near, items, first._array.dtype)
            return self._number(numbers, near, items)
        if isinstance(first, (int, float)) and not isinstance(first, bool):
            return self._number(list(items), near, items)
        if isinstance(first, (tuple, list)):
            return self._sequence(items, near)
        if isinstance(first, Packed):
            inner = self.general(tuple([item.items for item in items]), near)
            return Packed(first.kind, inner) if isinstance(inner, list) else Varying(items)
        if isinstance(first, np.ndarray):
            return self._array(list(items), near)
        if is_plain(first) and getattr(first, "make", None) is not None:  # it says what it was made of
            given = self.general(tuple([item.given for item in items]), near)
            varies = isinstance(given, Varying) or any([isinstance(part, Varying) for part in given])
            return Varying(items) if varies else Computed(first.make, given)
        if is_plain(first):
            return Parts(type(first), {n: self.general(parts, near) for n, parts in attributes(items)})
        return Varying(items)

    def _sequence(self, items: tuple[Any, ...], near: Sequence[Axis]) -> Any:
        first = items[0]
        if len({len(item) for item in items}) == 1:
            found = [self.general(parts, near) for parts in zip(*items)]
            return getattr(type(first), "_make", type(first))(found)
        if all([len(item) and all([alike(item[0], part) for part in item]) for item in items]):
            count = self._fit.of(tuple([len(item) for item in items]), near)
            if count is not None:
                return Repeated(self.general(tuple([item[0] for item in items]), near), count)
        return Varying(items)

    def _number(
        self, values: Sequence[Any], near: Sequence[Axis], items: tuple[Any, ...], dtype: np.dtype[Any] | None = None
    ) -> Any:
        """A number, or an integer; *dtype*: what it was rounded to, if it is not known what it was."""
        if all([isinstance(v, int) for v in values]):
            size = self._fit.of(tuple(values), near)
            return Varying(items) if size is None else size
        number = self._numbers.of(values, near, dtype if dtype is None or dtype.itemsize < 8 else None)
        return Varying(items) if number is None else number

    def _array(self, arrays: list[np.ndarray], near: Sequence[Axis]) -> Any:
        """An array that has a value everywhere, counts, or is a diagonal or a triangle."""
        first = arrays[0]
        if all([alike(first, array) for array in arrays[1:]]):
            return first
        if len({a.ndim for a in arrays}) > 1 or len({a.dtype for a in arrays}) > 1:
            return Varying(tuple(arrays))
        shape = tuple([self._fit.of(sizes, near) for sizes in zip(*[a.shape for a in arrays])])
        full = [a for a in arrays if a.size]
        if any([size is None for size in shape]) or not full:
            return Varying(tuple(arrays))
        if all([(a == a.flat[0]).all() for a in full]):
            items = [a.flat[0].item() for a in full]
            alone = len(full) == len(arrays) or all([alike(items[0], item) for item in items])
            value = self._element(items, near, first.dtype) if alone else Varying(())
            return Varying(tuple(arrays)) if isinstance(value, Varying) else Filled(shape, value, first.dtype)
        if len(full) < len(arrays):
            return Varying(tuple(arrays))
        found: Any = Varying(tuple(arrays))
        if first.ndim == 1 and sum([len(a) > 1 for a in arrays]) > 2:
            found = self._counted(arrays, shape[0], near)
        elif first.ndim == 2:
            found = self._diagonal(arrays, shape, near) or self._triangle(arrays, shape, near)
        if isinstance(found, Varying) and len({a.shape for a in arrays}) == 1 and first.size <= _LISTED:
            return self._listed(arrays, near)
        return found

    def _element(self, items: Sequence[Any], near: Sequence[Axis], dtype: np.dtype[Any]) -> Any:
        """What an array has somewhere, which was rounded to its dtype."""
        if all([alike(items[0], item) for item in items]):
            return items[0]
        return self._number(items, near, tuple(items), dtype) if dtype.kind in "iuf" else Varying(tuple(items))

    def _listed(self, arrays: list[np.ndarray], near: Sequence[Axis]) -> Any:
        """An array of a few numbers, each by itself."""
        first = arrays[0]
        items = [self._element(values, near, first.dtype) for values in zip(*[a.ravel().tolist() for a in arrays])]
        if any([isinstance(item, Varying) for item in items]):
            return Varying(tuple(arrays))
        return Listed(first.shape, tuple(items), first.dtype)

    def _counted(self, arrays: list[np.ndarray], count: Any, near: Sequence[Axis]) -> Any:
        dtype = arrays[0].dtype
        steps = [(a[1] - a[0]).item() for a in arrays if len(a) > 1]
        if len(steps) < len(arrays) and len(set(steps)) > 1:
            return Varying(tuple(arrays))
        lines = [(a[0].item(), (a[1] - a[0]).item() if len(a) > 1 else steps[0]) for a in arrays]
        counted = [start + step * np.arange(len(a)) for a, (start, step) in zip(arrays, lines)]
        exact = all([alike(a, c.astype(dtype)) for a, c in zip(arrays, counted)])
        if dtype.kind == "f" and not exact:
            ends = [(a[0].item(), a[-1].item()) for a in arrays]
            if all([alike(a, spaced(*pair, len(a), dtype)) for a, pair in zip(arrays, ends)]):
                start, end = [self._element(values, near, dtype) for values in zip(*ends)]
                if not isinstance(start, Varying) and not isinstance(end, Varying):
                    return Spaced(start, end, count, dtype)
        if exact or all([np.allclose(a, c, 1e-6) for a, c in zip(arrays, counted)]):
            start, step = [self._element(values, near, dtype) for values in zip(*lines)]
            if not isinstance(start, Varying) and not isinstance(step, Varying):
                return Counted(start, step, count, dtype)
        return Varying(tuple(arrays))

    def _diagonal(self, arrays: list[np.ndarray], shape: tuple[Any, ...], near: Sequence[Axis]) -> Any:
        found = [(a[0, 0].item(), a[0, -1].item()) for a in arrays]
        for a, (on, off) in zip(arrays, found):
            rows, columns = a.shape
            if not np.array_equal(a, np.where(np.eye(rows, columns, dtype=bool), on, off)):
                return None
        on, off = [self._element(values, near, arrays[0].dtype) for values in zip(*found)]
        varies = isinstance(on, Varying) or isinstance(off, Varying)
        return None if varies else Diagonal(shape, on, off, arrays[0].dtype)

    def _triangle(self, arrays: list[np.ndarray], shape: tuple[Any, ...], near: Sequence[Axis]) -> Any:
        found = []
        for a in arrays:
            below, above = a[-1, 0], a[0, -1]
            diagonal = int((a[0] == below).sum()) - 1 if a[0, 0] == below else -int((a[:, 0] == above).sum())
            if not np.array_equal(a, np.where(np.tri(a.shape[0], a.shape[1], diagonal, dtype=bool), below, above)):
                return Varying(tuple(arrays))
            found.append((diagonal, below.item(), above.item()))
        dtypes = (np.dtype(np.int64), arrays[0].dtype, arrays[0].dtype)
        parts = [self._element(values, near, dtype) for values, dtype in zip(zip(*found), dtypes)]
        if any([isinstance(part, Varying) for part in parts]):
            return Varying(tuple(arrays))
        diagonal, below, above = parts
        return Triangle(shape, diagonal, below, above, arrays[0].dtype)

    def __str__(self) -> str:
        lines = []
        for instruction in self.instructions:
            sizes = [f"[{', '.join(map(repr, self.shapes[s]))}]" for s in getattr(instruction, "outputs", ())]
            lines.append(f"{instruction!r}" + f"  # {', '.join(sizes)}" * bool(sizes))
        return "\n".join([*lines, f"return {', '.join(map(repr, self.results))}"])


def generalise(
    function: Callable[..., Any],
    args: Sequence[Any],
    axes: Mapping[int, Mapping[int, str]] | None = None,
    expand: Callable[[Pass], None] | None = None,
    from_below: bool = False,
    follows: Collection[str] = (),
) -> General:
    """Trace a function at several sizes of its arguments, and write down what it does as one program for all of them.

    Parameters
    ----------
    function : callable
        Of tensors, and of lists, tuples and dicts of them; it records a history where that is on.
    args : sequence
        Example arguments.
    axes : dict of int to dict of int to str
        For the tensors among the arguments, by number, the names of those axes that may vary.  Axes of one name are of one
        size.
    expand : callable, optional
        What is done to the instructions of each pass before they are compared.

    from_below : bool
        Whether the program may be one for sizes from some size on, if the block does something else at smaller ones.
    follows : collection of str
        As of a `Trace`.

    Returns
    -------
    General

    Raises
    ------
    CannotGeneralise
        If the function fails at other sizes, or does other things there.
    """
    block = VaryingBlock(function, args, axes or {}, from_below, follows)
    passes = block.traces()
    passes += block.with_other_values(passes[0])
    new = passes
    told: set[tuple[str, Doubt]] = set()
    while True:
        for other in new:
            if expand is not None:
                expand(other)
        for other in new:
            if other.signature != passes[0].signature:
                raise CannotGeneralise(f"at other sizes {difference(passes[0], other)}")
        general = General(passes, block.axes, block.bounds, block.least)
        doubts = [doubt for doubt in general.doubts() if doubt not in told]
        if not doubts:
            return general
        told.update(doubts)
        new = [one for name, doubt in doubts for one in block.told_apart(name, doubt, passes)]
        passes = [one for one in [*passes, *new] if block.within_bounds(one)]
