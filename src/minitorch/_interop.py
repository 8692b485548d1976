"""NumPy's ufuncs on tensors: ``np.sin(t)``, ``ndarray + t`` and ``np.float64(2) * t`` record."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _runtime
from ._op import Row, rows

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
    if method != "__call__" or options or row is None or not _takes_operands(row, ufunc):
        return _by_numpy(ufunc, method, inputs, options)
    operands = [i if isinstance(i, _runtime.Tensor) else _runtime.operand(i, self) for i in inputs]
    known = all([o is not NotImplemented for o in operands])
    return row.call(*operands) if known else NotImplemented


def _takes_operands(row: Row, ufunc: np.ufunc) -> bool:
    return row.elementwise and not row.params and len(row.inputs) == ufunc.nin


def _by_numpy(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The ufunc on arrays; ndarrays that were given as ``out=`` are returned as they are."""
    arrays = [np.asarray(i) if isinstance(i, _runtime.Tensor) else i for i in inputs]
    result = getattr(ufunc, method)(*arrays, **options)
    if "out" in options or not isinstance(result, (np.ndarray, np.generic)):
        return result
    return _runtime.wrap(np.asarray(result))
