"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

from .._limits import finfo
from ..ops.creation import empty
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all


class Laplace(Distribution):
    """Density ``exp(-|x - loc| / scale) / (2 scale)``.

    Parameters
    ----------
    loc : Tensor or float
        The mean.
    scale : Tensor or float
        The mean distance from it, positive.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor([0.0, -2.0]))
    tensor([-0.6931, -2.6931])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        noise.uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * noise.sign() * (-noise.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        away = self._checked(value) - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * (-2 * away.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()
