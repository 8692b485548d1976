"""Arguments of public functions, checked and normalised."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np


def dim_of(dim: Any, ndim: int) -> int:
    """A dimension counted from 0; a 0-d tensor has dimensions 0 and -1, as in PyTorch.

    Raises
    ------
    IndexError
        Out of range.
    TypeError
        Not an integer.
    """
    try:
        number = operator.index(dim)
    except TypeError:
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}") from None
    size = ndim or 1
    if not -size <= number < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {number})")
    return number % size


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions counted from 0, of an int or a sequence of ints; RuntimeError where one is repeated."""
    if not isinstance(dim, (tuple, list)):
        return (dim_of(dim, ndim),)
    dims = tuple([dim_of(d, ndim) for d in dim])
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return dims


def sizes_of(size: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of ``f(2, 3)`` or ``f((2, 3))``, given as a tuple of arguments."""
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    try:
        return tuple([operator.index(s) for s in given])
    except TypeError:
        wrong = next((s for s in given if not hasattr(s, "__index__")), given)
        raise TypeError(f"sizes must be ints, but got {type(wrong).__name__}") from None


def array_of(name: str, tensor: Any, argument: str = "input", position: int = 1) -> np.ndarray:
    """The array of a function's argument; TypeError where that is no tensor."""
    try:
        return tensor._array
    except AttributeError:
        raise not_a_tensor(name, tensor, argument, position) from None


def arrays_of(name: str, tensors: Any) -> list[np.ndarray]:
    """The arrays of a list of tensors; TypeError where that holds something else."""
    if isinstance(tensors, (tuple, list)):
        return [array_of(name, t, f"tensors[{i}]") for i, t in enumerate(tensors)]
    raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")


def not_a_tensor(name: str, given: Any, argument: str = "input", position: int = 1) -> TypeError:
    """The error of an argument that must be a tensor."""
    return TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(given).__name__}"
    )


def sizes_given(name: str, given: tuple[Any, ...], named: Any = None, argument: str = "size") -> tuple[int, ...]:
    """The integers of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    if named is not None:
        given = (named,)
    elif not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    sizes = tuple(given[0]) if isinstance(given[0], (tuple, list)) and len(given) == 1 else given
    for position, size in enumerate(sizes):
        if not hasattr(size, "__index__"):
            raise TypeError(
                f"{name}(): argument '{argument}' must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {position}"
            )
    return sizes
