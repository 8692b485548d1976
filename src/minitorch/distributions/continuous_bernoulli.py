"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.choices import where
from ..ops.compare import refuse_invalid
from ..ops.loss import binary_cross_entropy_with_logits
from ..ops.random import rand
from . import constraints
from ._odds import Odds
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, one_of


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers from 0 to 1 with density proportional to ``probs ** x (1 - probs) ** (1 - x)``.

    Parameters
    ----------
    probs, logits : Tensor or float
        One of them.
    lims : tuple of float
        Between these probabilities, Taylor series around 1/2 are used.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Source: G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders", NeurIPS 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.5, 0.9])).mean
    tensor([0.5000, 0.6699])
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("probs", "logits", "_param")
    _keeps = ("_lims",)

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None:
                valid = constraints.unit_interval.check(probs)
                refuse_invalid(
                    valid, rank=valid.dim(), said=lambda _: f"The parameter probs has invalid values: {probs}"
                )
            probs = clamp_probs(probs)
        self._set_odds(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def _is_skewed(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _by_case(self, formula: Any, series: Any) -> Any:
        """*formula* of probabilities away from 1/2, and *series* of their distance from it elsewhere."""
        skewed = self._is_skewed()
        away = where(skewed, self.probs, self._lims[0])
        return where(skewed, formula(away), series(self.probs - 0.5))

    def _cont_bern_log_norm(self) -> Any:
        def formula(p: Any) -> Any:
            low, high = where(p <= 0.5, p, 0.0), where(p >= 0.5, p, 1.0)
            slant = where(p <= 0.5, (-2 * low).log1p(), (2 * high - 1).log())
            return ((-p).log1p() - p.log()).abs().log() - slant

        return self._by_case(formula, lambda x: math.log(2.0) + (4 / 3 + 104 / 45 * x**2) * x**2)

    @property
    def mean(self) -> Any:
        return self._by_case(
            lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()),
            lambda x: 0.5 + (1 / 3 + 16 / 45 * x**2) * x,
        )

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    @property
    def variance(self) -> Any:
        return self._by_case(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2,
        )

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        x = self._checked(value)
        inside = self._by_case(lambda p: (p**x * (1 - p) ** (1 - x) + p - 1) / (2 * p - 1), lambda _: x)
        return where(x <= 0, 0.0, where(x >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        def formula(p: Any) -> Any:
            base = (-p).log1p()
            return ((-p + value * (2 * p - 1)).log1p() - base) / (p.log() - base)

        return self._by_case(formula, lambda _: value)

    def entropy(self) -> Any:
        fails, happens = (-self.probs).log1p(), self.probs.log()
        return self.mean * (fails - happens) - self._cont_bern_log_norm() - fails

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        skewed = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        away = where(skewed, x, self._lims[0] - 0.5)
        exact = away.expm1().abs().log() - away.abs().log()
        return where(skewed, exact, 0.5 * x + x**2 / 24 - x**4 / 2880)
