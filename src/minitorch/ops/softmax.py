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


def _sum(F: Any, x: Any, dim: int) -> Any:
    return F.sum(x, dim=(dim,), keepdim=True) if len(x.shape) else x


def _output_tangent(F: Any, t: Any, grad: Any, output: Any, dim: int) -> Any:
    return t * (grad - _sum(F, grad * output, dim)) - output * _sum(F, grad * t, dim)


_softmax = op("softmax", "SoftmaxBackward0", _softmax_kernel, ("self",), tangent="formulas",
              self=lambda F, g, result, dim: F.softmax_backward(g, result, dim=dim))  # fmt: skip

# Of output * (grad - sum(grad * output)).
op("softmax_backward", "SoftmaxBackwardBackward0", _softmax_backward_kernel, ("grad", "output"),
   tangent={"grad": lambda F, t, output, dim: F.softmax_backward(t, output, dim=dim), "output": _output_tangent},
   grad=lambda F, g, output, dim: F.softmax_backward(g, output, dim=dim),
   output=lambda F, g, grad, output, dim:
       g * (grad - _sum(F, grad * output, dim)) - grad * _sum(F, g * output, dim))  # fmt: skip

_log_softmax = op("log_softmax", "LogSoftmaxBackward0", _log_softmax_kernel, ("self",),
                  tangent=lambda F, t, result, dim: t - _sum(F, t * F.exp(result), dim),
                  self=lambda F, g, result, dim: F.log_softmax_backward(g, result, dim=dim))  # fmt: skip

# Of grad - exp(output) * sum(grad).
op("log_softmax_backward", "LogSoftmaxBackwardBackward0", _log_softmax_backward_kernel, ("grad", "output"),
   tangent={"grad": lambda F, t, output, dim: F.log_softmax_backward(t, output, dim=dim),
            "output": lambda F, t, grad, output, dim: -(t * F.exp(output) * _sum(F, grad, dim))},
   grad=lambda F, g, output, dim: g - _sum(F, g * F.exp(output), dim),
   output=lambda F, g, grad, output, dim: -(g * F.exp(output) * _sum(F, grad, dim)))  # fmt: skip


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
