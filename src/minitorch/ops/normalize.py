"""Normalisation over rows, channels or groups of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, integer, integers, real
from .._choices import replace
from .._errors import check_kind
from .._kernels.normalize import Plan
from . import arrange, copies, pointwise, powers, reduce
from . import shape as shapes
from ._norm_args import check_running, mean_of_batch, moved, parameters, shape_of_rows
from .norm_rows import batch_norm_evaluated_row, batch_norm_row, group_norm_row, layer_norm_row, moments

if TYPE_CHECKING:
    from .._tensor import Tensor

Sizes = tuple[int, ...]


# -- arguments ---------------------------------------------------------------------------------------------------------
def _in_float32(row: Any, input: Any, weight: Any, bias: Any, plan: Plan) -> Any:
    """What the row makes of a half input and parameters of float32: halves."""
    wide = copies.converted(input, weight._array.dtype)
    return copies.converted(row(wide, weight, bias, plan), input._array.dtype)


@lru_cache(maxsize=64)
def _plan_of_rows(shape: Sizes, trailing: int, eps: float, weighted: bool) -> Plan:
    """How rows of so many trailing dimensions are normalised."""
    return Plan((math.prod(shape[:-trailing]), math.prod(shape[-trailing:])), 1, eps, weighted)


def _channels_of(array: np.ndarray) -> Sizes:
    """Where the channels, its second dimension, are in a batch."""
    batch, count, *rest = array.shape
    return (batch, count, math.prod(rest)) if rest else (batch, count)


# -- public ------------------------------------------------------------------------------------------------------------
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Each row less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``, of floats.
    normalized_shape : sequence of int
        The trailing dimensions that are a row.
    weight, bias : Tensor, optional
        Of shape *normalized_shape*.
    eps : float
        Added to the (biased) variance.

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit.

    Notes
    -----
    Source: Ba, Kiros and Hinton, "Layer normalization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0], [5.0, 5.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [ 0.0000,  0.0000]])
    """
    array = array_of("layer_norm", input)
    row = shape_of_rows("layer_norm", array, normalized_shape)
    plan = _plan_of_rows(array.shape, len(row), real(eps, "eps"), weight is not None)
    weight, bias = parameters(array, weight, bias, row, "of same shape as normalized_shape = {}")
    check_kind("LayerNormKernelImpl", array)
    if weight._array.dtype is not array.dtype:
        return _in_float32(layer_norm_row, input, weight, bias, plan)
    return layer_norm_row(input, weight, bias, plan)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Each row over its root mean square, times *weight*.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``, of floats.
    normalized_shape : sequence of int
        The trailing dimensions that are a row.
    weight : Tensor, optional
        Of shape *normalized_shape*.
    eps : float, optional
        Added to the mean square; by default the dtype's epsilon.

    Notes
    -----
    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0], [1.0, 1.0]]), (2,))
    tensor([[0.8485, 1.1314],
            [1.0000, 1.0000]])
    """
    array = array_of("rms_norm", input)
    shape = integers(normalized_shape, "normalized_shape", "rms_norm")
    if weight is not None and array_of("rms_norm", weight, "weight", 3).shape != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight._array.shape)} and normalized_shape = {list(normalized_shape)}"
        )
    if len(shape) > array.ndim:
        raise ValueError(
            f"rms_norm(): Input tensor must have at least {len(shape)} dimensions, as many as normalized_shape, but got "
            f"{array.ndim}"
        )
    row = shape_of_rows("rms_norm", array, normalized_shape)
    check_kind("rms_norm", array)
    dims = tuple(range(-len(row), 0))
    half = array.dtype.itemsize == 2  # whose squares would overflow
    smallest = float(np.finfo(np.float32 if half else array.dtype).eps) if eps is None else eps
    wide = copies.converted(input, np.dtype(np.float32)) if half else input
    square = reduce.mean(powers.pow(wide, 2), dims, keepdim=True)
    result = pointwise.mul(wide, powers.rsqrt(pointwise.add(square, smallest)))
    if weight is not None:
        result = pointwise.mul(result, weight)
    return copies.converted(result, array.dtype)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Each channel less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    running_mean, running_var : Tensor or None
        ``(C,)``: the statistics that are used; while *training*, the batch's own are used, and these, where given, are
        moved towards them in place.
    weight, bias : Tensor, optional
        ``(C,)``.
    training : bool
        Whether the batch's own statistics are used.
    momentum : float
        How far the running statistics are moved: 1 replaces them.
    eps : float
        Added to the variance.

    Raises
    ------
    ValueError
        If *training* with a single value for each channel.
    RuntimeError
        If shapes or dtypes do not fit, or the running statistics are missing.

    Notes
    -----
    The running variance is of the unbiased kind; the values are divided by the biased one.  Source: Ioffe and Szegedy,
    "Batch normalization: accelerating deep network training by reducing internal covariate shift", 2015.

    Examples
    --------
    >>> import minitorch as torch
    >>> mean, var = torch.zeros(1), torch.ones(1)
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), mean, var, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    >>> mean, var
    (tensor([0.2000]), tensor([1.1000]))
    """
    array = array_of("batch_norm", input)
    if array.ndim < 2:
        given = any([t is not None for t in (running_mean, running_var, weight, bias)])  # for channels there are none
        raise (RuntimeError if given else IndexError)(
            f"batch_norm(): expected an input of shape (N, C, *), but got one of shape {list(array.shape)}"
        )
    channels = _channels_of(array)
    if training and channels[0] * math.prod(channels[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if training and (running_mean is None) != (running_var is None):
        check_running(array, training, running_mean=running_mean, running_var=running_var)
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if flag(training, "training") and real(eps, "eps") <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _over_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _over_channels(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """`batch_norm` of an input that has channels."""
    array = input._array
    channels = _channels_of(array)
    check_running(array, training, running_mean=running_mean, running_var=running_var)
    check_kind("batch_norm", array)
    size = f"should contain {channels[1]} elements"
    plan = Plan(channels, 0, real(eps, "eps"), weight is not None)
    scale, shift = weight, bias
    weight, bias = parameters(array, weight, bias, (channels[1],), f"a vector: it {size}")
    if not array.size:  # as PyTorch does, which needs a channel where there is a weight
        out = copies.clone(input)
        out = out if scale is None else out * scale[0]
        return out if shift is None else out + shift[0]
    if not training:
        return batch_norm_evaluated_row(input, weight, bias, running_mean, running_var, plan)
    mean, var = moments(input, plan)
    if running_mean is not None:
        replace(running_mean, moved, mean, factor=1, momentum=momentum)
    if running_var is not None:
        replace(running_var, moved, var, factor=plan.count / (plan.count - 1), momentum=momentum)
    return batch_norm_row(input, weight, bias, mean, var, plan)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Each group of channels of each sample less its mean, over its standard deviation, times *weight* plus *bias*.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    num_groups : int
        Into how many groups of neighbours the channels are divided.
    weight, bias : Tensor, optional
        ``(C,)``.
    eps : float
        Added to the (biased) variance.

    Raises
    ------
    ValueError
        If there is a single value for each group, in one sample.
    RuntimeError
        If shapes or dtypes do not fit.

    Notes
    -----
    Source: Wu and He, "Group normalization", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    array = array_of("group_norm", input)
    if array.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {array.ndim}")
    if integer(num_groups, "num_groups") <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    channels = _channels_of(array)
    if channels[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(array.shape)} and num_groups={num_groups}"
        )
    plan = Plan(channels, num_groups, real(eps, "eps"), weight is not None)
    if channels[0] * plan.count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(array.shape)}")
    expected = f"a vector of size equal to the number of channels in input of shape {list(array.shape)}"
    weight, bias = parameters(array, weight, bias, (channels[1],), expected)
    check_kind("GroupNormKernelImpl", array)
    if weight._array.dtype is not array.dtype:
        return _in_float32(group_norm_row, input, weight, bias, plan)
    return group_norm_row(input, weight, bias, plan)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """`batch_norm` of each sample by itself; the running statistics are moved towards the means over the batch.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``, of floats.
    running_mean, running_var, weight, bias : Tensor, optional
        ``(C,)``.
    use_input_stats : bool
        Whether each sample's own statistics are used, rather than the running ones.
    momentum, eps : float
        As in `batch_norm`.

    Notes
    -----
    Source: Ulyanov, Vedaldi and Lempitsky, "Instance normalization: the missing ingredient for fast stylization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    array = array_of("instance_norm", input)
    for position, (name, given) in enumerate(
        {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items(), 2
    ):
        if given is not None:
            array_of("instance_norm", given, name, position)
    if flag(use_input_stats, "use_input_stats") and math.prod(array.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    batch, count, *rest = array.shape
    mean, var, scale, shift = [
        None if t is None else arrange.repeat(t, batch) for t in (running_mean, running_var, weight, bias)
    ]
    joined = shapes.reshape(input, (1, batch * count, *rest))
    out = _over_channels(joined, mean, var, scale, shift, use_input_stats, momentum, eps)
    for running, moved_there in ((running_mean, mean), (running_var, var)):
        if use_input_stats and running is not None and moved_there is not None:
            replace(running, mean_of_batch, moved_there, batch=batch)
    return shapes.view(out, array.shape)
