"""Tensors made of sizes: zeros, ones, one value, identity matrices; also with the shape or dtype of another tensor."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from .. import _dtypes, _runtime
from .._args import flag, sizes_of
from .._device import check_device, check_layout, check_memory_format, preserve_format
from .._errors import scalar_name
from .._modes import observers
from .._runtime import deliver, made
from .._types import Number
from .._value_notes import tell_sized
from .from_data import array_of, check_pinned, leaf, noted, number_array, warn_of_copy

if TYPE_CHECKING:
    from typing import TypeAlias, Unpack

    from .._device import device as Device
    from .._device import layout as Layout
    from .._device import memory_format as MemoryFormat
    from .._dtypes import dtype as Dtype
    from .._tensor import Tensor

    Sizes: TypeAlias = int | Sequence[int]

_Default = TypeVar("_Default", bound="np.dtype[Any] | None")


class Options(TypedDict, total=False):
    """The keyword arguments that all factories take.

    Attributes
    ----------
    dtype : dtype, optional
        The element type; if None, what the factory says.
    layout : layout, optional
        Only ``torch.strided``.
    device : device or str, optional
        Only the CPU.
    pin_memory : bool
        Must be False.
    requires_grad : bool
        Whether operations on the tensor are recorded.
    """

    dtype: Dtype | None
    layout: Layout | None
    device: Device | str | None
    pin_memory: bool
    requires_grad: bool


# -- arguments ---------------------------------------------------------------------------------------------------------
def shape_of(name: str, sizes: Sequence[Any], size: Any = None) -> tuple[int, ...]:
    """The shape in ``f(2, 3)``, ``f((2, 3))``, ``f([2, 3])`` or ``f(size=(2, 3))``."""
    if size is not None:
        if sizes:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        if not isinstance(size, (tuple, list)):
            raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    given = sizes if size is None else (size,)
    if not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(given) == 1 and isinstance(given[0], bool):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not bool")
    shape = sizes_of(given)
    if shape and min(shape) < 0:
        raise RuntimeError(f"{name}(): Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def required_size(name: str, size: Any) -> tuple[int, ...]:
    """A shape that must be a sequence: ``f((2, 3), ...)``."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    return shape_of(name, (size,))


def settled(name: str, options: Options, default: _Default) -> tuple[np.dtype[Any] | _Default, bool]:
    """The dtype and ``requires_grad`` that a factory's options ask for; refuses what is not there."""
    if not options:
        return default, False
    for option in options:
        if option not in Options.__annotations__:
            raise TypeError(f"{name}() got an unexpected keyword argument '{option}'")
    check_device(options.get("device"))
    check_layout(options.get("layout"))
    check_pinned(options.get("pin_memory", False))
    dtype = options.get("dtype")
    return default if dtype is None else _dtypes.to_numpy(dtype), flag(
        options.get("requires_grad", False), "requires_grad"
    )


def made_by(name: str, make: Callable[[Any], np.ndarray], default: Any, out: Tensor | None, options: Options) -> Any:
    """A factory's result: ``make(dtype)``, or written into *out*, whose dtype then decides."""
    dtype, requires_grad = settled(name, options, default)
    if out is None:
        return leaf(make(dtype), requires_grad)
    if not isinstance(out, _runtime.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    own = out._array.dtype
    if options.get("dtype") is not None and dtype is not own:
        raise RuntimeError(
            f"{name}(): dtype {scalar_name(dtype)} does not match dtype of out parameter ({scalar_name(own)})"
        )
    return write_out(name, make(own), out)


def write_out(name: str, array: np.ndarray, out: Any) -> Any:
    """Write a factory's array into *out*, whose memory is replaced where its shape is another."""
    resized = out._array.shape != array.shape
    if resized and not out.requires_grad:
        out._array, out._layout = np.empty(array.shape, out._array.dtype), None
    return deliver(name, lambda: made(array), (), out)


# -- constants ---------------------------------------------------------------------------------------------------------
def zeros(
    *sizes: Sizes, size: Sequence[int] | None = None, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """A tensor of zeros.

    Parameters
    ----------
    *sizes : int
        The shape, as ints or one sequence.
    size : sequence of int, optional
        The shape by keyword.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default the default float dtype), layout, device, pin_memory, requires_grad.

    Raises
    ------
    TypeError
        If a size is not an integer.
    RuntimeError
        If a size is negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    shape = shape_of("zeros", sizes, size)
    return made_by("zeros", lambda dtype: np.zeros(shape, dtype), _dtypes.default(), out, options)


def ones(
    *sizes: Sizes, size: Sequence[int] | None = None, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """A tensor of ones; arguments are those of ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ones(2, dtype=torch.int64)
    tensor([1, 1])
    """
    shape = shape_of("ones", sizes, size)
    return made_by("ones", lambda dtype: np.ones(shape, dtype), _dtypes.default(), out, options)


def empty(
    *sizes: Sizes,
    size: Sequence[int] | None = None,
    out: Tensor | None = None,
    memory_format: MemoryFormat | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """A tensor of whatever the memory holds; arguments are those of ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    shape = shape_of("empty", sizes, size)
    return made_by("empty", lambda dtype: _whatever(np.empty(shape, dtype)), _dtypes.default(), out, options)


def full(size: Sequence[int], fill_value: Number, *, out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of one value.

    Parameters
    ----------
    size : sequence of int
        The shape.
    fill_value : number or 0-d Tensor
        The value.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default what the value is: bool, int64 or the default float dtype), layout, device, pin_memory,
        requires_grad.

    Raises
    ------
    RuntimeError
        If the dtype does not hold the value.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    shape = required_size("full", size)
    return made_by("full", lambda dtype: _filled(shape, number_array(fill_value, dtype, "full")), None, out, options)


def _filled(shape: tuple[int, ...], value: np.ndarray) -> np.ndarray:
    array = np.empty(shape, value.dtype)
    array[...] = value
    return array


def eye(n: int, m: int | None = None, *, out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:
    """A matrix with ones on the diagonal.

    Parameters
    ----------
    n : int
        The number of rows.
    m : int, optional
        The number of columns, by default *n*.
    out : Tensor, optional
        Where the result is written.
    **options
        See ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    rows, columns = _count("eye", "n", n), _count("eye", "m", n if m is None else m)
    return made_by("eye", lambda dtype: np.eye(rows, columns, dtype=dtype), _dtypes.default(), out, options)


def _whatever(array: np.ndarray) -> np.ndarray:
    """Memory as it is, and zeros where calls are written down: what it held is then the same each time."""
    if observers:
        array[...] = 0
    return array


def _count(name: str, argument: str, value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}") from None
    if count < 0:
        raise RuntimeError(f"{name}(): {argument} must be greater or equal to 0, got {count}")
    return count


# -- like another tensor -----------------------------------------------------------------------------------------------
def like(
    name: str, input: Any, make: Callable[[Any], np.ndarray], options: Options, memory_format: MemoryFormat | None
) -> Any:
    """A tensor whose dtype is that of *input* unless the options say otherwise; ``make`` gets an empty array like it.

    The order of dimensions in memory is that of *input* too, unless a memory format is asked for.
    """
    if not isinstance(input, _runtime.Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if observers:
        tell_sized(input, 1)
    dtype, requires_grad = settled(name, options, input._array.dtype)
    check_memory_format(memory_format)
    preserved = memory_format in (None, preserve_format) and 0 not in input._array.strides
    order: Any = "K" if preserved else "C"
    return leaf(make(np.empty_like(input._array, dtype, order)), requires_grad)


def _fill_with(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def fill(array: np.ndarray) -> np.ndarray:
        array[...] = value
        return array

    return fill


def zeros_like(input: Tensor, *, memory_format: MemoryFormat | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of zeros with the shape and dtype of another.

    Parameters
    ----------
    input : Tensor
        Says the shape and, unless the options do, the dtype.
    memory_format : memory_format, optional
        By default dimensions lie in memory in the order of *input*'s.
    **options
        dtype, layout, device, pin_memory, requires_grad (False by default, whatever *input*'s is).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """
    return like("zeros_like", input, _fill_with(0), options, memory_format)


def ones_like(input: Tensor, *, memory_format: MemoryFormat | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of ones with the shape and dtype of another; arguments are those of ``zeros_like``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ones_like(torch.zeros(2), dtype=torch.int64)
    tensor([1, 1])
    """
    return like("ones_like", input, _fill_with(1), options, memory_format)


def empty_like(input: Tensor, *, memory_format: MemoryFormat | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of whatever the memory holds, with the shape and dtype of another; see ``zeros_like``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return like("empty_like", input, _whatever, options, memory_format)


def full_like(
    input: Tensor, fill_value: Number, *, memory_format: MemoryFormat | None = None, **options: Unpack[Options]
) -> Tensor:
    """A tensor of one value with the shape and dtype of another; other arguments are those of ``zeros_like``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """

    def fill(array: np.ndarray) -> np.ndarray:
        return _fill_with(number_array(fill_value, array.dtype, "full_like"))(array)

    return like("full_like", input, fill, options, memory_format)


def _of_own_dtype(input: Tensor, options: Options) -> Options:
    if options.get("dtype") is None:
        options["dtype"] = input.dtype
    return options


def new_zeros(input: Tensor, *sizes: Sizes, size: Sequence[int] | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of zeros of this tensor's dtype; arguments are those of ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).new_zeros(3)
    tensor([0, 0, 0])
    """
    return zeros(shape_of("new_zeros", sizes, size), **_of_own_dtype(input, options))


def new_ones(input: Tensor, *sizes: Sizes, size: Sequence[int] | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of ones of this tensor's dtype; arguments are those of ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).new_ones(3)
    tensor([1, 1, 1])
    """
    return ones(shape_of("new_ones", sizes, size), **_of_own_dtype(input, options))


def new_empty(input: Tensor, *sizes: Sizes, size: Sequence[int] | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of this tensor's dtype that holds whatever the memory does; arguments are those of ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).new_empty(3).dtype
    torch.int64
    """
    return empty(shape_of("new_empty", sizes, size), **_of_own_dtype(input, options))


def new_full(input: Tensor, size: Sequence[int], fill_value: Number, **options: Unpack[Options]) -> Tensor:
    """A tensor of one value, of this tensor's dtype; arguments are those of ``full``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.0, 2.0]).new_full((2,), 3)
    tensor([3., 3.])
    """
    return full(required_size("new_full", size), fill_value, **_of_own_dtype(input, options))


def new_tensor(input: Tensor, data: Any, **options: Unpack[Options]) -> Tensor:
    """A tensor of *data*, of this tensor's dtype; see ``tensor``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.0, 2.0]).new_tensor([3, 4])
    tensor([3., 4.])
    """
    if isinstance(data, _runtime.Tensor):
        warn_of_copy("tensor.new_tensor")
    dtype, requires_grad = settled("new_tensor", options, input._array.dtype)
    return noted(leaf(array_of(data, dtype), requires_grad), "new_tensor", data)
