"""A block traced at several sizes of the axes that may vary, and with other values where sizes depend on values."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._errors import called_at
from .._pytree import tree_flatten, tree_unflatten
from .._runtime import Tensor, wrap
from .._sites import getframe, mark_at, module_path, site_of
from .._trace import Trace
from .._trace_instructions import Applied, Called, Graded, Left, Made, Sized, Slot, Writing, Written
from ..autograd import record_sites
from ._control_instructions import (
    BackBegins,
    BackEnds,
    BranchBegins,
    BranchEnds,
    Chosen,
    LoopBegins,
    LoopEnds,
    LoopTest,
)
from ._facts import called_function
from ._size_expressions import Doubt, alike
from ._traced_code import Plan
from ._tried_sizes import Cost, NamedNumbers, worth_trying

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


class Bound(NamedTuple):
    """Up to which size of an axis a program is what a block does.

    Attributes
    ----------
    most : int
    said : str
        What is otherwise beyond it.
    differs : bool
        Whether the block does something else there; otherwise it fails.
    """

    most: int
    said: str
    differs: bool


class Least(NamedTuple):
    """From which size of an axis on a program is what a block does.

    Attributes
    ----------
    differs : int
        The largest size at which it does something else.
    size : int
        The smallest one that is larger and was tried.
    said : str
        What is otherwise at the former.
    """

    differs: int
    size: int
    said: str


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
    calls : dict
        By the same, what people called, and the mark of where they did.
    results : list of Slot
    spec
        How the results are nested: see ``_pytree``.
    """

    def __init__(
        self, tensors: Sequence[Any], call: Callable[[Sequence[Any]], Any], follows: Collection[str] = ()
    ) -> None:
        self.given = [t._array.copy() for t in tensors]
        self.trace = trace = _Located(tensors, lifts="kernels")
        trace.all_leaks, trace.follows = True, follows
        with record_sites(), trace:
            out = call(tensors)
        leaves, self.spec = tree_flatten(out)
        self.results = [trace.slot_of(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
        self.leaves = leaves
        self.instructions = Plan(trace, self.results, ("dead code",)).instructions
        self.paths, self.calls = trace.paths, trace.calls

    def shape(self, slot: Slot) -> tuple[int, ...]:
        """A value's shape."""
        return self.trace.arrays[slot].shape

    @property
    def nbytes(self) -> int:
        """The bytes of all that was computed."""
        captured = self.trace.captured
        return sum([a.nbytes for n, a in enumerate(self.trace.arrays) if a is not None and n not in captured])

    @property
    def signature(self) -> list[Any]:
        """What its instructions are, without their parameters."""
        return [kind(instruction) for instruction in self.instructions]

    @property
    def taken(self) -> list[bytes]:
        """The values that became Python's."""
        return [i.value.tobytes() for i in self.instructions if i.__class__ is Left]


class _Located(Trace):
    """A trace that notes of which module an instruction is, for a program of many sizes."""

    every_slice = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.paths: dict[int, str] = {}
        self.calls: dict[int, tuple[str, Any]] = {}
        super().__init__(*args, **kwargs)

    def recorded(self, call: Any) -> None:
        super().recorded(call)
        frame = getframe(1)
        called = called_at(frame), mark_at(frame)
        for instruction in reversed(self.instructions):
            self.paths[id(instruction)], self.calls[id(instruction)] = module_path(), called
            if not isinstance(instruction, Sized):  # whose call stands before it
                break

    def made(self, tensor: Any) -> None:
        super().made(tensor)
        if self.instructions and isinstance(self.instructions[-1], Made):
            frame = getframe(1)
            self.calls.setdefault(id(self.instructions[-1]), (called_at(frame), mark_at(frame)))

    def left(self, kind: str, tensor: Any) -> None:
        super().left(kind, tensor)
        if self.instructions:
            self.paths.setdefault(id(self.instructions[-1]), module_path())


def kind(instruction: Any) -> tuple[Any, ...]:
    """What an instruction is, without its parameters."""
    name = getattr(getattr(instruction, "row", None), "name", None)
    name = "view" if name == "unsafe_view" else name  # which of them depends on strides, which sizes of 1 change
    outputs = getattr(instruction, "outputs", ())
    inputs = [i for i in getattr(instruction, "inputs", ()) if isinstance(i, Slot)]
    return (type(instruction).__name__, name, *map(int, (*inputs, *outputs)))


def resized(tensor: Any, axis: int, size: int) -> Any:
    """A tensor of another size along an axis: its elements, again and again; integers in order stay so."""
    array = tensor._array
    if not array.shape[axis]:
        raise CannotGeneralise(f"an example has no elements along axis {axis}: give one that has some")
    found = array.take(np.arange(size) % array.shape[axis], axis)
    if in_order(array):
        found.sort()
    return wrap(found)


def in_order(array: np.ndarray) -> bool:
    """Whether an array is of integers in order, such as where bags begin."""
    return array.dtype.kind in "iu" and array.ndim == 1 and len(array) > 1 and bool((array[1:] >= array[:-1]).all())


def copied(array: np.ndarray) -> np.ndarray:
    """The same values."""
    return array.copy("K")


class Redrawn:
    """Makes other values of some: drawn from these, of either sign, zero and one; integers in order stay so.

    Those of number 0 and 1 are extreme: none is positive or true, or all are.
    """

    def __init__(self, number: int) -> None:
        self.number, self.draw = number, np.random.default_rng(number)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        kind = array.dtype.kind
        own = abs(array.ravel()) if kind == "f" else array.ravel()
        zeros = np.zeros(1 + len(own) // 4, array.dtype)
        none, every = {"b": ([zeros], [zeros == 0]), "f": ([-own, zeros], [own])}.get(kind, ([zeros], [own, zeros + 1]))
        values = none if self.number == 0 else every if self.number == 1 else [*none, *every]
        found = array.copy("K")
        found[...] = self.draw.choice(np.concatenate(values), array.shape)
        if in_order(array):
            found.sort()
            found[0] = array[0]
        return found


class VaryingBlock:
    """A function, its arguments, and the names of those of their axes that may vary."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        axes: Mapping[int, Mapping[int, str]],
        from_below: bool,
        follows: Collection[str] = (),
    ) -> None:
        self.function, self.follows = function, follows
        self.leaves, self.spec = tree_flatten(tuple(args))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        self.axes = {n: {a % self.tensors[n].dim(): name for a, name in of.items()} for n, of in axes.items() if of}
        self.names: dict[str, int] = {}
        self.bounds: dict[str, Bound] = {}
        self.least: dict[str, Least] = {}
        self.from_below = from_below
        self._numbers: NamedNumbers | None = None
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
            tensors.append(wrap(values(tensor._array)).requires_grad_(self.tensors[number].requires_grad))

        def call(tensors: Sequence[Any]) -> Any:
            leaves = list(self.leaves)
            for place, tensor in zip(self.places, tensors):
                leaves[place] = tensor
            return self.function(*tree_unflatten(leaves, self.spec))

        if self._numbers is None:
            self._numbers = NamedNumbers()
            with self._numbers:
                return Pass(tensors, call, self.follows)
        return Pass(tensors, call, self.follows)

    def sizes_of(self, name: str, others: Mapping[str, int]) -> dict[int, Pass]:
        """The block at sizes of an axis at which it does what it does in the example."""
        size = self.names[name]
        half = size // 2
        near = (size, size + half + 1, 2 * size + 1, size + 1, 2 * size, 3 * size, 4 * size, size + half, half)
        found: dict[int, Pass] = {}
        like: Pass | None = None
        problem = ""
        for tried in dict.fromkeys([*near, size // 4, *range(size + 2, size + 5), *range(size - 1, size - 5, -1)]):
            if tried < 2 or self._below(name, tried):
                continue
            try:
                new = self.traced({**others, name: tried})
            except Exception as error:
                problem = problem or f"at size {tried} it fails: {type(error).__name__}: {error}"
                continue
            if like is not None and self._elsewhere(like, new):
                problem = problem or f"at size {tried} the example's values, repeated, lead elsewhere at a branch"
            elif like is None or new.signature == like.signature:
                like, found[tried] = like or new, new
            else:
                self._differs(name, tried, difference(like, new), found)
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
        same = {*found}
        for tried in [size for size in _SMALL if size not in found]:
            if self._below(name, tried):
                break
            try:
                new = self.traced({**others, name: tried})
            except Exception:
                continue
            if self._elsewhere(like, new):
                continue
            if new.signature == like.signature:
                passes.append(new)
                same.add(tried)
            else:
                self._differs(name, tried, difference(like, new), same)
        return passes

    def _elsewhere(self, like: Pass, new: Pass) -> bool:
        """Whether values, and no sizes, led a pass another way at one of Python's branches: the program is of one way, where it
        may be for some sizes only."""
        for a, b in zip(like.instructions, new.instructions) if self.from_below else ():
            if kind(a) != kind(b):
                break
            if a.__class__ is Left and like.trace.depends(a.slot) and not alike(a.value, b.value):
                return a.kind == "bool" or new.signature != like.signature
        return False

    def _below(self, name: str, size: int) -> bool:
        """Whether it is known to do something else at a size, or a larger one that is smaller than the example's."""
        return name in self.least and size <= self.least[name].differs

    def _differs(self, name: str, size: int, said: str, same: Iterable[int]) -> None:
        """It does something else at a size: where that is smaller than those at which it does the *same*, and the program may
        be one for larger sizes only, it bounds the axis."""
        if not self.from_below or size > min(same):
            raise CannotGeneralise(f"the axis {name!r} cannot vary: at size {size} {said}")
        self.least[name] = Least(size, min(same), f"at size {size} {said}")

    def beyond(self, name: str, others: Mapping[str, int], found: Mapping[int, Pass]) -> list[Pass]:
        """The block at sizes of an axis at which it may do another thing, by the numbers that its code names, and at some
        between these, as far as that is cheap.  Where it does, or fails from there on, the axis has a bound."""
        like, largest = next(iter(found.values())), max(found)
        cost = Cost({size: one.nbytes for size, one in found.items()})
        passes: list[Pass] = []
        failed: dict[int, Exception] = {}
        best, last = largest, 0
        same: list[int] = []
        waiting = worth_trying(self._numbers.found if self._numbers else {})
        while waiting or (
            max(failed, default=0) > best and last != 2 * best
        ):  # which has the divisors that it may need
            tried = last = waiting.pop(0) if waiting else 2 * best
            if tried in found or tried in _SMALL or self._below(name, tried) or not cost.affords(tried):
                continue
            try:
                new = self.traced({**others, name: tried})
            except Exception as error:
                failed[tried] = error
            else:
                if self._elsewhere(like, new):
                    continue
                if new.signature != like.signature:
                    said = f"at size {tried} {difference(like, new)}"
                    if tried < largest:
                        self._differs(name, tried, said.partition(f"{tried} ")[2], [*found, *same])
                        continue
                    self.bounds[name] = Bound(best, said, True)
                    return passes
                same.append(tried)
                if name in self.least:
                    self.least[name] = self.least[name]._replace(size=min(tried, self.least[name].size))
                passes.append(new)
                cost.add(tried, new.nbytes)
                best = max(best, tried)
        if 2 * best in failed:
            first = min([size for size in failed if size > best])
            why = failed[first]
            self.bounds[name] = Bound(best, f"at size {first} it fails: {type(why).__name__}: {why}", False)
        return passes

    def told_apart(self, name: str, doubt: Doubt, passes: Sequence[Pass]) -> list[Pass]:
        """The block at a size of an axis that tells what it does from what it did alike at those of the *passes*; where it
        cannot be run there, the axis has a bound."""
        base = {other: max(size, 2) for other, size in self.names.items()}
        cost = Cost({self._size(name, one): one.nbytes for one in passes})
        for size in doubt.sizes:
            if cost.affords(size) and not self._below(name, size):
                try:
                    new = self.traced({**base, name: size})
                except Exception:
                    continue
                if new.signature == passes[0].signature:
                    return [new]
        if doubt.needed:
            raise CannotGeneralise(
                f"a size is a share of the axis {name!r}, and no size at which that could be told is cheap enough to be tried"
            )
        most = doubt.sizes[0] - 1
        if name not in self.bounds or most < self.bounds[name].most:
            self.bounds[name] = Bound(most, f"how a size is rounded at size {most + 1} was not tried", True)
        return []

    def within_bounds(self, one: Pass) -> bool:
        """Whether no size of a pass is beyond the bounds."""
        return all([self._size(name, one) <= bound.most for name, bound in self.bounds.items()])

    def _size(self, name: str, one: Pass) -> int:
        number, axis = next((n, a) for n, of in self.axes.items() for a, other in of.items() if other == name)
        return one.given[number].shape[axis]

    def traces(self) -> list[Pass]:
        """The block traced at several sizes of all axes together, and at small and large ones of each."""
        if not self.names:
            return [self.traced({})]
        base = {name: max(size, 2) for name, size in self.names.items()}
        ways = {name: self.sizes_of(name, base) for name in self.names}
        more = [
            one
            for name, found in ways.items()
            for passes in (self.small, self.beyond)
            for one in passes(name, base, found)
        ]
        if len(ways) == 1:
            return [*ways.popitem()[1].values(), *more]
        return [*self.together(ways), *more]

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
        like = next(iter(next(iter(ways.values())).values()))
        orders = _orders(count, len(ways))
        for number in range(count):
            turned = {name: list(sizes)[order[number]] for (name, sizes), order in zip(ways.items(), orders)}
            try:
                new = self.traced(turned)
            except Exception as error:
                raise CannotGeneralise(
                    f"the axes cannot vary independently: at {turned} it fails: {type(error).__name__}: {error}"
                ) from error
            if not self._elsewhere(like, new):
                passes.append(new)
        if len(passes) < 3:
            raise CannotGeneralise(
                "the axes cannot vary: at most sizes the example's values, repeated, lead elsewhere at a branch"
            )
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
        if kind(a) != kind(b):
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
        if a is None or b is None or kind(a) != kind(b):
            where = one.paths.get(id(a), "") or other.paths.get(id(b), "")
            said = looped(one, other)
            if not said and (same := _named(a) == _named(b)) and len(a.outputs) != len(b.outputs):
                said = f"it does {_named(b)} into {len(b.outputs)} where it otherwise does so into {len(a.outputs)}"
            elif not said:
                said = f"it does {_named(b)}" + (
                    " of other values" if same else f" where it otherwise does {_named(a)}"
                )
            return said + f" (in {where})" * bool(where)
    return "it does the same"


def looped(one: Pass, other: Pass) -> str:
    """That operations are done as many times more as an axis is longer, in words; empty where others differ."""
    shapes = [[size for array in each.given for size in array.shape] for each in (one, other)]
    grown = {b - a for a, b in zip(*shapes) if a != b}
    times = Counter([_named(i) for i in other.instructions])
    times.subtract([_named(i) for i in one.instructions])
    more = {name: count for name, count in times.items() if count}
    if len(grown) != 1 or not more or abs(by := grown.pop()) < 2 or any([n % by or n * by < 0 for n in more.values()]):
        return ""
    names = [*more]
    shown = ", ".join(names[:4]) + ", ..." * (len(names) > 4)
    return (
        f"a Python loop over the axis does {shown} {abs(more[names[0]])} times {'more' if by > 0 else 'less'}: it is "
        "written out for one number of steps; let the axis not vary, or compute on all of it at once, as a recurrent layer, "
        "cumsum or a product of matrices does"
    )


_SAID = {
    Made: "a constant", Writing: "a write", Written: "a write", Graded: "backward", Sized: "a size that depends on values",
    **dict.fromkeys((BranchBegins, BranchEnds, Chosen), "cond"),
    **dict.fromkeys((LoopBegins, LoopTest, LoopEnds), "while_loop"),
    **dict.fromkeys((BackBegins, BackEnds), "the gradient of while_loop"),
}  # fmt: skip


def _named(instruction: Any) -> str:
    """What an instruction is to those who wrote the block."""
    if instruction is None:
        return "nothing"
    if isinstance(instruction, (Called, Applied)):
        called = called_function(instruction)
    else:
        called = _SAID.get(type(instruction)) or getattr(instruction, "kind", "") or instruction.name
    return called + "()" * (" " not in called)
