"""Values as code that makes them again: tensors with their dtype and their place in memory, layers, plain containers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .. import _dtypes, _runtime


def literal(value: Any) -> str:
    """An expression for a value, in which minitorch is called ``torch``."""
    if isinstance(value, _runtime.Tensor):
        return tensor_literal(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, dict):
        return "{" + ", ".join([f"{literal(k)}: {literal(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([literal(v) for v in value]) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join([literal(v) for v in value]) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return json.dumps(value)
    return "..." if value is ... else repr(value)


def tensor_literal(tensor: Any) -> str:
    """``torch.tensor(...)``, with strides and storage offset where the tensor isn't contiguous."""
    array: np.ndarray = tensor._array
    dtype = f"dtype={_dtypes.of_numpy(array.dtype)}"
    steps = [step // array.itemsize for step in array.strides]
    if tensor.is_contiguous() and not tensor.storage_offset():
        text = f"torch.tensor({numbers(array)}, {dtype})" if array.size else f"torch.zeros({array.shape}, {dtype})"
    else:
        offset = tensor.storage_offset()
        reach = 1 + sum([(n - 1) * step for n, step in zip(array.shape, steps)]) if array.size else 0
        line = np.zeros(offset + reach, array.dtype)
        if array.size:
            np.lib.stride_tricks.as_strided(line[offset:], array.shape, array.strides)[...] = array
        text = f"torch.tensor({numbers(line)}, {dtype}).as_strided({array.shape}, {tuple(steps)}, {offset})"
    return f"{text}.requires_grad_()" if tensor.requires_grad else text


def numbers(array: np.ndarray) -> str:
    """Nested lists of numbers, each as short as its dtype allows."""
    if array.ndim:
        return "[" + ", ".join([numbers(part) for part in array]) + "]"
    value = array.item()
    if array.dtype.kind != "f" or not math.isfinite(value):
        return literal(value)
    short = str(float(str(array)))
    return short if array.dtype.type(float(short)) == value else repr(value)


def module_lines(module: Any, name: str, call: str | None = None) -> list[str]:
    """Statements that make a network again, with its parameters; empty where that cannot be done.

    Parameters
    ----------
    call : str, optional
        What makes it, if it is no layer of the package, and no ``Sequential`` of them.
    """
    made = call or _constructor(module)
    if made is None:
        return []
    kinds = sorted({str(p.dtype) for p in module.parameters()})
    lines = [f"{name} = {made}" + (f".to({kinds[0]})" if kinds and kinds != ["torch.float32"] else "")]
    state = module.state_dict()
    if state:
        lines.append(f"{name}.load_state_dict({{")
        lines += [f'    "{key}": {tensor_literal(value.detach())},' for key, value in state.items()]
        lines.append("})")
    return lines if module.training else [*lines, f"{name}.eval()"]


def _constructor(module: Any) -> str | None:
    """The call that makes a layer, which is what its repr shows."""
    kind = type(module)
    if not kind.__module__.startswith("minitorch.nn."):
        return None
    children = list(module.children())
    if kind.__name__ == "Sequential":
        made = [_constructor(child) for child in children]
        return None if None in made else f"torch.nn.Sequential({', '.join(map(str, made))})"
    return None if children else f"torch.nn.{module!r}"
