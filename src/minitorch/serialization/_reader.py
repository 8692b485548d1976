"""Reading checkpoints.

The structure is unpickled by a reader that knows the names in ``_names.ALLOWED`` and no others, calls nothing else, and
sets attributes of nothing but containers.  Everything that a file says about sizes is checked against the file.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .._device import device
from .._tensor import Tensor
from . import _names
from ._names import Memory, StorageType, UnsupportedStorage

MAGIC = 0x1950A86A20F9469CFC6C  # the first number of files older than the archives
PROTOCOL = 1001


class Refused(pickle.UnpicklingError):
    """A name that files may not use."""


PythonUnpickler: Any = pickle._Unpickler  # the one in C believes what a pickle says of sizes


class Unpickler(PythonUnpickler):  # type: ignore[misc]
    """Unpickles what consists of tensors and plain containers."""

    def __init__(self, file: Any, storage: Callable[[Any], Memory]) -> None:
        super().__init__(file, encoding="utf-8")
        self.storage = storage

    dispatch = PythonUnpickler.dispatch.copy()

    def persistent_load(self, pid: Any) -> Memory:
        return self.storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _names.allowed(module, name)
        except KeyError:
            raise Refused(
                f"Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. If it is harmless, allow "
                f"it with `torch.serialization.add_safe_globals([{name}])`; if you trust the file, which may then run any "
                "code, load it with weights_only=False."
            ) from None

    def load_build(self) -> None:
        """Attributes of the object on the stack: only containers have some, and what people vouch for."""
        state = self.stack.pop()
        target = self.stack[-1]
        if _names.is_users(type(target)):
            self.stack.append(state)
            super().load_build()
        elif type(target) in (OrderedDict, Counter) and isinstance(state, dict):
            target.__dict__.update(state)
        else:
            raise Refused(f"Can not set the state of {type(target).__name__}")

    dispatch[pickle.BUILD[0]] = load_build

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not isinstance(arguments, tuple) or not callable(function) or isinstance(function, Tensor):
            raise Refused(f"Can not call {function!r}")
        self.stack[-1] = function(*arguments)

    dispatch[pickle.REDUCE[0]] = load_reduce


class TrustingUnpickler(pickle.Unpickler):
    """Unpickles anything; PyTorch's names are its namesakes here."""

    def __init__(self, file: Any, storage: Callable[[Any], Memory]) -> None:
        super().__init__(file)
        self.storage = storage

    def persistent_load(self, pid: Any) -> Memory:
        return self.storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _names.ALLOWED:
            return _names.ALLOWED[module, name]
        if module == "torch" or module.startswith("torch."):
            return namesake(module, name)
        return super().find_class(module, name)


def namesake(module: str, name: str) -> Any:
    """What stands here for something of PyTorch's: in the module of that name, or somewhere in ``nn``."""
    for place in ("minitorch" + module.removeprefix("torch"), "minitorch.nn"):
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(place), name)
    raise pickle.UnpicklingError(f"the file needs {module}.{name}, which minitorch has not")


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what ``save``, here or in PyTorch, wrote.

    Parameters
    ----------
    f : str, path or file object
        Where from; a file object needs ``read`` and ``seek``.
    map_location : str, device, dict or callable, optional
        Where tensors of other devices go: ``"cpu"``.
    pickle_module : module, optional
        Accepted.
    weights_only : bool, default True
        Whether only tensors and plain containers are built.  False unpickles anything, which may run code: only for files
        that you trust.
    mmap : bool, optional
        Whether to map the file into memory instead of reading it; for a path only.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    pickle.UnpicklingError
        If the file names something that is not allowed, or is no pickle.
    RuntimeError
        If the file is damaged, not whole, or has tensors of a device or dtype that there is not.

    Examples
    --------
    >>> import os, tempfile
    >>> import minitorch as torch
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "model.pt")
    ...     torch.save(torch.nn.Linear(2, 1).state_dict(), path)
    ...     torch.load(path).keys()
    odict_keys(['weight', 'bias'])
    """
    place = located(map_location)
    weights_only = weights_only is not False
    if hasattr(f, "read"):
        if not hasattr(f, "seek"):
            raise AttributeError(
                "torch.load needs a file object that can seek: read it into io.BytesIO and load from that, please"
            )
        if mmap:
            raise ValueError("f must be a string or os.PathLike object in order to use mmap argument")
        return loaded(f, place, weights_only, None)
    path = os.fspath(f)
    with open(path, "rb") as file:
        return loaded(file, place, weights_only, path if mmap else None)


def loaded(file: Any, place: Callable[[str], None], weights_only: bool, path: Any) -> Any:
    """The object in an open file."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input: the file is empty")
    if not head.startswith(b"PK\x03\x04"):
        if path is not None:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
            )
        return loaded_legacy(file, place, weights_only)
    try:
        archive = Archive(file if start == 0 else io.BytesIO(file.read()), path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError) as error:
        raise RuntimeError(f"failed reading zip archive: {error}; the file is damaged or not whole") from None
    structure = io.BytesIO(archive.content("data.pkl"))
    return unpickled(structure, storages(archive.memory, place), weights_only)


def unpickled(file: Any, storage: Callable[[Any], Memory], weights_only: bool) -> Any:
    """Unpickle; whatever is wrong with the pickle is one kind of error."""
    if not weights_only:
        return TrustingUnpickler(file, storage).load()
    try:
        return Unpickler(file, storage).load()
    except (RuntimeError, TypeError) as error:
        if isinstance(error, RuntimeError):
            raise
        raise pickle.UnpicklingError(f"Weights only load failed. The pickle is damaged: {error}") from None
    except Refused as error:
        raise pickle.UnpicklingError(f"Weights only load failed. {error}") from None
    except Exception as error:
        text = str(error) or type(error).__name__
        raise pickle.UnpicklingError(f"Weights only load failed. The pickle is damaged: {text}") from None


class Archive:
    """The entries of a zip archive: read whole, checked against their checksums."""

    def __init__(self, file: Any, path: Any) -> None:
        self.file, self.path = file, path
        self.zip = zipfile.ZipFile(file)
        entries = {entry.filename: entry for entry in self.zip.infolist()}
        stems = [
            name.removesuffix("data.pkl") for name in entries if name.endswith("/data.pkl") and name.count("/") == 1
        ]
        if len(stems) != 1:
            if "constants.pkl" in {name.rpartition("/")[2] for name in entries}:
                raise ValueError("it holds a TorchScript program, which only PyTorch can run")
            raise ValueError("it has no data.pkl: it was not written by torch.save")
        self.entries = {name.removeprefix(stems[0]): entry for name, entry in entries.items()}
        order = self.content("byteorder").decode(errors="replace") if "byteorder" in self.entries else "little"
        if order not in ("little", "big"):
            raise ValueError(f"unknown byte order {order!r}")
        self.swapped = order != sys.byteorder

    def entry(self, name: str) -> zipfile.ZipInfo:
        """An entry; its size is that of its part of the file, since nothing is compressed."""
        entry = self.entries.get(name)
        if entry is None:
            raise RuntimeError(f"failed reading zip archive: it has no entry {name!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise RuntimeError(
                f"failed reading zip archive: entry {name!r} is compressed: it was not written by torch.save"
            )
        return entry

    def content(self, name: str) -> bytes:
        """The bytes of an entry."""
        entry = self.entry(name)
        try:
            with self.zip.open(entry) as file:
                content = file.read()
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
            raise RuntimeError(f"failed reading zip archive: entry {name!r}: {error}; the file is damaged") from None
        if len(content) != entry.file_size:
            raise RuntimeError(f"failed reading zip archive: entry {name!r} is not whole")
        return content

    def memory(self, key: str, dtype: np.dtype[Any] | None, size: int) -> np.ndarray:
        """The bytes of a tensor's memory."""
        name = f"data/{key}"
        if self.path is not None:
            with self.zip.open(self.entry(name)) as file:
                start = file._orig_compress_start  # type: ignore[attr-defined]  # where the content begins
            size = self.entry(name).file_size
            return np.memmap(self.path, np.uint8, "c", start, (size,)) if size else np.empty(0, np.uint8)
        data = np.frombuffer(bytearray(self.content(name)), np.uint8)
        if self.swapped and dtype is not None:
            data.view(dtype).byteswap(inplace=True)
        return data


def storages(memory: Callable[[str, Any, int], np.ndarray], place: Callable[[str], None]) -> Callable[[Any], Memory]:
    """What finds the memory that a file names: read once, and shared by all tensors that show it."""
    known: dict[str, np.ndarray] = {}

    def storage(pid: Any) -> Memory:
        if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
            raise ValueError(f"a storage named {pid!r}")
        _, kind, key, location, size = pid[:5]
        if isinstance(kind, UnsupportedStorage):
            raise RuntimeError(
                f"the file has tensors of {kind.dtype_name}, which is not supported; save them as float32"
            )
        if not isinstance(kind, StorageType) or not isinstance(key, str) or type(size) is not int or size < 0:
            raise ValueError(f"a storage named {pid!r}")
        place(location)
        if key not in known:
            known[key] = memory(key, kind.dtype, size)
        needed = size * (1 if kind.dtype is None else kind.dtype.itemsize)
        if known[key].size < needed:
            raise RuntimeError(
                f"storage {key} has {known[key].size} bytes, but {needed} are needed: the file is damaged"
            )
        return Memory(known[key][:needed], kind.dtype)

    return storage


def located(map_location: Any) -> Callable[[str], None]:
    """What is asked where a storage goes; it raises where that is not the CPU."""
    if not (map_location is None or isinstance(map_location, (str, device, dict)) or callable(map_location)):
        raise TypeError(f"map_location must be a str, device, dict or callable, not {type(map_location).__name__}")

    def on_cpu(location: Any) -> None:
        where = str(location)
        if where.split(":")[0] != "cpu":
            raise RuntimeError(
                f"Attempting to deserialize object on the device {where}, but there is only the CPU: use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU."
            )

    def ask(location: str) -> None:
        if map_location is None:
            on_cpu(location)
        elif isinstance(map_location, dict):
            on_cpu(map_location.get(location, location))
        elif isinstance(map_location, (str, device)):
            on_cpu(map_location)
        elif map_location(None, location) is None:
            on_cpu(location)

    return ask


# -- files from before the archives ------------------------------------------------------------------------------------
def loaded_legacy(file: Any, place: Callable[[str], None], weights_only: bool) -> Any:
    """The object of a file in the old format: pickles one after the other, then the memory of all storages."""

    def no_storage(pid: Any) -> Memory:
        raise ValueError("a storage before the structure")

    def header() -> Any:
        return unpickled(file, no_storage, True)

    if header() != MAGIC:
        raise pickle.UnpicklingError("Weights only load failed. It is no checkpoint: its first number is another")
    if header() != PROTOCOL:
        raise RuntimeError("Invalid protocol version of an old checkpoint")
    order = header()
    if not isinstance(order, dict) or order.get("little_endian") is not (sys.byteorder == "little"):
        raise RuntimeError("an old checkpoint of a machine with another byte order")
    start = file.tell()
    left = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    memories: dict[str, tuple[np.ndarray, int]] = {}

    def memory(key: str, dtype: np.dtype[Any] | None, size: int) -> np.ndarray:
        """The memory of a storage, which is filled later: there cannot be more than the file has."""
        step = 1 if dtype is None else dtype.itemsize
        if size * step > left - sum([data.size for data, _ in memories.values()]):
            raise RuntimeError(f"the old checkpoint is not whole: storage {key} needs {size * step} bytes")
        memories[key] = np.empty(size * step, np.uint8), size
        return memories[key][0]

    found = unpickled(file, storages(memory, place), weights_only)
    keys = header()
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(memories):
        raise RuntimeError("the old checkpoint is damaged: its storages are not those of its structure")
    for key in keys:
        data, size = memories[key]
        if int.from_bytes(file.read(8), "little") != size or file.readinto(data) != data.size:
            raise RuntimeError(
                f"the old checkpoint is not whole: storage {key} has not the {size} elements that it needs"
            )
    return found
