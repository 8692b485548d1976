"""Losses with margins between classes, of several labels, and of triplets under any distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._choices import choice
from .._dtypes import INT64
from .._errors import check_kind, scalar_name
from .._runtime import wrap
from . import activation, choices, elementary, pointwise
from . import reduce as reductions
from .index import outside
from .loss import constant, reduced_by, reduction_of
from .margin_loss import pairwise_distance

if TYPE_CHECKING:
    from .._tensor import Tensor


def _need_long(target: np.ndarray) -> None:
    if target.dtype != INT64:
        raise RuntimeError(f"expected scalar type Long for target but found {scalar_name(target.dtype)}")


def _rows(name: str, array: np.ndarray) -> tuple[int, int]:
    """How many samples and classes there are; one sample where there are fewer than two dimensions."""
    if array.ndim > 2 or (array.ndim and not array.shape[-1]):
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(array.shape)}"
        )
    return (1, array.size) if array.ndim < 2 else array.shape


def _over_samples(reduction: str, loss: Any) -> Any:
    """The loss's mean, which is 0 of no samples, its sum, or itself."""
    return reduced_by("sum" if reduction == "mean" and not loss._array.size else reduction, loss)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, margin - input[target] + input[i]) ** p) / C`` over the classes i other than the target.

    Parameters
    ----------
    input : Tensor
        Scores, ``(N, C)`` or ``(C,)``.
    target : Tensor
        Classes, int64, ``(N,)`` or 0-D.
    p : {1, 2}
        Which power.
    margin : float
        By how much the target's score must exceed the others.
    weight : Tensor, optional
        ``(C,)``: factors of the targets' losses.
    size_average, reduce, reduction
        As for `mse_loss`.

    Raises
    ------
    ValueError, RuntimeError
        For another power; if shapes, dtypes or classes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.0, 0.5]]), torch.tensor([1]))
    tensor(0.2500)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, but got {p}")
    scores, wanted = array_of("multi_margin_loss", input), array_of("multi_margin_loss", target, "target", 2)
    samples, classes = _rows("multi_margin_loss", scores)
    check_kind("multi_margin_loss", scores)
    if wanted.ndim > 1 or wanted.size != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{samples}], but got {list(wanted.shape)}. Input has shape {list(scores.shape)}."
        )
    factors = constant("multi_margin_loss", "weight", weight)
    if factors is not None and factors.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, but has {factors.ndim} dimensions")
    _need_long(wanted)
    if factors is not None and factors.shape != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(factors.shape)}")
    if outside(target, classes, "multi_margin_loss", error=RuntimeError) is not None:
        raise RuntimeError(
            f"multi_margin_loss: target out of range, expected 0 to {classes - 1}, but got {wanted.tolist()}"
        )
    rows = input.reshape(samples, classes)
    terms = activation.relu(margin - rows.gather(1, target.reshape(samples, 1)) + rows)
    terms = terms if p == 1 else terms * terms
    counted = _not_target(target, *([] if weight is None else [weight]), shape=(samples, classes), dtype=scores.dtype)
    loss = reductions.sum(terms * wrap(counted), 1) / classes
    return _over_samples(reduction, loss if scores.ndim > 1 else loss.squeeze(0))


@choice("the classes that are not the target", ("target", "weight"))
def _not_target(target: np.ndarray, *weight: np.ndarray, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """What each class counts: 0 for the target, otherwise the target's weight."""
    places = target.reshape(-1, 1)
    counted = np.full(shape, weight[0][places] if weight else 1.0, dtype)
    np.put_along_axis(counted, places, 0, 1)
    return counted


@choice("labels", ("target",))
def _labels(target: np.ndarray, *, shape: tuple[int, ...], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of rows of classes that end at -1: the labels, 0 from there, and 1 for each pair of a label and a class that is none."""
    classes = shape[1]
    target = target.reshape(shape)
    if target.size and not -1 <= target.min() <= target.max() < classes:
        raise RuntimeError(f"multilabel_margin_loss: target is out of range, expected -1 to {classes - 1}")
    given = np.logical_and.accumulate(target >= 0, 1)
    labelled = np.zeros(target.shape, bool)
    sample, place = np.nonzero(given)
    labelled[sample, target[sample, place]] = True
    return np.where(given, target, 0), (given[:, :, None] & ~labelled[:, None, :]).astype(dtype)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, 1 - input[j] + input[i])) / C`` over the labels j of a sample and the classes i that are none.

    Parameters
    ----------
    input : Tensor
        Scores, ``(N, C)`` or ``(C,)``.
    target : Tensor
        Labels, int64, of the same shape: those before the first -1 count.
    size_average, reduce, reduction
        As for `mse_loss`.

    Raises
    ------
    RuntimeError
        If shapes, dtypes or labels do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.0, 0.5]), torch.tensor([1, -1]))
    tensor(0.2500)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    name = "multilabel_margin_loss"
    scores, wanted = array_of(name, input), array_of(name, target, "target", 2)
    samples, classes = _rows(name, scores)
    check_kind(name, scores)
    if wanted.shape != scores.shape:
        raise RuntimeError(f"inconsistent target size: {list(wanted.shape)} for input of size: {list(scores.shape)}")
    _need_long(wanted)
    labels, counted = _labels(target, shape=(samples, classes), dtype=scores.dtype)
    rows = input.reshape(samples, classes)
    own = rows.gather(1, wrap(labels))
    terms = activation.relu(1 - own.unsqueeze(2) + rows.unsqueeze(1))
    loss = reductions.sum(terms * wrap(counted), (1, 2)) / classes
    return _over_samples(reduction, loss if scores.ndim > 1 else loss.squeeze(0))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets that are 1 or -1; the arguments are those of `mse_loss`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    array_of("soft_margin_loss", input)
    array_of("soft_margin_loss", target, "target", 2)
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"soft_margin_loss(): input must be of floats, not {input._array.dtype}")
    constant("soft_margin_loss", "target", target)
    if target._array.dtype.kind == "f" and target._array.itemsize > input._array.itemsize:
        target = target.to(input.dtype)  # the loss has the input's dtype
    product = pointwise.neg(target) * input
    if product._array.shape != input._array.shape:
        raise RuntimeError(
            f"soft_margin_loss(): output with shape {list(input._array.shape)} doesn't match the broadcast shape "
            f"{list(product._array.shape)}: expand the input to the target's shape"
        )
    return reduced_by(reduction, elementary.log1p(elementary.exp(product)))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross-entropy with logits.

    Parameters
    ----------
    input : Tensor
        Logits, ``(*, C)``.
    target : Tensor
        Between 0 and 1, of the same shape.
    weight : Tensor, optional
        ``(C,)``: factors of the classes' losses.
    size_average, reduce, reduction
        As for `mse_loss`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    array_of("multilabel_soft_margin_loss", input)
    array_of("multilabel_soft_margin_loss", target, "target", 2)
    terms = -(target * activation.logsigmoid(input) + (1 - target) * activation.logsigmoid(-input))
    if weight is not None:
        terms = terms * weight
    return reduced_by(reduction, reductions.sum(terms, terms.dim() - 1) / input.size(input.dim() - 1))


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with any distance d.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Of one number of dimensions.
    distance_function : callable, optional
        d: by default `pairwise_distance`.
    margin : float
        By how much the negative must be farther away: positive.
    swap : bool
        Whether the distance of positive and negative is taken where it is smaller.
    reduction : {"mean", "sum", "none"}
        What becomes of the samples' losses.

    Raises
    ------
    ValueError, RuntimeError
        If the margin is not positive; if numbers of dimensions differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> a, n = torch.zeros(1, 2), torch.tensor([[0.0, 5.0]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(a, a, n)
    tensor(0.)
    """
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [array_of("triplet_margin_loss", t).ndim for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = choices.minimum(far, distance(positive, negative))
    return reduced_by(reduction, choices.clamp_min(margin + near - far, 0))
