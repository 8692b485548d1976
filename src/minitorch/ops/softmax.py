"""Softmax and its logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, either, missing_dim
from .._dtypes import to_numpy
from .._errors import scalar_name
from .._kernels import softmax as kernels
from .._op import op
from .._runtime import deliver
from . import copies, pointwise

if TYPE_CHECKING:
    from .._dtypes import dtype as DType
    from .._tensor import Tensor


def _softmax_kernel(self: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.softmax(self, dim)


def _log_softmax_kernel(self: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.log_softmax(self, dim)


def _softmax_backward_kernel(grad: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.softmax_backward(grad, output, dim)


def _log_softmax_backward_kernel(grad: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.log_softmax_backward(grad, output, dim)


def _log_softmax_tangent_kernel(grad: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.log_softmax_tangent(grad, output, dim)


def _bend_kernel(grad: np.ndarray, other: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.softmax_bend(grad, other, output, dim)


def _turn_kernel(grad: np.ndarray, other: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.softmax_turn(grad, other, output, dim)


def _log_softmax_bend_kernel(grad: np.ndarray, other: np.ndarray, output: np.ndarray, *, dim: int) -> np.ndarray:
    return kernels.log_softmax_bend(grad, other, output, dim)


def _sum(F: Any, x: Any, dim: int) -> Any:
    return F.sum(x, dim=(dim,), keepdim=True) if len(x.shape) else x


def _crossed(F: Any, of: Any, first: Any, second: Any, dim: int) -> Any:
    return -first * _sum(F, second * of, dim) - second * _sum(F, first * of, dim)


_softmax = op("softmax", "SoftmaxBackward0", _softmax_kernel, ("self",), tangent="formulas",
              self=lambda F, g, result, dim: F.softmax_backward(g, result, dim=dim))  # fmt: skip

# Of output * (grad - sum(grad * output)).
op("softmax_backward", "SoftmaxBackwardBackward0", _softmax_backward_kernel, ("grad", "output"),
   tangent={"grad": lambda F, t, output, dim: F.softmax_backward(t, output, dim=dim),
            "output": lambda F, t, grad, output, dim: F.softmax_turn(t, grad, output, dim=dim)},
   grad=lambda F, g, output, dim: F.softmax_backward(g, output, dim=dim),
   output=lambda F, g, grad, output, dim: F.softmax_bend(g, grad, output, dim=dim))  # fmt: skip

# Of grad * other - grad * sum(other * output) - other * sum(grad * output).
op("softmax_bend", "SoftmaxBackwardBackwardBackward0", _bend_kernel, ("grad", "other", "output"),
   tangent={"grad": lambda F, t, other, output, dim: F.softmax_bend(t, other, output, dim=dim),
            "other": lambda F, t, grad, output, dim: F.softmax_bend(t, grad, output, dim=dim),
            "output": lambda F, t, grad, other, dim: _crossed(F, t, grad, other, dim)},
   grad=lambda F, g, other, output, dim: F.softmax_turn(g, other, output, dim=dim),
   other=lambda F, g, grad, output, dim: F.softmax_turn(g, grad, output, dim=dim),
   output=lambda F, g, grad, other, dim: _crossed(F, g, grad, other, dim))  # fmt: skip

# Of grad * other - grad * sum(other * output) - output * sum(grad * other), which is the other way round.
op("softmax_turn", "SoftmaxBackwardBackwardBackward0", _turn_kernel, ("grad", "other", "output"),
   tangent={"grad": lambda F, t, other, output, dim: F.softmax_turn(t, other, output, dim=dim),
            "other": lambda F, t, grad, output, dim: F.softmax_turn(grad, t, output, dim=dim),
            "output": lambda F, t, grad, other, dim: _crossed(F, other, grad, t, dim)},
   grad=lambda F, g, other, output, dim: F.softmax_bend(g, other, output, dim=dim),
   other=lambda F, g, grad, output, dim: F.softmax_turn(grad, g, output, dim=dim),
   output=lambda F, g, grad, other, dim: _crossed(F, grad, other, g, dim))  # fmt: skip

_log_softmax = op("log_softmax", "LogSoftmaxBackward0", _log_softmax_kernel, ("self",),
                  tangent=lambda F, t, result, dim: F.log_softmax_tangent(t, result, dim=dim),
                  self=lambda F, g, result, dim: F.log_softmax_backward(g, result, dim=dim))  # fmt: skip

# Of grad - exp(output) * sum(grad).
op("log_softmax_backward", "LogSoftmaxBackwardBackward0", _log_softmax_backward_kernel, ("grad", "output"),
   tangent={"grad": lambda F, t, output, dim: F.log_softmax_backward(t, output, dim=dim),
            "output": lambda F, t, grad, output, dim: F.log_softmax_bend(t, grad, output, dim=dim)},
   grad=lambda F, g, output, dim: F.log_softmax_tangent(g, output, dim=dim),
   output=lambda F, g, grad, output, dim: F.log_softmax_bend(g, grad, output, dim=dim))  # fmt: skip

# Of grad - sum(grad * exp(output)), which is the other way round.
op("log_softmax_tangent", "LogSoftmaxBackwardBackward0", _log_softmax_tangent_kernel, ("grad", "output"),
   tangent={"grad": lambda F, t, output, dim: F.log_softmax_tangent(t, output, dim=dim),
            "output": lambda F, t, grad, output, dim: F.zeros_like(t) - _sum(F, t * grad * F.exp(output), dim)},
   grad=lambda F, g, output, dim: F.log_softmax_backward(g, output, dim=dim),
   output=lambda F, g, grad, output, dim: F.log_softmax_bend(grad, g, output, dim=dim))  # fmt: skip

# Of -grad * exp(output) * sum(other).
op("log_softmax_bend", "LogSoftmaxBackwardBackwardBackward0", _log_softmax_bend_kernel, ("grad", "other", "output"),
   tangent={"grad": lambda F, t, other, output, dim: F.log_softmax_bend(t, other, output, dim=dim),
            "other": lambda F, t, grad, output, dim: F.log_softmax_bend(grad, t, output, dim=dim),
            "output": lambda F, t, grad, other, output, dim: F.log_softmax_bend(t * grad, other, output, dim=dim)},
   grad=lambda F, g, other, output, dim: F.log_softmax_bend(g, other, output, dim=dim),
   other=lambda F, g, grad, output, dim: F.zeros_like(g) - _sum(F, g * grad * F.exp(output), dim),
   output=lambda F, g, grad, other, output, dim:
       F.log_softmax_bend(g * grad, other, output, dim=dim))  # fmt: skip


def _converted(name: str, input: Tensor, dtype: Any) -> Tensor:
    """The input in *dtype*; NotImplementedError where that leaves integers."""
    array = input._array
    if dtype is not None:
        wanted = to_numpy(dtype)
        if wanted != array.dtype:
            input = copies.to_dtype(input, wanted)
            array = input._array
    if array.dtype.kind != "f":
        raise NotImplementedError(
            f'"{name}_kernel_impl" not implemented for {scalar_name(array.dtype)!r}: give a float dtype='
        )
    return input


def softmax(
    input: Tensor, dim: Any = None, dtype: DType | None = None, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """``exp(input) / exp(input).sum(dim)``, without overflow.

    Parameters
    ----------
    input : Tensor
        Logits of any shape.
    dim : int
        The dimension along which the results sum to one.
    dtype : torch.dtype, optional
        Converts the input first.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    dim = dim if axis is None else either(dim, axis)
    array = array_of("softmax", input)
    if out is not None:
        return deliver("softmax", lambda: softmax(input, dim, dtype=dtype), (input,), out)
    if dtype is not None or array.dtype.kind != "f":
        input = _converted("softmax", input, dtype)
    if dim is None:
        raise missing_dim()
    return _softmax(input, dim_of(dim, array.ndim))


def log_softmax(
    input: Tensor, dim: Any = None, dtype: DType | None = None, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """The logarithm of `softmax`, exact also where that is too small to represent.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.log_softmax(torch.tensor([0.0, -200.0]), 0)
    tensor([   0., -200.])
    """
    dim = dim if axis is None else either(dim, axis)
    array = array_of("log_softmax", input)
    if out is not None:
        return deliver("log_softmax", lambda: log_softmax(input, dim, dtype=dtype), (input,), out)
    if dtype is not None or array.dtype.kind != "f":
        input = _converted("log_softmax", input, dtype)
    if dim is None:
        raise missing_dim()
    return _log_softmax(input, dim_of(dim, array.ndim))


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """`softmax` of the negated input."""
    return softmax(pointwise.neg(input), dim, dtype=dtype)
