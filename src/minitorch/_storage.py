"""The memory behind tensors: ``tensor.storage()`` by elements, ``tensor.untyped_storage()`` by bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._device import CPU, device
from ._dtypes import dtype
from ._identity import owner
from ._value_notes import tell_read
from ._views import edited

if TYPE_CHECKING:
    from ._tensor import Tensor


class Storage:
    """One-dimensional memory that tensors may share; writing to it changes them.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    True
    >>> x[1].storage().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    __slots__ = ("_elements", "_tensor")

    def __init__(self, tensor: Tensor, elements: np.ndarray) -> None:
        self._tensor, self._elements = tensor, elements

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._elements.ctypes.data)

    def size(self) -> int:
        """The number of elements."""
        return self._elements.size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._elements.nbytes

    def element_size(self) -> int:
        """The bytes an element takes."""
        return self._elements.itemsize

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements.tolist()

    def tensor(self, numpy: np.dtype[Any]) -> Tensor:
        """A tensor of all elements, which shares the memory; TypeError where they are of another dtype."""
        if self._elements.dtype != numpy:
            raise TypeError(f"expected a storage of {_dtypes.of_numpy(numpy)!r}, but got one of {self._elements.dtype}")
        return _runtime.wrap(self._elements)

    def fill_(self, value: Any) -> Storage:
        """Set each element to a number."""
        self[:] = value
        return self

    def copy_(self, source: Storage, non_blocking: bool = False) -> Storage:
        """Set the elements to those of another storage."""
        self[:] = source._elements
        return self

    def clone(self) -> Storage:
        """A copy, in memory of its own."""
        elements = self._elements.copy()
        return type(self)(_runtime.wrap(elements), elements)

    def cpu(self) -> Storage:
        """The storage on the CPU, where it is."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes share the memory: no."""
        return False

    @property
    def device(self) -> device:
        """Where the memory is: on the CPU."""
        return CPU

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a CUDA device's: no."""
        return False

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        part = self._elements[index]
        return type(self)(self._tensor, part) if isinstance(index, slice) else part.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        edited(self._tensor)
        self._elements[index] = value

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self.tolist()]
        return "\n".join([*lines, f"[torch.storage.{type(self).__name__}({self._kind()}) of size {len(self)}]"])

    def _kind(self) -> str:
        return "device=cpu"


class UntypedStorage(Storage):
    """A storage by bytes: see ``Storage``."""

    __slots__ = ()

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self


class TypedStorage(Storage):
    """A storage by elements of a dtype: see ``Storage``."""

    __slots__ = ()

    @property
    def dtype(self) -> dtype:
        """The elements' dtype."""
        return _dtypes.of_numpy(self._elements.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory by bytes."""
        return UntypedStorage(self._tensor, self._elements.view(np.uint8))

    def _kind(self) -> str:
        return f"dtype={self.dtype}, device=cpu"


def storage(input: Tensor) -> TypedStorage:
    """The memory that the tensor shows, by elements: see ``Storage``."""
    return TypedStorage(input, _memory(input).view(input._array.dtype))


def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory that the tensor shows, by bytes: see ``Storage``."""
    return UntypedStorage(input, _memory(input))


def _memory(input: Tensor) -> np.ndarray:
    """The bytes of the array that owns a tensor's memory."""
    tell_read([input])
    return owner(input._array).ravel(order="K").view(np.uint8)


def is_storage(obj: Any, /) -> bool:
    """Whether *obj* is a tensor's storage.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.is_storage(torch.zeros(2).storage())
    True
    """
    return isinstance(obj, Storage)
