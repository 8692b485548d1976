"""``numerical_jacobian``: derivatives by finite differences, with their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._args import flag, real, wrong_type
from .._modes import active_levels, differs, in_transform
from .._runtime import wrap
from ._differences import (
    JUMP,
    KINK,
    VERTICAL,
    Array,
    Line,
    Precision,
    Remembered,
    examine,
    glance,
    rounding_noise,
    steps_between,
    steps_of_its_own,
)
from ._subject import ChangedShape, Subject, tuple_of

_FIELDS = {"central": "central", "forward": "right", "backward": "left"}
_LONGEST = float(np.finfo(np.float64).max)
_METHODS = ("extrapolated", *_FIELDS)


def numerical_jacobian(
    func: Callable[..., Any],
    inputs: Any,
    *,
    method: str = "extrapolated",
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """The Jacobian of *func* by finite differences, evaluated in the inputs' own dtype.

    It is measured, not derived: the result has no history, whether or not the inputs have one.  *func* is called with copies of
    them, which require grad where they do, and may write into those that do not.

    Parameters
    ----------
    func : function
        Takes the inputs, returns a tensor or a sequence of tensors; floats and NumPy arrays, too, as what it does need not be
        known.
    inputs : Tensor or sequence
        The point.  Tensors of floats are varied; anything else is passed on.
    method : str
        "extrapolated": central differences of shrinking steps, extrapolated to step 0.  An element of size 1 (or
        0) takes 24 evaluations in float64 and 14 in float32, others take more; 17 come first, to measure rounding.
        "central": ``(f(x + h) - f(x - h)) / 2h``; "forward" and "backward": ``(f(x + h) - f(x)) / h`` to either side.
    step : float, optional
        The step h of the last three (default: chosen for each element from its size and dtype).
    with_error : bool
        Whether the errors are estimated too.

    Returns
    -------
    Tensor, or tuple of tuples of Tensor
        Of float64: for one output and one input, of shape ``output.shape + input.shape``; otherwise a tuple for each output
        of a tuple for each input, or a tuple for the one of which there are several, as ``torch.autograd.functional.jacobian``
        gives.  With *with_error* a pair: the Jacobian, and in the same form how far its entries may be off: where the slopes
        to the two sides differ at least half of their distance; infinity where the function jumps, and where its slope grows
        however short the steps.

    Notes
    -----
    Errors are estimates, made of how much differences of other steps disagree and of how far values scatter; they are no
    bounds that are proven.  Two things escape them: a kink whose slopes differ by a millionth or less, which no pair of
    steps shows, and values that are rounded on the way to a small result, as of ``log(1 + x**2)`` near 0, where about one
    error in a hundred is larger than estimated, and errors reach 1e-7.

    Raises
    ------
    ValueError
        For another method, a *step* for extrapolation, one that is not positive, or that is too short for an element to move,
        and inputs without a tensor of floats.
    TypeError
        For a dict of inputs, arguments of another type, and a function that returns something else than floats.
    RuntimeError
        Inside a transform of ``func`` or at a level of forward mode, where the result would be a constant.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> torch.autograd.numerical_jacobian(lambda x: x**3, x).round(decimals=6)
    tensor([[ 3.,  0.],
            [ 0., 12.]], dtype=torch.float64)
    >>> value, error = torch.autograd.numerical_jacobian(lambda x: x.exp().sum(), x, with_error=True)
    >>> bool(((value - x.exp()).abs() <= error).all()), bool((error < 1e-10).all())
    (True, True)
    """
    step = _checked(func, method, step)
    with_error = flag(with_error, "with_error", "numerical_jacobian")
    if isinstance(inputs, dict):
        raise TypeError("numerical_jacobian(): dicts are not taken as inputs; pass their values as a tuple")
    arguments = tuple_of(inputs)
    _check_place(arguments)
    varied = [i for i, a in enumerate(arguments) if isinstance(a, _runtime.Tensor) and a._array.dtype.kind == "f"]
    if not varied:
        kinds = ", ".join([str(a.dtype) if isinstance(a, _runtime.Tensor) else type(a).__name__ for a in arguments])
        raise ValueError(
            f"numerical_jacobian(): expected at least one tensor of floats among the inputs, got {kinds or 'none'}"
        )
    followed = [place for place, i in enumerate(varied) if arguments[i].requires_grad]
    subject = Subject(lambda *given: _tensors_of(func(*given)), arguments, varied, tolerant=False, requiring=followed)
    try:
        with np.errstate(all="ignore"):
            value, error = _jacobian(subject, method, step, with_error)
    except ChangedShape as changed:
        raise AssertionError(f"numerical_jacobian(): {changed}") from None
    outputs, _ = subject.point()
    if not subject.which or len(subject.which) < len(outputs):
        kinds = ", ".join([str(getattr(o, "dtype", type(o).__name__)) for o in outputs])
        raise TypeError(
            f"numerical_jacobian(): expected the function to return tensors of floats, got {kinds or 'nothing'}: return those "
            "alone"
        )
    several = len(outputs) > 1 or isinstance(outputs, list)
    shaped = [
        _shaped(m, subject, several, len(varied) > 1 or isinstance(inputs, (tuple, list))) for m in (value, error)
    ]
    return tuple(shaped) if with_error else shaped[0]


def _checked(func: Any, method: Any, step: Any) -> float | None:
    """The step, as a number of Python; errors for a function, a method or a step that is none."""
    if not callable(func):
        raise wrong_type(func, "func", "a function", "numerical_jacobian")
    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(f"numerical_jacobian(): method must be one of {', '.join(_METHODS)}, not {method!r}")
    if step is None:
        return None
    if method == "extrapolated":
        raise ValueError(
            "numerical_jacobian(): step is for method='central', 'forward' or 'backward'; extrapolation chooses"
        )
    length = real(step, "step", "numerical_jacobian")
    if not 0 < length <= _LONGEST:
        raise ValueError(f"numerical_jacobian(): step must be a positive number, not {step!r}")
    return float(length)


def _tensors_of(result: Any) -> Any:
    """What a function returned, with tensors in the place of Python's and NumPy's floats."""
    if isinstance(result, (list, tuple)):
        return (list if type(result) is list else tuple)(map(_tensors_of, result))
    if isinstance(result, (float, np.ndarray, np.floating)):
        array = np.asarray(result)
        return wrap(array) if array.dtype in (np.float16, np.float32, np.float64) else result
    return result


def _check_place(arguments: Sequence[Any]) -> None:
    """Refuse inputs that something outside differentiates: what is measured is a constant to it."""
    for a in arguments:
        if isinstance(a, _runtime.Tensor) and (
            in_transform() or any([level.of(a) is not None for level in active_levels()]) or differs(a)
        ):
            raise RuntimeError(
                "numerical_jacobian(): inside of a transform or at a level of forward mode the result would be a constant: "
                "it has no history. Call it outside, with values that were returned or detached"
            )


def _jacobian(subject: Subject, method: str, step: float | None, with_error: bool) -> tuple[Array, Array]:
    """The Jacobian, an output element a row and an input element a column; and its errors."""
    subject.point()
    value = np.zeros((subject.base.size, sum(subject.sizes)))
    error = np.zeros_like(value)
    column = 0
    for variable, array in enumerate(subject.arrays):
        scales = subject.scales(variable)
        for element, scale in enumerate(scales.ravel().tolist()):
            line = Remembered(subject.column(variable, element))
            size = np.abs(array.flat[element])
            if step is not None and np.isfinite(size):
                _check_step(line, step, array.flat[element])
            if not np.isfinite(float(size) or scale):  # it cannot be moved
                value[:, column] = error[:, column] = np.nan
            elif method != "extrapolated" and not with_error:
                value[:, column] = getattr(glance(line, step or subject.precision.step * scale), _FIELDS[method])
            else:
                place = _place(subject, line, scale, float(size) or scale, 2 * float(np.spacing(size / 2)))
                if method == "extrapolated":
                    value[:, column], error[:, column] = _extrapolated(place)
                else:
                    value[:, column], error[:, column] = _plain(
                        place, _FIELDS[method], step or place.precision.step * scale
                    )
                error[place.unresolved, column] = np.inf
            column += 1
    return value, error


def _check_step(line: Line, step: float, element: Any) -> None:
    """Refuse a step that rounding leaves nothing of, or that leads to infinity."""
    for side in (-1, 1):
        taken, _ = line.at(side * step)
        if taken == 0 or not np.isfinite(taken):
            raise ValueError(
                f"numerical_jacobian(): step {step!r} is too {'short' if taken == 0 else 'long'} for an element of "
                f"{element!s} in {element.dtype}, which {'stays as it is' if taken == 0 else 'becomes infinite'}"
            )


_DOUBT = 4.0
"""By how much more than estimated entries are said to be off: estimates are made of differences that may be small by chance."""


_LEAST = 64 * 2.0**-1074
"""How far results of differences may be off that are too small for their digits."""


class _Place(NamedTuple):
    """A point on a line along one element, and what shows around it.

    Attributes
    ----------
    scale, small : float
        What steps are chosen by: what is usual in the tensor, and the element's own size.
    spacing : float
        From the element to the next number.
    noise : ndarray
        How far each value may be off.
    unresolved : ndarray
        Where values at the next numbers have nothing to do with one another, as of sin at 1e300.
    """

    line: Remembered
    precision: Precision
    scale: float
    small: float
    spacing: float
    noise: Array
    unresolved: Array


def _place(subject: Subject, line: Remembered, scale: float, small: float, spacing: float) -> _Place:
    precision = subject.precision
    noise, unresolved = subject.noise(), np.zeros(line.base.shape, bool)
    if spacing > 2 * precision.finest:  # the next numbers are further away than the shortest steps
        levels = np.array([rounding_noise(line, (many * spacing,), precision.unit) for many in (1, 3, 11, 37)])
        noise, most = np.min(levels, axis=0), np.max(levels, axis=0)
        changes = np.max([np.abs(line.at(side * scale / 8)[1] - line.base) for side in (-1, 1)], axis=0)
        unresolved = (most > 8 * precision.unit * np.abs(line.base)) & ~(changes > 8 * most)
    noise = noise + 2 * precision.unit * precision.floor
    return _Place(line, precision, scale, small, spacing, noise, unresolved)


def _extrapolated(place: _Place) -> tuple[Array, Array]:
    line, precision, _, small, _, noise, _ = place
    usual = max(place.scale, 1.0)
    finest = max(precision.finest * max(min(small, usual, 1.0), 1e-30), place.spacing)
    steps = steps_between(precision.coarsest * usual, finest, 80)
    own = steps_of_its_own(precision, steps, small)
    noise = np.where(line.flat(own or steps), np.maximum(noise, _quantum(line, steps, precision.finest)), noise)
    value, error = _table(place, steps, noise)
    if own:  # nearer to the point than the usual steps
        finer, closer = _table(place, own, noise)
        value, error = np.where(closer < error, finer, value), np.fmin(closer, error)
    return value, error


def _quantum(line: Line, steps: Sequence[float], most: float) -> Array:
    """By how much values change at least, where they do to both sides, as they are rounded on the way; 0 above *most*."""
    least = np.full((2, *line.base.shape), np.inf)
    for step in steps:
        changes = np.abs([line.at(side * step)[1] - line.base for side in (-1, 1)])
        least = np.where(changes > 0, np.minimum(changes, least), least)
    quantum = np.max(least, axis=0)
    return np.where(quantum <= most, quantum, 0)


def _table(place: _Place, steps: Sequence[float], noise: Array) -> tuple[Array, Array]:
    unit = place.precision.unit
    seen = examine(place.line, steps, noise, place.precision.equal, unit)
    error = _DOUBT * (seen.error + unit * np.abs(seen.value)) + _LEAST
    apart = np.fmax(np.abs(seen.right - seen.value), np.abs(seen.left - seen.value))  # as far as either side's slope is
    apart = np.where(seen.kind == KINK, apart, 0)
    return seen.value, np.where((seen.kind == JUMP) | (seen.kind == VERTICAL), np.inf, np.maximum(error, apart))


def _plain(place: _Place, field: str, step: float) -> tuple[Array, Array]:
    """Differences of one step; their error from those of longer steps, and from noise."""
    line, unit = place.line, place.precision.unit
    look = glance(line, step)
    value: Array = getattr(look, field)
    wider = [glance(line, 2 * step), glance(line, 4 * step)]
    near, far = np.abs(np.diff([value, *[getattr(g, field) for g in wider]], axis=0))
    noise = place.noise * look.gain + unit * np.nan_to_num(np.abs(look.right - look.left))  # and the points are rounded
    error = _DOUBT * np.maximum(near, far / 4) + 2 * noise + unit * np.abs(value) + _LEAST
    grows = near > 1.2 * far + _DOUBT * noise  # as at a jump, and where the slope is vertical
    if field == "central":  # the slopes to both sides come no closer at a kink
        apart, before = np.abs(look.right - look.left), np.abs(wider[0].right - wider[0].left)
        error = np.where(apart > 0.75 * before, np.maximum(error, apart / 2), error)
        grows |= apart > 1.2 * before + _DOUBT * noise
    return value, np.where(grows, np.inf, error)


def _shaped(matrix: Array, subject: Subject, several_outputs: bool, several_inputs: bool) -> Any:
    """Blocks of a matrix, by output and input."""
    rows: list[Any] = []
    sizes = [int(np.prod(s)) for s in subject.shapes]
    for shape, band in zip(subject.shapes, np.split(matrix, np.cumsum(sizes)[:-1])):
        blocks = np.split(band, np.cumsum(subject.sizes)[:-1], axis=1)
        tensors = [wrap(b.reshape((*shape, *a.shape)).copy()) for b, a in zip(blocks, subject.arrays)]
        rows.append(tuple(tensors) if several_inputs else tensors[0])
    return _one_or_all(rows, several_outputs)


def _one_or_all(rows: Sequence[Any], several: bool) -> Any:
    return tuple(rows) if several or not rows else rows[0]
