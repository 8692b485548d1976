"""Max and average pooling over any number of spatial dimensions, each with its adjoint.

Windows are combined one axis at a time, the first axis first: ``k + k`` passes over slices instead of ``k * k``, of
which only the last, over the smallest arrays, do not run along the memory. What depends on shapes alone is worked out
once, in `_Windows`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ._windows import Array, Index, Sizes, cell_slice, pad, trailing

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def pool_output_size(
    size: Sizes, kernel_size: Sizes, *, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Sizes:
    """The spatial shape of a pooled array.

    With `ceil_mode` a last, partial window counts too, provided that it starts inside the input or its left padding.
    """
    out = []
    for n, k, s, p, d in zip(size, kernel_size, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        windows = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (windows - 1) * s >= n + p:
            windows -= 1
        out.append(windows)
    return tuple(out)


def max_pool(
    input: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    """The maximum of each window, and where it lies.

    Parameters
    ----------
    input : ndarray, (N, C, *size)
    kernel_size, stride, padding, dilation : tuple of int
        One number for each spatial axis. Padded cells are never chosen.
    ceil_mode : bool
        See `pool_output_size`.

    Returns
    -------
    values, indices : ndarray, (N, C, *out)
        `indices` are int64 and count the cells of a plane, ``prod(size)``, in row-major order. Among equal cells the
        first wins; a NaN beats every number, and the last NaN wins.
    """
    windows = _windows(input.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
    padded = pad(input, windows.pads, lowest)
    values = windows.reduce(np.maximum, padded)
    indices = windows.offsets.take(_place_of_maximum(padded, values, windows.cells), mode="clip")
    indices += windows.starts
    if any(padding):
        # A window of the lowest value alone equals its padding: its first cell inside wins.
        np.copyto(indices, windows.first_inside, where=values == lowest)
    return values, indices


def max_pool_grad(grad: Array, indices: Array, *, input_shape: Sizes) -> Array:
    """The gradient of `max_pool`, of shape `input_shape`: add each number of `grad` to the cell its window chose."""
    total = np.zeros(prod(input_shape), np.float32 if grad.dtype == np.float16 else grad.dtype)
    np.add.at(total, _batch_index(indices, input_shape), grad.ravel())
    return total.reshape(input_shape).astype(grad.dtype, copy=False)


def max_pool_take(x: Array, indices: Array) -> Array:
    """Take the cells of `x`, (N, C, *size), that `indices`, (N, C, *out), point at: the adjoint of `max_pool_grad`."""
    return x.ravel().take(_batch_index(indices, x.shape)).reshape(indices.shape)


def avg_pool(
    input: Array,
    *,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The mean of each window; of integers, rounded towards zero.

    Parameters
    ----------
    input : ndarray, (N, C, *size)
    kernel_size, stride, padding : tuple of int
        One number for each spatial axis. Padded cells are zero.
    ceil_mode : bool
        See `pool_output_size`. What a window has beyond the right padding is not counted.
    count_include_pad : bool
        Whether padded cells count in the divisor.
    divisor_override : int or None
        Divides every window's sum, where given.

    Returns
    -------
    ndarray, (N, C, *out)
        Of the input's dtype; float16 is computed in float32.
    """
    windows = _windows(input.shape[2:], kernel_size, stride, padding, (1,) * len(kernel_size), ceil_mode)
    wide = input.astype(np.float32) if input.dtype == np.float16 else input
    total = windows.reduce(np.add, pad(wide, windows.pads))
    divisor = _divisor(windows, total.dtype, count_include_pad, divisor_override)
    if total.dtype.kind != "f":
        return np.asarray(np.trunc(total / divisor), input.dtype)
    total /= divisor
    return total.astype(input.dtype, copy=False)


def avg_pool_grad(
    grad: Array,
    *,
    input_shape: Sizes,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The gradient, and adjoint, of `avg_pool`, of shape `input_shape`; the other parameters are `avg_pool`'s."""
    windows = _windows(input_shape[2:], kernel_size, stride, padding, (1,) * len(kernel_size), ceil_mode)
    wide = grad.astype(np.float32) if grad.dtype == np.float16 else grad
    share = wide / _divisor(windows, wide.dtype, count_include_pad, divisor_override)
    return windows.spread(share).astype(grad.dtype, copy=False)


class _Windows:
    """Where the windows of a pooling lie in planes of one shape."""

    def __init__(
        self, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
    ) -> None:
        out = pool_output_size(size, kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
        axes = list(zip(size, kernel, stride, padding, dilation, out, strict=True))
        self.size, self.kernel, self.padding, self.dilation = size, kernel, padding, dilation
        # In front the padding, behind as much as the last window needs.
        self.pads = [(p, max(0, (o - 1) * s + d * (k - 1) + 1 - n - p)) for n, k, s, p, d, o in axes]
        # For each axis, and each place along it in a window: what selects the cells that all windows have there.
        self.slices = [[cell_slice(cell, s, d, o) for cell in range(k)] for _, k, s, _, d, o in axes]
        self.first = [np.arange(o) * s - p for _, _, s, p, _, o in axes]

    @cached_property
    def cells(self) -> list[Index]:
        """For each place in a window, in row-major order: what selects the cells that all windows have there."""
        return [trailing(places) for places in product(*self.slices)]

    @cached_property
    def starts(self) -> Array:
        """The plane index of every window's first cell; negative ones lie in the padding."""
        return _plane_index(self.first, self.size)

    @cached_property
    def offsets(self) -> Array:
        """How far, in plane indices, each place in a window is from its start."""
        places = [np.arange(k) * d for k, d in zip(self.kernel, self.dilation, strict=True)]
        return _plane_index(places, self.size).ravel()

    @cached_property
    def first_inside(self) -> Array:
        """The plane index of every window's first cell that is not padding."""
        inside = [np.where(first < 0, first % d, first) for first, d in zip(self.first, self.dilation, strict=True)]
        return _plane_index(inside, self.size)

    @cached_property
    def counts(self) -> Array:
        """How many cells each window has, up to the end of the padding."""
        return self._count(beyond=self.padding)

    @cached_property
    def counts_inside(self) -> Array:
        """How many cells each window has that are not padding."""
        return self._count(beyond=(0,) * len(self.padding))

    def _count(self, beyond: Sizes) -> Array:
        axes = zip(self.first, self.size, self.kernel, beyond, strict=True)
        counts = [np.clip(first + k, -b, n + b) - np.clip(first, -b, n + b) for first, n, k, b in axes]
        return reduce(np.multiply.outer, counts)

    def reduce(self, combine: np.ufunc, padded: Array) -> Array:
        """Combine the cells of each window."""
        result = padded
        for axis, slices in enumerate(self.slices, 2):
            first, *others = [result[_along(axis, cells)] for cells in slices]
            result = first.copy()
            for other in others:
                combine(result, other, out=result)
        return result

    def spread(self, share: Array) -> Array:
        """Add each window's share to all of its cells that are not padding: the adjoint of summing windows."""
        for axis in reversed(range(len(self.size))):
            slices, (before, after), n = self.slices[axis], self.pads[axis], self.size[axis]
            shape = list(share.shape)
            shape[axis + 2] = n + before + after
            total = np.zeros(shape, share.dtype)
            for cells in slices:
                total[_along(axis + 2, cells)] += share
            share = total[_along(axis + 2, slice(before, before + n))]
        return np.ascontiguousarray(share)


_windows = lru_cache(maxsize=64)(_Windows)


def _divisor(windows: _Windows, dtype: DTypeLike, count_include_pad: bool, divisor_override: int | None) -> Array | int:
    if divisor_override is not None:
        return divisor_override
    return (windows.counts if count_include_pad else windows.counts_inside).astype(dtype)


def _place_of_maximum(padded: Array, values: Array, cells: list[Index]) -> Array:
    """The row-major place in each window of its maximum: the number of cells before the first that equals it."""
    place = np.zeros(values.shape, np.uint8 if len(cells) <= 256 else np.int64)
    differs: Array | bool = True
    for where in cells[:-1]:
        differs = differs & (padded[where] != values)
        place += differs
    if (values != values).any():  # NaN, which equals nothing
        for number, where in enumerate(cells):
            cell = padded[where]
            np.copyto(place, number, where=cell != cell)
    return place


def _plane_index(positions: list[Array], size: Sizes) -> Array:
    """The row-major index in a plane of shape `size` of every combination of positions along its axes."""
    index: Array = np.zeros((), np.int64)
    for position, n in zip(positions, size, strict=True):
        index = index[..., None] * n + position
    return index


def _batch_index(indices: Array, shape: Sizes) -> Array:
    """Flat indices into an array of `shape`, (N, C, *size), from `indices` into its planes."""
    planes, cells = prod(shape[:2]), prod(shape[2:])
    first = np.arange(planes)[:, None] * cells
    return (indices.reshape(planes, prod(indices.shape[2:])) + first).ravel()


def _along(axis: int, place: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (place,)
