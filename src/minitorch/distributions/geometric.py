"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from .._limits import finfo
from .._modes import no_grad
from ..ops.creation import empty, zeros_like
from ..ops.loss import binary_cross_entropy_with_logits
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .utils import broadcast_all


class Geometric(Odds, Distribution):
    """How many trials fail before one succeeds.

    Parameters
    ----------
    probs, logits : Tensor or float
        The probability of success, or its log-odds: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer
    _expands = ("probs", "logits", "_param")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._refuse_invalid("parameter probs", self.probs, self.probs > 0, "be positive")

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            noise = empty(self._extended_shape(sample_shape), dtype=self.probs.dtype)
            noise.uniform_(finfo(self.probs.dtype).tiny, 1)
            return (noise.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(self._checked(value), self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 * log(0) is 0
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
