"""Dtypes and PyTorch's rules of promotion, on NumPy dtypes."""

from __future__ import annotations

import functools
from builtins import bool as _bool
from builtins import int as _int
from collections.abc import Iterable
from typing import Any

import numpy as np


class dtype:
    """An element type, such as ``float32``; its ``numpy`` attribute is NumPy's.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.float32, torch.float32.itemsize, torch.int64.is_floating_point
    (torch.float32, 4, False)
    """

    __slots__ = ("_name", "_numpy")
    _name: str
    _numpy: np.dtype[Any] | None

    def __init__(self, name: str, numpy: str | None) -> None:
        self._name = name
        self._numpy = None if numpy is None else np.dtype(numpy)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; TypeError for those that are only names here (complex, bfloat16)."""
        if self._numpy is None:
            raise TypeError(f"{self!r} is not supported: use float32, float64, float16, an integer dtype or bool")
        return self._numpy

    @property
    def itemsize(self) -> _int:
        """Bytes an element takes."""
        return self.numpy.itemsize

    @property
    def is_floating_point(self) -> _bool:
        return "float" in self._name

    @property
    def is_complex(self) -> _bool:
        return "complex" in self._name

    @property
    def is_signed(self) -> _bool:
        return not (self._name == "bool" or self._name.startswith("uint"))

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self._name,)


_NAMES = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
_NAMED = {name: dtype(name, name) for name in _NAMES}
_NAMED |= {name: dtype(name, None) for name in ("bfloat16", "complex32", "complex64", "complex128")}
_OF_NUMPY = {d._numpy: d for d in _NAMED.values() if d._numpy is not None}


def named(name: str) -> dtype:
    """The dtype of this name."""
    return _NAMED[name]


float16 = half = named("float16")
float32 = float = named("float32")
float64 = double = named("float64")
bfloat16 = named("bfloat16")
int8, uint8 = named("int8"), named("uint8")
int16 = short = named("int16")
int32 = int = named("int32")
int64 = long = named("int64")
uint16, uint32, uint64 = named("uint16"), named("uint32"), named("uint64")
bool = named("bool")
complex32 = named("complex32")
complex64 = cfloat = named("complex64")
complex128 = cdouble = named("complex128")

BOOL, INT64, UINT8, FLOAT32, FLOAT64 = map(np.dtype, ("bool", "int64", "uint8", "float32", "float64"))
_PYTHON = {"bool": BOOL, "int": INT64, "float": FLOAT64}


def of_numpy(numpy: np.dtype[Any]) -> dtype:
    """The dtype that a NumPy dtype is; TypeError if there is none."""
    found = _OF_NUMPY.get(numpy) or _OF_NUMPY.get(numpy.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy}. The only supported types are: float64, float32, float16, "
            "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def to_numpy(given: Any) -> np.dtype[Any]:
    """The NumPy dtype for a ``dtype=`` argument: a dtype, ``float``/``int``/``bool``, or a NumPy dtype."""
    if isinstance(given, dtype):
        return given.numpy
    if isinstance(given, type) and given.__module__ == "builtins" and given.__name__ in _PYTHON:
        return _PYTHON[given.__name__]
    if isinstance(given, np.dtype) or (isinstance(given, type) and issubclass(given, np.generic)):
        return of_numpy(np.dtype(given)).numpy
    raise TypeError(f"dtype must be a torch.dtype, not {type(given).__name__}")


class _Default:
    """The default float dtype: ``set_default_dtype`` changes it."""

    numpy = FLOAT32


def default() -> np.dtype[Any]:
    """The NumPy dtype of floats made from Python numbers."""
    return _Default.numpy


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of floats made from Python numbers (float32 at first).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type, got {d!r}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    _Default.numpy = d.numpy
    weak_dtype.cache_clear()
    weak_numbers.clear()


def get_default_dtype() -> dtype:
    """The dtype of floats made from Python numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.get_default_dtype()
    torch.float32
    """
    return of_numpy(_Default.numpy)


weak_numbers: dict[tuple[type, np.dtype[Any]], Any] = {}
"""For ``_runtime.operand``: what a Python number becomes beside a dtype, with its layout; forgotten with the default dtype."""


# -- promotion ---------------------------------------------------------------------------------------------------------
_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}


@functools.lru_cache(None)
def promoted(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The common dtype: the higher category (bool, integer, float) wins, and NumPy decides within one."""
    if _CATEGORY[a.kind] == _CATEGORY[b.kind]:
        return np.promote_types(a, b)
    return a if _CATEGORY[a.kind] > _CATEGORY[b.kind] else b


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype that holds both.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.promote_types(torch.int64, torch.float32)
    torch.float32
    """
    return of_numpy(promoted(to_numpy(type1), to_numpy(type2)))


def result_dtype(arrays: Iterable[np.ndarray]) -> np.dtype[Any]:
    """The common dtype of arrays; 0-d ones count only where their category is higher than that of the others."""
    strong, weak = None, None
    for array in arrays:
        if array.ndim:
            strong = array.dtype if strong is None else promoted(strong, array.dtype)
        else:
            weak = array.dtype if weak is None else promoted(weak, array.dtype)
    if strong is None or weak is None:
        return strong or weak  # type: ignore[return-value]  # one is there, of an array at least
    return strong if _CATEGORY[weak.kind] <= _CATEGORY[strong.kind] else promoted(strong, weak)


def can_cast(source: np.dtype[Any], to: np.dtype[Any]) -> _bool:
    """Whether a result may be written into a tensor of dtype *to*: not from a higher category."""
    return _CATEGORY[source.kind] <= _CATEGORY[to.kind]


def brought(array: np.ndarray, common: np.dtype[Any]) -> np.ndarray:
    """The array in another dtype; what is too large for a smaller float becomes infinite, without NumPy's warning."""
    if common.kind != "f" or (common.itemsize > 2 and array.dtype.kind != "f"):
        return array.astype(common)
    with np.errstate(over="ignore"):
        return array.astype(common)


def promote(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays in their common dtype."""
    common = result_dtype(arrays)
    return tuple([a if a.dtype is common else brought(a, common) for a in arrays])


def floating(array: np.ndarray) -> np.ndarray:
    """Integers and bools in the default float dtype."""
    return array if array.dtype.kind == "f" else array.astype(_Default.numpy)


@functools.lru_cache(None)
def weak_dtype(kind: type, other: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a Python number of this type takes when it meets a tensor of dtype *other*."""
    level = 0 if issubclass(kind, _bool) else 1 if issubclass(kind, _int) else 2
    return other if level <= _CATEGORY[other.kind] else (BOOL, INT64, _Default.numpy)[level]
