"""Programs for many sizes as NumPy code: sizes are read from the inputs, and what depends on them is written as expressions."""

from __future__ import annotations

import ast
import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._kernels.spaced import spaced
from .._modes import set_grad_enabled
from .._pytree import tree_flatten, tree_unflatten
from .._runtime import Tensor, wrap
from .._sites import site_of
from .._trace_instructions import Called, Left, Packed, Sized, Slot
from ._copied import Copies
from ._facts import reads_of
from ._free_names import Unwritable
from ._number_expressions import Expression
from ._python import FOLLOWED, Block, Body, Weights
from ._size_expressions import (
    Axis,
    Computed,
    Counted,
    Diagonal,
    Filled,
    Listed,
    Parts,
    Repeated,
    Size,
    Spaced,
    Triangle,
    Varying,
    alike,
)
from ._size_passes import CannotGeneralise, in_order, resized
from ._sizes import General, generalise
from ._stands import flat
from ._traced_code import Plan
from ._tried_sizes import SMALL, Cost
from ._written_variants import own_tensors

SIZED = (Size, Expression, Repeated, Filled, Listed, Counted, Spaced, Diagonal, Triangle, Parts, Computed, Varying)

_ALONE = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
"""What expressions need no brackets."""
_OTHERS = (9, 10, 11, 12, 13, 14, 15, 18, 21, 22, 26, 31)
"""At which sizes, besides some that are drawn, what is written is compared with the block, which was not traced there."""


class Text(str):
    """A size that may be another one, as an expression."""

    __slots__ = ()


def axes_by_number(body: Body, given: Mapping[Any, Any]) -> dict[int, dict[int, str]]:
    """For the tensors among the arguments, by number, the names of the axes that may vary.

    Raises
    ------
    TypeError
        If *given* is no dict of axes.
    ValueError
        For an input or an axis that is not there.
    """
    if not isinstance(given, Mapping) or not all([isinstance(axes, Iterable) for axes in given.values()]):
        raise TypeError(f"to_python(): dynamic_axes must be as {{'x': {{0: 'n'}}}} or {{'x': [0]}}, not {given!r}")
    inputs = {known: slot for name, path, slot in body.inputs() for known in (name, path)}
    found: dict[int, dict[int, str]] = {}
    for name, axes in given.items():
        if name not in inputs:
            raise ValueError(
                f"to_python(): dynamic_axes names {name!r}, but the inputs are {', '.join(map(repr, inputs))}"
            )
        slot = inputs[name]
        named = axes if isinstance(axes, Mapping) else {axis: f"{name}_size_{axis}" for axis in axes}
        ndim = body.trace.arrays[slot].ndim
        if wrong := [axis for axis in named if not -ndim <= axis < ndim]:
            raise ValueError(
                f"to_python(): {name!r} has {ndim} dimensions, but dynamic_axes names dimension {wrong[0]}"
            )
        if nameless := [axis for axis, said in named.items() if not str(said).strip()]:
            raise ValueError(
                f"to_python(): dynamic_axes gives dimension {nameless[0]} of {name!r} an empty name: name it, as in "
                f"{{{name!r}: {{{nameless[0]}: 'n'}}}}"
            )
        found[int(slot)] = {axis % ndim: str(said) for axis, said in named.items()}
    return found


def general_of(function: Any, block: Block, axes: Mapping[int, Mapping[int, str]]) -> General:
    """A traced function as one program for many sizes; the example of a block gives the other sizes."""
    leaves, spec = flat(block.given)
    if any([example is None for example in block.examples]):
        raise RuntimeError(
            "to_python(): other sizes are made of the example that it was traced on, which is gone, for large ones are not "
            "kept: trace the function with static.trace(function, example), and write that"
        )
    tensors = own_tensors(block.examples, block.required)
    args, kwargs = tree_unflatten([tensors[x] if isinstance(x, Slot) else x for x in leaves], spec)
    try:
        with set_grad_enabled(block.recording):
            return generalise(lambda a, k: function(*a, **k), [args, kwargs], axes, from_below=True, follows=FOLLOWED)
    except CannotGeneralise as error:
        raise RuntimeError(f"to_python(): with these dynamic_axes, {error}") from error


def block_of_general(general: General, given: Any) -> Block:
    """What a program for many sizes does."""
    plan = Plan(general.trace, general.results, ("dead code",))
    count = iter(range(len(general.results)))
    leaves = [Slot(next(count)) if isinstance(x, Tensor) else x for x in general.passes[0].leaves]
    for other in general.passes[1:]:
        fixed = zip(general.passes[0].leaves, other.leaves)
        if any([not isinstance(a, Tensor) and not alike(a, b) for a, b in fixed]):
            raise RuntimeError(
                "to_python(): with these dynamic_axes, numbers that are returned depend on sizes: return tensors of them"
            )
    return Block(plan, general.instructions, given, tree_unflatten(leaves, general.passes[0].spec), [])


class SizedBody(Body):
    """The lines of a function for many sizes."""

    def __init__(
        self,
        function: Any,
        general: General,
        example: Block,
        copies: Copies,
        weights: Weights,
        problems: dict[str, None],
    ) -> None:
        block = block_of_general(general, example.given)
        super().__init__(function, block, copies, weights, problems)
        self.general = general
        self.least: dict[str, int] = {}
        self.right: dict[str, list[int]] = {}  # besides the sizes that were traced, those at which it was found right
        self.failing: dict[str, list[int]] = {}  # where the block fails, but what is written does not
        self._sizes: dict[str, str] = {}  # the variables of named sizes
        self._first_in: dict[str, str] = {}  # the inputs that these are read from
        self._first = {id(g): i for g, i in zip(general.instructions, general.passes[0].instructions)}
        self._group = {id(g): n for n, g in enumerate(general.instructions)}
        for number, ins in enumerate(self.instructions):  # a size is read of a value for as long
            for axis in axes_in([getattr(ins, "inputs", ()), getattr(ins, "params", ()), *self._shapes_of(ins)]):
                self.last[axis.slot] = max(number, self.last.get(axis.slot, 0))

    def _shapes_of(self, ins: Any) -> list[Any]:
        return [self.general.shapes.get(s, ()) for s in (*reads_of(ins), *getattr(ins, "outputs", ()))]

    def begin(self, taken: set[str]) -> None:
        """Start writing."""
        super().begin(taken)
        self._sizes, self._first_in = {}, {}

    def tried(self) -> str:
        """The sizes at which what is written was compared with what was traced."""
        sizes: dict[str, set[int]] = {}
        for one in self.general.passes:
            for name, size in self.general.sizes(one).items():
                sizes.setdefault(name, {*self.right.get(name, ())}).add(size)
        least = self.least
        said = [f"{name} {_ranges({s for s in found if s >= least.get(name, 0)})}" for name, found in sizes.items()]
        return f"It was compared with what was traced at {'; '.join(said)}." if said else ""

    # -- sizes ---------------------------------------------------------------------------------------------------------
    def axis(self, axis: Axis) -> str:
        """A size, as an expression."""
        return self._sizes[axis.name] if axis.name in self._sizes else f"{self.slot(axis.slot)}.shape[{axis.axis}]"

    def size(self, size: Any) -> Any:
        """An integer, or what says how to compute it."""
        return Text(size.text(self.axis)) if isinstance(size, Size) else size

    def shape(self, slot: Slot) -> tuple[Any, ...]:
        """A value's shape."""
        return tuple([self.size(size) for size in self.general.shapes.get(slot, self.trace.arrays[slot].shape)])

    def shape_wanted(self, slot: Slot) -> str:
        """The shape that an input must have: names of sizes that may vary, as strings."""
        sizes = enumerate(self.general.shapes[slot])
        said = [_quoted(name) if (name := self._name(slot, axis)) else str(self.size(size)) for axis, size in sizes]
        return f"({', '.join(said)}{',' * (len(said) == 1)})"

    def _name(self, slot: Slot, axis: int) -> str:
        size = self.general.shapes[slot][axis]
        return size.axes[0].name if isinstance(size, Size) and len(size.axes) == 1 else ""

    def sizes_of(self, slot: Slot, path: str) -> Iterator[str]:
        """Lines that name sizes of an input, and check them."""
        for axis in range(len(self.general.shapes[slot])):
            if not (name := self._name(slot, axis)):
                continue
            size, said = f"{self._names[slot]}.shape[{axis}]", _quoted(name)
            if name in self._sizes:
                first = _quoted(self._first_in[name])
                here = _quoted(f"{path}.shape[{axis}]")
                yield f"_same_size({said}, {self._sizes[name]}, {first}, {size}, {here})"
                continue
            self._sizes[name], self._first_in[name] = self.own(name), f"{path}.shape[{axis}]"
            yield f"{self._sizes[name]} = {size}"
            if self.least.get(name, 0) > 0:
                known = self.general.least.get(name)
                below = _quoted(known.said if known and known.size >= self.least[name] else "")
                yield f"_at_least({said}, {self._sizes[name]}, {self.least[name]}, {below})"
            if bound := self.general.bounds.get(name):
                yield f"_at_most({said}, {self._sizes[name]}, {bound.most}, {_quoted(bound.said)})"
            if failing := self.failing.get(name):
                yield f"_not_at({said}, {self._sizes[name]}, {failing})"

    # -- what depends on them ------------------------------------------------------------------------------------------
    def inputs_of(self, ins: Called) -> list[Any]:
        """The arrays that a call's inputs were."""
        return super().inputs_of(self._first.get(id(ins), ins))

    def operands(self, ins: Called) -> tuple[list[str], list[Any]]:
        """The operands as the kernel takes them."""
        said, fitted = super().operands(self._first[id(ins)])
        for place, (item, array) in enumerate(zip(ins.inputs, fitted)):
            if isinstance(item, SIZED):
                literal = getattr(ins.row, "is_ufunc", False)
                text = self.param(item)
                said[place] = (
                    bracketed(text) if literal else f"{self.copies.numpy()}.array({text}, {self.param(array.dtype)})"
                )
        return said, fitted

    def known(self, value: Any) -> Any:
        """A parameter for a plain form."""
        if isinstance(value, SIZED):
            return Text(self.param(value))
        if isinstance(value, (tuple, list)):
            return type(value)([self.known(item) for item in value]) if not hasattr(value, "_fields") else value
        return super().known(value)

    def param(self, value: Any) -> str:
        """A parameter as an expression."""
        if isinstance(value, SIZED):
            return self.sized(value)
        if value.__class__ in (tuple, list):
            items = [self.param(item) for item in value]
            return (
                f"({', '.join(items)}{',' * (len(items) == 1)})"
                if value.__class__ is tuple
                else f"[{', '.join(items)}]"
            )
        return super().param(value)

    def sized(self, value: Any) -> str:
        """What depends on sizes, as an expression."""
        np_ = self.copies.numpy()
        if isinstance(value, Size):
            return str(self.size(value))
        if isinstance(value, Expression):
            return value.text(self.axis, self.copies.expression)
        if isinstance(value, Repeated):
            return f"({self.param(value.item)},) * ({self.param(value.count)})"
        if isinstance(value, Filled):
            return f"{np_}.full({self.param(value.shape)}, {self.param(value.value)}, {np_}.{value.dtype.name})"
        if isinstance(value, Listed):
            said = f"{np_}.array([{', '.join(map(self.param, value.items))}], {np_}.{value.dtype.name})"
            return said if len(value.shape) == 1 else f"{said}.reshape({self.param(value.shape)})"
        if isinstance(value, Counted):
            count, start, step = self.param(value.count), self.param(value.start), self.param(value.step)
            if start == "0" and step == "1":
                return f"{np_}.arange({count}, dtype={np_}.{value.dtype.name})"
            return f"({bracketed(start)} + {bracketed(step)} * {np_}.arange({count})).astype({np_}.{value.dtype.name})"
        if isinstance(value, Spaced):
            given = ", ".join(map(self.param, (value.start, value.end, value.count)))
            return f"{self.copies.expression(spaced)}({given}, {np_}.{value.dtype.name})"
        if isinstance(value, Diagonal):
            eye = f"{np_}.eye({', '.join(map(self.param, value.shape))}, dtype=bool)"
            return (
                f"{np_}.where({eye}, {self.param(value.on)}, {self.param(value.off)}).astype({np_}.{value.dtype.name})"
            )
        if isinstance(value, Triangle):
            tri = f"{np_}.tri({', '.join(map(self.param, value.shape))}, k={self.param(value.diagonal)}, dtype=bool)"
            return f"{np_}.where({tri}, {self.param(value.below)}, {self.param(value.above)}).astype({np_}.{value.dtype.name})"
        if isinstance(value, Computed):
            return f"{self.copies.expression(value.function)}({', '.join(map(self.param, value.given))})"
        if isinstance(value, Parts):
            names = list(inspect.signature(value.kind).parameters)
            if all([name in value.attributes for name in names]):
                given = ", ".join([self.param(value.attributes[name]) for name in names])
                return f"{self.copies.expression(value.kind)}({given})"
        raise Unwritable(
            "something that depends on sizes in a way that no expression was found for: leave the axis out of dynamic_axes, "
            "and call the function on an example of each size that is needed before"
        )

    def slot(self, slot: Slot) -> str:
        """An expression for a value."""
        constant = self.general.constants.get(slot)
        if slot not in self._names and slot in self.trace.captured and isinstance(constant, SIZED):
            return self.sized(constant)
        return super().slot(slot)

    def origin(self, ins: Any) -> str:
        """What people called, of which an instruction is, and where."""
        name, mark = self.general.passes[0].calls.get(id(self._first.get(id(ins))), ("", None))
        site = site_of(mark)
        place = f" at {site.short}" if site is not None and not site.file.startswith("<") else ""
        return (f"{name}()" if name else super().origin(ins)) + place

    def made(self, slot: Slot, array: np.ndarray) -> str:
        """What a factory made, as an expression."""
        constant = self.general.constants.get(slot)
        return self.sized(constant) if isinstance(constant, SIZED) else super().made(slot, array)

    def instruction(self, ins: Any) -> Iterator[str]:
        """The lines of an instruction."""
        if isinstance(ins, Sized):
            return  # it is another one at each size of the axes
        if isinstance(ins, Left):
            values = [p.instructions[self._group[id(ins)]].value for p in self.general.passes]
            if not all([alike(values[0], value) for value in values[1:]]):
                self.problems[
                    f"a value becomes Python's by {ins.kind}() and is another one at each size: keep it a tensor"
                ] = None
                return
        yield from super().instruction(ins)


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, those in a row as ``2 to 5``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join([f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in found])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def bracketed(text: str) -> str:
    """An expression as an operand of any sign."""
    return text if isinstance(ast.parse(text, mode="eval").body, _ALONE) else f"({text})"


class Trial:
    """Runs what is written at the sizes at which the block was traced, and at small ones.

    Parameters
    ----------
    written : callable
        The function that was written.
    body : Body
    function : callable
        What was traced.
    axes : dict
        See `axes_by_number`.
    example : Block
        What was traced.
    """

    def __init__(
        self, written: Any, body: Any, function: Any, axes: Mapping[int, Mapping[int, str]], example: Block
    ) -> None:
        self.written, self.body, self.function, self.axes, self.example = written, body, function, axes, example

    def settle(self) -> None:
        """Note in the body how small sizes may be.

        Raises
        ------
        RuntimeError
            Where what is written gives other bits than the block did.
        """
        for one in self.body.general.passes:
            arrays = [one.trace.arrays[slot] for slot in one.trace.arguments]
            if not self.gives(arrays, [one.trace.arrays[slot] for slot in one.results]):
                sizes = self.body.general.sizes(one)
                raise RuntimeError(
                    f"to_python(): with these dynamic_axes the code would give other bits than the model at {sizes}: trace "
                    "the model at each size, and write it without dynamic_axes"
                )
        self._elsewhere()
        for name in self._names():
            traced = {self.body.general.sizes(one)[name] for one in self.body.general.passes}
            least = self.body.general.least[name].size if name in self.body.general.least else 0
            small = [size for size in range(least, min(SMALL, max(traced)) + 1) if size not in traced]
            found = {size: self._outcome({name: size}) for size in small}
            least = max([size + 1 for size in small if found[size] == "wrong" and size < min(traced)], default=least)
            while found.get(least) in ("fails", "gives where the block fails"):
                least += 1
            self.body.least[name] = least
            self.body.right[name] = [size for size in small if found[size] == "right" and size >= least]
            failing = ("wrong", "gives where the block fails")
            self.body.failing[name] = [size for size in small if found[size] in failing and size > least]

    def _names(self) -> list[str]:
        return list(dict.fromkeys([name for of in self.axes.values() for name in of.values()]))

    def _elsewhere(self) -> None:
        """Compare it with the block at sizes at which that was not traced, on values that are drawn."""
        general = self.body.general
        draw = np.random.default_rng(0)
        tried: list[dict[str, int]] = [general.sizes(one) for one in general.passes[:3]]
        for name in self._names():
            traced = {general.sizes(one)[name]: one.nbytes for one in general.passes}
            cost = Cost(traced)
            for size in [s for s in (*_OTHERS, *map(int, draw.integers(25, 400, 8))) if s not in traced]:
                if len(traced) > 1 and cost.affords(size):
                    cost.add(size, cost.expected(size))
                    tried.append({name: size})
        if len(self._names()) > 1:
            tried += [{name: int(draw.integers(3, 12)) for name in self._names()} for _ in range(6)]
        least = {name: known.size for name, known in general.least.items()}
        for sizes in [of for of in tried if all([size >= least.get(name, 0) for name, size in of.items()])]:
            if not self.right_at(sizes, Drawn(draw)):
                raise RuntimeError(
                    f"to_python(): with these dynamic_axes the code would give other bits than the model at {sizes}, on values "
                    "that were drawn: trace the model at each size, and write it without dynamic_axes"
                )

    def _outcome(self, sizes: Mapping[str, int]) -> str:
        """What comes of it at these sizes, on the example's values, beside what comes of the block."""
        tensors = self._resized(sizes)
        arrays = [t._array for t in tensors]
        wanted = self.wanted(arrays)
        try:
            found = self._found(arrays)
        except Exception as error:
            refused = type(error).__name__ == "OtherInputs"
            return "fails" if wanted is None else "refused" if refused else "wrong"
        if wanted is None:
            return "gives where the block fails"
        same = _all_the_same(found, wanted, alike) and self.right_at(sizes, Drawn(np.random.default_rng(0)))
        return "right" if same else "wrong"

    def right_at(self, sizes: Mapping[str, int], values: Drawn) -> bool:
        """Whether it gives at these sizes what the block gives there, on values that are drawn, if the block can be run on
        them and the code says that it is for these."""
        tensors = self._resized(sizes)
        for way in values.ways:
            arrays = [values(t._array, way) for t in tensors]
            wanted = self.wanted(arrays)
            if wanted is not None:
                return self.gives(arrays, wanted, may_refuse=True)
        return True

    def _resized(self, sizes: Mapping[str, int]) -> list[Any]:
        """The example at these sizes."""
        one = self.body.general.passes[0]
        tensors = [wrap(one.trace.arrays[slot]) for slot in one.trace.arguments]
        for number, of in self.axes.items():
            for axis, name in of.items():
                if name in sizes:
                    tensors[number] = resized(tensors[number], axis, sizes[name])
        return tensors

    def wanted(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """What the block gives; None where it fails."""
        example = self.example
        leaves, spec = flat(example.given)
        given = own_tensors(arrays, example.required)
        args, kwargs = tree_unflatten([given[x] if isinstance(x, Slot) else x for x in leaves], spec)
        try:
            with set_grad_enabled(example.recording), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = tree_flatten(self.function(*args, **kwargs))[0]
        except Exception:
            return None
        return [t._array for t in wanted if isinstance(t, Tensor)]

    def gives(self, arrays: Sequence[np.ndarray], wanted: Sequence[np.ndarray], may_refuse: bool = False) -> bool:
        """Whether it gives these arrays; or refuses what it is given, where it *may*."""
        try:
            found = self._found(arrays)
        except Exception as error:
            return may_refuse and type(error).__name__ == "OtherInputs"
        return _all_the_same(found, wanted, _same_values if may_refuse else alike)

    def _found(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What is written gives."""
        args, kwargs = [], {}
        for parameter in self.body.parameters:
            leaves, spec = tree_flatten(parameter.value)
            value = tree_unflatten([arrays[x].copy() if isinstance(x, Slot) else x for x in leaves], spec)
            if parameter.by_name:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return [x for x in tree_flatten(self.written(*args, **kwargs))[0] if isinstance(x, np.ndarray)]


def _all_the_same(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], same: Callable[..., bool]) -> bool:
    return len(found) == len(wanted) and all(map(same, found, wanted))


def _same_values(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether arrays are the same but for what the bits of NaNs are."""
    if alike(found, wanted):
        return True
    same = found.dtype == wanted.dtype and found.shape == wanted.shape and found.dtype.kind == "f"
    return same and alike(np.where(np.isnan(found), np.nan, found), np.where(np.isnan(wanted), np.nan, wanted))


class Drawn:
    """Draws values that may stand for others: numbers around zero, or such as the example's; integers within their range."""

    ways = ("wide", "between 0 and 1", "as given")
    """What is tried after each other where a block takes no others."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def __call__(self, array: np.ndarray, way: Any) -> np.ndarray:
        kind = array.dtype.kind
        found = array.copy("K")
        if not array.size:
            return found
        if kind == "f":
            if way == "wide":
                found[...] = self.draw.normal(size=array.shape)
            elif way == "between 0 and 1":
                found[...] = self.draw.uniform(size=array.shape)
            else:
                found[...] = self.draw.choice(array.ravel(), array.shape)
        elif kind == "b":
            found[...] = self.draw.choice([False, True], array.shape)
        elif not in_order(array):
            found[...] = self.draw.integers(array.min(), array.max(), array.shape, array.dtype, endpoint=True)
        return found


def axes_in(value: Any) -> Iterator[Axis]:
    """The sizes that something depends on."""
    if isinstance(value, Axis):
        yield value
    elif isinstance(value, Size):
        yield from value.axes
    elif isinstance(value, Packed):
        yield from axes_in(value.items)
    elif isinstance(value, Computed):
        yield from axes_in(value.given)
    elif isinstance(value, Parts):
        yield from axes_in(list(value.attributes.values()))
    elif isinstance(value, (tuple, list)) and not isinstance(value, Varying):
        for item in value:
            yield from axes_in(item)
