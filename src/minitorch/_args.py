"""Arguments of public functions, checked and normalised."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any


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
        wrong = next(s for s in given if not hasattr(s, "__index__"))
        raise TypeError(f"sizes must be ints, but got {type(wrong).__name__}") from None
