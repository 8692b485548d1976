"""Rows that a program writes out: kernels that are a few NumPy calls where the shapes and dtypes of their operands are known.

A program knows them, so that nothing is checked, and results can be written into memory that is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._kernels import reduce
from .._kernels.activation import BLOCKS
from .._kernels.special import blockwise
from .._op import Row
from ..ops.copies import filler
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

_TANH_BACKWARD = ["{r} = multiply({1}, {1}{out})", "subtract({one}, {r}, {r})", "multiply({r}, {0}, {r})"]
_SIGMOID_BACKWARD = ["{r} = subtract({one}, {1}{out})", "multiply({r}, {1}, {r})", "multiply({r}, {0}, {r})"]

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
    "tanh_backward": [Form(_small, _TANH_BACKWARD, (1,), _one)],
    "sigmoid_backward": [Form(_small, _SIGMOID_BACKWARD, (), _one)],
}
"""By the name of the row, the first that fits is taken."""


# -- pieces of large arrays --------------------------------------------------------------------------------------------
def _alike(operands: Sequence[np.ndarray], params: Any) -> bool:
    """Whether elementwise operands are of one shape."""
    return _floats(operands) and len({a.shape for a in operands}) == 1


def _to_the(exponent: float) -> Callable[[Sequence[np.ndarray], Any], bool]:
    return lambda operands, params: _alike(operands, params) and bool(params["exponent"] == exponent)


def _bits(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    kind = np.dtype(f"u{operands[0].itemsize}")
    return {"kind": kind, "mask": np.asarray(np.iinfo(kind).max >> 1, kind)}


def _with_number(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _floats(operands) and operands[1].shape in ((), operands[0].shape)


def _gentle(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _alike(operands, params) and bool(0 <= params["negative_slope"] <= 1)


def _scale(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    return {"scale": params.get("alpha", params.get("value", params.get("negative_slope")))}


def _near_start(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _alike(operands, params) and abs(params["weight"]) < 0.5


def _bounds(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    bounds = (params.get("min"), -math.inf), (params.get("max"), math.inf)
    low, high = [filler(wide if bound is None else bound, operands[0].dtype) for bound, wide in bounds]
    return {"low": low, "high": high}


def _in_blocks(
    name: str,
    count: int,
    over: tuple[int, ...] = (),
    fits: Callable[[Sequence[np.ndarray], Any], bool] = lambda operands, params: True,
    **known: str,
) -> Form:
    """The block's kernel of that name, with parameters by the names that the kernel has for them."""

    def constants(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
        given = {theirs: params[ours] for theirs, ours in known.items()}
        return {"kernel": partial(BLOCKS[name], **given) if given else BLOCKS[name]}

    operands = ", ".join([f"{{{n}}}" for n in range(count)])
    return Form(
        lambda arrays, params: _alike(arrays, params) and fits(arrays, params),
        [f"{{r}} = blockwise({{kernel}}, {operands}, out={{place}})"],
        over,
        constants,
    )


_CLIPPED = Form(_alike, ["{r} = clip({0}, {low}, {high}, {place})"], (0,), _bounds)
_SCALED = "{r} = multiply({1}, {scale}{out})"

PIECES: dict[str, Sequence[Form]] = {
    # NumPy's own absolute(), square() and reciprocal() go through float32 with vectors of four elements at most.
    "abs": [Form(_alike, ["{r} = {place}", "bitwise_and({0}.view({kind}), {mask}, {r}.view({kind}))"], (0,), _bits)],
    "pow_number": [
        Form(_to_the(2), ["{r} = multiply({0}, {0}{out})"], (0,)),
        Form(_to_the(3), ["{r} = multiply({0}, {0}{out})", "multiply({r}, {0}, {r})"]),
        Form(_to_the(0.5), ["{r} = sqrt({0}{out})"], (0,)),
        Form(_to_the(-1), ["{r} = divide({one}, {0}{out})"], (0,), _one),
    ],
    "rsqrt": [Form(_alike, ["{r} = sqrt({0}{out})", "divide({one}, {r}, {r})"], (0,), _one)],
    "rsub": [Form(_alike, ["{r} = subtract({1}, {0}{out})"], (0, 1))],
    "rsub_number": [Form(_with_number, ["{r} = subtract({1}, {0}{out})"], (0, 1))],
    "add_scaled": [Form(_alike, [_SCALED, "add({0}, {r}, {r})"], (1,), _scale)],
    "sub_scaled": [Form(_alike, [_SCALED, "subtract({0}, {r}, {r})"], (1,), _scale)],
    "addcmul": [Form(_alike, [_SCALED, "multiply({r}, {2}, {r})", "add({0}, {r}, {r})"], (1,), _scale)],
    "addcdiv": [Form(_alike, [_SCALED, "divide({r}, {2}, {r})", "add({0}, {r}, {r})"], (1,), _scale)],
    "tanh_backward": [Form(_alike, _TANH_BACKWARD, (1,), _one)],
    "sigmoid_backward": [Form(_alike, _SIGMOID_BACKWARD, (), _one)],
    "lerp_number": [
        Form(
            _near_start,
            ["{r} = subtract({1}, {0}{out})", "multiply({r}, {share}, {r})", "add({0}, {r}, {r})"],
            (1,),
            lambda operands, params: {"share": params["weight"]},
        ),
        Form(
            _alike,
            ["{r} = subtract({1}, {0}{out})", "multiply({r}, {share}, {r})", "subtract({1}, {r}, {r})"],
            (0,),
            lambda operands, params: {"share": 1 - params["weight"]},
        ),
    ],
    "floor": [Form(_alike, ["{r} = floor({0}{out})"], (0,))],
    "ceil": [Form(_alike, ["{r} = ceil({0}{out})"], (0,))],
    "trunc": [Form(_alike, ["{r} = trunc({0}{out})"], (0,))],
    "round": [Form(_alike, ["{r} = rint({0}{out})"], (0,))],
    "clamp": [_CLIPPED],
    "clamp_min": [_CLIPPED],
    "clamp_max": [_CLIPPED],
    "leaky_relu": [Form(_gentle, ["{r} = multiply({0}, {scale}{out})", "maximum({0}, {r}, out={r})"], (), _scale)],
    "leaky_relu_backward": [_in_blocks("leaky_relu_backward", 2, slope="negative_slope")],
    "relu": [_in_blocks("relu", 1, (0,))],
    "relu_backward": [_in_blocks("relu_backward", 2, (1,))],
    "sigmoid": [_in_blocks("sigmoid", 1, (0,))],
    "silu": [_in_blocks("silu", 1)],
    "silu_backward": [_in_blocks("silu_backward", 2)],
    "gelu_backward": [_in_blocks("gelu_backward", 3, fits=lambda operands, params: params["approximate"] == "none")],
}
"""The same for pieces: operands are contiguous, and none of them is a row or a column."""

NAMES = {
    "absolute": np.absolute,
    "add": np.add,
    "asarray": np.asarray,
    "bitwise_and": np.bitwise_and,
    "blockwise": blockwise,
    "ceil": np.ceil,
    "clip": np.clip,
    "divide": np.divide,
    "empty": np.empty,
    "floor": np.floor,
    "maximum": np.maximum,
    "multiply": np.multiply,
    "rint": np.rint,
    "sqrt": np.sqrt,
    "subtract": np.subtract,
    "trunc": np.trunc,
}
"""What the lines call."""


def form_of(row: Any, arrays: Sequence[Any], params: Sequence[Any]) -> Form | None:
    """The form of a call of a row on arrays like these, if it has one."""
    forms = FORMS.get(row.name, ()) if isinstance(row, Row) else ()
    if not forms or any([not isinstance(a, np.ndarray) for a in arrays]):
        return None
    return next((form for form in forms if form.fits(arrays, dict(zip(row.params, params)))), None)


def piece_form_of(row: Row, arrays: Sequence[Any], params: Sequence[Any]) -> Form | None:
    """The form of an elementwise row on pieces of arrays like these."""
    given = dict(zip(row.params, params))
    return next((form for form in PIECES.get(row.name, ()) if form.fits(arrays, given)), None)
