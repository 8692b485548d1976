"""Layouts: a tensor's (shape, dtype), interned, so that "same shape and dtype" is one ``is``.

An elementwise result of operands alike is alike: it takes their layout without asking NumPy (comparing shapes costs ten
times an ``is``).  A result that no node records starts with None and gets its layout on first need.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ._dtypes import brought, floating, promote, result_dtype

Layout: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]

_layouts: dict[Layout, Layout] = {}
_LIMIT = 10_000


def intern_layout(array: np.ndarray) -> Layout:
    """The one layout object for all arrays alike."""
    key = (array.shape, array.dtype)
    layout = _layouts.get(key)
    if layout is None:
        if len(_layouts) >= _LIMIT:  # what is held elsewhere stays right: ``==`` then finds what ``is`` does not
            _layouts.clear()
        layout = _layouts.setdefault(key, key)
    return layout


def row_major(array: np.ndarray) -> np.ndarray:
    """The array, or a copy, in row-major order, where PyTorch's result is so whatever its inputs' order."""
    return array if array.flags.c_contiguous else array.copy()


def layout_of(tensor: Any) -> Layout:
    """The tensor's layout, remembered on it."""
    layout: Layout = tensor._layout
    if layout is None:
        array = tensor._array
        tensor._layout = layout = _layouts.get((array.shape, array.dtype)) or intern_layout(array)
    return layout


def layouts(*tensors: Any) -> tuple[Layout, ...]:
    """The layout of each input: what its gradient must have."""
    return tuple([layout_of(tensor) for tensor in tensors])


def settle(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, Layout | None, tuple[Layout, ...] | None]:
    """For two operands not known to be alike: arrays of one dtype, the result's layout (None: ask), what gradients must be."""
    one, two, a, b = first._layout, second._layout, first._array, second._array
    if one is None:  # as layout_of, without a call
        first._layout = one = _layouts.get((a.shape, a.dtype)) or intern_layout(a)
    if two is None:
        second._layout = two = _layouts.get((b.shape, b.dtype)) or intern_layout(b)
    if one == two:
        return a, b, one, None
    if one[1] is not two[1]:
        a, b = promote(a, b)
    layout = None  # broadcasting a 0-d operand, often a number, leaves the other's layout
    if not two[0] and a is first._array:
        layout = one
        if second._node is None and one[1] is two[1]:
            return a, b, layout, None
    elif not one[0] and b is second._array:
        layout = two
        if first._node is None and one[1] is two[1]:
            return a, b, layout, None
    return a, b, layout, (one, two)


def settle_floats(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, Layout | None, tuple[Layout, ...] | None]:
    """``settle`` for a function of floats: integers become floats at once, so that none wraps into a smaller integer dtype."""
    a, b = first._array, second._array
    return settle(first, second) if "f" in (a.dtype.kind, b.dtype.kind) else (floating(a), floating(b), None, None)


def settle_all(*tensors: Any) -> tuple[Any, ...]:
    """``settle`` for any number of operands: their arrays in one dtype, the result's layout (None: ask), the layouts."""
    first = layout_of(tensors[0])
    arrays = [tensor._array for tensor in tensors]
    if all([layout_of(tensor) == first for tensor in tensors]):
        return (*arrays, first, None)
    common = result_dtype(arrays)
    return (*[a if a.dtype is common else brought(a, common) for a in arrays], None, layouts(*tensors))


def floated(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Integer arrays in the default float dtype."""
    return tuple([floating(array) for array in arrays])
