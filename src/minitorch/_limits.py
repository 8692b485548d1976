"""What dtypes can hold, and which dtype results take."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._dtypes import dtype
from ._types import Number

if TYPE_CHECKING:
    from ._tensor import Tensor


class finfo:
    """The limits of a floating-point dtype.

    Parameters
    ----------
    type : dtype, optional
        By default the default dtype.

    Attributes
    ----------
    bits : int
    eps : float
        The step from 1 to the next number.
    max, min : float
        The largest and the smallest number.
    tiny, smallest_normal : float
        The smallest positive number that has all digits.
    resolution : float
        The power of ten that decimal digits are good for.
    dtype : str
        The dtype's name.

    Raises
    ------
    TypeError
        For a dtype that is not floating-point.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.finfo(torch.float32).max
    3.4028234663852886e+38
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtype | builtins.type[builtins.float] | None = None) -> None:
        numpy = _numpy_dtype("finfo", type)
        if numpy.kind != "f":
            raise TypeError(f"torch.finfo() requires a floating point input type, but got {type!r}: use torch.iinfo")
        info = np.finfo(numpy)
        self.bits, self.dtype = info.bits, numpy.name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = 10.0**-info.precision

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(self.dtype)


class iinfo:
    """The limits of an integer dtype.

    Parameters
    ----------
    type : dtype

    Attributes
    ----------
    bits, max, min : int
    dtype : str
        The dtype's name.

    Raises
    ------
    TypeError
        For a dtype that is not of integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.iinfo(torch.uint8).max
    255
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtype | builtins.type[builtins.int]) -> None:
        numpy = _numpy_dtype("iinfo", type)
        if numpy.kind not in "iu":
            raise TypeError(
                f"torch.iinfo() requires an integer input type, but got {type!r}: use torch.finfo for floats"
            )
        info = np.iinfo(numpy)
        self.bits, self.max, self.min, self.dtype = info.bits, info.max, info.min, numpy.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(self.dtype)


def _numpy_dtype(name: str, given: Any) -> np.dtype[Any]:
    if given is None:
        return _dtypes.default()
    if not isinstance(given, (dtype, type)):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")
    return _dtypes.to_numpy(given)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether results of one dtype may be written into tensors of another: integers into floats, not the reverse.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    return bool(_dtypes.can_cast(_dtypes.to_numpy(from_), _dtypes.to_numpy(to)))


def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtype:
    """The dtype that arithmetic on two tensors or numbers gives.

    Raises
    ------
    TypeError
        For anything that is neither a tensor nor a number.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.5)
    torch.float32
    """
    given = (tensor1, tensor2)
    arrays = [value._array for value in given if isinstance(value, _runtime.Tensor)]
    common = _dtypes.result_dtype(arrays) if arrays else _dtypes.BOOL
    for value in given:
        if isinstance(value, (int, float)):
            common = _dtypes.weak_dtype(value.__class__, common)  # type: ignore[arg-type]  # a class is hashable
        elif not isinstance(value, _runtime.Tensor):
            raise TypeError(f"result_type(): arguments must be Tensors or Numbers, not {type(value).__name__}")
    return _dtypes.of_numpy(common)
