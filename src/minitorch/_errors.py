"""Errors that say which op, what came, what was expected, and what to do."""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

import numpy as np

_SCALAR_NAMES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short",
    "int8": "Char", "uint8": "Byte", "bool": "Bool",
}  # fmt: skip


_VARIANTS = (
    "_all", "_bias", "_decimals", "_dim", "_dims", "_of_number", "_number", "_scaled", "_stable", "_tensor", "_tensors",
    "_value", "_low", "_high", "_nt", "_tn",
)  # fmt: skip


_PARTS = {
    "the ranks of quantiles": "quantile",
    "the classes that are not the target": "multi_margin_loss",
    "labels": "multilabel_margin_loss",
    "the indices of median": "median",
    "the indices of mode": "mode",
    "the indices of kthvalue": "kthvalue",
    "the indices of topk": "topk",
    "the indices of records": "cummax or cummin",
    "the indices of max_pool": "max_pool",
    "the indices of adaptive_max_pool": "adaptive_max_pool",
    "the indices of fractional_max_pool": "fractional_max_pool",
    "the coordinates of what is not zero": "nonzero",
    "how many are not nan": "nanmean",
    "all or any": "all and any",
    "rows of at most a norm": "embedding",
    "bags": "embedding_bag",
    "the maxima of bags": "embedding_bag",
    "the rows of maxima": "embedding_bag",
    "repeats": "repeat_interleave",
    "one_hot without num_classes": "one_hot",
    "dropout noise": "dropout",
    "alpha dropout noise": "alpha_dropout",
    "gumbel noise": "gumbel_softmax",
    "the largest as one": "gumbel_softmax",
    "slopes of rrelu": "rrelu",
    "bernoulli of one probability": "bernoulli",
    "view as another dtype": "view",
    "zeros on diagonals": "solve_triangular",
    "resized": "resize_",
    "exponents": "frexp",
    "edges of bins": "histogram",
    "matrices that failed": "a check of matrices",
    "indices in range": "a check of indices",
    "values that are valid": "a check of values",
    "what is not finite": "grid_sample",
    "indices": "what returns indices",
    "indices counted from the end": "indexing by a tensor",
    "indices of slices": "index_reduce",
    "indices of cells": "max_pool",
    "counts of places": "scatter_reduce",
    "numbers between ends": "linspace or logspace",
    "moved statistics": "batch_norm",
    "the mean over a batch": "batch_norm",
    "states": "ctc_loss",
    "classes": "cross_entropy",
    "classes that are ignored": "cross_entropy",
    "what is lacking of eps": "gaussian_nll_loss",
    "places in a grid": "grid_sample",
    "cells of an image": "grid_sample",
    "the floor of places": "grid_sample",
    "the nearest of places": "grid_sample",
    "mask to be added": "attention",
    "norm_moments": "batch_norm",
    "batch_norm_evaluated": "batch_norm",
    "conv": "convolution",
    "conv_bias": "convolution",
    "conv_input_grad": "transposed convolution",
    "conv_input_grad_bias": "transposed convolution",
    "pad_end": "convolution with padding='same'",
    "safe_softmax": "attention",
    "inv_ex": "inv",
    "cholesky_ex": "cholesky",
    "lu_factor_ex": "lu_factor",
    "solve_ex": "solve",
}
"""What people called, for the choices and rows within it that have names of their own."""


def public_name(row: Any) -> str:
    """The function that people called: rows that are variants of one are named ``<function>_<variant>``."""
    return called_as(row.name)


@functools.cache
def called_as(name: str) -> str:
    """The function that people called, by the name of a row or choice within it."""
    if name in _PARTS:
        return _PARTS[name]
    name = name.removeprefix("folded_")
    return name.removesuffix(next((v for v in _VARIANTS if name.endswith(v)), ""))


def calling(frame: FrameType | None = None) -> str:
    """The function through which people came here: the outermost of the operations that are running, by their frames.

    Only errors ask for it, so that no argument check needs to be told for whom it checks.  The frames are those from *frame*
    on, or all.
    """
    name, frame = "", frame or sys._getframe(1)
    while frame is not None:
        scope, function = frame.f_globals, frame.f_code.co_name
        module = scope.get("__name__")
        if module is None and "row" in scope:  # a recording function, or a node's backward: see _op.recorder
            if function not in ("recorder", "<lambda>"):  # which makes the recorder on first use
                break
            name = scope["row"].call.__name__
        elif not isinstance(module, str) or not module.startswith(_OPERATIONS):
            break
        elif not function.startswith(("_", "<")) and module not in _HELPERS:
            name = function.removesuffix("_method").removesuffix("_operator")
        frame = frame.f_back
    return name or "minitorch"


def called_at(frame: FrameType | None) -> str:
    """The function through which people came to an operation that observers are shown at *frame*; "" where none is."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OBSERVING):
        frame = frame.f_back
    found = "minitorch" if frame is None else calling(frame)
    return "" if found == "minitorch" else found


def reading(converters: tuple[str, ...]) -> str:
    """The operation that makes a number of a tensor here, beyond the frames of modules of these names; "" where people do."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "") in converters:
        frame = frame.f_back
    found = "minitorch" if frame is None else calling(frame)
    return "" if found == "minitorch" else found


_PACKAGE = __name__.rpartition(".")[0]
_HELPERS = {f"{_PACKAGE}.{module}" for module in ("_args", "_errors", "_runtime", "_inplace", "_op")}
_OPERATIONS = (
    *(f"{_PACKAGE}.{package}" for package in ("ops", "_kernels", "linalg", "nn.functional", "_convert", "_casts", "_random")),
    *_HELPERS,
)  # fmt: skip
_OBSERVING = tuple(
    [f"{_PACKAGE}.{m}" for m in ("_trace", "_records", "_choices", "_value_notes", "static._size_passes")]
)


def scalar_name(dtype: np.dtype[Any]) -> str:
    """PyTorch's word for an element type: ``Float``, ``Long``, …"""
    return _SCALAR_NAMES.get(dtype.name, dtype.name)


def check_kind(name: str, array: np.ndarray, kinds: str = "f") -> None:
    """Raise unless the elements are of a kind that has a kernel: NumPy's letters for floats, integers, bools."""
    if array.dtype.kind not in kinds:
        came = scalar_name(array.dtype)
        raise NotImplementedError(f'"{name}" not implemented for {came!r}: convert it with .float()')


def described(value: Any) -> str:
    """A tensor as its shape and dtype, anything else as its type."""
    array = getattr(value, "_array", None)
    if array is None:
        return f"{type(value).__name__}"
    return f"shape {tuple(array.shape)} and dtype {array.dtype}"


def operand_names(row: Any, count: int) -> list[str]:
    """What a row's inputs are called in messages."""
    if row.variadic:
        return [f"{row.inputs[0]}[{i}]" for i in range(count)]
    return ["input" if name == "self" else name for name in row.inputs]


def explained(error: Exception, row: Any, inputs: tuple[Any, ...]) -> Exception:
    """A kernel's error as PyTorch's class, saying which op and what came."""
    function, said = calling(), str(error)
    came = ", ".join([f"{name} has {described(t)}" for name, t in zip(operand_names(row, len(inputs)), inputs)])
    if isinstance(error, ValueError) and "broadcast" in said:
        shapes = [t._array.shape for t in inputs]
        return RuntimeError(f"{function}(): {broadcast_problem(shapes)}; {came}; reshape or unsqueeze one of them")
    said = f"{said if function in said else f'{function}(): {said}'}; {came}"
    if isinstance(error, RuntimeError):  # the kernel's own, which says what it expected
        return type(error)(said)
    if isinstance(error, IndexError):
        return IndexError(said)
    if type(error) is ValueError and "unpacking" in said:  # no 64-bit integer: see _args.integer
        return ValueError(said)
    if isinstance(error, TypeError) and row.view:  # views do no arithmetic: it is an argument's type
        return TypeError(said)
    return RuntimeError(said)


def broadcast_problem(shapes: list[tuple[int, ...]]) -> str:
    """Which sizes do not broadcast, in PyTorch's words."""
    for dim in range(1, max(map(len, shapes)) + 1):
        sizes = [s[-dim] if len(s) >= dim else 1 for s in shapes]
        wide = [n for n in sizes if n != 1]
        if len(set(wide)) > 1:
            a, b = wide[0], next(n for n in wide if n != wide[0])
            where = max(map(len, shapes)) - dim
            return (
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {where}"
            )
    return f"shapes {' and '.join(map(str, shapes))} do not fit"


def not_a_tensor(row: Any, inputs: tuple[Any, ...], tensor_type: type) -> TypeError:
    """The error of a recorder that was given something else than tensors."""
    for position, value in enumerate(inputs, 1):
        if not isinstance(value, tensor_type):
            name = row.inputs[0] if row.variadic else row.inputs[position - 1]
            name = "input" if name == "self" else name
            return TypeError(
                f"{public_name(row)}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
    return TypeError(f"{public_name(row)}(): expected Tensors")


def unsupported_operand(row: Any, first: Any, given: Any) -> Any:
    """Raise: an operand that is neither a tensor nor a number, or a first one that is no tensor."""
    if not isinstance(first, (int, float)) and getattr(first, "_array", None) is None:
        raise TypeError(
            f"{public_name(row)}(): argument 'input' (position 1) must be Tensor, not {type(first).__name__}"
        )
    raise TypeError(
        f"{public_name(row)}(): argument 'other' (position 2) must be Tensor or Number, not {type(given).__name__}"
    )
