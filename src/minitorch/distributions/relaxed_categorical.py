"""Relaxed categorical distributions."""

from __future__ import annotations

from typing import Any

from ..ops.creation import full_like
from ..ops.random import rand
from . import constraints
from ._by_categorical import ByCategorical
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs


class ExpRelaxedCategorical(ByCategorical, Distribution):
    """The logarithms of relaxed one-hot vectors: log-probabilities plus Gumbel noise, over the temperature, normalised.

    Parameters
    ----------
    temperature : Tensor
        Positive.
    probs, logits : Tensor, shape (..., k)
        One of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Source: C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", ICLR 2017, appendix C.3.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions.relaxed_categorical
    >>> D.ExpRelaxedCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5])).log_prob(torch.tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _expands = ("_categorical",)
    _keeps = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = clamp_probs(rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-noise.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        events = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        scale = full_like(self.temperature, float(events)).lgamma() + self.temperature.log() * (events - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that are the nearer to one-hot vectors the lower the temperature, with gradients.

    Parameters
    ----------
    temperature : Tensor
        Positive.
    probs, logits : Tensor, shape (..., k)
        One of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Sources: those of ``LogitRelaxedBernoulli``.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.RelaxedOneHotCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5])).log_prob(torch.tensor([0.5, 0.5]))
    tensor(0.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Log-probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self.base_dist.probs
