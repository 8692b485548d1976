"""The constructors of PyTorch's first years: ``Tensor(2, 3)``, ``FloatTensor(2, 3)``, ``LongTensor([1, 2])``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._device import check_device
from ._dtypes import dtype
from ._errors import scalar_name
from ._runtime import made
from ._size import Size
from ._storage import Storage
from .ops.creation import shape_of
from .ops.from_data import array_of, check_sequence, checked_array, noted
from .ops.subscript import alias

if TYPE_CHECKING:
    from ._tensor import Tensor


def legacy_tensor(name: str, numpy: np.dtype[Any] | None, data: tuple[Any, ...], size: Any = None) -> Tensor:
    """``FloatTensor(2, 3)`` of any values, or ``FloatTensor([1, 2])``; without a dtype, a tensor of any is taken."""
    dtype = numpy or _dtypes.default()
    if size is not None:
        return made(np.empty(shape_of(name, (size,)), dtype))
    given = data[0] if len(data) == 1 else None
    if isinstance(given, _runtime.Tensor):
        if numpy is not None and given._array.dtype is not numpy:
            raise TypeError(
                f"{name}(): expected a tensor of {_dtypes.of_numpy(numpy)!r}, but got {given.dtype!r}; use .to()"
            )
        return alias(given)
    if isinstance(given, Storage):
        return given.tensor(dtype)
    if isinstance(given, np.ndarray) and given.dtype == dtype:
        return made(checked_array(given))
    if len(data) == 1 and (isinstance(given, np.ndarray) or not isinstance(given, (Size, int, np.integer))):
        return noted(made(array_of(check_sequence(name, given), dtype)), name, given)
    return made(np.empty(shape_of(name, data or ((0,),)), dtype))


class TensorMeta(type):
    """The class of ``Tensor``: ``Tensor(2, 3)`` is of any values, ``Tensor([1, 2])`` of these, both of the default dtype.

    The engine makes its tensors without asking it.
    """

    def __init__(cls, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        _runtime.tensor_types.add(cls)

    def __call__(cls, *data: Any, **options: Any) -> Any:
        kind: Any = cls
        if kind.__new__ is not object.__new__:  # a subclass that makes its objects itself
            return super().__call__(*data, **options)
        if kind.__init__ is not object.__init__:
            made = _of_class(cls, legacy_tensor(cls.__name__, None, data[:1]))
            made.__init__(*data, **options)
            return made
        return _of_class(cls, _constructed(cls.__name__, None, data, **options))


def _constructed(
    name: str,
    dtype: np.dtype[Any] | None,
    given: tuple[Any, ...],
    /,
    *,
    data: Any = None,
    size: Any = None,
    device: Any = None,
    **more: Any,
) -> Tensor:
    """What the constructors share: their keywords."""
    if data is not None:
        given = (*given, data)
    if more:
        raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(more))!r}: use torch.tensor")
    check_device(device)
    return legacy_tensor(name, dtype, given, size)


def _of_class(cls: type, tensor: Any) -> Any:
    """The same tensor as one of a subclass."""
    if cls is _runtime.Tensor:
        return tensor
    own: Any = object.__new__(cls)
    own._array, own._node, own._alias, own._layout = tensor._array, tensor._node, tensor._alias, tensor._layout
    return own


def new(input: Tensor, *data: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: ``new(2, 3)`` of any values, ``new([1, 2])`` of these; see ``FloatTensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.5]).new([1, 2])
    tensor([1., 2.])
    """
    return _constructed("new", input._array.dtype, data, size=size, device=device)


class TensorType(type):
    """The class of ``FloatTensor`` and its kin: they make Tensors of their dtype and recognise them."""

    dtype: dtype

    def __call__(cls, *data: Any, **options: Any) -> Tensor:
        return _constructed(cls.__name__, cls.dtype.numpy, data, **options)

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


class _VariableMeta(type):
    """The class of ``Variable``: every Tensor is one."""

    def __call__(cls, data: Any = None, requires_grad: bool | None = None, volatile: bool | None = None) -> Tensor:
        if volatile is not None:
            warnings.warn(
                "volatile was removed and now has no effect: use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is not None and not isinstance(data, _runtime.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}: use torch.tensor")
        variable = legacy_tensor("Variable", None, ()) if data is None else data.detach()
        return _runtime.flagged(variable) if requires_grad else variable

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _runtime.Tensor)


class Variable(metaclass=_VariableMeta):
    """What tensors that record were before tensors did: ``Variable(tensor)`` is a detached tensor with the same memory.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(torch.ones(2), torch.autograd.Variable)
    True
    """
