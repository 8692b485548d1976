"""Comparisons, tests of values, logic and bits: results without gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _runtime
from .._args import array_of, flag, real
from .._choices import choice
from .._errors import scalar_name
from .._op import documents, op
from .._types import Number
from .copies import as_operand, no_gradient
from .pointwise import unsupported

if TYPE_CHECKING:
    from .._tensor import Tensor


@choice("values that are valid", ("valid",), checks=True)
def refuse_invalid(valid: np.ndarray, *, rank: int, said: Callable[[bool], str]) -> np.ndarray:
    """Raise ValueError unless everything is valid: with what is *said* of these values, or of a batch that they stand for.

    It is a choice so that whatever runs a function again, on other values or on a whole batch, looks again.
    """
    if not valid.all():
        raise ValueError(said(valid.ndim > rank))
    return valid


# -- comparisons -------------------------------------------------------------------------------------------------------
_eq = op("eq", "", np.equal, ("self", "other"))
_ne = op("ne", "", np.not_equal, ("self", "other"))
_lt = op("lt", "", np.less, ("self", "other"))
_le = op("le", "", np.less_equal, ("self", "other"))
_gt = op("gt", "", np.greater, ("self", "other"))
_ge = op("ge", "", np.greater_equal, ("self", "other"))


def _compared(row: Any, node_name: str) -> Any:
    """The comparison whose result has the dtype of *self*: what is written in place, with gradients of zero."""
    compare = row.row.kernel

    def kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
        common = _dtypes.result_dtype((self, other))
        return compare(self.astype(common, copy=False), other.astype(common, copy=False), out=...).astype(self.dtype)

    into = op(f"{row.row.name}_", node_name, kernel, ("self", "other"), tangent="formulas", self=no_gradient,
              other=lambda F, g, other: F.zeros_like(other))  # fmt: skip

    def compared(input: Tensor, other: Tensor | Number) -> Tensor:
        return into(input, as_operand(other, input, f"{row.row.name}_"))

    compared.row = into.row  # type: ignore[attr-defined]
    return compared


compared_eq, compared_ne = _compared(_eq, "EqBackward1"), _compared(_ne, "NeBackward1")
compared_lt, compared_le = _compared(_lt, "LtBackward1"), _compared(_le, "LeBackward1")
compared_gt, compared_ge = _compared(_gt, "GtBackward1"), _compared(_ge, "GeBackward1")


@documents(_eq)
def eq(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are equal; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.eq(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([False,  True, False])
    """


@documents(_ne)
def ne(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ne(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([ True, False,  True])
    """


@documents(_lt)
def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of *input* are less; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.lt(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([ True, False, False])
    """


@documents(_le)
def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of *input* are less or equal; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.le(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([ True,  True, False])
    """


@documents(_gt)
def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of *input* are greater; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.gt(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([False, False,  True])
    """


@documents(_ge)
def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of *input* are greater or equal; operands broadcast and are promoted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ge(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    tensor([False,  True,  True])
    """


def _tensors(name: str, **given: Any) -> None:
    """Refuse what is no tensor."""
    for position, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, _runtime.Tensor):
            where = f"argument '{argument}' (position {position})"
            raise TypeError(f"{name}(): {where} must be Tensor, not {type(value).__name__}")


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, elementwise, or both are the same infinity.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype; shapes that broadcast.
    rtol, atol : float
        Relative and absolute tolerance, not negative.
    equal_nan : bool
        Whether NaN is close to NaN.

    Raises
    ------
    RuntimeError
        If the dtypes differ, or a tolerance is negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-6, 2.1]))
    tensor([ True, False])
    """
    _tensors("isclose", input=input, other=other)
    a, b = input._array, other._array
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{scalar_name(a.dtype)} did not match {scalar_name(b.dtype)}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if real(tolerance, name) < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    flag(equal_nan, "equal_nan")
    return _runtime.wrap(_close(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan))


@choice("isclose", ("a", "b"), warns=True)
def _close(a: np.ndarray, b: np.ndarray, *, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    if a.dtype.kind == "f":
        near = np.abs(a - b) <= atol + np.abs(rtol * b)
    else:
        near = np.abs(a.astype(np.float64) - b) <= atol + np.abs(rtol * b.astype(np.float64))
    close = (a == b) | (near & np.isfinite(a) & np.isfinite(b))
    return np.asarray(close | (np.isnan(a) & np.isnan(b)) if equal_nan else close)


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close: see ``isclose``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]))
    True
    """
    _tensors("allclose", input=input, other=other)
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements; NaN equals nothing.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    _tensors("equal", input=input, other=other)
    return input._array.shape == other._array.shape and bool(_eq(input, other).all())


# -- tests of values ---------------------------------------------------------------------------------------------------
_isnan = op("isnan", "", np.isnan, ("self",))
_isinf = op("isinf", "", np.isinf, ("self",))
_isfinite = op("isfinite", "", np.isfinite, ("self",))
_isposinf = op("isposinf", "", lambda self: np.equal(self, np.inf, out=...), ("self",), elementwise=True, casts=False)
_isneginf = op("isneginf", "", lambda self: np.equal(self, -np.inf, out=...), ("self",), elementwise=True, casts=False)


@documents(_isnan)
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isnan(torch.tensor([1.0, torch.inf, torch.nan]))
    tensor([False, False,  True])
    """


@documents(_isinf)
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are infinite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isinf(torch.tensor([1.0, torch.inf, torch.nan]))
    tensor([False,  True, False])
    """


@documents(_isfinite)
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are neither infinite nor NaN.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isfinite(torch.tensor([1.0, torch.inf, torch.nan]))
    tensor([ True, False, False])
    """


@documents(_isposinf)
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are +inf.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isposinf(torch.tensor([1.0, torch.inf, torch.nan]))
    tensor([False,  True, False])
    """


@documents(_isneginf)
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are -inf.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isneginf(torch.tensor([1.0, torch.inf, torch.nan]))
    tensor([False, False, False])
    """


def isreal(input: Tensor) -> Tensor:
    """True, elementwise: there are no complex tensors.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.isreal(torch.tensor([1.0]))
    tensor([True])
    """
    return _runtime.wrap(np.ones(array_of("isreal", input).shape, np.bool_))


# -- logic -------------------------------------------------------------------------------------------------------------
_logical_and = op("logical_and", "", np.logical_and, ("self", "other"), numbers=False)
_logical_or = op("logical_or", "", np.logical_or, ("self", "other"), numbers=False)
_logical_xor = op("logical_xor", "", np.logical_xor, ("self", "other"), numbers=False)
_logical_not = op("logical_not", "", np.logical_not, ("self",))


@documents(_logical_and)
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are true (not 0).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logical_and(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1, 1, 0]))
    tensor([False,  True, False])
    """


@documents(_logical_or)
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether either element is true (not 0).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logical_or(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1, 1, 0]))
    tensor([True, True, True])
    """


@documents(_logical_xor)
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether one element is true (not 0) and the other is not.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logical_xor(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1, 1, 0]))
    tensor([ True, False,  True])
    """


@documents(_logical_not)
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are false (0).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.logical_not(torch.tensor([0.0, 1.0, 2.0]))
    tensor([ True, False, False])
    """


# -- bits --------------------------------------------------------------------------------------------------------------
def _bits(name: str, ufunc: np.ufunc) -> Any:
    """The kernel of an operation on bits: integers and bools only."""

    def kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
        if self.dtype.kind == "f":
            raise unsupported(name, self)
        return ufunc(self, other, out=...)

    return kernel


def _left_shift_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind not in "iu":
        raise unsupported("lshift", self)
    out = np.left_shift(self, other, out=...)
    return np.multiply(out, (other >= 0) & (other < 8 * self.itemsize), out=out)


def _right_shift_kernel(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind not in "iu":
        raise unsupported("rshift", self)
    most = 8 * self.itemsize - 1
    if self.dtype.kind == "u":
        return np.multiply(np.right_shift(self, other), (other >= 0) & (other <= most), out=...)
    return np.right_shift(self, np.where((other >= 0) & (other < most), other, other.dtype.type(most)), out=...)


def _bitwise_not_kernel(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "f":
        raise unsupported("bitwise_not", self)
    return np.invert(self, out=...)


_bitwise_and = op(
    "bitwise_and", "", _bits("bitwise_and", np.bitwise_and), ("self", "other"), elementwise=True, numbers="either"
)
_bitwise_or = op(
    "bitwise_or", "", _bits("bitwise_or", np.bitwise_or), ("self", "other"), elementwise=True, numbers="either"
)
_bitwise_xor = op(
    "bitwise_xor", "", _bits("bitwise_xor", np.bitwise_xor), ("self", "other"), elementwise=True, numbers="either"
)
_bitwise_not = op("bitwise_not", "", _bitwise_not_kernel, ("self",), elementwise=True, casts=False)
_bitwise_left_shift = op(
    "bitwise_left_shift", "", _left_shift_kernel, ("self", "other"), elementwise=True, numbers="either"
)
_bitwise_right_shift = op(
    "bitwise_right_shift", "", _right_shift_kernel, ("self", "other"), elementwise=True, numbers="either"
)


@documents(_bitwise_and)
def bitwise_and(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that both integers have; of bools, the logical "and".

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_and(torch.tensor([3, 5]), torch.tensor([6, 4]))
    tensor([2, 4])
    """


@documents(_bitwise_or)
def bitwise_or(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that either integer has; of bools, the logical "or".

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_or(torch.tensor([3, 5]), torch.tensor([6, 4]))
    tensor([7, 5])
    """


@documents(_bitwise_xor)
def bitwise_xor(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that one integer has and the other has not; of bools, whether they differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_xor(torch.tensor([3, 5]), torch.tensor([6, 4]))
    tensor([5, 1])
    """


@documents(_bitwise_not)
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The other bits: ``-1 - input``; of bools, the logical "not".

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_not(torch.tensor([0, 5]))
    tensor([-1, -6])
    """


@documents(_bitwise_left_shift)
def bitwise_left_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other`` of integers; bits that leave the dtype are lost.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_left_shift(torch.tensor([1, 3]), torch.tensor([4, 1]))
    tensor([16,  6])
    """


@documents(_bitwise_right_shift)
def bitwise_right_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input // 2 ** other`` of integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bitwise_right_shift(torch.tensor([16, -3]), torch.tensor([4, 1]))
    tensor([ 1, -2])
    """


def invert(input: Tensor) -> Tensor:
    """``~input``: TypeError for floats."""
    if input._array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return _bitwise_not(input)


def reflected(row: str) -> Any:
    """The operator for ``number <op> tensor`` of a bits operation."""

    def operator(self: Tensor, number: Number) -> Any:
        first = _runtime.operand(number, self)
        return first if first is NotImplemented else globals()[row](first, self)

    operator.__name__ = operator.__qualname__ = f"reflected_{row}"
    return operator


reflected_left_shift = reflected("bitwise_left_shift")
reflected_right_shift = reflected("bitwise_right_shift")


# -- other names -------------------------------------------------------------------------------------------------------
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
