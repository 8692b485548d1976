"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._limits import finfo
from ..ops.broadcast import broadcast_shapes
from ..ops.creation import zeros
from ..ops.determinants import slogdet
from ..ops.factorisations import cholesky
from ..ops.from_data import tensor
from ..ops.gamma_normal import mvlgamma
from ..ops.ranges import arange
from ..ops.solves import cholesky_inverse, cholesky_solve
from ..ops.special import digamma
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril, half_log_det
from .utils import Number, lazy_property, standard_normal


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of *df* outer products of normal vectors with themselves.

    Samples are made from their Cholesky factor, which has normal numbers below the diagonal and roots of chi-squared
    ones on it (Bartlett's decomposition).

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom: more than n - 1.
    covariance_matrix, precision_matrix, scale_tril : Tensor, shape (..., n, n)
        The vectors' covariance, its inverse, or its lower Cholesky factor: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Raises
    ------
    AssertionError
        If not just one of the matrices is given.
    ValueError
        If it has too few dimensions, or *df* is too small.

    Notes
    -----
    Source: W. B. Smith and R. R. Hocking, "Wishart variate generator", Applied Statistics 21, 1972.  As in PyTorch, a
    sample is drawn a second time where the first one was regular, so that samples are equal with the same seed; PyTorch
    warns of it, and its second sample has no gradient.

    Examples
    --------
    >>> import minitorch as torch
    >>> wishart = torch.distributions.Wishart(3.0, torch.eye(2))
    >>> wishart.mean
    tensor([[3., 0.],
            [0., 3.]])
    >>> wishart.log_prob(torch.eye(2))
    tensor(-3.5310)
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("df", "covariance_matrix", "scale_tril", "precision_matrix")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices: dict[str, tuple[Any, Any]] = {
            "covariance_matrix": (covariance_matrix, cholesky),
            "precision_matrix": (precision_matrix, _precision_to_scale_tril),
            "scale_tril": (scale_tril, lambda m: m),
        }
        given = [name for name, (matrix, _) in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified, "
                f"but got {given or 'none'}."
            )
        (name,), (matrix, factor) = given, matrices[given[0]]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape, event_shape = matrix.shape[:-2], matrix.shape[-2:]
        if isinstance(df, Number):
            self.df = tensor(df, dtype=matrix.dtype)
        else:
            batch_shape = broadcast_shapes(batch_shape, df.shape)
            self.df = df.expand(batch_shape)
        size = event_shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor(matrix)
        places = arange(size, dtype=self._unbroadcasted_scale_tril.dtype)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - places.expand((*batch_shape, -1)))

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._dist_chi2 = self._dist_chi2.expand((*batch_shape, self._event_shape[-1]))
        return new

    def _square(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the vectors' covariance."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The vectors' covariance."""
        return self._square(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the vectors' covariance."""
        return self._square(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _as_matrices(self, numbers: Any) -> Any:
        return numbers.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Any:
        return self._as_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return self._as_matrices(factor) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._as_matrices(self.df) * (self.covariance_matrix.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Any) -> Any:
        """Samples, of which some may be singular to rounding."""
        size = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed()
        below = standard_normal((*sample_shape, *self._batch_shape, size * (size - 1) // 2), noise)
        triangle = zeros(noise.shape, dtype=noise.dtype)
        places = arange(size)
        triangle[..., places < places.view(-1, 1)] = below
        factor = self._unbroadcasted_scale_tril @ (noise + triangle)
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Samples with gradients; *max_try_correction* is how often singular ones are drawn again (by default, 10)."""
        sample = self._bartlett_sampling(tuple(sample_shape))
        again = self._over_parts(self.support.check(sample))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            new = self._bartlett_sampling((int(again.sum()),))
            sample = sample.clone()
            sample[again] = new
            singular = self._over_parts(~self.support.check(new))
            again = again.clone()
            again[again.clone()] = singular
        return sample

    def _over_parts(self, found: Any) -> Any:
        """For each sample whether something was found in one of the batch."""
        dims = tuple(range(-len(self._batch_shape), 0))
        return found.amax(dims) if dims else found

    def log_prob(self, value: Any) -> Any:
        value, df, size = self._checked(value), self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (size * math.log(2) / 2 + half_log_det(factor))
            - mvlgamma(df / 2, size)
            + (df - size - 1) / 2 * slogdet(value)[1]
            - trace / 2
        )

    def entropy(self) -> Any:
        df, size = self.df, self._event_shape[-1]
        halves = (df / 2).unsqueeze(-1) - arange(size, dtype=df.dtype) / 2
        return (
            (size + 1) * (size * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
            + mvlgamma(df / 2, size)
            - (df - size - 1) / 2 * digamma(halves).sum(-1)
            + df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x, y), size = natural_params, self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (size * math.log(2) - slogdet(-2 * x)[1]) + mvlgamma(half, size)
