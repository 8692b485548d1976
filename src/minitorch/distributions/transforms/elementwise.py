"""Transforms of single numbers."""

from __future__ import annotations

import math
from typing import Any

from ..._limits import finfo
from ..._size import Size
from ...ops.activation import softplus
from ...ops.broadcast import broadcast_shapes
from ...ops.creation import full_like
from .. import constraints
from ..utils import Number, broadcast_all, lazy_property
from .transform import Transform


class _Fixed(Transform):
    """A transform without parameters: all of one class are equal."""

    domain = constraints.real
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = object.__hash__


class ExpTransform(_Fixed):
    """``exp(x)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.ExpTransform()(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

    codomain = constraints.positive
    sign = +1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def clipped_sigmoid(x: Any) -> Any:
    """The logistic function, never 0 and never 1."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Fixed):
    """``1 / (1 + exp(-x))``, never 0 and never 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    codomain = constraints.unit_interval
    sign = +1

    def _call(self, x: Any) -> Any:
        return clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Fixed):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive
    sign = +1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Fixed):
    """``tanh(x)``; its log-determinant is computed from *x*, without cancellation.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.TanhTransform().log_abs_det_jacobian(torch.tensor(20.0), torch.tensor(1.0))
    tensor(-38.6137)
    """

    codomain = constraints.interval(-1.0, 1.0)
    sign = +1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Fixed):
    """``|x|``, not invertible: its inverse returns its argument."""

    codomain = constraints.positive
    bijective = False

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """``x ** exponent``, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    return equal if isinstance(equal, bool) else bool(equal.all())


class AffineTransform(Transform):
    """``loc + scale * x``.

    Parameters
    ----------
    loc, scale : Tensor or float
    event_dim : int
        How many dimensions an argument has that is transformed as a whole.
    cache_size : int
        As for ``Transform``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.AffineTransform(1.0, 2.0).inv(torch.tensor(5.0))
    tensor(2.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> Any:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shape, dims = x.shape, self.event_dim
        result = full_like(x, math.log(abs(self.scale))) if isinstance(self.scale, Number) else self.scale.abs().log()
        if dims:
            result, shape = result.view((*result.shape[:-dims], -1)).sum(-1), Size(shape[:-dims])
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution: it makes its samples uniform.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)
