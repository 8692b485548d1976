"""How choices are written: what functions compute of values beside rows, such as indices and masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._expressions import Expression
from ._formula_images import changed
from ._formula_rows import where

Params = Mapping[str, Any]
Layouts = list[tuple[tuple[int, ...], Any]]
Called = tuple[str, tuple[tuple[str, Any], ...]]
"""The name of a function and its parameters."""


def along(dims: Any, x: Expression) -> tuple[tuple[str, Any], ...]:
    """The dimensions of a reduction, if they are not all."""
    if dims is None or len(dims) == x.ndim:
        return ()
    return (("dim", dims[0] if len(dims) == 1 else tuple(dims)),)


SECOND: dict[str, Callable[[Params], Called]] = {
    "the indices of topk": lambda p: ("topk", (("_k", p["k"]), ("dim", p["dim"]), *changed(p, largest=True))),
    "the indices of records": lambda p: ("cummax" if p["ufunc"] is np.maximum else "cummin", (("dim", p["dim"]),)),
    "argsort": lambda p: ("sort", (("dim", p["dim"]), *changed(p, descending=False))),
    "the indices of kthvalue": lambda p: ("kthvalue", (("_k", p["k"]), ("dim", p["dim"]), ("keepdim", True))),
    "the indices of median": lambda p: (
        "nanmedian" if p["skip_nan"] else "median", (("dim", p["dim"]), ("keepdim", True)),
    ),
    "the indices of mode": lambda p: ("mode", (("dim", p["dim"]), ("keepdim", True))),
}  # fmt: skip
"""Choices that are the second result of a function."""

AS_CALLED: dict[str, Callable[[Expression, Params], Called]] = {
    "all or any": lambda x, p: (
        "any" if p["ufunc"] is np.logical_or else "all", (*along(p["dims"], x), *changed(p, keepdim=False)),
    ),
    "count_nonzero": lambda x, p: ("count_nonzero", along(p["dims"], x)),
    "histc": lambda x, p: ("histc", (("bins", p["bins"]), ("min", p["low"]), ("max", p["high"]))),
    "isin": lambda x, p: ("isin", changed(p, invert=False)),
    "searchsorted": lambda x, p: ("searchsorted", changed(
        {"right": p["after"], "out_int32": p["small"]}, right=False, out_int32=False
    )),
}  # fmt: skip
"""Choices that are a function's whole result, with parameters of their own."""


def of_choice(reading: Any, name: str, args: Any, params: Params, layouts: Layouts) -> Expression | None:
    """A choice as the call of a function, or as it is defined; None where it goes by its own name."""
    algebra, (shape, dtype) = reading.algebra, layouts[0]
    made: Expression | None = None
    if name in SECOND:
        head, options = SECOND[name](params)
        made = algebra.item(algebra.call(head, args, options), 1, shape, dtype)
    elif name in AS_CALLED and len(args) <= 2:
        head, options = AS_CALLED[name](args[0], params)
        kind = np.dtype(bool) if name == "all or any" else dtype
        made = algebra.fitted(algebra.call(head, args, options, shape, kind), shape, dtype)
    elif name == "mask to be added":
        nothing, hidden = [algebra.constant(v, shape, dtype) for v in (0, -math.inf)]
        made = where(args[0], *((hidden, nothing) if params["hides"] else (nothing, hidden)))
    elif name == "what is lacking of eps":
        made = algebra.call("relu", (params["eps"] - args[0],), (), shape, dtype)
    elif name == "how many are not nan":
        kind = np.dtype(bool)
        nan = algebra.call("isnan", args, (), args[0].shape, kind)
        known = algebra.call("bitwise_not", (nan,), (), nan.shape, kind)
        options = (*along(params["dims"], nan), *(changed(params, keepdim=False) if along(params["dims"], nan) else ()))
        total = shape if options or not params["keepdim"] else ()
        made = algebra.reshaped(algebra.call("sum", (known,), options, total, dtype), shape)
    elif name == "to":
        made = algebra.fitted(args[0], shape, dtype)
    elif name == "indices":
        made = algebra.reshaped(args[0], shape)
    return made


REPLACING = frozenset(["rows of at most a norm", "moved statistics", "the mean over a batch"])
"""Choices that replace the values of their first input."""
NAMES = {
    "the coordinates of what is not zero": "where",
    "unique": "unique_parts",
    "unique_consecutive": "consecutive_parts",
    "the ranks of quantiles": "quantile_ranks",
    "the floor of places": "cell_floor",
    "cells of an image": "image_cells",
    "places in a grid": "grid_places",
    "classes that are ignored": "ignored_classes",
    "counts of places": "place_counts",
}
"""How texts call choices whose name is that of a function, which gives something else, or a phrase."""
