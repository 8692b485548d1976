"""NumPy on tensors: ``np.sin(t)``, ``ndarray @ t``, ``np.float64(2) * t`` and ``np.stack([t, u])`` record."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _runtime
from ._convert import NEEDS_DETACH
from ._modes import grad_on
from ._op import Row, rows
from ._views import current_node, edited
from .ops import arrange, choices, einsum, join, linalg, scan, shape, statistics

# The rows that are called otherwise than the ufunc.
_ROWS = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "power": "pow", "absolute": "abs",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "rint": "round",
}  # fmt: skip


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy calls for a ufunc with a tensor among its operands.

    A plain call of a ufunc that has a row is recorded.  Anything else (``reduce``, ``out=``, other ufuncs) NumPy does
    on the arrays, which raises where a tensor requires grad; the result is a tensor.
    """
    if ufunc is np.square and not options:
        return rows["pow_number"].call(self, 2)
    row = rows.get(_ROWS.get(ufunc.__name__, ufunc.__name__))
    known = row is not None and _takes_operands(row, ufunc)
    if method != "__call__" or options or not (known or ufunc is np.matmul):
        return _by_numpy(ufunc, method, inputs, options)
    operands = [i if isinstance(i, _runtime.Tensor) else _runtime.operand(i, self) for i in inputs]
    if not all([o is not NotImplemented for o in operands]):
        return NotImplemented
    return linalg.matmul(*operands) if ufunc is np.matmul else row.call(*operands)  # type: ignore[union-attr]


def _takes_operands(row: Row, ufunc: np.ufunc) -> bool:
    return row.elementwise and not row.params and len(row.inputs) == ufunc.nin


def _by_numpy(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The ufunc on arrays; what was given as ``out=`` is returned as it is."""
    arrays = [np.asarray(i) if isinstance(i, _runtime.Tensor) else i for i in inputs]
    given = options.get("out", ())
    if given:
        options["out"] = tuple([_written(o) if isinstance(o, _runtime.Tensor) else o for o in given])
    result = getattr(ufunc, method)(*arrays, **options)
    if given:
        return given[0] if len(given) == 1 else given
    if not isinstance(result, (np.ndarray, np.generic)):
        return result
    return _runtime.wrap(np.asarray(result))


def _written(tensor: Any) -> np.ndarray:
    """The memory of a tensor that NumPy is about to write to."""
    if current_node(tensor) is not None and grad_on():
        raise RuntimeError(NEEDS_DETACH)
    edited(tensor)
    array: np.ndarray = tensor._array
    return array


# -- functions of NumPy that are no ufuncs -----------------------------------------------------------------------------
def array_function(self: Any, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What NumPy calls for its other functions with a tensor among their arguments.

    Where no tensor requires grad, they do on the tensors' arrays what they do on any; where one does, those below are
    recorded, and the others raise, as ``np.asarray`` of such a tensor does.
    """
    recorded = _functions().get(function)
    if recorded is not None and any([current_node(t) is not None for t in _tensors((args, options))]):
        return recorded(*args, **options)
    return function._implementation(*args, **options)


def _tensors(value: Any) -> list[Any]:
    """The tensors in nested sequences."""
    if isinstance(value, _runtime.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in values for tensor in _tensors(item)]


def _taken(value: Any) -> Any:
    """Arrays and numbers beside tensors, as tensors."""
    if isinstance(value, (list, tuple)):
        return [_taken(item) for item in value]
    return value if isinstance(value, _runtime.Tensor) else _runtime.wrap(np.asarray(value))


def _concatenated(arrays: Any, axis: int | None = 0) -> Any:
    tensors = _taken(arrays)
    return join.cat(tensors, axis) if axis is not None else join.cat([shape.flatten(t) for t in tensors])


def _transposed(a: Any, axes: Any = None) -> Any:
    return shape.permute(a, tuple(range(a.ndim)[::-1] if axes is None else axes))


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's std or var: what it divides by is the number of elements."""

    def recorded(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        return function(a, axis, correction=ddof, keepdim=keepdims)

    return recorded


@functools.cache
def _functions() -> dict[Any, Callable[..., Any]]:
    """NumPy's functions, each with what is called in its place."""
    return {
        np.concatenate: _concatenated,
        np.stack: lambda arrays, axis=0: join.stack(_taken(arrays), axis),
        np.vstack: lambda tup: join.vstack(_taken(tup)),
        np.hstack: lambda tup: join.hstack(_taken(tup)),
        np.dstack: lambda tup: join.dstack(_taken(tup)),
        np.column_stack: lambda tup: join.column_stack(_taken(tup)),
        np.where: lambda condition, x, y: choices.where(_taken(condition), _taken(x), _taken(y)),
        np.clip: lambda a, a_min=None, a_max=None: choices.clamp(a, a_min, a_max),
        np.reshape: lambda a, shape: a.reshape(shape),
        np.ravel: lambda a: shape.flatten(a),
        np.transpose: _transposed,
        np.swapaxes: lambda a, axis1, axis2: shape.transpose(a, axis1, axis2),
        np.moveaxis: lambda a, source, destination: shape.movedim(a, source, destination),
        np.squeeze: lambda a, axis=None: shape.squeeze(a) if axis is None else shape.squeeze(a, axis),
        np.expand_dims: lambda a, axis: shape.unsqueeze(a, axis),
        np.broadcast_to: lambda array, shape: array.expand(shape),
        np.flip: lambda m, axis=None: arrange.flip_method(m, tuple(range(m.ndim)) if axis is None else axis),
        np.roll: lambda a, shift, axis=None: arrange.roll(a, shift, () if axis is None else axis),
        np.tile: lambda A, reps: arrange.tile(A, (reps,) if isinstance(reps, int) else reps),
        np.cumsum: lambda a, axis=None: scan.cumsum(a if axis is not None else shape.flatten(a), axis or 0),
        np.cumprod: lambda a, axis=None: scan.cumprod(a if axis is not None else shape.flatten(a), axis or 0),
        np.std: _spread(statistics.std),
        np.var: _spread(statistics.var),
        np.dot: lambda a, b: linalg.matmul(_taken(a), _taken(b)),
        np.outer: lambda a, b: linalg.outer(shape.flatten(_taken(a)), shape.flatten(_taken(b))),
        np.einsum: lambda subscripts, *operands: einsum.einsum(subscripts, *_taken(operands)),
    }
