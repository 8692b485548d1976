"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from .._size import Size
from ..ops.creation import ones_like, zeros
from . import constraints
from ._by_categorical import ByCategorical
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all


class Multinomial(ByCategorical, Distribution):
    """How often each of k events happens in *total_count* trials.

    Parameters
    ----------
    total_count : int
        The number of trials.
    probs, logits : Tensor, shape (..., k)
        One of them, as for ``Categorical``.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Multinomial(3, torch.tensor([0.5, 0.5])).log_prob(torch.tensor([1.0, 2.0]))
    tensor(-0.9808)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _expands = ("_categorical",)
    _keeps = ("total_count", "_binomial")

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"inhomogeneous total_count is not supported: expected an int, got {total_count!r}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        events = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=events.dtype)
        return counts.scatter_add_(-1, events, ones_like(events)).type_as(self.probs)

    def entropy(self) -> Any:
        n = self.total_count
        counts = self._binomial.enumerate_support(expand=False)[1:]
        surplus = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + surplus

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)
