"""Losses with margins between classes, of several labels, of triplets under any distance, of unaligned sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from . import _misfit
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss


class MultiMarginLoss(_WeightedLoss):
    """``sum(max(0, margin - input[target] + input[i]) ** p) / C`` over the classes i other than the target.

    Parameters
    ----------
    p : 1 or 2, default 1
        Which power.
    margin : float, default 1
        By how much the target's score must exceed the others.
    weight : Tensor, optional
        Factors of the classes' losses.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, but got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )

    def _misfit(self, input: Tensor, target: Tensor) -> str:
        return _misfit.classes("MultiMarginLoss", input, target, self.weight, -1)


class MultiLabelMarginLoss(_Loss):
    """``sum(max(0, 1 - input[j] + input[i])) / C`` over a sample's labels j and the classes i that are none.

    Parameters
    ----------
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross-entropy with logits.

    Parameters
    ----------
    weight : Tensor, optional
        Factors of the classes' losses.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))`` for targets that are 1 or -1; parameters as for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.SoftMarginLoss()(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with any distance d.

    Parameters
    ----------
    distance_function : callable, optional
        d: by default PairwiseDistance.
    margin : float, default 1
        By how much the negative must be farther away: positive.
    swap : bool, default False
        Whether the distance of positive and negative is taken where it is smaller.
    reduction : "mean", "sum" or "none"
        Of the samples' losses.

    Examples
    --------
    >>> import minitorch as torch
    >>> a, n = torch.zeros(1, 2), torch.tensor([[0.0, 5.0]])
    >>> torch.nn.TripletMarginWithDistanceLoss()(a, a, n)
    tensor(0.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function: Any = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """The negative log-probability of label sequences whose alignment with the inputs is not known.

    Parameters
    ----------
    blank : int, default 0
        The class of blanks.
    reduction : "mean", "sum" or "none"
        Of the samples' losses; the mean is of losses divided by the targets' lengths.
    zero_infinity : bool, default False
        Whether the losses of targets too long for their inputs are zero, not infinite.

    Notes
    -----
    Source: Graves et al., "Connectionist temporal classification", 2006.

    Examples
    --------
    >>> import minitorch as torch
    >>> log_probs = torch.full((2, 1, 3), 1 / 3).log()
    >>> torch.nn.CTCLoss()(log_probs, torch.tensor([[1]]), (2,), (1,))
    tensor(1.0986)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )

    def _misfit(self, *tensors: Any, **named: Any) -> str:
        return ""  # their shapes are not alike; the function's own error says which does not fit
