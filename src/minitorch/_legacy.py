"""The constructors of PyTorch's first years: ``FloatTensor(2, 3)``, ``LongTensor([1, 2])``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._device import check_device
from ._dtypes import dtype
from ._errors import scalar_name
from ._runtime import made
from .ops.creation import shape_of
from .ops.from_data import array_of, check_sequence

if TYPE_CHECKING:
    from ._tensor import Tensor


def legacy_tensor(name: str, numpy: np.dtype[Any], sizes: tuple[Any, ...], size: Any = None) -> Tensor:
    """``FloatTensor(2, 3)`` of any values, or ``FloatTensor([1, 2])``."""
    if size is not None:
        return made(np.empty(shape_of(name, (size,)), numpy))
    given = sizes[0] if len(sizes) == 1 else None
    if isinstance(given, _runtime.Tensor):
        if given._array.dtype is not numpy:
            raise TypeError(
                f"{name}(): expected a tensor of {_dtypes.of_numpy(numpy)!r}, but got {given.dtype!r}; use .to()"
            )
        return given.detach()
    if given is not None and not isinstance(given, int) and type(given).__name__ != "Size":
        return made(array_of(check_sequence(name, given), numpy))
    return made(np.empty(shape_of(name, sizes or ((0,),)), numpy))


def new(input: Tensor, *data: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: ``new(2, 3)`` of any values, ``new([1, 2])`` of these; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.5]).new([1, 2])
    tensor([1., 2.])
    """
    check_device(device)
    return legacy_tensor("new", input._array.dtype, data, size)


class TensorType(type):
    """The class of ``FloatTensor`` and its kin: they make Tensors of their dtype and recognise them."""

    dtype: dtype

    def __call__(cls, *data: Any, size: Any = None, device: Any = None) -> Tensor:
        check_device(device)
        return legacy_tensor(cls.__name__, cls.dtype.numpy, data, size)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _runtime.Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


class FloatTensor(metaclass=TensorType):
    """A float32 tensor: ``FloatTensor(2, 3)`` of any values, ``FloatTensor([1, 2])`` of these.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.FloatTensor([1, 2])
    tensor([1., 2.])
    >>> isinstance(torch.zeros(2), torch.FloatTensor)
    True
    """

    dtype = _dtypes.float32


class DoubleTensor(metaclass=TensorType):
    """A float64 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.DoubleTensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """

    dtype = _dtypes.float64


class HalfTensor(metaclass=TensorType):
    """A float16 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.HalfTensor([1, 2])
    tensor([1., 2.], dtype=torch.float16)
    """

    dtype = _dtypes.float16


class LongTensor(metaclass=TensorType):
    """An int64 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.LongTensor([1, 2])
    tensor([1, 2])
    """

    dtype = _dtypes.int64


class IntTensor(metaclass=TensorType):
    """An int32 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.IntTensor([1, 2])
    tensor([1, 2], dtype=torch.int32)
    """

    dtype = _dtypes.int32


class ShortTensor(metaclass=TensorType):
    """An int16 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ShortTensor([1, 2])
    tensor([1, 2], dtype=torch.int16)
    """

    dtype = _dtypes.int16


class CharTensor(metaclass=TensorType):
    """An int8 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.CharTensor([1, 2])
    tensor([1, 2], dtype=torch.int8)
    """

    dtype = _dtypes.int8


class ByteTensor(metaclass=TensorType):
    """A uint8 tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ByteTensor([1, 2])
    tensor([1, 2], dtype=torch.uint8)
    """

    dtype = _dtypes.uint8


class BoolTensor(metaclass=TensorType):
    """A bool tensor; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.BoolTensor([1, 2])
    tensor([True, True])
    """

    dtype = _dtypes.bool


_TYPES = (FloatTensor, DoubleTensor, HalfTensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor)


def type_name(numpy: np.dtype[Any]) -> str:
    """The name of tensors of a dtype: ``torch.FloatTensor``."""
    return f"torch.{scalar_name(numpy)}Tensor"


def type_of_name(name: str) -> TensorType:
    """The class that a name stands for; ValueError if there is none."""
    for kind in _TYPES:
        if name in (f"torch.{kind.__name__}", kind.__name__):
            return kind
    raise ValueError(f"invalid type: {name!r}")


def set_default_tensor_type(t: TensorType | str) -> None:
    """Set the dtype of floats by the name of a kind of tensor; ``set_default_dtype`` says the same more plainly.

    Raises
    ------
    TypeError
        If it is not one of floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    _dtypes.set_default_dtype((type_of_name(t) if isinstance(t, str) else t).dtype)
