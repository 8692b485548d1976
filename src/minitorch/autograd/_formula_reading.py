"""From what was recorded to expressions: the calls of a block or the nodes of a result, and those of its backward pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from .. import _runtime
from .._args import Position
from .._choices import Choice
from .._choices import Number as ChosenNumber
from .._dtypes import dtype
from .._inplace import Take
from .._modes import Observer, differ_since, observers
from .._op import Row, rows
from .._records import op_name
from .._tape import AccumulateGrad
from ._expressions import Expression, Number
from ._formula_calls import CALLS, DEFAULTS, NORMALIZING, statistics_of
from ._formula_choices import NAMES, REPLACING, of_choice
from ._formula_functions import RESERVED, USUAL, name_of_call, public
from ._formula_in_place import as_given, called_in_place, row_in_place, saved_params
from ._formula_places import follows
from ._formula_rows import RESHAPES, read
from ._formula_text import LEFT_OUT, UNKNOWN, Opaque, Ref, identifier
from ._formula_values import Values, key_of, layout_of
from ._formula_written import defaults, written
from ._seen import Seen, seen_in

_watching: ContextVar[Any] = ContextVar("watching", default=None)
_SHOWN_BY_NODES = frozenset(["asked"])
"""Parameters that no kernel reads: people see them at nodes."""


class Watch(Observer):
    """Notes what is called while it is entered, parts of in-place calls too."""

    parts = True

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def __enter__(self) -> Watch:
        self._token = _watching.set(self)
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        _watching.reset(self._token)

    def active(self) -> bool:
        return _watching.get() is self

    def recorded(self, call: Any) -> None:
        self._note((*call.inputs, *call.outputs), "read_call", call, seen_in(call))

    def written(self, tensor: Any, out: Any) -> None:
        self._note((tensor, out), "overwrite", tensor, out)

    def copied(self, tensor: Any, array: Any) -> None:
        self._note((tensor,), "copy", tensor, array)

    def _note(self, tensors: tuple[Any, ...], *event: Any) -> None:
        if not differ_since(self, tensors):
            self.events.append(event)


class Reading(Values):
    """Reads calls, writes and nodes, in the order in which they came.

    Parameters
    ----------
    names : mapping of Node to str
        What leaves are called.
    leaves : sequence of (Tensor, ndarray)
        Those that require grad, and their arrays: what has their memory and no history is such a leaf, detached.
    """

    def __init__(self, names: dict[Any, str], leaves: Iterable[tuple[Any, np.ndarray]] = ()) -> None:
        super().__init__(names, leaves)
        self.functions: dict[str, Any] = {}
        self.own: dict[Any, str] = {}  # functions of the user's, and their names
        self.arrays: set[tuple[str, str]] = set()
        self.tuples: set[str] = set()  # rows whose ``dim`` is a tuple
        self.users: dict[int, Expression] = {}
        self.pools: dict[int, Any] = {}
        self._opaque: dict[Any, Opaque] = {}

    def run(self, events: Iterable[tuple[Any, ...]]) -> None:
        for event, *args in events:
            self._now += 1
            getattr(self, event)(*args)

    # -- calls
    def read_call(self, call: Any, seen: Seen) -> None:
        self._then = seen.arrays
        try:
            self._read(call, seen)
        finally:
            self._then = {}

    def _read(self, call: Any, seen: Seen) -> None:
        if call.in_place:
            return self._read_in_place(call, seen)
        outputs, row = call.outputs, call.row
        arrays = [self.array_of(out) for out in outputs]
        if not isinstance(row, (Row, Choice)):
            made = self._custom(row, call, outputs)
        elif "generator" in row.params or getattr(row, "draws", False):
            for out, array in zip(outputs, arrays):
                self._drawn(out, array)
            return
        elif isinstance(row, Choice):
            made = self._chosen(row, call)
        else:
            node = call.node
            args = tuple([self.taken(t, node is not None) for t in call.inputs])
            made = self.of_row(row, args, dict(zip(row.params, call.params)), [layout_of(a) for a in arrays])
            if call.node is not None and "aside" in row.kept and call.node.saved_aside is not None:
                self._read_aside(row, args, call.params, call.node)
        for index, (out, array, e) in enumerate(zip(outputs, arrays, made)):
            if call.inputs and (getattr(row, "view", False) or getattr(row, "name", "") == "detach"):
                number = index if getattr(row, "outputs", False) else None
                self.regions.viewed(array, self.array_of(call.inputs[0]), row, call.params, number)
            self.set(array, e, call.made if len(outputs) == 1 else out._node)
        if isinstance(row, Choice) and row.name in REPLACING:
            self.write(self.array_of(call.inputs[0]), made[0])
        if call.node is None:
            self.note_unfollowed(call)

    def _drawn(self, out: Any, array: Any, values: Any = None) -> Expression:
        """What was drawn at random: a constant."""
        made = self._known(array) if values is None else None  # from before it was written
        if made is None:
            made = self.symbol("constant", out if values is None else _runtime.wrap(values), None)
        if made.kind == "symbol":
            self.symbols[made.head].said = "drawn at random, as recorded"
        if values is None:
            self.set(array, made, out._node)
        return made

    def of_row(self, row: Row, args: tuple[Expression, ...], params: dict[str, Any], layouts: Any) -> list[Expression]:
        """A row's outputs, from its inputs."""
        if row.view and len(args) == 1 and args[0].kind == "number":
            return [self.algebra.constant(args[0].number, *layout) for layout in layouts]
        followed = follows(self, params)
        if (
            not followed
            and (own := CALLS.get(row.name)) is not None
            and (found := own(self, args, params, layouts)) is not None
        ):
            self._alive.append(params)
            several = found if isinstance(found, list) else [found]
            return [self.algebra.fitted(e, *layout) for e, layout in zip(several, layouts)]
        if not followed and (results := written(self, row, args, params, layouts)) is not None:
            return results
        shown, refs = self._shown(row, params, len(args))
        name = name_of_call(row.name, (*args, *refs), shown)
        if len(layouts) == 1 and not row.outputs:
            (layout,) = layouts
            if refs:
                return [self.algebra.call(name, (*args, *refs), shown, *layout)]
            if row.elementwise and (value := _folded(row, args, params)) is not None:
                return [self.algebra.constant(value, *layout)]
            made = read(row, args, params, *layout)
            return [self.algebra.call(name, args, shown, *layout) if made is None else made]
        call = self.algebra.call(name, (*args, *refs), shown)
        return [self.algebra.item(call, index, *layout) for index, layout in enumerate(layouts)]

    def _chosen(self, row: Choice, call: Any) -> list[Expression]:
        """What a choice makes of values: a call, that makes it again."""
        name, params = NAMES.get(row.name, identifier(row.name)), dict(zip(row.params, call.params))
        args = [self.expression_of(t) for t in call.inputs if t is not None]
        layouts = [layout_of(self.array_of(out)) for out in call.outputs]
        if (found := of_choice(self, row.name, args, params, layouts)) is not None:
            return [found]
        shown, refs = self._shown(row, params, len(args))
        name = name_of_call(name, (*args, *refs), shown)
        self.functions |= {} if name in USUAL else {name: partial(_chosen, row)}
        if len(layouts) == 1 and "tuple" not in str(row.kernel.__annotations__.get("return")):
            return [self.algebra.call(name, (*args, *refs), shown, *layouts[0])]
        made = self.algebra.call(name, (*args, *refs), shown)
        return [self.algebra.item(made, index, *layout) for index, layout in enumerate(layouts)]

    def _shown(
        self, row: Any, params: dict[str, Any], count: int
    ) -> tuple[tuple[tuple[str, Any], ...], list[Expression]]:
        """A call's parameters, without those that have their default, and the values that are among them: further arguments
        after the *count* that it has."""
        if params.get("end").__class__ is int and "shape" in params:  # not 2**63 - 1
            params = {**params, "end": min(params["end"], params["shape"][params["dim"]])}
        if isinstance(dim := params.get("dim"), tuple) and len(dim) == 1:
            params = {**params, "dim": dim[0]}
            self.tuples.add(row.name)
        refs: list[Expression] = []
        usual = DEFAULTS.get(row.name, {})
        shown = [
            (
                p,
                LEFT_OUT
                if v is UNKNOWN and (row.params[p] or p in defaults(row.name))
                else self.parameter(p, v, refs, count),
            )
            for p, v in params.items()
            if p not in _SHOWN_BY_NODES and (p not in usual or (usual[p] != v and v is not UNKNOWN))
            if row.params[p] != f"={v!r}" or isinstance(v, (ChosenNumber, Position)) or isinstance(row, Choice)
        ]
        for name, value in params.items():
            if isinstance(value, np.ndarray) or (
                isinstance(value, (tuple, list)) and any([isinstance(v, np.ndarray) for v in value])
            ):
                self.arrays.add((row.name, name))
        return ((("*", True), *shown) if row.variadic else tuple(shown)), refs

    def parameter(self, name: str, value: Any, refs: list[Expression], count: int) -> Any:
        """A parameter as it is written: what is no number or word goes by a name, a value of the computation is an argument."""
        if (found := self.known(value)) is not None:
            refs.append(found)
            return Ref(count + len(refs) - 1, isinstance(value, ChosenNumber))
        if isinstance(value, (tuple, list)) and any([self.known(v) is not None for v in value]):
            return tuple([self.parameter(name, v, refs, count) for v in value])
        if (
            value is None
            or value is UNKNOWN
            or isinstance(value, (bool, int, float, str, np.dtype))
            or _is_numbers(value)
        ):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, list) and all([isinstance(v, int) for v in value]):
            return tuple(value)
        if isinstance(value, np.ndarray):
            refs.append(self.place_of(value))
            return Ref(count + len(refs) - 1)
        self._alive.append(value)
        key: Any = id(value)
        if isinstance(value, Take):
            name, key = "place", (repr(value.steps), value.order)
        if key not in self._opaque:
            self._opaque[key] = Opaque(name, value)
        return self._opaque[key]

    def _read_aside(self, row: Row, args: Any, params: Any, node: Any) -> None:
        """What a kernel keeps for its formulas besides its outputs."""
        if row.name in NORMALIZING:
            for array, e in zip(node.saved_aside, statistics_of(args[0], node.saved_plan)):
                self.set(array, e)
            return
        head = f"{row.name}_aside"
        count = int(row.outputs) or 1
        self.functions[head] = partial(_aside, row, count)
        shown, refs = self._shown(row, dict(zip(row.params, params)), len(args))
        call = self.algebra.call(head, (*args, *refs), shown)
        for index, array in enumerate(node.saved_aside):
            if isinstance(array, np.ndarray):
                self.set(array, self.algebra.item(call, index, *layout_of(array)))

    def _custom(self, function: Any, call: Any, outputs: Any) -> list[Expression]:
        """A custom Function's outputs."""
        name = self.function(function.__name__, getattr(function, "apply", function), function)
        args, params = as_given(self, call)
        layouts = [layout_of(self.array_of(out)) for out in outputs]
        if len(outputs) == 1:
            return [self.algebra.call(name, args, params, *layouts[0])]
        made = self.algebra.call(name, args, params)
        return [self.algebra.item(made, i, *layout) for i, layout in enumerate(layouts)]

    def function(self, name: str, call: Any, key: Any) -> str:
        """The name by which texts call a function of the user's: numbered, if something else has its own."""
        if key not in self.own:
            chosen, number = name, 0
            while chosen in self.functions or chosen in rows or chosen in RESERVED or public(chosen) is not None:
                number += 1
                chosen = f"{name}{number}"
            self.own[key], self.functions[chosen] = chosen, call
        return self.own[key]

    # -- writes
    def overwrite(self, tensor: Any, out: Any) -> None:
        """The values of *out* were written into *tensor*."""
        self.write(tensor._array, self.expression_of(out))

    def _read_in_place(self, call: Any, seen: Seen) -> None:
        (tensor,), row = call.outputs, call.row
        array = self.array_of(tensor)
        layout = layout_of(array)
        inputs = [i if isinstance(i, _runtime.Tensor) else None for i in call.inputs]
        followed = call.node is not None
        given = [
            self.taken(t, followed) if t is not None else self.value(i, tensor) for t, i in zip(inputs, call.inputs)
        ]
        made: Expression | None
        if not isinstance(row, Row) and op_name(row) not in ("copy", "written"):
            made = called_in_place(self, row, given, call, layout)
        elif op_name(row) in ("copy", "written"):  # copy_ and fill_
            made = given[1]
        elif seen.drawn is not None:
            made = self._drawn(tensor, array, seen.drawn)
        else:
            made = row_in_place(self, row, given, call, layout)
        if made is None:
            made = self.frozen(array, "written by what has no formula, as it is now")
        if followed and isinstance(row, Row):
            self._note_saved(row, call.node, given)
        is_root = seen.root is tensor
        root_node = seen.root_node if followed else None
        self.write(array, made, root_node if is_root else None, None if is_root else root_node)
        if not followed:
            self.note_unfollowed(call)

    def _note_saved(self, row: Row, node: Any, given: list[Expression | None]) -> None:
        """What a node of an in-place call saved of its inputs: copies of what was written over, as far as they are."""
        for name, e in zip(row.inputs, given):
            saved = getattr(node, f"saved_{name}", None)
            if isinstance(saved, _runtime.Tensor) and saved is not _runtime.unsaved and e is not None:
                self.found(saved._array, e)

    def value(self, value: Any, like: Any) -> Expression | None:
        """A number, among the arguments of an in-place call."""
        kind = like._array.dtype
        return self.algebra.constant(value, (), kind) if isinstance(value, (int, float)) else None

    # -- nodes
    def read_node(self, node: Any) -> None:
        """A node of a graph, of which its inputs are known by its edges and by what it saved."""
        layouts = [known for known in (node.layout if node.several else [node.layout]) if known is not None]
        row = getattr(node, "row", None)
        if row is None:
            args = [self._at(edge, (), layouts[0][1]) for edge in node.edges]
            name = self.function(node.function.__name__, getattr(node.function, "apply", None), node.function)
            made = [self.algebra.call(name, args, (), *layouts[0])]
            if node.several:
                call = self.algebra.call(name, args)
                made = [self.algebra.item(call, i, *layout) for i, layout in enumerate(layouts)]
        elif "generator" in row.params:
            made = [self.symbol("constant", None, None, *layout) for layout in layouts]
        else:
            args, params = self._inputs_of(node, row, layouts[0])
            made = self.of_row(row, tuple(args), params, layouts)
            if "aside" in row.kept and node.saved_aside is not None:
                self._read_aside(row, tuple(args), params.values(), node)
        for index, e in enumerate(made):
            self._made[node, index if node.several else 0] = e
            if self.uses[node] > 1:
                self.algebra.shared.add(e.serial)

    def _inputs_of(self, node: Any, row: Row, layout: Any) -> tuple[list[Expression], dict[str, Any]]:
        edges = dict(zip(row.formulas, node.edges))
        if row.variadic:
            return [self._at(edge, *layout) for edge in node.edges], self._params_of(node, row, layout)
        args: list[Any] = []
        for name in row.inputs:
            value = getattr(node, f"saved_{name}", None) if name in row.kept else None
            if edges.get(name) is not None:
                args.append(self._at(edges[name], *layout))
            elif value is not None and value is not _runtime.unsaved:
                args.append(self.expression_of(value))
            else:
                args.append(None)
        whole = any([a is not None and a.shape == layout[0] for a in args])
        for index, name in enumerate(row.inputs):
            if args[index] is None:
                shape = getattr(node, f"saved_{name}_shape", () if whole or not row.elementwise else layout[0])
                args[index] = self.symbol("constant", None, None, shape, layout[1])
        params = self._params_of(node, row, layout)
        if params.get("keepdim") is UNKNOWN and args[0].ndim:
            params["keepdim"] = len(layout[0]) == args[0].ndim
        return args, params

    def _params_of(self, node: Any, row: Row, layout: Any) -> dict[str, Any]:
        """What a node kept of its parameters, and what its result tells of the others."""
        kept = {"shape": layout[0], "dtype": layout[1], **saved_params(row, node)}
        if row.name in RESHAPES or row.name == "expand":
            kept["size"] = layout[0]
        return {p: kept.get(p, UNKNOWN) for p in row.params}

    def _at(self, edge: Any, shape: Any, dtype: Any) -> Expression:
        """What comes through an edge."""
        if edge is None:
            return self.symbol("constant", None, None, shape, dtype)
        if (made := self._made.get(key_of(edge))) is not None:
            return made
        return self.expression_of(edge.variable)


def uses(events: Iterable[tuple[Any, ...]]) -> Counter[Any]:
    """How often each array, and each node, is taken by an operation."""
    found: Counter[Any] = Counter()
    for event, first, *rest in events:
        if event == "read_call":
            found.update([id(rest[0].arrays[id(t)]) for t in first.inputs if isinstance(t, _runtime.Tensor)])
        elif event == "read_node":
            found.update([key_of(edge)[0] for edge in first.edges if edge is not None])
    return found


def leaves_of(events: Iterable[tuple[Any, ...]]) -> list[tuple[Any, np.ndarray]]:
    """The leaves that require grad among what was recorded, and their arrays."""
    found: dict[Any, Any] = {}
    for event, first, *rest in events:
        if event == "read_call":
            tensors = [t for t in first.inputs if isinstance(t, _runtime.Tensor)]
            leaves = [t for t in tensors if t._node.__class__ is AccumulateGrad]
            for t in leaves:
                found.setdefault(t._node, (t, rest[0].arrays[id(t)]))
        elif event == "read_node":
            for edge in first.edges:
                if edge.__class__ is AccumulateGrad:
                    found.setdefault(edge, (edge.variable, edge.variable._array))
    return list(found.values())


# -- helpers -----------------------------------------------------------------------------------------------------------
def _is_numbers(value: Any) -> bool:
    """Whether it is a tuple of integers, or of such tuples."""
    return isinstance(value, tuple) and all([isinstance(v, (int, type(None))) or _is_numbers(v) for v in value])


def _folded(row: Row, args: tuple[Expression, ...], params: dict[str, Any]) -> Number | None:
    """An elementwise row's value where all inputs are numbers."""
    if not all([a.kind == "number" and a.dtype.kind in "fb" for a in args]) or not args:
        return None
    with np.errstate(all="ignore"):
        value = row.kernel(*[np.asarray(a.number, np.float64 if a.floats else bool) for a in args], **params)
    return value.item() if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fb" else None


def _aside(row: Row, count: int, *inputs: Any, **params: Any) -> Any:
    """What a kernel gives after its *count* outputs, as texts call it."""
    return tuple([_runtime.wrap(a) for a in row.kernel(*[t._array for t in inputs], **params)[count:]])


def _chosen(choice: Choice, *tensors: Any, **params: Any) -> Any:
    """A choice as texts call it."""
    given = {name: value.numpy if isinstance(value, dtype) else value for name, value in params.items()}
    return choice.call(*tensors, *[given.get(p) for p in choice.params])
