"""Padding and window slices against NumPy's own padding and sliding windows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from minitorch._kernels._windows import cell_slice, pad, trailing

amounts = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(amounts, min_size=1, max_size=2), st.sampled_from([0.0, 2.5, -np.inf]))
def test_pad_surrounds_the_trailing_axes(pads: list[tuple[int, int]], fill: float) -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    expected = np.pad(array, [(0, 0)] * (3 - len(pads)) + pads, constant_values=fill)
    np.testing.assert_array_equal(pad(array, pads, fill), expected)


@given(amounts, amounts)
def test_negative_amounts_crop_what_padding_added(rows: tuple[int, int], columns: tuple[int, int]) -> None:
    array = np.arange(12.0).reshape(3, 4)
    cropped = pad(pad(array, [rows, columns], 7), [(-rows[0], -rows[1]), (-columns[0], -columns[1])])
    np.testing.assert_array_equal(cropped, array)


def test_pad_crops_one_end_and_extends_the_other() -> None:
    np.testing.assert_array_equal(pad(np.array([1, 2, 3]), [(-1, 2)]), [2, 3, 0, 0])
    np.testing.assert_array_equal(pad(np.array([1, 2, 3]), [(-5, 4)]), [0, 0])


def test_nothing_to_pad_gives_the_array_itself() -> None:
    array = np.ones((2, 3))
    assert pad(array, [(0, 0)]) is array


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_cell_slices_pick_each_windows_cell(kernel: int, stride: int, dilation: int) -> None:
    array = np.arange(12)
    windows = sliding_window_view(array, dilation * (kernel - 1) + 1)[::stride, ::dilation]
    for cell in range(kernel):
        place = trailing([cell_slice(cell, stride, dilation, len(windows))])
        np.testing.assert_array_equal(array[place], windows[:, cell])
