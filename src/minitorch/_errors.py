"""Errors that say which op, what came, what was expected, and what to do."""

from __future__ import annotations

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


def public_name(row: Any) -> str:
    """The function that people called: rows that are variants of one are named ``<function>_<variant>``."""
    name: str = row.name.removeprefix("folded_")
    variant = next((v for v in _VARIANTS if name.endswith(v)), "")
    return name.removesuffix(variant)


def scalar_name(dtype: np.dtype[Any]) -> str:
    """PyTorch's word for an element type: ``Float``, ``Long``, …"""
    return _SCALAR_NAMES.get(dtype.name, dtype.name)


def described(value: Any) -> str:
    """A tensor as its shape and dtype, anything else as its type."""
    array = getattr(value, "_array", None)
    if array is None:
        return f"{type(value).__name__}"
    return f"shape {tuple(array.shape)} and dtype {array.dtype}"


def explained(error: Exception, row: Any, inputs: tuple[Any, ...]) -> Exception:
    """A kernel's error as PyTorch's class, saying which op and what came."""
    names = [f"{row.inputs[0]}[{i}]" for i in range(len(inputs))] if row.variadic else row.inputs
    came = ", ".join([f"{'input' if name == 'self' else name} has {described(t)}" for name, t in zip(names, inputs)])
    if isinstance(error, ValueError) and "broadcast" in str(error):
        shapes = [t._array.shape for t in inputs]
        return RuntimeError(
            f"{public_name(row)}(): {broadcast_problem(shapes)}; {came}; reshape or unsqueeze one of them"
        )
    if row.view and isinstance(error, TypeError):  # an argument of the wrong type
        return TypeError(f"{public_name(row)}(): {error}; {came}")
    if isinstance(error, RuntimeError):  # the kernel's own, which says what it expected
        return type(error)(f"{error}; {came}")
    kind = RuntimeError if isinstance(error, (ValueError, TypeError)) else type(error)
    return kind(f"{public_name(row)}(): {error}; {came}")


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
    """Raise: an operand that is neither a tensor nor a number."""
    raise TypeError(
        f"{public_name(row)}(): argument 'other' (position 2) must be Tensor or Number, not {type(given).__name__}"
    )
