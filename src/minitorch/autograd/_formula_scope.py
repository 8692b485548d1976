"""What the texts of a formula name, and the values that they are evaluated at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._dtypes import dtype, of_numpy
from .._op import rows
from ..ops import creation, from_data
from ..ops.subscript import Indices
from ._formula_calls import DEFAULTS
from ._formula_functions import DTYPES, MADE, OWN, USUAL, either, functions, public
from ._formula_places import INDEXED
from ._formula_text import Opaque, identifier


class Own(NamedTuple):
    """What a reading says of how its texts call: the functions that are no one else's, and by rows' names the parameters that
    are ndarrays, and the rows whose ``dim`` is a tuple."""

    functions: dict[str, Any]
    arrays: set[tuple[str, str]]
    tuples: set[str]


class Scope(dict[str, Any]):
    """What the texts of a formula may name: minitorch's functions, rows, and what cannot be written out.

    Parameters
    ----------
    widest : numpy.dtype, optional
        What all floats are instead, if values are given that are wider than those that were recorded.
    """

    def __init__(self, own: Own, opaque: Mapping[str, Opaque], default: Any, widest: Any = None) -> None:
        super().__init__(own.functions)
        self._own, self._default, self._widest = own, default, widest
        self.update({name: o.content for name, o in opaque.items()})

    def __missing__(self, name: str) -> Any:
        if name in USUAL:
            return USUAL[name]
        if name in MADE:
            return self._made(from_data.tensor if name == "tensor" else getattr(creation, name))
        if name in DTYPES:
            return self._wide(of_numpy(np.dtype(name)))
        if (function := public(name)) is not None:
            return either(function, called(rows[name], self._own)) if name in rows else function
        if (row := name.removesuffix(OWN)) in rows:
            return called(rows[row], self._own)
        if found := functions().get(name):
            return found[0]
        raise NameError(f"name {name!r} is not defined")

    def _wide(self, kind: Any) -> Any:
        return of_numpy(self._widest) if self._widest is not None and kind.is_floating_point else kind

    def _made(self, make: Any) -> Any:
        """A function that makes tensors, as it did where the formula was made."""

        def made(*args: Any, dtype: Any = None) -> Any:
            if dtype is None and (make in (creation.zeros, creation.ones, creation.eye) or isinstance(args[-1], float)):
                dtype = self._wide(self._default)
            return make(*args, dtype=dtype)

        return made


def called(row: Any, own: Own) -> Any:
    """A row as texts call it: parameters that are None are left out; some are ndarrays to it, or tuples."""
    absent = dict.fromkeys([p for p, default in row.params.items() if not default])

    def call(*args: Any, **params: Any) -> Any:
        given = {name: value.numpy if isinstance(value, dtype) else value for name, value in params.items()}
        given |= {name: array_in(value) for name, value in params.items() if (row.name, name) in own.arrays}
        if row.name in own.tuples and isinstance(given.get("dim"), int):
            given["dim"] = (given["dim"],)
        if row.name in INDEXED:
            given["indices"] = Indices(params["indices"])
        return row.call(*args, **{**absent, **DEFAULTS.get(row.name, {}), **given})

    return call


def array_in(value: Any) -> Any:
    """A parameter with ndarrays in place of Tensors."""
    if isinstance(value, tuple):
        return tuple([array_in(v) for v in value])
    return value._array if isinstance(value, _runtime.Tensor) else value


# -- values ------------------------------------------------------------------------------------------------------------
def values_of(symbols: Mapping[str, Any], given: Mapping[str, Any], default: Any) -> tuple[dict[str, Any], Any]:
    """The values of a formula's names, those that are not given as they are now; and the dtype of all floats, where a value is
    wider than what was recorded."""
    tensors = {name: None if s.tensor is None else _runtime.wrap(s.tensor._array) for name, s in symbols.items()}
    kinds = {name: None if t is None else t._array.dtype for name, t in tensors.items()}
    wide = []
    for name, value in given.items():
        if (known := identifier(name)) not in tensors:
            names = f"has {', '.join(tensors)}" if tensors else "has none"
            raise TypeError(f"evaluate(): {name!r} is no name of this formula; it {names}")
        tensors[known] = made = _taken(name, value, tensors[known], kinds[known], default.numpy)
        kind, before = made._array.dtype, kinds[known] or default.numpy
        if kind.kind == before.kind == "f" and kind.itemsize > before.itemsize:
            wide.append(kind)
    wide += [kind for kind in kinds.values() if wide and kind is not None and kind.kind == "f"]
    widest = max(wide, key=lambda kind: kind.itemsize, default=None)
    for name, value in tensors.items():
        if value is None:
            continue
        kind = kinds[name] or value._array.dtype
        kind = widest if widest is not None and kind.kind == "f" else kind
        if value._array.dtype != kind:
            tensors[name] = rows["to"].call(value, kind)
    return tensors, widest


def _taken(name: str, value: Any, recorded: Any, kind: Any, floats: Any) -> Any:
    """A value that is given, as a Tensor of the shape that was recorded; numbers and lists are of its dtype."""
    shape = None if recorded is None else tuple(recorded.shape)
    array = value
    if isinstance(value, (bool, int, float, list, tuple, np.generic)):
        array = np.asarray(value)
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
        tensor = _runtime.wrap(array)
    elif isinstance(value, _runtime.Tensor):
        tensor = value
    else:
        raise TypeError(
            f"evaluate(): {name!r} must be a Tensor, an ndarray, numbers or a number, not {_kind_of(value)}"
        )
    if kind is not None and kind.kind != "f" and tensor._array.dtype.kind == "f":
        raise TypeError(
            f"evaluate(): {name!r} must be of {of_numpy(kind)}, as it was, not of {tensor.dtype}; convert it"
        )
    if isinstance(value, (bool, int, float)) and shape is not None:
        return _runtime.wrap(np.full(shape, value, kind))
    if shape is not None and tuple(tensor.shape) != shape:
        raise ValueError(
            f"evaluate(): {name!r} has shape {tuple(tensor.shape)}, but had {shape} where the function was recorded, and the "
            "formula is for that; record the function with the new shape"
        )
    if array is value:
        return tensor
    return _runtime.wrap(array.astype(kind or (floats if array.dtype.kind == "f" else array.dtype)))


def _kind_of(value: Any) -> str:
    if value is None:
        return "None"
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else value.__class__.__name__
