"""What graphs are made of: vertices, and those among them that stand for Python values.

A vertex is an operation, the vertices it takes, and constant parameters.  A `Symbol` stands for a Python value that depends on
tensors (a shape, a size, a count); what stands for a tensor is a `Node`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import _runtime
from .._op import Row
from ._instructions import Function, Number, Unchanging
from ._text import expression


class NeedsValues(TypeError):
    """Something asked a symbolic node for what only its values could tell."""

    __module__ = "minitorch.static"


class Scope:
    """The body of a loop: nodes made of its variables belong to it.

    Attributes
    ----------
    name : str
    parent : Scope or None
    """

    def __init__(self, name: str, parent: Scope | None) -> None:
        self.name, self.parent = name, parent

    def inside(self, other: Scope | None) -> bool:
        """Whether this is *other*, or lies in it."""
        scope: Scope | None = self
        while scope is not None:
            if scope is other:
                return True
            scope = scope.parent
        return other is None


building: ContextVar[Scope | None] = ContextVar("building", default=None)
"""The body that is being built."""

_count = itertools.count().__next__


class Layout:
    """Stands for a shape and a dtype: nodes that share one are alike at every run."""

    __slots__ = ("dtype", "ndim")

    def __init__(self, ndim: int | None = None, dtype: np.dtype[Any] | None = None) -> None:
        self.ndim, self.dtype = ndim, dtype


_layouts: dict[Any, Layout] = {}


def layout_for(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
    """The one layout of all arrays of this shape and dtype."""
    return _layouts.setdefault((shape, dtype), Layout(len(shape), dtype))


class Vertex(Unchanging):
    """One operation of a graph.

    Attributes
    ----------
    op : Row, Function or None
        None for what has no operation: placeholders, constants, parameters.
    inputs : tuple of Vertex or Number
    params : dict of str to object
        Constants by name, among them Symbols.
    label : str or None
        A name that was given.
    absent : bool
        Whether it may be a gradient that is absent: see ``_absent.py``.
    """

    __slots__ = ("__weakref__", "absent", "inputs", "label", "number", "op", "params", "scope")

    def __init__(
        self, op: Any, inputs: tuple[Any, ...] = (), params: dict[str, Any] | None = None, label: str | None = None
    ) -> None:
        self.op, self.inputs, self.params, self.label, self.number = op, inputs, params or {}, label, _count()
        self.scope = scope_of(self)
        lacks = getattr(op, "lacks", None)
        self.absent: bool = lacks([*map(may_be_absent, inputs)]) if lacks else any([v.absent for v in self.uses()])

    __hash__ = object.__hash__

    def uses(self) -> Iterator[Vertex]:
        """The vertices that this one reads."""
        for vertex in (*self.inputs, *self.params.values()):
            if isinstance(vertex, Vertex):
                yield vertex

    def __str__(self) -> str:
        return expression(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __bool__(self) -> bool:
        remedy = "choose with static.cond, static.while_loop, or elementwise with static.apply(torch.where, ...)"
        raise self.needs("its truth", remedy)

    def needs(self, what: str, remedy: str) -> NeedsValues:
        """The error of something that would need values."""
        return NeedsValues(
            f"{type(self).__name__.lower()} {self} has no values before the graph runs, so {what} cannot be known: {remedy}"
        )

    def _refused(self, what: str) -> Any:
        remedy = (
            "compute with it in a function that static.apply puts into the graph, or run an Executor and use its result"
        )
        raise self.needs(what, remedy)

    def __len__(self) -> int:
        return self._refused("its length")

    def __iter__(self) -> Iterator[Any]:
        return self._refused("how many elements it has")

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else self._refused(f"its value, which the format {spec!r} is for,")

    def __int__(self) -> int:
        return self._refused("its value")

    __index__ = __int__

    def __float__(self) -> float:
        return self._refused("its value")


def may_be_absent(operand: Any) -> bool:
    """Whether an operand may be a gradient that is absent."""
    return isinstance(operand, Vertex) and operand.absent


def scope_of(vertex: Vertex) -> Scope | None:
    """The innermost body that a vertex's inputs belong to; RuntimeError where they belong to different ones."""
    inputs = [v for v in vertex.inputs if isinstance(v, Vertex)]
    if vertex.params:
        inputs = list(vertex.uses())
    if not inputs and isinstance(vertex.op, Row):  # it draws numbers, say
        return building.get()
    scope: Scope | None = None
    for used in inputs:
        if used.scope is scope or used.scope is None:
            continue
        if used.scope.inside(scope):
            scope = used.scope
        elif scope is not None and not scope.inside(used.scope):
            raise RuntimeError(
                f"{vertex.op.name}: node {used} belongs to the body of {used.scope.name}, other operands to that of "
                f"{scope.name}; return from a body what is needed outside it"
            )
    if scope is not None and not (building.get() is not None and building.get().inside(scope)):  # type: ignore[union-attr]
        used = next(u for u in inputs if u.scope is scope)
        raise RuntimeError(
            f"{vertex.op.name}: node {used} belongs to the body of {scope.name} and has no value outside it; return it "
            "from the body and use what the loop gives"
        )
    return scope


class Symbol(Vertex):
    """A Python value that depends on tensors: arithmetic with it gives further ones."""

    __slots__ = ("ndim",)

    def __init__(self, op: Function, *inputs: Any, ndim: int | None = None, **params: Any) -> None:
        super().__init__(op, inputs, params)
        self.ndim = ndim

    def __len__(self) -> int:
        return self._refused("its length") if self.ndim is None else self.ndim

    def __bool__(self) -> bool:
        return super().__bool__() if self.ndim is None else self.ndim > 0

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if self.ndim is None else iter([self[i] for i in range(self.ndim)])

    def __getitem__(self, index: Any) -> Any:
        ndim = None
        if isinstance(index, slice) and self.ndim is not None:
            ndim = len(range(self.ndim)[index])
        return Symbol(_host("item", operator.getitem), self, constant_value(index), ndim=ndim)

    def _compared(self, other: Any) -> Any:
        return self._refused("how it compares")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return _symbolic("add", operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _symbolic("add", operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _symbolic("sub", operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _symbolic("sub", operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _symbolic("mul", operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _symbolic("mul", operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _symbolic("floor_divide", operator.floordiv, self, other)

    def __truediv__(self, other: Any) -> Any:
        return _symbolic("div", operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _symbolic("div", operator.truediv, other, self)

    def __neg__(self) -> Any:
        return Symbol(_host("neg", operator.neg), self)


class Value(Unchanging):
    """A constant among the operands of a function of Python values."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def constant_value(value: Any) -> Any:
    """A Python value as an operand."""
    return value if isinstance(value, Symbol) else Value(value)


_hosts: dict[str, Function] = {}


def _host(name: str, function: Callable[..., Any]) -> Function:
    """A function of Python values, by name."""
    return _hosts.setdefault(name, Function(name, function))


def _symbolic(name: str, function: Callable[..., Any], left: Any, right: Any) -> Any:
    if not all([isinstance(v, (Symbol, bool, int, float)) for v in (left, right)]):
        return NotImplemented  # a node's own operator takes it as a number
    if name == "mul" and (left.__class__ is int and left == 1):
        return right
    return Symbol(_host(name, function), constant_value(left), constant_value(right))


def gathered(value: Any) -> Any:
    """A parameter's value that has Symbols among its elements, as one Symbol."""
    if isinstance(value, (tuple, list)) and any([isinstance(v, Symbol) for v in value]):
        make = (
            _host("tuple", lambda *parts: parts) if isinstance(value, tuple) else _host("list", lambda *parts: [*parts])
        )
        return Symbol(make, *[constant_value(gathered(v)) for v in value], ndim=len(value))
    return value


SHAPE = Function("shape", lambda array: array.shape, lambda tensor: tensor._array.shape)


def _beside_array(value: Any, like: np.ndarray) -> np.ndarray:
    return Number(value).tables[0][like.dtype]


BESIDE = Function("number", _beside_array, lambda value, like: _runtime.wrap(_beside_array(value, like._array)))
