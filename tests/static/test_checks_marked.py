"""Rows and choices whose kernels raise errors for some values of their inputs say so: what runs them again relies on it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _choices, _op
from minitorch._runtime import silent
from minitorch.autograd import Tape
from samples import all_samples

VALUES = (np.nan, np.inf, 0.0, -2.0, 3.0)


def spoilt(array: np.ndarray) -> list[np.ndarray]:
    """The same shape and dtype with other values: all alike, and one of them alone."""
    found = []
    for value in VALUES:
        found.append(np.full_like(array, value))
        if array.size > 1:
            one = array.copy()
            one.flat[0] = value
            found.append(one)
    return found


@functools.cache
def calls() -> dict[str, Any]:
    """The calls of rows and choices that the samples make, by name, one for each combination of dtypes and shapes."""
    found: dict[str, Any] = {}
    for cases in all_samples().values():
        for case in cases:
            with Tape() as tape:
                case.call(torch, *[torch.from_numpy(np.array(a)) for a in case.inputs])
            for entry in tape:
                row = entry.row
                if isinstance(row, (_op.Row, _choices.Choice)) and not entry.in_place:
                    arrays = [i._array if isinstance(i, torch.Tensor) else i for i in entry.inputs]
                    key = str([(a.dtype, a.shape) if isinstance(a, np.ndarray) else a for a in arrays])
                    found.setdefault(row.name, {}).setdefault(key, (row, arrays, entry.params))
    return found


def fails(row: Any, arrays: list[Any], params: dict[str, Any]) -> Exception | None:
    """The error that a kernel raises."""
    try:
        silent(row.kernel, arrays, **params) if row.variadic else silent(row.kernel, *arrays, **params)
    except Exception as error:
        return error
    return None


def errors_of(name: str) -> list[Exception]:
    """The errors that values alone make a row raise."""
    found = []
    for row, arrays, params in calls()[name].values():
        if fails(row, arrays, params):
            continue
        for n, array in enumerate(arrays):
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                continue  # integers may be indices, which programs take for such in any case
            for other in spoilt(array):
                if error := fails(row, [*arrays[:n], other, *arrays[n + 1 :]], params):
                    found.append(error)
    return found


@pytest.mark.parametrize("name", sorted(calls()))
def test_marked(name: str) -> None:
    row = next(iter(calls()[name].values()))[0]
    if getattr(row, "checks", False) or getattr(row, "draws", False) or "generator" in row.params:
        return
    assert not [repr(error) for error in errors_of(name)], f"{name}: declare it with checks=True"
