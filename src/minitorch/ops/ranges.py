"""Evenly spaced numbers."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _runtime
from .._args import number, real
from .._choices import choice
from .._kernels.spaced import spaced
from .._modes import differs, observers
from .._runtime import silent
from .._types import Number
from .creation import made_by
from .from_data import number_array

if TYPE_CHECKING:
    from typing import Unpack

    from .._tensor import Tensor
    from .creation import Options


def arange(
    start: Number | None = None,
    end: Number | None = None,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """The numbers from *start* up to, not including, *end*: ``arange(end)``, ``arange(start, end)`` or with a step.

    Parameters
    ----------
    start : number
        The first number, 0 where only *end* is given.
    end : number
        Where they stop.
    step : number
        The distance between them; not 0.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default int64 if all three are integers, otherwise the default float dtype), layout, device,
        pin_memory, requires_grad.

    Returns
    -------
    Tensor
        ``ceil((end - start) / step)`` numbers.

    Raises
    ------
    RuntimeError
        If *step* is 0 or leads away from *end*.
    TypeError
        If there is no *end*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(3)
    tensor([0, 1, 2])
    >>> torch.arange(1, 2, 0.25)
    tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if end is None:
        start, end = end, start
    if end is None:
        raise TypeError("arange(): missing 1 required argument: 'end'")
    first, stop, by = (
        number(0 if start is None else start, "start", "arange"),
        number(end, "end", "arange"),
        number(step, "step", "arange"),
    )
    floats = isinstance(first, float) or isinstance(stop, float) or isinstance(by, float)
    default = _dtypes.default() if floats else _dtypes.INT64

    def make(dtype: np.dtype[Any]) -> np.ndarray:
        return _range("arange", first, stop, by, dtype, inclusive=False)

    return made_by("arange", make, default, out, options)


def _range(name: str, start: Any, end: Any, step: Any, dtype: np.dtype[Any], inclusive: bool) -> np.ndarray:
    if dtype.kind == "b":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"{name}(): unsupported range: {start} -> {end}")
    if dtype.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        if not -(2**63) <= start < 2**63 or not -(2**63) <= end < 2**63:
            raise RuntimeError(
                f"{name}(): value cannot be converted to type int64_t without overflow: {start} -> {end}"
            )
    if not step:
        raise RuntimeError(f"{name}(): step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"{name}(): upper bound and lower bound inconsistent with step sign: {start} -> {end} in steps of {step}"
        )
    if inclusive:
        count = math.floor((end - start) / step) + 1
    else:
        count = -((start - end) // step) if dtype.kind in "iu" else math.ceil((end - start) / step)
    if dtype.kind == "f" and not inclusive and dtype.itemsize >= 4:
        return _stepped(start, step, count, dtype)
    numbers = np.arange(count, dtype=np.int64 if dtype.kind in "iu" else np.float64)
    if step != 1:
        numbers *= step
    if start:
        numbers += start
    return silent(numbers.astype, dtype)


def _stepped(start: float, step: float, count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """``start + step * i``, to the bit as PyTorch's AVX2 code, where pairs of vectors count from a rounded base."""
    wide: Any = np.float64 if dtype.itemsize == 4 else np.longdouble  # products and sums are rounded once
    index = np.arange(count, dtype=wide)
    numbers = wide(start) + wide(step) * index
    lanes = 32 // dtype.itemsize
    paired = count - count % (2 * lanes)
    bases = numbers[:paired:lanes].astype(dtype).astype(wide)
    numbers[:paired] = np.repeat(bases, lanes) + wide(step) * (index[:paired] % lanes)
    return silent(numbers.astype, dtype)


def linspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, *, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """Evenly spaced numbers from *start* to *end*, both included.

    Parameters
    ----------
    start, end : number or 0-d Tensor
        The first and the last number.
    steps : int
        How many.
    out : Tensor, optional
        Where the result is written.
    **options
        See ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    count = _steps("linspace", steps)

    def space(first: Any, last: Any, dtype: np.dtype[Any]) -> np.ndarray:
        return _spaced("linspace", first, last, count, dtype)

    return _between("linspace", start, end, space, out, options)


def _steps(name: str, steps: Any) -> int:
    try:
        count = operator.index(steps)
    except TypeError:
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}") from None
    if count < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {count}")
    return count


def _between(name: str, start: Any, end: Any, space: Callable[..., np.ndarray], out: Any, options: Options) -> Tensor:
    """What ``space(start, end, dtype)`` makes; the ends may be other ones for each example of a map."""
    if observers and any([isinstance(e, _runtime.Tensor) and differs(e) for e in (start, end)]):
        ends = [e.detach() if isinstance(e, _runtime.Tensor) else _runtime.wrap(np.asarray(e)) for e in (start, end)]
        return made_by(
            name, lambda dtype: _from_tensors(*ends, space=space, dtype=dtype), _dtypes.default(), out, options
        )
    first, last = _end(name, "start", start), _end(name, "end", end)
    return made_by(name, lambda dtype: space(first, last, dtype), _dtypes.default(), out, options)


@choice("numbers between ends", ("start", "end"))
def _from_tensors(start: np.ndarray, end: np.ndarray, *, space: Callable[..., np.ndarray], dtype: Any) -> np.ndarray:
    return space(start.item(), end.item(), dtype)


def _end(name: str, argument: str, value: Any) -> Number:
    if isinstance(value, _runtime.Tensor) and value._array.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {argument} with {value._array.ndim} "
            "dimension(s)"
        )
    return number(value.detach() if isinstance(value, _runtime.Tensor) else value, argument, name)


def _spaced(name: str, start: Number, end: Number, steps: int, dtype: np.dtype[Any]) -> np.ndarray:
    """The numbers of ``linspace``, counted from the nearer end, in the dtype itself where it is of floats."""
    if dtype.kind == "b":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    inner = dtype if dtype.kind == "f" else _dtypes.FLOAT64
    if dtype.kind in "iu":
        start, end = int(start), int(end)
    first, last = number_array(start, inner, name)[()], number_array(end, inner, name)[()]
    return spaced(first, last, steps, inner).astype(dtype)


def logspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Powers of *base* with evenly spaced exponents from *start* to *end*, both included.

    Parameters
    ----------
    start, end : number or 0-d Tensor
        The first and the last exponent.
    steps : int
        How many.
    base : float
        What is raised.
    out : Tensor, optional
        Where the result is written.
    **options
        See ``zeros``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    count, base = _steps("logspace", steps), float(real(base, "base", "logspace"))

    def space(first: Any, last: Any, dtype: np.dtype[Any]) -> np.ndarray:
        ends = (first, last) if dtype.kind == "f" else (int(first), int(last))
        exponents = _spaced("logspace", ends[0], ends[1], count, dtype if dtype.kind == "f" else _dtypes.FLOAT64)
        return silent(silent(np.power, base, exponents.astype(np.float64)).astype, dtype)

    return _between("logspace", start, end, space, out, options)


def range(
    start: Number, end: Number, step: Number = 1, *, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The numbers from *start* to *end*, both included; deprecated in favour of ``arange``.

    Examples
    --------
    >>> import warnings
    >>> import minitorch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    first, stop, by = number(start, "start", "range"), number(end, "end", "range"), number(step, "step", "range")
    return made_by(
        "range", lambda dtype: _range("range", first, stop, by, dtype, inclusive=True), _dtypes.default(), out, options
    )
