"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from .._modes import no_grad
from ..ops.ranges import arange
from ..ops.sampled import binomial
from . import constraints
from ._odds import Odds
from .distribution import Distribution


class Binomial(Odds, Distribution):
    """How many of *total_count* trials succeed.

    Parameters
    ----------
    total_count : Tensor or int
        The number of trials.
    probs, logits : Tensor or float
        The probability of success, or its log-odds: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Binomial(2, torch.tensor([0.5, 1.0])).log_prob(torch.tensor(2.0))
    tensor([-1.3863,  0.0000])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expands = ("total_count", "probs", "logits", "_param")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._set_odds(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        value, n, logits = self._checked(value), self.total_count, self.logits
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # with a gradient of 1/2 at 0
        norm = n * positive + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - norm

    def entropy(self) -> Any:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        total = int(self.total_count.max())
        if int(self.total_count.min()) != total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support` and `entropy`.")
        return self._over_batch(arange(1 + total, dtype=self._param.dtype), expand)
