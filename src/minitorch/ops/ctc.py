"""The loss of connectionist temporal classification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._choices import choice
from .._dtypes import BOOL, INT64
from .._errors import scalar_name
from .._op import op
from .._runtime import wrap
from .loss import reduced_by, reduction_of

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
# A target of length S becomes 2 S + 1 states, a blank around each label; *states* holds their classes, (N, 2 S + 1), and
# *skips* where a path may come from two states before.  *lengths* are (N, 2): of inputs and of targets.
def _step(paths: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """The logarithms of the sums over paths that stay, that move on by one state, and that skip one."""
    out = paths.copy()
    np.logaddexp(out[:, 1:], paths[:, :-1], out=out[:, 1:])
    skipping = np.where(skips[:, 2:], paths[:, :-2], -np.inf)
    np.logaddexp(out[:, 2:], skipping, out=out[:, 2:])
    return out


def _emitted(log_probs: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Each state's log-probability at each time, (T, N, states)."""
    return np.take_along_axis(log_probs, np.broadcast_to(states, (len(log_probs), *states.shape)), 2)


def _forward(emitted: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """The log-probability of all beginnings of paths that are in a state at a time, (T, N, states)."""
    alphas = np.full_like(emitted, -np.inf)
    alphas[:1, :, :2] = emitted[:1, :, :2]
    for time in range(1, len(emitted)):
        alphas[time] = _step(alphas[time - 1], skips) + emitted[time]
    return alphas


def _backward(emitted: np.ndarray, skips: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The log-probability of all ends of paths that are in a state at a time, (T, N, states)."""
    betas = np.full_like(emitted, -np.inf)
    times, last = lengths[:, 0], 2 * lengths[:, 1]
    number = np.arange(emitted.shape[2])
    final = (number == last[:, None]) | (number == last[:, None] - 1)
    later = np.pad(skips[:, 2:], ((0, 0), (0, 2)))[:, ::-1]  # whether a path may go on to two states after
    paths = betas[0].copy() if len(emitted) else betas
    for time in reversed(range(len(emitted))):
        paths = _step(paths[:, ::-1], later)[:, ::-1]
        paths = np.where(np.equal(times, time + 1)[:, None], np.where(final, 0, -np.inf), paths) + emitted[time]
        betas[time] = paths
    return betas


def _ctc_kernel(
    log_probs: np.ndarray, *, states: np.ndarray, skips: np.ndarray, lengths: np.ndarray, zero_infinity: bool
) -> np.ndarray:
    samples, (times, targets) = np.arange(len(states)), lengths.T
    alphas = _forward(_emitted(log_probs, states), skips)
    final = alphas[times - 1, samples]
    ends = np.where(targets > 0, final[samples, 2 * targets - 1], -np.inf)
    loss = -np.logaddexp(final[samples, 2 * targets], ends)
    loss = np.where(times > 0, loss, np.where(targets > 0, np.inf, 0))
    if zero_infinity:
        loss[np.isinf(loss)] = 0
    return loss.astype(log_probs.dtype)


def _ctc_backward_kernel(
    grad: np.ndarray,
    log_probs: np.ndarray,
    loss: np.ndarray,
    *,
    states: np.ndarray,
    skips: np.ndarray,
    lengths: np.ndarray,
    zero_infinity: bool,
) -> np.ndarray:
    """Of what the losses' gradients say about logits whose log-softmax *log_probs* is: softmax minus posteriors."""
    emitted = _emitted(log_probs, states)
    shares = _forward(emitted, skips) + _backward(emitted, skips, lengths) - emitted
    if zero_infinity:
        impossible = np.isneginf(shares).all((0, 2))
        loss, grad = np.where(impossible, np.inf, loss), np.where(impossible, 0, grad)
    shares = np.exp(shares + loss[:, None])
    out = np.exp(log_probs)
    time, sample = np.ogrid[: len(log_probs), : len(states)]
    np.subtract.at(out, (time[..., None], sample[..., None], states), shares)
    out *= grad[:, None]
    counted = time < lengths[:, 0]
    return np.where(counted[..., None] & (grad != 0)[:, None], out, log_probs.dtype.type(0))


def _once(F: Any, g: Any) -> Any:
    """Refuse: as in PyTorch, the loss can be differentiated once."""
    raise RuntimeError("derivative for ctc_loss_backward is not implemented: ctc_loss can be differentiated once")


def _ctc_tangent(F: Any, t: Any, log_probs: Any, result: Any, states: Any, skips: Any, lengths: Any,
                 zero_infinity: bool) -> Any:  # fmt: skip
    slopes = F.ctc_loss_backward(F.zeros_like(result) + 1, log_probs, result, states=states, skips=skips,
                                 lengths=lengths, zero_infinity=zero_infinity)  # fmt: skip
    return F.sum(slopes * t, dim=(0, 2), keepdim=False)


op("ctc_loss_backward", "CtcLossBackwardBackward0", _ctc_backward_kernel, ("grad", "log_probs", "loss"), tangent="transpose",
   grad=_once, log_probs=_once)  # fmt: skip
_ctc = op("ctc_loss", "CtcLossBackward0", _ctc_kernel, ("log_probs",), hides=("states", "skips", "lengths"),
          tangent=_ctc_tangent,
          log_probs=lambda F, g, log_probs, result, states, skips, lengths, zero_infinity: F.ctc_loss_backward(
              g, log_probs, result, states=states, skips=skips, lengths=lengths, zero_infinity=zero_infinity
          ))  # fmt: skip


# -- arguments ---------------------------------------------------------------------------------------------------------
def _lengths(name: str, array: np.ndarray, batch: int, limit: int | None) -> np.ndarray:
    """Lengths as integers; RuntimeError where there are too many, or one is not within bounds."""
    if array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral, but got {scalar_name(array.dtype)}")
    lengths = array.astype(INT64).reshape(-1)
    if len(lengths) != batch:
        raise RuntimeError(f"{name} must be of size batch_size: expected {batch}, but got {len(lengths)}")
    if batch and (lengths.min() < 0 or (limit is not None and lengths.max() > limit)):
        raise RuntimeError(f"ctc_loss(): expected {name} to be between 0 and {limit}, but got {lengths.tolist()}")
    return lengths


def _padded(targets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Targets one after the other as rows, (N, S)."""
    if targets.ndim > 1:
        return targets[:, : lengths.max(initial=0)]
    if lengths.sum() > len(targets):
        raise RuntimeError(
            f"ctc_loss(): expected targets of at least {lengths.sum()} elements, the sum of target_lengths, but got "
            f"{len(targets)}"
        )
    rows = np.zeros((len(lengths), lengths.max(initial=0)), INT64)
    inside = np.arange(rows.shape[1]) < lengths[:, None]
    rows[inside] = targets[: lengths.sum()]
    return rows


@choice("states", ("targets", "inputs", "wanted"), fits=False, checks=True)
def _labels(
    targets: np.ndarray, inputs: np.ndarray, wanted: np.ndarray, *, shape: tuple[int, ...], blank: int, dtype: Any
) -> tuple[np.ndarray, ...]:
    """States and skips, the lengths of inputs and targets, and what the mean's losses are divided by."""
    times, batch, classes = shape
    inputs = _lengths("input_lengths", inputs, batch, times)
    wanted = _lengths("target_lengths", wanted, batch, targets.shape[1] if targets.ndim == 2 else None)
    rows = _padded(targets, wanted)
    rows = np.where(np.arange(rows.shape[1]) < wanted[:, None], rows, blank)
    if rows.size and not 0 <= rows.min() <= rows.max() < classes:
        raise RuntimeError(f"ctc_loss(): targets must be classes, 0 to {classes - 1}, but got {rows.tolist()}")
    return *_states(rows, blank), np.stack([inputs, wanted], 1), np.maximum(wanted, 1).astype(dtype)


def _states(targets: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of all states, and where a path may come from two states before."""
    states = np.full((len(targets), 2 * targets.shape[1] + 1), blank, INT64)
    states[:, 1::2] = targets
    skips = np.zeros(states.shape, BOOL)
    skips[:, 2:] = (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != blank)
    return states, skips


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | tuple[int, ...],
    target_lengths: Tensor | tuple[int, ...],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-probability of label sequences whose alignment with the inputs is not known.

    See A. Graves et al., "Connectionist Temporal Classification", 2006.

    Parameters
    ----------
    log_probs : Tensor
        ``(T, N, C)`` or ``(T, C)``: a log-softmax over the classes.  The gradient is the one that is right for the logits
        before it, as in PyTorch.
    targets : Tensor
        ``(N, S)``, or all targets one after the other; without blanks.
    input_lengths, target_lengths : Tensor or tuple of int
        How many of the T times and S labels each sample has.
    blank : int
        The class of blanks.
    reduction : {"mean", "sum", "none"}
        What becomes of the samples' losses; the mean is of losses divided by the targets' lengths.
    zero_infinity : bool
        Whether the losses of targets too long for their inputs are zero, not infinite.

    Raises
    ------
    RuntimeError
        If shapes, lengths or classes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> log_probs = torch.full((2, 1, 3), 1 / 3).log()
    >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,))
    tensor(1.0986)
    """
    array, labels = array_of("ctc_loss", log_probs, "log_probs"), array_of("ctc_loss", targets, "targets", 2)
    reduction = reduction_of(reduction)
    if array.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss(): log_probs must have 2 or 3 dimensions, but got {array.ndim}")
    if not array.size:
        raise RuntimeError(f"ctc_loss(): log_probs tensor must not be empty, but has shape {list(array.shape)}")
    batched = array.ndim == 3
    if array.dtype.kind != "f" or array.itemsize == 2:
        raise NotImplementedError(f'"ctc_loss_cpu" not implemented for {scalar_name(array.dtype)!r}')
    if not batched:
        log_probs, array = log_probs.unsqueeze(1), array[:, None]
        labels, targets = labels.reshape(1, -1), targets.reshape(1, -1)
    classes = array.shape[2]
    batch = array.shape[1]
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: expected 0 to {classes - 1}, but got {blank}")
    if labels.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss(): targets must be integral, but got {scalar_name(labels.dtype)}")
    if labels.ndim not in (1, 2) or (labels.ndim == 2 and len(labels) != batch):
        raise RuntimeError(f"ctc_loss(): expected targets of shape [{batch}, S] or [N], but got {list(labels.shape)}")
    given = [n if hasattr(n, "_array") else wrap(np.asarray(n)) for n in (input_lengths, target_lengths)]
    states, skips, lengths, divisors = _labels(targets, *given, shape=array.shape, blank=blank, dtype=array.dtype)
    loss = _ctc(log_probs, states, skips, lengths, bool(zero_infinity))
    if reduction == "mean":
        loss = loss / wrap(divisors)
    return reduced_by(reduction, loss if batched else loss.squeeze(0))
