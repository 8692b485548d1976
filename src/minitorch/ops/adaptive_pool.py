"""Max and average pooling by windows that cover the input evenly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, integer
from .._choices import choice
from .._errors import check_kind
from .._kernels._windows import trailing
from .._op import op
from . import reduce as reductions
from . import shape as shapes
from .copies import flat
from .pool import Sizes, _check_input, _chosen, _max_row, _planes

if TYPE_CHECKING:
    from .._tensor import Tensor


_adaptive_max_pools = {
    2: _max_row("adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0"),
    3: _max_row("adaptive_max_pool3d", "AdaptiveMaxPool3DBackward0"),
}


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Where each of *out* windows that cover *size* cells starts and stops."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


@lru_cache(maxsize=64)
def _averages(size: int, out: int, dtype: Any) -> np.ndarray:
    """The matrix, ``(out, size)``, that takes the mean of each window."""
    matrix = np.zeros((out, size), dtype)
    for row, (start, stop) in zip(matrix, _bounds(size, out)):
        row[start:stop] = 1 / (stop - start)
    return matrix


def _along_axes(array: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    """Apply a matrix along each of the last axes."""
    for axis, matrix in enumerate(matrices, array.ndim - len(matrices)):
        array = np.moveaxis(np.tensordot(array, matrix, ([axis], [1])), -1, axis)
    return np.ascontiguousarray(array)


def _adaptive_avg_pool(self: np.ndarray, *, size: Sizes) -> np.ndarray:
    spatial = self.shape[self.ndim - len(size) :]
    return _along_axes(self, [_averages(n, out, self.dtype) for n, out in zip(spatial, size)])


def _adaptive_avg_pool_grad(grad: np.ndarray, self: np.ndarray, *, ndim: int) -> np.ndarray:
    sizes = zip(self.shape[-ndim:], grad.shape[-ndim:])
    return _along_axes(grad, [_averages(n, out, grad.dtype).T for n, out in sizes])


def _adaptive_self(F: Any, g: Any, self: Any, size: Sizes) -> Any:
    return F.adaptive_avg_pool_grad(g, self, ndim=len(size))


def _adaptive_grad_grad(F: Any, g: Any, grad_shape: Sizes, ndim: int) -> Any:
    return F.adaptive_avg_pool2d(g, size=grad_shape[-ndim:])


_adaptive_avg_pools = {
    2: op("adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0", _adaptive_avg_pool, ("self",), tangent="linear",
          hides=("size",), self=_adaptive_self),
    3: op("adaptive_avg_pool3d", "AdaptiveAvgPool3DBackward0", _adaptive_avg_pool, ("self",), tangent="linear",
          hides=("size",), self=_adaptive_self),
}  # fmt: skip
op("adaptive_avg_pool_grad", "AdaptiveAvgPoolBackwardBackward0", _adaptive_avg_pool_grad, ("grad", "self"),
   tangent="linear", grad=_adaptive_grad_grad, self=flat)  # fmt: skip


def _adaptive_size(name: str, input: Any, output_size: Any, ndim: int) -> Sizes:
    """The output's size, None taken from the input, checked."""
    array = array_of(name, input)
    several = isinstance(output_size, (tuple, list))
    given = output_size if several else (output_size,) * ndim
    if ndim > 1 and several and array.ndim <= len(given):
        raise ValueError(f"{name}(): Input dimension should be at least {len(given) + 1}, but it is {array.ndim}")
    given = [None if n is None and ndim > 1 else integer(n, "output_size") for n in given]
    if len(given) != ndim:
        raise RuntimeError(f"{name}(): output_size must be {ndim} int(s), but got {list(given)}")
    if array.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got {list(array.shape)}")
    size = tuple([n if out is None else out for n, out in zip(array.shape[-ndim:], given)])
    if min(size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {list(size)}"
        )
    return size


def _adaptive_average(name: str, ndim: int, input: Any, output_size: Any) -> Any:
    size = _adaptive_size(name, input, output_size, ndim)
    if ndim == 1:
        return shapes.squeeze(_adaptive_average(name, 2, shapes.unsqueeze(input, -2), (1, *size)), -2)
    if all([n == 1 for n in size]):
        return reductions.mean(input, tuple(range(-ndim, 0)), True)
    check_kind(name, input._array)
    return _adaptive_avg_pools[ndim](input, size)


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The means of *output_size* windows that cover ``(N, C, L)`` or ``(C, L)`` evenly.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[1.5000, 4.0000]])
    """
    return _adaptive_average("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover ``(N, C, H, W)`` or ``(C, H, W)`` evenly, for an output of a given size.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    output_size : int, None or pair of these
        None keeps the input's size.

    Raises
    ------
    RuntimeError, ValueError
        If the input has not 3 or 4 dimensions, or *output_size* is negative or has not two numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.arange(16.0).reshape(1, 4, 4)
    >>> torch.nn.functional.adaptive_avg_pool2d(x, 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _adaptive_average("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover three dimensions evenly; see `adaptive_avg_pool2d`."""
    return _adaptive_average("adaptive_avg_pool3d", 3, input, output_size)


@choice("the indices of adaptive_max_pool")
def _adaptive_indices(self: np.ndarray, *, size: Sizes) -> np.ndarray:
    """Where in its plane each window's maximum lies; NaN is greater than any number."""
    planes = _planes(self, len(size))
    spatial = planes.shape[2:]
    places = np.arange(prod(spatial)).reshape(spatial)
    indices = np.empty((planes.shape[1], *size), np.int64)
    bounds = [_bounds(n, out) for n, out in zip(spatial, size)]
    for cell in product(*map(range, size)):
        window = tuple([slice(*bound[i]) for bound, i in zip(bounds, cell)])
        own = places[window].ravel()
        block = planes[0][trailing(window)].reshape(planes.shape[1], own.size)
        np.moveaxis(indices, 0, -1)[cell] = own[block.argmax(1)]
    return indices.reshape(*self.shape[: -len(size)], *size)


def _adaptive_maximum(name: str, ndim: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    size = _adaptive_size(name, input, output_size, ndim)
    _check_input(name, input._array, ndim)
    check_kind(name, input._array)
    if ndim == 1:
        input, size = shapes.unsqueeze(input, -2), (1, *size)
    indices = _adaptive_indices(input, size=size)
    return _chosen(_adaptive_max_pools, ndim, input, indices, return_indices)


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """The maxima of *output_size* windows that cover ``(N, C, L)`` or ``(C, L)`` evenly.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[2., 6.]])
    """
    return _adaptive_maximum("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima of windows that cover ``(N, C, H, W)`` or ``(C, H, W)`` evenly; see `adaptive_avg_pool2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.arange(16.0).reshape(1, 4, 4)
    >>> torch.nn.functional.adaptive_max_pool2d(x, (2, 1))
    tensor([[[ 7.],
             [15.]]])
    """
    return _adaptive_maximum("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima of windows that cover three dimensions evenly; see `adaptive_avg_pool2d`."""
    return _adaptive_maximum("adaptive_max_pool3d", 3, input, output_size, return_indices)
