"""Losses: how far outputs are from their targets."""

from __future__ import annotations

import warnings
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from . import _misfit
from .module import Module


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the deprecated arguments ask for, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    meant = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=4
    )
    return meant


class _Loss(Module):
    """What all losses have: how the losses of elements are reduced."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)

    def _misfit(self, *tensors: Any, **named: Any) -> str:
        name, given = type(self).__name__, (*tensors, *named.values())
        return _misfit.alike(name, *given) or _misfit.factors(name, tuple(given[0].shape), dict(self._buffers.items()))


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The mean of ``abs(input - target)``.

    Parameters
    ----------
    reduction : "mean", "sum" or "none"
        Of the elements' losses.
    size_average, reduce : bool, optional
        Deprecated ways to say it.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.L1Loss()(torch.zeros(2), torch.tensor([1.0, -3.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean of ``(input - target) ** 2``; parameters as for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MSELoss()(torch.zeros(2), torch.tensor([1.0, -3.0]))
    tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared errors near zero, absolute ones beyond *beta*: ``0.5 d**2 / beta`` or ``abs(d) - 0.5 beta``.

    Parameters
    ----------
    size_average, reduce, reduction
        As for L1Loss.
    beta : float, default 1
        Where the one becomes the other.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.SmoothL1Loss(reduction="none")(torch.zeros(2), torch.tensor([0.5, 3.0]))
    tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``delta`` times SmoothL1Loss with ``beta=delta``.

    Parameters
    ----------
    reduction : "mean", "sum" or "none"
        Of the elements' losses.
    delta : float, default 1
        Where squared errors become absolute ones.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.HuberLoss(delta=2.0)(torch.zeros(1), torch.tensor([3.0]))
    tensor(4.)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the right class: input (N, C, ...), target (N, ...) of class numbers.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        How much each class counts.
    ignore_index : int, default -100
        A target that does not count.
    size_average, reduce, reduction
        As for L1Loss; the mean is weighted.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.NLLLoss()(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)

    def _misfit(self, input: Tensor, target: Tensor) -> str:
        return _misfit.classes(type(self).__name__, input, target, self.weight, self.ignore_index)


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss for input (N, C, H, W)."""


class CrossEntropyLoss(_WeightedLoss):
    """Minus the log-probability, by softmax of the scores, of the right class: input (N, C, ...), target (N, ...).

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        How much each class counts.
    ignore_index : int, default -100
        A target that does not count.
    size_average, reduce, reduction
        As for L1Loss; the mean is weighted.
    label_smoothing : float, default 0
        How much of the target is spread evenly over all classes.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(3, 2), torch.tensor([0, 1, 1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip

    def _misfit(self, input: Tensor, target: Tensor) -> str:
        return _misfit.classes("CrossEntropyLoss", input, target, self.weight, self.ignore_index)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of a distribution, given as log-probabilities, from the target.

    Parameters
    ----------
    size_average, reduce, reduction
        As for L1Loss, and ``"batchmean"``: the sum divided by the size of the first dimension.
    log_target : bool, default False
        Whether the target too is given as log-probabilities.

    Examples
    --------
    >>> import minitorch as torch
    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.KLDivLoss(reduction="batchmean")(p.log(), p)
    tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities.

    Parameters
    ----------
    weight : Tensor, optional
        How much each element counts.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of the sigmoid of scores, exact for large scores too.

    Parameters
    ----------
    weight : Tensor, optional
        How much each element counts.
    size_average, reduce, reduction
        As for L1Loss.
    pos_weight : Tensor, optional
        How much positive targets count.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class PoissonNLLLoss(_Loss):
    """Minus the log-likelihood of counts under Poisson distributions.

    Parameters
    ----------
    log_input : bool, default True
        Whether the input is the logarithm of the expected counts.
    full : bool, default False
        Whether the target's factorial, by Stirling's formula, is part of the loss.
    eps : float
        Added before a logarithm is taken.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.PoissonNLLLoss()(torch.zeros(2), torch.ones(2))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Minus the log-likelihood under normal distributions of given means and variances.

    Parameters
    ----------
    full : bool, default False
        Whether the constant is part of the loss.
    eps : float
        The smallest variance.
    reduction : "mean", "sum" or "none"
        Of the elements' losses.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class _MarginLoss(_Loss):
    """A loss that vanishes beyond a margin."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Parameters
    ----------
    margin : float, default 1
        Beyond which distances do not count.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0]))
    tensor(0.6250)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, -target * (input1 - input2) + margin)``.

    Parameters
    ----------
    margin : float, default 0
        By how much one must exceed the other.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos(input1, input2)`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Parameters
    ----------
    margin : float, default 0
        A cosine that does no harm yet.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([[1.0, 0.0]])
    >>> torch.nn.CosineEmbeddingLoss()(x, torch.tensor([[0.0, 1.0]]), torch.tensor([1.0]))
    tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)

    def _misfit(self, input1: Tensor, input2: Tensor, target: Tensor) -> str:
        one, two, got = tuple(input1.shape), tuple(input2.shape), tuple(target.shape)
        if one == two and got == one[:-1] and len(one) in (1, 2):
            return ""
        return (
            "CosineEmbeddingLoss expects inputs of shape (N, D) and a target of shape (N,), or (D,) and (), and got "
            f"{one}, {two} and {got}: reshape or squeeze them"
        )


class TripletMarginLoss(_MarginLoss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the p-norm's distance d.

    Parameters
    ----------
    margin : float, default 1
        By how much the negative must be farther away.
    p : float, default 2
        Which norm.
    eps : float
        Added to differences.
    swap : bool, default False
        Whether the distance of positive and negative is taken where it is smaller.
    size_average, reduce, reduction
        As for L1Loss.

    Examples
    --------
    >>> import minitorch as torch
    >>> a, n = torch.zeros(1, 2), torch.tensor([[0.0, 5.0]])
    >>> torch.nn.TripletMarginLoss()(a, a, n)
    tensor(0.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.p, self.eps, self.swap = p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )
