"""Dropout: products with random masks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _random
from .._args import array_of, flag, real
from .._choices import choice
from .._inplace import write
from .._modes import observers
from .._runtime import wrap
from . import pointwise
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor

_ALPHA = 1.7580993408473766  # what selu tends to, far below zero, negated


def _check(p: float, training: bool) -> None:
    flag(training, "training")
    real(p, "p")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(like: np.ndarray, p: float, feature: bool) -> np.ndarray:
    """Ones with probability ``1 - p`` and zeros, drawn in the order of memory; one a channel for a feature dropout."""
    if feature:
        if like.ndim < 2:
            raise RuntimeError(
                f"Feature dropout requires at least 2 dimensions in the input, samples and channels, but got {like.ndim}"
            )
        shape = like.shape[:2] + (1,) * (like.ndim - 2)
        return _random.default_generator.bernoulli(1 - p, shape, like.dtype)
    order = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    if order == list(range(like.ndim)):
        return _random.default_generator.bernoulli(1 - p, like.shape, like.dtype)
    drawn = _random.default_generator.bernoulli(1 - p, tuple([like.shape[axis] for axis in order]), like.dtype)
    return drawn.transpose(np.argsort(order))


def _dropped(input: Any, p: float, feature: bool, inplace: bool) -> Any:
    """The input times a mask, scaled so that its mean stays."""
    array = array_of("dropout", input)
    if array.dtype.kind != "f" and 0 < p < 1 and array.size:
        raise RuntimeError(f"dropout(): expected a floating point tensor, but got {input.dtype}")
    if p == 0 or not array.size:
        return input
    if p == 1:
        noise = np.zeros((), array.dtype)
    elif observers:
        noise = _noise(input, p=p, feature=feature)
    else:
        noise = _scaled_mask(array, p, feature)
    return write(input, pointwise.mul, (wrap(noise),)) if inplace else pointwise.mul(input, wrap(noise))


@choice("dropout noise", draws=True)
def _noise(self: np.ndarray, *, p: float, feature: bool) -> np.ndarray:
    return _scaled_mask(self, p, feature)


def _scaled_mask(like: np.ndarray, p: float, feature: bool) -> np.ndarray:
    noise = _mask(like, p, feature)
    noise /= like.dtype.type(1 - p)
    return noise


def _batch_dropped(input: Any, p: float, batched: bool, inplace: bool) -> Any:
    """Whole channels dropped, of a batch or of a single sample."""
    if batched:
        return _dropped(input, p, True, inplace)
    result = _dropped(shapes.unsqueeze(input, 0), p, True, inplace)
    return input if inplace else shapes.squeeze(result, 0)


@choice("alpha dropout noise", draws=True)
def _alpha_noise(self: np.ndarray, *, p: float, feature: bool) -> tuple[np.ndarray, np.ndarray]:
    mask = _mask(self, p, feature)
    a = ((_ALPHA**2 * p + 1) * (1 - p)) ** -0.5
    shift = (mask - 1) * self.dtype.type(_ALPHA * a) + self.dtype.type(_ALPHA * a * p)
    return np.multiply(mask, self.dtype.type(a), out=...), np.asarray(shift)


def _alpha_dropped(input: Any, p: float, feature: bool, inplace: bool) -> Any:
    array = array_of("alpha_dropout", input)
    if array.dtype.kind != "f":
        raise RuntimeError(f"alpha_dropout(): expected a floating point tensor, but got {input.dtype}")
    if p == 0 or not array.size:
        return input
    if p == 1:
        return write(input, pointwise.mul, (0.0,)) if inplace else pointwise.mul(input, 0.0)
    noise, shift = _alpha_noise(input, p=p, feature=feature)
    if inplace:
        write(input, pointwise.mul, (wrap(noise),))
        return write(input, pointwise.add, (wrap(shift),))
    return pointwise.add(pointwise.mul(input, wrap(noise)), wrap(shift))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability *p*, and divide the others by ``1 - p``; outside training, the input itself.

    See N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.  The mask is
    drawn from the default generator.

    Raises
    ------
    ValueError
        If *p* is not between 0 and 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.functional.dropout(torch.ones(8))
    tensor([0., 0., 2., 0., 0., 0., 2., 2.])
    """
    _check(p, training)
    return _dropped(input, p, False, inplace) if training else input


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of ``(N, C, L)`` or ``(C, L)`` with probability *p*, and divide the others by ``1 - p``."""
    _check(p, training)
    ndim = array_of("dropout1d", input).ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension."
        )
    if not training:
        return input
    return _batch_dropped(input, p, ndim == 3, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of ``(N, C, H, W)`` with probability *p*, and divide the others by ``1 - p``.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(1)
    >>> torch.nn.functional.dropout2d(torch.ones(1, 4, 1, 2))
    tensor([[[[2., 2.]],
    <BLANKLINE>
             [[2., 2.]],
    <BLANKLINE>
             [[2., 2.]],
    <BLANKLINE>
             [[2., 2.]]]])
    """
    _check(p, training)
    ndim = array_of("dropout2d", input).ndim
    if ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {ndim}-D input to dropout2d, which is deprecated and will result in an error in "
            "a future "
            "release. To retain the behavior and silence this warning, please use dropout instead.",
            stacklevel=2,
        )
    elif ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input "
            "is interpreted as shape (N, C, L), where C is the channel dim. To maintain this behavior, please switch "
            "to dropout1d.",
            stacklevel=2,
        )
    return _dropped(input, p, True, inplace) if training else input


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with probability *p*, as `dropout2d` does."""
    _check(p, training)
    ndim = array_of("dropout3d", input).ndim
    if ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {ndim}-D input to dropout3d, which is deprecated and will result in an error in "
            "a future "
            "release. To retain the behavior and silence this warning, please use dropout instead.",
            stacklevel=2,
        )
    if not training:
        return input
    return _batch_dropped(input, p, ndim == 5, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Set each element to selu's lowest value with probability *p*, and map all so that mean 0 and variance 1 stay.

    See G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    _check(p, training)
    return _alpha_dropped(input, p, False, inplace) if training else input


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: one draw for each of ``input.shape[:2]``."""
    _check(p, training)
    return _alpha_dropped(input, p, True, inplace) if training else input
