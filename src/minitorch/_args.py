"""Arguments of public functions, checked and normalised: see docs/design/09-errors.md."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import calling


class Position(int):
    """An integer that was read from a tensor, as a parameter of an operation: *array* is what it was read from."""

    array: np.ndarray


# -- one argument ------------------------------------------------------------------------------------------------------
def integer(value: Any, argument: str, function: str = "", expected: str = "int") -> int:
    """An integer, of anything that Python takes for one except bools.

    Raises
    ------
    TypeError
        Something else.
    ValueError
        No 64-bit integer.
    """
    if value.__class__ is Position:
        return value
    if value.__class__ is not bool and value.__class__ is not np.bool_:
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if -(2**63) <= number < 2**63:
                return number
            raise ValueError(
                f"{function or calling()}(): Overflow when unpacking long long: argument '{argument}' is {number}"
            )
    raise wrong_type(value, argument, expected, function)


def flag(value: Any, argument: str, function: str = "") -> bool:
    """A bool; TypeError for anything else, 0 and 1 too."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise wrong_type(value, argument, "bool", function)


def number(value: Any, argument: str, function: str = "", expected: str = "Number") -> Any:
    """A Python number: of NumPy's scalars and of 0-d tensors without gradient their value; TypeError for anything else."""
    array = getattr(value, "_array", value)
    if isinstance(value, np.generic) or (array is not value and array.ndim == 0 and not value.requires_grad):
        if array.dtype.kind in "biuf":
            return value.item()
    elif isinstance(value, (int, float)):
        return value
    raise wrong_type(value, argument, expected, function)


def real(value: Any, argument: str, function: str = "") -> Any:
    """As `number`; the error says float."""
    return number(value, argument, function, "float")


def text(value: Any, argument: str, function: str = "") -> str:
    """A string; TypeError for anything else."""
    if isinstance(value, str):
        return value
    raise wrong_type(value, argument, "str", function)


def integers(value: Any, argument: str, function: str = "") -> tuple[int, ...]:
    """A tuple of integers, of a sequence of them; TypeError for anything else."""
    if not isinstance(value, (tuple, list)):
        raise wrong_type(value, argument, "tuple of ints", function)
    if value.__class__ is tuple and all([item.__class__ is int and -(2**63) <= item < 2**63 for item in value]):
        return value
    for place, item in enumerate(value):
        if item.__class__ is not int and (isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__")):
            raise TypeError(
                f"{function or calling()}(): argument '{argument}' must be tuple of ints, but found element of type "
                f"{type(item).__name__} at pos {place}"
            )
    return tuple([integer(item, argument, function, "tuple of ints") for item in value])


def integer_or_integers(value: Any, argument: str, function: str = "") -> Any:
    """An integer, or a tuple of them."""
    if isinstance(value, (tuple, list)):
        return integers(value, argument, function)
    return integer(value, argument, function, "int or tuple of ints")


def per_dim(given: Any, ndim: int, argument: str) -> tuple[int, ...]:
    """An integer, or a sequence of one or *ndim* integers, as *ndim* integers.

    Raises
    ------
    RuntimeError
        Another number of them.
    TypeError
        Something else.
    """
    if given.__class__ is int:
        return (given,) * ndim
    sizes = integer_or_integers(given, argument)
    if isinstance(sizes, int):
        return (sizes,) * ndim
    if len(sizes) not in (1, ndim):
        raise RuntimeError(
            f"{calling()}(): expected {argument} to be a single integer value or a list of {ndim} values to match the "
            f"dimensions, but got {argument}={list(sizes)}"
        )
    return sizes if len(sizes) == ndim else sizes * ndim


CONVERTERS: dict[str, tuple[tuple[type, ...], Callable[..., Any]]] = {
    "int": ((int,), integer),
    "bool": ((bool,), flag),
    "float": ((float, int), real),
    "Number": ((float, int, bool), number),
    "str": ((str,), text),
    "tuple[int, ...]": ((tuple,), integers),
    "Sizes": ((tuple,), integers),
    "int | tuple[int, ...]": ((int, tuple), integer_or_integers),
}
"""For the types that parameters of kernels are declared with: the classes that need no look, and what looks at others."""


def wrong_type(value: Any, argument: str, expected: str, function: str = "") -> TypeError:
    """The error of an argument of the wrong type."""
    return TypeError(f"{function or calling()}(): argument '{argument}' must be {expected}, not {type(value).__name__}")


# -- dimensions and sizes ----------------------------------------------------------------------------------------------
def either(dim: Any, axis: Any, default: Any = None) -> Any:
    """What was given as *axis*, NumPy's name for *dim*; TypeError where *dim* was given too, and is not its default."""
    if dim is not default and dim != default:
        raise TypeError(
            f"{calling()}() got an unexpected keyword argument 'axis': it is another name of 'dim', which was given too"
        )
    return axis


def dim_of(dim: Any, ndim: int, argument: str = "dim") -> int:
    """A dimension counted from 0; a 0-d tensor has dimensions 0 and -1, as in PyTorch.

    Raises
    ------
    IndexError
        Out of range.
    TypeError
        Not an integer.
    ValueError
        No 64-bit integer.
    """
    if dim.__class__ is not int:
        dim = integer(dim, argument)
    size = ndim or 1
    if not -size <= dim < size:
        integer(dim, argument)
        raise IndexError(
            f"{calling()}(): Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})"
        )
    return dim % size


def missing_dim() -> TypeError:
    """The error of a function that needs *dim*, which could have been given as *axis* too."""
    return TypeError(f'{calling()}() missing 1 required positional arguments: "dim"')


def dims_of(dim: Any, ndim: int, argument: str = "dim") -> tuple[int, ...]:
    """Dimensions counted from 0, of an int or a sequence of ints; RuntimeError where one is repeated."""
    if not isinstance(dim, (tuple, list)):
        return (dim_of(dim, ndim, argument),)
    dims = tuple([dim_of(d, ndim, argument) for d in dim])
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"{calling()}(): dim {twice} appears multiple times in the list of dims")
    return dims


def sizes_of(size: Sequence[Any], argument: str = "size") -> tuple[int, ...]:
    """The sizes of ``f(2, 3)`` or ``f((2, 3))``, given as a tuple of arguments."""
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return integers(given, argument)


def sizes_given(name: str, given: tuple[Any, ...], named: Any = None, argument: str = "size") -> tuple[int, ...]:
    """The integers of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    if named is not None:
        return integers(named, argument, name)
    elif not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    sizes = tuple(given[0]) if isinstance(given[0], (tuple, list)) and len(given) == 1 else given
    for size in sizes:
        if size.__class__ is not int:
            return integers(sizes, argument, name)
    return sizes


# -- tensors -----------------------------------------------------------------------------------------------------------
def array_of(name: str, tensor: Any, argument: str = "input", position: int = 1) -> np.ndarray:
    """The array of a function's argument; TypeError where that is no tensor (without *name*: of the running function)."""
    try:
        return tensor._array
    except AttributeError:
        raise not_a_tensor(name or calling(), tensor, argument, position) from None


def check_tensors(name: str, **arguments: Any) -> None:
    """Raise TypeError where an argument, of those in their order, is no tensor."""
    for position, (argument, tensor) in enumerate(arguments.items(), 1):
        array_of(name, tensor, argument, position)


def arrays_of(name: str, tensors: Any) -> list[np.ndarray]:
    """The arrays of a list of tensors; TypeError where that holds something else."""
    if isinstance(tensors, (tuple, list)):
        return [array_of(name, t, f"tensors[{i}]") for i, t in enumerate(tensors)]
    raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")


def not_a_tensor(name: str, given: Any, argument: str = "input", position: int = 1) -> TypeError:
    """The error of an argument that must be a tensor."""
    place = f" (position {position})" if position else ""
    return TypeError(f"{name}(): argument '{argument}'{place} must be Tensor, not {type(given).__name__}")
