"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from .._modes import no_grad
from ..ops.choices import where
from ..ops.creation import empty, zeros
from ..ops.random import rand
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

# log I0 and log I1: polynomials in (x / 3.75)^2 below 3.75, and in 3.75 / x above, times exp(x) / sqrt(x)
# (Abramowitz and Stegun, 9.8.1 to 9.8.4); the lowest power first
_BELOW = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_ABOVE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1,
     0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1,
     -0.420059e-2),
)  # fmt: skip


def _polynomial(coefficients: tuple[float, ...], y: Any) -> Any:
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + y * result
    return result


def _log_bessel(x: Any, order: int) -> Any:
    """The logarithm of the modified Bessel function of the first kind, of order 0 or 1."""
    small = _polynomial(_BELOW[order], (x / 3.75) ** 2)
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(_ABOVE[order], 3.75 / x).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """Angles, with density proportional to ``exp(concentration cos(x - loc))``.

    Parameters
    ----------
    loc : Tensor or float
        The mean angle, in radians.
    concentration : Tensor or float
        Positive: how near to it the angles are.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Notes
    -----
    Source of the sampler: D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", 1979.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor([0.0, 3.1416]))
    tensor([-1.0738, -3.0738])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expands = ("loc", "concentration", "_proposal_r", "variance")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        turned = self.concentration * (self._checked(value) - self.loc).cos()
        return turned - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    @lazy_property
    def _proposal_r(self) -> Any:
        """The parameter of the wrapped Cauchy distribution that proposals come from."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            shape = self._extended_shape(sample_shape)
            loc, kappa, r = self.loc.double(), self.concentration.double(), self._proposal_r
            x, done = empty(shape, dtype=loc.dtype), zeros(shape).bool()
            while not done.all():
                first, second, third = rand((3, *shape), dtype=loc.dtype).unbind()
                z = (math.pi * first).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
                x = where(accepted, (third - 0.5).sign() * f.acos(), x)
                done = done | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()
