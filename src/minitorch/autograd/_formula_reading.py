"""From what was recorded to expressions: the calls of a block or the nodes of a result, and those of its backward pass.

A value is an array: what made it last says how it reads.  What nothing made is a symbol: a leaf, or a constant.
"""

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
from .._records import name_of, op_name
from .._tape import AccumulateGrad, Output
from .._views import current_node, path_to, root_of
from ._expressions import Algebra, Expression, Number
from ._formula_calls import CALLS, DEFAULTS, NORMALIZING, statistics_of
from ._formula_choices import NAMES, REPLACING, of_choice
from ._formula_functions import RESERVED, USUAL, name_of_call, public
from ._formula_in_place import as_given, called_in_place, row_in_place, saved_params
from ._formula_places import follows, replaced
from ._formula_rows import RESHAPES, read
from ._formula_text import LEFT_OUT, UNKNOWN, Opaque, Ref, identifier
from ._formula_written import defaults, written

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
        self._note((*call.inputs, *call.outputs), "read_call", call)

    def written(self, tensor: Any, out: Any) -> None:
        self._note((tensor, out), "write", tensor, out)

    def copied(self, tensor: Any, array: Any) -> None:
        self._note((tensor,), "copy", tensor, array)

    def _note(self, tensors: tuple[Any, ...], *event: Any) -> None:
        if not differ_since(self, tensors):
            self.events.append(event)


class Symbol:
    """A name in a formula, and the tensor that it stands for (None where the graph did not keep it).

    *kind* is "variable", "constant", "index", "gradient", "direction" or "hidden" (inside of an in-place call); *name* what the
    user called it.
    """

    def __init__(self, kind: str, tensor: Any, name: str | None) -> None:
        self.kind, self.tensor, self.name = kind, tensor, name
        self.drawn = False  # at random

    def apart(self) -> Symbol:
        """The same of a tensor that has no history, which can be copied."""
        made = Symbol(self.kind, self.tensor, self.name)
        made.drawn = self.drawn
        if self.tensor is not None and current_node(self.tensor) is not None and not self.tensor.is_leaf:
            made.tensor = self.tensor.detach()
        return made


class Reading:
    """Reads calls, writes and nodes, in the order in which they came.

    Parameters
    ----------
    names : mapping of Node to str
        What leaves are called.
    leaves : sequence of Tensor
        Those that require grad: what has their memory and no history is such a leaf, detached.
    """

    def __init__(self, names: dict[Any, str], leaves: Iterable[Any] = ()) -> None:
        self.algebra = Algebra()
        self.names = names
        self._leaves = {_place(leaf._array): leaf for leaf in leaves if leaf._array.size}
        self._unfollowed: set[int] = set()
        self.symbols: list[Symbol] = []
        self.functions: dict[str, Any] = {}
        self._own: dict[Any, str] = {}
        self.arrays: set[tuple[str, str]] = set()
        self.tuples: set[str] = set()  # rows whose ``dim`` is a tuple
        self.uses: Counter[Any] = Counter()
        self._values: dict[int, tuple[Expression, int]] = {}
        self._memory: dict[Any, Expression] = {}
        self._made: dict[Any, Expression] = {}
        self._stale: dict[int, int] = {}
        self.users: dict[int, Expression] = {}
        self.pools: dict[int, Any] = {}
        self._opaque: dict[Any, Opaque] = {}
        self._alive: list[Any] = []
        self._now = 0

    def run(self, events: Iterable[tuple[Any, ...]]) -> None:
        for event, *args in events:
            self._now += 1
            getattr(self, event)(*args)

    # -- what a tensor is
    def expression_of(self, tensor: Any) -> Expression:
        """How the value of a tensor reads."""
        array, alias = tensor._array, tensor._alias
        if tensor._node is None and (leaf := self._leaves.get(_place(array))) is not None:
            return self.detached(self.expression_of(leaf))
        known, since = self._values.get(id(array), (None, -1))
        if alias is not None and self._stale.get(id(alias.edits), -1) > since:
            if alias.parent is not None:
                return self._taken_again(tensor)
            known = self._memory.get(_place(array), known)  # what was written into a detached twin
        if known is not None:
            return known
        found = self._made.get(_key(tensor._node)) or self._memory.get(_place(array))
        if found is None:
            found = self._outside(tensor)
        self._set(array, found)
        return found

    def recorded(self, tensor: Any) -> bool:
        """Whether a tensor is a result, or a constant, of what was read; a view is where what it shows is."""
        array, node = tensor._array, tensor._node
        known = _key(node) in self._made or (
            node is None and (id(array) in self._values or _place(array) in self._memory)
        )
        if not known:
            return root_of(tensor) is not tensor and self.recorded(root_of(tensor))
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
        made, key = self.expression_of(tensor), id(tensor._array)
        if followed and tensor._node is None and key in self._unfollowed:
            self._unfollowed.discard(key)
            made = self.detached(made)
            self._set(tensor._array, made)
        return made

    def _note_unfollowed(self, call: Any) -> None:
        """Of results that have no history though their inputs have one; but for the means that a normalisation takes."""
        if getattr(call.row, "name", "") == "norm_moments":
            return
        tensors = [t for t in call.inputs if isinstance(t, _runtime.Tensor)]
        if any([t._node is not None or id(t._array) in self._unfollowed for t in tensors]):
            outs = [out for out in call.outputs if out._node is None and out._array.dtype.kind == "f"]
            self._unfollowed.update([id(out._array) for out in outs])

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
        self.symbols.append(Symbol(kind, tensor, name))
        if tensor is not None:
            shape, dtype = tensor._array.shape, tensor._array.dtype
        made = self.algebra.symbol(len(self.symbols) - 1, shape, dtype)
        if tensor is not None:
            self._set(tensor._array, made)
        return made

    def _outside(self, tensor: Any) -> Expression:
        node, array = tensor._node, tensor._array
        name = self.names.get(node) or name_of(tensor)
        if node is not None:
            self._made[_key(node)] = made = self.symbol("variable", tensor, name)
            return made
        number = array.dtype.kind == "f" or getattr(tensor, "is_number", False)
        if name is None and number and (value := _uniform(array)) is not None:
            return self.algebra.constant(value, array.shape, array.dtype)
        return self.symbol("constant", tensor, name)

    def _set(self, array: np.ndarray, made: Expression, node: Any = None) -> None:
        self._alive.append(array)
        self._values[id(array)] = made, self._now
        self._memory[_place(array)] = made
        if node is not None and node.__class__ is not AccumulateGrad:
            self._made[_key(node)] = made
        if self.uses[id(array)] > 1:
            self.algebra.shared.add(made.serial)

    # -- calls
    def read_call(self, call: Any) -> None:
        if call.in_place:
            return self._read_in_place(call)
        outputs, row = call.outputs, call.row
        if not isinstance(row, (Row, Choice)):
            made = self._custom(row, call, outputs)
        elif "generator" in row.params or getattr(row, "draws", False):
            for out in outputs:
                self._set(out._array, self.symbol("constant", out, None), out._node)
                self.symbols[-1].drawn = True
            return
        elif isinstance(row, Choice):
            made = self._chosen(row, call)
        else:
            node = call.node
            args = tuple([self.taken(t, node is not None) for t in call.inputs])
            known = node is not None and not node.several  # a tensor may have got another shape since: by ``t_``, say
            layouts = [node.layout] if known else [_layout(out._array) for out in outputs]
            made = self.of_row(row, args, dict(zip(row.params, call.params)), layouts)
            if call.node is not None and "aside" in row.kept and call.node.saved_aside is not None:
                self._read_aside(row, args, call.params, call.node)
        for out, e in zip(outputs, made):
            self._set(out._array, e, call.made if len(outputs) == 1 else out._node)
        if isinstance(row, Choice) and row.name in REPLACING:
            self._write(call.inputs[0], made[0])
        if call.node is None:
            self._note_unfollowed(call)

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
        layouts = [_layout(out._array) for out in call.outputs]
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

    def known(self, value: Any) -> Any:
        """The expression of a parameter that is a value of the computation, or the number in one."""
        array = value._array if isinstance(value, _runtime.Tensor) else getattr(value, "array", value)
        return self._values.get(id(array), (None,))[0] if isinstance(array, np.ndarray) else None

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
                self._set(array, e)
            return
        head = f"{row.name}_aside"
        count = int(row.outputs) or 1
        self.functions[head] = partial(_aside, row, count)
        shown, refs = self._shown(row, dict(zip(row.params, params)), len(args))
        call = self.algebra.call(head, (*args, *refs), shown)
        for index, array in enumerate(node.saved_aside):
            if isinstance(array, np.ndarray):
                self._set(array, self.algebra.item(call, index, *_layout(array)))

    def _custom(self, function: Any, call: Any, outputs: Any) -> list[Expression]:
        """A custom Function's outputs."""
        name = self.function(function.__name__, getattr(function, "apply", function), function)
        args, params = as_given(self, call)
        layouts = [_layout(out._array) for out in outputs]
        if len(outputs) == 1:
            return [self.algebra.call(name, args, params, *layouts[0])]
        made = self.algebra.call(name, args, params)
        return [self.algebra.item(made, i, *layout) for i, layout in enumerate(layouts)]

    def function(self, name: str, call: Any, key: Any) -> str:
        """The name by which texts call a function of the user's: numbered, if something else has its own."""
        if key not in self._own:
            chosen, number = name, 0
            while chosen in self.functions or chosen in rows or chosen in RESERVED or public(chosen) is not None:
                number += 1
                chosen = f"{name}{number}"
            self._own[key], self.functions[chosen] = chosen, call
        return self._own[key]

    # -- writes
    def _read_in_place(self, call: Any) -> None:
        (tensor,), row = call.outputs, call.row
        layout = _layout(tensor._array)
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
        else:
            made = row_in_place(self, row, given, call, layout)
        if made is None:
            made = self.symbol("constant", _runtime.wrap(tensor._array.copy()), None)
        if followed and isinstance(row, Row):
            self._notesaved_params(row, call.node, given)
        self._write(tensor, made)
        if not followed:
            self._note_unfollowed(call)

    def _notesaved_params(self, row: Row, node: Any, given: list[Expression | None]) -> None:
        """What a node of an in-place call saved of its inputs: copies of what was written over, as far as they are."""
        for name, e in zip(row.inputs, given):
            saved = getattr(node, f"saved_{name}", None)
            if isinstance(saved, _runtime.Tensor) and saved is not _runtime.unsaved and e is not None:
                self._set(saved._array, self.algebra.fitted(e, *_layout(saved._array)))

    def value(self, value: Any, like: Any) -> Expression | None:
        """A number, among the arguments of an in-place call."""
        return self.algebra.constant(value, (), like._array.dtype) if isinstance(value, (int, float)) else None

    def was(self, tensor: Any, before: Any) -> None:
        """What a tensor was before it was first written."""
        if id(tensor._array) not in self._values:
            if (name := tensor.__dict__.get("name")) is not None:
                before.name = name
            self._set(tensor._array, self._outside(before), before._node)

    def write(self, tensor: Any, out: Any) -> None:
        """The values of *out* were written into *tensor*."""
        self._write(tensor, self.expression_of(out))

    def copy(self, tensor: Any, array: Any) -> None:
        """*array* has the values that *tensor* had then."""
        self._set(array, self.expression_of(tensor))

    def _write(self, tensor: Any, made: Expression) -> None:
        self._now += 1  # what was read for this is from before
        made = self.algebra.fitted(made, *_layout(tensor._array))
        root = root_of(tensor)
        if root is not tensor:
            before, take = self.expression_of(root), Take(tensor)
            whole = replaced(self, before, made, take)
            if whole is None:
                place = self.parameter("place", take, [], 0)
                whole = self.algebra.call("copy_slices", (before, made), (("take", place),), *_layout(root._array))
            self._set(root._array, whole, root._node)
        self._set(tensor._array, made, tensor._node if root is tensor else None)  # a view's may be that from before
        if tensor._alias is not None:
            self._stale[id(tensor._alias.edits)] = self._now

    def _taken_again(self, view: Any) -> Expression:
        """A view, from its root as it is now."""
        root, steps = path_to(view)
        made, array = self.expression_of(root), root._array
        for row, params, index in steps:
            taken = row.apply(array, *params)
            arrays = taken if index is not None else (taken,)
            results = self.of_row(row, (made,), dict(zip(row.params, params)), [_layout(a) for a in arrays])
            made, array = results[index or 0], arrays[index or 0]
        self._set(view._array, made)
        return made

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
        if (made := self._made.get(_key(edge))) is not None:
            return made
        return self.expression_of(edge.variable)


def uses(events: Iterable[tuple[Any, ...]]) -> Counter[Any]:
    """How often each array, and each node, is taken by an operation."""
    found: Counter[Any] = Counter()
    for event, first, *_ in events:
        if event == "read_call":
            found.update([id(t._array) for t in first.inputs if isinstance(t, _runtime.Tensor)])
        elif event == "read_node":
            found.update([_key(edge)[0] for edge in first.edges if edge is not None])
    return found


def leaves_of(events: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The leaves that require grad among what was recorded."""
    found: dict[int, Any] = {}
    for event, first, *_ in events:
        if event == "read_call":
            tensors = [t for t in first.inputs if isinstance(t, _runtime.Tensor)]
            found |= {id(t): t for t in tensors if t._node.__class__ is AccumulateGrad}
        elif event == "read_node":
            edges = [edge for edge in first.edges if edge.__class__ is AccumulateGrad]
            found |= {id(edge): edge.variable for edge in edges}
    return list(found.values())


# -- helpers -----------------------------------------------------------------------------------------------------------
def _is_numbers(value: Any) -> bool:
    """Whether it is a tuple of integers, or of such tuples."""
    return isinstance(value, tuple) and all([isinstance(v, (int, type(None))) or _is_numbers(v) for v in value])


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


def _key(node: Any) -> tuple[Any, int]:
    return (node.edges[0], node.index) if node.__class__ is Output else (node, 0)


def _layout(array: np.ndarray) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return array.shape, array.dtype


def _place(array: np.ndarray) -> Any:
    """Where an array's elements lie: two arrays with one place are one value."""
    return array.__array_interface__["data"][0] if array.size else id(array), array.shape, array.strides, array.dtype


def _uniform(array: np.ndarray) -> Number | None:
    """The number that all elements are; as people wrote it, where it was rounded to float32."""
    if not array.size or not ((array == array.flat[0]) | (np.isnan(array) & np.isnan(array.flat[0]))).all():
        return None
    return float(str(array.flat[0])) if array.dtype.kind == "f" else int(array.flat[0])


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
