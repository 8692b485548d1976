"""Functions of nn.functional under torch's own signatures: modes and reductions are numbers, options have other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._args import array_of
from .._runtime import wrap
from . import bag, ctc, index, loss, margin_loss, noisy, normalize, unpool
from . import dropout as dropouts
from . import grid as grids

if TYPE_CHECKING:
    from .._tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: int) -> str:
    """The reduction of a number; a number that is none leaves the elements, as in PyTorch."""
    return _REDUCTIONS[number] if number in (1, 2) else "none"


# -- losses ------------------------------------------------------------------------------------------------------------
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """``nn.functional.kl_div``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    terms = loss.kl_div(input, target, reduction="none", log_target=log_target)
    return loss.reduced_by(_reduction(reduction), terms)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """``nn.functional.poisson_nll_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return margin_loss.poisson_nll_loss(
        input, target, log_input=log_input, full=full, eps=eps, reduction=_reduction(reduction)
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.cosine_embedding_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return margin_loss.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """``nn.functional.hinge_embedding_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return margin_loss.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.margin_ranking_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return margin_loss.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.triplet_margin_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return margin_loss.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """``nn.functional.ctc_loss``, whose reduction is a number: 0 none (default), 1 mean, 2 sum."""
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


# -- tables ------------------------------------------------------------------------------------------------------------
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """``nn.functional.embedding`` with the table first; a negative *padding_idx* is none."""
    array_of("embedding", weight, "weight"), array_of("embedding", indices, "indices", 2)
    return index.embedding(
        indices, weight, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq=scale_grad_by_freq
    )


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``nn.functional.embedding_bag`` with the table first; modes are 0 for the sum, 1 for the mean, 2 for the maximum.

    Returns
    -------
    output, offset2bag, bag_size, max_indices : Tensor
        The bags' results; the bag of each index, how many each bag has, and which rows the maxima are from.
    """
    named = ("sum", "mean", "max")[mode]
    bag._check_options(named, scale_grad_by_freq, sparse, per_sample_weights)
    output, bags, sizes, maxima = bag.bagged(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, named, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    return output, wrap(bags), wrap(sizes), wrap(maxima)


# -- normalisation -----------------------------------------------------------------------------------------------------
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.batch_norm`` with its arguments in another order; *cudnn_enabled* is ignored."""
    return normalize.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.instance_norm`` with its arguments in another order; *cudnn_enabled* is ignored."""
    return normalize.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# -- grids -------------------------------------------------------------------------------------------------------------
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``nn.functional.grid_sample`` whose modes are numbers, in the order in which that lists them."""
    return grids.grid_sample(
        input, grid, grids.MODES[interpolation_mode], grids.PADDINGS[padding_mode], bool(align_corners)
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``."""
    return grids.affine_grid(theta, size, bool(align_corners))


# -- dropout and others ------------------------------------------------------------------------------------------------
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.dropout``, whose *training* is *train* here."""
    return dropouts.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    return dropouts.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.alpha_dropout``, whose *training* is *train* here."""
    return dropouts.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    return dropouts.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels: one draw for each of ``input.shape[:2]``."""
    return _feature_dropout(input, p, train, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` in place."""
    return _feature_dropout(input, p, train, True)


def _feature_dropout(input: Any, p: float, train: bool, inplace: bool) -> Any:
    dropouts._check(p, train)
    array_of("feature_dropout", input)
    return dropouts._dropped(input, p, True, inplace) if train else input


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout``, whose *training* is *train* here."""
    return dropouts.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    return dropouts.feature_alpha_dropout(input, p, train, inplace=True)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """``nn.functional.rrelu``, which here is never in place."""
    return noisy.rrelu(input, lower, upper, training)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """``nn.functional.max_pool1d`` and the places of the maxima."""
    return unpool.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
