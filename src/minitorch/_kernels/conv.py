"""Convolution of any number of spatial dimensions, and its two gradients.

The three functions are the partial maps of one trilinear form, the sum over all entries of
``grad * conv(input, weight)``: each is linear in both of its arrays, and each one's derivatives are the other two.

All are matrix products with *columns*: the input's cells, gathered so that row ``(c, i, j)`` of a block of columns
holds what ``weight[:, c, i, j]`` multiplies. There are two ways to gather them, both in blocks that suit the cache:

* *By image*: copy out each image's windows. Serves every stride; the columns of a 1x1 kernel are the image itself.
* *Flat*, for stride 1: lay the padded images behind one another, one row a channel. Moving the kernel is then moving
  along the row, and the columns are shifted copies of long runs. Windows that wrap around an edge are computed and
  dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from ._windows import Array, Pads, Sizes, cell_slice, pad, trailing

_BLOCK = 1 << 17  # numbers in one block of columns
_FLAT_ROWS = 33  # with fewer rows of columns than this, the flat way's rearranging costs more than it saves


def conv_output_size(size: Sizes, kernel_size: Sizes, *, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """The spatial shape of `conv`'s result, from the input's and the kernel's."""
    axes = zip(size, kernel_size, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)


def conv(input: Array, weight: Array, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Convolve (strictly: correlate) a batch of images with a bank of kernels.

    Parameters
    ----------
    input : ndarray, (N, C, *size)
    weight : ndarray, (O, C / groups, *kernel_size)
    stride, padding, dilation : tuple of int
        One number for each spatial axis; `padding` is the number of zeros at each end of it.
    groups : int
        Each of the `groups` runs of output channels sees only its own run of ``C / groups`` input channels.

    Returns
    -------
    ndarray, (N, O, *out)
        Contiguous, of the input's dtype; float16 is computed in float32.
    """
    pads = [(p, p) for p in padding]
    out = conv_output_size(input.shape[2:], weight.shape[2:], stride=stride, padding=padding, dilation=dilation)
    result = _padded_conv(_widen(input), _widen(weight), out, pads, stride, dilation, groups)
    return result.astype(input.dtype, copy=False)


def conv_input_grad(
    grad: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The gradient of `conv` with respect to its input, of shape `input_shape`: a transposed convolution.

    `grad` is shaped like `conv`'s result; the other parameters are `conv`'s.
    """
    wide_grad, wide_weight = _widen(grad), _widen(weight)
    if all(s == 1 for s in stride):
        result = _turned_conv(wide_grad, wide_weight, input_shape, padding, dilation, groups)
    else:
        result = _scatter_columns(wide_grad, wide_weight, input_shape, stride, padding, dilation, groups)
    return result.astype(grad.dtype, copy=False)


def conv_weight_grad(
    grad: Array, input: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The gradient of `conv` with respect to its weight, of shape `weight_shape`.

    `grad` is shaped like `conv`'s result; the other parameters are `conv`'s.
    """
    wide_grad, wide_input = _widen(grad), _widen(input)
    pads = [(p, p) for p in padding]
    kernel, out = weight_shape[2:], grad.shape[2:]
    outputs = weight_shape[0] // groups
    result = np.zeros((groups, outputs, prod(weight_shape[1:])), wide_grad.dtype)
    if _flat_pays(weight_shape, stride):
        grid = _flat_grid(input.shape[2:], out, pads)
        rows = _flatten(wide_grad, grid).reshape(groups, outputs, len(grad) * prod(grid))
        for span, columns in _flat_columns(wide_input, kernel, grid, pads, dilation, groups):
            result += np.matmul(rows[:, :, span], columns.swapaxes(1, 2))
    else:
        image_rows = wide_grad.reshape(len(grad), groups, outputs, prod(out))
        for images, columns in _image_columns(pad(wide_input, pads), kernel, out, stride, dilation, groups):
            result += np.matmul(image_rows[images], columns.swapaxes(2, 3)).sum(0)
    return result.reshape(weight_shape).astype(grad.dtype, copy=False)


def _widen(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _flat_pays(weight_shape: Sizes, stride: Sizes) -> bool:
    return prod(weight_shape[2:]) > 1 and prod(weight_shape[1:]) >= _FLAT_ROWS and all(s == 1 for s in stride)


def _padded_conv(
    input: Array, weight: Array, out: Sizes, pads: Pads, stride: Sizes, dilation: Sizes, groups: int
) -> Array:
    if _flat_pays(weight.shape, stride):
        return _flat_conv(input, weight, out, pads, dilation, groups)
    return _image_conv(pad(input, pads), weight, out, stride, dilation, groups)


def _turned_conv(grad: Array, weight: Array, input_shape: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """The input's gradient for stride 1: a convolution with each kernel turned around and its channel axes swapped."""
    size, kernel = input_shape[2:], weight.shape[2:]
    outputs, inputs = len(weight) // groups, weight.shape[1]
    backwards = [slice(None, None, -1)] * len(kernel)
    turned = weight[trailing(backwards)].reshape(groups, outputs, inputs, *kernel).swapaxes(1, 2)
    turned = np.ascontiguousarray(turned).reshape(groups * inputs, outputs, *kernel)
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    before = [r - p for r, p in zip(reach, padding, strict=True)]
    after = [n + r - o - b for n, r, o, b in zip(size, reach, grad.shape[2:], before, strict=True)]
    # Negative amounts: windows that lay in the padding alone, whose gradients reach no input.
    inner = pad(grad, [(min(0, b), min(0, a)) for b, a in zip(before, after, strict=True)])
    pads = [(max(0, b), max(0, a)) for b, a in zip(before, after, strict=True)]
    return _padded_conv(inner, turned, size, pads, (1,) * len(size), dilation, groups)


# --- by image


def _image_columns(
    padded: Array, kernel: Sizes, out: Sizes, stride: Sizes, dilation: Sizes, groups: int
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of columns, (images, groups, rows, positions), each with the slice of the images it is of."""
    padded = np.ascontiguousarray(padded)
    batch, channels = padded.shape[:2]
    steps = padded.strides[2:]
    strides = (
        *padded.strides[:2],
        *(step * d for step, d in zip(steps, dilation, strict=True)),
        *(step * s for step, s in zip(steps, stride, strict=True)),
    )
    windows: Array = np.ndarray((batch, channels, *kernel, *out), padded.dtype, buffer=padded, strides=strides)
    rows, positions = channels * prod(kernel), prod(out)
    count = max(1, _BLOCK // max(1, rows * positions))
    for first in range(0, batch, count):
        block = windows[first : first + count]
        yield slice(first, first + count), block.reshape(len(block), groups, rows // groups, positions)


def _image_conv(padded: Array, weight: Array, out: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    outputs = len(weight) // groups
    matrix = weight.reshape(groups, outputs, prod(weight.shape[1:]))
    result = np.empty((len(padded), groups, outputs, prod(out)), padded.dtype)
    for images, columns in _image_columns(padded, weight.shape[2:], out, stride, dilation, groups):
        np.matmul(matrix, columns, out=result[images])
    return result.reshape(len(padded), len(weight), *out)


def _scatter_columns(
    grad: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The adjoint of gathering by image: make the columns' gradients and add them to the cells they came from."""
    batch, channels, *size = input_shape
    kernel, out = weight.shape[2:], grad.shape[2:]
    padded = np.zeros((batch, channels, *(n + 2 * p for n, p in zip(size, padding, strict=True))), grad.dtype)
    outputs, rows = len(weight) // groups, prod(weight.shape[1:])
    matrix = weight.reshape(groups, outputs, rows).swapaxes(1, 2)
    count = max(1, _BLOCK // max(1, groups * rows * prod(out)))
    for first in range(0, batch, count):
        images = grad[first : first + count]
        columns = np.matmul(matrix, images.reshape(len(images), groups, outputs, prod(out)))
        columns = columns.reshape(len(images), channels, *kernel, *out)
        target = padded[first : first + count]
        for cell in product(*map(range, kernel)):
            place = trailing(map(cell_slice, cell, stride, dilation, out))
            target[place] += columns[:, :, *cell]
    return np.ascontiguousarray(pad(padded, [(-p, -p) for p in padding]))


# --- flat


def _flat_grid(size: Sizes, out: Sizes, pads: Pads) -> Sizes:
    """The room for one image in the flat layout: neighbouring rows, and neighbouring images, share their padding."""
    return tuple(max(n + max(both), o) for n, o, both in zip(size, out, pads, strict=True))


def _flatten(images: Array, grid: Sizes, lead: int = 0, tail: int = 0) -> Array:
    """Lay the images behind one another, each in a `grid` of zeros: (C, lead + N * prod(grid) + tail)."""
    batch, channels = images.shape[:2]
    cells = batch * prod(grid)
    flat = np.zeros((channels, lead + cells + tail), images.dtype)
    inside = [slice(n) for n in images.shape[2:]]
    flat[:, lead : lead + cells].reshape(channels, batch, *grid)[trailing(inside)] = images.swapaxes(0, 1)
    return flat


def _flat_columns(
    images: Array, kernel: Sizes, grid: Sizes, pads: Pads, dilation: Sizes, groups: int
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of columns, (groups, rows, positions), each with the slice of the flat positions it is of."""
    steps = [prod(grid[axis + 1 :]) for axis in range(len(grid))]
    lead = sum(before * step for (before, _), step in zip(pads, steps, strict=True))
    shifts = [d * step for d, step in zip(dilation, steps, strict=True)]
    reach = sum(shift * (k - 1) for shift, k in zip(shifts, kernel, strict=True))
    flat = _flatten(images, grid, lead, max(0, reach - lead))
    channels, positions = len(flat), len(images) * prod(grid)
    strides = (flat.strides[0], *(shift * flat.itemsize for shift in shifts), flat.itemsize)
    shifted: Array = np.ndarray((channels, *kernel, positions), flat.dtype, buffer=flat, strides=strides)
    rows = channels * prod(kernel)
    count = max(512, _BLOCK // max(1, rows))
    for first in range(0, positions, count):
        block = shifted[..., first : first + count]
        yield slice(first, first + count), block.reshape(groups, rows // groups, block.shape[-1])


def _flat_conv(input: Array, weight: Array, out: Sizes, pads: Pads, dilation: Sizes, groups: int) -> Array:
    grid = _flat_grid(input.shape[2:], out, pads)
    outputs = len(weight) // groups
    matrix = weight.reshape(groups, outputs, prod(weight.shape[1:]))
    result = np.empty((groups, outputs, len(input) * prod(grid)), input.dtype)
    for span, columns in _flat_columns(input, weight.shape[2:], grid, pads, dilation, groups):
        np.matmul(matrix, columns, out=result[:, :, span])
    valid = [slice(n) for n in out]
    return np.ascontiguousarray(result.reshape(len(weight), len(input), *grid)[trailing(valid)].swapaxes(0, 1))
