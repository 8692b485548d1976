"""The affine map of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._errors import not_a_tensor, scalar_name
from .._op import op, rows
from . import _affine, linalg, products

if TYPE_CHECKING:
    from .._tensor import Tensor


def _linear(self: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """``self @ weight^T + bias``, over the last axis."""
    out = products.mm_kernel(self, weight.T) if self.ndim > 1 else products.vm_kernel(self, weight.T)
    if bias.dtype is not out.dtype:
        products.check_dtypes(bias, out)
    try:
        return np.add(out, bias, out)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor ({out.shape[-1]}) must match the existing size ({bias.shape[-1]}) at "
            f"non-singleton dimension {out.ndim - 1}.  Target sizes: {list(out.shape)}.  Tensor sizes: "
            f"{list(bias.shape)}"
        ) from None


def _weight_gradient(F: Any, g: Any, self: Any) -> Any:
    return F.mm_tn(g, self) if len(g.shape) > 1 else F.rows_times(g, self)


def _input_gradient(F: Any, g: Any, weight: Any) -> Any:
    return F.mm(g, weight) if len(g.shape) > 1 else F.vm(g, weight)


_matrix_linear = op("linear", "AddmmBackward0", _linear, ("self", "weight", "bias"),
                    shows={"mat1": "self", "mat2": products.transposed("weight"),
                           "alpha": lambda node: 1, "beta": lambda node: 1},
                    hides=("weight", "bias_shape"), tangent=_affine.linear,
                    bias=lambda F, g, bias_shape: F.sum_to(g, shape=bias_shape),
                    self=lambda F, g, weight: F.mm(g, weight),
                    weight=lambda F, g, self: F.mm_tn(g, self))  # fmt: skip

_folded_linear = op("folded_linear", "ViewBackward0", _linear, ("self", "weight", "bias"),
                    hides=("self", "weight", "bias_shape"), tangent=_affine.linear,
                    bias=lambda F, g, bias_shape: F.sum_to(g, shape=bias_shape),
                    self=_input_gradient,
                    weight=_weight_gradient)  # fmt: skip

_vector_linear = op("vector_linear", "SqueezeBackward4",
                    lambda self, weight: products.vm_kernel(self, weight.T), ("self", "weight"), hides=("self", "weight"),
                    tangent="multilinear",
                    self=lambda F, g, weight: F.vm(g, weight),
                    weight=lambda F, g, self: F.rows_times(g, self))  # fmt: skip


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor
        ``(*, in_features)``.
    weight : Tensor
        ``(out_features, in_features)``, or ``(in_features,)`` without a bias.
    bias : Tensor, optional
        ``(out_features,)``.

    Returns
    -------
    Tensor
        ``(*, out_features)``.

    Raises
    ------
    RuntimeError
        If sizes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> weight, bias = torch.tensor([[1.0, 2.0]]), torch.tensor([0.5])
    >>> torch.nn.functional.linear(torch.tensor([[3.0, 4.0]]), weight, bias)
    tensor([[11.5000]])
    """
    try:
        ndim, weight_ndim = input._array.ndim, weight._array.ndim
    except AttributeError:
        tensor = type(input) if hasattr(input, "_array") else type(None)
        raise not_a_tensor(rows["linear"], (input, weight), tensor) from None
    if weight_ndim == 2:
        if bias is None:
            if ndim == 2:
                return products.mm_nt(input, weight)
            if ndim:
                return products.folded_mm_nt(input, weight) if ndim > 2 else _vector_linear(input, weight)
        elif ndim:
            return _matrix_linear(input, weight, bias) if ndim == 2 else _folded_linear(input, weight, bias)
    if not ndim:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {weight_ndim}D")
    if bias is not None or weight_ndim != 1:
        raise RuntimeError(f"linear(): weight must be a matrix, got a {weight_ndim}-D tensor")
    return linalg.matmul(input, weight)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o.

    Parameters
    ----------
    input1, input2 : Tensor
        ``(*, in1_features)`` and ``(*, in2_features)``.
    weight : Tensor
        ``(out_features, in1_features, in2_features)``.
    bias : Tensor, optional
        ``(out_features,)``.

    Returns
    -------
    Tensor
        ``(*, out_features)``.

    Raises
    ------
    RuntimeError
        If sizes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> x, weight = torch.tensor([1.0, 2.0]), torch.tensor([[[1.0, 0.0], [0.0, 3.0]]])
    >>> torch.nn.functional.bilinear(x, x, weight)
    tensor([13.])
    """
    one, two = array_of("bilinear", input1, "input1"), array_of("bilinear", input2, "input2", 2)
    kernel = array_of("bilinear", weight, "weight", 3)
    if one.ndim != two.ndim or one.shape[:-1] != two.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(one.shape)} and {list(two.shape)}"
        )
    if not one.dtype == two.dtype == kernel.dtype:
        names = [scalar_name(array.dtype) for array in (one, two, kernel)]
        raise RuntimeError(f"bilinear(): All tensors must have the same dtype, got {', '.join(names)}")
    if kernel.ndim != 3 or (one.shape[-1:], two.shape[-1:]) != (kernel.shape[1:2], kernel.shape[2:]):
        raise RuntimeError(
            f"bilinear(): input1 or input2 size does not match weight size: got {list(one.shape)} and {list(two.shape)}, "
            f"and a weight of {list(kernel.shape)}"
        )
    outputs, rows_, columns = kernel.shape
    if bias is not None and array_of("bilinear", bias, "bias", 4).shape != (outputs,):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected [{outputs}]"
        )
    flat = linalg.mm(input1.reshape(-1, rows_), weight.permute(1, 0, 2).reshape(rows_, outputs * columns))
    found = linalg.bmm(flat.view(-1, outputs, columns), input2.reshape(-1, columns, 1))
    result = found.view(*one.shape[:-1], outputs)
    return result if bias is None else result + bias
