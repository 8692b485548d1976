"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ._half import Half
from .normal import Normal


class HalfNormal(Half):
    """Magnitudes of normal numbers of mean 0.

    Parameters
    ----------
    scale : Tensor or float
        Positive.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    whole = Normal

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)
