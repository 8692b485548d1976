"""Choices: what functions compute of tensors' values beside rows, such as an index, a mask, or random noise.

A choice gives ndarrays, which formulas take as constants.  Observers see it as the call of a row without formulas, so that
what writes calls down can make the choice again on other values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from . import _runtime
from ._args import Position
from ._codegen import constants
from ._modes import no_grad, observers
from ._records import show, tell_before, tell_parts
from ._value_notes import tell_left
from ._views import tell_edit

choices: dict[str, Choice] = {}
"""Every choice by name."""


class Number(float):
    """A number that a choice has made, as a parameter of an operation: *array* is what it was read from."""

    __slots__ = ("array",)
    array: np.ndarray


def number(array: np.ndarray) -> float:
    """The number in a 0-d array; one that observers can follow to the choice that made it."""
    found = float(array)
    if observers:
        found = Number(found)
        found.array = array
    return found


def position(found: int, source: Any) -> int:
    """An integer that was read from *source*; of a 0-d tensor, one that observers can follow to it."""
    if observers and isinstance(source, _runtime.Tensor) and not source._array.ndim:
        found = Position(found)
        found.array = source._array
        tell_left("index", source)
    return found


class Choice:
    """What observers see of a choice: the part of a row that a call has to do with.

    Attributes
    ----------
    name : str
        Its name.
    kernel : callable
        ndarrays in, an ndarray or a tuple of them out; keyword-only parameters are constants.
    inputs : tuple of str
        The tensors; there may be none.
    fits : bool
        Whether the shapes of the results follow from those of the inputs.
    view : bool
        Whether the result shares the input's memory.
    """

    node_name = source = ""
    variadic = elementwise = broadcasts = floats = outputs = False
    formulas: Mapping[str, Any] = MappingProxyType({})
    kept: tuple[str, ...] = ()
    tangent = rule = push = None
    checks = False
    """Whether it raises where values are not as they should be: it is made though nothing reads its result."""

    def __init__(
        self, name: str, kernel: Callable[..., Any], inputs: tuple[str, ...], fits: bool, draws: bool, view: bool
    ) -> None:
        self.name, self.kernel, self.inputs, self.fits, self.draws, self.view = name, kernel, inputs, fits, draws, view
        self.params = constants(kernel)

    def call(self, *given: Any) -> Any:
        """The results as Tensors, which observers see."""
        count = len(given) - len(self.params)  # the last inputs may be absent
        tensors, params = given[:count], given[count:]
        arrays = _runtime.silent(self.kernel, *[t._array for t in tensors], **dict(zip(self.params, params)))
        arrays = self.shown(arrays, tensors, params)
        if arrays.__class__ is not tuple:
            return _runtime.wrap(arrays)
        return tuple([_runtime.wrap(array) for array in arrays])

    def shown(self, arrays: Any, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
        """The results, each an array of its own, which observers were shown."""
        several = arrays if arrays.__class__ is tuple else (arrays,)
        given = [t._array for t in tensors]
        own = tuple([a.copy() if any([a is g for g in given]) else a for a in several])
        if observers:
            show(self, tuple([_runtime.wrap(array) for array in own]), tensors, params)
        return own if arrays.__class__ is tuple else own[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return choice_of, (self.name,)

    def __repr__(self) -> str:
        return f"<choice {self.name}({', '.join([*self.inputs, *self.params])})>"


def choice_of(name: str) -> Choice:
    """The choice of a name."""
    return choices[name]


def replace(tensor: Any, choose: Any, *inputs: Any, **params: Any) -> None:
    """Give a tensor the values that a choice makes of it, of no edit that a version would count."""
    if observers:
        tell_before(tensor)
        tell_edit(tensor)
    found = choose(tensor, *inputs, **params)
    if observers:
        with no_grad():  # whose history stays as it is
            tell_parts("written", tensor, _runtime.wrap(found))
    tensor._array[...] = found


def choice(
    name: str,
    inputs: tuple[str, ...] = ("self",),
    *,
    fits: bool = True,
    draws: bool = False,
    view: bool = False,
    warns: bool = False,
    checks: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """The decorator of a kernel that makes a choice: it becomes a function of Tensors that gives ndarrays.

    Parameters
    ----------
    name : str
        Its name.
    inputs : tuple of str
        The kernel's arrays.
    fits : bool
        Whether the shapes of the results follow from those of the inputs; otherwise they depend on values.
    draws : bool
        Whether it draws random numbers.
    view : bool
        Whether the result shares the input's memory.
    warns : bool
        Whether NumPy may warn, which nobody is to hear.
    checks : bool
        Whether it raises where values are not as they should be, so that it is made though nothing reads its result.

    Examples
    --------
    >>> import minitorch as torch
    >>> @choice("sign of the sum")
    ... def sign_of_sum(self, *, flipped):
    ...     return np.sign(-self.sum() if flipped else self.sum(), out=...)
    >>> sign_of_sum(torch.tensor([1.0, -3.0]), flipped=True)
    array(1., dtype=float32)
    """

    def decorator(kernel: Callable[..., Any]) -> Callable[..., Any]:
        made = choices[name] = Choice(name, kernel, inputs, fits, draws, view)
        made.checks = checks
        order = tuple(made.params)

        run = partial(_runtime.silent, kernel) if warns else kernel

        def choose(*tensors: Any, **params: Any) -> Any:
            arrays = run(*[t._array for t in tensors], **params)
            return made.shown(arrays, tensors, tuple([params[name] for name in order])) if observers else arrays

        choose.choice = made  # type: ignore[attr-defined]
        return choose

    return decorator


def checks(kernel: Any) -> Any:
    """The decorator of a row's kernel that raises where values are not as they should be: as ``choice(..., checks=True)``."""
    kernel.checks = True
    return kernel
