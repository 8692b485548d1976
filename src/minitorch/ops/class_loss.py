"""Losses of classifications into several classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, integer, real
from .._choices import choice, number
from .._dtypes import INT64, UINT8
from .._errors import check_kind, scalar_name
from .._modes import observers
from .._op import op
from .._runtime import guard, traced, wrap
from .._saved import reveal
from . import pointwise
from . import reduce as reductions
from .copies import flat
from .linear import linear
from .loss import REDUCTIONS, constant, reduced_by, reduction_of
from .softmax import log_softmax

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
def _nll_kernel(
    self: np.ndarray, target: np.ndarray, *, weight: Any, kept: Any, divisor: float, summed: bool, asked: Any = None
) -> np.ndarray:
    """The negated scores of the target classes: weighted, 0 where not kept, and summed or not.

    *asked*, which kernels do not read, is what people see of a node: (target, weight, ignore_index, reduction, total).
    """
    if self.ndim == 2:
        picked = self[np.arange(len(self)), target]
    else:
        axis = min(1, self.ndim - 1)
        picked = np.take_along_axis(self, np.expand_dims(target, axis), axis).squeeze(axis)
    if weight is not None:
        picked = picked * weight
    if kept is not None:
        picked = np.where(kept, picked, self.dtype.type(0))
    if summed:
        return np.asarray((0 - np.add.reduce(picked, None)) / divisor, self.dtype)  # 0, not -0, of nothing
    return np.negative(picked, out=...)


def _nll_backward_kernel(
    grad: np.ndarray,
    self: np.ndarray,
    target: np.ndarray,
    *,
    weight: Any,
    kept: Any,
    divisor: float,
    summed: bool,
    asked: Any = None,
) -> np.ndarray:
    """The adjoint of `_nll_kernel`, for an input of the shape of *self*."""
    shape = self.shape
    values = np.divide(grad, -divisor, out=...)
    if weight is not None:
        values = values * weight
    if kept is not None:
        values = np.where(kept, values, self.dtype.type(0))
    out = np.zeros(shape, grad.dtype)
    if len(shape) == 2:
        out[np.arange(shape[0]), target] = values
    else:
        axis = min(1, len(shape) - 1)
        values = np.expand_dims(np.broadcast_to(values, target.shape), axis)
        np.put_along_axis(out, np.expand_dims(target, axis), values, axis)
    return out


def _nll_self(
    F: Any, g: Any, self: Any, target: Any, weight: Any, kept: Any, divisor: float, summed: bool, asked: Any
) -> Any:
    return F.nll_loss_backward(g, self, target, weight=weight, kept=kept, divisor=divisor, summed=summed, asked=asked)


def _nll_backward_grad(
    F: Any, g: Any, target: Any, weight: Any, kept: Any, divisor: float, summed: bool, asked: Any
) -> Any:
    return F.nll_loss(g, target, weight=weight, kept=kept, divisor=divisor, summed=summed, asked=asked)


def _asked(place: int) -> Callable[[Any], Any]:
    """What shows a value that the loss was called with; RuntimeError where the node has freed what it saved."""

    def get(node: Any) -> Any:
        reveal(node, "target")
        return node.saved_asked[place]

    return get


_shown: dict[str, Any] = {
    "target": _asked(0),
    "weight": _asked(1),
    "ignore_index": lambda node: node.saved_asked[2] % 2**64,  # PyTorch shows integers as unsigned
    "reduction": lambda node: node.saved_asked[3],
    "total_weight": lambda node: wrap(np.asarray(node.saved_asked[4], node.layout[1])),
}
_internal = ("asked", "divisor", "kept", "summed")

_nll = op(
    "nll_loss",
    "NllLossBackward0",
    _nll_kernel,
    ("self", "target"),
    shows=_shown,
    hides=_internal,
    tangent="linear",
    self=_nll_self,
)
_nll2d = op("nll_loss2d", "NllLoss2DBackward0", _nll_kernel, ("self", "target"), shows=_shown, hides=_internal,
            tangent="linear",
            self=_nll_self)  # fmt: skip
op("nll_loss_backward", "NllLossBackwardBackward0", _nll_backward_kernel, ("grad", "self", "target"), tangent="linear",
   grad=_nll_backward_grad, self=flat)  # fmt: skip


# -- targets -----------------------------------------------------------------------------------------------------------
def _wrong_target(shape: tuple[int, ...], target: np.ndarray, expected: tuple[int, ...]) -> Exception:
    """The error of a target whose shape does not fit scores of *shape*."""
    if expected and target.shape[:1] != expected[:1]:
        return ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({(*target.shape, 0)[0]}): scores of shape "
            f"{list(shape)} need a target of shape {list(expected)}, but got {list(target.shape)}"
        )
    if target.dtype not in (INT64, UINT8):
        return RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}")
    if len(shape) == 1 and target.ndim == 1:
        return ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size}")
    return RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")


def _check_classes(scores: np.ndarray, target: np.ndarray, weight: Any) -> None:
    """Raise where shapes and dtypes are not those of scores and classes."""
    if not scores.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    shape = scores.shape
    expected = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    if target.shape != expected and not (len(shape) == 1 and target.shape == (1,)):
        raise _wrong_target(shape, target, expected)
    if target.dtype not in (INT64, UINT8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}")
    if len(shape) > 2 and target.dtype != INT64:
        raise RuntimeError(f"expected scalar type Long for a target of {target.ndim} dimensions but found Byte")
    if weight is not None:
        classes = shape[len(shape) > 1]
        if weight.shape != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
                "tensor of "
                f"shape: {list(weight.shape)}"
            )
        if weight.dtype != scores.dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_name(scores.dtype)} but found {scalar_name(weight.dtype)}"
            )


def _known(target: np.ndarray, classes: int, ignore_index: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The targets, those ignored replaced by 0, and which are not ignored (None: all).

    Raises
    ------
    IndexError
        If a target is no class.
    """
    if ignore_index.__class__ is not int:
        ignore_index = integer(ignore_index, "ignore_index")
    target = target.astype(INT64, copy=False)
    if not target.size:
        return target, None
    largest = target.view(np.uint64).max()  # negative ones are large too
    if largest < classes and not 0 <= ignore_index < classes:
        return target, None
    kept = target != ignore_index
    target = np.where(kept, target, 0)
    if largest >= classes and target.view(np.uint64).max() >= classes:
        wrong = target[(target < 0) | (target >= classes)].flat[0]
        raise IndexError(f"Target {wrong} is out of bounds: there are {classes} classes.")
    return target, None if kept.all() else kept


def _weights(target: np.ndarray, kept: Any, weight: Any) -> tuple[Any, float]:
    """The weight of each target, and the sum over those kept."""
    if weight is None:
        return None, float(target.size if kept is None else np.count_nonzero(kept))
    weights = weight[target]
    return weights, float(np.add.reduce(weights if kept is None else weights[kept], None))


@choice("classes", ("target", "weight"))
def _classes(
    target: np.ndarray, *weight: np.ndarray, single: bool, classes: int, ignore_index: int, dtype: Any
) -> tuple[np.ndarray, ...]:
    """The targets, which are not ignored, their weights, and the sum of these over those kept."""
    target, kept = _known(target.reshape(()) if single else target, classes, ignore_index)
    weights, total = _weights(target, kept, weight[0] if weight else None)
    kept = np.ones(target.shape, np.bool_) if kept is None else np.asarray(kept)
    return target, kept, np.ones(target.shape, dtype) if weights is None else np.asarray(weights), np.asarray(total)


def _observed(target: Any, weight: Any, scores: np.ndarray, ignore_index: int) -> tuple[Any, Any, Any, float]:
    """The same where observers see it: what is not ignored then depends on values that may be others next time."""
    given = [target] if weight is None else [target, weight]
    classes, kept, weights, total = _classes(
        *given,
        single=scores.ndim == 1,
        classes=scores.shape[scores.ndim > 1],
        ignore_index=integer(ignore_index, "ignore_index"),
        dtype=scores.dtype,
    )
    return classes, kept, None if weight is None else weights, number(total)


# -- public functions --------------------------------------------------------------------------------------------------
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated score of each target class.

    Parameters
    ----------
    input : Tensor
        Logarithms of probabilities: ``(N, C)``, ``(C,)`` or ``(N, C, *)``.
    target : Tensor
        Classes, int64: ``(N,)``, 0-D or ``(N, *)``.
    weight : Tensor, optional
        ``(C,)``: factors of the classes' losses; the mean is then that by weight.
    size_average, reduce : bool, optional
        Deprecated: use *reduction*.
    ignore_index : int
        A target that has no loss.
    reduction : {"mean", "sum", "none"}
        What becomes of the samples' losses.

    Raises
    ------
    IndexError
        If a target is no class.
    RuntimeError, ValueError
        If shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> scores = torch.tensor([[-0.5, -1.0], [-2.0, -0.25]])
    >>> torch.nn.functional.nll_loss(scores, torch.tensor([0, 1]))
    tensor(0.3750)
    """
    if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
        reduction = reduction_of(reduction, size_average, reduce)
    array, classes = array_of("nll_loss", input), array_of("nll_loss", target, "target", 2)
    _check_classes(array, classes, constant("nll_loss_forward", "weight", weight))
    check_kind("nll_loss", array)
    return _nll_of(input, target, weight, ignore_index, reduction)


def _nll_of(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """`nll_loss` of what was checked."""
    scores = input._array
    if observers:
        classes, kept, weights, total = _observed(target, weight, scores, ignore_index)
    else:
        classes = target._array.reshape(()) if scores.ndim == 1 else target._array
        classes, kept = _known(classes, scores.shape[scores.ndim > 1], ignore_index)
        weights, total = _weights(classes, kept, None if weight is None else weight._array)
    recorder = _nll if scores.ndim <= 2 else _nll2d
    known = target if classes is target._array else wrap(classes)
    summed = reduction != "none"
    asked = (target, weight, ignore_index, REDUCTIONS[reduction], total if summed else 0.0)
    loss = recorder(input, known, weights, kept, total if reduction == "mean" else 1.0, summed, asked)
    return loss if known is target and weight is None else guard(loss, target=target, weight=weight)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of the targets and the softmax of logits.

    Parameters
    ----------
    input : Tensor
        Logits: ``(N, C)``, ``(C,)`` or ``(N, C, *)``.
    target : Tensor
        Classes as for `nll_loss`; or probabilities, of the input's shape.
    weight, size_average, ignore_index, reduce, reduction
        As for `nll_loss`.
    label_smoothing : float
        The part of each target that is spread evenly over the classes; see C. Szegedy et al., "Rethinking the Inception
        Architecture for Computer Vision", 2016.

    Raises
    ------
    IndexError
        If a target is no class.
    RuntimeError, ValueError
        If shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> logits = torch.tensor([[0.0, 0.0], [0.0, 100.0]])
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    tensor(0.3466)
    """
    if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
        reduction = reduction_of(reduction, size_average, reduce)
    if label_smoothing.__class__ is not float:
        label_smoothing = real(label_smoothing, "label_smoothing")
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    shape = array_of("cross_entropy", input).shape
    classes = int(len(shape) != 1)
    if shape == array_of("cross_entropy", target, "target", 2).shape:
        return _probabilities_loss(input, target, weight, ignore_index, reduction, label_smoothing, classes)
    check_kind("log_softmax_lastdim_kernel_impl", input._array)
    if shape:
        _check_classes(input._array, target._array, constant("nll_loss_forward", "weight", weight))
    scores = log_softmax(input, classes)  # which refuses a 0-d tensor
    loss = _nll_of(scores, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    spread = _spread_loss(scores, target, weight, ignore_index, reduction, classes)
    return (1.0 - label_smoothing) * loss + spread * (label_smoothing / shape[classes])


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """The cross-entropy of the targets and of logits that are ``linear(input, linear_weight, linear_bias)``.

    Parameters
    ----------
    input : Tensor
        ``(N, in_features)`` or ``(in_features,)``.
    linear_weight : Tensor
        ``(C, in_features)``, or ``(C, *, in_features)`` for several choices between classes for each sample.
    target : Tensor
        Classes, ``(N, *)``; or probabilities, ``(N, C, *)``.
    linear_bias : Tensor, optional
        ``(C, *)``.
    weight, reduction, label_smoothing
        As for `cross_entropy`.
    ignore_index : int, optional
        A class that does not count, -100 by default; not with probabilities.
    options : LinearCrossEntropyOptions, optional
        Accepted: the logits are made whole.

    Raises
    ------
    RuntimeError, ValueError, IndexError
        If shapes or dtypes do not fit, or a target is no class.

    Examples
    --------
    >>> import minitorch as torch
    >>> weight = torch.tensor([[0.0, 0.0], [0.0, 100.0]])
    >>> torch.nn.functional.linear_cross_entropy(torch.eye(2), weight, torch.tensor([0, 1]))
    tensor(0.3466)
    """
    shape, matrix = array_of("linear_cross_entropy", input).shape, array_of("linear_cross_entropy", linear_weight).shape
    if len(shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(shape)}")
    if len(matrix) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(matrix)}")
    if shape[-1] != matrix[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{shape[-1]} and {matrix[-1]}, respectively"
        )
    outputs = matrix[:-1]
    if linear_bias is not None and linear_bias._array.shape != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {linear_bias._array.shape}")
    if len(outputs) > 1 and len(shape) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {matrix} requires batched input, (N, {shape[-1]}), got "
            f"unbatched input with shape {shape}"
        )
    logits_shape = (*shape[:-1], *outputs)
    if ignore_index is not None and array_of("linear_cross_entropy", target, "target", 2).shape == logits_shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if len(outputs) > 1:
        linear_weight = linear_weight.reshape(-1, matrix[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias).reshape(logits_shape)
    index = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=index, reduction=reduction, label_smoothing=label_smoothing
    )


def _by_class(weight: Any, shape: tuple[int, ...], classes: int) -> Any:
    """The weights of classes, such that they broadcast with scores."""
    return traced.view(weight, size=tuple([-1 if dim == classes else 1 for dim in range(len(shape))]))


def _spread_loss(scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str, classes: int) -> Any:
    """The sum over all classes of each sample's losses, reduced as those of the target classes are."""
    if weight is not None:
        scores = pointwise.mul(scores, _by_class(weight, scores._array.shape, classes))
    loss = pointwise.neg(reductions.sum(scores, classes))
    ignored, total = _ignored(
        *([target] if weight is None else [target, weight]),
        single=not classes,
        classes=scores._array.shape[classes],
        ignore_index=ignore_index,
        dtype=scores._array.dtype,
    )
    if observers or ignored.any():
        loss = loss.masked_fill(wrap(ignored), 0.0)
    if reduction == "mean":
        return reductions.sum(loss) / wrap(total)
    return reduced_by(reduction, loss)


def _probabilities_loss(
    input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float, classes: int
) -> Any:
    if target._array.dtype.kind != "f":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {scalar_name(target._array.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    shape = input._array.shape
    scores = log_softmax(input, classes)  # which refuses a 0-d tensor
    if label_smoothing:
        target = target * (1.0 - label_smoothing) + label_smoothing / shape[classes]
    terms = scores * target
    if weight is not None:
        terms = terms * _by_class(weight, shape, classes)
    if reduction == "none":
        return -reductions.sum(terms, classes)
    loss = -reductions.sum(terms)
    return loss / (input._array.size / shape[classes]) if reduction == "mean" else loss


@choice("classes that are ignored", ("target", "weight"))
def _ignored(
    target: np.ndarray, *weight: np.ndarray, single: bool, classes: int, ignore_index: int, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Which targets are ignored, and the sum of the weights of the others."""
    known, kept = _known(target.reshape(()) if single else target, classes, ignore_index)
    _, total = _weights(known, kept, weight[0] if weight else None)
    return np.zeros(known.shape, np.bool_) if kept is None else np.asarray(~kept), np.asarray(total, dtype)
