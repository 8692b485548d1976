"""Arguments of normalisations, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._args import array_of, integers
from .._choices import choice
from .._dtypes import FLOAT32
from .._errors import check_kind, scalar_name
from .._runtime import moves, refuse_derivative, wrap

Sizes = tuple[int, ...]


def parameters(array: np.ndarray, weight: Any, bias: Any, shape: Sizes, expected: str) -> tuple[Any, Any]:
    """Weight and bias, ones and zeros where there is none; RuntimeError where a shape or dtype does not fit.

    The message says what is *expected*, in which {} stands for the shape.
    """
    dtype = array.dtype
    for name, given in (("weight", weight), ("bias", bias)):
        if given is None:
            continue
        values = array_of("", given, name, 0)
        if values.shape != shape:
            expected = expected.replace("{}", str(list(shape)))
            raise RuntimeError(f"Expected {name} to be {expected}, but got {name} of shape {list(values.shape)}")
        own = values.dtype
        if own is not dtype:
            if dtype.kind != "f" or dtype.itemsize > 2 or own != FLOAT32 or not (weight is None or weight is given):
                raise RuntimeError(
                    f"mixed dtype (CPU): expect parameter to have scalar type of {scalar_name(dtype)}, but {name} has "
                    f"{scalar_name(own)}: convert the input or the module with .to()"
                )
            dtype = own  # parameters of float32 beside a half input
    return (
        wrap(np.ones(shape, dtype)) if weight is None else weight,
        wrap(np.zeros(shape, dtype)) if bias is None else bias,
    )


def shape_of_rows(name: str, array: np.ndarray, normalized_shape: Sequence[int]) -> Sizes:
    """The shape of a row; an error where the input does not end with it."""
    if not isinstance(normalized_shape, (tuple, list)):
        given = type(normalized_shape).__name__
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {given}")
    shape = integers(normalized_shape, "normalized_shape", name)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{', '.join(['*', *map(str, shape)])}], but "
            f"got input of size{list(array.shape)}"
        )
    return shape


def check_running(array: np.ndarray, training: bool, **statistics: Any) -> None:
    for name, tensor in statistics.items():
        if tensor is None:
            if not training:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif array_of("batch_norm", tensor, name, 2 + (name == "running_var")).shape != (array.shape[1],):
            raise RuntimeError(f"{name} should contain {array.shape[1]} elements not {tensor._array.size}")
        elif tensor.requires_grad or (not training and moves(tensor)):
            refuse_derivative("native_batch_norm", name, tensor)
        elif tensor._array.dtype is not array.dtype and array.itemsize > 2:
            check_kind("batch_norm", array)
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {scalar_name(array.dtype)}, but {name} has "
                f"{scalar_name(tensor._array.dtype)}"
            )


@choice("moved statistics", ("running", "value"))
def moved(running: np.ndarray, value: np.ndarray, *, factor: float, momentum: float) -> np.ndarray:
    """A running statistic moved towards a value; as in PyTorch, that is no edit which a version would count."""
    found = running * (1 - momentum)
    found += (value if factor == 1 else value * factor) * momentum
    return found


@choice("the mean over a batch", ("running", "moved"))
def mean_of_batch(running: np.ndarray, moved: np.ndarray, *, batch: int) -> np.ndarray:
    return moved.reshape(batch, -1).mean(0)
