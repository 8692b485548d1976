"""Losses composed of other operations: margins, embeddings, and negative log-likelihoods of distributions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, check_tensors, either, flag, integer, real, text
from .._choices import choice
from .._runtime import silent, wrap
from . import broadcast, elementary, pointwise, powers, vector_norm
from . import reduce as reductions
from .loss import reduced_by, reduction_of

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- distances ---------------------------------------------------------------------------------------------------------
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """The input over its *p*-norm along *dim*, which counts as *eps* at least; *p* is as for `norm`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    norms = vector_norm.norm(input, p, dim, True).clamp_min(real(eps, "eps")).expand_as(input)
    return pointwise.div(input, norms, out=out)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The *p*-norm of ``x1 - x2 + eps`` along the last dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2))
    tensor([5.0000])
    """
    check_tensors("pairwise_distance", x1=x1, x2=x2)
    return vector_norm.vector_norm(x1 - x2 + real(eps, "eps"), real(p, "p"), -1, keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8, *, axis: int | None = None) -> Tensor:
    """The cosine of the angle between *x1* and *x2* along *dim*; norms count as *eps* at least.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0]), dim=0)
    tensor(0.9600)
    """
    dim = dim if axis is None else either(dim, axis, 1)
    check_tensors("cosine_similarity", x1=x1, x2=x2)
    dim, eps = integer(dim, "dim"), real(eps, "eps")
    if x1._array.shape != x2._array.shape:
        x1, x2 = broadcast.broadcast_tensors(x1, x2)
    norms = [vector_norm.vector_norm(x, 2, dim, True).clamp_min(eps) for x in (x1, x2)]
    return reductions.sum(x1 / norms[0] * (x2 / norms[1]), dim)


# -- margins -----------------------------------------------------------------------------------------------------------
def _zero(like: Any) -> Any:
    return wrap(np.zeros((), like._array.dtype))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]))
    tensor(0.6250)
    """
    check_tensors("hinge_embedding_loss", input=input, target=target)
    reduction, margin = reduction_of(reduction, size_average, reduce), real(margin, "margin")
    if input._array.dtype.kind in "iu":
        margin = int(margin)  # the loss is of the input's dtype
    beyond = (margin - input).clamp_min(0)
    loss = beyond.where(target != 1, _zero(input)) + input.where(target != -1, _zero(input))
    return reduced_by(reduction, loss)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: the target 1 ranks the first input higher, -1 the second.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    check_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    reduction = reduction_of(reduction, size_average, reduce)
    margin = real(margin, "margin")
    if not input1._array.ndim == input2._array.ndim == target._array.ndim:
        sizes = ", ".join([str(t._array.shape) for t in (input1, input2, target)])
        raise RuntimeError(
            f"margin_ranking_loss: the inputs should have the same number of dimensions, but got {sizes}"
        )
    return reduced_by(reduction, (-target * (input1 - input2) + float(margin)).clamp_min(0))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1: cos is that between rows.

    Examples
    --------
    >>> import minitorch as torch
    >>> a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(a, b, torch.tensor([1]))
    tensor(1.)
    """
    check_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    reduction, margin = reduction_of(reduction, size_average, reduce), real(margin, "margin")
    if target._array.ndim > 1:
        raise RuntimeError(
            f"cosine_embedding_loss: a 0-d or 1-d target is expected, but got {target._array.ndim} dimensions"
        )
    dims = target._array.ndim + 1
    if not input1._array.ndim == input2._array.ndim == dims:
        raise RuntimeError(
            f"cosine_embedding_loss: a {dims - 1}D target tensor expects {dims}D input tensors, but found inputs with sizes "
            f"{list(input1._array.shape)} and {list(input2._array.shape)}"
        )
    squares = [reductions.sum(x * x, -1) + 1e-12 for x in (input1, input2)]
    cosine = reductions.sum(input1 * input2, -1) / powers.sqrt(squares[0] * squares[1])
    zero = _zero(cosine)
    loss = (1 - cosine).where(target == 1, zero) + (cosine - margin).clamp_min(0).where(target == -1, zero)
    return reduced_by(reduction, loss)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much farther from the anchor the positive is than the negative, plus *margin*, and 0 at least.

    With *swap*, the negative's distance is that from the anchor or from the positive, whichever is smaller; see V.
    Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> anchor, positive, negative = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 2.0)
    >>> torch.nn.functional.triplet_margin_loss(anchor, positive, negative)
    tensor(0.)
    """
    check_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    reduction = reduction_of(reduction, size_average, reduce)
    if real(margin, "margin") <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor._array.ndim == positive._array.ndim == negative._array.ndim:
        came = f"{anchor._array.ndim}, {positive._array.ndim} and {negative._array.ndim}"
        raise RuntimeError(
            f"triplet_margin_loss: the inputs should have the same number of dimensions, but have {came}"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if flag(swap, "swap"):
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced_by(reduction, (margin + near - far).clamp_min(0))


# -- likelihoods -------------------------------------------------------------------------------------------------------
def _fits(shape: tuple[int, ...], variances: tuple[int, ...]) -> bool:
    """Whether variances have the input's shape but for one dimension, of size 1."""
    return len(shape) == len(variances) and [m for n, m in zip(shape, variances) if n != m] == [1]


@choice("what is lacking of eps", warns=True)
def _lacking(self: np.ndarray, *, eps: float) -> np.ndarray:
    return np.asarray(np.maximum(eps - self, 0), self.dtype)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of targets that are normal with mean *input* and variance *var*.

    Parameters
    ----------
    input, target : Tensor
        Of one shape, or broadcasting.
    var : Tensor or float
        Variances: the input's shape, or without its last dimension, or with size 1 in one dimension.  Below *eps* they count as
        *eps*, without a gradient of their own.
    full : bool
        Whether the constant ``log(2 pi) / 2`` is added.
    reduction : {"mean", "sum", "none"}
        What becomes of the elements' losses.

    Raises
    ------
    ValueError
        If *var* has a negative element or a shape that does not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([4.0]))
    tensor(1.1931)
    """
    check_tensors("gaussian_nll_loss", input=input, target=target)
    text(reduction, "reduction")
    variances: Any = var
    if isinstance(var, float):
        variances = wrap(silent(np.full, input._array.shape, var, input._array.dtype))
    array_of("gaussian_nll_loss", variances, "var", 3)
    if (variances._array < 0).any():
        raise ValueError("var has negative entry/entries")
    if variances._array.shape != array_of("gaussian_nll_loss", input).shape:
        if input._array.shape[:-1] == variances._array.shape:
            variances = variances.unsqueeze(-1)
        elif not _fits(input._array.shape, variances._array.shape):
            raise ValueError(
                f"var is of incorrect size: {list(variances._array.shape)} for an input of {list(input._array.shape)}"
            )
    if variances._array.dtype.kind != "f":
        raise RuntimeError(f"gaussian_nll_loss(): var must be of floats, not {variances._array.dtype}")
    bounded = variances + wrap(_lacking(variances, eps=real(eps, "eps")))
    loss = 0.5 * (elementary.log(bounded) + (input - target) ** 2 / bounded)
    if flag(full, "full"):
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced_by(reduction_of(reduction), loss)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of targets that are Poisson with mean ``exp(input)``, or *input* without *log_input*.

    With *full*, Stirling's approximation of the target's factorial is added where the target exceeds 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([2.0]))
    tensor(1.)
    """
    check_tensors("poisson_nll_loss", log_input=input, target=target)
    reduction = reduction_of(text(reduction, "reduction"), size_average, reduce)
    eps = real(eps, "eps")
    if flag(log_input, "log_input"):
        loss = elementary.exp(input) - target * input
    else:
        loss = input - target * elementary.log(input + eps)
    if flag(full, "full"):
        stirling = target * elementary.log(target) - target + 0.5 * elementary.log(2 * math.pi * target)
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced_by(reduction, loss)
