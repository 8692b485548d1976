"""The table of ONNX forms: what each row, and each choice, is in nodes.

A form is a function of the builder and of what it reads, by name: inputs of the row come as values, parameters as they are.
What it does not name, it does not need, such as the index of a ``max`` that ONNX takes itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ._builder import Builder, Value

Form = Callable[..., Any]

forms: dict[str, Form] = {}
"""Every form, by the name of the row or choice."""
_reads: dict[str, tuple[str, ...] | None] = {}


def form(*names: str) -> Callable[[Form], Form]:
    """The decorator of the form of these rows."""

    def decorator(function: Form) -> Form:
        for name in names:
            assert name not in forms, f"{name} has two forms"
            forms[name] = function
            _, *read = inspect.signature(function).parameters.values()
            _reads[name] = (
                None if [p.kind for p in read] == [inspect.Parameter.VAR_POSITIONAL] else tuple([p.name for p in read])
            )
        return function

    return decorator


def reads_of(row: Any) -> tuple[str, ...]:
    """What the form of a row reads: all inputs, where it takes them by position."""
    read = _reads[row.name]
    return tuple(row.inputs) if read is None else read


def takes_many(row: Any) -> bool:
    """Whether a row, or a choice, takes any number of inputs, which its form reads as a list."""
    return row.variadic or bool(row.inputs and row.inputs[0][0] == "*")


def by_position(row: Any) -> bool:
    """Whether the form of a row takes its inputs by position."""
    return _reads[row.name] is None


def _node(op: str, kind: Any = None) -> Form:
    """One node of all inputs, which are converted first if that is said."""

    def written(g: Builder, *inputs: Value) -> Value:
        return g(op, *[i if kind is None else g.cast(i, kind) for i in inputs])

    return written


_ONE_NODE = """
    abs Abs   acos Acos   acosh Acosh   asin Asin   asinh Asinh   atan Atan   atanh Atanh   cos Cos   cosh Cosh
    erf Erf   exp Exp   log Log   neg Neg   reciprocal Reciprocal   sigmoid Sigmoid
    sin Sin   sinh Sinh   sqrt Sqrt   tan Tan   tanh Tanh   hardswish HardSwish   mish Mish
    isnan IsNaN   isinf IsInf   softsign Softsign   sub Sub   div Div   pow Pow
    eq Equal   matmul MatMul
    contiguous Identity   clone Identity   detach Identity   alias Identity
"""

for _name, _op in zip(_ONE_NODE.split()[::2], _ONE_NODE.split()[1::2]):
    form(_name)(_node(_op))
for _name, _op in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}.items():
    form(_name)(_node(_op, bool))
