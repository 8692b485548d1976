"""Operations as people write them in NumPy, for operands of known shapes and dtypes.

Each form is what the operation's kernel does where the kernel need not ask: the same calls on the same memory, so that results
are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._kernels.special import BLOCK
from ..ops.subscript import END
from ._forms import PRODUCTS

NUMBERS = frozenset(["rsub_number"])
"""Rows, besides ufuncs, that take numbers as they are."""
_SIGNS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/",
    np.greater: ">", np.greater_equal: ">=", np.less: "<", np.less_equal: "<=", np.equal: "==", np.not_equal: "!=",
}  # fmt: skip


def ufunc_form(ufunc: Any, operands: Sequence[str], params: dict[str, str], numpy: str, plain: bool) -> str:
    """A ufunc's call; not *plain*: the result is 0-d, and is to be an array."""
    if plain and not params and ufunc in _SIGNS:
        return f"{operands[0]} {_SIGNS[ufunc]} {operands[1]}"
    if plain and not params and ufunc is np.negative:
        return f"-{operands[0]}"
    given = [*operands, *[f"{name}={value}" for name, value in params.items()], *["out=..."] * (not plain)]
    return f"{numpy}.{ufunc.__name__}({', '.join(given)})"


class Call:
    """A call that may have a plain form.

    Attributes
    ----------
    np : str
        NumPy's name.
    x, y, z : str
        The first operands, as expressions.
    all : list of str
        All of them.
    arrays : list of ndarray
        What they were.
    shape : tuple
        The first operand's shape: integers, and what says how to compute a size that may be another one.
    """

    def __init__(self, numpy: str, operands: list[str], arrays: list[Any], shapes: list[tuple[Any, ...]]) -> None:
        self.np, self.all, self.arrays, self.shape = numpy, operands, arrays, shapes[0]
        self.x, self.y, self.z = (*operands, "", "", "")[:3]

    @property
    def ndim(self) -> int:
        """The first operand's number of dimensions."""
        return int(self.arrays[0].ndim)

    def matrices(self) -> bool:
        """Whether the first two operands are matrices of one dtype other than bool."""
        a, b = self.arrays[:2]
        return a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.dtype.kind != "b"

    def row_major(self) -> bool:
        """Whether all operands lie in memory in row-major order."""
        return all([a.flags.c_contiguous for a in self.arrays])

    def at(self, dim: int, index: str, ndim: int) -> str:
        """The first operand with an index at a dimension."""
        dim = dim if dim >= 0 else dim + ndim
        return f"{self.x}[{':, ' * dim}{index}]"


def plain_form(
    name: str,
    numpy: str,
    operands: list[str],
    arrays: list[Any],
    shapes: list[tuple[Any, ...]],
    params: dict[str, Any],
) -> str | None:
    """How people write an operation; None where it has no such form, or not for these operands and parameters."""
    form = _FORMS.get(name)
    return None if form is None else form(Call(numpy, operands, arrays, shapes), **params)


def _view(c: Call, size: Any) -> str:
    return f"{c.x}.reshape({', '.join(map(str, size)) or '()'})"


def _transpose(c: Call, dim0: Any, dim1: Any) -> str | None:
    return f"{c.x}.swapaxes({dim0}, {dim1})" if c.ndim else None


def _unsqueeze(c: Call, dim: int) -> str:
    return f"{c.x}[..., None]" if dim == -1 else c.at(dim, "None", c.ndim + 1)


def _squeeze(c: Call, dim: int) -> str | None:
    return f"{c.x}.squeeze({dim})" if c.ndim and c.shape[dim] == 1 else None


def _select(c: Call, dim: Any, index: Any) -> str | None:
    if not isinstance(index, (int, str)):
        return None
    return c.at(dim, str(index) if c.ndim > 1 else f"{index}, ...", c.ndim)


def _slice(c: Call, dim: int = 0, start: Any = 0, end: Any = END, step: Any = 1) -> str:
    first = "" if start.__class__ is int and start == 0 else str(start)
    last = "" if end.__class__ is int and end >= END else str(end)
    return c.at(dim, f"{first}:{last}" + f":{step}" * (str(step) != "1"), c.ndim)


def _split(c: Call, split_size: Any, dim: int = 0) -> str | None:
    size = c.shape[dim]
    if size.__class__ is not int or split_size.__class__ is not int or not 0 < split_size < size:
        return None
    return f"{c.np}.split({c.x}, {list(range(split_size, size, split_size))}, {dim % c.ndim})"


def _unbind(c: Call, dim: int = 0) -> str | None:
    size = c.shape[dim] if c.ndim > 1 else 0
    if size.__class__ is not int or size < 2:
        return None
    return ", ".join([c.at(dim, str(place), c.ndim) for place in range(size)])


def _joined(function: str) -> Callable[..., str | None]:
    def form(c: Call, dim: int = 0) -> str | None:
        if not c.row_major() or len({a.shape for a in c.arrays}) > 1 or not c.arrays[0].ndim:
            return None
        return f"{c.np}.{function}([{', '.join(c.all)}], {dim})"

    return form


def _to(c: Call, dtype: Any, copy: bool = False) -> str | None:
    same = c.arrays[0].dtype is dtype
    return f"{c.x}.astype({c.np}.{dtype.name})" if dtype.kind == "f" and not same else None


def _product(c: Call, name: str) -> str | None:
    return PRODUCTS[name].format(c.x, c.y, out="") if c.matrices() else None


def _linear(c: Call) -> str | None:
    product = _product(c, "mm_nt") if c.arrays[2].dtype is c.arrays[0].dtype else None
    return None if product is None else f"{product} + {c.z}"


def _square(c: Call, exponent: Any) -> str | None:
    return f"{c.np}.square({c.x})" if exponent == 2 and c.ndim and c.arrays[0].dtype.kind != "b" else None


def _relu(c: Call) -> str | None:
    array = c.arrays[0]
    fixed = all([size.__class__ is int for size in c.shape])
    small = array.dtype.kind == "f" and array.ndim and fixed and array.size <= BLOCK
    return f"{c.np}.maximum({c.x}, 0.0)" if small else None


_FORMS: dict[str, Callable[..., str | None]] = {
    "view": _view,
    "unsafe_view": _view,
    "transpose": _transpose,
    "permute": lambda c, dims: f"{c.x}.transpose({', '.join(map(str, dims))})" if len(dims) == c.ndim > 0 else None,
    "unsqueeze": _unsqueeze,
    "squeeze_dim": _squeeze,
    "select": _select,
    "slice": _slice,
    "split": _split,
    "unbind": _unbind,
    "cat": _joined("concatenate"),
    "stack": _joined("stack"),
    "to": _to,
    "linear": _linear,
    **{name: partial(_product, name=name) for name in PRODUCTS},
    "bmm": lambda c: f"{c.np}.matmul({c.x}, {c.y})" if c.arrays[0].dtype.kind == "f" else None,
    "matmul": lambda c: f"{c.np}.matmul({c.x}, {c.y})" if c.arrays[0].dtype.kind == "f" else None,
    "pow_number": _square,
    "rsub_number": lambda c: f"{c.y} - {c.x}" if c.ndim and not c.arrays[1].ndim else None,
    "relu": _relu,
}
