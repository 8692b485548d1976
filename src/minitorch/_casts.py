"""Tensors in another dtype: ``to`` and the methods named after dtypes.  Each function takes the tensor first."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._args import array_of, flag
from ._device import check_device, check_memory_format
from ._legacy import TensorType, type_name, type_of_name
from .ops.copies import converted

if TYPE_CHECKING:
    from ._device import device as Device
    from ._device import memory_format as MemoryFormat
    from ._dtypes import dtype as Dtype
    from ._tensor import Tensor


def _is_dtype(given: Any) -> builtins.bool:
    return isinstance(given, (_dtypes.dtype, np.dtype, builtins.type))


def to(
    input: Tensor,
    *args: Any,
    dtype: Dtype | None = None,
    device: Device | str | None = None,
    non_blocking: builtins.bool = False,
    copy: builtins.bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """The tensor with another dtype or device: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``.

    Parameters
    ----------
    input : Tensor
        Any.
    *args
        A dtype; a device and a dtype; or a tensor whose dtype is taken; then *non_blocking* and *copy*.
    dtype : dtype, optional
        The dtype.
    device : device or str, optional
        Only the CPU.
    non_blocking : bool
        Of no influence.
    copy : bool
        Whether to copy also where there is nothing to convert; otherwise the tensor itself is returned then.
    memory_format : memory_format, optional
        Of no influence on values.

    Raises
    ------
    AssertionError, RuntimeError
        If another device is asked for.
    TypeError
        If the arguments are none of these combinations.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    >>> torch.tensor([1, 2]).to("cpu", torch.float32)
    tensor([1., 2.])
    """
    wanted: Any = dtype
    rest = args
    if rest:
        first, rest = rest[0], rest[1:]
        twice = device is not None
        if isinstance(first, _runtime.Tensor):
            wanted, twice = first._array.dtype, twice or dtype is not None
        elif _is_dtype(first):
            wanted, twice = first, twice or dtype is not None
        else:
            device = first
            if rest:
                twice = twice or dtype is not None or not (rest[0] is None or _is_dtype(rest[0]))
                wanted, rest = rest[0], rest[1:]
        if twice or len(rest) > 2:
            raise _no_such_call(args, dtype=dtype, device=device)
        if rest:
            non_blocking = rest[0]
            copy = rest[1] if len(rest) == 2 else copy
    if copy.__class__ is not builtins.bool:
        flag(copy, "copy")
    if non_blocking.__class__ is not builtins.bool:
        flag(non_blocking, "non_blocking")
    check_device(device)
    return converted(input, input._array.dtype if wanted is None else _dtypes.to_numpy(wanted), copy)


def _no_such_call(args: tuple[Any, ...], **named: Any) -> TypeError:
    came = [builtins.type(a).__name__ for a in args] + [k for k, v in named.items() if v is not None]
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(came)}), but expected a dtype, a device and "
        "a dtype, or a tensor; then non_blocking and copy"
    )


def type(input: Tensor, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
    """The name of the tensor's kind, such as ``torch.FloatTensor``; with an argument, the tensor in another dtype.

    Parameters
    ----------
    input : Tensor
        Any.
    dtype : dtype, str or class, optional
        ``torch.int64``, ``"torch.LongTensor"`` or ``torch.LongTensor``.
    non_blocking : bool
        Of no influence.

    Raises
    ------
    ValueError
        For a name that is no kind of tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).type()
    'torch.LongTensor'
    >>> torch.tensor([1, 2]).type(torch.FloatTensor)
    tensor([1., 2.])
    """
    if dtype is None:
        return type_name(input._array.dtype)
    if isinstance(dtype, str):
        dtype = type_of_name(dtype)
    if isinstance(dtype, TensorType):
        dtype = dtype.dtype
    return converted(input, _dtypes.to_numpy(dtype))


def typename(obj: Any, /) -> str:
    """The name of a tensor's kind, or of an object's class.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.typename(torch.tensor([1, 2])), torch.typename(3)
    ('torch.LongTensor', 'int')
    """
    if isinstance(obj, _runtime.Tensor):
        return type_name(obj._array.dtype)
    kind = obj if isinstance(obj, builtins.type) else obj.__class__
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in another's dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).type_as(torch.tensor(0.5))
    tensor([1., 2.])
    """
    return converted(input, array_of("type_as", other, "other", 2).dtype)


def cpu(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor on the CPU, where it is.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).cpu()
    tensor([1, 2])
    """
    return input


def cuda(
    input: Tensor, device: Any = None, non_blocking: builtins.bool = False, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Refused: there is no CUDA here."""
    check_device("cuda" if device is None else device)
    return input


def double(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as float64.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).double()
    tensor([1., 2.], dtype=torch.float64)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.FLOAT64)


def float(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as float32.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).float()
    tensor([1., 2.])
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.FLOAT32)


def half(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as float16.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).half()
    tensor([1., 2.], dtype=torch.float16)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.float16.numpy)


def bfloat16(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Refused: there is no bfloat16 here."""
    return converted(input, _dtypes.bfloat16.numpy)


def long(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as int64.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.7]).long()
    tensor([1])
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.INT64)


def int(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as int32.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.7]).int()
    tensor([1], dtype=torch.int32)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.int32.numpy)


def short(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as int16.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.7]).short()
    tensor([1], dtype=torch.int16)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.int16.numpy)


def char(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as int8.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.7]).char()
    tensor([1], dtype=torch.int8)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.int8.numpy)


def byte(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as uint8.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([-1]).byte()
    tensor([255], dtype=torch.uint8)
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.UINT8)


def bool(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor as bool: what is not zero is True.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([0, 2]).bool()
    tensor([False,  True])
    """
    check_memory_format(memory_format)
    return converted(input, _dtypes.BOOL)


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Refused: there are no complex tensors here.

    Raises
    ------
    TypeError
        Always.
    """
    raise TypeError("complex tensors are not supported: keep the real and the imaginary part in two tensors")
