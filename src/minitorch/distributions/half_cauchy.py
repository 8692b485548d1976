"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation import full_like
from ._half import Half
from .cauchy import Cauchy


class HalfCauchy(Half):
    """Magnitudes of Cauchy numbers of median 0.

    Parameters
    ----------
    scale : Tensor or float
        Positive.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    whole = Cauchy

    @property
    def mean(self) -> Any:
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance
