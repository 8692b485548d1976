"""Tensors made of what is there: numbers, sequences, ndarrays, buffers, other tensors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _runtime
from .._args import flag, integer
from .._device import check_device
from .._dtypes import dtype as Dtype
from .._errors import scalar_name
from .._modes import observers
from .._records import tensors_in
from .._runtime import made, silent
from .._types import Number
from .._value_notes import note_from_data, tell_left

if TYPE_CHECKING:
    from .._device import device as Device
    from .._tensor import Tensor

FLOATS_ONLY = "Only Tensors of floating point and complex dtype can require gradients"
_COMPLEX = "complex numbers are not supported: use two real tensors"
_NUMBERS = {bool, int, float}


# -- arrays ------------------------------------------------------------------------------------------------------------
def array_of(data: Any, dtype: np.dtype[Any] | None = None) -> np.ndarray:
    """A new array of numbers, (nested) sequences of them, ndarrays or tensors; by default of the dtype they have."""
    if isinstance(data, _runtime.Tensor):
        return silent(data._array.astype, dtype or data._array.dtype)
    if isinstance(data, np.ndarray):
        return silent(checked_array(data).astype, dtype or _dtypes.of_numpy(data.dtype).numpy)
    types = leaf_types(data)
    if types <= _NUMBERS:
        common = _python_dtype(types)
        if dtype is not None and common.kind == "f":
            common = _dtypes.FLOAT64  # Python's floats, not yet rounded to the default dtype
        array = _of_numbers(data, common)
    else:
        array = _of_mixed(data)
        common = array.dtype
    if dtype is None:
        return array
    return converted(array, dtype)


def leaf_types(data: Any) -> set[type]:
    """The types of the numbers in a nested sequence; of anything that is no sequence, its own."""
    if not _is_sequence(data):
        return {type(data)}
    found = set(map(type, data))
    if not found <= _NUMBERS:
        found = set().union(*[leaf_types(item) for item in data])
    return found


def _is_sequence(data: Any) -> bool:
    kind = type(data)
    if kind is list or kind is tuple:
        return True
    if isinstance(data, (str, bytes, dict, np.generic, np.ndarray, _runtime.Tensor)):
        return False
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__")


def _python_dtype(types: set[type]) -> np.dtype[Any]:
    """The dtype of a tensor of Python numbers; of none at all, the default one."""
    if float in types or not types:
        return _dtypes.default()
    return _dtypes.INT64 if int in types else _dtypes.BOOL


def _of_numbers(data: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of Python numbers; errors as PyTorch's where the sequences are ragged or an integer is too large."""
    if not isinstance(data, (list, tuple, bool, int, float)):
        data = list(data)
    try:
        return silent(np.array, data, dtype)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long: an integer is outside [-2**63, 2**63)") from None
    except (ValueError, TypeError):
        check_shape(data, _shape_of(data), 0)
        raise


def _shape_of(data: Any) -> list[int]:
    """The shape that the first items of nested sequences tell."""
    shape = []
    while _is_sequence(data) or isinstance(data, np.ndarray):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return shape


def check_shape(data: Any, shape: list[int], dim: int) -> None:
    """Raise where nested sequences do not all have this shape."""
    nested = _is_sequence(data) or isinstance(data, np.ndarray)
    if dim == len(shape):
        if nested:
            raise TypeError(
                f"{type(data).__name__!r} object at dim {dim} where a number was expected: sequences are ragged"
            )
        return
    if not nested:
        raise TypeError(f"not a sequence: a number at dim {dim} where a sequence of length {shape[dim]} was expected")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        check_shape(item, shape, dim + 1)


def _of_mixed(data: Any) -> np.ndarray:
    """An array of sequences that hold NumPy scalars, ndarrays or tensors; each says its dtype, the common one wins."""
    if _is_sequence(data):
        check_shape(data, _shape_of(data), 0)
        items = [_of_mixed(item) for item in data]
        if not items:
            return np.empty(0, _dtypes.default())
        common = functools.reduce(_dtypes.promoted, [item.dtype for item in items])
        return np.stack([silent(item.astype, common) for item in items])
    if isinstance(data, _runtime.Tensor):
        return _number_of(data)
    if isinstance(data, np.ndarray):
        return checked_array(data)
    if isinstance(data, np.generic):
        return np.asarray(data, _dtypes.of_numpy(data.dtype).numpy)
    for kind in (bool, int, float):  # and their subclasses
        if isinstance(data, kind):
            return _of_numbers(kind(data), _python_dtype({kind}))
    raise _no_number(data)


def _number_of(tensor: Any) -> np.ndarray:
    """A tensor's only element, where it stands for a number."""
    if tensor._array.size != 1:
        raise ValueError(
            f"only one element tensors can be converted to Python scalars, but got one of shape {tuple(tensor.shape)}; "
            "use torch.stack"
        )
    if tensor.requires_grad:
        warn_of_gradient(stacklevel=6)
    return tensor._array.reshape(())


def warn_of_gradient(stacklevel: int) -> None:
    """Warn that a tensor which requires grad becomes a number."""
    warnings.warn(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _no_number(data: Any) -> Exception:
    """The error of a leaf that is not a number."""
    if isinstance(data, (str, bytes)):
        return TypeError(f"new(): invalid data type '{type(data).__name__}': tensors hold numbers")
    if isinstance(data, complex):
        return TypeError(_COMPLEX)
    return RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers in another dtype; RuntimeError where an integer dtype does not reach them (-1 wraps in unsigned ones)."""
    if dtype.kind in "iu" and array.size:
        info = np.iinfo(dtype)
        low = -int(info.max) if dtype.kind == "u" else int(info.min)
        if (
            (array.dtype.kind == "f" and not np.isfinite(array).all())
            or array.max().item() > info.max
            or array.min().item() < low
        ):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        if array.dtype.kind == "f" and dtype.kind == "u":
            array = array.astype(np.int64)
    return silent(array.astype, dtype)


def checked_array(array: np.ndarray) -> np.ndarray:
    """An array that can be a tensor's as it is; its dtype object is the one that layouts compare with."""
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    own = _dtypes.of_numpy(array.dtype).numpy
    if any([stride < 0 for stride in array.strides]):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any([stride % array.itemsize for stride in array.strides]):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if type(array) is not np.ndarray or array.dtype is not own:
        return array.view(own, np.ndarray)
    return array


def number_array(value: Any, dtype: np.dtype[Any] | None, name: str) -> np.ndarray:
    """A fill value, a number or a 0-d tensor, as a 0-d array; RuntimeError where the dtype does not hold it."""
    if isinstance(value, _runtime.Tensor) and not value._array.ndim and not value.requires_grad:
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        raise TypeError(f"{name}(): {_COMPLEX}")
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{name}(): argument 'fill_value' must be Number, not {type(value).__name__}")
    array = _of_numbers(value, _dtypes.FLOAT64 if isinstance(value, float) else _python_dtype({type(value)}))
    if dtype is None:
        dtype = _dtypes.default() if isinstance(value, float) else array.dtype
    out = converted(array, dtype)
    if dtype.kind == "f" and np.isfinite(array) and not np.isfinite(out):
        raise RuntimeError(f"{name}(): value cannot be converted to type {dtype.name} without overflow: {value}")
    return out


# -- public functions --------------------------------------------------------------------------------------------------
def leaf(array: np.ndarray, requires_grad: bool) -> Any:
    """The tensor that a factory returns."""
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError(f"{FLOATS_ONLY}: got {scalar_name(array.dtype)}; give dtype=torch.float32")
    return made(array, requires_grad)


def check_pinned(pin_memory: bool) -> None:
    """Refuse pinned memory, which needs an accelerator."""
    if pin_memory:
        raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend: use pin_memory=False")


def tensor(
    data: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor of numbers, always a copy.

    Parameters
    ----------
    data : number, sequence, ndarray or Tensor
        Sequences may be nested, if all of one depth have the same length.
    dtype : dtype, optional
        By default that of an ndarray or tensor; otherwise bool, int64, or, if any number is a float, the default one.
    device : device or str, optional
        Only the CPU.
    requires_grad : bool
        Whether operations on the tensor are recorded.
    pin_memory : bool
        Must be False.

    Raises
    ------
    ValueError
        If sequences are ragged, or an integer does not fit in 64 bits.
    TypeError, RuntimeError
        If something in *data* is not a number, or the dtype does not hold it.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> torch.tensor([1.5, 2], requires_grad=True)
    tensor([1.5000, 2.0000], requires_grad=True)
    """
    check_device(device)
    check_pinned(pin_memory)
    if isinstance(data, _runtime.Tensor):
        warn_of_copy("torch.tensor")
    return noted(
        leaf(array_of(data, None if dtype is None else _dtypes.to_numpy(dtype)), requires_grad), "tensor", data
    )


def noted(tensor: Any, name: str, data: Any) -> Any:
    """The tensor, with a note of what it was made from where that is recorded.

    Observers that follow values see a tensor copied, and numbers that come of tensors leave.
    """
    if observers:
        if not isinstance(data, _runtime.Tensor):
            for source in tensors_in(data):
                tell_left("item", source)
        elif any([observer.parts and observer.active() for observer in observers]):
            copied = data.detach().to(_dtypes.of_numpy(tensor._array.dtype), copy=True)
            tensor = _runtime.flagged(copied, tensor.requires_grad)
        note_from_data(name, tensor, data)
    return tensor


def warn_of_copy(name: str) -> None:
    """Warn that a tensor is copied by a function for data."""
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {name}(sourceTensor).",
        UserWarning,
        stacklevel=3,
    )


def scalar_tensor(
    s: Number,
    *,
    dtype: Dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of one number, of the default float dtype unless told otherwise.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    check_device(device)
    array = number_array(s, _dtypes.default() if dtype is None else _dtypes.to_numpy(dtype), "scalar_tensor")
    return leaf(array, flag(requires_grad, "requires_grad", "scalar_tensor"))


def as_tensor(data: Any, dtype: Dtype | None = None, device: Device | str | None = None) -> Tensor:
    """The data as a tensor, sharing memory where it can: a tensor is returned as it is, an ndarray's memory is used.

    Parameters
    ----------
    data : number, sequence, ndarray or Tensor
        See ``tensor``.
    dtype : dtype, optional
        Converts, and so copies, where the data has another.
    device : device or str, optional
        Only the CPU.

    Examples
    --------
    >>> import numpy as np
    >>> import minitorch as torch
    >>> array = np.zeros(2)
    >>> torch.as_tensor(array)[0] = 1
    >>> array.tolist()
    [1.0, 0.0]
    """
    check_device(device)
    wanted = None if dtype is None else _dtypes.to_numpy(dtype)
    if isinstance(data, _runtime.Tensor):
        return data.to(dtype) if wanted else data
    if isinstance(data, np.ndarray) and wanted in (None, data.dtype):
        return from_numpy(data)
    return noted(made(array_of(data, wanted)), "as_tensor", data)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares an ndarray's memory: a change of one is a change of the other.

    Parameters
    ----------
    ndarray : ndarray
        Of bool, integer or float dtype in native byte order, without negative strides.  In-place operations are refused
        where it is not writable.

    Raises
    ------
    TypeError
        If it is no ndarray, or there is no such dtype.
    ValueError
        If a stride is negative or the byte order is not native.

    Examples
    --------
    >>> import numpy as np
    >>> import minitorch as torch
    >>> array = np.array([1.0, 2.0])
    >>> t = torch.from_numpy(array)
    >>> array[0] = 5
    >>> t
    tensor([5., 2.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    warn_unless_writable(ndarray)
    return noted(made(checked_array(ndarray).view()), "from_numpy", ndarray)  # the user's array may get another shape


def warn_unless_writable(array: np.ndarray) -> None:
    """Warn that a tensor will share memory that can't be written to."""
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable: in-place operations on the tensor will be refused. Copy the array "
            "to get a tensor that can be written to.",
            UserWarning,
            stacklevel=3,
        )


def from_dlpack(ext_tensor: Any, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array, by the DLPack protocol.

    Parameters
    ----------
    ext_tensor : object
        With ``__dlpack__`` and ``__dlpack_device__``, on the CPU.
    device : device or str, optional
        Only the CPU.
    copy : bool, optional
        Whether to copy; None leaves it to the other library.

    Examples
    --------
    >>> import numpy as np
    >>> import minitorch as torch
    >>> torch.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    check_device(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(f"from_dlpack(): expected an object with __dlpack__, but got {type(ext_tensor).__name__}")
    if isinstance(ext_tensor, np.ndarray):  # no capsule for what can't be written to
        return made(checked_array(ext_tensor.copy() if copy else ext_tensor))
    return made(checked_array(np.from_dlpack(ext_tensor, copy=copy)))


def asarray(
    obj: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of *obj*, sharing its memory where it can.

    Parameters
    ----------
    obj : Tensor, ndarray, DLPack object, buffer, number or sequence
        A buffer's bytes are taken as elements of *dtype*.
    dtype : dtype, optional
        Converts where the object has another.
    device : device or str, optional
        Only the CPU.
    copy : bool, optional
        True always copies, False never does, None does where it must.
    requires_grad : bool, optional
        By default that of a tensor, False for anything else.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory can't be shared.

    Examples
    --------
    >>> import numpy as np
    >>> import minitorch as torch
    >>> torch.asarray(np.array([1.0, 2.0]), dtype=torch.float32)
    tensor([1., 2.])
    """
    check_device(device)
    wanted = None if dtype is None else _dtypes.to_numpy(dtype)
    source = _shared(obj, wanted)
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return noted(leaf(array_of(obj, wanted), bool(requires_grad)), "asarray", obj)
    own = source._array.dtype
    if copy is False and wanted not in (None, own):
        raise ValueError(f"can't alias tensor with dtype {scalar_name(own)!r} into dtype {scalar_name(wanted)!r}.")
    result = source.to(_dtypes.of_numpy(wanted or own), copy=bool(copy))
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return _runtime.flagged(result.detach(), requires_grad)


def _shared(obj: Any, dtype: np.dtype[Any] | None) -> Any:
    """A tensor of the object's own memory, or None if it has none."""
    if isinstance(obj, _runtime.Tensor):
        return obj
    if isinstance(obj, (np.ndarray, np.generic)):
        return noted(made(checked_array(np.asarray(obj))), "asarray", obj)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return frombuffer(obj, dtype=_dtypes.of_numpy(dtype or _dtypes.default()))
    return None


def frombuffer(buffer: Any, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor that shares the memory of an object with Python's buffer protocol.

    Parameters
    ----------
    buffer : object
        Bytes, a bytearray, an array.array, ...
    dtype : dtype
        What the bytes are taken for.
    count : int
        The number of elements; -1 takes all.
    offset : int
        The number of bytes to skip.
    requires_grad : bool
        Whether operations on the tensor are recorded.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    count, offset = integer(count, "count", "frombuffer"), integer(offset, "offset", "frombuffer")
    array = np.frombuffer(buffer, _dtypes.to_numpy(dtype), count, offset)
    warn_unless_writable(array)
    return leaf(array, requires_grad)


def check_sequence(name: str, data: Any) -> Sequence[Any] | np.ndarray:
    """The sequence that an old-style constructor was given."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not _is_sequence(data) and not isinstance(data, np.ndarray):
        raise TypeError(f"{name}(): new(): data must be a sequence (got {type(data).__name__})")
    return data
