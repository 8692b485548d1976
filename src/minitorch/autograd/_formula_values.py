"""What arrays read as, while memory is written: the state of a reading.

A value is an array: what made it last says how it reads, unless its memory was written since; then it is taken from that.  What
nothing made is a symbol: a leaf, or a constant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._identity import owner
from .._inplace import Take
from .._records import name_of
from .._tape import AccumulateGrad, Output
from .._views import current_node, overlapping
from ._expressions import Algebra, Expression, Number
from ._formula_memory import NEVER, Region, Regions, Step, by_steps
from ._formula_places import replaced


class Symbol:
    """A name in a formula, and the tensor that it stands for (None where the graph did not keep it).

    *kind* is "variable", "constant", "index", "gradient", "direction" or "hidden" (inside of an in-place call); *name* what the
    user called it; *said* what a note is to say of it.
    """

    def __init__(self, kind: str, tensor: Any, name: str | None) -> None:
        self.kind, self.tensor, self.name = kind, tensor, name
        self.said: str | None = None

    def apart(self) -> Symbol:
        """The same of a tensor that has no history, which can be copied."""
        made = Symbol(self.kind, self.tensor, self.name)
        made.said = self.said
        if self.tensor is not None and current_node(self.tensor) is not None and not self.tensor.is_leaf:
            made.tensor = self.tensor.detach()
        return made


class Values:
    """How the values of a computation read, here and now.

    Parameters
    ----------
    names : mapping of Node to str
        What leaves are called.
    leaves : sequence of (Tensor, ndarray)
        Those that require grad, and their arrays: what has their memory and no history is such a leaf, detached.
    """

    def __init__(self, names: dict[Any, str], leaves: Iterable[tuple[Any, np.ndarray]] = ()) -> None:
        self.algebra = Algebra()
        self.names = names
        self.symbols: list[Symbol] = []
        self.uses: Counter[Any] = Counter()
        self._leaves = {id(owner(array)): (leaf, array) for leaf, array in leaves if array.size}
        self._leaf_arrays = {id(array) for _, array in leaves}
        self._unfollowed: set[int] = set()
        self._values: dict[int, tuple[Expression, int]] = {}
        self._made: dict[Any, Expression] = {}
        self._then: dict[int, np.ndarray] = {}
        self._alive: list[Any] = []
        self.regions = Regions()
        self.fixed: list[Any] = []  # shapes that depended on values, until a write
        self._now = 0

    # -- what a tensor is
    def array_of(self, tensor: Any) -> np.ndarray:
        """The array that a tensor had when what is being read was called."""
        array: np.ndarray = self._then.get(id(tensor), tensor._array)
        return array

    def expression_of(self, tensor: Any) -> Expression:
        """How the value of a tensor reads."""
        array = self.array_of(tensor)
        made = None if tensor._node.__class__ is AccumulateGrad else self._made.get(key_of(tensor._node))
        if made is not None and id(array) not in self._values and not self._is_written(array):
            self.set(array, made)
            return made
        leaf, shown = self._leaves.get(id(owner(array)), (None, array))
        if leaf is not None and leaf is not tensor and array.size and self.regions.find(shown) is None:
            self._outside(leaf)
        if (found := self._known(array, tensor)) is not None:
            return found
        if made is None:
            made = self._outside(tensor)
        self.set(array, made)
        return made

    def _is_written(self, array: np.ndarray) -> bool:
        region = self.regions.find(array)
        return region is not None and region.written != NEVER

    def _known(self, array: np.ndarray, tensor: Any = None) -> Expression | None:
        """How an array reads that was made, or that shows memory of what was."""
        known, since = self._values.get(id(array), (None, NEVER))
        region = self.regions.find(array)
        if region is None or (known is not None and region.written <= since):
            if known is not None and self._bare(array, tensor):
                return self.detached(known)
            return known
        steps = self.regions.steps(region, array, tensor)
        if steps is None and known is None and region.written == NEVER:
            return None
        if steps is None or region.value is None:
            raise RuntimeError(
                f"formula(): a tensor of shape {array.shape} shows memory that was written in another dtype, or at other "
                "places, and formulas do not follow that: write into a clone()"
            )
        made = self._of_region(region, steps)
        if tensor is not None and tensor._node is None:
            made = self.detached(made)
        self.set(array, made)
        return made

    def _bare(self, array: np.ndarray, tensor: Any) -> bool:
        """Whether it is the array of a leaf in a tensor without history."""
        return tensor is not None and tensor._node is None and id(array) in self._leaf_arrays

    def _of_region(self, region: Region, steps: Sequence[Step]) -> Expression:
        made, array = region.value, region.home
        for row, params, index in steps:
            taken = row.apply(array, *params)
            arrays = taken if index is not None else (taken,)
            layouts = [layout_of(a) for a in arrays]
            results: list[Expression] = self.of_row(row, (made,), dict(zip(row.params, params)), layouts)
            made, array = results[index or 0], arrays[index or 0]
        return made

    def of_row(self, row: Any, args: Any, params: Any, layouts: Any) -> list[Expression]:
        """A row's outputs, from its inputs."""
        raise NotImplementedError

    def recorded(self, tensor: Any) -> bool:
        """Whether a tensor is a result, or a constant, of what was read; a view is where what it shows is."""
        array, node = tensor._array, tensor._node
        if not (key_of(node) in self._made or id(array) in self._values or self.regions.find(array) is not None):
            return False
        e = self.expression_of(tensor)
        return (
            e.kind != "symbol" or self.symbols[e.head].kind != "variable" or self.symbols[e.head].tensor is not tensor
        )

    def detached(self, e: Expression) -> Expression:
        """An expression as a constant, where it has variables."""
        varies = any([a.kind == "symbol" and self.symbols[a.head].kind == "variable" for a in parts_of(e)])
        return self.algebra.call("detach", (e,), (), e.shape, e.dtype) if varies and e.head != "detach" else e

    def taken(self, tensor: Any, followed: bool) -> Expression:
        """How an argument of a call reads: one that was computed without history is a constant to what has one."""
        made, array = self.expression_of(tensor), self.array_of(tensor)
        if followed and tensor._node is None and id(array) in self._unfollowed:
            self._unfollowed.discard(id(array))
            made = self.detached(made)
            self.set(array, made)
        return made

    def note_unfollowed(self, call: Any) -> None:
        """Of results that have no history though their inputs have one; but for the means that a normalisation takes."""
        if getattr(call.row, "name", "") == "norm_moments":
            return
        tensors = [t for t in call.inputs if isinstance(t, _runtime.Tensor)]
        if any([t._node is not None or id(self.array_of(t)) in self._unfollowed for t in tensors]):
            outs = [out for out in call.outputs if out._node is None and out._array.dtype.kind == "f"]
            self._unfollowed.update([id(self.array_of(out)) for out in outs])

    # -- symbols
    def known(self, value: Any) -> Any:
        """The expression of a parameter that is a value of the computation, or the number in one."""
        array = value._array if isinstance(value, _runtime.Tensor) else getattr(value, "array", value)
        return self._known(array) if isinstance(array, np.ndarray) and id(array) in self._values else None

    def index_of(self, tensor: Any) -> Expression:
        """How an index reads: a constant of a kind of its own, where nothing made it."""
        found = self.known(tensor)
        return self.symbol("index", tensor, name_of(tensor)) if found is None else found

    def place_of(self, array: Any) -> Expression:
        """How an array of indices among parameters reads."""
        if (found := self.known(array)) is not None:
            return found
        tensor = array if isinstance(array, _runtime.Tensor) else _runtime.wrap(array)
        return self.symbol("constant" if tensor._array.dtype.kind == "f" else "index", tensor, name_of(tensor))

    def symbol(self, kind: str, tensor: Any, name: str | None, shape: Any = None, dtype: Any = None) -> Expression:
        """A new symbol."""
        if tensor is not None:
            array = self.array_of(tensor)
            shape, dtype = array.shape, array.dtype
            if array is not tensor._array:  # it has got another one since
                tensor = _runtime.wrap(array, tensor._node)
        self.symbols.append(Symbol(kind, tensor, name))
        made = self.algebra.symbol(len(self.symbols) - 1, shape, dtype)
        if tensor is not None:
            self.set(array, made)
        return made

    def frozen(self, array: np.ndarray, said: str, node: Any = None) -> Expression:
        """A constant of the values that an array has, with a note that says so."""
        made = self.symbol("constant", _runtime.wrap(array.copy(), node), None)
        self.symbols[-1].said = said
        return made

    def _outside(self, tensor: Any) -> Expression:
        node, array = tensor._node, self.array_of(tensor)
        name = self.names.get(node) or name_of(tensor)
        if node is not None:
            self._made[key_of(node)] = made = self.symbol("variable", tensor, name)
            return made
        number = array.dtype.kind == "f" or getattr(tensor, "is_number", False)
        if name is None and number and (value := _uniform(array)) is not None:
            return self.algebra.constant(value, array.shape, array.dtype)
        return self.symbol("constant", tensor, name)

    # -- what is made, and written
    def set(self, array: np.ndarray, made: Expression, node: Any = None) -> None:
        """An array has these values now: it is new, or was found to have them."""
        self._alive.append(array)
        self._values[id(array)] = made, self._now
        if array.size and self.regions.find(array) is None:
            self.regions.add(array, made)
        if node is not None and node.__class__ is not AccumulateGrad:
            self._made[key_of(node)] = made
        if self.uses[id(array)] > 1:
            self.algebra.shared.add(made.serial)

    def found(self, array: np.ndarray, e: Expression) -> None:
        """An array, of which nothing else may be known, has these values."""
        if id(array) not in self._values:
            self.set(array, self.algebra.fitted(e, *layout_of(array)))

    def was(self, array: np.ndarray, before: Any) -> None:
        """What memory had in it before the computation wrote there."""
        self._alive.append(array)
        leaf, known = self._leaves.get(id(owner(array)), (None, array))
        steps = [] if leaf is None else self.regions.steps(Region(array, None), known, None)
        if steps is None or self.regions.find(known) is not None:
            return
        if leaf is not None:
            name = name_of(leaf)
            before = _runtime.wrap(by_steps(before._array, steps), leaf._node)
            before.name = name
        elif before._node.__class__ is AccumulateGrad:  # of a leaf that was given this memory by ``.data = ...``
            before = _runtime.wrap(before._array)
        self.regions.add(known, self._outside(before))

    def changed(self, array: np.ndarray, after: np.ndarray) -> None:
        """Memory was written by something that is no operation."""
        self.write(array, self.frozen(after, "written by what is no operation of the block, as recorded"))

    def derived(self, array: np.ndarray, values: np.ndarray) -> None:
        """A gradient was computed by operations that are not known."""
        self.set(array, self.frozen(values, "a gradient that was computed without create_graph, as recorded"))

    def copy(self, tensor: Any, array: Any) -> None:
        """*array* has the values that *tensor* had then."""
        self.set(array, self.expression_of(tensor))

    def write(self, array: np.ndarray, made: Expression, node: Any = None, root_node: Any = None) -> None:
        """Values were written into the memory that an array shows."""
        self._now += 1  # what was read for this is from before
        made = self.algebra.fitted(made, *layout_of(array))
        array, made = self._apart(array, made)
        region = self.regions.find(array)
        if region is None:
            region = self.regions.add(array, made) if array.size else Region(array, made)
        elif region.value is not None and region.value.loose and not (made.loose and region.home is array):
            self.fixed.append(region.home.shape)
        steps = self.regions.steps(region, array, None)
        if steps is None or region.value is None:
            raise RuntimeError(
                f"formula(): a write into a tensor of shape {array.shape} goes to memory that formulas know in another "
                "dtype, or at other places: write into a clone()"
            )
        if steps:
            take = Take(region.home, steps, array)
            whole = replaced(self, region.value, made, take)
            if whole is None:
                place = self.parameter("place", take, [], 0)
                inputs = region.value, made
                whole = self.algebra.call("copy_slices", inputs, (("take", place),), *layout_of(region.home))
        else:
            whole = made
        region.value, region.written = whole, self._now
        for other in self.regions.beside(array, region) if array.size else ():
            other.value, other.written = None, self._now
        self.set(region.home, whole, root_node)
        self.set(array, made, node)

    def _apart(self, array: np.ndarray, made: Expression) -> tuple[np.ndarray, Expression]:
        """An array of which each element has a memory place of its own, and what is written there."""
        if not array.size or not overlapping(array):
            return array, made
        first = array[tuple([slice(1 if step == 0 else None) for step in array.strides])]
        if made.kind != "number" or overlapping(first):
            raise RuntimeError(
                f"formula(): a write into a tensor of shape {array.shape}, of which several elements are one place of memory, "
                "is not followed: write into a clone()"
            )
        return first, self.algebra.constant(made.number, *layout_of(first))

    def parameter(self, name: str, value: Any, refs: list[Expression], count: int) -> Any:
        """A parameter as it is written."""
        raise NotImplementedError


# -- helpers -----------------------------------------------------------------------------------------------------------
def parts_of(e: Expression) -> list[Expression]:
    """All parts of an expression that are not detached."""
    seen: dict[int, Expression] = {}
    stack = [e]
    while stack:
        part = stack.pop()
        if part.serial not in seen and part.head != "detach" and (part.dtype is None or part.floats):
            seen[part.serial] = part
            stack.extend(part.args)
    return list(seen.values())


def key_of(node: Any) -> tuple[Any, int]:
    """A node, and the number of its output."""
    return (node.edges[0], node.index) if node.__class__ is Output else (node, 0)


def layout_of(array: np.ndarray) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the dtype."""
    return array.shape, array.dtype


def _uniform(array: np.ndarray) -> Number | None:
    """The number that all elements are; as people wrote it, where it was rounded to float32."""
    if not array.size or not ((array == array.flat[0]) | (np.isnan(array) & np.isnan(array.flat[0]))).all():
        return None
    return float(str(array.flat[0])) if array.dtype.kind == "f" else int(array.flat[0])
