"""Where tensors are: on the CPU, strided.  Other devices and layouts are names, refused on use."""

from __future__ import annotations

from typing import Any

from ._args import wrong_type

_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """A device such as ``cpu`` or ``cuda:0``; only the CPU can hold tensors here.

    Parameters
    ----------
    type : str or device
        The kind of device, with its number if it has one: ``"cpu"``, ``"cuda:1"``.
    index : int, optional
        The number, where *type* does not have it.

    Raises
    ------
    RuntimeError
        For a name that is no kind of device.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or torch.device, not {type.__class__.__name__}")
        kind, colon, number = type.partition(":")
        if kind not in _TYPES.split(", "):
            raise RuntimeError(f"Expected one of {_TYPES} device type at start of device string: {type}")
        if colon and (not number.isdecimal() or number != str(int(number)) or index is not None):
            raise RuntimeError(f"Invalid device string: '{type}'")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type, self.index = kind, int(number) if colon else index

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        check_device(self)
        return self

    def __exit__(self, *exc: object) -> None: ...


CPU = device("cpu")


_WITHOUT_META = (
    ". A model whose parameters are given later, by functional_call or load_state_dict(), may stay there: leave .to('meta') "
    "out; torch.nn.utils.skip_init(cls, ...) makes a layer without initialising it"
)


def check_device(given: Any) -> None:
    """Refuse, as a CPU build of PyTorch does, to put a tensor on anything but the CPU.

    Raises
    ------
    AssertionError
        For CUDA and XPU devices.
    RuntimeError
        For the number of an accelerator, or a name that is no device.
    NotImplementedError
        For other devices.
    """
    if given is None or given is CPU or given == "cpu":
        return
    if not isinstance(given, (str, device, int)):
        raise TypeError(f"argument 'device' must be torch.device, not {type(given).__name__}")
    kind = device(given).type
    if kind in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled: tensors live on the CPU, device='cpu'")
    if kind != "cpu":
        raise NotImplementedError(
            f"tensors cannot be on the {kind!r} device: they live on the CPU, device='cpu'{_WITHOUT_META * (kind == 'meta')}"
        )


def get_default_device() -> device:
    """The device that tensors are made on: always the CPU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.get_default_device()
    device(type='cpu')
    """
    return CPU


def set_default_device(device: str | device | None) -> None:
    """Choose the device that tensors are made on, which can only be the CPU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.set_default_device("cpu")
    """
    check_device(device)


class _Name:
    """A named constant that prints as PyTorch's."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self._name,)


class layout(_Name):
    """How a tensor's elements are stored: ``strided``, the only one here, or a sparse one.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ones(2).layout
    torch.strided
    """

    __slots__ = ()


class memory_format(_Name):
    """An order of dimensions in memory; accepted where PyTorch takes one, with no influence on values.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros_like(torch.ones(2, 3), memory_format=torch.contiguous_format).shape
    torch.Size([2, 3])
    """

    __slots__ = ()


strided, sparse_coo = layout("strided"), layout("sparse_coo")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


def check_memory_format(given: Any, optional: bool = True) -> None:
    """Raise TypeError where a ``memory_format=`` argument is neither a memory format nor, if *optional*, None."""
    if not isinstance(given, memory_format) and not (optional and given is None):
        raise wrong_type(given, "memory_format", "torch.memory_format")


def _named(name: str) -> Any:
    """The layout or memory format of this name."""
    return globals()[name]


def check_layout(given: Any) -> None:
    """Refuse a layout other than ``strided``."""
    if given is None or given is strided:
        return
    if not isinstance(given, layout):
        raise TypeError(f"argument 'layout' must be torch.layout, not {type(given).__name__}")
    raise NotImplementedError(f"tensors of layout {given!r} are not supported: use torch.strided")
