"""The multivariate normal distribution with a covariance of low rank, plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from ..ops.broadcast import broadcast_tensors
from ..ops.creation import eye
from ..ops.diagonals import diag_embed
from ..ops.factorisations import cholesky
from ..ops.solves import solve_triangular
from . import constraints
from .distribution import Distribution
from .multivariate_normal import half_log_det, mahalanobis, matrix_times_vector
from .utils import lazy_property, standard_normal


class LowRankMultivariateNormal(Distribution):
    """Normally distributed vectors whose covariance is ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    Determinants and inverses need but the Cholesky factor of an m by m matrix, ``I + W.T D^-1 W`` (the determinant lemma and
    the Woodbury identity).

    Parameters
    ----------
    loc : Tensor, shape (..., n)
        The mean.
    cov_factor : Tensor, shape (..., n, m)
        The factor of low rank.
    cov_diag : Tensor, shape (..., n)
        The diagonal, positive.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Raises
    ------
    ValueError
        If shapes don't fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)).covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "cov_factor", "cov_diag", "scale_tril", "covariance_matrix", "precision_matrix", "variance")
    _keeps = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        size = loc.shape[-1]
        if cov_factor.shape[-2] != size:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {size} x m, not {cov_factor.shape}")
        if cov_diag.shape[-1] != size:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {loc.shape[-1:]}, not {cov_diag.shape}")
        try:
            columns, self.cov_factor, diagonals = broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = columns[..., 0], diagonals[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        inner = cov_factor.mT / cov_diag.unsqueeze(-2) @ cov_factor
        self._capacitance_tril = cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype))
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)

    # -- what divergences need too
    def _log_det(self) -> Any:
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _scaled(self) -> Any:
        """``W.T D^-1``."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _whitened(self) -> Any:
        """The matrix A of which ``D^-1 - A.T A`` is the precision."""
        return solve_triangular(self._capacitance_tril, self._scaled(), upper=False)

    def _mahalanobis(self, x: Any) -> Any:
        plain = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return plain - mahalanobis(self._capacitance_tril, matrix_times_vector(self._scaled(), x))

    def _square(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        total = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return total.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = scaled @ scaled.mT
        return self._square(root * cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._square(factor @ factor.mT + diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        whitened = self._whitened()
        return self._square(diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - whitened.mT @ whitened)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        shared = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        own = standard_normal(shape, self.loc)
        moved = matrix_times_vector(self._unbroadcasted_cov_factor, shared)
        return self.loc + moved + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Any) -> Any:
        distance = self._mahalanobis(self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Any:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)
