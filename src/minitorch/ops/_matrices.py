"""What the functions of linear algebra share: checks, errors, and small pieces of formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._args import array_of, wrong_type
from .._choices import choice
from .._errors import broadcast_problem, scalar_name
from .._runtime import deliver
from ._chosen import deliver_pair


class LinAlgError(RuntimeError):
    """A matrix has not what was asked for: it is singular, or not positive-definite, or an iteration did not converge."""


LinAlgError.__module__ = "minitorch.linalg"
LinAlgError.__qualname__ = LinAlgError.__name__ = "_LinAlgError"


# -- arguments ---------------------------------------------------------------------------------------------------------
def checked(
    name: str, tensor: Any, argument: str = "A", *, square: bool = True, kernel: str = "", position: int = 1
) -> np.ndarray:
    """The array of a batch of matrices of floats, float32 or float64.

    Where PyTorch has no check but a *kernel* that is there for these dtypes only, the error is NotImplementedError.
    """
    array = array_of(name, tensor, argument, position)
    if kernel:  # which comes last
        check_matrices(name, array, square)
    check_floats(name, array, kernel)
    check_matrices(name, array, square)
    return array


def check_floats(name: str, array: np.ndarray, kernel: str = "") -> None:
    """Refuse integers (unless only a *kernel* would) and half floats."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 2:
        return
    came = scalar_name(array.dtype)
    if kernel:
        raise NotImplementedError(f'"{kernel}" not implemented for {came!r}; convert it with .float() or .double()')
    if array.dtype.kind == "f":
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {came}; convert it with .float()")
    check_floating(name, array)


def check_floating(name: str, array: np.ndarray) -> None:
    """Refuse integers."""
    if array.dtype.kind != "f":
        came = scalar_name(array.dtype)
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {came}; convert it with .float()"
        )


def check_matrices(name: str, array: np.ndarray, square: bool = True) -> None:
    """Refuse less than two dimensions, and matrices that are not *square*."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions, but has {array.ndim}.")
    if square and array.shape[-1] != array.shape[-2]:
        rows, columns = array.shape[-2:]
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_same_dtype(name: str, a: np.ndarray, b: np.ndarray, first: str = "A", second: str = "B") -> None:
    """Refuse two dtypes."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{scalar_name(a.dtype)} and {second} of type {scalar_name(b.dtype)} instead"
        )


def check_system(name: str, a: np.ndarray, b: np.ndarray, left: bool = True) -> None:
    """Refuse a right-hand side whose size or batch does not fit."""
    if a.shape[-2] != b.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        sizes = f"{a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]}"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({sizes})")
    check_batches(name, a.shape[:-2], b.shape[:-2])


def check_batches(name: str, *shapes: tuple[int, ...]) -> None:
    """Refuse batches that do not broadcast."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(f"{name}: {broadcast_problem(list(shapes))}") from None


def batch_element(info: np.ndarray) -> tuple[str, int]:
    """The words for the first matrix of a batch that failed, and its info."""
    place = int((info.ravel() != 0).argmax())
    return f"(Batch element {place}): " if info.ndim else "", int(info.ravel()[place])


@choice("matrices that failed", ("info",), checks=True)
def refuse_failed(info: np.ndarray, *, said: str, error: type[Exception]) -> np.ndarray:
    """Raise if a matrix has an *info*: *said* with ``{where}`` and ``{info}`` of the first that has.

    It is a choice so that whatever runs a function again, on other values or on a whole batch, looks again.
    """
    if info.any():
        where, first = batch_element(info)
        raise error(said.format(where=where, info=first))
    return np.not_equal(info, 0, out=...)


def delivered(name: str, compute: Any, inputs: tuple[Any, ...], out: Any) -> Any:
    """``out=`` of a function with several results: a tuple of tensors."""
    if not isinstance(out, (tuple, list)):
        raise wrong_type(out, "out", "tuple of Tensors")
    results = compute()
    if len(out) != len(results):
        raise TypeError(f"{name}(): expected a sequence of {len(results)} Tensors for argument 'out', got {len(out)}")
    return deliver_pair(name, lambda: results, inputs, out)


def copied(name: str, compute: Any, out: Any) -> Any:
    """``out=`` of a function that PyTorch composes of others: it takes part in differentiation, by a copy."""
    result = compute()
    if not getattr(result, "requires_grad", False) or not hasattr(out, "_array"):
        return deliver(name, lambda: result, (), out)
    if out._array.shape != result._array.shape:
        out.resize_(result._array.shape)
    return out.copy_(result)


# -- pieces of formulas ------------------------------------------------------------------------------------------------
def over_columns(F: Any, values: Any) -> Any:
    """``(*, n)`` as ``(*, 1, n)``: what multiplies the columns of a matrix."""
    return F.unsqueeze(values, dim=-2)


def over_rows(F: Any, values: Any) -> Any:
    """``(*, n)`` as ``(*, n, 1)``: what multiplies the rows of a matrix."""
    return F.unsqueeze(values, dim=-1)


def over_matrices(F: Any, values: Any) -> Any:
    """``(*)`` as ``(*, 1, 1)``: what multiplies matrices."""
    return F.unsqueeze(F.unsqueeze(values, dim=-1), dim=-1)


def identity(F: Any, values: Any) -> Any:
    """Identity matrices as large as *values* are long."""
    return F.diag_embed(F.zeros_like(values) + 1)


def skew(F: Any, matrix: Any) -> Any:
    """A matrix less its transpose."""
    return matrix - F.mT(matrix)


def symmetric_of_lower(F: Any, matrix: Any) -> Any:
    """The symmetric matrix with this lower triangle (copyltu of Walter & Lehmann)."""
    return F.tril(matrix) + F.mT(F.tril(matrix, diagonal=-1))


def columns(F: Any, matrix: Any, start: int, end: int) -> Any:
    """Some columns."""
    return F.slice(matrix, dim=len(matrix.shape) - 1, start=start, end=end)


def matrix_rows(F: Any, matrix: Any, start: int, end: int) -> Any:
    """Some rows."""
    return F.slice(matrix, dim=len(matrix.shape) - 2, start=start, end=end)
