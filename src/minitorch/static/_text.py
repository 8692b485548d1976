"""Vertices as text: infix expressions, cut where they grow long, and tables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from ._instructions import Number

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "pow": "**", "matmul": "@",
    "mm": "@", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
LONGEST = 120
"""Longer expressions have the numbers of nodes in place of some parts."""


def expression(vertex: Any, longest: int = LONGEST) -> str:
    """A vertex as an expression of the placeholders, constants and parameters; parts that are too long as ``#<number>``."""
    texts: dict[Any, str] = {}
    stack = [(vertex, 0)]
    while stack:
        current, depth = stack.pop()
        if current in texts:
            continue
        waiting = [v for v in _parts(current) if v not in texts]
        if waiting and depth < longest:
            stack.append((current, depth))
            stack += [(v, depth + 1) for v in waiting]
            continue
        text = _short(current) if waiting else _written(current, texts)
        texts[current] = text if len(text) <= longest or current is vertex else _short(current)
    return texts[vertex]


def _parts(vertex: Any) -> list[Any]:
    """The vertices whose text is part of a vertex's own."""
    return [] if vertex.label else list(vertex.uses())


def _short(vertex: Any) -> str:
    return vertex.label or f"#{vertex.number}"


def operand_text(value: Any, texts: dict[Any, str]) -> str:
    """An operand: a vertex, or a number."""
    return repr(value.value) if isinstance(value, Number) or not hasattr(value, "uses") else texts[value]


def _written(vertex: Any, texts: dict[Any, str]) -> str:
    if vertex.label:
        return str(vertex.label)
    op = vertex.op
    if op is None:
        return leaf_text(vertex)
    given = [operand_text(v, texts) for v in vertex.inputs]
    params = {n: operand_text(v, texts) if hasattr(v, "uses") else value_text(v) for n, v in vertex.params.items()}
    if op.name in _INFIX and len(given) == 2 and not params:
        first = _held(given[0]) if op.name in ("pow", "matmul", "mm") else given[0]
        return f"({first}{_INFIX[op.name]}{given[1]})"
    if op.name in ("fit", "floated", "or_zeros"):  # they change a shape or a dtype where they must
        return given[0]
    if op.name == "neg":
        return f"-{given[0]}"
    if op.name == "bitwise_not":
        return f"~{given[0]}"
    if op.name == "item":
        return f"{_held(given[0])}[{given[1] if len(given) > 1 else params['index']}]"
    if op.name == "tuple":
        return f"({', '.join(given)}{',' if len(given) == 1 else ''})"
    if op.name == "pow_number":
        return f"({_held(given[0])}**{params['exponent']})"
    if op.name == "pow_of_number":
        return f"({_held(params['self'])}**{given[0]})"
    if getattr(op, "shown", None) is not None:
        return f"{op.name}({_arguments(op, given)})"
    return f"{op.name}({', '.join([*given, *(f'{n}={v}' for n, v in params.items())])})"


def _held(text: str) -> str:
    """An operand of what binds closer than a sign."""
    return f"({text})" if text.startswith(("-", "~")) else text


def in_cycle(vertex: Any) -> str:
    """A vertex that depends on itself, with dots in its own place."""
    label = vertex.label
    vertex.label = "..."
    try:
        texts = {v: expression(v) for v in vertex.uses()}
    finally:
        vertex.label = label
    return _written(vertex, texts)


def _arguments(op: Any, given: list[str]) -> str:
    """The arguments of a function of Tensors as they were given."""
    from .._pytree import tree_unflatten

    class Text(str):
        __slots__ = ()
        __repr__ = str.__str__

    leaves, tree, places = op.shown
    leaves = [value_text(leaf) if n not in places else leaf for n, leaf in enumerate(leaves)]
    leaves = [Text(leaf) if isinstance(leaf, str) else leaf for leaf in leaves]
    for n, text in zip(places, given):
        leaves[n] = Text(text)
    args, kwargs = tree_unflatten(leaves, tree)
    return ", ".join([*map(repr, args), *(f"{n}={v!r}" for n, v in kwargs.items())])


def leaf_text(vertex: Any) -> str:
    """A leaf without a name."""
    array = vertex.array if hasattr(type(vertex), "array") else None
    if array is None:
        return f"{type(vertex).__name__.lower()}{vertex.number}"
    return repr(array.item()) if array.size == 1 else f"constant{tuple(array.shape)}".replace(" ", "")


def value_text(value: Any) -> str:
    """A constant parameter."""
    if isinstance(value, (bool, int, float, str, type(None))) or (isinstance(value, tuple) and len(str(value)) < 40):
        return repr(value)
    if hasattr(value, "shape"):
        return f"array{tuple(value.shape)}"
    return str(value) if len(str(value)) < 30 else type(value).__name__


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message: the names that are like one."""
    close = difflib.get_close_matches(name, list(names), 3, 0.6)
    return f"; the nearest that there is: {', '.join(close)}" if close else ""
