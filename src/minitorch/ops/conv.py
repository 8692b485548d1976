"""Convolutions.

A convolution, the gradient of its input and the gradient of its weight are the three maps of one trilinear form: each
is differentiated by the other two.  A transposed convolution is the second of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, integer, per_dim
from .._dtypes import INT64
from .._errors import check_kind, scalar_name
from .._kernels import conv as kernels
from .._kernels._windows import pad, trailing
from .._op import op
from .._runtime import raw
from . import join, pointwise
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]


# -- rows --------------------------------------------------------------------------------------------------------------
def _biased(result: np.ndarray, bias: np.ndarray) -> np.ndarray:
    result += bias.reshape(-1, *[1] * (result.ndim - 2))
    return result


def _conv(
    self: np.ndarray, weight: np.ndarray, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> np.ndarray:
    return kernels.conv(self, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _conv_bias(
    self: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> np.ndarray:
    return _biased(_conv(self, weight, stride=stride, padding=padding, dilation=dilation, groups=groups), bias)


def _input_grad(
    self: np.ndarray, weight: np.ndarray, *, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> np.ndarray:
    return kernels.conv_input_grad(
        self, weight, input_shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _input_grad_bias(
    self: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> np.ndarray:
    result = _input_grad(self, weight, shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return _biased(result, bias)


def _weight_grad(
    grad: np.ndarray, self: np.ndarray, *, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> np.ndarray:
    return kernels.conv_weight_grad(
        grad, self, weight_shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _self_of_conv(
    F: Any, g: Any, self: Any, weight: Any, self_shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    result = F.conv_input_grad(
        g, weight, shape=self_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return F.conv_recorded(result, self)


def _weight_of_conv(
    F: Any, g: Any, self: Any, weight: Any, weight_shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    result = F.conv_weight_grad(
        g, self, shape=weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return F.conv_recorded(result, weight)


def _self_of_input_grad(
    F: Any, g: Any, self: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    result = F.conv(g, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return F.conv_recorded(result, self)


def _weight_of_input_grad(
    F: Any, g: Any, self: Any, weight: Any, weight_shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    result = F.conv_weight_grad(
        self, g, shape=weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return F.conv_recorded(result, weight)


def _grad_of_weight_grad(F: Any, g: Any, self: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return F.conv(self, g, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _self_of_weight_grad(
    F: Any, g: Any, grad: Any, self_shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return F.conv_input_grad(
        grad, g, shape=self_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _self_tangent_of_conv(F: Any, t: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return F.conv(t, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _weight_tangent_of_conv(F: Any, t: Any, self: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return F.conv(self, t, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _self_tangent_of_grad(
    F: Any, t: Any, weight: Any, shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return F.conv_input_grad(t, weight, shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _weight_tangent_of_grad(
    F: Any, t: Any, self: Any, shape: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return F.conv_input_grad(self, t, shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _bias_tangent(F: Any, t: Any, result: Any) -> Any:
    return F.channel_spread(t, shape=F.constant(result).shape)


_biasless: dict[str, Any] = {"input": "self", "bias_sym_sizes_opt": lambda node: (0,)}
_with_bias: dict[str, Any] = {"input": "self", "bias_sym_sizes_opt": lambda node: (node.layout[0][1],)}
_forward: dict[str, Any] = {
    "transposed": lambda node: False,
    "output_padding": lambda node: (0,) * len(node.saved_padding),
}
_backward: dict[str, Any] = {"transposed": lambda node: True}

_conv_row = op("conv", "ConvolutionBackward0", _conv, ("self", "weight"),
               shows=_biasless | _forward, hides=("self_shape", "weight_shape"), tangent="multilinear",
               self=_self_of_conv, weight=_weight_of_conv, bias=None)  # fmt: skip
_conv_bias_row = op("conv_bias", "ConvolutionBackward0", _conv_bias, ("self", "weight", "bias"),
                    shows=_with_bias | _forward, hides=("self_shape", "weight_shape"),
                    tangent={"self": _self_tangent_of_conv, "weight": _weight_tangent_of_conv, "bias": _bias_tangent},
                    self=_self_of_conv, weight=_weight_of_conv, bias=lambda F, g: F.channel_sum(g))  # fmt: skip
_transposed = op("conv_input_grad", "ConvolutionBackward0", _input_grad, ("self", "weight"),
                 shows=_biasless | _backward, hides=("weight_shape",), tangent="multilinear",
                 self=_self_of_input_grad, weight=_weight_of_input_grad, bias=None)  # fmt: skip
_transposed_bias = op("conv_input_grad_bias", "ConvolutionBackward0", _input_grad_bias, ("self", "weight", "bias"),
                      shows=_with_bias | _backward, hides=("weight_shape",),
                      tangent={"self": _self_tangent_of_grad, "weight": _weight_tangent_of_grad, "bias": _bias_tangent},
                      self=_self_of_input_grad, weight=_weight_of_input_grad,
                      bias=lambda F, g: F.channel_sum(g))  # fmt: skip
op("conv_weight_grad", "ConvolutionBackwardBackward0", _weight_grad, ("grad", "self"), tangent="multilinear",
   grad=_grad_of_weight_grad, self=_self_of_weight_grad)  # fmt: skip

# A gradient of a convolution requires grad where its input does, as in PyTorch, though it is constant in that input.
op("conv_recorded", "ConvolutionBackwardBackward0", lambda grad, self: grad.copy(), ("grad", "self"), tangent="linear",
   grad=lambda F, g: g, self=lambda F, g: None)  # fmt: skip
raw.conv_recorded = lambda grad, self: grad


def _channel_sum(self: np.ndarray) -> np.ndarray:
    return np.add.reduce(self, (0, *range(2, self.ndim)), out=...)


def _channel_spread(self: np.ndarray, *, shape: Sizes) -> np.ndarray:
    return np.broadcast_to(self.reshape(-1, *[1] * (len(shape) - 2)), shape)


op("channel_sum", "SumBackward1", _channel_sum, ("self",), tangent="linear",
   self=lambda F, g, self_shape: F.channel_spread(g, shape=self_shape))  # fmt: skip
op("channel_spread", "ExpandBackward0", _channel_spread, ("self",), view=True, tangent="linear",
   self=lambda F, g: F.channel_sum(g))  # fmt: skip


def _crop_end(self: np.ndarray, *, amounts: Sizes) -> np.ndarray:
    places = [slice(0, size - amount) for size, amount in zip(self.shape[-len(amounts) :], amounts)]
    return self[trailing(places)]


pad_end = op("pad_end", "ConstantPadNdBackward0", lambda self, *, amounts: pad(self, [(0, n) for n in amounts]),
             ("self",), tangent="linear", self=lambda F, g, amounts: F.crop_end(g, amounts=amounts))  # fmt: skip
op("crop_end", "SliceBackward0", _crop_end, ("self",), view=True, tangent="linear",
   self=lambda F, g, amounts: F.pad_end(g, amounts=amounts))  # fmt: skip


# -- arguments ---------------------------------------------------------------------------------------------------------
def _check(name: str, tensors: tuple[Any, ...], ndim: int, groups: int, transposed: bool, **sizes: Sizes) -> None:
    """Raise where the shapes, the dtypes or the numbers cannot be a convolution's."""
    input, weight = tensors[0]._array, tensors[1]._array
    if input.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    if weight.ndim != ndim + 2:
        raise RuntimeError(f"{name}(): expected a {ndim + 2}D weight, but got weight of size: {list(weight.shape)}")
    if transposed and input.dtype.kind != "f" and input.dtype != INT64:
        check_kind(name, input)
    for tensor, which in zip(tensors[1:], ("weight", "bias")):
        if tensor._array.dtype != input.dtype:
            raise RuntimeError(
                f"Input type ({scalar_name(input.dtype)}) and {which} type ({scalar_name(tensor._array.dtype)}) "
                "should be the same"
            )
    check_kind(name, input, "fi" if transposed else "fiu")
    if min(sizes["padding"]) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(sizes["stride"]) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(sizes["dilation"]) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(sizes['dilation'])}")
    if integer(groups, "groups") <= 0:
        raise RuntimeError("non-positive groups is not supported")
    _check_channels(input.shape[-ndim - 1], weight, input, groups, transposed)
    if 0 in input.shape[-ndim:] and 0 not in input.shape[: -ndim - 1]:
        raise RuntimeError(
            f"{name}(): Only zero batch or zero channel inputs are supported, but got input shape: {list(input.shape)}"
        )
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    if len(tensors) > 2 and tensors[2]._array.shape != (outputs,):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(tensors[2]._array.shape)} instead"
        )


def _check_channels(channels: int, weight: np.ndarray, input: np.ndarray, groups: int, transposed: bool) -> None:
    given = f"Given {'transposed=1' if transposed else f'groups={groups}'}"
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"{given}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != expected:
        raise RuntimeError(
            f"{given}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {expected} "
            "channels, "
            f"but got {channels} channels instead"
        )


def _check_kernel(size: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Raise where the kernel does not fit into the padded input."""
    padded = [n + 2 * p for n, p in zip(size, padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any([n < r for n, r in zip(padded, reach)]):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )


# -- convolutions ------------------------------------------------------------------------------------------------------
def _convolve(
    name: str, ndim: int, tensors: tuple[Any, ...], stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """A convolution over *ndim* dimensions of ``(input, weight)`` or ``(input, weight, bias)``."""
    strides, dilations = per_dim(stride, ndim, "stride"), per_dim(dilation, ndim, "dilation")
    after = (0,) * ndim
    if not isinstance(padding, str):
        pads = per_dim(padding, ndim, "padding")
    elif padding == "valid":
        pads = after
    elif padding == "same":
        if any([s != 1 for s in strides]):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilations, tensors[1]._array.shape[2:])]
        pads, after = tuple([total // 2 for total in totals]), tuple([total % 2 for total in totals])
    else:
        raise RuntimeError(f"Invalid padding string: {padding!r}; it may be 'valid' or 'same'")
    _check(name, tensors, ndim, groups, False, stride=strides, padding=pads, dilation=dilations)
    input = tensors[0]
    if any(after):
        input = pad_end(input, after)
    _check_kernel(input._array.shape[-ndim:], tensors[1]._array.shape[2:], pads, dilations)
    recorder = _conv_row if len(tensors) == 2 else _conv_bias_row
    if input._array.ndim == ndim + 1:
        return shapes.squeeze(recorder(shapes.unsqueeze(input, 0), *tensors[1:], strides, pads, dilations, groups), 0)
    return recorder(input, *tensors[1:], strides, pads, dilations, groups)


def _convolve_transposed(
    name: str,
    ndim: int,
    tensors: tuple[Any, ...],
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    """A transposed convolution over *ndim* dimensions of ``(input, weight)`` or ``(input, weight, bias)``."""
    strides, dilations = per_dim(stride, ndim, "stride"), per_dim(dilation, ndim, "dilation")
    pads, extra = per_dim(padding, ndim, "padding"), per_dim(output_padding, ndim, "output_padding")
    _check(name, tensors, ndim, groups, True, stride=strides, padding=pads, dilation=dilations)
    if any([e >= max(s, d) or e < 0 for e, s, d in zip(extra, strides, dilations)]):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}, "
            f"stride={list(strides)}, dilation={list(dilations)}"
        )
    input, weight = tensors[0], tensors[1]._array
    size = input._array.shape[-ndim:]
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(size, strides, dilations, weight.shape[2:])]
    out = [n - 2 * p + e for n, p, e in zip(full, pads, extra)]
    if min(out) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output size per channel: "
            f"({' x '.join(map(str, out))}). Output size is too small"
        )
    batched = input if input._array.ndim == ndim + 2 else shapes.unsqueeze(input, 0)
    lead = (batched._array.shape[0], weight.shape[1] * groups)
    if any([e >= s for e, s in zip(extra, strides)]):  # the convolution of a result of that size has more windows
        result = _transposed(batched, tensors[1], (*lead, *full), strides, (0,) * ndim, dilations, groups)
        result = pad_end(result, extra)
        for dim, (first, n) in enumerate(zip(pads, out), 2):
            result = join.narrow(result, dim, first, n)
        if len(tensors) > 2:
            result = pointwise.add(result, shapes.reshape(tensors[2], (-1, *[1] * ndim)))
    else:
        numbers = ((*lead, *out), strides, pads, dilations, groups)
        result = (_transposed if len(tensors) == 2 else _transposed_bias)(batched, *tensors[1:], *numbers)
    return result if batched is input else shapes.squeeze(result, 0)


def _given(input: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    array_of("", input), array_of("", weight, "weight", 2)
    if bias is None:
        return input, weight
    array_of("", bias, "bias", 3)
    return input, weight, bias


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution over one dimension; see `conv2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> signal, kernel = torch.tensor([[[1.0, 2.0, 4.0]]]), torch.tensor([[[1.0, 10.0]]])
    >>> torch.nn.functional.conv1d(signal, kernel)
    tensor([[[21., 42.]]])
    """
    return _convolve("conv1d", 1, _given(input, weight, bias), stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution (strictly: cross-correlation) over two dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    weight : Tensor
        ``(O, C / groups, kH, kW)``.
    bias : Tensor, optional
        ``(O,)``.
    stride, dilation : int or sequence of int
        The step of the window, and that between its cells.
    padding : int, sequence of int, "valid" or "same"
        Zeros on each side; "valid" is none, "same" keeps the size (of a stride of 1).
    groups : int
        How many groups the channels are split into; each is convolved by itself.

    Raises
    ------
    RuntimeError
        If shapes, dtypes or numbers do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> image = torch.ones(1, 1, 3, 3)
    >>> torch.nn.functional.conv2d(image, torch.ones(1, 1, 3, 3), padding=1)
    tensor([[[[4., 6., 4.],
              [6., 9., 6.],
              [4., 6., 4.]]]])
    """
    return _convolve("conv2d", 2, _given(input, weight, bias), stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution over three dimensions; see `conv2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.conv3d(torch.ones(1, 2, 4, 5, 6), torch.ones(3, 2, 3, 3, 3)).shape
    torch.Size([1, 3, 2, 3, 4])
    """
    return _convolve("conv3d", 3, _given(input, weight, bias), stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """A transposed convolution over one dimension; see `conv_transpose2d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> signal, kernel = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 10.0]]])
    >>> torch.nn.functional.conv_transpose1d(signal, kernel)
    tensor([[[ 1., 12., 20.]]])
    """
    tensors = _given(input, weight, bias)
    return _convolve_transposed("conv_transpose1d", 1, tensors, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """A transposed convolution over two dimensions: the adjoint of `conv2d` with the same weight and numbers.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    weight : Tensor
        ``(C, O / groups, kH, kW)``.
    bias : Tensor, optional
        ``(O,)``.
    stride, padding, dilation, groups
        Those of the convolution.
    output_padding : int or sequence of int
        Which of the sizes that the convolution maps to this input's size is meant: how much more than the smallest.

    Raises
    ------
    RuntimeError
        If shapes, dtypes or numbers do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> x, weight = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
    >>> torch.nn.functional.conv_transpose2d(x, weight)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    tensors = _given(input, weight, bias)
    return _convolve_transposed("conv_transpose2d", 2, tensors, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """A transposed convolution over three dimensions; see `conv_transpose2d`."""
    tensors = _given(input, weight, bias)
    return _convolve_transposed("conv_transpose3d", 3, tensors, stride, padding, output_padding, groups, dilation)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over the first dimension of ``(T, N, C)`` with a weight ``(kT, C, O)``; see `conv1d`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    arrays = [array_of("conv_tbc", t, n, i) for i, (t, n) in enumerate(((input, "input"), (weight, "weight")), 1)]
    if any([a.ndim != 3 for a in arrays]) or array_of("conv_tbc", bias, "bias", 3).ndim != 1:
        raise RuntimeError("conv_tbc(): input and weight must have 3 dims: time, batch, channels; bias must have 1")
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)
