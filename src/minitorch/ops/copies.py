"""Copies and conversions, filling, and writing through a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _runtime
from .._args import array_of
from .._choices import choice
from .._device import check_memory_format, contiguous_format
from .._errors import calling, scalar_name
from .._modes import grad_on
from .._op import op
from .._runtime import raw, silent, traced, wrap
from .._types import Number
from .._views import EXPANDED, writable

if TYPE_CHECKING:
    from .._tensor import Tensor


raw.constant = lambda array: array
traced.constant = lambda tensor: tensor._array
"""What chooses (a mask, an index), as an ndarray: no gradient goes through it."""
raw.zeros = lambda shape, like: np.zeros(shape, like.dtype)
traced.zeros = lambda shape, like: wrap(np.zeros(shape, like._array.dtype))
raw.zeros_like = lambda like: np.zeros(like.shape, like.dtype)
traced.zeros_like = lambda like: wrap(np.zeros(like._array.shape, like._array.dtype))


def number_as(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A number to assign, in the tensor's dtype."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"Overflow when unpacking long long: {value}")
    if isinstance(value, complex):
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow: {value}")
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor of dtype {dtype}; make it a tensor first")
    if dtype.kind == "b":
        return np.asarray(bool(value))
    if dtype.kind == "f":
        array: np.ndarray = silent(np.array, value, dtype) if abs(value) > 60000 else np.array(value, dtype)
        if not np.isinf(array) or np.isinf(value):
            return array
    elif value == value and abs(value) != float("inf"):
        largest = int(np.iinfo(dtype).max)
        smallest = int(np.iinfo(dtype).min) or -largest  # negative numbers wrap where there are none
        if smallest <= int(value) <= largest:
            return np.array(int(value) & 0xFFFF_FFFF_FFFF_FFFF, np.uint64).astype(dtype)
    raise RuntimeError(f"value cannot be converted to type {dtype} without overflow: {value}")


def as_operand(value: Any, like: Any, name: str) -> Any:
    """A tensor, or a number or ndarray as the tensor that it is beside another; TypeError for anything else."""
    first = value if isinstance(value, _runtime.Tensor) else _runtime.operand(value, like)
    if first is NotImplemented:
        raise TypeError(f"{name}(): expected a Tensor or a Number, not {type(value).__name__}")
    return first


def no_gradient(F: Any, g: Any) -> Any:
    """The derivative of a step function."""
    return F.zeros_like(g)


def flat(F: Any, g: Any, self_shape: tuple[int, ...]) -> Any:
    """The derivative by an input, *self*, of which a linear op of another one reads but the shape."""
    return F.zeros(self_shape, g)


# -- conversions -------------------------------------------------------------------------------------------------------
def cast(array: np.ndarray, to: np.dtype[Any]) -> np.ndarray:
    """A copy in another dtype; floats become small integers by way of int64, so that they wrap as in PyTorch."""
    if array.dtype.kind == "f" and to.kind in "iu" and to.itemsize < 4:
        array = array.astype(np.int64)
    return array.astype(to)


def _to_kernel(self: np.ndarray, *, dtype: np.dtype[Any], copy: bool = False) -> np.ndarray:
    return cast(self, dtype) if copy or self.dtype is not dtype else self


to_dtype = op("to", "ToCopyBackward0", _to_kernel, ("self",), broadcasts=True, tangent="linear",
              self=lambda F, g: g)  # the engine casts it back  # fmt: skip

_clone = op("clone", "CloneBackward0", lambda self: self.copy("C" if 0 in self.strides else "K"), ("self",),
            tangent="linear", self=lambda F, g: g)  # fmt: skip
_contiguous = op("contiguous", "CloneBackward0", lambda self: self.copy(), ("self",), tangent="linear",
                 self=lambda F, g: g)  # fmt: skip

op("detach", "", lambda self: self.view(), ("self",))  # what observers see of the method


def _to_integers(input: Tensor, to: np.dtype[Any]) -> Tensor:
    return _runtime.severed(f"to({to.name})", _as_integers(input, to=to), input)


@choice("to", warns=True)
def _as_integers(self: np.ndarray, *, to: np.dtype[Any]) -> np.ndarray:
    return cast(self, to)


def converted(input: Tensor, to: np.dtype[Any], copy: bool = False) -> Tensor:
    """The tensor in a NumPy dtype: itself where it has that and no copy is asked for; without history for integers."""
    if input._array.dtype is to and not copy:
        return input
    return to_dtype(input, to, True) if to.kind == "f" else _to_integers(input, to)


def in_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The input converted as ``dtype=`` asks; RuntimeError where that loses its gradient."""
    if dtype is None:
        return input
    wanted, array = _dtypes.to_numpy(dtype), array_of(calling(), input)
    if wanted.kind != "f" and array.dtype.kind == "f" and input.requires_grad and grad_on():
        raise RuntimeError(
            f"Autograd not support dtype: {scalar_name(wanted)}: the input requires grad; detach it first"
        )
    return converted(input, wanted)


def to_dtype_of(input: Tensor, other: Tensor) -> Tensor:
    """*input* in the dtype that both promote to."""
    return converted(input, _dtypes.result_dtype((input._array, other._array)))


# -- copies ------------------------------------------------------------------------------------------------------------
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, through which gradients pass.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0])
    >>> y = torch.clone(x)
    >>> y is x, y
    (False, tensor([1.]))
    """
    if memory_format is not None:
        check_memory_format(memory_format)
    return _clone(input)


def contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself where its elements lie in row-major order, otherwise a copy that does.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mT.contiguous()
    tensor([[1., 3.],
            [2., 4.]])
    """
    if memory_format is not contiguous_format:
        check_memory_format(memory_format, optional=False)
    return input if input._array.flags.c_contiguous else _contiguous(input)


def _copy_kernel(self: np.ndarray, src: np.ndarray, *, dtype: np.dtype[Any]) -> np.ndarray:
    out = np.empty_like(self)
    out[...] = src if dtype is self.dtype else cast(src, self.dtype)
    return out


_copy = op("copy", "CopyBackwards", _copy_kernel, ("self", "src"),
           tangent={"src": lambda F, t, self: F.copy(self, t, dtype=F.constant(t).dtype)},
           self=lambda F, g: F.zeros_like(g),
           src=lambda F, g, src_shape, dtype: F.to(F.sum_to(g, shape=src_shape), dtype=dtype))  # fmt: skip


def copy(input: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """The values of *src*, broadcast, in the tensor's shape and dtype: what ``copy_`` writes."""
    values = as_operand(src, input, "copy_")
    return _copy(input, values, values._array.dtype)


# -- filling -----------------------------------------------------------------------------------------------------------
def filler(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A number as a 0-d array of this dtype: integers lose fractions, and wrap below 0; too large ones are refused."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min - 2**8 * (dtype.kind == "u") <= value <= np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype}_t without overflow: {value}")
    return cast(np.asarray(value), dtype)


def _fill_kernel(self: np.ndarray, *, value: Number) -> np.ndarray:
    return np.full(self.shape, filler(value, self.dtype))


def _fill_tensor_kernel(self: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.full(self.shape, cast(value, self.dtype))


def _written_kernel(self: np.ndarray, *, value: Number) -> np.ndarray:
    return np.broadcast_to(filler(value, self.dtype), self.shape)


def _fill_value(F: Any, g: Any, value_shape: tuple[int, ...]) -> Any:
    return F.sum_to(g, shape=value_shape)


_fill = op("fill", "FillBackward0", _fill_kernel, ("self",), tangent="formulas", self=no_gradient)
_fill_tensor = op("fill_tensor", "FillBackward1", _fill_tensor_kernel, ("self", "value"), tangent="linear",
                  self=no_gradient, value=_fill_value)  # fmt: skip
# In place, where the result is copied into the tensor at once.
_written = op("fill_", "FillBackward2", _written_kernel, ("self",), tangent="formulas", self=no_gradient)
_written_tensor = op("fill_tensor_", "FillBackward3", _fill_tensor_kernel, ("self", "value"), tangent="linear",
                     self=no_gradient, value=_fill_value)  # fmt: skip
zero = op(
    "zero_",
    "ZeroBackward0",
    lambda self: _written_kernel(self, value=0),
    ("self",),
    tangent="formulas",
    self=no_gradient,
)


def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like *input* whose elements are all *value*, a number or a 0-d tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.fill(torch.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])
    """
    if isinstance(value, _runtime.Tensor):
        array_of("fill", input)
        return _fill_tensor(input, _scalar(value, input, "fill"))
    return _fill(input, value)


def written(input: Tensor, value: Tensor | Number) -> Tensor:
    """What ``fill_`` writes."""
    if isinstance(value, _runtime.Tensor):
        return _written_tensor(input, _scalar(value, input, "fill_"))
    return _written(input, value)


def _scalar(value: Tensor, input: Tensor, name: str) -> Tensor:
    """A 0-d value in the dtype of the tensor that it fills."""
    array_of(name, input)
    if value._array.ndim:
        dimensions = value._array.ndim
        raise RuntimeError(f"{name} only supports 0-dimension value tensor but got one with {dimensions} dimensions.")
    return converted(value, input._array.dtype)


# -- through views -----------------------------------------------------------------------------------------------------
def _copy_slices_kernel(self: np.ndarray, value: np.ndarray, *, take: Any) -> np.ndarray:
    out: np.ndarray = take.ordered(self)
    part = take(out)
    if not writable(part) and part.size:
        raise RuntimeError(EXPANDED)
    part[...] = value
    return out


def _copy_slices_value(F: Any, g: Any, take: Any) -> Any:
    part = take(g if take.is_ordered(F.constant(g)) else F.ordered(g, take=take))
    once = take.once()
    return part if once is None else F.keep(part, once)


op("ordered", "CloneBackward0", lambda self, *, take: take.ordered(self), ("self",), tangent="linear",
   self=lambda F, g: g)  # fmt: skip
copy_slices = op("copy_slices", "CopySlices", _copy_slices_kernel, ("self", "value"), broadcasts=True, tangent="linear",
                 self=lambda F, g, value_shape, take: F.copy_slices(g, F.zeros(value_shape, g), take=take),
                 value=_copy_slices_value)  # fmt: skip
