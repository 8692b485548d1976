"""Writing checkpoints.

A checkpoint is a zip archive without compression.  ``data.pkl`` has the structure, pickled; where a tensor's memory
belongs it has a number, and the memory itself is the entry ``data/<number>``, at a multiple of 64 bytes.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import _dtypes
from .._device import device
from .._files import replacing
from .._identity import owner
from .._size import Size
from .._tensor import Tensor
from .._value_notes import tell_read
from .._views import root_of
from ..nn.parameter import Parameter
from ..ops.memory import is_view, strides_of
from ._names import STORAGES

ALIGNMENT = 64
LARGE = 1 << 31  # from about here on, zip needs its 64-bit fields


class Named:
    """What stands in the file as a name of PyTorch's."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is called by who reads the file")


class Memory:
    """What stands in the file as a tensor's memory."""

    def __init__(self, key: str, kind: Named, size: int) -> None:
        self.key, self.kind, self.size = key, kind, size


PythonPickler: Any = pickle._Pickler  # it can write names that are no objects


class Pickler(PythonPickler):  # type: ignore[misc]
    """Pickles with PyTorch's names for tensors and what belongs to them, and collects the memory of tensors."""

    dispatch = PythonPickler.dispatch.copy()

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.memories: list[np.ndarray] = []
        self._keys: dict[int, tuple[str, np.dtype[Any]]] = {}  # by the address of the memory, which is kept alive
        self._names: dict[tuple[str, str], Named] = {}

    def named(self, module: str, name: str) -> Named:
        """The name, the same object each time, so that it is written once."""
        return self._names.setdefault((module, name), Named(module, name))

    def save_named(self, obj: Named) -> None:
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Named] = save_named

    def persistent_id(self, obj: Any) -> Any:
        return ("storage", obj.kind, obj.key, "cpu", obj.size) if type(obj) is Memory else None

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if isinstance(obj, Tensor):
            return self.reduced(obj)
        if kind is Size:
            return self.named("torch", "Size"), (tuple(obj),)
        if kind is device:
            return self.named("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_dtype(self, obj: _dtypes.dtype) -> None:
        self.save(self.named("torch", str(obj).removeprefix("torch.")))

    dispatch[_dtypes.dtype] = save_dtype

    def reduced(self, tensor: Tensor) -> tuple[Any, ...]:
        """A tensor as a call of what rebuilds it."""
        attributes = tensor.__dict__
        if isinstance(tensor, Parameter):
            data = self.reduced(tensor.data)
            parts: tuple[Any, ...] = (Call(self, *data), tensor.requires_grad, OrderedDict())
            if attributes:
                return self.named("torch._utils", "_rebuild_parameter_with_state"), (*parts, attributes)
            return self.named("torch._utils", "_rebuild_parameter"), parts
        memory, offset, strides = self.memory_of(tensor)
        parts = (memory, offset, tuple(tensor.shape), strides, tensor.requires_grad, OrderedDict())
        function = self.named("torch._utils", "_rebuild_tensor_v2")
        if tensor._array.dtype.name not in STORAGES:
            function, parts = self.named("torch._utils", "_rebuild_tensor_v3"), (*parts, tensor.dtype)
        if attributes:
            rebuild = self.named("torch._tensor", "_rebuild_from_type_v2")
            return rebuild, (function, self.named("torch", "Tensor"), parts, attributes)
        return function, parts

    def memory_of(self, tensor: Tensor) -> tuple[Memory, int, tuple[int, ...]]:
        """The memory that a tensor shows, which others may share, and where in it the tensor is, in elements."""
        tell_read([tensor])
        array = tensor._array
        whole, step, strides = (
            owner(root_of(tensor)._array if is_view(tensor) else array),
            array.itemsize,
            strides_of(array),
        )
        offset, rest = divmod(array.ctypes.data - whole.ctypes.data, step)
        key, dtype = self._keys.get(whole.ctypes.data, (None, array.dtype))
        if not array.size:
            offset = rest = 0
        reach = offset + sum([(n - 1) * s for n, s in zip(array.shape, strides)]) + 1 if array.size else 0
        odd = rest or any([s % step for s in array.strides]) or whole.nbytes % step or dtype != array.dtype
        if odd or min(offset, *strides, 0) < 0 or reach * step > whole.nbytes or not dense(whole):
            whole = array.copy(order="C")  # it cannot be told as a part of the whole
            key, offset, strides = None, 0, strides_of(whole)
        if key is None:
            key = str(len(self.memories))
            self.memories.append(whole)
            self._keys[whole.ctypes.data] = key, array.dtype
        name = STORAGES.get(array.dtype.name)
        kind = self.named("torch.storage", "UntypedStorage") if name is None else self.named("torch", name)
        return Memory(key, kind, whole.nbytes if name is None else whole.nbytes // step), offset, strides


class Call:
    """What stands in the file as a call inside another one."""

    def __init__(self, pickler: Pickler, function: Named, arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


def dense(whole: np.ndarray) -> bool:
    """Whether an array that owns its memory has it without gaps."""
    return whole.flags.c_contiguous or whole.flags.f_contiguous or whole.nbytes == 0


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file that PyTorch can read: tensors, and containers of them.

    Tensors that share memory share it in the file, and when loaded; of a view, the whole memory is saved.  A file is
    written beside the old one and takes its place when it is complete.

    Parameters
    ----------
    obj : object
        Tensors, numbers, texts, lists, tuples, dicts, such as a ``state_dict()``.  Other objects are pickled as they are.
    f : str, path or file object
        Where to; a file object needs ``write``.
    pickle_module : module, optional
        Accepted.
    pickle_protocol : int
        The protocol of the structure's pickle.

    Raises
    ------
    RuntimeError
        If the directory does not exist.
    pickle.PicklingError, AttributeError, TypeError
        If an object cannot be pickled.

    Examples
    --------
    >>> import io
    >>> import minitorch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    structure = io.BytesIO()
    pickler = Pickler(structure, pickle_protocol)
    pickler.dump(obj)
    if hasattr(f, "write"):
        write_archive(f, "archive", structure.getvalue(), pickler.memories)
        return
    path = os.fspath(f)
    with replacing(path) as file:
        stem = os.path.splitext(os.path.basename(os.fsdecode(path)))[0] or "archive"
        write_archive(file, stem, structure.getvalue(), pickler.memories)


def write_archive(file: Any, stem: str, structure: bytes, memories: list[np.ndarray]) -> None:
    """Write the entries of a checkpoint."""
    seekable = file if getattr(file, "seekable", lambda: hasattr(file, "seek"))() else None
    target = seekable if seekable is not None else io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        put(archive, f"{stem}/data.pkl", structure)
        put(archive, f"{stem}/.format_version", b"1")
        put(archive, f"{stem}/.storage_alignment", str(ALIGNMENT).encode())
        put(archive, f"{stem}/byteorder", sys.byteorder.encode())
        for number, whole in enumerate(memories):
            put(archive, f"{stem}/data/{number}", whole.ravel(order="K").view(np.uint8).data)
        put(archive, f"{stem}/version", b"3\n")
    if seekable is None:
        file.write(target.getvalue())


def put(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """Write an entry whose content begins at a multiple of 64 bytes, which lets it be mapped into memory."""
    entry = zipfile.ZipInfo(name)  # a fixed date: the same object gives the same file
    size = len(content)
    header = archive.fp.tell() + 30 + len(name.encode()) + 4 + (20 if size >= LARGE else 0)  # type: ignore[union-attr]
    padding = -header % ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    entry.file_size = size
    with archive.open(entry, "w", force_zip64=size >= LARGE) as out:
        out.write(content)
