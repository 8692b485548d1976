"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from .._modes import no_grad
from ..ops.loss import binary_cross_entropy_with_logits
from ..ops.random import bernoulli
from ..ops.ranges import arange
from . import constraints
from ._odds import Odds
from .exp_family import ExponentialFamily
from .utils import broadcast_all


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability *probs*, else 0.

    Parameters
    ----------
    probs, logits : Tensor or float
        The probability, or its log-odds: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> coin = torch.distributions.Bernoulli(torch.tensor([0.25, 1.0]))
    >>> coin.log_prob(torch.tensor([1.0, 1.0])), coin.mean
    (tensor([-1.3863e+00, -1.1921e-07]), tensor([0.2500, 1.0000]))
    """

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expands = ("probs", "logits", "_param")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._over_batch(arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.probs.logit(),)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return natural_params[0].exp().log1p()
