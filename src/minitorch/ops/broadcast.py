"""Views in which dimensions of size 1 are repeated."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, arrays_of, integers, sizes_given
from .._identity import owner
from .._op import op
from .._size import Size

if TYPE_CHECKING:
    from .._tensor import Tensor


def restrided(array: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """A view from the array's first element with these strides, in bytes; the quick way needs a contiguous array."""
    try:
        return np.ndarray(shape, array.dtype, array, 0, strides)
    except ValueError:
        writeable, memory = array.flags.writeable, owner(array).ravel(order="K")
    if memory.flags.owndata:  # a copy: another library's memory has gaps
        return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=writeable)
    out = np.ndarray(shape, array.dtype, memory, array.ctypes.data - memory.ctypes.data, strides)
    out.setflags(write=writeable)
    return out


def _expand_kernel(self: np.ndarray, *, size: tuple[int, ...]) -> np.ndarray:
    sizes, new, kept, repeats = _expansion(self.shape, size)
    out = restrided(self, sizes, new + (self.strides if kept is None else tuple(map(operator.mul, self.strides, kept))))
    if repeats:  # several elements in one place: see _views.writable
        out.setflags(write=False)
    return out


@functools.lru_cache(4096)
def _expansion(
    shape: tuple[int, ...], size: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...] | None, bool]:
    """The sizes, the steps of new dimensions, which old steps stay (None: all), whether elements are repeated."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in "
            "the tensor "
            f"({len(shape)})"
        )
    if -1 in size[:lead]:
        where = size.index(-1)
        raise RuntimeError(
            f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {where}"
        )
    sizes = (*size[:lead], *[n if m == -1 else m for n, m in zip(shape, size[lead:])])
    kept = tuple(map(operator.eq, shape, sizes[lead:]))
    for place, (n, m) in enumerate(zip(shape, sizes[lead:]), lead):
        if n not in (1, m):
            raise RuntimeError(
                f"The expanded size of the tensor ({m}) must match the existing size ({n}) at non-singleton dimension "
                f"{place}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return sizes, (0,) * lead, None if all(kept) else kept, math.prod(sizes) != math.prod(shape)


_expand = op("expand", "ExpandBackward0", _expand_kernel, ("self",), view=True, tangent="linear",
             self=lambda F, g, self_shape: F.sum_to(g, shape=self_shape))  # fmt: skip


def expand(input: Tensor, *sizes: Any, size: Sequence[int] | None = None) -> Tensor:
    """A view in which dimensions of size 1 are repeated, without copying.

    Parameters
    ----------
    input : Tensor
        Any shape.
    *sizes : int, or a sequence of int
        The sizes of the result; -1 keeps a size, and new dimensions may lead.

    Raises
    ------
    RuntimeError
        If a size other than 1 would change.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return _expand(input, sizes if len(sizes) > 1 else sizes_given("expand", sizes, size))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.shape)``."""
    return _expand(input, array_of("expand_as", other, "other", 2).shape)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """A view of shape *size* in which dimensions of size 1 are repeated; see `expand`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _expand(input, integers(size, "size"))


def broadcast_to_method(input: Tensor, *sizes: Any, size: Sequence[int] | None = None) -> Tensor:
    """A view of a shape given as ints or as a sequence of them; see `broadcast_to`."""
    return _expand(input, sizes_given("broadcast_to", sizes, size))


def broadcast_shapes(*shapes: Sequence[int] | int) -> Size:
    """The shape that these broadcast to.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.broadcast_shapes((1, 3), (2, 1))
    torch.Size([2, 3])
    """
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(
            f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, shapes))}"
        ) from None


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Each tensor expanded to the shape that all broadcast to.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3], [4]]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shapes(*[array.shape for array in arrays_of("broadcast_tensors", given)])
    return tuple([t if t._array.shape == shape else _expand(t, tuple(shape)) for t in given])
