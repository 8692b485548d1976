"""How in-place calls read: what a row, or a function that is none, writes."""

from __future__ import annotations

import functools
from typing import Any

from .. import _runtime
from .._op import Row
from ._expressions import Expression
from ._formula_calls import row_default
from ._formula_text import Ref


def row_in_place(reading: Any, row: Row, given: list[Any], call: Any, layout: Any) -> Expression | None:
    """What a row writes; None where that is not known."""
    named = dict(zip(getattr(call.params, "names", ()), call.params))
    count = len(row.inputs)
    args = given[:count]
    if len(args) < count or any([e is None for e in args]) or "generator" in row.params:
        return None
    rare = {n: v for n, v in named.items() if n in row.rarely and v != row.rarely[n][0]}
    if "alpha" in rare and isinstance(rare["alpha"], (int, float)):
        scaled: Expression = args[0] + args[1] * (rare["alpha"] * (-1 if row.name == "sub" else 1))
        return scaled
    if rare:
        refs: list[Expression] = []
        shown = [(n, reading.parameter(n, v, refs, count)) for n, v in rare.items()]
        reading.functions[row.name] = functools.partial(_called, row)
        return reading.algebra.call(row.name, (*args, *refs), shown, *layout)
    usual = {p: row_default(row, p) for p, text in row.params.items() if text}
    params = {**usual, **saved_params(row, call.node), **dict(zip(row.params, call.inputs[count:])), **named}
    if set(row.params) - set(params):
        return None
    return reading.of_row(row, tuple(args), {p: params[p] for p in row.params}, [layout])[0]


def _called(row: Row, *args: Any, **params: Any) -> Any:
    return row.call(*args, **params)


def called_in_place(reading: Any, function: Any, given: list[Any], call: Any, layout: Any) -> Expression:
    """What a function that is no row writes: its call, with what is no tensor as it was given."""
    name = function.__name__
    if name == "pow" and given[1].kind == "number" and given[0].floats:
        power: Expression = given[0] ** given[1].number
        return power
    if name == "pow":
        return reading.algebra.call(name, given, (), *layout)
    if hasattr(function, "apply"):
        name = reading.function(name, function.apply, function)
    else:
        reading.functions[name] = function
    args, params = as_given(reading, call)
    return reading.algebra.call(name, args, params, *layout)


def as_given(reading: Any, call: Any) -> tuple[list[Expression], list[tuple[str, Any]]]:
    """The arguments of a call, and its parameters: what is no tensor, and the tensors that come after it."""
    args: list[Expression] = []
    params: list[tuple[str, Any]] = []
    named = zip(getattr(call.params, "names", ()), call.params)
    followed = call.node is not None
    for place, value in [*[(f"_{n}", v) for n, v in enumerate(call.inputs)], *named]:
        if isinstance(value, _runtime.Tensor):
            args.append(reading.taken(value, followed))
            if params or place[0] != "_":
                params.append((place, Ref(len(args) - 1)))
        else:
            params.append((place, reading.parameter("value", value, args, 0)))
    return args, params


def saved_params(row: Row, node: Any) -> dict[str, Any]:
    """The parameters that a node kept."""
    if node is None or getattr(node, "row", None) is not row:
        return {}
    return {p: getattr(node, f"saved_{p}") for p in row.params if p in row.constants}
