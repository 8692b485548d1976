"""Elementwise arithmetic and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._op import documents, op
from .._types import Number

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- arithmetic --------------------------------------------------------------------------------------------------------
def _with_alpha(recorder_of: str) -> Any:
    def scaled(input: Tensor, other: Tensor, alpha: Number, out: Tensor | None = None) -> Tensor:
        if other._array.dtype.kind != "f" and isinstance(alpha, float):
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
        return globals()[recorder_of](input, mul(other, alpha), out=out)  # type: ignore[no-any-return]

    return scaled


_add = op("add", "AddBackward0", np.add, ("self", "other"), rarely={"alpha": (1, _with_alpha("add"))},
          self=lambda F, g: g,
          other=lambda F, g: g)  # fmt: skip

_sub = op("sub", "SubBackward0", np.subtract, ("self", "other"), rarely={"alpha": (1, _with_alpha("sub"))},
          self=lambda F, g: g,
          other=lambda F, g: -g)  # fmt: skip

_mul = op("mul", "MulBackward0", np.multiply, ("self", "other"),
          self=lambda F, g, other: g * other,
          other=lambda F, g, self: g * self)  # fmt: skip

_div = op("div", "DivBackward0", np.divide, ("self", "other"), floats=True,
          self=lambda F, g, other: g / other,
          other=lambda F, g, self, other: -g * self / (other * other))  # fmt: skip

_neg = op("neg", "NegBackward0", np.negative, ("self",), self=lambda F, g: -g)
_exp = op("exp", "ExpBackward0", np.exp, ("self",), floats=True, self=lambda F, g, result: g * result)
_log = op("log", "LogBackward0", np.log, ("self",), floats=True, self=lambda F, g, self: g / self)
_tanh = op("tanh", "TanhBackward0", np.tanh, ("self",), floats=True,
           self=lambda F, g, result: F.tanh_backward(g, result))  # fmt: skip


def _tanh_backward_kernel(grad: np.ndarray, output: np.ndarray) -> np.ndarray:
    out = np.multiply(output, output, out=...)
    np.multiply(out, grad, out=out)
    return np.subtract(grad, out, out=out)


op("tanh_backward", "TanhBackwardBackward0", _tanh_backward_kernel, ("grad", "output"), elementwise=True,
   grad=lambda F, g, output: F.tanh_backward(g, output),
   output=lambda F, g, grad, output: -2.0 * (g * grad * output))  # fmt: skip

add = _add
sub = _sub
div = _div
neg, exp, log, tanh = _neg, _exp, _log, _tanh
gt = op("gt", "", np.greater, ("self", "other"))


@documents(_mul)
def mul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The product, elementwise; operands broadcast and are promoted.

    Parameters
    ----------
    input : Tensor
        Any shape.
    other : Tensor or number
        A shape that broadcasts with *input*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
