"""``numerical_jacobian``: derivatives by finite differences, with their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import active_levels, differs, in_transform
from .._runtime import wrap
from ._differences import JUMP, KINK, VERTICAL, Array, Line, examine, glance, steps_between
from ._subject import ChangedShape, Subject, tuple_of

_METHODS = ("extrapolated", "central", "forward", "backward")


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
        "extrapolated": central differences of shrinking steps, extrapolated to step 0; some 25 evaluations for an element.
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

    Raises
    ------
    ValueError
        For another method, a *step* for extrapolation or one that is not positive, or inputs without a tensor of floats.
    TypeError
        For a dict of inputs, and a function that returns something else than floats.
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
    if method not in _METHODS:
        raise ValueError(f"numerical_jacobian(): method must be one of {', '.join(_METHODS)}, not {method!r}")
    if step is not None and method == "extrapolated":
        raise ValueError(
            "numerical_jacobian(): step is for method='central', 'forward' or 'backward'; extrapolation chooses"
        )
    if step is not None and not (step > 0 and np.isfinite(step)):
        raise ValueError(f"numerical_jacobian(): step must be a positive number, not {step!r}")
    if isinstance(inputs, dict):
        raise TypeError("numerical_jacobian(): dicts are not taken as inputs; pass their values as a tuple")
    arguments = tuple_of(inputs)
    _check_place(arguments)
    varied = [i for i, a in enumerate(arguments) if isinstance(a, _runtime.Tensor) and a._array.dtype.kind == "f"]
    if not varied:
        raise ValueError("numerical_jacobian(): expected at least one tensor of floats among the inputs, got none")
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


def _tensors_of(result: Any) -> Any:
    """What a function returned, with tensors in the place of Python's and NumPy's floats."""
    if isinstance(result, (list, tuple)):
        return (
            type(result)(map(_tensors_of, result)) if type(result) in (list, tuple) else tuple(map(_tensors_of, result))
        )
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
        for element in range(array.size):
            line, scale = subject.column(variable, element), float(scales.flat[element])
            small = abs(float(array.flat[element])) or scale
            if not np.isfinite(small):  # it cannot be moved
                value[:, column] = error[:, column] = np.nan
            elif method == "extrapolated":
                value[:, column], error[:, column] = _extrapolated(subject, line, scale, small)
            else:
                length = subject.precision.step * scale if step is None else step
                value[:, column], error[:, column] = _plain(subject, line, method, length, with_error)
            column += 1
    return value, error


_DOUBT = 4.0
"""By how much more than estimated entries are said to be off: estimates are made of differences that may be small by chance."""


def _extrapolated(subject: Subject, line: Line, scale: float, small: float) -> tuple[Array, Array]:
    precision = subject.precision
    coarsest, finest = precision.coarsest * max(scale, 1.0), precision.finest * max(min(small, scale, 1.0), 1e-30)
    seen = examine(line, steps_between(coarsest, finest, 80), subject.noise(), precision.equal, precision.unit)
    error = _DOUBT * (seen.error + precision.unit * np.abs(seen.value))
    apart = np.where(seen.kind == KINK, np.abs(seen.right - seen.left) / 2, 0)  # as far as either side's slope is
    return seen.value, np.where((seen.kind == JUMP) | (seen.kind == VERTICAL), np.inf, np.maximum(error, apart))


def _plain(subject: Subject, line: Line, method: str, step: float, with_error: bool) -> tuple[Array, Array]:
    """Differences of one step; their error from those of longer steps, and from noise."""
    field = {"central": "central", "forward": "right", "backward": "left"}[method]
    look = glance(line, step)
    value: Array = getattr(look, field)
    if not with_error:
        return value, np.zeros_like(value)
    wider = [glance(line, 2 * step), glance(line, 4 * step)]
    near, far = np.abs(np.diff([value, *[getattr(g, field) for g in wider]], axis=0))
    noise = subject.noise() * look.gain
    error = _DOUBT * np.maximum(near, far / 4) + 2 * noise + subject.precision.unit * np.abs(value)
    grows = near > 1.2 * far + _DOUBT * noise  # as at a jump, and where the slope is vertical
    if method == "central":  # the slopes to both sides come no closer at a kink
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
