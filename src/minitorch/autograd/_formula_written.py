"""Rows as the functions that people know: each written out as an expression of its inputs and parameters.

A text names a row's inputs and parameters, functions (with their own parameters, which are left out where they are what the
function has by default), operators, and ``zeros`` of the result's shape, ``where`` and ``sum``.  It stands for the row in
formulas, value and derivatives alike.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._expressions import Expression
from ._formula_rows import compared, summed, where
from ._formula_text import LEFT_OUT, UNKNOWN, Ref

Layouts = list[tuple[tuple[int, ...], Any]]


def _reduced(how: str) -> str:
    return f"scatter_reduce(self, dim=dim, index=index, src=src, reduce={how}, include_self=include_self)"


WRITTEN: dict[str, str] = {
    # written into a tensor
    **{f"{name}_": f"self {sign} other" for name, sign in
       zip(("eq", "ne", "lt", "le", "gt", "ge"), ("==", "!=", "<", "<=", ">", ">="))},
    "fill_tensor": "value",
    "fill_tensor_": "value",
    "copy": "src",
    # extremes and what is chosen by order
    "max_all": "max(self)",
    "min_all": "min(self)",
    "prod_all": "prod(self)",
    "max_dim": "max(self, dim=dim, keepdim=keepdim)[0]",
    "min_dim": "min(self, dim=dim, keepdim=keepdim)[0]",
    "median_dim": "median(self, dim=dim, keepdim=keepdim)[0]",
    "nanmedian_dim": "nanmedian(self, dim=dim, keepdim=keepdim)[0]",
    "mode": "mode(self, dim=dim, keepdim=keepdim)[0]",
    "to_larger": "where(self > other, grad, where(self == other, grad/2, 0))",
    "equal_share": "(self == value)/sum(self == value, dim)",
    "clamp_low": "clamp(self, min=min)",
    "clamp_high": "clamp(self, max=max)",
    "clamp_min": "clamp(self, min=min)",
    "clamp_max": "clamp(self, max=max)",
    "clamp_min_tensor": "clamp(self, min=min)",
    "clamp_max_tensor": "clamp(self, max=max)",
    "clamp_tensors": "clamp(self, min=min, max=max)",
    # numbers
    "round_decimals": "round(self, decimals=decimals)",
    "div_floor": "div(self, other, rounding_mode='floor')",
    "div_trunc": "div(self, other, rounding_mode='trunc')",
    "fmod_number": "fmod(self, other)",
    "remainder_number": "remainder(self, other)",
    "copysign_number": "copysign(self, other)",
    "xlogy_number": "xlogy(self, other)",
    "number_xlogy": "xlogy(self, other)",
    "polygamma": "polygamma(n, self)",
    "divide_or_zero": "where(other != 0, self/other, 0)",
    "divide_nonzero": "where(self != 0, self/other, 0)",
    # by indices
    "gather": "gather(self, dim=dim, index=index)",
    "scatter": "scatter(self, dim=dim, index=index, src=src)",
    "scatter_value": "scatter(self, dim=dim, index=index, value=value)",
    "scatter_add": "scatter_add(self, dim=dim, index=index, src=src)",
    "scatter_sum": "scatter_add(zeros, dim=dim, index=index, src=src)",
    "index_select": "index_select(self, dim=dim, index=index)",
    "index_add": "index_add(self, dim=dim, index=index, source=source, alpha=alpha)",
    "index_sum": "index_add(zeros, dim=dim, index=index, source=source)",
    "index_copy": "index_copy(self, dim=dim, index=index, source=source)",
    "index_fill": "index_fill(self, dim=dim, index=index, value=value)",
    "index_fill_tensor": "index_fill(self, dim=dim, index=index, value=value)",
    "put_sum": "put(zeros, index=index, source=source, accumulate=True)",
    "scatter_reduce_sum": _reduced("'sum'"),
    "scatter_reduce_prod": _reduced("'prod'"),
    "scatter_reduce_mean": _reduced("'mean'"),
    "scatter_reduce_extreme": _reduced("reduce"),
    "add_along": "scatter_add(zeros, dim=dim, index=index, src=self)",
    "masked_fill_tensor": "masked_fill(self, mask, value)",
    # activations
    "where_not_positive": "where(self > 0, 0, grad)",
    "shrink_backward": "where(abs(self) > lambd, grad, 0)",
    "hardsigmoid_backward": "where((self > -3) & (self < 3), grad/6, 0)",
    "hardswish_backward": "where(self <= -3, 0, where(self < 3, grad*(self/3 + 0.5), grad))",
    "logsigmoid_backward": "grad*sigmoid(-self)",
    "softplus_backward": "where(beta*self > threshold, grad, grad*sigmoid(beta*self))",
    "bce_slope": "(self - target)/clamp(self*(1 - self), min=1e-12)",
    "half": "chunk(self, 2, dim=dim)[second]",
    "halves": "cat([first, second], dim=dim)",
    # images and shapes
    "pixel_shuffle": "pixel_shuffle(self, factor)",
    "pixel_unshuffle": "pixel_unshuffle(self, factor)",
    "repeat": "tile(self, repeats)",
    "cumsum": "cumsum(self, dim=dim)",
    "im2col": "unfold(self, kernel_size, dilation=dilation, padding=padding, stride=stride)",
    "col2im": "fold(self, size, kernel_size, dilation=dilation, padding=padding, stride=stride)",
    "split": "split(self, split_size, dim=dim)",
    "split_with_sizes": "split(self, split_sizes, dim=dim)",
}  # fmt: skip


@functools.cache
def parsed(name: str) -> ast.expr:
    return ast.parse(WRITTEN[name], mode="eval").body


@functools.cache
def heads() -> frozenset[str]:
    """The functions that the texts call."""
    calls = [n for name in WRITTEN for n in ast.walk(parsed(name)) if isinstance(n, ast.Call)]
    return frozenset([n.func.id for n in calls if isinstance(n.func, ast.Name)]) - {"where", "sum"}


def written(reading: Any, row: Any, args: Any, params: Mapping[str, Any], layouts: Layouts) -> list[Expression] | None:
    """The results of a row as its text says; None where it has none."""
    if row.name not in WRITTEN or len(args) != len(row.inputs):
        return None
    if "zeros" in WRITTEN[row.name] and not layouts[0][0]:  # all indices are 0
        return [summed(args[0])]
    scope = {**dict(zip(row.inputs, args)), **params}
    return _Maker(reading, scope, layouts, bool(row.outputs)).outermost(parsed(row.name))


def _called(call: ast.Call) -> str:
    """The name of what is called."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


class _Maker:
    """Makes the expression that a text stands for."""

    def __init__(self, reading: Any, scope: dict[str, Any], layouts: Layouts, several: bool) -> None:
        self.reading, self.algebra, self.scope = reading, reading.algebra, scope
        self.layouts, self.several = layouts, several

    def outermost(self, node: ast.expr) -> list[Expression] | None:
        """The results."""
        if not isinstance(node, ast.Call) or _called(node) in ("where", "sum"):
            made = self.of(node)
        elif self.several:
            call = self.call(node)
            return [self.algebra.item(call, i, *layout) for i, layout in enumerate(self.layouts)]
        else:
            made = self.call(node, self.layouts[0])
        return [self.algebra.fitted(made, *self.layouts[0])] if isinstance(made, Expression) else None

    def of(self, node: Any) -> Any:
        return getattr(self, node.__class__.__name__)(node)

    def Constant(self, node: ast.Constant) -> Any:
        return node.value

    def Name(self, node: ast.Name) -> Any:
        if node.id == "zeros":
            return self.algebra.constant(0, *self.layouts[0])
        return self.scope[node.id]

    def List(self, node: ast.List) -> Any:
        return [self.of(n) for n in node.elts]

    def BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.BitAnd):
            shape = np.broadcast_shapes(left.shape, right.shape)
            return self.algebra.call("bitwise_and", (left, right), (), shape, left.dtype)
        if isinstance(left, Expression) and left.dtype.kind == "b":
            left = self.algebra.fitted(left, left.shape, self.layouts[0][1])
        return _OPERATORS[type(node.op)](left, right)

    def UnaryOp(self, node: ast.UnaryOp) -> Any:
        return -self.of(node.operand)

    def Compare(self, node: ast.Compare) -> Any:
        return compared(_COMPARISONS[type(node.ops[0])], self.of(node.left), self.of(node.comparators[0]))

    def Subscript(self, node: ast.Subscript) -> Any:
        index = self.of(node.slice)
        return self.algebra.item(self.call(node.value), int(index), *self.layouts[0])  # type: ignore[arg-type]

    def Call(self, node: ast.Call) -> Any:
        name = _called(node)
        if name == "where":
            condition, chosen, other = [self.of(n) for n in node.args]
            if not isinstance(chosen, Expression):
                chosen = self.algebra.constant(chosen, (), self.layouts[0][1])
            return where(condition, chosen, other)
        if name == "sum":
            (mask, dim) = [self.of(n) for n in node.args]
            number = self.algebra.fitted(mask, mask.shape, self.layouts[0][1])
            return summed(number, dim, dim is not None)
        given = [e for e in [self.of(n) for n in node.args] if isinstance(e, Expression)]
        shape = np.broadcast_shapes(*[e.shape for e in given])
        return self.call(node, (shape, given[0].dtype))

    def call(self, node: ast.Call, layout: Any = (None, None)) -> Expression:
        """The call of a function: expressions among its parameters are arguments that the parameters refer to."""
        name = _called(node)
        args: list[Expression] = []
        params: list[tuple[str, Any]] = []
        for place, n in enumerate(node.args):
            value = self.of(n)
            if isinstance(value, list):
                args, params = value, [("*", True)]
            elif isinstance(value, Expression) and not params and not (place and _is_number(value)):
                args.append(value)
            else:
                params.append((f"_{place}", value))
        usual = defaults(name)
        for keyword in node.keywords:
            value = self.of(keyword.value)
            default = usual.get(str(keyword.arg), inspect.Parameter.empty)
            if value is UNKNOWN and default is not inspect.Parameter.empty:
                params.append((str(keyword.arg), LEFT_OUT))
            elif isinstance(value, (Expression, np.ndarray)) or not is_default(value, default):
                params.append((str(keyword.arg), value))
        count = len(args)
        shown = [(p, self._parameter(p, v, args, count)) for p, v in params]
        self.reading._alive.append(self.scope)
        made: Expression = self.algebra.call(name, args, shown, *layout)
        return made

    def _parameter(self, name: str, value: Any, args: list[Expression], count: int) -> Any:
        if value is LEFT_OUT:
            return value
        if isinstance(value, np.ndarray):
            value = self.reading.place_of(value)
        if isinstance(value, Expression):
            if _is_number(value) and (name[0] == "_" or name in ("min", "max", "value")):
                return value.number
            args.append(value)
            return Ref(len(args) - 1)
        refs: list[Expression] = []
        made = self.reading.parameter(name, value, refs, len(args))
        args.extend(refs)
        return made


def is_default(value: Any, default: Any) -> bool:
    """Whether a parameter is what it is by default: a number is that in each dimension."""
    return bool(value == default or (isinstance(value, tuple) and set(value) == {default}))


def _is_number(e: Expression) -> bool:
    return e.kind == "number" and not e.shape and e.dtype.kind == "f"


@functools.cache
def defaults(name: str) -> dict[str, Any]:
    """What a function's parameters are by default."""
    from ._formula_functions import public

    function = public(name)
    known = inspect.signature(function).parameters if function is not None else {}
    return {n: p.default for n, p in known.items()}


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
