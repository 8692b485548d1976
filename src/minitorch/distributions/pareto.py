"""The Pareto distribution."""

from __future__ import annotations

from typing import Any

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all


class Pareto(TransformedDistribution):
    """Density ``alpha scale ** alpha / x ** (alpha + 1)`` from *scale* on.

    Parameters
    ----------
    scale : Tensor or float
        The least value, positive.
    alpha : Tensor or float
        Positive: how fast the tail falls.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Pareto(1.0, torch.tensor([1.0, 3.0])).mean
    tensor([   inf, 1.5000])
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _expands = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self._finite(1) * self.scale / (self._finite(1) - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self._variance(self._finite(2))

    def _finite(self, moment: int) -> Any:
        """``alpha``, at least so large that the moment that is asked for is infinite by its formula."""
        return self.alpha.clamp(min=moment)

    def _variance(self, alpha: Any) -> Any:
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
