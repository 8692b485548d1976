"""Transforms of vectors to points of the simplex."""

from __future__ import annotations

from typing import Any

from ..._limits import finfo
from ..._size import Size
from ...ops.activation import logsigmoid
from ...ops.pad import pad
from .. import constraints
from .composed import enough
from .elementwise import clipped_sigmoid
from .transform import Transform


class _ToSimplex(Transform):
    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = object.__hash__


class SoftmaxTransform(_ToSimplex):
    """``exp(x)`` over its sum, along the last dimension; not bijective: the inverse is the logarithm.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        enough(len(shape), 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_ToSimplex):
    """Each number says what part of what is left of a stick is broken off: n numbers give n + 1 pieces.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    bijective = True

    def _call(self, x: Any) -> Any:
        broken = clipped_sigmoid(x - _pieces_left(x, x.shape[-1]).log())
        return pad(broken, [0, 1], value=1) * pad((1 - broken).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - left.log() + _pieces_left(y, pieces.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _pieces_left(x, x.shape[-1]).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        enough(len(shape), 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        enough(len(shape), 1)
        return Size((*shape[:-1], shape[-1] - 1))


def _pieces_left(like: Any, n: int) -> Any:
    """n, n - 1, …, 1: with these offsets, zeros give equal pieces."""
    return n + 1 - like.new_ones(n).cumsum(-1)
