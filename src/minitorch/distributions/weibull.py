"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from ..ops.creation import ones_like
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant


class Weibull(TransformedDistribution):
    """Lifetimes: ``scale`` times an exponential number to the power of ``1 / concentration``.

    Parameters
    ----------
    scale : Tensor or float
        Positive.
    concentration : Tensor or float
        Positive: the shape parameter.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Weibull(1.0, 2.0).mean
    tensor(0.8862)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _expands = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        return (1 + n * self.concentration_reciprocal).lgamma()

    @property
    def mean(self) -> Any:
        return self.scale * self._moment(1).exp()

    @property
    def mode(self) -> Any:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (self._moment(2).exp() - (2 * self._moment(1)).exp())

    def entropy(self) -> Any:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
