"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.choices import where
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, standard_normal


class StudentT(Distribution):
    """A normal number over the root of a chi-squared number per degree of freedom.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom, positive.
    loc, scale : Tensor or float
        What the number is multiplied by (positive), and what is added.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.StudentT(1.0).log_prob(torch.tensor(0.0))
    tensor(-1.1447)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("df", "loc", "scale", "_chi2")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        finite = self.df > 2
        df = where(finite, self.df, 3.0)
        result = where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return result.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (noise * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def log_prob(self, value: Any) -> Any:
        away = (self._checked(value) - self.loc) / self.scale
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - more.lgamma()
        return -more * (away**2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
