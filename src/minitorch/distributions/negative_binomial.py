"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from .._modes import no_grad
from ..ops.activation import logsigmoid
from ..ops.sampled import poisson
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .gamma import Gamma
from .utils import lazy_property


class NegativeBinomial(Odds, Distribution):
    """How many trials succeed before *total_count* fail.

    Parameters
    ----------
    total_count : Tensor or float
        The number of failures, not negative; it need not be whole.
    probs, logits : Tensor or float
        The probability of success, or its log-odds: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.NegativeBinomial(2, torch.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expands = ("total_count", "probs", "logits", "_param", "_gamma")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._set_odds(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Any:
        """Of the rates that the counts are Poisson distributed with."""
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        value, n = self._checked(value), self.total_count
        chances = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return chances + ways.masked_fill(n + value == 0.0, 0.0)
