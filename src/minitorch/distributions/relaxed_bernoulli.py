"""Relaxed Bernoulli distributions."""

from __future__ import annotations

from typing import Any

from ..ops.random import rand
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs


class LogitRelaxedBernoulli(Odds, Distribution):
    """The logits of a relaxed Bernoulli sample: logistic noise plus the log-odds, over the temperature.

    Parameters
    ----------
    temperature : Tensor
        Positive.
    probs, logits : Tensor or float
        One of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Sources: C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", ICLR 2017; E. Jang, S. Gu and B. Poole,
    "Categorical reparameterization with Gumbel-softmax", ICLR 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> relaxed = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(2.0), probs=0.5)
    >>> relaxed.log_prob(torch.tensor(0.0))
    tensor(-0.6931)
    """

    support = constraints.real
    _expands = ("probs", "logits", "_param")
    _keeps = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        noise = clamp_probs(rand(shape, dtype=probs.dtype))
        return (noise.log() - (-noise).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        noise = logits - value.mul(self.temperature)
        return self.temperature.log() + noise - 2 * noise.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers from 0 to 1 that are the nearer to 0 or 1 the lower the temperature, with gradients.

    Parameters
    ----------
    temperature : Tensor
        Positive.
    probs, logits : Tensor or float
        One of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Sources: those of ``LogitRelaxedBernoulli``.

    Examples
    --------
    >>> import minitorch as torch
    >>> relaxed = torch.distributions.RelaxedBernoulli(torch.tensor(1.0), probs=torch.tensor([0.5, 0.9]))
    >>> relaxed.log_prob(torch.tensor([0.5, 0.5]))
    tensor([ 0.0000, -1.0217])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self.base_dist.probs
