"""Rows that a program writes out: kernels that are a few NumPy calls where the shapes and dtypes of their operands are known.

A program knows them, so that nothing is checked, and results can be written into memory that is there.
"""

from __future__ import annotations

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
        as a further argument, or nothing, and names of what ``constants`` gives.
    over : tuple of int
        The operands in whose memory the result may be written.
    constants : callable
        ``constants(operands, params)``: by name, objects that the lines need.
    """

    fits: Callable[[Sequence[np.ndarray], Any], bool]
    lines: Sequence[str]
    over: tuple[int, ...] = ()
    constants: Callable[[Sequence[np.ndarray], Any], dict[str, Any]] = lambda operands, params: {}


def _matrices(operands: Sequence[np.ndarray], params: Any) -> bool:
    return all([a.ndim == 2 for a in operands[:2]]) and _floats(operands)


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


def _matrix_summed(operands: Sequence[np.ndarray], params: Any) -> bool:
    (x,) = operands
    return x.ndim == 2 and reduce.is_one_product(x, params["shape"])


def _ones(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    (x,) = operands
    return {"ones": reduce.ones(x.dtype.char, len(x))}


def _one_loss(operands: Sequence[np.ndarray], params: Any) -> bool:
    return _floats(operands) and params["reduction"] != REDUCTIONS["none"] and operands[0].size > 0


def _count(operands: Sequence[np.ndarray], params: Any) -> dict[str, Any]:
    size = np.broadcast(*operands).size if params["reduction"] == REDUCTIONS["mean"] else 1
    return {"count": size, "dtype": operands[0].dtype}


PRODUCTS = {"mm": "{0}.dot({1}{out})", "mm_nt": "{0}.dot({1}.T{out})", "mm_tn": "{0}.T.dot({1}{out})"}
"""Products of two matrices."""

FORMS: dict[str, Form] = {
    **{name: Form(_matrices, [f"{{r}} = {product}"]) for name, product in PRODUCTS.items()},
    "linear": Form(_matrices, [f"{{r}} = {PRODUCTS['mm_nt']}", "add({r}, {2}, {r})"]),
    "sum_to": Form(_matrix_summed, ["{r} = {ones}.dot({0}{out})"], (), _ones),
    "mse_loss": Form(
        _one_loss,
        ["x = subtract({0}, {1}, out=...).ravel()", "{r} = asarray(x.dot(x) / {count}, {dtype})", "x = None"],
        (),
        _count,
    ),
    "abs": Form(_small, ["{r} = absolute({0}{out})"], (0,)),
    "tanh_backward": Form(
        _small,
        ["{r} = multiply({1}, {1}{out})", "subtract({one}, {r}, {r})", "multiply({r}, {0}, {r})"],
        (1,),
        _one,
    ),
    "sigmoid_backward": Form(
        _small,
        ["{r} = subtract({one}, {1}{out})", "multiply({r}, {1}, {r})", "multiply({r}, {0}, {r})"],
        (),
        _one,
    ),
}
"""By the name of the row."""

_NARROW: dict[str, Form] = {
    "linear": Form(_one_column, [f"{{r}} = {PRODUCTS['mm_nt']}", "add({r}, {2}[0, ...], {r})"]),
}
"""Those that are looked for first: NumPy adds a 0-d array in half the time that it takes to broadcast one of one element."""

NAMES = {
    "absolute": np.absolute,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "asarray": np.asarray,
}
"""What the lines call."""


def form_of(row: Any, arrays: Sequence[Any], params: Sequence[Any]) -> Form | None:
    """The form of a call of a row on arrays like these, if it has one."""
    if not isinstance(row, Row) or any([not isinstance(a, np.ndarray) for a in arrays]):
        return None
    forms = [form for form in (_NARROW.get(row.name), FORMS.get(row.name)) if form is not None]
    return next((form for form in forms if form.fits(arrays, dict(zip(row.params, params)))), None)


def piece_form_of(row: Row, arrays: Sequence[Any]) -> Form | None:
    """The form of an elementwise row on pieces of arrays of one shape."""
    form = FORMS.get(row.name) if row.elementwise else None
    return form if form is not None and _floats(arrays) and len({a.shape for a in arrays}) == 1 else None
