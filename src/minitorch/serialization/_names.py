"""What the names in a file stand for.

A file names classes and functions of PyTorch; here stand the parts that belong to them.  ``ALLOWED`` is all that a file
may name by default: nothing there runs code of the file, or takes more memory than the file has.
"""

from __future__ import annotations

import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._device import device
from .._size import Size
from .._tensor import Tensor
from ..nn.parameter import Parameter

STORAGES = {
    "float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "int64": "LongStorage",
    "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
}  # fmt: skip
"""The storage class of each dtype; the others are saved as bytes."""

REFUSED = {
    "BFloat16Storage": "bfloat16", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
    "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
}  # fmt: skip


class StorageType:
    """A storage class that a file names: it says the dtype of the elements, None for bytes."""

    def __init__(self, dtype: str | None) -> None:
        self.dtype = None if dtype is None else np.dtype(dtype)


class UnsupportedStorage:
    """A storage class whose dtype there is not."""

    def __init__(self, dtype: str) -> None:
        self.dtype_name = dtype


class Memory:
    """A storage that was read: its bytes, writable, and the dtype that its class said."""

    def __init__(self, data: np.ndarray, dtype: np.dtype[Any] | None) -> None:
        self.data, self.dtype = data, dtype


# -- what files call ---------------------------------------------------------------------------------------------------
def rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A tensor that shows part of a storage."""
    if not isinstance(storage, Memory) or storage.dtype is None:
        raise ValueError("a tensor without a storage of its dtype")
    return shown(storage.data.view(storage.dtype), offset, size, stride, requires_grad)


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """The same, of a storage of bytes."""
    if not isinstance(storage, Memory) or not isinstance(dtype, _dtypes.dtype):
        raise ValueError("a tensor without a storage or dtype")
    numpy = dtype.numpy
    if storage.data.size % numpy.itemsize:
        raise ValueError(f"a storage of {storage.data.size} bytes does not hold {dtype}")
    return shown(storage.data.view(numpy), offset, size, stride, requires_grad)


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    """The same, as very old files have it."""
    return rebuild_tensor_v2(storage, offset, size, stride)


def shown(elements: np.ndarray, offset: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor over elements, checked: it may not reach beyond them."""
    size, stride = tuple(size), tuple(stride)
    if not all([type(n) is int and n >= 0 for n in (offset, *size, *stride)]) or len(size) != len(stride):
        raise ValueError(f"a tensor with offset {offset}, size {size} and stride {stride}")
    reach = offset + sum([(n - 1) * step for n, step in zip(size, stride)]) + 1 if all(size) else 0
    if reach > elements.size:
        raise ValueError(
            f"a tensor of size {size} and stride {stride} from element {offset} on reaches beyond its storage of "
            f"{elements.size} elements"
        )
    steps = [step * elements.itemsize for step in stride]
    if 0 in size:
        array = np.empty(size, elements.dtype)
    else:
        array = np.ndarray(size, elements.dtype, elements, offset * elements.itemsize, steps)
    tensor = _runtime.wrap(array)
    return _runtime.flagged(tensor) if requires_grad is True else tensor


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Parameter:
    """A parameter around a tensor."""
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Parameter:
    """A parameter with attributes of its own."""
    return with_attributes(Parameter(data, bool(requires_grad)), state)


def rebuild_from_type_v2(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes of its own."""
    if function not in BUILDERS.values():
        raise ValueError(f"a tensor made by {function!r}")
    return with_attributes(function(*arguments), state)


def with_attributes(tensor: Any, state: Any) -> Any:
    """The tensor with the attributes that a file gives it; slots are none of its business."""
    attributes = state[0] if isinstance(state, tuple) else state
    if not isinstance(tensor, Tensor) or not isinstance(attributes or {}, dict):
        raise ValueError(f"attributes of {type(tensor).__name__}")
    tensor.__dict__.update(attributes or {})
    return tensor


def encoded(text: Any, encoding: Any) -> bytes:
    """Bytes, as old protocols write them: as a text in Latin-1."""
    if not isinstance(text, str) or encoding != "latin1":
        raise ValueError(f"an encoding {encoding!r}")
    return text.encode("latin1")


def byte_array(content: Any = b"", encoding: Any = "latin1") -> bytearray:
    """A bytearray with a content; a number would be a size, of which there could be any."""
    if not isinstance(content, (bytes, bytearray, str, list)):
        raise ValueError(f"a bytearray of {type(content).__name__}")
    return bytearray(encoded(content, encoding) if isinstance(content, str) else content)


BUILDERS = {
    "_rebuild_tensor": rebuild_tensor, "_rebuild_tensor_v2": rebuild_tensor_v2, "_rebuild_tensor_v3": rebuild_tensor_v3,
    "_rebuild_parameter": rebuild_parameter, "_rebuild_parameter_with_state": rebuild_parameter_with_state,
}  # fmt: skip

ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("builtins", "set"): set,
    ("builtins", "complex"): complex,
    ("builtins", "bytearray"): byte_array,
    ("_codecs", "encode"): encoded,
    ("torch", "Size"): Size,
    ("torch", "device"): device,
    ("torch", "Tensor"): Tensor,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type_v2,
    ("torch.storage", "UntypedStorage"): StorageType(None),
    **{("torch._utils", name): function for name, function in BUILDERS.items()},
    **{("torch", name): StorageType(dtype) for dtype, name in STORAGES.items()},
    **{("torch", name): UnsupportedStorage(dtype) for name, dtype in REFUSED.items()},
    **{
        ("torch", d): _dtypes.named(d)
        for d in (*STORAGES, "uint16", "uint32", "uint64", "bfloat16", "complex64", "complex128")
    },
}
ALLOWED |= {("__builtin__", name): value for (module, name), value in ALLOWED.items() if module == "builtins"}

_safe: dict[tuple[str, str], Any] = {}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name further classes and functions.

    Parameters
    ----------
    safe_globals : list
        Classes and functions, or ``(object, "module.name")`` where a file has another name for it.

    Examples
    --------
    >>> import fractions
    >>> import minitorch as torch
    >>> torch.serialization.add_safe_globals([fractions.Fraction])
    >>> torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> torch.serialization.clear_safe_globals()
    """
    for entry in safe_globals:
        thing, name = entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
        module, _, attribute = name.rpartition(".")
        _safe[module, attribute] = thing


def get_safe_globals() -> list[Any]:
    """What was allowed by ``add_safe_globals``."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Allow no more than at first."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow files to name further classes and functions inside the block.

    Examples
    --------
    >>> import fractions
    >>> import minitorch as torch
    >>> with torch.serialization.safe_globals([fractions.Fraction]):
    ...     torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    """
    before = dict(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe.clear()
        _safe.update(before)


def allowed(module: str, name: str) -> Any:
    """What a name stands for; KeyError where files may not use it."""
    return _safe[module, name] if (module, name) in _safe else ALLOWED[module, name]


def is_users(thing: Any) -> bool:
    """Whether people allowed it themselves, and so vouch for what it does."""
    return any([thing is safe for safe in _safe.values()])
