"""``assert_close``: two values equal up to tolerances that fit their dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._dtypes import of_numpy, promoted

_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
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
    actual, expected : Tensor, number, array, or nested sequences and mappings of them
        What is compared, element by element.
    allow_subclasses : bool
        Whether one may be of a subclass of the other's type.
    rtol, atol : float, optional
        Both or none; by default what fits the dtype (float32: 1.3e-6 and 1e-5; float64: 1e-7 both).
    equal_nan : bool
        Whether NaNs are equal.
    check_dtype, check_stride : bool
        Whether dtypes, strides must be equal.
    check_device, check_layout : bool
        Accepted: there is one of each.
    msg : str or function, optional
        The error's message, or what makes it from the one that would be shown.

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
        given, missing = ("rtol", "atol") if atol is None else ("atol", "rtol")
        raise ValueError(
            f"rtol and atol must both be specified or both be unspecified, but got {given} and no {missing}"
        )
    compare = _Comparison(allow_subclasses, rtol, atol, equal_nan, check_dtype, check_stride)
    try:
        compare(actual, expected, "")
    except AssertionError as error:
        text = str(error)
        raise AssertionError(msg(text) if callable(msg) else msg or text) from None


class _Comparison:
    """The options of one ``assert_close``."""

    def __init__(
        self, subclasses: bool, rtol: float | None, atol: float | None, equal_nan: bool, dtype: bool, stride: bool
    ) -> None:
        self.subclasses, self.rtol, self.atol, self.equal_nan = subclasses, rtol, atol, equal_nan
        self.check_dtype, self.check_stride = dtype, stride

    def __call__(self, actual: Any, expected: Any, where: str) -> None:
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if set(actual) != set(expected):
                raise AssertionError(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual))}\n"
                    f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected))}"
                )
            for key in expected:
                self(actual[key], expected[key], f"{where}[{key!r}]")
        elif _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
            for index, (one, other) in enumerate(zip(actual, expected)):
                self(one, other, f"{where}[{index}]")
        else:
            self._values(actual, expected, where)

    def _values(self, actual: Any, expected: Any, where: str) -> None:
        if not self.subclasses and type(actual) is not type(expected):
            raise TypeError(f"allow_subclasses=False, but the types differ: {type(actual)} and {type(expected)}")
        if isinstance(actual, _runtime.Tensor) != isinstance(expected, _runtime.Tensor):
            raise AssertionError(
                "The values for attribute 'type' do not match: "
                f"{type(actual).__name__} != {type(expected).__name__}{_at(where)}"
            )
        a, b = _array(actual), _array(expected)
        if a.shape != b.shape:
            raise AssertionError(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}{_at(where)}")
        tensors = isinstance(actual, _runtime.Tensor)
        if tensors and self.check_dtype and a.dtype != b.dtype:
            raise AssertionError(
                f"The values for attribute 'dtype' do not match: {of_numpy(a.dtype)} != {of_numpy(b.dtype)}.{_at(where)}"
            )
        if tensors and self.check_stride and a.strides != b.strides:
            raise AssertionError(
                f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.{_at(where)}"
            )
        rtol, atol = self._tolerances(a, b)
        self._elements(a, b, rtol, atol, where, "Tensor-likes" if tensors else "Scalars")

    def _tolerances(self, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(array.dtype.name, (0.0, 0.0)) for array in (a, b)]
        return max([p[0] for p in pairs]), max([p[1] for p in pairs])

    def _elements(self, a: np.ndarray, b: np.ndarray, rtol: float, atol: float, where: str, what: str) -> None:
        common = promoted(a.dtype, b.dtype)
        x, y = a.astype(common), b.astype(common)
        with np.errstate(all="ignore"):
            if common.kind == "f":
                close = (x == y) | (np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y)
                if self.equal_nan:
                    close |= np.isnan(x) & np.isnan(y)
                difference = np.abs(x.astype(np.float64) - y)
            else:
                difference = np.abs(x.astype(np.float64) - y.astype(np.float64))
                close = (x == y) | (difference <= atol + rtol * np.abs(y.astype(np.float64)))
            if bool(close.all()):
                return
            relative = difference / np.abs(y.astype(np.float64))
        exact = rtol == 0 and atol == 0
        adjective = "equal" if exact else "close"
        if not x.shape and what == "Scalars":
            raise AssertionError(
                f"Scalars are not {adjective}!\n\nExpected {y.item()} but got {x.item()}.\n"
                f"Absolute difference: {difference.item()}{_allowed(atol, exact)}\n"
                f"Relative difference: {relative.item()}{_allowed(rtol, exact)}{_at(where)}"
            )
        wrong = int((~close).sum())
        lines = [
            f"{what} are not {adjective}!",
            "",
            f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
        ]
        for name, values, tolerance in (("absolute", difference, atol), ("relative", relative, rtol)):
            masked = np.where(close, -1, np.where(np.isnan(values), np.inf, values))
            index = tuple([int(i) for i in np.unravel_index(int(masked.argmax()), close.shape)])
            lines.append(
                f"Greatest {name} difference: {values[index].item()} at index {index}{_allowed(tolerance, exact)}"
            )
        raise AssertionError("\n".join(lines) + _at(where))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _array(value: Any) -> np.ndarray:
    if isinstance(value, _runtime.Tensor):
        array: np.ndarray = value._array
        return array
    if isinstance(value, (bool, int, float, np.ndarray, np.generic)):
        return np.asarray(value)
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(value)}: give tensors, arrays or numbers"
    )


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _at(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""
