"""One program for many sizes: integers, numbers and constants of a traced block as expressions of its arguments' sizes.

A block is traced at several sizes of each axis that may vary.  All traces must have the same instructions in the same order;
where an integer in them differs, it is written as an expression of sizes that the program knows at that point (those of its
arguments, and of the operands), and what it cannot be written as is a `Varying` that whoever reads it refuses.

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

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._modes import no_grad
from .._pytree import tree_flatten, tree_unflatten
from .._records import module_path, site_of
from .._runtime import Tensor, wrap
from .._trace import Trace
from .._trace_instructions import Called, Left, Made, Packed, Sized, Slot
from ..autograd import record_sites
from ._size_expressions import (
    Axis,
    Counted,
    Diagonal,
    Filled,
    Fit,
    Parts,
    Repeated,
    Scaled,
    Size,
    Triangle,
    Varying,
    alike,
    attributes,
    is_plain,
)
from ._traced_code import Plan

_TRACES = 4
"""At how many sizes from the example's on a block is traced: two settle ``a * size + b``, the others confirm it."""
_SMALL = range(8, 1, -1)
"""The sizes that it is traced at besides, where it can be run there.  At size 1, much is another thing that has the same
values, such as a part that is all."""


_VALUES = 2
_DRAWS = 12
"""With how many other values that give other sizes it is traced where a size depends on values, and how many are tried."""


class CannotGeneralise(RuntimeError):
    """A block does other things at other sizes, or cannot be run at others; the message says which and where."""


# -- traces ------------------------------------------------------------------------------------------------------------
class Pass:
    """A block traced at one size: its trace, what is left of the instructions, and the results.

    Attributes
    ----------
    given : list of ndarray
        The arguments' values.
    trace : Trace
    instructions : list
    paths : dict of int to str
        By the id of an instruction, the path of the module that it is of.
    results : list of Slot
    spec
        How the results are nested: see ``_pytree``.
    """

    def __init__(self, tensors: Sequence[Any], call: Callable[[Sequence[Any]], Any]) -> None:
        self.given = [t._array.copy() for t in tensors]
        self.trace = trace = _Located(tensors, lifts="kernels")
        trace.all_leaks = True
        with no_grad(), record_sites(), trace:
            out = call(tensors)
        leaves, self.spec = tree_flatten(out)
        self.results = [trace.slot_of(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
        self.leaves = leaves
        self.instructions = Plan(trace, self.results, ("dead code",)).instructions
        self.paths = trace.paths

    def shape(self, slot: Slot) -> tuple[int, ...]:
        """A value's shape."""
        return self.trace.arrays[slot].shape

    @property
    def signature(self) -> list[Any]:
        """What its instructions are, without their parameters."""
        return [_kind(instruction) for instruction in self.instructions]

    @property
    def taken(self) -> list[bytes]:
        """The values that became Python's."""
        return [i.value.tobytes() for i in self.instructions if i.__class__ is Left]


class _Located(Trace):
    """A trace that notes of which module an instruction is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.paths: dict[int, str] = {}
        super().__init__(*args, **kwargs)

    def recorded(self, call: Any) -> None:
        super().recorded(call)
        for instruction in reversed(self.instructions):
            self.paths[id(instruction)] = module_path()
            if not isinstance(instruction, Sized):  # whose call stands before it
                break

    def left(self, kind: str, tensor: Any) -> None:
        super().left(kind, tensor)
        if self.instructions:
            self.paths.setdefault(id(self.instructions[-1]), module_path())


def _kind(instruction: Any) -> tuple[Any, ...]:
    name = getattr(getattr(instruction, "row", None), "name", None)
    name = "view" if name == "unsafe_view" else name  # which of them depends on strides, which sizes of 1 change
    outputs = getattr(instruction, "outputs", ())
    inputs = [i for i in getattr(instruction, "inputs", ()) if isinstance(i, Slot)]
    return (type(instruction).__name__, name, *map(int, (*inputs, *outputs)))


def resized(tensor: Any, axis: int, size: int) -> Any:
    """A tensor of another size along an axis: its elements, again and again."""
    array = tensor._array
    if not array.shape[axis]:
        raise CannotGeneralise(f"an example has no elements along axis {axis}: give one that has some")
    return wrap(array.take(np.arange(size) % array.shape[axis], axis), tensor._node)


def copied(array: np.ndarray) -> np.ndarray:
    """The same values."""
    return array.copy("K")


class Redrawn:
    """Makes other values of some: drawn from these, of either sign, and zero; integers in order stay so.

    Those of number 0 and 1 are extreme: none is positive or true, or all are.
    """

    def __init__(self, number: int) -> None:
        self.number, self.draw = number, np.random.default_rng(number)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        kind = array.dtype.kind
        own = abs(array.ravel()) if kind == "f" else array.ravel()
        zeros = np.zeros(1 + len(own) // 4, array.dtype)
        none, every = {"b": ([zeros], [zeros == 0]), "f": ([-own, zeros], [own])}.get(kind, ([zeros], [own]))
        values = none if self.number == 0 else every if self.number == 1 else [*none, *every]
        found = array.copy("K")
        found[...] = self.draw.choice(np.concatenate(values), array.shape)
        if (
            kind in "iu" and array.ndim == 1 and len(array) > 1 and (array[1:] >= array[:-1]).all()
        ):  # such as where bags begin
            found.sort()
            found[0] = array[0]
        return found


class _Block:
    """A function, its arguments, and the names of those of their axes that may vary."""

    def __init__(
        self, function: Callable[..., Any], args: Sequence[Any], axes: Mapping[int, Mapping[int, str]]
    ) -> None:
        self.function = function
        self.leaves, self.spec = tree_flatten(tuple(args))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        self.axes = {n: {a % self.tensors[n].dim(): name for a, name in of.items()} for n, of in axes.items() if of}
        self.names: dict[str, int] = {}
        for number, of in self.axes.items():
            for axis, name in of.items():
                size = self.tensors[number].shape[axis]
                if self.names.setdefault(name, size) != size:
                    raise CannotGeneralise(
                        f"axes called {name!r} are of different sizes in the example, {self.names[name]} and {size}: "
                        "give them different names"
                    )

    def traced(self, sizes: Mapping[str, int], values: Callable[[np.ndarray], np.ndarray] = copied) -> Pass:
        """The block traced at these sizes of what is named, others as in the example; with the example's values, or others."""
        tensors = []
        for number, tensor in enumerate(self.tensors):
            for axis, name in self.axes.get(number, {}).items():
                if sizes.get(name, tensor.shape[axis]) != tensor.shape[axis]:
                    tensor = resized(tensor, axis, sizes[name])
            tensors.append(wrap(values(tensor._array), tensor._node))

        def call(tensors: Sequence[Any]) -> Any:
            leaves = list(self.leaves)
            for place, tensor in zip(self.places, tensors):
                leaves[place] = tensor
            return self.function(*tree_unflatten(leaves, self.spec))

        return Pass(tensors, call)

    def sizes_of(self, name: str, others: Mapping[str, int]) -> dict[int, Pass]:
        """The block at sizes of an axis at which it does what it does in the example."""
        size = self.names[name]
        half = size // 2
        near = (size, size + half + 1, 2 * size + 1, size + 1, 2 * size, 3 * size, 4 * size, size + half, half)
        found: dict[int, Pass] = {}
        like: Pass | None = None
        problem = ""
        for tried in dict.fromkeys([*near, size // 4, *range(size + 2, size + 5), *range(size - 1, size - 5, -1)]):
            if tried < 2:
                continue
            try:
                new = self.traced({**others, name: tried})
            except Exception as error:
                problem = problem or f"at size {tried} it fails: {type(error).__name__}: {error}"
                continue
            if like is None or new.signature == like.signature:
                like, found[tried] = like or new, new
            else:
                raise CannotGeneralise(f"the axis {name!r} cannot vary: at size {tried} {difference(like, new)}")
            if len(found) == _TRACES:
                break
        if len(found) < 3 or like is None:
            raise CannotGeneralise(
                f"the axis {name!r} cannot vary: the block runs in one way at the sizes {list(found)}; {problem}"
            )
        return found

    def small(self, name: str, others: Mapping[str, int], found: Mapping[int, Pass]) -> list[Pass]:
        """The block at the small sizes of an axis at which it can be run."""
        like, passes = next(iter(found.values())), []
        for tried in [size for size in _SMALL if size not in found]:
            try:
                new = self.traced({**others, name: tried})
            except Exception:
                continue
            if new.signature != like.signature:
                raise CannotGeneralise(f"the axis {name!r} cannot vary: at size {tried} {difference(like, new)}")
            passes.append(new)
        return passes

    def traces(self) -> list[Pass]:
        """The block traced at several sizes of all axes together, and at small ones of each."""
        if not self.names:
            return [self.traced({})]
        base = {name: max(size, 2) for name, size in self.names.items()}
        ways = {name: self.sizes_of(name, base) for name in self.names}
        small = [one for name, found in ways.items() for one in self.small(name, base, found)]
        if len(ways) == 1:
            return [*ways.popitem()[1].values(), *small]
        return [*self.together(ways), *small]

    def with_other_values(self, like: Pass) -> list[Pass]:
        """The block with other values, at one pass's sizes, where a size depends on them."""
        makers = {slot: i for i in like.instructions if isinstance(i, Called) for slot in i.outputs}
        sized = [
            i
            for i in like.instructions
            if isinstance(i, Sized) and any(map(like.trace.depends, _chosen_by(makers[i.slot], like)))
        ]
        if not sized:
            return []
        sizes = {name: like.given[n].shape[axis] for n, of in self.axes.items() for axis, name in of.items()}
        passes: list[Pass] = []
        ran: list[Pass] = []
        known = {_shapes(like, sized)}
        for seed in range(_DRAWS):
            try:
                new = self.traced(sizes, Redrawn(seed))
            except Exception:  # they may be none for it
                continue
            if not _same_way(like, new):
                continue
            if new.signature != like.signature:
                raise CannotGeneralise(f"with other values, of which others are chosen, {difference(like, new)}")
            if new.taken == like.taken:
                found = _shapes(new, sized)
                ran.append(new)
                if found not in known and all(map(all, found)) and len(passes) < _VALUES:
                    known.add(found)
                    passes.append(new)
        for left in sized:
            if not any([_chosen_otherwise(makers[left.slot], like, one) for one in ran]):
                site = site_of(left.mark)
                raise CannotGeneralise(
                    f"a size depends on values{f', {site.expression} at {site.short},' if site else ''} and with none that "
                    "were tried others are chosen, so that it cannot be told from other sizes: choose elements outside, or "
                    "with torch.where"
                )
        return passes

    def together(self, ways: Mapping[str, Mapping[int, Pass]]) -> list[Pass]:
        """The block at other sizes of all axes at once."""
        count = min([len(sizes) for sizes in ways.values()])
        passes = []
        orders = _orders(count, len(ways))
        for number in range(count):
            turned = {name: list(sizes)[order[number]] for (name, sizes), order in zip(ways.items(), orders)}
            try:
                passes.append(self.traced(turned))
            except Exception as error:
                raise CannotGeneralise(
                    f"the axes cannot vary independently: at {turned} it fails: {type(error).__name__}: {error}"
                ) from error
        return passes


def _shapes(one: Pass, sized: Sequence[Sized]) -> tuple[tuple[int, ...], ...]:
    return tuple([one.shape(left.slot) for left in sized])


def _chosen_by(called: Called, one: Pass) -> list[Slot]:
    """What a call chooses by: a mask, or indices, if it reads any."""
    found = [[s for s in called.reads if one.trace.arrays[s].dtype.kind in kinds] for kinds in ("b", "iu")]
    return found[0] or found[1] or called.reads


def _chosen_otherwise(called: Called, one: Pass, other: Pass) -> bool:
    """Whether that is another thing in another pass."""
    slots = _chosen_by(called, one)
    return any([not np.array_equal(one.trace.arrays[slot], other.trace.arrays[slot]) for slot in slots])


def _same_way(one: Pass, other: Pass) -> bool:
    """Whether values that became Python's do not explain that two passes differ: a program looks at those."""
    for a, b in zip(one.instructions, other.instructions):
        if _kind(a) != _kind(b):
            break
        if a.__class__ is Left and not alike(a.value, b.value):
            return False
    return True


def _orders(count: int, number: int) -> list[tuple[int, ...]]:
    """Orders to try sizes in, so that those of no two axes differ by the same, or have the same sum, all the time."""
    found: list[tuple[int, ...]] = []
    for order in itertools.permutations(range(count)):
        if all([len({a + s * b for a, b in zip(order, other)}) > 1 for other in found for s in (1, -1)]):
            found.append(order)
    return [found[n % len(found)] for n in range(number)]


def difference(one: Pass, other: Pass) -> str:
    """Where two passes begin to differ, in words."""
    for a, b in itertools.zip_longest(one.instructions, other.instructions):
        if a is None or b is None or _kind(a) != _kind(b):
            where = one.paths.get(id(a), "") or other.paths.get(id(b), "")
            same = _named(a) == _named(b)
            said = f"it does {_named(b)}" + (" of other values" if same else f" where it otherwise does {_named(a)}")
            return said + f" (in {where})" * bool(where)
    return "it does the same"


def _named(instruction: Any) -> str:
    if instruction is None:
        return "nothing"
    return f"{instruction.row.name}()" if isinstance(instruction, Called) else type(instruction).__name__.lower()


# -- generalising ------------------------------------------------------------------------------------------------------
class General:
    """A block as a program of which sizes of arguments may vary.

    Attributes
    ----------
    passes : list of Pass
        The block at several sizes.
    instructions : list
        Those of the first pass, with `Size`, `Scaled`, `Repeated` or `Varying` in place of parameters that differ.
    results : list of Slot
    shapes : dict of Slot to tuple
        The shape of each value: integers and `Size`s.
    constants : dict of Slot to object
        What was captured or made in the block: a Tensor that is the same in all passes, an array, or a `Filled`, `Counted`
        `Diagonal` or `Triangle` one, or `Varying`.
    paths : dict of int to str
        By the number of an instruction, the module that it is of.
    """

    def __init__(self, passes: list[Pass], axes: Mapping[int, Mapping[int, str]]) -> None:
        self.passes, self._fit = passes, Fit()
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
            return self._number([item._array.item() for item in items], near, items)
        if isinstance(first, int) and not isinstance(first, bool):
            return Varying(items) if (size := self._fit.of(items, near)) is None else size
        if isinstance(first, float):
            return self._number(list(items), near, items)
        if isinstance(first, (tuple, list)):
            return self._sequence(items, near)
        if isinstance(first, Packed):
            inner = self.general(tuple([item.items for item in items]), near)
            return Packed(first.kind, inner) if isinstance(inner, list) else Varying(items)
        if isinstance(first, np.ndarray):
            return self._array(list(items), near)
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

    def _number(self, values: list[Any], near: Sequence[Axis], items: tuple[Any, ...]) -> Any:
        """A number as a product of sizes or one over it, or a root of these, times a constant; or of any integer like that."""
        if not all([v and np.isfinite(v) for v in values]):
            return Varying(items)
        for power in (1.0, -1.0, 0.5, -0.5):
            for size, sizes in self._fit.products(near):
                factors = [v / s**power for v, s in zip(values, sizes) if s]
                if len(factors) == len(values) and np.ptp(factors) <= 1e-6 * abs(factors[0]):
                    return Scaled(factors[0], size, power)
            roots = [abs(v) ** (1 / power) for v in values]
            rounded = tuple([round(r) for r in roots])
            if all([abs(r - n) <= 1e-5 * n for r, n in zip(roots, rounded)]):
                found = self._fit.of(rounded, near)
                if isinstance(found, Size):
                    return Scaled(1.0 if values[0] > 0 else -1.0, found, power)
        return Varying(items)

    def _array(self, arrays: list[np.ndarray], near: Sequence[Axis]) -> Any:
        """An array that has a value everywhere, counts, or is a diagonal or a triangle."""
        first = arrays[0]
        if all([alike(first, array) for array in arrays[1:]]):
            return first
        if len({a.ndim for a in arrays}) > 1 or len({a.dtype for a in arrays}) > 1:
            return Varying(tuple(arrays))
        shape = tuple([self._fit.of(sizes, near) for sizes in zip(*[a.shape for a in arrays])])
        if any([size is None for size in shape]) or not all([a.size for a in arrays]):
            return Varying(tuple(arrays))
        if all([(a == a.flat[0]).all() for a in arrays]):
            value = self.general(tuple([a.flat[0].item() for a in arrays]), near)
            return Varying(tuple(arrays)) if isinstance(value, Varying) else Filled(shape, value, first.dtype)
        if first.ndim == 1 and all([len(a) > 1 for a in arrays]):
            return self._counted(arrays, shape[0], near)
        if first.ndim == 2:
            return self._diagonal(arrays, shape, near) or self._triangle(arrays, shape, near)
        return Varying(tuple(arrays))

    def _counted(self, arrays: list[np.ndarray], count: Any, near: Sequence[Axis]) -> Any:
        lines = [(a[0].item(), (a[1] - a[0]).item()) for a in arrays]
        if all([np.allclose(a, start + step * np.arange(len(a)), 1e-6) for a, (start, step) in zip(arrays, lines)]):
            start, step = [self.general(values, near) for values in zip(*lines)]
            if not isinstance(start, Varying) and not isinstance(step, Varying):
                return Counted(start, step, count, arrays[0].dtype)
        return Varying(tuple(arrays))

    def _diagonal(self, arrays: list[np.ndarray], shape: tuple[Any, ...], near: Sequence[Axis]) -> Any:
        found = [(a[0, 0].item(), a[0, -1].item()) for a in arrays]
        for a, (on, off) in zip(arrays, found):
            rows, columns = a.shape
            if not np.array_equal(a, np.where(np.eye(rows, columns, dtype=bool), on, off)):
                return None
        on, off = [self.general(values, near) for values in zip(*found)]
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
        parts = [self.general(values, near) for values in zip(*found)]
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
) -> General:
    """Trace a function at several sizes of its arguments, and write down what it does as one program for all of them.

    Parameters
    ----------
    function : callable
        Of tensors, and of lists, tuples and dicts of them; it is called without recording of gradients.
    args : sequence
        Example arguments.
    axes : dict of int to dict of int to str
        For the tensors among the arguments, by number, the names of those axes that may vary.  Axes of one name are of one
        size.
    expand : callable, optional
        What is done to the instructions of each pass before they are compared.

    Returns
    -------
    General

    Raises
    ------
    CannotGeneralise
        If the function fails at other sizes, or does other things there.
    """
    block = _Block(function, args, axes or {})
    passes = block.traces()
    passes += block.with_other_values(passes[0])
    if expand is not None:
        for one in passes:
            expand(one)
    for other in passes[1:]:
        if other.signature != passes[0].signature:
            raise CannotGeneralise(f"at other sizes {difference(passes[0], other)}")
    return General(passes, block.axes)
