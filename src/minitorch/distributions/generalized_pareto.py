"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.choices import where
from ..ops.random import rand
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all


class GeneralizedPareto(Distribution):
    """Excesses over a threshold: ``(1 + c z) ** (-1 / c)`` of them are above ``loc + scale z``, where *c* is the concentration.

    Parameters
    ----------
    loc : Tensor or float
        The threshold.
    scale : Tensor or float
        Positive.
    concentration : Tensor or float
        How heavy the tail is; 0 for exponential numbers.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).cdf(torch.tensor(1.0))
    tensor(0.6321)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _expands = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _exponential(self) -> tuple[Any, Any]:
        """Where the concentration is 0 (nearly), and the concentration with 1 there."""
        zero = self.concentration.abs() <= 1e-8
        return zero, where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        z = (self._checked(value) - self.loc) / self.scale
        zero, c = self._exponential()
        power = 1 / c + 1
        fall = where(power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - where(zero, z, fall)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than *value*."""
        z = (self._checked(value) - self.loc) / self.scale
        zero, c = self._exponential()
        return where(zero, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of at most *value*."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        zero, c = self._exponential()
        survives = (-value).log1p()
        heavy = self.loc + self.scale / c * (-c * survives).expm1()
        return where(zero, self.loc - self.scale * survives, heavy)

    @property
    def mean(self) -> Any:
        finite = self.concentration < 1
        return where(finite, self.loc + self.scale / (1 - where(finite, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Any:
        finite = self.concentration < 0.5
        c = where(finite, self.concentration, 0.25)
        return where(finite, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1

    @property
    def mode(self) -> Any:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))
