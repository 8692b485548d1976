"""What gradcheck checks of forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._runtime import flagged, wrap
from ._jvp import jvp
from .gradcheck import IN_FAST_MODE, GradcheckError, mismatch, random_unit, tuple_of, unit_vectors

if TYPE_CHECKING:
    from .gradcheck import _Check

_MODE = "computed with forward mode "


def check_forward(check: _Check, undefined: bool, batched: bool) -> None:
    """Compare the products of forward mode with differences; then missing tangents with zeros, batches with each of them."""
    sizes = [check.outputs()[o]._array.size for o in check.differentiable]
    rng = np.random.default_rng(0)
    for number, variable in enumerate(check.variables):
        shape = check.arguments[variable]._array.shape
        if check.fast:
            directions = [random_unit(rng, shape)]
            numerical = [d.reshape(1, -1) for d in check.difference(variable, check.differentiable, directions[0])]
        else:
            directions = list(unit_vectors(shape))
            numerical = check.numerical(variable, sizes)
        columns = [products(check, {variable: direction}) for direction in directions]
        for place, (o, expected) in enumerate(zip(check.differentiable, numerical)):
            found = np.array([c[place] for c in columns]).reshape(expected.shape)
            if not check.close(found, expected):
                raise GradcheckError(mismatch(o, number, expected, found, _MODE) + IN_FAST_MODE * check.fast)
    if undefined:
        missing_tangents(check)
    if batched:
        batches_of_tangents(check)


def products(check: _Check, tangents: dict[int, np.ndarray], constant: Sequence[int] = ()) -> list[np.ndarray]:
    """The derivatives of the outputs along tangents of some inputs; others have zeros, or, if *constant*, none."""
    found = push(check, {v: _like(check.arguments[v], t) for v, t in tangents.items()}, constant)
    return [f._array.astype(np.float64).ravel() for f in found]


def push(check: _Check, tangents: dict[int, Any], constant: Sequence[int] = ()) -> list[Any]:
    """The same of Tensors."""
    varied = [v for v in check.variables if v not in constant]

    def function(*duals: Any) -> Any:
        arguments = [_fresh(a) if i in check.variables else a for i, a in enumerate(check.arguments)]
        for variable, dual in zip(varied, duals):
            arguments[variable] = dual
        outputs = tuple_of(check.func(*arguments))
        return tuple([outputs[o] for o in check.differentiable])

    primals = [_fresh(check.arguments[v]) for v in varied]
    directions = [tangents[v] if v in tangents else wrap(np.zeros_like(p._array)) for v, p in zip(varied, primals)]
    return list(jvp(function, tuple(primals), tuple(directions))[1])


def missing_tangents(check: _Check) -> None:
    """An input without a tangent must act as one whose tangent is zero."""
    if len(check.variables) < 2:
        return
    rng = np.random.default_rng(1)
    tangents = {v: random_unit(rng, check.arguments[v]._array.shape) for v in check.variables}
    for number, variable in enumerate(check.variables):
        others = {v: t for v, t in tangents.items() if v != variable}
        for o, zero, none in zip(check.differentiable, products(check, others), products(check, others, [variable])):
            if not np.allclose(zero, none, equal_nan=True):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {o} when input: {number} has an undefined tangent "
                    f"value. Got: {zero} but expected: {none}"
                )


def batches_of_tangents(check: _Check) -> None:
    """A batch of tangents must give what each of them does."""
    from .._batching._vmap import vmap

    rng = np.random.default_rng(2)
    for variable in check.variables:
        argument = check.arguments[variable]
        tangents = [_like(argument, rng.normal(size=argument._array.shape)) for _ in range(2)]
        batch = wrap(np.stack([t._array for t in tangents]))
        each = [push(check, {variable: t}) for t in tangents]
        try:
            together = vmap(lambda t, v=variable: tuple(push(check, {v: t})))(batch)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients with forward-mode AD, got: {error}") from error
        for o, found, parts in zip(check.differentiable, together, zip(*each)):
            expected = np.stack([p._array for p in parts])
            if not np.allclose(found._array, expected, rtol=check.rtol, atol=check.atol):
                raise GradcheckError(
                    f"For output {o} and input {variable}: a batch of tangents gives, with forward-mode AD,\n{found}\n"
                    f"and each of them\n{wrap(expected)}"
                )


def _fresh(argument: Any) -> Any:
    """A leaf of its own with an argument's values: the function may write into what it gets, and differentiate inside."""
    return flagged(wrap(argument._array.copy()))


def _like(argument: Any, values: np.ndarray) -> _runtime.Tensor:
    return wrap(np.asarray(values, argument._array.dtype).reshape(argument._array.shape))
