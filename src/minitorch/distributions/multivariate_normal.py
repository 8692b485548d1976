"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.broadcast import broadcast_shapes
from ..ops.creation import eye
from ..ops.factorisations import cholesky
from ..ops.solves import cholesky_inverse, solve_triangular
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal


def matrix_times_vector(matrix: Any, vector: Any) -> Any:
    """Products of matrices and vectors, in batches."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(factor: Any, x: Any) -> Any:
    """Squared Mahalanobis distances ``|factor^-1 x|^2`` of vectors, for lower triangular factors of the covariance."""
    if factor.dim() == 2:  # one system for all
        columns = x.reshape(-1, x.shape[-1]).mT
        return solve_triangular(factor, columns, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    return solve_triangular(factor, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Any) -> Any:
    """Half the log-determinant of the covariance."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of the inverse: the factor of the reversed matrix, reversed, is the transposed inverse of it."""
    reversed_factor = cholesky(precision.flip((-2, -1)))
    inverse = reversed_factor.flip((-2, -1)).transpose(-2, -1)
    return solve_triangular(inverse, eye(precision.shape[-1], dtype=precision.dtype), upper=False)


class MultivariateNormal(Distribution):
    """Normally distributed vectors.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
        The mean.
    covariance_matrix, precision_matrix, scale_tril : Tensor, shape (..., n, n)
        The covariance, its inverse, or its lower Cholesky factor: one of them.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Raises
    ------
    ValueError
        If not just one of the matrices is given, or something has too few dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.tensor([0.0, 1.0]))
    tensor(-2.3379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        given = [name for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified, "
                f"but got {given or 'none'}."
            )
        (name,), matrix = given, matrices[given[0]]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        factors = {
            "scale_tril": lambda m: m,
            "covariance_matrix": cholesky,
            "precision_matrix": _precision_to_scale_tril,
        }
        self._unbroadcasted_scale_tril = factors[name](matrix)

    def _square(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self._square(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._square(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + matrix_times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Any) -> Any:
        factor = self._unbroadcasted_scale_tril
        distance = mahalanobis(factor, self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(factor)

    def entropy(self) -> Any:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
