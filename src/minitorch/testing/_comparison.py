"""``assert_close``: two values equal up to tolerances that fit their dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._dtypes import of_numpy, promoted
from .._size import Size
from .._value_notes import tell_read
from ..ops.from_data import checked_array
from ..ops.memory import strides_of

_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7), "complex128": (1e-7, 1e-7)}
"""dtype -> (relative, absolute), PyTorch's."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless *actual* and *expected* are close: ``|actual - expected| <= atol + rtol * |expected|``.

    Parameters
    ----------
    actual, expected : Tensor, number, array, None, or nested sequences and mappings of them
        What is compared, element by element.  The types must be related: a tensor is not compared with a number.
    allow_subclasses : bool
        Whether one may be of a subclass of the other's type.
    rtol, atol : float, optional
        Both or none; by default what fits the dtype (float32: 1.3e-6 and 1e-5; float64: 1e-7 both).
    equal_nan : bool
        Whether NaNs are equal.
    check_dtype, check_stride : bool
        Whether dtypes (of Python numbers: types), strides must be equal.
    check_device, check_layout : bool
        Accepted: there is one of each.
    msg : str or function, optional
        The error's message, or what makes it from the one that would be shown, where values or attributes differ.

    Raises
    ------
    AssertionError
        Where values, shapes or dtypes differ.
    ValueError
        If only one of *rtol* and *atol* is given.
    TypeError
        For values that cannot be compared.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]) + 1e-7, torch.tensor([1.0]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    compare = _Comparison(rtol, atol, equal_nan, check_dtype, check_stride)
    for one, other, where in list(_pairs(actual, expected, "", allow_subclasses)):
        problem = compare(one, other)
        if problem is not None:
            text = problem + _at(where)
            raise AssertionError(msg(text) if callable(msg) else msg or text)


# -- what is compared with what ----------------------------------------------------------------------------------------
def _pairs(actual: Any, expected: Any, where: str, subclasses: bool) -> Iterator[tuple[Any, Any, str]]:
    """The pairs of tensors, numbers and the like in two nested structures, each with its place."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{_at(where)}")
        for index, (one, other) in enumerate(zip(actual, expected)):
            yield from _pairs(one, other, f"{where}[{index}]", subclasses)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual))}\n"
                f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected))}{_at(where)}"
            )
        for key in _in_order(actual):
            yield from _pairs(actual[key], expected[key], f"{where}[{key!r}]", subclasses)
    elif actual is None or expected is None or _are_comparable(actual, expected, subclasses):
        yield actual, expected, where
    else:
        kinds = f"{type(actual)} and {type(expected)}"
        raise TypeError(f"No comparison pair was able to handle inputs of type {kinds}.{_at(where)}")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _in_order(keys: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _are_comparable(actual: Any, expected: Any, subclasses: bool) -> bool:
    """Whether both are numbers, or both arrays or tensors of related types."""
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return True
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    arrays = isinstance(actual, (_runtime.Tensor, np.ndarray)) and related
    return arrays and (subclasses or type(actual) is type(expected))


# -- comparisons -------------------------------------------------------------------------------------------------------
class _Comparison:
    """The options of one ``assert_close``; called with a pair, it says what is wrong with it."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, dtype: bool, stride: bool) -> None:
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.check_dtype, self.check_stride = dtype, stride

    def __call__(self, actual: Any, expected: Any) -> str | None:
        if actual is None or expected is None:
            return None if actual is expected else f"None mismatch: {actual} is not {expected}"
        if isinstance(actual, _NUMBERS):
            return self._numbers(*[n.item() if isinstance(n, np.generic) else n for n in (actual, expected)])
        tell_read((actual, expected))
        return self._arrays(_array(actual), _array(expected))

    def _numbers(self, actual: Any, expected: Any) -> str | None:
        if isinstance(actual, bool) and isinstance(expected, bool):
            return None if actual is expected else f"Booleans mismatch: {actual} is not {expected}"
        if self.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        rtol, atol = self._tolerances(np.result_type(type(actual)), np.result_type(type(expected)))
        difference = abs(actual - expected)
        nan = self.equal_nan and actual != actual and expected != expected
        finite = abs(expected) != float("inf")
        if actual == expected or nan or (finite and difference <= atol + rtol * abs(expected)):
            return None
        relative = difference / abs(expected) if expected != 0 else float("inf")
        return _scalars(actual, expected, difference, relative, rtol, atol)

    def _arrays(self, a: np.ndarray, b: np.ndarray) -> str | None:
        if a.shape != b.shape:
            return _attribute("shape", Size(a.shape), Size(b.shape))
        if self.check_stride and strides_of(a) != strides_of(b):
            return _attribute("stride()", strides_of(a), strides_of(b))
        if self.check_dtype and a.dtype != b.dtype:
            return _attribute("dtype", of_numpy(a.dtype), of_numpy(b.dtype))
        rtol, atol = self._tolerances(a.dtype, b.dtype)
        common = promoted(a.dtype, b.dtype)
        wide = common if common.kind == "f" else np.dtype(np.int64)
        with np.errstate(all="ignore"):
            return self._elements(a.astype(wide), b.astype(wide), rtol, atol)

    def _tolerances(self, *dtypes: np.dtype[Any]) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
        return max([p[0] for p in pairs]), max([p[1] for p in pairs])

    def _elements(self, a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> str | None:
        difference, size = np.abs(a - b, out=...), np.abs(b, out=...)
        close = (a == b) | (difference <= atol + rtol * size) & np.isfinite(b)
        if self.equal_nan:
            close |= np.isnan(a) & np.isnan(b)
        if close.all():
            return None
        relative = np.true_divide(difference, size, out=..., dtype=a.dtype if a.dtype.kind == "f" else np.float32)
        if not a.shape:
            return _scalars(a.item(), b.item(), difference.item(), relative.item(), rtol, atol)
        wrong = int((~close).sum())
        lines = [
            f"Tensor-likes are not {_adjective(rtol, atol)}!",
            "",
            f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
        ]
        for name, values, tolerance in (("absolute", difference, atol), ("relative", relative, rtol)):
            values[close] = 0
            index = tuple([int(i) for i in np.unravel_index(int(values.argmax()), close.shape)])
            allowed = _allowed(tolerance, rtol, atol)
            lines.append(f"Greatest {name} difference: {values[index].item()} at index {index}{allowed}")
        return "\n".join(lines)


def _array(value: Any) -> np.ndarray:
    return value._array if isinstance(value, _runtime.Tensor) else checked_array(value)


# -- messages ----------------------------------------------------------------------------------------------------------
def _attribute(name: str, actual: Any, expected: Any) -> str:
    return f"The values for attribute '{name}' do not match: {actual} != {expected}."


def _scalars(actual: Any, expected: Any, difference: Any, relative: Any, rtol: float, atol: float) -> str:
    return (
        f"Scalars are not {_adjective(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _adjective(rtol: float, atol: float) -> str:
    return "equal" if rtol == 0 and atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)"


def _at(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""
