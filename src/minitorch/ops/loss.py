"""Losses that compare each element with a target, and how losses are reduced."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, check_tensors, flag
from .._choices import checks
from .._errors import broadcast_problem, check_kind, scalar_name
from .._kernels import activation as kernels
from .._op import op
from .._runtime import guard, has_tangent, refuse_derivative
from . import activation, elementary, pointwise, rounding, special
from . import reduce as reductions
from .copies import converted

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- reductions --------------------------------------------------------------------------------------------------------
def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction, also from the two arguments that came before it; ValueError where there is none of that name."""
    if size_average is not None or reduce is not None:
        summed = "mean" if size_average is None or size_average else "sum"
        reduction = summed if reduce is None or reduce else "none"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction: it may be 'mean', 'sum' or 'none'")
    return reduction


def reduced_by(reduction: str, loss: Any) -> Any:
    """The loss's mean, its sum, or itself."""
    return loss if reduction == "none" else reductions.mean(loss) if reduction == "mean" else reductions.sum(loss)


def _scale(name: str, reduction: str, *tensors: Any) -> tuple[bool, float]:
    """Whether the elements are summed, and what the sum is multiplied by.

    Raises
    ------
    RuntimeError
        If the tensors do not broadcast.
    """
    if reduction != "mean":
        return reduction == "sum", 1.0
    shape, size = tensors[0]._array.shape, tensors[0]._array.size
    if any([t._array.shape != shape for t in tensors]):
        shapes = [t._array.shape for t in tensors]
        try:
            size = math.prod(np.broadcast_shapes(*shapes))
        except ValueError:
            raise RuntimeError(f"{name}(): {broadcast_problem(shapes)}") from None
    return True, 1.0 / size if size else float("nan")


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}  # as nodes show them, in PyTorch too


def _total(loss: np.ndarray, scale: float) -> np.ndarray:
    """The scaled sum of all elements."""
    return np.asarray(np.add.reduce(loss, None) * scale, loss.dtype)


def _warn_shapes(name: str, input: Any, target: Any) -> None:
    if array_of(name, input).shape != array_of(name, target, "target", 2).shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _times(name: str, loss: Any, weight: Any) -> Any:
    """The loss times *weight*; ValueError where that has another shape."""
    if array_of(name, weight, "weight", 0).shape != loss._array.shape:
        raise ValueError(
            f"{name}(): Weights and input must have the same size, but got {list(weight._array.shape)} and "
            f"{list(loss._array.shape)}"
        )
    return pointwise.mul(loss, weight)


def _weighted(name: str, loss: Any, weight: Any, reduction: str) -> Any:
    """The loss times *weight*; its mean is that by weight."""
    loss = _times(name, loss, weight)
    return reductions.sum(loss) / reductions.sum(weight) if reduction == "mean" else reduced_by(reduction, loss)


# -- distances ---------------------------------------------------------------------------------------------------------
def _difference(self: np.ndarray, target: np.ndarray, name: str) -> np.ndarray:
    if self.dtype.kind != "f":
        raise NotImplementedError(f'"{name}" not implemented for {scalar_name(self.dtype)!r}')
    return np.subtract(self, target, out=...)


def _mse_kernel(self: np.ndarray, target: np.ndarray, *, reduction: int) -> np.ndarray:
    difference = _difference(self, target, "mse_cpu")
    if reduction == REDUCTIONS["none"]:
        return np.multiply(difference, difference, difference)
    flat = difference.ravel() if difference.itemsize > 2 else difference.ravel().astype(np.float32)
    total = flat.dot(flat)
    return np.asarray(total / flat.size if reduction == REDUCTIONS["mean"] else total, difference.dtype)


def _mse_slope(F: Any, g: Any, difference: Any, reduction: int) -> Any:
    count = F.count(difference.shape) if reduction == REDUCTIONS["mean"] else 1
    return difference * (g * (2.0 / count))


def _smooth_l1_kernel(self: np.ndarray, target: np.ndarray, *, beta: float, summed: bool, scale: float) -> np.ndarray:
    difference = _difference(self, target, "smooth_l1_cpu")
    size = np.abs(difference)
    loss = np.where(size < beta, difference * difference * (0.5 / beta), size - 0.5 * beta)
    return _total(loss, scale) if summed else loss


def _huber_kernel(self: np.ndarray, target: np.ndarray, *, delta: float, summed: bool, scale: float) -> np.ndarray:
    difference = _difference(self, target, "huber_cpu")
    size = np.abs(difference)
    loss = np.where(size <= delta, difference * difference * 0.5, (size - 0.5 * delta) * delta)
    return _total(loss, scale) if summed else loss


def _smooth_slope(F: Any, g: Any, self: Any, target: Any, beta: float, factor: float) -> Any:
    return F.hardtanh(self - target, min_val=-beta, max_val=beta) * (g * factor)


_mse = op("mse_loss", "MseLossBackward0", _mse_kernel, ("self", "target"), broadcasts=True, tangent="reduction",
          self=lambda F, g, self, target, reduction: _mse_slope(F, g, self - target, reduction),
          target=lambda F, g, self, target, reduction: _mse_slope(F, g, target - self, reduction))  # fmt: skip

_smooth_l1 = op("smooth_l1_loss", "SmoothL1LossBackward0", _smooth_l1_kernel, ("self", "target"), broadcasts=True,
                hides=("scale",), tangent="reduction",
                self=lambda F, g, self, target, beta, scale: _smooth_slope(F, g, self, target, beta, scale / beta),
                target=lambda F, g, self, target, beta, scale:
                    _smooth_slope(F, g, target, self, beta, scale / beta))  # fmt: skip

_huber = op("huber_loss", "HuberLossBackward0", _huber_kernel, ("self", "target"), broadcasts=True,
            hides=("scale",), tangent="reduction",
            self=lambda F, g, self, target, delta, scale: _smooth_slope(F, g, self, target, delta, scale),
            target=lambda F, g, self, target, delta, scale:
                _smooth_slope(F, g, target, self, delta, scale))  # fmt: skip


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference of each element from its target.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others broadcast, with a warning.
    size_average, reduce : bool, optional
        Deprecated: use *reduction*.
    reduction : {"mean", "sum", "none"}
        What becomes of the elements' losses.
    weight : Tensor, optional
        Factors of the elements' losses; the mean is then that by weight.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _warn_shapes("mse_loss", input, target)
    if weight is not None:
        return _weighted("mse_loss", (input - target) ** 2, weight, reduction)
    return _mse(input, target, REDUCTIONS[reduction])


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference of each element from its target; the arguments are those of `mse_loss`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _warn_shapes("l1_loss", input, target)
    loss = rounding.abs(pointwise.sub(input, target))
    return _weighted("l1_loss", loss, weight, reduction) if weight is not None else reduced_by(reduction, loss)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the squared difference over *beta* where that difference is below *beta*, linear beyond.

    See R. Girshick, "Fast R-CNN", 2015.  The arguments are those of `mse_loss`, and *beta*, where the pieces meet: not
    negative; 0 gives `l1_loss`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 4.0]), reduction="none")
    tensor([0.5000, 3.5000])
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _warn_shapes("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, but got {beta}.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _smooth_l1(input, target, beta, *_scale("smooth_l1_loss", reduction, input, target))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference where that difference is at most *delta*, linear beyond.

    See P. J. Huber, "Robust Estimation of a Location Parameter", 1964.  The arguments are those of `mse_loss`, and
    *delta*, where the pieces meet: positive.  Weights are factors only: the mean is that of all elements.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 4.0]), delta=2.0, reduction="none")
    tensor([0.5000, 6.0000])
    """
    reduction_of(reduction)
    _warn_shapes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, but got {delta}.")
    dtype = input._array.dtype
    _check_cast("huber_loss", target._array.dtype, dtype)
    if weight is not None:
        loss = converted(_huber(input, target, delta, False, 1.0), dtype)
        return reduced_by(reduction, _times("huber_loss", loss, weight))
    return converted(_huber(input, target, delta, *_scale("huber_loss", reduction, input, target)), dtype)


# -- binary classes ----------------------------------------------------------------------------------------------------
_LOWEST_LOG = -100.0  # as in PyTorch, so that the loss of a certain and wrong probability is finite


def _floored_log_kernel(self: np.ndarray) -> np.ndarray:
    return np.maximum(np.log(self), _LOWEST_LOG, out=...)


@checks
def _bce_kernel(self: np.ndarray, target: np.ndarray, *, weight: Any, summed: bool, scale: float) -> np.ndarray:
    if not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    loss = (target - 1) * np.maximum(np.log1p(-self), _LOWEST_LOG) - target * _floored_log_kernel(self)
    if weight is not None:
        loss = loss * weight
    return _total(loss, scale) if summed else np.asarray(loss)


def _bce_slope_kernel(self: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.divide(self - target, np.maximum((1 - self) * self, 1e-12), out=...)


def _times_weight(x: Any, g: Any, weight: Any, scale: float) -> Any:
    return x * (g * scale) if weight is None else x * weight * (g * scale)


def _bce_target(F: Any, g: Any, self: Any, weight: Any, scale: float) -> Any:
    return _times_weight(F.log1p(-self) - F.log(self), g, weight, scale)


op("bce_slope", "BinaryCrossEntropyBackwardBackward0", _bce_slope_kernel, ("self", "target"), elementwise=True,
   self=lambda F, g, self, target: g * (target / (self * self) + (1.0 - target) / ((1.0 - self) * (1.0 - self))),
   target=lambda F, g, self: -g / (self * (1.0 - self)))  # fmt: skip

_bce = op("binary_cross_entropy", "BinaryCrossEntropyBackward0", _bce_kernel, ("self", "target"), tangent="reduction",
          hides=("scale",),
          self=lambda F, g, self, target, weight, scale: _times_weight(F.bce_slope(self, target), g, weight, scale),
          target=_bce_target)  # fmt: skip


def _bce_logits_kernel(
    self: np.ndarray, target: np.ndarray, *, weight: Any, pos_weight: Any, summed: bool, scale: float
) -> np.ndarray:
    log_sigmoid = kernels.log_sigmoid(self)
    loss = (1 - target) * self - (log_sigmoid if pos_weight is None else log_sigmoid * ((pos_weight - 1) * target + 1))
    if weight is not None:
        loss = loss * weight
    return _total(loss, scale) if summed else np.asarray(loss)


def _bce_logits_self(F: Any, g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, scale: float) -> Any:
    sigmoid = F.sigmoid(self)
    if pos_weight is None:
        return _times_weight(sigmoid - target, g, weight, scale)
    positive = target * pos_weight
    return _times_weight(sigmoid * (1.0 - target + positive) - positive, g, weight, scale)


def _bce_logits_target(F: Any, g: Any, self: Any, weight: Any, pos_weight: Any, scale: float) -> Any:
    slope = -self if pos_weight is None else F.logsigmoid(self) * (1.0 - pos_weight) - self
    return _times_weight(slope, g, weight, scale)


_bce_logits = op("binary_cross_entropy_with_logits", "BinaryCrossEntropyWithLogitsBackward0", _bce_logits_kernel,
                 ("self", "target"), broadcasts=True, hides=("scale",), tangent="reduction",
                 self=_bce_logits_self, target=_bce_logits_target)  # fmt: skip


def _weighted_bce_logits(input: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    """The elements' losses, of operations that have tangents for the weights too."""
    log_sigmoid = activation.logsigmoid(input)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - log_sigmoid
    return loss if weight is None else loss * weight


def constant(function: str, name: str, tensor: Any) -> Any:
    """The array of a tensor that no derivative is taken for; RuntimeError if one should be."""
    if tensor is None:
        return None
    array = array_of(function, tensor, name, 0)
    refuse_derivative(function, name, tensor)
    return array


def _check_shapes(function: str, input: Any, target: Any) -> None:
    if array_of(function, input).shape != array_of(function, target, "target", 2).shape:
        raise ValueError(
            f"{function}(): Target size ({target.shape}) must be the same as input size ({input.shape}): reshape or "
            "unsqueeze one of them"
        )


def _check_cast(function: str, came: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    """RuntimeError for floats that are to be written where integers are."""
    if came.kind == "f" and wanted.kind != "f":
        raise RuntimeError(
            f"{function}(): result type {scalar_name(came)} can't be cast to the desired output type "
            f"{scalar_name(wanted)}: convert both to one dtype with .to()"
        )


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, logarithms being -100 at least.

    Parameters
    ----------
    input : Tensor
        Probabilities, of any shape.
    target : Tensor
        Probabilities, of the same shape and dtype.
    weight : Tensor, optional
        Factors of the elements' losses; broadcasts.
    size_average, reduce, reduction
        As for `mse_loss`.

    Raises
    ------
    RuntimeError
        If an element of *input* is not between 0 and 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 1.0]), torch.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _check_shapes("binary_cross_entropy", input, target)
    if input._array.dtype != target._array.dtype:
        found, expected = scalar_name(target._array.dtype), scalar_name(input._array.dtype)
        raise RuntimeError(f"binary_cross_entropy(): Found dtype {found} but expected {expected}")
    check_kind("binary_cross_entropy", input._array)
    factors = constant("binary_cross_entropy", "weight", weight)
    return guard(_bce(input, target, factors, *_scale("", reduction, input)), weight=weight)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact also where that is 0 or 1.

    Parameters
    ----------
    input : Tensor
        Logits, of any shape.
    target : Tensor
        Probabilities, of the same shape.
    weight : Tensor, optional
        Factors of the elements' losses; broadcasts.
    size_average, reduce, reduction
        As for `mse_loss`.
    pos_weight : Tensor, optional
        Factors of the positive parts, ``target * log(sigmoid(input))``; broadcasts.  Both kinds of factors have
        tangents in forward mode, and no gradient, as in PyTorch.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0, 200.0]), torch.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    name = "binary_cross_entropy_with_logits"
    _check_shapes(name, input, target)
    check_kind("log_sigmoid_cpu", input._array)
    dtype = target._array.dtype
    _check_cast(name, input._array.dtype, dtype)
    given = {which: t for which, t in (("weight", weight), ("pos_weight", pos_weight)) if t is not None}
    for which, tensor in given.items():
        array_of(name, tensor, which, 0)
        if tensor.requires_grad:
            refuse_derivative(name, which, tensor)
    if any([has_tangent(tensor) for tensor in given.values()]):
        return converted(reduced_by(reduction, _weighted_bce_logits(input, target, weight, pos_weight)), dtype)
    factors, positive = [
        None if tensor is None else tensor._array.astype(dtype, copy=False) for tensor in (weight, pos_weight)
    ]
    loss = _bce_logits(input, target, factors, positive, *_scale("", reduction, input))
    loss = guard(loss, weight=weight, pos_weight=pos_weight)
    return loss if input._array.dtype is dtype else converted(loss, dtype)


# -- distributions -----------------------------------------------------------------------------------------------------
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence's terms, ``target * (log(target) - input)``.

    Parameters
    ----------
    input : Tensor
        Logarithms of probabilities.
    target : Tensor
        Probabilities, or their logarithms with *log_target*.
    size_average, reduce
        As for `mse_loss`.
    reduction : {"mean", "batchmean", "sum", "none"}
        "batchmean" is the sum over the size of the first dimension: the divergence's own mean.

    Examples
    --------
    >>> import minitorch as torch
    >>> half = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(torch.tensor([[0.25, 0.75]]).log(), half, reduction="batchmean")
    tensor(0.1438)
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed "
            "to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    check_tensors("kl_div", input=input, target=target)
    if input._array.dtype.kind != "f" or target._array.dtype.kind != "f":
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if flag(log_target, "log_target"):
        loss = elementary.exp(target) * (target - input)
    else:
        loss = special.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return reductions.sum(loss) / (input._array.shape[0] if input._array.ndim else 1)
    return reduced_by(reduction_of(reduction), loss)
