"""``.safetensors`` checkpoints: what ``safetensors.torch`` has, for these tensors.

The files are read and written by the package ``safetensors`` (``pip install minitorch[safetensors]``), which is imported
when it is first needed.  In a script that ``python -m minitorch`` runs, ``safetensors.torch`` is this module.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _runtime
from ._files import replacing
from ._identity import owner
from ._tensor import Tensor
from ._views import root_of
from .ops.memory import is_view

if TYPE_CHECKING:
    from .nn.modules.module import Module

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

NOT_HELD = {
    "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F4": "float4_e2m1fn_x2", "C64": "complex64",
}  # fmt: skip
"""The dtypes of files that there are no tensors of."""


def library() -> ModuleType:
    """The package ``safetensors`` with its NumPy functions.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            "the package safetensors, which reads and writes .safetensors files, is not there; install it: "
            "pip install safetensors",
            name="safetensors",
        ) from error
    return safetensors


# -- writing -----------------------------------------------------------------------------------------------------------
def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The content of a ``.safetensors`` file.

    Parameters
    ----------
    tensors : dict
        Contiguous tensors by name; no two of them share memory.
    metadata : dict, optional
        Texts by name, which stand in the file too.

    Raises
    ------
    ValueError
        If something else is given, or a tensor is not contiguous.
    RuntimeError
        If tensors share memory: ``save_model`` saves it once.
    TypeError
        If a name or the metadata are no texts.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.safetensors import load, save
    >>> load(save({"weight": torch.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    check(tensors)
    arrays = {name: np.ascontiguousarray(tensor._array).reshape(tensor.shape) for name, tensor in tensors.items()}
    return library().numpy.save(arrays, metadata)


def save_file(
    tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a ``.safetensors`` file; it takes the place of an old one when it is complete.

    Parameters
    ----------
    tensors, metadata
        As for ``save``, which raises the same errors.
    filename : str or path
        Where to.

    Raises
    ------
    RuntimeError
        If the directory does not exist.
    """
    content = save(tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        file.write(content)


def save_model(
    model: Module,
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a module's state dict; a tensor that has several names, such as tied weights, is written once.

    Parameters
    ----------
    model : Module
        Whose parameters and buffers to save.
    filename : str or path
        Where to.
    metadata : dict, optional
        Texts by name; the left out names are added, each with the name that stands for it.
    force_contiguous : bool
        Whether tensors that are not contiguous are copied; otherwise they are refused.
    """
    state = dict(model.state_dict())
    for kept, others in aliases(state).items():
        for name in others:
            metadata = {name: kept} | (metadata or {})
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    try:
        save_file(state, filename, metadata)
    except ValueError as error:
        raise ValueError(f"{error} Or use save_model(..., force_contiguous=True).") from None


def check(tensors: Any) -> None:
    """Refuse what cannot be saved."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    failing = [names for names in sharing(tensors) if len(names) > 1]
    if failing:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading "
            f"them again: {failing}. save_model saves a model with shared tensors; otherwise save one of them, or clones."
        )
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Call `.contiguous()` on it, "
                "or, where it is a part of another tensor, save that one and take the part after loading."
            )


def sharing(tensors: dict[str, Tensor]) -> list[list[str]]:
    """The names, those of tensors whose memory overlaps together."""
    spans = []
    for name, tensor in tensors.items():
        if tensor._array.size:
            spans.append((*np.lib.array_utils.byte_bounds(tensor._array), name))
    groups: list[list[str]] = []
    reached = 0
    for start, end, name in sorted(spans):
        if start < reached:
            groups[-1].append(name)
        else:
            groups.append([name])
        reached = max(reached, end)
    return [sorted(names) for names in groups]


def aliases(tensors: dict[str, Tensor], preferred: Any = ()) -> dict[str, list[str]]:
    """For each tensor that shares its memory, by the name to keep, the other names.

    Raises
    ------
    RuntimeError
        If none of them shows all of the memory.
    """
    found = {}
    for names in sharing(tensors):
        if len(names) < 2:
            continue
        complete = [name for name in names if is_complete(tensors[name])]
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for "
                f"saving amongst: {names}. None is covering the entire storage: save the tensor that they are parts of."
            )
        kept = next((name for name in complete if name in preferred), complete[0])
        found[kept] = [name for name in names if name != kept]
    return found


def is_complete(tensor: Tensor) -> bool:
    """Whether a tensor shows all of its memory."""
    whole = owner(root_of(tensor)._array if is_view(tensor) else tensor._array)
    return tensor._array.nbytes == whole.nbytes


# -- reading -----------------------------------------------------------------------------------------------------------
def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the content of a ``.safetensors`` file.

    Raises
    ------
    safetensors.SafetensorError
        If it is damaged or incomplete.
    TypeError
        If a tensor's dtype is one that there are no tensors of, such as bfloat16.
    """
    known = library()
    try:
        return {name: tensor_of(part, name) for name, part in known.deserialize(data)}
    except known.SafetensorError as error:
        raise known.SafetensorError(f"the data are no complete .safetensors file: {error}") from None


def tensor_of(part: dict[str, Any], name: str) -> Tensor:
    """A tensor from what ``deserialize`` gives."""
    numpy = numpy_of(part["dtype"], name)
    array = np.frombuffer(bytearray(part["data"]), np.dtype(numpy).newbyteorder("<"))
    return _runtime.made(array.astype(numpy, copy=False).reshape(part["shape"]))


def numpy_of(kind: str, name: str) -> np.dtype[Any]:
    """The NumPy dtype of what the file calls F32 and the like."""
    if kind in NOT_HELD:
        raise TypeError(
            f"tensor {name!r} in the file is of dtype {NOT_HELD[kind]}, which minitorch has not; convert it to float32 where "
            "the file is made"
        )
    if kind == "BOOL":
        return _dtypes.BOOL
    letters = {"F": "f", "I": "i", "U": "u"}
    return np.dtype(f"{letters[kind[0]]}{int(kind[1:]) // 8}")


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Tensor]:
    """The tensors in a ``.safetensors`` file, by name.

    Parameters
    ----------
    filename : str or path
        The file.
    device : str or int
        Where to: the CPU.
    backend : str
        Accepted.

    Raises
    ------
    FileNotFoundError
        If there is none.
    safetensors.SafetensorError
        If it is damaged or incomplete.
    TypeError
        If a tensor's dtype is one that there are no tensors of, such as bfloat16.
    """
    with SafeOpen(filename, device) as file:
        return file.get_tensors()


def load_model(
    model: Module, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[set[str], list[str]]:
    """Load what ``save_model`` wrote into a module.

    Parameters
    ----------
    model : Module
        Whose parameters and buffers to set.
    filename, device, backend
        As for ``load_file``.
    strict : bool
        Whether names that are missing, or too many, are refused.

    Returns
    -------
    (set, list)
        The missing names, and those that are too many.

    Raises
    ------
    RuntimeError
        If names are missing or too many, or shapes differ.
    """
    state = load_file(filename, device)
    tied = aliases(dict(model.state_dict()), state)
    result = model.load_state_dict(state, strict=False)
    missing, unexpected = set(result.missing_keys), list(result.unexpected_keys)
    for names in tied.values():
        for name in names:
            if name in missing:
                missing.remove(name)
            else:
                unexpected.append(name)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for what, names in (("Missing", sorted(missing)), ("Unexpected", sorted(unexpected))):
            if names:
                listed = ", ".join([f'"{name}"' for name in names])
                lines.append(f"{what} key(s) in state_dict: {listed}")
        raise RuntimeError("\n    ".join(lines))
    return missing, unexpected


class SafeOpen:
    """A ``.safetensors`` file whose tensors are read one by one: see ``safe_open``."""

    def __init__(self, filename: str | os.PathLike[str], device: Any = "cpu") -> None:
        known = library()
        self._device = device
        opened = getattr(known.safe_open, "of_the_library", known.safe_open)
        try:
            self._file = opened(filename, framework="np")
        except known.SafetensorError as error:
            raise known.SafetensorError(f"{os.fspath(filename)} is no complete .safetensors file: {error}") from None

    def __enter__(self) -> SafeOpen:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def keys(self) -> list[str]:
        """The tensors' names, sorted."""
        return list(self._file.keys())

    def offset_keys(self) -> list[str]:
        """The tensors' names in the order in which they stand in the file."""
        return list(self._file.offset_keys())

    def metadata(self) -> dict[str, str] | None:
        """The texts that stand in the file."""
        return self._file.metadata()

    def get_slice(self, name: str) -> Slice:
        """A tensor of which only the parts that are asked for are read."""
        return Slice(self._file.get_slice(name), name, self._device)

    def get_tensor(self, name: str) -> Tensor:
        """A tensor."""
        numpy_of(self._file.get_slice(name).get_dtype(), name)
        return placed(self._file.get_tensor(name), self._device)

    def get_tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        return {name: self.get_tensor(name) for name in self.keys()}


class Slice:
    """A tensor in a file; an index reads the part."""

    def __init__(self, part: Any, name: str, device: Any) -> None:
        self._part, self._name, self._device = part, name, device

    def get_shape(self) -> list[int]:
        """The whole tensor's shape."""
        return list(self._part.get_shape())

    def get_dtype(self) -> str:
        """What the file calls the dtype, such as ``"F32"``."""
        return self._part.get_dtype()

    def __getitem__(self, index: Any) -> Tensor:
        numpy_of(self.get_dtype(), self._name)
        return placed(self._part[index], self._device)


def placed(array: np.ndarray, device: Any) -> Tensor:
    """A tensor of an array of its own, on the device."""
    return _runtime.made(array if array.flags.writeable else array.copy()).to(device)


def safe_open(filename: str | os.PathLike[str], framework: str = "pt", device: Any = "cpu", **options: Any) -> Any:
    """Open a ``.safetensors`` file to read tensors one by one, or parts of them.

    Parameters
    ----------
    filename : str or path
        The file.
    framework : str
        "pt" or "torch" for tensors; for others, what the package ``safetensors`` gives.
    device : str or int
        Where to: the CPU.

    Returns
    -------
    SafeOpen
        With ``keys()``, ``metadata()``, ``get_tensor(name)`` and ``get_slice(name)[index]``; a context.

    Raises
    ------
    FileNotFoundError
        If there is none.
    safetensors.SafetensorError
        If it is damaged or incomplete.
    """
    if framework in ("pt", "torch", "pytorch"):
        return SafeOpen(filename, device)
    known = library()
    opened = getattr(known.safe_open, "of_the_library", known.safe_open)
    return opened(filename, framework, device, **options)
