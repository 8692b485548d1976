"""Conversions of a module's parameters and buffers: ``to`` and its kin, which are methods of ``Module``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ... import _device, _dtypes
from ..._memory_methods import NOT_SHARED
from ..._modes import no_grad
from ..._tensor import Tensor
from ...ops.creation import empty_like

if TYPE_CHECKING:
    from .module import Module

_Module = TypeVar("_Module", bound="Module")


def apply_to_tensors(self: _Module, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _Module:
    """Replace the memory of all parameters, their gradients, and all buffers by what *fn* makes of it."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for parameter in self._parameters.values():
        if parameter is not None:
            with no_grad():
                grad = parameter.grad
                parameter.data = fn(parameter.data)
                if grad is not None:
                    grad.data = fn(grad.data)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = fn(buffer)
    return self


def to(self: _Module, *args: Any, **kwargs: Any) -> _Module:
    """Convert floating-point parameters and buffers in place.

    Called as ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(tensor)``.

    Raises
    ------
    TypeError
        For a dtype that is not of floating point.
    AssertionError
        For a CUDA device.
    """
    dtype = kwargs.get("dtype")
    for value in args[:2]:
        if isinstance(value, (_dtypes.dtype, Tensor)):
            dtype = value if isinstance(value, _dtypes.dtype) else value.dtype
        elif value is not None and not isinstance(value, bool):
            _device.check_device(value)
    if kwargs.get("device") is not None:
        _device.check_device(kwargs["device"])
    if kwargs.get("tensor") is not None:
        dtype = kwargs["tensor"].dtype
    if dtype is None:
        return self
    if not dtype.is_floating_point:
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    return self._to_floating(dtype)


def to_floating(self: _Module, dtype: _dtypes.dtype) -> _Module:
    return self._apply(lambda tensor: tensor.to(dtype) if tensor.dtype.is_floating_point else tensor)


def float(self: _Module) -> _Module:
    """Convert floating-point parameters and buffers to float32."""
    return self._to_floating(_dtypes.float32)


def double(self: _Module) -> _Module:
    """Convert floating-point parameters and buffers to float64."""
    return self._to_floating(_dtypes.float64)


def half(self: _Module) -> _Module:
    """Convert floating-point parameters and buffers to float16."""
    return self._to_floating(_dtypes.float16)


def bfloat16(self: _Module) -> _Module:
    """Refuse, if there is a floating-point parameter or buffer: there is no bfloat16 here."""
    return self._to_floating(_dtypes.bfloat16)


def type(self: _Module, dst_type: Any) -> _Module:
    """Convert all parameters and buffers to a dtype, given as one or by name."""
    return self._apply(lambda tensor: tensor.type(dst_type))


def to_empty(self: _Module, *, device: Any, recurse: bool = True) -> _Module:
    """Give all parameters and buffers new memory, whose elements may be anything.

    Parameters
    ----------
    device : str or device
        Where; the CPU is the only device.
    recurse : bool
        Whether submodules are given new memory too.
    """
    return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)


def cpu(self: _Module) -> _Module:
    """Move to the CPU, where everything is already."""
    return self


def cuda(self: _Module, device: Any = None) -> _Module:
    """Refuse: there is only the CPU."""
    _device.check_device("cuda")
    return self


def xpu(self: _Module, device: Any = None) -> _Module:
    """Refuse: there is only the CPU."""
    _device.check_device("xpu")
    return self


def share_memory(self: _Module) -> _Module:
    """Change nothing, with a warning: parameters go to other processes as copies."""
    warnings.warn(NOT_SHARED, UserWarning, stacklevel=2)
    return self
