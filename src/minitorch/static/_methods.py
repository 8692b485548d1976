"""Methods of nodes: those of Tensors, each as a row's node or as one call of the function; and NumPy's functions of nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _runtime
from ..ops import _returns
from ._functions import apply
from ._nodes import constant
from ._text import nearest

_OFTEN_TENSORS = frozenset({"max", "min", "median", "nanmedian", "detach", "unique", "unique_consecutive"})
"""Methods that say that they return anything, and return Tensors."""
_PAIRED = frozenset({"max", "min", "median", "nanmedian"})
"""Those that return values and indices where a dimension is given."""


def method(node: Any, name: str) -> Any:
    """A Tensor's method or property of this name on a node.

    What such a method returns is read from its annotation: a Tensor becomes a node, a named tuple a named tuple of nodes.  Of
    methods that return a tuple whose length depends on the call, ``outputs`` says how many nodes it has.

    Raises
    ------
    AttributeError
        For another name, with the nearest that there is; for what changes a Tensor; for what gives no Tensor.
    """
    found = getattr(_runtime.Tensor, name, None)
    if found is None:
        raise AttributeError(f"node {node} has no {name!r}{nearest(name, _names())}; {_ELSE}", name=name)
    if name.endswith("_"):
        raise AttributeError(
            f"node {node} has no {name!r}: nodes do not change{nearest(name[:-1], _names())}", name=name
        )
    if isinstance(found, property):
        read: Any = found.fget
        if read.__annotations__.get("return") == "Tensor":
            return apply(read, node)
        remedy = _INSTEAD.get(name, "fetch it, and ask its result")
        raise AttributeError(f"node {node} has no {name!r} before the graph runs: {remedy}", name=name)
    returns = str(getattr(found, "__annotations__", {}).get("return"))
    if name in _INSTEAD:
        raise AttributeError(f"node {node} has no method {name!r} before the graph runs: {_INSTEAD[name]}", name=name)
    if not _tensors(name, returns):
        raise AttributeError(f"node {node} has no method {name!r}, which does not give Tensors; {_ELSE}", name=name)
    return bound(node, name, found, returns)


_ELSE = "rows are in static.rows, and any function of Tensors goes through static.apply(function, ...)"


_GRADIENTS = "its gradients are nodes, static.gradients(y, [x])"
_FETCHED = "run static.Executor(node), whose results are arrays"
_INSTEAD = {
    **dict.fromkeys(["backward", "grad", "register_hook", "retain_grad"], _GRADIENTS),
    **dict.fromkeys(["item", "tolist", "numpy"], _FETCHED),
    **dict.fromkeys(["size", "numel", "nelement"], "its sizes are symbols, node.shape[0], which rows and methods take"),
}
"""What is asked of tensors with values, and what to do instead."""


def _tensors(name: str, returns: str) -> bool:
    return "Tensor" in returns or returns.startswith("_returns.") or name in _OFTEN_TENSORS


def bound(node: Any, name: str, function: Callable[..., Any], returns: str) -> Callable[..., Any]:
    """A method of Tensors that makes nodes."""
    made: Any = getattr(_returns, returns.removeprefix("_returns."), None) if returns.startswith("_returns.") else None

    def call(*args: Any, outputs: int | None = None, **kwargs: Any) -> Any:
        pair = made
        if (
            name in _PAIRED
            and outputs is None
            and (isinstance(next(iter(args), None), int) or {"dim", "axis"} & {*kwargs})
        ):
            pair = getattr(_returns, name)
        if pair is not None:
            return pair(apply(function, node, *args, outputs=len(pair._names), **kwargs))
        if returns.startswith("tuple") and outputs is None:
            raise TypeError(
                f"{name}(): how many nodes it gives is not known before the graph runs: say it, {name}(..., outputs=2)"
            )
        return apply(function, node, *args, outputs=outputs, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def _names() -> list[str]:
    return [n for n in dir(_runtime.Tensor) if not n.startswith("_") and not n.endswith("_")]


_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.matmul: operator.matmul,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt, np.less_equal: operator.le,
    np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


def of_ufunc(node: Any, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's operators make of an array and a node; its other functions are refused."""
    operator_ = _OPERATORS.get(ufunc)
    if operator_ is not None and method == "__call__" and not kwargs:
        return operator_(*[constant(i) if isinstance(i, (np.ndarray, np.generic)) else i for i in inputs])
    name = ufunc.__name__
    instead = f"write its method, x.{name}(...); " if name in _names() and method == "__call__" else ""
    raise TypeError(f"np.{name}() computes at once, and node {node} has no values yet: {instead}{_ELSE}")
