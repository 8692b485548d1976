"""Rows that a program writes out: kernels that are a few NumPy calls where the shapes and dtypes of their operands are known.

A program knows them, so that nothing is checked, and results can be written into memory that is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._kernels import reduce
from .._op import Row
from ..ops.loss import REDUCTIONS

_BLOCK = 1 << 15
"""Larger results are computed in pieces by the kernels themselves."""


class Form(NamedTuple):
    """How a row is written out.

    Attributes
    ----------
    fits : callable
        ``fits(operands, params)``: whether the form is what the kernel does on arrays like these.
    lines : sequence of str
        The lines, with ``{0}``, ``{1}``, … for the operands, ``{r}`` for the result, ``{out}`` for the memory of the result
        as a further argument, or nothing, ``{place}`` for that memory, or new memory of this ``shape`` and ``dtype``, and names
        of what ``constants`` gives.
    over : tuple of int
        The operands in whose memory the result may be written.
    constants : callable
        ``constants(operands, params)``: by name, objects that the lines need.
    """

    fits: Callable[[Sequence[np.ndarray], Any], bool]
    lines: Sequence[str]
    over: tuple[int, ...] = ()
    constants: Callable[[Sequence[np.ndarray], Any], dict[str, Any]] = lambda operands, params: {}

    @property
    def takes_place(self) -> bool:
        """Whether it can be told where to write."""
        return "{out}" in self.lines[0] or "{place}" in self.lines[0]


def _matrices(operands: Sequence[np.ndarray], params: Any) -> bool:
    return all([a.ndim == 2 for a in operands[:2]]) and _floats(operands)


def _folded(operands: Sequence[np.ndarray], params: Any) -> bool:
    return operands[0].ndim > 2 and operands[-1].ndim > 0 and _floats(operands)


def _one_column(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _matrices(operands, params) and operands[2].shape == (1,)


def _floats(operands: Sequence[np.ndarray]) -> bool:
    return operands[0].dtype.char in "fd" and len({a.dtype for a in operands}) == 1


def _small(operands: Sequence[np.ndarray], params: Any) -> bool:
    """Whether elementwise operands are of one shape, which the kernel takes as one block."""
    first = operands[0]
    return _floats(operands) and first.ndim > 0 and first.size <= _BLOCK and len({a.shape for a in operands}) == 1


def _one(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    return {"one": np.ones((), operands[0].dtype)}


def _rows_of(array: np.ndarray) -> tuple[int, int]:
    """The shape of an array whose axes but the last are one."""
    return math.prod(array.shape[:-1]), array.shape[-1]


def _folds(columns: int) -> Callable[[Sequence[np.ndarray], Any], dict[str, Any]]:
    """For a product that has as many columns as the second operand has along this axis."""

    def constants(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
        x, width = operands[0], operands[1].shape[columns]
        rows = _rows_of(x)
        return {"rows": rows, "cells": (rows[0], width), "shape": (*x.shape[:-1], width), "dtype": x.dtype}

    return constants


def _both_rows(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    return {"left": _rows_of(operands[0]), "right": _rows_of(operands[1])}


def _matrix_summed(operands: Sequence[np.ndarray], params: Any) -> bool:
    (x,) = operands
    return x.ndim == 2 and reduce.is_one_product(x, params["shape"])


def _rows_summed(operands: Sequence[np.ndarray], params: Any) -> bool:
    (x,) = operands
    return x.ndim > 2 and reduce.is_one_product(x, params["shape"])


def _ones(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    rows = _rows_of(operands[0])
    return {"ones": reduce.ones(operands[0].dtype.char, rows[0]), "rows": rows}


def _one_loss(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _floats(operands) and params["reduction"] != REDUCTIONS["none"] and operands[0].size > 0


def _count(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    size = np.broadcast(*operands).size if params["reduction"] == REDUCTIONS["mean"] else 1
    return {"count": size, "dtype": operands[0].dtype}


PRODUCTS = {"mm": "{0}.dot({1}{out})", "mm_nt": "{0}.dot({1}.T{out})", "mm_tn": "{0}.T.dot({1}{out})"}
"""Products of two matrices."""

_INTO = {
    "mm": "{0}.reshape({rows}).dot({1}, {r}.reshape({cells}))",
    "mm_nt": "{0}.reshape({rows}).dot({1}.T, {r}.reshape({cells}))",
}
"""Those of more axes, the last of which are multiplied, and a matrix."""
_FOLDED = {
    name: Form(_folded, ["{r} = {place}", into], (), _folds(-1 if name == "mm" else 0)) for name, into in _INTO.items()
}

FORMS: dict[str, Sequence[Form]] = {
    "mm": [Form(_matrices, [f"{{r}} = {PRODUCTS['mm']}"]), _FOLDED["mm"]],
    "folded_mm": [_FOLDED["mm"]],
    "mm_nt": [Form(_matrices, [f"{{r}} = {PRODUCTS['mm_nt']}"]), _FOLDED["mm_nt"]],
    "folded_mm_nt": [_FOLDED["mm_nt"]],
    "mm_tn": [
        Form(_matrices, [f"{{r}} = {PRODUCTS['mm_tn']}"]),
        Form(_folded, ["{r} = {0}.reshape({left}).T.dot({1}.reshape({right}){out})"], (), _both_rows),
    ],
    # NumPy adds a 0-d array in half the time that it takes to broadcast one of one element
    "linear": [
        Form(_one_column, [f"{{r}} = {PRODUCTS['mm_nt']}", "add({r}, {2}[0, ...], {r})"]),
        Form(_matrices, [f"{{r}} = {PRODUCTS['mm_nt']}", "add({r}, {2}, {r})"]),
    ],
    "folded_linear": [Form(_folded, ["{r} = {place}", _INTO["mm_nt"], "add({r}, {2}, {r})"], (), _folds(0))],
    "sum_to": [
        Form(_matrix_summed, ["{r} = {ones}.dot({0}{out})"], (), _ones),
        Form(_rows_summed, ["{r} = {ones}.dot({0}.reshape({rows}){out})"], (), _ones),
    ],
    "mse_loss": [
        Form(
            _one_loss,
            ["x = subtract({0}, {1}, out=...).ravel()", "{r} = asarray(x.dot(x) / {count}, {dtype})", "x = None"],
            (),
            _count,
        )
    ],
    "abs": [Form(_small, ["{r} = absolute({0}{out})"], (0,))],
    "tanh_backward": [
        Form(
            _small,
            ["{r} = multiply({1}, {1}{out})", "subtract({one}, {r}, {r})", "multiply({r}, {0}, {r})"],
            (1,),
            _one,
        )
    ],
    "sigmoid_backward": [
        Form(
            _small,
            ["{r} = subtract({one}, {1}{out})", "multiply({r}, {1}, {r})", "multiply({r}, {0}, {r})"],
            (),
            _one,
        )
    ],
}
"""By the name of the row, the first that fits is taken."""

NAMES = {
    "absolute": np.absolute,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "asarray": np.asarray,
    "empty": np.empty,
}
"""What the lines call."""


def form_of(row: Any, arrays: Sequence[Any], params: Sequence[Any]) -> Form | None:
    """The form of a call of a row on arrays like these, if it has one."""
    forms = FORMS.get(row.name, ()) if isinstance(row, Row) else ()
    if not forms or any([not isinstance(a, np.ndarray) for a in arrays]):
        return None
    return next((form for form in forms if form.fits(arrays, dict(zip(row.params, params)))), None)


def piece_form_of(row: Row, arrays: Sequence[Any]) -> Form | None:
    """The form of an elementwise row on pieces of arrays of one shape."""
    forms = FORMS.get(row.name, ()) if row.elementwise else ()
    return forms[0] if forms and _floats(arrays) and len({a.shape for a in arrays}) == 1 else None
